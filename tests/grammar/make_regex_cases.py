#!/usr/bin/env python3
"""tests/grammar/make_regex_cases.py - makes regex_cases.txt: random patterns, and which texts Python's re and V8's RegExp match.

Usage: make_regex_cases.py [SEED] > regex_cases.txt. Needs node. A line has the dialect (p: re.fullmatch; w, s: RegExp with flag u, of a
whole text and of a part), the pattern in hexadecimal, and the texts that match, a bit each, the first one lowest. The first line has the
texts. Left out is \\B in Python, whose meaning for the empty text has changed.
"""
import json
import random
import re
import subprocess
import sys
import warnings

warnings.simplefilter('ignore')
seed = int(sys.argv[1]) if len(sys.argv) > 1 else 1
dice = random.Random(seed)
LETTERS = ['a', 'b', 'A', '_', '1', ' ', '\n', 'é', 'É', 'k', '\u212a', '٣', '-', 'ſ', 's']
TEXTS = ['', 'a', 'b', 'ab', 'a\n', '\u2028', '\r'] + [''.join(dice.choice(LETTERS) for _ in range(dice.randint(1, 5))) for _ in range(41)]
PER_DIALECT = 450
MAX_CHARS = 40

ATOMS = {
    'python': ['a', 'b', 'A', '1', '_', 'é', 'k', 's', ' ', r'\n', r'\x61', r'\u00e9', r'\141', '.', '.', r'\d', r'\w', r'\s', r'\W', r'\D',
               '^', '$', r'\b', r'\b', r'\A', r'\Z'],
    'ecma': ['a', 'b', 'A', '1', '_', 'é', 'k', 's', ' ', r'\n', r'\x61', r'\u00e9', r'\u{e9}', r'\cJ', r'\0', '.', '.', r'\d', r'\w', r'\s',
             r'\W', r'\D', r'\p{Lu}', r'\P{L}', r'\p{Ll}', '^', '$', r'\b', r'\B'],
}
GROUPS = {
    'python': ['(%s)', '(?:%s)', '(?P<n>%s)', '(?=%s)', '(?!%s)', '(?i:%s)', '(?s:%s)', '(?a:%s)', '(?m:%s)', '(?-i:%s)', '(?x: %s #c\n )', '(?>%s)', '(?<=%s)', '(?<!%s)'],
    'ecma': ['(%s)', '(?:%s)', '(?<n>%s)', '(?=%s)', '(?!%s)', '(?<=%s)', '(?<!%s)'],
}
TIMES = {
    'python': ['*', '+', '?', '{2}', '{1,2}', '{,2}', '{1,}', '*?', '+?', '??', '*+', '++', '?+', '{1,2}+'],
    'ecma': ['*', '+', '?', '{2}', '{1,2}', '{1,}', '*?', '+?', '??'],
}


def any_class():
    items = [dice.choice([r'\d', r'\w', r'\s', r'\W', 'a-c', 'A-Z', '0-9', r'\x00-\x7f', 'é-ü', 'a', '_', r'\n', r'\-', 'k'])
             for _ in range(dice.randint(1, 3))]
    return '[' + dice.choice(['', '^']) + ''.join(items) + ']'


def any_piece(dialect, depth):
    kind = dice.random()
    if kind < .12:
        piece = any_class()
    elif kind < .35 and depth > 0:
        piece = dice.choice(GROUPS[dialect]) % any_pattern(dialect, depth - 1)
    else:
        piece = dice.choice(ATOMS[dialect])
    return piece + (dice.choice(TIMES[dialect]) if dice.random() < .35 else '')


def any_pattern(dialect, depth):
    return '|'.join(''.join(any_piece(dialect, depth) for _ in range(dice.randint(1, 3))) for _ in range(dice.choice([1, 1, 1, 2, 3])))


def patterns(dialect, is_valid):
    found = []
    while len(found) < PER_DIALECT:
        pattern = any_pattern(dialect, 3)
        if len(pattern) <= MAX_CHARS and pattern not in found and is_valid(pattern):
            found.append(pattern)
    return found


def compiles(pattern):
    try:
        return re.compile(pattern)
    except re.error:
        return None


def line(dialect, pattern, verdicts):
    bits = sum(1 << i for i, is_match in enumerate(verdicts) if is_match)
    print(dialect, pattern.encode().hex(), f'{bits:x}')


SCRIPT = '''
const [patterns, texts] = JSON.parse(require('fs').readFileSync(0, 'utf8'));
const test = (source) => { try { const r = new RegExp(source, 'u'); return texts.map((t) => r.test(t)); } catch { return null; } };
console.log(JSON.stringify(patterns.map((p) => [test('^(?:' + p + ')$'), test(p)])));
'''


def main():
    print(' '.join(['seed', str(seed)] + [text.encode().hex() or '-' for text in TEXTS]))
    for pattern in patterns('python', compiles):
        line('p', pattern, [bool(re.fullmatch(pattern, text)) for text in TEXTS])
    candidates = patterns('ecma', lambda pattern: True)
    said = subprocess.run(['node', '-e', SCRIPT], input=json.dumps([candidates, TEXTS]), capture_output=True, text=True, check=True)
    for pattern, (whole, part) in zip(candidates, json.loads(said.stdout)):
        if whole and part:
            line('w', pattern, whole)
            line('s', pattern, part)


main()
