#!/usr/bin/env python3
"""Measures `runnel serve` under load, and llama-server with the same load in turn: A B A B ..., medians and ratios.

  bench/serve_load.py [--rounds 3] [-t 2] [--few 1] [--many 32] [--decoding 16] [--long 4096] [-n 48] [--extra "OPTIONS"]
                      [--peer LLAMA_SERVER] MODEL.gguf

Every round starts each server anew, and asks over POST /v1/completions as event streams, with prompts of random token ids that share nothing:
  few, many   so many streams at once: all their tokens/s while all of them decode, by the clock and by the server's processor time (which
              other work on the machine hardly changes; with -t 1 it has no waiting threads in it); time to first token
  gaps        --decoding streams: milliseconds between a stream's tokens (p50, p99) without, and while a prompt of --long tokens is read
--peer is llama-server's path ($LLAMA_SERVER). --extra: more options for runnel serve. Machines are shared and noisy: the ratios of one
round hold, single figures do not."""
import argparse
import asyncio
import json
import os
import pathlib
import random
import socket
import statistics
import subprocess
import sys
import time
import urllib.error
import urllib.request

START_S = 300
PROMPT = 32            # tokens of a prompt that is not the long one
READ_LIMIT = 1 << 20


def percentile(values, p):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * p / 100))] if ordered else float('nan')


class Stream:
    """One event stream: when its tokens came. An event of no text counts too: it is a token that did not end a character."""

    def __init__(self, port, prompt, n):
        self.port, self.times = port, []
        self.body = json.dumps({'prompt': prompt, 'max_tokens': n, 'stream': True, 'ignore_eos': True, 'temperature': 1, 'seed': 1}).encode()

    async def run(self):
        reader, writer = await asyncio.open_connection('127.0.0.1', self.port, limit=READ_LIMIT)
        writer.write(b'POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n'
                     b'Content-Length: %d\r\n\r\n%s' % (len(self.body), self.body))
        status = await reader.readline()
        if b' 200 ' not in status:
            sys.exit(f'serve_load: {status.decode().strip()}: {(await reader.read()).decode()[-400:]}')
        self.begin = time.perf_counter()
        while line := await reader.readline():
            if line.startswith(b'data: {') and b'"choices"' in line:
                self.times.append(time.perf_counter())
        writer.close()
        return self

    def gaps(self, begin=0, end=float('inf')):
        """Milliseconds of each that ended in the time."""
        return [1000 * (b - a) for a, b in zip(self.times, self.times[1:]) if begin <= b <= end]


class Server:
    def __init__(self, command, port):
        self.port = port
        self.child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                      stderr=subprocess.DEVNULL)
        end = time.monotonic() + START_S
        while not self.is_ready():
            if self.child.poll() is not None or time.monotonic() > end:
                sys.exit(f'serve_load: {command[0]}: does not start: {" ".join(command)}')
            time.sleep(0.1)

    def is_ready(self):
        try:
            return urllib.request.urlopen(f'http://127.0.0.1:{self.port}/health', timeout=5).status == 200
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            return False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.child.terminate()
        try:
            self.child.wait(30)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()


def free_port():
    with socket.create_server(('127.0.0.1', 0)) as s:
        return s.getsockname()[1]


def prompt(rng, n):
    return [rng.randrange(300, 4000) for _ in range(n)]


