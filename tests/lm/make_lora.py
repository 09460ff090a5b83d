#!/usr/bin/env python3
"""Makes tests/lm/lora: adapters of the tiny models of ../shared/goldens, and the logits that transformers and PEFT give with them.

    make_lora.py SHARED [CASE...]    wants torch, transformers and peft

Each folder is what PEFT's save_pretrained() wrote, with logits.npy: float32 logits [token][vocabulary] of the ids in case.json. Matrices
are random and large enough to move the logits by about their own size. Experts are merged here, as transformers stores them in one
parameter, while published adapters have a pair for each expert.
"""
import json
import math
import shutil
import sys
from pathlib import Path

import numpy as np
import torch
from peft import LoraConfig, get_peft_model
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM

HERE = Path(__file__).parent / 'lora'
IDS = [84, 257, 32, 113, 117, 105, 99, 107, 32, 98, 114, 111, 119, 110, 32, 102]
ATTENTION, GATED = ['q_proj', 'k_proj', 'v_proj', 'o_proj'], ['gate_proj', 'up_proj', 'down_proj']
CASES = {
    # name: (model, options of LoraConfig)
    'llama': ('llama', dict(r=4, lora_alpha=6, target_modules=ATTENTION + GATED)),
    'llama-patterns': ('llama', dict(r=2, lora_alpha=3, use_rslora=True, target_modules=ATTENTION + ['down_proj'],
                                     rank_pattern={'layers.1.self_attn.v_proj': 3, '.*k_proj': 1},
                                     alpha_pattern={'q_proj': 5})),
    'llama-head': ('llama', dict(r=2, lora_alpha=4, target_modules=['embed_tokens', 'lm_head', 'v_proj'])),
    'gemma2': ('gemma2', dict(r=2, lora_alpha=2, target_modules=['embed_tokens', 'q_proj', 'down_proj'])),
    'qwen3': ('qwen3', dict(r=3, lora_alpha=3, target_modules=ATTENTION + GATED)),
    'gpt2': ('gpt2', dict(r=2, lora_alpha=2, target_modules=['c_attn', 'c_proj', 'c_fc'], fan_in_fan_out=True)),
    'phi3': ('phi3', dict(r=2, lora_alpha=2, target_modules=['qkv_proj', 'o_proj', 'gate_up_proj', 'down_proj'])),
    'gpt-neox': ('gpt-neox', dict(r=2, lora_alpha=2, target_modules=['query_key_value', 'dense', 'dense_h_to_4h'])),
    'deepseek-v3': ('deepseek-v3', dict(r=2, lora_alpha=2, target_modules=['q_a_proj', 'q_b_proj', 'kv_a_proj_with_mqa',
                                                                         'kv_b_proj', 'o_proj'])),
    'qwen3-next': ('qwen3-next', dict(r=2, lora_alpha=2, target_modules=['in_proj_qkvz', 'out_proj', 'q_proj', 'o_proj'])),
    'qwen3.5': ('qwen3.5', dict(r=2, lora_alpha=2, target_modules=['in_proj_qkv', 'in_proj_z', 'out_proj', 'q_proj'])),
    'mamba2': ('mamba2', dict(r=2, lora_alpha=2, target_modules=['in_proj'])),
}
# name: (model, prefix of a layer's experts, modules of an expert, those that are rows of the fused first parameter)
EXPERTS = {
    'mixtral': ('mixtral', 'model.layers.{}.block_sparse_moe.experts.{}.', ('w1', 'w3', 'w2')),
    'qwen3-moe': ('qwen3-moe', 'model.layers.{}.mlp.experts.{}.', ('gate_proj', 'up_proj', 'down_proj')),
}


def load(shared, model):
    return AutoModelForCausalLM.from_pretrained(shared / 'goldens' / model, dtype=torch.float32, attn_implementation='eager').eval()


def logits_of(model):
    with torch.no_grad():
        return model(torch.tensor([IDS])).logits[0].numpy().astype(np.float32)


