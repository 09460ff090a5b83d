// tensor/iq_quantize.c - quantizes rows to IQ1, IQ2 and IQ3: numbers that are points of a grid times a scale (iq_blocks.h), by search.
//
// For each part a scale is searched, from several start values; the block's F16 scale maps the largest of these to the largest integer; then
// the integers are chosen among their neighbours and the F16 scale by least squares, in turn. Points are the best ones for a scale, not near
// ones: what a point costs is a sum over its numbers, so it is looked up in two halves of them, and halves that cannot win are passed over.
#include "tensor/iq_blocks.h"
#include "tensor/iq_grids.h"
#include "tensor/k_quantize.h"
#include "tensor/rows.h"
#include <float.h>
#include <math.h>
#include <stdbool.h>

enum {
    EIGHT = 8,
    MOST_POINTS = 2048,
    MOST_LEVELS = 8,
    MOST_HALVES = 81, // three levels to the fourth power; eight to the second are 64
    LANES = 8,
    HALF_ROOM = 88, // whole lanes
    PART_EIGHTS = 4,
    N_REFINED = 3,
    N_TURNS = 2
};
static const float TINY = 0x1p-60f, MOST = 0x1p36f; // as in scale_search.c
static const float OVER = 1.01f, MOST_RAISED = 1.5f;

enum signs { NO_SIGNS, EVEN_SIGNS, FREE_SIGNS };

// A type: the grid, its numbers and their levels; how signs are chosen; numbers that share a scale and, in IQ1, one of two lists of levels.
struct point_type {
    const uint16_t *grid;
    int n_points, n, bits, n_levels;
    const int8_t *levels[2];
    enum signs signs;
    int part, same_list;
    int most; // the highest s of a scale 2 s + 1
    float unit;
    // Start values: the largest number is `first` times the largest level, and so on by this factor.
    float first, factor;
    int n_starts;
};

static const int8_t iq2_levels[3] = {8, 25, 43}, iq3_xxs_levels[8] = {4, 12, 20, 28, 36, 44, 52, 62},
                    iq3_s_levels[8] = {1, 3, 5, 7, 9, 11, 13, 15}, iq1_up[3] = {-7, 1, 9}, iq1_down[3] = {-9, -1, 7};

#define IQ2(grid, n_points, signs, part)                                                                             \
    {grid, n_points, 8, 2, 3, {iq2_levels, NULL}, signs, part, part, 15, IQ2_UNIT, 0.88f, 1.15f, 4}
#define IQ3(grid, n_points, levels, signs, unit)                                                                     \
    {grid, n_points, 4, 3, 8, {levels, NULL}, signs, 32, 32, 15, unit, 0.88f, 1.1f, 4}
#define IQ1(part, same_list)                                                                                         \
    {iq1_s_grid, 2048, 8, 2, 3, {iq1_up, iq1_down}, NO_SIGNS, part, same_list, 7, IQ1_UNIT, 1.1f, 1.5f, 3}
static const struct point_type iq2_xxs = IQ2(iq2_xxs_grid, 256, EVEN_SIGNS, 32),
                               iq2_xs = IQ2(iq2_xs_grid, 512, EVEN_SIGNS, 16),
                               iq2_s = IQ2(iq2_s_grid, 1024, FREE_SIGNS, 16),
                               iq3_xxs = IQ3(iq3_xxs_grid, 256, iq3_xxs_levels, EVEN_SIGNS, IQ3_XXS_UNIT),
                               iq3_s = IQ3(iq3_s_grid, 512, iq3_s_levels, FREE_SIGNS, IQ3_S_UNIT),
                               iq1_s = IQ1(32, 32), iq1_m = IQ1(16, 8);

// The points by halves: of each place of the upper numbers the points that have them, as their places in the grid and of their lower numbers.
struct halves {
    const struct point_type *type;
    int n_places;
    uint16_t begin[MOST_HALVES + 1], point[MOST_POINTS];
    uint8_t low[MOST_POINTS];
};

