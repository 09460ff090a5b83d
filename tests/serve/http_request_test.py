#!/usr/bin/env python3
"""Requests: what is answered, what is refused with which status and code, limits at n-1, n and n+1, and HTTP that is none."""
import socket
import time

from serving import Client, Server, Skip, check, equal, header_of, main, test, wait_until

LINE = 8192
shared = None


def server():
    """One for all tests that need no options."""
    global shared
    if shared is None:
        shared = Server().__enter__()
    return shared


@test
def a_request_is_answered_and_its_id_comes_back():
    a = server().get('/health', 'x-request-id: my-own.id_7')
    equal((a.status, a.json, a.header('x-request-id')), (200, {'status': 'ok'}, 'my-own.id_7'))
    equal(a.header('content-type'), 'application/json')


@test
def an_id_that_a_log_could_not_carry_is_replaced():
    for wild in ('x' * 72, 'a b', 'a"b', 'über'.encode().decode('latin-1')):
        got = server().get('/health', f'x-request-id: {wild}').header('x-request-id')
        check(got.startswith('req-') and len(got) == 28, wild, got)


@test
def a_body_arrives_whole_and_terminated_in_one_piece_or_byte_by_byte():
    body = bytes(range(256)) * 3
    want = server().post('/rig/echo', body).json
    equal((want['n'], want['terminated']), (768, 1))
    with server().connect() as c:
        c.request('POST', '/rig/echo', 'Content-Type: application/json', 'Content-Length: 768')
        for i in range(0, 768, 7):
            c.send(body[i:i + 7])
        got = c.answer().json
    equal((got['n'], got['sum']), (want['n'], want['sum']))


@test
def a_chunked_body_is_the_same_body_for_every_cut():
    body = b'{"a": 1, "b": [2, 3]}'
    want = server().post('/rig/echo', body).json['sum']
    with server().connect() as c:
        for cut in range(1, len(body)):
            parts = b''.join(b'%x\r\n%s\r\n' % (len(p), p) for p in (body[:cut], body[cut:]))
            c.request('POST', '/rig/echo', 'Content-Type: application/json', 'Transfer-Encoding: chunked')
            c.send(parts + b'0\r\n\r\n')
            equal(c.answer().json['sum'], want, cut)


@test
def one_connection_answers_requests_that_were_sent_ahead_in_order():
    with server().connect() as c:
        for i in range(20):
            c.request('GET', '/health', f'x-request-id: n{i}')
        equal([c.answer().header('x-request-id') for i in range(20)], [f'n{i}' for i in range(20)])


@test
def head_has_the_headers_of_get_and_no_body():
    with server().connect() as c:
        a = c.ask('HEAD', '/health')
        equal((a.status, a.header('content-length'), a.body), (200, '15', b''))
        equal(c.ask('GET', '/health').status, 200)


