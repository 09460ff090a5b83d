// tensor/kv_codec.c - see kv_codec.h.
#include "tensor/kv_codec.h"
#include <stdio.h>

const char *kv_codec_name(enum kv_codec c) {
    static const char *const names[KV_N_CODECS] = {
        [KV_F16] = "f16", [KV_F32] = "f32", [KV_Q8] = "q8", [KV_BF16] = "bf16"};
    return names[c];
}

void kv_codecs_name(const enum kv_codec *codecs, int32_t n, char *out) {
    int32_t n_names = n > 0; // one, unless they differ
    for (int32_t i = 1; i < n; i++)
        if (codecs[i] != codecs[0]) n_names = n;
    size_t at = 0;
    out[0] = 0;
    for (int32_t i = 0; i < n_names && at < KV_CODECS_NAME_BYTES; i++)
        at += (size_t)snprintf(out + at, KV_CODECS_NAME_BYTES - at, "%s%s", i ? "+" : "", kv_codec_name(codecs[i]));
}
