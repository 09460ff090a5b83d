"""tests/cli/nvfp4_file.py - a GGUF file as llama.cpp's converter makes them of ModelOpt's NVFP4 folders: matrices of layers in NVFP4, with a
factor NAME.scale each and NAME.input_scale, which only products in FP4 read."""
import array
import bisect
import struct

from gguf import F32, tensors, with_tensors

NVFP4, BLOCK, PART = 40, 64, 16
E4M3 = [m * 2 ** -9 if e == 0 else (8 + m) * 2.0 ** (e - 10) for e in range(16) for m in range(8)][:127]   # without a sign
E2M1 = [0, 0.5, 1, 1.5, 2, 3, 4, 6]


def between(numbers):
    return [(a + b) / 2 for a, b in zip(numbers, numbers[1:])]


MIDDLE_E4M3, MIDDLE_E2M1 = between(E4M3), between(E2M1)


def in_blocks(x, scale):
    """The bytes of numbers in NVFP4 with a factor."""
    out = bytearray()
    for begin in range(0, len(x), BLOCK):
        scales, nibbles = bytearray(), bytearray()
        for at in range(begin, begin + BLOCK, PART):
            part = x[at:at + PART]
            s = bisect.bisect(MIDDLE_E4M3, max(map(abs, part)) / (E2M1[-1] * scale))
            d = E4M3[s] * scale or 1
            codes = [bisect.bisect(MIDDLE_E2M1, abs(v) / d) | (8 if v < 0 else 0) for v in part]
            scales.append(s)
            nibbles += bytes(low | high << 4 for low, high in zip(codes[:8], codes[8:]))
        out += scales + nibbles
    return bytes(out)


def in_nvfp4(data):
    """A file of F32 with its layers' matrices in NVFP4. The factor makes the largest scale of a matrix the largest of E4M3."""
    made = {}
    for name, (dims, kind, raw) in tensors(data).items():
        made[name] = dims, kind, raw
        if not name.startswith('blk.') or not name.endswith('.weight') or len(dims) != 2 or dims[0] % BLOCK or kind != F32:
            continue
        x = array.array('f', raw[:4 * dims[0] * dims[1]])
        scale, = struct.unpack('<f', struct.pack('<f', max(map(abs, x)) / (E2M1[-1] * E4M3[-1])))
        base = name.removesuffix('.weight')
        made[name] = dims, NVFP4, in_blocks(x, scale)
        made[base + '.scale'] = [1], F32, struct.pack('<f', scale)
        made[base + '.input_scale'] = [1], F32, struct.pack('<f', 0.01)
    return with_tensors(data, made)
