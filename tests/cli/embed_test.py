#!/usr/bin/env python3
"""tests/cli/embed_test.py - `runnel embed`: one line a text, the same numbers in each form, and what it says when it cannot."""
import array
import base64
import math
import sys

from harness import MODEL, TIMEOUT_S, Folder, check, equal, main, runnel, start, test

TEXTS = ['Once upon a time', 'Lily', 'The dog ran home and slept.']


def numbers(line):
    return [float(x) for x in line.split()]


def from_base64(text):
    values = array.array('f', base64.b64decode(text, validate=True))
    if sys.byteorder == 'big':
        values.byteswap()
    return list(values)


def floats(values):
    return list(array.array('f', values))


@test
def every_form_holds_the_same_numbers():
    plain = runnel('embed', *TEXTS).ok().text.splitlines()
    encoded = runnel('embed', '--encoding', 'base64', *TEXTS).ok().text.splitlines()
    objects = runnel('embed', '--json', *TEXTS).ok().lines
    encoded_objects = runnel('embed', '--json', '--encoding', 'base64', *TEXTS).ok().lines
    equal([len(x) for x in (plain, encoded, objects, encoded_objects)], [3] * 4)
    for i, text in enumerate(TEXTS):
        want = floats(numbers(plain[i]))
        equal(floats(objects[i]['embedding']), want)
        equal(from_base64(encoded[i]), want)
        equal(from_base64(encoded_objects[i]['embedding']), want)
        ids = runnel('tokenize', '--add-special', '--json', text).ok().lines[0]['ids']
        equal((objects[i]['index'], objects[i]['n_tokens']), (i, len(ids)))
        check(abs(math.fsum(v * v for v in want) - 1) < 1e-5, want)


@test
def texts_come_from_arguments_a_file_or_stdin_and_share_batches_without_a_trace():
    want = b''.join(runnel('embed', text).ok().out for text in TEXTS)
    lines = ('\n'.join(TEXTS[:2]) + '\r\n\n  \n' + TEXTS[2]).encode()
    equal(runnel('embed', *TEXTS).ok().out, want)
    equal(runnel('embed', stdin=lines).ok().out, want)
    equal(runnel('embed', '-f', '-', stdin=lines).ok().out, want)
    equal(runnel('embed', '--parallel', '1', '-t', '1', *TEXTS).ok().out, want)
    with Folder() as folder:
        (folder / 'texts').write_bytes(lines)
        equal(runnel('embed', '-f', folder / 'texts').ok().out, want)
    many = runnel('embed', '--parallel', '5', stdin='\n'.join(TEXTS * 20).encode()).ok().out
    equal(many, want * 20)


@test
def without_pooling_there_is_a_row_for_each_token_and_the_others_follow_from_them():
    text = TEXTS[2]
    rows = [floats(numbers(line)) for line in runnel('embed', '--pooling', 'none', text).ok().text.splitlines()]
    answer, = runnel('embed', '--pooling', 'none', '--json', text).ok().lines
    equal([floats(row) for row in answer['embedding']], rows)
    equal(len(rows), answer['n_tokens'])
    for kind, want in (('first', rows[0]), ('last', rows[-1])):
        equal(floats(numbers(runnel('embed', '--pooling', kind, '--no-normalize', text).ok().text)), want, kind)
    mean = numbers(runnel('embed', '--pooling', 'mean', '--no-normalize', text).ok().text)
    for got, column in zip(mean, zip(*rows)):
        check(abs(got - math.fsum(column) / len(rows)) < 1e-5, got)
    equal(runnel('embed', text).ok().out, runnel('embed', '--pooling', 'last', text).ok().out)


@test
def what_cannot_be_embedded_is_said_once_and_names_the_text():
    for code, args, words in (
            (1, ['-c', '8', ' '.join(TEXTS * 3)], ['ids:', 'tokens do not fit the context of 8']),
            (1, ['-c', '8', 'Lily', ' '.join(TEXTS * 3)], ['text 2: ids:', 'context of 8']),
            (1, ['--pooling', 'rank', 'Lily'], [str(MODEL), 'has no reranker head']),
            (1, ['-f', '/nowhere/texts'], ['/nowhere/texts: ']),
            (1, ['-f', '/dev/null'], ['/dev/null: holds no text']),
            (2, ['-f', '-', 'Lily'], ['TEXT and -f exclude each other']),
            (2, ['--pooling', 'max', 'Lily'], ['--pooling: ', 'max']),
            (2, ['--parallel', '0', 'Lily'], ['--parallel: ', '1..1024'])):
        result = runnel('embed', *args)
        equal(result.code, code, args)
        check(result.err.startswith('runnel: ') and result.err.count('\n') == 1, result.err)
        check(all(word in result.err for word in words), result.err)
    before = runnel('embed', '-c', '8', 'Lily', ' '.join(TEXTS * 3)).out
    equal(before, runnel('embed', 'Lily').ok().out)     # what came before it is written


@test
def a_reader_that_goes_away_ends_it_quietly():
    child = start('embed', *TEXTS * 5)
    child.stdout.close()
    equal((child.wait(timeout=TIMEOUT_S), child.stderr.read()), (0, b''))
    child.stderr.close()


main()
