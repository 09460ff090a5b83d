// tensor/k_quantize.c - rows to Q4_K, Q5_K and Q6_K, by search.
//
// First, the best scale (and minimum) of each part of a block is searched. The block's F16 scales map the largest of these to the largest
// integers. Then two steps alternate as long as the error decreases: the integers of each part are chosen among their neighbours, and the
// F16 scales by least squares for the current integers and codes.
#include "tensor/k_blocks.h"
#include "tensor/rows.h"
#include "tensor/scale_search.h"
#include <math.h>
#include <stdbool.h>

enum { MOST_TURNS = 4 };

static float half_rounded(float x) { return f16_to_f32(f16_from_f32(x)); }

// Q4_K, Q5_K: 8 parts of 32 with scales and minimums of 6 bits -------------------------------------------------------------

enum { LINE_PARTS = 8, LINE_N = 32, SIX_BITS = 63 };

struct lines {
    float d, dmin; // representable in F16
    int scale[LINE_PARTS], min[LINE_PARTS];
};

static struct line part_line(const struct lines *b, int part) {
    return (struct line){b->d * (float)b->scale[part], -(b->dmin * (float)b->min[part])};
}

static float lines_error(const struct lines *b, const float *x, const float *w, int highest) {
    float sum = 0;
    for (int p = 0; p < LINE_PARTS; p++)
        sum += line_error(x + LINE_N * p, w + LINE_N * p, LINE_N, part_line(b, p), highest);
    return sum;
}

static void first_lines(struct lines *b, const float *x, const float *w, int highest) {
    struct line l[LINE_PARTS];
    float d = 0, m = 0;
    for (int p = 0; p < LINE_PARTS; p++) {
        l[p] = search_line_below_zero(x + LINE_N * p, w + LINE_N * p, LINE_N, highest);
        d = l[p].d > d ? l[p].d : d;
        m = -l[p].m > m ? -l[p].m : m;
    }
    b->d = half_rounded(d / SIX_BITS), b->dmin = half_rounded(m / SIX_BITS);
    for (int p = 0; p < LINE_PARTS; p++) {
        b->scale[p] = nearest_code(l[p].d, b->d, 0, SIX_BITS);
        b->min[p] = nearest_code(-l[p].m, b->dmin, 0, SIX_BITS);
    }
}

// Chooses the best among each part's scale and minimum and their neighbours.
static void choose_integers(struct lines *b, const float *x, const float *w, int highest) {
    for (int p = 0; p < LINE_PARTS; p++, x += LINE_N, w += LINE_N) {
        const int scale = b->scale[p], min = b->min[p];
        float best = line_error(x, w, LINE_N, part_line(b, p), highest);
        for (int i = 0; i < 9; i++) {
            const int s = scale + i / 3 - 1, m = min + i % 3 - 1;
            if (s < 0 || s > SIX_BITS || m < 0 || m > SIX_BITS || (s == scale && m == min)) continue;
            const struct line l = {b->d * (float)s, -(b->dmin * (float)m)};
            const float error = line_error(x, w, LINE_N, l, highest);
            if (error < best) best = error, b->scale[p] = s, b->min[p] = m;
        }
    }
}

// Least squares for d and dmin: x = d * (s q) - dmin * m over the block.
static void refit_lines(struct lines *b, const float *x, const float *w, int highest) {
    float aa = 0, am = 0, mm = 0, xa = 0, xm = 0;
    for (int p = 0; p < LINE_PARTS; p++) {
        const struct line l = part_line(b, p);
        const float m = -(float)b->min[p];
        for (int i = LINE_N * p; i < LINE_N * (p + 1); i++) {
            const float a = (float)(b->scale[p] * nearest_code(x[i] - l.m, l.d, 0, highest));
            aa += w[i] * a * a, am += w[i] * a * m, mm += w[i] * m * m;
            xa += w[i] * x[i] * a, xm += w[i] * x[i] * m;
        }
    }
    const float determinant = aa * mm - am * am;
    if (determinant > 0x1p-12f * aa * mm) { // otherwise ill-conditioned: both are nearly parallel
        b->d = half_rounded((mm * xa - am * xm) / determinant);
        b->dmin = half_rounded((aa * xm - am * xa) / determinant);
    } else if (aa > 0) {
        b->d = half_rounded((xa - b->dmin * am) / aa);
    }
    if (b->d < 0) b->d = 0;
    if (b->dmin < 0) b->dmin = 0;
}

static struct lines search_lines(const float *x, const float *w, int highest) {
    struct lines best, b;
    first_lines(&best, x, w, highest);
    float best_error = lines_error(&best, x, w, highest);
    b = best;
    for (int turn = 0; turn < MOST_TURNS; turn++) {
        choose_integers(&b, x, w, highest);
        refit_lines(&b, x, w, highest);
        choose_integers(&b, x, w, highest);
        const float error = lines_error(&b, x, w, highest);
        if (!(error < best_error)) break;
        best = b, best_error = error;
    }
    return best;
}

static void put_lines(const struct lines *b, const float *x, uint8_t *block, bool fifth) {
    uint8_t *const qs = block + (fifth ? 48 : 16), *const high = block + 16;
    store_u16(block, f16_from_f32(b->d));
    store_u16(block + 2, f16_from_f32(b->dmin));
    q4_k_put_scales(block + 4, b->scale, b->min);
    for (int n = 0; n < BLOCK_256; n++) {
        const int part = n / LINE_N, i = n % LINE_N;
        const struct line l = part_line(b, part);
        const int q = nearest_code(x[n] - l.m, l.d, 0, fifth ? 31 : 15);
        qs[32 * (part / 2) + i] = (uint8_t)(qs[32 * (part / 2) + i] | (q & 15) << 4 * (part % 2));
        if (fifth) high[i] = (uint8_t)(high[i] | q >> 4 << part);
    }
}

