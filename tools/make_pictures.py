#!/usr/bin/env python3
"""tools/make_pictures.py - takes the pictures of docs/pictures anew: what tests of the page see. Needs what tests/web needs (./dev setup --web)."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
# The file in docs/pictures, the picture that a test keeps, and that test.
PICTURES = (('chat.webp', 'answer.webp', 'a_whole_answer'), ('tokens.webp', 'tokens.webp', 'tokens_are_coloured'), ('compare.webp', 'compare-beams.webp', 'answers_of_a_search'))


def main():
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, ROOT / 'tests/web/page_test.py', *(test for *_, test in PICTURES)]
        if subprocess.run(command, env={**os.environ, 'RUNNEL_PICTURES': folder}, check=False).returncode:
            return 1
        for name, taken, _ in PICTURES:
            if not (pathlib.Path(folder) / taken).exists():
                sys.exit(f'make_pictures: no test has taken {taken}')
            shutil.copyfile(pathlib.Path(folder) / taken, ROOT / 'docs/pictures' / name)
    return 0


if __name__ == '__main__':
    sys.exit(main())
