#!/usr/bin/env python3
"""tests/lint/docs_test.py - the pages name files that exist, their links lead somewhere, and no command is left out."""
import re

from sentences import ROOT, main, test

PAGES = [ROOT / 'README.md', ROOT / 'CONTRIBUTING.md', *sorted((ROOT / 'docs').rglob('*.md'))]
FOLDERS = '|'.join(('src', 'include', 'tests', 'tools', 'docs', 'bench', 'fuzz', 'cmake', 'web', 'models', 'completions'))
PATH = re.compile(rf'`((?:{FOLDERS})/[a-z0-9_./*-]+)`( \(planned\))?')
INSTALLED = {'tests/web/node_modules'}  # ./dev setup --web
FENCED = re.compile(r'^```.*?^```$', re.MULTILINE | re.DOTALL)


def anchors(page):
    headings = re.findall(r'^#+ (.*)$', FENCED.sub('', page.read_text()), re.M)
    return {re.sub(r'[^\w\- ]', '', heading.lower()).replace(' ', '-') for heading in headings}


@test
def each_file_that_a_page_names_is_there_unless_it_is_planned(folder):
    missing = [f'{page.relative_to(ROOT)}: {path}' for page in PAGES for path, planned in PATH.findall(page.read_text())
               if not planned and path not in INSTALLED and not list(ROOT.glob(path.rstrip('/')))
               and not list(ROOT.glob(path + '.*'))]
    assert not missing, missing


@test
def each_link_leads_to_a_page_and_a_heading(folder):
    broken = []
    for page in PAGES:
        for target, anchor in re.findall(r'\]\(([^)#\s]*)(#[^)\s]*)?\)', FENCED.sub('', page.read_text())):
            if re.match(r'https?:', target):
                continue
            to = page.parent / target if target else page
            if not to.exists() or (anchor and anchor[1:] not in anchors(to)):
                broken.append(f'{page.relative_to(ROOT)}: {target}{anchor}')
    assert not broken, broken


@test
def the_first_page_and_the_manual_have_every_command(folder):
    commands = re.findall(r'^    \{"([a-z-]+)", "', (ROOT / 'src/cli/main.c').read_text(), re.M)
    assert len(commands) > 20, commands
    readme, manual = (ROOT / 'README.md').read_text(), (ROOT / 'docs/man/runnel.1').read_text()
    missing = [c for c in commands if c not in ('help', 'version') and (f'`{c}`' not in readme or not re.search(rf'\b{c}\b', manual))]
    assert not missing, missing


main()
