// kernels/x86/pack_k_avx2.c - packs the types with blocks of 256 near the speed of memory: the same bytes as panels/panel_k.c.
//
// Which bit goes where: panels/panel_k.h. Scales of 6 bits are taken apart for 16 rows at a time, as bytes of lines.
#include "kernels/x86/avx2.h"
#include "kernels/x86/pack_avx2.h"

static void put_d(const uint8_t *d, size_t row_bytes, uint8_t *to) {
    for (size_t r = 0; r < PANEL_ROWS; r++) memcpy(to + 2 * r, d + r * row_bytes, 2);
}

// What a block holds beside its groups: rows point to its first row, unit and d to their places in the panel.
typedef void (*put_head_fn)(const uint8_t *rows, size_t row_bytes, uint8_t *unit, uint8_t *d);

// Scales in low nibbles, minimums in high ones.
ALWAYS_INLINE void head_q2_k(const uint8_t *rows, size_t row_bytes, uint8_t *unit, uint8_t *d) {
    struct line v[4];
    lines_of_16_bytes(rows, row_bytes, v);
    for (size_t i = 0; i < 4; i++)
        put_line(unit + panel_q2_k.low_at + PANEL_LINE * i,
                 line_or(line_field(bytes_apart(v[i]), 0, 0, 15), line_field(v[i], 0, 0, 0xf0)));
    put_line(d, halfwords_apart(line_of_4_bytes(rows + 80, row_bytes)));
}

// The file has entries as the panel wants them, but row by row: 8 bytes of low nibbles, 4 of upper bits.
ALWAYS_INLINE void head_q3_k(const uint8_t *rows, size_t row_bytes, uint8_t *unit, uint8_t *d) {
    uint8_t *const to[] = {unit + panel_q3_k.low_at, unit + panel_q3_k.low_at + PANEL_LINE,
                           unit + panel_q3_k.high_at};
    for (size_t i = 0; i < 3; i++) put_line(to[i], bytes_apart(line_of_4_bytes(rows + 96 + 4 * i, row_bytes)));
    put_d(rows + 108, row_bytes, d);
}

// Four bytes each of a, b, c are parts 0..3's scales and minimums with upper bits of parts 4..7, whose low nibbles are in c.
ALWAYS_INLINE void head_q4_k(const uint8_t *rows, size_t row_bytes, uint8_t *unit, uint8_t *d) {
    struct line v[4];
    lines_of_16_bytes(rows, row_bytes, v); // d and dmin; a; b; c
    const struct line a = v[1], b = v[2], c = v[3];
    const struct line min[2] = {line_field(b, 0, 0, 63), line_or(line_field(c, 4, 0, 15), line_field(b, 6, 4, 0x30))};
    const struct line scale[2] = {bytes_apart(line_field(a, 0, 0, 63)),
                                  bytes_apart(line_or(line_field(c, 0, 0, 15), line_field(a, 6, 4, 0x30)))};
    for (size_t i = 0; i < 2; i++)
        put_line(unit + panel_q4_k.low_at + PANEL_LINE * i,
                 line_or(line_field(scale[i], 0, 0, 15), line_field(min[i], 0, 4, 0xf0)));
    put_line(unit + panel_q4_k.high_at,
             line_or(line_or(line_field(scale[0], 4, 0, 3), line_field(scale[1], 4, 2, 0x0c)),
                     line_or(line_field(min[0], 4, 4, 0x30), line_field(min[1], 4, 6, 0xc0))));
    put_line(d, halfwords_apart(v[0]));
}

ALWAYS_INLINE void head_q6_k(const uint8_t *rows, size_t row_bytes, uint8_t *unit, uint8_t *d) {
    struct line v[4];
    lines_of_16_bytes(rows + 192, row_bytes, v);
    for (size_t i = 0; i < 4; i++) put_line(unit + panel_q6_k.low_at + PANEL_LINE * i, bytes_apart(v[i]));
    put_d(rows + 208, row_bytes, d);
}

