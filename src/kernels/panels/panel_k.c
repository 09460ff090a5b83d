// kernels/panels/panel_k.c - packs file rows of the types with blocks of 256 into panels. Plain C: done once, when a model opens.
#include "kernels/panels/panel_k.h"
#include "tensor/k_blocks.h"

// Where the entry of a row lies among those of its kind: scales by part, minimums four parts together.
static size_t scale_entry(size_t part, size_t row) { return PANEL_ROWS * part + row; }
static size_t min_entry(size_t part, size_t row) { return part / 4 * (4 * PANEL_ROWS) + 4 * row + part % 4; }

static void put_bits(uint8_t *byte, int value, size_t shift) { *byte = (uint8_t)(*byte | value << shift); }

// Two upper bits of entry e, in n_high bytes.
static void put_high(uint8_t *high, size_t n_high, size_t e, int value) {
    put_bits(high + e % n_high, value >> 4, 2 * (e / n_high));
}

// The scales (and minimums) of one row of a block.
typedef void (*put_scales_fn)(const struct block_256 *b, size_t row, uint8_t *low, uint8_t *high);

static void put_q2_k(const struct block_256 *b, size_t row, uint8_t *low, uint8_t *high) {
    (void)high;
    for (size_t p = 0; p < 16; p++) {
        put_bits(low + scale_entry(p, row), b->scale[p], 0);
        put_bits(low + min_entry(p, row), b->min[p], 4);
    }
}
static void put_q3_k(const struct block_256 *b, size_t row, uint8_t *low, uint8_t *high) {
    for (size_t p = 0; p < 16; p++) {
        const int v = b->scale[p] + 32;
        put_bits(low + scale_entry(p % 8, row), v & 15, 4 * (p / 8));
        put_high(high, 64, scale_entry(p, row), v);
    }
}
static void put_q4_k(const struct block_256 *b, size_t row, uint8_t *low, uint8_t *high) {
    for (size_t p = 0; p < 8; p++) {
        put_bits(low + scale_entry(p, row), b->scale[p] & 15, 0);
        put_high(high, 64, scale_entry(p, row), b->scale[p]);
        put_bits(low + min_entry(p, row), b->min[p] & 15, 4);
        put_high(high, 64, 8 * PANEL_ROWS + min_entry(p, row), b->min[p]);
    }
}
static void put_q6_k(const struct block_256 *b, size_t row, uint8_t *low, uint8_t *high) {
    (void)high;
    for (size_t p = 0; p < 16; p++) low[scale_entry(p, row)] = (uint8_t)b->scale[p];
}
static void put_iq4_xs(const struct block_256 *b, size_t row, uint8_t *low, uint8_t *high) {
    for (size_t p = 0; p < 8; p++) {
        const int v = b->scale[p] + 32;
        put_bits(low + scale_entry(p % 4, row), v & 15, 4 * (p / 4));
        put_high(high, 32, scale_entry(p, row), v);
    }
}

static size_t panel_k_bytes(struct panel_k t, size_t k) { return panel_k_unit_at(t, k, k / 256); }

// How a block's numbers are read, where its d lies in the file, and whether dmin lies behind it.
struct source {
    void (*unpack)(const uint8_t *, struct block_256 *);
    put_scales_fn put_scales;
    size_t d_at;
    bool has_min;
};

static void pack_k(struct panel_k t, struct source from, const uint8_t *rows, size_t row_bytes, int n_rows, size_t k,
                   uint8_t *panel) {
    struct block_256 b;
    memset(panel, 0, panel_k_bytes(t, k));
    for (size_t i = 0; i < k / 256; i++) {
        uint8_t *const unit = panel + panel_k_unit_at(t, k, i), *const d = panel + panel_k_d_at(t, k, i);
        for (size_t r = 0; r < (size_t)n_rows; r++) {
            const uint8_t *const block = rows + r * row_bytes + i * t.file_bytes;
            from.unpack(block, &b);
            from.put_scales(&b, r, unit + t.low_at, unit + t.high_at);
            memcpy(d + 2 * r, block + from.d_at, 2);
            if (from.has_min) memcpy(d + 2 * (PANEL_ROWS + r), block + from.d_at + 2, 2);
            for (size_t j = 0; j < 2; j++)
                for (size_t g = 0; g < t.groups[j].n; g++)
                    memcpy(unit + t.groups[j].at + PANEL_LINE * g + 4 * r, block + t.groups[j].from + 4 * g, 4);
        }
    }
}

#define DEFINE_PANEL_K(type, put_scales, d_at, has_min)                                                              \
    size_t panel_##type##_bytes(size_t k) { return panel_k_bytes(panel_##type, k); }                                 \
    void panel_##type##_pack(const uint8_t *rows, size_t row_bytes, int n_rows, size_t k, void *panel) {             \
        const struct source from = {type##_unpack, put_scales, d_at, has_min};                                       \
        pack_k(panel_##type, from, rows, row_bytes, n_rows, k, panel);                                               \
    }
DEFINE_PANEL_K(q2_k, put_q2_k, 80, true)
DEFINE_PANEL_K(q3_k, put_q3_k, 108, false)
DEFINE_PANEL_K(q4_k, put_q4_k, 0, true)
DEFINE_PANEL_K(q5_k, put_q4_k, 0, true)
DEFINE_PANEL_K(q6_k, put_q6_k, 208, false)
DEFINE_PANEL_K(iq4_xs, put_iq4_xs, 0, false)