def finish(name, model, logits, before):
    folder = HERE / name
    np.save(folder / 'logits.npy', logits)
    moved = float(np.abs(logits - before).mean())
    (folder / 'case.json').write_text(json.dumps({'model': f'goldens/{model}', 'ids': IDS, 'logits_moved_by': round(moved, 3)}) + '\n')
    readme = folder / 'README.md'
    readme.unlink(missing_ok=True)
    print(name, 'moved by', moved)


def make(shared, name, model, options):
    torch.manual_seed(sum(name.encode()))
    base = load(shared, model)
    before = logits_of(base)
    tuned = get_peft_model(base, LoraConfig(task_type='CAUSAL_LM', init_lora_weights=False, **options)).eval()
    for key, value in tuned.named_parameters():
        if 'lora_' in key:
            with torch.no_grad():
                value.normal_(0, 0.25 if 'lora_B' in key or 'embedding_B' in key else 0.2)
                value.copy_(value.to(torch.bfloat16).float())
    logits = logits_of(tuned)
    shutil.rmtree(HERE / name, ignore_errors=True)
    tuned.save_pretrained(HERE / name, save_embedding_layers=False)
    clean_config(HERE / name, f'goldens/{model}')
    as_bf16(HERE / name)
    finish(name, model, logits, before)


def clean_config(folder, base):
    """The path of the base model is of this machine."""
    path = folder / 'adapter_config.json'
    config = json.loads(path.read_text())
    config['base_model_name_or_path'] = base
    config['target_modules'] = sorted(config['target_modules'])
    path.write_text(json.dumps(config, indent=1, sort_keys=True) + '\n')


def as_bf16(folder):
    path = folder / 'adapter_model.safetensors'
    save_file({k: v.to(torch.bfloat16).contiguous() for k, v in load_file(path).items()}, path)


def make_experts(shared, name, model, prefix, modules):
    torch.manual_seed(sum(name.encode()))
    base = load(shared, model)
    before = logits_of(base)
    rank, alpha, tensors = 2, 3, {}
    n_layers = base.config.num_hidden_layers
    for layer in range(n_layers):
        block = base.model.layers[layer]
        holder = getattr(block, 'block_sparse_moe', None) or block.mlp
        gate_up, down = holder.experts.gate_up_proj, holder.experts.down_proj
        n_experts = gate_up.shape[0]
        for expert in range(0, n_experts, 2):     # only every second expert has an adapter
            half = gate_up.shape[1] // 2
            slices = (gate_up.data[expert][:half], gate_up.data[expert][half:], down.data[expert])
            for module, weight in zip(modules, slices):
                a = (torch.randn(rank, weight.shape[1]) * 0.2).to(torch.bfloat16)
                b = (torch.randn(weight.shape[0], rank) * 0.25).to(torch.bfloat16)
                weight += alpha / rank * b.float() @ a.float()
                at = 'base_model.model.' + prefix.format(layer, expert) + module
                tensors[at + '.lora_A.weight'], tensors[at + '.lora_B.weight'] = a, b
    folder = HERE / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    save_file(tensors, folder / 'adapter_model.safetensors')
    (folder / 'adapter_config.json').write_text(json.dumps({'peft_type': 'LORA', 'r': rank, 'lora_alpha': alpha, 'bias': 'none',
                                                            'target_modules': list(modules)}, indent=1) + '\n')
    finish(name, model, logits_of(base), before)


def main():
    shared, only = Path(sys.argv[1]), sys.argv[2:]
    HERE.mkdir(exist_ok=True)
    for name, (model, options) in CASES.items():
        if not only or name in only:
            try:
                make(shared, name, model, options)
            except Exception as e:
                print(name, 'FAILED', repr(e)[:300])
    for name, case in EXPERTS.items():
        if not only or name in only:
            make_experts(shared, name, *case)


if __name__ == '__main__':
    main()
