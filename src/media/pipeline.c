// media/pipeline.c - see pipeline.h.
#include "media/pipeline.h"
#include "base/mem.h"
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

// A picture on its way. `own` is NULL as long as it is the caller's.
struct bitmap {
    uint32_t width, height;
    const uint8_t *rgb;
    uint8_t *own;
};

static rn_status bitmap_begin(struct bitmap *b, uint64_t width, uint64_t height, rn_error *err) {
    if (width == 0 || height == 0 || width > PICTURE_MAX_PIXELS || height > PICTURE_MAX_PIXELS ||
        width * height > PICTURE_MAX_PIXELS)
        return fail(err, RN_E_LIMIT, "would be %" PRIu64 " x %" PRIu64 " pixels: 1 to %d are made", width, height,
                    PICTURE_MAX_PIXELS);
    b->own = mem_alloc((size_t)(3 * width * height));
    if (!b->own) return fail(err, RN_E_NOMEM, "out of memory");
    b->rgb = b->own;
    b->width = (uint32_t)width, b->height = (uint32_t)height;
    return RN_OK;
}

// ---- steps ------------------------------------------------------------------------------------------------------------

// Copies what both have in common; `left` and `top`: where the source's corner lies in the target.
static void paste(const struct bitmap *from, int64_t left, int64_t top, struct bitmap *to) {
    const int64_t x0 = left > 0 ? left : 0, y0 = top > 0 ? top : 0;
    const int64_t x1 = left + from->width < to->width ? left + from->width : to->width;
    const int64_t y1 = top + from->height < to->height ? top + from->height : to->height;
    for (int64_t y = y0; y < y1 && x0 < x1; y++)
        memcpy(to->own + 3 * (y * to->width + x0), from->rgb + 3 * ((y - top) * from->width + x0 - left),
               (size_t)(3 * (x1 - x0)));
}

static rn_status pad_square(const struct pipeline *p, const struct bitmap *from, struct bitmap *to, rn_error *err) {
    const uint32_t side = from->width > from->height ? from->width : from->height;
    const rn_status st = bitmap_begin(to, side, side, err);
    if (st != RN_OK) return st;
    uint8_t color[3];
    for (int c = 0; c < 3; c++) color[c] = (uint8_t)fmin(255, fmax(0, p->mean[c] * 255));
    for (size_t i = 0; i < (size_t)side * side; i++) memcpy(to->own + 3 * i, color, 3);
    paste(from, (side - from->width) / 2, (side - from->height) / 2, to);
    return RN_OK;
}

static rn_status resize(const struct pipeline_step *s, const struct bitmap *from, uint64_t width, uint64_t height,
                        struct bitmap *to, rn_error *err) {
    const rn_status st = bitmap_begin(to, width, height, err);
    return st == RN_OK
               ? resize_rgb(from->rgb, from->width, from->height, s->filter, to->own, to->width, to->height, err)
               : st;
}

static rn_status resize_edge(const struct pipeline_step *s, const struct bitmap *from, struct bitmap *to,
                             rn_error *err) {
    const bool is_tall = from->width <= from->height;
    const uint64_t longer = is_tall ? from->height : from->width, shorter = is_tall ? from->width : from->height;
    const uint64_t other = s->width * longer / shorter;
    return resize(s, from, is_tall ? s->width : other, is_tall ? other : s->width, to, err);
}

// Qwen2-VL's smart_resize(): to the nearest multiple, halves to the even one; else by area, down or up.
static rn_status resize_area(const struct pipeline_step *s, const struct bitmap *from, struct bitmap *to,
                             rn_error *err) {
    const double factor = s->width, width = from->width, height = from->height;
    double to_width = rint(width / factor) * factor, to_height = rint(height / factor) * factor;
    if (to_width * to_height > s->max_pixels) {
        const double beta = sqrt(height * width / s->max_pixels);
        to_width = fmax(factor, floor(width / beta / factor) * factor);
        to_height = fmax(factor, floor(height / beta / factor) * factor);
    } else if (to_width * to_height < s->min_pixels) {
        const double beta = sqrt(s->min_pixels / (height * width));
        to_width = ceil(width * beta / factor) * factor;
        to_height = ceil(height * beta / factor) * factor;
    }
    return resize(s, from, (uint64_t)to_width, (uint64_t)to_height, to, err);
}

static int64_t half_down(int64_t n) { return n >= 0 ? n / 2 : -((1 - n) / 2); }

