// formats/folder/preprocessor.c - see preprocessor.h. Members and defaults are those of transformers' image processors.
#include "formats/folder/preprocessor.h"
#include "base/file_map.h"
#include "base/mem.h"
#include "base/paths.h"
#include "formats/json/json_tree.h"
#include "formats/limits.h"
#include "formats/package_build.h"
#include <string.h>

#define CLIP_MEAN {0.48145466, 0.4578275, 0.40821073}
#define CLIP_STD  {0.26862954, 0.26130258, 0.27577711}
#define HALF      {0.5, 0.5, 0.5}

// Of each class: what its members are where the file has none.
static const struct family {
    const char *name;             // without Fast or Pil behind it
    enum pipeline_step_kind size; // what a lone number as `size` means
    uint32_t side;                // of `size` and `crop_size`
    bool crops, can_pad;
    bool only_alone; // struct tiling
    bool has_marks;  // struct pipeline
    enum tiling_kind tiling;
    enum resize_filter filter;
    double mean[3], std[3];
} families[] = {
    {"CLIPImageProcessor", PIPELINE_RESIZE_EDGE, .side = 224, .crops = true, .filter = RESIZE_BICUBIC,
     .mean = CLIP_MEAN, .std = CLIP_STD},
    {"CLIPFeatureExtractor", PIPELINE_RESIZE_EDGE, .side = 224, .crops = true, .filter = RESIZE_BICUBIC,
     .mean = CLIP_MEAN, .std = CLIP_STD},
    {"LlavaImageProcessor", PIPELINE_RESIZE_EDGE, .side = 224, .crops = true, .can_pad = true,
     .filter = RESIZE_BICUBIC, .mean = CLIP_MEAN, .std = CLIP_STD},
    {"SiglipImageProcessor", PIPELINE_RESIZE, .side = 224, .filter = RESIZE_BICUBIC, .mean = HALF, .std = HALF},
    {"LlavaNextImageProcessor", PIPELINE_RESIZE_EDGE, .side = 224, .crops = true, .tiling = TILING_BEST_SIZE,
     .filter = RESIZE_BICUBIC, .mean = CLIP_MEAN, .std = CLIP_STD},
    {"LlavaOnevisionImageProcessor", PIPELINE_RESIZE, .side = 384, .only_alone = true, .tiling = TILING_BEST_SIZE,
     .filter = RESIZE_BICUBIC, .mean = CLIP_MEAN, .std = CLIP_STD},
    {"Idefics3ImageProcessor", PIPELINE_RESIZE_LONG, .side = 364, .tiling = TILING_SPLIT, .filter = RESIZE_LANCZOS,
     .mean = HALF, .std = HALF},
    {"SmolVLMImageProcessor", PIPELINE_RESIZE_LONG, .side = 364, .tiling = TILING_SPLIT, .filter = RESIZE_LANCZOS,
     .mean = HALF, .std = HALF},
    {"Gemma3ImageProcessor", PIPELINE_RESIZE, .side = 224, .has_marks = true, .tiling = TILING_PARTS,
     .filter = RESIZE_BILINEAR, .mean = HALF, .std = HALF},
    {"GotOcr2ImageProcessor", PIPELINE_RESIZE, .side = 384, .has_marks = true, .tiling = TILING_CLOSEST,
     .filter = RESIZE_BICUBIC, .mean = CLIP_MEAN, .std = CLIP_STD},
    {"PixtralImageProcessor", PIPELINE_RESIZE_WITHIN, .side = 1024, .has_marks = true, .filter = RESIZE_BICUBIC,
     .mean = CLIP_MEAN, .std = CLIP_STD},
    {"Qwen2VLImageProcessor", PIPELINE_RESIZE_AREA, .filter = RESIZE_BICUBIC, .mean = CLIP_MEAN, .std = CLIP_STD},
};
enum { N_FAMILIES = sizeof families / sizeof *families };
enum { QWEN2_MIN_PIXELS = 56 * 56, QWEN2_MAX_PIXELS = 28 * 28 * 1280 };

// ---- members ----------------------------------------------------------------------------------------------------------

// null is as good as absent.
static const struct json_node *member(const struct json_node *of, const char *name) {
    const struct json_node *const v = json_member(of, name);
    return v && v->kind != JSON_NULL ? v : NULL;
}

