#!/usr/bin/env python3
"""tests/cli/score_test.py - `runnel score` and `runnel bench`."""
import array
import ast
import math
import os

from gguf import without_tokenizer
from harness import MODEL, Folder, check, end, equal, interrupt, main, runnel, start, test

TEXT = 'Once upon a time, there was a little girl named Lily.'


def read_npy(path):
    """(shape, values) of a float32 array."""
    data = path.read_bytes()
    equal(data[:8], b'\x93NUMPY\x01\x00')
    n_head = int.from_bytes(data[8:10], 'little')
    equal((10 + n_head) % 64, 0)
    head = ast.literal_eval(data[10:10 + n_head].decode())
    equal((head['descr'], head['fortran_order']), ('<f4', False))
    return head['shape'], array.array('f', data[10 + n_head:])


def ids_of(text):
    return runnel('tokenize', '--add-special', '--json', text).ok().lines[0]['ids']


@test
def nll_argmax_and_ppl_are_those_of_the_logits():
    ids = ids_of(TEXT)
    with Folder() as folder:
        result, = runnel('score', '--ids', ','.join(map(str, ids)), '--logits', folder / 'out.npy', '--json').ok().lines
        (n, n_vocab), logits = read_npy(folder / 'out.npy')
        equal(os.listdir(folder), ['out.npy'])
    equal((n, n_vocab, len(logits)), (len(ids), 4096, len(ids) * 4096))
    rows = [logits[i * n_vocab:(i + 1) * n_vocab] for i in range(n)]
    equal(result['argmax'], [row.index(max(row)) for row in rows])
    equal(len(result['nll']), n - 1)
    for i, got in enumerate(result['nll']):
        top = max(rows[i])
        want = top + math.log(math.fsum(math.exp(v - top) for v in rows[i])) - rows[i][ids[i + 1]]
        check(abs(got - want) < 1e-9 * (1 + abs(want)), i, got, want)
    check(abs(result['ppl'] - math.exp(math.fsum(result['nll']) / (n - 1))) < 1e-9 * result['ppl'], result['ppl'])


@test
def a_text_file_is_scored_with_its_begin_token():
    ids = ids_of(TEXT)
    want = runnel('score', '--ids', ','.join(map(str, ids)), '--json').ok().out
    with Folder() as folder:
        (folder / 'text').write_text(TEXT)
        equal(runnel('score', '--text-file', folder / 'text', '--json').ok().out, want)
        equal(runnel('score', '--text-file', '-', '--json', stdin=TEXT.encode()).ok().out, want)
        for args, stdin in (([TEXT], b''), (['-f', folder / 'text'], b''), ([], TEXT.encode())):
            equal(runnel('score', '--json', *args, stdin=stdin).ok().out, want, args)
        runnel('score', stdin=b'').fails(1, 'stdin: empty')
        page = runnel('score', '--text-file', folder / 'text').ok().text
    check(f'tokens      {len(ids)}\n' in page and 'perplexity' in page, page)


@test
def scores_agree_with_what_run_reports():
    lines = runnel('run', '--ids', '1', '--temp', '0', '-n', '6', '--json', '--logprobs', '0').ok().lines
    made = [p for line in lines for p in line['logprobs']]
    result, = runnel('score', '--ids', ','.join(['1', *(str(p['id']) for p in made)]), '--json').ok().lines
    equal(result['argmax'][:-1], [p['id'] for p in made], 'greedy tokens are the largest logits')
    for got, p in zip(result['nll'], made):
        check(abs(got + p['logprob']) < 1e-4, got, p)


@test
def one_token_has_no_surprise():
    result, = runnel('score', '--ids', '1', '--json').ok().lines
    equal((result['nll'], len(result['argmax']), result['ppl']), ([], 1, None))
    check('none' in runnel('score', '--ids', '1').ok().text, 'said for people')


