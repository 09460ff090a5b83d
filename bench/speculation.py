#!/usr/bin/env python3
"""Measures speculation against plain decoding in turn, A B A B ..., prompt by prompt, and checks that the tokens are the same.

  bench/speculation.py [MODEL] [--prompts bench/prompts/stories.jsonl] [--kinds KIND,KIND] [--rounds 3] [-n 128] [-t 1] [--temp 0] [--streams 1]
                       [--peer COMMAND] -- OPTIONS [-- OPTIONS ...]

MODEL: the default model unless given. OPTIONS turn speculation on: -- --speculate ngram --draft-max 8. Several sets of them take turns with one run without:
A B C A B C ..., and have a table each. A line of the prompts: {"kind", "prompt"}; --kinds takes some of them, --chat sends them as user messages.
--streams N: a kind's prompts in N streams at once, and the time of all of them.
COMMAND is another engine's speculation, in turn with ours: split as a shell would, {model} {prompt} {n} {t} are filled in; it prints JSON with
plain_tok_s and spec_tok_s.
For each kind of prompt: speed against plain decoding (median of the rounds' pairs, geometric mean over prompts, and the worst prompt), the
same as a part of what the steps' times allow (speed_up of docs/speculation.md), tokens a step, rows a token, and how many guesses were right;
with --peer, its speed against its own plain decoding, and our tokens/s with guesses against its."""
import argparse
import json
import math
import pathlib
import shlex
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[1]


NONE = {"drafted": 0, "accepted": 0, "rows_per_token": 1}