// The place of a half: its numbers as digits.
static int place_of(const struct point_type *t, uint32_t half) {
    int place = 0, times = 1;
    for (int i = 0; i < t->n / 2; i++, half >>= t->bits, times *= t->n_levels)
        place += (int)(half & ((1u << t->bits) - 1)) * times;
    return place;
}
static int low_place(const struct point_type *t, int point) {
    return place_of(t, t->grid[point] & ((1u << t->bits * t->n / 2) - 1));
}
static int high_place(const struct point_type *t, int point) {
    return place_of(t, (uint32_t)t->grid[point] >> t->bits * t->n / 2);
}

static void halves_of(const struct point_type *t, struct halves *h) {
    *h = (struct halves){.type = t, .n_places = t->n == 4 ? 64 : 81};
    for (int i = 0; i < t->n_points; i++) h->begin[high_place(t, i) + 1]++;
    for (int i = 0; i < h->n_places; i++) h->begin[i + 1] = (uint16_t)(h->begin[i + 1] + h->begin[i]);
    uint16_t next[MOST_HALVES];
    memcpy(next, h->begin, sizeof next);
    for (int i = 0; i < t->n_points; i++) {
        const int at = next[high_place(t, i)]++;
        h->point[at] = (uint16_t)i;
        h->low[at] = (uint8_t)low_place(t, i);
    }
}

// What each half of a point costs, by its place, given what each level of each of its numbers costs.
static void half_costs(const struct point_type *t, float cost[][MOST_LEVELS], float *of) {
    if (t->n == 4) {
        for (int j = 0; j < 8; j++)
            for (int i = 0; i < 8; i++) of[8 * j + i] = cost[0][i] + cost[1][j];
        return;
    }
    float a[9], b[9];
    for (int j = 0; j < 3; j++)
        for (int i = 0; i < 3; i++) a[3 * j + i] = cost[0][i] + cost[1][j], b[3 * j + i] = cost[2][i] + cost[3][j];
    for (int j = 0; j < 9; j++)
        for (int i = 0; i < 9; i++) of[9 * j + i] = a[i] + b[j];
}

// The point of least cost for numbers x (their signs taken off) with scale d. *index: a point that may be near, then the one found.
static float nearest_point(const struct halves *h, const int8_t *levels, const float *x, const float *w, float d,
                           uint16_t *index) {
    const struct point_type *const t = h->type;
    float cost[EIGHT][MOST_LEVELS], low[HALF_ROOM], high[HALF_ROOM], least_low = 0, near = 0;
    int n_least = 0; // numbers whose level at *index is the cheapest one
    for (int i = 0; i < t->n; i++) {
        float least = INFINITY;
        for (int l = 0; l < t->n_levels; l++) {
            const float v = d * (float)levels[l];
            cost[i][l] = w[i] * v * (v - 2 * x[i]);
            least = cost[i][l] < least ? cost[i][l] : least;
        }
        if (i < t->n / 2) least_low += least;
        const float here = cost[i][t->grid[*index] >> t->bits * i & ((1 << t->bits) - 1)];
        near += here;
        n_least += here <= least;
    }
    if (n_least == t->n) return near;
    half_costs(t, cost, low);
    half_costs(t, cost + t->n / 2, high);
    for (int i = h->n_places; i < HALF_ROOM; i++) high[i] = INFINITY;
    float best = high[high_place(t, *index)] + low[low_place(t, *index)];
    for (int at = 0; at < HALF_ROOM; at += LANES) {
        bool any = false;
        for (int j = 0; j < LANES; j++) any |= high[at + j] + least_low < best;
        if (!any) continue;
        for (int r = at; r < at + LANES && r < h->n_places; r++) {
            if (!(high[r] + least_low < best)) continue;
            for (int p = h->begin[r]; p < h->begin[r + 1]; p++) {
                const float c = high[r] + low[h->low[p]];
                if (c < best) best = c, *index = h->point[p];
            }
        }
    }
    return best;
}

// Eight numbers: their points, signs and list of levels; what they cost, and the sums of w x q and w q^2.
struct eight {
    uint16_t index[2];
    uint8_t signs, list;
    float cost, xq, qq;
};