// Computes weights, then quantizes block by block.
typedef void (*block_fn)(const float *x, const float *w, uint8_t *block);

static void quantize(const float *src, const float *importance, uint8_t *block, size_t n, size_t block_bytes,
                     block_fn quantize_block) {
    float w[BLOCK_256];
    for (size_t i = 0; i < n; i += BLOCK_256, block += block_bytes) {
        const float *const x = src + i;
        search_weights(x, importance ? importance + i : NULL, BLOCK_256, mean_square_of(x, BLOCK_256), w);
        memset(block, 0, block_bytes);
        quantize_block(x, w, block);
    }
}

static void q4_k_block(const float *x, const float *w, uint8_t *block) {
    const struct lines b = search_lines(x, w, 15);
    put_lines(&b, x, block, false);
}
static void q5_k_block(const float *x, const float *w, uint8_t *block) {
    const struct lines b = search_lines(x, w, 31);
    put_lines(&b, x, block, true);
}

void q4_k_quantize_row(const float *src, const float *importance, void *dst, size_t n) {
    quantize(src, importance, dst, n, Q4_K_BYTES, q4_k_block);
}
void q5_k_quantize_row(const float *src, const float *importance, void *dst, size_t n) {
    quantize(src, importance, dst, n, Q5_K_BYTES, q5_k_block);
}

// Q6_K: 16 parts of 16 with signed scales of 8 bits ------------------------------------------------------------------------

enum { SCALE_PARTS = 16, SCALE_N = 16, Q6_LO = -32, Q6_HI = 31 };

struct scales {
    float d; // representable in F16
    int scale[SCALE_PARTS];
};

static float scales_error(const struct scales *b, const float *x, const float *w) {
    float sum = 0;
    for (int p = 0; p < SCALE_PARTS; p++)
        sum += scale_error(x + SCALE_N * p, w + SCALE_N * p, SCALE_N, b->d * (float)b->scale[p], Q6_LO, Q6_HI);
    return sum;
}

static void first_scales(struct scales *b, const float *x, const float *w) {
    float d[SCALE_PARTS], largest = 0;
    for (int p = 0; p < SCALE_PARTS; p++) {
        d[p] = search_scale(x + SCALE_N * p, w + SCALE_N * p, SCALE_N, Q6_LO, Q6_HI);
        if (fabsf(d[p]) > fabsf(largest)) largest = d[p];
    }
    b->d = half_rounded(largest / -128);
    for (int p = 0; p < SCALE_PARTS; p++) b->scale[p] = nearest_code(d[p], b->d, -128, 127);
}

static void choose_scales(struct scales *b, const float *x, const float *w) {
    for (int p = 0; p < SCALE_PARTS; p++, x += SCALE_N, w += SCALE_N) {
        const int scale = b->scale[p];
        float best = scale_error(x, w, SCALE_N, b->d * (float)scale, Q6_LO, Q6_HI);
        for (int s = scale - 2; s <= scale + 2; s++) {
            if (s < -128 || s > 127 || s == scale) continue;
            const float error = scale_error(x, w, SCALE_N, b->d * (float)s, Q6_LO, Q6_HI);
            if (error < best) best = error, b->scale[p] = s;
        }
    }
}

static void refit_scales(struct scales *b, const float *x, const float *w) {
    float aa = 0, xa = 0;
    for (int n = 0; n < BLOCK_256; n++) {
        const int scale = b->scale[n / SCALE_N];
        const float a = (float)(scale * nearest_code(x[n], b->d * (float)scale, Q6_LO, Q6_HI));
        aa += w[n] * a * a, xa += w[n] * x[n] * a;
    }
    if (aa > 0) b->d = half_rounded(xa / aa);
}

static struct scales search_scales(const float *x, const float *w) {
    struct scales best, b;
    first_scales(&best, x, w);
    float best_error = scales_error(&best, x, w);
    b = best;
    for (int turn = 0; turn < MOST_TURNS; turn++) {
        choose_scales(&b, x, w);
        refit_scales(&b, x, w);
        choose_scales(&b, x, w);
        const float error = scales_error(&b, x, w);
        if (!(error < best_error)) break;
        best = b, best_error = error;
    }
    return best;
}

static void q6_k_block(const float *x, const float *w, uint8_t *block) {
    const struct scales b = search_scales(x, w);
    uint8_t *const low = block, *const high = block + 128;
    for (int p = 0; p < SCALE_PARTS; p++) block[192 + p] = (uint8_t)(int8_t)b.scale[p];
    store_u16(block + 208, f16_from_f32(b.d));
    for (int n = 0; n < BLOCK_256; n++) {
        const int h = n / 128, j = n % 128 / 32, l = n % 32;
        const int q = nearest_code(x[n], b.d * (float)b.scale[n / SCALE_N], Q6_LO, Q6_HI) - Q6_LO;
        uint8_t *const ql = &low[64 * h + 32 * (j % 2) + l], *const qh = &high[32 * h + l];
        *ql = (uint8_t)(*ql | (q & 15) << 4 * (j / 2));
        *qh = (uint8_t)(*qh | q >> 4 << 2 * j);
    }
}

void q6_k_quantize_row(const float *src, const float *importance, void *dst, size_t n) {
    quantize(src, importance, dst, n, Q6_K_BYTES, q6_k_block);
}
