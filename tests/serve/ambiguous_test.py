#!/usr/bin/env python3
"""Requests whose end two readers could see in different places (RFC 9112, section 11): each is refused and its connection closed, and behind
nginx and HAProxy no such request reaches the server as two, or as a part of another one."""
import contextlib
import os
import socket
import subprocess

from proxies import free_port, program
from serving import Client, Folder, Server, check, equal, main, test, wait_until

H = b'Host: localhost\r\n'
J = b'Content-Type: application/json\r\n'
# What a reader would take for a request that sees the end of the one before too early. It must never arrive as one.
INNER = b'GET /rig/below/smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n'
OK, BAD, NOT_DONE, VERSION, NAME, TOO_LARGE = 200, 400, 501, 505, 403, 413


def post(*fields, body=b'', line=b'POST /rig/echo HTTP/1.1'):
    """A request with these header lines; what its body has is followed by INNER."""
    return line + b'\r\n' + H + J + b''.join(f + b'\r\n' for f in fields) + b'\r\n' + body


def get(line=b'GET /rig/below/x HTTP/1.1', *fields, host=H):
    return line + b'\r\n' + host + b''.join(f + b'\r\n' for f in fields) + b'\r\n'


def lengths(*fields):
    return post(*fields, body=b'{}')


def chunks(body, *fields):
    return post(*(fields or (b'Transfer-Encoding: chunked',)), body=body)


LAST = b'0\r\n\r\n'
TE = b'Transfer-Encoding: chunked'
CL = b'Content-Length: %d' % len(LAST + INNER)

