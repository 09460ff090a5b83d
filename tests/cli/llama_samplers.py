"""tests/cli/llama_samplers.py - what llama.cpp's own samplers make of random rows: cases for tests/engine/llama_samplers_test.c.

    llama_samplers.py OUT [N [SEED]]     N cases of each kind

Needs libllama and its driver (README.md of the shared material's peers), and a vocabulary, that of models/stories.gguf.
"""
import ctypes as C
import json
import math
import os
import pathlib
import random
import struct
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
STORIES = ROOT / 'models/stories.gguf'
P = C.c_void_p
ALL_OFF = {'temp': 1, 'top_k': 0, 'top_p': 1, 'min_p': 0}


class Datum(C.Structure):
    _fields_ = [('id', C.c_int32), ('logit', C.c_float), ('p', C.c_float)]


class Candidates(C.Structure):
    _fields_ = [('data', C.POINTER(Datum)), ('size', C.c_size_t), ('selected', C.c_int64), ('sorted', C.c_bool)]


def library(shared):
    """libllama with its samplers' functions, or None and why not."""
    folder = pathlib.Path(shared) / 'peers'
    if not (folder / 'llama_cpp.py').exists():
        return None, 'no llama.cpp here: no driver in the shared material'
    sys.path.insert(0, str(folder))
    try:
        import llama_cpp
        lib = llama_cpp.load()
    except (SystemExit, ImportError, OSError, StopIteration) as e:
        return None, f'no llama.cpp here: {e}'
    f, i, u, z = C.c_float, C.c_int32, C.c_uint32, C.c_size_t
    for name, *args in (('dry', P, f, f, i, i, C.POINTER(C.c_char_p), z), ('xtc', f, f, z, u), ('typical', f, z), ('top_p', f, z), ('min_p', f, z), ('top_k', i),
                        ('temp', f), ('temp_ext', f, f, f), ('top_n_sigma', f), ('mirostat', i, u, f, f, i), ('mirostat_v2', u, f, f), ('penalties', i, i, f, f, f),
                        ('adaptive_p', f, f, u)):
        init = getattr(lib, f'llama_sampler_init_{name}')
        init.restype, init.argtypes = P, args
    lib.llama_sampler_apply.restype, lib.llama_sampler_apply.argtypes = None, [P, C.POINTER(Candidates)]
    lib.llama_sampler_accept.restype, lib.llama_sampler_accept.argtypes = None, [P, C.c_int32]
    lib.llama_sampler_free.restype, lib.llama_sampler_free.argtypes = None, [P]
    params = lib.llama_model_default_params()
    params.vocab_only = True
    model = lib.llama_model_load_from_file(str(STORIES).encode(), params)
    lib.words = lib.llama_model_get_vocab(model)
    return lib, None


def float32(x):
    return struct.unpack('f', struct.pack('f', x))[0]


def random_row(rng, n, has_flat=True):
    kind = rng.choice((0, 1, 2, 3) if has_flat else (0, 2, 3))
    scale = (3, 0.5, 8, 2)[kind]
    row = [float32(rng.gauss(0, scale)) for _ in range(n)]
    if kind == 3:
        row[rng.randrange(n)] = float32(12.5)
    return row


def run(samplers, row):
    """The candidates that are left, by logit: (id, probability), and the one selected or None."""
    n = len(row)
    data = (Datum * n)(*[Datum(i, x, 0) for i, x in enumerate(row)])
    list_ = Candidates(data, n, -1, False)
    for lib, s in samplers:
        lib.llama_sampler_apply(s, C.byref(list_))
    left = [list_.data[i] for i in range(list_.size)]
    selected = left[list_.selected].id if list_.selected >= 0 else None
    top = max(c.logit for c in left)
    weights = [(c.id, math.exp(c.logit - top)) for c in left]
    total = sum(w for _, w in weights)
    return sorted([(i, w / total) for i, w in weights if w > 1e-12], key=lambda c: (-c[1], c[0])), selected


def init_dry(lib, p, texts):
    """-1, all, is a matter of llama.cpp's front ends."""
    n = p['dry_penalty_last_n'] if p['dry_penalty_last_n'] >= 0 else 4096
    array = (C.c_char_p * max(len(texts), 1))(*[t.encode() for t in texts])
    return lib.llama_sampler_init_dry(lib.words, p['dry_multiplier'], p['dry_base'], p['dry_allowed_length'], n, array, len(texts))


