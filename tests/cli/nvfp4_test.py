#!/usr/bin/env python3
"""tests/cli/nvfp4_test.py - NVFP4 files as llama.cpp's converter makes them: factors beside matrices, what is refused, and what quantize does."""
import array
import json
import os
import pathlib
import struct

from formula_folder import write_formula_folder
from gguf import F32, tensors, with_tensors
from harness import MODEL, ROOT, Folder, Skip, check, equal, main, runnel, test
from lora_file import write
from nvfp4_file import in_nvfp4
from published import logits

IDS = [1, 84, 104, 101, 32, 7, 97, 120]


def f32_of(source, folder):
    if source.is_dir():
        runnel('convert', source, folder / 'f32.gguf', '--type', 'F32').ok()
    else:
        runnel('quantize', source, folder / 'f32.gguf', 'F32').ok()
    return (folder / 'f32.gguf').read_bytes()


def divided(raw, by):
    return array.array('f', [v / by for v in array.array('f', raw)]).tobytes()


def with_factors(data):
    """Every matrix of a layer 1/2 to 1/16 of itself, with a factor that makes up for it: of each expert its own, or one for all."""
    made = {}
    for i, (name, (dims, kind, raw)) in enumerate(tensors(data).items()):
        made[name] = dims, kind, raw
        if not name.startswith('blk.') or not name.endswith('.weight') or len(dims) < 2 or kind != F32:
            continue
        n = dims[2] if len(dims) > 2 and i % 2 else 1
        factors = [2.0 ** (1 + (i + e) % 4) for e in range(n)]
        size = 4 * dims[0] * dims[1] * (dims[2] if len(dims) > 2 else 1) // n
        made[name] = dims, kind, b''.join(divided(raw[size * e:size * (e + 1)], f) for e, f in enumerate(factors))
        made[name.removesuffix('.weight') + '.scale'] = [n], F32, struct.pack(f'<{n}f', *factors)
        made[name.removesuffix('.weight') + '.input_scale'] = [n], F32, struct.pack(f'<{n}f', *[0.5] * n)
    return with_tensors(data, made)


def of_experts():
    path = pathlib.Path(os.environ.get('RUNNEL_SHARED') or ROOT.parent / 'shared', 'goldens/mixtral')
    if not path.exists():
        raise Skip('no shared material: set RUNNEL_SHARED')
    return path


def of_one_matrix_of_keys_and_values(folder):
    row = json.loads((ROOT / 'tests/cli/published.json').read_text())['models']['minicpm3']
    return write_formula_folder(folder / 'minicpm3', row['config'], row['shapes'])


@test
def factors_that_are_powers_of_two_give_the_bits_of_matrices_times_them():
    with Folder() as folder:
        for source, ids in (MODEL, IDS), (of_experts(), IDS), (of_one_matrix_of_keys_and_values(folder), [1, 7, 32, 45, 0, 11]):
            data = f32_of(source, folder)
            (folder / 'factors.gguf').write_bytes(with_factors(data))
            equal(logits(folder / 'factors.gguf', ids, folder), logits(folder / 'f32.gguf', ids, folder), source)


@test
def a_file_in_nvfp4_becomes_f32_with_its_factors_beside_it():
    with Folder() as folder:
        model, plain = folder / 'nvfp4.gguf', folder / 'plain.gguf'
        model.write_bytes(in_nvfp4(f32_of(MODEL, folder)))
        info, = runnel('info', '-m', model, '--json').ok().lines
        check(any(t['type'] == 'NVFP4' and t['n_tensors'] for t in info['types']), info['types'])
        runnel('quantize', model, plain, 'F32').ok()
        made = tensors(plain.read_bytes())
        equal(made.keys(), tensors(model.read_bytes()).keys())
        equal({kind for _, kind, _ in made.values()}, {F32})
        got, want = (array.array('f', logits(m, IDS, folder)[128:]) for m in (model, plain))
        check(max(abs(a - b) for a, b in zip(got, want)) < 0.2, 'activations in BF16 move logits that far')
        near = array.array('f', logits(folder / 'f32.gguf', IDS, folder)[128:])
        check(sum((a - b) ** 2 for a, b in zip(near, want)) < 0.05 * sum(a * a for a in near), 'the weights are others')


@test
def what_does_not_fit_or_cannot_be_written_is_refused():
    with Folder() as folder:
        data = f32_of(MODEL, folder)
        model, bad = folder / 'nvfp4.gguf', folder / 'bad.gguf'
        model.write_bytes(in_nvfp4(data))
        have = tensors(model.read_bytes())
        for change, words in (({'blk.0.ffn_up.scale': ([3], F32, bytes(12))}, ['tensor blk.0.ffn_up.scale has 3 numbers, where blk.0.ffn_up.weight needs 1 or 1']),
                              ({'token_embd.scale': ([1], F32, bytes(4))}, ['tensor token_embd.scale', 'does not use it'])):
            bad.write_bytes(with_tensors(data, have | change))
            result = runnel('run', '-m', bad, '-n', '1', 'a').fails(1)
            check(all(word in result.err for word in words), result.err)
        out = folder / 'out.gguf'
        runnel('quantize', folder / 'f32.gguf', out, 'NVFP4').fails(2, 'type: NVFP4 is read, but not written; F32, F16')
        result = runnel('quantize', folder / 'f32.gguf', out, 'Q8_0', '--keep', 'blk.0.ffn_up.weight=NVFP4').fails(1)
        check('tensor blk.0.ffn_up.weight: NVFP4 is read, but not written' in result.err, result.err)
        adapter = write(folder / 'adapter.gguf', folder / 'f32.gguf', only='ffn_up')
        result = runnel('merge', model, out, '--lora', adapter, '--type', 'F32').fails(1)
        check('tensor blk.0.ffn_up.weight: has the factor blk.0.ffn_up.scale, and cannot be merged' in result.err, result.err)


main()
