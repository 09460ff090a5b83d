#!/usr/bin/env python3
"""Measures speculation against plain decoding in turn, A B A B ..., prompt by prompt, and checks that the tokens are the same.

  bench/speculation.py [MODEL] [--prompts bench/prompts/stories.jsonl] [--rounds 3] [-n 128] [-t 1] [--temp 0] -- OPTIONS

MODEL: the default model unless given. OPTIONS turn speculation on: -- --speculate ngram --draft-max 8. A line of the prompts: {"kind",
"prompt"}; --chat sends them as user messages.
For each kind of prompt: speed against plain decoding (median of the rounds' pairs, geometric mean over prompts, and the worst prompt), tokens
a step, rows a token, and how many guesses were right."""
import argparse
import json
import math
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[1]


def run(command, options):
    done = subprocess.run(command + options, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(f"speculation: {' '.join(options)}: exit {done.returncode}: {done.stderr.strip()[-400:]}")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return [t for line in lines for t in line.get("tokens", [])], lines[-1]


def ms_a_token(last):
    return last["timing"]["decode_ms"] / max(1, last["usage"]["completion_tokens"] - 1)  # the first token is the prompt's


def measure(command, options, rounds):
    ratios = []
    for _ in range(rounds):
        plain, a = run(command, ["--speculate", "none"])
        drafted, b = run(command, options)
        if plain != drafted:
            sys.exit(f"speculation: other tokens than without: {plain} {drafted}")
        ratios.append(ms_a_token(a) / ms_a_token(b))
    n, figures = len(plain), b.get("speculation", {"drafted": 0, "accepted": 0, "rows_per_token": 1})
    return {"speed": statistics.median(ratios), "tokens": n, "ms": ms_a_token(a), **figures}


def row(name, found):
    tokens, drafted, accepted = (sum(f[k] for f in found) for k in ("tokens", "drafted", "accepted"))
    return (name, len(found), f"{math.exp(statistics.mean(math.log(f['speed']) for f in found)):.2f}", f"{min(f['speed'] for f in found):.2f}",
            f"{tokens / max(1, tokens - accepted):.2f}", f"{sum(f['rows_per_token'] * f['tokens'] for f in found) / tokens:.2f}",
            f"{accepted} of {drafted}", f"{statistics.median(f['ms'] for f in found):.2f}")


def main():
    argv = sys.argv[1:]
    if "--" not in argv:
        sys.exit(__doc__)
    cut = argv.index("--")
    ap = argparse.ArgumentParser(usage=__doc__)
    ap.add_argument("model", nargs="?")
    ap.add_argument("--prompts", type=pathlib.Path, default=ROOT / "bench/prompts/stories.jsonl")
    ap.add_argument("--rounds", type=int, default=3)
    ap.add_argument("-n", default="128")
    ap.add_argument("-t", default="1")
    ap.add_argument("--temp", default="0")
    ap.add_argument("--chat", action="store_true")
    ap.add_argument("--runnel", default=str(ROOT / "build/release/runnel"))
    a = ap.parse_args(argv[:cut])
    model = ["-m", a.model] if a.model else []
    kinds = {}
    for line in a.prompts.read_text().splitlines():
        prompt = json.loads(line)
        command = [a.runnel, "run", *model, "-t", a.t, "-n", a.n, "--temp", a.temp, "--seed", "1", "--json", "-p", prompt["prompt"]]
        kinds.setdefault(prompt["kind"], []).append(measure(command + ["--chat"] * a.chat, argv[cut + 1:], a.rounds))
    table = [("prompts", "n", "speed", "worst", "tokens/step", "rows/token", "right", "plain ms/token")]
    table += [row(kind, found) for kind, found in kinds.items()] + [row("all", [f for found in kinds.values() for f in found])]
    widths = [max(len(str(r[i])) for r in table) for i in range(len(table[0]))]
    for r in table:
        print("  ".join(str(x).ljust(w) if i == 0 else str(x).rjust(w) for i, (x, w) in enumerate(zip(r, widths))))


if __name__ == "__main__":
    main()
