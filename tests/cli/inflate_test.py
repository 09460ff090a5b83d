#!/usr/bin/env python3
"""tests/cli/inflate_test.py - bench/inflate.py makes models larger and leaves what they compute."""
import pathlib
import struct
import subprocess
import sys

from harness import Folder, check, equal, main, runnel, test
from hf_folder import counted, read_tensors, write_folder, write_tensors

INFLATE = pathlib.Path(__file__).parents[2] / 'bench/inflate.py'
IDS = '1,5,9,2,14,3,3,7,11,0,6'


def inflate(*args):
    return subprocess.run([sys.executable, INFLATE, *map(str, args)], capture_output=True, text=True, check=False)


def scores(folder):
    text, = runnel('score', '-m', folder, '--ids', IDS, '--json').ok().lines
    return text['nll']


@test
def a_width_of_a_power_of_4_times_the_old_one_leaves_every_bit():
    with Folder() as folder:
        small = write_folder(folder / 'small')
        equal(inflate(small, folder / 'large', '--embd', 128, '--heads', 6, '--heads-kv', 2, '--ff', 96, '--layers', 3).stderr, '')
        equal(scores(folder / 'large'), scores(small))
        info, = runnel('info', folder / 'large', '--json').ok().lines
        equal([info[k] for k in ('n_layer', 'n_embd', 'n_head', 'n_head_kv', 'head_dim', 'n_ff')], [3, 128, 6, 2, 16, 96])


@test
def other_widths_change_nothing_but_the_last_bits():
    with Folder() as folder:
        small = write_folder(folder / 'small')
        for embd in (64, 96, 224):
            equal(inflate(small, folder / f'{embd}', '--embd', embd).stderr, '')
            for a, b in zip(scores(folder / f'{embd}'), scores(small)):
                check(abs(a - b) <= 1e-4 * abs(b), embd, a, b)


@test
def added_layers_and_rows_are_no_zeros():
    with Folder() as folder:
        small = write_folder(folder / 'small')
        equal(inflate(small, folder / 'large', '--ff', 70, '--heads', 4, '--layers', 2).stderr, '')
        made = read_tensors(folder / 'large/model.safetensors')
        for name in ('model.layers.1.self_attn.q_proj', 'model.layers.1.mlp.up_proj', 'model.layers.0.mlp.gate_proj'):
            dtype, shape, data = made[name + '.weight']
            values = struct.unpack(f'<{shape[0] * shape[1]}f', data)
            rows = [values[i * shape[1]:(i + 1) * shape[1]] for i in range(shape[0])]
            check(all(any(row) for row in rows), name)
        for name in ('self_attn.o_proj', 'mlp.down_proj'):
            check(not any(made[f'model.layers.1.{name}.weight'][2]), name)


def write_heads(path, config, tensors):
    path.mkdir()
    (path / 'config.json').write_text(config)
    write_tensors(path / 'heads.safetensors', {name: ('F32', shape, counted(shape[0] * (shape[1] if len(shape) > 1 else 1)))
                                               for name, shape in tensors.items()})
    return path


def rows(tensor):
    _, shape, data = tensor
    return [struct.unpack_from(f'<{shape[1]}f', data, 4 * r * shape[1]) for r in range(shape[0])]


@test
def heads_of_medusa_and_eagle_read_the_wider_state():
    with Folder() as folder:
        zeros = (0.0,) * 4
        old = write_heads(folder / 'medusa', '{"medusa_num_heads": 1, "hidden_size": 4, "vocab_size": 3}',
                          {'0.0.linear.weight': [4, 4], '0.0.linear.bias': [4], '0.1.weight': [3, 4]})
        equal(inflate(old, folder / 'medusa8', '--embd', 8).stderr, '')
        was, now = read_tensors(old / 'heads.safetensors'), read_tensors(folder / 'medusa8/heads.safetensors')
        equal(rows(now['0.0.linear.weight']), [r + zeros for r in rows(was['0.0.linear.weight'])] + [zeros * 2] * 4)
        equal(rows(now['0.1.weight']), [r + zeros for r in rows(was['0.1.weight'])])
        equal(now['0.0.linear.bias'], ('F32', [8], was['0.0.linear.bias'][2] + bytes(16)))
        old = write_heads(folder / 'eagle', '{"hidden_size": 4, "vocab_size": 3, "num_attention_heads": 1, "intermediate_size": 4, "rms_norm_eps": 1}',
                          {'fc.weight': [4, 8], 'fc.bias': [4]})
        equal(inflate(old, folder / 'eagle8', '--embd', 8).stderr, '')
        was, now = read_tensors(old / 'heads.safetensors'), read_tensors(folder / 'eagle8/heads.safetensors')
        equal(rows(now['fc.weight']), [r[:4] + zeros + r[4:] + zeros for r in rows(was['fc.weight'])] + [zeros * 4] * 4)


@test
def what_does_not_fit_is_refused_by_name():
    with Folder() as folder:
        small = write_folder(folder / 'small')
        for args, words in ((('--embd', 16), '--embd 16: the model has 32'), (('--heads', 1), '--heads 1 --heads-kv 1'),
                            (('--ff', 8), '--ff 8: the model has 64'), (('--heads', 5, '--heads-kv', 2), '--heads 5 --heads-kv 2')):
            done = inflate(small, folder / 'large', *args)
            check(done.returncode and words in done.stderr, args, done.stderr)
            check(not (folder / 'large').exists(), args)


main()
