#!/usr/bin/env python3
"""Who may use the server: keys, names, origins, TLS."""
import re
import signal
import socket
import ssl
import time

from certificates import make_certificate
from serving import Folder, KEY, Server, Skip, check, equal, main, random_key, runnel, test, wait_until

BEARER = f'Authorization: Bearer {KEY}'


@test
def field_3_15_every_path_but_health_wants_the_key():
    with Server('--api-key', KEY) as s:
        equal(s.get('/health').status, 200)
        for method, path in (('GET', '/ready'), ('GET', '/metrics'), ('GET', '/rig/counts'), ('GET', '/nope'), ('POST', '/rig/echo'),
                             ('OPTIONS', '/rig/echo'), ('GET', '/health/'), ('GET', '//health'), ('GET', '/rig/../health'),
                             ('GET', '/%68ealth'), ('POST', '/health')):
            with s.connect() as c:
                a = c.ask(method, path).refuses(401, 'invalid_api_key')
                equal(a.header('www-authenticate'), 'Bearer', path)
        for header in (BEARER, f'authorization: bearer  {KEY}', f'X-Api-Key: {KEY}', f'Api-Key: {KEY}'):
            equal(s.get('/ready', header).status, 200, header)


@test
def a_wrong_key_is_refused_whatever_it_shares_with_the_right_one():
    with Server('--api-key', KEY) as s:
        for wrong in (KEY[:-1], KEY + 'x', KEY[:-1] + 'X', KEY.upper(), '', ' ', 'x' * 256, 'x' * 5000, KEY + '\t' + KEY):
            s.get('/ready', f'Authorization: Bearer {wrong}').refuses(401, 'invalid_api_key')
            time.sleep(0.11)        # not too many in a second
        s.get('/ready', f'Authorization: Basic {KEY}').refuses(401, 'invalid_api_key')


@test
def who_guesses_keys_is_slowed_down_and_a_right_key_passes_all_the_same():
    with Server('--api-key', KEY) as s, s.connect() as c:
        answers = [c.ask('GET', '/ready', f'Authorization: Bearer {random_key()}') for _ in range(60)]
        codes = [a.status for a in answers]
        check(429 in codes and codes.count(401) >= 10, codes)
        check(all(a.header('retry-after') == '1' for a in answers if a.status == 429), 'no Retry-After')
        equal(c.ask('GET', '/ready', BEARER).status, 200, 'the right key, right after')


@test
def a_key_has_16_to_256_characters():
    for n, is_good in ((15, False), (16, True), (256, True), (257, False)):
        key = 'k' * n
        if is_good:
            with Server('--api-key', key) as s:
                equal(s.get('/ready', f'Authorization: Bearer {key}').status, 200, n)
        else:
            runnel('serve', '--port', 0, '--api-key', key).fails(1, f'--api-key 1: the key has {n} bytes, a key has 16 to 256')


@test
def keys_of_a_file_count_and_sighup_reads_them_again():
    first, second, third = random_key(), random_key(), random_key()
    with Folder() as folder:
        file = folder / 'keys'
        file.write_text(f'# ours\n{first}\r\n\n{second}\n')
        with Server('--api-key-file', file) as s:
            equal([s.get('/ready', f'Authorization: Bearer {k}').status for k in (first, second, third)], [200, 200, 401])
            ids = [s.post('/rig/echo', '{}', f'Authorization: Bearer {k}').json['key'] for k in (first, second)]
            check(len({'0', *ids}) == 3, ids)
            file.write_text(f'{third}\n')
            s.signal(signal.SIGHUP)
            wait_until(lambda: 'keys: reloaded' in s.said, 'the keys were read again')
            equal([s.get('/ready', f'Authorization: Bearer {k}').status for k in (first, second, third)], [401, 401, 200])
            for bad, why in (('short\n', 'line 1: the key has 5 bytes'), ('# none\n', 'holds no key'), (f'a:{first}\na:{second}\n', 'line 2: another key has this name')):
                file.write_text(bad)
                s.signal(signal.SIGHUP)
                wait_until(lambda: why in s.said, 'the bad file was refused')
            equal(s.get('/ready', f'Authorization: Bearer {third}').status, 200, 'the old keys went')
            check(not any(k in s.said for k in (first, second, third)), 'a key was logged')


@test
def a_running_answer_does_not_notice_that_keys_change():
    with Folder() as folder:
        file = folder / 'keys'
        file.write_text(KEY)
        with Server('--api-key-file', file) as s, s.connect() as c:
            c.request('GET', '/rig/events?n=5&ms=200', BEARER)
            c.head()
            file.write_text(random_key())
            s.signal(signal.SIGHUP)
            equal(b''.join(c.chunks()).count(b'data: x'), 5)


