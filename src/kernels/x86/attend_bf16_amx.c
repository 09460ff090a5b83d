// kernels/x86/attend_bf16_amx.c - attention over a block of BF16 pairs: 16 queries at a time, both products in tiles straight from the
// page. `tdpbf16ps` sums as attend_ref.c does: two chains over each 32 positions.
#include "kernels/x86/amx.h"
#include "kernels/x86/attend_bf16.h"
#include "kernels/x86/avx512.h"
#include "kernels/x86/tiles_attend_amx.h"

// Tiles and vectors access the same memory, so the compiler must not reorder them.
#define BETWEEN_TILES_AND_VECTORS() __asm__ volatile("" ::: "memory")

enum { FEW = 3 }; // up to this many queries AVX-512 is faster

// Prefetches 16 lines of the next block after each product; more at once would wait for each other. Only for the first 16 queries.
ALWAYS_INLINE_512 void fetch_lines(const void *next, const void *now, size_t at) {
    if (next == now) return;
    fetch(next, at, 16 * 64);
}

// p = q . k for all 64 keys, unscaled: four tiles of sums, for each 32 channels one tile of queries.
static void score_tiles(const struct attend_block *a, float p[ROWS][KV_BLOCK]) {
    enum { PAIR_ROW = 4 * KV_BLOCK };
    const uint8_t *q = a->q, *keys = a->keys;
    size_t at = 0;
#define PRODUCT(sum, queries, some_keys)                                                                             \
    _tile_loadd(some_keys, keys + at + 64 * (sum), PAIR_ROW);                                                        \
    _tile_dpbf16ps(sum, queries, some_keys);                                                                         \
    fetch_lines(a->next_keys, keys, at + 1024 * (sum))
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (size_t d = 0; d + 32 <= a->head_dim; d += 32, at += 16 * PAIR_ROW) {
        _tile_loadd(4, q + 2 * d, a->q_stride);
        PRODUCT(0, 4, 5);
        PRODUCT(1, 4, 5);
        PRODUCT(2, 4, 5);
        PRODUCT(3, 4, 5);
    }
    if (a->head_dim % 32) {
        _tile_loadd(6, q + 2 * (a->head_dim & ~(size_t)31), a->q_stride);
        PRODUCT(0, 6, 7);
        PRODUCT(1, 6, 7);
        PRODUCT(2, 6, 7);
        PRODUCT(3, 6, 7);
    }
#undef PRODUCT
    _tile_stored(0, p[0], sizeof p[0]);
    _tile_stored(1, p[0] + 16, sizeof p[0]);
    _tile_stored(2, p[0] + 32, sizeof p[0]);
    _tile_stored(3, p[0] + 48, sizeof p[0]);
}

static void scale_scores(const struct attend_block *a, float p[ROWS][KV_BLOCK]) {
    const __m512 scale = _mm512_set1_ps(a->scale);
    for (size_t r = 0; r < a->n_q; r++)
        for (int i = 0; i < KV_BLOCK; i += 16)
            _mm512_store_ps(p[r] + i, _mm512_mul_ps(scale, _mm512_load_ps(p[r] + i)));
}

// Rounded to BF16: as floats in place, and as the rows of a tile.
static void round_all(const struct attend_block *a, float p[ROWS][KV_BLOCK], uint16_t rounded[ROWS][KV_BLOCK]) {
    for (size_t r = 0; r < a->n_q; r++)
        for (int i = 0; i < KV_BLOCK; i += 16) {
            const __m512 x = rounded_to_bf16(_mm512_load_ps(p[r] + i));
            _mm512_store_ps(p[r] + i, x);
            _mm256_store_si256((void *)(rounded[r] + i),
                               _mm512_cvtepi32_epi16(_mm512_srli_epi32(_mm512_castps_si512(x), 16)));
        }
}

// o += p v over n_half times 32 slots: 16 channels in a tile of sums. p: rows of 64 slots; v: pairs of slots.
static void sum_tiles(const struct attend_block *a, const uint16_t *p, const uint8_t *v, int n_half) {
    const size_t stride = 4 * a->v_dim;
    for (size_t d = 0; d < a->v_dim; d += 16) {
        _tile_loadd(0, a->o + d, stride);
        for (int half = 0; half < n_half; half++) {
            _tile_loadd(4, p + 32 * half, 2 * KV_BLOCK);
            _tile_loadd(5, v + 16 * stride * (size_t)half + 4 * d, stride);
            _tile_dpbf16ps(0, 4, 5);
            fetch_lines(a->next_values, a->values, 2 * KV_BLOCK * d + 1024 * (size_t)half);
        }
        _tile_stored(0, a->o + d, stride);
    }
}

