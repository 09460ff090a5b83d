#!/usr/bin/env python3
"""Two servers behind a proxy, as docs/examples has it: streams are not held back, a conversation stays with its server, one may drain.

The proxies are those of the PATH, or $NGINX and $HAPROXY.
"""
import contextlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import time

from proxies import free_port, program
from serving import Client, Folder, KEY, MODEL, ROOT, Server, Skip, check, equal, main, random_key, test, wait_until

BEARER = f'Authorization: Bearer {KEY}'


class Proxy:
    """What a Client needs to know of it."""
    is_tls = True
    host = '127.0.0.1'
    source = ('127.0.0.2', 0)       # the proxy itself is 127.0.0.1

    def __init__(self, port):
        self.port = port

    def ask(self, method, path, *headers):
        with Client(self) as c:
            return c.request(method, path, f'Host: chat.example:{self.port}', BEARER, *headers, host=False).answer()


def make_certificate(folder, name):
    key, cert = folder / f'{name}.key', folder / f'{name}.pem'
    subprocess.run(['openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', key, '-out', cert, '-days', '2', '-subj',
                    '/CN=chat.example'], check=True, capture_output=True, timeout=60)
    return cert, key


@contextlib.contextmanager
def behind(variable, name, example, write):
    """Two servers, and the proxy of an example before them."""
    path = program(variable, name)
    with Folder() as folder, Server('--allow-host', 'chat.example', '--api-key', KEY, '--trusted-proxy', '127.0.0.1') as one, \
            Server('--allow-host', 'chat.example', '--api-key', KEY, '--trusted-proxy', '127.0.0.1') as two:
        proxy = Proxy(free_port())
        text = (ROOT / 'docs/examples' / example).read_text()
        for was, now in (('8443', proxy.port), ('127.0.0.1:8081', f'127.0.0.1:{one.port}'), ('127.0.0.1:8082', f'127.0.0.1:{two.port}')):
            check(was in text, f'{example} has no {was}')
            text = text.replace(was, str(now))
        command, env = write(path, folder, text)
        child = subprocess.Popen(command, env=os.environ | env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                 stderr=(folder / 'said').open('wb'))
        try:
            def is_up():
                check(child.poll() is None, f'{name} ended: {(folder / "said").read_text()}')
                try:
                    return proxy.ask('GET', '/ready').status == 200
                except OSError:
                    return False
            wait_until(is_up, f'{name} is up')
            yield proxy, one, two
        finally:
            child.terminate()
            child.wait(timeout=30)


def write_nginx(path, folder, text):
    cert, key = make_certificate(folder, 'chat.example')
    text = text.replace('/etc/nginx/chat.example.pem', str(cert)).replace('/etc/nginx/chat.example.key', str(key))
    temps = ''.join(f'{kind}_temp_path {folder}/{kind};' for kind in ('client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'))
    text = text.replace('http {', f'pid {folder}/pid; error_log {folder}/log; http {{ access_log off; {temps}', 1)
    (folder / 'conf').write_text(text if os.geteuid() else 'user root;' + text)
    return [path, '-e', folder / 'log', '-c', folder / 'conf', '-g', 'daemon off;'], {}


def write_haproxy(path, folder, text):
    cert, key = make_certificate(folder, 'chat.example')
    cert.write_text(cert.read_text() + key.read_text())
    (folder / 'conf').write_text(text.replace('/etc/haproxy/chat.example.pem', str(cert)))
    return [path, '-db', '-f', folder / 'conf'], {'RUNNEL_KEY': KEY}


def clients_speak_http_2_with_it(proxy, one):
    if not shutil.which('curl'):
        raise Skip('curl is not here')
    done = subprocess.run(['curl', '-sk', '--http2', '-o', '/dev/null', '-w', '%{http_version} %{http_code}', '-H', BEARER, '--resolve',
                           f'chat.example:{proxy.port}:127.0.0.1', f'https://chat.example:{proxy.port}/rig/events?n=3&ms=1'],
                          capture_output=True, text=True, timeout=60)
    equal(done.stdout, '2 200', done.stderr)
    with one.connect() as c:        # the server itself does not
        check(c.send('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n').rest().startswith(b'HTTP/1.1 505 '), 'no 505')


def streams_pass_as_they_are_made(proxy):
    with Client(proxy) as c:
        c.request('GET', '/rig/events?n=3&ms=500&last_ms=100000', f'Host: chat.example:{proxy.port}', BEARER, host=False)
        c.head()                                # comes although no event does, and two events although the third does not
        c.chunk()
        got = b''
        while got.count(b'data: x') < 2:
            got += c.chunk()


def a_client_that_leaves_is_noticed_behind_it(proxy, one, two):
    c = Client(proxy)
    c.request('GET', '/rig/events?n=1&ms=100000', f'Host: chat.example:{proxy.port}', BEARER, host=False)
    c.head()
    running = lambda: one.counts(BEARER)['running'] + two.counts(BEARER)['running']     # noqa: E731
    wait_until(lambda: running() == 1, 'it runs')
    c.close()
    wait_until(lambda: running() == 0, 'the server hears of it')


def the_server_knows_the_client_and_not_whom_it_claims_to_be(proxy):
    for claim in ((), ('X-Forwarded-For: 192.0.2.66',), ('X-Forwarded-For: 127.0.0.1',), ('Forwarded: for=192.0.2.66',)):
        equal(proxy.ask('GET', '/rig/below/x', *claim).json['client'], '127.0.0.2', claim)


