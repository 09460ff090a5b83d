"""tests/serve/traffic.py - what the clients of a soak do: good requests of every kind, in good and in bad manners, and malformed ones.

A catalogue holds requests whose answers are settled beforehand, each asked alone; whoever gets a whole answer later compares. Requests of any
kind at all are in any_requests.py. soak_test.py holds both to the server's table of routes.
"""
import collections
import json
import random
import socket
import struct
import threading
import time

from any_requests import ANY_ACTS, BUSY_CODES, Refused, ask_anything, check_refusal, follow_a_response, is_busy, open_socket, unless_refused
from api import events, joined
from request_fields import CHAT, COMPLETIONS, COUNT, DETOKENIZE, EMBEDDINGS, GENERATE, LLAMA, MESSAGES_OF_ANTHROPIC, OLLAMA_CHAT, OLLAMA_EMBED, OLLAMA_GENERATE, \
    RERANK, RESPONSES, ROUTES, TOKENIZE
from serving import Client, Server, Socket, check, equal

ALIAS = 'org/m:small'       # of the model `m`
ORIGIN = 'https://chat.example'
STARTS = ('Once upon a time', 'The cat', 'A big dog', 'One day, Lily', 'Tom and Sam')


def text_of_response(d):
    return [p['text'] for item in d['output'] for p in item.get('content', [])]


# What a whole answer says, and what the events of a stream do.
WHOLE = {
    GENERATE: lambda d: [c['text'] for c in sorted(d['choices'], key=lambda c: c['choice'])],
    CHAT: lambda d: [c['message']['content'] for c in d['choices']],
    COMPLETIONS: lambda d: [c['text'] for c in d['choices']],
    RESPONSES: text_of_response,
    EMBEDDINGS: lambda d: [e['embedding'] for e in d['data']],
    MESSAGES_OF_ANTHROPIC: lambda d: [b['text'] for b in d['content']],
    OLLAMA_CHAT: lambda d: d['message']['content'],
    OLLAMA_GENERATE: lambda d: d['response'],
    LLAMA: lambda d: d['content'],
    OLLAMA_EMBED: lambda d: d['embeddings'],
    RERANK: lambda d: d['results'],
    COUNT: lambda d: d['input_tokens'],
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
    MESSAGES_OF_ANTHROPIC: lambda told: by_index([d for d in told if d['type'].startswith('content_block_')], lambda d: d['index'],
                                                 lambda d: d.get('delta', {}).get('text', '')),
    OLLAMA_CHAT: lambda told: ''.join(d['message']['content'] for d in told),
    OLLAMA_GENERATE: lambda told: ''.join(d['response'] for d in told),
    LLAMA: lambda told: ''.join(d['content'] for d in told),
}
# Does this event end its stream?
IS_LAST = {RESPONSES: lambda d: d['type'] in ('response.completed', 'response.incomplete'), MESSAGES_OF_ANTHROPIC: lambda d: d['type'] == 'message_stop',
           OLLAMA_CHAT: lambda d: d['done'], OLLAMA_GENERATE: lambda d: d['done'], LLAMA: lambda d: d['stop']}


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
                 (EMBEDDINGS, {'input': [prompt, start]}),
                 (MESSAGES_OF_ANTHROPIC, {'messages': talk, **common}),
                 (LLAMA, {'prompt': prompt, 'id_slot': rng.randrange(-1, 9), **common})]
        options = {'num_predict': common['max_tokens'], 'seed': common['seed'], 'temperature': common['temperature']}
        made += [(OLLAMA_CHAT, {'messages': talk, 'options': options, 'stream': False}),
                 (OLLAMA_GENERATE, {'prompt': prompt, 'options': options, 'stream': False}),
                 (OLLAMA_EMBED, {'input': [start, prompt], 'model': 'm'}), (COUNT, {'messages': talk, 'model': ALIAS}),
                 (RERANK, {'query': start, 'documents': [prompt, 'x'], 'model': 'r'})]
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


# ---- requests without a body, and those that are refused ----------------------------------------------------------------

# {(method, route): (paths, statuses)}: a route that ends in a slash has names below it.
LOOKS = {('GET', path): ((path,), (200,)) for path in ('/health', '/ready', '/metrics', '/v1/models', '/props', '/slots', '/openapi.json',
                                                       '/api/version', '/api/tags', '/api/ps', '/version', '/tokenizer_info', '/lora-adapters')}