def make(lib, name, p):
    """The sampler that does a stage of our parameters."""
    init = {'dry': lambda: init_dry(lib, p, ()),
            'xtc': lambda: lib.llama_sampler_init_xtc(p['xtc_probability'], p['xtc_threshold'], 1, 1),
            'typical_p': lambda: lib.llama_sampler_init_typical(p['typical_p'], 1), 'top_p': lambda: lib.llama_sampler_init_top_p(p['top_p'], 1),
            'min_p': lambda: lib.llama_sampler_init_min_p(p['min_p'], 1), 'top_k': lambda: lib.llama_sampler_init_top_k(p['top_k']),
            'top_n_sigma': lambda: lib.llama_sampler_init_top_n_sigma(p['top_n_sigma']),
            'temperature': lambda: lib.llama_sampler_init_temp_ext(p['temp'], p['dynatemp_range'], p['dynatemp_exponent']),
            'penalties': lambda: lib.llama_sampler_init_penalties(4096, p['penalty_last_n'], p['repeat_penalty'], p['frequency_penalty'], p['presence_penalty'])}
    return lib, init[name]()


def random_params(rng):
    u = rng.uniform
    p = {'dry_multiplier': u(0.2, 2), 'dry_base': u(1, 2.5), 'dry_allowed_length': rng.randrange(1, 4), 'dry_penalty_last_n': rng.choice((-1, 10, 30)),
         'xtc_probability': 1, 'xtc_threshold': u(0.02, 0.3), 'typical_p': u(0.2, 0.98), 'top_p': u(0.2, 0.98), 'min_p': u(0.001, 0.3), 'top_k': rng.randrange(1, 60),
         'top_n_sigma': u(0.3, 3), 'temp': u(0.3, 2), 'dynatemp_range': rng.choice((0, u(0.05, 1.5))), 'dynatemp_exponent': u(0.3, 3),
         'penalty_last_n': rng.choice((8, 64)), 'repeat_penalty': u(0.8, 2), 'frequency_penalty': u(-0.5, 1), 'presence_penalty': u(-0.5, 1)}
    return {k: float32(v) if isinstance(v, float) else v for k, v in p.items()}


def hexed(row):
    return ''.join(f'{struct.unpack("I", struct.pack("f", x))[0]:08x}' for x in row)


def step(row, left, accept):
    return {'row': hexed(row), 'ids': [i for i, _ in left], 'probs': [round(p, 9) for _, p in left], 'accept': accept}


def drive(lib, rng, samplers, prompt, n, n_steps, has_flat=True):
    """Steps with one sampler; each accepts what was selected or else a likely token."""
    steps = []
    for _, s in samplers:
        for t in prompt:
            lib.llama_sampler_accept(s, t)
    for _ in range(n_steps):
        row = random_row(rng, n, has_flat)
        left, selected = run(samplers, row)
        if not left or any(math.isnan(p) for _, p in left):
            return None
        accept = selected if selected is not None else left[rng.randrange(min(3, len(left)))][0]
        steps.append(step(row, left, accept))
        for _, s in samplers:
            lib.llama_sampler_accept(s, accept)
    for _, s in samplers:
        lib.llama_sampler_free(s)
    return steps


def single(lib, rng, name):
    p, n, prompt = random_params(rng), rng.choice((20, 60)), text(rng)
    steps = drive(lib, rng, [make(lib, name, p)], prompt, n, 2)
    return case(p, [name], steps, n, name, prompt)


def text(rng):
    words = [rng.randrange(12) for _ in range(12)]
    return (words * 3)[:rng.randrange(6, 36)]


def case(p, names, steps, n, kind, prompt=()):
    return steps and {'kind': kind, 'n_vocab': n, 'params': {**ALL_OFF, **p}, 'samplers': ';'.join(names), 'prompt': list(prompt), 'steps': steps}


def several(lib, rng):
    """Stages in any order. top-n-sigma leaves what it drops in the list, with -inf, which some of llama.cpp's stages make NaN of: it comes last."""
    names = rng.sample(('penalties', 'dry', 'top_k', 'typical_p', 'top_p', 'min_p', 'xtc', 'temperature'), rng.randrange(2, 6))
    names += ['top_n_sigma'] if rng.random() < 0.3 else []
    p, n, prompt = random_params(rng), rng.choice((20, 60)), text(rng)[:18]
    p.update(dry_base=min(p['dry_base'], 1.75), temp=max(p['temp'], 0.875), dynatemp_range=0)      # a probability of 0 makes NaN of llama.cpp's entropy
    return case(p, names, drive(lib, rng, [make(lib, name, p) for name in names], prompt, n, 3), n, 'several', prompt)


