#!/usr/bin/env python3
"""tools/check_files.py [ROOT] - what holds for every source file besides its format.

- a file name occurs once under src/, so that `gguf.c` names one file;
- a C file begins with `// its/path.c - one sentence`, the path as an #include would write it;
- a script with a first line `#!` can be executed, and so can a test in Python;
- no marks of unfinished work are left behind;
- no packages lie among them (wheels, archives), which tools leave where they were downloaded.
Prints one line for each fault; exit status 1 if there is one.
"""
import os
import pathlib
import re
import sys

FOLDERS = ('include', 'src', 'tests', 'fuzz', 'bench', 'tools', 'cmake', 'docs')
RELEASED = re.compile(r'tests/abi/[\d.]+/')   # headers of a release, kept byte by byte
PACKAGES = ('*.whl', '*.zip', '*.tar.*', '*.tgz', '*.deb')
MARK = re.compile(r'\b(' + '|'.join(('TO' 'DO', 'FIX' 'ME', 'X' 'XX')) + r')\b')


def source_files(root):
    yield from (p for p in (root / 'dev', root / '.ci/run', root / 'CMakeLists.txt') if p.is_file())
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob('*')):
            if RELEASED.match(str(path.relative_to(root))):
                continue
            if path.suffix in ('.c', '.h', '.inc', '.py', '.sh', '.cmake') or path.name == 'CMakeLists.txt':
                yield path


def packages(root):
    for folder in (root, *(root / f for f in FOLDERS)):
        for pattern in PACKAGES:
            yield from (folder.glob(pattern) if folder == root else folder.rglob(pattern))


def check_tree(root):
    names = {}
    for path in packages(root):
        if 'node_modules' not in path.parts:
            yield f'{path.relative_to(root)}: a package is no source'
    for path in source_files(root):
        shown = path.relative_to(root)
        text = path.read_text(errors='replace')
        if shown.parts[0] == 'src':
            first = names.setdefault(path.name, shown)
            if first != shown:
                yield f'{shown}: another file has this name: {first}'
        if path.suffix in ('.c', '.h'):
            written = shown.relative_to(shown.parts[0]) if shown.parts[0] in ('include', 'src') else shown
            if not re.match(rf'// {re.escape(str(written))} - \S', text):
                yield f'{shown}:1: does not begin with `// {written} - one sentence`'
        if (text.startswith('#!') or path.name.endswith('_test.py')) and not os.access(path, os.X_OK):
            yield f'{shown}: cannot be executed (chmod +x)'
        for n, line in enumerate(text.splitlines(), 1):
            if mark := MARK.search(line):
                yield f'{shown}:{n}: {mark[1]} is left'


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
    found = list(check_tree(root))
    print(*found, sep='\n', end='\n' if found else '')
    return bool(found)


if __name__ == '__main__':
    sys.exit(main())