# why, bytes, statuses of the answers when a request for /health comes after them: the last is its own, or the connection was closed
ROWS = [
    # where a body ends: Content-Length and Transfer-Encoding
    ('length, then chunks', post(CL, TE, body=LAST + INNER), [BAD]),
    ('chunks, then length', post(TE, CL, body=LAST + INNER), [BAD]),
    ('length 0 and chunks', post(b'Content-Length: 0', TE, body=LAST), [BAD]),
    ('space before the colon of chunks', post(CL, b'Transfer-Encoding : chunked', body=LAST + INNER), [BAD]),
    ('tab before the colon of chunks', post(CL, b'Transfer-Encoding\t: chunked', body=LAST + INNER), [BAD]),
    ('chunks on a folded line', post(CL, b'Transfer-Encoding:\r\n chunked', body=LAST + INNER), [BAD]),
    ('chunks behind a folded line', post(CL, b'X: a\r\n Transfer-Encoding: chunked', body=LAST + INNER), [BAD]),
    ('chunks behind a bare LF', post(CL, b'X: a\nTransfer-Encoding: chunked', body=LAST + INNER), [BAD]),
    ('chunks behind a bare CR', post(CL, b'X: a\rTransfer-Encoding: chunked', body=LAST + INNER), [BAD]),
    ('a coding like chunked', chunks(LAST, b'Transfer-Encoding: xchunked'), [NOT_DONE]),
    ('chunked is not the last coding', chunks(LAST, b'Transfer-Encoding: chunked, identity'), [BAD]),
    ('identity', chunks(LAST, b'Transfer-Encoding: identity'), [NOT_DONE]),
    ('a second coding', chunks(LAST, b'Transfer-Encoding: gzip, chunked'), [NOT_DONE]),
    ('chunked twice in one field', chunks(LAST, b'Transfer-Encoding: chunked, chunked'), [BAD]),
    ('chunked in quotes', chunks(LAST, b'Transfer-Encoding: "chunked"'), [NOT_DONE]),
    ('chunked with a parameter', chunks(LAST, b'Transfer-Encoding: chunked;q=1'), [NOT_DONE]),
    ('chunked after a comma', chunks(LAST, b'Transfer-Encoding: ,chunked'), [NOT_DONE]),
    ('no coding', chunks(LAST, b'Transfer-Encoding:'), [BAD]),
    ('chunked in two fields', chunks(LAST, TE, TE), [BAD]),
    ('chunked and identity in two fields', chunks(LAST, TE, b'Transfer-Encoding: identity'), [BAD]),
    ('a vertical tab before chunked', chunks(LAST, b'Transfer-Encoding:\x0bchunked'), [BAD]),
    ('a NUL after chunked', chunks(LAST, b'Transfer-Encoding: chunked\0'), [BAD]),
    ('obs-text after chunked', chunks(LAST, b'Transfer-Encoding: chunked\xa0'), [NOT_DONE]),
    ('chunks from an HTTP/1.0 client', post(TE, body=LAST, line=b'POST /rig/echo HTTP/1.0'), [BAD]),
    ('chunked in capitals', chunks(b'2\r\n{}\r\n' + LAST, b'TRANSFER-ENCODING: CHUNKED'), [OK, OK]),
    ('a tab before chunked', chunks(b'2\r\n{}\r\n' + LAST, b'Transfer-Encoding:\tchunked'), [OK, OK]),
    ('another header that looks alike', post(b'Content-Length: 2', b'Transfer_Encoding: chunked', body=b'{}'), [OK, OK]),
    # Content-Length
    ('two lengths', lengths(b'Content-Length: 2', b'Content-Length: 60'), [BAD]),
    ('the same length twice', lengths(b'Content-Length: 2', b'Content-Length: 2'), [BAD]),
    ('a list of lengths', lengths(b'Content-Length: 2, 2'), [BAD]),
    ('a plus', lengths(b'Content-Length: +2'), [BAD]),
    ('a minus', lengths(b'Content-Length: -2'), [BAD]),
    ('hexadecimal', lengths(b'Content-Length: 0x2'), [BAD]),
    ('a space inside', lengths(b'Content-Length: 2 2'), [BAD]),
    ('a fraction', lengths(b'Content-Length: 2.0'), [BAD]),
    ('an exponent', lengths(b'Content-Length: 2e0'), [BAD]),
    ('an underscore', lengths(b'Content-Length: 1_0'), [BAD]),
    ('a letter after it', lengths(b'Content-Length: 2a'), [BAD]),
    ('no digits', lengths(b'Content-Length:'), [BAD]),
    ('beyond 64 bits', lengths(b'Content-Length: 18446744073709551618'), [BAD]),
    ('all of 64 bits', lengths(b'Content-Length: 18446744073709551615'), [TOO_LARGE]),
    ('space before the colon of a length', lengths(b'Content-Length : 2'), [BAD]),
    ('a length on a folded line', lengths(b'Content-Length:\r\n 2'), [BAD]),
    ('a NUL after the length', lengths(b'Content-Length: 2\0'), [BAD]),
    ('obs-text before the length', lengths(b'Content-Length: \xa02'), [BAD]),
    ('spaces around the length', lengths(b'Content-Length:  2 \t'), [OK, OK]),
    ('a body of GET', get(b'GET /rig/below/x HTTP/1.1', b'Content-Length: %d' % len(INNER)) + INNER, [OK, OK]),
    # chunks
    ('hexadecimal prefix of a size', chunks(b'0x2\r\n{}\r\n' + LAST), [BAD]),
    ('a plus before a size', chunks(b'+2\r\n{}\r\n' + LAST), [BAD]),
    ('a minus before a size', chunks(b'-2\r\n{}\r\n' + LAST), [BAD]),
    ('a space before a size', chunks(b' 2\r\n{}\r\n' + LAST), [BAD]),
    ('a space after a size', chunks(b'2 \r\n{}\r\n' + LAST), [BAD]),
    ('a tab after a size', chunks(b'2\t\r\n{}\r\n' + LAST), [BAD]),
    ('no size', chunks(b'\r\n{}\r\n' + LAST), [BAD]),
    ('a size of no digits', chunks(b'g\r\n{}\r\n' + LAST), [BAD]),
    ('a size beyond 64 bits', chunks(b'10000000000000002\r\n{}\r\n' + LAST), [BAD]),
    ('a size ended by LF', chunks(b'2\n{}\r\n' + LAST), [BAD]),
    ('a size ended by CR CR LF', chunks(b'2\r\r\n{}\r\n' + LAST), [BAD]),
    ('a chunk ended by LF', chunks(b'2\r\n{}\n' + LAST), [BAD]),
    ('a chunk without an end', chunks(b'2\r\n{}' + LAST), [BAD]),
    ('a chunk longer than its size', chunks(b'2\r\n{} \r\n' + LAST), [BAD]),
    ('a NUL in a size', chunks(b'2\0\r\n{}\r\n' + LAST), [BAD]),
    ('LF in an extension', chunks(b'2;a\nxx\r\n{}\r\n' + LAST), [BAD]),
    ('CR in an extension', chunks(b'2;a\rxx\r\n{}\r\n' + LAST), [BAD]),
    ('NUL in an extension', chunks(b'2;a\0\r\n{}\r\n' + LAST), [BAD]),
    ('the last chunk ended by LF', chunks(b'2\r\n{}\r\n0\n\r\n'), [BAD]),
    ('chunks ended by LF', chunks(b'2\r\n{}\r\n0\r\n\n'), [BAD]),
    ('a trailer ended by LF', chunks(b'2\r\n{}\r\n0\r\nX: y\n\r\n'), [BAD]),
    ('a trailer without colon', chunks(b'2\r\n{}\r\n0\r\nX\r\n\r\n'), [BAD]),
    ('a folded trailer', chunks(b'2\r\n{}\r\n0\r\nX: y\r\n z\r\n\r\n'), [BAD]),
    ('an extension', chunks(b'2;a=b\r\n{}\r\n' + LAST), [OK, OK]),
    ('zeros before a size', chunks(b'002\r\n{}\r\n' + LAST), [OK, OK]),
    ('a trailer', chunks(b'2\r\n{}\r\n0\r\nX: y\r\n\r\n'), [OK, OK]),
    # lines
    ('bare LF everywhere', get().replace(b'\r\n', b'\n'), [BAD]),
    ('LF after the request line', get().replace(b'\r\n', b'\n', 1), [BAD]),
    ('LF ends the head', get()[:-2] + b'\n', [BAD]),
    ('CR alone ends the head', get()[:-1] + INNER, [BAD]),
    ('CR everywhere', get().replace(b'\r\n', b'\r'), [BAD]),
    ('CR CR LF', get().replace(b'\r\n', b'\r\r\n', 1), [BAD]),
    ('two empty lines before', b'\r\n\r\n' + get(), [BAD]),
    ('LF before', b'\n' + get(), [BAD]),
    ('CR before', b'\r' + get(), [BAD]),
    ('an empty line before', b'\r\n' + get(), [OK, OK]),
    # fields
    ('a first field that is folded', get(host=b' Host: localhost\r\n' + H), [BAD]),
    ('a folded field', get(b'GET /rig/below/x HTTP/1.1', b'X: a\r\n b'), [BAD]),
    ('a field folded by a tab', get(b'GET /rig/below/x HTTP/1.1', b'X: a\r\n\tb'), [BAD]),
    ('no colon', get(b'GET /rig/below/x HTTP/1.1', b'nonsense'), [BAD]),
    ('no name', get(b'GET /rig/below/x HTTP/1.1', b': x'), [BAD]),
    ('a space in a name', get(b'GET /rig/below/x HTTP/1.1', b'X Y: z'), [BAD]),
    ('a space before the colon', get(b'GET /rig/below/x HTTP/1.1', b'X : z'), [BAD]),
    ('NUL in a name', get(b'GET /rig/below/x HTTP/1.1', b'X\0Y: z'), [BAD]),
    ('obs-text in a name', get(b'GET /rig/below/x HTTP/1.1', b'X\xe9: z'), [BAD]),
    ('NUL in a value', get(b'GET /rig/below/x HTTP/1.1', b'X: a\0b'), [BAD]),
    ('CR in a value', get(b'GET /rig/below/x HTTP/1.1', b'X: a\rb'), [BAD]),
    ('LF in a value', get(b'GET /rig/below/x HTTP/1.1', b'X: a\nb'), [BAD]),
    ('ESC in a value', get(b'GET /rig/below/x HTTP/1.1', b'X: a\x1bb'), [BAD]),
    ('obs-text in a value', get(b'GET /rig/below/x HTTP/1.1', b'X: caf\xc3\xa9'), [OK, OK]),
    # request lines
    ('two spaces', get(b'GET  /rig/below/x HTTP/1.1'), [BAD]),
    ('a tab', get(b'GET\t/rig/below/x HTTP/1.1'), [BAD]),
    ('a space before', get(b' GET /rig/below/x HTTP/1.1'), [BAD]),
    ('a space after', get(b'GET /rig/below/x HTTP/1.1 '), [BAD]),
    ('a space in the target', get(b'GET /rig/below/x y HTTP/1.1'), [BAD]),
    ('a control character in the target', get(b'GET /rig/below/\x01 HTTP/1.1'), [BAD]),
    ('obs-text in the target', get(b'GET /rig/below/\xe9 HTTP/1.1'), [BAD]),
    ('a fragment in the target', get(b'GET /rig/below/x#y HTTP/1.1'), [BAD]),
    ('a method in small letters', get(b'get /rig/below/x HTTP/1.1'), [BAD]),
    ('a method with a colon', get(b'GE:T /rig/below/x HTTP/1.1'), [BAD]),
    ('a method that nobody knows', get(b'GETT /rig/below/x HTTP/1.1'), [NOT_DONE]),
    ('no target', get(b'GET HTTP/1.1'), [BAD]),
    ('no version', get(b'GET /rig/below/x'), [VERSION]),
    ('http in small letters', get(b'GET /rig/below/x http/1.1'), [BAD]),
    ('a version that is longer', get(b'GET /rig/below/x HTTP/1.10'), [BAD]),
    ('a version with a zero', get(b'GET /rig/below/x HTTP/01.1'), [VERSION]),
    ('version 1.2', get(b'GET /rig/below/x HTTP/1.2'), [VERSION]),
    ('version 2.0', get(b'GET /rig/below/x HTTP/2.0'), [VERSION]),
    # hosts
    ('two hosts', get(host=H + b'Host: localhost:1\r\n'), [BAD, OK]),
    ('one host twice', get(host=H + H), [BAD, OK]),
    ('no host', get(host=b''), [BAD, OK]),
    ('a list of hosts', get(host=b'Host: localhost, other\r\n'), [NAME, OK]),
    ('a host with a path', get(host=b'Host: localhost/x\r\n'), [NAME, OK]),
    ('a host with a user', get(host=b'Host: me@localhost\r\n'), [NAME, OK]),
    ('space before the colon of Host', get(host=b'Host : localhost\r\n'), [BAD]),
    ('a target of another host', get(b'GET http://127.0.0.1/rig/below/x HTTP/1.1'), [BAD, OK]),
    ('a target of the same host', get(b'GET http://localhost/rig/below/x HTTP/1.1'), [OK, OK]),
]


