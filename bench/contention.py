#!/usr/bin/env python3
"""What is left of generation where others want the cores: bench/contention.py [--rounds 3] [--program FILE] -m MODEL [runnel bench options ...]

In turn: one thread, and two, alone; the same beside a busy loop on the last of the cores; two beside such a loop of nice 10 and of nice 19; two
processes of two threads at once, and two of one. Every process is in a session of its own, so that the system shares the cores between them as
between strangers; but for loops that are nice, since Linux compares niceness within a session (autogroup).
"""
import json
import os
import pathlib
import statistics
import subprocess
import sys

PROGRAM = str(pathlib.Path(__file__).parent.parent / "build/release/runnel")
LOOP = "import os; os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})\nwhile True: pass"


def start(program, threads, options, own_session=True):
    return subprocess.Popen([program, "bench", "-p", "16", "-t", str(threads), "--no-limits", "--json", *options],
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=own_session)


def rate(child):
    out, _ = child.communicate()
    return next(r["median"] for r in json.loads(out)[0]["results"] if r["kind"] == "generation")


def together(program, n, threads, options):
    children = [start(program, threads, options) for _ in range(n)]
    return sum(rate(c) for c in children)


def beside_a_loop(program, threads, options, nice=0):
    loop = subprocess.Popen(["nice", "-n", str(nice), sys.executable, "-c", LOOP], start_new_session=not nice)
    try:
        return rate(start(program, threads, options, own_session=not nice))
    finally:
        loop.kill()
        loop.wait()


CASES = (
    ("one thread", lambda p, o: together(p, 1, 1, o)),
    ("two threads", lambda p, o: together(p, 1, 2, o)),
    ("one thread beside a busy loop on one core", lambda p, o: beside_a_loop(p, 1, o)),
    ("two threads beside a busy loop on one core", lambda p, o: beside_a_loop(p, 2, o)),
    ("two threads beside a busy loop of nice 10", lambda p, o: beside_a_loop(p, 2, o, 10)),
    ("two threads beside a busy loop of nice 19", lambda p, o: beside_a_loop(p, 2, o, 19)),
    ("two processes of two threads, both together", lambda p, o: together(p, 2, 2, o)),
    ("two processes of one thread, both together", lambda p, o: together(p, 2, 1, o)),
)


def main():
    argv, rounds, program = sys.argv[1:], 3, PROGRAM
    while argv[:1] in (["--rounds"], ["--program"]):
        rounds, program = (int(argv[1]), program) if argv[0] == "--rounds" else (rounds, argv[1])
        argv = argv[2:]
    if os.cpu_count() < 2:
        sys.exit("contention.py: needs two processors")
    rates = {name: [] for name, _ in CASES}
    for _ in range(rounds):
        for name, run in CASES:
            rates[name].append(run(program, argv))
    for name, values in rates.items():
        ratios = [v / one for v, one in zip(values, rates["one thread"])]
        print(f"{name:45} {statistics.median(values):9.1f} tokens/s   {statistics.median(ratios):.2f} of one thread"
              f" ({min(ratios):.2f} to {max(ratios):.2f})")


main()
