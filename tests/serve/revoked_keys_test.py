#!/usr/bin/env python3
"""Keys that change while the server runs: what belongs to a key follows the key, not its line, and goes with it at once."""
import json
import signal
import socket
import time

from api import chat_model, events, good, post, serving
from serving import Folder, Socket, check, equal, main, random_key, test, wait_until

GENERATE, COMPLETE = '/v1/runnel/generate', '/v1/completions'
ENDLESS = {'prompt': 'Once upon a time', 'ignore_eos': True, 'max_tokens': -1, 'seed': 1}


def bearer(key):
    return f'Authorization: Bearer {key}'


class Keys:
    """A server with a file of keys: with Keys(A, B) as k: k.server; k.write(B) lets the server read it again."""

    def __init__(self, *lines):
        self.lines = lines

    def __enter__(self):
        self.folder = Folder()
        path = self.folder.__enter__()
        self.file = path / 'keys'
        self.file.write_text('\n'.join(self.lines) + '\n')
        self.running = serving(chat_model(path), '--api-key-file', self.file, '--ctx', '512', '--ping-seconds', '1')
        self.server = self.running.__enter__()
        return self

    def __exit__(self, *why):
        self.running.__exit__(*why)
        self.folder.__exit__(*why)

    def write(self, *lines):
        n_before = self.server.said.count('keys: reloaded')
        self.file.write_text('\n'.join(lines) + '\n')
        self.server.signal(signal.SIGHUP)
        wait_until(lambda: self.server.said.count('keys: reloaded') > n_before, 'the keys were read again')


def is_idle(s, key):
    return not s.working(bearer(key))


@test
def the_key_on_a_freed_line_does_not_get_the_stored_answers_of_the_one_before():
    a, b, c = random_key(), random_key(), random_key()
    with Keys(a, b) as k:
        s = k.server
        of_a = good(s, '/v1/responses', bearer(a), input='Once upon a time', max_output_tokens=4)['id']
        of_b = good(s, '/v1/responses', bearer(b), input='Once upon a time', max_output_tokens=4)['id']
        k.write(b, c)       # b is now where a was
        s.get(f'/v1/responses/{of_a}', bearer(b)).refuses(404, 'response_not_found')
        post(s, '/v1/responses', bearer(b), input='x', previous_response_id=of_a).refuses(404, 'response_not_found')
        s.get(f'/v1/responses/{of_b}', bearer(c)).refuses(404, 'response_not_found')
        equal(s.get(f'/v1/responses/{of_b}', bearer(b)).status, 200, "b's own is gone")
        k.write(a, b)       # a is back: what it had was dropped
        s.get(f'/v1/responses/{of_a}', bearer(a)).refuses(404, 'response_not_found')


@test
def nor_does_it_go_on_with_named_sessions():
    a, b = random_key(), random_key()
    with Keys(a, b) as k:
        s = k.server

        def say(key, session, prompt):
            return good(s, COMPLETE, bearer(key), prompt=prompt, max_tokens=4, seed=1, session=session)['usage']['prompt_tokens']

        alone = say(b, 'copy', 'Once')
        expected = say(b, 'copy', ' and then')
        say(a, 'diary', 'My secret is a long story about a cat and a dog')
        equal(say(b, 'diary', 'Once'), alone)
        k.write(b)
        equal(say(b, 'diary', ' and then'), expected, "it is not b's own that goes on")
        k.write(a)
        equal(say(a, 'diary', 'Once'), alone, 'the session of a key that was gone is there again')


@test
def nor_does_it_resume_streams():
    a, b = random_key(), random_key()
    with Keys(a, b) as k:
        s = k.server
        names = [post(s, GENERATE, bearer(key), prompt='Once', max_tokens=4, stream=True, resumable=True).header('x-runnel-stream')
                 for key in (a, b)]
        k.write(b)
        s.get(f'/v1/runnel/streams/{names[0]}', bearer(b)).refuses(404, 'stream_not_found')
        equal(s.get(f'/v1/runnel/streams/{names[1]}', bearer(b)).status, 200)
        k.write(a)
        s.get(f'/v1/runnel/streams/{names[0]}', bearer(a)).refuses(404, 'stream_not_found')


