// media/tiling.c - see tiling.h. Sizes are computed in doubles and truncated where transformers does so.
#include "media/tiling.h"
#include <assert.h>
#include <math.h>

static rn_status check_count(const struct tiles *t, rn_error *err) {
    if ((uint64_t)t->rows * t->cols <= TILING_MAX_TILES) return RN_OK;
    return fail(err, RN_E_LIMIT, "would be %u x %u tiles, limit %d", t->cols, t->rows, TILING_MAX_TILES);
}

static uint32_t multiple_from(double n, uint32_t side) { return (uint32_t)ceil(n / side) * side; }

static rn_status split(const struct tiling *t, const struct bitmap *in, struct tiles *out, rn_error *err) {
    const double ratio = (double)in->width / in->height;
    const bool is_wide = in->width >= in->height;
    const uint32_t longer = multiple_from(is_wide ? in->width : in->height, t->side);
    const uint32_t other = multiple_from(floor(is_wide ? longer / ratio : longer * ratio), t->side);
    const uint32_t width = is_wide ? longer : other, height = is_wide ? other : longer;
    out->rows = height / t->side, out->cols = width / t->side;
    out->whole_is_last = true;
    rn_status st = check_count(out, err);
    if (st == RN_OK) st = bitmap_resize(in, t->filter, width, height, &out->all, err);
    if (st == RN_OK && out->rows * out->cols > 1)
        return bitmap_resize(&out->all, t->filter, t->side, t->side, &out->whole, err);
    if (st != RN_OK) return st;
    out->whole = out->all;
    out->all = (struct bitmap){0};
    out->rows = out->cols = 0;
    return RN_OK;
}

// The largest part of the picture's pixels; of equal ones the least waste; of these the first.
static struct tiling_size best_size(const struct tiling *t, const struct bitmap *in) {
    struct tiling_size best = t->sizes[0];
    int64_t most = 0, least_waste = INT64_MAX;
    for (size_t i = 0; i < t->n_sizes; i++) {
        const struct tiling_size s = t->sizes[i];
        const double scale = fmin((double)s.width / in->width, (double)s.height / in->height);
        const int64_t scaled = (int64_t)(in->width * scale) * (int64_t)(in->height * scale),
                      own = (int64_t)in->width * in->height, kept = scaled < own ? scaled : own,
                      waste = (int64_t)s.width * s.height - kept;
        if (kept > most || (kept == most && waste < least_waste)) most = kept, least_waste = waste, best = s;
    }
    return best;
}

static rn_status lay_in_best_size(const struct tiling *t, const struct bitmap *in, struct tiles *out, rn_error *err) {
    const struct tiling_size to = best_size(t, in);
    const double by_width = (double)to.width / in->width, by_height = (double)to.height / in->height;
    const bool fills_width = by_width < by_height;
    const uint32_t width = fills_width ? to.width : (uint32_t)fmin(ceil(in->width * by_height), to.width);
    const uint32_t height = fills_width ? (uint32_t)fmin(ceil(in->height * by_width), to.height) : to.height;
    static const uint8_t black[3];
    struct bitmap scaled = {0};
    out->rows = to.height / t->side, out->cols = to.width / t->side;
    rn_status st = check_count(out, err);
    if (st == RN_OK) st = bitmap_resize(in, t->filter, t->side, t->side, &out->whole, err);
    if (st == RN_OK) st = bitmap_resize(in, t->filter, width, height, &scaled, err);
    if (st == RN_OK) st = bitmap_begin(&out->all, to.width, to.height, err);
    if (st == RN_OK) {
        bitmap_fill(&out->all, black);
        bitmap_paste(&scaled, (to.width - width) / 2, (to.height - height) / 2, &out->all);
    }
    bitmap_free(&scaled);
    return st;
}

// So many parts of the longer side as it is longer, halves up, each of at least so many pixels; 0: none.
static uint32_t n_parts(const struct tiling *t, uint32_t longer, uint32_t shorter) {
    if ((double)longer / shorter < t->least_ratio) return 0;
    double n = fmin(floor((double)longer / t->least_part), floor((double)longer / shorter + 0.5));
    n = fmin(t->most_parts, fmax(2, n));
    const double part = ceil(longer / n);
    return fmin(part, shorter) < t->least_part ? 0 : (uint32_t)n;
}

