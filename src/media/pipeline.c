// media/pipeline.c - see pipeline.h.
#include "media/pipeline.h"
#include "base/checked.h"
#include "base/mem.h"
#include <math.h>
#include <stdbool.h>
#include <string.h>

// ---- steps ------------------------------------------------------------------------------------------------------------

static rn_status pad_square(const struct pipeline *p, const struct bitmap *from, struct bitmap *to, rn_error *err) {
    const uint32_t side = from->width > from->height ? from->width : from->height;
    const rn_status st = bitmap_begin(to, side, side, err);
    if (st != RN_OK) return st;
    uint8_t color[3];
    for (int c = 0; c < 3; c++) color[c] = (uint8_t)fmin(255, fmax(0, p->mean[c] * 255));
    bitmap_fill(to, color);
    bitmap_paste(from, (side - from->width) / 2, (side - from->height) / 2, to);
    return RN_OK;
}

static rn_status resize_edge(const struct pipeline_step *s, const struct bitmap *from, struct bitmap *to,
                             rn_error *err) {
    const bool is_tall = from->width <= from->height;
    const uint64_t longer = is_tall ? from->height : from->width, shorter = is_tall ? from->width : from->height;
    const uint64_t other = s->width * longer / shorter;
    return bitmap_resize(from, s->filter, is_tall ? s->width : other, is_tall ? other : s->width, to, err);
}

// Idefics3's: the ratio is rounded to a double first. PIPELINE_MAX_SIDE is its own bound of the longer side, too.
static rn_status resize_long(const struct pipeline_step *s, const struct bitmap *from, struct bitmap *to,
                             rn_error *err) {
    const double ratio = (double)from->width / from->height;
    const bool is_wide = from->width >= from->height;
    const uint64_t by_ratio = (uint64_t)(is_wide ? s->width / ratio : s->width * ratio);
    const uint64_t even = by_ratio + by_ratio % 2, other = even > 1 ? even : 1;
    return bitmap_resize(from, s->filter, is_wide ? s->width : other, is_wide ? other : s->width, to, err);
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
    return bitmap_resize(from, s->filter, (uint64_t)to_width, (uint64_t)to_height, to, err);
}

// The same for a frame of a video. Of all frames together: Qwen3-VL's, which first enlarges what is smaller than a block, and counts frames in whole patches.
static rn_status resize_frame(const struct pipeline *p, const struct pipeline_step *s, const struct picture *video,
                              const struct bitmap *from, struct bitmap *to, rn_error *err) {
    const double n = fmax(video->n_frames, p->patch_frames),
                 factor = s->width; // fewer count as the patch that they fill
    const double share = p->area_of_all ? n : 1, of_frame = s->max_pixels;
    const double least = p->video_min_pixels ? p->video_min_pixels : s->min_pixels,
                 most = fmin(p->video_max_pixels ? p->video_max_pixels : s->max_pixels,
                             fmin(of_frame * share, PIPELINE_MOST_VIDEO_PIXELS * share / n));
    const double counted = p->area_of_all ? rint(n / p->patch_frames) * p->patch_frames : 1;
    double width = from->width, height = from->height;
    if (p->area_of_all && fmin(width, height) < factor) {
        const double scale = fmax(factor / height, factor / width);
        width = floor(width * scale), height = floor(height * scale);
    }
    double to_width = rint(width / factor) * factor, to_height = rint(height / factor) * factor;
    if (counted * to_width * to_height > most) {
        const double beta = sqrt(share * height * width / most);
        to_width = fmax(factor, floor(width / beta / factor) * factor);
        to_height = fmax(factor, floor(height / beta / factor) * factor);
    } else if (counted * to_width * to_height < least) {
        const double beta = sqrt(least / (share * height * width));
        to_width = ceil(width * beta / factor) * factor;
        to_height = ceil(height * beta / factor) * factor;
    }
    return bitmap_resize(from, s->filter, (uint64_t)to_width, (uint64_t)to_height, to, err);
}

static double up_to_multiple(double n, double of) { return (floor((n - 1) / of) + 1) * of; }