def an_affinity_has_one_server(proxy, one, two):
    where = {}
    for turn in range(3):
        for talk in range(12):
            before = one.counts(BEARER)['pulls']
            equal(proxy.ask('GET', '/rig/later?ms=1', f'x-affinity: talk {talk}').json, {'late': True})
            where.setdefault(talk, set()).add(one.counts(BEARER)['pulls'] > before)
    check(all(len(w) == 1 for w in where.values()), where)
    equal({w for ws in where.values() for w in ws}, {True, False}, 'all talks went to one server')


def a_server_that_drains_is_left_out(proxy, one, two):
    with Client(proxy) as c:
        talk = next(t for t in range(50) if (b := one.counts(BEARER)['pulls']) is not None
                    and proxy.ask('GET', '/rig/later?ms=1', f'x-affinity: {t}').status == 200 and one.counts(BEARER)['pulls'] > b)
        c.request('GET', '/rig/events?n=20&ms=100', f'Host: chat.example:{proxy.port}', BEARER, f'x-affinity: {talk}', host=False)
        c.head()
        one.signal(signal.SIGTERM)
        for _ in range(10):
            equal(proxy.ask('GET', '/rig/later?ms=1', f'x-affinity: {talk}').status, 200)
            time.sleep(0.05)
        body = b''.join(c.chunks())
        equal(body.count(b'data: x'), 20)
        equal(one.wait(), 0)


def check_all(proxy, one, two):
    clients_speak_http_2_with_it(proxy, one)
    streams_pass_as_they_are_made(proxy)
    the_server_knows_the_client_and_not_whom_it_claims_to_be(proxy)
    a_client_that_leaves_is_noticed_behind_it(proxy, one, two)
    an_affinity_has_one_server(proxy, one, two)
    a_server_that_drains_is_left_out(proxy, one, two)


@test
def field_3_1_behind_nginx_streams_flow_talks_stay_and_one_may_drain():
    with behind('NGINX', 'nginx', 'nginx.conf', write_nginx) as (proxy, one, two):
        check_all(proxy, one, two)


@test
def field_3_1_behind_haproxy_streams_flow_talks_stay_and_one_may_drain():
    with behind('HAPROXY', 'haproxy', 'haproxy.cfg', write_haproxy) as (proxy, one, two):
        check_all(proxy, one, two)


@test
def the_systemd_unit_is_one():
    if not shutil.which('systemd-analyze'):
        raise Skip('systemd-analyze is not here')
    text = (ROOT / 'docs/examples/runnel.service').read_text()
    with Folder() as folder:
        (folder / 'runnel.service').write_text(re.sub(r'(?m)^(ExecStart)=\S+', r'\1=/bin/true', text).replace('Documentation=', '# '))
        done = subprocess.run(['systemd-analyze', 'verify', folder / 'runnel.service'], capture_output=True, text=True, timeout=60)
        equal((done.returncode, done.stderr), (0, ''))


def unit_commands(unit, name, names):
    """The commands of a unit's lines, as systemd makes them of their text (systemd.service, "Command lines")."""
    for line in re.findall(rf'(?m)^{name}=[-+]*(.*)$', unit):
        for what, put in names.items():
            line = line.replace(what, str(put))
        yield [word.replace('$$', '$').replace('%%', '%') for word in shlex.split(line)]


@test
def what_the_systemd_unit_does_at_a_reload_brings_new_keys_into_force():
    unit = (ROOT / 'docs/examples/runnel.service').read_text()
    first, second = random_key(), random_key()
    with Folder() as folder:
        keys, state = folder / 'keys', folder / 'state'
        state.mkdir(mode=0o700)
        keys.write_text(first)
        names = {'/etc/runnel/keys': keys, '${RUNTIME_DIRECTORY}': state, '/var/lib/runnel/models/model.gguf': MODEL}

        def run(name, **more):
            for command in unit_commands(unit, name, {**names, **more}):
                subprocess.run(command, env={**os.environ, 'RUNTIME_DIRECTORY': str(state)}, check=True, timeout=60)

        run('ExecStartPre')
        command, = unit_commands(unit, 'ExecStart', names)
        equal(command[:2], ['/usr/bin/runnel', 'serve'])
        with Server(*command[2:], program=True) as s:
            run('ExecReload', **{'$MAINPID': s.child.pid})
            wait_until(lambda: 'keys: reloaded' in s.said, 'the keys were read again')
            equal([s.get('/ready', f'Authorization: Bearer {k}').status for k in (first, second)], [200, 401])
            keys.write_text(second)
            run('ExecReload', **{'$MAINPID': s.child.pid})
            wait_until(lambda: s.said.count('keys: reloaded') == 2, 'the keys were read again')
            equal([s.get('/ready', f'Authorization: Bearer {k}').status for k in (first, second)], [401, 200])
        equal((state / 'keys').stat().st_mode & 0o777, 0o400)


@test
def the_systemd_unit_gives_a_broken_in_server_little_to_harm():
    if not shutil.which('systemd-analyze'):
        raise Skip('systemd-analyze is not here')
    done = subprocess.run(['systemd-analyze', 'security', '--offline=true', '--threshold=20', ROOT / 'docs/examples/runnel.service'],
                          capture_output=True, text=True, timeout=60)
    check(done.returncode == 0 and 'exposure level' in done.stdout, done.stdout[-300:], done.stderr)


if __name__ == '__main__':
    main()
