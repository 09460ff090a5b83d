// kernels/panels/panel.h - packed weights: PANEL_ROWS output rows side by side, all of k, one forward stream of 64-byte lines.
//
// A group is one line: 4 consecutive k of row 0, the same 4 k of row 1, ... row 15. It is one operand of a byte product and one
// row of a tile, so that wider sets can share the layout. q0 and d0 belong to an even block, q1 and d1 to the odd one after it.
//
//   Q8_0, two blocks, 1088 bytes:    16 F16 d0 | 16 F16 d1 | 8 groups q0 | 8 groups q1
//   Q4_0, IQ4_NL, two blocks, 576:   16 F16 d0 | 16 F16 d1 | 4 groups q0 | 4 groups q1
//   Q4_1, one block, 320:            16 F16 d | 16 F16 m | 4 groups
//   Q5_0, two blocks, 704:           16 F16 d0 | 16 F16 d1 | fifth bits 0 | 4 groups q0 | fifth bits 1 | 4 groups q1
//   Q5_1, one block, 384:            16 F16 d | 16 F16 m | fifth bits | 4 groups
//   MXFP4, four blocks, 1088:        16 e0 | 16 e1 | 16 e2 | 16 e3 | 4 groups q0 | .. q3
//          nibbles as in the file: the low one of byte i is number i of the block, the high one number i + 16; fifth bits lie in a
//          group of their own, where bit t of byte i of a row belongs to number 4 t + i
//   F32, F16   [k][16]
//   BF16       [k/2][16][2], k filled up to a multiple of 32 with zeros
//
// As large as the file's rows, but for the end of the last line of scales and the filling of BF16. Panels are 64-byte aligned.
// Types with blocks of 256: panel_k.h.
#ifndef RN_KERNELS_PANELS_PANEL_H
#define RN_KERNELS_PANELS_PANEL_H

#include "kernels/kernels.h"
#include <stdbool.h>

#define PANEL_LINE 64

// How a type with blocks of 32 fills a panel: `per_unit` blocks share one line of scales, then come the groups of each.
struct panel_blocks {
    size_t file_bytes; // of a block in the file: the scales, then 4 * n_groups bytes
    size_t n_scales, scale_bytes, n_groups, per_unit;
    bool fifth; // the first group holds fifth bits
};
static const struct panel_blocks panel_q8_0 = {34, 1, 2, 8, 2, false}, panel_q4_0 = {18, 1, 2, 4, 2, false},
                                 panel_q4_1 = {20, 2, 2, 4, 1, false}, panel_q5_0 = {22, 1, 2, 5, 2, true},
                                 panel_q5_1 = {24, 2, 2, 5, 1, true}, panel_iq4_nl = {18, 1, 2, 4, 2, false},
                                 panel_mxfp4 = {17, 1, 1, 4, 4, false};

// Offsets of block b: its scales (16, where there are minimums followed by 16 of them) and its groups.
static inline size_t panel_unit_bytes(struct panel_blocks t) { return PANEL_LINE * (1 + t.per_unit * t.n_groups); }
static inline size_t panel_scales_at(struct panel_blocks t, size_t b) {
    return b / t.per_unit * panel_unit_bytes(t) + b % t.per_unit * (PANEL_ROWS * t.scale_bytes * t.n_scales);
}
static inline size_t panel_groups_at(struct panel_blocks t, size_t b) {
    return b / t.per_unit * panel_unit_bytes(t) + PANEL_LINE * (1 + b % t.per_unit * t.n_groups);
}

// matmul_ops.panel_bytes and .pack of each type.
#define PANEL_DECLARE(type)                                                                                          \
    size_t panel_##type##_bytes(size_t k);                                                                           \
    void panel_##type##_pack(const uint8_t *rows, size_t row_bytes, int n_rows, size_t k, void *panel)
PANEL_DECLARE(f32);
PANEL_DECLARE(f16);
PANEL_DECLARE(bf16);
PANEL_DECLARE(q8_0);
PANEL_DECLARE(q4_0);
PANEL_DECLARE(q4_1);
PANEL_DECLARE(q5_0);
PANEL_DECLARE(q5_1);
PANEL_DECLARE(iq4_nl);
PANEL_DECLARE(mxfp4);

// Q1_0 and Q2_0 in panels of Q4_0, whose numbers -1, 0, 1 and 2 are: 4.5 bits a number for 1.1 and 2.3 in the file.
void panel_q1_0_pack(const uint8_t *rows, size_t row_bytes, int n_rows, size_t k, void *panel);
void panel_q2_0_pack(const uint8_t *rows, size_t row_bytes, int n_rows, size_t k, void *panel);
// NVFP4 in panels of BF16, which hold its numbers exactly: 16 bits a number for 4.5 in the file.
void panel_nvfp4_pack(const uint8_t *rows, size_t row_bytes, int n_rows, size_t k, void *panel);

#endif