static rn_status resize_within(const struct pipeline *p, const struct pipeline_step *s, const struct bitmap *from,
                               struct bitmap *to, rn_error *err) {
    const double block = fmax(1, p->patch_size * p->merge_size); // without a tower: any size
    double ratio = fmax(1, fmax((double)from->height / s->height, (double)from->width / s->width)), width, height;
    for (;; ratio *= 1.01) { // where sides of whole blocks are still too many pixels
        width = up_to_multiple(fmax(1, floor(from->width / ratio)), block);
        height = up_to_multiple(fmax(1, floor(from->height / ratio)), block);
        if (width * height <= s->max_pixels || (width <= block && height <= block)) break;
    }
    return bitmap_resize(from, s->filter, (uint64_t)width, (uint64_t)height, to, err);
}

static int64_t half_down(int64_t n) { return n >= 0 ? n / 2 : -((1 - n) / 2); }

static rn_status crop(const struct pipeline_step *s, const struct bitmap *from, struct bitmap *to, rn_error *err) {
    const rn_status st = bitmap_begin(to, s->width, s->height, err);
    if (st != RN_OK) return st;
    memset(to->own, 0, 3 * (size_t)s->width * s->height);
    bitmap_paste(from, -half_down((int64_t)from->width - s->width), -half_down((int64_t)from->height - s->height),
                 to);
    return RN_OK;
}