// Part i of n along a side, which ends before the side does.
static rn_status put_part(const struct tiling *t, const struct bitmap *in, bool is_wide, uint32_t i, uint32_t n,
                          struct bitmap *to, rn_error *err) {
    const uint32_t longer = is_wide ? in->width : in->height, each = (longer + n - 1) / n;
    const int64_t first = (int64_t)i * each;
    const uint64_t left = first < longer ? (uint64_t)(longer - first) : 0, part = left < each ? left : each;
    struct bitmap cut = {0}, scaled = {0};
    rn_status st = bitmap_begin(&cut, is_wide ? part : in->width, is_wide ? in->height : part, err);
    if (st == RN_OK) {
        bitmap_paste(in, is_wide ? -first : 0, is_wide ? 0 : -first, &cut);
        st = bitmap_resize(&cut, t->filter, t->side, t->side, &scaled, err);
    }
    if (st == RN_OK)
        bitmap_paste(&scaled, is_wide ? (int64_t)i * t->side : 0, is_wide ? 0 : (int64_t)i * t->side, to);
    bitmap_free(&cut);
    bitmap_free(&scaled);
    return st;
}

static rn_status cut_parts(const struct tiling *t, const struct bitmap *in, struct tiles *out, rn_error *err) {
    const bool is_wide = in->width >= in->height;
    const uint32_t n = is_wide ? n_parts(t, in->width, in->height) : n_parts(t, in->height, in->width);
    rn_status st = bitmap_resize(in, t->filter, t->side, t->side, &out->whole, err);
    if (st != RN_OK || n == 0) return st;
    out->rows = is_wide ? 1 : n, out->cols = is_wide ? n : 1;
    st = check_count(out, err);
    if (st == RN_OK) st = bitmap_begin(&out->all, (uint64_t)out->cols * t->side, (uint64_t)out->rows * t->side, err);
    for (uint32_t i = 0; st == RN_OK && i < n; i++) st = put_part(t, in, is_wide, i, n, &out->all, err);
    return st;
}

// Of equally close ones the one with more tiles, if half of their pixels are fewer than the picture has.
static rn_status lay_in_closest(const struct tiling *t, const struct bitmap *in, struct tiles *out, rn_error *err) {
    const double ratio = (double)in->width / in->height, area = (double)in->width * in->height,
                 tile = (double)t->side * t->side;
    double least = INFINITY;
    out->rows = out->cols = 1, out->whole_is_last = true;
    for (uint32_t n = t->least_tiles; n <= t->most_tiles; n++)
        for (uint32_t cols = 1; cols <= n; cols++) {
            const uint32_t rows = n / cols;
            const double off = fabs(ratio - (double)cols / rows);
            if (n % cols || off > least || (off == least && !(area > 0.5 * tile * n))) continue;
            least = off;
            out->rows = rows, out->cols = cols;
        }
    rn_status st = check_count(out, err);
    if (st == RN_OK) st = bitmap_resize(in, t->filter, t->side, t->side, &out->whole, err);
    if (st == RN_OK && out->rows * out->cols > 1)
        return bitmap_resize(in, t->filter, (uint64_t)out->cols * t->side, (uint64_t)out->rows * t->side, &out->all,
                             err);
    out->rows = out->cols = 0;
    return st;
}

rn_status tiling_run(const struct tiling *t, const struct bitmap *in, struct tiles *out, rn_error *err) {
    assert(t->kind != TILING_NONE && t->side > 0);
    *out = (struct tiles){0};
    static rn_status (*const by_kind[])(const struct tiling *, const struct bitmap *, struct tiles *,
                                        rn_error *) = {[TILING_SPLIT] = split,
                                                       [TILING_BEST_SIZE] = lay_in_best_size,
                                                       [TILING_PARTS] = cut_parts,
                                                       [TILING_CLOSEST] = lay_in_closest};
    const rn_status st = by_kind[t->kind](t, in, out, err);
    if (st != RN_OK) tiles_free(out);
    return st;
}

void tiles_free(struct tiles *t) {
    bitmap_free(&t->all);
    bitmap_free(&t->whole);
    *t = (struct tiles){0};
}
