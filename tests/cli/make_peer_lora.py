"""tests/cli/make_peer_lora.py - what llama.cpp says with adapters: tests/cli/peer_lora.json for tests/cli/lora_test.py.

    make_peer_lora.py SHARED RUNNEL OUT     SHARED: the shared material's folder; RUNNEL: the program, which writes the model in F32

The default model in F32 with adapters of lora_file.py, one or two at a time at several scales, as --lora-scaled gives them. Needs libllama and
its driver (SHARED/peers).
"""
import ctypes as C
import json
import pathlib
import subprocess
import sys
import tempfile

import lora_file

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROMPT, N = 'Once upon a time', 24
MIXES = [[], [[0, 1.0]], [[1, 1.0]], [[0, -0.5]], [[0, 0.5], [1, 1.5]]]


def main():
    shared, program = pathlib.Path(sys.argv[1]), sys.argv[2]
    sys.path.insert(0, str(shared / 'peers'))
    import llama_cpp
    lib = llama_cpp.load()
    lib.llama_adapter_lora_init.restype = C.c_void_p
    lib.llama_adapter_lora_init.argtypes = [C.c_void_p, C.c_char_p]
    lib.llama_set_adapters_lora.argtypes = [C.c_void_p, C.POINTER(C.c_void_p), C.c_size_t, C.POINTER(C.c_float)]
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        base = folder / 'base.gguf'
        subprocess.run([program, 'quantize', ROOT / 'models/stories.gguf', base, 'F32'], check=True, capture_output=True)
        model = llama_cpp.Model(lib, str(base), repack=False)
        adapters = [lib.llama_adapter_lora_init(model.m, str(path).encode()) for path in lora_file.two(folder, base)]
        ids = model.tokenize(PROMPT)
        for mix in MIXES:
            c = llama_cpp.Context(model, 64, 1, 'f32', 'off')
            if mix and lib.llama_set_adapters_lora(c.c, (C.c_void_p * len(mix))(*[adapters[i] for i, _ in mix]), len(mix),
                                                   (C.c_float * len(mix))(*[s for _, s in mix])):
                sys.exit('make_peer_lora.py: llama_set_adapters_lora failed')
            c.eval(ids)
            said, top2 = [], []
            for i in range(N):
                best = llama_cpp.top2(c.row(-1))
                said.append(best[0])
                top2.append([best[0], round(best[1], 5), best[2], round(best[3], 5)])
                if i + 1 < N:
                    c.eval([said[-1]], len(ids) + i)
            rows.append({'adapters': mix, 'prompt_ids': ids, 'ids': said, 'top2': top2})
    lines = ',\n'.join(json.dumps(r, separators=(',', ':')) for r in rows)
    pathlib.Path(sys.argv[3]).write_text(f'[\n{lines}\n]\n')


main()
