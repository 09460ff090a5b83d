#!/usr/bin/env python3
"""tests/lint/modules_test.py - tools/layers.txt, docs/design.md, CONTRIBUTING.md and src/ agree on the modules."""
import re

from sentences import ROOT, main, test


def allowed():
    """tools/layers.txt: module -> what it may use, from the lowest module to the highest."""
    table = {}
    for line in (ROOT / 'tools/layers.txt').read_text().splitlines():
        name, colon, uses = line.partition(':')
        if colon and not line.startswith('#') and name.strip() not in ('*', '+', 'runnel'):
            table[name.strip()] = uses.split()
    return table


def rows(path, pattern):
    return re.findall(pattern, (ROOT / path).read_text(), re.M)


def designed():
    """docs/design.md: module -> (layer, whether it is planned, what it may use)."""
    found = rows('docs/design.md', r'^\| (\d) \| `src/(\w+)/`( \(planned\))? \| .+ \| ([^|]*)\|$')
    return {name: (int(layer), bool(planned), [use for use in uses.strip().split(', ') if use]) for layer, name, planned, uses in found}


@test
def design_says_of_each_module_what_the_include_check_allows(folder):
    table, design = allowed(), designed()
    assert set(table) == set(design), set(table) ^ set(design)
    for name, (layer, _, uses) in design.items():
        assert uses == table[name], f'docs/design.md: {name}: {uses}, tools/layers.txt: {table[name]}'
        below = [design[use.split('/')[0]][0] for use in uses if use != 'runnel']
        assert max(below, default=0) <= layer, f'{name} of layer {layer} uses a higher one: {uses}'


@test
def contributing_lists_the_modules_of_design_with_headers_to_begin_with(folder):
    listed = rows('CONTRIBUTING.md', r'^\| (\d) \| `(\w+)` \| .+ \| ([^|]*)\|$')
    assert {name: int(layer) for layer, name, _ in listed} == {
        name: layer for name, (layer, planned, _) in designed().items() if not planned}
    for _, name, headers in listed:
        assert headers.strip(), name
        for header in re.findall('`([^`]+)`', headers):
            path = ROOT / header if '/' in header else ROOT / 'src' / name / header
            assert path.exists(), f'CONTRIBUTING.md: {name}: {header} is not there'


@test
def each_folder_of_src_is_a_module_and_each_module_a_folder_unless_planned(folder):
    there = {path.name for path in (ROOT / 'src').iterdir() if path.is_dir()}
    for name, (_, planned, _) in designed().items():
        assert (name in there) != planned, f'src/{name}: planned: {planned}, there: {name in there}'
    assert there <= set(designed()), there - set(designed())


main()
