// kernels/x86/pack_avx2.h - packing with AVX2: lines of panels as two registers, and how 16 file rows are turned into them.
//
// A line (panels/panel.h) holds 4 bytes of each of 16 rows. Loads never read past the given bytes.
#ifndef RN_KERNELS_X86_PACK_AVX2_H
#define RN_KERNELS_X86_PACK_AVX2_H

#include "kernels/panels/panel_k.h"
#include "kernels/x86/lanes_avx2.h"

struct line {
    __m256i h[2]; // rows 0..7, rows 8..15
};

ALWAYS_INLINE void put_line(uint8_t *to, struct line v) {
    _mm256_storeu_si256((void *)to, v.h[0]);
    _mm256_storeu_si256((void *)(to + 32), v.h[1]);
}

// 16 bytes of each of 16 rows as four lines: 4 x 4 transpositions, in each half of a register one.
ALWAYS_INLINE void lines_of_16_bytes(const uint8_t *rows, size_t row_bytes, struct line out[4]) {
    for (size_t h = 0; h < 2; h++) {
        __m256i v[4];
        for (size_t i = 0; i < 4; i++) {
            const uint8_t *const at = rows + (8 * h + i) * row_bytes;
            v[i] = _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const void *)at)),
                                           _mm_loadu_si128((const void *)(at + 4 * row_bytes)), 1);
        }
        const __m256i a = _mm256_unpacklo_epi32(v[0], v[1]), b = _mm256_unpackhi_epi32(v[0], v[1]);
        const __m256i c = _mm256_unpacklo_epi32(v[2], v[3]), d = _mm256_unpackhi_epi32(v[2], v[3]);
        out[0].h[h] = _mm256_unpacklo_epi64(a, c);
        out[1].h[h] = _mm256_unpackhi_epi64(a, c);
        out[2].h[h] = _mm256_unpacklo_epi64(b, d);
        out[3].h[h] = _mm256_unpackhi_epi64(b, d);
    }
}

// 4 bytes of each row.
ALWAYS_INLINE struct line line_of_4_bytes(const uint8_t *rows, size_t row_bytes) {
    int32_t word[16];
    struct line out;
    for (size_t r = 0; r < 16; r++) word[r] = load_i32(rows + r * row_bytes);
    for (size_t h = 0; h < 2; h++) out.h[h] = _mm256_loadu_si256((const void *)(word + 8 * h));
    return out;
}

// n groups, a multiple of 4.
ALWAYS_INLINE void put_groups(const uint8_t *rows, size_t row_bytes, size_t n, uint8_t *to) {
    for (size_t g = 0; g < n; g += 4) {
        struct line v[4];
        lines_of_16_bytes(rows + 4 * g, row_bytes, v);
        for (size_t i = 0; i < 4; i++) put_line(to + PANEL_LINE * (g + i), v[i]);
    }
}

// [16 rows][4 bytes] to [4][16].
ALWAYS_INLINE struct line bytes_apart(struct line v) {
    const __m256i in_four = _mm256_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15, 0, 4, 8, 12, 1, 5,
                                             9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m256i rows_in_order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    const __m256i a = _mm256_shuffle_epi8(v.h[0], in_four), b = _mm256_shuffle_epi8(v.h[1], in_four);
    struct line out;
    out.h[0] = _mm256_permutevar8x32_epi32(_mm256_unpacklo_epi32(a, b), rows_in_order);
    out.h[1] = _mm256_permutevar8x32_epi32(_mm256_unpackhi_epi32(a, b), rows_in_order);
    return out;
}

// [16 rows][2 halfwords] to [2][16].
ALWAYS_INLINE struct line halfwords_apart(struct line v) {
    const __m256i in_four = _mm256_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15, 0, 1, 4, 5, 8, 9,
                                             12, 13, 2, 3, 6, 7, 10, 11, 14, 15);
    const __m256i a = _mm256_permute4x64_epi64(_mm256_shuffle_epi8(v.h[0], in_four), 0xd8);
    const __m256i b = _mm256_permute4x64_epi64(_mm256_shuffle_epi8(v.h[1], in_four), 0xd8);
    struct line out;
    out.h[0] = _mm256_permute2x128_si256(a, b, 0x20);
    out.h[1] = _mm256_permute2x128_si256(a, b, 0x31);
    return out;
}

// Of every byte of v the bits of `mask` (as they lie then), brought from bit `at` to bit `to`.
ALWAYS_INLINE struct line line_field(struct line v, int at, int to, int mask) {
    struct line out;
    for (int h = 0; h < 2; h++) {
        const __m256i moved = at > to ? _mm256_srli_epi16(v.h[h], at - to) : _mm256_slli_epi16(v.h[h], to - at);
        out.h[h] = _mm256_and_si256(moved, _mm256_set1_epi8((char)mask));
    }
    return out;
}
ALWAYS_INLINE struct line line_or(struct line a, struct line b) {
    for (int h = 0; h < 2; h++) a.h[h] = _mm256_or_si256(a.h[h], b.h[h]);
    return a;
}

#endif