static rn_status run_step(const struct pipeline *p, const struct pipeline_step *s, const struct bitmap *from,
                          struct bitmap *to, rn_error *err) {
    switch (s->kind) {
    case PIPELINE_PAD_SQUARE: return pad_square(p, from, to, err);
    case PIPELINE_RESIZE: return bitmap_resize(from, s->filter, s->width, s->height, to, err);
    case PIPELINE_RESIZE_EDGE: return resize_edge(s, from, to, err);
    case PIPELINE_RESIZE_LONG: return resize_long(s, from, to, err);
    case PIPELINE_RESIZE_AREA: return resize_area(s, from, to, err);
    case PIPELINE_RESIZE_WITHIN: return resize_within(p, s, from, to, err);
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

// A part of a bitmap, its corner at left and top, as [3][height][width].
static void put_planes(const struct bitmap *b, size_t left, size_t top, size_t width, size_t height,
                       float levels[3][256], float *to) {
    for (size_t c = 0; c < 3; c++)
        for (size_t y = top; y < top + height; y++)
            for (size_t x = left; x < left + width; x++) *to++ = levels[c][b->rgb[3 * (y * b->width + x) + c]];
}

// b: [patch_frames], of one size
static void put_patch(const struct pipeline *p, const struct bitmap *const *b, float levels[3][256], size_t left,
                      size_t top, float *to) {
    const size_t side = p->patch_size;
    for (size_t c = 0; c < 3; c++)
        for (size_t frame = 0; frame < p->patch_frames; frame++)
            for (size_t y = 0; y < side; y++)
                for (size_t x = 0; x < side; x++)
                    *to++ = levels[c][b[frame]->rgb[3 * ((top + y) * b[frame]->width + left + x) + c]];
}

static void put_patches(const struct pipeline *p, const struct bitmap *const *frames, float levels[3][256],
                        size_t n_numbers, float *to) {
    const struct bitmap *const b = frames[0];
    const size_t side = p->patch_size, block = side * p->merge_size;
    for (size_t by = 0; by < b->height; by += block)
        for (size_t bx = 0; bx < b->width; bx += block)
            for (size_t y = 0; y < block; y += side)
                for (size_t x = 0; x < block; x += side, to += n_numbers)
                    put_patch(p, frames, levels, bx + x, by + y, to);
}

static rn_status check_blocks(const struct pipeline *p, const struct bitmap *b, rn_error *err) {
    const size_t side = p->patch_size;
    if (!side || !(b->width % (side * p->merge_size) || b->height % (side * p->merge_size))) return RN_OK;
    return fail(err, RN_E_LIMIT, "%u x %u pixels are no whole number of blocks of %zu", b->width, b->height,
                side * p->merge_size);
}

static rn_status put_numbers(const struct pipeline *p, const struct bitmap *b, struct pixels *out, rn_error *err) {
    float levels[3][256];
    const size_t side = p->patch_size, frames = side ? p->patch_frames : 1;
    const struct bitmap *equal[PIPELINE_MAX_PATCH_FRAMES];
    const rn_status st = check_blocks(p, b, err);
    if (st != RN_OK) return st;
    for (size_t i = 0; i < PIPELINE_MAX_PATCH_FRAMES; i++) equal[i] = b;
    out->values = mem_alloc(3 * (size_t)b->width * b->height * frames * sizeof *out->values);
    if (!out->values) return fail(err, RN_E_NOMEM, "out of memory");
    make_levels(p, levels);
    if (!side) {
        out->n_dims = 3;
        out->shape[0] = 3, out->shape[1] = b->height, out->shape[2] = b->width;
        put_planes(b, 0, 0, b->width, b->height, levels, out->values);
    } else {
        out->n_dims = 2;
        out->n_rows = b->height / side, out->n_cols = b->width / side;
        out->shape[0] = out->n_rows * out->n_cols, out->shape[1] = 3 * frames * side * side;
        put_patches(p, equal, levels, out->shape[1], out->values);
    }
    return RN_OK;
}

// Views of side x side pixels each, the whole picture first or last.
static rn_status put_views(const struct pipeline *p, const struct tiles *t, struct pixels *out, rn_error *err) {
    const size_t side = p->tiling.side, n_tiles = (size_t)t->rows * t->cols, n_each = 3 * side * side;
    float levels[3][256];
    out->n_views = n_tiles + 1;
    out->tile_rows = t->rows, out->tile_cols = t->cols;
    out->n_dims = 4;
    out->shape[0] = out->n_views, out->shape[1] = 3, out->shape[2] = out->shape[3] = side;
    out->values = mem_alloc(out->n_views * n_each * sizeof *out->values);
    if (!out->values) return fail(err, RN_E_NOMEM, "out of memory");
    make_levels(p, levels);
    float *const tiles = out->values + (t->whole_is_last ? 0 : n_each);
    put_planes(&t->whole, 0, 0, side, side, levels, out->values + (t->whole_is_last ? n_tiles * n_each : 0));
    for (size_t i = 0; i < n_tiles; i++)
        put_planes(&t->all, i % t->cols * side, i / t->cols * side, side, side, levels, tiles + i * n_each);
    return RN_OK;
}

static rn_status run_tiling(const struct pipeline *p, const struct bitmap *b, bool is_alone, struct pixels *out,
                            rn_error *err) {
    struct tiles tiles = {.whole = *b}; // without tiles: the steps' own view
    const bool has_tiles = is_alone || !p->tiling.only_alone;
    rn_status st = has_tiles ? tiling_run(&p->tiling, b, &tiles, err) : RN_OK;
    if (st == RN_OK && !has_tiles && (b->width != p->tiling.side || b->height != p->tiling.side))
        st = fail(err, RN_E_INTERNAL, "a view of %u x %u pixels", b->width, b->height);
    if (st == RN_OK) st = put_views(p, &tiles, out, err);
    if (has_tiles) tiles_free(&tiles);
    return st;
}

// ---- videos -----------------------------------------------------------------------------------------------------------

static rn_status resize_one(const struct pipeline *p, const struct picture *in, size_t i, struct bitmap *to,
                            rn_error *err) {
    const struct bitmap from = {in->width, in->height, in->rgb + i * 3 * in->width * in->height, NULL};
    const rn_status st = resize_frame(p, &p->steps[0], in, &from, to, err);
    return st == RN_OK ? check_blocks(p, to, err) : st;
}

// Memory for the numbers of all views, and their seconds: the middle between those of the first and the last frame.
static rn_status begin_video(const struct pipeline *p, const struct picture *in, const struct bitmap *frame,
                             struct pixels *out, rn_error *err) {
    const size_t side = p->patch_size, n_frames = p->patch_frames, last = in->n_frames - 1;
    out->n_views = (in->n_frames + n_frames - 1) / n_frames;
    out->n_rows = frame->height / side, out->n_cols = frame->width / side;
    out->n_dims = 2;
    out->shape[0] = out->n_views * out->n_rows * out->n_cols, out->shape[1] = 3 * n_frames * side * side;
    const size_t n = round_up(out->shape[0] * out->shape[1] * sizeof *out->values, sizeof(double));
    out->values = mem_alloc(n + out->n_views * sizeof *out->seconds);
    if (!out->values) return fail(err, RN_E_NOMEM, "out of memory for %zu frames", last + 1);
    double *const seconds = (double *)(void *)((uint8_t *)out->values + n);
    for (size_t i = 0; i < out->n_views; i++) {
        const size_t end = (i + 1) * n_frames - 1;
        seconds[i] = (in->seconds[i * n_frames] + in->seconds[end < last ? end : last]) / 2;
    }
    out->seconds = seconds;
    out->view_seconds = (double)n_frames / in->fps;
    return RN_OK;
}

static rn_status put_view(const struct pipeline *p, const struct picture *in, size_t view, float levels[3][256],
                          struct pixels *out, rn_error *err) {
    struct bitmap frames[PIPELINE_MAX_PATCH_FRAMES] = {0};
    const struct bitmap *list[PIPELINE_MAX_PATCH_FRAMES] = {0};
    rn_status st = RN_OK;
    for (size_t f = 0; st == RN_OK && f < p->patch_frames; f++) {
        const size_t i = view * p->patch_frames + f;
        list[f] = i < in->n_frames ? &frames[f] : list[f - 1];
        if (i < in->n_frames) st = resize_one(p, in, i, &frames[f], err);
    }
    if (st == RN_OK && !out->values) st = begin_video(p, in, list[0], out, err);
    if (st == RN_OK)
        put_patches(p, list, levels, out->shape[1],
                    out->values + view * (out->shape[0] / out->n_views) * out->shape[1]);
    for (size_t f = 0; f < PIPELINE_MAX_PATCH_FRAMES; f++) bitmap_free(&frames[f]);
    return st;
}

static rn_status run_video(const struct pipeline *p, const struct picture *in, struct pixels *out, rn_error *err) {
    float levels[3][256];
    *out = (struct pixels){.n_views = 1, .width = in->width, .height = in->height};
    rn_status st = RN_OK;
    if (!p->takes_video) st = fail(err, RN_E_UNSUPPORTED, "the model takes pictures, but no videos here");
    make_levels(p, levels);
    for (size_t i = 0; st == RN_OK && i < out->n_views; i++) st = put_view(p, in, i, levels, out, err);
    if (st == RN_OK) return RN_OK;
    mem_free(out->values);
    *out = (struct pixels){0};
    return fail_in(err, st, "preprocessing a video of %u frames of %u x %u", in->n_frames, in->width, in->height);
}

size_t pipeline_choose_frames(const struct pipeline *p, double want_fps, uint32_t want_n, uint32_t n_all, double fps,
                              uint32_t *at) {
    struct video_frames f = p->video_frames.fps > 0 ? p->video_frames : video_frames_usual();
    if (want_fps > 0) f.fps = want_fps, f.n = 0;
    if (want_n) f.n = want_n;
    return video_frames_choose(&f, p->area_of_all, p->patch_frames, n_all, fps, at);
}

rn_status pipeline_run(const struct pipeline *p, const struct picture *in, bool is_alone, struct pixels *out,
                       rn_error *err) {
    struct bitmap now = {in->width, in->height, in->rgb, NULL};
    const bool has_tiles = p->tiling.kind != TILING_NONE;
    // Steps in place of tiles, not before them.
    const bool has_steps = !p->tiling.only_alone || !is_alone;
    rn_status st = RN_OK;
    if (in->n_frames) return run_video(p, in, out, err);
    *out = (struct pixels){.n_views = 1, .width = in->width, .height = in->height};
    for (size_t i = 0; i < p->n_steps && has_steps && st == RN_OK; i++) {
        struct bitmap next = {0};
        st = run_step(p, &p->steps[i], &now, &next, err);
        bitmap_free(&now);
        now = next;
    }
    if (st == RN_OK) st = has_tiles ? run_tiling(p, &now, is_alone, out, err) : put_numbers(p, &now, out, err);
    bitmap_free(&now);
    if (st == RN_OK) return RN_OK;
    *out = (struct pixels){0};
    return fail_in(err, st, "preprocessing a picture of %u x %u", in->width, in->height);
}
