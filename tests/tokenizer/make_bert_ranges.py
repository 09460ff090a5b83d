#!/usr/bin/env python3
"""tests/tokenizer/make_bert_ranges.py > src/tokenizer/bert_ranges.h - the characters that BERT's tokenizer removes, isolates or takes for accents.

They are asked of the Python package `tokenizers`, whose tables are those of an older Unicode (8), whatever the system's are.
"""
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer


def normalizer(**on):
    return BertNormalizer(**{'clean_text': False, 'handle_chinese_chars': False, 'strip_accents': False, 'lowercase': False, **on})


clean, han, accents, words = normalizer(clean_text=True), normalizer(handle_chinese_chars=True), normalizer(strip_accents=True), BertPreTokenizer()
ASKED = [
    ('bert_removed', 'Removed from texts: control characters, formats, private use, and U+FFFD.', lambda c: clean.normalize_str(f'a{c}b') == 'ab'),
    ('bert_han', 'Chinese characters, each a word of its own.', lambda c: han.normalize_str(c) == f' {c} '),
    ('bert_accents', 'Removed once the text is decomposed: nonspacing marks.', lambda c: accents.normalize_str(c) == ''),
    ('bert_punctuation', 'Each a word of its own.', lambda c: [w for w, _ in words.pre_tokenize_str(f'a{c}b')] == ['a', c, 'b']),
]


def ranges(is_in):
    found = []
    for cp in (*range(0xD800), *range(0xE000, 0x110000)):
        if not is_in(chr(cp)):
            continue
        if found and found[-1][1] == cp - 1:
            found[-1][1] = cp
        else:
            found.append([cp, cp])
    return found


print('''// tokenizer/bert_ranges.h - characters that BERT's tokenizer treats in a way of its own; written by tests/tokenizer/make_bert_ranges.py.
//
// First and last character of each range, ascending. The categories are those of Unicode 8, with which the published tokenizers were made.
#ifndef RN_TOKENIZER_BERT_RANGES_H
#define RN_TOKENIZER_BERT_RANGES_H

#include <stdint.h>

// clang-format off''')
for name, what, is_in in ASKED:
    print(f'\n// {what}\nstatic const uint32_t {name}[][2] = {{')
    row = ''
    for first, last in ranges(is_in):
        item = f'{{0x{first:X}, 0x{last:X}}},'
        if len(row) + len(item) > 110:
            print(f'    {row}')
            row = ''
        row += (' ' if row else '') + item
    print(f'    {row}\n}};')
print('// clang-format on\n\n#endif')
