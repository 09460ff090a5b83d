#!/usr/bin/env python3
"""WebSockets: the handshake, frames that RFC 6455 allows and those that it does not, slow readers, pings, the end."""
import signal
import struct
import time

from certificates import make_certificate
from serving import Folder, KEY, Server, Socket, check, equal, main, test, wait_until

shared = None


def server():
    global shared
    if shared is None:
        shared = Server('--max-body', 2).__enter__()
    return shared


@test
def a_message_comes_back_whole_however_it_was_cut():
    with server().connect() as c:
        w = Socket(c)
        for text in ('hello', '', 'ünïcödé €𝄞', 'x' * 125, 'x' * 126, 'x' * 65535, 'x' * 65536, 'x' * 150000):
            equal(w.send(text).text(), text, len(text))
        data = 'grüße 𝄞'.encode()
        for cut in range(len(data) + 1):       # also inside characters
            c.send(w.frame(1, data[:cut], fin=False) + w.frame(0, data[cut:]))
            equal(w.text().encode(), data, cut)
        frame = w.frame(1, 'one byte at a time')
        for byte in frame:
            c.send(bytes([byte]))
        equal(w.text(), 'one byte at a time')
        c.send(w.frame(1, 'a', fin=False) + w.frame(9, 'mid') + w.frame(0, 'b'))
        equal(w.read(), (10, b'mid'))
        equal(w.text(), 'ab')


@test
def frames_that_come_with_the_handshake_are_not_lost():
    with server().connect() as c:
        c.send('\r\n'.join(['GET /rig/socket HTTP/1.1', 'Host: localhost', *Socket.HEADERS, '', '']).encode() + Socket.frame(1, 'early'))
        equal(c.head()[0], 101)
        w = Socket.__new__(Socket)
        w.client = c
        equal(w.text(), 'early')


HANDSHAKES = [
    ('version 8', [h.replace('13', '8') for h in Socket.HEADERS], 'Sec-WebSocket-Version: must be 13'),
    ('no version', Socket.HEADERS[:2] + Socket.HEADERS[3:], 'Sec-WebSocket-Version: must be 13'),
    ('no key', Socket.HEADERS[:3], 'Sec-WebSocket-Key'),
    ('short key', Socket.HEADERS[:3] + ('Sec-WebSocket-Key: YWJj',), 'Sec-WebSocket-Key'),
    ('key of other signs', Socket.HEADERS[:3] + ('Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZ!==',), 'Sec-WebSocket-Key'),
    ('no upgrade', Socket.HEADERS[:1] + Socket.HEADERS[2:], 'Upgrade: websocket'),
    ('upgrade to something else', ('Connection: Upgrade', 'Upgrade: h2c') + Socket.HEADERS[2:], 'Upgrade: websocket'),
    ('no connection', Socket.HEADERS[1:], 'Upgrade: websocket'),
]


@test
def a_handshake_that_is_none_is_refused():
    for why, headers, part in HANDSHAKES:
        server().get('/rig/socket', *headers).refuses(400, 'invalid_value', part)
    server().get('/rig/socket', *Socket.HEADERS, 'Origin: http://evil.example').refuses(403, 'forbidden_origin')
    with server().connect() as c:
        c.ask('GET', '/rig/socket', *Socket.HEADERS, version='HTTP/1.0').refuses(400, 'invalid_value')
    with server().connect() as c:
        Socket(c, '/rig/socket', f'Origin: http://localhost:{server().port}')
    with server().connect() as c:
        equal(c.ask('GET', '/rig/socket', 'Connection: keep-alive, upgrade', 'Upgrade: WebSocket', *Socket.HEADERS[2:]).status, 101)


@test
def a_socket_wants_the_key_that_everything_wants():
    with Server('--api-key', KEY) as s:
        s.get('/rig/socket', *Socket.HEADERS).refuses(401, 'invalid_api_key')
        with s.connect() as c:
            equal(Socket(c, '/rig/socket', f'Authorization: Bearer {KEY}').send('x').text(), 'x')


F = Socket.frame
BROKEN = [
    # why, bytes, close code
    ('unmasked', F(1, 'x', mask=b''), 1002),
    ('reserved bit 1', F(1, 'x', rsv=4), 1002),
    ('reserved bit 3', F(1, 'x', rsv=1), 1002),
    ('unknown data opcode', F(3, 'x'), 1002),
    ('unknown control opcode', F(11, 'x'), 1002),
    ('a cut ping', F(9, 'x', fin=False), None),
    ('a ping of 126 bytes', F(9, 'x' * 126), None),
    ('a length with its high bit', bytes([0x81, 0xff]) + struct.pack('>Q', 1 << 63) + b'mask', None),
    ('a length written too long', bytes([0x81, 0xfe]) + struct.pack('>H', 5) + b'mask' + b'hello', None),
    ('a continuation of nothing', F(0, 'x'), 1002),
    ('a message inside a message', F(1, 'a', fin=False) + F(1, 'b'), 1002),
    ('bytes that are no UTF-8', F(1, b'\xff\xfe'), 1007),
    ('an overlong form', F(1, b'\xc0\xaf'), 1007),
    ('a surrogate', F(1, b'\xed\xa0\x80'), 1007),
    ('half a character at the end', F(1, b'\xe2\x82'), 1007),
    ('no UTF-8 over two frames', F(1, b'\xe2', fin=False) + F(0, b'\x28\xa1'), 1007),
    ('binary', F(2, b'\x00\x01'), 1003),
    ('close code 1005', F(8, struct.pack('>H', 1005)), 1002),
    ('close code 999', F(8, struct.pack('>H', 999)), 1002),
    ('a frame over 1 MiB', F(1, b'x', length=(1 << 20) + 1), 1009),
    ('1025 fragments', F(1, 'x', fin=False) + F(0, 'x', fin=False) * 1024, 1009),
    ('a message over the limit', (F(1, 'x' * 1000000, fin=False) + F(0, 'x' * 1000000, fin=False) + F(0, 'x' * 200000)), 1009),
]