REFUSALS = [
    # why, method, path, headers, body, status, code
    ('nothing is there', 'GET', '/nope', (), None, 404, 'unknown_url'),
    ('the root is nobody yet', 'DELETE', '/', (), None, 404, 'unknown_url'),
    ('wrong method', 'POST', '/health', (), '{}', 405, 'method_not_allowed'),
    ('wrong method of two', 'DELETE', '/rig/events', (), None, 405, 'method_not_allowed'),
    ('a method that nobody knows', 'BREW', '/health', (), None, 501, 'not_implemented'),
    ('a known method without a route', 'PATCH', '/health', (), None, 405, 'method_not_allowed'),
    ('no content type, of a page', 'POST', '/rig/echo', ('Sec-Fetch-Site: cross-site',), '{}', 415, 'unsupported_media_type'),
    ('a form of a page', 'POST', '/rig/echo', ('Content-Type: application/x-www-form-urlencoded', 'Referer: http://localhost/'), 'a=b', 415, 'unsupported_media_type'),
    ('text, which pages may send unasked', 'POST', '/rig/echo', ('Content-Type: text/plain',), '{}', 415, 'unsupported_media_type'),
    ('dots', 'GET', '/rig/below/../echo', (), None, 404, 'unknown_url'),
    ('a dot', 'GET', '/rig/./below/', (), None, 404, 'unknown_url'),
    ('dots at the end', 'GET', '/rig/below/..', (), None, 404, 'unknown_url'),
    ('escaped dots', 'GET', '/rig/below/%2e%2e/echo', (), None, 404, 'unknown_url'),
    ('an escaped slash', 'GET', '/rig/below%2fx', (), None, 404, 'unknown_url'),
    ('a slash below, escaped', 'GET', '/rig/below/a%2Fb', (), None, 404, 'unknown_url'),
    ('two slashes', 'GET', '//health', (), None, 404, 'unknown_url'),
    ('two slashes inside', 'GET', '/rig//below/', (), None, 404, 'unknown_url'),
    ('a backslash', 'GET', '/rig/below/a\\b', (), None, 404, 'unknown_url'),
    ('an escaped NUL', 'GET', '/rig/below/%00', (), None, 404, 'unknown_url'),
    ('half an escape', 'GET', '/rig/below/%4', (), None, 404, 'unknown_url'),
    ('twice escaped', 'GET', '/rig/below/%252e%252e', (), None, 404, 'unknown_url'),
    ('no path', 'GET', 'http://localhost', (), None, 404, 'unknown_url'),
    ('asterisk', 'OPTIONS', '*', (), None, 404, 'unknown_url'),
    ('the end by two lengths', 'POST', '/rig/echo', ('Content-Type: application/json', 'Content-Length: 5'), '{}', 400, 'invalid_value'),
    ('length and chunks', 'POST', '/rig/echo', ('Transfer-Encoding: chunked',), '0\r\n\r\n', 400, 'invalid_value'),
    ('a coding that nobody undoes', 'POST', '/rig/echo', ('Transfer-Encoding: gzip',), None, 501, 'not_implemented'),
    ('two hosts', 'GET', '/health', ('Host: localhost',), None, 400, 'invalid_value'),
]


@test
def field_3_5_every_refusal_is_json_with_status_code_and_id():
    for why, method, path, headers, body, status, code in REFUSALS:
        with server().connect() as c:
            try:
                c.ask(method, path, *headers, body=body).refuses(status, code)
            except AssertionError as e:
                raise AssertionError(f'{why}: {e}') from e


@test
def a_method_that_is_not_allowed_is_told_which_are():
    equal(server().get('/health').status, 200)
    with server().connect() as c:
        equal(c.ask('DELETE', '/rig/events').header('allow'), 'GET, POST')
        equal(c.ask('PUT', '/health').header('allow'), 'GET')


@test
def json_by_another_name_and_with_parameters_is_json():
    for kind in ('application/json; charset=utf-8', 'Application/JSON', 'application/vnd.api+json'):
        with server().connect() as c:
            equal(c.ask('POST', '/rig/echo', f'Content-Type: {kind}', body='{}').status, 200, kind)


@test
def a_refused_body_is_passed_over_and_the_connection_goes_on():
    with server().connect() as c:
        c.ask('POST', '/nope', 'Content-Type: application/json', body=b'x' * 100000).refuses(404, 'unknown_url')
        equal(c.ask('GET', '/health').status, 200)


@test
def who_asks_before_sending_a_body_hears_at_once():
    with server().connect() as c:
        c.request('POST', '/rig/echo', 'Content-Type: application/json', 'Expect: 100-continue', 'Content-Length: 2')
        equal(c.until(b'\r\n\r\n'), b'HTTP/1.1 100 Continue')
        equal(c.send('{}').answer().status, 200)
    with server().connect() as c:
        c.request('POST', '/nope', 'Expect: 100-continue', 'Content-Length: 1000000')
        c.answer().refuses(404, 'unknown_url')
        equal(c.interim, [])


@test
def the_request_line_may_have_8192_bytes_and_not_one_more():
    for n, status in ((LINE - 1, 200), (LINE, 200), (LINE + 1, 414), (2 * LINE, 414)):
        path = '/health?' + 'q' * (n - len('GET /health? HTTP/1.1'))
        a = server().get(path)
        equal(a.status, status, n)
        if status == 414:
            a.refuses(414, 'request_too_large', '8192 (--max-line)')


