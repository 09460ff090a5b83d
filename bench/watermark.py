#!/usr/bin/env python3
"""bench/watermark.py [MODEL] [--texts N] - how often the watermark is found, and where it is not: a row of a table for each length and temperature.

Texts are continuations of many prompts by MODEL (default models/stories.gguf) with 30 keys, and without. Found: of the marked ones those with a
p-value of at most 0.001; false: of the others those with at most 0.01, of which one in a hundred is expected, and with other keys' texts.
"""
import argparse
import json
import pathlib
import random
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = ROOT / 'build/release/runnel'
NAMES, THINGS = ('Lily', 'Tom', 'Ben', 'Mia', 'Sam', 'Anna', 'Max', 'Sue'), ('a cat', 'a red ball', 'the moon', 'a big tree', 'his dog', 'a boat', 'the sea', 'a bird')
PROMPTS = [f'{name} saw {thing}.' for name in NAMES for thing in THINGS]


def batch(model, requests):
    lines = '\n'.join(json.dumps(r) for r in requests)
    done = subprocess.run([PROGRAM, 'batch', '-m', model, '--in-order', '--ignore-eos'], input=lines, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def p_value(keys, ids):
    with tempfile.NamedTemporaryFile('w', suffix='.json') as f:
        f.write(json.dumps(keys))
        f.flush()
        done = subprocess.run([PROGRAM, 'watermark', '--json', '--watermark', f.name, '--ids', ' '.join(map(str, ids))], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)['p_value']


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('model', nargs='?', default=ROOT / 'models/stories.gguf')
    parser.add_argument('--texts', type=int, default=400)
    arg = parser.parse_args()
    rng = random.Random(1)
    print('| tokens | temp | found, p <= 0.001 | false, p <= 0.01 | with other keys, p <= 0.01 |\n|---|---|---|---|---|')
    for length, temp in ((25, 1), (50, 1), (100, 1), (200, 1), (100, 0.7), (200, 0.7), (200, 0.4)):
        keys = [{'keys': [rng.randrange(2**40) for _ in range(30)], 'ngram_len': 5} for _ in range(arg.texts)]
        asked = [{'prompt': PROMPTS[i % len(PROMPTS)], 'seed': i, 'n': length, 'temp': temp} for i in range(arg.texts)]
        plain = batch(arg.model, asked)
        marked = batch(arg.model, [{**r, 'watermark': k} for r, k in zip(asked, keys)])
        counts = [sum(p_value(k, a['tokens']) <= most for k, a in zip(by, texts)) for by, texts, most in
                  ((keys, marked, 0.001), (keys, plain, 0.01), (keys[1:] + keys[:1], marked, 0.01))]
        print(f'| {length} | {temp} |' + ''.join(f' {100 * n / arg.texts:.1f} % |' for n in counts), flush=True)


main()
