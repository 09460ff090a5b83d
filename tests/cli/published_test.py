#!/usr/bin/env python3
"""tests/cli/published_test.py - folders as they are published: experts in MXFP4, numbers that only Python
writes, caches of downloads, embedding models, models that see."""
import array
import json
import math
import os
import pathlib
import random
import struct

from harness import ROOT, Folder, Skip, check, equal, main, runnel, test
from hf_folder import read_tensors, write_tensors

IDS = [84, 104, 101, 32, 257, 97, 120, 33, 10, 65, 200, 7]


def golden(name):
    path = pathlib.Path(os.environ.get('RUNNEL_SHARED') or ROOT.parent / 'shared', 'goldens', name)
    if not path.exists():
        raise Skip('no shared material: set RUNNEL_SHARED')
    return path


def logits(model, folder, ids=IDS):
    out = folder / 'logits.npy'
    runnel('score', '-m', model, '--ids', ','.join(map(str, ids)), '--kv-type', 'f32', '--logits', out).ok()
    return out.read_bytes()


def floats(npy):
    return array.array('f', npy[10 + int.from_bytes(npy[8:10], 'little'):])


def farthest(a, b):
    return max(abs(x - y) for x, y in zip(floats(a), floats(b), strict=True))


# ---- MXFP4 ----------------------------------------------------------------------------------------------------------

HALVES = [0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12]     # twice the numbers of E2M1


def in_mxfp4(n_mats, n_rows, k, rng):
    """(blocks, scales, the numbers as F32 matrices of k rows)"""
    blocks, scales, numbers = bytearray(), bytearray(), array.array('f', bytes(4 * n_mats * n_rows * k))
    for m in range(n_mats):
        for r in range(n_rows):
            for i in range(0, k, 32):
                codes = [rng.randrange(16) for _ in range(32)]
                scales.append(rng.randrange(121, 124))
                blocks += bytes(codes[j] | codes[j + 1] << 4 for j in range(0, 32, 2))
                for j, code in enumerate(codes):
                    numbers[(m * k + i + j) * n_rows + r] = HALVES[code] * 2.0 ** (scales[-1] - 128)
    return bytes(blocks), bytes(scales), numbers.tobytes()


