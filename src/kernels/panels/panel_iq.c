// kernels/panels/panel_iq.c - packs file rows of the IQ and ternary types into panels of other types. Plain C: done once, when a model opens.
#include "kernels/panels/panel_iq.h"
#include "tensor/iq_blocks.h"
#include <stdbool.h>

static void put_bits(uint8_t *byte, int value, size_t shift) { *byte = (uint8_t)(*byte | value << shift); }

// Byte i of row `row` in the groups that begin at `at`.
static uint8_t *group_byte(uint8_t *unit, size_t at, size_t i, size_t row) {
    return unit + at + PANEL_LINE * (i / 4) + 4 * row + i % 4;
}

// Two bits of number n as Q2_K and Q3_K have them.
static void put_low_bits(uint8_t *unit, size_t at, size_t n, size_t row, int value) {
    put_bits(group_byte(unit, at, n / 128 * 32 + n % 32, row), value, n % 128 / 32 * 2);
}

// How a row's numbers, as places in a table, and the scales of its parts lie in a unit of another type.
typedef void (*put_block_fn)(const struct block_256 *b, const uint8_t *place, size_t row, uint8_t *unit);

static void put_as_q2_k(const struct block_256 *b, const uint8_t *place, size_t row, uint8_t *unit) {
    for (size_t p = 0; p < 16; p++) {
        put_bits(unit + panel_q2_k.low_at + PANEL_ROWS * p + row, b->scale[p], 0);
        put_bits(unit + panel_q2_k.low_at + p / 4 * PANEL_LINE + 4 * row + p % 4, b->min[p], 4);
    }
    for (size_t n = 0; n < 256; n++) put_low_bits(unit, panel_q2_k.groups[0].at, n, row, place[n]);
}

static void put_as_q3_k(const struct block_256 *b, const uint8_t *place, size_t row, uint8_t *unit) {
    for (size_t p = 0; p < 16; p++) {
        const size_t e = PANEL_ROWS * p + row;
        const int v = b->scale[b->part == 16 ? p : p / 2] + 32;
        put_bits(unit + panel_q3_k.low_at + e % 128, v & 15, 4 * (e / 128));
        put_bits(unit + panel_q3_k.high_at + e % 64, v >> 4, 2 * (e / 64));
    }
    for (size_t n = 0; n < 256; n++) {
        put_low_bits(unit, panel_q3_k.groups[1].at, n, row, place[n] & 3);
        put_bits(group_byte(unit, panel_q3_k.groups[0].at, n % 32, row), place[n] >> 2, n / 32);
    }
}

static void put_as_iq4_xs(const struct block_256 *b, const uint8_t *place, size_t row, uint8_t *unit) {
    for (size_t p = 0; p < 8; p++) {
        const size_t e = PANEL_ROWS * p + row;
        const int v = b->scale[p] + 32;
        put_bits(unit + panel_iq4_xs.low_at + e % 64, v & 15, 4 * (e / 64));
        put_bits(unit + panel_iq4_xs.high_at + e % 32, v >> 4, 2 * (e / 32));
    }
    for (size_t n = 0; n < 256; n++)
        put_bits(group_byte(unit, panel_iq4_xs.groups[0].at, n / 32 * 16 + n % 16, row), place[n], n % 32 / 16 * 4);
}

// A type: what unpacks its blocks and how large they are; where d lies (-1: in IQ1_M's four places); the table (NULL: a number is its own
// place); the unit, how it is filled, and whether dmin = d lies behind d.
struct source {
    void (*unpack)(const uint8_t *, struct block_256 *);
    size_t file_bytes;
    int d_at;
    const int8_t *values;
    const struct panel_k *unit;
    put_block_fn put;
    bool has_min;
};

static void find_places(const int8_t *values, uint8_t places[256]) {
    for (int v = 0; v < 256; v++) places[v] = (uint8_t)v;
    for (uint8_t i = 16; values && i-- > 0;) places[(uint8_t)values[i]] = i;
}

static void pack(const struct source *s, const uint8_t *rows, size_t row_bytes, int n_rows, size_t k,
                 uint8_t *panel) {
    struct block_256 b;
    uint8_t places[256], place[BLOCK_256];
    find_places(s->values, places);
    memset(panel, 0, panel_k_unit_at(*s->unit, k, k / 256));
    for (size_t i = 0; i < k / 256; i++) {
        uint8_t *const unit = panel + panel_k_unit_at(*s->unit, k, i), *const d =
                                                                           panel + panel_k_d_at(*s->unit, k, i);
        for (size_t r = 0; r < (size_t)n_rows; r++) {
            const uint8_t *const block = rows + r * row_bytes + i * s->file_bytes;
            const uint16_t half = s->d_at < 0 ? iq1_m_d(block) : load_u16(block + s->d_at);
            s->unpack(block, &b);
            for (int n = 0; n < BLOCK_256; n++) place[n] = places[(uint8_t)b.q[n]];
            s->put(&b, place, r, unit);
            store_u16(d + 2 * r, half);
            if (s->has_min) store_u16(d + 2 * (PANEL_ROWS + r), half);
        }
    }
}

size_t panel_iq2_bytes(size_t k) { return panel_q3_k_bytes(k); }
size_t panel_iq1_bytes(size_t k) { return panel_q3_k_bytes(k); }
size_t panel_iq3_xxs_bytes(size_t k) { return panel_iq4_xs_bytes(k); }
size_t panel_iq3_s_bytes(size_t k) { return panel_iq4_xs_bytes(k); }

#define DEFINE_PACK(type, file_bytes, d_at, values, unit, has_min)                                                   \
    void panel_##type##_pack(const uint8_t *rows, size_t row_bytes, int n_rows, size_t k, void *panel) {             \
        static const struct source s = {type##_unpack, file_bytes,    d_at,   values,                                \
                                        &panel_##unit, put_as_##unit, has_min};                                      \
        pack(&s, rows, row_bytes, n_rows, k, panel);                                                                 \
    }
DEFINE_PACK(iq2_xxs, IQ2_XXS_BYTES, 0, iq2_values, q3_k, false)
DEFINE_PACK(iq2_xs, IQ2_XS_BYTES, 0, iq2_values, q3_k, false)
DEFINE_PACK(iq2_s, IQ2_S_BYTES, 0, iq2_values, q3_k, false)
DEFINE_PACK(iq1_s, IQ1_S_BYTES, 0, iq1_values, q3_k, false)
DEFINE_PACK(iq1_m, IQ1_M_BYTES, -1, iq1_values, q3_k, false)
DEFINE_PACK(iq3_xxs, IQ3_XXS_BYTES, 0, iq3_xxs_values, iq4_xs, false)
DEFINE_PACK(iq3_s, IQ3_S_BYTES, 0, iq3_s_values, iq4_xs, false)
DEFINE_PACK(tq1_0, TQ1_0_BYTES, 52, NULL, q2_k, true)
DEFINE_PACK(tq2_0, TQ2_0_BYTES, 64, NULL, q2_k, true)
