#!/usr/bin/env python3
"""tests/engine/make_contrast.py GOLDENS [--random SEED N] - writes contrast.json: greedy texts of DoLa and of contrastive decoding on small models.

With --random, N cases of each kind with prompts, layers and settings drawn from the seed are printed instead, for cli.transformers_search_test.
Wants torch and transformers. DoLa is written out from the code that transformers' generate() runs for `dola_layers`
(huggingface.co/transformers-community/dola, once generation/utils.py, _dola_decoding): the head reads an early layer's output without the
final norm. Contrastive decoding is 2210.15097, section 3: log p of the model less log p of the amateur at its temperature, among the tokens
that the model gives at least relative_top times its largest probability. In float64; a case in which a step is closer than CLOSE to another
outcome is left out."""
import json
import pathlib
import random
import sys

import torch
import transformers

transformers.logging.set_verbosity_error()

root = pathlib.Path(sys.argv[1])
N_TOKENS = 24
CLOSE = 2e-3
PROMPTS = [[84, 257, 32, 113, 117], [79, 110, 99, 101, 32, 117, 112, 111, 110, 32, 97, 32, 116, 105, 109, 101]]
# Odd lengths: within a page of keys and values (64 positions), behind its end, and behind two pages, or chunks of the prompt.
LONG = [[random.Random(n).randrange(3, 200) for _ in range(n)] for n in (7, 31, 77, 131)]
DOLA = [('llama', 'low'), ('llama', 'high'), ('llama', '0,1,2'), ('qwen2', '2'), ('qwen2', '0,1,2'), ('qwen2', 'high'), ('gemma2', 'low'),
        ('gemma2', '0,1,3'), ('gemma2', 'high'), ('phi', '0,1'), ('phi', 'low'), ('gpt2', '1,2')]
PAIRS = [('llama', 'small-llama'), ('qwen2', 'gpt2'), ('gemma2', 'qwen2')]


def load(name, dtype):
    return transformers.AutoModelForCausalLM.from_pretrained(root / name, dtype=dtype, attn_implementation='eager').eval()


def rows(model, ids):
    return model(torch.tensor([ids]), use_cache=False, output_hidden_states=True)


