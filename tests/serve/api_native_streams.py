"""tests/serve/api_native_streams.py - a client of WebSocket /v1/stream."""
import json

from serving import Socket


class Streams:
    """WebSocket /v1/stream."""

    def __init__(self, server, *headers):
        self.socket = Socket(server.connect(), '/v1/stream', *headers)

    def say(self, kind, **members):
        self.socket.send(json.dumps({'type': kind, **members}))

    def hear(self):
        return json.loads(self.socket.text())

    def until_end(self, *ids):
        """Messages of each stream up to its end."""
        heard = {i: [] for i in ids}
        while ids:
            m = self.hear()
            heard[m['id']].append(m)
            if m['type'] in ('end', 'error', 'cancelled'):
                ids = [i for i in ids if i != m['id']]
        return heard
