#!/usr/bin/env python3
"""Requests on worker threads: one that takes long stops nobody else, full queues and spent keys are refused, clients may leave."""
import json
import pathlib
import re
import signal

from api import chat_model, good, post, serving
from certificates import make_certificate
from serving import KEY, SANITIZED, WAIT_S, Folder, Server, Socket, check, equal, main, test, wait_until

JSON = 'Content-Type: application/json'
LARGE = b'"' + b'x' * (100 << 10) + b'"'
ROOM = 64 + 1                                          # --streams 1 --queue 0: what may wait for a worker


def waiting_at(s):
    return s.metric('runnel:worker_queue_length')


def is_silent(c):
    """Nothing comes for a moment."""
    c.socket.settimeout(0.05)
    try:
        return not c.more()
    except TimeoutError:
        return True
    finally:
        c.socket.settimeout(WAIT_S)


def hold(s, c, body=b'1'):
    """A request that holds its worker; returns when it does."""
    before = s.counts()['held']
    c.request('POST', '/rig/hold', JSON, body=body)
    wait_until(lambda: s.counts()['held'] == before + 1, 'the handler runs')


@test
def while_a_large_request_is_handled_all_others_are():
    with Server('--workers', 2) as s, s.connect() as large, s.connect() as second, s.connect() as stream:
        hold(s, large, LARGE)
        second.request('POST', '/rig/echo', JSON, body=LARGE)         # waits for the thread of large requests
        stream.request('POST', '/rig/events?n=3&ms=5', JSON, body=b'1')
        equal(stream.head()[0], 200)
        equal([data for data in stream.chunks() if b'ping' not in data][-1], b'data: [DONE]\n\n')
        equal(s.get('/health').status, 200)
        equal(s.post('/rig/echo', b'[1]').json['n'], 3)
        with s.connect() as c:
            Socket(c, '/rig/socket').send('hello').text()
        check(is_silent(second), 'a second large request did not wait')
        s.get('/rig/release')
        equal(large.answer().json['n'], len(LARGE))
        equal(second.answer().json['n'], len(LARGE))


@test
def one_request_too_many_is_refused_and_the_others_are_answered():
    with Server('--workers', 2, '--streams', 1, '--queue', 0) as s, s.connect() as held:
        clients = [s.connect() for _ in range(ROOM)]
        hold(s, held)
        for c in clients:
            c.request('POST', '/rig/echo', JSON, body=b'[1]')
        wait_until(lambda: waiting_at(s) == ROOM, 'the queue is full')
        with s.connect() as late:
            answer = late.ask('POST', '/rig/echo', JSON, body=b'1')
            answer.refuses(429, 'queue_full', 'too many requests wait to be read')
            check(int(answer.header('retry-after')) >= 1, answer.headers)
            equal(late.ask('GET', '/health').status, 200)               # the connection goes on
        s.get('/rig/release')
        equal(held.answer().status, 200)
        for c in clients:
            equal(c.answer().json['n'], 3)
            c.close()


@test
def a_brief_request_is_handled_on_the_http_thread():
    def thread(s, body, path='/rig/brief'):
        answer = s.post(path, body)
        equal(answer.json['n'], len(body))
        return answer.json['thread']
    with Server('--workers', 2, '--streams', 1, '--queue', 0) as s:
        here = s.get('/rig/thread').json['thread']
        longest = b'"' + b'x' * 4094 + b'"'
        equal(thread(s, b'1'), here)
        equal(thread(s, longest), here)
        check(thread(s, longest + b' ') != here, 'a long body was handled on the HTTP thread')
        check(thread(s, b'"d"') != here, 'a deferred request was handled on the HTTP thread')
        check(thread(s, b'1', '/rig/thread') != here, 'a route that is not brief was handled on the HTTP thread')
        with s.connect() as held, s.connect() as next_one:
            hold(s, held)
            next_one.request('POST', '/rig/brief', JSON, body=b'"d"')   # waits for the worker
            wait_until(lambda: waiting_at(s) == 1, 'it waits')
            equal(thread(s, b'2'), here)
            s.get('/rig/release')
            equal(next_one.answer().json['n'], 3)


