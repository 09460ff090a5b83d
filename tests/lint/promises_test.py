#!/usr/bin/env python3
"""tests/lint/promises_test.py - docs/promises.md lists the numbers that test names carry, and the programs whose tests they are."""
import collections
import re

from sentences import ROOT, main, test

ROW = re.compile(r'\| (\d+\.\d+) \| .+ \| .+ \| ([^|]+) \|')
CITED = re.compile(r'\bfield_(\d+)_(\d+)_')


def cited():
    """number -> the files, as FOLDER.NAME, whose tests carry it."""
    numbers = collections.defaultdict(set)
    for path in (ROOT / 'tests').rglob('*'):
        if path.suffix in ('.c', '.py', '.mjs') and path.parent.name != 'lint' and 'node_modules' not in path.parts:
            for first, second in CITED.findall(path.read_text()):
                numbers[f'{first}.{int(second)}'].add(f'{path.parent.name}.{path.stem}')
    return numbers


def listed():
    """number -> the files of its row; none: planned."""
    rows = ROW.findall((ROOT / 'docs/promises.md').read_text())
    assert len(rows) == len(dict(rows)) > 40, 'a number has two rows, or the table was not found'
    return {number: set() if files == 'planned' else set(files.split(', ')) for number, files in rows}


@test
def each_number_in_a_tests_name_has_a_row_and_each_row_names_its_tests(folder):
    tests, rows = cited(), listed()
    for number in sorted({*tests, *rows}):
        assert number in rows, f'docs/promises.md has no row {number}, which tests of {sorted(tests[number])} cite'
        assert rows[number] == tests[number], f'docs/promises.md: {number}: tests: {", ".join(sorted(tests[number])) or "planned"}'


main()