static void sum_up(const struct point_type *t, const float *x, const float *w, struct eight *e) {
    e->xq = e->qq = 0;
    for (int i = 0; i < EIGHT; i++) {
        const uint32_t point = t->grid[e->index[i / t->n]];
        const float q = t->levels[e->list][point >> t->bits * (i % t->n) & ((1u << t->bits) - 1)], wq = w[i] * q;
        e->xq += wq * (e->signs >> i & 1 ? -x[i] : x[i]);
        e->qq += wq * q;
    }
}

static struct eight with_signs(const struct halves *h, const float *x, const float *w, float d, int list,
                               uint8_t signs, const uint16_t *near) {
    const struct point_type *const t = h->type;
    struct eight e = {.index = {near[0], near[1]}, .signs = signs, .list = (uint8_t)list};
    float y[EIGHT];
    for (int i = 0; i < EIGHT; i++) y[i] = signs >> i & 1 ? -x[i] : x[i];
    for (int i = 0; i < EIGHT / t->n; i++)
        e.cost += nearest_point(h, t->levels[list], y + t->n * i, w + t->n * i, d, &e.index[i]);
    return e;
}

// Where the number of signs must be even and is not, one of the n_flips numbers that matter least has the other sign.
static struct eight fit_eight(const struct halves *h, const float *x, const float *w, float d, int list, int n_flips,
                              const uint16_t *near) {
    uint8_t signs = 0;
    for (int i = 0; i < EIGHT && h->type->signs != NO_SIGNS; i++) signs = (uint8_t)(signs | (x[i] < 0) << i);
    if (h->type->signs != EVEN_SIGNS || __builtin_popcount(signs) % 2 == 0)
        return with_signs(h, x, w, d, list, signs, near);
    struct eight best = {.cost = INFINITY};
    uint8_t tried = 0;
    for (int n = 0; n < n_flips; n++) {
        int flip = -1;
        for (int i = 0; i < EIGHT; i++)
            if (!(tried >> i & 1) && (flip < 0 || w[i] * fabsf(x[i]) < w[flip] * fabsf(x[flip]))) flip = i;
        tried = (uint8_t)(tried | 1 << flip);
        const struct eight e = with_signs(h, x, w, d, list, (uint8_t)(signs ^ 1 << flip), near);
        if (n == 0 || e.cost < best.cost) best = e;
    }
    return best;
}

// A part's eights with scale d, and what they cost together. best: eights that may be near, then those found.
static float fit_part(const struct halves *h, const float *x, const float *w, float d, int n_flips,
                      struct eight *best) {
    const struct point_type *const t = h->type;
    const int n_same = t->same_list / EIGHT;
    float sum = 0;
    for (int at = 0; at < t->part / EIGHT; at += n_same) {
        struct eight e[2][PART_EIGHTS];
        float cost[2] = {0, INFINITY};
        for (int list = 0; list < 2 && t->levels[list]; list++) {
            cost[list] = 0;
            for (int i = 0; i < n_same; i++) {
                e[list][i] =
                    fit_eight(h, x + EIGHT * (at + i), w + EIGHT * (at + i), d, list, n_flips, best[at + i].index);
                cost[list] += e[list][i].cost;
            }
        }
        const int list = cost[1] < cost[0];
        sum += cost[list];
        for (int i = 0; i < n_same; i++) best[at + i] = e[list][i];
    }
    return sum;
}

// The best scale for the points that scale d gives, and the part of sum w x^2 that it explains.
static float improved_scale(const struct halves *h, const float *x, const float *w, float d, struct eight *e,
                            float *explained) {
    float xq = 0, qq = 0;
    fit_part(h, x, w, d, 1, e);
    for (int i = 0; i < h->type->part / EIGHT; i++) {
        sum_up(h->type, x + EIGHT * i, w + EIGHT * i, &e[i]);
        xq += e[i].xq, qq += e[i].qq;
    }
    *explained = qq > 0 && xq > 0 ? xq * xq / qq : 0;
    return qq > 0 && xq > 0 ? xq / qq : 0;
}

