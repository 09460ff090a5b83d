#!/usr/bin/env python3
"""Milliseconds from starting the program to the first byte of text: bench/first_text.py [--runs 20] [runnel run options ...]"""
import pathlib
import statistics
import subprocess
import sys
import time

PROGRAM = pathlib.Path(__file__).parent.parent / "build/release/runnel"


def one(options):
    begin = time.perf_counter()
    with subprocess.Popen([PROGRAM, "run", *options], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, bufsize=0) as child:
        child.stdout.read(1)
        taken = time.perf_counter() - begin
        child.stdout.read()
    return 1000 * taken


def main():
    argv, runs = sys.argv[1:], 20
    if argv[:1] == ["--runs"]:
        runs, argv = int(argv[1]), argv[2:]
    times = sorted(one(argv or ["Once upon a time", "-n", "8"]) for _ in range(runs + 1))[:-1]   # the slowest start warms the cache
    print(f"first text after {statistics.median(times):.1f} ms (median of {len(times)}; {times[0]:.1f} to {times[-1]:.1f})")


main()
