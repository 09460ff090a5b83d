// kernels/x86/avx2.h - the AVX2 set (with FMA and F16C): what it does better than ref. Contracts: kernels/kernels.h.
#ifndef RN_KERNELS_X86_AVX2_H
#define RN_KERNELS_X86_AVX2_H

#include "kernels/act_fns.h"
#include "kernels/kv_layout.h"
#include "kernels/recur_steps.h"

// Weights in the panels of kernels/panels/panel.h; avx2_pack_TYPE gives the bytes of panel_TYPE_pack, faster.
#define AVX2_DECLARE_MATMUL(type)                                                                                    \
    void avx2_pack_##type(const uint8_t *rows, size_t row_bytes, int n_rows, size_t k, void *panel);                 \
    void avx2_matmul_##type(const void *w, size_t row_bytes, size_t n_out, size_t k, const void *x,                  \
                            size_t act_stride, size_t n_rows, float *out, size_t out_stride)
AVX2_DECLARE_MATMUL(f32);
AVX2_DECLARE_MATMUL(f16);
AVX2_DECLARE_MATMUL(bf16);
AVX2_DECLARE_MATMUL(q8_0);
AVX2_DECLARE_MATMUL(q4_0);
AVX2_DECLARE_MATMUL(q4_1);
AVX2_DECLARE_MATMUL(q5_0);
AVX2_DECLARE_MATMUL(q5_1);
AVX2_DECLARE_MATMUL(iq4_nl);
AVX2_DECLARE_MATMUL(mxfp4);
AVX2_DECLARE_MATMUL(q2_k);
AVX2_DECLARE_MATMUL(q3_k);
AVX2_DECLARE_MATMUL(q4_k);
AVX2_DECLARE_MATMUL(q5_k);
AVX2_DECLARE_MATMUL(q6_k);
AVX2_DECLARE_MATMUL(iq4_xs);

// Of all types with the same table, in the panels of panels/panel_iq.h.
#define AVX2_DECLARE_MATMUL_IN(table)                                                                                \
    void avx2_matmul_##table(const void *w, size_t row_bytes, size_t n_out, size_t k, const void *x,                 \
                             size_t act_stride, size_t n_rows, float *out, size_t out_stride)
AVX2_DECLARE_MATMUL_IN(iq2);
AVX2_DECLARE_MATMUL_IN(iq1);
AVX2_DECLARE_MATMUL_IN(iq3_xxs);
AVX2_DECLARE_MATMUL_IN(iq3_s);

// The same for four rows and more.
size_t avx2_gemm_32_scratch(size_t k);
size_t avx2_gemm_256_scratch(size_t k);
#define AVX2_DECLARE_GEMM(type)                                                                                      \
    void avx2_gemm_##type(const void *w, size_t n_out, size_t k, const void *x, size_t act_stride, size_t n_rows,    \
                          float *out, size_t out_stride, void *scratch)
AVX2_DECLARE_GEMM(q8_0);
AVX2_DECLARE_GEMM(q4_0);
AVX2_DECLARE_GEMM(q5_0);
AVX2_DECLARE_GEMM(q5_1);
AVX2_DECLARE_GEMM(iq4_nl);
AVX2_DECLARE_GEMM(mxfp4);
AVX2_DECLARE_GEMM(q2_k);
AVX2_DECLARE_GEMM(q3_k);
AVX2_DECLARE_GEMM(q4_k);
AVX2_DECLARE_GEMM(q5_k);
AVX2_DECLARE_GEMM(q6_k);
AVX2_DECLARE_GEMM(iq4_xs);
AVX2_DECLARE_GEMM(iq2);
AVX2_DECLARE_GEMM(iq1);
AVX2_DECLARE_GEMM(iq3_xxs);
AVX2_DECLARE_GEMM(iq3_s);

void avx2_prepare_bf16(const float *x, size_t k, void *act);
void avx2_prepare_q8_32(const float *x, size_t k, void *act);
void avx2_prepare_q8_256(const float *x, size_t k, void *act);

void avx2_kv_f16_put_value(void *block, size_t v_dim, int slot, const float *v);
void avx2_kv_f16_get_keys(const void *block, size_t head_dim, int n_slots, float *out);
void avx2_kv_f16_get_values(const void *block, size_t v_dim, int n_slots, float *out);
void avx2_kv_q8_get_keys(const void *block, size_t head_dim, int n_slots, float *out);
void avx2_kv_q8_get_values(const void *block, size_t v_dim, int n_slots, float *out);
void avx2_kv_f32_attend(const struct attend_block *a);
void avx2_kv_f16_attend(const struct attend_block *a);
void avx2_kv_q8_attend(const struct attend_block *a);
void avx2_kv_bf16_attend(const struct attend_block *a);

float avx2_row_max(const float *x, size_t n);
float avx2_row_sum_squares(const float *x, size_t n);
float avx2_row_sum_exp(const float *x, size_t n, float m);
void avx2_row_exp(const float *x, size_t n, float m, float *y);
size_t avx2_row_select_ge(const float *x, size_t n, float t, int32_t *idx, size_t max);
size_t avx2_row_select_between(const float *x, size_t n, float lo, float hi, int32_t *idx, size_t max);
void avx2_row_weigh(const float *x, size_t n, struct row_depth d, uint64_t sums[ROW_N_BINS]);
void avx2_row_mask(const float *x, const uint64_t *bits, size_t n, float *y);

void avx2_rms_norm(const float *x, const float *w, size_t n, float eps, float *y);
void avx2_layer_norm(const float *x, const float *w, const float *bias, size_t n, float eps, float *y);
void avx2_softmax(float *x, size_t n);
void avx2_add(float *y, const float *x, size_t n);
void avx2_add_scaled(float *y, const float *x, float s, size_t n);
void avx2_scale(float *y, float s, size_t n);
void avx2_mul(float *y, const float *x, size_t n);
void avx2_rope(float *x, size_t n_head, size_t stride, size_t n_rot, const float *cos_sin);
void avx2_rope_halves(float *x, size_t n_head, size_t stride, size_t n_rot, const float *cos_sin);

ACT_FNS_DECLARE(avx2)
void avx2_swiglu_oai(const float *gate, const float *up, size_t n, float alpha, float limit, float *y);
void avx2_softcap(float *y, float cap, size_t n);
void avx2_xielu(const float *x, size_t n, struct xielu p, float *y);

void avx2_attend_merge(float *m, float *l, float *o, float m2, float l2, const float *o2, size_t v_dim);
void avx2_attend_finish(const float *o, float l, size_t v_dim, float *out);

uint64_t avx2_int8_probe(uint64_t n_rounds, int32_t *sum);

RECUR_DECLARE(avx2); // recur_avx2.c

#endif
