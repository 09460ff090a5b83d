// kernels/x86/gemm_avx2.c - the way through a product of four rows and more: rows by chunks, panels, strips, quads.
#include "kernels/x86/gemm_avx2.h"
#include <string.h>

// Rows of a chunk: their quads stay in the second-level cache, and each unpacks every panel once. The room holds any type's strip.
enum { MOST_QUADS = 16, LEAST_QUADS = 4, CHUNK_BYTES = 256 << 10, ROOM_BYTES = 12 << 10 };

static size_t n_blocks(size_t block, size_t k) { return (k + block - 1) / block; }
static size_t chunk_quads(size_t quad_bytes, size_t n_block) {
    const size_t n = CHUNK_BYTES / (quad_bytes * n_block + 1);
    return n < LEAST_QUADS ? LEAST_QUADS : n > MOST_QUADS ? MOST_QUADS : n;
}
static size_t scratch_bytes(size_t quad_bytes, size_t n_block) {
    return chunk_quads(quad_bytes, n_block) * quad_bytes * n_block;
}
size_t avx2_gemm_32_scratch(size_t k) { return scratch_bytes(sizeof(struct quad_32), n_blocks(32, k)); }
size_t avx2_gemm_256_scratch(size_t k) { return scratch_bytes(sizeof(struct quad_256), n_blocks(256, k)); }

// How far ahead lines are asked for, in bytes: docs/kernels.md section 6.
enum { AHEAD = 12 << 10 };

// One panel times the rows of a chunk: acc[n_rows][16].
static void multiply_panel(const struct gemm_type *t, const uint8_t *panel, size_t panel_bytes, size_t k,
                           const uint8_t *quads, size_t n_rows, float *acc) {
    _Alignas(64) uint8_t room[ROOM_BYTES];
    const size_t n_block = n_blocks(t->block, k), n_strips = n_blocks(STRIP, k), n_quads = n_blocks(QUAD, n_rows);
    memset(acc, 0, n_rows * PANEL_ROWS * sizeof *acc);
    for (size_t strip = 0; strip < n_strips; strip++) {
        const size_t strip_bytes = panel_bytes / n_strips, n_lines = n_blocks(PANEL_LINE, strip_bytes);
        const uint8_t *const end = panel + (strip + 1) * strip_bytes + AHEAD;
        struct ahead ahead = {panel + strip * strip_bytes + AHEAD, n_blocks(n_quads * STRIP_BLOCKS, n_lines)};
        for (size_t q = 0; q < n_quads; q++) {
            const size_t left = n_rows - QUAD * q, rows = left < QUAD ? left : QUAD;
            const gemm_tile tile = q == 0 ? t->first : t->later[rows - 1];
            if (ahead.at >= end) ahead.n = 0;
            tile(panel, k, strip, quads + (q * n_block + strip * (STRIP / t->block)) * t->quad_bytes, room,
                 acc + QUAD * PANEL_ROWS * q, &ahead);
        }
    }
}

void avx2_run_gemm(const struct gemm_type *t, const uint8_t *panels, size_t panel_bytes, size_t n_out, size_t k,
                   const void *x, size_t act_stride, size_t n_rows, float *out, size_t out_stride, void *scratch) {
    _Alignas(64) float acc[QUAD * MOST_QUADS * PANEL_ROWS];
    const size_t chunk = QUAD * chunk_quads(t->quad_bytes, n_blocks(t->block, k));
    for (size_t r = 0, rows; r < n_rows; r += rows) {
        const uint8_t *const xr = (const uint8_t *)x + r * act_stride;
        float *const to = out + r * out_stride;
        rows = n_rows - r < chunk ? n_rows - r : chunk;
        if (rows < QUAD) {
            t->matmul(panels, 0, n_out, k, xr, act_stride, rows, to, out_stride);
            continue;
        }
        t->make_quads(xr, act_stride, rows, k, scratch);
        for (size_t o = 0; o < n_out; o += PANEL_ROWS) {
            const size_t n = n_out - o < PANEL_ROWS ? n_out - o : PANEL_ROWS;
            multiply_panel(t, panels + o / PANEL_ROWS * panel_bytes, panel_bytes, k, scratch, rows, acc);
            for (size_t i = 0; i < rows; i++) memcpy(to + i * out_stride + o, acc + i * PANEL_ROWS, n * sizeof *acc);
        }
    }
}

// Quads --------------------------------------------------------------------------------------------------------------------

// The rows of a quad; where there are fewer than four, the first one again.
static void rows_of_quad(const void *x, size_t act_stride, size_t n_left, const uint8_t *rows[QUAD]) {
    for (size_t r = 0; r < QUAD; r++) rows[r] = (const uint8_t *)x + (r < n_left ? r : 0) * act_stride;
}

