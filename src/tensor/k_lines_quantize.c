// tensor/k_lines_quantize.c - rows to Q2_K, Q4_K and Q5_K, whose parts have scales and minimums, by search (k_quantize.h).
#include "tensor/k_quantize.h"
#include "tensor/rows.h"
#include <stdbool.h>

// How a type cuts a block: its parts, the highest number, and the highest scale and minimum of a part.
struct line_type {
    int n_parts, n, highest, most;
};
static const struct line_type q2_k = {16, 16, 3, 15}, q4_k = {8, 32, 15, 63}, q5_k = {8, 32, 31, 63};

struct lines {
    float d, dmin; // representable in F16
    int scale[K_MOST_PARTS], min[K_MOST_PARTS];
};

static struct line part_line(const struct lines *b, int part) {
    return (struct line){b->d * (float)b->scale[part], -(b->dmin * (float)b->min[part])};
}

static float lines_error(struct line_type t, const struct lines *b, const float *x, const float *w) {
    float sum = 0;
    for (int p = 0; p < t.n_parts; p++) sum += line_error(x + t.n * p, w + t.n * p, t.n, part_line(b, p), t.highest);
    return sum;
}

static void first_lines(struct line_type t, struct lines *b, const float *x, const float *w) {
    struct line l[K_MOST_PARTS];
    float d = 0, m = 0;
    for (int p = 0; p < t.n_parts; p++) {
        l[p] = search_line_below_zero(x + t.n * p, w + t.n * p, t.n, t.highest);
        d = l[p].d > d ? l[p].d : d;
        m = -l[p].m > m ? -l[p].m : m;
    }
    b->d = half_rounded(d / (float)t.most), b->dmin = half_rounded(m / (float)t.most);
    for (int p = 0; p < t.n_parts; p++) {
        b->scale[p] = nearest_code(l[p].d, b->d, 0, t.most);
        b->min[p] = nearest_code(-l[p].m, b->dmin, 0, t.most);
    }
}

// Chooses the best among each part's scale and minimum and their neighbours.
static void choose_integers(struct line_type t, struct lines *b, const float *x, const float *w) {
    for (int p = 0; p < t.n_parts; p++, x += t.n, w += t.n) {
        const int scale = b->scale[p], min = b->min[p];
        float best = line_error(x, w, t.n, part_line(b, p), t.highest);
        for (int i = 0; i < 9; i++) {
            const int s = scale + i / 3 - 1, m = min + i % 3 - 1;
            if (s < 0 || s > t.most || m < 0 || m > t.most || (s == scale && m == min)) continue;
            const struct line l = {b->d * (float)s, -(b->dmin * (float)m)};
            const float error = line_error(x, w, t.n, l, t.highest);
            if (error < best) best = error, b->scale[p] = s, b->min[p] = m;
        }
    }
}

// Least squares for d and dmin: x = d * (s q) - dmin * m over the block.
static void refit_lines(struct line_type t, struct lines *b, const float *x, const float *w) {
    float aa = 0, am = 0, mm = 0, xa = 0, xm = 0;
    for (int p = 0; p < t.n_parts; p++) {
        const struct line l = part_line(b, p);
        const float m = -(float)b->min[p];
        for (int i = t.n * p; i < t.n * (p + 1); i++) {
            const float a = (float)(b->scale[p] * nearest_code(x[i] - l.m, l.d, 0, t.highest));
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

static struct lines search_lines(struct line_type t, const float *x, const float *w) {
    struct lines best, b;
    first_lines(t, &best, x, w);
    float best_error = lines_error(t, &best, x, w);
    b = best;
    for (int turn = 0; turn < K_MOST_TURNS; turn++) {
        choose_integers(t, &b, x, w);
        refit_lines(t, &b, x, w);
        choose_integers(t, &b, x, w);
        const float error = lines_error(t, &b, x, w);
        if (!(error < best_error)) break;
        best = b, best_error = error;
    }
    return best;
}

static int line_code(struct line_type t, const struct lines *b, const float *x, int i) {
    const struct line l = part_line(b, i / t.n);
    return nearest_code(x[i] - l.m, l.d, 0, t.highest);
}

static void q2_k_block(const float *x, const float *w, uint8_t *block) {
    const struct lines b = search_lines(q2_k, x, w);
    for (int p = 0; p < q2_k.n_parts; p++) block[p] = (uint8_t)(b.scale[p] | b.min[p] << 4);
    store_u16(block + 80, f16_from_f32(b.d));
    store_u16(block + 82, f16_from_f32(b.dmin));
    for (int i = 0; i < BLOCK_256; i++) put_two_bits(block + 16, i, line_code(q2_k, &b, x, i));
}

static void put_lines(struct line_type t, const float *x, const float *w, uint8_t *block) {
    const struct lines b = search_lines(t, x, w);
    const bool fifth = t.highest > 15;
    uint8_t *const qs = block + (fifth ? 48 : 16), *const high = block + 16;
    store_u16(block, f16_from_f32(b.d));
    store_u16(block + 2, f16_from_f32(b.dmin));
    q4_k_put_scales(block + 4, b.scale, b.min);
    for (int n = 0; n < BLOCK_256; n++) {
        const int part = n / t.n, i = n % t.n, q = line_code(t, &b, x, n);
        qs[32 * (part / 2) + i] = (uint8_t)(qs[32 * (part / 2) + i] | (q & 15) << 4 * (part % 2));
        if (fifth) high[i] = (uint8_t)(high[i] | q >> 4 << part);
    }
}
static void q4_k_block(const float *x, const float *w, uint8_t *block) { put_lines(q4_k, x, w, block); }
static void q5_k_block(const float *x, const float *w, uint8_t *block) { put_lines(q5_k, x, w, block); }

void q2_k_quantize_row(const float *src, const float *importance, void *dst, size_t n) {
    k_quantize(src, importance, dst, n, Q2_K_BYTES, 1, q2_k_block);
}
void q4_k_quantize_row(const float *src, const float *importance, void *dst, size_t n) {
    k_quantize(src, importance, dst, n, Q4_K_BYTES, 1, q4_k_block);
}
void q5_k_quantize_row(const float *src, const float *importance, void *dst, size_t n) {
    k_quantize(src, importance, dst, n, Q5_K_BYTES, 1, q5_k_block);
}