def lines_of(command, options, text=""):
    done = subprocess.run(command + options, input=text, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(f"speculation: {' '.join(options)}: exit {done.returncode}: {done.stderr.strip()[-400:]}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def one(command, options):
    """(tokens, milliseconds a token, figures) of one stream."""
    lines = lines_of(command, options)
    last = lines[-1]
    ms = last["timing"]["decode_ms"] / max(1, last["usage"]["completion_tokens"] - 1)  # the first token is the prompt's
    return [t for line in lines for t in line.get("tokens", [])], ms, last.get("speculation", NONE)


def together(command, options, prompts):
    """The same of several streams at once, prompts and all, from the first one's begin to the last one's end."""
    text = "".join(json.dumps({"prompt": p}) + "\n" for p in prompts)
    lines = lines_of(command, options, text)
    tokens = [t for line in lines for t in line["tokens"]]
    found = [(line.get("speculation", NONE), len(line["tokens"])) for line in lines]
    figures = {k: sum(f[k] for f, _ in found) for k in ("drafted", "accepted")}
    figures["rows_per_token"] = sum(f["rows_per_token"] * n for f, n in found) / max(1, len(tokens))
    return tokens, max(sum(line["timing"][k] for k in ("queue_ms", "prefill_ms", "decode_ms")) for line in lines) / len(tokens), figures


def peer_once(command):
    """(its plain, its speculation) in tokens/s."""
    found = lines_of(command, [])[-1]
    return found["plain_tok_s"], found["spec_tok_s"]


def measure(once, sets, rounds, peer):
    """once(options) as above, in turn without and with speculation, of each set of options; peer: another engine's command, or None."""
    turns = [[] for _ in sets]  # of each set: (plain_ms, ms, figures) of the rounds
    peers = []
    for _ in range(rounds):
        plain, plain_ms, _ = once(["--speculate", "none"])
        for options, turn in zip(sets, turns):
            drafted, ms, figures = once(options)
            if plain != drafted:
                sys.exit(f"speculation: other tokens than without: {plain} {drafted}")
            turn.append((plain_ms, ms, figures))
        if peer:
            peers.append(peer_once(peer))
    found = []
    for turn in turns:
        found.append({"speed": statistics.median(slow / ms for slow, ms, _ in turn), "tokens": len(plain), "ms": plain_ms, **turn[-1][2]})
        if peer:
            found[-1] |= {"peer": statistics.median(fast / slow for slow, fast in peers),
                          "over peer": statistics.median(1000 / ms / fast for (_, ms, _), (_, fast) in zip(turn, peers))}
    return found


def mean_of(values):
    return f"{math.exp(statistics.mean(map(math.log, values))):.2f}" if values else "-"


def row(name, found):
    tokens, drafted, accepted = (sum(f[k] for f in found) for k in ("tokens", "drafted", "accepted"))
    return (name, len(found), mean_of([f["speed"] for f in found]), f"{min(f['speed'] for f in found):.2f}",
            mean_of([f["speed"] / f["speed_up"] for f in found if f.get("speed_up")]), f"{tokens / max(1, tokens - accepted):.2f}", f"{sum(f['rows_per_token'] * f['tokens'] for f in found) / tokens:.2f}",
            f"{accepted} of {drafted}", f"{statistics.median(f['ms'] for f in found):.2f}",
            *[mean_of([f[k] for f in found]) for k in ("peer", "over peer") if k in found[0]])


def print_table(kinds):
    """kinds: {kind: [found of each prompt]}"""
    table = [("prompts", "n", "speed", "worst", "of the steps'", "tokens/step", "rows/token", "right", "plain ms/token",
              *["peer's speed", "over the peer"] * any("peer" in f for found in kinds.values() for f in found))]
    table += [row(kind, found) for kind, found in kinds.items()] + [row("all", [f for found in kinds.values() for f in found])]
    widths = [max(len(str(r[i])) for r in table) for i in range(len(table[0]))]
    for r in table:
        print("  ".join(str(x).ljust(w) if i == 0 else str(x).rjust(w) for i, (x, w) in enumerate(zip(r, widths))), flush=True)


def main():
    argv = sys.argv[1:]
    if "--" not in argv:
        sys.exit(__doc__)
    cut = argv.index("--")
    sets = [[]]
    for word in argv[cut + 1:]:
        if word == "--":
            sets.append([])
        else:
            sets[-1].append(word)
    ap = argparse.ArgumentParser(usage=__doc__)
    ap.add_argument("model", nargs="?")
    ap.add_argument("--prompts", type=pathlib.Path, default=ROOT / "bench/prompts/stories.jsonl")
    ap.add_argument("--kinds", default="")
    ap.add_argument("--rounds", type=int, default=3)
    ap.add_argument("-n", default="128")
    ap.add_argument("-t", default="1")
    ap.add_argument("--temp", default="0")
    ap.add_argument("--chat", action="store_true")
    ap.add_argument("--streams", type=int, default=1)
    ap.add_argument("--peer", default="")
    ap.add_argument("--runnel", default=str(ROOT / "build/release/runnel"))
    a = ap.parse_args(argv[:cut])
    common = [*(["-m", a.model] if a.model else []), "-t", a.t, "-n", a.n, "--temp", a.temp, "--seed", "1"]
    if a.peer and a.streams > 1:
        sys.exit("speculation: --peer measures one stream")

    def fill(word, prompt):
        for name, value in (("{model}", a.model or ""), ("{prompt}", prompt), ("{n}", a.n), ("{t}", a.t)):
            word = word.replace(name, value)
        return word

    kinds = {}
    for line in a.prompts.read_text().splitlines():
        prompt = json.loads(line)
        if a.kinds and prompt["kind"] not in a.kinds.split(","):
            continue
        kinds.setdefault(prompt["kind"], []).append(prompt["prompt"])
    for kind, prompts in kinds.items():
        if a.streams > 1:
            command = [a.runnel, "batch", *common, "--in-order", "--parallel", str(a.streams)]
            tasks = [(lambda options: together(command, options, (prompts * a.streams)[:a.streams]), None)]
        else:
            tasks = [(lambda options, p=p: one([a.runnel, "run", *common, "--json", "-p", p, *["--chat"] * a.chat], options),
                      [fill(word, p) for word in shlex.split(a.peer)]) for p in prompts]
        kinds[kind] = [measure(task, sets, a.rounds, peer) for task, peer in tasks]
    if not kinds:
        sys.exit(f"speculation: --kinds {a.kinds}: there are none in {a.prompts}")
    for i, options in enumerate(sets):
        if len(sets) > 1:
            print(" ".join(options))
        print_table({kind: [of_prompt[i] for of_prompt in found] for kind, found in kinds.items()})


if __name__ == "__main__":
    main()
