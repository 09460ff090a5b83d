// tensor/kv_codec.h - the number formats in which pages hold keys and values.
//
// A codec is a property of a page group: layers with a window may use another one than the rest.
// Encoding, decoding and attention over a block are kernels (kernels.h, struct kv_codec_ops).
// Threads: pure functions.
#ifndef RN_TENSOR_KV_CODEC_H
#define RN_TENSOR_KV_CODEC_H

#include <stddef.h>
#include <stdint.h>

enum kv_codec { KV_F16, KV_F32, KV_Q8, KV_BF16, KV_N_CODECS };

const char *kv_codec_name(enum kv_codec c); // "f16"

#define KV_CODECS_NAME_BYTES 32
// The codecs of n groups as one name: "f16" if all are the same, else joined, "f16+q8". out:
// KV_CODECS_NAME_BYTES.
void kv_codecs_name(const enum kv_codec *codecs, int32_t n, char *out);

#endif
