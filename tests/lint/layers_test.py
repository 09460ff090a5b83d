#!/usr/bin/env python3
"""tests/lint/layers_test.py - the include check lets the house through and stops each kind of forbidden include."""
import shutil
import subprocess
import sys

from sentences import ROOT, has, main, test, write

# A house that obeys: one file for each kind of allowed include, under the project's own tables.
GOOD = {
    'include/runnel/status.h': '#include <stddef.h>\n',
    'include/runnel/runnel.h': '#include <runnel/status.h>\n',
    'src/base/status.h': '#include <runnel/status.h>\n#include <stdint.h>\n',
    'src/base/pool.c': '#include "base/status.h"\n#include <pthread.h>\n',
    'src/kernels/rowmath.h': '#include <stddef.h>\n',
    'src/kernels/kernels.h': '#include "kernels/rowmath.h"\n#include "base/status.h"\n',
    'src/kernels/x86/row_avx2.c': '#include "kernels/kernels.h"\n#include <immintrin.h>\n',
    'src/lm/lm.h': '#include "base/status.h"\n',
    'src/lm/lm_real.h': '#include "lm/lm.h"\n',
    'src/sampling/chain.c': '#include "kernels/rowmath.h"\n  #  include "lm/lm.h"\n#include <math.h>\n',
    'src/engine/engine.c': '#include <runnel/runnel.h>\n#include "sampling/chain.h"\n',
    'src/app/json.h': '#include <runnel/runnel.h>\n#include <jansson.h>\n',
    'src/cli/run.c': '#include "app/json.h"\n#include <runnel/runnel.h>\n',
}

# why, the planted file, its line, what the message must name besides the file
FORBIDDEN = [
    ('an upper floor', 'src/base/a.c', '#include "engine/engine.h"', ['base', 'engine/engine.h']),
    ('a room of the same floor', 'src/tensor/a.c', '#include "text/utf8.h"', ['tensor', 'text/utf8.h']),
    ('a lower room without an arrow', 'src/decoding/a.c', '#include "kv/kv.h"', ['decoding', 'kv/kv.h']),
    ('another header of a room opened by one', 'src/sampling/a.c', '#include "kernels/kernels.h"',
     ['sampling', 'kernels/kernels.h', 'kernels/rowmath.h']),
    ('the real lm from sampling', 'src/sampling/a.c', '#include "lm/lm_real.h"', ['sampling', 'lm/lm_real.h']),
    ('a public header from an inner room', 'src/model/a.c', '#include <runnel/runnel.h>', ['model', 'runnel/runnel.h']),
    ('an inner room from the program', 'src/cli/a.c', '#include "lm/lm.h"', ['cli', 'lm/lm.h']),
    ('an inner room from a public header', 'include/runnel/a.h', '#include "base/status.h"', ['runnel', 'base/status.h']),
    ('an external that is not listed', 'src/base/a.c', '#include <uv.h>', ['base', 'uv.h', 'externals.txt']),
    ('an external of another room', 'src/lm/a.c', '#include <pthread.h>', ['lm', 'pthread.h', 'base']),
    ('a neighbour without its room', 'src/base/a.c', '#include "status.h"', ['base', 'status.h', 'room/file.h']),
    ('a way around by ..', 'src/base/a.c', '#include "../engine/engine.h"', ['base', '../engine/engine.h']),
    ('a room in angle brackets', 'src/lm/a.c', '#include <base/status.h>', ['lm', 'base/status.h', 'brackets']),
    ('a public header in quotes', 'src/engine/a.c', '#include "runnel/runnel.h"', ['engine', 'runnel/runnel.h', 'brackets']),
    ('a system header in quotes', 'src/base/a.c', '#include "stdio.h"', ['base', 'stdio.h']),
    ('an include by macro', 'src/base/a.c', '#include HEADER', ['base', 'HEADER', 'macro']),
    ('spaces around the sign', 'src/base/a.h', '  #  include "lm/lm.h"', ['base', 'lm/lm.h']),
    ('a file two folders down', 'src/kernels/x86/b.c', '#include "lm/lm.h"', ['kernels', 'lm/lm.h']),
    ('a room that is not in the table', 'src/attic/a.c', '#include <stdio.h>', ['attic', 'layers.txt']),
    ('a file outside any room', 'src/a.c', '#include <stdio.h>', ['a.c', 'layers.txt']),
]


