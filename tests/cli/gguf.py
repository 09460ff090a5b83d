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


# ---- tensors ----------------------------------------------------------------------------------------------------------

F32 = 0


def tensors(data):
    """{name: (dims, type, bytes)}: dims[0] is contiguous. Bytes up to the next one's, padding included."""
    _, _, infos, weights = parts(data)
    found = []
    for raw in infos:
        r = Reader(raw)
        name = r.string().decode()
        dims = [r.take('Q') for _ in range(r.take('I'))]
        found.append((name, dims, r.take('I'), r.take('Q')))
    ends = sorted(at for *_, at in found)[1:] + [len(weights)]
    end_of = dict(zip(sorted(at for *_, at in found), ends, strict=True))
    return {name: (dims, kind, weights[at:end_of[at]]) for name, dims, kind, at in found}


def with_tensors(data, changed):
    """The same file with these tensors."""
    front, pairs, _, _ = parts(data)
    infos, weights = [], b''
    for name, (dims, kind, raw) in changed.items():
        infos.append(struct.pack('<Q', len(name)) + name.encode() + struct.pack(f'<I{len(dims)}QIQ', len(dims), *dims, kind, len(weights)))
        weights += raw + bytes(aligned(len(raw)))
    return join(front, pairs, infos, weights)


def with_numbers(data, **changed):
    """Keys (dots as __) with other u32 values; None: without them."""
    front, pairs, infos, weights = parts(data)
    changed = {key.replace('__', '.'): v for key, v in changed.items()}
    kept = [p for p in pairs if p[0] not in changed]
    for key, v in changed.items():
        if v is not None:
            kept.append((key, struct.pack('<Q', len(key)) + key.encode() + struct.pack('<II', 4, v)))
    return join(front, kept, infos, weights)
