#!/usr/bin/env python3
"""tests/convert/make_mix_types.py QUANTIZE - writes mix_types.txt: which type llama.cpp gives to which matrix in each mix.

QUANTIZE: a command that takes IN OUT TYPE [--imatrix FILE]. Made with llama.cpp's library 0.5.0 (npm @node-llama-cpp/linux-x64 3.22.1) and gguf 0.19.0;
the models are as small as their shapes allow, all their weights 0. tests/convert/mixes_test.c builds the same models.
"""
import enum
import pathlib
import shlex
import subprocess
import sys
import tempfile

import gguf
import numpy

# name: layers, heads, heads for keys, row length, own head, experts
CASES = {
    'few': (6, 4, 2, 256, False, 0),
    'shared': (32, 8, 2, 256, True, 0),
    'alone': (25, 8, 8, 512, False, 0),
    'narrow': (30, 6, 2, 288, False, 0),
    'big': (80, 16, 2, 256, True, 0),
    'experts': (9, 8, 2, 256, True, 8),
}
MIXES = 'Q8_0 Q6_K Q5_K_M Q5_K_S Q5_1 Q5_0 Q4_K_M Q4_K_S IQ4_NL Q4_1 Q4_0 IQ4_XS Q3_K_L Q3_K_M Q3_K_S Q2_K MXFP4_MOE TQ1_0 TQ2_0 Q1_0 Q2_0 IQ3_M IQ3_S'.split()
GUIDED = 'Q2_K_S IQ3_XS IQ3_XXS IQ2_M IQ2_S IQ2_XS IQ2_XXS IQ1_M IQ1_S'.split()    # which llama.cpp does not make without an importance matrix
UNNARROW = 'Q1_0 Q2_0'.split()    # which llama.cpp gives up where rows do not fit
KINDS = 'attn_q attn_k attn_v attn_output ffn_up ffn_gate ffn_down'.split()
LETTERS = {'Q4_0': 'a', 'Q4_1': 'b', 'Q5_0': 'c', 'Q5_1': 'd', 'Q8_0': 'e', 'Q4_K': 'f', 'Q5_K': 'g', 'Q6_K': 'h', 'IQ4_NL': 'i',
           'F16': 'j', 'IQ4_XS': 'k', 'Q2_K': 'l', 'Q3_K': 'm', 'MXFP4': 'n', 'TQ1_0': 'o', 'TQ2_0': 'p',
           'IQ3_S': 'q', 'IQ3_XXS': 'r', 'IQ2_S': 's', 'IQ2_XS': 't', 'IQ2_XXS': 'u', 'IQ1_M': 'v', 'IQ1_S': 'w', 'Q1_0': 'x', 'Q2_0': 'y'}
N_ROWS = 8


def write_model(path, n_layer, n_head, n_kv, row, own_head, n_expert):
    w = gguf.GGUFWriter(path, 'llama')
    w.add_block_count(n_layer)
    w.add_context_length(64)
    w.add_embedding_length(row)
    w.add_feed_forward_length(row)
    w.add_head_count(n_head)
    w.add_head_count_kv(n_kv)
    w.add_layer_norm_rms_eps(1e-5)
    if n_expert:
        w.add_expert_count(n_expert)
        w.add_expert_used_count(2)

    def put(name, *shape):
        w.add_tensor(name, numpy.zeros(shape, numpy.float32))
    put('token_embd.weight', N_ROWS, row)
    for i in range(n_layer):
        put(f'blk.{i}.attn_q.weight', n_head, row)
        put(f'blk.{i}.attn_k.weight', n_kv, row)
        put(f'blk.{i}.attn_v.weight', n_kv, row)
        put(f'blk.{i}.attn_output.weight', N_ROWS, row)
        for kind in ('ffn_up', 'ffn_gate', 'ffn_down'):
            if n_expert:
                put(f'blk.{i}.{kind}_exps.weight', n_expert, N_ROWS, row)
            else:
                put(f'blk.{i}.{kind}.weight', N_ROWS, row)
    if own_head:
        put('output.weight', N_ROWS, row)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def write_importance(path, source):
    """Of every matrix of the model: all columns alike."""
    w = gguf.GGUFWriter(path, '')
    w.add_type('imatrix')
    for t in gguf.GGUFReader(source).tensors:
        n_mats = int(t.shape[2]) if len(t.shape) > 2 else 1
        w.add_tensor(t.name + '.in_sum2', numpy.ones((n_mats, int(t.shape[0])), numpy.float32))
        w.add_tensor(t.name + '.counts', numpy.ones((n_mats, 1), numpy.float32))
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def know_q2_0():
    """gguf 0.19.0 has no Q2_0: type 42, 64 numbers in 18 bytes."""
    if not hasattr(gguf.GGMLQuantizationType, 'Q2_0'):
        known = {t.name: t.value for t in gguf.GGMLQuantizationType}
        gguf.gguf_reader.GGMLQuantizationType = enum.IntEnum('GGMLQuantizationType', {**known, 'Q2_0': 42})
        gguf.constants.GGML_QUANT_SIZES[42] = (64, 18)


def types_of(path):
    return {t.name: LETTERS[t.tensor_type.name] for t in gguf.GGUFReader(path).tensors}


def lines_of(command, folder):
    for case, shape in CASES.items():
        source = folder / f'{case}.gguf'
        write_model(source, *shape)
        importance = folder / 'importance.gguf'
        write_importance(importance, source)
        for mix in MIXES + GUIDED:
            if case == 'narrow' and mix in UNNARROW:
                continue
            out = folder / 'out.gguf'
            guide = ['--imatrix', str(importance)] if mix in GUIDED else []
            subprocess.run([*command, str(source), str(out), mix, *guide], check=True, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL)
            types = types_of(out)
            for kind in KINDS:
                name = f'{kind}_exps' if kind.startswith('ffn') and shape[5] else kind
                yield f'{case} {mix} {kind} ' + ''.join(types[f'blk.{i}.{name}.weight'] for i in range(shape[0]))
            yield f'{case} {mix} token_embd {types["token_embd.weight"]}'
            if shape[4]:
                yield f'{case} {mix} output {types["output.weight"]}'


def main():
    command = shlex.split(sys.argv[1])
    know_q2_0()
    with tempfile.TemporaryDirectory() as folder:
        lines = list(lines_of(command, pathlib.Path(folder)))
    # Layers all of one type are written as one letter.
    short = [' '.join([*line.split()[:3], t[0] if len(set(t := line.split()[3])) == 1 else t]) for line in lines]
    (pathlib.Path(__file__).parent / 'mix_types.txt').write_text('\n'.join(short) + '\n')


if __name__ == "__main__":
    main()
