#!/usr/bin/env python3
"""tests/serve/soak.py [--minutes M] [--seed N] [--workers N] [--each SECONDS] [--wait SECONDS] [--plain] - random traffic against servers, one after the other,
each for --each seconds with options drawn at random (soak_options.py; --plain: with one set of options), and what must still hold at the end of each.

The program is $RUNNEL_PROGRAM, as everywhere; `./dev soak` runs it built with sanitizers. Prints the seed, each server's options and the memory
that it held from moment to moment, the counts by kind, and `soak: N passed, N failed`: whole answers that were as they are alone, and things
that went wrong."""
import argparse
import faulthandler
import json
import math
import os
import pathlib
import random
import re
import shlex
import signal
import sys
import threading
import time

import serving
from any_requests import Refused
from api import chat_model, events, with_holes
from certificates import make_certificate
from rank_model import reranker
from serving import Folder, Server, check, equal, held, random_key, wait_until
from soak_options import FITTING, arguments, draw
from traffic import ALIAS, COVERED, GENERATE, Traffic

SHOWN = 20
EACH_S = 120                # traffic on one server
GROWTH_MIB = 64             # from the middle of the time to its end, where that is long enough to tell
CURVE_POINTS = 12
REPORT = re.compile(r'Sanitizer|runtime error:|Assertion')
PLAIN = {'--threads': 1, '--ctx': 256, '--streams': 4, '--queue': 24, '--access-log': 'none', '--ping-seconds': 1, '--drain-seconds': 60,
         '--resume-mib': 16, '--responses-mib': 1}
# A small quarantine: what was freed does not pile up and hide what was not.
os.environ['ASAN_OPTIONS'] = 'detect_leaks=1:allocator_may_return_null=1:quarantine_size_mb=8'
os.environ['UBSAN_OPTIONS'] = 'print_stacktrace=1:halt_on_error=1'
os.environ['TSAN_OPTIONS'] = 'halt_on_error=1:allocator_may_return_null=1'


class Keys:
    """The file of a server's keys: some that stay, and one that comes and goes."""

    def __init__(self, path):
        self.path, self.stay, self.guest = path, [random_key() for _ in range(3)], random_key()
        self.write(True)

    def write(self, has_guest):
        lines = ['# keys of a soak', *self.stay[:1], *([f'guest:{self.guest}'] if has_guest else []), *(f'k{i}:{k}' for i, k in enumerate(self.stay[1:]))]
        self.path.write_text('\n'.join(lines) + '\n')

    def come_and_go(self, s, rng, is_over):
        n = 0
        while not is_over():
            n += 1
            self.write(n % 2 == 0)
            s.signal(signal.SIGHUP)
            wait_until(lambda: is_over() or s.said.count('keys: reloaded') >= n, 'the keys were read again', serving.WAIT_S)
            time.sleep(rng.uniform(0.2, 2))


def threads_of(server):
    return int(re.search(r'Threads:\s+(\d+)', pathlib.Path(f'/proc/{server.child.pid}/status').read_text())[1])


def idle_at_last(s):
    try:
        wait_until(lambda: not s.working(), 'the server is idle', serving.WAIT_S)
    except AssertionError as e:
        raise AssertionError(f'{e}: {s.working()}') from e


def check_whole(t, told):
    try:
        t.unless_broken(told)
    except Refused:
        check('--queue-seconds' in t.options, told[-1])     # it waited for longer
        return
    equal(told[-1], '[DONE]')


def drained(t):
    """Streams that run when SIGTERM comes end whole, and the program ends with 0."""
    s = t.server
    clients = [s.connect() for _ in range(3)]
    for i, c in enumerate(clients):
        body = {'prompt': 'Once upon a time', 'seed': i, 'max_tokens': 40, 'max_tokens_per_second': 40, 'stream': True, 'ignore_eos': True}
        c.request('POST', GENERATE, 'Content-Type: application/json', body=json.dumps(body))
    begun = [(c, c.head()[0]) for c in clients]
    s.signal(signal.SIGTERM)
    for c, status in begun:
        if status == 429 and {'--key-tokens-per-minute', '--max-connections-per-address'} & set(t.options):
            c.close()
            continue
        equal(status, 200)
        told = [d for _, _, d in events(b''.join(c.chunks()))]
        c.close()
        check_whole(t, told)
    equal(t.base.wait(), 0, s.said[-3000:])


def traffic_for(t, seconds, n_workers, s, keys):
    """The memory held, second by second."""
    end, curve = time.monotonic() + seconds, []
    is_over = lambda: time.monotonic() > end or s.child.poll() is not None     # noqa: E731
    workers = [threading.Thread(target=t.worker, args=(f'{s.port}.{i}', is_over)) for i in range(n_workers)]
    if keys:
        workers.append(threading.Thread(target=attempt, args=(t, 'SIGHUP', keys.come_and_go, s, random.Random(t.seed), is_over)))
    for w in workers:
        w.start()
    while not is_over():
        curve.append(held(s)[0] >> 20)
        time.sleep(min(1, seconds / 10))
    for w in workers:
        w.join()
    return curve


def attempt(t, what, fn, *args):
    """Calls fn; what goes wrong is a failure of the traffic."""
    try:
        return fn(*args)
    except (AssertionError, OSError, ValueError, TypeError) as e:
        t.failures.append(f'{what}: {" ".join(str(e).split())[:2000]}')
    return None


