#!/usr/bin/env python3
"""tests/cli/draft_pairs_test.py - each drafter beside each chain of samplers, on each kind of architecture, alone and in batches: the tokens of plain decoding.

RUNNEL_TEST_FULL: all architectures of the shared goldens, 10,000 tokens and more for each drafter, chain and batch.
"""
import itertools
import json
import os
import pathlib
import random

from harness import MODEL, ROOT, Skip, check, equal, main, runnel, test

FULL = os.environ.get('RUNNEL_TEST_FULL')
SHARED = pathlib.Path(os.environ.get('RUNNEL_SHARED') or ROOT.parent / 'shared')
CHAINS = {
    'greedy': {'temp': 0},
    'plain': {'temp': 1},
    'cuts': {'temp': 0.9, 'top_k': 40, 'top_p': 0.9, 'min_p': 0.02},
    'penalties': {'temp': 0.7, 'repeat_penalty': 1.2, 'presence_penalty': 0.3, 'frequency_penalty': 0.2, 'no_repeat_ngram_size': 4},
    'dry, xtc': {'temp': 1, 'dry_multiplier': 0.8, 'dry_allowed_length': 2, 'xtc_probability': 0.5, 'xtc_threshold': 0.05},
    'typical': {'temp': 1.2, 'typical_p': 0.9, 'top_n_sigma': 2},
    'dynamic': {'temp': 0.8, 'dynatemp_range': 0.5, 'min_tokens': 20},
    'mirostat 1': {'mirostat': 1, 'mirostat_tau': 4},
    'mirostat 2': {'mirostat': 2, 'mirostat_tau': 4},
}
# One of each kind of memory: full attention, windows, a recurrent state, latent attention with experts, layers of both kinds.
KINDS = ('llama', 'gemma3', 'mamba2', 'deepseek-v3', 'qwen3-next')
RECURRENT = ('mamba2', 'qwen3-next', 'qwen3.5', 'lfm2', 'granitemoehybrid')
N_TOKENS, N_ANSWERS = (200, 52) if FULL else (60, 2)        # of a chain; n-grams of a text that goes on for long are found again


def golden_models():
    folder = SHARED / 'goldens'
    if not folder.is_dir():
        raise Skip(f'{folder} is not there')
    names = sorted(p.parent.name for p in folder.glob('*/config.json') if (p.parent / 'tokenizer.json').exists()) if FULL else KINDS
    return [folder / name for name in names if name != 'llava']


def requests(seed, n_vocab):
    rng = random.Random(seed)
    made = []
    for chain, i in itertools.product(CHAINS, range(N_ANSWERS)):
        part = [rng.randrange(3, n_vocab) for _ in range(rng.randrange(2, 12))]
        ids = (part * 3)[:rng.randrange(len(part), 3 * len(part) + 1)]     # some of the prompt repeats
        made.append({'id': f'{chain} {i}', 'ids': ids, 'n': N_TOKENS, 'seed': rng.randrange(1 << 40), 'ignore_eos': rng.random() < 0.7, **CHAINS[chain]})
    return made


def answers(model, made, parallel, *args, **more):
    lines = ''.join(json.dumps({**r, **more}) + '\n' for r in made).encode()
    done = runnel('batch', '-m', model, '-t', 1, '-c', 512, '--parallel', parallel, '--in-order', *args, stdin=lines).ok().lines
    return [(a['id'], a['tokens'], a['finish_reason']) for a in done], sum(a.get('speculation', {}).get('accepted', 0) for a in done)


def refuses_lookahead(model):
    """On models with a recurrent state, whose scratch rows take a slot each."""
    done = runnel('run', '-m', model, '-n', 1, '--ids', '5,6', '--speculate', 'lookahead')
    if done.code:
        done.fails(1, 'speculate: lookahead: not with a recurrent model')
    equal(bool(done.code), model.name in RECURRENT, model)
    return bool(done.code)


def refuses_layer_skip(model):
    """Where layers have embeddings of their own."""
    done = runnel('run', '-m', model, '-n', 1, '--ids', '5,6', '--speculate', 'layer-skip=1')
    if done.code:
        done.fails(1, 'its layers have embeddings of their own, none can be left out')
    equal(bool(done.code), model.name.startswith('gemma4'), model)
    return bool(done.code)


def check_model(model, n_vocab, drafters):
    """drafters: {name: options}. Returns how many guesses of each were right."""
    right = {}
    made = requests(model.name, n_vocab)
    plain, _ = answers(model, made, 8, speculate='none')
    equal(len(plain), len(made))
    check(sum(len(tokens) for _, tokens, _ in plain) > N_TOKENS * len(made) // 2, model)
    for (name, options), parallel in itertools.product(drafters.items(), (1, 8)):
        # Whether they pay or not, so that there are some.
        drafted, right[name] = answers(model, made, parallel, *options, speculate=name, draft_min=1 + parallel // 2, draft_max=7)
        for want, got in zip(plain, drafted):
            equal(got, want, f'{model.name}, {name}, {parallel} at once')
    return right


@test
def on_each_kind_of_architecture_the_tokens_are_those_of_plain_decoding():
    for model in golden_models():
        n_vocab = json.loads((model / 'config.json').read_text()).get('vocab_size', 200)
        free = {'ngram': (), 'suffix': (), 'ngram-cache': (), **({} if refuses_lookahead(model) else {'lookahead': ()})}
        if not refuses_layer_skip(model):
            free['layer-skip'] = ('--speculate', 'layer-skip=1')
        right = check_model(model, min(n_vocab, 200), {**free, 'draft': ('--draft', model)})
        check(right['draft'] > len(CHAINS) * N_ANSWERS, model, right)        # the same model: always right where greedy


@test
def with_heads_and_a_smaller_model_the_tokens_are_those_of_plain_decoding():
    folder = SHARED / 'models/stories'
    if not folder.is_dir():
        raise Skip(f'{folder} is not there')
    heads = {'layer-skip': ('--speculate', 'layer-skip=1-2'), **{kind: ('--speculate', f'{kind}={folder / kind}') for kind in ('medusa', 'eagle')}}
    right = check_model(MODEL, 4000, {'ngram': (), 'suffix': (), 'ngram-cache': (), 'lookahead': (), 'draft': ('--draft', folder / 'draft-q8_0.gguf'), **heads})
    check(all(n > 0 for n in right.values()), right)


@test
def with_a_smaller_model_of_another_vocabulary_the_tokens_are_those_of_plain_decoding():
    golden = next(m for m in golden_models() if m.name == 'gemma3')
    check_model(MODEL, 4000, {'draft': ('--draft', golden)})
    check_model(golden, 200, {'draft': ('--draft', MODEL)})


main()
