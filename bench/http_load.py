#!/usr/bin/env python3
"""Measures the HTTP side of `runnel serve`, and that of another build with the same load in turn: A B A B ..., medians and ratios.

  bench/http_load.py [--rounds 5] [--seconds 2] [--other RUNNEL] [-m MODEL.gguf] RUNNEL

RUNNEL and the other one are paths of the program. Every round starts each server anew and measures, with plain sockets:
  health    GET /health, one request after the other on a connection that stays: requests/s, microseconds p50 and p99
  connect   the same with a new connection for each request
  ahead     GET /health, 64 requests sent ahead at a time: requests/s
  token     POST /v1/completions with one token of the prompt and of the answer, on a connection that stays
"cpu" is the server's processor time for a request, which other work on the machine hardly changes. Machines are shared and noisy: the ratios
hold, single figures do not."""
import argparse
import json
import os
import pathlib
import re
import socket
import statistics
import subprocess
import sys
import time

START_S = 120
AHEAD = 64
TICKS = os.sysconf('SC_CLK_TCK')
HEALTH = b'GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n'
BODY = json.dumps({'prompt': 'a', 'max_tokens': 1, 'temperature': 0}).encode()
TOKEN = (b'POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n' % len(BODY)) + BODY


class Server:
    def __init__(self, program, model):
        self.child = subprocess.Popen([program, 'serve', '--port', '0', '--access-log', 'none', *(['-m', model] if model else [])],
                                      stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        said, end = b'', time.monotonic() + START_S
        while not (match := re.search(rb'listening at http://127.0.0.1:(\d+)', said)):
            line = self.child.stderr.readline()
            said += line
            if not line or time.monotonic() > end:
                sys.exit(f'http_load: {program} does not start: {said.decode()}')
        self.port = int(match[1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.child.terminate()
        self.child.wait()

    def cpu_s(self):
        fields = pathlib.Path(f'/proc/{self.child.pid}/stat').read_text().rsplit(')', 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def connect(self):
        s = socket.create_connection(('127.0.0.1', self.port))
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return s


def read_answers(s, n):
    """Reads n answers of a known length; their bytes."""
    data, at = b'', 0
    while n:
        end = data.find(b'\r\n\r\n', at)
        if end >= 0:
            length = int(re.search(rb'(?i)content-length: (\d+)', data[at:end])[1])
            if not data.startswith(b'HTTP/1.1 200 ', at):
                sys.exit(f'http_load: {data[at:end].decode()}')
            if len(data) >= end + 4 + length:
                at, n = end + 4 + length, n - 1
                continue
        more = s.recv(1 << 16)
        if not more:
            sys.exit('http_load: the connection ended')
        data += more
    return data


def measure(server, seconds, once, n_each=1):
    times, cpu, begin = [], server.cpu_s(), time.perf_counter()
    while (now := time.perf_counter()) - begin < seconds:
        once()
        times.append((time.perf_counter() - now) / n_each)
    n, wall = len(times) * n_each, time.perf_counter() - begin
    times.sort()
    return {'per s': n / wall, 'p50 us': 1e6 * times[len(times) // 2], 'p99 us': 1e6 * times[int(len(times) * 0.99)],
            'cpu us': 1e6 * (server.cpu_s() - cpu) / n}


def round_of(program, model, seconds):
    with Server(program, model) as server:
        s = server.connect()

        def ask(request, n=1):
            s.sendall(request * n)
            read_answers(s, n)

        def ask_anew():
            with server.connect() as new:
                new.sendall(HEALTH)
                read_answers(new, 1)
        ask(TOKEN)
        figures = {'health': measure(server, seconds, lambda: ask(HEALTH)), 'connect': measure(server, seconds, ask_anew),
                   'ahead': measure(server, seconds, lambda: ask(HEALTH, AHEAD), AHEAD), 'token': measure(server, seconds, lambda: ask(TOKEN))}
        s.close()
        return figures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--rounds', type=int, default=5)
    parser.add_argument('--seconds', type=float, default=2)
    parser.add_argument('--other')
    parser.add_argument('-m', dest='model')
    parser.add_argument('program')
    a = parser.parse_args()
    programs = [p for p in (a.program, a.other) if p]
    rounds = [[round_of(p, a.model, a.seconds) for p in programs] for _ in range(a.rounds)]
    for load in rounds[0][0]:
        for figure in rounds[0][0][load]:
            values = [[r[i][load][figure] for r in rounds] for i in range(len(programs))]
            line = f'{load:8} {figure:7}' + ''.join(f'{statistics.median(v):12.1f}' for v in values)
            if a.other:
                line += f'   ratio {statistics.median(x / y for x, y in zip(*values)):.2f}'
            print(line)


if __name__ == '__main__':
    main()
