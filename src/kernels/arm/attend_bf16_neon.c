// kernels/arm/attend_bf16_neon.c - attention over a block of BF16 pairs: a 32-bit lane holds the number of an even position in its lower
// half and that of the next one in its upper half, so that a shift and a mask give the two chains of attend_ref.c their numbers.
#include "kernels/arm/attend_neon.h"

enum { VECTORS = 2 }; // of each of two chains of four queries: 16 sums

// Whole pairs: an odd head_dim is filled up.
ALWAYS_INLINE size_t n_pairs_of(size_t head_dim) { return (head_dim + 1) / 2; }
// The group's queries as floats: [GROUP][pad], pad = head_dim in whole chains.
ALWAYS_INLINE size_t chains_pad(size_t head_dim) { return (head_dim + 31) & ~(size_t)31; }
ALWAYS_INLINE void queries_to_floats(const struct attend_block *a, float *q) {
    const size_t pad = chains_pad(a->head_dim);
    for (size_t r = 0; r < a->n_q; r++)
        for (size_t d = 0; d < pad; d += 4) {
            const uint8x8_t half = vld1_u8((const uint8_t *)a->q + r * a->q_stride + 2 * d);
            vst1q_f32(q + r * pad + d, even_of(vmovl_u16(vreinterpret_u16_u8(half))));
        }
}

// Scores of R queries: 8 keys at a time.
ALWAYS_INLINE void score(const int R, const struct attend_block *a, const float *q, struct slots s,
                         float p[GROUP][KV_BLOCK]) {
    const size_t pad = chains_pad(a->head_dim), n_pairs = n_pairs_of(a->head_dim);
    for (size_t j = s.begin; j < s.end; j += 4 * VECTORS) {
        float32x4_t acc[GROUP][VECTORS];
        UNROLLED for (int r = 0; r < R; r++) acc[r][0] = acc[r][1] = vdupq_n_f32(0);
        for (size_t first = 0; first < n_pairs; first += 16) {
            float32x4_t even[GROUP][VECTORS], odd[GROUP][VECTORS];
            UNROLLED for (int r = 0; r < R; r++) {
                UNROLLED for (int v = 0; v < VECTORS; v++) even[r][v] = odd[r][v] = vdupq_n_f32(0);
            }
            for (size_t i = first; i < smaller(n_pairs, first + 16); i++)
                UNROLLED for (size_t v = 0; v < VECTORS; v++) {
                    const uint32x4_t k = vld1q_u32((const uint32_t *)a->keys + i * KV_BLOCK + j + 4 * v);
                    UNROLLED for (int r = 0; r < R; r++) {
                        even[r][v] = vfmaq_n_f32(even[r][v], even_of(k), q[(size_t)r * pad + 2 * i]);
                        odd[r][v] = vfmaq_n_f32(odd[r][v], odd_of(k), q[(size_t)r * pad + 2 * i + 1]);
                    }
                }
            UNROLLED for (int r = 0; r < R; r++) {
                UNROLLED for (int v = 0; v < VECTORS; v++) acc[r][v] =
                    vaddq_f32(acc[r][v], vaddq_f32(even[r][v], odd[r][v]));
            }
        }
        UNROLLED for (int r = 0; r < R; r++) {
            UNROLLED for (int v = 0; v < VECTORS; v++) vst1q_f32(p[r] + j + 4 * v, vmulq_n_f32(acc[r][v], a->scale));
        }
    }
}

ALWAYS_INLINE void round_to_bf16(float *p, struct slots s) {
    for (size_t j = s.begin; j < s.end; j += 4) vst1q_f32(p + j, vreinterpretq_f32_u32(bf16_lanes(vld1q_f32(p + j))));
}

// Four channels from d on, fewer at the end, of a pair of slots.
ALWAYS_INLINE uint32x4_t values_at(const struct attend_block *a, size_t j, size_t d, size_t width) {
    uint32_t some[4] = {0};
    const uint32_t *const at = (const uint32_t *)a->values + j / 2 * a->v_dim + d;
    if (width == 4) return vld1q_u32(at);
    memcpy(some, at, 4 * width);
    return vld1q_u32(some);
}

