#!/usr/bin/env python3
"""tests/cli/pictures_test.py - pictures: `runnel embed --image`, and random files of every format against Pillow.

Pillow is looked for in this Python, in the one that $RUNNEL_TEST_PYTHON names, and in the environment of `./dev setup --clients`; without it that
comparison is skipped. RUNNEL_TEST_SEED sets the first picture, RUNNEL_TEST_FULL=1 makes it 20,000.
"""
import json
import os
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

from harness import PROGRAM, ROOT, Skip, check, main, runnel, test

FULL = bool(os.environ.get('RUNNEL_TEST_FULL'))
SEED = os.environ.get('RUNNEL_TEST_SEED', '1')
PICTURES = ROOT / 'tests/media/pictures'
TOOL = Path(PROGRAM).parent / 'tests/picture_bytes'


def python_with_pillow(least=1):
    for python in [sys.executable, os.environ.get('RUNNEL_TEST_PYTHON'), ROOT / 'build/clients/python/bin/python']:
        if python and os.access(python, os.X_OK) and subprocess.run([python, '-c', f'import PIL; assert int(PIL.__version__.split(".")[0]) >= {least}'], capture_output=True, check=False).returncode == 0:
            return str(python)
    raise Skip(f'Python package pillow {least} or newer is not installed (./dev setup --clients; RUNNEL_TEST_PYTHON names a Python that has it)')


def decoded(*args, **more):
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / 'out.npy'
        runnel('embed', *args, '--npy', str(out), **more).ok()
        return out.read_bytes()


@test
def random_pictures_of_every_format_have_the_pixels_of_pillow():
    python = python_with_pillow()
    if not TOOL.exists():
        raise Skip(f'{TOOL} is not built')
    with tempfile.TemporaryDirectory() as folder:
        r = subprocess.run([python, '-B', ROOT / 'tests/media/pillow_pictures.py', TOOL, folder, SEED, '20000' if FULL else '400'], capture_output=True, text=True,
                           check=False)
        check(r.returncode == 0, r.stdout[-2000:] + r.stderr[-2000:])


@test
def random_resizes_have_the_bytes_of_pillow():
    python = python_with_pillow(13) # older ones always begin with the horizontal pass
    if not TOOL.exists():
        raise Skip(f'{TOOL} is not built')
    r = subprocess.run([python, '-B', ROOT / 'tests/media/pillow_resize.py', TOOL, SEED, '20000' if FULL else '500'], capture_output=True, text=True, check=False)
    check(r.returncode == 0, r.stdout[-2000:] + r.stderr[-2000:])


@test
def a_converted_model_finds_its_vision_part():
    seeing = ROOT / 'tests/engine/seeing'
    picture, prompt = str(seeing / 'wide.png'), ('-p', 'A <image> b')
    with tempfile.TemporaryDirectory() as folder:
        d, model = Path(folder), str(Path(folder) / 'm.gguf')

        def numbers(name, *args):
            runnel(*args, str(d / name)).ok()
            return (d / name).read_bytes()

        runnel('convert', str(seeing / 'llava-next'), model).ok()
        check((d / 'mmproj-m.gguf').exists(), 'no file of the vision part')
        r = runnel('info', str(d / 'mmproj-m.gguf')).ok()
        check(b'the vision part of a model' in r.out and b'clip.projector_type' in r.out, r.out)
        want = numbers('a.npy', 'score', '-m', str(seeing / 'llava-next'), '--kv-type', 'f32', '--image', picture, *prompt, '--logits')
        check(numbers('b.npy', 'score', '-m', model, '--kv-type', 'f32', '--image', picture, *prompt, '--logits') == want, 'a converted model has other logits')
        for stage in ('pixels', 'features', 'projected'):
            args = ('--image', picture, '--stage', stage, '--npy')
            check(numbers('c.npy', 'embed', '-m', model, *args) == numbers('d.npy', 'embed', '-m', str(seeing / 'llava-next'), *args), stage)
        (d / 'mmproj-2.gguf').write_bytes((d / 'mmproj-m.gguf').read_bytes())
        runnel('run', '-m', model, '--image', picture, *prompt, '-n', '1').fails(2, 'has several files mmproj*.gguf')
        (d / 'mmproj-2.gguf').unlink()
        (d / 'mmproj-m.gguf').rename(d / 'vision.gguf')
        runnel('run', '-m', model, '--image', picture, *prompt, '-n', '1').fails(1, 'has no file mmproj*.gguf beside it')
        check(numbers('b.npy', 'score', '-m', model, '--mmproj', str(d / 'vision.gguf'), '--kv-type', 'f32', '--image', picture, *prompt, '--logits') == want, 'another file')
        runnel('run', '-m', model, '--mmproj', model, '--image', picture, *prompt, '-n', '1').fails(1, "'llama' is no vision part")