@test
def one_header_may_have_8192_bytes_and_not_one_more():
    for n, status in ((8191, 200), (8192, 200), (8193, 431)):
        a = server().get('/health', header_of(n))
        equal(a.status, status, n)
        if status == 431:
            a.refuses(431, 'request_too_large', '8192 (--max-header)')


@test
def a_hundred_headers_and_not_one_more():
    for n, status in ((99, 200), (100, 200), (101, 431), (400, 431)):
        a = server().get('/health', *[f'x-{i}: y' for i in range(n - 1)])       # and Host
        equal(a.status, status, n)
        if status == 431:
            a.refuses(431, 'request_too_large', '100 (--max-headers)')


@test
def headers_together_may_have_32768_bytes_and_not_one_more():
    host = len(f'Host: localhost:{server().port}') + 2
    for n, status in ((32767, 200), (32768, 200), (32769, 431), (60000, 431)):
        left = n - host
        whole, rest = divmod(left, 8000)
        a = server().get('/health', *[header_of(8000)] * (whole - 1), header_of(4000 + rest), header_of(4000))
        equal(a.status, status, n)
        if status == 431:
            a.refuses(431, 'request_too_large', '32768 (--max-header-block)')


@test
def spaces_around_values_and_empty_lines_before_a_request_are_few():
    s = server()
    for n in (0, 4000):
        with s.connect() as c:
            equal(c.send(f'GET /health HTTP/1.1\r\nHost: localhost\r\na:{" " * n}b\r\n\r\n').answer('GET').status, 200)
    for n in (4000, 40000):     # beside headers that have all that they may
        with s.connect() as c:
            full = ''.join(f'h{i}: {"x" * 8000}\r\n' for i in range(4))
            c.send(f'GET /health HTTP/1.1\r\nHost: localhost\r\n{full}a:{" " * n}b\r\n\r\n')
            equal(c.answer('GET').status, 200 if n == 4000 else 431)
    for lines, status in (('\r\n', 200), ('\r\n\r\n', 400)):
        with s.connect() as c:
            equal(c.send(f'{lines}GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n').answer('GET').status, status)


@test
def the_body_may_have_as_much_as_the_option_says_and_not_one_byte_more():
    with Server('--max-body', 1) as s:
        n = 1 << 20
        equal(s.post('/rig/echo', b'x' * (n - 1)).json['n'], n - 1)
        equal(s.post('/rig/echo', b'x' * n).json['n'], n)
        s.post('/rig/echo', b'x' * (n + 1)).refuses(413, 'request_too_large', '1048577 bytes, the limit is 1048576 (--max-body)')
        with s.connect() as c:      # by its head alone: its end is not awaited
            c.request('POST', '/rig/echo', 'Content-Type: application/json', f'Content-Length: {1 << 40}')
            c.answer().refuses(413, 'request_too_large')
        for more, status in ((0, 200), (1, 413)):     # chunks do not say how many they will be
            with s.connect() as c:
                c.request('POST', '/rig/echo', 'Content-Type: application/json', 'Transfer-Encoding: chunked')
                for _ in range(16):
                    c.send(b'10000\r\n' + b'x' * 65536 + b'\r\n')
                c.send(b'1\r\ny\r\n' * more + b'0\r\n\r\n')
                equal(c.answer().status, status, more)


@test
def chunks_without_end_are_cut_off():
    with Server('--max-body', 1) as s, s.connect() as c:
        c.request('POST', '/rig/echo', 'Content-Type: application/json', 'Transfer-Encoding: chunked')
        try:
            for _ in range(1000):
                c.send(b'10000\r\n' + b'x' * 65536 + b'\r\n')
            raise AssertionError('64 MiB were taken')
        except ConnectionError:
            pass
        equal(s.get('/health').status, 200)


