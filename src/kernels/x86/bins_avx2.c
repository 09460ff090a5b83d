// kernels/x86/bins_avx2.c - a row by depth below its largest: weights by bin, and who is in a bin.
#include "kernels/bin_sums.h"
#include "kernels/x86/avx2.h"
#include "kernels/x86/lanes_avx2.h"
#include <math.h>

enum { LANES = 8 };

// t of up to 8 numbers; -infinity where there is none.
ALWAYS_INLINE __m256 depths(const float *x, size_t n, struct row_depth d) {
    const __m256 none = _mm256_set1_ps(-INFINITY);
    const __m256 v =
        n >= LANES ? _mm256_loadu_ps(x) : _mm256_blendv_ps(none, load_first(x, n), _mm256_castsi256_ps(lane_mask(n)));
    return _mm256_div_ps(_mm256_sub_ps(v, _mm256_set1_ps(d.max)), _mm256_set1_ps(d.temp));
}
ALWAYS_INLINE __m256i bins_of(__m256 t, struct row_depth d) {
    const __m256 bin = _mm256_mul_ps(t, _mm256_set1_ps(-d.scale));
    return _mm256_cvttps_epi32(_mm256_min_ps(bin, _mm256_set1_ps(ROW_N_BINS - 1)));
}
// A double from 0 to 2^52 has its integer part in the low bits once 2^52 is added to that.
ALWAYS_INLINE __m256i weights_of(__m128 e) {
    const __m256d scaled = _mm256_mul_pd(_mm256_cvtps_pd(e), _mm256_set1_pd(0x1p38)), big = _mm256_set1_pd(0x1p52);
    const __m256d whole = _mm256_floor_pd(_mm256_add_pd(scaled, _mm256_set1_pd(0.5)));
    return _mm256_castpd_si256(_mm256_xor_pd(_mm256_add_pd(whole, big), big));
}

void avx2_row_weigh(const float *x, size_t n, struct row_depth d, uint64_t sums[ROW_N_BINS]) {
    const __m256 least = _mm256_set1_ps(0x1p-39f); // less rounds to no weight
    struct bin_sums s = {0};
    struct bin_part part;
    int n_part = 0;
    for (size_t i = 0; i < n; i += LANES) {
        const __m256 t = depths(x + i, n - i, d), e = exp_lanes(t);
        if (!_mm256_movemask_ps(_mm256_cmp_ps(e, least, _CMP_GE_OQ))) continue;
        _mm256_store_si256((void *)(part.bins + n_part), bins_of(t, d));
        _mm256_store_si256((void *)(part.weights + n_part), weights_of(_mm256_castps256_ps128(e)));
        _mm256_store_si256((void *)(part.weights + n_part + LANES / 2), weights_of(_mm256_extractf128_ps(e, 1)));
        n_part += LANES;
        if (n_part < BIN_PART) continue;
        bin_sums_add(&s, &part, BIN_PART);
        n_part = 0;
    }
    bin_sums_add(&s, &part, n_part);
    bin_sums_end(&s, sums);
}

size_t avx2_row_select_bin(const float *x, size_t n, struct row_depth d, int bin, int32_t *idx, size_t max) {
    const __m256i wanted = _mm256_set1_epi32(bin);
    size_t count = 0;
    for (size_t i = 0; i < n; i += LANES) {
        const size_t left = n - i < LANES ? n - i : LANES;
        const __m256i in_bin = _mm256_cmpeq_epi32(bins_of(depths(x + i, n - i, d), d), wanted);
        unsigned found = (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(in_bin)) & ((1u << left) - 1);
        for (; found; found &= found - 1, count++)
            if (count < max) idx[count] = (int32_t)(i + (size_t)__builtin_ctz(found));
    }
    return count;
}
