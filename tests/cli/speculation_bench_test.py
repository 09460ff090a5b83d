#!/usr/bin/env python3
"""tests/cli/speculation_bench_test.py - bench/speculation.py reads its prompts and checks the tokens; its figures are not looked at."""
import json
import pathlib
import subprocess
import sys

from harness import PROGRAM, Folder, check, equal, main, test

BENCH = pathlib.Path(__file__).parents[2] / 'bench'
KINDS = ['stories', 'dialogue', 'lists', 'quotes', 'edits']


def bench(prompts, *options, streams=1):
    return subprocess.run([sys.executable, BENCH / 'speculation.py', '--runnel', PROGRAM, '--prompts', prompts, '--rounds', '1', '-n', '6',
                           '--streams', str(streams), '--', *options], capture_output=True, text=True, check=False)


@test
def a_row_for_each_kind_of_prompt():
    for streams in (1, 3):
        done = bench(BENCH / 'prompts/stories.jsonl', '--speculate', 'ngram', streams=streams)
        equal(done.stderr, '')
        equal([line.split()[0] for line in done.stdout.splitlines()], ['prompts', *KINDS, 'all'])


@test
def several_sets_of_options_have_a_table_each_of_the_kinds_that_are_named():
    sets = ['--speculate', 'ngram'], ['--speculate', 'suffix', '--draft-max', '4']
    done = subprocess.run([sys.executable, BENCH / 'speculation.py', '--runnel', PROGRAM, '--kinds', 'edits,lists', '--rounds', '1', '-n', '6',
                           '--', *sets[0], '--', *sets[1]], capture_output=True, text=True, check=False)
    equal(done.stderr, '')
    rows = ['prompts', 'lists', 'edits', 'all']
    equal([line.split()[0] if line.split()[0] in rows else line for line in done.stdout.splitlines()],
          [x for options in sets for x in (' '.join(options), *rows)])
    done = subprocess.run([sys.executable, BENCH / 'speculation.py', '--kinds', 'poems', '--', '--speculate', 'ngram'], capture_output=True, text=True, check=False)
    check(done.returncode == 1 and '--kinds poems: there are none in' in done.stderr, done)


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


DRIVER = '''"""A model that says the next number of a circle of 5."""
class Row(int):
    def argmax(self):
        return int(self)
def load():
    return None
class Model:
    def __init__(self, library, path):
        assert (library, path) == (None, "m.gguf")
    def tokenize(self, text):
        return [int(x) for x in text.split()]
class Context:
    def __init__(self, model, n_ctx, threads):
        assert threads == 2
        self.text = []
    def eval(self, ids, pos=0, every=False):
        assert pos == len(self.text)
        self.text += ids
        self.rows = [Row((x + 1) % 5) for x in (ids if every else ids[-1:])]
    def row(self, i):
        return self.rows[i]
    def keep(self, n):
        self.text = self.text[:n]
'''


@test
def prompt_lookup_over_another_engines_library_has_its_own_tokens():
    with Folder() as folder:
        (folder / 'driver.py').write_text(DRIVER)
        done = subprocess.run([sys.executable, BENCH / 'llama_lookup.py', folder / 'driver.py', 'm.gguf', '0 1 2 3 4 0 1 3 4 0', '-n', '21', '-t', '2', '--draft', '3'],
                              capture_output=True, text=True, check=False)
        equal(done.stderr, '')
        found = json.loads(done.stdout)
        check(found['plain_tok_s'] > 0 and found['spec_tok_s'] > 0 and found['same'], found)
        # Six steps. Behind "0 1" and "1 2" the first occurrence goes on as the model does, behind "4 0" for one token.
        equal((found['accepted'], found['drafted'], found['tokens_per_step']), (14, 18, 20 / 6))


@test
def other_tokens_than_without_speculation_are_an_error():
    with Folder() as folder:
        (folder / 'p.jsonl').write_text(json.dumps({'kind': 'stories', 'prompt': 'Once upon a time'}))
        done = bench(folder / 'p.jsonl', '--speculate', 'none', '--top-k', '1', '--temp', '0', '--ban-token', '402')
        check(done.returncode == 1 and 'other tokens than without' in done.stderr, done)


@test
def the_prompts_are_lines_of_a_kind_and_a_text():
    for name, kinds in (('stories', KINDS), ('chat', KINDS), ('copies', ['quotes', 'edits'])):
        lines = [json.loads(line) for line in (BENCH / f'prompts/{name}.jsonl').read_text().splitlines()]
        equal(list(dict.fromkeys(line['kind'] for line in lines)), kinds)
        check(all(line.keys() == {'kind', 'prompt'} and line['prompt'] for line in lines), name)


main()