@test
def there_are_more_than_sixty_of_them_each_once():
    check(len(ROWS) >= 60, len(ROWS))
    equal(len({data for _, data, _ in ROWS}), len(ROWS))
    equal(len({why for why, _, _ in ROWS}), len(ROWS))


def answers(c):
    """Statuses of all that come until the connection ends."""
    statuses = []
    try:
        while c.buffer or c.more():
            statuses.append(c.answer().status)
    except (ConnectionError, AssertionError, TimeoutError):
        pass
    return statuses


@test
def each_is_refused_and_what_follows_on_the_connection_is_not_read():
    wrong = []
    with Folder() as folder, Server('--access-log', folder / 'log') as s:
        for why, data, want in ROWS:
            with s.connect() as c:
                c.send(data + b'GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n')
                c.socket.shutdown(socket.SHUT_WR)
                got = answers(c)
                if got != want:
                    wrong.append(f'{why}: {got}, want {want}')
        check('smuggled' not in (folder / 'log').read_text(errors='replace'), 'a part of a body arrived as a request')
    check(not wrong, '; '.join(wrong))


NGINX = """pid {folder}/pid; error_log {folder}/log; worker_processes 1; events {{ }}
http {{
    access_log off; {temps}
    upstream one {{ server 127.0.0.1:{port}; keepalive 4; }}
    server {{
        listen 127.0.0.1:{listen}; client_header_timeout 2s; client_body_timeout 2s;
        location / {{
            proxy_pass http://one; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host $http_host;
            proxy_request_buffering {buffering};
        }}
    }}
}}
"""
HAPROXY = """defaults
    mode http
    timeout connect 5s
    timeout client 2s
    timeout server 5s
    timeout http-request 2s
frontend in
    bind 127.0.0.1:{listen}
    default_backend one
backend one
    http-reuse always
    server one 127.0.0.1:{port}
"""


