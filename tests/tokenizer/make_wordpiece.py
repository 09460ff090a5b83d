#!/usr/bin/env python3
"""tests/tokenizer/make_wordpiece.py > tests/tokenizer/wordpiece.json - ids of Hugging Face's tokenizers for BERT's steps over a small vocabulary.

Each part has a tokenizer.json and pairs of a text and its ids, special tokens included: small letters without accents, letters as they are, and single
switches of BertNormalizer.
"""
import json
import random

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

LETTERS = 'abcdeghiLMNOÅéèñßþдиΣςσ中文가각ग1+<%—'
ODD = [' ', '  ', '\t', '\n', '\xa0', '\u3000', '.', ',', '-', '!', '\u2014', '\u0301', '\u0308', '\u200b', '\u200d', '\x00', '\x7f', '\ufffd', '\ue000', '\U0001f600', '\u30fb',
       '\u0e4d', '\uff01', '\U00016ac0', '\u061d', '\ufb01', '\u0130', '\u1e9e', '\u212b', '\uac00', '\U00020000', '\U0002b900', '\u226f', '[MASK', 'CLS]', '##a', '##']


def vocabulary(rng):
    pieces = ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]']
    for c in LETTERS + '.,-!#[]>\u0301\u0308':
        pieces += [c, '##' + c]
    for _ in range(60):
        piece = ''.join(rng.choice(LETTERS[:14]) for _ in range(rng.randrange(2, 5)))
        pieces += [piece, '##' + piece] if rng.random() < .4 else [piece] if rng.random() < .5 else ['##' + piece]
    return {p: i for i, p in enumerate(dict.fromkeys(pieces))}


def text(rng):
    parts = [rng.choice(ODD) if rng.random() < .3 else rng.choice(LETTERS[:14] if rng.random() < .8 else LETTERS) for _ in range(rng.randrange(1, 30))]
    return 'a' * rng.randrange(6, 14) if rng.random() < .05 else ''.join(parts)


def main():
    rng = random.Random(7)
    made = []
    for switches in ({}, {'lowercase': False}, {'lowercase': False, 'strip_accents': True}, {'strip_accents': False}, {'handle_chinese_chars': False}, {'clean_text': False}):
        t = Tokenizer(models.WordPiece(vocabulary(rng), unk_token='[UNK]', max_input_chars_per_word=12))
        t.normalizer, t.pre_tokenizer, t.decoder = normalizers.BertNormalizer(**switches), pre_tokenizers.BertPreTokenizer(), decoders.WordPiece()
        t.add_special_tokens(['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]'])      # which texts may spell there, and not here: none does
        t.post_processor = processors.TemplateProcessing(single='[CLS] $A [SEP]', special_tokens=[('[CLS]', 2), ('[SEP]', 3)])
        texts = [text(rng) for _ in range(120)]
        made.append({'switches': switches, 'tokenizer': json.loads(t.to_str()), 'cases': [[s, t.encode(s).ids] for s in texts]})
    for part in made:
        print(('[' if part is made[0] else ',') + json.dumps(part, separators=(',', ':')))
    print(']')


main()
