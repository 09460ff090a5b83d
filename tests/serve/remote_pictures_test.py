#!/usr/bin/env python3
"""Pictures that requests name by their addresses: fetched from the hosts of --allow-media-domain alone, within limits, while other requests go on."""
import http.server
import json
import pathlib
import threading

from serving import KEY, PROGRAM, Folder, Server, Skip, check, equal, main, test, wait_until
from picture_requests import CAT, CHAT, DOG, GREEDY, part, post, say
from seeing_model import make

MIB = 1 << 20


class Pictures(http.server.BaseHTTPRequestHandler):
    """/NAME: what the name says."""
    asked, held = [], threading.Event()

    def log_message(self, *_):
        pass

    def send(self, status, body=b'', **headers):
        self.send_response(status)
        for name, value in {'Content-Length': len(body), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.asked.append((self.path, dict(self.headers)))
        name = self.path.split('?')[0].strip('/')
        port = self.server.server_port
        try:
            if name == 'cat':
                self.send(200, CAT, **{'Content-Type': 'text/html'})      # the bytes tell what they are
            elif name == 'dog':
                self.send(200, DOG)
            elif name == 'page':
                self.send(200, b'<html>no picture</html>')
            elif name == 'empty':
                self.send(200)
            elif name == 'here':
                self.send(302, Location='/cat')
            elif name == 'loop':
                self.send(301, Location='/loop')
            elif name == 'local':
                self.send(302, Location=f'http://localhost:{port}/cat')
            elif name == 'file':
                self.send(302, Location='file:///etc/passwd')
            elif name == 'large':
                self.send_response(200)
                self.end_headers()
                for _ in range(40):
                    self.wfile.write(bytes(MIB))
            elif name == 'cut':
                self.send(200, CAT[:50], **{'Content-Length': len(CAT)})
            elif name in ('slow', 'never'):
                self.send_response(200)
                self.send_header('Content-Length', str(len(CAT)))
                self.end_headers()
                self.wfile.write(CAT[:10])
                (self.held if name == 'slow' else threading.Event()).wait(15)
                self.wfile.write(CAT[10:])
            else:
                self.send(404, b'none')
        except OSError:     # nobody reads it any more
            pass


class Host:
    def __enter__(self):
        if not (pathlib.Path(PROGRAM).parent / 'runnel-pull').exists():
            raise Skip('this build has no runnel-pull, for want of libcurl')
        Pictures.asked.clear()
        Pictures.held.clear()
        self.server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Pictures)
        self.server.daemon_threads = True
        self.port = self.server.server_port
        self.at = f'http://127.0.0.1:{self.port}'
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        Pictures.held.set()
        self.server.shutdown()
        self.server.server_close()


def named(url):
    return {'role': 'user', 'content': [{'type': 'text', 'text': 'What is this?'}, {'type': 'image_url', 'image_url': {'url': url}}]}


def sent(*pictures):
    return {'role': 'user', 'content': [{'type': 'text', 'text': 'What is this?'}, *map(part, pictures)]}


@test
def a_picture_that_is_fetched_is_the_one_that_is_sent():
    with Folder() as folder, Host() as host:
        make(folder / 'm')
        with Server('-m', folder / 'm', '--allow-media-domain', f'127.0.0.1:{host.port}', program=True) as s:
            want = say(s, sent(CAT))
            for url in (f'{host.at}/cat', f'{host.at}/cat?size=1&x=%20', f'{host.at}/here', f'http://2130706433:{host.port}/cat'):
                got = say(s, named(url))
                equal((got[0], got[1]['prompt_tokens']), (want[0], want[1]['prompt_tokens']), url)
            both = {'role': 'user', 'content': [*named(f'{host.at}/dog')['content'], part(CAT)]}
            equal(say(s, both)[0], say(s, sent(DOG, CAT))[0])
            check(all('Authorization' not in headers and 'Cookie' not in headers for _, headers in Pictures.asked), Pictures.asked)
            # Each dialect that has addresses.
            ask = [{'type': 'input_text', 'text': 'What is this?'}, {'type': 'input_image', 'image_url': f'{host.at}/cat'}]
            told = post(s, '/v1/responses', {'input': [{'role': 'user', 'content': ask}], 'max_output_tokens': 24, 'temperature': 0, 'ignore_eos': True})
            equal(told['output'][0]['content'][0]['text'], want[0])
            ask = [{'type': 'text', 'text': 'What is this?'}, {'type': 'image', 'source': {'type': 'url', 'url': f'{host.at}/cat'}}]
            told = post(s, '/v1/messages', {'messages': [{'role': 'user', 'content': ask}], 'max_tokens': 24, 'temperature': 0, 'ignore_eos': True})
            equal(told['content'][0]['text'], want[0])


