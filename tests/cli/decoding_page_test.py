#!/usr/bin/env python3
"""docs/decoding.md shows each strategy at work: what its commands print (--write: prints it there)."""
import re
import sys

from harness import ROOT, check, equal, main, runnel, test
from page_commands import COMMAND, check_commands, write_commands

PAGE = ROOT / 'docs/decoding.md'


def strategies():
    """The names that the help page has."""
    return re.search(r'--strategy (\S+)', runnel('run', '--help').ok().text)[1].split('|')


@test
def every_command_prints_what_the_page_shows():
    check_commands(PAGE, 9)


@test
def every_strategy_is_explained_and_shown_with_one_prompt():
    text = PAGE.read_text()
    rows = re.findall(r'^\| `([\w-]+)` \|', text.split('\n## ')[0], re.M)
    equal(sorted(rows), sorted(strategies()))
    lines = [line for line, _ in COMMAND.findall(text) if line.startswith('runnel run ')]
    named = {re.search(r'--strategy (\S+)|$', line)[1] or 'sample' for line in lines}
    equal(sorted(named), sorted(strategies()))
    prompts = {re.search(r"-n \d+ (?:--json )?'([^']+)'(?: \||$)", line)[1] for line in lines}
    check(len(prompts) == 1, prompts)
    sections = {name: section for name, section in re.findall(r'^## (.*)\n((?:(?!^## ).*\n)*)', text, re.M)}
    for name, section in sections.items():
        if '--strategy' in section and name != 'What they do to a text':
            check('**When' in section and '**Cost' in section, f'{name}: says when, and at what cost')


if '--write' in sys.argv:
    write_commands(PAGE)
else:
    main()