@test
def ids_hold_all_tokens_of_a_picture_in_tiles_or_one():
    model = ROOT / 'tests/engine/seeing/smolvlm-split'
    case = json.loads((model / 'golden.json').read_text())[0]
    image = json.loads((model / 'config.json').read_text())['image_token_id']
    ids = case['ids'] # <s>A, a space, the picture with its marks, a space, b
    begin = next(i for i, t in enumerate(ids) if t == image) - 2
    short = [*ids[:begin], image, *ids[-2:]]
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / 'x.npy'

        def logits(*prompt):
            runnel('score', '-m', str(model), '--image', str(ROOT / 'tests/engine/seeing/wide.png'), *prompt, '--logits', str(out)).ok()
            return out.read_bytes()

        want = logits('--ids', ' '.join(map(str, ids)))
        check(len(want) > 4 * 200 * len(ids), len(want))
        check(logits('--ids', ' '.join(map(str, short))) == want, 'one token for the picture')


@test
def embed_writes_what_a_model_makes_of_a_picture():
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / 'preprocessor_config.json').write_text(
            '{"image_processor_type": "SiglipImageProcessor", "size": {"height": 2, "width": 3}, "image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5]}')
        white = Path(folder) / 'white.bmp' # 5 x 1 pixels of 24 bits, OS/2's header
        white.write_bytes(b'BM' + bytes(8) + b'\x1a\0\0\0' + b'\x0c\0\0\0' + b'\5\0' + b'\1\0' + b'\1\0' + b'\x18\0' + b'\xff' * 15 + b'\0')
        file = decoded('-m', folder, '--image', str(white), '--stage', 'pixels')
        check(b"'descr': '<f4', 'fortran_order': False, 'shape': (3, 2, 3), " in file[:192], file[:192])
        check(struct.unpack('<18f', file[192:]) == (1,) * 18, file[192:])
        for model, why in [(ROOT / 'models/stories.gguf', 'has no file mmproj*.gguf beside it'), (PICTURES, 'no preprocessor_config.json')]:
            r = runnel('embed', '-m', str(model), '--image', str(white), '--stage', 'pixels', '--npy', str(Path(folder) / 'x.npy'))
            check(r.code == 1 and why in r.err, r.err)
        r = runnel('embed', '-m', folder, '-t', '1', '--image', str(white), '--stage', 'pixels', '--npy', 'x.npy')
        check(r.code == 2 and '--threads: has no effect with --image' in r.err, r.err)


@test
def embed_writes_features_and_the_vectors_of_the_text_model():
    shared, _ = shared_llava()
    for stage, shape in [('features', b'(17, 48)'), ('projected', b'(16, 64)')]:
        file = decoded('-m', str(shared), '--image', str(shared / 'wide.png'), '--stage', stage, '-t', '1')
        check(b"'descr': '<f4', 'fortran_order': False, 'shape': " + shape in file[:192], file[:192])
        want = (shared / f'wide.{stage}.npy').read_bytes()
        n = {'features': 17 * 48, 'projected': 16 * 64}[stage]
        got, want = struct.unpack(f'<{n}f', file[-4 * n:]), struct.unpack(f'<{n}f', want[-4 * n:])
        check(max(abs(a - b) for a, b in zip(got, want)) < 2e-4, stage)
        check(decoded('-m', str(shared), '--image', str(shared / 'wide.png'), '--stage', stage, '-t', '3', '--cpu', 'ref') == file, stage)
    r = runnel('embed', '-m', str(ROOT / 'models/stories.gguf'), '--image', str(shared / 'wide.png'), '--stage', 'features', '--npy', 'x.npy')
    check(r.code == 1 and 'has no file mmproj*.gguf beside it' in r.err, r.err)


def shared_llava():
    shared = Path(os.environ.get('RUNNEL_SHARED', ROOT.parent / 'shared')) / 'goldens/llava'
    if not shared.is_dir():
        raise Skip('no shared material: set RUNNEL_SHARED')
    return shared, {case['name']: case for case in json.loads((shared / 'cases.json').read_text())['cases']}


def answer(*args, **more):
    lines = [json.loads(line) for line in runnel('run', *args, '--temp', '0', '-n', '32', '--ignore-eos', '--kv-type', 'f32', '--json', **more).ok().out.splitlines()]
    return sum((line['tokens'] for line in lines), []), lines[-1]


@test
def run_answers_about_pictures_in_a_text_or_in_ids():
    shared, cases = shared_llava()
    case = cases['two-images']
    pictures = [arg for name in case['images'] for arg in ('--image', str(shared / f'{name}.png'))]
    text = '<s><|user|><image> and <image>: what differs?<|end|><|assistant|>'
    ids = ','.join(map(str, case['ids']))
    once = ids.replace(','.join(['278'] * 16), '278')
    for args in (['--parse-special', '-p', text], ['--ids', ids], ['--ids', once]):
        tokens, last = answer('-m', str(shared), *args, *pictures)
        check(tokens == case['greedy'], args, tokens)
        check(last['usage']['prompt_tokens'] == 52 and last['usage']['picture_tokens'] == 32 and last['timing']['pictures_ms'] > 0, last)
    # Without a place of its own a picture stands before the text.
    case = cases['image-first']
    tokens, _ = answer('-m', str(shared), '-p', '?', '--image', '-', stdin=(shared / 'alpha.png').read_bytes())
    check(tokens == case['greedy'], tokens)


