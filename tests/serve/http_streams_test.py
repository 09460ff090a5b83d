#!/usr/bin/env python3
"""Event streams and late answers: headers at once, one write for an event, pings, slow readers, and clients that leave or half leave."""
import signal
import socket
import time

from serving import Server, check, equal, main, test, wait_until


def settled(s, **want):
    """The rig's counts, once they are as wanted."""
    return wait_until(lambda: (n := s.counts()) and all(n[k] == v for k, v in want.items()) and n, f'counts {want}')


@test
def field_3_1_headers_come_before_the_first_event_and_name_no_buffering():
    with Server() as s, s.connect() as c:
        c.request('GET', '/rig/events?n=1&ms=100000')
        status, headers = c.head()
        headers = {n.lower(): v for n, v in headers}
        equal(status, 200)
        equal((headers['content-type'], headers['x-accel-buffering'], headers['cache-control']),
              ('text/event-stream', 'no', 'no-cache'))
        equal((headers['transfer-encoding'], headers['x-rig']), ('chunked', 'yes'))
        equal(c.chunk(), b': ping\n\n')


@test
def field_3_1_each_event_is_one_chunk_and_comes_when_it_is_made():
    with Server('--ping-seconds', 0) as s, s.connect() as c:
        c.request('GET', '/rig/events?n=10&ms=50&last_ms=100000')     # nine come, although the tenth does not
        c.head()
        equal(c.chunk(), b': ping\n\n')
        for _ in range(9):
            equal(c.chunk(), b'data: xxxxxxxxxx\n\n')


@test
def an_http_1_0_client_gets_the_events_and_then_the_connection_ends():
    with Server() as s, s.connect() as c:
        a = c.ask('GET', '/rig/events?n=3&ms=5', version='HTTP/1.0')
        equal(a.body.replace(b': ping\n\n', b''), b'data: xxxxxxxxxx\n\n' * 3 + b'data: [DONE]\n\n')
        settled(s, complete=1)


@test
def an_event_larger_than_the_connections_memory_arrives_whole():
    with Server() as s, s.connect() as c:
        a = c.ask('GET', '/rig/events?n=2&bytes=1000000')
        equal(a.body.count(b'x'), 2000000)
        equal(c.ask('GET', '/health').status, 200)


@test
def field_3_2_a_silent_stream_pings_with_what_its_source_has_to_say():
    with Server('--ping-seconds', 1) as s, s.connect() as c:
        c.request('GET', '/rig/events?n=1&ms=3500&ping=1')
        c.head()
        got = list(c.chunks())
        pings = [data for data in got if data == b': ping 1 events left\n\n']
        check(3 <= len(pings) <= 4, got)
        equal([data for data in got if data.startswith(b'data')], [b'data: xxxxxxxxxx\n\n', b'data: [DONE]\n\n'])


@test
def field_3_2_no_ping_comes_when_pings_are_off_or_events_come_oftener():
    with Server('--ping-seconds', 0) as s, s.connect() as c:
        c.request('GET', '/rig/events?n=1&ms=1500')
        c.head()
        equal([data for data in c.chunks() if b'ping' in data], [b': ping\n\n'])
    with Server('--ping-seconds', 2) as s, s.connect() as c:
        c.request('GET', '/rig/events?n=20&ms=150')
        c.head()
        equal([data for data in c.chunks() if b'ping' in data], [b': ping\n\n'])


@test
def a_late_answer_comes_when_it_is_there_and_the_connection_goes_on():
    with Server() as s, s.connect() as c:
        begin = time.monotonic()
        equal(c.ask('POST', '/rig/later?ms=300', 'Content-Type: application/json', body='{}').json, {'late': True})
        check(time.monotonic() - begin > 0.25, 'too early')
        equal(c.ask('GET', '/rig/later?ms=1').json, {'late': True})
        settled(s, complete=2, gone=0, running=0)


@test
def a_late_answer_in_several_pulls_needs_no_further_wake_up():
    with Server() as s, s.connect() as c:
        equal(c.ask('GET', '/rig/later?ms=1&more=20').json, {'late': True})
        equal(c.ask('POST', '/rig/later?ms=50&more=3', 'Content-Type: application/json', body='{}').json, {'late': True})
        settled(s, complete=2, gone=0, running=0)


