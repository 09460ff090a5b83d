"""tests/serve/traffic.py - what the clients of a soak do: good requests of every kind, in good and in bad manners, and malformed ones.

A catalogue holds requests whose answers are settled beforehand, each asked alone; whoever gets a whole answer later compares. Requests of any
kind at all are in any_requests.py.
"""
import collections
import json
import random
import socket
import struct
import threading
import time

from any_requests import ANY_ACTS
from api import events, joined
from serving import Client, Socket, check, equal

GENERATE, CHAT, COMPLETIONS, RESPONSES, EMBEDDINGS = ('/v1/runnel/generate', '/v1/chat/completions', '/v1/completions', '/v1/responses',
                                                      '/v1/embeddings')
STARTS = ('Once upon a time', 'The cat', 'A big dog', 'One day, Lily', 'Tom and Sam')
BUSY = {409: ('stream_busy',), 429: ('queue_full',), 503: ('shutting_down', 'kv_exhausted', 'queue_timeout')}


def text_of_response(d):
    return [p['text'] for item in d['output'] for p in item.get('content', [])]


# What a whole answer says, and what the events of a stream do.
WHOLE = {
    GENERATE: lambda d: [c['text'] for c in sorted(d['choices'], key=lambda c: c['choice'])],
    CHAT: lambda d: [c['message']['content'] for c in d['choices']],
    COMPLETIONS: lambda d: [c['text'] for c in d['choices']],
    RESPONSES: text_of_response,
    EMBEDDINGS: lambda d: [e['embedding'] for e in d['data']],
}


def by_index(told, index, text):
    texts = collections.defaultdict(str)
    for d in told:
        texts[index(d)] += text(d)
    return [texts[i] for i in sorted(texts)]


STREAMED = {
    GENERATE: lambda told: by_index(told, lambda d: d['choice'], lambda d: d['text']),
    CHAT: lambda told: [joined(told, i)[0]['content'] for i in sorted({c['index'] for d in told for c in d['choices']})],
    COMPLETIONS: lambda told: by_index([c for d in told for c in d['choices']], lambda c: c['index'], lambda c: c['text']),
    RESPONSES: lambda told: text_of_response(told[-1]['response']),
}


def catalogue(rng):
    """[(path, body)] of requests that say the same whenever they are asked."""
    made = [(CHAT, {'messages': [{'role': 'user', 'content': STARTS[0]}], 'seed': 1, 'max_tokens': 8})]
    for _ in range(6):
        start = rng.choice(STARTS)
        prompt = ' '.join([start] * rng.choice((1, 1, 4, 12)))
        common = {'seed': rng.randrange(1 << 30), 'max_tokens': rng.choice((1, 8, 24, 60)), 'temperature': rng.choice((0, 0.8, 1.5))}
        talk = [{'role': 'user', 'content': prompt}]
        made += [(GENERATE, {'prompt': prompt, 'n': rng.choice((1, 2)), **common}),
                 (GENERATE, {'messages': talk, 'logprobs': 3, 'stop': ['.'], **common}),
                 (CHAT, {'messages': talk, 'n': rng.choice((1, 3)), **common}),
                 (COMPLETIONS, {'prompt': [prompt, start], **common}),
                 (RESPONSES, {'input': prompt, 'temperature': 0, 'max_output_tokens': common['max_tokens']}),
                 (EMBEDDINGS, {'input': [prompt, start]})]
    return made


HEAD = 'POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n'
MALFORMED_HTTP = [b'\r\n\r\n', b'\0' * 64, b'GET / HTTP/9.9\r\n\r\n', b'GET  HTTP/1.1\r\n\r\n', b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
                  b'GET /health HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n', b'GET /health HTTP/1.1\r\nno colon\r\n\r\n',
                  b'GET /%2e%2e/health HTTP/1.1\r\nHost: localhost\r\n\r\n', b'\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'] + [
    (HEAD + more).encode() for more in (
        'Content-Length: -1\r\n\r\n{}', 'Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}', 'Content-Length: +2\r\n\r\n{}',
        'Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n', 'Transfer-Encoding: chunked\r\n\r\n2\n{}\n0\n\n',
        'Transfer-Encoding: gzip\r\n\r\n', 'Content-Length: 99999999999\r\n\r\n', 'X: ' + 'y' * 9000 + '\r\n\r\n', 'A:b\r\n' * 101 + '\r\n')]
