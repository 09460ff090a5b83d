#!/usr/bin/env python3
"""tests/lint/named_tests_test.py - tests that the pages name are there: `MODULE.NAME_test`, with a part of a test's name behind it."""
import re

from sentences import ROOT, main, test

NAMED = re.compile(r'`([a-z_]+)\.([a-z0-9_]+_test)(?: (\w+))?`')
BACKENDS = ('device', 'composite')      # the same programs again: tests/CMakeLists.txt


def programs():
    """MODULE.NAME -> its text."""
    return {f'{path.parent.name}.{path.stem}': path.read_text()
            for path in (ROOT / 'tests').rglob('*_test.*') if path.suffix in ('.c', '.py') and 'node_modules' not in path.parts}


def names(text):
    return re.findall(r'^(?:TEST\(|@test\s+def )(\w+)', text, re.MULTILINE)


def named(page):
    return NAMED.findall(page.read_text())


@test
def each_test_that_a_page_names_is_there(folder):
    known, missing = programs(), []
    for page in sorted((ROOT / 'docs').glob('*.md')):
        for module, program, part in named(page):
            text = known.get(f'{module}.{program}')
            if module in BACKENDS:
                continue
            if text is None or (part and not any(part in name for name in names(text))):
                missing.append(f'{page.name}: {module}.{program} {part}'.rstrip())
    assert not missing, missing


@test
def the_table_of_findings_names_a_test_in_every_row(folder):
    page = (ROOT / 'docs/testing.md').read_text()
    table = page[page.index('| finding | tests |'):].split('\n\n')[0].splitlines()[2:]
    assert len(table) > 30, len(table)
    assert not [row for row in table if not NAMED.search(row)], [row for row in table if not NAMED.search(row)]


main()
