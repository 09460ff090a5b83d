#!/usr/bin/env python3
"""tests/install/recipes_test.py - CONTRIBUTING.md's recipe for a strategy, done: its files, nothing else, and a request may name it."""
import re
import subprocess

from building import BUILD, need, run
from sentences import ROOT, main, test

MODEL = ROOT / 'models/stories.gguf'
LISTING = re.compile(r'^```c\n// (\S+)\n(.*?)^```$', re.M | re.S)
INCLUDES = '// decoding/argmax_strategy.c - the largest logit.\n#include "base/mem.h"\n#include "decoding/strategies.h"\n\n'


def with_line(text, before, line):
    assert before in text, f'no {before!r}'
    return text.replace(before, line + before, 1)


def add_strategy(folder):
    """The files that the recipe says to write or change, in a folder of their own."""
    recipe = (ROOT / 'CONTRIBUTING.md').read_text()
    recipe = recipe[recipe.index('## Adding a strategy'):recipe.index('## Adding a tokenizer')]
    (_, code), (path, row) = LISTING.findall(recipe)
    assert path == 'src/decoding/strategies.c'
    room = folder / 'src/decoding'
    room.mkdir(parents=True)
    (room / 'argmax_strategy.c').write_text(INCLUDES + code)
    mine = row.replace('sample', 'argmax')
    (room / 'strategies.c').write_text(with_line((ROOT / path).read_text(), row, mine))
    declared = 'rn_status argmax_strategy_create(const struct strategy_spec *spec, strategy **out, rn_error *err);\n'
    header = (ROOT / 'src/decoding/strategies.h').read_text()
    (room / 'strategies.h').write_text(with_line(header, 'rn_status sample_strategy_create', declared))
    return sorted(room.glob('*.c'))


@test
def a_strategy_added_as_the_recipe_says_answers_requests_that_name_it(folder):
    need('pkg-config')
    caller = (ROOT / 'docs/examples/stream.c').read_text()
    named = ('    rn_sampling greedy;\n    rn_sampling_init(&greedy);\n    rn_sampling_set(&greedy, "temp", 0, &err);\n'
             '    request.sampling = &greedy;\n    request.strategy = getenv("STRATEGY");\n')
    (folder / 'caller.c').write_text(with_line(caller, '    if (rn_stream_begin(', named))
    libraries = run('pkg-config', '--libs', 'libpcre2-8', 'libutf8proc').split()
    includes = [f'-I{at}' for at in (folder / 'src', ROOT / 'src', ROOT / 'include')]
    # The library's own table is not linked, since the copy defines what it defines.
    run('cc', '-std=gnu17', '-O1', '-Wall', '-Werror', '-D_GNU_SOURCE', *includes, *add_strategy(folder), folder / 'caller.c',
        BUILD / 'librunnel.a', *libraries, '-lm', '-pthread', '-o', folder / 'caller')

    def text(strategy):
        done = subprocess.run([folder / 'caller', MODEL, 'Once upon', '24'], env={'STRATEGY': strategy}, capture_output=True, text=True)
        return done.stdout, done.stderr
    mine, plain = text('argmax'), text('sample')
    assert len(plain[0]) > 40 and mine == plain, (mine, plain)
    assert 'strategy: nobody is unknown; known ones are argmax, sample' in text('nobody')[1]


main()
