#!/usr/bin/env python3
"""The page in a real browser, the other half: servers that fail, files, screens, paper. Needs what page_test.py needs."""
import sys

from page_test import main

if __name__ == '__main__':
    sys.exit(main('page_around.mjs'))