@test
def large_answers_from_the_handlers_own_buffer_are_whole():
    def bytes_of(n):
        return (bytes(range(97, 120)) * (n // 23 + 1))[:n]
    with Folder() as folder:
        make_certificate(folder)
        for tls in ((), ('--tls-cert', folder / 'cert.pem', '--tls-key', folder / 'key.pem')):
            with Server(*tls) as s, s.connect() as c:
                for n in (0, 16383, 16384, 300001, 9 << 20, 5):
                    check(c.ask('GET', f'/rig/own?bytes={n}').body == bytes_of(n), n)
                    check(c.ask('POST', f'/rig/own?bytes={n}', JSON, body=b'1').body == bytes_of(n), n)
                for n in (70000, 1, 80000):                             # sent ahead
                    c.request('GET', f'/rig/own?bytes={n}')
                for n in (70000, 1, 80000):
                    check(c.answer().body == bytes_of(n), n)
                head = c.ask('HEAD', '/rig/own?bytes=70000')
                equal([head.status, head.header('content-length'), head.body], [200, '70000', b''])
                equal(c.ask('GET', '/health').status, 200)


@test
def a_client_that_leaves_takes_its_request_along():
    with Server('--workers', 2) as s, s.connect() as held:
        hold(s, held)
        with s.connect() as waiting:
            waiting.request('POST', '/rig/hold', JSON, body=b'1')
            wait_until(lambda: waiting_at(s) == 1, 'it waits')
        wait_until(lambda: waiting_at(s) == 0, 'it is dropped')
        held.close()
        wait_until(lambda: s.counts()['given_up'] == 1, 'the one that ran noticed')
        equal(s.post('/rig/echo', b'1').status, 200)
        equal(s.counts()['held'], 1)


@test
def the_server_ends_while_requests_are_at_workers():
    with Server('--workers', 2, log=None) as s, s.connect() as held, s.connect() as waiting:
        hold(s, held)
        waiting.request('POST', '/rig/hold', JSON, body=b'1')
        wait_until(lambda: waiting_at(s) == 1, 'it waits')
        s.signal(signal.SIGINT)
        equal(s.wait(), 0, s.said)


@test
def messages_of_a_socket_wait_for_each_other_and_for_nobody_elses():
    with Folder() as folder, Server('-m', f'm={chat_model(folder)}', '-t', 1, '--workers', 2) as s, s.connect() as held, \
            s.connect() as a, s.connect() as b:
        hold(s, held, LARGE)
        slow, quick = Socket(a, '/v1/stream'), Socket(b, '/v1/stream')
        slow.send(json.dumps({'type': 'generate', 'id': 'a', 'prompt': 'a ' * (50 << 10), 'max_tokens': 1}))
        slow.send('{"type": "cancel", "id": "none"}')
        quick.send('{"type": "generate", "id": "b", "prompt": "The cat", "max_tokens": 2}')
        types = []
        while not types or types[-1] != 'end':
            types.append(json.loads(quick.text())['type'])
        equal(types[0], 'begun')
        check(is_silent(a), 'an answer to a message at a worker that is held')
        s.get('/rig/release')
        answers = [json.loads(slow.text()) for _ in range(2)]
        equal([(m.get('id'), m['error']['code']) for m in answers],
              [('a', 'context_length_exceeded'), ('none', 'stream_not_found')])
        equal(held.answer().status, 200)


@test
def a_socket_that_closes_leaves_nothing_at_the_workers():
    with Folder() as folder, Server('-m', f'm={chat_model(folder)}', '-t', 1, '--workers', 2) as s, s.connect() as held:
        hold(s, held)
        with s.connect() as c:
            Socket(c, '/v1/stream').send('{"type": "generate", "id": "b", "prompt": "The cat"}')
            wait_until(lambda: waiting_at(s) == 1, 'it waits')
        wait_until(lambda: waiting_at(s) == 0, 'it is dropped')
        s.get('/rig/release')
        equal(held.answer().status, 200)
        equal(s.working(), [])


# ---- what cannot fit, and what a key may spend ------------------------------------------------------------------------------------

@test
def a_text_that_cannot_fit_is_refused_by_its_length():
    text = 'a' * (12 << 20)
    requests = [('/v1/completions', {'prompt': text}, 'prompt'), ('/v1/chat/completions', {'messages': [{'role': 'user', 'content': text}]}, 'messages'),
                ('/v1/runnel/generate', {'prompt': text}, 'prompt'), ('/v1/responses', {'input': text}, 'input'),
                ('/v1/embeddings', {'input': ['x', text]}, 'input')]
    with Folder() as folder, serving(chat_model(folder), '-c', 512) as s:
        for path, body, param in requests:
            error = post(s, path, **body).refuses(400, 'context_length_exceeded', 'maximum context length is 512 tokens').json['error']
            equal(error['param'], param, path)
            equal(error['n_ctx'], 512, path)
            check(512 < error['n_prompt_tokens'] < 12 << 20, error)


@test
def texts_and_templates_are_paid_by_the_key():
    paths = [('/tokenize', {'content': 'one two three four ' * 200}), ('/tokenize', {'prompt': 'one two three four ' * 200}),
             ('/detokenize', {'tokens': [427] * 950}), ('/apply-template', {'messages': [{'role': 'user', 'content': 'a' * 3800}]}),
             ('/v1/embeddings', {'input': ['one two three four'] * 200})]
    for path, body in paths:
        with Folder() as folder, serving(chat_model(folder), '--api-key', KEY, '--key-tokens-per-minute', 1500) as s:
            key = f'Authorization: Bearer {KEY}'
            good(s, path, key, **body)
            answer = post(s, path, key, **body).refuses(429, 'rate_limit_exceeded', 'token limit per minute reached')
            check(1 <= int(answer.header('retry-after')) <= 60, answer.headers)


@test
def several_answers_to_a_prompt_are_those_to_it_alone():
    talk = [{'role': 'user', 'content': 'Once upon a time'}]
    with Folder() as folder, serving(chat_model(folder)) as s:
        for path, body, text in (('/v1/completions', {'prompt': ['Once upon a time', 'The'], 'echo': True}, lambda c: c['text']),
                                 ('/v1/chat/completions', {'messages': talk}, lambda c: c['message']['content']),
                                 ('/v1/runnel/generate', {'messages': talk}, lambda c: c['message']['content'])):
            body = {**body, 'max_tokens': 8, 'temperature': 1.5}
            several = good(s, path, **body, n=3, seed=7)
            n = len(several['choices'])
            alone = [good(s, path, **body, seed=7 + i) for i in range(3)]
            want = [text(alone[i % 3]['choices'][i // 3]) for i in range(n)]
            equal([text(c) for c in several['choices']], want, path)
            check(len(set(want)) > 1, 'the seeds change nothing', want)
            equal(several.get('usage', {}).get('prompt_tokens'), alone[0].get('usage', {}).get('prompt_tokens'), path)


# ---- memory ---------------------------------------------------------------------------------------------------------------------

WORK_MIB = 32
SHAPES = {                                             # whatever costs most for its length, and how much of it is beyond the limit
    'objects': ('/v1/completions', lambda n: b'{"prompt":"a","max_tokens":1,"metadata":[' + b'{},' * n + b'1]}', 90000),
    'arrays': ('/v1/completions', lambda n: b'{"prompt":"a","max_tokens":1,"metadata":[' + b'[],' * n + b'1]}', 120000),
    'deep arrays': ('/v1/completions', lambda n: b'{"prompt":"a","max_tokens":1,"metadata":[' + (b'[' * 50 + b']' * 50 + b',') * (n // 50) + b'1]}', 160000),
    'strings': ('/v1/completions', lambda n: b'{"prompt":"a","max_tokens":1,"metadata":[' + b'"",' * n + b'1]}', 240000),
    'members': ('/v1/completions', lambda n: b'{"prompt":"a","max_tokens":1,"metadata":{' + b','.join(b'"%d":1' % i for i in range(n)) + b'}}', 104000),
    'objects of one': ('/v1/completions', lambda n: b'{"prompt":"a","max_tokens":1,"metadata":[' + b'{"":0},' * n + b'1]}', 60000),
    'ids': ('/v1/completions', lambda n: b'{"max_tokens":1,"prompt":[' + b'5,' * n + b'5]}', 480000),
    'ids to text': ('/detokenize', lambda n: b'{"tokens":[' + b'400,' * n + b'400]}', 480000),
    'a text': ('/tokenize', lambda n: b'{"content":"' + b'a' * n + b'"}', 2400000),
    'a chat': ('/apply-template', lambda n: b'{"messages":[' + b'{"role":"user","content":"It was late."},' * n + b'{"role":"user","content":"a"}]}', 26000),
}


def memory_of(s, name):
    """VmHWM or VmRSS, in bytes."""
    status = pathlib.Path(f'/proc/{s.child.pid}/status').read_text()
    return int(re.search(rf'{name}:\s+(\d+) kB', status)[1]) << 10


@test
def large_requests_stay_within_the_memory_that_is_planned_for_them():
    at_once = 4
    with Folder() as folder:
        model = chat_model(folder)
        for name, (path, body_of, n_over) in SHAPES.items():
            with serving(model, '--workers', 8, '--work-memory', WORK_MIB, '--max-bodies', 64) as s:
                post(s, '/tokenize', content='a').json
                before, body = memory_of(s, 'VmRSS'), body_of(n_over * 9 // 10)
                s.post(path, body_of(n_over)).refuses(413, 'request_too_large', f'over the limit of {WORK_MIB} (--work-memory)')
                clients = [s.connect() for _ in range(at_once)]
                for c in clients:
                    c.request('POST', path, JSON, body=body)
                most = (WORK_MIB << 20) + 2 * at_once * len(body) + (8 << 20)
                for c in clients:
                    answer = c.answer()
                    check(answer.status in (200, 400), name, answer.status)   # 400: the context is short
                    most += len(answer.body)                                  # as it waits for its reader
                    c.close()
                grown = memory_of(s, 'VmHWM') - before
                check(SANITIZED or grown <= most, name, 'takes', grown, 'most', most)
                wait_until(lambda: s.metric('runnel:http_body_bytes') == 0, 'all is given back')


@test
def large_answers_count_until_they_were_sent():
    with Server('--max-body', 1, '--max-bodies', 2) as s:
        with s.connect() as slow:
            slow.request('GET', f'/rig/own?bytes={9 << 20}')
            wait_until(lambda: s.metric('runnel:http_body_bytes') >= 9 << 20, 'the answer is counted')
            s.post('/rig/echo', LARGE).refuses(503, 'server_busy', 'limit of 2 MiB together (--max-bodies)')
            equal(s.post('/rig/echo', b'1').json['n'], 1)                    # a short one passes
            equal(len(slow.answer().body), 9 << 20)
        wait_until(lambda: s.metric('runnel:http_body_bytes') == 0, 'it was sent')
        equal(s.post('/rig/echo', LARGE).json['n'], len(LARGE))
        with s.connect() as leaves:
            leaves.request('GET', f'/rig/own?bytes={9 << 20}')
            wait_until(lambda: s.metric('runnel:http_body_bytes') >= 9 << 20, 'the answer is counted')
        wait_until(lambda: s.metric('runnel:http_body_bytes') == 0, 'its client has left')


@test
def pieces_are_given_of_texts_up_to_a_mebibyte():
    with Folder() as folder, serving(chat_model(folder)) as s:
        for member in ('with_pieces', 'return_token_strs'):
            post(s, '/tokenize', content='a ' * 600000, **{member: True}).refuses(413, 'request_too_large', 'at most 1048576 bytes')
        good(s, '/tokenize', content='a ' * 600000)


# ---- embeddings and answers in numbers ------------------------------------------------------------------------------------------

@test
def two_thousand_texts_are_embedded_with_few_places_in_the_queue():
    most = 2048
    n = most // 8 if SANITIZED else most
    texts = ['hello', 'the cat', 'a dog and a cat', 'x'] * (n // 4)
    with Folder() as folder, serving(chat_model(folder), '--queue', 16, '--streams', 2) as s:
        answer = good(s, '/v1/embeddings', input=texts, dimensions=4)
        equal([d['index'] for d in answer['data']], list(range(n)))
        alone = [good(s, '/v1/embeddings', input=t, dimensions=4) for t in texts[:4]]
        for k, d in enumerate(answer['data']):
            equal(d['embedding'], alone[k % 4]['data'][0]['embedding'], k)
        equal(answer['usage']['prompt_tokens'], n // 4 * sum(a['usage']['prompt_tokens'] for a in alone))
        post(s, '/v1/embeddings', input=['x'] * (most + 1)).refuses(400, 'invalid_value', 'more than 2048 texts')


@test
def three_hundred_thousand_tokens_are_the_most_of_one_request():
    ids = [5] * 500
    with Folder() as folder, serving(chat_model(folder)) as s:
        post(s, '/v1/embeddings', input=[ids] * 600 + [[5]]).refuses(400, 'invalid_value', 'more than 300000 tokens')


@test
def as_many_answers_as_run_and_wait_are_made_up_to_128():
    with Folder() as folder, serving(chat_model(folder), '--streams', 4, '--queue', 124) as s:
        answer = good(s, '/v1/completions', prompt='Once upon', max_tokens=1, n=128, seed=7, temperature=1)
        equal([c['index'] for c in answer['choices']], list(range(128)))
        one = good(s, '/v1/completions', prompt='Once upon', max_tokens=1, seed=7 + 100, temperature=1)
        equal(answer['choices'][100]['text'], one['choices'][0]['text'])
        post(s, '/v1/completions', prompt='a', n=129).refuses(400, 'invalid_value', '128')
    with Folder() as folder, serving(chat_model(folder), '--streams', 1, '--queue', 2) as s:
        post(s, '/v1/completions', prompt='a', n=4).refuses(400, 'invalid_value', 'n: 4 answers are more than this server runs (--streams 1)')


if __name__ == '__main__':
    main()
