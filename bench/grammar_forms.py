#!/usr/bin/env python3
"""bench/grammar_forms.py MODEL [--rounds 41] - what each form of an answer costs: compiling one, and the full masks of a text of it.

The forms are those of docs/structured-output.md. Each is compiled anew in each round (`runnel grammar --cases`), so its masks are made, not remembered; the
10th percentile of all rounds, which other programs disturb least. One compilation before them puts the vocabulary in order and is not counted.
"""
import argparse
import json
import pathlib
import statistics
import subprocess

PROGRAM = pathlib.Path(__file__).resolve().parent.parent / 'build/release/runnel'
SCHEMA = {'type': 'object', 'properties': {'name': {'enum': ['Tom', 'Lily', 'Max']}, 'likes': {'type': 'array', 'items': {'enum': ['cats', 'dogs', 'balls', 'trees']}, 'minItems': 1, 'maxItems': 3},
                                           'is_happy': {'type': 'boolean'}},
          'required': ['name', 'likes', 'is_happy'], 'additionalProperties': False}
GBNF = 'root ::= " \\"" answer ", " word (" " word){1,3} "!\\""\nanswer ::= "Yes" | "No"\nword ::= [a-z]{1,6}'
LARK = 'start: " a " thing ", a " thing " and a " thing "."\nthing: COLOUR? THING\nCOLOUR: ("red" | "big" | "old") " "\nTHING: "dog" | "cat" | "ball" | "tree" | "box"'
TAGS = {'format': {'type': 'triggered_tags', 'triggers': ['said, "'],
                   'tags': [{'begin': 'said, "', 'content': {'type': 'regex', 'pattern': '(Yes|No), I am (not )?a (cat|dog)[.!]'}, 'end': '"'}]}}
FORMS = [
    ('JSON mode', {'schema': {'type': 'object'}}, '{"name": "Lily", "likes": ["cats", "old trees"], "is_happy": true, "age": 7}'),
    ('JSON Schema', {'schema': SCHEMA}, '{"name": "Tom", "likes": ["cats", "balls", "trees"], "is_happy": true}'),
    ('regular expression', {'regex': ' [A-Z][a-z]{2,6} and [A-Z][a-z]{2,6} had a (big|small|red) (dog|cat|ball)\\.'}, ' Joe and Jill had a big cat.'),
    ('choice', {'choice': [' red', ' green', ' blue', ' dark blue']}, ' dark blue'),
    ('GBNF', {'grammar': GBNF}, ' "No, it is my pet!"'),
    ('Lark', {'grammar': LARK}, ' a big tree, a cat and a dog.'),
    ('structural tag', {'structural_tag': TAGS}, ' barked and replied, "Yes!" Lily laughed and said, "Yes, I am a cat!". Lily was so happy.'),
]


def tenth(times):
    return statistics.quantiles(times, n=10)[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('model')
    parser.add_argument('--rounds', type=int, default=41)
    o = parser.parse_args()
    lines = [json.dumps({'id': name, **form, 'tests': [{'text': text}]}) for name, form, text in FORMS * o.rounds]
    done = subprocess.run([PROGRAM, 'grammar', '-m', o.model, '--cases'], input='\n'.join([lines[0], *lines]), capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    answers = [json.loads(line) for line in done.stdout.splitlines()][1:]
    print('| form | compiling, us | mask, p50, us | mask, largest, us |\n|---|---|---|---|')
    for name, _, text in FORMS:
        mine = [a for a in answers if a['id'] == name]
        if any(a['error'] or a['results'] != [True] for a in mine):
            raise SystemExit(f'{name}: {mine[0]}')
        masks = list(zip(*(a['mask_us'] for a in mine)))       # of each token, all rounds
        low = [tenth(m) for m in masks]
        print(f"| {name} | {tenth(a['compile_us'] for a in mine):.0f} | {statistics.median(low):.1f} | {max(low):.0f} |")


main()
