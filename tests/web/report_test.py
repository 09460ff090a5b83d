#!/usr/bin/env python3
"""The pages of `compare --html`, `score --html` and `bench --html` in a real browser: this writes them, report.mjs looks at them.

Needs what page_test.py needs. Arguments: parts of names to run.
"""
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
for room in ('cli', 'serve'):
    sys.path.insert(0, str(HERE.parent / room))
from harness import MODEL, PROGRAM, Folder, runnel     # noqa: E402
from page_test import TIMEOUT_S, missing                # noqa: E402
from report_test_texts import HOSTILE, PLAIN            # noqa: E402
import script_model                                     # noqa: E402


def write_pages(folder):
    runnel('compare', '-n', '60', '--seed', '7', '-s', 'greedy', '-s', 'focused', '-s', 'wild', 'Once upon a time', '--html', folder / 'compare.html').ok()
    text = 'Once upon a time, there was a little girl named Lily. She liked quarks and the gymnasium.'
    runnel('score', '--text-file', '-', '--html', folder / 'score.html', stdin=text.encode()).ok()
    runnel('bench', '-p', '32', '-n', '8', '-b', '1,2,4', '-d', '0,64', '-r', '1', '--profile', '--html', folder / 'bench.html').ok()
    (folder / 'm.gguf').write_bytes(script_model.make({'A': HOSTILE}, PLAIN))
    name = json.dumps({'name': '</title><script>alert(4)</script>', 'temp': 0})
    runnel('compare', '-m', folder / 'm.gguf', '-n', '60', '-s', name, '--html', folder / 'hostile.html', '"><img src=x onerror=alert(5)> A').ok()


def main():
    found = missing()
    if isinstance(found, str):
        print(f'SKIP reports_in_a_browser: {found}')
        return 0
    if not os.access(PROGRAM, os.X_OK) or not MODEL.exists():
        sys.exit(f'{PROGRAM}: there is no such program: build it, or set RUNNEL_PROGRAM')
    with Folder() as folder:
        write_pages(folder)
        given = {'playwright': str(found[0]), 'chromium': found[1], 'pages': str(folder), 'pictures': os.environ.get('RUNNEL_PICTURES', '')}
        return subprocess.run(['node', HERE / 'report.mjs', *sys.argv[1:]], env={**os.environ, 'RUNNEL_PAGE_TEST': json.dumps(given)},
                              stdin=subprocess.DEVNULL, timeout=TIMEOUT_S).returncode


if __name__ == '__main__':
    sys.exit(main())