// Each leaves *out as it is where the member is absent.
static rn_status read_flag(const struct json_node *of, const char *name, bool *out, rn_error *err) {
    const struct json_node *const v = member(of, name);
    const rn_status st = v ? json_bool(v, out, err) : RN_OK;
    return st == RN_OK ? RN_OK : fail_in(err, st, "member %s", name);
}

static rn_status read_count(const struct json_node *of, const char *name, int64_t max, uint32_t *out, rn_error *err) {
    const struct json_node *const v = member(of, name);
    int64_t n = 0;
    const rn_status st = v ? json_int(v, 1, max, &n, err) : RN_OK;
    if (st != RN_OK) return fail_in(err, st, "member %s", name);
    if (v) *out = (uint32_t)n;
    return RN_OK;
}

static rn_status read_number(const struct json_node *of, const char *name, double min, double max, double *out,
                             rn_error *err) {
    const struct json_node *const v = member(of, name);
    const rn_status st = v ? json_double(v, min, max, out, err) : RN_OK;
    return st == RN_OK ? RN_OK : fail_in(err, st, "member %s", name);
}

static rn_status read_three(const struct json_node *of, const char *name, double min, double max, double out[3],
                            rn_error *err) {
    const struct json_node *const list = member(of, name);
    if (!list) return RN_OK;
    if (list->kind != JSON_ARRAY || list->n_items != 3)
        return fail(err, RN_E_FORMAT, "member %s: must be a list of three numbers", name);
    const struct json_node *v = json_first(list);
    for (int c = 0; c < 3; c++, v = json_next(v)) {
        const rn_status st = json_double(v, min, max, &out[c], err);
        if (st != RN_OK) return fail_in(err, st, "member %s", name);
    }
    return RN_OK;
}

// A number, {"height", "width"} or {"shortest_edge"}: what a picture is resized to, or cropped to.
static rn_status read_sides(const struct json_node *of, const char *name, struct pipeline_step *s, rn_error *err) {
    const struct json_node *const v = member(of, name);
    if (!v) return RN_OK;
    if (v->kind != JSON_OBJECT) {
        const rn_status st = read_count(of, name, PIPELINE_MAX_SIDE, &s->width, err);
        s->height = s->width;
        return st;
    }
    const bool has_edge = member(v, "shortest_edge"), has_sides = member(v, "height") && member(v, "width");
    if (has_edge == has_sides || member(v, "longest_edge") || (has_edge && s->kind == PIPELINE_CROP))
        return fail(err, RN_E_UNSUPPORTED, "member %s: a number, height and width%s are supported", name,
                    s->kind == PIPELINE_CROP ? "" : ", or shortest_edge alone");
    rn_status st = read_count(v, has_edge ? "shortest_edge" : "width", PIPELINE_MAX_SIDE, &s->width, err);
    if (st == RN_OK && has_sides) st = read_count(v, "height", PIPELINE_MAX_SIDE, &s->height, err);
    if (s->kind != PIPELINE_CROP) s->kind = has_edge ? PIPELINE_RESIZE_EDGE : PIPELINE_RESIZE;
    return st == RN_OK ? RN_OK : fail_in(err, st, "member %s", name);
}

// ---- the pipeline -----------------------------------------------------------------------------------------------------

static rn_status read_filter(const struct json_node *of, enum resize_filter *out, rn_error *err) {
    const struct json_node *const v = member(of, "resample");
    int64_t n = *out;
    const rn_status st = v ? json_int(v, 0, RESIZE_N_FILTERS - 1, &n, err) : RN_OK;
    *out = (enum resize_filter)n;
    return st == RN_OK ? RN_OK : fail_in(err, st, "member resample");
}

// Qwen2-VL: an area in min_pixels and max_pixels, or in `size` under the names of edges; patches.
static rn_status read_area(const struct json_node *of, struct pipeline *out, struct pipeline_step *s, rn_error *err) {
    const struct json_node *const size = member(of, "size");
    s->min_pixels = QWEN2_MIN_PIXELS, s->max_pixels = QWEN2_MAX_PIXELS;
    out->patch_size = 14, out->merge_size = 2, out->patch_frames = 2;
    rn_status st = read_count(of, "patch_size", 64, &out->patch_size, err);
    if (st == RN_OK) st = read_count(of, "merge_size", 8, &out->merge_size, err);
    if (st == RN_OK) st = read_count(of, "temporal_patch_size", 4, &out->patch_frames, err);
    if (st == RN_OK && size) st = read_count(size, "shortest_edge", PICTURE_MAX_PIXELS, &s->min_pixels, err);
    if (st == RN_OK && size) st = read_count(size, "longest_edge", PICTURE_MAX_PIXELS, &s->max_pixels, err);
    if (st == RN_OK) st = read_count(of, "min_pixels", PICTURE_MAX_PIXELS, &s->min_pixels, err);
    if (st == RN_OK) st = read_count(of, "max_pixels", PICTURE_MAX_PIXELS, &s->max_pixels, err);
    if (st == RN_OK && s->min_pixels > s->max_pixels)
        st = fail(err, RN_E_FORMAT, "min_pixels %u is more than max_pixels %u", s->min_pixels, s->max_pixels);
    s->width = out->patch_size * out->merge_size;
    return st;
}

