#!/usr/bin/env python3
"""docs/clients.md is what the clients' table, sources and pinned versions say. RUNNEL_WRITE_PAGE=1 writes it."""
import os

from table import TABLE, settings, version
from talk import FEATURES, Not, ROOT, equal, main, test

TITLES = {'chat': 'chat', 'stream': 'stream', 'tools': 'tools and their results', 'tools_stream': 'tools, streamed', 'usage': 'usage',
          'usage_stream': 'usage, streamed', 'embeddings': 'embeddings', 'cancel': 'cancel within an answer', 'timeout': 'its timeout',
          'unknown_model': 'unknown model', 'wrong_key': 'wrong key', 'too_long': 'prompt too long', 'schema': 'an answer by a JSON Schema', 'forced': 'a tool that has to be called'}
LANGUAGES = {'.py': 'python', '.mjs': 'javascript', '.go': 'go', '.yaml': 'yaml', '.toml': 'toml', '.json': 'json', '.sh': 'sh'}
HEAD = '''# Clients

Published clients with the settings that they need for `runnel serve`. `tests/clients` runs each of them, with the settings below, against a
server (`./dev setup --clients`, `./dev test --clients`), and this page is made of what they passed.

`URL` is the server's, `http://127.0.0.1:8080` by default, `KEY` an API key, any text where the server needs none, and `MODEL` a model's
name as `GET /v1/models` gives it.

'''


def table():
    names = [c for c in TABLE if set(c.features) == set(FEATURES)]
    why, rows = [], []
    for c in names:
        cells = []
        for feature in TITLES:
            value = c.features[feature]
            if isinstance(value, Not):
                if value not in why:
                    why.append(value)
                cells.append(f'no ({why.index(value) + 1})')
            else:
                cells.append('yes' if value is True else f'`{value}`')
        rows.append(f'| {c.title} | ' + ' | '.join(cells) + ' |')
    head = '| client | ' + ' | '.join(TITLES.values()) + ' |\n' + '|---' * (len(TITLES) + 1) + '|\n'
    notes = ''.join(f'- ({i + 1}) {text}\n' for i, text in enumerate(why))
    return ('## What each can do\n\n`yes` or what it raises: tested. The client itself lacks what is marked with `no`.\n\n' + head + '\n'.join(rows) + '\n\n' + notes + '\n')


def page():
    text = HEAD + table()
    for c in TABLE:
        suffix = LANGUAGES['.' + c.source.rsplit('.')[-1]] if not settings(c).startswith('- ') else 'yaml'
        text += f'## {c.title}\n\n`{c.package}` {version(c)}. {c.note}'.rstrip() + f'\n\n```{suffix}\n{settings(c).strip()}\n```\n\n'
    return text.rstrip('\n') + '\n'


@test
def the_page_of_clients_is_what_their_tests_say():
    path = ROOT / 'docs/clients.md'
    if os.environ.get('RUNNEL_WRITE_PAGE'):
        path.write_text(page())
    equal(path.read_text(), page(), 'docs/clients.md: RUNNEL_WRITE_PAGE=1 tests/clients/page_test.py writes it')


main()
