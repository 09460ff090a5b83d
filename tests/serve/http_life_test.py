#!/usr/bin/env python3
"""A server's life: what it says at start, signals, draining, the service manager, the access log, what it cannot start with."""
import json
import os
import signal
import socket
import subprocess
import time

from serving import (Folder, KEY, MODEL, PROGRAM, Server, check, environment, equal, main, runnel, test, wait_until)


@test
def the_program_says_its_models_its_memory_and_its_address():
    with Server('-m', MODEL, '-m', f'second={MODEL}', program=True) as s:
        for part in ('model stories: llama', 'model second: llama', 'keys and values', 'together', 'listening at http://127.0.0.1:'):
            check(part in s.said, part, s.said)
        models = s.get('/v1/models').json
        equal([m['id'] for m in models['data']], ['stories', 'second'])
        equal((models['object'], models['data'][0]['object']), ('list', 'model'))
        equal(s.get('/v1/models/second').json['id'], 'second')
        for path in ('/v1/models/third', '/v1/models/', '/v1/models/second/'):
            s.get(path).refuses(404, 'model_not_found')
        equal(models['data'][0]['meta']['default_sampling']['temp'], 0.8)
        equal(s.get('/props').json['total_slots'], 16)
        equal([x['is_processing'] for x in s.get('/slots').json], [False] * 16)
        check(str(MODEL.parent) not in json.dumps([models, s.get('/props').json]), 'a path of the machine was told')


@test
def what_cannot_be_is_said_at_start_and_ends_the_program():
    with socket.create_server(('127.0.0.1', 0)) as taken:
        port = taken.getsockname()[1]
        runnel('serve', '--port', port).fails(1, f'127.0.0.1 port {port}: Address already in use')
    for args, code, part in ((('--port', 65536), 2, '--port'), (('--host', 'no.such.name.invalid'), 1, '--host: no.such.name.invalid'),
                             (('-m', '/no/such/file'), 1, '/no/such/file'), (('-m', MODEL, '-m', MODEL), 2, 'two models are called stories'),
                             (('--cors', 'evil.example'), 2, 'neither * nor an origin'),
                             (('--cors', '\udc9b31m\x85'), 2, "'?31m??' is neither"), (('--api-key-file', '/no/such'), 1, '/no/such'),
                             (('--access-log', '/no/such/log'), 1, '--access-log: /no/such/log'), (('--streams', 0), 2, '--streams'),
                             (('--memory', 1), 1, 'memory'), (('positional',), 2, 'positional')):
        runnel('serve', '--port', 0, *args).fails(code, part)


@test
def sigterm_lets_running_answers_end_and_refuses_new_ones():
    with Server() as s, s.connect() as kept, s.connect() as c:
        equal(kept.ask('GET', '/ready').status, 200)
        c.request('GET', '/rig/events?n=10&ms=100')
        c.head()
        c.chunk()
        s.signal(signal.SIGTERM)
        wait_until(lambda: 'shutting down: 1 requests still run' in s.said, 'the server says that it ends')
        kept.ask('GET', '/ready').refuses(503, 'shutting_down')
        a = kept.ask('POST', '/rig/echo', 'Content-Type: application/json', body='{}').refuses(503, 'shutting_down')
        equal(a.header('retry-after'), '1')
        equal(kept.ask('GET', '/health').status, 200)
        try:
            s.connect().close()
            raise AssertionError('a new connection was taken')
        except ConnectionError:
            pass
        equal(b''.join(c.chunks()).count(b'data: x'), 10)
        equal(s.wait(), 0)


@test
def after_the_time_to_drain_what_still_runs_is_cancelled():
    with Server('--drain-seconds', 1) as s, s.connect() as c, s.connect() as late:
        c.request('GET', '/rig/events?n=1&ms=100000')
        late.request('GET', '/rig/later?ms=100000')
        c.head()
        c.chunk()
        begin = time.monotonic()
        s.signal(signal.SIGTERM)
        equal(s.wait(), 0)
        check(0.9 < time.monotonic() - begin, 'too early')
        check(not c.rest().endswith(b'0\r\n\r\n'), 'a stream that was cut looks whole')


@test
def sigint_and_a_second_sigterm_end_at_once():
    for numbers in ((signal.SIGINT,), (signal.SIGTERM, signal.SIGTERM)):
        with Server('--drain-seconds', 3600) as s, s.connect() as c:
            c.request('GET', '/rig/events?n=1&ms=3600000')
            c.head()
            c.chunk()
            for number in numbers:
                s.signal(number)
                time.sleep(0.2)
            equal(s.wait(), 0)


@test
def an_idle_server_ends_at_once_also_with_open_connections():
    with Server('--drain-seconds', 3600) as s, s.connect() as c, s.connect():
        equal(c.ask('GET', '/health').status, 200)
        s.signal(signal.SIGTERM)
        equal(s.wait(), 0)


@test
def the_service_manager_hears_when_the_server_is_ready_and_when_it_ends():
    with Folder() as folder, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        for path in (str(folder / 'notify'), f'\0runnel-test-{os.getpid()}'):
            manager.close()
            manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            manager.bind(path)
            manager.settimeout(30)
            with Server(env=environment(NOTIFY_SOCKET=path.replace('\0', '@'))) as s:
                equal(manager.recv(100), b'READY=1')
                s.signal(signal.SIGTERM)
                equal(manager.recv(100), b'STOPPING=1')
                equal(s.wait(), 0)
        manager.close()


@test
def the_access_log_has_a_line_for_each_request_and_not_a_word_of_it():
    with Folder() as folder:
        log = folder / 'log'
        with Server('--access-log', log, '--api-key', KEY) as s:
            bearer = f'Authorization: Bearer {KEY}'
            s.post('/rig/echo', '{"prompt": "my secret"}', bearer, 'x-request-id: one')
            s.get('/nope?token=my+secret', bearer)
            s.get('/a"b%0a', bearer)
            s.get('/a\x07\x1b[31m', bearer).refuses(400, 'invalid_value')
            with s.connect() as c:
                c.request('GET', '/rig/events?n=1&ms=100000', bearer)
                c.head()
                c.reset()
            wait_until(lambda: log.read_text().count('\n') >= 5, 'five lines')
            check('GET /' not in s.said, 'the log came to stderr too')
        lines = log.read_text().splitlines()
        check('secret' not in log.read_text() and KEY not in log.read_text(), 'a secret was logged')
        check(' 127.0.0.1 POST /rig/echo 200 ' in lines[0] and lines[0].endswith(' id=one key=1'), lines[0])
        check(' GET /nope 404 ' in lines[1], lines[1])
        check(' GET /a\\x22b%0a 404 ' in lines[2], lines[2])
        check(' - - 400 ' in lines[3], lines[3])       # what is no request is not repeated
        check(' GET /rig/events 499 ' in lines[4], lines[4])


@test
def a_log_line_is_at_most_4_kib_whatever_was_asked():
    with Folder() as folder:
        log = folder / 'log'
        with Server('--access-log', log) as s:
            s.get('/' + '"' * 8000)
            wait_until(lambda: log.read_bytes().endswith(b'\n'), 'a line')
        check(len(log.read_bytes()) <= 4096, len(log.read_bytes()))


@test
def help_names_every_limit_and_its_default():
    text = runnel('serve', '--help').ok().text
    for part in ('--max-connections N', '(default 0: one for each', '--ping-seconds N', '--drain-seconds N', '--api-key-file FILE', '--tls-cert'):
        check(part in text, part)


if __name__ == '__main__':
    main()
