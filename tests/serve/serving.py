"""tests/serve/serving.py - servers started for a test, and clients that speak HTTP and WebSocket byte by byte.

What counts tests and names failures is tests/cli/harness.py. Everything stays on the loopback.
"""
import base64
import json
import os
import pathlib
import re
import signal
import socket
import ssl
import struct
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / 'cli'))
from harness import (Folder, MODEL, PROGRAM, ROOT, Skip, check, environment, equal, main, runnel,    # noqa: E402,F401
                     shorten, skip_under_tsan, test)

RIG = pathlib.Path(PROGRAM).parent / 'tests/serve_rig'
KEY = 'correct-horse-battery'
SANITIZED = any(name in pathlib.Path(PROGRAM).read_bytes() for name in (b'__asan_init', b'__tsan_init')) if os.path.exists(PROGRAM) else False
WAIT_S = 60 if os.environ.get('RUNNEL_TEST_FULL') else 30


def wait_until(holds, what, seconds=WAIT_S):
    """Asks again until it holds; what it gave then."""
    end = time.monotonic() + seconds
    while not (value := holds()):
        check(time.monotonic() < end, f'{what}: not within {seconds} s')
        time.sleep(0.01)
    return value


class Server:
    """with Server(...) as s: the rig, or the program itself with program=True, on a port of its own."""

    def __init__(self, *args, program=False, env=None, log=True):
        self.command = [PROGRAM, 'serve'] if program else [str(RIG)]
        self.args, self.env = args, env
        self.err, self.log = b'', log

    def __enter__(self):
        if not os.access(self.command[0], os.X_OK):
            raise Skip(f'{self.command[0]}: there is no such program')
        self.child = subprocess.Popen([*self.command, '--port', '0', *map(str, self.args)], env=self.env or environment(),
                                      stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.reader = threading.Thread(target=self.read_err, daemon=True)
        self.reader.start()
        match = wait_until(self.find_address, 'the server listens')
        self.host, self.port = match[2].decode().strip('[]'), int(match[3])
        self.is_tls = match[1] == b'https'
        return self

    def find_address(self):
        match = re.search(rb'listening at (https?)://(\S+):(\d+)\n', self.err)
        check(match or self.child.poll() is None, f'the server ended: {self.err.decode()}')
        return match

    def read_err(self):
        for line in self.child.stderr:
            self.err += line

    def __exit__(self, kind, *_):
        if self.child.poll() is None:
            self.child.send_signal(signal.SIGINT if kind is None else signal.SIGKILL)
        code = self.child.wait(timeout=WAIT_S)
        self.reader.join(timeout=WAIT_S)
        if kind is None and self.log is not None:
            check(code == 0, f'the server ended with {code}: {self.err.decode()[-2000:]}')

    def signal(self, number):
        self.child.send_signal(number)

    def wait(self):
        code = self.child.wait(timeout=WAIT_S)
        self.reader.join(timeout=WAIT_S)
        return code

    @property
    def said(self):
        return self.err.decode(errors='replace')

    def connect(self):
        return Client(self)

    def get(self, path, *headers):
        with self.connect() as c:
            return c.ask('GET', path, *headers)

    def post(self, path, body, *headers):
        with self.connect() as c:
            return c.ask('POST', path, 'Content-Type: application/json', *headers, body=body)

    def working(self, *headers):
        """The generations that run or wait, as GET /slots shows them."""
        return [slot for slot in self.get('/slots', *headers).json if slot['is_processing']]

    def metric(self, name, labels='', *headers):
        """A figure of GET /metrics: of the one row of this name that has these labels."""
        rows = [line.rsplit(' ', 1) for line in self.get('/metrics', *headers).body.decode().splitlines() if re.match(rf'{name}[{{ ]', line)]
        values = [float(value) for row, value in rows if labels in row]
        equal(len(values), 1, f'{name}{{{labels}}}')
        return values[0]

    def counts(self, *headers):
        return self.get('/rig/counts', *headers).json


def held(server):
    """Bytes in memory, and open descriptors, of a server."""
    status = pathlib.Path(f'/proc/{server.child.pid}/status').read_text()
    return int(re.search(r'VmRSS:\s+(\d+) kB', status)[1]) << 10, len(os.listdir(f'/proc/{server.child.pid}/fd'))


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def header(self, name):
        return next((v for n, v in self.headers if n.lower() == name.lower()), None)

    @property
    def json(self):
        return json.loads(self.body)

    def refuses(self, status, code, part=''):
        """An error as docs/server-api.md says that every error is."""
        equal(self.status, status, self.body)
        equal(self.header('content-type'), 'application/json')
        check(self.header('x-request-id'), 'no x-request-id')
        error = self.json['error']
        equal(set(error) >= {'message', 'type', 'param', 'code'}, True, error)
        equal(error['code'], code, error)
        check(part in error['message'], f'{part!r} is not in {error["message"]!r}')
        return self


class Client:
    """One connection. Reads to the byte; nothing is retried."""

    def __init__(self, server):
        self.server = server
        self.socket = socket.create_connection((server.host, server.port), timeout=WAIT_S, source_address=getattr(server, 'source', None))
        if server.is_tls:
            context = ssl.create_default_context()
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
            self.socket = context.wrap_socket(self.socket)
        self.buffer = b''

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def reset(self):
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data if isinstance(data, bytes) else data.encode())
        return self

    def request(self, method, path, *headers, body=None, version='HTTP/1.1', host=True):
        lines = [f'{method} {path} {version}']
        if host:
            lines.append(f'Host: localhost:{self.server.port}')
        if body is not None:
            body = body if isinstance(body, bytes) else body.encode()
            lines.append(f'Content-Length: {len(body)}')
        return self.send('\r\n'.join([*lines, *headers, '', '']).encode() + (body or b''))

    def ask(self, method, path, *headers, **more):
        return self.request(method, path, *headers, **more).answer(method)

    def more(self):
        data = self.socket.recv(65536)
        self.buffer += data
        return bool(data)

    def until(self, mark):
        while mark not in self.buffer:
            check(self.more(), f'the connection ended; {mark!r} is not in {shorten(self.buffer)}')
        text, self.buffer = self.buffer.split(mark, 1)
        return text

    def exactly(self, n):
        while len(self.buffer) < n:
            check(self.more(), f'the connection ended {n - len(self.buffer)} bytes early')
        data, self.buffer = self.buffer[:n], self.buffer[n:]
        return data

    def rest(self):
        while self.more():
            pass
        data, self.buffer = self.buffer, b''
        return data

    def head(self):
        """Status and headers; interim answers are kept in self.interim."""
        self.interim = []
        while True:
            lines = self.until(b'\r\n\r\n').decode('latin-1').split('\r\n')
            status = int(lines[0].split()[1])
            if status < 200 and status != 101:
                self.interim.append(status)
                continue
            return status, [tuple(part.strip() for part in line.split(':', 1)) for line in lines[1:]]

    def answer(self, method='GET'):
        status, headers = self.head()
        answer = Answer(status, headers, b'')
        if method == 'HEAD' or status in (101, 204, 304):
            return answer
        if answer.header('transfer-encoding') == 'chunked':
            answer.body = b''.join(self.chunks())
        elif answer.header('content-length') is not None:
            answer.body = self.exactly(int(answer.header('content-length')))
        else:
            answer.body = self.rest()
        return answer

    def chunk(self):
        """One chunk of a body; b'': the last."""
        n = int(self.until(b'\r\n'), 16)
        data = self.exactly(n)
        equal(self.exactly(2), b'\r\n')
        return data

    def chunks(self):
        while data := self.chunk():
            yield data

    def is_closed(self, seconds=WAIT_S):
        """Has the server closed its side, or does it within the time?"""
        self.socket.settimeout(seconds)
        try:
            return self.socket.recv(1) == b''
        except ConnectionError:
            return True
        except TimeoutError:
            return False
        finally:
            self.socket.settimeout(WAIT_S)


