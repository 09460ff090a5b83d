#!/usr/bin/env python3
"""What one request does to all others: time of /health and the gaps of another stream, idle and while the request is handled, in turn.

  bench/serve_worst.py [--rounds 3] [-t 1] [--runnel FILE] [--peer OTHER_RUNNEL] [--rates] MODEL.gguf

The requests are the largest that the server accepts. For each: /health every 5 ms (p50, p99, longest), the gaps between the tokens of one
stream (p50, p99), how long the request took and its answer. --rates: requests/s of /health and of completions of one token instead, with
--clients connections. --peer: another build, in turn."""
import argparse
import asyncio
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from serve_load import Server, Stream, free_port, percentile

MIB = 1 << 20
IDLE_S = 1.0


def random_letters(n):
    state, out = 1, bytearray()
    while len(out) < n:
        state = (state * 6364136223846793005 + 1442695040888963407) & (2**64 - 1)
        out += bytes(97 + ((state >> k) & 255) % 26 for k in range(16, 64, 8))
    return out[:n].decode()


def requests():
    letters = random_letters(MIB) * 15
    yield 'tokenize, 15 MiB of one letter', '/tokenize', {'content': 'a' * (15 * MIB)}
    yield 'tokenize, 15 MiB of letters', '/tokenize', {'content': letters}
    yield 'tokenize, 15 MiB of prose', '/tokenize', {'content': 'It was late, and nobody had seen the ship. ' * (15 * MIB // 43)}
    yield 'tokenize, 1 MiB with pieces', '/tokenize', {'content': letters[:MIB], 'with_pieces': True}
    yield 'completion, 15 MiB', '/v1/completions', {'prompt': letters, 'max_tokens': 1}
    yield 'completion, 2 million ids', '/v1/completions', {'prompt': [5] * 2000000, 'max_tokens': 1}
    yield 'template, 15 MiB', '/apply-template', {'messages': [{'role': 'user', 'content': letters}]}
    yield 'chat, 4096 messages, 15 MiB', '/v1/chat/completions', {'messages': [{'role': 'user', 'content': letters[:3800]}] * 4096, 'max_tokens': 1}
    yield '128 answers, 60 KiB', '/v1/completions', {'prompt': 'It was late. ' * 4700, 'max_tokens': 1, 'n': 128}
    yield 'detokenize, 2 million ids', '/detokenize', {'tokens': [400] * 2000000}


async def get(reader, writer, path, body=None):
    head = f'{"POST" if body else "GET"} {path} HTTP/1.1\r\nHost: localhost\r\n'
    if body:
        head += f'Content-Type: application/json\r\nContent-Length: {len(body)}\r\n'
    begin = time.perf_counter()
    writer.write(head.encode() + b'\r\n' + (body or b''))
    lines = (await reader.readuntil(b'\r\n\r\n')).decode().lower().split('\r\n')
    length = next(int(line.split(':')[1]) for line in lines if line.startswith('content-length'))
    await reader.readexactly(length)
    return time.perf_counter() - begin, int(lines[0].split()[1])


class Watch:
    """Polls /health and reads one endless stream, for as long as it runs."""

    def __init__(self, port):
        self.port, self.health, self.streams = port, [], []

    async def poll(self):
        reader, writer = await asyncio.open_connection('127.0.0.1', self.port)
        while True:
            at = time.perf_counter()
            self.health.append((at, 1000 * (await get(reader, writer, '/health'))[0]))
            await asyncio.sleep(0.005)

    async def read(self):
        while True:
            self.streams.append(Stream(self.port, 'It was', 200))
            await self.streams[-1].run()

    def figures(self, begin, end):
        health = [ms for at, ms in self.health if begin <= at <= end]
        gaps = [gap for s in self.streams for gap in s.gaps(begin, end)]
        return {'health p50': percentile(health, 50), 'health p99': percentile(health, 99), 'health max': max(health, default=float('nan')),
                'gap p50': percentile(gaps, 50), 'gap p99': percentile(gaps, 99), 'gap mean': statistics.mean(gaps) if gaps else float('nan')}


async def measure(port, bodies):
    watch = Watch(port)
    tasks = [asyncio.create_task(watch.poll()), asyncio.create_task(watch.read())]
    await asyncio.sleep(0.5)
    found = {}
    for name, path, file in bodies:
        begin = time.perf_counter()
        await asyncio.sleep(IDLE_S)
        middle = time.perf_counter()
        child = await asyncio.create_subprocess_exec(
            'curl', '-s', '-o', '/dev/null', '-w', '%{http_code}', '-H', 'Content-Type: application/json', '-H', 'Expect:', '--data-binary', f'@{file}',
            f'http://127.0.0.1:{port}{path}', stdout=subprocess.PIPE)
        status = (await child.communicate())[0].decode()
        end = time.perf_counter()
        await asyncio.sleep(0.1)                                    # a gap that began meanwhile
        found[name] = {'status': status, 'seconds': end - middle, 'idle': watch.figures(begin, middle), 'busy': watch.figures(middle, end + 0.1)}
    for t in tasks:
        t.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return found


async def rates(port, clients, seconds=3.0):
    async def client(path, body, until, counts):
        reader, writer = await asyncio.open_connection('127.0.0.1', port)
        while time.perf_counter() < until:
            took, status = await get(reader, writer, path, body)
            if status == 200:
                counts.append(took)
        writer.close()
    found = {}
    body = json.dumps({'prompt': 'Once upon a time', 'max_tokens': 1}).encode()
    for name, path, sent in (('health', '/health', None), ('completion', '/v1/completions', body)):
        counts = []
        await asyncio.gather(*(client(path, sent, time.perf_counter() + seconds, counts) for _ in range(clients)))
        found[name + '/s'], found[name + ' p50 ms'] = len(counts) / seconds, 1000 * percentile(counts, 50)
    return found


def main():
    ap = argparse.ArgumentParser(usage=__doc__)
    ap.add_argument('model')
    ap.add_argument('--rounds', type=int, default=3)
    ap.add_argument('--clients', type=int, default=8)
    ap.add_argument('-t', default='1')
    ap.add_argument('--rates', action='store_true')
    ap.add_argument('--runnel', default=str(pathlib.Path(__file__).parent.parent / 'build/release/runnel'))
    ap.add_argument('--peer')
    a = ap.parse_args()
    programs = {'runnel': a.runnel, **({'peer': a.peer} if a.peer else {})}
    rounds = []
    with tempfile.TemporaryDirectory() as folder:
        bodies = []
        for name, path, body in requests() if not a.rates else ():
            file = pathlib.Path(folder, f'{len(bodies)}.json')
            file.write_text(json.dumps(body))
            bodies.append((name, path, file))
        for _ in range(a.rounds):
            rounds.append({})
            for program, path in programs.items():
                port = free_port()
                with Server([path, 'serve', '-m', a.model, '--port', str(port), '-t', a.t, '--access-log', 'none'], port):
                    rounds[-1][program] = asyncio.run(rates(port, a.clients) if a.rates else measure(port, bodies))
            print(json.dumps(rounds[-1]), file=sys.stderr, flush=True)
    for program in programs:
        for key, value in rounds[0][program].items():
            if a.rates:
                print(f'{program:8} {key:18}', *(f'{r[program][key]:9.2f}' for r in rounds))
                continue
            print(f'{program:8} {key:32} {value["status"]}', *(f'{r[program][key]["seconds"]:6.2f} s' for r in rounds))
            for figure in value['idle']:
                print(f'{"":14}{figure:12}', *(f'{r[program][key]["idle"][figure]:8.2f} -> {r[program][key]["busy"][figure]:8.2f} ms' for r in rounds))


if __name__ == '__main__':
    main()