// Of 16 bits in each 32 the pairs at bits 0, 4, 8, 12, side by side.
ALWAYS_INLINE __m256i every_other_pair(__m256i x) {
    x = _mm256_and_si256(x, _mm256_set1_epi32(0x3333));
    x = _mm256_and_si256(_mm256_or_si256(x, _mm256_srli_epi32(x, 2)), _mm256_set1_epi32(0x0f0f));
    return _mm256_and_si256(_mm256_or_si256(x, _mm256_srli_epi32(x, 4)), _mm256_set1_epi32(0xff));
}

// Parts J = 0..7 have their low nibbles in byte J / 2 of a word, upper bits at 2 J of a halfword. The panel pairs J with J + 4 in a
// byte of low nibbles, and even with even, odd with odd ones in a byte of upper bits.
ALWAYS_INLINE void head_iq4_xs(const uint8_t *rows, size_t row_bytes, uint8_t *unit, uint8_t *d) {
    const __m256i interleave = _mm256_setr_epi8(0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15, 0, 2, 1, 3, 4,
                                                6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15);
    struct line v[4], high;
    lines_of_16_bytes(rows, row_bytes, v); // d and upper bits; low nibbles; numbers
    struct line even = line_field(v[1], 0, 0, 15), odd = line_field(v[1], 4, 0, 15), low;
    for (int h = 0; h < 2; h++) {
        const __m256i bits = _mm256_srli_epi32(v[0].h[h], 16);
        high.h[h] = _mm256_or_si256(every_other_pair(bits),
                                    _mm256_slli_epi32(every_other_pair(_mm256_srli_epi32(bits, 2)), 8));
        even.h[h] = _mm256_or_si256(even.h[h], _mm256_srli_epi32(even.h[h], 12)); // J and J + 4 in bytes 0 and 1
        odd.h[h] = _mm256_or_si256(odd.h[h], _mm256_srli_epi32(odd.h[h], 12));
        low.h[h] =
            _mm256_shuffle_epi8(_mm256_blend_epi16(even.h[h], _mm256_slli_epi32(odd.h[h], 16), 0xaa), interleave);
    }
    put_line(unit + panel_iq4_xs.low_at, bytes_apart(low));
    _mm256_storeu_si256((void *)(unit + panel_iq4_xs.high_at), bytes_apart(high).h[0]);
    _mm256_storeu_si256((void *)d, halfwords_apart(v[0]).h[0]);
}

ALWAYS_INLINE void pack_k(struct panel_k t, put_head_fn put_head, const uint8_t *rows, size_t row_bytes, size_t k,
                          uint8_t *panel) {
    const size_t n_block = k / 256;
    if (t.d_in_front && n_block % 2) memset(panel + panel_k_d_at(t, k, n_block), 0, PANEL_LINE / 2);
    for (size_t b = 0; b < n_block; b++, rows += t.file_bytes) {
        uint8_t *const unit = panel + panel_k_unit_at(t, k, b);
        put_head(rows, row_bytes, unit, panel + panel_k_d_at(t, k, b));
        for (size_t j = 0; j < 2; j++)
            put_groups(rows + t.groups[j].from, row_bytes, t.groups[j].n, unit + t.groups[j].at);
    }
}

#define DEFINE_PACK_K(type, put_head)                                                                                \
    void avx2_pack_##type(const uint8_t *rows, size_t row_bytes, int n_rows, size_t k, void *panel) {                \
        if (n_rows == PANEL_ROWS)                                                                                    \
            pack_k(panel_##type, put_head, rows, row_bytes, k, panel);                                               \
        else                                                                                                         \
            panel_##type##_pack(rows, row_bytes, n_rows, k, panel);                                                  \
    }
DEFINE_PACK_K(q2_k, head_q2_k)
DEFINE_PACK_K(q3_k, head_q3_k)
DEFINE_PACK_K(q4_k, head_q4_k)
DEFINE_PACK_K(q5_k, head_q4_k)
DEFINE_PACK_K(q6_k, head_q6_k)
DEFINE_PACK_K(iq4_xs, head_iq4_xs)
