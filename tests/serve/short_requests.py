#!/usr/bin/env python3
"""tests/serve/short_requests.py [--requests N] [--connections N] [--seed N] - what a server holds while it answers many short requests.

A mix of one-token answers in every dialect, streamed and whole, status routes and refusals (wrong keys, wrong JSON, unknown paths ...), sent
ahead on several connections, of which some end early. Every answer must have its status and say what the first one of its kind said. The
resident memory, descriptors and threads of the server are noted at every twentieth part. Prints them, requests/s, and what went wrong.

The program is $RUNNEL_PROGRAM, as everywhere. `--requests 1000000` is what a busy server answers in a day, and takes some minutes."""
import argparse
import json
import random
import re
import statistics
import sys
import time

from api import chat_model
from serving import Client, Folder, Server, check, equal, held, random_key, wait_until
from soak import threads_of

AHEAD = 32                  # requests sent before an answer is read
POINTS = 20
RISE_BYTES = 64 << 10       # from point to point, their median: what pages of the heap may differ
WARM_UP = 4                 # of the points
JSON = 'Content-Type: application/json'
TALK = [{'role': 'user', 'content': 'a'}]
ONE = {'max_tokens': 1, 'temperature': 0, 'seed': 1}
OLLAMA = {'options': {'num_predict': 1, 'temperature': 0, 'seed': 1}}
# What differs from one answer to the next one.
FLEETING = re.compile(rb'"(id|item_id|\w*cache\w*|request_id|created|created_at|completed_at|[a-z_]*(time|times|duration|_ms|_s|timings|second)s?)": ?("[^"]*"|[\d.e+-]+|\{[^}]*\}|\[[^]]*\]|null)'
                      rb'|(?:chatcmpl|cmpl|resp|msg|req|gen|rs)[-_][\w.-]+|^: .*\n\n', re.M)
# (weight, method, path, body, status, with the key)
MIX = [
    (6, 'GET', '/health', None, 200, False), (1, 'GET', '/ready', None, 200, True), (1, 'GET', '/v1/models', None, 200, True),
    (1, 'GET', '/api/version', None, 200, True), (1, 'GET', '/api/tags', None, 200, True), (1, 'GET', '/version', None, 200, True),
    *((weight, 'POST', path, {**body, **more}, 200, True) for weight, path, body in (
        (4, '/v1/completions', {'prompt': 'a', **ONE}), (4, '/v1/chat/completions', {'messages': TALK, **ONE}),
        (2, '/v1/responses', {'input': 'a', 'temperature': 0, 'seed': 1, 'max_output_tokens': 1}), (2, '/v1/messages', {'messages': TALK, **ONE}),
        (2, '/api/chat', {'messages': TALK, **OLLAMA}), (2, '/api/generate', {'prompt': 'a', **OLLAMA}), (2, '/completion', {'prompt': 'a', **ONE}),
        (2, '/v1/runnel/generate', {'prompt': 'a', **ONE})) for more in ({'stream': False}, {'stream': True})),
    (1, 'POST', '/v1/embeddings', {'input': 'a'}, 200, True), (1, 'POST', '/api/embed', {'input': 'a'}, 200, True),
    (1, 'POST', '/v1/messages/count_tokens', {'messages': TALK}, 200, True), (1, 'POST', '/v1/responses/input_tokens', {'input': 'a'}, 200, True),
    (2, 'POST', '/tokenize', {'content': 'The cat'}, 200, True), (1, 'POST', '/detokenize', {'tokens': [5]}, 200, True),
    (1, 'POST', '/apply-template', {'messages': TALK}, 200, True), (1, 'POST', '/api/show', {'model': 'm'}, 200, True),
    (1, 'GET', '/v1/models/none', None, 404, True), (2, 'GET', '/none', None, 404, True), (1, 'DELETE', '/v1/models', None, 405, True),
    (1, 'POST', '/v1/completions', b'{"prompt": ', 400, True), (1, 'POST', '/v1/messages', b'[]', 400, True), (1, 'POST', '/api/chat', b'x', 400, True),
    (1, 'POST', '/v1/chat/completions', {'messages': TALK, 'top_p': 5}, 400, True), (1, 'POST', '/v1/completions', {'prompt': 'a ' * 600}, 400, True),
    (1, 'POST', '/v1/responses', {'input': 'a', 'previous_response_id': 'resp_none'}, 404, True), (1, 'POST', '/api/pull', {'model': 'm'}, 501, True),
    (1, 'GET', '/v1/models', None, 401, None), (1, 'POST', '/v1/chat/completions', {'messages': TALK, **ONE}, 401, None),
]