def mirostat(lib, rng, version):
    p, n = {'temp': float32(rng.uniform(0.5, 1.5)), 'mirostat': version, 'mirostat_tau': float32(rng.uniform(1, 4)), 'mirostat_eta': float32(rng.uniform(0.05, 0.5))}, 60
    own = lib.llama_sampler_init_mirostat(n, rng.randrange(99), p['mirostat_tau'], p['mirostat_eta'], 100) if version == 1 else \
        lib.llama_sampler_init_mirostat_v2(rng.randrange(99), p['mirostat_tau'], p['mirostat_eta'])
    samplers = [(lib, lib.llama_sampler_init_temp(p['temp'])), (lib, own)]
    # Of flat rows mirostat 1 keeps very many: beyond the range of int, llama.cpp keeps one.
    return case(p, ['temperature'], drive(lib, rng, samplers, [], n, 6, version == 2), n, f'mirostat {version}')


def adaptive(lib, rng):
    p, n = {'min_p': float32(0.02), 'adaptive_target': float32(rng.uniform(0, 1)), 'adaptive_decay': float32(rng.uniform(0, 0.99))}, 40
    samplers = [(lib, lib.llama_sampler_init_min_p(p['min_p'], 1)), (lib, lib.llama_sampler_init_adaptive_p(p['adaptive_target'], p['adaptive_decay'], rng.randrange(99)))]
    return case(p, ['min_p'], drive(lib, rng, samplers, [], n, 6), n, 'adaptive-p')


def breakers(lib, rng):
    """DRY's penalties for a text of the vocabulary's tokens, with texts that break it."""
    p = {k: v for k, v in random_params(rng).items() if k.startswith('dry')}
    texts = rng.sample(('\n', ':', '"', '*', '.', 'the', ' said', 'she was', 'Once upon', '! "'), rng.randrange(0, 5))
    n = lib.llama_vocab_n_tokens(lib.words)
    some = [rng.randrange(260, n) for _ in range(8)] + [lib.llama_vocab_n_tokens(lib.words) - 1, 263, 270, 280]
    history = [rng.choice(some) for _ in range(20)] * 3
    history = history[:rng.randrange(5, 60)]
    s = init_dry(lib, p, texts)
    data = (Datum * n)(*[Datum(i, 0, 0) for i in range(n)])
    list_ = Candidates(data, n, -1, False)
    for t in history:
        lib.llama_sampler_accept(s, t)
    lib.llama_sampler_apply(s, C.byref(list_))
    lib.llama_sampler_free(s)
    return {'kind': 'breakers', 'n_vocab': n, 'params': {**ALL_OFF, **p}, 'breakers': texts, 'prompt': history,
            'penalties': [[c.id, -c.logit] for c in data if c.logit != 0]}


SINGLE = ('typical_p', 'top_n_sigma', 'xtc', 'dry', 'temperature', 'penalties', 'top_p', 'min_p', 'top_k')


def cases(lib, n, seed):
    rng = random.Random(seed)
    for i in range(n):
        yield from filter(None, [single(lib, rng, name) for name in SINGLE if i < 2 or i % 4 == 0])
        yield from filter(None, (several(lib, rng), mirostat(lib, rng, 1), mirostat(lib, rng, 2), adaptive(lib, rng)))
        if i % 10 == 0:       # each time llama.cpp looks for the texts in the whole vocabulary
            yield breakers(lib, rng)


def write(lib, path, n, seed):
    with open(path, 'w') as f:
        f.write('{"about": "rows before and candidates after samplers of llama.cpp (tests/cli/llama_samplers.py)",\n"cases": [\n')
        f.write(',\n'.join(json.dumps(c) for c in cases(lib, n, seed)) + '\n]}\n')


def main():
    lib, why = library(os.environ.get('RUNNEL_SHARED', ROOT.parent / 'shared'))
    if not lib:
        sys.exit(why)
    write(lib, sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1, int(sys.argv[3]) if len(sys.argv) > 3 else 1)


if __name__ == '__main__':
    main()
