#!/usr/bin/env python3
"""llama.cpp as a peer of bench/encoders.py: bench/llama_encoders.py LIBRARIES MODEL --ids FILE [-t 1] [--together 512]

LIBRARIES is the folder of libllama and libggml, version 0.5.0. FILE: a text's ids a line. For each line of stdin the texts are evaluated once and
{"ms"} is printed, the first time with "vectors", each the mean of its text's rows; stdin's end is the program's. Texts are evaluated together up to
so many tokens, at least one at a time; every row of such a batch is compared with every other."""
import argparse
import ctypes as c
import json
import pathlib
import sys
import time


def fields(**kinds):
    return [(name, kind) for kind, names in ((getattr(c, k), v) for k, v in kinds.items()) for name in names.split()]


class ModelParams(c.Structure):   # struct llama_model_params of llama.h
    _fields_ = [("devices", c.c_void_p), ("overrides", c.c_void_p), *fields(c_int32="n_gpu_layers split_mode load_mode lazy_mode main_gpu"),
                *fields(c_void_p="tensor_split progress progress_user kv_overrides"),
                *fields(c_bool="vocab_only check_tensors use_extra_bufts no_host no_alloc load_mtp"), ("_rest", c.c_uint8 * 64)]


class ContextParams(c.Structure):   # struct llama_context_params
    _fields_ = [*fields(c_uint32="n_ctx n_batch n_ubatch n_seq_max n_rs_seq n_outputs_max n_outputs_max_per_seq"),
                *fields(c_int32="n_threads n_threads_batch ctx_type rope_scaling pooling attention flash_attn"),
                *fields(c_float="rope_base rope_scale yarn_ext yarn_attn yarn_fast yarn_slow"), ("yarn_orig", c.c_uint32), ("defrag", c.c_float),
                ("cb_eval", c.c_void_p), ("cb_eval_user", c.c_void_p), ("type_k", c.c_int32), ("type_v", c.c_int32), ("abort", c.c_void_p),
                ("abort_user", c.c_void_p), *fields(c_bool="embeddings offload_kqv no_perf op_offload swa_full kv_unified"),
                ("samplers", c.c_void_p), ("n_samplers", c.c_size_t), ("other", c.c_void_p)]


class Batch(c.Structure):   # struct llama_batch
    _fields_ = [("n_tokens", c.c_int32), ("token", c.POINTER(c.c_int32)), ("embd", c.c_void_p), ("pos", c.POINTER(c.c_int32)),
                ("n_seq_id", c.POINTER(c.c_int32)), ("seq_id", c.POINTER(c.POINTER(c.c_int32))), ("logits", c.POINTER(c.c_int8))]


Log = c.CFUNCTYPE(None, c.c_int, c.c_char_p, c.c_void_p)
silent = Log(lambda level, text, user: None)
MEAN = 1   # LLAMA_POOLING_TYPE_MEAN


def load(folder):
    def library(*patterns):
        found = [p for pattern in patterns for p in sorted(pathlib.Path(folder).glob(pattern))]
        if not found:
            sys.exit(f"llama_encoders: {folder}: there is no {patterns[0]}")
        return c.CDLL(str(found[0]), mode=c.RTLD_GLOBAL)

    library("libggml-base*.so*")
    ggml, llama = library("libggml.so*", "libggml.v*.so*"), library("libllama.so*", "libllama.v*.so*")
    for name, result, args in (("llama_model_default_params", ModelParams, []), ("llama_context_default_params", ContextParams, []),
                               ("llama_model_load_from_file", c.c_void_p, [c.c_char_p, ModelParams]),
                               ("llama_init_from_model", c.c_void_p, [c.c_void_p, ContextParams]), ("llama_log_set", None, [Log, c.c_void_p]),
                               ("llama_encode", c.c_int32, [c.c_void_p, Batch]), ("llama_batch_init", Batch, [c.c_int32] * 3),
                               ("llama_get_embeddings_seq", c.POINTER(c.c_float), [c.c_void_p, c.c_int32]),
                               ("llama_model_n_embd", c.c_int32, [c.c_void_p])):
        f = getattr(llama, name)
        f.restype, f.argtypes = result, args
    llama.llama_log_set(silent, None)
    ggml.ggml_backend_load_all_from_path.argtypes = [c.c_char_p]
    ggml.ggml_backend_load_all_from_path(folder.encode())
    return llama


def open_context(llama, a, n_rows, n_texts):
    """The model's number of dimensions, and a context for so many rows of so many texts at once."""
    params, options = llama.llama_model_default_params(), llama.llama_context_default_params()
    if (options.n_ctx, options.n_batch, options.n_ubatch, options.flash_attn, options.type_k, options.offload_kqv, params.n_gpu_layers) != (512, 2048, 512, -1, 1, True, -1):
        sys.exit(f"llama_encoders: {a.libraries}: the options have another layout than in 0.5.0")
    params.n_gpu_layers = 0
    model = llama.llama_model_load_from_file(a.model.encode(), params)
    if not model:
        sys.exit(f"llama_encoders: {a.model}: cannot be loaded")
    options.n_ctx = options.n_batch = options.n_ubatch = n_rows
    options.n_seq_max, options.n_threads, options.n_threads_batch = n_texts, a.t, a.t
    options.pooling, options.embeddings, options.kv_unified = MEAN, True, True
    context = llama.llama_init_from_model(model, options)
    if not context:
        sys.exit(f"llama_encoders: {a.model}: no context of {n_rows} rows")
    return llama.llama_model_n_embd(model), context


def main():
    ap = argparse.ArgumentParser(usage=__doc__)
    ap.add_argument("libraries")
    ap.add_argument("model")
    ap.add_argument("--ids", required=True)
    ap.add_argument("-t", type=int, default=1)
    ap.add_argument("--together", type=int, default=512)
    a = ap.parse_args()
    texts = [[int(i) for i in line.split()] for line in pathlib.Path(a.ids).read_text().splitlines()]
    groups = [[]]
    for i in sorted(range(len(texts)), key=lambda i: len(texts[i])):
        if groups[-1] and sum(len(texts[j]) for j in groups[-1]) + len(texts[i]) > a.together:
            groups.append([])
        groups[-1].append(i)
    n_texts = max(map(len, groups))
    n_rows = -(-max(sum(len(texts[i]) for i in g) for g in groups) // n_texts) * n_texts   # else llama.cpp aborts: its issue 27175
    llama = load(a.libraries)
    n_embd, context = open_context(llama, a, n_rows, n_texts)
    batch, is_first = llama.llama_batch_init(n_rows, 0, 1), True
    for _ in sys.stdin:
        begun, vectors = time.perf_counter(), [None] * len(texts)
        for group in groups:
            n = 0
            for at, i in enumerate(group):
                for pos, token in enumerate(texts[i]):
                    batch.token[n], batch.pos[n], batch.n_seq_id[n], batch.logits[n] = token, pos, 1, 1
                    batch.seq_id[n][0] = at
                    n += 1
            batch.n_tokens = n
            code = llama.llama_encode(context, batch)
            if code:
                sys.exit(f"llama_encoders: {a.model}: llama_encode() gave {code}")
            for at, i in enumerate(group):
                vectors[i] = llama.llama_get_embeddings_seq(context, at)[:n_embd]
        answer = {"ms": (time.perf_counter() - begun) * 1000}
        if is_first:
            answer["vectors"] = vectors
        is_first = False
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
