#!/usr/bin/env python3
"""Quantizes one model with runnel and with another program, and says how far each one's files are from the model.

  bench/quality.py [--types Q4_0,Q4_K_M] [--chunk 512] [--imatrix FILE] MODEL.gguf TEXT ... -- PEER COMMAND ...

MODEL is in F32 or F16. PEER COMMAND quantizes, run without a shell; {in} {out} {type} {imatrix} in it are filled in. Without --imatrix
the word {imatrix} and the one before it are left out.
  bench/quality.py m.gguf text -- llama-quantize --imatrix {imatrix} {in} {out} {type}
  bench/quality.py m.gguf text -- bench/llama_quantize.py LIBRARIES {in} {out} {type} --imatrix {imatrix}

Every TEXT is cut into chunks of tokens, each evaluated by itself with both sides' files and with MODEL, by `runnel score --kl`. A row
a type: perplexity, mean KL divergence from MODEL and share of equal top tokens, runnel's then the peer's; the differences of the mean
log-probabilities and of the divergences in their standard errors, chunk against chunk (negative: runnel's file is better); and the
matrices that have another type in the peer's file."""
import argparse
import json
import math
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/cli"))
from gguf import Reader, parts  # noqa: E402

TYPES = "Q4_0,Q4_1,Q5_0,Q5_1,Q8_0,IQ4_NL,Q4_K_S,Q4_K_M,Q5_K_S,Q5_K_M,Q6_K"


def run(command):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"quality: {command[0]}: exit {done.returncode}: {done.stderr.strip()[-400:]}")
    return done.stdout


def peer_command(words, **values):
    if values["imatrix"] is None:
        words = [w for w, after in zip(words, [*words[1:], ""]) if "{imatrix}" not in (w, after)]
    for key, value in values.items():
        words = [w.replace("{%s}" % key, str(value)) for w in words]
    return words


def tensor_types(path):
    types = {}
    for info in parts(path.read_bytes())[2]:
        r = Reader(info)
        name = r.string().decode()
        for _ in range(r.take("I")):
            r.take("Q")
        types[name] = r.take("I")
    return types


def chunks_of(a):
    """Lists of ids, each begun as the model wants texts to begin."""
    info = json.loads(run([a.runnel, "info", "-m", a.model, "--json"]))
    begin = [info["bos"]] if info["add_bos"] else []
    for text in a.texts:
        ids = json.loads(run([a.runnel, "tokenize", "-m", a.model, "--json", pathlib.Path(text).read_text()]))["ids"]
        step = a.chunk - len(begin)
        for i in range(0, len(ids), step):
            if len(ids) - i > 1:
                yield begin + ids[i:i + step]


class Score:
    """Of one file. What chunks tell weighs as many times as they have tokens."""

    def __init__(self, a, path, chunks, *more):
        results = [json.loads(run([a.runnel, "score", "-m", path, "--kv-type", "f32", "--json", "-t", a.t, *more,
                                   "--ids", ",".join(map(str, ids))])) for ids in chunks]
        self.n = [len(r["nll"]) for r in results]
        self.nlls = [sum(r["nll"]) / len(r["nll"]) for r in results]
        self.ppl = math.exp(self.mean(self.nlls))
        if more:
            self.kls = [r["kl"]["mean"] for r in results]
            self.kl = self.mean(self.kls)
            self.top1 = 100 * self.mean([r["kl"]["top1"] for r in results])

    def mean(self, values):
        return sum(x * n for x, n in zip(values, self.n)) / sum(self.n)

    def __str__(self):
        return f"{self.ppl:8.4f} {self.kl:.6f} {self.top1:5.2f} %"

    def beyond(self, mine, others):
        """The mean difference of two lists over its standard error, chunks being independent."""
        d = [x - y for x, y in zip(mine, others)]
        mean = self.mean(d)
        spread = math.sqrt(sum((n * (x - mean)) ** 2 for x, n in zip(d, self.n))) / sum(self.n)
        return mean / spread if spread else 0


def main():
    argv = sys.argv[1:]
    if "--" not in argv:
        sys.exit(__doc__)
    cut = argv.index("--")
    ap = argparse.ArgumentParser(usage=__doc__)
    ap.add_argument("model")
    ap.add_argument("texts", nargs="+")
    ap.add_argument("--types", default=TYPES)
    ap.add_argument("--chunk", type=int, default=512)
    ap.add_argument("--imatrix")
    ap.add_argument("-t", default="1")
    ap.add_argument("--runnel", default=str(ROOT / "build/release/runnel"))
    a = ap.parse_args(argv[:cut])
    chunks = list(chunks_of(a))
    print(f"{a.model}: {sum(map(len, chunks))} tokens in {len(chunks)} chunks, perplexity {Score(a, a.model, chunks).ppl:.4f}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        files = [pathlib.Path(folder, side + ".gguf") for side in ("runnel", "peer")]
        for kind in a.types.split(","):
            run([a.runnel, "quantize", a.model, files[0], kind, "-t", a.t, *(["--imatrix", a.imatrix] if a.imatrix else [])])
            values = {"in": a.model, "out": files[1], "type": kind, "imatrix": a.imatrix}
            run(peer_command(argv[cut + 1:], **values))
            ours, theirs = (Score(a, path, chunks, "--kl", a.model) for path in files)
            types, peer_types = map(tensor_types, files)
            other = sorted(name for name in types if types[name] != peer_types.get(name))
            print(f"{kind:7} {ours}  {theirs}  {ours.beyond(ours.nlls, theirs.nlls):+5.1f} {ours.beyond(ours.kls, theirs.kls):+5.1f}  "
                  + (f"{len(other)} of other types: {' '.join(other[:4])}" if other else "same types"), flush=True)


if __name__ == "__main__":
    main()