def bytes_of(method, path, body, key):
    data = b'' if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f'{method} {path} HTTP/1.1', 'Host: localhost', *([f'Authorization: Bearer {key}'] if key else []),
             *([JSON, f'Content-Length: {len(data)}'] if body is not None else []), '', '']
    return '\r\n'.join(lines).encode() + data


class Asker:
    """What is asked, and how often what came."""

    def __init__(self, seed, key):
        self.rng = random.Random(seed)
        self.data = [bytes_of(method, path, body, key if has_key else 'wrong-' + key if has_key is None else None)
                     for _, method, path, body, _, has_key in MIX]
        self.weights = [weight for weight, *_ in MIX]
        self.said = {}
        self.n, self.n_left, self.n_limited = 0, 0, 0

    def take(self, kind, answer):
        _, method, path, body, status, _ = MIX[kind]
        if answer.status == 429 and status == 401:      # too many wrong keys: then not even these are looked at
            self.n_limited += 1
            return
        equal(answer.status, status, f'{method} {path} {body}: {answer.body[:500]}')
        said = FLEETING.sub(b'', answer.body)
        if path != '/v1/models':
            equal(said, self.said.setdefault(kind, said), f'{method} {path} {body}:')

    def send(self, c):
        kinds = self.rng.choices(range(len(MIX)), self.weights, k=AHEAD)
        c.send(b''.join(self.data[kind] for kind in kinds))
        self.n += AHEAD
        return kinds

    def read(self, c, kinds):
        """False: the connection was left, perhaps before all of its answers had come."""
        n_read = self.rng.randrange(AHEAD) if self.rng.random() < 0.02 else AHEAD
        for kind in kinds[:n_read]:
            self.take(kind, c.answer())
        if n_read == AHEAD and self.rng.random() < 0.9:
            return True
        self.n_left += n_read < AHEAD
        self.rng.choice((c.reset, c.close))()
        return False


def measure(s, n_requests, n_connections, seed, key, note=print):
    """(points of (requests, bytes held, descriptors, threads), requests/s)"""
    asker = Asker(seed, key)
    clients = [None] * n_connections
    points, begin = [], time.monotonic()
    while asker.n < n_requests:
        clients = [c or Client(s) for c in clients]
        asked = [asker.send(c) for c in clients]
        clients = [c if asker.read(c, kinds) else None for c, kinds in zip(clients, asked)]
        if asker.n >= (len(points) + 1) * n_requests // POINTS:
            size, n_fds = held(s)
            points.append((asker.n, size, n_fds, threads_of(s)))
            note(f'{asker.n:9} requests: {size / 2**20:7.2f} MiB, {n_fds} descriptors, {points[-1][3]} threads, '
                 f'{asker.n / (time.monotonic() - begin):.0f}/s, {asker.n_left} connections left early, {asker.n_limited} too many wrong keys')
    for c in clients:
        if c:
            c.close()
    return points, asker.n / (time.monotonic() - begin)


def soak_short(n_requests, n_connections=4, seed=1, note=print):
    """Points of measure(); what must hold of descriptors and threads is checked."""
    with Folder() as folder:
        key = random_key()
        (folder / 'keys').write_text(f'{key}\n{random_key()}\n')
        with Server('-m', f'm={chat_model(folder)}', '-c', '64', '--streams', '8', '--api-key-file', folder / 'keys', '--access-log', folder / 'log',
                    '--responses-mib', '1', program=True) as s:
            idle = held(s)[1], threads_of(s)
            points, _ = measure(s, n_requests, n_connections, seed, key, note)
            wait_until(lambda: held(s)[1] <= idle[0], 'descriptors come back')
            for n, _, n_fds, n_threads in points:
                equal(n_threads, idle[1], f'threads after {n} requests')
                check(n_fds <= idle[0] + 2 * n_connections, f'{n_fds} descriptors after {n} requests, {idle[0]} before')
    return points


def rise(points):
    """Bytes from point to point after the warm-up, the median: a leak is in each of them, what was needed once is in one."""
    sizes = [size for _, size, *_ in points[WARM_UP - 1:]]
    return statistics.median(b - a for a, b in zip(sizes, sizes[1:]))


def main():
    ap = argparse.ArgumentParser(usage=__doc__)
    ap.add_argument('--requests', type=int, default=50000)
    ap.add_argument('--connections', type=int, default=4)
    ap.add_argument('--seed', type=int, default=1)
    a = ap.parse_args()
    points = soak_short(a.requests, a.connections, a.seed, lambda line: print(line, flush=True))
    print(f'memory: {rise(points) / 2**10:.0f} KiB more from point to point (median), {(points[-1][1] - points[WARM_UP - 1][1]) / 2**10:.0f} KiB in all '
          f'after the first {points[WARM_UP - 1][0]} requests')
    sys.exit(rise(points) > RISE_BYTES)


if __name__ == '__main__':
    main()