MALFORMED_JSON = [b'', b'{', b'[]', b'null', b'{"prompt": "a", "prompt": "b"}', b'{"prompt": NaN}', b'{"prompt": "\\ud800"}', b'\xff\xfe{}',
                  b'{"prompt": "a"} {}', b'[' * 100000, b'{"prompt": "a", "n": 1e400}', b'{"prompt": "a", "max_tokens": -2}',
                  b'{"prompt": [-1]}', b'{"prompt": "a", "temperature": "hot"}', b'{"prompt": "a", "stop": [""]}', b'{"prompt": {}}']
MALFORMED_FRAMES = [Socket.frame(1, 'x', mask=None), Socket.frame(3, 'x'), Socket.frame(1, 'x', rsv=4), Socket.frame(9, 'x' * 126),
                    Socket.frame(9, 'x', fin=False), Socket.frame(0, 'x'), Socket.frame(1, b'\xff\xfe'), Socket.frame(8, b'\x03'),
                    Socket.frame(8, struct.pack('>H', 1005)), Socket.frame(2, b'x'), Socket.frame(1, 'x', length=1 << 63),
                    Socket.frame(1, '{'), Socket.frame(1, '{"type": "generate"}'), Socket.frame(1, '{"type": "none", "id": "a"}')]


class Traffic:
    def __init__(self, server, seed):
        self.server, self.rng = server, random.Random(seed)
        self.seed = seed
        self.lock = threading.Lock()
        self.counts = collections.Counter()
        self.failures = []
        self.requests = catalogue(self.rng)
        self.want = {}

    def count(self, *kinds):
        with self.lock:
            self.counts.update(kinds)

    def settle(self):
        """Every request of the catalogue once, alone."""
        for i, (path, body) in enumerate(self.requests):
            answer = self.server.post(path, json.dumps(body))
            equal(answer.status, 200, answer.body)
            self.want[i] = WHOLE[path](answer.json)

    def worker(self, number, is_over):
        rng = random.Random(f'{self.seed}.{number}')
        while not is_over():
            act = rng.choices(*zip(*ACTS.items()))[0]
            self.count(act.__name__)
            try:
                act(self, rng)
            except (AssertionError, OSError, ValueError, KeyError, IndexError, TypeError) as e:
                with self.lock:
                    self.failures.append(f'{act.__name__}: {type(e).__name__}: {" ".join(str(e).split())[:600]}')

    def pick(self, rng, *paths, fits=lambda body: True):
        i = rng.choice([i for i, (path, body) in enumerate(self.requests) if (not paths or path in paths) and fits(body)])
        return (i, *self.requests[i])

    def compare(self, i, got):
        equal(got, self.want[i], f'{self.requests[i]}:')
        self.count('whole answers')

    def take(self, answer, i, path, is_stream):
        """An answer that came to its end: the right one, or a refusal of a server that is busy."""
        if answer.status in BUSY:
            check(answer.json['error']['code'] in BUSY[answer.status], answer.body)
            self.count('refused as busy')
            return
        equal(answer.status, 200, answer.body)
        if not is_stream:
            self.compare(i, WHOLE[path](answer.json))
            return
        told = [d for _, _, d in events(answer.body)]
        if path != RESPONSES:
            equal(told[-1:], ['[DONE]'], 'a stream ended early')
        self.compare(i, STREAMED[path]([d for d in told if d != '[DONE]']))

    def begin(self, rng, fits=lambda body: True, **more):
        """A request: (its number, path, is it a stream, its bytes)."""
        i, path, body = self.pick(rng, fits=fits)
        is_stream = path != EMBEDDINGS and rng.random() < 0.6
        body = json.dumps({**body, **({'stream': True} if is_stream else {}), **more})
        self.count('requests', *(['streams'] if is_stream else []))
        data = (f'POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}').encode()
        return i, path, is_stream, data