def layers_of(model, text):
    n = model.config.get_text_config().num_hidden_layers
    first = 0 if not model.config.tie_word_embeddings else 2 if n > 2 else 1 if n == 2 else 0
    if text == 'low':
        return [first] if first == n // 2 else list(range(first, n // 2, 2))
    if text == 'high':
        return list(range(n // 2, n, 2))
    return [int(x) for x in text.split(',')]


class Close(Exception):
    pass


def differ(a, b):
    if abs(a - b) < CLOSE:
        raise Close


def far(scores, relative_top):
    bound = scores.max() + torch.log(torch.tensor(relative_top, dtype=scores.dtype))
    differ(float((scores - bound).abs().min()), 0)
    return scores < bound


def dola_scores(model, ids, layers, relative_top):
    out = rows(model, ids)
    final = out.logits[0, -1]
    early = [model.get_output_embeddings()(out.hidden_states[i][0, -1]) for i in layers]
    log_final, logs = final.log_softmax(-1), [e.log_softmax(-1) for e in early]
    distances = []
    for log_early in logs:
        mean = (log_final.exp() + log_early.exp()) / 2
        distances.append(float((torch.nn.functional.kl_div(log_final, mean, reduction='none').mean() +
                                torch.nn.functional.kl_div(log_early, mean, reduction='none').mean()) / 2))
    if len(distances) > 1:
        best = sorted(distances)[-2:]
        differ(best[1] / best[0], 1)
    base = logs[distances.index(max(distances))]
    scores = log_final - base
    scores[far(log_final, relative_top)] = -float('inf')
    return scores


def contrast_scores(model, amateur, ids, temperature, relative_top):
    log_model = rows(model, ids).logits[0, -1].log_softmax(-1)
    scores = log_model - (rows(amateur, ids).logits[0, -1] / temperature).log_softmax(-1)
    scores[far(log_model, relative_top)] = -float('inf')
    return scores


def generate(prompt, penalty, score):
    ids = list(prompt)
    for _ in range(N_TOKENS):
        scores = score(ids)
        for token in set(ids):
            scores[token] = scores[token] * penalty if scores[token] < 0 else scores[token] / penalty
        best = torch.topk(scores, 2).values
        differ(float(best[0]), float(best[1]))
        ids.append(int(scores.argmax()))
    return ids[len(prompt):]


def add(cases, case, prompt, penalty, score):
    try:
        cases.append(dict(case, ids=prompt, repeat_penalty=penalty, tokens=generate(prompt, penalty, score)))
    except Close:
        print('left out:', case, file=sys.stderr)


def random_prompt(r):
    return [r.randrange(3, 250) for _ in range(r.choice([1, 2, 3, 8, 33, 65, 100]))]


def random_layers(r, model):
    n = model.config.get_text_config().num_hidden_layers
    return r.choice([*(['low'] if layers_of(model, 'low') else []), 'high', ','.join(map(str, sorted(r.sample(range(n), r.randint(1, n)))))])


def random_cases(models, seed, n):
    """Lists of cases; one that is close to another outcome is drawn again."""
    r, dola, contrast = random.Random(seed), [], []
    while len(dola) < n:
        name = r.choice(['llama', 'qwen2', 'gemma2'])
        model, top = models[name], r.choice([0.01, 0.1, 0.3])
        layers = random_layers(r, model)
        add(dola, dict(model=name, dola_layers=layers, relative_top=top), random_prompt(r), r.choice([1.0, 1.1, 1.3]),
            lambda ids: dola_scores(model, ids, layers_of(model, layers), top))
    while len(contrast) < n:
        name, amateur = r.choice(PAIRS)
        temperature, top = r.choice([0.3, 1.0, 2.0]), r.choice([0.01, 0.1, 0.3])
        add(contrast, dict(model=name, amateur=amateur, amateur_temperature=temperature, relative_top=top), random_prompt(r), r.choice([1.0, 1.1, 1.3]),
            lambda ids: contrast_scores(models[name], models[amateur], ids, temperature, top))
    return dola, contrast


def frozen_cases(models):
    dola, contrast = [], []
    for prompt in PROMPTS + LONG:
        for penalty in (1.0, 1.2):
            for name, layers in DOLA:
                model = models[name]
                add(dola, dict(model=name, dola_layers=layers), prompt, penalty,
                    lambda ids: dola_scores(model, ids, layers_of(model, layers), 0.1))
            for name, amateur in PAIRS:
                for temperature, top in ((1.0, 0.1), (0.5, 0.1), (1.0, 0.3))[:3 if prompt in PROMPTS else 2]:
                    add(contrast, dict(model=name, amateur=amateur, amateur_temperature=temperature, relative_top=top), prompt, penalty,
                        lambda ids: contrast_scores(models[name], models[amateur], ids, temperature, top))
    return dola, contrast


torch.set_grad_enabled(False)
torch.set_num_threads(1)
models = {name: load(name, torch.float64) for name in ['llama', 'qwen2', 'gemma2', 'phi', 'gpt2', 'small-llama']}
if sys.argv[2:3] == ['--random']:
    dola, contrast = random_cases(models, int(sys.argv[3]), int(sys.argv[4]))
    print(json.dumps(dola + contrast))
else:
    dola, contrast = frozen_cases(models)
    out = pathlib.Path(__file__).parent / 'contrast.json'
    out.write_text('{"dola": [\n' + ',\n'.join(map(json.dumps, dola)) + '\n],\n"contrast": [\n' + ',\n'.join(map(json.dumps, contrast)) + '\n]}\n')
print(len(dola), len(contrast), file=sys.stderr)
