// kernels/ref/ref.h - the scalar reference: the definition of every operation, used by sets that
// have no faster one.
//
// Plain C compiled with the baseline's flags: short and evidently correct. (With VNNI enabled GCC
// 12.2 miscompiles loops like those of matmul_ref.c, docs/kernels.md "traps"; the baseline has no
// such instructions.)
// Contracts: kernels/kernels.h. Threads: pure functions.
#ifndef RN_KERNELS_REF_REF_H
#define RN_KERNELS_REF_REF_H

#include "kernels/act_fns.h"
#include "kernels/kv_layout.h"
#include "kernels/recur_steps.h"

extern const struct kernel_set kernel_set_ref;

// The tree over 16 partial sums (rowmath.h). Overwrites s.
static inline float sum_tree_16(float s[16]) {
    for (int h = 8; h > 0; h /= 2)
        for (int j = 0; j < h; j++) s[j] += s[j + h];
    return s[0];
}
// The larger one; NaN if either is.
static inline float max_or_nan(float a, float b) { return a != a || a > b ? a : b; }

#define REF_DECLARE_MATMUL(type)                                                                                     \
    void ref_matmul_##type(const void *w, size_t row_bytes, size_t n_out, size_t k, const void *x,                   \
                           size_t act_stride, size_t n_rows, float *out, size_t out_stride)
REF_DECLARE_MATMUL(f32);
REF_DECLARE_MATMUL(f16);
REF_DECLARE_MATMUL(bf16);
REF_DECLARE_MATMUL(q8_0);
REF_DECLARE_MATMUL(q4_0);
REF_DECLARE_MATMUL(q4_1);
REF_DECLARE_MATMUL(q5_0);
REF_DECLARE_MATMUL(q5_1);
REF_DECLARE_MATMUL(iq4_nl);
REF_DECLARE_MATMUL(mxfp4);
REF_DECLARE_MATMUL(q1_0);
REF_DECLARE_MATMUL(q2_0);
REF_DECLARE_MATMUL(nvfp4);
REF_DECLARE_MATMUL(q2_k);
REF_DECLARE_MATMUL(q3_k);
REF_DECLARE_MATMUL(q4_k);
REF_DECLARE_MATMUL(q5_k);
REF_DECLARE_MATMUL(q6_k);
REF_DECLARE_MATMUL(iq4_xs);
REF_DECLARE_MATMUL(tq1_0);
REF_DECLARE_MATMUL(tq2_0);
REF_DECLARE_MATMUL(iq2_xxs);
REF_DECLARE_MATMUL(iq2_xs);
REF_DECLARE_MATMUL(iq2_s);
REF_DECLARE_MATMUL(iq3_xxs);
REF_DECLARE_MATMUL(iq3_s);
REF_DECLARE_MATMUL(iq1_s);
REF_DECLARE_MATMUL(iq1_m);

void ref_prepare_f32(const float *x, size_t k, void *act);
void ref_prepare_bf16(const float *x, size_t k, void *act);
void ref_prepare_q8_32(const float *x, size_t k, void *act);
void ref_prepare_q8_256(const float *x, size_t k, void *act);

KV_CODEC_DECLARE(ref_kv_f32);
KV_CODEC_DECLARE(ref_kv_f16);
KV_CODEC_DECLARE(ref_kv_q8);
KV_CODEC_DECLARE(ref_kv_bf16);

float ref_row_max(const float *x, size_t n);
float ref_row_sum_squares(const float *x, size_t n);
float ref_row_sum_exp(const float *x, size_t n, float m);
void ref_row_exp(const float *x, size_t n, float m, float *y);
size_t ref_row_select_ge(const float *x, size_t n, float t, int32_t *idx, size_t max);
size_t ref_row_select_between(const float *x, size_t n, float lo, float hi, int32_t *idx, size_t max);
void ref_row_weigh(const float *x, size_t n, struct row_depth d, uint64_t sums[ROW_N_BINS]);
void ref_row_mask(const float *x, const uint64_t *bits, size_t n, float *y);

void ref_rms_norm(const float *x, const float *w, size_t n, float eps, float *y);
void ref_layer_norm(const float *x, const float *w, const float *bias, size_t n, float eps, float *y);
void ref_softmax(float *x, size_t n);
void ref_add(float *y, const float *x, size_t n);
void ref_add_scaled(float *y, const float *x, float s, size_t n);
void ref_scale(float *y, float s, size_t n);
void ref_mul(float *y, const float *x, size_t n);
void ref_rope(float *x, size_t n_head, size_t stride, size_t n_rot, const float *cos_sin);
void ref_rope_halves(float *x, size_t n_head, size_t stride, size_t n_rot, const float *cos_sin);

ACT_FNS_DECLARE(ref)
void ref_swiglu_oai(const float *gate, const float *up, size_t n, float alpha, float limit, float *y);
void ref_softcap(float *y, float cap, size_t n);
void ref_xielu(const float *x, size_t n, struct xielu p, float *y);

void ref_attend_merge(float *m, float *l, float *o, float m2, float l2, const float *o2, size_t v_dim);
void ref_attend_finish(const float *o, float l, size_t v_dim, float *out);

uint64_t ref_int8_probe(uint64_t n_rounds, int32_t *sum);

RECUR_DECLARE(ref); // recur_ref.c

#endif