# ---- good manners ----------------------------------------------------------------------------------------------------

def ask(t, rng):
    with Client(t.server) as c:
        for _ in range(rng.randrange(1, 4)):
            i, path, is_stream, data = t.begin(rng)
            t.take(c.send(data).answer(), i, path, is_stream)


def ask_ahead(t, rng):
    """Several requests before the first answer is read."""
    with Client(t.server) as c:
        asked = [t.begin(rng) for _ in range(3)]
        c.send(b''.join(data for *_, data in asked))
        for i, path, is_stream, _ in asked:
            t.take(c.answer(), i, path, is_stream)


def look(t, rng):
    path = rng.choice(('/metrics', '/slots', '/props', '/v1/models', '/health', '/ready'))
    equal(t.server.get(path).status, 200, path)
    t.count('requests')


def tokenize(t, rng):
    text = rng.choice(STARTS) * rng.randrange(1, 20)
    tokens = t.server.post('/tokenize', json.dumps({'content': text})).json['tokens']
    equal(t.server.post('/detokenize', json.dumps({'tokens': tokens})).json['content'].strip(), text)
    t.count('requests', 'requests')


def talk_in_a_session(t, rng):
    """A conversation is the same in whatever a session held before; a text would go on from that."""
    with Client(t.server) as c:
        i, path, is_stream, data = t.begin(rng, lambda body: 'messages' in body and body.get('n', 1) == 1, session=f's{rng.randrange(6)}')
        t.take(c.send(data).answer(), i, path, is_stream)


def resume(t, rng):
    """A stream whose connection breaks after some events, and resumes after the last one seen."""
    with Client(t.server) as c:
        i, path, body = t.pick(rng, GENERATE, CHAT, COMPLETIONS)
        t.count('requests', 'streams')
        c.request('POST', path, 'Content-Type: application/json', body=json.dumps({**body, 'stream': True, 'resumable': True}))
        status, headers = c.head()
        if status != 200:
            check(status in BUSY, status)
            return
        name = dict((n.lower(), v) for n, v in headers)['x-runnel-stream']
        seen, most = b'', rng.randrange(0, 12)
        while seen.count(b'data: ') < most and (chunk := c.chunk()):
            seen += chunk
        c.reset()
    t.count('disconnects of streams that go on')
    told = events(seen)
    end = time.monotonic() + 60
    while True:
        more = (f'Last-Event-ID: {told[-1][0]}',) if told else ()
        answer = t.server.get(f'/v1/runnel/streams/{name}', *more)
        if answer.status != 409:
            break
        check(time.monotonic() < end, 'the reader that left still has the stream')
        time.sleep(0.01)
    equal(answer.status, 200, answer.body)
    told += events(answer.body)
    equal([int(k.rsplit('.', 1)[1]) for k, _, _ in told], list(range(1, len(told) + 1)))
    equal(told[-1][2], '[DONE]')
    t.compare(i, STREAMED[path]([d for _, _, d in told[:-1]]))


# ---- WebSockets ------------------------------------------------------------------------------------------------------

CONTROLS = ('pause', 'resume', 'cancel', 'rate', 'credit')


def socket_streams(t, rng):
    w = Socket(t.server.connect(), '/v1/stream')
    with w.client:
        running = {}
        for k in range(rng.randrange(1, 6)):
            i, _, body = t.pick(rng, GENERATE)
            running[f'g{k}'] = [i, body.get('n', 1), '']
            w.send(json.dumps({'type': 'generate', 'id': f'g{k}', **body}))
            t.count('requests', 'streams')
        for _ in range(rng.randrange(4)):
            kind, name = rng.choice(CONTROLS), rng.choice(sorted(running))
            more = {'rate': {'max_tokens_per_second': 200}, 'credit': {'tokens': 1000}}.get(kind, {})
            w.send(json.dumps({'type': kind, 'id': name, **more}))
            t.count(f'socket {kind}')
        for name in running:        # no stream stays paused or without credit
            w.send(json.dumps({'type': 'resume', 'id': name}))
            w.send(json.dumps({'type': 'credit', 'id': name, 'tokens': 1000}))
        if rng.random() < 0.3:
            t.count('disconnects of sockets')
            w.client.reset()
            return
        while running:
            hear(t, running, json.loads(w.text()))