def notices(s, leave, path):
    """A client's leaving ends its source, which would wait for longer than the test does, and sends nothing that could fail."""
    with s.connect() as c:
        c.request('GET', path)
        settled(s, running=1)
        if 'events' in path:
            c.head()
            c.chunk()
        leave(c)
        settled(s, running=0)


@test
def field_3_3_a_reset_ends_the_source_at_once():
    with Server('--ping-seconds', 0) as s:
        for path in ('/rig/events?n=1&ms=100000', '/rig/later?ms=100000'):
            for _ in range(3):
                notices(s, lambda c: c.reset(), path)
        settled(s, gone=6, complete=0)


@test
def field_3_3_a_closed_connection_ends_the_source_at_once():
    with Server('--ping-seconds', 0) as s:
        for path in ('/rig/events?n=1&ms=100000', '/rig/later?ms=100000'):
            for _ in range(3):
                notices(s, lambda c: c.close(), path)
        settled(s, gone=6, complete=0)


@test
def field_3_3_a_client_that_left_before_its_answer_began_is_noticed():
    """Request and FIN in one go: the watcher hears of the end before the request waits."""
    with Server('--ping-seconds', 0) as s:
        for path in ('/rig/events?n=1&ms=100000', '/rig/later?ms=100000'):
            for _ in range(10):
                with s.connect() as c:
                    c.request('GET', path)
        settled(s, gone=20, running=0)


@test
def a_client_that_only_stops_sending_still_gets_its_events():
    with Server('--ping-seconds', 0) as s, s.connect() as c:
        c.request('GET', '/rig/events?n=5&ms=200')
        c.head()
        c.socket.shutdown(socket.SHUT_WR)
        body = b''.join(c.chunks())
        equal(body.count(b'data: x'), 5)
        check(body.endswith(b'data: [DONE]\n\n'), body)
        check(c.is_closed(), 'the connection stays')
        settled(s, complete=1, gone=0)


@test
def a_client_that_only_stops_sending_still_gets_its_late_answer():
    with Server('--ping-seconds', 0) as s:
        for version in ('HTTP/1.1', 'HTTP/1.0'):
            with s.connect() as c:
                c.request('GET', '/rig/later?ms=500', version=version)
                c.socket.shutdown(socket.SHUT_WR)
                equal(c.answer().json, {'late': True}, version)
                equal(c.interim, [100] if version == 'HTTP/1.1' else [], version)
        settled(s, complete=2, gone=0)


@test
def a_client_that_stops_sending_with_its_last_byte_gets_its_answer_however_soon_it_comes():
    """The end of what a client sends must not be taken for the end of the client."""
    with Server('--ping-seconds', 0) as s:
        asked = [(path, method, ms) for path in ('/rig/later', '/rig/events') for method in ('GET', 'POST') for ms in (0, 1, 2, 5, 20) * 2]
        for path, method, ms in asked:
            with s.connect() as c:
                body = {'body': '{}'} if method == 'POST' else {}
                c.request(method, f'{path}?n=1&ms={ms}', 'Content-Type: application/json', **body)
                c.socket.shutdown(socket.SHUT_WR)
                equal(c.answer().status, 200, (path, method, ms))
        settled(s, complete=len(asked), gone=0)


@test
def a_connection_whose_client_stopped_sending_ends_soon_after_its_last_answer():
    """Request and FIN at once."""
    three = b'GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n' * 3
    with Server('--idle-seconds', 0, '--header-seconds', 0) as s:
        for sent, n in ((three, 3), (three[:-4], 2), (b'\r\n', 0), (b'GET /health HT', 0)) * 3:
            with s.connect() as c:
                c.send(sent)
                c.socket.shutdown(socket.SHUT_WR)
                equal(c.rest().count(b'HTTP/1.1 200 '), n, sent)