@test
def a_running_answer_of_a_revoked_key_ends_at_once_and_others_go_on():
    a, b = random_key(), random_key()
    with Keys(a, b) as k, k.server.connect() as of_a, k.server.connect() as of_b:
        s = k.server
        for client, key in ((of_a, a), (of_b, b)):
            client.request('POST', GENERATE, bearer(key), 'Content-Type: application/json',
                           body=json.dumps({**ENDLESS, 'stream': True, 'max_tokens_per_second': 50}))
            client.head()
        k.write(b)
        told = events(b''.join(of_a.chunks()))
        equal(told[-1][2]['error']['code'], 'invalid_api_key', told[-1])
        equal(len(s.working(bearer(b))), 1, "b's answer")
        of_b.reset()
        wait_until(lambda: is_idle(s, b), 'nothing runs')


@test
def a_whole_answer_of_a_revoked_key_is_refused_also_while_it_waits():
    a, b = random_key(), random_key()
    with Keys(a, b) as k, k.server.connect() as c:
        c.request('POST', GENERATE, bearer(a), 'Content-Type: application/json', body=json.dumps({**ENDLESS, 'max_tokens_per_second': 1}))
        wait_until(lambda: k.server.working(bearer(b)), 'it runs')
        k.write(b)
        c.answer('POST').refuses(401, 'invalid_api_key', 'not valid any more')
        wait_until(lambda: is_idle(k.server, b), 'nothing runs')


@test
def a_stream_whose_reader_has_stalled_ends_too():
    a, b = random_key(), random_key()
    with Keys(a, b) as k, k.server.connect() as c:
        c.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        c.request('POST', GENERATE, bearer(a), 'Content-Type: application/json',
                  body=json.dumps({**ENDLESS, 'stream': True, 'resumable': True, 'n': 8, 'buffer_tokens': 1, 'logprobs': 20, 'with_pieces': True}))
        c.head()        # and nothing more
        wait_until(lambda: {w['state'] for w in k.server.working(bearer(b))} == {'parked'}, 'the generations wait for their reader')
        k.write(b)
        wait_until(lambda: is_idle(k.server, b), 'the place is free')


@test
def an_open_websocket_of_a_revoked_key_is_closed_and_another_stays():
    a, b = random_key(), random_key()
    with Keys(f'anna:{a}', b) as k, k.server.connect() as of_a, k.server.connect() as of_b:
        s = k.server
        first, second = Socket(of_a, '/v1/stream', bearer(a)), Socket(of_b, '/v1/stream', bearer(b))
        for w in (first, second):
            w.send(json.dumps({'type': 'generate', 'id': 'x', **ENDLESS, 'max_tokens_per_second': 5}))
        wait_until(lambda: len(s.working(bearer(b))) == 2, 'both run')
        equal([slot['key'] for key in (a, b) for slot in s.working(bearer(key)) if 'key' in slot], ['anna', 2])
        k.write(b)
        while (frame := first.read())[0] == 1:
            pass
        equal((frame[0], int.from_bytes(frame[1][:2], 'big')), (8, 1008), frame)
        equal([slot['key'] for slot in wait_until(lambda: [w for w in [s.working(bearer(b))] if len(w) == 1], "only b's runs")[0]], [2])
        second.send(json.dumps({'type': 'cancel', 'id': 'x'}))
        while json.loads(second.read()[1])['type'] != 'cancelled':
            pass


@test
def a_request_that_was_on_its_way_when_its_key_went_is_refused():
    a, b = random_key(), random_key()
    body = json.dumps({'prompt': 'Once', 'max_tokens': 4})
    with Keys(a, b) as k, k.server.connect() as c:
        c.send(f'POST {GENERATE} HTTP/1.1\r\nHost: localhost\r\n{bearer(a)}\r\nContent-Type: application/json\r\n'
               f'Content-Length: {len(body)}\r\n\r\n' + body[:5])
        time.sleep(0.2)     # the head was read
        k.write(b)
        c.send(body[5:]).answer('POST').refuses(401, 'invalid_api_key')


@test
def the_log_names_who_asked_and_the_number_of_a_key_without_a_name_stays():
    a, b = random_key(), random_key()
    with Keys(f'anna:{a}', b) as k:
        s = k.server
        s.get('/ready', bearer(a), 'x-request-id: first')
        s.get('/ready', bearer(b), 'x-request-id: second')
        k.write(b, f'anna:{a}')
        s.get('/ready', bearer(a), 'x-request-id: third')
        s.get('/ready', bearer(b), 'x-request-id: fourth')
        for name, label in (('first', 'anna'), ('second', '2'), ('third', 'anna'), ('fourth', '2')):
            wait_until(lambda: f'id={name} key={label}\n' in s.said, f'the line of {name}')
        check(a not in s.said and b not in s.said, 'a key was logged')


main()
