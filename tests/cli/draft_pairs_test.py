#!/usr/bin/env python3
"""tests/cli/draft_pairs_test.py - each drafter beside each chain of samplers, on each kind of architecture, alone and in batches: the tokens of plain decoding.

RUNNEL_TEST_FULL: all architectures of the shared goldens, the default model and SmolLM2; of each drafter beside each chain LEAST_TOKENS tokens and more
on each kind of architecture and on the default model, and of each drafter on SmolLM2; RUNNEL_TEST_FULL=pairs: of each drafter beside each chain there, too.
"""
import collections
import functools
import json
import os
import pathlib
import random

from harness import MODEL, ROOT, Skip, check, equal, main, runnel, smollm2, test

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
    'adaptive-p': {'temp': 1, 'min_p': 0.01, 'adaptive_target': 0.4, 'adaptive_decay': 0.8},
    'watermark': {'temp': 1, 'top_k': 50, 'watermark': {'ngram_len': 3, 'keys': [654, 400, 836, 123, 340]}},
    'biases, order': {'temp': 0.9, 'min_p': 0.05, 'top_k': 30, 'repeat_penalty': 1.1, 'samplers': 'temperature;min_p;penalties;top_k', 'banned_tokens': [9, 14],
                      'sequence_bias': [[[5, 6], 2.5], [[7], -4], [[20, 21, 22], 8]]},
    'guidance': {'temp': 0.8, 'guidance_scale': 1.6},
    'grammar': {'temp': 1, 'regex': '([a-z]{1,7}[ ,.]?)*', 'banned_strings': ['th', 'ab']},
}
KINDS = ('full attention', 'windows', 'latent attention', 'states', 'states and attention')
ONE_OF_EACH = ('llama', 'gemma3', 'deepseek-v3', 'mamba2', 'qwen3-next')
STATES = {'mamba2': 'states', **dict.fromkeys(('qwen3-next', 'qwen3.5', 'lfm2', 'granitemoehybrid'), 'states and attention')}
# Of a chain, by each drafter, one at a time and eight at once. n-grams of a text that goes on for long are found again.
N_TOKENS, N_ANSWERS = (200, 40) if FULL else (40, 2)
LEAST_TOKENS = 10000 if FULL else 80
N_LINES = 40 if FULL else 400   # of one process, which has the harness's time
GUIDED = ('--guidance-scale', 1.6)      # plans the states of a second sequence; each line says whether it is guided


def says(model, name):
    """The value of a member of config.json, also of its part about text; None: there is none."""
    config = json.loads((model / 'config.json').read_text())
    return config.get(name) or config.get('text_config', {}).get(name)


def kind_of(model):
    if model.name in STATES:
        return STATES[model.name]
    if says(model, 'kv_lora_rank'):
        return 'latent attention'
    return 'windows' if says(model, 'sliding_window') or says(model, 'attention_chunk_size') else 'full attention'


def golden_models():
    """{kind: folders}"""
    folder = SHARED / 'goldens'
    if not folder.is_dir():
        raise Skip(f'{folder} is not there')
    names = sorted(p.parent.name for p in folder.glob('*/config.json') if (p.parent / 'tokenizer.json').exists()) if FULL else ONE_OF_EACH
    kinds = {kind: [] for kind in KINDS}
    for name in names:
        if name != 'llava':
            kinds[kind_of(folder / name)].append(folder / name)
    check(all(kinds.values()), kinds)
    return kinds


def requests(seed, n_vocab, n_answers):
    rng = random.Random(seed)
    made = []
    for chain in CHAINS:
        for i in range(n_answers):
            part = [rng.randrange(3, n_vocab) for _ in range(rng.randrange(2, 12))]
            ids = (part * 3)[:rng.randrange(len(part), 3 * len(part) + 1)]     # some of the prompt repeats
            made.append({'id': f'{chain} {i}', 'ids': ids, 'n': N_TOKENS, 'seed': rng.randrange(1 << 40), 'ignore_eos': i % 5 > 0,
                         'guidance_scale': 1, **({'logprobs': 0} if i % 2 else {}), **CHAINS[chain]})
    return made


def answers(model, lines, parallel, *args):
    """One for each line, in their order."""
    done = []
    for at in range(0, len(lines), N_LINES):
        given = ''.join(json.dumps(line) + '\n' for line in lines[at:at + N_LINES]).encode()
        got = runnel('batch', '-m', model, '-t', 1, '-c', 512, '--parallel', parallel, '--in-order', *GUIDED, *args, stdin=given)
        check(got.code == 0, model, next((a['error'] for a in got.lines if 'error' in a), got.err))
        done += got.lines
    equal(len(done), len(lines), model)
    return done


def gist(a):
    return a['id'], a['tokens'], a['finish_reason'], a.get('logprobs')


def drafted_lines(made, plain, name, members, least):
    """The requests with guesses, whether they pay or not, so that there are some."""
    lines = []
    for i, (r, answer) in enumerate(zip(made, plain)):
        line = {**r, 'draft_min': least, 'draft_max': 7, **members}
        if 'prediction' in members:
            line['prediction'] = (answer if i % 3 else plain[i - 1])['text'][:100] or 'Once upon a time'    # also of bytes that are no characters
        if r.get('temp') == 0:      # the same tokens with each
            line['spec_verify'] = ('match', 'reject', 'typical')[i % 3]
        lines.append(line)
    return lines