@test
def score_has_the_logits_of_prompts_with_pictures():
    shared, cases = shared_llava()
    case = cases['one-image']
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / 'out.npy'
        for args in (['-p', '<s><|user|>Describe <image> in a word.<|end|><|assistant|>', '--parse-special'], ['--ids', ','.join(map(str, case['ids']))]):
            r = runnel('score', '-m', str(shared), *args, '--image', str(shared / 'wide.png'), '--kv-type', 'f32', '--logits', str(out), '--json').ok()
            n = 37 * 288
            got, want = (struct.unpack(f'<{n}f', path.read_bytes()[-4 * n:]) for path in (out, shared / case['logits']))
            worst = max(abs(a - b) for a, b in zip(got, want))
            check(worst < 2e-4, worst)
            scores = json.loads(r.out)
            check([i for i, x in enumerate(scores['nll']) if x is None] == list(range(10, 26)) and scores['ppl'] > 1, scores['nll'])


@test
def pictures_that_have_no_place_are_refused():
    shared, _ = shared_llava()
    wide = str(shared / 'wide.png')
    for args, code, why in [(['run', '-p', '<image> <image>', '--image', wide], 2, 'has 2 places for pictures (<image>), and there are 1 of --image'),
                            (['run', '--ids', '272', '--image', wide], 2, '--ids: has 0 places for pictures'),
                            (['run', '-p', 'x', '--image', str(shared / 'cases.json')], 1, 'not a picture by its first bytes'),
                            (['run', '-p', 'x', *['--image', wide] * 17], 2, 'more than 16 pictures'),
                            (['score', '-p', 'x', '--image', wide, '--kl', str(shared)], 2, '--kl: has no effect with --image'),
                            (['score', '--image', '-'], 2, '--image -: stdin is what the text is read from')]:
        r = runnel(args[0], '-m', str(shared), *args[1:])
        check(r.code == code and why in r.err, args, r.code, r.err)
    r = runnel('run', '-m', str(ROOT / 'models/stories.gguf'), '-p', 'x', '--image', wide)
    check(r.code == 1 and 'has no file mmproj*.gguf beside it' in r.err, r.err)


@test
def embed_writes_the_pixels_of_a_picture_as_numpy_reads_them():
    for name in ('rgb.bmp', 'p.bmp', '1.bmp'): # a format that every build reads
        want = (PICTURES / f'{name}.rgb').read_bytes()
        file = decoded('--image', str(PICTURES / name), '--stage', 'decoded')
        head, pixels = file[:192], file[192:]
        check(head.startswith(b"\x93NUMPY\x01\x00\xb6\x00{'descr': '|u1', 'fortran_order': False, 'shape': (9, 13, 3), }") and head.endswith(b'\n'), head)
        check(pixels == want[4:], name)
        check(decoded('--image', '-', stdin=(PICTURES / name).read_bytes()) == file, name)


@test
def pictures_that_cannot_be_read_are_named_and_nothing_is_written():
    with tempfile.TemporaryDirectory() as folder:
        out, broken, text = Path(folder) / 'out.npy', Path(folder) / 'broken.bmp', Path(folder) / 'a.txt'
        broken.write_bytes((PICTURES / 'rgb.bmp').read_bytes()[:-1])
        text.write_bytes(b'hello')
        large = Path(folder) / 'large.png'
        large.write_bytes(b'\x89PNG\r\n\x1a\n' + bytes(20 << 20))
        for path, why in [(broken, 'picture: BMP: it ends early'), (text, 'not a picture by its first bytes'), (large, '20971520')]:
            r = runnel('embed', '--image', str(path), '--npy', str(out))
            check(r.code == 1 and str(path) in r.err and why in r.err, r.err)
            check(not out.exists(), path)


@test
def options_that_have_no_effect_on_a_picture_are_refused():
    picture = str(PICTURES / 'rgb.bmp')
    for args, why in [(['--image', picture], 'needs --npy'), (['--npy', 'x.npy'], 'need --image'), (['--image', picture, '--npy', picture], 'would overwrite'),
                      (['a text', '--image', picture, '--npy', 'x.npy'], 'exclude each other'),
                      (['--pooling', 'mean', '--image', picture, '--npy', 'x.npy'], '--pooling: has no effect'),
                      (['-m', 'x.gguf', '--image', picture, '--npy', 'x.npy'], 'has no effect')]:
        r = runnel('embed', *args)
        check(r.code == 2 and why in r.err, args, r.err)


main()
