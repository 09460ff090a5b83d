#!/usr/bin/env python3
"""The page's modules that need no browser, under node: modules.mjs. Without node it says SKIP."""
import pathlib
import shutil
import subprocess
import sys

if not shutil.which('node'):
    print('SKIP the_modules_of_the_page: node is not here (./dev setup --web)')
    sys.exit(0)
sys.exit(subprocess.run(['node', pathlib.Path(__file__).resolve().parent / 'modules.mjs', *sys.argv[1:]], stdin=subprocess.DEVNULL, timeout=300).returncode)
