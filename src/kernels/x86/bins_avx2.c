// kernels/x86/bins_avx2.c - a row by depth below its largest: weights by bin.
#include "kernels/bin_sums.h"
#include "kernels/x86/avx2.h"
#include "kernels/x86/lanes_avx2.h"
#include <math.h>
#include <string.h>

enum { LANES = 8 };

// t of up to 8 numbers; -infinity past the end.
ALWAYS_INLINE __m256 depths(const float *x, size_t n, struct row_depth d) {
    const __m256 none = _mm256_set1_ps(-INFINITY);
    const __m256 v =
        n >= LANES ? _mm256_loadu_ps(x) : _mm256_blendv_ps(none, load_first(x, n), _mm256_castsi256_ps(lane_mask(n)));
    return _mm256_div_ps(_mm256_sub_ps(v, _mm256_set1_ps(d.max)), _mm256_set1_ps(d.temp));
}
ALWAYS_INLINE __m256i bins_of(__m256 t, struct row_depth d) {
    const __m256 bin = _mm256_mul_ps(t, _mm256_set1_ps(-d.scale));
    return _mm256_cvttps_epi32(_mm256_min_ps(bin, _mm256_set1_ps((float)d.last)));
}
// A double from 0 to 2^52 has its integer part in the low bits once 2^52 is added to that.
ALWAYS_INLINE __m256i weights_of(__m128 e) {
    const __m256d scaled = _mm256_mul_pd(_mm256_cvtps_pd(e), _mm256_set1_pd(0x1p38)), big = _mm256_set1_pd(0x1p52);
    const __m256d whole = _mm256_floor_pd(_mm256_add_pd(scaled, _mm256_set1_pd(0.5)));
    return _mm256_castpd_si256(_mm256_xor_pd(_mm256_add_pd(whole, big), big));
}

static void weigh_all(const float *x, size_t n, struct row_depth d, struct bin_sums *s) {
    const __m256 least = _mm256_set1_ps(0x1p-39f); // less rounds to no weight
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
        bin_sums_add(s, &part, BIN_PART);
        n_part = 0;
    }
    bin_sums_add(s, &part, n_part);
}

// Numbers before the last bin, gathered until they fill a part: their bins and exponentials.
struct gathered {
    _Alignas(32) int32_t bins[BIN_PART + LANES];
    _Alignas(32) float e[BIN_PART + LANES];
};
static void add_gathered(struct bin_sums *s, const struct gathered *g, int n) {
    struct bin_part part;
    memcpy(part.bins, g->bins, sizeof part.bins);
    for (int i = 0; i < BIN_PART; i += LANES / 2)
        _mm256_store_si256((void *)(part.weights + i), weights_of(_mm_load_ps(g->e + i)));
    bin_sums_add(s, &part, n);
}

// Of each choice of lanes their numbers, four bits each, from the lowest on.
static void fill_choices(uint32_t choices[1 << LANES]) {
    for (unsigned choice = 0; choice < 1 << LANES; choice++) {
        unsigned n = 0;
        choices[choice] = 0;
        for (unsigned lane = 0; lane < LANES; lane++)
            if (choice >> lane & 1) choices[choice] |= lane << 4 * n++;
    }
}

// The same where few lie before the last bin. No jump depends on which do: they come as they like.
static void weigh_some(const float *x, size_t n, struct row_depth d, struct bin_sums *s) {
    const __m256i last = _mm256_set1_epi32(d.last), shifts = _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28);
    uint32_t choices[1 << LANES];
    struct gathered g = {0};
    __m256i in_last = _mm256_setzero_si256();
    int n_gathered = 0;
    fill_choices(choices);
    for (size_t i = 0; i < n; i += LANES) {
        const __m256 t = depths(x + i, n - i, d), e = exp_lanes(t);
        const __m256i bins = bins_of(t, d);
        const __m256 before = _mm256_castsi256_ps(_mm256_cmpgt_epi32(last, bins)), deep = _mm256_andnot_ps(before, e);
        in_last = _mm256_add_epi64(in_last, weights_of(_mm256_castps256_ps128(deep)));
        in_last = _mm256_add_epi64(in_last, weights_of(_mm256_extractf128_ps(deep, 1)));
        const unsigned choice = (unsigned)_mm256_movemask_ps(before);
        const __m256i lanes = _mm256_srlv_epi32(_mm256_set1_epi32((int)choices[choice]), shifts); // three bits count
        _mm256_storeu_si256((void *)(g.bins + n_gathered), _mm256_permutevar8x32_epi32(bins, lanes));
        _mm256_storeu_ps(g.e + n_gathered, _mm256_permutevar8x32_ps(e, lanes));
        n_gathered += __builtin_popcount(choice);
        if (n_gathered < BIN_PART) continue;
        add_gathered(s, &g, BIN_PART);
        _mm256_store_si256((void *)g.bins, _mm256_load_si256((const void *)(g.bins + BIN_PART)));
        _mm256_store_ps(g.e, _mm256_load_ps(g.e + BIN_PART));
        n_gathered -= BIN_PART;
    }
    _mm256_storeu_si256((void *)(g.bins + n_gathered), _mm256_setzero_si256());
    _mm256_storeu_ps(g.e + n_gathered, _mm256_setzero_ps());
    add_gathered(s, &g, (n_gathered + BIN_TABLES - 1) / BIN_TABLES * BIN_TABLES);
    uint64_t sums[4];
    _mm256_storeu_si256((void *)sums, in_last);
    s->of[0][d.last] += sums[0] + sums[1] + sums[2] + sums[3];
}

void avx2_row_weigh(const float *x, size_t n, struct row_depth d, uint64_t sums[ROW_N_BINS]) {
    struct bin_sums s = {0};
    (d.last < ROW_N_BINS - 1 ? weigh_some : weigh_all)(x, n, d, &s);
    bin_sums_end(&s, sums);
}