// e: the last eights tried.
static float search_part(const struct halves *h, const float *x, const float *w, struct eight *e) {
    const struct point_type *const t = h->type;
    float most = 0, best = 0, best_explained = 0, explained;
    for (int i = 0; i < t->part; i++) most = fabsf(x[i]) > most ? fabsf(x[i]) : most;
    if (!(most > TINY)) return 0;
    // One more start: the largest number is of the least level, as where all are alike.
    float inverse = (float)t->levels[0][t->n_levels - 1] * t->first / most;
    for (int i = 0; i <= t->n_starts; i++, inverse *= t->factor) {
        const float d = i < t->n_starts ? 1 / inverse : most / fabsf((float)t->levels[0][0]);
        const float improved = improved_scale(h, x, w, d, e, &explained);
        if (explained > best_explained) best = improved, best_explained = explained;
    }
    for (int turn = 0; turn < N_TURNS && best > 0; turn++) {
        const float improved = improved_scale(h, x, w, best, e, &explained);
        if (!(explained > best_explained)) break;
        best = improved, best_explained = explained;
    }
    return best;
}

// A block: d as F16 has it, times the unit; the integers and the eights of each part.
struct points {
    float d;
    int scale[K_MOST_PARTS];
    struct eight eights[BLOCK_256 / EIGHT];
    float cost;
};

static void choose_scales(const struct halves *h, struct points *b, const float *x, const float *w, int n_flips) {
    const struct point_type *const t = h->type;
    b->cost = 0;
    for (int p = 0; p < BLOCK_256 / t->part; p++, x += t->part, w += t->part) {
        const int s = b->scale[p];
        struct eight e[PART_EIGHTS], *const found = b->eights + p * t->part / EIGHT;
        float best = INFINITY;
        memcpy(e, found, (size_t)(t->part / EIGHT) * sizeof *e);
        for (int try = s - 1; try <= s + 1; try++) {
            if (try < 0 || try > t->most) continue;
            const float cost = fit_part(h, x, w, b->d * (float)(2 * try + 1), n_flips, e);
            if (!(cost < best)) continue;
            best = cost;
            b->scale[p] = try;
            memcpy(found, e, (size_t)(t->part / EIGHT) * sizeof *e);
        }
        b->cost += best;
    }
}

static float d_rounded(const struct point_type *t, float d) { return t->unit * half_rounded(d / t->unit); }

// Least squares for d.
static void refit(const struct halves *h, struct points *b, const float *x, const float *w) {
    const struct point_type *const t = h->type;
    float xq = 0, qq = 0;
    for (int i = 0; i < BLOCK_256 / EIGHT; i++) {
        const float s = (float)(2 * b->scale[EIGHT * i / t->part] + 1);
        sum_up(t, x + EIGHT * i, w + EIGHT * i, &b->eights[i]);
        xq += s * b->eights[i].xq, qq += s * s * b->eights[i].qq;
    }
    if (qq > 0 && xq > 0) b->d = d_rounded(t, xq / qq);
}

// False: all numbers are zeros, or too small for a scale.
static bool search_points(const struct halves *h, const float *x, const float *w, struct points *best) {
    const struct point_type *const t = h->type;
    float scale[K_MOST_PARTS], most = 0, largest = 0;
    for (int i = 0; i < BLOCK_256; i++) largest = fabsf(x[i]) > largest ? fabsf(x[i]) : largest;
    *best = (struct points){.d = INFINITY};
    if (largest > MOST) return true;
    struct points b = {.d = 0};
    for (int p = 0; p < BLOCK_256 / t->part; p++) {
        scale[p] = search_part(h, x + t->part * p, w + t->part * p, b.eights + p * t->part / EIGHT);
        most = scale[p] > most ? scale[p] : most;
    }
    b.d = d_rounded(t, most / (float)(2 * t->most + 1));
    if (!(b.d > 0)) return false;
    if (!(b.d < INFINITY)) return true;
    for (int p = 0; p < BLOCK_256 / t->part; p++) b.scale[p] = nearest_code(scale[p] - b.d, 2 * b.d, 0, t->most);
    choose_scales(h, &b, x, w, 1);
    *best = b;
    for (int turn = 0; turn < N_TURNS; turn++) {
        refit(h, &b, x, w);
        if (!(b.d > 0) || !(b.d < INFINITY)) break;
        choose_scales(h, &b, x, w, turn == N_TURNS - 1 ? N_REFINED : 1);
        if (!(b.cost < best->cost)) break;
        *best = b;
    }
    return true;
}

