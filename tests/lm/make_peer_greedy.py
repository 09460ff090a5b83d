#!/usr/bin/env python3
# tests/lm/make_peer_greedy.py DIR DRIVER - prints peer_greedy.json: what llama.cpp makes of the models that peer_greedy_test writes.
#
# DIR holds the models (RUNNEL_WRITE_MODELS=DIR lm.peer_greedy_test). DRIVER is a program over libllama:
#   DRIVER greedy MODEL --ids "1 2 3" -n 48 -t 1 --kv f32 --fa off --no-repack
# that prints JSON with `ids` and `top2`, for each step [best token, its logit, the second one, its logit].
import json
import pathlib
import subprocess
import sys

PROMPT = [256, 84, 259, 32, 261, 97, 120, 33, 10, 65, 200, 7]
# Of logits whose deviation is 1. Both engines round activations, each in its own blocks: on these models a logit was off by 0.1 at most
# (Q5_1; below 0.003 for F16, F32, Q3_K, Q6_K and IQ4_XS), so the two best ones by 0.2 against each other.
LEAST_MARGIN = 0.2

types = {}
for model in sorted(pathlib.Path(sys.argv[1]).glob("*.gguf")):
    run = [*sys.argv[2].split(), "greedy", str(model), "--ids", " ".join(map(str, PROMPT)), "-n", "48", "-t", "1",
           "--kv", "f32", "--fa", "off", "--no-repack"]
    out = json.loads(subprocess.run(run, check=True, capture_output=True, text=True).stdout)
    types[model.stem] = {"ids": out["ids"], "margins": [round(a - b, 4) for _, a, _, b in out["top2"]]}

print(json.dumps({"peer": "llama.cpp 0.5.0, AVX-512 kernels of the file's layout, keys and values F32",
                  "command": "RUNNEL_WRITE_MODELS=DIR lm.peer_greedy_test; make_peer_greedy.py DIR DRIVER > peer_greedy.json",
                  "prompt": PROMPT, "least_margin": LEAST_MARGIN, "types": types}).replace('}, "', '},\n "'))
