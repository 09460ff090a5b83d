"""tests/cli/gguf.py - makes variants of a GGUF file: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md"""
import struct

SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
STRING, ARRAY = 8, 9
ALIGNMENT = 32


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, form):
        value, = struct.unpack_from('<' + form, self.data, self.at)
        self.at += struct.calcsize('<' + form)
        return value

    def string(self):
        n = self.take('Q')
        self.at += n
        return self.data[self.at - n:self.at]

    def skip(self, kind):
        if kind == STRING:
            self.string()
        elif kind == ARRAY:
            item, n = self.take('I'), self.take('Q')
            for _ in range(n):
                self.skip(item)
        else:
            self.at += SIZES[kind]


def aligned(n):
    return -n % ALIGNMENT


def parts(data):
    """(magic and version, [(key, its bytes)], [tensor info bytes], tensor data)"""
    r = Reader(data)
    r.at = 8
    n_tensors, n_pairs = r.take('Q'), r.take('Q')
    pairs, infos = [], []
    for _ in range(n_pairs):
        begin, key = r.at, r.string()
        r.skip(r.take('I'))
        pairs.append((key.decode(), data[begin:r.at]))
    for _ in range(n_tensors):
        begin = r.at
        r.string()
        for _ in range(r.take('I')):
            r.take('Q')
        r.take('I')
        r.take('Q')
        infos.append(data[begin:r.at])
    return data[:8], pairs, infos, data[r.at + aligned(r.at):]


def join(front, pairs, infos, data):
    head = front + struct.pack('<QQ', len(infos), len(pairs)) + b''.join(raw for _, raw in pairs) + b''.join(infos)
    return head + bytes(aligned(len(head))) + data


def without_tokenizer(data):
    front, pairs, infos, tensors = parts(data)
    return join(front, [p for p in pairs if not p[0].startswith('tokenizer.')], infos, tensors)


def with_string(data, key, text):
    """The string of a key in place of the one it has, if any."""
    front, pairs, infos, tensors = parts(data)
    raw = struct.pack('<Q', len(key)) + key.encode() + struct.pack('<IQ', STRING, len(text)) + text.encode()
    return join(front, [p for p in pairs if p[0] != key] + [(key, raw)], infos, tensors)


def with_strings(data, key, texts):
    """A list of strings under a key that is not there yet."""
    front, pairs, infos, tensors = parts(data)
    raw = struct.pack('<Q', len(key)) + key.encode() + struct.pack('<IIQ', ARRAY, STRING, len(texts))
    raw += b''.join(struct.pack('<Q', len(text)) + text.encode() for text in texts)
    return join(front, [*pairs, (key, raw)], infos, tensors)


def without_weights(data):
    front, pairs, _, _ = parts(data)
    return join(front, pairs, [], b'')
