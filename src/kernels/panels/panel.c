// kernels/panels/panel.c - packs file rows into panels. Plain C: done once, when a model opens.
#include "kernels/panels/panel.h"
#include "tensor/blocks.h"
#include <string.h>

static size_t whole_lines(size_t n_bytes) { return (n_bytes + PANEL_LINE - 1) / PANEL_LINE * PANEL_LINE; }

// Blocks -----------------------------------------------------------------------------------------------------------------

static size_t blocks_bytes(struct panel_blocks t, size_t k) {
    const size_t n_block = k / 32, odd = n_block % t.per_unit;
    return n_block / t.per_unit * panel_unit_bytes(t) + (odd ? PANEL_LINE * (1 + odd * t.n_groups) : 0);
}

// 32 bits in the order of numbers to bytes of the numbers 4 t + i.
static void spread_fifth_bits(const uint8_t *in, uint8_t *out) {
    for (int n = 0; n < 32; n++) out[n % 4] = (uint8_t)(out[n % 4] | (in[n / 8] >> n % 8 & 1) << n / 4);
}

static void pack_blocks(struct panel_blocks t, const uint8_t *rows, size_t row_bytes, int n_rows, size_t k,
                        uint8_t *panel) {
    memset(panel, 0, blocks_bytes(t, k));
    for (size_t b = 0; b < k / 32; b++) {
        uint8_t *const scales = panel + panel_scales_at(t, b), *const groups = panel + panel_groups_at(t, b);
        for (size_t r = 0; r < (size_t)n_rows; r++) {
            const uint8_t *const block = rows + r * row_bytes + b * t.file_bytes;
            const uint8_t *const bytes = block + t.scale_bytes * t.n_scales;
            for (size_t i = 0; i < t.n_scales; i++)
                memcpy(scales + t.scale_bytes * (PANEL_ROWS * i + r), block + t.scale_bytes * i, t.scale_bytes);
            if (t.fifth) spread_fifth_bits(bytes, groups + 4 * r);
            for (size_t g = t.fifth ? 1 : 0; g < t.n_groups; g++)
                memcpy(groups + PANEL_LINE * g + 4 * r, bytes + 4 * g, 4);
        }
    }
}

#define DEFINE_BLOCKS(type)                                                                                          \
    size_t panel_##type##_bytes(size_t k) { return blocks_bytes(panel_##type, k); }                                  \
    void panel_##type##_pack(const uint8_t *rows, size_t row_bytes, int n_rows, size_t k, void *panel) {             \
        pack_blocks(panel_##type, rows, row_bytes, n_rows, k, panel);                                                \
    }
DEFINE_BLOCKS(q8_0)
DEFINE_BLOCKS(q4_0)
DEFINE_BLOCKS(q4_1)
DEFINE_BLOCKS(q5_0)
DEFINE_BLOCKS(q5_1)
DEFINE_BLOCKS(iq4_nl)
DEFINE_BLOCKS(mxfp4)

// Blocks that are several of 32 numbers with one scale, each of these as a block of Q4_0.
static void pack_parts(void (*unpack)(const uint8_t *, size_t, struct block_32 *), size_t block_bytes, size_t n_parts,
                       const uint8_t *rows, size_t row_bytes, int n_rows, size_t k, uint8_t *panel) {
    enum { ZERO = 8 }; // the nibble of 0
    struct block_32 part;
    memset(panel, 0, blocks_bytes(panel_q4_0, k));
    for (size_t b = 0; b < k / 32; b++) {
        uint8_t *const scales = panel + panel_scales_at(panel_q4_0, b), *const groups =
                                                                            panel + panel_groups_at(panel_q4_0, b);
        for (size_t r = 0; r < (size_t)n_rows; r++) {
            const uint8_t *const block = rows + r * row_bytes + b / n_parts * block_bytes;
            unpack(block, b % n_parts, &part);
            memcpy(scales + 2 * r, block, 2);
            for (size_t i = 0; i < 16; i++)
                groups[PANEL_LINE * (i / 4) + 4 * r + i % 4] =
                    (uint8_t)((part.q[i] + ZERO) | (part.q[i + 16] + ZERO) << 4);
        }
    }
}
void panel_q1_0_pack(const uint8_t *rows, size_t row_bytes, int n_rows, size_t k, void *panel) {
    pack_parts(q1_0_unpack, Q1_0_BYTES, Q1_0_LEN / 32, rows, row_bytes, n_rows, k, panel);
}
void panel_q2_0_pack(const uint8_t *rows, size_t row_bytes, int n_rows, size_t k, void *panel) {
    pack_parts(q2_0_unpack, Q2_0_BYTES, Q2_0_LEN / 32, rows, row_bytes, n_rows, k, panel);
}

// Plain numbers: `together` consecutive k of a row lie side by side -------------------------------------------------------

static void pack_plain(size_t size, size_t together, const uint8_t *rows, size_t row_bytes, int n_rows, size_t k,
                       uint8_t *panel) {
    for (size_t i = 0; i < k; i++)
        for (size_t r = 0; r < (size_t)n_rows; r++)
            memcpy(panel + size * (i / together * together * PANEL_ROWS + together * r + i % together),
                   rows + r * row_bytes + size * i, size);
}

size_t panel_f32_bytes(size_t k) { return 4 * PANEL_ROWS * k; }
size_t panel_f16_bytes(size_t k) { return whole_lines(2 * PANEL_ROWS * k); }
size_t panel_bf16_bytes(size_t k) { return 2 * PANEL_ROWS * ((k + 31) / 32 * 32); }

void panel_f32_pack(const uint8_t *rows, size_t row_bytes, int n_rows, size_t k, void *panel) {
    memset(panel, 0, panel_f32_bytes(k));
    pack_plain(4, 1, rows, row_bytes, n_rows, k, panel);
}
void panel_f16_pack(const uint8_t *rows, size_t row_bytes, int n_rows, size_t k, void *panel) {
    memset(panel, 0, panel_f16_bytes(k));
    pack_plain(2, 1, rows, row_bytes, n_rows, k, panel);
}
void panel_bf16_pack(const uint8_t *rows, size_t row_bytes, int n_rows, size_t k, void *panel) {
    memset(panel, 0, panel_bf16_bytes(k));
    pack_plain(2, 2, rows, row_bytes, n_rows, k, panel);
}

void panel_nvfp4_pack(const uint8_t *rows, size_t row_bytes, int n_rows, size_t k, void *panel) {
    uint8_t *const out = panel;
    float values[NVFP4_LEN];
    memset(panel, 0, panel_bf16_bytes(k));
    for (size_t b = 0; b < k / NVFP4_LEN; b++)
        for (size_t r = 0; r < (size_t)n_rows; r++) {
            nvfp4_unpack(rows + r * row_bytes + b * NVFP4_BYTES, values);
            for (size_t i = 0, at = b * NVFP4_LEN; i < NVFP4_LEN; i++, at++)
                store_u16(out + 2 * (at / 2 * 2 * PANEL_ROWS + 2 * r + at % 2), bf16_from_f32(values[i]));
        }
}