@test
def frames_that_break_the_rules_close_the_socket_and_no_other():
    with server().connect() as other:
        good = Socket(other)
        for why, data, code in BROKEN:
            with server().connect() as c:
                w = Socket(c)
                try:
                    c.send(data)
                    if code:
                        w.closed_with(code)
                    else:
                        while w.read()[0] not in (8, None):
                            pass
                    check(c.is_closed(10), 'still open')
                except (AssertionError, ConnectionError) as e:
                    raise AssertionError(f'{why}: {e!r}') from e
            equal(good.send(why).text(), why)


@test
def limits_of_frames_and_fragments_are_met_exactly():
    with server().connect() as c:
        w = Socket(c)
        c.send(w.frame(1, 'x', fin=False) + w.frame(0, 'x', fin=False) * 1022 + w.frame(0, 'x'))
        equal(w.text(), 'x' * 1024)
        equal(len(w.send('y' * (1 << 20)).text()), 1 << 20)


@test
def a_goodbye_is_returned_and_the_connection_ends():
    for payload in (struct.pack('>H', 1000) + b'done', b'', b'\x03'):
        with server().connect() as c:
            w = Socket(c)
            c.send(w.frame(8, payload))
            equal(w.read()[0], 8)
            check(c.is_closed(10), 'still open')
    with server().connect() as c:
        w = Socket(c).send('bye').closed_with(1000)
        c.send(w.frame(8, struct.pack('>H', 1000)))
        check(c.is_closed(10), 'still open')
    wait_until(lambda: (n := server().counts()) and n['opened'] == n['closed'], 'every socket was given back')


@test
def a_client_that_says_no_goodbye_is_let_go():
    with Server() as s:
        with s.connect() as c:
            Socket(c).send('bye').closed_with(1000)
            check(c.is_closed(15), 'the server waits for ever')
        for leave in ('close', 'reset'):
            with s.connect() as c:
                Socket(c)
                getattr(c, leave)()
            wait_until(lambda: (n := s.counts()) and n['opened'] == n['closed'], leave)


@test
def field_3_10_a_reader_that_reads_nothing_bounds_what_is_sent():
    with Server() as s, s.connect() as c:
        w = Socket(c).send('flood 20000')
        before = -1
        while (now := s.counts()['pulls']) != before:
            before = now
            time.sleep(0.5)
        check(now < 20000, 'all 20 MiB were taken from the source')
        for i in range(20000):
            equal(len(w.text()), 1024, i)
        equal(s.counts()['pulls'], 20000)


@test
def field_3_10_a_reader_that_reads_nothing_for_its_time_is_let_go():
    with Server('--write-seconds', 1) as s, s.connect() as c:
        Socket(c).send('flood 20000')
        wait_until(lambda: s.counts()['closed'] == 1, 'it was let go')


@test
def a_flood_of_pings_without_reading_the_answers_is_not_answered_from_memory():
    with Server('--write-seconds', 2) as s, s.connect() as c:
        w = Socket(c)
        c.socket.settimeout(1)
        ping = w.frame(9, 'p' * 125) * 500
        try:
            for _ in range(2000):       # 130 MB
                c.send(ping)
            raise AssertionError('130 MB of pings were read')
        except OSError:
            pass
        equal(s.get('/health').status, 200)


@test
def sockets_are_told_that_the_server_goes():
    with Server() as s, s.connect() as c:
        w = Socket(c)
        equal(w.send('x').text(), 'x')
        s.signal(signal.SIGTERM)
        w.closed_with(1001)
        c.send(w.frame(8, struct.pack('>H', 1001)))
        equal(s.wait(), 0)
    with Server('--drain-seconds', 3600) as s, s.connect() as c:   # one that does not answer is not waited for long
        w = Socket(c)
        s.signal(signal.SIGTERM)
        equal(s.wait(), 0)


@test
def many_sockets_echo_at_once():
    with Server() as s:
        many = [s.connect() for _ in range(100)]
        sockets = [Socket(c) for c in many]
        for turn in range(5):
            for i, w in enumerate(sockets):
                w.send(f'{turn} {i}')
            for i, w in enumerate(sockets):
                equal(w.text(), f'{turn} {i}')
        for c in many:
            c.close()
        wait_until(lambda: (n := s.counts()) and n['opened'] == n['closed'] == 100, 'all were given back')


@test
def under_tls_messages_of_all_sizes_come_back_and_the_end_is_told():
    with Folder() as folder:
        make_certificate(folder)
        with Server('--tls-cert', folder / 'cert.pem', '--tls-key', folder / 'key.pem') as s, s.connect() as c:
            w = Socket(c)
            for n in (0, 1, 125, 126, 16000, 16384, 20000, 200000):      # a record of TLS has 16,384 bytes
                w.send('x' * n)
                equal(len(w.text()), n)
            w.client.send(b''.join(w.frame(1, f'{i}') for i in range(500)))        # one record, many frames
            equal([w.text() for _ in range(500)], [f'{i}' for i in range(500)])
            w.send('flood 2000')
            for _ in range(2000):
                equal(len(w.text()), 1024)
            w.send('bye')
            w.closed_with(1000)


if __name__ == '__main__':
    try:
        main()
    finally:
        if shared:
            shared.__exit__(None)
