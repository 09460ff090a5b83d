// kernels/x86/bins_avx512.c - a row by depth below its largest: weights by bin.
#include "kernels/bin_sums.h"
#include "kernels/x86/avx512.h"
#include "kernels/x86/exp_avx512.h"
#include <math.h>
#include <string.h>

enum { LANES = 16 };

// t of up to 16 numbers; -infinity past the end.
ALWAYS_INLINE_512 __m512 depths(const float *x, size_t n, struct row_depth d) {
    const __m512 none = _mm512_set1_ps(-INFINITY);
    const __m512 v = n >= LANES ? _mm512_loadu_ps(x) : _mm512_mask_loadu_ps(none, first_lanes(n), x);
    return _mm512_div_ps(_mm512_sub_ps(v, _mm512_set1_ps(d.max)), _mm512_set1_ps(d.temp));
}
ALWAYS_INLINE_512 __m512i bins_of(__m512 t, struct row_depth d) {
    const __m512 bin = _mm512_mul_ps(t, _mm512_set1_ps(-d.scale));
    return _mm512_cvttps_epi32(_mm512_min_ps(bin, _mm512_set1_ps((float)d.last)));
}
ALWAYS_INLINE_512 __m512i weights_of(__m256 e) {
    const __m512d scaled = _mm512_mul_pd(_mm512_cvtps_pd(e), _mm512_set1_pd(0x1p38)); // exact
    return _mm512_cvttpd_epi64(_mm512_add_pd(scaled, _mm512_set1_pd(0.5)));
}

static void weigh_all(const float *x, size_t n, struct row_depth d, struct bin_sums *s) {
    const __m512 least = _mm512_set1_ps(0x1p-39f); // less rounds to no weight
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
        bin_sums_add(s, &part, BIN_PART);
        n_part = 0;
    }
    bin_sums_add(s, &part, n_part);
}

// Numbers before the last bin, gathered until they fill a part: their bins and exponentials.
struct gathered {
    _Alignas(64) int32_t bins[BIN_PART + LANES];
    _Alignas(64) float e[BIN_PART + LANES];
};
static void add_gathered(struct bin_sums *s, const struct gathered *g, int n) {
    struct bin_part part;
    memcpy(part.bins, g->bins, sizeof part.bins);
    for (int i = 0; i < BIN_PART; i += LANES / 2)
        _mm512_store_si512(part.weights + i, weights_of(_mm256_load_ps(g->e + i)));
    bin_sums_add(s, &part, n);
}

// The same where few lie before the last bin. No jump depends on which do: they come as they like.
static void weigh_some(const float *x, size_t n, struct row_depth d, struct bin_sums *s) {
    struct gathered g = {0};
    __m512i in_last = _mm512_setzero_si512();
    int n_gathered = 0;
    for (size_t i = 0; i < n; i += LANES) {
        const __m512 t = depths(x + i, n - i, d), e = exp_of_lanes(t);
        const __m512i bins = bins_of(t, d);
        const __mmask16 before = _mm512_cmplt_epi32_mask(bins, _mm512_set1_epi32(d.last));
        const __m512 deep = _mm512_maskz_mov_ps((__mmask16)~before, e);
        in_last = _mm512_add_epi64(in_last, weights_of(_mm512_castps512_ps256(deep)));
        in_last = _mm512_add_epi64(in_last, weights_of(_mm512_extractf32x8_ps(deep, 1)));
        _mm512_storeu_si512(g.bins + n_gathered, _mm512_maskz_compress_epi32(before, bins));
        _mm512_storeu_ps(g.e + n_gathered, _mm512_maskz_compress_ps(before, e));
        n_gathered += __builtin_popcount(before);
        if (n_gathered < BIN_PART) continue;
        add_gathered(s, &g, BIN_PART);
        _mm512_store_si512(g.bins, _mm512_load_si512(g.bins + BIN_PART));
        _mm512_store_ps(g.e, _mm512_load_ps(g.e + BIN_PART));
        n_gathered -= BIN_PART;
    }
    _mm512_storeu_si512(g.bins + n_gathered, _mm512_setzero_si512());
    _mm512_storeu_ps(g.e + n_gathered, _mm512_setzero_ps());
    add_gathered(s, &g, (n_gathered + BIN_TABLES - 1) / BIN_TABLES * BIN_TABLES);
    s->of[0][d.last] += (uint64_t)_mm512_reduce_add_epi64(in_last);
}

void avx512_row_weigh(const float *x, size_t n, struct row_depth d, uint64_t sums[ROW_N_BINS]) {
    struct bin_sums s = {0};
    (d.last < ROW_N_BINS - 1 ? weigh_some : weigh_all)(x, n, d, &s);
    bin_sums_end(&s, sums);
}