// The points of least error are nearer to zero than what they stand for, the more so the more they err, so that what a matrix makes is too small
// throughout. So d becomes the one with which the sum of x q d over the block is that of x^2, weighted by importance (w without the root of
// search_weights(), which has `added`), and a little more. That errs more than the best d, and leaves less between the models' distributions:
// OVER was chosen by these, docs/quantize.md.
static void raise_d(const struct point_type *t, struct points *b, const float *x, const float *w, float added) {
    float xx = 0, xq = 0;
    for (int i = 0; i < BLOCK_256 / EIGHT; i++) {
        const float *const y = x + EIGHT * i;
        float v[EIGHT];
        for (int j = 0; j < EIGHT; j++) {
            const float root = sqrtf(added + y[j] * y[j]);
            v[j] = root > 0 ? w[EIGHT * i + j] / root : 0;
            xx += v[j] * y[j] * y[j];
        }
        sum_up(t, y, v, &b->eights[i]);
        xq += (float)(2 * b->scale[EIGHT * i / t->part] + 1) * b->eights[i].xq;
    }
    if (!(xq > 0) || !(b->d < INFINITY)) return;
    const float wanted = OVER * (xx / xq), most = MOST_RAISED * b->d, d = d_rounded(t, wanted < most ? wanted : most);
    if (d > b->d && d < INFINITY) b->d = d;
}

// Layouts -------------------------------------------------------------------------------------------------------------------

static uint16_t half_d(const struct point_type *t, const struct points *b) { return f16_from_f32(b->d / t->unit); }
static void put_half(uint8_t *p, const struct point_type *t, const struct points *b) { store_u16(p, half_d(t, b)); }
static void put_u32(uint8_t *p, uint32_t v) {
    for (int i = 0; i < 4; i++) p[i] = (uint8_t)(v >> 8 * i);
}
static void put_more(uint8_t *p, int bits, int at) { *p = (uint8_t)(*p | bits << at); }
// Seven bits of signs of each of four eights, and the scale.
static uint32_t signs_and_scale(const struct points *b, int part) {
    uint32_t bits = (uint32_t)b->scale[part] << 28;
    for (int e = 0; e < 4; e++) bits |= (uint32_t)(b->eights[4 * part + e].signs & 127) << 7 * e;
    return bits;
}

