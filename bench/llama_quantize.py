#!/usr/bin/env python3
"""llama.cpp's quantizer without its program: bench/llama_quantize.py LIBRARIES IN OUT TYPE [--imatrix FILE]

LIBRARIES is the folder of libllama and libggml, version 0.5.0. It quantizes quantized matrices too. FILE is an importance matrix in GGUF
form, of `runnel imatrix` or of llama-imatrix; reading it needs the packages gguf and numpy."""
import argparse
import ctypes as c
import pathlib
import sys

FILE_TYPES = {"F32": 0, "F16": 1, "Q4_0": 2, "Q4_1": 3, "Q8_0": 7, "Q5_0": 8, "Q5_1": 9, "Q4_K_S": 14, "Q4_K_M": 15, "Q5_K_S": 16,
              "Q5_K_M": 17, "Q6_K": 18, "IQ4_NL": 25, "BF16": 32, "Q2_K": 10,
              "Q3_K_S": 11, "Q3_K_M": 12, "Q3_K_L": 13, "Q2_K_S": 21, "IQ4_XS": 30, "TQ1_0": 36, "TQ2_0": 37, "MXFP4_MOE": 38,
              "IQ2_XXS": 19, "IQ2_XS": 20, "IQ3_XS": 22, "IQ3_XXS": 23, "IQ1_S": 24, "IQ3_S": 26, "IQ3_M": 27, "IQ2_S": 28, "IQ2_M": 29, "IQ1_M": 31,
              "Q1_0": 40, "Q2_0": 41}


class Params(c.Structure):   # struct llama_model_quantize_params of llama.h
    _fields_ = [("n_thread", c.c_int32), ("file_type", c.c_int), ("output_type", c.c_int), ("embedding_type", c.c_int),
                *((name, c.c_bool) for name in ("allow_requantize", "quantize_output", "only_copy", "pure", "keep_split", "dry_run")),
                *((name, c.c_void_p) for name in ("imatrix", "kv_overrides", "type_overrides", "prune")), ("rest", c.c_size_t)]


class Importance(c.Structure):   # struct llama_model_imatrix_data: an array of these, the last one without a name
    _fields_ = [("name", c.c_char_p), ("data", c.POINTER(c.c_float)), ("size", c.c_size_t)]


def load(folder):
    def library(*patterns):
        found = [p for pattern in patterns for p in sorted(pathlib.Path(folder).glob(pattern))]
        if not found:
            sys.exit(f"llama_quantize: {folder}: there is no {patterns[0]}")
        return c.CDLL(str(found[0]), mode=c.RTLD_GLOBAL)

    library("libggml-base*.so*")
    library("libggml.so*", "libggml.v*.so*")
    llama = library("libllama.so*", "libllama.v*.so*")
    llama.llama_model_quantize_default_params.restype = Params
    llama.llama_model_quantize.argtypes = [c.c_char_p, c.c_char_p, c.POINTER(Params)]
    return llama


def importance(path):
    """The array, and what its pointers lie in."""
    import gguf
    import numpy

    tensors = {t.name: t for t in gguf.GGUFReader(path).tensors}
    means = {}
    for name, sums in tensors.items():
        base, dot, kind = name.rpartition(".")
        if kind == "in_sum2":
            counts = numpy.array(tensors[base + ".counts"].data, numpy.float32).reshape(-1, 1)
            rows = numpy.array(sums.data, numpy.float32).reshape(counts.size, -1)
            means[base] = numpy.where(counts > 0, rows / numpy.maximum(counts, 1), 1).astype(numpy.float32)
    rows = [Importance(name.encode(), x.ctypes.data_as(c.POINTER(c.c_float)), x.size) for name, x in means.items()]
    return (Importance * (len(rows) + 1))(*rows), means


def main():
    ap = argparse.ArgumentParser(usage=__doc__)
    for name in ("libraries", "source", "out"):
        ap.add_argument(name)
    ap.add_argument("type", choices=FILE_TYPES, type=str.upper)
    ap.add_argument("--imatrix")
    a = ap.parse_args()
    llama = load(a.libraries)
    params = llama.llama_model_quantize_default_params()
    if (params.quantize_output, params.only_copy, params.imatrix) != (True, False, None):
        sys.exit(f"llama_quantize: {a.libraries}: the options have another layout than in 0.5.0")
    params.n_thread, params.file_type, params.allow_requantize = 1, FILE_TYPES[a.type], True
    if a.imatrix:
        array, _rows = importance(a.imatrix)
        params.imatrix = c.cast(array, c.c_void_p)
    code = llama.llama_model_quantize(a.source.encode(), a.out.encode(), c.byref(params))
    if code:
        sys.exit(f"llama_quantize: {a.source}: llama_model_quantize() gave {code}")


main()
