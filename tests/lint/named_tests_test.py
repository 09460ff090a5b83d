#!/usr/bin/env python3
"""tests/lint/named_tests_test.py - tests that the pages name are there: `MODULE.NAME_test`, with a part of a test's name behind it."""
import re

from sentences import ROOT, main, test

NAMED = re.compile(r'`([a-z_]+)\.([a-z0-9_]+_test)(?: (\w+))?`')
BACKENDS = ('device', 'composite')      # the same programs again: tests/CMakeLists.txt


def programs():
    """MODULE.NAME -> its text. Those in web/ start what is written in JavaScript beside them."""
    scripts = ''.join(path.read_text() for path in (ROOT / 'tests/web').glob('*.mjs'))
    return {f'{path.parent.name}.{path.stem}': path.read_text() + (scripts if path.parent.name == 'web' else '')
            for path in (ROOT / 'tests').rglob('*_test.*') if path.suffix in ('.c', '.py') and 'node_modules' not in path.parts}


def names(text):
    return re.findall(r'^(?:TEST\(|@test\s+def |test\((?:async )?function )(\w+)', text, re.MULTILINE)


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


def rows(page, heading):
    """Those of the tables whose head is this."""
    tables = (ROOT / 'docs' / page).read_text().split(heading)[1:]
    return [row for table in tables for row in table.split('\n\n')[0].splitlines()[2:]]


@test
def each_row_of_the_tables_that_tie_tests_to_what_they_hold_names_one(folder):
    for page, heading, least in (('testing.md', '| finding | tests |', 30), ('testing.md', '| sampler | compared with | tests |', 25), ('limits.md', '| limit | value | reason | test |', 40)):
        found = rows(page, heading)
        assert len(found) > least, (page, len(found))
        without = [row for row in found if not NAMED.search(row.split('|')[-2])]
        assert not without, (page, without)


main()