MALFORMED = [
    # why, bytes, status
    ('not HTTP', b'hello\r\n\r\n', 400),
    ('HTTP/0.9', b'GET /health\r\n', 505),
    ('HTTP/2 preface', b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 505),
    ('TLS to a plain port', b'\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03' + b'\x7f' * 200 + b'\r\n\r\n', 400),
    ('no host', b'GET /health HTTP/1.1\r\n\r\n', 400),
    ('header without colon', b'GET /health HTTP/1.1\r\nHost: localhost\r\nnonsense\r\n\r\n', 400),
    ('length -1', b'POST /rig/echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n', 400),
    ('length +5', b'POST /rig/echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: +5\r\n\r\n12345', 400),
    ('length 5x', b'POST /rig/echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5x\r\n\r\n12345', 400),
    ('length of 2^64', b'POST /rig/echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 18446744073709551616\r\n\r\n', 400),
    ('chunk size beyond 2^64', b'POST /rig/echo HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: '
     b'chunked\r\n\r\nfffffffffffffffff\r\n', 400),
    ('chunk size of no digits', b'POST /rig/echo HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: '
     b'chunked\r\n\r\nzz\r\nab\r\n0\r\n\r\n', 400),
    ('NUL in a header', b'GET /health HTTP/1.1\r\nHost: localhost\r\nx: a\0b\r\n\r\n', 400),
    ('a folded header', b'GET /health HTTP/1.1\r\nHost: localhost\r\nx: a\r\n b\r\n\r\n', 400),
    ('bare line feeds', b'GET /health HTTP/1.1\nHost: localhost\n\n', 400),
    ('blank lines first', b'\r\n\r\nGET /health HTTP/1.1\r\nHost: localhost\r\n\r\n', 400),
    ('a version of its own', b'GET /health HTTP/9.9\r\nHost: localhost\r\n\r\n', 505),
    ('200 KiB of headers', b'GET /health HTTP/1.1\r\nHost: localhost\r\n' + b'x: ' + b'y' * 200000 + b'\r\n\r\n', 431),
]


@test
def malformed_requests_are_refused_and_the_server_goes_on():
    for why, data, status in MALFORMED:
        with server().connect() as c:
            c.send(data)
            a = c.answer()
            equal(a.status, status, why)
            a.refuses(status, a.json['error']['code'])
            if why != 'no host':        # its end is known
                equal(a.header('connection'), 'close', why)
                check(c.is_closed(), f'{why}: the connection stays')
        equal(server().get('/health').status, 200, why)


HOPELESS = {
    'header without colon': b'GET /health HTTP/1.1\r\nHost: localhost\r\nnonsense-secret\r\n\r\n',
    'length -1': b'POST /rig/echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\nsecret',
    'chunk size of no digits': b'POST /rig/echo HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: '
                               b'chunked\r\n\r\nzz\r\nsecret\r\n0\r\n\r\n',
    'a version of its own': b'GET /secret HTTP/9.9\r\nHost: localhost\r\n\r\n',
    '200 KiB of headers': b'GET /secret HTTP/1.1\r\nHost: localhost\r\n' + b'x: ' + b'y' * 200000 + b'\r\n\r\n',
}


@test
def what_no_reader_of_http_understands_is_refused_without_repeating_it_and_the_connection_ends():
    for why, data in HOPELESS.items():
        with server().connect() as c:
            c.send(data)
            a = c.answer()
            check(400 <= a.status < 600, why, a.status)
            equal((a.header('connection'), a.header('content-type')), ('close', 'application/json'), why)
            check(len(a.body) < 1000 and b'secret' not in a.body and b'yyy' not in a.body, why, a.body)


@test
def every_cut_of_a_request_is_the_same_request():
    request = b'POST /rig/echo HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}'
    with server().connect() as c:
        for cut in range(1, len(request)):
            c.send(request[:cut])
            if cut % 16 == 0:
                time.sleep(0.002)       # as two packets at times
            equal(c.send(request[cut:]).answer().json['n'], 2, cut)


@test
def absolute_targets_name_the_host_themselves():
    with server().connect() as c:
        equal(c.ask('GET', f'http://localhost:{server().port}/health').status, 200)
        c.ask('GET', 'http://evil.example/health').refuses(403, 'forbidden_origin')
        equal(c.ask('GET', '/health?u=http://evil.example/').status, 200)


@test
def an_http_1_0_client_is_answered_and_its_connection_closed():
    with server().connect() as c:
        equal(c.ask('GET', '/health', version='HTTP/1.0', host=False).status, 200)
        check(c.is_closed(), 'the connection stays')


@test
def a_route_that_forgets_to_answer_is_a_500():
    server().get('/rig/nothing').refuses(500, 'internal_error')