@contextlib.contextmanager
def proxied(s, folder, command, text, **more):
    listen = free_port()
    temps = ''.join(f'{kind}_temp_path {folder}/{kind};' for kind in ('client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'))
    (folder / 'conf').write_text(('' if os.geteuid() or 'http {' not in text.replace('{{', '{') else 'user root; ')
                                 + text.format(folder=folder, port=s.port, listen=listen, temps=temps, **more))
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    proxy = type('Proxy', (), {'host': '127.0.0.1', 'port': listen, 'is_tls': False})

    def is_up():
        check(child.poll() is None, 'the proxy ended')
        try:
            with Client(proxy) as c:
                return c.ask('GET', '/health').status == 200
        except OSError:
            return False
    try:
        wait_until(is_up, 'the proxy is up')
        yield proxy
    finally:
        child.terminate()
        child.wait(timeout=30)


def check_behind(s, log, proxy):
    for i, (why, data, _) in enumerate(ROWS):
        with Client(proxy) as c:
            c.send(data)
            c.socket.shutdown(socket.SHUT_WR)
            answers(c)
        for turn in range(2):       # whoever comes next, on a connection to the server that was used before, gets an answer of its own
            with Client(proxy) as c:
                mark = f'after-{i}-{turn}'
                equal(c.ask('GET', f'/rig/below/{mark}', f'x-request-id: {mark}').json['id'], mark, why)
        check('smuggled' not in log.read_text(errors='replace'), f'{why}: a part of a body arrived as a request')


@test
def nginx_and_the_server_agree_where_each_request_ends():
    path = program('NGINX', 'nginx')
    for buffering in ('on', 'off'):
        with Folder() as folder, Server('--access-log', folder / 'access', '--header-seconds', 2, '--body-seconds', 2) as s:
            command = [path, '-e', folder / 'log', '-c', folder / 'conf', '-g', 'daemon off;']
            with proxied(s, folder, command, NGINX, buffering=buffering) as proxy:
                check_behind(s, folder / 'access', proxy)


@test
def haproxy_and_the_server_agree_where_each_request_ends():
    path = program('HAPROXY', 'haproxy')
    with Folder() as folder, Server('--access-log', folder / 'access', '--header-seconds', 2, '--body-seconds', 2) as s:
        with proxied(s, folder, [path, '-db', '-f', folder / 'conf'], HAPROXY) as proxy:
            check_behind(s, folder / 'access', proxy)


main()
