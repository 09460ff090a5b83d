#!/usr/bin/env python3
"""Prompt lookup over llama.cpp's library: the peer of `--speculate ngram` in bench/speculation.py, as long as no program of llama.cpp's is at hand.

  bench/llama_lookup.py DRIVER MODEL TEXT [-n 128] [-t 1] [--draft 10] [--ngram 2]

DRIVER: a Python file that drives libllama (classes Model and Context, load()). Drafts are those of llama-cpp-python's LlamaPromptLookupDecoding: of the
text's last --ngram tokens, or fewer, the first earlier occurrence; the --draft tokens behind it. Greedy, first plainly and then with drafts; prints JSON with
plain_tok_s and spec_tok_s, and fails where the two texts differ within the first eight tokens: later on llama.cpp's sums of a batch and of one row may part.
Of a driver in Python a token takes a fraction of a millisecond, of both runs."""
import argparse
import importlib.util
import json
import sys
import time


def find(ids, longest, most):
    """The guesses behind ids."""
    for n in range(min(longest, len(ids) - 1), 0, -1):
        end = ids[-n:]
        for i in range(len(ids) - n):
            if ids[i:i + n] == end:
                return ids[i + n:i + n + most]
    return []


def decode(context, prompt, n, guess):
    """(tokens, seconds of all steps behind the prompt, steps, guesses, how many were right)"""
    context.eval(prompt)
    out, at = [int(context.row(-1).argmax())], len(prompt)
    steps = drafted = right = 0
    begin = time.perf_counter()
    while len(out) < n:
        guesses = guess(prompt + out)
        context.eval([out[-1], *guesses], at, every=True)
        said = [int(context.row(i).argmax()) for i in range(len(guesses) + 1)]
        good = next((i for i, g in enumerate(guesses) if said[i] != g), len(guesses))
        out += said[:good + 1]
        at += good + 1
        context.keep(at)
        steps, drafted, right = steps + 1, drafted + len(guesses), right + good
    return out, time.perf_counter() - begin, steps, drafted, right


def main():
    ap = argparse.ArgumentParser(usage=__doc__)
    ap.add_argument("driver")
    ap.add_argument("model")
    ap.add_argument("text")
    ap.add_argument("-n", type=int, default=128)
    ap.add_argument("-t", type=int, default=1)
    ap.add_argument("--draft", type=int, default=10)
    ap.add_argument("--ngram", type=int, default=2)
    a = ap.parse_args()
    spec = importlib.util.spec_from_file_location("driver", a.driver)
    driver = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(driver)
    model = driver.Model(driver.load(), a.model)
    ids = model.tokenize(a.text)
    runs = [decode(driver.Context(model, len(ids) + a.n + a.draft + 8, a.t), ids, a.n, guess)
            for guess in (lambda _: [], lambda text: find(text, a.ngram, a.draft))]
    (plain, plain_s, plain_steps, _, _), (out, s, steps, drafted, right) = runs
    if plain[:8] != out[:8]:
        sys.exit(f"llama_lookup: other tokens than without drafts: {out[:8]}, {plain[:8]}")
    print(json.dumps({"plain_tok_s": plain_steps / plain_s, "spec_tok_s": (len(out) - 1) / s, "tokens_per_step": (len(out) - 1) / steps,
                      "drafted": drafted, "accepted": right, "same": out[:a.n] == plain[:len(out)][:a.n]}))


if __name__ == "__main__":
    main()