@test
def a_connection_whose_client_stopped_sending_within_a_body_ends_soon():
    """The stopped server finds bytes and FIN together, as a busy one does."""
    head = 'POST /rig/echo HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n'
    with Server('--body-seconds', 0) as s:
        s.signal(signal.SIGSTOP)
        clients = [s.connect() for _ in range(3)]
        for c, rest in zip(clients, ('Content-Length: 9\r\n\r\n', 'Content-Length: 9\r\n\r\n{"a"', 'Transfer-Encoding: chunked\r\n\r\n9\r\n{"a"')):
            c.send(head + rest)
            c.socket.shutdown(socket.SHUT_WR)
        s.signal(signal.SIGCONT)
        equal([c.is_closed(10) for c in clients], [True, True, True])


@test
def a_half_closed_client_that_leaves_later_is_noticed_by_the_next_ping():
    with Server('--ping-seconds', 1) as s:
        for path in ('/rig/events?n=1&ms=100000', '/rig/later?ms=100000'):
            with s.connect() as c:
                c.request('GET', path)
                c.socket.shutdown(socket.SHUT_WR)
                settled(s, running=1)
                time.sleep(0.3)
                equal(s.counts()['running'], 1, path)
            settled(s, running=0)


@test
def field_3_10_a_slow_reader_stops_its_own_source_and_no_other():
    with Server('--ping-seconds', 0) as s, s.connect() as slow:
        slow.request('GET', '/rig/events?flood=1&bytes=8000')
        before = -1
        while (now := s.counts()['pulls']) != before:
            before = now
            time.sleep(0.5)
        check(now * 8000 < 64 << 20, f'{now} pulls of 8000 bytes without a reader')
        with s.connect() as c:
            equal(c.ask('GET', '/rig/events?n=3&ms=5').body.count(b'data: x'), 3)
        slow.socket.settimeout(10)
        got = 0
        while got < 32 << 20:
            got += len(slow.socket.recv(1 << 20))
        check(s.counts()['pulls'] > now, 'the source did not go on')


@test
def field_3_10_a_reader_that_takes_nothing_for_its_time_is_let_go():
    with Server('--write-seconds', 1, '--ping-seconds', 0) as s, s.connect() as slow:
        slow.request('GET', '/rig/events?flood=1&bytes=8000')
        settled(s, running=1)
        settled(s, running=0, gone=1)


@test
def a_reader_of_one_byte_at_a_time_gets_everything():
    with Server() as s, s.connect() as c:
        c.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        c.request('GET', '/rig/events?n=50&ms=1&bytes=100')
        got = b''
        while not got.endswith(b'0\r\n\r\n'):
            byte = c.socket.recv(1)
            check(byte, 'the connection ended')
            got += byte
        equal(got.count(b'data: x'), 50)


@test
def a_large_answer_survives_a_reader_that_pauses():
    with Server() as s, s.connect() as c:
        c.request('GET', '/rig/big?bytes=20000000')
        time.sleep(0.5)
        equal(len(c.answer().body), 20000000)


@test
def two_hundred_streams_at_once_are_each_whole():
    with Server() as s:
        many = [s.connect() for _ in range(200)]
        for i, c in enumerate(many):
            c.request('GET', f'/rig/events?n=20&ms=10&bytes={i + 1}')
        for i, c in enumerate(many):
            equal(c.answer().body.replace(b': ping\n\n', b''), (b'data: ' + b'x' * (i + 1) + b'\n\n') * 20 + b'data: [DONE]\n\n', i)
            c.close()
        settled(s, complete=200, gone=0, running=0)


@test
def clients_that_come_and_go_at_random_leave_nothing_behind():
    import random
    random.seed(7)
    with Server('--ping-seconds', 1) as s:
        open_ones = []
        for _ in range(300):
            c = s.connect()
            c.request('GET', random.choice(['/rig/events?n=3&ms=3', '/rig/events?n=1&ms=100000', '/rig/later?ms=20', '/rig/big?bytes=300000',
                                            '/rig/events?flood=1', '/health']))
            open_ones.append(c)
            if len(open_ones) > 20:
                left = open_ones.pop(random.randrange(len(open_ones)))
                random.choice([left.close, left.reset])()
        for c in open_ones:
            c.close()
        settled(s, running=0)


if __name__ == '__main__':
    main()
