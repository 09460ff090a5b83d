#!/usr/bin/env python3
"""tests/cli/beams_bench_test.py - bench/beams.py runs peers in turn and compares their texts; its figures are not looked at, but for those of made-up peers."""
import json
import pathlib
import subprocess
import sys

from harness import MODEL, PROGRAM, Folder, check, equal, main, runnel, test

BENCH = pathlib.Path(__file__).parents[2] / 'bench/beams.py'
PEER = """import json, pathlib, sys
ids, beams, n, t, log = sys.argv[1:]
with open(log, 'a') as f:
    f.write(f'{ids} {beams} {n} {t}\\n')
print(json.dumps({'ms': MS, 'tokens': TOKENS}))
"""


def bench(*args):
    return subprocess.run([sys.executable, BENCH, '--runnel', PROGRAM, '-n', '6', *map(str, args)], capture_output=True, text=True, check=False)


def peer(folder, name, ms, tokens):
    (folder / f'{name}.py').write_text(PEER.replace('MS', str(ms)).replace('TOKENS', str(tokens)))
    return f"{name}='{sys.executable}' '{folder / name}.py' {{ids}} {{beams}} {{n}} {{t}} '{folder / name}.log'"


@test
def peers_are_asked_for_the_same_and_their_texts_are_compared():
    prompt, lines = 'a "quoted" prompt', runnel('run', '--strategy', 'beam', '--num-beams', '3', '-n', '6', '--min-tokens', '6', '--json', '-p', 'a "quoted" prompt').ok().lines
    tokens = [t for line in lines for t in line['tokens']]
    ids = runnel('tokenize', '--add-special', prompt).ok().text.split()
    with Folder() as folder:
        done = bench(MODEL, '--prompt', prompt, '--beams', 3, '--rounds', 2, '-t', 1, '--peer', peer(folder, 'same', 60, tokens), '--peer', peer(folder, 'other', 600000, tokens[::-1]))
        equal(done.stderr, '')
        rows = {line.split()[0]: line.split() for line in done.stdout.splitlines()[1:]}
        equal(list(rows), ['runnel', 'greedy', 'same', 'other'])
        equal([row[-3:] for row in rows.values()][2:], [['2', 'of', '2'], ['0', 'of', '2']])
        equal((rows['runnel'][2:6], rows['runnel'][-3:]), (['1.00', '(1.00', 'to', '1.00)'], ['2', 'of', '2']))
        equal((rows['same'][1], rows['other'][1]), ('100.0', '0.0'))
        # Ten thousand times as long as the other, by the same times of ours.
        check(abs(float(rows['other'][2]) / float(rows['same'][2]) / 10000 - 1) < 0.05, done.stdout)
        for name in ('same', 'other'):
            equal((folder / f'{name}.log').read_text(), f'{",".join(ids)} 3 6 1\n' * 2)


@test
def a_prompt_is_repeated_and_memory_is_told():
    with Folder() as folder:
        tokens = [t for line in runnel('run', '--strategy', 'beam', '--num-beams', '2', '-n', '6', '--min-tokens', '6', '--json', '--ids', '427,438,427').ok().lines for t in line['tokens']]
        done = bench(MODEL, '--ids', '427,438', '--prompt-tokens', 3, '--beams', 2, '--rounds', 1, '-t', 1, '--peer', peer(folder, 'same', 60, tokens))
        equal((done.stderr, (folder / 'same.log').read_text()), ('', '427,438,427 2 6 1\n'))
        mib = [int(line.split()[-4]) for line in done.stdout.splitlines()[1:]]
        check(all(5 < m < 2000 for m in mib), done.stdout)


@test
def a_peer_that_fails_or_generates_fewer_tokens_is_named():
    with Folder() as folder:
        done = bench('--rounds', 1, '--peer', peer(folder, 'few', 1, [1, 2]))
        check(done.returncode == 1 and 'beams: few: 2 tokens, not 6' in done.stderr and done.stdout == '', done)
        done = bench('--rounds', 1, '--peer', 'gone=false')
        check(done.returncode == 1 and 'beams: false: exit 1' in done.stderr, done)
        done = bench('--peer', 'x')
        check(done.returncode == 1 and 'NAME=COMMAND' in done.stderr, done)


main()
