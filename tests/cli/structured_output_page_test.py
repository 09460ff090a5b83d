#!/usr/bin/env python3
"""docs/structured-output.md shows each form of an answer at work: what its commands print (--write: prints it there)."""
import re
import sys

from harness import ROOT, check, equal, main, runnel, test
from page_commands import COMMAND, check_commands, write_commands

PAGE = ROOT / 'docs/structured-output.md'
NOT_FORMS = {'json-space', 'no-forced-tokens'}


def forms():
    """The options that the help page has."""
    page = runnel('run', '--help').ok().text
    group = page.split('Form of the answer:')[1].split('\n\n')[0]
    return set(re.findall(r'^ {6}--([a-z-]+)', group, re.M)) - NOT_FORMS


@test
def every_command_prints_what_the_page_shows():
    check_commands(PAGE, 10)


@test
def every_form_is_listed_with_its_cost_and_shown():
    text = PAGE.read_text()
    rows = re.findall(r'^\| [^|]+ \| `--([a-z-]+)[^|]*` \| [^|]+ \| [^|]+ \| \d+ \| [\d.]+, \d+ \|$', text.split('\n## ')[0], re.M)
    equal(set(rows), forms())
    shown = [line for line, _ in COMMAND.findall(text) if line.startswith('runnel run ')]
    equal([name for name in rows if not any(f'--{name} ' in line for line in shown)], [])
    check(sum('::=' in line for line in shown) == 1 and sum('\n    > start:' in line for line in shown) == 1, 'GBNF and Lark')


if '--write' in sys.argv:
    write_commands(PAGE)
else:
    main()
