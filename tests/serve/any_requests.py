"""tests/serve/any_requests.py - acts of a soak that ask for anything the table of request_fields.py can ask for, and what must hold of the
answers: a refusal names a documented code, an answer is whole and adds up, and the same request has the same answer.
"""
import json
import re
import socket
import time

from api import error_of, events
from request_fields import CHAT, COMPLETIONS, COUNT, GENERATE, LLAMA, LLAMA_OTHER, MESSAGES_OF_ANTHROPIC, OLLAMA_CHAT, OLLAMA_GENERATE, RESPONSES, \
    SOCKET, some_body, some_control, some_path, some_value
from serving import ROOT, Socket, check, equal

# Codes that the two pages document, by status; 500 is a bug in any case.
CODES = {}
for page in ('docs/server-api.md', 'docs/server.md'):
    for row in re.findall(r'^\| ([45]\d\d(?:, [45]\d\d)*) \| (.*?) \|', (ROOT / page).read_text(), re.M):
        for status in row[0].split(', '):
            CODES.setdefault(int(status), set()).update(re.findall(r'`(\w+)`', row[1]))
# What makes an answer depend on more than the request: what was kept, how fast it went, and who read how fast.
UNSETTLED = {'session', 'timeout', 'overflow', 'previous_response_id', 'store', 'token_times', 'return_progress', 'cache_prompt'}
GENERATING = (CHAT, COMPLETIONS, GENERATE, RESPONSES, MESSAGES_OF_ANTHROPIC)     # with `stream`, false unless given
KINDS = {400: 'invalid_request_error', 409: 'invalid_request_error', 401: 'authentication_error', 403: 'permission_error', 404: 'not_found_error', 413: 'request_too_large',
         429: 'rate_limit_error', 501: 'api_error', 503: 'overloaded_error'}
# What any request may be told by a server that is busy, also after its stream has begun.
BUSY = {409: ('stream_busy',), 429: ('queue_full', 'rate_limit_exceeded'),
        503: ('shutting_down', 'kv_exhausted', 'queue_timeout', 'out_of_memory', 'server_busy')}
BUSY_CODES = {code for codes in BUSY.values() for code in codes} | {KINDS[status] for status in (429, 503)}
BUSY_WORDS = re.compile('queue|memory|busy|shutting down|connections|per minute')      # where an error is only a text


class Refused(Exception):
    """A right answer that is not the one asked for; its text is what is counted."""


def is_busy(error):
    """Is this error of a stream, in any dialect, one of a busy server's?"""
    if isinstance(error, str):
        return bool(BUSY_WORDS.search(error))
    return (error.get('code') or error.get('type')) in BUSY_CODES


def unless_refused(t, path, answer):
    """Raises Refused for an answer of a busy server, or to a key that is gone."""
    if answer.status == 401 and t.is_guest:
        check_refusal(path, answer)
        raise Refused('refused for a revoked key')
    if answer.status in BUSY:
        if not answer.body or (b'"server_busy"' in answer.body and answer.header('connection') == 'close'):
            raise Refused('connections refused')        # before the path was known; far beyond the limit with the status alone
        check_refusal(path, answer)
        error = error_of(answer.json)
        check(error['code'] is None or error['code'] in BUSY[answer.status], answer.body)
        raise Refused('refused as busy')


def open_socket(t):
    """A WebSocket of /v1/stream."""
    client = t.server.connect()
    try:
        answer = client.ask('GET', '/v1/stream', *Socket.HEADERS)
        unless_refused(t, '/v1/stream', answer)
        equal(answer.status, 101, answer.body)
    except BaseException:
        client.close()
        raise
    return Socket(client, None)


def check_error(error, status=None):
    check(set(error) >= {'message', 'type', 'param', 'code'} and error['message'], error)
    check(error['code'] in (CODES.get(status, ()) if status else set().union(*CODES.values())) - {'internal_error'}, status, error)


def check_refusal(path, answer):
    """The error of an answer that is not 200, in its dialect's form."""
    if path.startswith('/api/'):
        equal((set(answer.json), type(answer.json['error'])), ({'error'}, str), path)
        check(answer.status in CODES and answer.status != 500, answer.status, answer.json)
        return
    if path not in (MESSAGES_OF_ANTHROPIC, COUNT):
        check_error(answer.json['error'], answer.status)
        return
    equal((answer.json['type'], answer.json['error']['type'], answer.json['request_id']),
          ('error', KINDS[answer.status], answer.header('request-id')), path)
    check(answer.json['error']['message'], answer.json)