// Pixtral's: {"longest_edge"}, or sides. do_pad is of batches.
static rn_status read_within(const struct json_node *of, const struct family *f, struct pipeline *out,
                             rn_error *err) {
    const struct json_node *const size = member(of, "size");
    struct pipeline_step s = {.kind = PIPELINE_RESIZE_WITHIN,
                              .width = f->side,
                              .height = f->side,
                              .max_pixels = UINT32_MAX,
                              .filter = f->filter};
    bool resizes = true, crops = false;
    rn_status st = read_filter(of, &s.filter, err);
    if (st == RN_OK) st = read_flag(of, "do_resize", &resizes, err);
    if (st == RN_OK) st = read_flag(of, "do_center_crop", &crops, err);
    if (st == RN_OK && (!resizes || crops))
        st = fail(err, RN_E_UNSUPPORTED, "member %s: is not supported for %s", crops ? "do_center_crop" : "do_resize",
                  f->name);
    if (st == RN_OK && size && size->kind == JSON_OBJECT && member(size, "longest_edge")) {
        st = read_count(size, "longest_edge", PIPELINE_MAX_SIDE, &s.width, err);
        s.height = s.width;
    } else if (st == RN_OK && size) {
        if (size->kind != JSON_OBJECT || !member(size, "height") || !member(size, "width"))
            return fail(err, RN_E_UNSUPPORTED, "member size: longest_edge, or height and width are supported");
        st = read_count(size, "width", PIPELINE_MAX_SIDE, &s.width, err);
        if (st == RN_OK) st = read_count(size, "height", PIPELINE_MAX_SIDE, &s.height, err);
    }
    out->takes_patches = true;
    out->steps[out->n_steps++] = s;
    return st == RN_OK ? RN_OK : fail_in(err, st, "member size");
}

static void add_step(struct pipeline *p, struct pipeline_step s) { p->steps[p->n_steps++] = s; }

// {"longest_edge"}
static rn_status read_longest(const struct json_node *of, const char *name, uint32_t *out, rn_error *err) {
    const struct json_node *const v = member(of, name);
    if (!v) return RN_OK;
    if (v->kind != JSON_OBJECT || !member(v, "longest_edge"))
        return fail(err, RN_E_UNSUPPORTED, "member %s: longest_edge alone is supported", name);
    const rn_status st = read_count(v, "longest_edge", PIPELINE_MAX_SIDE, out, err);
    return st == RN_OK ? RN_OK : fail_in(err, st, "member %s", name);
}

// SmolVLM's and Idefics3's. do_pad is of batches.
static rn_status read_split(const struct json_node *of, const struct family *f, struct pipeline *out, rn_error *err) {
    bool resizes = true, splits = true;
    uint32_t side = f->side;
    struct pipeline_step resize = {.kind = PIPELINE_RESIZE_LONG, .width = 4 * f->side, .filter = f->filter};
    rn_status st = read_flag(of, "do_resize", &resizes, err);
    if (st == RN_OK) st = read_flag(of, "do_image_splitting", &splits, err);
    if (st == RN_OK) st = read_filter(of, &resize.filter, err);
    if (st == RN_OK) st = read_longest(of, "size", &resize.width, err);
    if (st == RN_OK) st = read_longest(of, "max_image_size", &side, err);
    if (st != RN_OK) return st;
    out->has_marks = true;
    if (resizes) add_step(out, resize);
    if (splits)
        out->tiling = (struct tiling){.kind = TILING_SPLIT, .side = side, .filter = resize.filter};
    else
        add_step(out, (struct pipeline_step){PIPELINE_RESIZE, side, side, .filter = resize.filter});
    return RN_OK;
}