@test
def names_that_are_not_the_servers_are_refused():
    with Server('--allow-host', 'box.lan') as s:
        for host, status in (('localhost', 200), ('LOCALHOST:1', 200), ('127.0.0.1', 200), ('127.1.2.3:80', 200), ('[::1]', 200),
                             ('[::1]:8080', 200), ('box.lan', 200), ('Box.Lan:443', 200), ('evil.example', 403), ('127.0.0.1.evil.example', 403),
                             ('localhost.evil.example', 403), ('10.0.0.1', 403), ('[::2]', 403), ('', 403), ('localhost:80x', 403),
                             ('[::1', 403), ('[::1]x', 403), ('a' * 300, 403), ('localhost:', 200), ('@localhost', 403)):
            with s.connect() as c:
                a = c.ask('GET', '/health', f'Host: {host}', host=False)
                equal(a.status, status, host)
                if status == 403:
                    a.refuses(403, 'forbidden_origin')


@test
def pages_of_other_origins_are_refused_unless_they_are_listed():
    with Server('--cors', 'https://chat.example') as s:
        own = f'http://localhost:{s.port}'
        for origin, status in ((own, 200), ('https://chat.example', 200), ('HTTPS://CHAT.example', 200), ('http://chat.example', 403),
                               ('https://chat.example.evil', 403), ('https://chat.example:444', 403), ('null', 403),
                               (f'http://localhost:{s.port + 1}', 403), ('http://evil.example', 403)):
            a = s.get('/health', f'Origin: {origin}')
            equal(a.status, status, origin)
            foreign = status == 200 and origin != own
            equal(a.header('access-control-allow-origin'), origin if foreign else None, origin)
            equal(a.header('vary'), 'Origin' if foreign else None, origin)
            equal(a.header('access-control-expose-headers'),
                  'x-request-id, x-runnel-stream, x-runnel-ignored, Retry-After' if foreign else None, origin)
    with Server('--cors', '*') as s:
        equal(s.get('/health', 'Origin: http://anything').header('access-control-allow-origin'), 'http://anything')


@test
def a_browsers_question_before_a_request_needs_no_key():
    ask = ('Access-Control-Request-Method: POST', 'Access-Control-Request-Headers: authorization, x-stainless-os')
    with Server('--cors', 'https://chat.example', '--api-key', KEY) as s, s.connect() as c:
        a = c.ask('OPTIONS', '/rig/echo', 'Origin: https://chat.example', *ask)
        equal((a.status, a.header('access-control-allow-headers')), (204, 'authorization, x-stainless-os'))
        check('POST' in a.header('access-control-allow-methods'), a.headers)
        a = c.ask('POST', '/rig/echo', 'Origin: https://chat.example', BEARER, 'Content-Type: application/json', body='{}')
        equal((a.status, a.header('access-control-allow-origin')), (200, 'https://chat.example'))
        c.ask('OPTIONS', '/rig/echo', 'Origin: https://evil.example', *ask).refuses(403, 'forbidden_origin')
        a = c.ask('GET', '/ready', 'Origin: https://chat.example').refuses(401, 'invalid_api_key')
        equal(a.header('access-control-allow-origin'), 'https://chat.example', 'a page cannot read why')


@test
def an_address_that_others_reach_wants_a_key_or_a_word():
    runnel('serve', '--host', '0.0.0.0', '--port', 0).fails(1, 'reachable from other machines, and no key is set')
    with Server('--host', '0.0.0.0', '--no-auth') as s:
        s.host = '127.0.0.1'
        with s.connect() as c:      # an address of its own can be any; a name cannot
            equal(c.ask('GET', '/health', 'Host: 192.168.7.9:8080', host=False).status, 200)
            c.ask('GET', '/health', 'Host: rebound.example', host=False).refuses(403, 'forbidden_origin')
            own = socket.gethostname()     # 'localhost' would prove nothing
            equal(c.ask('GET', '/health', f'Host: {own.upper()}:8080', host=False).status, 200)
            c.ask('GET', '/health', f'Host: {own}.evil.example', host=False).refuses(403, 'forbidden_origin')
    with Server() as s, s.connect() as c:       # not at all addresses
        c.ask('GET', '/health', f'Host: {socket.gethostname()}', host=False).refuses(403, 'forbidden_origin')
    with Server('--host', '0.0.0.0', '--api-key', KEY) as s:
        s.host = '127.0.0.1'
        equal(s.get('/ready', BEARER).status, 200)


