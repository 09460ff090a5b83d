// tensor/k_scales_quantize.c - rows to Q3_K, Q6_K and IQ4_XS, whose parts have scales alone, by search (k_quantize.h).
#include "tensor/k_quantize.h"
#include "tensor/rows.h"
#include <math.h>

// How a type cuts a block: its parts, their codes, and the range of their scales.
struct scale_type {
    int n_parts, n;
    struct codes codes;
    int least, most;
};
static const struct scale_type q3_k = {16, 16, {-4, 3, NULL, 0}, -32, 31},
                               q6_k = {16, 16, {-32, 31, NULL, 0}, -128, 127},
                               iq4_xs = {8, 32, {-127, 113, iq4_values, 16}, -32, 31};

struct scales {
    float d; // representable in F16
    int scale[K_MOST_PARTS];
};

static float part_error(struct scale_type t, const float *x, const float *w, float d) {
    return scale_error(x, w, t.n, d, t.codes);
}

static float scales_error(struct scale_type t, const struct scales *b, const float *x, const float *w) {
    float sum = 0;
    for (int p = 0; p < t.n_parts; p++) sum += part_error(t, x + t.n * p, w + t.n * p, b->d * (float)b->scale[p]);
    return sum;
}

static void first_scales(struct scale_type t, struct scales *b, const float *x, const float *w) {
    float d[K_MOST_PARTS], largest = 0;
    for (int p = 0; p < t.n_parts; p++) {
        d[p] = search_scale(x + t.n * p, w + t.n * p, t.n, t.codes);
        if (fabsf(d[p]) > fabsf(largest)) largest = d[p];
    }
    b->d = half_rounded(largest / (float)t.least);
    for (int p = 0; p < t.n_parts; p++) b->scale[p] = nearest_code(d[p], b->d, t.least, t.most);
}

static void choose_scales(struct scale_type t, struct scales *b, const float *x, const float *w) {
    for (int p = 0; p < t.n_parts; p++, x += t.n, w += t.n) {
        const int scale = b->scale[p];
        float best = part_error(t, x, w, b->d * (float)scale);
        for (int s = scale - 2; s <= scale + 2; s++) {
            if (s < t.least || s > t.most || s == scale) continue;
            const float error = part_error(t, x, w, b->d * (float)s);
            if (error < best) best = error, b->scale[p] = s;
        }
    }
}

static void refit_scales(struct scale_type t, struct scales *b, const float *x, const float *w) {
    float aa = 0, xa = 0;
    for (int n = 0; n < BLOCK_256; n++) {
        const int scale = b->scale[n / t.n];
        const float a = (float)scale * nearest_value(x[n], b->d * (float)scale, t.codes);
        aa += w[n] * a * a, xa += w[n] * x[n] * a;
    }
    if (aa > 0) b->d = half_rounded(xa / aa);
}

static struct scales search_scales(struct scale_type t, const float *x, const float *w) {
    struct scales best, b;
    first_scales(t, &best, x, w);
    float best_error = scales_error(t, &best, x, w);
    b = best;
    for (int turn = 0; turn < K_MOST_TURNS; turn++) {
        choose_scales(t, &b, x, w);
        refit_scales(t, &b, x, w);
        choose_scales(t, &b, x, w);
        const float error = scales_error(t, &b, x, w);
        if (!(error < best_error)) break;
        best = b, best_error = error;
    }
    return best;
}

static void q3_k_block(const float *x, const float *w, uint8_t *block) {
    const struct scales b = search_scales(q3_k, x, w);
    q3_k_put_scales(block + 96, b.scale);
    store_u16(block + 108, f16_from_f32(b.d));
    for (int n = 0; n < BLOCK_256; n++) {
        const int q = nearest_code(x[n], b.d * (float)b.scale[n / q3_k.n], -4, 3) + 4;
        put_two_bits(block + 32, n, q & 3);
        block[n % 32] = (uint8_t)(block[n % 32] | q >> 2 << n / 32);
    }
}

static void q6_k_block(const float *x, const float *w, uint8_t *block) {
    const struct scales b = search_scales(q6_k, x, w);
    for (int p = 0; p < q6_k.n_parts; p++) block[192 + p] = (uint8_t)(int8_t)b.scale[p];
    store_u16(block + 208, f16_from_f32(b.d));
    for (int n = 0; n < BLOCK_256; n++) {
        const int h = n / 128, j = n % 128 / 32, l = n % 32;
        const int q = nearest_code(x[n], b.d * (float)b.scale[n / q6_k.n], -32, 31) + 32;
        uint8_t *const ql = &block[64 * h + 32 * (j % 2) + l];
        *ql = (uint8_t)(*ql | (q & 15) << 4 * (j / 2));
        put_two_bits(block + 128, n, q >> 4);
    }
}

static void iq4_xs_block(const float *x, const float *w, uint8_t *block) {
    const struct scales b = search_scales(iq4_xs, x, w);
    uint16_t high = 0;
    store_u16(block, f16_from_f32(b.d));
    for (int p = 0; p < iq4_xs.n_parts; p++) {
        const int s = b.scale[p] + 32;
        high = (uint16_t)(high | s >> 4 << 2 * p);
        block[4 + p / 2] = (uint8_t)(block[4 + p / 2] | (s & 15) << 4 * (p % 2));
        for (int i = 0; i < BLOCK_32; i++)
            put_nibble_32(block + 8 + 16 * p, i,
                          nearest_entry(x[BLOCK_32 * p + i], b.d * (float)b.scale[p], iq4_xs.codes));
    }
    store_u16(block + 2, high);
}

void q3_k_quantize_row(const float *src, const float *importance, void *dst, size_t n) {
    k_quantize(src, importance, dst, n, Q3_K_BYTES, 3, q3_k_block);
}
void q6_k_quantize_row(const float *src, const float *importance, void *dst, size_t n) {
    k_quantize(src, importance, dst, n, Q6_K_BYTES, 1, q6_k_block);
}
void iq4_xs_quantize_row(const float *src, const float *importance, void *dst, size_t n) {
    k_quantize(src, importance, dst, n, IQ4_XS_BYTES, 1, iq4_xs_block);
}
