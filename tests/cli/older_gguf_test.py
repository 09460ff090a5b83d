#!/usr/bin/env python3
"""tests/cli/older_gguf_test.py - GGUF files of older forms: experts one by one, latent attention unsplit, Qwen3-Next's first tensors; and files
with layers beyond the model's own."""
import json
import os
import pathlib

from gguf import F32, parts, tensors, with_numbers, with_tensors
from harness import ROOT, Folder, Skip, check, equal, main, runnel, test

IDS = '84,104,101,32,257,97,120,33,10,65,200,7'


def golden(name):
    path = pathlib.Path(os.environ.get('RUNNEL_SHARED') or ROOT.parent / 'shared', 'goldens', name)
    if not path.exists():
        raise Skip('no shared material: set RUNNEL_SHARED')
    return path


def logits(model, folder):
    runnel('score', '-m', model, '--ids', IDS, '--kv-type', 'f32', '--logits', folder / 'logits.npy').ok()
    return (folder / 'logits.npy').read_bytes()


def keys(path):
    return {key for key, _ in parts(path.read_bytes())[1]}


def rows(raw, n):
    """Rows of a F32 tensor, as bytes."""
    return [raw[i:i + 4 * n] for i in range(0, len(raw), 4 * n)]


def turned(raw, n):
    return b''.join(b''.join(row[4 * i:4 * i + 4] for row in rows(raw, n)) for i in range(n))


def check_older(name, make, folder, types=()):
    """The file in its older form gives the bits of today's; quantized, too, and what is quantized is of today's form."""
    today, old, again = folder / 'today.gguf', folder / 'old.gguf', folder / 'again.gguf'
    runnel('convert', golden(name), today, '--type', 'F32').ok()
    old.write_bytes(make(today.read_bytes()))
    equal(logits(old, folder), logits(today, folder), name)
    runnel('quantize', old, again, 'F32').ok()
    equal(logits(again, folder), logits(today, folder), name)
    equal(set(tensors(again.read_bytes())), set(tensors(today.read_bytes())))
    equal(keys(again), keys(today))
    info, = runnel('info', '-m', old, '--json').ok().lines
    check(info['engine']['copied_bytes'] > 0, info['engine'])
    return old, today


# ---- experts one by one ---------------------------------------------------------------------------------------------

