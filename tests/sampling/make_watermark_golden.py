#!/usr/bin/env python3
"""tests/sampling/make_watermark_golden.py - writes watermark_golden.json: what transformers' SynthIDTextWatermarkLogitsProcessor makes of rows
of logits, token by token, and what its functions see in texts.

Asks torch and transformers (5.23.0 wrote the file that is there): PYTHON make_watermark_golden.py > watermark_golden.json. Floats are the bits of
float32 as 8 hex digits, keys and tables whole numbers. The scores are those of SynthID-Text's mean and weighted mean over the masked bits.
"""
import json
import random
import struct

import torch
import transformers
from transformers import SynthIDTextWatermarkLogitsProcessor

KEYS = [654, 400, 836, 123, 340, 443, 597, 160, 57, 29, 590, 639, 13, 715, 468, 990, 966, 226, 324, 585, 118, 504, 421, 521, 129, 669, 732, 225, 90, 960]
CONFIGS = [
    dict(keys=KEYS, ngram_len=5),
    dict(keys=KEYS[:9], ngram_len=2, context_history_size=3),
    dict(keys=[2**63 - 1, -2**63, -1, 0, 5], ngram_len=3, sampling_table_size=1000, sampling_table_seed=7),
    dict(keys=[11, 11 + 65536, 12], ngram_len=4, skip_first_ngram_calls=True, sampling_table_seed=2**40 + 5),
    dict(keys=[3], ngram_len=2, context_history_size=0, sampling_table_size=1),
]
DEFAULTS = dict(context_history_size=1024, sampling_table_seed=0, sampling_table_size=65536, skip_first_ngram_calls=False)
N_VOCAB, N_STEPS, N_TEXT = 48, 14, 60


def bits(row):
    return ''.join(struct.pack('>f', x).hex() for x in row)


def processor(config):
    return SynthIDTextWatermarkLogitsProcessor(**{**DEFAULTS, **config}, device='cpu')


def condition(marker, row):
    """By how much rounding a mass to a float grows at most: each token's sum of 1 / (1 + g - mass) over the rounds, in doubles."""
    ids = torch.arange(N_VOCAB)[None]
    keys, _ = marker._compute_keys(marker.state.context, ids)
    p, total = torch.softmax(torch.tensor([row], dtype=torch.float64), dim=1), 0
    for g in marker.sample_g_values(keys)[0].double().T:
        mass = (g * p).sum()
        p = p * (1 + g - mass)
        total = total + 1 / (1 + g - mass).clamp(min=1e-9)
    return total.tolist()


def steps(config, rng):
    """Rows before and after, and the token that is taken; few tokens, so that contexts recur."""
    marker, ids, out = processor(config), [7, 8, 9], []
    for k in range(N_STEPS):
        row = [struct.unpack('f', struct.pack('f', rng.gauss(0, 3)))[0] for _ in range(N_VOCAB)]
        for i in rng.sample(range(N_VOCAB), 5 * (k % 3)):
            row[i] = float('-inf')
        after = marker(torch.tensor([ids]), torch.tensor([row]))[0]
        token = rng.choice([3, 4, 5])
        out.append({'row': bits(row), 'after': bits(after.tolist()), 'condition': bits(condition(marker, row)), 'token': token})
        ids.append(token)
    return out


def score(config, tokens):
    marker, ids = processor(config), torch.tensor([tokens])
    g, mask = marker.compute_g_values(ids)[0], marker.compute_context_repetition_mask(ids)[0]
    depth, n = len(config['keys']), int(mask.sum())
    weights = torch.linspace(10, 1, depth, dtype=torch.float64)
    kept = g[mask.bool()].double()
    return {'tokens': tokens, 'g': [''.join(map(str, row)) for row in g.tolist()], 'mask': mask.int().tolist(), 'mean': float(kept.sum() / (depth * n)),
            'weighted_mean': float((kept * weights * (depth / weights.sum())).sum() / (depth * n))}


def main():
    rng = random.Random(26)
    cases = []
    for config in CONFIGS:
        whole = {**DEFAULTS, **config}
        ones = int(processor(config).sampling_table.sum())
        cases.append({'config': whole, 'ones': ones, 'steps': steps(config, rng),
                      'texts': [score(config, [rng.randrange(10, 10 + r) for _ in range(N_TEXT)]) for r in (3, 30000)]})
    print(json.dumps({'transformers': transformers.__version__, 'torch': torch.__version__, 'cases': cases}, separators=(',', ':')).replace('{"config"', '\n{"config"'))


main()