def check(folder):
    result = subprocess.run([sys.executable, ROOT / 'tools/check_layers.py', folder], capture_output=True, text=True)
    return result.returncode, result.stdout + result.stderr


def good_house(folder):
    write(folder, GOOD)
    (folder / 'tools').mkdir()
    for table in ('layers.txt', 'externals.txt'):
        shutil.copy(ROOT / 'tools' / table, folder / 'tools')


@test
def a_house_that_obeys_passes(folder):
    good_house(folder)
    assert check(folder) == (0, ''), check(folder)


@test
def a_header_that_brings_along_a_forbidden_one_is_refused_where_it_is_named(folder):
    good_house(folder)
    write(folder, {'src/backend/program.h': '#include "kernels/kernels.h"\n',
                   'src/model/arch.h': '// first line\n#include "backend/program.h"\n',
                   'src/model/arch.c': '#include "model/arch.h"\n'})
    status, text = check(folder)
    assert status == 1 and len(text.splitlines()) == 1, text
    has(text, 'src/model/arch.h:2: ', 'model', 'kernels/kernels.h', 'backend/program.h')


@test
def two_headers_down_counts_and_headers_that_include_each_other_end(folder):
    good_house(folder)
    write(folder, {'src/backend/backend.h': '#include "backend/program.h"\n',
                   'src/backend/program.h': '#include "backend/backend.h"\n#include "kernels/kernels.h"\n',
                   'src/lm/real.c': '#include "backend/backend.h"\n'})
    has(check(folder)[1], 'src/lm/real.c:1: ', 'kernels/kernels.h', 'backend/backend.h -> backend/program.h')


@test
def a_re_exported_header_may_arrive_but_not_be_named(folder):
    good_house(folder)
    write(folder, {'src/tokenizer/vocab.h': '\n', 'src/formats/package.h': '#include "tokenizer/vocab.h"\n',
                   'src/model/bind.c': '#include "formats/package.h"\n'})
    assert check(folder) == (0, ''), check(folder)
    write(folder, {'src/model/bind.c': '#include "tokenizer/vocab.h"\n'})
    has(check(folder)[1], 'src/model/bind.c:1: ', 'tokenizer/vocab.h')


@test
def each_kind_of_forbidden_include_is_refused_naming_both(folder):
    good_house(folder)
    for why, name, line, parts in FORBIDDEN:
        write(folder, {name: f'// first line\n{line}\n'})
        status, text = check(folder)
        assert status == 1, f'{why}: not refused'
        assert len(text.splitlines()) == 1, f'{why}: {text}'
        has(text, name if 'layers.txt' in parts else f'{name}:2: ', *parts)
        (folder / name).unlink()


@test
def every_forbidden_include_is_listed_not_only_the_first(folder):
    good_house(folder)
    write(folder, {'src/base/a.c': '#include "lm/lm.h"\n#include "kv/kv.h"\n', 'src/text/b.c': '#include "kv/kv.h"\n'})
    status, text = check(folder)
    assert status == 1
    assert [line.split(': ')[0] for line in text.splitlines()] == ['src/base/a.c:1', 'src/base/a.c:2', 'src/text/b.c:1']


@test
def a_table_with_a_cycle_or_a_double_line_is_refused(folder):
    good_house(folder)
    for why, table, part in [
            ('two rooms name each other', 'base :\ntext : base kv\nkv : base text\n', 'text names kv'),
            ('a room names itself', 'base : base\n', 'base names base'),
            ('a header of a later room', 'base :\ntext : lm/lm.h\nlm : text\n', 'text names lm/lm.h'),
            ('a room twice', 'base :\ntext : base\nbase :\n', 'base has a line already'),
            ('no colon', 'base\n', 'no colon')]:
        write(folder, {'tools/layers.txt': table})
        status, text = check(folder)
        assert status == 1, why
        has(text, 'layers.txt:', part)


main()
