// kernels/x86/bins_avx512.c - a row by depth below its largest: weights by bin, and who is in a bin.
#include "kernels/bin_sums.h"
#include "kernels/x86/avx512.h"
#include "kernels/x86/exp_avx512.h"
#include <math.h>

enum { LANES = 16 };

// t of up to 16 numbers; -infinity where there is none.
ALWAYS_INLINE_512 __m512 depths(const float *x, size_t n, struct row_depth d) {
    const __m512 none = _mm512_set1_ps(-INFINITY);
    const __m512 v = n >= LANES ? _mm512_loadu_ps(x) : _mm512_mask_loadu_ps(none, first_lanes(n), x);
    return _mm512_div_ps(_mm512_sub_ps(v, _mm512_set1_ps(d.max)), _mm512_set1_ps(d.temp));
}
ALWAYS_INLINE_512 __m512i bins_of(__m512 t, struct row_depth d) {
    const __m512 bin = _mm512_mul_ps(t, _mm512_set1_ps(-d.scale));
    return _mm512_cvttps_epi32(_mm512_min_ps(bin, _mm512_set1_ps(ROW_N_BINS - 1)));
}
ALWAYS_INLINE_512 __m512i weights_of(__m256 e) {
    const __m512d scaled = _mm512_mul_pd(_mm512_cvtps_pd(e), _mm512_set1_pd(0x1p38)); // exact
    return _mm512_cvttpd_epi64(_mm512_add_pd(scaled, _mm512_set1_pd(0.5)));
}

void avx512_row_weigh(const float *x, size_t n, struct row_depth d, uint64_t sums[ROW_N_BINS]) {
    const __m512 least = _mm512_set1_ps(0x1p-39f); // less rounds to no weight
    struct bin_sums s = {0};
    struct bin_part part;
    int n_part = 0;
    for (size_t i = 0; i < n; i += LANES) {
        const __m512 t = depths(x + i, n - i, d), e = exp_of_lanes(t);
        if (!_mm512_cmp_ps_mask(e, least, _CMP_GE_OQ)) continue;
        _mm512_store_si512(part.bins + n_part, bins_of(t, d));
        _mm512_store_si512(part.weights + n_part, weights_of(_mm512_castps512_ps256(e)));
        _mm512_store_si512(part.weights + n_part + LANES / 2, weights_of(_mm512_extractf32x8_ps(e, 1)));
        n_part += LANES;
        if (n_part < BIN_PART) continue;
        bin_sums_add(&s, &part, BIN_PART);
        n_part = 0;
    }
    bin_sums_add(&s, &part, n_part);
    bin_sums_end(&s, sums);
}

size_t avx512_row_select_bin(const float *x, size_t n, struct row_depth d, int bin, int32_t *idx, size_t max) {
    const __m512i wanted = _mm512_set1_epi32(bin);
    size_t count = 0;
    for (size_t i = 0; i < n; i += LANES) {
        const __mmask16 in_bin = _mm512_cmpeq_epi32_mask(bins_of(depths(x + i, n - i, d), d), wanted);
        const __mmask16 found = in_bin & lanes_left(n - i);
        if (found) count = put_found(found, i, idx, count, max);
    }
    return count;
}