// Slots [begin, end) of one query, at either end perhaps only one of a pair.
ALWAYS_INLINE void add_slots(const struct attend_block *a, size_t d, size_t width, size_t begin, size_t end,
                             const float *p, float32x4_t chain[2]) {
    for (size_t j = begin; j < end; j++) {
        const uint32x4_t pairs = values_at(a, j, d, width);
        chain[j % 2] = vfmaq_n_f32(chain[j % 2], j % 2 ? odd_of(pairs) : even_of(pairs), p[j]);
    }
}

// o = o * corr, then for each half of the block the two chains; four channels of R queries.
ALWAYS_INLINE void sum_values(const int R, const struct attend_block *a, size_t d, size_t width, struct slots all,
                              const float (*p)[KV_BLOCK], const float *corr) {
    for (size_t half = 0; half < KV_BLOCK; half += 32) {
        float32x4_t chain[GROUP][2];
        const size_t begin = smaller(larger(all.begin, half), half + 32),
                     end = larger(smaller(all.end, half + 32), begin);
        UNROLLED for (int r = 0; r < R; r++) {
            chain[r][0] = chain[r][1] = vdupq_n_f32(0);
            add_slots(a, d, width, larger(a->lo[r], half), smaller(a->hi[r], begin), p[r], chain[r]);
        }
        for (size_t j = begin; j < end; j += 2) {
            const uint32x4_t pairs = values_at(a, j, d, width);
            UNROLLED for (int r = 0; r < R; r++) {
                chain[r][0] = vfmaq_n_f32(chain[r][0], even_of(pairs), p[r][j]);
                chain[r][1] = vfmaq_n_f32(chain[r][1], odd_of(pairs), p[r][j + 1]);
            }
        }
        UNROLLED for (int r = 0; r < R; r++) {
            float *const o = a->o + (size_t)r * a->v_dim + d;
            add_slots(a, d, width, larger(a->lo[r], end), smaller(a->hi[r], half + 32), p[r], chain[r]);
            float32x4_t acc = load_first(o, width);
            if (half == 0) acc = vmulq_n_f32(acc, corr[r]);
            store_first(o, width, vaddq_f32(acc, vaddq_f32(chain[r][0], chain[r][1])));
        }
    }
}

ALWAYS_INLINE void attend_group(const int R, const struct attend_block *a) {
    float p[GROUP][KV_BLOCK], corr[GROUP];
    const struct slots s = seen_by_any(a);
    queries_to_floats(a, a->scratch);
    score(R, a, a->scratch, s, p);
    if (scores_are_bent(a)) neon_bend_scores(a, s, p);
    UNROLLED for (int r = 0; r < R; r++) {
        corr[r] = softmax(p[r], s, a->lo[r], a->hi[r], &a->m[r], &a->l[r]);
        round_to_bf16(p[r], s);
    }
    const struct slots all = seen_by_all(a, 2);
    for (size_t d = 0; d < a->v_dim; d += 4)
        sum_values(R, a, d, smaller(a->v_dim - d, 4), all, (const float(*)[KV_BLOCK])p, corr);
}

static void attend_1(const struct attend_block *a) { attend_group(1, a); }
static void attend_2(const struct attend_block *a) { attend_group(2, a); }
static void attend_3(const struct attend_block *a) { attend_group(3, a); }
static void attend_4(const struct attend_block *a) { attend_group(4, a); }

void neon_kv_bf16_attend(const struct attend_block *a) {
    static void (*const groups[GROUP])(const struct attend_block *) = {attend_1, attend_2, attend_3, attend_4};
    for (size_t i = 0; i < a->n_q; i += GROUP) {
        struct attend_block room;
        const struct attend_block *const group = some_queries(a, i, smaller(a->n_q - i, GROUP), &room);
        groups[group->n_q - 1](group);
    }
}
