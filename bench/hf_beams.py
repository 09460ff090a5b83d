#!/usr/bin/env python3
"""The beam search of transformers' generate() as a peer of bench/beams.py: prints {"ms", "tokens"} as JSON.

  bench/hf_beams.py FOLDER --ids 1,2,3 [--beams 4] [-n 64] [-t 1] [--dtype float32]

FOLDER: a Hugging Face folder with the weights of the model that is measured. Wants torch and transformers. The second of two runs is timed."""
import argparse
import json
import os
import time

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
import torch  # noqa: E402
from transformers import AutoModelForCausalLM  # noqa: E402


def main():
    ap = argparse.ArgumentParser(usage=__doc__)
    ap.add_argument("folder")
    ap.add_argument("--ids", required=True)
    ap.add_argument("--beams", type=int, default=4)
    ap.add_argument("-n", type=int, default=64)
    ap.add_argument("-t", type=int, default=1)
    ap.add_argument("--dtype", default="float32")
    a = ap.parse_args()
    torch.set_num_threads(a.t)
    model = AutoModelForCausalLM.from_pretrained(a.folder, dtype=getattr(torch, a.dtype)).eval()
    ids = torch.tensor([[int(i) for i in a.ids.split(",")]])

    def generate(n):
        return model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, num_beams=a.beams, max_new_tokens=n, min_new_tokens=n, pad_token_id=0)

    with torch.no_grad():
        generate(min(a.n, 4))
        begun = time.perf_counter()
        out = generate(a.n)
        ms = (time.perf_counter() - begun) * 1000
    print(json.dumps({"ms": ms, "tokens": out[0, ids.shape[1]:].tolist()}))


if __name__ == "__main__":
    main()