def hear(t, running, m):
    state = running.get(m.get('id'))
    if m['type'] == 'error':        # of a control that came late, or of a server that is busy
        if m['error']['code'] == 'queue_full':
            t.count('refused as busy')
            running.pop(m['id'], None)
        else:
            equal(m['error']['code'], 'stream_not_found', m)
    elif m['type'] == 'chunk':
        state[2] += m['text']
    elif m['type'] in ('end', 'cancelled'):
        del running[m['id']]
        if m['type'] == 'end' and state[1] == 1:
            t.compare(state[0], [state[2]])


# ---- bad manners -----------------------------------------------------------------------------------------------------

def read_slowly(t, rng):
    with Client(t.server) as c:
        c.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        i, path, is_stream, data = t.begin(rng, overflow='park', buffer_tokens=16)
        c.send(data)
        for _ in range(rng.randrange(20)):
            time.sleep(0.005)
            c.buffer += c.socket.recv(rng.randrange(1, 64))
        t.take(c.answer(), i, path, is_stream)


def write_slowly(t, rng):
    with Client(t.server) as c:
        i, path, is_stream, data = t.begin(rng)
        for byte in data:
            c.send(bytes([byte]))
        t.take(c.answer(), i, path, is_stream)


def half_close(t, rng):
    with Client(t.server) as c:
        i, path, is_stream, data = t.begin(rng)
        c.send(data)
        c.socket.shutdown(socket.SHUT_WR)
        t.take(c.answer(), i, path, is_stream)


def leave_early(t, rng):
    """At any moment before the answer has begun: while it waits, or its prompt is read."""
    with Client(t.server) as c:
        *_, data = t.begin(rng)
        c.send(data[:rng.randrange(len(data))] if rng.random() < 0.2 else data)
        time.sleep(rng.choice((0, 0.001, 0.01, 0.05)))
        rng.choice((c.reset, c.close))()
    t.count('disconnects before the answer')


def leave_in_the_middle(t, rng):
    with Client(t.server) as c:
        *_, data = t.begin(rng)
        c.send(data)
        c.socket.recv(rng.randrange(1, 2000))
        rng.choice((c.reset, c.close))()
    t.count('disconnects in the answer')


def send_malformed(t, rng):
    with Client(t.server) as c:
        c.send(rng.choice(MALFORMED_HTTP))
        c.socket.shutdown(socket.SHUT_WR)
        first = c.rest()[:12]
        check(not first.startswith(b'HTTP/1.1 2'), first)


def send_bad_json(t, rng):
    answer = t.server.post(COMPLETIONS, rng.choice(MALFORMED_JSON))
    equal(answer.status, 400, answer.body)
    check(answer.json['error']['code'], answer.body)
    t.count('requests')


def send_bad_frame(t, rng):
    w = Socket(t.server.connect(), '/v1/stream')
    with w.client:
        w.client.send(rng.choice(MALFORMED_FRAMES))
        opcode, payload = w.read()
        check(opcode in (1, 8), opcode, payload)
        if opcode == 1:
            equal(json.loads(payload)['type'], 'error')


ACTS = {ask: 8, ask_ahead: 2, look: 2, tokenize: 2, talk_in_a_session: 3, resume: 4, socket_streams: 6, read_slowly: 3, write_slowly: 2,
        half_close: 2, leave_early: 6, leave_in_the_middle: 4, send_malformed: 3, send_bad_json: 3, send_bad_frame: 2, **ANY_ACTS}
