#!/usr/bin/env python3
"""tools/check_unused.py BUILD - every external function of src/ is used by another file.

BUILD: a build's folder, with the object files. A function that only tests, fuzz targets or benches use has a line in
tools/tests_only.txt, with the reason: NAME why. One that its own file and tests use is there for these tests, and needs no line.
src/serve is not checked yet."""
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / 'tools/tests_only.txt'
PUBLIC = re.compile('rn_|main$') # used by programs elsewhere; check_exports.sh compares them


def words(path):
    return set(re.findall(r'\w+', re.sub(r'//[^\n]*|/\*.*?\*/', '', path.read_text(errors='replace'), flags=re.S)))


def source_of(made):
    return str(made).split('.dir/')[1][:-2]


def functions(build):
    """What the objects define (name -> source) and use (name -> sources)."""
    made, uses = {}, {}
    objects = sorted(str(o) for o in Path(build).rglob('*.dir/src/**/*.o') if (ROOT / source_of(o)).exists())
    if not objects:
        sys.exit(f'{build}: no object files of src/: ./dev build')
    table = subprocess.run(['nm', '-A', *objects], capture_output=True, text=True, check=True).stdout
    for line in table.splitlines():
        where, kind, name = re.fullmatch(r'(.*?):\s*[0-9a-f]* *(\w) (.*)', line).groups()
        source = source_of(where)
        if kind == 'U':
            uses.setdefault(name, set()).add(source)
        elif kind in 'TW' and not PUBLIC.match(name):
            made[name] = source
    return made, uses


def main(build):
    made, uses = functions(build)
    compiled = set(made.values()) | {s for of in uses.values() for s in of}
    # Sources for other processors are read as text.
    other = set().union(*(words(f) for f in ROOT.glob('src/**/*.c') if str(f.relative_to(ROOT)) not in compiled))
    tests = set().union(*(words(f) for d in ('tests', 'fuzz', 'bench') for f in (ROOT / d).rglob('*.[ch]')))
    listed = dict(line.split(None, 1) for line in LIST.read_text().splitlines() if line and line[0] != '#')
    wrong = []
    for name, source in sorted(made.items()):
        if uses.get(name, set()) - {source} or name in other:
            continue
        of_itself = len(re.findall(rf'\b{name}\b', (ROOT / source).read_text())) > 1
        if name not in tests:
            wrong.append(f'{source}: {name}: no other file uses it: make it static, or remove it')
        elif name in listed:
            del listed[name]
        elif not of_itself:
            wrong.append(f'{source}: {name}: only tests use it: remove it, or say in tools/tests_only.txt why it stays')
    wrong += [f'tools/tests_only.txt: {name}: is used elsewhere, or is not there: remove the line' for name in listed]
    print('\n'.join(wrong), end='\n' if wrong else '')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