// Not every query sees all of a half ---------------------------------------------------------------------------------------
//
// A tile multiplies what a query does not see by a probability of 0. That leaves its chain as it is unless the number is not finite
// or the chain has come to -0, which only a result too small for a normal float can make of a chain from +0. Where every
// probability and every value is 0 or at least 2^-50 (8 bits each: multiples of 2^-57), sums are multiples of 2^-114 and no
// such result exists; else the half goes the way of AVX-512.

// Are all numbers 0 or of a magnitude in [2^-50, infinity)? `pairs`: BF16 pairs, n lines of 64 bytes.
static bool in_safe_range(const uint8_t *pairs, size_t n_bytes) {
    const __m512i magnitude = _mm512_set1_epi16(0x7fff), least = _mm512_set1_epi16((127 - 50) << 7),
                  span = _mm512_set1_epi16(0x7f80 - ((127 - 50) << 7));
    uint32_t bad = 0;
    for (size_t i = 0; i < n_bytes; i += 64) {
        const __m512i x = _mm512_and_si512(_mm512_loadu_si512(pairs + i), magnitude);
        const __mmask32 in_span = _mm512_cmplt_epu16_mask(_mm512_sub_epi16(x, least), span);
        bad |= ~(in_span | _mm512_testn_epi16_mask(x, x));
    }
    return bad == 0;
}

// The half's values with zeros in the slots that no query sees.
static void copy_seen(const struct attend_block *a, size_t half, uint8_t *out) {
    size_t lo = KV_BLOCK, hi = 0;
    for (size_t r = 0; r < a->n_q; r++) lo = smaller(lo, a->lo[r]), hi = larger(hi, a->hi[r]);
    for (size_t j = half; j < half + 32; j += 2) {
        const uint32_t low = j >= lo && j < hi ? 0xffff : 0, high = j + 1 >= lo && j + 1 < hi ? 0xffff0000 : 0;
        const __m512i keep = _mm512_set1_epi32((int)(low | high));
        const uint8_t *const from = (const uint8_t *)a->values + j / 2 * 4 * a->v_dim;
        for (size_t i = 0; i < 4 * a->v_dim; i += 64, out += 64)
            _mm512_storeu_si512(out, _mm512_and_si512(keep, _mm512_loadu_si512(from + i)));
    }
}

static void sum_part(const struct attend_block *a, size_t half, const float (*p)[KV_BLOCK],
                     const uint16_t (*rounded)[KV_BLOCK]) {
    uint8_t *const values = a->scratch;
    bool safe = true;
    for (size_t r = 0; r < a->n_q && safe; r++) safe = in_safe_range((const uint8_t *)(rounded[r] + half), 64);
    if (safe) {
        copy_seen(a, half, values);
        safe = in_safe_range(values, 64 * a->v_dim);
    }
    BETWEEN_TILES_AND_VECTORS();
    if (safe)
        sum_tiles(a, rounded[0] + half, values, 1);
    else
        avx512_bf16_sum_half(a, half, p);
    BETWEEN_TILES_AND_VECTORS();
}

static bool all_see(const struct attend_block *a, size_t half) {
    const struct slots all = seen_by_all(a, 1);
    return all.begin <= half && all.end >= half + 32;
}

static void attend_rows(const struct attend_block *a) {
    _Alignas(64) float p[ROWS][KV_BLOCK], corr[ROWS];
    _Alignas(64) uint16_t rounded[ROWS][KV_BLOCK];
    score_tiles(a, p);
    BETWEEN_TILES_AND_VECTORS();
    scale_scores(a, p);
    if (scores_are_bent(a)) avx512_bend_scores(a, p);
    softmax(a, p, corr);
    rescale(a, corr);
    round_all(a, p, rounded);
    BETWEEN_TILES_AND_VECTORS();
    if (all_see(a, 0) && all_see(a, 32)) {
        sum_tiles(a, rounded[0], a->values, 2);
        return;
    }
    for (size_t half = 0; half < KV_BLOCK; half += 32)
        if (all_see(a, half))
            sum_tiles(a, rounded[0] + half, (const uint8_t *)a->values + 2 * half * a->v_dim, 1);
        else
            sum_part(a, half, (const float(*)[KV_BLOCK])p, (const uint16_t(*)[KV_BLOCK])rounded);
}

void amx_kv_bf16_attend(const struct attend_block *a) {
    if (a->n_q <= FEW || a->head_dim % 16 != 0 || a->v_dim % 16 != 0) {
        avx512_kv_bf16_attend(a);
        return;
    }
    for (size_t first = 0, last_n = 0; first < a->n_q; first += ROWS) {
        struct attend_block room;
        const struct attend_block *const rows = some_queries(a, first, smaller(a->n_q - first, ROWS), &room);
        if (rows->n_q != last_n) tiles_begin(rows->n_q, a->head_dim % 32);
        last_n = rows->n_q;
        attend_rows(rows);
    }
    tiles_end();
}
