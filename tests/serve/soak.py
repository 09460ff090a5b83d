#!/usr/bin/env python3
"""tests/serve/soak.py [--minutes M] [--seed N] [--workers N] - random traffic against one server, and what must still hold at its end.

The program is $RUNNEL_PROGRAM, as everywhere; `./dev soak` runs it built with sanitizers. Prints the seed, the counts by kind, the memory
held from moment to moment, and `soak: N passed, N failed`: whole answers that were as they are alone, and things that went wrong."""
import argparse
import json
import os
import re
import signal
import sys
import threading
import time

import serving
from api import chat_model, events
from rank_model import reranker
from serving import Folder, Server, check, equal, held, wait_until
from traffic import GENERATE, Traffic

SHOWN = 20
GROWTH_MIB = 64             # from the middle of the time to its end, where that is long enough to tell
CURVE_POINTS = 20
REPORT = re.compile(r'Sanitizer|runtime error:|Assertion')
# A small quarantine: what was freed does not pile up and hide what was not.
os.environ['ASAN_OPTIONS'] = 'detect_leaks=1:allocator_may_return_null=1:quarantine_size_mb=8'
os.environ['UBSAN_OPTIONS'] = 'print_stacktrace=1:halt_on_error=1'
os.environ['TSAN_OPTIONS'] = 'halt_on_error=1:allocator_may_return_null=1'


def drained(s):
    """Streams that run when SIGTERM comes end whole, and the program ends with 0."""
    clients = [s.connect() for _ in range(3)]
    for i, c in enumerate(clients):
        body = {'prompt': 'Once upon a time', 'seed': i, 'max_tokens': 40, 'max_tokens_per_second': 40, 'stream': True, 'ignore_eos': True}
        c.request('POST', GENERATE, 'Content-Type: application/json', body=json.dumps(body))
        c.head()
    s.signal(signal.SIGTERM)
    for c in clients:
        told = events(b''.join(c.chunks()))
        equal(told[-1][2], '[DONE]')
        c.close()
    equal(s.wait(), 0, s.said[-3000:])


def traffic_for(t, seconds, n_workers, s):
    """The memory held, second by second."""
    end, curve = time.monotonic() + seconds, []
    is_over = lambda: time.monotonic() > end or s.child.poll() is not None     # noqa: E731
    workers = [threading.Thread(target=t.worker, args=(i, is_over)) for i in range(n_workers)]
    for w in workers:
        w.start()
    while not is_over():
        curve.append(held(s)[0] >> 20)
        time.sleep(min(1, seconds / 10))
    for w in workers:
        w.join()
    return curve


def attempt(t, what, fn, *args):
    try:
        return fn(*args)
    except (AssertionError, OSError, ValueError) as e:
        t.failures.append(f'{what}: {" ".join(str(e).split())[:2000]}')
    return None


def soak(seconds, seed, n_workers=12):
    """The traffic, ended: counts and failures."""
    # What it keeps for later requests reaches its limits within the first minute: after that memory stays as it is.
    with Folder() as folder, Folder() as other, Server(
            '-m', f'm={chat_model(folder)}', '-m', f'r={reranker(other)}', '-t', '1', '-c', '256', '--streams', '4', '--queue', '24',
            '--access-log', 'none', '--ping-seconds', '1', '--drain-seconds', '60', '--resume-mib', '2', '--responses-mib', '1',
            program=True, log=None) as s:
        t = Traffic(s, seed)
        t.settle()
        curve = traffic_for(t, seconds, n_workers, s)
        if s.child.poll() is None:
            attempt(t, 'streams that nobody reads any more', wait_until, lambda: not s.working(), 'the server is idle', serving.WAIT_S)
            attempt(t, 'SIGTERM', drained, s)
        if s.child.poll() != 0:
            t.failures.append(f'the server ended with {s.child.poll()}')
        if REPORT.search(s.said):
            t.failures.append('what a sanitizer says is printed above')
            print(s.said[-8000:], file=sys.stderr)
    t.curve = [curve[i * len(curve) // CURVE_POINTS] for i in range(CURVE_POINTS)] + curve[-1:]
    if seconds >= 300 and curve[-1] > curve[len(curve) // 2] + GROWTH_MIB:
        t.failures.append(f'memory grows: {t.curve} MiB')
    check(t.counts['whole answers'] or t.failures, 'no answer was whole')
    return t


def main():
    ap = argparse.ArgumentParser(usage=__doc__)
    ap.add_argument('--minutes', type=float, default=10)
    ap.add_argument('--seed', type=int, default=int(time.time()))
    ap.add_argument('--workers', type=int, default=12)
    a = ap.parse_args()
    serving.WAIT_S = 180        # instrumented code on a busy machine: only what hangs may fail by time
    print(f'soak: {serving.PROGRAM}, {a.minutes:g} minutes, --seed {a.seed}', flush=True)
    t = soak(60 * a.minutes, a.seed, a.workers)
    for kind, n in sorted(t.counts.items()):
        print(f'{n:8} {kind}')
    print(f'memory held, MiB: {" ".join(map(str, t.curve))}')
    for failure in t.failures[:SHOWN]:
        print(f'FAIL {failure}')
    print(f'soak: {t.counts["whole answers"]} passed, {len(t.failures)} failed')
    sys.exit(bool(t.failures))


if __name__ == '__main__':
    main()