@test
def gpt_oss_in_mxfp4_gives_the_logits_of_its_experts_in_floats():
    source = golden('gpt-oss')
    config, tensors = json.loads((source / 'config.json').read_text()), read_tensors(source / 'model.safetensors')
    n_expert, rng, exact, blocks = config['num_local_experts'], random.Random(14), {}, {}
    for name, (dtype, shape, raw) in tensors.items():
        if not name.endswith(('experts.gate_up_proj', 'experts.down_proj')):
            exact[name] = blocks[name] = dtype, shape, raw
            continue
        k, n_rows = shape[1:]
        of_blocks, of_scales, numbers = in_mxfp4(n_expert, n_rows, k, rng)
        blocks[name + '_blocks'] = 'U8', [n_expert, n_rows, k // 32, 16], of_blocks
        blocks[name + '_scales'] = 'U8', [n_expert, n_rows, k // 32], of_scales
        exact[name] = 'F32', shape, numbers
    with Folder() as folder:
        for kind, of in (('exact', exact), ('blocks', blocks)):
            (folder / kind).mkdir()
            write_tensors(folder / kind / 'model.safetensors', of)
            (folder / kind / 'config.json').write_text(json.dumps(config))
        config['quantization_config'] = {'modules_to_not_convert': ['model.layers.*.self_attn'], 'quant_method': 'mxfp4'}
        (folder / 'blocks/config.json').write_text(json.dumps(config))
        want, got = logits(folder / 'exact', folder), logits(folder / 'blocks', folder)
        # Products with blocks round activations to 8 bits. Measured: 0.136, of logits whose deviation is 4.
        check(farthest(want, got) < 0.2, farthest(want, got))
        runnel('convert', folder / 'blocks', folder / 'blocks.gguf').ok()
        equal(logits(folder / 'blocks.gguf', folder), got)
        info, = runnel('info', '-m', folder / 'blocks.gguf', '--json').ok().lines
        equal({t['type']: t['n_tensors'] for t in info['types']}['MXFP4'], 6)
        runnel('convert', folder / 'blocks', folder / 'again.gguf', '--type', 'F32').ok()
        equal(logits(folder / 'again.gguf', folder), want)


# ---- config.json ----------------------------------------------------------------------------------------------------

def with_config(source, folder, **changes):
    """The folder with other members of config.json; None: without one."""
    config = json.loads((source / 'config.json').read_text()) | changes
    folder.mkdir()
    (folder / 'config.json').write_text(json.dumps({k: v for k, v in config.items() if v is not None}))
    for path in source.glob('*.safetensors'):
        (folder / path.name).write_bytes(path.read_bytes())
    return folder


@test
def infinity_in_config_json_is_taken_where_it_limits_nothing():
    source = golden('mamba2')
    with Folder() as folder:
        published = with_config(source, folder / 'a', time_step_limit=[0.0, math.inf])
        check('[0.0, Infinity]' in (published / 'config.json').read_text())
        equal(logits(published, folder), logits(source, folder))
        bounded = with_config(source, folder / 'b', time_step_limit=[0.0, 0.1])
        check(logits(bounded, folder) != logits(source, folder))
        runnel('info', '-m', with_config(source, folder / 'c', num_heads=math.nan)).fails(
            1, 'member num_heads: is NaN, must be an integer')


# ---- text beside pictures -------------------------------------------------------------------------------------------

@test
def the_text_of_models_that_see_is_that_of_transformers():
    for name in ('llava', 'qwen2-vl', 'smolvlm'):
        source = golden(name)
        case, = (c for c in json.loads((source / 'cases.json').read_text())['cases'] if c['name'] == 'text-only')
        want = (source / case['logits']).read_bytes()
        with Folder() as folder:
            respelled = with_config(source, folder / 'v5')
            (respelled / 'config.json').write_bytes((source / 'config.v5.json').read_bytes())
            runnel('convert', source, folder / 'made.gguf').ok()
            for model in (source, respelled, folder / 'made.gguf'):
                got = logits(model, folder, ids=case['ids'])
                check(farthest(got, want) <= max(2e-4, 10 * case['f64_max_abs_diff']), name, farthest(got, want))
            greedy = ','.join(map(str, case['greedy']))
            result, = runnel('score', '-m', source, '--ids', ','.join(map(str, case['ids'])) + ',' + greedy, '--kv-type', 'f32', '--json').ok().lines
            equal(result['argmax'][len(case['ids']) - 1:-1], case['greedy'], name)


# ---- caches and embedding models ------------------------------------------------------------------------------------

def in_cache(files, repo):
    """The files {name: bytes} as huggingface_hub keeps them: links to blobs."""
    snapshot = repo / 'snapshots/0123abcd'
    (repo / 'blobs').mkdir(parents=True)
    for i, (name, data) in enumerate(files.items()):
        (repo / f'blobs/{i:040x}').write_bytes(data)
        (snapshot / name).parent.mkdir(parents=True, exist_ok=True)
        (snapshot / name).symlink_to('../' * (2 + name.count('/')) + f'blobs/{i:040x}')
    return snapshot


MODULES = [{'idx': 0, 'name': '0', 'path': '', 'type': 'sentence_transformers.models.Transformer'},
           {'idx': 1, 'name': '1', 'path': '1_Pooling', 'type': 'sentence_transformers.models.Pooling'},
           {'idx': 2, 'name': '2', 'path': '2_Normalize', 'type': 'sentence_transformers.models.Normalize'}]


def embedded(model, *args):
    return runnel('embed', '-m', model, *args, 'Hello there').ok().text


@test
def a_folder_of_a_download_cache_opens_and_its_modules_say_how_to_embed():
    source = golden('qwen3')
    files = {path.name: path.read_bytes() for path in source.iterdir() if path.suffix in ('.json', '.safetensors', '.jinja')}
    with Folder() as folder:
        plain = in_cache(files, folder / 'models--a--plain')
        equal(logits(plain, folder), logits(source, folder))
        for kind, mode in (('mean', 'mean_tokens'), ('last', 'lasttoken'), ('first', 'cls_token')):
            files['1_Pooling/config.json'] = json.dumps({f'pooling_mode_{mode}': True}).encode()
            files['modules.json'] = json.dumps(MODULES).encode()
            divided = in_cache(files, folder / f'models--a--{kind}')
            equal(embedded(divided), embedded(plain, '--pooling', kind))
            files['modules.json'] = json.dumps(MODULES[:2]).encode()
            as_it_is = in_cache(files, folder / f'models--b--{kind}')
            equal(embedded(as_it_is), embedded(plain, '--pooling', kind, '--no-normalize'))
            equal(embedded(as_it_is, '--pooling', 'none'), embedded(plain, '--pooling', 'none'))
            runnel('convert', divided, folder / f'{kind}.gguf').ok()
            equal(embedded(folder / f'{kind}.gguf'), embedded(divided))
        said = runnel('convert', as_it_is, folder / 'said.gguf').ok().err
        check('runnel.normalize' in said, said)
        equal(embedded(folder / 'said.gguf'), embedded(as_it_is))


@test
def a_checkpoint_of_the_trunk_alone_embeds_as_the_whole_does():
    source = golden('mistral')
    config, tensors = json.loads((source / 'config.json').read_text()), read_tensors(source / 'model.safetensors')
    with Folder() as folder:
        trunk = with_config(source, folder / 'trunk', architectures=['MistralModel'])
        write_tensors(trunk / 'model.safetensors', {name.removeprefix('model.'): t for name, t in tensors.items() if name != 'lm_head.weight'})
        for name in ('tokenizer.json', 'tokenizer_config.json'):
            if (source / name).exists():
                (trunk / name).write_bytes((source / name).read_bytes())
        equal(config['tie_word_embeddings'], False)
        equal(embedded(trunk), embedded(source))
        said = runnel('embed', '-m', trunk, 'Hello').ok().err
        check('without a head' in said, said)
        runnel('info', '-m', with_config(source, folder / 'other', architectures=['NoModel'])).fails(1, '"NoModel" is not supported')


main()
