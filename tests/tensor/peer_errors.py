#!/usr/bin/env python3
# tests/tensor/peer_errors.py LIBGGML_BASE.so - prints the table of quantize_test.c: how far the reference implementation's quantizers
# are from the rows that the test makes. Run by hand, with the gguf package; the figures were made with ggml 0.5.0, gguf 0.19.0.
import ctypes
import sys

import gguf
import numpy as np

N_ROWS, K = 64, 256
MIX = (np.uint64(30), np.uint64(0xBF58476D1CE4E5B9), np.uint64(27), np.uint64(0x94D049BB133111EB), np.uint64(31))


def mix(z):  # base/hash.c
    a, m, b, n, c = MIX
    with np.errstate(over="ignore"):
        z = (z ^ (z >> a)) * m
        z = (z ^ (z >> b)) * n
    return z ^ (z >> c)


def uniform(seed, n):
    with np.errstate(over="ignore"):
        start = mix(np.array([seed], np.uint64) + np.uint64(0x9E3779B97F4A7C15))
    return (mix(np.arange(n, dtype=np.uint64) ^ start) >> np.uint64(40)).astype(np.float64) * 2.0**-24


normal = sum(uniform(seed, N_ROWS * K) for seed in range(12)) - 6
ROWS = {"NORMAL": normal.astype(np.float32), "HEAVY": (normal / (uniform(12, N_ROWS * K) + 1 / 16)).astype(np.float32)}
importance = (uniform(13, K) + 1 / 64).astype(np.float32)

OTHERS = {"Q1_0": (41, 128, 18), "Q2_0": (42, 64, 18)}   # which the package does not have: number, length and bytes of a block

ggml = ctypes.CDLL(sys.argv[1])
ggml.ggml_quantize_chunk.argtypes = [ctypes.c_int] + [ctypes.c_void_p] * 2 + [ctypes.c_int64] * 3 + [ctypes.c_void_p]
ggml.ggml_quantize_chunk.restype = ctypes.c_size_t
for name in ("Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "IQ4_NL", "Q4_K", "Q5_K", "Q6_K", "Q2_K", "Q3_K", "IQ4_XS", "MXFP4", "TQ1_0", "TQ2_0",
             "IQ3_S", "IQ3_XXS", "IQ2_S", "IQ2_XS", "IQ2_XXS", "IQ1_M", "IQ1_S", *OTHERS):
    for rows, x in ROWS.items():
        for weighted in (False, True):
            if name[:3] in ("IQ1", "IQ2") and not weighted:
                continue   # its quantizers need an importance
            kind = OTHERS[name][0] if name in OTHERS else gguf.GGMLQuantizationType[name].value
            block, size = OTHERS[name][1:] if name in OTHERS else gguf.GGML_QUANT_SIZES[kind]
            out = np.zeros(x.size // block * size, np.uint8)
            ggml.ggml_quantize_chunk(kind, x.ctypes.data, out.ctypes.data, 0, N_ROWS, K,
                                     importance.ctypes.data if weighted else None)
            w = np.tile(importance if weighted else np.ones(K), N_ROWS).astype(np.float64)
            if name in OTHERS:
                back = np.zeros(x.size, np.float32)
                getattr(ggml, f"dequantize_row_{name.lower()}")(out.ctypes, back.ctypes, ctypes.c_int64(x.size))
            else:
                back = gguf.quants.dequantize(out, gguf.GGMLQuantizationType(kind))
            back = back.astype(np.float64)
            if name[:3] == "IQ1":   # whose scales are not those of the least error, on either side: but for a common factor
                back *= (w * x * back).sum() / (w * back * back).sum()
            error = (w * (back - x) ** 2).sum()
            print(f"    {{TENSOR_{name}, {rows}, {str(weighted).lower()}, {error / (w * x.astype(np.float64) ** 2).sum():.5e}}},")