LOOKS |= {
    ('GET', '/'): (('/',), (200, 404)), ('GET', '/page/'): (('/page/main.js', '/page/none'), (200, 404)),       # 404 with --no-page
    ('GET', '/v1/models/'): (('/v1/models/m', '/v1/models/org%2Fm%3Asmall', '/v1/models/none'), (200, 404)),
    ('GET', '/v1/responses/'): (('/v1/responses/resp_none', '/v1/responses/resp_none/input_items?limit=3'), (404,)),
    ('DELETE', '/v1/responses/'): (('/v1/responses/resp_none',), (404,)),
    ('GET', '/v1/stream'): (('/v1/stream',), (400, 426)),
    ('DELETE', '/v1/runnel/sessions/'): ([f'/v1/runnel/sessions/s{i}' for i in range(7)], (204, 404)),
    ('GET', '/v1/runnel/streams/'): (('/v1/runnel/streams/none', '/v1/runnel/streams/none?last_event_id=none.5'), (404,)),
    ('DELETE', '/v1/runnel/streams/'): (('/v1/runnel/streams/none',), (404,)),
    ('DELETE', '/api/delete'): (('/api/delete',), (501,)),
}
# The same with a body.
DENIED = {('POST', f'/api/{word}'): ({'model': 'm'}, (501,)) for word in ('pull', 'push', 'create', 'copy')}
COVERED = {*LOOKS, *DENIED, *(('POST', path) for path in ROUTES)}


def route_of(method, path):
    """The route that a request of this traffic is for, as the server's table has it; None: none."""
    path = path.split('?')[0]
    if (method, path) in COVERED:
        return method, path
    return next(((m, p) for m, p in COVERED if m == method and p != '/' and p.endswith('/') and path.startswith(p)), None)


class Visitor(Client):
    slow = ()       # of the next reads, how many bytes each takes after a moment

    def more(self):
        if not self.slow:
            return super().more()
        time.sleep(0.005)
        data = self.socket.recv(self.slow.pop())
        self.buffer += data
        return bool(data)

    def request(self, method, path, *headers, **more):
        self.server.reached(method, path)
        return super().request(method, path, *self.server.headers, *headers, **more)


class View(Server):
    """The server as one client asks it, with its key and where it is."""

    def __init__(self, server, headers, reached):
        vars(self).update(vars(server))
        self.headers, self.reached = headers, reached

    def connect(self):
        return Visitor(self)


