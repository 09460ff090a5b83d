#!/usr/bin/env python3
"""tests/cli/speculation_bench_test.py - bench/speculation.py reads its prompts and checks the tokens; its figures are not looked at."""
import json
import pathlib
import subprocess
import sys

from harness import PROGRAM, Folder, check, equal, main, test

BENCH = pathlib.Path(__file__).parents[2] / 'bench'


def bench(prompts, *options, streams=1):
    return subprocess.run([sys.executable, BENCH / 'speculation.py', '--runnel', PROGRAM, '--prompts', prompts, '--rounds', '1', '-n', '6',
                           '--streams', str(streams), '--', *options], capture_output=True, text=True, check=False)


@test
def a_row_for_each_kind_of_prompt():
    for streams in (1, 3):
        done = bench(BENCH / 'prompts/stories.jsonl', '--speculate', 'ngram', streams=streams)
        equal(done.stderr, '')
        equal([line.split()[0] for line in done.stdout.splitlines()], ['prompts', 'stories', 'dialogue', 'lists', 'quotes', 'edits', 'all'])


@test
def another_engine_is_measured_in_turn():
    with Folder() as folder:
        (folder / 'p.jsonl').write_text(json.dumps({'kind': 'stories', 'prompt': 'a "quoted" prompt'}))
        (folder / 'peer.py').write_text('import json, sys\nassert sys.argv[1:] == ["a \\"quoted\\" prompt", "6"], sys.argv\n'
                                        'print(json.dumps({"plain_tok_s": 50, "spec_tok_s": 100}))')
        done = subprocess.run([sys.executable, BENCH / 'speculation.py', '--runnel', PROGRAM, '--prompts', folder / 'p.jsonl', '--rounds', '1', '-n', '6',
                               '--peer', f"'{sys.executable}' '{folder / 'peer.py'}' {{prompt}} {{n}}", '--', '--speculate', 'ngram'],
                              capture_output=True, text=True, check=False)
        equal(done.stderr, '')
        equal([line.split()[-2] for line in done.stdout.splitlines()[1:]], ['2.00', '2.00'])


@test
def other_tokens_than_without_speculation_are_an_error():
    with Folder() as folder:
        (folder / 'p.jsonl').write_text(json.dumps({'kind': 'stories', 'prompt': 'Once upon a time'}))
        done = bench(folder / 'p.jsonl', '--speculate', 'none', '--top-k', '1', '--temp', '0', '--ban-token', '402')
        check(done.returncode == 1 and 'other tokens than without' in done.stderr, done)


@test
def the_prompts_are_lines_of_a_kind_and_a_text():
    for name in ('stories', 'chat'):
        lines = [json.loads(line) for line in (BENCH / f'prompts/{name}.jsonl').read_text().splitlines()]
        equal({line['kind'] for line in lines}, {'stories', 'dialogue', 'lists', 'quotes', 'edits'})
        check(all(line.keys() == {'kind', 'prompt'} and line['prompt'] for line in lines), name)


main()
