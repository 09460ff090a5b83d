#!/usr/bin/env python3
"""What must not touch others: clients that leave while their prompt is read, that read nothing, and a system that gives no more.

Faults of the HTTP side alone are in http_streams_test.py and http_request_test.py, of allocations in memory_test.py."""
import json
import re
import resource
import socket
import subprocess

from api import chat_model, events, good, post, serving
from harness import synth_model
from serving import MODEL, PROGRAM, SANITIZED, Folder, Skip, check, environment, equal, held, main, test, wait_until

GENERATE = '/v1/runnel/generate'
TIME = 'Once upon a time'
CONNECTIONS = 16 + 1024 + 256          # --streams, --queue, and those that generate nothing


def begin(s, c, **body):
    c.request('POST', GENERATE, 'Content-Type: application/json', body=json.dumps({**body, 'stream': True}))
    equal(c.head()[0], 200)
    return c


def text_of(body):
    told = [d for _, _, d in events(body)]
    equal(told[-1:], ['[DONE]'])
    return ''.join(d['text'] for d in told[:-1] if d['choice'] == 0)


@test
def field_3_3_a_reset_while_a_prompt_is_read_ends_the_reading_and_changes_no_other_text():
    n_prompt, mate = 3000, {'prompt': [300, 301], 'seed': 1, 'max_tokens': 24, 'ignore_eos': True}
    with Folder() as folder:
        path = folder / 'mid.gguf'
        synth_model(path, '--shape', 'mid', '--type', 'Q4_0', '--layers', '4')
        with serving(path, '-c', '3200', '--streams', '2') as s:
            want = good(s, GENERATE, **mate)['choices'][0]['text']
            for k in range(10):     # until one reset comes before the prompt has been read
                before = s.metric('runnel:engine_rows_total')
                with s.connect() as c, s.connect() as other:
                    begin(s, other, **mate)
                    begin(s, c, prompt=[300 + (i * i + k) % 1000 for i in range(n_prompt)], max_tokens=1)
                    wait_until(lambda: s.metric('runnel:engine_rows_total') > before + 40, 'the prompt is being read')
                    c.reset()
                    equal(text_of(b''.join(other.chunks())), want)
                wait_until(lambda: not s.working(), 'both have ended')
                if s.metric('runnel:engine_rows_total') - before < n_prompt:
                    break
            else:
                raise AssertionError('every prompt was read to its end')
            equal(s.metric('runnel:kv_pages_free') + s.metric('runnel:kv_pages_cached'), s.metric('runnel:kv_pages'))


@test
def field_3_10_a_client_that_stops_reading_parks_its_own_stream_only_and_loses_nothing():
    body = {'prompt': TIME, 'seed': 1, 'n': 4, 'logprobs': 20, 'ignore_eos': True, 'max_tokens': 400, 'buffer_tokens': 16}
    with Folder() as folder, serving(chat_model(folder)) as s:
        want = [c['text'] for c in sorted(good(s, GENERATE, **body)['choices'], key=lambda c: c['choice'])]
        alone = good(s, GENERATE, prompt=TIME, seed=7, max_tokens=40, ignore_eos=True)['choices'][0]['text']
        with s.connect() as slow:
            slow.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 32768)
            begin(s, slow, **body)
            wait_until(lambda: any(x['state'] == 'parked' for x in s.working()), 'it is parked')
            with s.connect() as c:
                equal(text_of(b''.join(begin(s, c, prompt=TIME, seed=7, max_tokens=40, ignore_eos=True).chunks())), alone)
            check(s.working(), 'the slow one has ended')
            told = [d for _, _, d in events(b''.join(slow.chunks()))]
        equal(told[-1], '[DONE]')
        equal([''.join(d['text'] for d in told[:-1] if d['choice'] == i) for i in range(4)], want)


@test
def a_server_without_descriptors_serves_whom_it_has_and_goes_on_when_there_are_some():
    with Folder() as folder, serving(chat_model(folder)) as s, s.connect() as old:
        equal(old.ask('GET', '/health').status, 200)
        _, n_fds = held(s)
        resource.prlimit(s.child.pid, resource.RLIMIT_NOFILE, (n_fds + 4, n_fds + 4))
        crowd = [s.connect() for _ in range(24)]        # the system takes them, the server cannot
        for c in crowd:
            c.request('GET', '/health')
        wait_until(lambda: held(s)[1] >= n_fds + 4, 'there are no descriptors left')
        equal(old.ask('GET', '/health').status, 200)
        text = old.ask('POST', GENERATE, 'Content-Type: application/json', body=json.dumps({'prompt': TIME, 'max_tokens': 4})).json
        check(text['choices'][0]['text'], text)
        check(s.child.poll() is None, s.said)
        for c in crowd:
            c.reset()
        wait_until(lambda: held(s)[1] < n_fds + 4, 'descriptors come back')
        equal(s.get('/health').status, 200)


@test
def open_files_are_raised_to_what_the_connections_need_or_said_to_be_too_few():
    few = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (128, 128))        # noqa: E731
    child = subprocess.Popen([PROGRAM, 'serve', '-m', str(MODEL), '--port', '0'], preexec_fn=few, stderr=subprocess.PIPE, env=environment())
    said = b''
    while b'listening at' not in said:
        said += child.stderr.readline()
    child.terminate()
    child.communicate(timeout=60)
    check(b'the limit is 128' in said and b'too few for %d connections' % CONNECTIONS in said, said)
    with Folder() as folder, serving(chat_model(folder)) as s:
        soft, hard = resource.prlimit(s.child.pid, resource.RLIMIT_NOFILE)
        check(soft >= min(hard, CONNECTIONS + 64), soft, hard)
        check('open files' not in s.said, s.said)


@test
def a_body_for_which_there_is_no_memory_is_refused_and_the_server_goes_on():
    if SANITIZED:
        raise Skip('sanitizers take the address space for themselves')
    with Folder() as folder, serving(chat_model(folder), '--max-body', '512') as s:
        size = int(re.search(r'VmSize:\s+(\d+) kB', open(f'/proc/{s.child.pid}/status').read())[1]) << 10
        resource.prlimit(s.child.pid, resource.RLIMIT_AS, (size + (64 << 20), resource.RLIM_INFINITY))
        body = json.dumps({'prompt': 'a' * (200 << 20)})
        post_body = s.post(GENERATE, body)
        post_body.refuses(503, 'out_of_memory')
        # On a busy machine the memory of the body may still be being given back.
        wait_until(lambda: post(s, GENERATE, prompt=TIME, max_tokens=4).status == 200, 'the next request is answered')


if __name__ == '__main__':
    main()
