#!/usr/bin/env python3
"""Measures runnel and another engine in turn, A B A B ..., and prints medians and the ratio pair by pair.

  bench/versus.py [--rounds 5] [-t 1] [-p 512] [-n 64] [-d 0] MODEL.gguf -- PEER COMMAND ...

PEER COMMAND is run once a round, without a shell; {model} {t} {p} {n} {d} in it are filled in. It prints JSON with
prefill_tok_s and decode_tok_s, or what `llama-bench -o json` prints.
  bench/versus.py m.gguf -- llama-bench -m {model} -t {t} -p {p} -n {n} -r 1 -o json
Machines are shared and noisy: the ratio of neighbours in time holds, single figures do not."""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys

RATES = ("prefill_tok_s", "decode_tok_s")


def rates(text):
    """The two rates out of either form of JSON."""
    data = json.loads(text)
    if isinstance(data, dict):
        data = [data]
    found = {k: row[k] for row in data for k in RATES if row.get(k)}
    for row in data:  # llama-bench: a row a test
        if "avg_ts" in row:
            found[RATES[0] if row.get("n_prompt") else RATES[1]] = row["avg_ts"]
    return found


def run(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"versus: {command[0]}: exit {done.returncode}: {done.stderr.strip()[-400:]}")
    return rates(done.stdout)


def main():
    argv = sys.argv[1:]
    if "--" not in argv:
        sys.exit(__doc__)
    cut = argv.index("--")
    ap = argparse.ArgumentParser(usage=__doc__)
    ap.add_argument("model")
    ap.add_argument("--rounds", type=int, default=5)
    ap.add_argument("-t", default="1")
    ap.add_argument("-p", default="512")
    ap.add_argument("-n", default="64")
    ap.add_argument("-d", default="0")
    ap.add_argument("--runnel", default=str(pathlib.Path(__file__).parent.parent / "build/release/runnel"))
    ap.add_argument("--extra", default="", help="more options for runnel bench, separated by spaces")
    a = ap.parse_args(argv[:cut])
    fill = {"{model}": a.model, "{t}": a.t, "{p}": a.p, "{n}": a.n, "{d}": a.d}
    peer = [fill.get(w, w) for w in argv[cut + 1:]]
    ours = [a.runnel, "bench", "-m", a.model, "-t", a.t, "-p", a.p, "-n", a.n, "-d", a.d, "-r", "1", "--json", *a.extra.split()]
    pairs = [(run(ours), run(peer)) for _ in range(a.rounds)]
    for k in (k for k in RATES if k in pairs[0][0]):  # -p 0 and -n 0 leave one of them out
        us, them = [x[k] for x, _ in pairs], [y[k] for _, y in pairs]
        ratio = [x / y for x, y in zip(us, them)]
        print(f"{k:14}  runnel {statistics.median(us):9.1f}  peer {statistics.median(them):9.1f}  "
              f"ratio {statistics.median(ratio):5.2f}  ({min(ratio):.2f} to {max(ratio):.2f}, {a.rounds} rounds)")


if __name__ == "__main__":
    main()