static rn_status crop(const struct pipeline_step *s, const struct bitmap *from, struct bitmap *to, rn_error *err) {
    const rn_status st = bitmap_begin(to, s->width, s->height, err);
    if (st != RN_OK) return st;
    memset(to->own, 0, 3 * (size_t)s->width * s->height);
    paste(from, -half_down((int64_t)from->width - s->width), -half_down((int64_t)from->height - s->height), to);
    return RN_OK;
}

static rn_status run_step(const struct pipeline *p, const struct pipeline_step *s, const struct bitmap *from,
                          struct bitmap *to, rn_error *err) {
    switch (s->kind) {
    case PIPELINE_PAD_SQUARE: return pad_square(p, from, to, err);
    case PIPELINE_RESIZE: return resize(s, from, s->width, s->height, to, err);
    case PIPELINE_RESIZE_EDGE: return resize_edge(s, from, to, err);
    case PIPELINE_RESIZE_AREA: return resize_area(s, from, to, err);
    case PIPELINE_CROP: return crop(s, from, to, err);
    }
    return fail(err, RN_E_INTERNAL, "unknown step");
}

// ---- numbers ----------------------------------------------------------------------------------------------------------

// Of the 256 bytes in each channel: as NumPy computes it, the product in double, rounded to float, the rest in float.
static void make_levels(const struct pipeline *p, float levels[3][256]) {
    for (int c = 0; c < 3; c++)
        for (int i = 0; i < 256; i++) {
            const float x = (float)(i * p->rescale);
            levels[c][i] = p->normalizes ? (x - (float)p->mean[c]) / (float)p->std[c] : x;
        }
}

static void put_planes(const struct bitmap *b, float levels[3][256], float *to) {
    const size_t n = (size_t)b->width * b->height;
    for (size_t c = 0; c < 3; c++)
        for (size_t i = 0; i < n; i++) to[c * n + i] = levels[c][b->rgb[3 * i + c]];
}

static void put_patch(const struct pipeline *p, const struct bitmap *b, float levels[3][256], size_t left, size_t top,
                      float *to) {
    const size_t side = p->patch_size;
    for (size_t c = 0; c < 3; c++)
        for (size_t frame = 0; frame < p->patch_frames; frame++)
            for (size_t y = 0; y < side; y++)
                for (size_t x = 0; x < side; x++)
                    *to++ = levels[c][b->rgb[3 * ((top + y) * b->width + left + x) + c]];
}

static void put_patches(const struct pipeline *p, const struct bitmap *b, float levels[3][256], size_t n_numbers,
                        float *to) {
    const size_t side = p->patch_size, block = side * p->merge_size;
    for (size_t by = 0; by < b->height; by += block)
        for (size_t bx = 0; bx < b->width; bx += block)
            for (size_t y = 0; y < block; y += side)
                for (size_t x = 0; x < block; x += side, to += n_numbers) put_patch(p, b, levels, bx + x, by + y, to);
}

static rn_status put_numbers(const struct pipeline *p, const struct bitmap *b, struct pixels *out, rn_error *err) {
    float levels[3][256];
    const size_t side = p->patch_size, frames = side ? p->patch_frames : 1;
    if (side && (b->width % (side * p->merge_size) || b->height % (side * p->merge_size)))
        return fail(err, RN_E_LIMIT, "%u x %u pixels are no whole number of blocks of %zu", b->width, b->height,
                    side * p->merge_size);
    out->values = mem_alloc(3 * (size_t)b->width * b->height * frames * sizeof *out->values);
    if (!out->values) return fail(err, RN_E_NOMEM, "out of memory");
    make_levels(p, levels);
    if (!side) {
        out->n_dims = 3;
        out->shape[0] = 3, out->shape[1] = b->height, out->shape[2] = b->width;
        put_planes(b, levels, out->values);
    } else {
        out->n_dims = 2;
        out->n_rows = b->height / side, out->n_cols = b->width / side;
        out->shape[0] = out->n_rows * out->n_cols, out->shape[1] = 3 * frames * side * side;
        put_patches(p, b, levels, out->shape[1], out->values);
    }
    return RN_OK;
}

rn_status pipeline_run(const struct pipeline *p, const struct picture *in, struct pixels *out, rn_error *err) {
    struct bitmap now = {in->width, in->height, in->rgb, NULL};
    rn_status st = RN_OK;
    *out = (struct pixels){0};
    for (size_t i = 0; i < p->n_steps && st == RN_OK; i++) {
        struct bitmap next = {0};
        st = run_step(p, &p->steps[i], &now, &next, err);
        mem_free(now.own);
        now = next;
    }
    if (st == RN_OK) st = put_numbers(p, &now, out, err);
    mem_free(now.own);
    return st == RN_OK ? RN_OK : fail_in(err, st, "preprocessing a picture of %u x %u", in->width, in->height);
}