def planned_mib(models, drawn, folder):
    """What a server with these options plans."""
    with Server(*models, *arguments(drawn, folder), program=True, log=None) as s:
        number, unit = wait_until(lambda: re.search(r'^together\s+([\d.]+) (\S+)$', s.said, re.M), 'a plan').groups()
    return math.ceil(float(number) * {'KiB': 1 / 1024, 'MiB': 1, 'GiB': 1024}[unit])


def command_of(models, drawn, folder):
    memory = planned_mib(models, drawn, folder) + 4 if drawn.get('--memory') == FITTING else None
    return [*models, *arguments(drawn, folder, memory)]


def ask_one_server(t, seconds, n_workers, models, drawn, folder):
    """Traffic on a server of its own, from its start to its end."""
    keys = Keys(folder / 'keys') if '--api-key-file' in drawn else None
    args = command_of(models, drawn, folder)
    print(f'soak: {shlex.join(map(str, args[len(models):]))}', flush=True)
    with Server(*args, program=True, log=None) as s:
        t.visit(s, drawn, keys.stay if keys else (), keys and keys.guest)
        t.be(t.rng)
        equal(t.server.get('/health').status, 200)
        # The first grammar begins the thread that makes masks ahead.
        equal(t.server.post('/v1/runnel/generate', json.dumps({'prompt': 'x', 'regex': '[a-z ]{8}', 'max_tokens': 8})).status, 200)
        idle = held(s)[1], threads_of(s)
        curve = traffic_for(t, seconds, n_workers, s, keys)
        if s.child.poll() is None:
            t.be(t.rng)
            attempt(t, 'streams that nobody reads any more', idle_at_last, t.server)
            attempt(t, 'connections that nobody has any more', wait_until, lambda: held(s)[1] <= idle[0], 'descriptors come back', serving.WAIT_S)
            attempt(t, 'threads', equal, threads_of(s), idle[1])
            attempt(t, 'SIGTERM', drained, t)
        if s.child.poll() != 0:
            t.failures.append(f'the server ended with {s.child.poll()}')
        if REPORT.search(s.said):
            t.failures.append('what a sanitizer says is printed above')
            print(s.said[-8000:], file=sys.stderr)
    points = [curve[i * len(curve) // CURVE_POINTS] for i in range(CURVE_POINTS)] + curve[-1:]
    print(f'soak: memory held, MiB: {" ".join(map(str, points))}', flush=True)
    if seconds >= EACH_S and curve[-1] > curve[len(curve) // 2] + GROWTH_MIB:
        t.failures.append(f'memory grows: {points} MiB')


def soak(seconds, seed, n_workers=12, each_s=EACH_S, is_plain=False):
    """The traffic, ended: counts and failures."""
    t = Traffic(seed)
    settled = {}
    with Folder() as folder, Folder() as other:
        models = ['-m', f'm={chat_model(folder)}', '-m', f'r={reranker(other)}', '-m', f'h={with_holes(other)}', '--alias', f'{ALIAS}=m']
        n_servers = max(1, round(seconds / each_s))
        for _ in range(n_servers):
            drawn = dict(PLAIN) if is_plain else draw(t.rng)
            if '--tls-cert' in drawn:
                make_certificate(folder)
            kind = drawn.get('--kv-type')
            if kind not in settled:         # the one option that changes a text
                with Server(*models, '--threads', '1', '--ctx', '256', *(['--kv-type', kind] if kind else []), program=True, log=None) as s:
                    t.settle(s)
                settled[kind] = t.want
            t.want = settled[kind]
            ask_one_server(t, seconds / n_servers, n_workers, models, drawn, folder)
    missed = sorted(map(' '.join, COVERED - set(t.routes)))
    if missed and seconds >= 2 * EACH_S:
        t.failures.append(f'routes that nobody asked: {missed}')
    check(t.counts['whole answers'] or t.failures, 'no answer was whole')
    return t


def main():
    ap = argparse.ArgumentParser(usage=__doc__)
    ap.add_argument('--minutes', type=float, default=10)
    ap.add_argument('--seed', type=int, default=int(time.time()))
    ap.add_argument('--workers', type=int, default=12)
    ap.add_argument('--each', type=float, default=EACH_S)
    ap.add_argument('--plain', action='store_true')
    ap.add_argument('--wait', type=float, default=180, help='seconds until something is taken to hang')
    a = ap.parse_args()
    faulthandler.register(signal.SIGUSR1)       # shows what each client waits for
    serving.WAIT_S = a.wait      # instrumented code on a busy machine: only what hangs may fail by time
    print(f'soak: {serving.PROGRAM}, {a.minutes:g} minutes, --seed {a.seed}', flush=True)
    t = soak(60 * a.minutes, a.seed, a.workers, a.each, a.plain)
    for kind, n in sorted(t.counts.items()):
        print(f'{n:8} {kind}')
    for failure in list({f[:80]: f for f in t.failures}.values())[:SHOWN]:
        print(f'FAIL {failure}')
    print(f'soak: {t.counts["whole answers"]} passed, {len(t.failures)} failed')
    sys.exit(bool(t.failures))


if __name__ == '__main__':
    main()
