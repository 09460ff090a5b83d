// kernels/panels/panel_k.h - packed weights of the types with blocks of 256: as in panel.h, a unit of whole lines for each block.
//
//   Q4_K    2304 bytes:  16 d | 16 dmin | L 128 | H 64 | 32 groups
//   Q5_K    2816 bytes:  16 d | 16 dmin | L 128 | H 64 | 8 groups of fifth bits | 32 groups
//           group c * 8 + g: the low nibbles are numbers 4 g .. of part 2 c, the high ones of part 2 c + 1; bit j of a fifth-bit
//           group g belongs to part j
//   Q2_K    1344 bytes:  16 d | 16 dmin | 256: scales in low nibbles, minimums in high ones | 16 groups
//           group 8 h + g: bits 2 j, 2 j + 1 are numbers 128 h + 32 j + 4 g ..
//   Q3_K    1728 bytes:  L 128 | H 64 | 8 groups of third bits | 16 groups as in Q2_K; bit 4 h + j of a third-bit group g
//   Q6_K    3328 bytes:  16 x 16 int8 scales | 32 groups of low bits | 16 groups of high bits as in Q2_K
//           low group 16 h + 8 i + g: the low nibbles are numbers 128 h + 32 i + 4 g .., the high ones 64 further on
//   IQ4_XS  2176 bytes:  16 d | H 32 | L 64 | 32 groups; group 4 J + g: nibbles as in IQ4_NL, of the J-th 32 numbers
//
// Q3_K and Q6_K have the d of all blocks in front, 32 bytes for each, filled up to whole lines. Scales stay packed:
//   scales lie [part][16 rows], one vector for each part; minimums [part / 4][16 rows][part % 4], four parts of a row for one byte
//   product. Entry p of either has its low four bits in L (Q4_K, Q5_K: scales in the low nibbles, minimums in the high ones; Q3_K:
//   entry p in the low nibble of byte p, entry 128 + p in the high one; IQ4_XS: the same with 64) and its upper two in H, where byte b
//   holds those of entries b, b + n, b + 2 n, b + 3 n from its lowest bits up, n being the bytes of H; in Q4_K and Q5_K the entries
//   of the minimums follow those of the scales.
#ifndef RN_KERNELS_PANELS_PANEL_K_H
#define RN_KERNELS_PANELS_PANEL_K_H

#include "kernels/panels/panel.h"

// Where things lie in a unit, and where its bytes come from in a block of the file.
struct panel_k {
    size_t file_bytes, unit_bytes;
    bool d_in_front;
    size_t low_at, high_at; // scales: L (in Q2_K all, in Q6_K the scales themselves), H
    struct {
        size_t from, n, at;
    } groups[2]; // 4 * n bytes of the block become n groups; n = 0: none
};
static const struct panel_k panel_q2_k = {84, 1344, false, 64, 0, {{16, 16, 320}, {0, 0, 0}}},
                            panel_q3_k = {110, 1728, true, 0, 128, {{0, 8, 192}, {32, 16, 704}}},
                            panel_q4_k = {144, 2304, false, 64, 192, {{16, 32, 256}, {0, 0, 0}}},
                            panel_q5_k = {176, 2816, false, 64, 192, {{16, 8, 256}, {48, 32, 768}}},
                            panel_q6_k = {210, 3328, true, 0, 0, {{0, 32, 256}, {128, 16, 2304}}},
                            panel_iq4_xs = {136, 2176, false, 64, 32, {{8, 32, 128}, {0, 0, 0}}};

// Offset of block b, and of its 16 d (followed by 16 dmin where the type has minimums).
static inline size_t panel_k_unit_at(struct panel_k t, size_t k, size_t b) {
    const size_t front = t.d_in_front ? (2 * PANEL_ROWS * (k / 256) + PANEL_LINE - 1) / PANEL_LINE * PANEL_LINE : 0;
    return front + t.unit_bytes * b;
}
static inline size_t panel_k_d_at(struct panel_k t, size_t k, size_t b) {
    return t.d_in_front ? 2 * PANEL_ROWS * b : panel_k_unit_at(t, k, b);
}

// matmul_ops.panel_bytes and .pack of each type.
PANEL_DECLARE(q2_k);
PANEL_DECLARE(q3_k);
PANEL_DECLARE(q4_k);
PANEL_DECLARE(q5_k);
PANEL_DECLARE(q6_k);
PANEL_DECLARE(iq4_xs);

#endif
