#!/usr/bin/env python3
"""tests/cli/encoders_test.py - encoders: rows, embeddings and scores are those of transformers (make_encoders.py), whoever else is in the step."""
import json
import math
import pathlib

from harness import check, equal, main, runnel, test

ROOT = pathlib.Path(__file__).parent / 'encoders'
EMBEDDERS, RANKERS = ('bert', 'roberta', 'distilbert'), ('bert-scores', 'xlm-roberta-scores')


def golden(name):
    return json.loads((ROOT / name / 'golden.json').read_text())


def embed(name, *args, texts=None):
    texts = texts or [g['text'] for g in golden(name)]
    return [a['embedding'] for a in runnel('embed', '-m', ROOT / name, '--json', '--kv-type', 'f32', *args, *texts).ok().lines]


def near(got, want, *what):
    check(len(got) == len(want) and all(math.isclose(a, b, rel_tol=2e-4, abs_tol=2e-4) for a, b in zip(got, want)), *what, got[:6], want[:6])


@test
def each_row_is_the_one_of_transformers():
    for name in EMBEDDERS:
        for g, rows in zip(golden(name), embed(name, '--pooling', 'none')):
            equal(len(rows), len(g['ids']))
            for row, want in zip(rows, g['out']):
                near(row, want, name, g['text'])


@test
def scores_are_those_of_transformers():
    for name in RANKERS:
        for args in ((), ('--pooling', 'rank')):
            for g, got in zip(golden(name), embed(name, *args)):
                near(got, g['out'], name, g['text'])


@test
def without_a_word_of_the_file_an_embedding_is_the_mean_of_all_rows():
    for name in EMBEDDERS:
        for g, got in zip(golden(name), embed(name, '--no-normalize')):
            near(got, [sum(column) / len(g['out']) for column in zip(*g['out'])], name)
        first = embed(name, '--pooling', 'first', '--no-normalize')
        for g, got in zip(golden(name), first):
            near(got, g['out'][0], name)


@test
def bits_do_not_depend_on_other_texts_threads_and_kernels():
    for name in EMBEDDERS:
        texts = [g['text'] for g in golden(name)] * 7 + ['the cat sat on a mat and ran'] * 3      # some begin alike
        want = embed(name, '--parallel', 1, '-t', 1, texts=texts)
        for args in (('--parallel', 16, '-t', 2), ('--parallel', 5, '--cpu', 'ref'), ('--parallel', 3, '--no-repack')):
            equal(embed(name, *args, texts=texts), want, f'{name} {args}')


@test
def an_encoder_writes_no_text():
    for args in (('run', '-n', 3, 'the cat'), ('score', '-p', 'the cat'), ('chat', '-p', 'the cat')):
        done = runnel(args[0], '-m', ROOT / 'bert', *args[1:])
        check(done.code != 0, args)
        if args[0] != 'chat':
            check('an encoder, which sees texts as a whole: it makes embeddings and scores of them, and writes none' in done.err, args, done.err)


@test
def a_text_that_is_too_long_is_refused():
    runnel('embed', '-m', ROOT / 'bert', 'the ' * 39).fails(1, '41 tokens do not fit the context of 40')


if __name__ == '__main__':
    main()
