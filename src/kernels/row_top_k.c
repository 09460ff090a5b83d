// kernels/row_top_k.c - the k largest numbers of a row without sorting it, and log-sum-exp.
//
// A sample of the row gives a bound that slightly more than k numbers should reach; select_ge() finds them (or all numbers, if the
// bound was too high), and a heap yields the first k in order.
#include "kernels/rowmath.h"
#include <math.h>
#include <stdbool.h>

enum { SAMPLE = 512 };

static float value_of(const float *x, int32_t i) { return x[i] == x[i] ? x[i] : -INFINITY; }

// The order of the result: value descending, then index ascending.
static bool goes_before(const float *x, int32_t a, int32_t b) {
    const float va = value_of(x, a), vb = value_of(x, b);
    return va != vb ? va > vb : a < b;
}

static void sift_down(const float *x, int32_t *heap, size_t n, size_t i) {
    const int32_t moved = heap[i];
    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && goes_before(x, heap[child + 1], heap[child])) child++;
        if (!goes_before(x, heap[child], moved)) break;
        heap[i] = heap[child];
    }
    heap[i] = moved;
}

void row_first_k(const float *x, int32_t *heap, size_t n, size_t k, int32_t *idx) {
    for (size_t i = n / 2; i-- > 0;) sift_down(x, heap, n, i);
    for (size_t i = 0; i < k; i++) {
        idx[i] = heap[0];
        heap[0] = heap[--n];
        sift_down(x, heap, n, 0);
    }
}

// A bound that about 2k + 2n/SAMPLE numbers reach if the sample is representative. picks: [2 * SAMPLE].
static float guess_bound(const float *x, size_t n, size_t k, int32_t *picks) {
    const size_t stride = n / SAMPLE, rank = 2 * k / stride + 2;
    for (size_t i = 0; i < SAMPLE; i++) picks[i] = (int32_t)(i * stride);
    row_first_k(x, picks, SAMPLE, rank, picks + SAMPLE);
    return value_of(x, picks[SAMPLE + rank - 1]);
}

size_t row_top_k(const struct rowmath *rm, const float *x, size_t n, size_t k, int32_t *idx, int32_t *scratch) {
    if (k > n) k = n;
    size_t n_found = 0;
    if (n >= 4 * SAMPLE && k < n / 8) n_found = rm->select_ge(x, n, guess_bound(x, n, k, scratch), scratch, n);
    if (n_found < k) {
        for (size_t i = 0; i < n; i++) scratch[i] = (int32_t)i;
        n_found = n;
    }
    row_first_k(x, scratch, n_found, k, idx);
    return k;
}

double row_log_sum_exp(const struct rowmath *rm, const float *x, size_t n) {
    const float m = rm->max(x, n);
    if (m == -INFINITY) return m; // all numbers are -inf: the sum is 0
    return (double)m + log_f64((double)rm->sum_exp(x, n, m));
}