// 32 numbers from `at` on. Returns the sums at positions 0, 1 and 2, 3 mod 4 of each row: in the low half those of the first 16 numbers, in
// the high half of the others.
ALWAYS_INLINE __m256i side_by_side(const int8_t *const a[QUAD], size_t at, int8_t (*to)[QUAD][4]) {
    __m256i r[QUAD], sums = _mm256_setzero_si256();
    for (int i = 0; i < QUAD; i++) r[i] = _mm256_loadu_si256((const void *)(a[i] + at));
    const __m256i low_01 = _mm256_unpacklo_epi32(r[0], r[1]), high_01 = _mm256_unpackhi_epi32(r[0], r[1]);
    const __m256i low_23 = _mm256_unpacklo_epi32(r[2], r[3]), high_23 = _mm256_unpackhi_epi32(r[2], r[3]);
    const __m256i groups[4] = {// 0 and 4, 1 and 5, 2 and 6, 3 and 7
                               _mm256_unpacklo_epi64(low_01, low_23), _mm256_unpackhi_epi64(low_01, low_23),
                               _mm256_unpacklo_epi64(high_01, high_23), _mm256_unpackhi_epi64(high_01, high_23)};
    for (int g = 0; g < 4; g++) {
        _mm_store_si128((void *)to[g], _mm256_castsi256_si128(groups[g]));
        _mm_store_si128((void *)to[g + 4], _mm256_extracti128_si256(groups[g], 1));
        sums = _mm256_add_epi16(sums, _mm256_maddubs_epi16(_mm256_set1_epi8(1), groups[g]));
    }
    return sums;
}

void avx2_quads_32(const void *x, size_t act_stride, size_t n_rows, size_t k, int above, struct quad_32 *to) {
    const __m128i factor = _mm_set1_epi16((short)-above);
    for (size_t first = 0; first < n_rows; first += QUAD) {
        const uint8_t *rows[QUAD];
        const int8_t *a[QUAD];
        struct act_q8 act[QUAD];
        rows_of_quad((const uint8_t *)x + first * act_stride, act_stride, n_rows - first, rows);
        for (int r = 0; r < QUAD; r++) act[r] = act_q8_view(rows[r], k), a[r] = act[r].a;
        for (size_t b = 0; b < k / 32; b++, to++) {
            const __m256i sums = side_by_side(a, 32 * b, to->a);
            const __m128i all = _mm_add_epi16(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
            _mm_store_si128((void *)to->start, _mm_mullo_epi16(all, factor));
            for (int r = 0; r < QUAD; r++) to->d[r] = act[r].d[b], to->s[r] = act[r].s[b];
        }
    }
}

void avx2_quads_256(const void *x, size_t act_stride, size_t n_rows, size_t k, int above, int part,
                    struct quad_256 *to) {
    const __m128i factor = _mm_set1_epi16((short)-above), ones = _mm_set1_epi16(1);
    for (size_t first = 0; first < n_rows; first += QUAD) {
        const uint8_t *rows[QUAD];
        const int8_t *a[QUAD];
        struct act_q8_k act[QUAD];
        rows_of_quad((const uint8_t *)x + first * act_stride, act_stride, n_rows - first, rows);
        for (int r = 0; r < QUAD; r++) act[r] = act_q8_k_view(rows[r], k), a[r] = act[r].a;
        for (size_t b = 0; b < k / 256; b++, to++) {
            __m128i sums[16]; // of each part, 32 bits a row
            int n = 0;
            for (size_t i = 0; i < 8; i++) {
                const __m256i both = side_by_side(a, 256 * b + 32 * i, to->a + 8 * i);
                __m128i pairs[2] = {_mm256_castsi256_si128(both), _mm256_extracti128_si256(both, 1)};
                if (part == 32) pairs[0] = _mm_add_epi16(pairs[0], pairs[1]);
                for (int j = 0; j < 32 / part; j++, n++) {
                    _mm_store_si128((void *)to->start[n], _mm_mullo_epi16(pairs[j], factor));
                    sums[n] = _mm_madd_epi16(pairs[j], ones);
                }
            }
            for (int i = 0; i < n / 2; i++) {
                const int p = i / 2 * 4 + i % 2;
                _mm_store_si128((void *)to->sums[i], _mm_blend_epi16(sums[p], _mm_slli_epi32(sums[p + 2], 16), 0xaa));
            }
            for (int r = 0; r < QUAD; r++) to->d[r] = act[r].d[b];
        }
    }
}