def check_model(model, n_vocab, drafters, args, n_answers=N_ANSWERS):
    """drafters: {name: members}. Returns counters by drafter: tokens by chain, and how many guesses were right."""
    made = requests(model if isinstance(model, str) else model.name, n_vocab, n_answers)
    plain = answers(model, [{**r, 'speculate': 'none'} for r in made], 8)
    tokens, right = collections.Counter(), collections.Counter()
    for parallel in (1, 8):
        lines = [line for name, members in drafters.items() for line in drafted_lines(made, plain, name, members, 1 + parallel // 2)]
        names = [name for name in drafters for _ in made]
        for name, want, got in zip(names, plain * len(drafters), answers(model, lines, parallel, *args)):
            equal(gist(got), gist(want), f'{model}, {name}, {parallel} at once')
            tokens[name, got['id'].rpartition(' ')[0]] += len(got['tokens'])
            right[name] += got.get('speculation', {}).get('accepted', 0)
    return tokens, right


def named(*names):
    return {name: {'speculate': name} for name in names}


FREE = {**named('ngram', 'suffix', 'ngram-cache'), 'prediction': {'speculate': 'suffix', 'prediction': ''}}


def check_tokens(tokens, drafters, of):
    for name in drafters:
        for chain in CHAINS:
            check(tokens[name, chain] >= LEAST_TOKENS, f'{of}, {name}, {chain}: {tokens[name, chain]} tokens')


@functools.cache
def refuses_lookahead(model):
    """On models with a recurrent state, whose scratch rows take a slot each."""
    done = runnel('run', '-m', model, '-n', 1, '--ids', '5,6', '--speculate', 'lookahead')
    if done.code:
        done.fails(1, 'speculate: lookahead: not with a recurrent model')
    equal(bool(done.code), model.name in STATES, model)
    return bool(done.code)


@functools.cache
def refuses_layer_skip(model):
    """Where layers have embeddings of their own."""
    done = runnel('run', '-m', model, '-n', 1, '--ids', '5,6', '--speculate', 'layer-skip=1')
    if done.code:
        done.fails(1, 'its layers have embeddings of their own, none can be left out')
    equal(bool(done.code), bool(says(model, 'hidden_size_per_layer_input')), model)
    return bool(done.code)


@test
def on_each_kind_of_architecture_the_tokens_are_those_of_plain_decoding():
    for kind, models in golden_models().items():
        tokens, names = collections.Counter(), set()
        for model in models:
            drafters = {**FREE, **named('draft', 'suffix,draft')}
            args = ['--draft', model, '--speculate', 'draft']
            if not refuses_lookahead(model):
                drafters |= named('lookahead')
            if not refuses_layer_skip(model):
                drafters |= named('layer-skip')
                args += ['--speculate', 'layer-skip=1']
            n_answers = max(2, -(-N_ANSWERS // len(models)))
            if says(model, 'num_nextn_predict_layers'):     # no other golden of its kind has them
                drafters |= named('mtp', 'suffix,mtp')
                args += ['--speculate', 'mtp']
                n_answers = N_ANSWERS
            more, right = check_model(model, min(says(model, 'vocab_size') or 200, 200), drafters, args, n_answers)
            check(right['draft'] > len(CHAINS) * n_answers, model, right)        # the same model: always right where greedy
            check(right['prediction'] > right['suffix'], model, right)
            tokens += more
            names |= set(drafters)
        check_tokens(tokens, names, kind)


@test
def with_heads_and_a_smaller_model_the_tokens_are_those_of_plain_decoding():
    folder = SHARED / 'models/stories'
    if not folder.is_dir():
        raise Skip(f'{folder} is not there')
    drafters = {**FREE, **named('lookahead', 'draft', 'layer-skip', 'medusa', 'eagle', 'suffix,eagle')}
    args = ['--draft', folder / 'draft-q8_0.gguf', '--speculate', 'draft', '--speculate', 'layer-skip=1-2']
    for kind in ('medusa', 'eagle'):
        args += ['--speculate', f'{kind}={folder / kind}']
    tokens, right = check_model(MODEL, 4000, drafters, args)
    check(all(right[name] > 0 for name in drafters), right)
    check_tokens(tokens, drafters, MODEL.name)


@test
def with_a_smaller_model_of_another_vocabulary_the_tokens_are_those_of_plain_decoding():
    golden = next(m for m in golden_models()['windows'] if m.name == 'gemma3')
    for model, n_vocab, other in ((MODEL, 4000, golden), (golden, 200, MODEL)):
        tokens, _ = check_model(model, n_vocab, named('draft'), ['--draft', other, '--speculate', 'draft'])
        check_tokens(tokens, ['draft'], model.name)


def on_smollm2_the_tokens_are_those_of_plain_decoding():
    model = smollm2()
    drafters = {**FREE, **named('lookahead', 'layer-skip', 'draft')}
    args = ['--draft', MODEL, '--speculate', 'draft', '--speculate', 'layer-skip=1-2']      # of another vocabulary
    tokens, _ = check_model(model, 40000, drafters, args, N_ANSWERS if FULL == 'pairs' else 3)
    if FULL == 'pairs':
        check_tokens(tokens, drafters, model)
    for name in drafters:
        n = sum(tokens[name, chain] for chain in CHAINS)
        check(n >= LEAST_TOKENS, f'{model}, {name}: {n} tokens')


if FULL:
    test(on_smollm2_the_tokens_are_those_of_plain_decoding)

main()