class Traffic:
    """Of one server after the other: visit(), and then act() by many threads."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.seed = seed
        self.lock = threading.Lock()
        self.counts = collections.Counter()
        self.routes = collections.Counter()
        self.failures = []
        self.requests = catalogue(self.rng)
        self.want = {}
        self.local = threading.local()      # what a thread asks as

    server = property(lambda self: self.local.server)
    is_guest = property(lambda self: self.local.is_guest)

    def visit(self, server, options, keys=(), guest=None):
        """What is asked from now on: the server with these options; keys that stay, and one that comes and goes."""
        self.base, self.options, self.keys, self.guest = server, options, keys, guest

    def be(self, rng, is_guest=False):
        headers = []
        if self.keys:
            key = self.guest if is_guest else rng.choice(self.keys)
            headers.append(rng.choice((f'Authorization: Bearer {key}', f'X-Api-Key: {key}')))
        if '--trusted-proxy' in self.options and rng.random() < 0.8:
            headers.append(rng.choice((f'X-Forwarded-For: 10.0.0.{rng.randrange(4)}', 'Forwarded: for="[2001:db8::1]"')))
        if '--cors' in self.options and rng.random() < 0.3:
            headers.append(f'Origin: {ORIGIN}')
        self.local.server, self.local.is_guest = View(self.base, headers, self.reached), is_guest

    def reached(self, method, path):
        with self.lock:
            self.counts['requests'] += 1
            self.routes[route_of(method, path)] += 1

    def count(self, *kinds):
        with self.lock:
            self.counts.update(kinds)

    def settle(self, server):
        """Every request of the catalogue once, alone."""
        self.want = {}
        for i, (path, body) in enumerate(self.requests):
            answer = server.post(path, json.dumps(body))
            equal(answer.status, 200, answer.body)
            self.want[i] = WHOLE[path](answer.json)

    def worker(self, name, is_over):
        rng = random.Random(f'{self.seed}.{name}')
        while not is_over():
            is_guest = self.guest is not None and rng.random() < 0.15
            act = rng.choices(*zip(*(GUEST_ACTS if is_guest else ACTS).items()))[0]
            self.be(rng, is_guest)
            self.count(f'{act.__name__}{" (guest)" if is_guest else ""}')
            try:
                act(self, rng)
            except Refused as e:
                self.count(str(e))
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
        unless_refused(self, path, answer)
        equal(answer.status, 200, answer.body)
        if not is_stream:
            self.compare(i, WHOLE[path](answer.json))
            return
        lines = answer.header('content-type') == 'application/x-ndjson'
        told = [json.loads(line) for line in answer.body.splitlines()] if lines else [d for _, _, d in events(answer.body)]
        self.unless_broken(told)
        check(IS_LAST[path](told[-1]) if path in IS_LAST else told[-1] == '[DONE]', 'a stream ended early:', told[-1])
        self.compare(i, STREAMED[path]([d for d in told if d != '[DONE]']))

    def unless_broken(self, told):
        """Raises Refused for a stream that an error of a busy server ended."""
        last = told[-1] if told else {}
        error = last.get('error') if isinstance(last, dict) else None
        if error and is_busy(error):
            raise Refused('streams ended as busy')
        if error and self.is_guest:
            check('key' in json.dumps(error), error)
            raise Refused('streams ended for a revoked key')

    def begin(self, rng, fits=lambda body: True, **more):
        """A request: (its number, path, is it a stream, its bytes)."""
        i, path, body = self.pick(rng, fits=fits)
        is_stream = path in STREAMED and rng.random() < 0.6
        body = json.dumps({**body, **({'stream': True} if is_stream else {}), **more})
        self.reached('POST', path)
        self.count(*(['streams'] if is_stream else []))
        headers = ''.join(f'{line}\r\n' for line in self.server.headers)
        data = (f'POST {path} HTTP/1.1\r\nHost: localhost\r\n{headers}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}').encode()
        return i, path, is_stream, data


# ---- good manners ----------------------------------------------------------------------------------------------------

def ask(t, rng):
    with t.server.connect() as c:
        for _ in range(rng.randrange(1, 4)):
            i, path, is_stream, data = t.begin(rng)
            t.take(c.send(data).answer(), i, path, is_stream)


def ask_ahead(t, rng):
    """Several requests before the first answer is read."""
    with t.server.connect() as c:
        asked = [t.begin(rng) for _ in range(3)]
        c.send(b''.join(data for *_, data in asked))
        for i, path, is_stream, _ in asked:
            t.take(c.answer(), i, path, is_stream)


def look(t, rng):
    (method, _), (paths, statuses) = rng.choice(list(LOOKS.items()))
    path = rng.choice(paths)
    with t.server.connect() as c:
        answer = c.ask(method, path)
        if answer.status not in statuses:
            unless_refused(t, path, answer)
        check(answer.status in statuses, method, path, answer.status, answer.body)


def ask_for_what_is_denied(t, rng):
    (_, path), (body, statuses) = rng.choice(list(DENIED.items()))
    answer = t.server.post(path, json.dumps(body))
    unless_refused(t, path, answer)
    check(answer.status in statuses, path, answer.status, answer.body)
    check_refusal(path, answer)


def tokenize(t, rng):
    text = rng.choice(STARTS) * rng.randrange(1, 20)
    answer = t.server.post(TOKENIZE, json.dumps({'content': text}))
    unless_refused(t, TOKENIZE, answer)
    tokens = answer.json['tokens']
    answer = t.server.post(DETOKENIZE, json.dumps({'tokens': tokens}))
    unless_refused(t, DETOKENIZE, answer)
    equal(answer.json['content'].strip(), text)


def ask_for_much(t, rng):
    """Bodies that the workers of large requests take: all of a long text's tokens, or that it does not fit. Some clients leave."""
    text = 'Once upon a time there was a dog. ' * rng.randrange(2000, 16000)
    path, body = rng.choice(((TOKENIZE, {'content': text}), (CHAT, {'messages': [{'role': 'user', 'content': text}]}),
                             (COUNT, {'messages': [{'role': 'user', 'content': text}]}), (EMBEDDINGS, {'input': ['a', text]}),
                             (CHAT, {'messages': [{'role': 'user', 'content': 'a'}] * 2000}), (RERANK, {'model': 'r', 'query': 'a', 'documents': ['a', text]})))
    with t.server.connect() as c:
        c.request('POST', path, 'Content-Type: application/json', body=json.dumps(body))
        if rng.random() < 0.3:
            time.sleep(rng.choice((0, 0.001, 0.02, 0.1)))
            rng.choice((c.reset, c.close))()
            t.count('disconnects of large requests')
            return
        answer = c.answer()
    unless_refused(t, path, answer)
    if path == TOKENIZE:
        check(len(answer.json['tokens']) > len(text) // 16, answer.status, answer.body[:300])
    elif answer.status != 200:      # rankings may cut a document
        equal(answer.status, 400, answer.body)
        check('context' in answer.body.decode() or 'fit' in answer.body.decode(), answer.body)


def talk_in_a_session(t, rng):
    """A conversation is the same in whatever a session held before; a text would go on from that."""
    with t.server.connect() as c:
        i, path, is_stream, data = t.begin(rng, lambda body: 'messages' in body and body.get('n', 1) == 1, session=f's{rng.randrange(6)}')
        t.take(c.send(data).answer(), i, path, is_stream)


def resume(t, rng):
    """A stream whose connection breaks after some events, and resumes after the last one seen."""
    with t.server.connect() as c:
        i, path, body = t.pick(rng, GENERATE, CHAT, COMPLETIONS)
        t.count('streams')
        c.request('POST', path, 'Content-Type: application/json', body=json.dumps({**body, 'stream': True, 'resumable': True}))
        status, headers = c.head()
        if status != 200:
            raise Refused(f'refused to be resumable: {status}') if status in (401, 409, 429, 503) else AssertionError(f'status {status}')
        name = dict((n.lower(), v) for n, v in headers)['x-runnel-stream']
        seen, most = b'', rng.randrange(0, 12)
        while seen.count(b'data: ') < most and (chunk := c.chunk()):
            seen += chunk
        c.reset()
    t.count('disconnects of streams that go on')
    told = events(seen)
    t.unless_broken([d for _, _, d in told])
    end = time.monotonic() + 60
    while True:
        more = (f'Last-Event-ID: {told[-1][0]}',) if told else ()
        answer = t.server.get(f'/v1/runnel/streams/{name}', *more)
        if answer.status != 409:
            break
        check(time.monotonic() < end, 'the reader that left still has the stream')
        time.sleep(0.01)
    unless_refused(t, GENERATE, answer)
    if t.is_guest and answer.status == 404:
        raise Refused('streams of a revoked key that are gone')
    equal(answer.status, 200, answer.body)
    told += events(answer.body)
    t.unless_broken([d for _, _, d in told])
    equal([int(k.rsplit('.', 1)[1]) for k, _, _ in told], list(range(1, len(told) + 1)))
    equal(told[-1][2], '[DONE]')
    t.compare(i, STREAMED[path]([d for _, _, d in told[:-1]]))


def end_a_stream_by_its_name(t, rng):
    with t.server.connect() as c:
        c.request('POST', GENERATE, 'Content-Type: application/json', body=json.dumps(
            {'prompt': 'The cat', 'ignore_eos': True, 'max_tokens': -1, 'max_tokens_per_second': 100, 'stream': True, 'resumable': True}))
        status, headers = c.head()
        if status != 200:
            raise Refused(f'refused to be resumable: {status}') if status in (409, 429, 503) else AssertionError(f'status {status}')
        name = dict((n.lower(), v) for n, v in headers)['x-runnel-stream']
        with t.server.connect() as other:
            answer = other.ask('DELETE', f'/v1/runnel/streams/{name}')
        unless_refused(t, GENERATE, answer)
        check(answer.status in (200, 204), answer.status, answer.body)
        told = [d for _, _, d in events(b''.join(c.chunks()))]
        t.unless_broken(told)
        equal(told[-1]['error']['code'], 'cancelled', told[-1])


# ---- WebSockets ------------------------------------------------------------------------------------------------------

CONTROLS = ('pause', 'resume', 'cancel', 'rate', 'credit')


def socket_streams(t, rng):
    w = open_socket(t)
    with w.client:
        running = {}
        for k in range(rng.randrange(1, 6)):
            i, _, body = t.pick(rng, GENERATE)
            running[f'g{k}'] = [i, body.get('n', 1), '']
            w.send(json.dumps({'type': 'generate', 'id': f'g{k}', **body}))
            t.count('streams')
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
        if m['error']['code'] in BUSY_CODES:
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


def listen_as_a_guest(t, rng):
    """A WebSocket whose key is revoked at some time: it is closed with 1008, and nothing else is lost."""
    w = open_socket(t)
    with w.client:
        i, _, body = t.pick(rng, GENERATE, fits=lambda body: body.get('n', 1) == 1)
        for k in range(50):
            w.send(json.dumps({'type': 'generate', 'id': f'g{k}', **body}))
            running = {f'g{k}': [i, 1, '']}
            while running:
                opcode, payload = w.read()
                if opcode == 8:
                    equal(payload[:2], struct.pack('>H', 1008), payload)
                    raise Refused('sockets of a revoked key that were closed')
                if opcode == 1 and 'invalid_api_key' not in payload.decode():
                    hear(t, running, json.loads(payload))


# ---- bad manners -----------------------------------------------------------------------------------------------------

def read_slowly(t, rng):
    with t.server.connect() as c:
        c.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        i, path, is_stream, data = t.begin(rng, overflow='park', buffer_tokens=16)
        c.slow = [rng.randrange(1, 64) for _ in range(rng.randrange(40))]
        c.send(data)
        t.take(c.answer(), i, path, is_stream)


def write_slowly(t, rng):
    with t.server.connect() as c:
        i, path, is_stream, data = t.begin(rng)
        for byte in data:
            c.send(bytes([byte]))
        t.take(c.answer(), i, path, is_stream)


def half_close(t, rng):
    if t.server.is_tls:         # there it means leaving
        return
    with t.server.connect() as c:
        i, path, is_stream, data = t.begin(rng)
        c.send(data)
        c.socket.shutdown(socket.SHUT_WR)
        t.take(c.answer(), i, path, is_stream)


def leave_early(t, rng):
    """At any moment before the answer has begun: while it waits, or its prompt is read."""
    with t.server.connect() as c:
        *_, data = t.begin(rng)
        c.send(data[:rng.randrange(len(data))] if rng.random() < 0.2 else data)
        time.sleep(rng.choice((0, 0.001, 0.01, 0.05)))
        rng.choice((c.reset, c.close))()
    t.count('disconnects before the answer')


def leave_in_the_middle(t, rng):
    with t.server.connect() as c:
        *_, data = t.begin(rng)
        c.send(data)
        c.socket.recv(rng.randrange(1, 2000))
        rng.choice((c.reset, c.close))()
    t.count('disconnects in the answer')


def send_malformed(t, rng):
    if t.server.is_tls:         # Python's sockets cannot close one direction of it
        return
    with t.server.connect() as c:
        c.send(rng.choice(MALFORMED_HTTP))
        c.socket.shutdown(socket.SHUT_WR)
        first = c.rest()[:12]
        check(not first.startswith(b'HTTP/1.1 2'), first)


def send_bad_json(t, rng):
    path = rng.choice([path for path in ROUTES if 'prompt' in ROUTES[path].fields])
    answer = t.server.post(path, rng.choice(MALFORMED_JSON[:6] if path != COMPLETIONS else MALFORMED_JSON))
    unless_refused(t, path, answer)
    equal(answer.status, 400, f'{path}: {answer.body}')
    check_refusal(path, answer)


def send_bad_frame(t, rng):
    w = open_socket(t)
    with w.client:
        w.client.send(rng.choice(MALFORMED_FRAMES))
        opcode, payload = w.read()
        check(opcode in (1, 8), opcode, payload)
        if opcode == 1:
            equal(json.loads(payload)['type'], 'error')


ACTS = {ask: 12, ask_ahead: 2, look: 5, ask_for_what_is_denied: 1, tokenize: 2, ask_for_much: 2, talk_in_a_session: 3, resume: 4, end_a_stream_by_its_name: 2,
        socket_streams: 6, read_slowly: 3, write_slowly: 2, half_close: 2, leave_early: 6, leave_in_the_middle: 4, send_malformed: 3, send_bad_json: 3,
        send_bad_frame: 2, **ANY_ACTS}
GUEST_ACTS = {ask: 4, ask_anything: 4, follow_a_response: 1, resume: 2, listen_as_a_guest: 2, leave_early: 1, leave_in_the_middle: 1}
