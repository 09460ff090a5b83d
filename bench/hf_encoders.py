#!/usr/bin/env python3
"""transformers as a peer of bench/encoders.py, and random encoders of published shapes.

  bench/hf_encoders.py FOLDER --ids FILE [-t 1] [--together 32] [--dtype float32]
  bench/hf_encoders.py --make bge-base|modernbert-base FOLDER --tokenizer FILE

FILE: a text's ids a line. For each line of stdin the texts are evaluated once and {"ms"} is printed, the first time with "vectors", each the mean of
its text's rows; stdin's end is the program's. Texts are sorted by length, and --together of them are padded to the longest and evaluated at once. Wants
torch and transformers."""
import argparse
import json
import os
import pathlib
import shutil
import sys
import time

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
import torch  # noqa: E402
from transformers import AutoModel, BertConfig, BertModel, ModernBertConfig, ModernBertModel  # noqa: E402

SHAPES = {"bge-base": lambda: BertModel(BertConfig()), "modernbert-base": lambda: ModernBertModel(ModernBertConfig())}


def make(a):
    torch.manual_seed(31)
    SHAPES[a.make]().eval().save_pretrained(a.folder)
    shutil.copy(a.tokenizer, pathlib.Path(a.folder) / "tokenizer.json")


def main():
    ap = argparse.ArgumentParser(usage=__doc__)
    ap.add_argument("folder")
    ap.add_argument("--ids")
    ap.add_argument("-t", type=int, default=1)
    ap.add_argument("--together", type=int, default=32)
    ap.add_argument("--dtype", default="float32")
    ap.add_argument("--make", choices=SHAPES)
    ap.add_argument("--tokenizer")
    a = ap.parse_args()
    if a.make:
        return make(a)
    torch.set_num_threads(a.t)
    texts = [[int(i) for i in line.split()] for line in pathlib.Path(a.ids).read_text().splitlines()]
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
    model, is_first = AutoModel.from_pretrained(a.folder, dtype=getattr(torch, a.dtype)).eval(), True
    for _ in sys.stdin:
        begun, vectors = time.perf_counter(), [None] * len(texts)
        with torch.inference_mode():
            for at in range(0, len(order), a.together):
                some = order[at:at + a.together]
                longest = max(len(texts[i]) for i in some)
                ids = torch.tensor([texts[i] + [0] * (longest - len(texts[i])) for i in some])
                mask = torch.tensor([[1] * len(texts[i]) + [0] * (longest - len(texts[i])) for i in some])
                rows = model(input_ids=ids, attention_mask=mask).last_hidden_state
                means = (rows * mask[:, :, None]).sum(1) / mask.sum(1)[:, None]
                for i, vector in zip(some, means):
                    vectors[i] = vector
        answer = {"ms": (time.perf_counter() - begun) * 1000}
        if is_first:
            answer["vectors"] = [v.tolist() for v in vectors]
        is_first = False
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
