"""tests/cli/film_files.py - video files of known frames, for tests: uncompressed AVI, so that what is decoded is what was put in."""
import re
import struct
import tempfile
from pathlib import Path


def chunk(name, data):
    return name + struct.pack('<I', len(data)) + data + b'\0' * (len(data) % 2)


def listed(name, data):
    return chunk(b'LIST', name + data)


def avi(frames, width, height, rate, scale=1):
    """frames: RGB of width x height each, from the top; rate / scale of them in a second."""
    stride = (3 * width + 3) // 4 * 4
    size, movie, index = stride * height, b'', b''
    for rgb in frames:
        rows = [rgb[3 * width * y:3 * width * (y + 1)] for y in range(height - 1, -1, -1)]
        data = b''.join(b''.join(row[i:i + 3][::-1] for i in range(0, len(row), 3)).ljust(stride, b'\0') for row in rows)
        index += b'00db' + struct.pack('<III', 16, 4 + len(movie), len(data))
        movie += chunk(b'00db', data)
    head = struct.pack('<14I', 1000000 * scale // rate, 0, 0, 16, len(frames), 0, 1, size, width, height, 0, 0, 0, 0)
    stream = b'vidsDIB ' + struct.pack('<IHHIIIIIIIIhhhh', 0, 0, 0, 0, scale, rate, 0, len(frames), size, 0xffffffff, 0, 0, 0, width & 0x7fff, height & 0x7fff)
    form = struct.pack('<IiiHHIIiiII', 40, width, height, 1, 24, 0, size, 0, 0, 0, 0)
    lists = listed(b'hdrl', chunk(b'avih', head) + listed(b'strl', chunk(b'strh', stream) + chunk(b'strf', form)))
    return chunk(b'RIFF', b'AVI ' + lists + listed(b'movi', movie) + chunk(b'idx1', index))


def picture(runnel, path):
    """A picture's numbers: (RGB, width, height)."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / 'x.npy'
        runnel('embed', '--image', str(path), '--npy', str(out)).ok()
        file = out.read_bytes()
    height, width = map(int, re.search(rb"'shape': \((\d+), (\d+), 3\)", file[:192]).groups())
    return file[-3 * width * height:], width, height


def array(path):
    """A file of float32 in NumPy's format: (numbers, shape)."""
    file = Path(path).read_bytes()
    n_head = struct.unpack('<H', file[8:10])[0]
    shape = [int(n) for n in re.search(rb"'shape': \(([\d, ]+)\)", file[10:10 + n_head]).group(1).split(b',') if n.strip()]
    n = 1
    for side in shape:
        n *= side
    return struct.unpack(f'<{n}f', file[10 + n_head:10 + n_head + 4 * n]), shape
