"""tests/pull/hub.py - a hub, a registry and a file server on this machine's own address, which can be told to misbehave.

A file's answers follow its `ways`: a list of functions, one for each request of the file, the last one for all later ones. Each gets the
request's handler, the content and the range that was asked for, and answers as it likes.
"""
import hashlib
import http.server
import json
import re
import threading

COMMIT = 'c0ffee' + 34 * '0'
GIVES_UP_S = 60


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def git_name(data):
    return hashlib.sha1(b'blob %d\0' % len(data) + data).hexdigest()


# ---- ways to answer for a file -------------------------------------------------------------------------------------------

def head(request, status, **headers):
    request.send_response(status)
    for name, value in headers.items():
        request.send_header(name.replace('_', '-'), value)
    request.end_headers()


def honest(request, data, begin, end):
    if begin is None:
        head(request, 200, Content_Length=len(data), ETag=f'"{sha256(data)[:8]}"')
        return request.wfile.write(data)
    head(request, 206, Content_Length=end - begin, Content_Range=f'bytes {begin}-{end - 1}/{len(data)}', ETag=f'"{sha256(data)[:8]}"')
    return request.wfile.write(data[begin:end])


def cut(n):
    """Only n bytes come of what was announced, then the connection ends."""
    def way(request, data, begin, end):
        if begin is None:
            head(request, 200, Content_Length=len(data))
            begin, end = 0, len(data)
        else:
            head(request, 206, Content_Length=end - begin, Content_Range=f'bytes {begin}-{end - 1}/{len(data)}')
        request.wfile.write(data[begin:min(end, begin + n)])
        request.close_connection = True
    return way


def stall(request, data, begin, end):
    """Half of it comes, then nothing more, for as long as the client waits."""
    head(request, 206, Content_Length=end - begin, Content_Range=f'bytes {begin}-{end - 1}/{len(data)}')
    request.wfile.write(data[begin:(begin + end) // 2])
    request.wfile.flush()
    request.server.over.wait(GIVES_UP_S)
    request.close_connection = True


def slow(request, data, begin, end):
    """Honest, in steps with pauses."""
    head(request, 206, Content_Length=end - begin, Content_Range=f'bytes {begin}-{end - 1}/{len(data)}')
    for at in range(begin, end, 32768):
        request.wfile.write(data[at:min(end, at + 32768)])
        request.wfile.flush()
        request.server.over.wait(0.05)


def without_ranges(request, data, begin, end):
    head(request, 200, Content_Length=len(data))
    request.wfile.write(data)


def without_length(request, data, begin, end):
    head(request, 200, Connection='close')
    request.wfile.write(data)
    request.close_connection = True


def longer(request, data, begin, end):
    head(request, 206, Content_Length=end - begin + 100, Content_Range=f'bytes {begin}-{end - 1}/{len(data)}')
    request.wfile.write(data[begin:end] + bytes(100))


def elsewhere(request, data, begin, end):
    """Another part than was asked for, and said so."""
    head(request, 206, Content_Length=end - begin, Content_Range=f'bytes {begin + 1}-{end}/{len(data) + 1}')
    request.wfile.write(data[begin:end])


def without_content_range(request, data, begin, end):
    head(request, 206, Content_Length=end - begin)
    request.wfile.write(data[begin:end])


def huge(n):
    """The head of a file of n bytes."""
    def way(request, data, begin, end):
        head(request, 206, Content_Length=1, Content_Range=f'bytes 0-0/{n}')
        request.wfile.write(b'G')
    return way


def changed(request, data, begin, end):
    head(request, 206, Content_Length=end - begin, Content_Range=f'bytes {begin}-{end - 1}/{len(data)}', ETag='"another"')
    request.wfile.write(data[begin:end])


def spoiled(request, data, begin, end):
    return honest(request, bytes(b ^ (i == 0) for i, b in enumerate(data[:64])) + data[64:], begin, end)


def to(url):
    def way(request, data, begin, end):
        head(request, 302, Location=url, Content_Length=0)
    return way


def to_itself(request, data, begin, end):
    head(request, 302, Location=request.path, Content_Length=0)


def status(code, **headers):
    def way(request, data, begin, end):
        head(request, code, Content_Length=0, **headers)
    return way


# ---- the server ----------------------------------------------------------------------------------------------------------

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def log_message(self, *args):
        pass

    def send_json(self, value):
        text = value if isinstance(value, bytes) else json.dumps(value).encode()
        head(self, 200, Content_Length=len(text), Content_Type='application/json')
        self.wfile.write(text)

    def do_GET(self):
        hub = self.server.hub
        with hub.lock:
            hub.seen.append((self.path, dict(self.headers)))
        try:
            self.answer(hub)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def answer(self, hub):
        path = re.sub('^http://[^/]*', '', self.path).partition('?')[0]      # whole addresses are those of a client that takes us for a proxy
        if path in hub.answers:
            return self.send_json(hub.answers[path])
        if path not in hub.files:
            return head(self, 404, Content_Length=0)
        data = hub.files[path]
        asked = re.fullmatch(r'bytes=(\d+)-(\d+)', self.headers.get('Range', ''))
        begin, end = (int(asked[1]), min(int(asked[2]) + 1, len(data))) if asked else (None, None)
        with hub.lock:
            ways = hub.ways.get(path, [honest])
            way = ways.pop(0) if len(ways) > 1 else ways[0]
        return way(self, data, begin, end)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        pass    # clients that close early are what some tests are about


class Hub:
    """with Hub() as hub: hub.url; files and answers by path; seen: every request's path and headers."""

    def __init__(self):
        self.files, self.answers, self.ways, self.seen, self.lock = {}, {}, {}, [], threading.Lock()

    def __enter__(self):
        self.server = Server(('127.0.0.1', 0), Handler)
        self.server.hub, self.server.over = self, threading.Event()
        self.url = f'http://127.0.0.1:{self.server.server_address[1]}'
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *exc):
        self.server.over.set()
        self.server.shutdown()
        self.server.server_close()

    def repository(self, name, files, revision='main', commit=COMMIT, ways=None, small=()):
        """A repository of the hub. ways: file -> ways; small: files whose sum is git's, as the hub has it of what is not in LFS."""
        siblings = []
        for file, data in files.items():
            path = f'/{name}/resolve/{commit}/{file}'
            self.files[path] = data
            if ways and file in ways:
                self.ways[path] = list(ways[file])
            siblings.append({'rfilename': file, 'size': len(data), 'blobId': git_name(data)})
            if file not in small:
                siblings[-1]['lfs'] = {'sha256': sha256(data), 'size': len(data), 'pointerSize': 134}
        self.answers[f'/api/models/{name}/revision/{revision}'] = {'id': name, 'sha': commit, 'private': False, 'siblings': siblings}

    def model(self, name, tag, data, **layers):
        """A model of the registry. layers: kind of layer -> content."""
        all_layers = []
        for kind, content in {'model': data, **layers}.items():
            digest = f'sha256:{sha256(content)}'
            self.files[f'/v2/{name}/blobs/{digest}'] = content
            all_layers.append({'mediaType': f'application/vnd.ollama.image.{kind}', 'digest': digest, 'size': len(content)})
        self.answers[f'/v2/{name}/manifests/{tag}'] = {'schemaVersion': 2, 'layers': all_layers}

    def ranges(self, path_end):
        """The ranges that were asked for of a file, but for the first look at it."""
        asked = [headers.get('Range') for path, headers in self.seen if path.partition('?')[0].endswith(path_end)]
        return [r for r in asked if r != 'bytes=0-0']