static rn_status read_size_of_tiles(const struct json_node *v, const struct tiling *t, struct tiling_size *out,
                                    rn_error *err) {
    int64_t sides[2] = {0};
    rn_status st = RN_OK;
    if (v->kind != JSON_ARRAY || v->n_items != 2)
        return fail(err, RN_E_FORMAT, "must be a list of heights and widths");
    const struct json_node *side = json_first(v);
    for (int i = 0; i < 2 && st == RN_OK; i++, side = json_next(side))
        st = json_int(side, 1, PICTURE_MAX_PIXELS, &sides[i], err);
    if (st != RN_OK) return st;
    if (sides[0] % t->side || sides[1] % t->side || sides[0] / t->side * (sides[1] / t->side) > TILING_MAX_TILES)
        return fail(err, RN_E_UNSUPPORTED, "%d x %d is no whole number of tiles of %u pixels a side, up to %d",
                    (int)sides[0], (int)sides[1], t->side, TILING_MAX_TILES);
    *out = (struct tiling_size){(uint32_t)sides[0], (uint32_t)sides[1]};
    return RN_OK;
}

static rn_status read_sizes_of_tiles(const struct json_node *of, struct tiling *t, rn_error *err) {
    static const char name[] = "image_grid_pinpoints";
    const struct json_node *const list = member(of, name);
    rn_status st = RN_OK;
    if (!list) return fail(err, RN_E_FORMAT, "member %s: is missing", name);
    if (list->kind != JSON_ARRAY || list->n_items < 1 || list->n_items > TILING_MAX_SIZES)
        return fail(err, RN_E_FORMAT, "member %s: must be a list of 1 to %d sizes", name, TILING_MAX_SIZES);
    const struct json_node *v = json_first(list);
    for (; t->n_sizes < list->n_items && st == RN_OK; t->n_sizes++, v = json_next(v))
        st = read_size_of_tiles(v, t, &t->sizes[t->n_sizes], err);
    return st == RN_OK ? RN_OK : fail_in(err, st, "member %s", name);
}

// LLaVA-NeXT's and LLaVA-OneVision's. do_pad is of batches; resizing and cropping a view, which has its size, do nothing.
static rn_status read_best_size(const struct json_node *of, const struct family *f, struct pipeline *out,
                                rn_error *err) {
    struct pipeline_step size = {.kind = f->size, .width = f->side, .height = f->side, .filter = f->filter};
    struct pipeline_step crop = {.kind = PIPELINE_CROP, .width = f->side, .height = f->side};
    bool crops = f->crops, resizes = true;
    rn_status st = read_filter(of, &size.filter, err);
    if (st == RN_OK) st = read_flag(of, "do_center_crop", &crops, err);
    if (st == RN_OK) st = read_flag(of, "do_resize", &resizes, err);
    if (st == RN_OK) st = read_sides(of, "size", &size, err);
    if (st == RN_OK) st = read_sides(of, "crop_size", &crop, err);
    if (st != RN_OK) return st;
    if (size.kind == PIPELINE_RESIZE_EDGE) size.height = size.width;
    if (!resizes || size.width != size.height ||
        ((crops || member(of, "crop_size")) && (crop.width != size.width || crop.height != size.width)))
        return fail(err, RN_E_UNSUPPORTED, "members size and crop_size: views that are no squares of one size");
    out->tiling = (struct tiling){
        .kind = TILING_BEST_SIZE, .side = size.width, .filter = size.filter, .only_alone = f->only_alone};
    if (f->only_alone) {
        size.kind = PIPELINE_RESIZE;
        add_step(out, (struct pipeline_step){.kind = PIPELINE_PAD_SQUARE});
        add_step(out, size);
    }
    return read_sizes_of_tiles(of, &out->tiling, err);
}

