#!/usr/bin/env python3
"""docs/sampling.md says what is: its ranges and defaults, its orders, and what the commands in it print (--write: prints it there)."""
import re
import shlex
import subprocess
import sys

from harness import PROGRAM, ROOT, check, equal, main, runnel, test

PAGE = ROOT / 'docs/sampling.md'
PROMPT, COMMAND = '    $ ', re.compile(r'^    \$ runnel (.*)\n((?:    (?!\$).*\n)*)', re.M)


def output(line):
    done = subprocess.run([PROGRAM, *shlex.split(line)], cwd=ROOT, capture_output=True, text=True, timeout=120, check=True)
    return ''.join(f'    {row}'.rstrip() + '\n' for row in done.stdout.rstrip('\n').split('\n'))


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


@test
def the_orders_are_those_of_the_source():
    source = (ROOT / 'src/sampling/order.c').read_text()
    names = dict((stage, name) for name, stage in reversed(re.findall(r'\{"(\w+)", (STAGE_\w+)\}', source)))
    for order, label in (('LLAMA_CPP', 'llama.cpp` (default)'), ('TRANSFORMERS', 'transformers`')):
        stages = re.search(rf'SAMPLING_ORDER_{order}\] = \{{\d+,\s*\{{(.*?)\}}', source, re.S).group(1)
        row = re.search(rf'^\| `{re.escape(label)} \| (.*) \|$', PAGE.read_text(), re.M).group(1)
        equal(row.split(', '), [names[s] for s in re.findall(r'STAGE_\w+', stages)])


@test
def every_command_prints_what_the_page_shows():
    shown = COMMAND.findall(PAGE.read_text())
    check(len(shown) > 15, shown)
    for line, text in shown:
        equal(text, output(line), line)


if '--write' in sys.argv:
    PAGE.write_text(COMMAND.sub(lambda m: f'{PROMPT}runnel {m[1]}\n{output(m[1])}', PAGE.read_text()))
else:
    main()
