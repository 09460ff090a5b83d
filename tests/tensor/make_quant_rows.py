#!/usr/bin/env python3
# tests/tensor/make_quant_rows.py - writes quant_rows.bin: rows quantized and dequantized by the gguf package.
# Made with gguf 0.19.0 and numpy 2.4.6, seed 11. Little endian. Records until the end of the file:
#   u32 gguf id, u32 n, float x[n], block bytes quantize(x), u32 n_raw, n_raw arbitrary block bytes, float dequantized[n]
# n is 0 where the package does not quantize, or by no rule that is published. Types that the package does not have are those of ggml's library,
# version 0.5.0: make_quant_rows.py OUT LIBGGML_BASE.so
import ctypes
import struct
import sys

import gguf
import numpy as np

# Name: offsets of the halves in a block, and whether quantize() is compared.
TYPES = {
    "F16": ([0], True), "BF16": ([0], True),
    "Q8_0": ([0], True), "Q4_0": ([0], True), "Q4_1": ([0, 2], True), "Q5_0": ([0], True), "Q5_1": ([0, 2], True),
    "IQ4_NL": ([0], False), "MXFP4": ([], False),
    "Q2_K": ([80, 82], False), "Q3_K": ([108], False), "Q4_K": ([0, 2], False), "Q5_K": ([0, 2], False),
    "Q6_K": ([208], False), "IQ4_XS": ([0], False),
    "TQ1_0": ([52], False), "TQ2_0": ([64], False), "IQ2_XXS": ([0], False), "IQ2_XS": ([0], False), "IQ2_S": ([0], False),
    "IQ3_XXS": ([0], False), "IQ3_S": ([0], False), "IQ1_S": ([0], False), "IQ1_M": ([54], False),    # of the latter its upper four bits
}
# Name: number, length and bytes of a block, and whether quantize() is compared. The scale lies in front.
GGML_TYPES = {"Q1_0": (41, 128, 18, True), "Q2_0": (42, 64, 18, False), "NVFP4": (40, 64, 36, False)}
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
    yield np.concatenate([[-16.0], np.arange(31) - 14.5])             # halves in Q5_0
    yield np.concatenate([np.arange(31) * 1.0 + 0.5, [0.0]])          # halves in Q5_1
    yield rng.normal(0, 1e-6, 32)                                     # scales that are denormal in F16
    yield rng.normal(0, 1, 32) * 10.0 ** rng.integers(-6, 3, 32)


def raw_blocks(name, halves):
    """Arbitrary bytes with any finite scales and minimums, denormals included."""
    block, size = gguf.constants.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[name]]
    raw = rng.integers(0, 256, ({1: 96, 32: 3, 256: 2}[block] + 5 * (name == "MXFP4"), size), dtype=np.uint8)
    for at in halves:
        raw[:, at + 1] &= 0xBF
    if halves and block > 1:
        raw[0, halves[0] + 1] &= 0x83
    if name == "MXFP4":
        raw[:6, 0] = [0, 1, 2, 3, 127, 252]                           # the two smallest scales are denormal
        raw[0, 1:] = np.arange(16) * 17                               # every number, and with 252 the largest finite ones
    return raw.ravel()


def dequantize(name, raw):
    if name == "F16":
        return raw.view(np.float16).astype(np.float32)
    return gguf.quants.dequantize(raw, gguf.GGMLQuantizationType[name]).astype(np.float32)


def quantize(name, x):
    if name == "F16":
        return x.astype(np.float16).view(np.uint8)
    return gguf.quants.quantize(x, gguf.GGMLQuantizationType[name])


x = np.concatenate(list(rows())).astype(np.float32)
with open(sys.argv[1], "wb") as f:
    for name, (halves, is_quantized) in TYPES.items():
        f.write(struct.pack("<I", gguf.GGMLQuantizationType[name].value))
        f.write(struct.pack("<I", x.size) + x.tobytes() + quantize(name, x).tobytes() if is_quantized else struct.pack("<I", 0))
        raw = raw_blocks(name, halves)
        f.write(struct.pack("<I", raw.size) + raw.tobytes() + dequantize(name, raw).tobytes())
    ggml = ctypes.CDLL(sys.argv[2])
    for name, (number, block, size, is_quantized) in GGML_TYPES.items():
        some = x[:x.size // block * block]
        packed = np.zeros(some.size // block * size, np.uint8)
        getattr(ggml, f"quantize_row_{name.lower()}_ref")(some.ctypes, packed.ctypes, ctypes.c_int64(some.size))
        f.write(struct.pack("<I", number))
        f.write(struct.pack("<I", some.size) + some.tobytes() + packed.tobytes() if is_quantized else struct.pack("<I", 0))
        raw = rng.integers(0, 256, (64 if name == "NVFP4" else 2, size), dtype=np.uint8)
        if name == "NVFP4":
            raw[:, :4] = np.arange(256).reshape(64, 4)                # every scale
        else:
            raw[:, 1] &= 0xBF
            raw[0, 1] &= 0x83
        back = np.zeros(raw.shape[0] * block, np.float32)
        getattr(ggml, f"dequantize_row_{name.lower()}")(raw.ctypes, back.ctypes, ctypes.c_int64(back.size))
        f.write(struct.pack("<I", raw.size) + raw.tobytes() + back.tobytes())
