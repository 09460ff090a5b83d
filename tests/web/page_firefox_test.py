#!/usr/bin/env python3
"""What a page cannot do without, in Firefox: page_firefox.mjs. Needs what page_test.py needs, and Firefox ($RUNNEL_FIREFOX, else what is in PATH)."""
import sys

from page_test import main

if __name__ == '__main__':
    sys.exit(main('page_firefox.mjs', 'firefox'))