@test
def what_cannot_be_fetched_is_told_by_name():
    with Folder() as folder, Host() as host, Host() as other:
        make(folder / 'm')
        with Server('-m', folder / 'm', '--allow-media-domain', f'127.0.0.1:{host.port}', '--allow-media-domain', f'localhost:{host.port}', program=True) as s:
            for url, why in ((f'{host.at}/none', 'the server answers 404 (not found)'), (f'{host.at}/page', 'PNG, JPEG'), (f'{host.at}/empty', 'nothing came'),
                             (f'{host.at}/loop', 'more than 4 redirects'), (f'{host.at}/local', 'its name stands for an address that is not public'),
                             (f'{host.at}/file', 'only https and http are followed'), (f'{host.at}/large', 'has more than the limit of 20971520 bytes'),
                             (f'{host.at}/cut', 'the connection ended before all had come'),
                             (f'http://localhost:{host.port}/cat', 'its name stands for an address that is not public'),
                             (f'{other.at}/cat', f'127.0.0.1:{other.port} is not among the hosts of --allow-media-domain'),
                             (f'http://me:secret@127.0.0.1:{host.port}/cat', 'has a user or a password'),
                             ('http://127.0.0.1:1/cat', 'not among the hosts'), ('http://169.254.169.254/latest/meta-data/', 'not among the hosts'),
                             ('https://[', 'is no http or https address'), ('ftp://a.example/x', 'must be a data: URL'), (f'HTTP://127.0.0.1:{host.port}/cat', 'must be a data: URL'),
                             (f'{host.at}/{"a" * 9000}', 'an address has at most 8192 bytes')):
                error = post(s, CHAT, {'messages': [named(url)], **GREEDY}, 400)['error']
                check(why in error['message'] and 'content[1].image_url.url' in error['message'], error)
            escaped = json.dumps({'messages': [named('@')], **GREEDY}).replace('@', f'\\u0068ttp://127.0.0.1:{host.port}/cat')
            answer = s.post(CHAT, escaped, f'Authorization: Bearer {KEY}')
            equal(answer.status, 400)
            check('written with escapes' in answer.json['error']['message'], answer.body)
            equal(say(s, sent(CAT))[0], say(s, named(f'{host.at}/cat'))[0])       # and the server goes on
        with Server('-m', folder / 'm', program=True) as s:
            n = len(Pictures.asked)
            error = post(s, CHAT, {'messages': [named(f'{host.at}/cat')], **GREEDY}, 400)['error']
            check('--allow-media-domain' in error['message'], error)
            equal(len(Pictures.asked), n)


@test
def a_server_that_says_nothing_holds_up_nobody_else():
    with Folder() as folder, Host() as host:
        make(folder / 'm')
        with Server('-m', folder / 'm', '--workers', '2', '--allow-media-domain', f'127.0.0.1:{host.port}', program=True) as s:
            got, late = [], []

            def ask(name, status, to):
                to.append(post(s, CHAT, {'messages': [named(f'{host.at}/{name}')], **GREEDY}, status))
            waiting = [threading.Thread(target=ask, args=('never', 400, late)), *(threading.Thread(target=ask, args=('slow', 200, got)) for _ in range(5))]
            for t in waiting:
                t.start()
            wait_until(lambda: len(Pictures.asked) == 4, 'four of them are fetched at once')
            say(s, {'role': 'user', 'content': 'Hello'})
            want = say(s, sent(CAT))[0]
            equal((len(Pictures.asked), len(got) + len(late)), (4, 0))
            Pictures.held.set()
            for t in waiting:
                t.join()
            equal([answer['choices'][0]['message']['content'] for answer in got], [want] * 5)
            check('nothing came for too long' in late[0]['error']['message'], late)


def children(pid):
    return sum(') ' in line and line.rsplit(') ', 1)[1].split()[1] == str(pid) for line in map(stat_of, pathlib.Path('/proc').glob('[0-9]*')))


def stat_of(process):
    try:
        return (process / 'stat').read_text()
    except OSError:     # it has ended
        return ''


@test
def a_client_that_goes_ends_its_fetch():
    with Folder() as folder, Host() as host:
        make(folder / 'm')
        with Server('-m', folder / 'm', '--allow-media-domain', f'127.0.0.1:{host.port}', program=True) as s:
            client = s.connect()
            client.request('POST', CHAT, 'Content-Type: application/json', f'Authorization: Bearer {KEY}', body=json.dumps({'messages': [named(f'{host.at}/never')]}))
            wait_until(lambda: Pictures.asked, 'the picture is asked for')
            equal(children(s.child.pid), 1)
            client.close()
            wait_until(lambda: children(s.child.pid) == 0, 'the process that fetches it has ended', 8)


if __name__ == '__main__':
    main()
