// kernels/x86/panel.h - packed weights: PANEL_ROWS output rows side by side, all of k, one forward stream of 64-byte lines.
//
// A group is one line: 4 consecutive k of row 0, the same 4 k of row 1, ... row 15. It is one operand of a byte product and one
// row of a tile, so that wider sets can share the layout. q0 and d0 belong to an even block, q1 and d1 to the odd one after it.
//
//   Q8_0   two blocks, 1088 bytes:  16 F16 d0 | 16 F16 d1 | 8 groups q0 | 8 groups q1
//   Q4_0   two blocks,  576 bytes:  16 F16 d0 | 16 F16 d1 | 4 groups q0 | 4 groups q1
//   Q4_1   one block,   320 bytes:  16 F16 d | 16 F16 m | 4 groups
//          nibbles as in the file: the low one of byte i is number i of the block, the high one number i + 16
//   F32, F16   [k][16]
//   BF16       [k/2][16][2], k filled up to a multiple of 32 with zeros
//
// As large as the file's rows, but for an odd last block (half a line) and the filling of BF16. Panels are 64-byte aligned.
#ifndef RN_KERNELS_X86_PANEL_H
#define RN_KERNELS_X86_PANEL_H

#include "kernels/kernels.h"

#define PANEL_LINE 64

// How a block type fills a panel: `per_unit` blocks share one line of scales, then come the groups of each.
struct panel_blocks {
    size_t file_bytes; // of a block in the file: n_scales F16, then 4 * n_groups bytes
    size_t n_scales, n_groups, per_unit;
};
static const struct panel_blocks panel_q8_0 = {34, 1, 8, 2}, panel_q4_0 = {18, 1, 4, 2}, panel_q4_1 = {20, 2, 4, 1};

// Offsets of block b: its scales (16 F16, in Q4_1 followed by 16 minimums) and its groups.
static inline size_t panel_unit_bytes(struct panel_blocks t) { return PANEL_LINE * (1 + t.per_unit * t.n_groups); }
static inline size_t panel_scales_at(struct panel_blocks t, size_t b) {
    return b / t.per_unit * panel_unit_bytes(t) + b % t.per_unit * (2 * PANEL_ROWS * t.n_scales);
}
static inline size_t panel_groups_at(struct panel_blocks t, size_t b) {
    return b / t.per_unit * panel_unit_bytes(t) + PANEL_LINE * (1 + b % t.per_unit * t.n_groups);
}

// matmul_ops.panel_bytes and .pack of each type.
size_t panel_f32_bytes(size_t k);
size_t panel_f16_bytes(size_t k);
size_t panel_bf16_bytes(size_t k);
size_t panel_q8_0_bytes(size_t k);
size_t panel_q4_0_bytes(size_t k);
size_t panel_q4_1_bytes(size_t k);
void panel_f32_pack(const uint8_t *rows, size_t row_bytes, int n_rows, size_t k, void *panel);
void panel_f16_pack(const uint8_t *rows, size_t row_bytes, int n_rows, size_t k, void *panel);
void panel_bf16_pack(const uint8_t *rows, size_t row_bytes, int n_rows, size_t k, void *panel);
void panel_q8_0_pack(const uint8_t *rows, size_t row_bytes, int n_rows, size_t k, void *panel);
void panel_q4_0_pack(const uint8_t *rows, size_t row_bytes, int n_rows, size_t k, void *panel);
void panel_q4_1_pack(const uint8_t *rows, size_t row_bytes, int n_rows, size_t k, void *panel);

#endif
