// kernels/ref/attend_ref.c - attention over one block of 64 keys by online softmax (Milakov and Gimelshein 2018,
// "Online normalizer calculation for softmax"), the merge of two parts, and the final division.
#include "kernels/ref/ref.h"
#include "tensor/half.h"
#include <math.h>

static const void *query(const struct attend_block *a, size_t i) { return (const uint8_t *)a->q + i * a->q_stride; }

// The score of query i and slot j; `sum` is the product of query and key. ALiBi: Press et al. 2021, "Train short, test long".
static float score(const struct attend_block *a, size_t i, size_t j, float sum) {
    float s = a->scale * sum;
    if (a->softcap != 0) s = a->softcap * tanh_f32(s / a->softcap);
    if (a->slope) s = fmaf(a->slope[i], (float)(a->offset[i] + (int32_t)j), s);
    if (a->bias) s += a->bias[i * KV_BLOCK + j];
    return s;
}

// Turns the scores of slots [lo, hi) of query i into probabilities, and updates m and l. Returns the factor for the old sums.
static float softmax(const struct attend_block *a, size_t i, float *p) {
    float partial[16] = {0}, m = a->m[i];
    for (int j = a->lo[i]; j < a->hi[i]; j++) m = max_or_nan(m, p[j]);
    m += 0.0f; // -0 becomes 0, as in the row maximum
    for (int j = a->lo[i]; j < a->hi[i]; j++) {
        p[j] = exp_f32(p[j] - m);
        partial[j % 16] += p[j];
    }
    const float corr = exp_f32(a->m[i] - m);
    a->m[i] = m;
    a->l[i] = fmaf(a->l[i], corr, sum_tree_16(partial));
    return corr;
}

// Keys [head_dim][64] and values [64][v_dim] in float.
static void attend_floats(const struct attend_block *a, const float *keys, const float *values) {
    for (size_t i = 0; i < a->n_q; i++) {
        const float *const q = query(a, i);
        float p[KV_BLOCK], *const o = a->o + i * a->v_dim;
        for (size_t j = a->lo[i]; j < a->hi[i]; j++) {
            float sum = 0;
            for (size_t d = 0; d < a->head_dim; d++) sum = fmaf(q[d], keys[d * KV_BLOCK + j], sum);
            p[j] = score(a, i, j, sum);
        }
        const float corr = softmax(a, i, p);
        for (size_t d = 0; d < a->v_dim; d++) {
            float acc = o[d] * corr;
            for (size_t j = a->lo[i]; j < a->hi[i]; j++) acc = fmaf(p[j], values[j * a->v_dim + d], acc);
            o[d] = acc;
        }
    }
}

void ref_kv_f32_attend(const struct attend_block *a) { attend_floats(a, a->keys, a->values); }

void ref_kv_f16_attend(const struct attend_block *a) {
    float *const keys = a->scratch, *const values = keys + KV_BLOCK * a->head_dim;
    ref_kv_f16_get_keys(a->keys, a->head_dim, KV_BLOCK, keys);
    ref_kv_f16_get_values(a->values, a->v_dim, KV_BLOCK, values);
    attend_floats(a, keys, values);
}

void ref_kv_q8_attend(const struct attend_block *a) {
    float *const keys = a->scratch, *const values = keys + KV_BLOCK * a->head_dim;
    ref_kv_q8_get_keys(a->keys, a->head_dim, KV_BLOCK, keys);
    ref_kv_q8_get_values(a->values, a->v_dim, KV_BLOCK, values);
    attend_floats(a, keys, values);
}

// BF16: for each 32 values of the inner index one chain of FMAs over the even positions and one over the odd ones, in the order of AMX's
// tdpbf16ps.
static float product_bf16(const uint16_t *q, const uint16_t *keys, size_t head_dim, size_t j) {
    float sum = 0;
    for (size_t first = 0; first < head_dim; first += 32) {
        const size_t last = head_dim - first < 32 ? (head_dim + 1) & ~(size_t)1 : first + 32;
        float chain[2] = {0, 0};
        for (size_t d = first; d < last; d++)
            chain[d % 2] = fmaf(bf16_to_f32(q[d]), bf16_to_f32(keys[kv_bf16_key_at(d, j)]), chain[d % 2]);
        sum += chain[0] + chain[1];
    }
    return sum;
}

// Slots that the query does not see are skipped in their chain; both halves of the block are always added.
static void sum_values_bf16(const struct attend_block *a, size_t i, const float *p, float corr) {
    const uint16_t *const values = a->values;
    const size_t lo = a->lo[i], hi = a->hi[i];
    for (size_t d = 0; d < a->v_dim; d++) {
        float acc = a->o[i * a->v_dim + d] * corr;
        for (size_t half = 0; half < KV_BLOCK; half += 32) {
            float chain[2] = {0, 0};
            for (size_t j = half > lo ? half : lo; j < half + 32 && j < hi; j++) {
                const float v = bf16_to_f32(values[kv_bf16_value_at(a->v_dim, j, d)]);
                chain[j % 2] = fmaf(bf16_to_f32(bf16_from_f32(p[j])), v, chain[j % 2]);
            }
            acc += chain[0] + chain[1];
        }
        a->o[i * a->v_dim + d] = acc;
    }
}

void ref_kv_bf16_attend(const struct attend_block *a) {
    for (size_t i = 0; i < a->n_q; i++) {
        float p[KV_BLOCK];
        for (size_t j = a->lo[i]; j < a->hi[i]; j++)
            p[j] = score(a, i, j, product_bf16(query(a, i), a->keys, a->head_dim, j));
        sum_values_bf16(a, i, p, softmax(a, i, p));
    }
}

// A split that saw no key has l = 0 and changes nothing; one that saw a key has l >= 1, or NaN.
void ref_attend_merge(float *m, float *l, float *o, float m2, float l2, const float *o2, size_t v_dim) {
    if (l2 == 0) return;
    const float m_new = max_or_nan(*m, m2) + 0.0f;
    const float c1 = exp_f32(*m - m_new), c2 = exp_f32(m2 - m_new);
    *m = m_new;
    *l = fmaf(*l, c1, l2 * c2);
    for (size_t d = 0; d < v_dim; d++) o[d] = fmaf(o[d], c1, o2[d] * c2);
}

void ref_attend_finish(const float *o, float l, size_t v_dim, float *out) {
    for (size_t d = 0; d < v_dim; d++) out[d] = o[d] / l;
}
