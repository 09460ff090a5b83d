"""Writes LoRA adapters with random matrices for a model in one GGUF file."""
import random
import struct

import gguf


def text(s):
    return struct.pack('<Q', len(s.encode())) + s.encode()


def write(path, model, rank=2, alpha=2.0, only='', seed=1, size=0.5):
    """An adapter of all matrices of layers whose names hold `only`."""
    data = model.read_bytes()
    numbers = random.Random(seed)
    infos, body, n = b'', b'', 0
    for name, (ne, *_) in gguf.tensors(data).items():
        if len(ne) < 2 or not name.startswith('blk.') or only not in name:
            continue
        for end, dims in (('.lora_a', [ne[0], rank]), ('.lora_b', [rank, ne[1]])):
            infos += text(name + end) + struct.pack('<I2QIQ', 2, *dims, 0, len(body))
            count = dims[0] * dims[1]
            body += struct.pack(f'<{count}f', *(numbers.uniform(-size, size) for _ in range(count)))
            body += b'\0' * (-len(body) % 32)
            n += 1
    pairs = b''.join(text(k) + struct.pack('<I', 8) + text(v) for k, v in
                     (('general.architecture', 'llama'), ('general.type', 'adapter'), ('adapter.type', 'lora')))
    pairs += text('adapter.lora.alpha') + struct.pack('<If', 6, alpha)
    head = b'GGUF' + struct.pack('<IQQ', 3, n, 4) + pairs + infos
    path.write_bytes(head + b'\0' * (-len(head) % 32) + body)
    return path


def two(folder, model):
    """The adapters of peer_lora.json: one of all matrices, and one of the feed-forward part with another rank and alpha."""
    return (write(folder / 'all.gguf', model, rank=3, alpha=6.0, seed=1, size=0.15),
            write(folder / 'ffn.gguf', model, rank=2, alpha=1.0, only='ffn', seed=2, size=0.3))