def check_usage(choices, key):
    """Delivered and lost tokens add up to the generated ones, in runnel's own form."""
    for choice in choices:
        told = 0
        for c in choice:
            told = c.get('replace_from', told) + len(c['tokens'])
        equal(told + sum(c.get('dropped', 0) for c in choice), choice[-1]['usage']['completion_tokens'], key)


def check_native(chunks, body):
    by_choice = {}
    for c in chunks:
        by_choice.setdefault(c['choice'], []).append(c)
    for told in by_choice.values():
        check(told[-1]['finish_reason'] and all(not c.get('finish_reason') for c in told[:-1]), told[-1])
    check_usage(by_choice.values(), body)


def texts(path, answer):
    """What an answer says, without its ids and times; None: nothing that could be compared."""
    if path == RESPONSES:
        return [item.get('content') for item in answer['output']], answer['status']
    if path == MESSAGES_OF_ANTHROPIC:
        return re.sub(r'"id": "[^"]*"', '', json.dumps(answer['content'])), answer['stop_reason']
    if path.startswith('/api/'):
        message = answer.get('message', {})
        calls = [c['function'] for c in message.get('tool_calls', ())]
        return message.get('content'), message.get('thinking'), calls, *(answer.get(k) for k in ('response', 'thinking', 'done_reason', 'embedding', 'embeddings', 'template'))
    if path in (COUNT, f'{RESPONSES}/input_tokens'):
        return answer['input_tokens']
    if path not in GENERATING:
        return answer.get('data') or answer.get('results') or answer.get('tokens') or answer.get('content') or answer.get('prompt')
    keys = ('text', 'message', 'logprobs', 'tokens', 'finish_reason', 'prompt_logprobs')
    said = [[c.get(k) for k in keys] for c in sorted(answer['choices'], key=lambda c: c.get('index', c.get('choice', 0)))]
    return re.sub(r'"id": "[^"]*"', '', json.dumps(said))


def check_whole(path, body, answer):
    if path == GENERATE:
        check_native(answer['choices'], body)
    elif path in (CHAT, COMPLETIONS):
        usage = answer['usage']
        equal(usage['prompt_tokens'] + usage['completion_tokens'], usage['total_tokens'], body)
        equal(sorted(c['index'] for c in answer['choices']), list(range(len(answer['choices']))), body)


def check_lines(body, answer):
    """Ollama's streams."""
    told = [json.loads(line) for line in answer.body.splitlines()]
    check(told[-1].get('done') or set(told[-1]) == {'error'}, body, told[-1])
    check(all(d['done'] is False for d in told[:-1]), body)


def check_stream(path, body, answer):
    """True: it came to its end without an error."""
    told = [d for _, _, d in events(answer.body)]
    errors = [d for d in told if isinstance(d, dict) and d.get('error')]
    for error in errors:
        check(error_of(error)['message'], error) if path == MESSAGES_OF_ANTHROPIC else check_error(error['error'])
    if errors:
        return False
    if path == MESSAGES_OF_ANTHROPIC:
        equal(told[-1]['type'], 'message_stop', body)
        return True
    if path == RESPONSES:
        check(told[-1]['type'] in ('response.completed', 'response.incomplete'), body, told[-1])
    elif path in (LLAMA, LLAMA_OTHER):
        check(told[-1]['stop'] is True, body, told[-1])
    else:
        equal(told[-1], '[DONE]', body)
    if path == GENERATE:
        check_native(told[:-1], body)
    return True


def is_settled(path, body):
    if path in (OLLAMA_CHAT, OLLAMA_GENERATE):
        options = body.get('options')
        return isinstance(options, dict) and 'seed' in options and not set(options) & UNSETTLED
    return path not in (*GENERATING, LLAMA, LLAMA_OTHER) or (body.get('seed', -1) != -1 and not set(body) & UNSETTLED)     # -1 draws one


def sent(rng, client, path, body, headers=()):
    """The answer, read at once or slowly."""
    data = json.dumps(body)
    client.request('POST', path, 'Content-Type: application/json', *headers, body=data)
    if rng.random() < 0.15:
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        time.sleep(rng.choice((0.01, 0.1)))
    return client.answer()


