#!/usr/bin/env python3
"""tests/lint/contributing_test.py - what CONTRIBUTING.md shows of the sources is what they say, and an architecture costs under 60 lines."""
import re

from sentences import ROOT, main, test

LISTING = re.compile(r'^```c\n// (\S+)\n(.*?)^```$', re.MULTILINE | re.DOTALL)


def listings(begin='', end=''):
    """Of the sections from `begin` to `end`, all without: path, lines."""
    text = (ROOT / 'CONTRIBUTING.md').read_text()
    section = text[text.index(begin):text.index(end) if end else len(text)]
    return [(path, [line for line in body.splitlines() if line]) for path, body in LISTING.findall(section)]


def plain(line):
    """Without the spaces that line up the ends of a macro's lines and comments."""
    return ' '.join(line.rstrip('\\').split())


@test
def each_line_shown_is_in_the_file_it_is_shown_of(folder):
    for path, lines in listings():
        source = [plain(line) for line in (ROOT / path).read_text().splitlines()]
        at = 0
        for line in lines:
            assert plain(line) in source[at:], f'{path} has no line `{line}` (any more), or elsewhere'
            at = source.index(plain(line), at) + 1


@test
def the_example_of_an_architecture_is_whole_and_under_60_lines(folder):
    shown = listings('## Adding an architecture', '## Adding a modality')
    assert [path for path, _ in shown] == ['src/model/arch_postnorm.c', 'src/model/archs.h', 'src/formats/hparams/arch_facts.c',
                                           'src/formats/folder/hf_names_dense.c'], shown
    assert 10 < sum(len(lines) for _, lines in shown) < 60


@test
def the_example_of_a_backend_is_whole_and_that_of_a_codec_shows_each_file(folder):
    shown = listings('## Adding a backend', '## Adding a quantized type')
    assert [path for path, _ in shown] == ['tests/backend/example_backend_test.c', 'src/tensor/kv_codec.h',
                                           'src/kernels/ref/kv_plain_ref.c', 'src/kernels/ref/slots_ref.h'], shown
    source = (ROOT / shown[0][0]).read_text()
    whole = source[source.index('struct lookup {'):source.index('TEST(')]
    assert [plain(line) for line in shown[0][1]] == [plain(line) for line in whole.splitlines() if line]


@test
def the_example_of_a_strategy_is_whole_and_under_60_lines(folder):
    shown = listings('## Adding a strategy', '## Adding a tokenizer')
    assert [path for path, _ in shown] == ['tests/decoding/example_strategy_test.c', 'src/decoding/strategies.c'], shown
    code = (ROOT / shown[0][0]).read_text()
    whole = code[code.index('struct argmax_strategy {'):code.index('// ---- its test')].splitlines()
    declared = 'rn_status argmax_strategy_create(const struct strategy_spec *spec, strategy **out, rn_error *err);'
    assert shown[0][1] == [line for line in whole if line and line != declared]
    assert len(shown[0][1]) < 60


main()
