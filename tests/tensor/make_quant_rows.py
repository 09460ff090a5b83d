#!/usr/bin/env python3
# tests/tensor/make_quant_rows.py - writes quant_rows.bin: rows quantized and dequantized by the gguf package.
# Made with gguf 0.19.0 and numpy 2.4.6, seed 11. Little endian. Records until the end of the file:
#   u32 gguf id, u32 n, float x[n], block bytes quantize(x), u32 n_raw, n_raw arbitrary block bytes, float dequantized[n]
import struct
import sys

import gguf
import numpy as np

TYPES = [gguf.GGMLQuantizationType[n] for n in ("F16", "BF16", "Q8_0", "Q4_0", "Q4_1")]
rng = np.random.default_rng(11)


def rows():
    """Blocks of 32: noise of several sizes, and what rounding rules differ on."""
    for scale in (1.0, 1e-3, 300.0):
        yield rng.normal(0, scale, 32)
    yield np.zeros(32)
    yield np.full(32, 0.25)
    yield np.where(np.arange(32) % 2, 1.0, -1.0)                      # equal magnitudes: the first one decides Q4_0's sign
    yield np.concatenate([np.arange(31) - 15.5, [127.0]])             # halves: away from zero in Q8_0
    yield np.concatenate([[-8.0], np.arange(31) * 0.5 - 7.5])         # halves in Q4_0
    yield np.concatenate([np.arange(31) * 0.5, [15.0]])               # halves in Q4_1
    yield rng.normal(0, 1e-6, 32)                                     # scales that are denormal in F16
    yield rng.normal(0, 1, 32) * 10.0 ** rng.integers(-6, 3, 32)


x = np.concatenate(list(rows())).astype(np.float32)
with open(sys.argv[1], "wb") as f:
    for t in TYPES:
        if t in (gguf.GGMLQuantizationType.F16,):
            packed = x.astype(np.float16).view(np.uint8)
        else:
            packed = gguf.quants.quantize(x, t)
        block, size = gguf.constants.GGML_QUANT_SIZES[t]
        n_block = max(96 // block, 1)
        raw = rng.integers(0, 256, (n_block, size), dtype=np.uint8)
        halves = 1 if t.name != "Q4_1" else 2
        if block == 32:                                               # any finite scale and minimum, denormals included
            raw[:, 1] &= 0xBF
            raw[:, 2 * halves - 1] &= 0xBF
            raw[0, 1] &= 0x83
        else:
            raw[:, 1] &= 0xBF
        raw = raw.ravel()
        back = gguf.quants.dequantize(raw, t) if t.name != "F16" else raw.view(np.float16).astype(np.float32)
        f.write(struct.pack("<II", t.value, x.size) + x.tobytes() + packed.tobytes())
        f.write(struct.pack("<I", raw.size) + raw.tobytes() + back.astype(np.float32).tobytes())
