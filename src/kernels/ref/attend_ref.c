// kernels/ref/attend_ref.c - attention over one block of 64 keys by online softmax (Milakov and Gimelshein 2018,
// "Online normalizer calculation for softmax"), the merge of two parts, and the final division.
#include "kernels/ref/ref.h"
#include <math.h>

// One query: scores of slots [lo, hi) into s; returns their maximum and m's.
static float score(const float *keys, size_t head_dim, const float *q, int lo, int hi, float scale, float m,
                   float *s) {
    for (int j = lo; j < hi; j++) {
        float sum = 0;
        for (size_t d = 0; d < head_dim; d++) sum = fmaf(q[d], keys[d * KV_BLOCK + (size_t)j], sum);
        s[j] = scale * sum;
        m = max_or_nan(m, s[j]);
    }
    return m + 0.0f; // one answer for both zeros, as in row max
}

static void attend_one(const float *keys, const float *values, size_t head_dim, const float *q, int lo, int hi,
                       float scale, float *m, float *l, float *o) {
    float p[KV_BLOCK], partial[16] = {0};
    const float m_new = score(keys, head_dim, q, lo, hi, scale, *m, p);
    for (int j = lo; j < hi; j++) {
        p[j] = exp_f32(p[j] - m_new);
        partial[j % 16] += p[j];
    }
    const float corr = exp_f32(*m - m_new);
    *m = m_new;
    *l = fmaf(*l, corr, sum_tree_16(partial));
    for (size_t d = 0; d < head_dim; d++) {
        float acc = o[d] * corr;
        for (int j = lo; j < hi; j++) acc = fmaf(p[j], values[(size_t)j * head_dim + d], acc);
        o[d] = acc;
    }
}

void ref_attend_block(const float *keys, const float *values, size_t head_dim, const float *q, size_t q_stride,
                      size_t n_q, const uint8_t *lo, const uint8_t *hi, float scale, float *m, float *l, float *o) {
    for (size_t i = 0; i < n_q; i++)
        attend_one(keys, values, head_dim, q + i * q_stride, lo[i], hi[i], scale, &m[i], &l[i], o + i * head_dim);
}

// A part that saw no key has l = 0 and changes nothing; a part that saw one has l >= 1, or NaN.
void ref_attend_merge(float *m, float *l, float *o, float m2, float l2, const float *o2, size_t head_dim) {
    if (l2 == 0) return;
    const float m_new = max_or_nan(*m, m2) + 0.0f;
    const float c1 = exp_f32(*m - m_new), c2 = exp_f32(m2 - m_new);
    *m = m_new;
    *l = fmaf(*l, c1, l2 * c2);
    for (size_t d = 0; d < head_dim; d++) o[d] = fmaf(o[d], c1, o2[d] * c2);
}

void ref_attend_finish(const float *o, float l, size_t head_dim, float *out) {
    for (size_t d = 0; d < head_dim; d++) out[d] = o[d] / l;
}