@test
def kl_is_the_divergence_from_the_references_logits():
    ids = ids_of(TEXT)
    listed = ','.join(map(str, ids))
    with Folder() as folder:
        runnel('quantize', MODEL, folder / 'q4.gguf', 'Q4_0', '--allow-requantize').ok()
        runnel('score', '--ids', listed, '--logits', folder / 'ref.npy').ok()
        result, = runnel('score', '-m', folder / 'q4.gguf', '--ids', listed, '--kl', MODEL, '--logits', folder / 'q4.npy',
                         '--json').ok().lines
        alone, = runnel('score', '-m', folder / 'q4.gguf', '--ids', listed, '--json').ok().lines
        page = runnel('score', '-m', folder / 'q4.gguf', '--ids', listed, '--kl', MODEL).ok().text
        (_, n_vocab), model = read_npy(folder / 'q4.npy')
        reference = read_npy(folder / 'ref.npy')[1]
    equal({k: result[k] for k in ('nll', 'argmax', 'ppl')}, alone, 'the rest is as without a reference')
    rows = [[v[i * n_vocab:(i + 1) * n_vocab] for v in (reference, model)] for i in range(len(ids))]
    want, n_same = [], 0
    for pair in rows:
        logs = []
        for row in pair:
            top = max(row)
            norm = top + math.log(math.fsum(math.exp(v - top) for v in row))
            logs.append([v - norm for v in row])
        want.append(math.fsum(math.exp(a) * (a - b) for a, b in zip(*logs)))
        n_same += pair[0].index(max(pair[0])) == pair[1].index(max(pair[1]))
    want.sort()
    kl = result['kl']
    check(abs(kl['mean'] - math.fsum(want) / len(want)) < 1e-9, kl, want)
    check(abs(kl['p99'] - want[math.ceil(0.99 * len(want)) - 1]) < 1e-9, kl, want)
    equal(kl['top1'], n_same / len(ids))
    check('divergence' in page and 'same top' in page, page)


@test
def kl_needs_a_reference_of_the_same_vocabulary():
    runnel('score', '--ids', '1,2', '--kl', '/nowhere/m.gguf').fails(1, '/nowhere/m.gguf: cannot be opened')
    with Folder() as folder:
        (folder / 'm.gguf').write_bytes(without_tokenizer(MODEL.read_bytes()))
        result, = runnel('score', '--ids', '1,2', '--kl', folder / 'm.gguf', '--json').ok().lines
        equal(result['kl'], {'mean': 0, 'p99': 0, 'top1': 1}, 'the reference needs no tokenizer')


@test
def what_cannot_be_scored_is_refused():
    runnel('score', '--ids', ' ').fails(1, 'no tokens')
    runnel('score', '--ids', '4096').fails(2, '4096')
    runnel('score', '--ids', ','.join(['5'] * 513)).fails(1, '513')
    runnel('score', '--ids', ','.join(['5'] * 9), '-c', '8').fails(1, '9')
    runnel('score', '--text-file', '/nowhere').fails(1, '/nowhere: No such file')


@test
def logits_are_complete_or_absent():
    ids = ','.join(map(str, ids_of(TEXT)))
    with Folder() as folder:
        runnel('score', '--ids', ids, '--logits', folder / 'no/out.npy').fails(1, 'no/out.npy: No such file')
        runnel('score', '--ids', ids, '--logits', '/dev/null').fails(1, '/dev/null: exists and is not a regular file')
        runnel('score', '--ids', ids, '-c', '8', '--logits', folder / 'out.npy').fails(1)
        (folder / 'old.npy').write_bytes(b'old')
        runnel('score', '--ids', '4096', '--logits', folder / 'old.npy').fails(2)
        equal((sorted(os.listdir(folder)), (folder / 'old.npy').read_bytes()), (['old.npy'], b'old'))
        runnel('score', '--ids', '1,2', '--logits', folder / 'old.npy').ok()
        equal(read_npy(folder / 'old.npy')[0], (2, 4096))
        child = start('score', '--ids', ','.join(['5'] * 500), '--cpu', 'ref', '-t', '1', '--logits', folder / 'cut.npy')
        while child.poll() is None and len(os.listdir(folder)) < 2:
            pass
        interrupt(child)
        code, out, err = end(child)
        equal((code, out, err, os.listdir(folder)), (130, b'', '', ['old.npy']))


@test
def logits_into_an_unwritable_folder_leave_nothing():
    runnel('score', '--ids', '1,2', '--logits', '/proc/out.npy').fails(1, '/proc/out.npy: ')     # not even root may
    with Folder() as folder:
        folder.chmod(0o500)
        if os.geteuid() != 0:
            runnel('score', '--ids', '1,2', '--logits', folder / 'out.npy').fails(1, 'out.npy: Permission denied')
        equal(os.listdir(folder), [])


@test
def bench_cuts_what_the_context_cannot_hold_and_says_so():
    done = runnel('bench', '-p', '600', '-n', '600', '-r', '1', '-d', '500', '--json').ok()
    r, = done.lines[0]
    equal((r['n_prompt'], r['n_gen']), (11, 10))
    check('prompt cut from 600 to 11' in done.err and 'generation cut from 600 to 10' in done.err, done.err)
    runnel('bench', '-d', '511', '-r', '1').fails(1, '511 leaves no room in the context of 512')


main()