def header_of(n):
    """A header of exactly n bytes, counted as the server counts: name, value and four bytes around."""
    return 'x-pad: ' + 'p' * (n - len('x-pad') - 4)


class Socket:
    """A WebSocket, frame by frame."""
    HANDSHAKE_KEY = 'dGhlIHNhbXBsZSBub25jZQ=='        # of RFC 6455, section 1.3
    ACCEPT = 's3pPLMBiTxaQ9kYGzzhZRbK+xOo='
    HEADERS = ('Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13', f'Sec-WebSocket-Key: {HANDSHAKE_KEY}')

    def __init__(self, client, path='/rig/socket', *headers):
        """path None: the handshake is done."""
        self.client = client
        if path is None:
            return
        answer = client.ask('GET', path, *self.HEADERS, *headers)
        equal(answer.status, 101, answer.body)
        equal(answer.header('sec-websocket-accept'), self.ACCEPT)

    @staticmethod
    def frame(opcode, payload, fin=True, mask=b'\x01\x02\x03\x04', rsv=0, length=None):
        payload = payload if isinstance(payload, bytes) else payload.encode()
        n = len(payload) if length is None else length
        head = bytes([(0x80 if fin else 0) | rsv << 4 | opcode])
        bit = 0x80 if mask else 0
        if n < 126:
            head += bytes([bit | n])
        elif n < 65536:
            head += bytes([bit | 126]) + struct.pack('>H', n)
        else:
            head += bytes([bit | 127]) + struct.pack('>Q', n)
        if not mask:
            return head + payload
        return head + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(payload))

    def send(self, text, **more):
        self.client.send(self.frame(1, text, **more))
        return self

    def read(self):
        """(opcode, payload) of the next frame; (None, b'') at the connection's end."""
        c = self.client
        while len(c.buffer) < 2:
            if not c.more():
                return None, b''
        first, n = c.exactly(2)
        if n == 126:
            n = struct.unpack('>H', c.exactly(2))[0]
        elif n == 127:
            n = struct.unpack('>Q', c.exactly(8))[0]
        return first & 15, c.exactly(n)

    def text(self):
        """The next text. Pings, which come to who says nothing for long, are answered."""
        while (frame := self.read())[0] == 9:
            self.client.send(self.frame(10, frame[1]))
        equal(frame[0], 1, frame[1])
        return frame[1].decode()

    def closed_with(self, code):
        """Everything up to the close frame is passed over; the connection ends after it."""
        while True:
            opcode, payload = self.read()
            if opcode is None:
                raise AssertionError(f'the connection ended without a close frame of {code}')
            if opcode == 8:
                equal(struct.unpack('>H', payload[:2])[0] if payload else None, code, payload)
                return self


def random_key():
    return base64.b64encode(os.urandom(24)).decode()