def with_single_experts(data):
    made = {}
    for name, (dims, kind, raw) in tensors(data).items():
        if '_exps.' not in name:
            made[name] = dims, kind, raw
            continue
        front, n = name.split('_exps.')[0], dims[2]
        for e in range(n):
            made[f'{front}.{e}.weight'] = dims[:2], kind, raw[e * (len(raw) // n):(e + 1) * (len(raw) // n)]
    return with_tensors(data, made)


@test
def experts_that_lie_one_by_one_give_the_bits_of_those_that_lie_together():
    with Folder() as folder:
        for name in ('mixtral', 'qwen3-moe'):
            check_older(name, with_single_experts, folder)
        runnel('quantize', folder / 'today.gguf', folder / 'q4.gguf', 'Q4_0').ok()
        (folder / 'single.gguf').write_bytes(with_single_experts((folder / 'q4.gguf').read_bytes()))
        equal(logits(folder / 'single.gguf', folder), logits(folder / 'q4.gguf', folder))


@test
def an_expert_that_is_missing_or_unlike_the_others_is_named():
    with Folder() as folder:
        old, _ = check_older('mixtral', with_single_experts, folder)
        data = old.read_bytes()
        have = tensors(data)
        last = 'blk.1.ffn_up.3.weight'
        dims, kind, raw = have[last]
        for change, words in (({}, ['tensor blk.1.ffn_up.3.weight: missing, where there are 4 experts']),
                              ({last: ([dims[0], dims[1] - 1], kind, raw)}, [last, 'has another shape or type than blk.1.ffn_up.0.weight']),
                              ({last: (dims, 1, raw[:len(raw) // 2])}, [last, 'has another shape or type']),
                              ({last: (dims, kind, raw), 'blk.1.ffn_up.4.weight': (dims, kind, raw)}, ['blk.1.ffn_up.4.weight', 'does not use it'])):
            bad = folder / 'bad.gguf'
            bad.write_bytes(with_tensors(data, {k: v for k, v in have.items() if k != last} | change))
            result = runnel('run', '-m', bad, '-n', '1', 'a').fails(1)
            check(all(word in result.err for word in words), result.err)


# ---- latent attention -----------------------------------------------------------------------------------------------

def config_of(name):
    return json.loads((golden(name) / 'config.json').read_text())


def unsplit(name):
    """Keys and values of the latent vector in one matrix, and the keys of the time."""
    c = config_of(name)
    n_nope, n_rot, n_v, n_head = (c[k] for k in ('qk_nope_head_dim', 'qk_rope_head_dim', 'v_head_dim', 'num_attention_heads'))

    def make(data):
        made = {}
        for at, (dims, kind, raw) in tensors(data).items():
            if not at.endswith(('attn_k_b.weight', 'attn_v_b.weight')):
                made[at] = dims, kind, raw
            elif at.endswith('attn_k_b.weight'):     # [nope, latent, heads]
                rank, v = dims[1], tensors(data)[at.replace('attn_k_b', 'attn_v_b')][2]
                n_k, of_v = n_nope * rank * 4, n_v * rank * 4
                joined = b''.join(turned(raw[h * n_k:(h + 1) * n_k], n_nope) + v[h * of_v:(h + 1) * of_v] for h in range(n_head))
                made[at.replace('attn_k_b', 'attn_kv_b')] = [rank, n_head * (n_nope + n_v)], F32, joined
        return with_numbers(with_tensors(data, made), deepseek2__attention__key_length=n_nope + n_rot,
                            deepseek2__attention__value_length=n_v, deepseek2__attention__head_count_kv=n_head,
                            deepseek2__attention__key_length_mla=None, deepseek2__attention__value_length_mla=None)
    return make


@test
def latent_attention_whose_keys_and_values_are_one_matrix_gives_the_bits_of_split_ones():
    with Folder() as folder:
        for name in ('deepseek-v2', 'deepseek-v3'):
            old, today = check_older(name, unsplit(name), folder)
            bad, have = folder / 'bad.gguf', tensors(old.read_bytes())
            dims, kind, raw = have['blk.0.attn_kv_b.weight']
            bad.write_bytes(with_tensors(old.read_bytes(), have | {'blk.0.attn_kv_b.weight': ([dims[0], dims[1] - 1], kind, raw)}))
            runnel('info', '-m', bad).fails(1, 'tensor blk.0.attn_kv_b.weight')
            bad.write_bytes(with_numbers(old.read_bytes(), deepseek2__attention__value_length=None))
            runnel('info', '-m', bad).fails(1, 'key deepseek2.attention.value_length_mla: missing')


# ---- Qwen3-Next -----------------------------------------------------------------------------------------------------

def joined_qkvz(data):
    """Queries, keys, values and gates in one matrix, key head by key head."""
    c, made = config_of('qwen3-next'), {}
    heads, k, n_v = c['linear_num_key_heads'], c['linear_key_head_dim'], c['linear_value_head_dim']
    v = c['linear_num_value_heads'] // heads * n_v
    have = tensors(data)
    for at, (dims, kind, raw) in have.items():
        if at.endswith('attn_gate.weight') or (at.endswith('attn_qkv.weight') and at.replace('attn_qkv', 'attn_gate') in have):
            if at.endswith('attn_gate.weight'):
                continue
            qkv, z = rows(raw, dims[0]), rows(have[at.replace('attn_qkv', 'attn_gate')][2], dims[0])
            values = qkv[2 * heads * k:]
            order = [row for h in range(heads) for row in (qkv[h * k:(h + 1) * k] + qkv[(heads + h) * k:(heads + h + 1) * k] +
                                                           values[h * v:(h + 1) * v] + z[h * v:(h + 1) * v])]
            made[at.replace('attn_qkv', 'ssm_in')] = [dims[0], len(order)], kind, b''.join(order)
        else:
            made[at] = dims, kind, raw
    return with_tensors(data, made)


@test
def qwen3_next_with_its_first_tensors_gives_the_bits_of_todays():
    with Folder() as folder:
        check_older('qwen3-next', joined_qkvz, folder)


# ---- layers that predict further tokens -------------------------------------------------------------------------------

@test
def layers_that_predict_further_tokens_are_left_alone_and_quantized_with_the_rest():
    def with_one_more(data):
        have, n = tensors(data), config_of('glm4-moe')['num_hidden_layers']
        more = {name.replace(f'blk.{n - 1}.', f'blk.{n}.'): t for name, t in have.items() if name.startswith(f'blk.{n - 1}.')}
        more[f'blk.{n}.nextn.eh_proj.weight'] = [8, 4], F32, bytes(128)
        return with_numbers(with_tensors(data, have | more), glm4moe__block_count=n + 1, glm4moe__nextn_predict_layers=1)
    with Folder() as folder:
        today, more, again = folder / 'today.gguf', folder / 'more.gguf', folder / 'again.gguf'
        runnel('convert', golden('glm4-moe'), today, '--type', 'F32').ok()
        more.write_bytes(with_one_more(today.read_bytes()))
        equal(logits(more, folder), logits(today, folder))
        runnel('quantize', more, again, 'F16').ok()
        equal(set(tensors(again.read_bytes())), set(tensors(more.read_bytes())))
        runnel('quantize', today, folder / 'f16.gguf', 'F16').ok()
        equal(logits(again, folder), logits(folder / 'f16.gguf', folder))
        more.write_bytes(with_numbers(more.read_bytes(), glm4moe__nextn_predict_layers=0, glm4moe__block_count=config_of('glm4-moe')['num_hidden_layers']))
        runnel('run', '-m', more, '-n', '1', 'a').fails(1, 'does not use it')


main()
