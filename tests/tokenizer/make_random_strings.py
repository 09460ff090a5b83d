#!/usr/bin/env python3
"""tests/tokenizer/make_random_strings.py SHARED - writes random_strings.json: what the tokenizers library makes of 20,000 random strings.

random_strings_test.c makes the same strings. Vocabularies: those of SHARED/vectors/tokenizers that have a tokenizer.json, and six trained here."""
import gzip
import json
import pathlib
import struct
import sys

import tokenizers
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

N, PER_HASH = 20000, 50
WORDS = ['hello', ' the', "Don't", "I'LL", '1234567890', '  ', '\n', '\n\n', '\t', '\r\n', 'foo_bar', '()', '==', 'http://x.y/z?a=1', '\ufb01', '\u00df', 'e\u0301', '\u0130', '\u200d', '\u2460', '\u00bd',
         '\u0663\u0664', '\u2167', ' Fox', '<Hello>', 'over  the', '   ', '\u00a0', '\u3000', 'A\u030a']
RANGES = [(0x20, 0x7e), (0x20, 0x7e), (0x20, 0x7e), (0x30, 0x39), (0xa1, 0xff), (0x100, 0x17f), (0x300, 0x333), (0x391, 0x3a1), (0x3b1, 0x3c9), (0x410, 0x44f), (0x5d0, 0x5ea), (0x627, 0x63a), (0x660, 0x669),
          (0x905, 0x939), (0xe01, 0xe3a), (0x1100, 0x1112), (0x1e00, 0x1e95), (0x2010, 0x2027), (0x2190, 0x21ff), (0x2200, 0x22ff), (0x3041, 0x3096), (0x4e00, 0x9fa5), (0xac00, 0xd7a3), (0xff01, 0xff5e),
          (0x1f300, 0x1f320), (0x1f600, 0x1f640)]
CORPUS = ["the quick brown Fox jumps over the lazy dog. Don't 1234 foo_bar() hello http://x.y/z"] * 50 + ['\u00dcn\u00efc\u00f6d\u00e9 stra\u00dfe \u0130stanbul \u2167 \u00bd \u2460'] * 20 + ['<a> <b> [X] hello HELLO Hello'] * 30


class Random:
    def __init__(self, i):
        self.x = (i + 1) * 7919 % 0x7fffffff

    def draw(self, n):
        self.x = self.x * 48271 % 0x7fffffff
        return (self.x >> 7) % n


def string(i):
    r, out = Random(i), []
    for _ in range(1 + r.draw(12)):
        if r.draw(10) < 3:
            out.append(WORDS[r.draw(len(WORDS))])
            continue
        lo, hi = RANGES[r.draw(len(RANGES))]
        for _ in range(1 + r.draw(5)):
            c = lo + r.draw(hi - lo + 1)
            out.append(chr(c))
    return ''.join(out)


def hashes(t):
    made = []
    for k in range(0, N, PER_HASH):
        h = 2166136261
        for i in range(k, k + PER_HASH):
            for x in [*t.encode(string(i), add_special_tokens=False).ids, 0xffffffff]:
                for b in range(4):
                    h = ((h ^ (x >> 8 * b & 255)) * 16777619) & 0xffffffff
        made.append(h)
    return made


def bytes_bpe(normalizer=None, before=(), added=()):
    t = Tokenizer(models.BPE())
    if normalizer:
        t.normalizer = normalizer
    t.pre_tokenizer = pre_tokenizers.Sequence([*before, pre_tokenizers.ByteLevel(add_prefix_space=False)])
    t.decoder = decoders.ByteLevel()
    t.train_from_iterator(CORPUS, trainers.BpeTrainer(vocab_size=400, show_progress=False, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    t.add_tokens(list(added))
    return t


def pieces():
    t = Tokenizer(models.Unigram([('<unk>', 0.0)], unk_id=0))
    t.normalizer = normalizers.NFKC()
    t.pre_tokenizer = pre_tokenizers.Metaspace()
    t.decoder = decoders.Metaspace()
    t.train_from_iterator(CORPUS, trainers.UnigramTrainer(vocab_size=120, show_progress=False, unk_token='<unk>', special_tokens=['<unk>']))
    made = json.loads(t.to_str())
    for piece in made['model']['vocab']:        # published scores are SentencePiece's, which are of single precision
        piece[1] = struct.unpack('f', struct.pack('f', piece[1]))[0]
    return Tokenizer.from_str(json.dumps(made))


TRAINED = {
    'bytes': lambda: bytes_bpe(),
    'bytes, NFC, lower case': lambda: bytes_bpe(normalizers.Sequence([normalizers.NFC(), normalizers.Lowercase()]), added=[AddedToken('<Hello>', normalized=False), AddedToken(' Fox', lstrip=True)]),
    'bytes, NFKC, digits apart': lambda: bytes_bpe(normalizers.NFKC(), [pre_tokenizers.Digits(individual_digits=True)], [AddedToken('over', single_word=True)]),
    'bytes without accents': lambda: bytes_bpe(normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents()]), [pre_tokenizers.Punctuation()]),
    'bytes, a regular expression': lambda: bytes_bpe(None, [pre_tokenizers.Split(tokenizers.Regex(r'\p{N}{1,3}|[^\s\p{L}\p{N}]+|\s+'), 'isolated')], [AddedToken('<Hello>', lstrip=True, rstrip=True)]),
    'unigram, NFKC': pieces,
}


def main():
    made = {}
    for path in sorted(pathlib.Path(sys.argv[1], 'vectors/tokenizers').glob('*/tokenizer.json.gz')):
        t = Tokenizer.from_str(gzip.open(path, 'rt').read())
        t.no_truncation()
        t.no_padding()
        made[path.parent.name] = {'hashes': hashes(t)}
    for name, make in TRAINED.items():
        t = make()
        made[name] = {'tokenizer': json.loads(t.to_str()), 'hashes': hashes(t)}
    text = ',\n'.join(f' {json.dumps(name)}: {json.dumps(of, separators=(",", ":"))}' for name, of in made.items())
    (pathlib.Path(__file__).parent / 'random_strings.json').write_text(
        f'{{"made_by": "tokenizers {tokenizers.__version__}; tests/tokenizer/make_random_strings.py",\n"words": {json.dumps(WORDS)},\n"ranges": {json.dumps(RANGES)},\n"vocabularies": {{\n{text}\n}}}}\n')


main()
