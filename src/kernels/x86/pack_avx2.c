// kernels/x86/pack_avx2.c - packs file rows into panels near the speed of memory: the same bytes as panels/panel.c.
//
// Whole panels of 16 rows only; the last one of a matrix, where it is not full, is left to the plain functions.
#include "kernels/x86/pack_avx2.h"
#include "kernels/x86/avx2.h"

// Blocks -----------------------------------------------------------------------------------------------------------------

// Bits 4 t + i of 32, t < 8, to bits t of byte i: twice the even bits to the low half and the odd ones to the high half, each time
// in four exchanges (Warren, Hacker's Delight, 2nd edition, section 7-2).
ALWAYS_INLINE __m256i spread_fifth_bits(__m256i x) {
    static const struct {
        int distance;
        uint32_t from;
    } steps[] = {{1, 0x22222222}, {2, 0x0c0c0c0c}, {4, 0x00f000f0}, {8, 0x0000ff00}};
#pragma GCC unroll 2
    for (int twice = 0; twice < 2; twice++) {
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++) {
            const __m128i n = _mm_cvtsi32_si128(steps[i].distance);
            const __m256i t =
                _mm256_and_si256(_mm256_xor_si256(x, _mm256_srl_epi32(x, n)), _mm256_set1_epi32((int)steps[i].from));
            x = _mm256_xor_si256(x, _mm256_xor_si256(t, _mm256_sll_epi32(t, n)));
        }
    }
    return x;
}

ALWAYS_INLINE void put_scales(struct panel_blocks t, const uint8_t *rows, size_t row_bytes, uint8_t *to) {
    for (size_t r = 0; r < PANEL_ROWS; r++)
        for (size_t i = 0; i < t.n_scales; i++)
            memcpy(to + t.scale_bytes * (PANEL_ROWS * i + r), rows + r * row_bytes + t.scale_bytes * i,
                   t.scale_bytes);
}

ALWAYS_INLINE void pack_blocks(struct panel_blocks t, const uint8_t *rows, size_t row_bytes, size_t k,
                               uint8_t *panel) {
    const size_t n_block = k / 32;
    if (n_block % t.per_unit) memset(panel + panel_scales_at(t, n_block - n_block % t.per_unit), 0, PANEL_LINE);
    for (size_t b = 0; b < n_block; b++, rows += t.file_bytes) {
        const uint8_t *from = rows + t.n_scales * t.scale_bytes;
        uint8_t *to = panel + panel_groups_at(t, b);
        put_scales(t, rows, row_bytes, panel + panel_scales_at(t, b));
        if (t.fifth) {
            struct line v = line_of_4_bytes(from, row_bytes);
            for (int h = 0; h < 2; h++) v.h[h] = spread_fifth_bits(v.h[h]);
            put_line(to, v);
            from += 4, to += PANEL_LINE;
        }
        put_groups(from, row_bytes, t.n_groups - t.fifth, to);
    }
}

#define DEFINE_BLOCKS(type)                                                                                          \
    void avx2_pack_##type(const uint8_t *rows, size_t row_bytes, int n_rows, size_t k, void *panel) {                \
        if (n_rows == PANEL_ROWS)                                                                                    \
            pack_blocks(panel_##type, rows, row_bytes, k, panel);                                                    \
        else                                                                                                         \
            panel_##type##_pack(rows, row_bytes, n_rows, k, panel);                                                  \
    }
DEFINE_BLOCKS(q8_0)
DEFINE_BLOCKS(q4_0)
DEFINE_BLOCKS(q4_1)
DEFINE_BLOCKS(q5_0)
DEFINE_BLOCKS(q5_1)
DEFINE_BLOCKS(iq4_nl)
DEFINE_BLOCKS(mxfp4)

// Plain numbers ----------------------------------------------------------------------------------------------------------

void avx2_pack_f32(const uint8_t *rows, size_t row_bytes, int n_rows, size_t k, void *panel) {
    const size_t whole = n_rows == PANEL_ROWS ? k & ~(size_t)3 : 0; // numbers of whole 16 bytes
    put_groups(rows, row_bytes, whole, panel);
    panel_f32_pack(rows + 4 * whole, row_bytes, n_rows, k - whole, (uint8_t *)panel + PANEL_LINE * whole);
}

void avx2_pack_f16(const uint8_t *rows, size_t row_bytes, int n_rows, size_t k, void *panel) {
    const size_t whole = n_rows == PANEL_ROWS ? k & ~(size_t)7 : 0;
    uint8_t *to = panel;
    for (size_t i = 0; i < whole; i += 8, to += 4 * PANEL_LINE) {
        struct line v[4];
        lines_of_16_bytes(rows + 2 * i, row_bytes, v);
        for (size_t j = 0; j < 4; j++) put_line(to + PANEL_LINE * j, halfwords_apart(v[j]));
    }
    panel_f16_pack(rows + 2 * whole, row_bytes, n_rows, k - whole, to);
}

void avx2_pack_bf16(const uint8_t *rows, size_t row_bytes, int n_rows, size_t k, void *panel) {
    const size_t whole = n_rows == PANEL_ROWS ? k & ~(size_t)31 : 0; // the rest is filled up to 32
    put_groups(rows, row_bytes, whole / 2, panel);
    panel_bf16_pack(rows + 2 * whole, row_bytes, n_rows, k - whole, (uint8_t *)panel + PANEL_LINE / 2 * whole);
}
