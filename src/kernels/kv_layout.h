// kernels/kv_layout.h - the memory layout of key and value blocks; shared by all sets.
//
//   F32, F16   keys [head_dim][64]; values [64][v_dim]
//   BF16       keys [ceil(head_dim / 2)][64][2]; values [32][v_dim][2]: pairs of channels and of slots are interleaved, as the
//              BF16 instructions need them; an odd head_dim is padded with a channel of zeros
//   Q8         keys int8 [head_dim][64], then F16 scales [n_scale][64]
//              values int8 [64][v_dim], then F16 scales [64][n_scale]         n_scale = ceil(head_dim or v_dim / 32)
//
// A Q8 number is d * q, rounded once, where d is the F16 scale of its position and group of 32
// channels (the last may be shorter).
#ifndef RN_KERNELS_KV_LAYOUT_H
#define RN_KERNELS_KV_LAYOUT_H

#include "kernels/kernels.h"

#define KV_Q8_GROUP 32

static inline size_t kv_q8_n_scale(size_t dim) { return (dim + KV_Q8_GROUP - 1) / KV_Q8_GROUP; }
static inline size_t kv_q8_bytes(size_t dim) { return KV_BLOCK * (dim + 2 * kv_q8_n_scale(dim)); }
// The scale of group g and slot j: keys at [g * 64 + j], values at [j * n_scale + g].
static inline uint16_t *kv_q8_scales(void *block, size_t dim) {
    return (uint16_t *)((uint8_t *)block + KV_BLOCK * dim);
}
static inline const uint16_t *kv_q8_scales_of(const void *block, size_t dim) {
    return (const uint16_t *)((const uint8_t *)block + KV_BLOCK * dim);
}

// BF16: the index of element (channel d, slot j) of a key block, and of (slot j, channel d) of a
// value block.
static inline size_t kv_bf16_key_at(size_t d, size_t j) { return (d / 2 * KV_BLOCK + j) * 2 + d % 2; }
static inline size_t kv_bf16_value_at(size_t v_dim, size_t j, size_t d) { return (j / 2 * v_dim + d) * 2 + j % 2; }

// The functions of a codec are named PREFIX_put_key and so on.
#define KV_CODEC_DECLARE(prefix)                                                                                     \
    size_t prefix##_key_bytes(size_t head_dim);                                                                      \
    size_t prefix##_value_bytes(size_t v_dim);                                                                       \
    void prefix##_put_key(void *block, size_t head_dim, int slot, const float *k);                                   \
    void prefix##_put_value(void *block, size_t v_dim, int slot, const float *v);                                    \
    void prefix##_copy_key(void *dst, int dst_slot, const void *src, int src_slot, size_t head_dim);                 \
    void prefix##_copy_value(void *dst, int dst_slot, const void *src, int src_slot, size_t v_dim);                  \
    void prefix##_get_keys(const void *block, size_t head_dim, int n_slots, float *out);                             \
    void prefix##_get_values(const void *block, size_t v_dim, int n_slots, float *out);                              \
    void prefix##_attend(const struct attend_block *a)

#endif