@test
def slow_headers_are_told_so_after_their_time():
    with Server('--header-seconds', 1) as s:
        for data in (b'', b'GET /health HTTP/1.1\r\nHost: loc', b'GET /he'):
            with s.connect() as c:
                begin = time.monotonic()
                c.send(data)
                c.answer().refuses(408, 'request_timeout', '1 s (--header-seconds)')
                check(0.9 < time.monotonic() - begin, 'too early')
                check(c.is_closed(), 'the connection stays')


@test
def a_byte_now_and_then_does_not_prolong_the_headers_time():
    with Server('--header-seconds', 1) as s, s.connect() as c:
        try:
            for byte in b'GET /health HTTP/1.1\r\nx: ' + b'y' * 1000:
                c.send(bytes([byte]))
                time.sleep(0.05)
            raise AssertionError('50 s of headers were taken')
        except ConnectionError:
            pass


@test
def a_slow_body_is_told_so_however_steady_it_comes():
    with Server('--body-seconds', 1) as s:
        with s.connect() as c:
            c.request('POST', '/rig/echo', 'Content-Type: application/json', 'Content-Length: 1000').send('x')
            c.answer().refuses(408, 'request_timeout', '1 s (--body-seconds)')
        with s.connect() as c:      # it would take 8 s
            c.request('POST', '/rig/echo', 'Content-Type: application/json', 'Content-Length: 1000000')
            for _ in range(12):
                c.send(b'x' * 15625)
                time.sleep(0.125)
            c.answer().refuses(408, 'request_timeout', '1 s (--body-seconds)')


@test
def an_idle_connection_is_closed_after_its_time():
    with Server('--idle-seconds', 1) as s, s.connect() as c:
        equal(c.ask('GET', '/health').status, 200)
        check(not c.is_closed(0.5), 'closed too early')
        check(c.is_closed(10), 'still open')


@test
def one_connection_too_many_is_told_the_limit():
    with Server('--max-connections', 3) as s:
        many = [s.connect() for _ in range(3)]
        equal([c.ask('GET', '/health').status for c in many], [200] * 3)
        with s.connect() as c:
            a = c.answer().refuses(503, 'server_busy', 'more than 3')      # without a request
            equal(a.header('retry-after'), '1')
            check(c.is_closed(), 'the connection stays')
        many.pop().close()
        wait_until(lambda: s.get('/health').status == 200, 'room for another')
        for c in many:
            c.close()


def own_address():
    """An address of this machine that is not its loopback; None: it has none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as u:
        try:
            u.connect(('192.0.2.1', 9))     # nothing is sent
        except OSError:
            return None
        return None if u.getsockname()[0].startswith('127.') else u.getsockname()[0]


@test
def an_address_has_its_share_of_the_connections_and_leaves_the_rest_to_others():
    address = own_address()
    if not address:
        raise Skip('this machine has no address but its loopback')
    with Server('--host', '0.0.0.0', '--no-auth', '--max-connections', 8) as s:
        s.host = address
        many = [s.connect() for _ in range(7)]
        equal([c.ask('GET', '/health').status for c in many], [200] * 7)
        with s.connect() as c:
            c.answer().refuses(503, 'server_busy', '7 from one address')
        s.host = '127.0.0.1'
        equal(s.get('/health').status, 200, 'another address')
        for c in many:
            c.close()


@test
def the_page_of_metrics_counts_what_was_answered():
    with Server() as s:
        s.get('/nope')
        s.get('/health')
        page = s.get('/metrics')
        equal(page.header('content-type'), 'text/plain; version=0.0.4; charset=utf-8')
        lines = page.body.decode().splitlines()
        for line in ('runnel:http_requests_total{status="200"} 1', 'runnel:http_requests_total{status="404"} 1',
                     'runnel:errors_total{code="unknown_url"} 1', 'vllm:num_requests_running{model_name="stories"} 0',
                     'vllm:time_to_first_token_seconds_count{model_name="stories"} 0'):
            check(line in lines, line)
        names = [line.split()[2] for line in lines if line.startswith('# TYPE')]
        equal(len(names), len(set(names)), 'a name twice')


if __name__ == '__main__':
    try:
        main()
    finally:
        if shared:
            shared.__exit__(None)
