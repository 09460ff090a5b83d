// kernels/x86/rows_avx2.c - norms, softmax, sums and products, and rotation of a row.
#include "kernels/x86/avx2.h"
#include "kernels/x86/lanes_avx2.h"
#include <math.h>

// 8 numbers from p + i on, or as many as are left; where there is no p, `otherwise`.
ALWAYS_INLINE __m256 numbers_or(const float *p, size_t i, float otherwise) {
    return p ? _mm256_loadu_ps(p + i) : _mm256_set1_ps(otherwise);
}
ALWAYS_INLINE __m256 first_or(const float *p, size_t i, size_t n, float otherwise) {
    return p ? load_first(p + i, n) : _mm256_set1_ps(otherwise);
}

void avx2_rms_norm(const float *x, const float *w, size_t n, float eps, float *y) {
    const __m256 r = _mm256_set1_ps(1 / sqrtf(avx2_row_sum_squares(x, n) / (float)n + eps));
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(y + i, _mm256_mul_ps(_mm256_mul_ps(_mm256_loadu_ps(x + i), r), numbers_or(w, i, 1)));
    if (i < n)
        store_first(y + i, n - i,
                    _mm256_mul_ps(_mm256_mul_ps(load_first(x + i, n - i), r), first_or(w, i, n - i, 1)));
}

// The lanes that a tail does not have stay: a sum that was flushed to -0 would become +0 by adding 0.
ALWAYS_INLINE __m256 add_first(__m256 sum, const float *x, size_t n) {
    const __m256 added = _mm256_add_ps(sum, load_first(x, n));
    return _mm256_blendv_ps(sum, added, _mm256_castsi256_ps(lane_mask(n)));
}

static float row_sum(const float *x, size_t n) {
    __m256 lo = _mm256_setzero_ps(), hi = _mm256_setzero_ps();
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        lo = _mm256_add_ps(lo, _mm256_loadu_ps(x + i));
        hi = _mm256_add_ps(hi, _mm256_loadu_ps(x + i + 8));
    }
    lo = add_first(lo, x + i, n - i < 8 ? n - i : 8);
    if (n - i > 8) hi = add_first(hi, x + i + 8, n - i - 8);
    return sum_tree(lo, hi);
}

// Adds (x - mean)^2 of n (0..8) numbers.
ALWAYS_INLINE __m256 add_squares_first(__m256 sum, const float *x, size_t n, __m256 mean) {
    const __m256 mask = _mm256_castsi256_ps(lane_mask(n));
    const __m256 d = _mm256_and_ps(_mm256_sub_ps(load_first(x, n), mean), mask);
    return _mm256_fmadd_ps(d, d, sum);
}

static float row_sum_squares_about(const float *x, size_t n, float mean) {
    const __m256 about = _mm256_set1_ps(mean);
    __m256 lo = _mm256_setzero_ps(), hi = _mm256_setzero_ps();
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        const __m256 a = _mm256_sub_ps(_mm256_loadu_ps(x + i), about);
        const __m256 b = _mm256_sub_ps(_mm256_loadu_ps(x + i + 8), about);
        lo = _mm256_fmadd_ps(a, a, lo);
        hi = _mm256_fmadd_ps(b, b, hi);
    }
    lo = add_squares_first(lo, x + i, n - i < 8 ? n - i : 8, about);
    if (n - i > 8) hi = add_squares_first(hi, x + i + 8, n - i - 8, about);
    return sum_tree(lo, hi);
}

void avx2_layer_norm(const float *x, const float *w, const float *bias, size_t n, float eps, float *y) {
    const float mean = row_sum(x, n) / (float)n;
    const float r = 1 / sqrtf(row_sum_squares_about(x, n, mean) / (float)n + eps);
    const __m256 about = _mm256_set1_ps(mean), by = _mm256_set1_ps(r);
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const __m256 d = _mm256_mul_ps(_mm256_sub_ps(_mm256_loadu_ps(x + i), about), by);
        _mm256_storeu_ps(y + i, _mm256_fmadd_ps(d, numbers_or(w, i, 1), numbers_or(bias, i, 0)));
    }
    if (i < n) {
        const __m256 d = _mm256_mul_ps(_mm256_sub_ps(load_first(x + i, n - i), about), by);
        store_first(y + i, n - i, _mm256_fmadd_ps(d, first_or(w, i, n - i, 1), first_or(bias, i, n - i, 0)));
    }
}