static rn_status read_steps(const struct json_node *of, const struct family *f, struct pipeline *out, rn_error *err) {
    if (f->size == PIPELINE_RESIZE_WITHIN) return read_within(of, f, out, err);
    bool resizes = true, crops = f->crops, pads = false;
    struct pipeline_step resize = {.kind = f->size, .width = f->side, .height = f->side, .filter = f->filter};
    struct pipeline_step crop = {.kind = PIPELINE_CROP, .width = f->side, .height = f->side};
    rn_status st = read_flag(of, "do_resize", &resizes, err);
    if (st == RN_OK) st = read_flag(of, "do_center_crop", &crops, err);
    if (st == RN_OK) st = read_flag(of, "do_pad", &pads, err);
    if (st == RN_OK && pads && !f->can_pad)
        st = fail(err, RN_E_UNSUPPORTED, "member do_pad: is not supported for %s", f->name);
    if (st == RN_OK) st = read_filter(of, &resize.filter, err);
    if (st == RN_OK)
        st =
            f->size == PIPELINE_RESIZE_AREA ? read_area(of, out, &resize, err) : read_sides(of, "size", &resize, err);
    if (st == RN_OK) st = read_sides(of, "crop_size", &crop, err);
    if (st != RN_OK) return st;
    if (pads) add_step(out, (struct pipeline_step){.kind = PIPELINE_PAD_SQUARE});
    if (resizes) add_step(out, resize);
    if (crops) add_step(out, crop);
    return RN_OK;
}

// Views of the size that the only step resizes to, in its place.
static rn_status take_square(struct pipeline *out, struct tiling t, rn_error *err) {
    const struct pipeline_step *const last = &out->steps[0];
    if (out->n_steps != 1 || last->kind != PIPELINE_RESIZE || last->width != last->height)
        return fail(err, RN_E_UNSUPPORTED, "members size and do_resize: views that are no squares of one size");
    t.side = last->width, t.filter = last->filter;
    out->tiling = t;
    out->n_steps = 0;
    return RN_OK;
}

// Gemma 3's pan and scan, where the file has it on; its numbers are those that the family's processor gives else.
static rn_status read_parts(const struct json_node *of, const struct family *f, struct pipeline *out, rn_error *err) {
    bool cuts = false;
    struct tiling t = {.kind = TILING_PARTS, .least_part = 256, .most_parts = 4, .least_ratio = 1.2};
    rn_status st = read_steps(of, f, out, err);
    if (st == RN_OK) st = read_flag(of, "do_pan_and_scan", &cuts, err);
    if (st == RN_OK) st = read_count(of, "pan_and_scan_min_crop_size", PIPELINE_MAX_SIDE, &t.least_part, err);
    if (st == RN_OK) st = read_count(of, "pan_and_scan_max_num_crops", TILING_MAX_TILES, &t.most_parts, err);
    if (st == RN_OK) st = read_number(of, "pan_and_scan_min_ratio_to_activate", 1, 1e6, &t.least_ratio, err);
    return st == RN_OK && cuts ? take_square(out, t, err) : st;
}

// InternVL's. Its processor cuts whatever crop_to_patches is in the file.
static rn_status read_closest(const struct json_node *of, const struct family *f, struct pipeline *out,
                              rn_error *err) {
    struct tiling t = {.kind = TILING_CLOSEST, .least_tiles = 1, .most_tiles = 12};
    rn_status st = read_steps(of, f, out, err);
    if (st == RN_OK) st = read_count(of, "min_patches", TILING_MAX_TILES, &t.least_tiles, err);
    if (st == RN_OK) st = read_count(of, "max_patches", TILING_MAX_TILES, &t.most_tiles, err);
    return st == RN_OK && t.most_tiles > 1 ? take_square(out, t, err) : st;
}

static rn_status read_scale(const struct json_node *of, const struct family *f, struct pipeline *out, rn_error *err) {
    bool rescales = true, normalizes = true;
    out->rescale = 1 / 255.0;
    memcpy(out->mean, f->mean, sizeof out->mean);
    memcpy(out->std, f->std, sizeof out->std);
    rn_status st = read_flag(of, "do_rescale", &rescales, err);
    if (st == RN_OK) st = read_flag(of, "do_normalize", &normalizes, err);
    if (st == RN_OK) st = read_number(of, "rescale_factor", 1e-9, 1e3, &out->rescale, err);
    if (st == RN_OK) st = read_three(of, "image_mean", -1e3, 1e3, out->mean, err);
    if (st == RN_OK) st = read_three(of, "image_std", 1e-6, 1e3, out->std, err);
    if (!rescales) out->rescale = 1;
    out->normalizes = normalizes;
    return st;
}

