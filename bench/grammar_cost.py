#!/usr/bin/env python3
"""bench/grammar_cost.py MODEL [--batch 1,32] [--tokens 32] [--rounds 5] [--threads N] [--under "chrt -f 40"] - what the form of an answer costs, and what forced tokens save.

MODEL has a real vocabulary: synth_model 1b.gguf --type Q4_K_M --vocab-of VOCABULARY.gguf. First table, for each number of streams: milliseconds of a
token without a form and with a JSON Schema whose every token is drawn, in turn, the 10th percentile of all tokens, which other programs disturb least; and the full masks of the same texts, each
timed by itself (`runnel grammar --cases`), as part of a step. Second table: objects with long keys, with forced tokens and without.
"""
import argparse
import json
import pathlib
import random
import shlex
import statistics
import subprocess

PROGRAM = pathlib.Path(__file__).resolve().parent.parent / 'build/release/runnel'
ITEM = {'type': 'object', 'properties': {'name': {'type': 'string', 'minLength': 3, 'maxLength': 40}, 'age': {'type': 'integer', 'minimum': 0, 'maximum': 150},
                                         'tags': {'type': 'array', 'items': {'enum': ['red', 'green', 'blue']}, 'maxItems': 4}},
        'required': ['name', 'age', 'tags'], 'additionalProperties': False}
ENDLESS = {'type': 'array', 'items': ITEM, 'minItems': 1000}
KEYS = ('customer_identification_number', 'preferred_delivery_address', 'date_of_last_successful_payment', 'newsletter_subscription_is_active')
RECORD = {'type': 'object', 'properties': {k: {'type': 'integer', 'minimum': 0, 'maximum': 9} if i % 2 else {'enum': ['first', 'second', 'other']} for i, k in enumerate(KEYS)},
          'required': list(KEYS), 'additionalProperties': False}


def batch(o, n, most, **more):
    requests = [{'id': i, 'ids': [random.Random(i).randrange(1000, 100000) for _ in range(16)], 'seed': i, 'temp': 1, 'speculate': 'none', **more} for i in range(n)]
    command = [*shlex.split(o.under), PROGRAM, 'batch', '-m', o.model, '--parallel', str(n), '--in-order', '-c', '512', '-n', str(most), '--token-times',
               *(['-t', str(o.threads)] if o.threads else [])]
    done = subprocess.run(command, input='\n'.join(map(json.dumps, requests)), capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr + done.stdout[:500])
    return [json.loads(line) for line in done.stdout.splitlines()]


def gaps_ms(answers):
    times = [a['timing']['token_ms'] for a in answers]
    return [b - a for t in times for a, b in zip(t, t[1:])]


def mask_us(o, texts):
    case = json.dumps({'id': 0, 'schema': ENDLESS, 'tests': [{'text': t} for t in texts]})
    done = subprocess.run([*shlex.split(o.under), PROGRAM, 'grammar', '-m', o.model, '--cases'], input=case, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)['mask_us']


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument('model')
    ap.add_argument('--batch', default='1,32')
    ap.add_argument('--tokens', type=int, default=32)
    ap.add_argument('--rounds', type=int, default=5)
    ap.add_argument('--threads', type=int, help='of the engine (default: its own choice)')
    ap.add_argument('--under', default='', help='a command that runs the program')
    o = ap.parse_args()
    print('| streams | ms a token, free | with a schema | difference | masks of a step, us: mean, p99 | of a step |\n|---|---|---|---|---|---|', flush=True)
    for n in map(int, o.batch.split(',')):
        free, guided, texts = [], [], []
        for _ in range(o.rounds):
            free += gaps_ms(batch(o, n, o.tokens, ignore_eos=True))
            answers = batch(o, n, o.tokens, json_schema=ENDLESS, forced_tokens=False)
            guided += gaps_ms(answers)
            texts = [a['text'] for a in answers]
        us = sorted(n * x for x in mask_us(o, texts))
        a, b, mean = statistics.quantiles(free, n=10)[0], statistics.quantiles(guided, n=10)[0], statistics.fmean(us)
        print(f'| {n} | {a:.2f} | {b:.2f} | {100 * (b / a - 1):+.1f} % | {mean:.1f}, {us[int(len(us) * 0.99)]:.0f} | {mean / a / 10:.3f} % |', flush=True)
    print('\n| streams | tokens drawn | tokens/s | with forced tokens | ratio |\n|---|---|---|---|---|', flush=True)
    for n in map(int, o.batch.split(',')):
        rates = {True: [], False: []}
        for _ in range(o.rounds):
            for forced in rates:
                answers = batch(o, n, 200, json_schema=RECORD, forced_tokens=forced)
                rates[forced].append(sum(a['usage']['completion_tokens'] for a in answers) / max(a['timing']['decode_ms'] + a['timing']['prefill_ms'] for a in answers) * 1e3)
        drawn, both = statistics.median(rates[False]), statistics.median(rates[True])
        print(f'| {n} | {statistics.fmean(a["usage"]["completion_tokens"] for a in answers):.0f} | {drawn:.1f} | {both:.1f} | {both / drawn:.2f} |', flush=True)


if __name__ == '__main__':
    main()
