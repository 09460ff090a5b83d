// tensor/iq_blocks.c - unpacks blocks of the IQ and ternary types; layouts: iq_blocks.h.
#include "tensor/iq_blocks.h"
#include "tensor/iq_grids.h"
#include <stdbool.h>

static const int8_t iq2_magnitudes[3] = {8, 25, 43}, iq3_xxs_magnitudes[8] = {4, 12, 20, 28, 36, 44, 52, 62},
                    iq3_s_magnitudes[8] = {1, 3, 5, 7, 9, 11, 13, 15};

// Numbers of a point that has `bits` bits for each, with their signs.
static void put_point(uint32_t point, int n, int bits, const int8_t *magnitudes, uint32_t signs, int8_t *q) {
    for (int i = 0; i < n; i++, point >>= bits, signs >>= 1) {
        const int8_t v = magnitudes[point & ((1u << bits) - 1)];
        q[i] = (int8_t)(signs & 1 ? -v : v);
    }
}
static void put_eight(uint16_t point, uint32_t signs, int8_t *q) { put_point(point, 8, 2, iq2_magnitudes, signs, q); }

// Eight signs of seven bits: the eighth makes their number even.
static uint32_t even_signs(uint32_t seven) {
    seven &= 127;
    return seven | (uint32_t)(__builtin_popcount(seven) & 1) << 7;
}
static int8_t odd_scale(uint32_t s) { return (int8_t)(2 * s + 1); }

void iq2_xxs_unpack(const uint8_t *p, struct block_256 *b) {
    b->part = 32;
    b->d = IQ2_UNIT * load_half(p);
    for (int J = 0; J < 8; J++) {
        const uint8_t *const grid = p + 2 + 8 * J;
        const uint32_t bits = load_u32(grid + 4);
        b->scale[J] = odd_scale(bits >> 28);
        for (int e = 0; e < 4; e++)
            put_eight(iq2_xxs_grid[grid[e]], even_signs(bits >> 7 * e), b->q + 32 * J + 8 * e);
    }
}

void iq2_xs_unpack(const uint8_t *p, struct block_256 *b) {
    b->part = 16;
    b->d = IQ2_UNIT * load_half(p);
    for (int i = 0; i < 16; i++) b->scale[i] = odd_scale(p[66 + i / 2] >> 4 * (i % 2) & 15);
    for (int i = 0; i < 32; i++) {
        const uint16_t v = load_u16(p + 2 + 2 * i);
        put_eight(iq2_xs_grid[v & 511], even_signs(v >> 9), b->q + 8 * i);
    }
}

void iq2_s_unpack(const uint8_t *p, struct block_256 *b) {
    b->part = 16;
    b->d = IQ2_UNIT * load_half(p);
    for (int i = 0; i < 16; i++) b->scale[i] = odd_scale(p[74 + i / 2] >> 4 * (i % 2) & 15);
    for (int i = 0; i < 32; i++) {
        const int high = p[66 + i / 4] >> 2 * (i % 4) & 3;
        put_eight(iq2_s_grid[p[2 + i] | high << 8], p[34 + i], b->q + 8 * i);
    }
}

void iq3_xxs_unpack(const uint8_t *p, struct block_256 *b) {
    b->part = 32;
    b->d = IQ3_XXS_UNIT * load_half(p);
    for (int J = 0; J < 8; J++) {
        const uint32_t bits = load_u32(p + 66 + 4 * J);
        b->scale[J] = odd_scale(bits >> 28);
        for (int i = 0; i < 8; i++)
            put_point(iq3_xxs_grid[p[2 + 8 * J + i]], 4, 3, iq3_xxs_magnitudes,
                      even_signs(bits >> 7 * (i / 2)) >> 4 * (i % 2), b->q + 32 * J + 4 * i);
    }
}

void iq3_s_unpack(const uint8_t *p, struct block_256 *b) {
    b->part = 32;
    b->d = IQ3_S_UNIT * load_half(p);
    for (int J = 0; J < 8; J++) {
        b->scale[J] = odd_scale(p[106 + J / 2] >> 4 * (J % 2) & 15);
        for (int i = 0; i < 8; i++)
            put_point(iq3_s_grid[p[2 + 8 * J + i] | (p[66 + J] >> i & 1) << 8], 4, 3, iq3_s_magnitudes,
                      (uint32_t)p[74 + 4 * J + i / 2] >> 4 * (i % 2), b->q + 32 * J + 4 * i);
    }
}

// Numbers 8 * point + 1, or - 1.
static void put_eight_off(uint16_t point, bool down, int8_t *q) {
    for (int i = 0; i < 8; i++) q[i] = (int8_t)(8 * ((point >> 2 * i & 3) - 1) + (down ? -1 : 1));
}

void iq1_s_unpack(const uint8_t *p, struct block_256 *b) {
    b->part = 32;
    b->d = IQ1_UNIT * load_half(p);
    for (int J = 0; J < 8; J++) {
        const uint16_t v = load_u16(p + 34 + 2 * J);
        b->scale[J] = odd_scale(v >> 12 & 7);
        for (int e = 0; e < 4; e++)
            put_eight_off(iq1_s_grid[p[2 + 4 * J + e] | (v >> 3 * e & 7) << 8], v >> 15, b->q + 32 * J + 8 * e);
    }
}

void iq1_m_unpack(const uint8_t *p, struct block_256 *b) {
    b->part = 16;
    b->d = IQ1_UNIT * f16_to_f32(iq1_m_d(p));
    for (int i = 0; i < 16; i++) b->scale[i] = odd_scale(load_u16(p + 48 + 2 * (i / 4)) >> 3 * (i % 4) & 7);
    for (int i = 0; i < 32; i++) {
        const int v = p[32 + i / 2] >> 4 * (i % 2) & 15;
        put_eight_off(iq1_s_grid[p[i] | (v & 7) << 8], v >> 3, b->q + 8 * i);
    }
}

static void all_ones(struct block_256 *b, float d) {
    b->part = 16;
    b->d = b->dmin = d;
    memset(b->scale, 1, sizeof b->scale);
    memset(b->min, 1, sizeof b->min);
}

// The n-th ternary digit of a byte, as its fraction of 256 is multiplied by 3^n.
static int8_t digit(uint8_t v, int n) {
    static const uint8_t power[] = {1, 3, 9, 27, 81};
    return (int8_t)((uint8_t)(v * power[n]) * 3 >> 8);
}

void tq1_0_unpack(const uint8_t *p, struct block_256 *b) {
    all_ones(b, load_half(p + 52));
    for (int n = 0; n < 160; n++) b->q[n] = digit(p[n % 32], n / 32);
    for (int n = 0; n < 80; n++) b->q[160 + n] = digit(p[32 + n % 16], n / 16);
    for (int n = 0; n < 16; n++) b->q[240 + n] = digit(p[48 + n % 4], n / 4);
}

void tq2_0_unpack(const uint8_t *p, struct block_256 *b) {
    all_ones(b, load_half(p + 64));
    for (int n = 0; n < 256; n++) b->q[n] = p[32 * (n / 128) + n % 32] >> 2 * (n % 128 / 32) & 3;
}