def take(t, path, body, answer):
    """False: nothing that could be compared."""
    unless_refused(t, path, answer)
    if answer.status != 200:
        check_refusal(path, answer)
        t.count(f'any: {answer.status}')
        return False
    t.count('any: 200')
    if answer.header('content-type') == 'application/x-ndjson':
        check_lines(body, answer)
        return False
    if answer.header('content-type') == 'text/event-stream':
        check_stream(path, body, answer)
        return False
    check_whole(path, body, answer.json)
    return is_settled(path, body)


def ask_anything(t, rng):
    path = some_path(rng)
    body = some_body(rng, path)
    strict = ('x-runnel-strict: true',) if rng.random() < 0.1 else ()
    with t.server.connect() as c:
        try:
            answer = sent(rng, c, path, body, strict)
            if take(t, path, body, answer):
                again = sent(rng, c, path, body, strict)
                if again.status == 200:
                    equal(texts(path, again.json), texts(path, answer.json), body)
                    t.count('any: answered alike again')
        except (AssertionError, KeyError, TypeError, ValueError, IndexError) as e:
            raise AssertionError(f'{path} {json.dumps(body)[:1500]}: {e}') from e


def leave_anything(t, rng):
    """The same, by a client that does not wait for the end."""
    path = some_path(rng)
    data = json.dumps({**some_body(rng, path), **({'stream': True} if path in GENERATING else {})})
    with t.server.connect() as c:
        c.request('POST', path, 'Content-Type: application/json', body=data)
        c.socket.settimeout(rng.choice((0.001, 0.05, 0.5)))
        try:
            c.socket.recv(rng.choice((1, 100, 5000)))
        except TimeoutError:
            pass
        rng.choice((c.reset, c.close))()


def follow_a_response(t, rng):
    """Stored responses, gone on from, shown and forgotten."""
    body = {**some_body(rng, RESPONSES), 'store': True, 'stream': False, 'max_output_tokens': 4}
    with t.server.connect() as c:
        answer = sent(rng, c, RESPONSES, body)
        unless_refused(t, RESPONSES, answer)
        if answer.status != 200:
            check_error(answer.json['error'], answer.status)
            return
        name = answer.json['id']
        for method, below, more, allowed in (
                ('POST', None, {'input': 'And?', 'previous_response_id': name, 'max_output_tokens': 2}, (200, 400, 404)),
                ('GET', '/input_items', None, (200, 404)), ('GET', '', None, (200, 404)), ('DELETE', '', None, (200, 404)), ('GET', '', None, (404,))):
            path = RESPONSES if more else f'{RESPONSES}/{name}{below}'
            got = c.ask(method, path, 'Content-Type: application/json', body=json.dumps(more) if more else None)
            unless_refused(t, path, got)
            check(got.status in allowed, method, got.status, got.body)


def control_anything(t, rng):
    """A WebSocket with streams of any kind and any controls; each stream ends by itself or is cancelled."""
    w = open_socket(t)
    with w.client:
        names = [f'{i}' for i in range(rng.randrange(1, 5))]
        for name in names:
            body = {'type': 'generate', 'id': name, **some_body(rng, GENERATE)}
            if rng.random() < 0.5:
                body['credit'] = some_value(rng, SOCKET['credit'])
            w.send(json.dumps(body))
            t.count('any: socket streams')
        for _ in range(rng.randrange(12)):
            control = some_control(rng, rng.choice(names))
            w.send(json.dumps(control))
            t.count('any: socket controls')
        if rng.random() < 0.2:
            w.client.reset()
            return
        for name in names:
            w.send(json.dumps({'type': 'cancel', 'id': name}))
        running = set(names)
        while running:      # to each cancel there is one answer: it was cancelled, or there is no such stream any more
            m = json.loads(w.text())
            if m['type'] == 'error':
                check_error(m['error'])
            if m['type'] in ('cancelled', 'end') or (m['type'] == 'error' and m['error']['code'] in ('stream_not_found',)):
                running.discard(m.get('id'))


ANY_ACTS = {ask_anything: 24, leave_anything: 8, follow_a_response: 3, control_anything: 8}
