#!/usr/bin/env python3
"""tests/cli/synth_model_test.py - bench/synth_model writes models that this program runs."""
import json
import math
import subprocess

from harness import Folder, check, equal, main, runnel, synth_model, test

TYPES = 'F32 F16 BF16 Q8_0 Q4_0 Q4_1 Q5_0 Q5_1 IQ4_NL MXFP4 Q2_K Q3_K Q4_K_S Q4_K_M Q5_K_M Q6_K IQ4_XS IQ3_S IQ2_XXS IQ1_M TQ2_0'.split()


@test
def every_type_gives_a_model_with_finite_logits_and_a_tokenizer():
    with Folder() as folder:
        for kind in TYPES:
            synth_model(folder / 'm.gguf', '--shape', 'tiny', '--layers', 2, '--type', kind)
            ids, = runnel('tokenize', '-m', folder / 'm.gguf', 'the quick (brown) fox', '--json').ok().lines
            check(max(ids['ids']) > 256 and len(ids['ids']) < 20, kind, ids)
            text, = runnel('score', '-m', folder / 'm.gguf', '--ids', '5,300,7,1000,42', '--json').ok().lines
            # nearly uniform over 1,024 tokens: logits of about 1
            check(all(math.isfinite(x) and 2 < x < 14 for x in text['nll']), kind, text)


@test
def the_same_options_give_the_same_bytes_and_another_seed_others():
    with Folder() as folder:
        made = []
        for seed in (1, 1, 2):
            synth_model(folder / 'm.gguf', '--shape', 'tiny', '--type', 'q4_k_m', '--seed', seed)
            made.append((folder / 'm.gguf').read_bytes())
        check(made[0] == made[1] and made[0] != made[2] and len(made[0]) == len(made[2]), 'bytes')


@test
def the_shape_is_the_one_asked_for():
    with Folder() as folder:
        synth_model(folder / 'm.gguf', '--shape', 'tiny', '--layers', 3, '--embd', 96, '--heads', 6, '--heads-kv', 3, '--head-dim', 16,
                    '--ff', 160, '--vocab', 259, '--ctx', 64, '--own-head', '--type', 'q8_0')
        info, = runnel('info', folder / 'm.gguf', '--json').ok().lines
        equal([info[k] for k in ('n_layer', 'n_embd', 'n_head', 'n_head_kv', 'head_dim', 'n_ff', 'n_vocab', 'n_ctx_train')],
              [3, 96, 6, 3, 16, 160, 259, 64])
        equal({t['type']: t['n_tensors'] for t in info['types']}, {'Q8_0': 2 + 3 * 7, 'F32': 1 + 3 * 2})


@test
def a_model_with_experts_says_so_and_runs():
    with Folder() as folder:
        synth_model(folder / 'm.gguf', '--shape', 'tiny', '--layers', 2, '--experts', 5, '--experts-used', 3, '--type', 'q4_k_m')
        info, = runnel('info', folder / 'm.gguf', '--json').ok().lines
        equal([info[k] for k in ('n_expert', 'n_expert_used', 'n_ff_expert')], [5, 3, 768])
        check('5 of 768, 3 for each token' in runnel('info', folder / 'm.gguf').ok().text, 'info')
        text, = runnel('score', '-m', folder / 'm.gguf', '--ids', '5,300,7,1000,42', '--json').ok().lines
        check(all(math.isfinite(x) and 2 < x < 14 for x in text['nll']), text)
        runnel('quantize', folder / 'm.gguf', folder / 'q.gguf', 'q8_0', '--allow-requantize').ok()
        bench, = runnel('bench', '-m', folder / 'm.gguf', '-p', 8, '-n', 4, '-r', 1, '--profile', '--json').ok().lines
        names = json.dumps(bench)
        for op in ('route', 'experts ffn_gate_exps', 'experts ffn_down_exps', 'experts_sum'):
            check(f'"{op}"' in names, op)


@test
def what_is_no_model_is_refused_and_leaves_no_file():
    with Folder() as folder:
        for args in (['--type', 'q9'], ['--experts', '2', '--experts-used', '3'], ['--layers', '0'], ['--vocab', '258'], ['--heads', '7', '--heads-kv', '2'], ['--seed']):
            try:
                synth_model(folder / 'm.gguf', *args)
                check(False, args, 'was taken')
            except subprocess.CalledProcessError as e:
                equal(e.returncode, 2)
        equal(list(folder.iterdir()), [])


main()
