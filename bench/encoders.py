#!/usr/bin/env python3
"""Measures an encoder's texts per second in turn with other engines', A B A B ..., and prints medians and the ratios round by round.

  bench/encoders.py MODEL [--texts 32] [--least 20] [--most 256] [--vocab 30000] [-t 1] [--rounds 5] [--rows 0] [--cpu SET] [--peer NAME=COMMAND]...

The texts are random ids of 1,000 to --vocab, of lengths spread evenly over --least to --most, the same for all. COMMAND is another engine's encoder, split as
a shell would; {model}, {ids} (a file with a text's ids a line) and {t} are filled in. For each line of its stdin it evaluates all texts once and prints
JSON with `ms`, the first time (which is not counted) also with `vectors`, the mean of each text's rows. All programs stay open; one works at a time. `cosine`
is the least one between a text's vector and ours.
  bench/encoders.py m.gguf --peer "llama.cpp=bench/llama_encoders.py LIBRARIES {model} --ids {ids} -t {t}" --peer "torch=PYTHON bench/hf_encoders.py FOLDER --ids {ids} -t {t}"
--rows: most rows of one of our steps; --cpu: our kernel set."""
import argparse
import json
import math
import pathlib
import random
import shlex
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).parents[1]
PAUSE_S = 0.3   # in which the threads of the one before fall asleep


class Engine:
    def __init__(self, name, command):
        self.name, self.ms = name, []
        self.child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.vectors = self.evaluate()["vectors"]

    def evaluate(self):
        try:
            self.child.stdin.write("\n")
            self.child.stdin.flush()
        except BrokenPipeError:
            pass
        line = self.child.stdout.readline()
        if not line:
            sys.exit(f"encoders: {self.name}: exit {self.child.wait()}")
        return json.loads(line)

    def close(self):
        self.child.stdin.close()
        if self.child.wait():
            sys.exit(f"encoders: {self.name}: exit {self.child.returncode}")


def cosine(a, b):
    return sum(x * y for x, y in zip(a, b)) / math.sqrt(sum(x * x for x in a) * sum(y * y for y in b))


def row(engine, ours, n_texts, n_tokens):
    ratio = [x / y for x, y in zip(engine.ms, ours.ms)]
    ms = statistics.median(engine.ms)
    return (engine.name, f"{n_texts * 1000 / ms:.1f}", f"{n_tokens * 1000 / ms:.0f}", f"{statistics.median(ratio):.2f} ({min(ratio):.2f} to {max(ratio):.2f})",
            f"{min(map(cosine, engine.vectors, ours.vectors)):.6f}")


def main():
    ap = argparse.ArgumentParser(usage=__doc__)
    ap.add_argument("model")
    ap.add_argument("--texts", type=int, default=32)
    ap.add_argument("--least", type=int, default=20)
    ap.add_argument("--most", type=int, default=256)
    ap.add_argument("--vocab", type=int, default=30000)
    ap.add_argument("-t", default="1")
    ap.add_argument("--rounds", type=int, default=5)
    ap.add_argument("--rows", default="0")
    ap.add_argument("--cpu")
    ap.add_argument("--peer", action="append", default=[])
    ap.add_argument("--program", default=str(ROOT / "build/release/bench/encoder_texts"))
    a = ap.parse_args()
    if any("=" not in peer for peer in a.peer):
        sys.exit("encoders: --peer NAME=COMMAND")
    draw = random.Random(1)
    lengths = [a.least + (a.most - a.least) * i // max(a.texts - 1, 1) for i in range(a.texts)]
    draw.shuffle(lengths)
    with tempfile.TemporaryDirectory() as folder:
        ids = pathlib.Path(folder) / "ids"
        ids.write_text("".join(" ".join(str(draw.randrange(min(1000, a.vocab // 2), a.vocab)) for _ in range(n)) + "\n" for n in lengths))

        def fill(word):
            for name, value in (("{model}", a.model), ("{ids}", ids), ("{t}", a.t)):
                word = word.replace(name, str(value))
            return word

        engines = [Engine("runnel", [a.program, a.model, ids, a.t, a.rows, *([a.cpu] if a.cpu else [])])]
        engines += [Engine(name, [fill(w) for w in shlex.split(command)]) for name, command in (peer.split("=", 1) for peer in a.peer)]
        for _ in range(a.rounds):
            for engine in engines:
                time.sleep(PAUSE_S)
                engine.ms.append(engine.evaluate()["ms"])
        for engine in engines:
            engine.close()
    print(f"{a.texts} texts of {a.least} to {a.most} tokens, {sum(lengths)} in all, {a.rounds} rounds, {a.t} threads")
    table = [("", "texts/s", "tokens/s", "times our time", "cosine")] + [row(e, engines[0], a.texts, sum(lengths)) for e in engines]
    widths = [max(len(r[i]) for r in table) for i in range(len(table[0]))]
    for r in table:
        print("  ".join(x.ljust(w) if i == 0 else x.rjust(w) for i, (x, w) in enumerate(zip(r, widths))))


if __name__ == "__main__":
    main()
