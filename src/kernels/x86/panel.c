// kernels/x86/panel.c - packs file rows into panels. Plain C: done once, when a model opens.
#include "kernels/x86/panel.h"
#include <string.h>

static size_t whole_lines(size_t n_bytes) { return (n_bytes + PANEL_LINE - 1) / PANEL_LINE * PANEL_LINE; }

// Blocks -----------------------------------------------------------------------------------------------------------------

static size_t blocks_bytes(struct panel_blocks t, size_t k) {
    const size_t n_block = k / 32, odd = n_block % t.per_unit;
    return n_block / t.per_unit * panel_unit_bytes(t) + (odd ? PANEL_LINE * (1 + odd * t.n_groups) : 0);
}

static void pack_blocks(struct panel_blocks t, const uint8_t *rows, size_t row_bytes, int n_rows, size_t k,
                        uint8_t *panel) {
    memset(panel, 0, blocks_bytes(t, k));
    for (size_t b = 0; b < k / 32; b++) {
        uint8_t *const scales = panel + panel_scales_at(t, b), *const groups = panel + panel_groups_at(t, b);
        for (size_t r = 0; r < (size_t)n_rows; r++) {
            const uint8_t *const block = rows + r * row_bytes + b * t.file_bytes;
            for (size_t i = 0; i < t.n_scales; i++) memcpy(scales + 2 * (PANEL_ROWS * i + r), block + 2 * i, 2);
            for (size_t g = 0; g < t.n_groups; g++)
                memcpy(groups + PANEL_LINE * g + 4 * r, block + 2 * t.n_scales + 4 * g, 4);
        }
    }
}

size_t panel_q8_0_bytes(size_t k) { return blocks_bytes(panel_q8_0, k); }
size_t panel_q4_0_bytes(size_t k) { return blocks_bytes(panel_q4_0, k); }
size_t panel_q4_1_bytes(size_t k) { return blocks_bytes(panel_q4_1, k); }

void panel_q8_0_pack(const uint8_t *rows, size_t row_bytes, int n_rows, size_t k, void *panel) {
    pack_blocks(panel_q8_0, rows, row_bytes, n_rows, k, panel);
}
void panel_q4_0_pack(const uint8_t *rows, size_t row_bytes, int n_rows, size_t k, void *panel) {
    pack_blocks(panel_q4_0, rows, row_bytes, n_rows, k, panel);
}
void panel_q4_1_pack(const uint8_t *rows, size_t row_bytes, int n_rows, size_t k, void *panel) {
    pack_blocks(panel_q4_1, rows, row_bytes, n_rows, k, panel);
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
