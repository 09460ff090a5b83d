// kernels/arm/neon.h - the NEON set (what every 64-bit Arm has): what it does better than ref. Contracts: kernels/kernels.h.
#ifndef RN_KERNELS_ARM_NEON_H
#define RN_KERNELS_ARM_NEON_H

#include "kernels/kv_layout.h"

// Weights in the panels of kernels/panels/panel.h and panel_k.h; SET_matmul_TYPE of all types of blocks.
#define ARM_DECLARE_MATMUL(set, type)                                                                                \
    void set##_matmul_##type(const void *w, size_t row_bytes, size_t n_out, size_t k, const void *x,                 \
                             size_t act_stride, size_t n_rows, float *out, size_t out_stride)
#define ARM_DECLARE_BLOCK_MATMULS(set)                                                                               \
    ARM_DECLARE_MATMUL(set, q8_0);                                                                                   \
    ARM_DECLARE_MATMUL(set, q4_0);                                                                                   \
    ARM_DECLARE_MATMUL(set, q4_1);                                                                                   \
    ARM_DECLARE_MATMUL(set, q5_0);                                                                                   \
    ARM_DECLARE_MATMUL(set, q5_1);                                                                                   \
    ARM_DECLARE_MATMUL(set, iq4_nl);                                                                                 \
    ARM_DECLARE_MATMUL(set, mxfp4);                                                                                  \
    ARM_DECLARE_MATMUL(set, q2_k);                                                                                   \
    ARM_DECLARE_MATMUL(set, q3_k);                                                                                   \
    ARM_DECLARE_MATMUL(set, q4_k);                                                                                   \
    ARM_DECLARE_MATMUL(set, q5_k);                                                                                   \
    ARM_DECLARE_MATMUL(set, q6_k);                                                                                   \
    ARM_DECLARE_MATMUL(set, iq4_xs);                                                                                 \
    ARM_DECLARE_MATMUL(set, iq2);                                                                                    \
    ARM_DECLARE_MATMUL(set, iq1);                                                                                    \
    ARM_DECLARE_MATMUL(set, iq3_xxs);                                                                                \
    ARM_DECLARE_MATMUL(set, iq3_s)
ARM_DECLARE_MATMUL(neon, f32);
ARM_DECLARE_MATMUL(neon, f16);
ARM_DECLARE_MATMUL(neon, bf16);
ARM_DECLARE_BLOCK_MATMULS(neon);

void neon_prepare_bf16(const float *x, size_t k, void *act);
void neon_prepare_q8_32(const float *x, size_t k, void *act);
void neon_prepare_q8_256(const float *x, size_t k, void *act);

void neon_kv_f16_put_value(void *block, size_t head_dim, int slot, const float *v);
void neon_kv_f16_get_keys(const void *block, size_t head_dim, int n_slots, float *out);
void neon_kv_f16_get_values(const void *block, size_t head_dim, int n_slots, float *out);
void neon_kv_q8_get_keys(const void *block, size_t head_dim, int n_slots, float *out);
void neon_kv_q8_get_values(const void *block, size_t head_dim, int n_slots, float *out);
void neon_kv_f32_attend(const struct attend_block *a);
void neon_kv_f16_attend(const struct attend_block *a);
void neon_kv_q8_attend(const struct attend_block *a);
void neon_kv_bf16_attend(const struct attend_block *a);

float neon_row_max(const float *x, size_t n);
float neon_row_sum_squares(const float *x, size_t n);
float neon_row_sum_exp(const float *x, size_t n, float m);
void neon_row_exp(const float *x, size_t n, float m, float *y);
size_t neon_row_select_ge(const float *x, size_t n, float t, int32_t *idx, size_t max);
size_t neon_row_select_between(const float *x, size_t n, float lo, float hi, int32_t *idx, size_t max);
void neon_row_weigh(const float *x, size_t n, struct row_depth d, uint64_t sums[ROW_N_BINS]);
void neon_row_mask(const float *x, const uint64_t *bits, size_t n, float *y);

void neon_rms_norm(const float *x, const float *w, size_t n, float eps, float *y);
void neon_add(float *y, const float *x, size_t n);
void neon_activate_mul_silu(const float *gate, const float *up, size_t n, float *y);
void neon_rope(float *x, size_t n_head, size_t stride, size_t n_rot, const float *cos_sin);

void neon_attend_merge(float *m, float *l, float *o, float m2, float l2, const float *o2, size_t v_dim);
void neon_attend_finish(const float *o, float l, size_t v_dim, float *out);

uint64_t neon_int8_probe(uint64_t n_rounds, int32_t *sum);

#endif
