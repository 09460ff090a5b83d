#!/usr/bin/env python3
"""docs/guidance.md shows what it explains at work: what its commands print (--write: prints it there)."""
import re
import sys

from harness import ROOT, check, equal, main, test
from page_commands import COMMAND, check_commands, write_commands

PAGE = ROOT / 'docs/guidance.md'


@test
def every_command_prints_what_the_page_shows():
    check_commands(PAGE, 7)


@test
def every_section_has_its_cost_and_an_example_of_its_options():
    sections = re.findall(r'^## (.*)\n((?:(?!^## ).*\n)*)', PAGE.read_text(), re.M)
    equal(len(sections), 4)
    for name, text in sections:
        check(re.search(r'\b[Cc]osts? ', text) or 'Cost:' in text, f'{name}: what it costs')
        option = re.search(r'`(--[a-z-]+)', text)[1] if name != 'Probabilities' else '--sampled-logprobs'
        check(any(option in line for line, _ in COMMAND.findall(text)), f'{name}: {option} is shown')


if '--write' in sys.argv:
    write_commands(PAGE)
else:
    main()