static void put_iq2_xxs(const struct points *b, uint8_t *block) {
    put_half(block, &iq2_xxs, b);
    for (int J = 0; J < 8; J++) {
        uint8_t *const grid = block + 2 + 8 * J;
        for (int e = 0; e < 4; e++) grid[e] = (uint8_t)b->eights[4 * J + e].index[0];
        put_u32(grid + 4, signs_and_scale(b, J));
    }
}
static void put_iq2_xs(const struct points *b, uint8_t *block) {
    put_half(block, &iq2_xs, b);
    for (int i = 0; i < 32; i++)
        store_u16(block + 2 + 2 * i, (uint16_t)(b->eights[i].index[0] | (b->eights[i].signs & 127) << 9));
    for (int p = 0; p < 16; p++) put_more(block + 66 + p / 2, b->scale[p], 4 * (p % 2));
}
static void put_iq2_s(const struct points *b, uint8_t *block) {
    put_half(block, &iq2_s, b);
    for (int i = 0; i < 32; i++) {
        block[2 + i] = (uint8_t)b->eights[i].index[0];
        block[34 + i] = b->eights[i].signs;
        put_more(block + 66 + i / 4, b->eights[i].index[0] >> 8, 2 * (i % 4));
    }
    for (int p = 0; p < 16; p++) put_more(block + 74 + p / 2, b->scale[p], 4 * (p % 2));
}
static void put_iq3_xxs(const struct points *b, uint8_t *block) {
    put_half(block, &iq3_xxs, b);
    for (int i = 0; i < 64; i++) block[2 + i] = (uint8_t)b->eights[i / 2].index[i % 2];
    for (int J = 0; J < 8; J++) put_u32(block + 66 + 4 * J, signs_and_scale(b, J));
}
static void put_iq3_s(const struct points *b, uint8_t *block) {
    put_half(block, &iq3_s, b);
    for (int i = 0; i < 64; i++) {
        block[2 + i] = (uint8_t)b->eights[i / 2].index[i % 2];
        put_more(block + 66 + i / 8, b->eights[i / 2].index[i % 2] >> 8, i % 8);
    }
    for (int i = 0; i < 32; i++) block[74 + i] = b->eights[i].signs;
    for (int J = 0; J < 8; J++) put_more(block + 106 + J / 2, b->scale[J], 4 * (J % 2));
}
static void put_iq1_s(const struct points *b, uint8_t *block) {
    put_half(block, &iq1_s, b);
    for (int i = 0; i < 32; i++) block[2 + i] = (uint8_t)b->eights[i].index[0];
    for (int J = 0; J < 8; J++) {
        int v = b->scale[J] << 12 | b->eights[4 * J].list << 15;
        for (int e = 0; e < 4; e++) v |= b->eights[4 * J + e].index[0] >> 8 << 3 * e;
        store_u16(block + 34 + 2 * J, (uint16_t)v);
    }
}
static void put_iq1_m(const struct points *b, uint8_t *block) {
    const uint16_t d = half_d(&iq1_m, b);
    for (int i = 0; i < 32; i++) {
        block[i] = (uint8_t)b->eights[i].index[0];
        put_more(block + 32 + i / 2, b->eights[i].index[0] >> 8 | b->eights[i].list << 3, 4 * (i % 2));
    }
    for (int i = 0; i < 4; i++) {
        int v = (d >> 4 * i & 15) << 12;
        for (int j = 0; j < 4; j++) v |= b->scale[4 * i + j] << 3 * j;
        store_u16(block + 48 + 2 * i, (uint16_t)v);
    }
}

// flatness: as in k_quantize().
static void quantize(const struct point_type *t, const float *src, const float *importance, uint8_t *block, size_t n,
                     size_t block_bytes, float flatness, void (*put)(const struct points *b, uint8_t *block)) {
    struct halves h;
    float w[BLOCK_256];
    halves_of(t, &h);
    for (size_t i = 0; i < n; i += BLOCK_256, block += block_bytes) {
        const float *const x = src + i;
        struct points b;
        const float added = flatness * mean_square_of(x, BLOCK_256);
        search_weights(x, importance ? importance + i : NULL, BLOCK_256, added, w);
        memset(block, 0, block_bytes);
        if (!search_points(&h, x, w, &b)) continue;
        raise_d(t, &b, x, w, added);
        put(&b, block);
    }
}

#define DEFINE_QUANTIZE(type, bytes, flatness)                                                                       \
    void type##_quantize_row(const float *src, const float *importance, void *dst, size_t n) {                       \
        quantize(&type, src, importance, dst, n, bytes, flatness, put_##type);                                       \
    }
DEFINE_QUANTIZE(iq2_xxs, IQ2_XXS_BYTES, 1)
DEFINE_QUANTIZE(iq2_xs, IQ2_XS_BYTES, 1)
DEFINE_QUANTIZE(iq2_s, IQ2_S_BYTES, 1)
DEFINE_QUANTIZE(iq3_xxs, IQ3_XXS_BYTES, 2)
DEFINE_QUANTIZE(iq3_s, IQ3_S_BYTES, 2)
DEFINE_QUANTIZE(iq1_s, IQ1_S_BYTES, 2)
DEFINE_QUANTIZE(iq1_m, IQ1_M_BYTES, 2)
