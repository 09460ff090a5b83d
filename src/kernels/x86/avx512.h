// kernels/x86/avx512.h - the AVX-512 (F, BW, DQ, VL) set: what it does better than the set below. Contracts: kernels/kernels.h.
#ifndef RN_KERNELS_X86_AVX512_H
#define RN_KERNELS_X86_AVX512_H

#include "kernels/act_fns.h"
#include "kernels/kv_layout.h"
#include "kernels/recur_steps.h"

void avx512_kv_f32_attend(const struct attend_block *a);
void avx512_kv_f16_attend(const struct attend_block *a);
void avx512_kv_q8_attend(const struct attend_block *a);
void avx512_kv_bf16_attend(const struct attend_block *a);
// Weights in the panels of kernels/panels/panel.h.
#define AVX512_DECLARE_MATMUL(type)                                                                                  \
    void avx512_matmul_##type(const void *w, size_t row_bytes, size_t n_out, size_t k, const void *x,                \
                              size_t act_stride, size_t n_rows, float *out, size_t out_stride)
AVX512_DECLARE_MATMUL(f32);
AVX512_DECLARE_MATMUL(f16);
AVX512_DECLARE_MATMUL(bf16);
size_t avx512_gemm_bf16_scratch(size_t k);
void avx512_gemm_bf16(const void *w, size_t n_out, size_t k, const void *x, size_t act_stride, size_t n_rows,
                      float *out, size_t out_stride, void *scratch);

void avx512_prepare_bf16(const float *x, size_t k, void *act);
void avx512_prepare_q8_256(const float *x, size_t k, void *act);

float avx512_row_max(const float *x, size_t n);
float avx512_row_sum_squares(const float *x, size_t n);
float avx512_row_sum_exp(const float *x, size_t n, float m);
void avx512_row_exp(const float *x, size_t n, float m, float *y);
size_t avx512_row_select_ge(const float *x, size_t n, float t, int32_t *idx, size_t max);
size_t avx512_row_select_between(const float *x, size_t n, float lo, float hi, int32_t *idx, size_t max);
void avx512_row_weigh(const float *x, size_t n, struct row_depth d, uint64_t sums[ROW_N_BINS]);
void avx512_row_mask(const float *x, const uint64_t *bits, size_t n, float *y);

void avx512_rms_norm(const float *x, const float *w, size_t n, float eps, float *y);
void avx512_layer_norm(const float *x, const float *w, const float *bias, size_t n, float eps, float *y);
void avx512_softmax(float *x, size_t n);
void avx512_add(float *y, const float *x, size_t n);
void avx512_add_scaled(float *y, const float *x, float s, size_t n);
void avx512_scale(float *y, float s, size_t n);
void avx512_mul(float *y, const float *x, size_t n);
void avx512_rope(float *x, size_t n_head, size_t stride, size_t n_rot, const float *cos_sin);
void avx512_rope_halves(float *x, size_t n_head, size_t stride, size_t n_rot, const float *cos_sin);

ACT_FNS_DECLARE(avx512)
void avx512_swiglu_oai(const float *gate, const float *up, size_t n, float alpha, float limit, float *y);
void avx512_softcap(float *y, float cap, size_t n);
void avx512_xielu(const float *x, size_t n, struct xielu p, float *y);

RECUR_DECLARE(avx512); // recur_avx512.c

#endif
