#!/usr/bin/env python3
"""What strangers may cost: requests that end early, bodies together, connections beyond the limit, a log that nobody reads, old TLS."""
import os
import signal
import socket
import ssl
import warnings

from certificates import make_certificate
from serving import SANITIZED, Folder, KEY, Server, check, equal, held, main, test, wait_until

MIB = 1 << 20
MANY = 20000 if not SANITIZED else 2000


@test
def requests_with_more_query_arguments_than_one_would_count_are_answered_and_leave_nothing():
    request = b'GET /rig/below/x?' + b'&'.join(b'a%d=b' % (i % 10) for i in range(1500)) + b' HTTP/1.1\r\nHost: localhost\r\n\r\n'
    check(len(request) < 8192, len(request))
    with Server('--drain-seconds', 3600, '--access-log', 'none') as s:
        def ask(n):
            with s.connect() as c:
                for _ in range(n):
                    equal(c.send(request).answer().status, 200)
        ask(1000)
        before = held(s)[0]
        for _ in range(10):
            ask(MANY // 10)
        check(held(s)[0] - before < (64 if SANITIZED else 4) * MIB, f'{held(s)[0] - before} bytes more')
        s.signal(signal.SIGTERM)        # nothing runs, so nothing is waited for
        equal(s.wait(), 0)


@test
def requests_that_end_in_every_way_leave_none_behind_that_would_count_as_running():
    """Those that the parser refuses, those whose client leaves, and those that are cut off for their time."""
    begin = 'POST /rig/echo HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n'
    with Server('--drain-seconds', 3600, '--body-seconds', 1, '--header-seconds', 1, '--api-key', KEY) as s:
        cut_off = []
        for _ in range(20):
            for data in ('GET / HTTP/9\r\n\r\n', begin + 'Content-Length: 9\r\n\r\n1', begin + 'Transfer-Encoding: chunked\r\n\r\nx',
                         'GET /health HTTP/1.1\r\nx', begin + 'Expect: 100-continue\r\nContent-Length: 5\r\n\r\n'):
                c = s.connect().send(data)
                cut_off.append(c)
                if len(cut_off) % 2:
                    c.reset()
        s.signal(signal.SIGTERM)
        equal(s.wait(), 0)


def unfinished(s, n_bytes, framing):
    """A connection that has sent all of a body but its end; what the server says to that, None: it waits for more."""
    c = s.connect()
    c.request('POST', '/rig/echo', 'Content-Type: application/json', framing)
    c.socket.settimeout(0.3)
    try:
        for at in range(0, n_bytes, MIB):
            n = min(MIB, n_bytes - at)
            c.send(b'%x\r\n%s\r\n' % (n, b'x' * n) if 'chunked' in framing else b'x' * n)
        return c, c.answer()
    except TimeoutError:
        return c, None
    except (ConnectionError, AssertionError):
        return c, False        # refused, and the end of the answer was not read before the connection ended


def bodies_are_bounded(framing):
    with Server('--memory', 400, '--access-log', 'none') as s:
        some = [unfinished(s, 15 * MIB - 1, framing) for _ in range(60)]
        told = [a for _, a in some if a]
        waiting = [c for c, a in some if a is None]
        check(told and waiting, len(told), len(waiting))
        for a in told:
            a.refuses(503, 'server_busy', 'limit of 25 MiB together (--max-bodies)')
            equal(a.header('retry-after'), '1')
        check(held(s)[0] < 400 * MIB, f'{held(s)[0]} bytes')
        check(s.metric('runnel:http_body_bytes') <= 25 * MIB, s.metric('runnel:http_body_bytes'))
        equal(s.get('/health').status, 200)
        for c, _ in some:
            c.reset()
        wait_until(lambda: s.metric('runnel:http_body_bytes') == 0, 'what was reserved is free')
        equal(s.post('/rig/echo', b'x' * 15 * MIB).json['n'], 15 * MIB)


@test
def sixty_bodies_that_do_not_end_stay_within_the_plan():
    bodies_are_bounded(f'Content-Length: {15 * MIB}')


@test
def sixty_bodies_in_chunks_that_do_not_end_stay_within_the_plan():
    bodies_are_bounded('Transfer-Encoding: chunked')


@test
def all_bodies_together_may_have_what_the_option_says_and_not_one_byte_more():
    with Server('--max-body', 1, '--max-bodies', 2) as s:
        equal(s.post('/rig/echo', b'x' * MIB).json['n'], MIB)
        length = f'Content-Length: {MIB}'
        with s.connect() as one, s.connect() as two, s.connect() as three:
            for c in (one, two):
                c.request('POST', '/rig/echo', 'Content-Type: application/json', length)
            wait_until(lambda: s.metric('runnel:http_body_bytes') == 2 * MIB, 'both were reserved')
            three.request('POST', '/rig/echo', 'Content-Type: application/json', 'Content-Length: 1').send('x')
            three.answer().refuses(503, 'server_busy', 'limit of 2 MiB together (--max-bodies)')
            equal(one.send(b'x' * MIB).answer().json['n'], MIB)
            equal(s.post('/rig/echo', b'x').json['n'], 1)
            two.send(b'x' * MIB).answer()
    with Server('--max-body', 1, '--max-bodies', 1) as s:
        equal(s.post('/rig/echo', b'x' * MIB).json['n'], MIB)


@test
def what_surrounds_chunks_is_bounded():
    head = 'POST /rig/echo HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n'
    with Server() as s:
        for what in ('2;' + 'e' * 100000, '0' * 100000 + '2', '2\r\n{}\r\n0\r\nX: ' + 'y' * 100000,
                     '2\r\n{}\r\n0\r\n' + 'X: y\r\n' * 20000):
            with s.connect() as c:
                c.send(head + what).answer().refuses(413, 'request_too_large', '65536')
        with s.connect() as c:      # the framing of many small chunks is none of it
            c.send(head + '1\r\nx\r\n' * 50000 + '0\r\n\r\n')
            equal(c.answer().json['n'], 50000)


@test
def a_crowd_beyond_the_connections_is_told_so_without_a_request_and_costs_the_others_nothing():
    with Server('--max-connections', 2) as s, s.connect() as kept, s.connect() as other:
        equal([c.ask('GET', '/health').status for c in (kept, other)], [200, 200])
        crowd = [s.connect() for _ in range(200)]
        for c in crowd:
            equal(c.head()[0], 503)
        equal(kept.ask('GET', '/health').status, 200)
        for c in crowd:
            c.close()
        other.close()
        wait_until(lambda: kept.ask('GET', '/rig/counts').status == 200, 'it goes on')
        with wait_until(lambda: connected(s), 'room for another'):
            pass


def connected(s):
    c = s.connect()
    return c if c.ask('GET', '/health').status == 200 else c.close()


@test
def a_log_that_nobody_reads_holds_up_nobody_and_says_later_how_many_lines_were_lost():
    with Folder() as folder:
        log = folder / 'log'
        os.mkfifo(log)
        reader = os.open(log, os.O_RDONLY | os.O_NONBLOCK)
        with Server('--access-log', log) as s:
            with s.connect() as c:
                for _ in range(3000):       # a pipe has room for some 700 lines
                    equal(c.ask('GET', '/health').status, 200)
            n_lost = s.metric('runnel:log_failures_total')
            check(n_lost > 1000, n_lost)
            text = b''
            while b'lines were lost' not in text:
                s.get('/health')
                try:
                    text += os.read(reader, 1 << 20)
                except BlockingIOError:
                    pass
            n_told = int(text.split(b' lines were lost')[0].rsplit(b' ', 1)[1])
            equal(n_told, s.metric('runnel:log_failures_total'))
            check(n_told >= n_lost, n_told, n_lost)
        os.close(reader)


class Unread(Server):
    """Nobody reads its stderr once it listens."""

    def read_err(self):
        for line in self.child.stderr:
            self.err += line
            if b'listening at' in line:
                return


@test
def a_server_whose_stderr_nobody_reads_answers_and_ends():
    with Unread() as s:
        with s.connect() as c:
            for _ in range(3000):
                equal(c.ask('GET', '/health').status, 200)
        s.signal(signal.SIGHUP)         # says something
        equal(s.get('/health').status, 200)
        s.signal(signal.SIGTERM)
        equal(s.wait(), 0)


@test
def tls_before_1_2_is_refused():
    with Folder() as folder:
        make_certificate(folder)
        with Server('--tls-cert', folder / 'cert.pem', '--tls-key', folder / 'key.pem') as s:
            for version, is_good in ((ssl.TLSVersion.TLSv1_1, False), (ssl.TLSVersion.TLSv1_2, True), (ssl.TLSVersion.TLSv1_3, True)):
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
                context.check_hostname = False
                context.verify_mode = ssl.CERT_NONE
                context.set_ciphers('DEFAULT@SECLEVEL=0')
                with warnings.catch_warnings():
                    warnings.simplefilter('ignore', DeprecationWarning)
                    context.minimum_version = context.maximum_version = version
                try:
                    with socket.create_connection((s.host, s.port)) as plain, context.wrap_socket(plain) as c:
                        equal((is_good, c.version()), (True, version.name.replace('_', '.')))
                except ssl.SSLError as e:
                    check(not is_good, version, e)
            equal(s.get('/health').status, 200)


if __name__ == '__main__':
    main()
