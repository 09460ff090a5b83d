#!/usr/bin/env python3
"""Random GBNF grammars against llama.cpp's own, where it is: the same texts are accepted.

Left recursion, which llama.cpp refuses, is left out, and so are negated classes of characters beyond ASCII, of which it judges the first byte of
a character that its vocabulary writes in bytes as a whole one.
"""
import ctypes as C
import json
import os
import random

import llama_samplers
from harness import ROOT, Skip, check, main, runnel, test

N_GRAMMARS = 5000 if os.environ.get('RUNNEL_TEST_FULL') else 300
FIRST = int(os.environ.get('RUNNEL_TEST_SEED', '1'))
LETTERS = ['a', 'b', 'ab', 'é', '\\n', '\\\\', '\\"', '\\x61', '\\u00e9', ' ', '\\t', '[', '\\U0001f600']
CLASSES = ['[ab]', '[^a]', '[^ab\\n]', '[a-c]', '[\\x61-\\x62]', '[é-ë]', '.', '[\\[\\]]', '[ab-]', '[-a]', '[^\\]]', '[\\n ]', '[0-9a]', '[\\u00e8-\\u00ea]', '[a^]']
REPEATS = [*[''] * 6, '*', '+', '?', '{2}', '{1,2}', '{0,1}', '{2,}', '{0}']
IN_TEXTS = [*['a', 'b'] * 4, 'c', 'é', 'ê', '\n', '\\', '"', ' ', '\t', '[', '\U0001f600', '0', '-', '^', ']']


class Maker:
    """A rule names later ones anywhere, and others behind a literal only."""

    def __init__(self, seed):
        self.r = random.Random(seed)
        self.n = self.r.randint(1, 4)

    def literal(self):
        return '"' + ''.join(self.r.choice(LETTERS) for _ in range(self.r.choice([1, 1, 1, 2]))) + '"'

    def part(self, depth, rule):
        r, kind = self.r, self.r.random()
        if kind < .6 or (kind < .8 and depth == 0):
            made = '""' if kind < .03 else self.literal() if kind < .35 else r.choice(CLASSES)
        elif kind < .8:
            made = '(' + r.choice(['', ' ', '\n  ']) + self.choice(depth - 1, rule) + ' )'
        elif rule + 1 < self.n and r.random() < .7:
            made = f'r{r.randrange(rule + 1, self.n)}'
        else:
            return '"a" ' + r.choice(['root', f'r{r.randrange(self.n)}']) + r.choice([' "b"', ''])
        return made if made == '""' else made + r.choice(REPEATS)

    def choice(self, depth, rule):
        return ' | '.join(' '.join(self.part(depth, rule) for _ in range(self.r.choice([1, 1, 2, 3]))) for _ in range(self.r.choice([1, 1, 2, 3])))

    def grammar(self):
        rules = ['root ::= ' + self.choice(2, 0), *['# a comment'] * (self.r.random() < .3)]
        rules += [f'r{i} ::= ' + self.choice(1, i) for i in range(self.n)]
        return self.r.choice(['\n', '\n\n']).join(rules) + self.r.choice(['\n', ''])

    def texts(self):
        return sorted({''.join(self.r.choice(IN_TEXTS) for _ in range(self.r.choice([0, 1, 1, 2, 2, 3, 4, 6]))) for _ in range(40)})


class Judge:
    def __init__(self, lib):
        self.lib, self.words = lib, lib.words
        for name, result, *args in (('sampler_init_grammar', C.c_void_p, C.c_void_p, C.c_char_p, C.c_char_p), ('sampler_clone', C.c_void_p, C.c_void_p),
                                    ('vocab_eos', C.c_int32, C.c_void_p), ('vocab_n_tokens', C.c_int32, C.c_void_p),
                                    ('token_to_piece', C.c_int32, C.c_void_p, C.c_int32, C.c_char_p, C.c_int32, C.c_int32, C.c_bool)):
            function = getattr(lib, 'llama_' + name)
            function.restype, function.argtypes = result, args
        self.end, self.tokens, piece = lib.llama_vocab_eos(self.words), {}, C.create_string_buffer(64)
        for i in range(lib.llama_vocab_n_tokens(self.words)):
            n = lib.llama_token_to_piece(self.words, i, piece, 64, 0, False)
            if n > 0:
                self.tokens.setdefault(piece.raw[:n], i)

    def tokens_of(self, text):
        for character in text:
            data = character.encode()
            yield from [self.tokens[data]] if data in self.tokens else [self.tokens[bytes([b])] for b in data]
        yield self.end

    def accepts(self, grammar, text):
        lib, g = self.lib, self.lib.llama_sampler_clone(grammar)
        is_allowed = True
        for token in self.tokens_of(text):
            data = (llama_samplers.Datum * 1)(llama_samplers.Datum(token, 1, 0))
            lib.llama_sampler_apply(g, C.byref(llama_samplers.Candidates(data, 1, -1, False)))
            is_allowed = data[0].logit > -1e30
            if not is_allowed or token == self.end:
                break
            lib.llama_sampler_accept(g, token)
        lib.llama_sampler_free(g)
        return is_allowed


@test
def random_grammars_accept_what_llama_cpps_accept():
    lib, why = llama_samplers.library(os.environ.get('RUNNEL_SHARED') or ROOT.parent / 'shared')
    if not lib:
        raise Skip(why)
    judge, lines, verdicts = Judge(lib), [], []
    for seed in range(FIRST, FIRST + N_GRAMMARS):
        maker = Maker(seed)
        text, texts = maker.grammar(), maker.texts()
        grammar = lib.llama_sampler_init_grammar(judge.words, text.encode(), b'root')
        if not grammar:     # left recursion over a rule that may be empty
            continue
        verdicts.append([judge.accepts(grammar, t) for t in texts])
        lib.llama_sampler_free(grammar)
        lines.append({'id': seed, 'grammar': text, 'tests': [{'text': t} for t in texts]})
    got = runnel('grammar', '--cases', stdin=''.join(json.dumps(x) + '\n' for x in lines).encode()).ok().lines
    check(len(got) == len(lines) > .7 * N_GRAMMARS, len(got), len(lines))
    for line, theirs, g in zip(lines, verdicts, got):
        ours = g['results'] or [False] * len(theirs)
        check(g['error'] is None or 'nothing matches' in g['error'], line['id'], g['error'], line['grammar'])
        check(ours == theirs, line['id'], line['grammar'], [t['text'] for t, a, b in zip(line['tests'], ours, theirs) if a != b])
    n = sum(map(sum, verdicts))
    check(n > N_GRAMMARS and sum(map(len, verdicts)) - n > 5 * N_GRAMMARS, n)


if __name__ == '__main__':
    main()
