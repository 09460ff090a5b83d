#!/usr/bin/env python3
"""Measures beam search in turn with other engines', A B A B ..., and prints medians and the ratios pair by pair.

  bench/beams.py [MODEL] [--prompt TEXT | --ids LIST] [--prompt-tokens N] [--beams 4] [-n 64] [-t 1] [--rounds 5] [--extra "OPTIONS"] [--peer NAME=COMMAND]...

MODEL: the default model unless given. COMMAND is another engine's beam search, split as a shell would; {model}, {ids} (the prompt's, with
commas), {beams}, {n} and {t} are filled in. It prints JSON with `ms`, the time from the prompt to the last token without loading, and
`tokens`, the best text's. End tokens are banned, so that all generate n tokens; length_penalty and early_stopping are generate()'s defaults.
  bench/beams.py m.gguf --peer "transformers=PYTHON bench/hf_beams.py FOLDER --ids {ids} --beams {beams} -n {n} -t {t}"
--extra are more options for runnel run; --prompt-tokens repeats the prompt up to so many tokens. `greedy` is our own greedy decoding of as many tokens:
what a beam costs. The memory is the largest that the processes had, what they read of the model's file included."""
import argparse
import json
import os
import pathlib
import shlex
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).parents[1]


def output(command):
    """(what the command writes, the most memory it had in MiB)"""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        child = subprocess.Popen(command, stdout=out, stderr=err)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        if child.returncode:
            sys.exit(f"beams: {command[0]}: exit {child.returncode}: {err.read().strip()[-400:]}")
        return out.read(), usage.ru_maxrss / 1024


def ours(command):
    """{ms, tokens, mib} of a run: all of it but loading and waiting, as a peer's."""
    text, mib = output(command)
    lines = [json.loads(line) for line in text.splitlines()]
    timing = lines[-1]["timing"]
    return {"ms": timing["first_token_ms"] + timing["decode_ms"] - timing["queue_ms"], "tokens": [t for line in lines for t in line["tokens"]], "mib": mib}


def theirs(command):
    text, mib = output(command)
    return {**json.loads(text), "mib": mib}


def range_of(values):
    return f"{statistics.median(values):.2f}" + (f" ({min(values):.2f} to {max(values):.2f})" if len(values) > 1 else "")


def row(name, found, mine, n):
    """A line of the table: the peer's figures, and its times as multiples of ours."""
    texts = sum(f["tokens"] == m["tokens"] for f, m in zip(found, mine))
    return (name, f"{n * 1000 / statistics.median(f['ms'] for f in found):.1f}", range_of([f["ms"] / m["ms"] for f, m in zip(found, mine)]),
            f"{statistics.median(f['mib'] for f in found):.0f}", f"{texts} of {len(found)}")


def main():
    ap = argparse.ArgumentParser(usage=__doc__)
    ap.add_argument("model", nargs="?", default=str(ROOT / "models/stories.gguf"))
    ap.add_argument("--prompt", default="Lily saw a cat. The cat")
    ap.add_argument("--ids", help="a prompt for a model without a vocabulary")
    ap.add_argument("--prompt-tokens", type=int, default=0)
    ap.add_argument("--beams", type=int, default=4)
    ap.add_argument("-n", type=int, default=64)
    ap.add_argument("-t", default="1")
    ap.add_argument("--rounds", type=int, default=5)
    ap.add_argument("--extra", default="")
    ap.add_argument("--peer", action="append", default=[])
    ap.add_argument("--runnel", default=str(ROOT / "build/release/runnel"))
    a = ap.parse_args()
    if any("=" not in peer for peer in a.peer):
        sys.exit("beams: --peer NAME=COMMAND")
    ids = a.ids.split(",") if a.ids else json.loads(output([a.runnel, "tokenize", "-m", a.model, "--add-special", "--json", a.prompt])[0])["ids"]
    if a.prompt_tokens:
        ids = (ids * (a.prompt_tokens // len(ids) + 1))[:a.prompt_tokens]
    ids = ",".join(map(str, ids))

    def fill(word):
        for name, value in (("{model}", a.model), ("{ids}", ids), ("{beams}", a.beams), ("{n}", a.n), ("{t}", a.t)):
            word = word.replace(name, str(value))
        return word

    common = [a.runnel, "run", "-m", a.model, "--ids", ids, "-t", a.t, "-n", str(a.n), "--min-tokens", str(a.n), "--json", *shlex.split(a.extra)]
    tasks = {"runnel": lambda: ours([*common, "--strategy", "beam", "--num-beams", str(a.beams)]),
             "greedy": lambda: ours([*common, "--temp", "0", "--speculate", "none"])}
    tasks |= {name: lambda words=shlex.split(command): theirs([fill(w) for w in words]) for name, command in (peer.split("=", 1) for peer in a.peer)}
    found = {name: [] for name in tasks}
    for _ in range(a.rounds):
        for name, task in tasks.items():
            found[name].append(task())
    for name, runs in found.items():
        for run in runs:
            if len(run["tokens"]) != a.n:
                sys.exit(f"beams: {name}: {len(run['tokens'])} tokens, not {a.n}")
    table = [("", "tokens/s", "times our time", "MiB", "same text")] + [row(name, runs, found["runnel"], a.n) for name, runs in found.items()]
    widths = [max(len(r[i]) for r in table) for i in range(len(table[0]))]
    for r in table:
        print("  ".join(x.ljust(w) if i == 0 else x.rjust(w) for i, (x, w) in enumerate(zip(r, widths))))


if __name__ == "__main__":
    main()
