#!/usr/bin/env python3
"""docs/sampling.md says what is: its ranges and defaults, its orders, and what the commands in it print (--write: prints it there)."""
import json
import re
import sys

from harness import ROOT, check, equal, main, runnel, test
from page_commands import COMMAND, check_commands, write_commands

PAGE = ROOT / 'docs/sampling.md'


def fields():
    """(name, lowest, highest, default) as the help page tells them."""
    page = ' '.join(runnel('run', '--help').ok().text.split())
    sampling = page[page.index('Sampling:'):page.index('--samplers')]
    return [(n.replace('-', '_'), low, high, value) for n, low, high, value in
            re.findall(r'--([a-z-]+) [NX] (?:(?!--).)*?\((-?[\d.]+?)\.\.(-?[\d.]+), default ([-\d.]+)\)', sampling)]


@test
def every_range_and_default_is_that_of_the_options():
    rows = re.findall(r'^\| `(\w+)` \| (-?[\d.]+?)\.\.(-?[\d.]+) \| (\S+) \|$', PAGE.read_text(), re.M)
    check(len(rows) > 30, rows)
    equal(rows, fields())


@test
def every_parameter_is_explained():
    explained = PAGE.read_text().split('## Ranges')[0]
    equal([name for name, *_ in fields() if f'`{name}`' not in explained], [])


def rows_of_tests():
    """(sampler, compared with) of the table in docs/testing.md."""
    text = (ROOT / 'docs/testing.md').read_text().split('| sampler | compared with | tests |')[1].split('\n\n')[0]
    return [tuple(cell.strip() for cell in row.split('|')[1:3]) for row in text.splitlines()[2:]]


@test
def every_sampler_is_compared_with_somebodys():
    rows = rows_of_tests()
    named = {name for sampler, _ in rows for name in re.findall(r'`(\w+)`', sampler)}
    equal(sorted({name for name, *_ in fields()} - named), [])
    goldens = dict(re.findall(r'\{"(\w+)", run_\w+, (\d+)\}', (ROOT / 'tests/sampling/goldens_test.c').read_text()))
    kinds = {c['kind'] for c in json.loads((ROOT / 'tests/engine/llama_samplers.json').read_text())['cases']}
    said, llamas = {}, set()
    for _, others in rows:
        for other in others.split(';'):
            names = re.findall(r'`([\w. -]+)`(?: \((\d+)\))?', other)
            if other.strip().startswith('llama.cpp'):
                llamas |= {name for name, _ in names}
            else:
                said |= {name: n for name, n in names if n}
    equal(said, goldens)
    equal(llamas, kinds)


@test
def the_orders_are_those_of_the_source():
    source = (ROOT / 'src/sampling/order.c').read_text()
    orders = re.findall(r'\[SAMPLING_ORDER_\w+\] = \{"([\w.]+)",\s*((?:"[\w;]+"\s*)+)\}', source)
    rows = re.findall(r'^\| `([\w.]+)`(?: \(default\))? \| (penalties, .*) \|$', PAGE.read_text(), re.M)
    equal(rows, [(name, ''.join(re.findall(r'[\w;]+', stages)).replace(';', ', ')) for name, stages in orders])
    page = runnel('run', '--help').ok().text
    check('--sampler-order ' + '|'.join(name for name, _ in rows) in page, page)
    for name, stages in rows:
        said = runnel('run', '-v', '-n', '1', '--sampler-order', name, 'x').ok().err
        check(f'sampler order {name}: {stages.replace(", ", ";")}\n' in said, said)


@test
def every_command_prints_what_the_page_shows():
    check_commands(PAGE, 30)


@test
def every_method_is_shown():
    text = PAGE.read_text()
    tables = [text.split(f'## {name}\n')[1].split('\n## ')[0] for name in ('Changes of single logits', 'Truncation', 'Temperature and draw')]
    methods = [name.replace('_', '-') for table in tables for name in re.findall(r'^\| `(\w+)`', table, re.M)]
    check(len(methods) > 20, methods)
    shown = ' '.join(line for line, _ in COMMAND.findall(text))
    equal([name for name in [*methods, 'dry-multiplier', 'ban-token', 'presence-penalty', 'watermark'] if f'--{name} ' not in shown], [])


if '--write' in sys.argv:
    write_commands(PAGE)
else:
    main()