@test
def behind_a_trusted_proxy_the_forwarded_address_is_the_clients():
    wrong = f'Authorization: Bearer {random_key()}'
    with Server('--api-key', KEY, '--trusted-proxy', '127.0.0.0/8', '--trusted-proxy', '2001:db8::/32', '--max-connections-per-address', '2') as s:

        def client(*headers):
            return s.post('/rig/echo', '{}', BEARER, *headers).json['client']

        equal(client(), '127.0.0.1')
        equal(client('X-Forwarded-For: 192.0.2.1'), '192.0.2.1')
        equal(client('X-Forwarded-For: 198.51.100.66', 'X-Forwarded-For: 192.0.2.2, 127.0.0.5'), '192.0.2.2', 'a field more, as HAProxy adds')
        equal(client('Forwarded: for="[2001:db8::1]", for=192.0.2.3;proto=https'), '192.0.2.3')
        equal(client('x-forwarded-for: 2001:db9::5'), '2001:db9::5')
        s.get('/ready', BEARER, 'X-Forwarded-For: 192.0.2.77', 'x-request-id: logged')
        wait_until(lambda: re.search(r' 192\.0\.2\.77 GET /ready 200 .* id=logged', s.said), 'the log has the client')
        codes = [s.get('/ready', wrong, 'X-Forwarded-For: 192.0.2.1').status for _ in range(60)]
        check(429 in codes, codes)
        equal(s.get('/ready', wrong, 'X-Forwarded-For: 192.0.2.2').status, 401, 'another client of the same proxy')
        with s.connect() as a, s.connect() as b, s.connect() as c, s.connect() as d:
            for x in (a, b):
                x.request('GET', '/rig/events?n=100&ms=100', BEARER, 'X-Forwarded-For: 192.0.2.8')
                x.head()
            c.ask('GET', '/ready', BEARER, 'X-Forwarded-For: 192.0.2.8').refuses(429, 'queue_full', '--max-connections-per-address')
            equal(d.ask('GET', '/ready', BEARER, 'X-Forwarded-For: 192.0.2.9').status, 200)
    with Server() as s:     # nobody is trusted
        equal(s.post('/rig/echo', '{}', 'X-Forwarded-For: 192.0.2.1').json['client'], '127.0.0.1')
    for text in ('proxy.example', '10.0.0.0/33', '10.0.0.0/', ''):
        runnel('serve', '--port', 0, '--trusted-proxy', text).fails(2, '--trusted-proxy')


@test
def the_server_listens_at_version_6_too():
    try:
        with Server('--host', '::1') as s:
            with s.connect() as c:
                equal(c.ask('GET', '/health', f'Host: [::1]:{s.port}', host=False).status, 200)
    except AssertionError as e:
        if 'Cannot assign requested address' in str(e) or 'not supported' in str(e):
            raise Skip('there is no IPv6 here') from e
        raise


@test
def under_tls_requests_streams_and_leaving_work_the_same():
    with Folder() as folder:
        make_certificate(folder)
        with Server('--tls-cert', folder / 'cert.pem', '--tls-key', folder / 'key.pem') as s:
            check(s.is_tls, s.said)
            equal(s.get('/health').status, 200)
            equal(s.post('/rig/echo', 'x' * 100000).json['n'], 100000)
            with s.connect() as c:
                equal(c.ask('GET', '/rig/events?n=5&ms=10').body.count(b'data: x'), 5)
                equal(c.ask('GET', '/rig/later?ms=50').json, {'late': True})
            for path in ('/rig/events?n=1&ms=100000', '/rig/later?ms=100000'):
                with s.connect() as c:
                    c.request('GET', path)
                    wait_until(lambda: s.counts()['running'] == 1, 'it runs')
                wait_until(lambda: s.counts()['running'] == 0, f'{path}: the client left')


@test
def under_tls_the_end_of_an_answer_is_told_and_one_that_was_cut_off_does_not_look_whole():
    with Folder() as folder:
        make_certificate(folder)
        with Server('--tls-cert', folder / 'cert.pem', '--tls-key', folder / 'key.pem', '--drain-seconds', 0) as s:
            def ask(path):
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
                context.options &= ~getattr(ssl, 'OP_IGNORE_UNEXPECTED_EOF', 0)     # which some releases of Python set
                context.check_hostname = False
                context.verify_mode = ssl.CERT_NONE
                c = context.wrap_socket(socket.create_connection((s.host, s.port)), suppress_ragged_eofs=False)
                c.sendall(f'GET {path} HTTP/1.0\r\n\r\n'.encode())
                return c
            with ask('/rig/events?n=3&ms=5') as c:
                got = b''
                while data := c.recv(65536):        # raises where the end is not told
                    got += data
                equal(got.count(b'data: x'), 3)
            with ask('/rig/events?n=1&ms=100000') as c:
                check(c.recv(65536), 'no head')
                s.signal(signal.SIGTERM)
                try:
                    while c.recv(65536):
                        pass
                    raise AssertionError('an answer that was cut off looks whole')
                except ssl.SSLError as e:       # SSLEOFError in some releases
                    check(isinstance(e, ssl.SSLEOFError) or e.reason == 'UNEXPECTED_EOF_WHILE_READING', e)
            equal(s.wait(), 0)


@test
def tls_that_cannot_be_is_said_at_start():
    with Folder() as folder:
        (folder / 'junk.pem').write_text('junk')
        runnel('serve', '--port', 0, '--tls-cert', folder / 'junk.pem').fails(1, 'give both')
        runnel('serve', '--port', 0, '--tls-cert', folder / 'none.pem', '--tls-key', folder / 'junk.pem').fails(1, 'none.pem')
        runnel('serve', '--port', 0, '--tls-cert', folder / 'junk.pem', '--tls-key', folder / 'junk.pem').fails(1, 'junk.pem: ')


if __name__ == '__main__':
    main()