void avx2_softmax(float *x, size_t n) {
    const float m = avx2_row_max(x, n);
    const __m256 sum = _mm256_set1_ps(avx2_row_sum_exp(x, n, m));
    avx2_row_exp(x, n, m, x);
    size_t i = 0;
    for (; i + 8 <= n; i += 8) _mm256_storeu_ps(x + i, _mm256_div_ps(_mm256_loadu_ps(x + i), sum));
    if (i < n) store_first(x + i, n - i, _mm256_div_ps(load_first(x + i, n - i), sum));
}

void avx2_add(float *y, const float *x, size_t n) {
    size_t i = 0;
    for (; i + 8 <= n; i += 8) _mm256_storeu_ps(y + i, _mm256_add_ps(_mm256_loadu_ps(y + i), _mm256_loadu_ps(x + i)));
    for (; i < n; i++) y[i] += x[i];
}

void avx2_add_scaled(float *y, const float *x, float s, size_t n) {
    const __m256 by = _mm256_set1_ps(s);
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(y + i, _mm256_fmadd_ps(by, _mm256_loadu_ps(x + i), _mm256_loadu_ps(y + i)));
    if (i < n) store_first(y + i, n - i, _mm256_fmadd_ps(by, load_first(x + i, n - i), load_first(y + i, n - i)));
}

void avx2_scale(float *y, float s, size_t n) {
    const __m256 by = _mm256_set1_ps(s);
    size_t i = 0;
    for (; i + 8 <= n; i += 8) _mm256_storeu_ps(y + i, _mm256_mul_ps(_mm256_loadu_ps(y + i), by));
    for (; i < n; i++) y[i] *= s;
}

void avx2_mul(float *y, const float *x, size_t n) {
    size_t i = 0;
    for (; i + 8 <= n; i += 8) _mm256_storeu_ps(y + i, _mm256_mul_ps(_mm256_loadu_ps(y + i), _mm256_loadu_ps(x + i)));
    for (; i < n; i++) y[i] *= x[i];
}

// Four pairs (a, b) with their (cos, sin): a cos - b sin in the even lanes, a sin + b cos in the odd ones.
ALWAYS_INLINE __m256 rotate(__m256 ab, __m256 cs) {
    const __m256 a = _mm256_moveldup_ps(ab), b = _mm256_movehdup_ps(ab);
    const __m256 sc = _mm256_permute_ps(cs, 0xb1);
    return _mm256_fmaddsub_ps(a, cs, _mm256_mul_ps(b, sc));
}

void avx2_rope(float *x, size_t n_head, size_t stride, size_t n_rot, const float *cos_sin) {
    for (size_t h = 0; h < n_head; h++) {
        float *const head = x + h * stride;
        size_t i = 0;
        for (; i + 8 <= n_rot; i += 8)
            _mm256_storeu_ps(head + i, rotate(_mm256_loadu_ps(head + i), _mm256_loadu_ps(cos_sin + i)));
        if (i < n_rot)
            store_first(head + i, n_rot - i,
                        rotate(load_first(head + i, n_rot - i), load_first(cos_sin + i, n_rot - i)));
    }
}

// Up to 8 pairs (a[i], b[i]); cs: their (cos, sin) side by side.
ALWAYS_INLINE void rotate_halves(float *a, float *b, const float *cs, size_t n) {
    const __m256 lo = load_first(cs, n < 4 ? 2 * n : 8), hi = n > 4 ? load_first(cs + 8, 2 * n - 8) : lo;
    const __m256d even = _mm256_castps_pd(_mm256_shuffle_ps(lo, hi, 0x88)), // 0 1, 4 5, 2 3, 6 7
        odd = _mm256_castps_pd(_mm256_shuffle_ps(lo, hi, 0xdd));
    const __m256 c = _mm256_castpd_ps(_mm256_permute4x64_pd(even, 0xd8)),
                 s = _mm256_castpd_ps(_mm256_permute4x64_pd(odd, 0xd8));
    const __m256 va = load_first(a, n), vb = load_first(b, n);
    store_first(a, n, _mm256_fmsub_ps(va, c, _mm256_mul_ps(vb, s)));
    store_first(b, n, _mm256_fmadd_ps(va, s, _mm256_mul_ps(vb, c)));
}

void avx2_rope_halves(float *x, size_t n_head, size_t stride, size_t n_rot, const float *cos_sin) {
    const size_t n = n_rot / 2;
    for (size_t h = 0; h < n_head; h++) {
        float *const first = x + h * stride, *const second = first + n;
        size_t i = 0;
        for (; i + 8 <= n; i += 8) rotate_halves(first + i, second + i, cos_sin + 2 * i, 8);
        if (i < n) rotate_halves(first + i, second + i, cos_sin + 2 * i, n - i);
    }
}