static rn_status find_family(const struct json_node *of, const struct family **out, rn_error *err) {
    const struct json_node *name = member(of, "image_processor_type");
    if (!name) name = member(of, "feature_extractor_type");
    if (!name || name->kind != JSON_STRING)
        return fail(err, RN_E_FORMAT, "member image_processor_type: missing, or no string");
    for (size_t i = 0; i < N_FAMILIES; i++) {
        const size_t n = strlen(families[i].name);
        if (name->n_text < n || memcmp(name->text, families[i].name, n) != 0) continue;
        const size_t n_more = name->n_text - n;
        if (n_more && !(n_more == 4 && memcmp(name->text + n, "Fast", 4) == 0) &&
            !(n_more == 3 && memcmp(name->text + n, "Pil", 3) == 0))
            continue;
        *out = &families[i];
        return RN_OK;
    }
    return fail(
        err, RN_E_UNSUPPORTED,
        "image_processor_type %.*s: is not supported; those of CLIP, LLaVA, LLaVA-NeXT, LLaVA-OneVision, SigLIP, SmolVLM, Idefics3, Gemma 3, InternVL, Pixtral and Qwen2-VL are",
        name->n_text < 60 ? (int)name->n_text : 60, name->text);
}

static rn_status (*const readers[])(const struct json_node *, const struct family *, struct pipeline *,
                                    rn_error *) = {[TILING_NONE] = read_steps,
                                                   [TILING_SPLIT] = read_split,
                                                   [TILING_BEST_SIZE] = read_best_size,
                                                   [TILING_PARTS] = read_parts,
                                                   [TILING_CLOSEST] = read_closest};

// Defaults: video_frames_usual(); Qwen2VLVideoProcessor has no fps of its own, qwen-vl-utils and Qwen3VLVideoProcessor have 2.
static rn_status read_frames(const struct json_node *of, struct video_frames *out, rn_error *err) {
    *out = video_frames_usual();
    rn_status st = read_number(of, "fps", 1e-6, 1000, &out->fps, err);
    if (st == RN_OK) st = read_count(of, "num_frames", VIDEO_MAX_FRAMES, &out->n, err);
    if (st == RN_OK) st = read_count(of, "min_frames", VIDEO_MAX_FRAMES, &out->min, err);
    if (st == RN_OK) st = read_count(of, "max_frames", VIDEO_MAX_FRAMES, &out->max, err);
    if (st == RN_OK && out->min > out->max)
        st = fail(err, RN_E_FORMAT, "min_frames %u of a video is more than max_frames %u", out->min, out->max);
    return st;
}

// What of the class of a video processor is not a picture's: the area of frames. Defaults are those of Qwen2VLVideoProcessor and Qwen3VLVideoProcessor.
static rn_status read_video(const struct json_node *of, struct pipeline *out, rn_error *err) {
    const struct json_node *const size = member(of, "size"), *const type = member(of, "video_processor_type");
    const bool is_3 = type && type->kind == JSON_STRING && json_is(type, "Qwen3VLVideoProcessor");
    const uint32_t unit = is_3 ? 32 * 32 : 28 * 28;
    if (!out->patch_size) return RN_OK; // of a family that takes no videos here
    out->video_min_pixels = 128 * unit, out->video_max_pixels = 768 * unit;
    rn_status st = RN_OK;
    if (size) st = read_count(size, "shortest_edge", PICTURE_MAX_PIXELS, &out->video_min_pixels, err);
    if (st == RN_OK && size) st = read_count(size, "longest_edge", PICTURE_MAX_PIXELS, &out->video_max_pixels, err);
    if (st == RN_OK) st = read_count(of, "min_pixels", PICTURE_MAX_PIXELS, &out->video_min_pixels, err);
    if (st == RN_OK) st = read_count(of, "max_pixels", PICTURE_MAX_PIXELS, &out->video_max_pixels, err);
    if (st == RN_OK && out->video_min_pixels > out->video_max_pixels)
        st = fail(err, RN_E_FORMAT, "min_pixels %u of a video is more than max_pixels %u", out->video_min_pixels,
                  out->video_max_pixels);
    return st == RN_OK ? read_frames(of, &out->video_frames, err) : st;
}

rn_status preprocessor_read_video(const char *text, size_t n, struct pipeline *out, rn_error *err) {
    struct json_tree tree = {0};
    rn_status st = json_read(&tree, text, n, err);
    if (st == RN_OK && tree.nodes[0].kind != JSON_OBJECT)
        st = fail(err, RN_E_FORMAT, "is %s, must be an object", json_kind_name(&tree.nodes[0]));
    if (st == RN_OK) st = read_video(&tree.nodes[0], out, err);
    json_free(&tree);
    return st;
}