def cpu_seconds(pid):
    fields = pathlib.Path(f'/proc/{pid}/stat').read_text().rsplit(')', 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


async def throughput(server, rng, n_streams, n_tokens):
    """(tokens/s of all while all decode, the same by processor time, median time to first token in ms)"""
    clock = []

    async def watch():
        while True:
            clock.append((time.perf_counter(), cpu_seconds(server.child.pid)))
            await asyncio.sleep(0.02)
    watcher = asyncio.create_task(watch())
    streams = await asyncio.gather(*(Stream(server.port, prompt(rng, PROMPT), n_tokens).run() for _ in range(n_streams)))
    watcher.cancel()
    begin, end = max(s.times[0] for s in streams), min(s.times[-2] for s in streams)
    n = sum(begin < t <= end for s in streams for t in s.times)
    used = [min(clock, key=lambda c: abs(c[0] - t))[1] for t in (begin, end)]
    return n / (end - begin), n / max(used[1] - used[0], 0.01), 1000 * statistics.median(s.times[0] - s.begin for s in streams)


async def gaps(port, rng, n_streams, n_long, n_tokens):
    """(gaps without, gaps while the long prompt is read, its time to first token in ms)"""
    streams = [Stream(port, prompt(rng, PROMPT), n_tokens) for _ in range(n_streams)]
    tasks = [asyncio.create_task(s.run()) for s in streams]
    while any(len(s.times) < n_tokens // 4 for s in streams):
        await asyncio.sleep(0.01)
    long = Stream(port, prompt(rng, n_long), 2)
    begin = time.perf_counter()
    await long.run()
    quiet_from = max(s.times[3] for s in streams)
    quiet = [g for s in streams for g in s.gaps(quiet_from, begin)]
    busy = [g for s in streams for g in s.gaps(begin, long.times[0])]
    is_whole = all(not t.done() for t in tasks)
    for t in tasks:
        t.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    if not is_whole:
        print('serve_load: streams ended before the long prompt was read: raise -n', file=sys.stderr)
    return quiet, busy, 1000 * (long.times[0] - begin)


def measure(command, port, a, seed):
    rng = random.Random(seed)
    found = {}
    with Server(command, port) as server:
        asyncio.run(throughput(server, rng, 1, 8))
        for name, n in (('few', a.few), ('many', a.many)):
            names = f'{name} tok/s', f'{name} tok/cpu-s', f'{name} TTFT ms'
            found |= zip(names, asyncio.run(throughput(server, rng, n, a.n)))
        for unit in ('tok/s', 'tok/cpu-s'):
            found[f'many/few {unit}'] = found[f'many {unit}'] / found[f'few {unit}']
        if a.long:
            quiet, busy, found['long TTFT ms'] = asyncio.run(gaps(port, rng, a.decoding, a.long, a.n_gaps))
            for name, values in (('quiet', quiet), ('busy', busy)):
                found[f'{name} p50 ms'], found[f'{name} p99 ms'] = percentile(values, 50), percentile(values, 99)
            found['busy/quiet p99'] = found['busy p99 ms'] / found['quiet p99 ms']
    return found


def main():
    ap = argparse.ArgumentParser(usage=__doc__)
    ap.add_argument('model')
    ap.add_argument('--rounds', type=int, default=3)
    ap.add_argument('-t', default='2')
    ap.add_argument('--few', type=int, default=1)
    ap.add_argument('--many', type=int, default=32)
    ap.add_argument('--decoding', type=int, default=16)
    ap.add_argument('--long', type=int, default=4096, help='0: no gaps')
    ap.add_argument('-n', type=int, default=48, help='tokens of a stream')
    ap.add_argument('--n-gaps', type=int, default=400, help='tokens of a stream whose gaps are measured; it is left when the long prompt was read')
    ap.add_argument('--runnel', default=str(pathlib.Path(__file__).parent.parent / 'build/release/runnel'))
    ap.add_argument('--extra', default='')
    ap.add_argument('--peer', default=os.environ.get('LLAMA_SERVER'))
    a = ap.parse_args()
    n_streams = max(a.few, a.many, a.decoding + 1)
    n_ctx = max(a.long + 64, a.n_gaps + PROMPT + 64)
    port = free_port()
    commands = {'runnel': [a.runnel, 'serve', '-m', a.model, '--port', str(port), '-t', a.t, '--streams', str(n_streams), '-c', str(n_ctx),
                           '--access-log', 'none', *a.extra.split()]}
    if a.peer:
        commands['peer'] = [a.peer, '-m', a.model, '--host', '127.0.0.1', '--port', str(port), '-t', a.t, '-np', str(n_streams),
                            '-c', str(n_ctx * n_streams)]
    rounds = []
    for i in range(a.rounds):
        rounds.append({name: measure(command, port, a, i) for name, command in commands.items()})
        print(json.dumps(rounds[-1]), file=sys.stderr, flush=True)
    for key in rounds[0]['runnel']:
        columns = [f'{key:18}']
        for name in commands:
            values = [r[name][key] for r in rounds]
            columns.append(f'{name} {statistics.median(values):9.2f} ({min(values):.2f} to {max(values):.2f})')
        if a.peer:
            columns.append(f"ratio {statistics.median(r['runnel'][key] / r['peer'][key] for r in rounds):6.2f}")
        print('  '.join(columns))


if __name__ == '__main__':
    main()
