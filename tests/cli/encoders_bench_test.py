#!/usr/bin/env python3
"""tests/cli/encoders_bench_test.py - bench/encoders.py runs peers in turn and compares their vectors; its figures are not looked at, but for those of made-up peers."""
import json
import pathlib
import subprocess
import sys

from harness import PROGRAM, Folder, Skip, check, equal, main, test

BENCH = pathlib.Path(__file__).parents[2] / 'bench/encoders.py'
TEXTS = pathlib.Path(PROGRAM).parent / 'bench/encoder_texts'
BERT = pathlib.Path(__file__).parent / 'encoders/bert'
PEER = """import json, sys
ids, t, log, vectors, ms = sys.argv[1:]
texts = open(ids).read()
with open(log, 'a') as f:
    f.write(f'{t}\\n{texts}')
for n, _ in enumerate(sys.stdin):
    print(json.dumps({'ms': float(ms) * (n + 1), **({'vectors': json.load(open(vectors))} if n == 0 else {})}), flush=True)
"""


def bench(*args):
    if not TEXTS.exists():
        raise Skip(f'{TEXTS}: there is no such program')
    sizes = ('--texts', 4, '--least', 2, '--most', 9, '--vocab', 25)
    return subprocess.run([sys.executable, BENCH, '--program', TEXTS, *map(str, sizes), *map(str, args)], capture_output=True, text=True, check=False)


def peer(folder, name, vectors, ms):
    (folder / 'peer.py').write_text(PEER)
    (folder / f'{name}.json').write_text(json.dumps(vectors))
    return f"{name}='{sys.executable}' '{folder / 'peer.py'}' {{ids}} {{t}} '{folder / name}.log' '{folder / name}.json' {ms}"


@test
def peers_evaluate_the_same_texts_and_their_vectors_are_compared():
    with Folder() as folder:
        done = bench(BERT, '-t', 2, '--rounds', 1, '--peer', peer(folder, 'any', [[1.0] * 21] * 4, 100))
        equal(done.stderr, '')
        t, *texts = (folder / 'any.log').read_text().splitlines()
        texts = [[int(i) for i in text.split()] for text in texts]
        equal((t, sorted(map(len, texts))), ('2', [2, 4, 6, 9]))
        check(all(12 <= i < 25 for text in texts for i in text), texts)
        # runnel's own vectors, as a peer's.
        mine = subprocess.run([TEXTS, BERT, folder / 'ids', '1'], input='\n\n', capture_output=True, text=True, check=False)
        check(mine.returncode == 1 and 'cannot be read' in mine.stderr, mine)
        (folder / 'ids').write_text(''.join(' '.join(map(str, text)) + '\n' for text in texts))
        mine = subprocess.run([TEXTS, BERT, folder / 'ids', '1'], input='\n\n', capture_output=True, text=True, check=True).stdout.splitlines()
        vectors = json.loads(mine[0])['vectors']
        equal((len(mine), len(vectors), {len(v) for v in vectors}, list(json.loads(mine[1]))), (2, 4, {21}, ['ms']))
        done = bench(BERT, '-t', 2, '--rounds', 3, '--rows', 64, '--peer', peer(folder, 'same', vectors, 1000), '--peer', peer(folder, 'other', [[-x for x in v] for v in vectors], 10))
        equal(done.stderr, '')
        head, _, *table = done.stdout.splitlines()
        equal(head, '4 texts of 2 to 9 tokens, 21 in all, 3 rounds, 2 threads')
        rows = {line.split()[0]: line.split() for line in table}
        equal(list(rows), ['runnel', 'same', 'other'])
        # The first answer, 1000 ms, does not count; the median of 2, 3 and 4 seconds does.
        equal(rows['same'][1:3], ['1.3', '7'])
        equal([row[-1] for row in rows.values()], ['1.000000', '1.000000', '-1.000000'])
        equal(rows['runnel'][3:7], ['1.00', '(1.00', 'to', '1.00)'])
        check(abs(float(rows['same'][3]) / float(rows['other'][3]) / 100 - 1) < 0.05, done.stdout)


@test
def what_fails_is_named():
    with Folder() as folder:
        done = bench(folder / 'none', '--rounds', 1)
        check(done.returncode == 1 and 'encoder_texts: ' in done.stderr and 'encoders: runnel: exit 1' in done.stderr and done.stdout == '', done)
        done = bench(BERT, '--rounds', 1, '--peer', 'gone=false')
        check(done.returncode == 1 and 'encoders: gone: exit 1' in done.stderr, done)
        done = bench(BERT, '--peer', 'x')
        check(done.returncode == 1 and 'NAME=COMMAND' in done.stderr, done)


main()