rn_status preprocessor_read(const char *text, size_t n, struct pipeline *out, rn_error *err) {
    struct json_tree tree = {0};
    const struct family *f = NULL;
    *out = (struct pipeline){0};
    rn_status st = json_read(&tree, text, n, err);
    if (st == RN_OK && tree.nodes[0].kind != JSON_OBJECT)
        st = fail(err, RN_E_FORMAT, "is %s, must be an object", json_kind_name(&tree.nodes[0]));
    if (st == RN_OK) {
        const struct json_node *const inner = member(&tree.nodes[0], "image_processor"), *const of =
                                                                                             inner ? inner
                                                                                                   : &tree.nodes[0];
        st = find_family(of, &f, err);
        if (st == RN_OK) out->has_marks = f->has_marks;
        if (st == RN_OK) st = readers[f->tiling](of, f, out, err);
        if (st == RN_OK) st = read_scale(of, f, out, err);
        const struct json_node *const video = member(&tree.nodes[0], "video_processor");
        if (st == RN_OK && video && video->kind == JSON_OBJECT) st = read_video(video, out, err);
    }
    json_free(&tree);
    return st;
}

static rn_status find_file(const char *folder, char path[PATH_BYTES], bool *found, rn_error *err) {
    static const struct {
        const char *sub, *name;
    } places[] = {{NULL, "preprocessor_config.json"},
                  {NULL, "processor_config.json"},
                  {"vision_tower", "preprocessor_config.json"}};
    rn_status st = RN_OK;
    *found = false;
    for (size_t i = 0; i < sizeof places / sizeof *places && st == RN_OK && !*found; i++)
        st = path_in_folder(folder, places[i].sub, places[i].name, path, found, err);
    return package_in_file(folder, st, err);
}

static rn_status map_file(const char *path, file_map *out, rn_error *err) {
    *out = (file_map){.fd = -1};
    if (path_file_bytes(path) > FOLDER_MAX_CONFIG_BYTES)
        return fail(err, RN_E_LIMIT, "%s: %llu bytes, limit %d", package_shown_path(path),
                    (unsigned long long)path_file_bytes(path), FOLDER_MAX_CONFIG_BYTES);
    return file_map_open(path, FILE_LOAD_READ, NULL, NULL, out, err);
}

// The file of a folder that has one for videos.
static rn_status open_video(const char *folder, struct pipeline *out, rn_error *err) {
    char path[PATH_BYTES];
    bool found = false;
    file_map map;
    rn_status st = package_in_file(folder, path_in_folder(folder, NULL, PREPROCESSOR_VIDEO, path, &found, err), err);
    if (st != RN_OK || !found) return st;
    st = map_file(path, &map, err);
    if (st == RN_OK)
        st = package_in_file(path, preprocessor_read_video((const char *)map.data, map.size, out, err), err);
    file_map_close(&map);
    return st;
}

rn_status preprocessor_open(const char *folder, struct pipeline *out, rn_error *err) {
    char path[PATH_BYTES];
    bool found = false;
    file_map map;
    if (!path_is_folder(folder))
        return fail(err, RN_E_UNSUPPORTED, "%s: pictures need a model folder; this is none",
                    package_shown_path(folder));
    rn_status st = find_file(folder, path, &found, err);
    if (st == RN_OK && !found)
        st = fail(err, RN_E_UNSUPPORTED, "%s: has no preprocessor_config.json, so takes no pictures",
                  package_shown_path(folder));
    if (st != RN_OK) return st;
    st = map_file(path, &map, err);
    if (st == RN_OK) st = package_in_file(path, preprocessor_read((const char *)map.data, map.size, out, err), err);
    file_map_close(&map);
    return st == RN_OK ? open_video(folder, out, err) : st;
}

rn_status preprocessor_text(const char *folder, char **text, size_t *n, rn_error *err) {
    char path[PATH_BYTES];
    bool found = false;
    file_map map;
    *text = NULL;
    rn_status st = find_file(folder, path, &found, err);
    if (st != RN_OK || !found) return st;
    st = map_file(path, &map, err);
    if (st == RN_OK) {
        *n = map.size;
        *text = mem_strndup((const char *)map.data, map.size);
        if (!*text) st = fail(err, RN_E_NOMEM, "%s: out of memory", package_shown_path(path));
    }
    file_map_close(&map);
    return st;
}
