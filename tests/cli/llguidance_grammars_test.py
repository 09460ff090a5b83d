#!/usr/bin/env python3
"""Random Lark grammars against llguidance, where its Python package is: it accepts nothing that is refused here, and the same texts where no two
terminals begin alike, so that it matters nothing that it takes the longest terminal. Ignored text at the end is left out: llguidance takes it where a
terminal may follow only.
"""
import json
import os
import random

from harness import Skip, check, main, runnel, test

N_GRAMMARS = 2000 if os.environ.get('RUNNEL_TEST_FULL') else 200
FIRST = int(os.environ.get('RUNNEL_TEST_SEED', '1'))
LETTERS = ['"a"', '"b"', '"é"', '/[cd]/', '"a"', '"\\n"', '"\\u00ea"', '/[0-9]/']
TERMINALS = ['"a"', '"ab"', '"ba"', '"é"', '/a+/', '/[ab]{1,2}/', '/[^a]/', '"\\n"', '/b?a/', '/(a|bc)*c/', '"a".."c"', '"A"i', '/b/i', '/./s', '/./', '/\\d+/', '/[a-z&&[^b]]/',
             '/\\x61|\\u00e9/', '""']
IN_TEXTS = [*['a', 'b', 'c', 'd'] * 3, 'é', 'ê', '\n', ' ', '0', '1', 'A', 'B']


class Maker:
    def __init__(self, seed, is_plain):
        self.r = random.Random(seed)
        self.is_plain = is_plain
        self.n_rules, self.n_terminals = self.r.randint(1, 4), self.r.randint(0, 3)

    def terminal(self):
        return self.r.choice(LETTERS if self.is_plain else TERMINALS)

    def definition(self, depth, own):
        r, kind = self.r, self.r.random()
        if self.is_plain or kind < .5 or depth == 0:
            return self.terminal()
        if kind < .75:
            return f'({self.definition(depth - 1, own)}{r.choice([" | ", " "])}{self.definition(depth - 1, own)})'
        if kind < .85 and own + 1 < self.n_terminals:
            return f'T{r.randrange(own + 1, self.n_terminals)}'
        return f'({self.definition(depth - 1, own)})' + r.choice(['?', '*', '+', '~2', '{1,2}'])

    def part(self, depth):
        r, kind = self.r, self.r.random()
        if kind < .4 or (kind < .5 and not self.n_terminals):
            return self.terminal()
        if kind < .5:
            return f'T{r.randrange(self.n_terminals)}'
        if kind < .7 and depth > 0:
            return r.choice(['({})', '[{}]']).format(self.choice(depth - 1))
        return r.choice(['start', *2 * [f'r{i}' for i in range(self.n_rules)]])

    def choice(self, depth):
        r = self.r
        parts = [' '.join(self.part(depth) + r.choice([*[''] * 6, '*', '+', '?', '~2', '~1..2', '{0,2}']) for _ in range(r.choice([0, 1, 1, 2, 2, 3])))
                 for _ in range(r.choice([1, 2, 2, 3]))]
        return ' | '.join(parts)

    def grammar(self):
        lines = ['start: ' + self.choice(2), *(f'r{i}: ' + self.choice(1) for i in range(self.n_rules)),
                 *(f'T{i}: ' + self.definition(2, i) for i in range(self.n_terminals))]
        if self.r.random() < .25:
            lines.append('%ignore / /')
        return '\n'.join(lines) + '\n'

    def texts(self):
        made = {''.join(self.r.choice(IN_TEXTS) for _ in range(self.r.choice([0, 1, 1, 2, 2, 3, 4, 6]))) for _ in range(40)}
        return sorted(t for t in made if not t.endswith(' '))


def accepts(matcher, tokens):
    m = matcher.deep_copy()
    return all(m.consume_token(t) for t in tokens) and m.is_accepting()


def compare(is_plain):
    try:
        import llguidance
    except ImportError:
        raise Skip('Python package llguidance is not installed')
    vocabulary = llguidance.LLTokenizer('byte')
    lines, verdicts = [], []
    for seed in range(FIRST, FIRST + N_GRAMMARS):
        maker = Maker(seed, is_plain)
        text, texts = maker.grammar(), maker.texts()
        matcher = llguidance.LLMatcher(vocabulary, json.dumps({'grammars': [{'lark_grammar': text}]}))
        if not matcher.is_error():
            lines.append({'id': seed, 'grammar': text, 'tests': [{'text': t} for t in texts]})
            verdicts.append([accepts(matcher, vocabulary.tokenize_str(t)) for t in texts])
    got = runnel('grammar', '--cases', stdin=''.join(json.dumps(x) + '\n' for x in lines).encode()).ok().lines
    check(len(got) == len(lines) > .8 * N_GRAMMARS, len(got), len(lines))
    for line, theirs, g in zip(lines, verdicts, got):
        ours = g['results'] or [False] * len(theirs)
        check(g['error'] is None or 'nothing matches' in g['error'], line['id'], g['error'], line['grammar'])
        wrong = [(t['text'], a, b) for t, a, b in zip(line['tests'], ours, theirs) if (a != b if is_plain else b and not a)]
        check(not wrong, line['id'], line['grammar'], wrong)
    check(sum(map(sum, verdicts)) > N_GRAMMARS, sum(map(sum, verdicts)))


@test
def plain_grammars_accept_the_same_texts():
    compare(True)


@test
def all_that_llguidance_accepts_is_accepted():
    compare(False)


if __name__ == '__main__':
    main()
