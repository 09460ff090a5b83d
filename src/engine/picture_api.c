// engine/picture_api.c - pictures of the public interface.
#include "base/mem.h"
#include "base/paths.h"
#include "engine/picture_handle.h"
#include "engine/public_structs.h"
#include "formats/folder/preprocessor.h"
#include "formats/vision/vision_files.h"
#include <string.h>

rn_status rn_picture_open(const void *file, size_t n_bytes, rn_picture **out, rn_error *err) {
    if (!out || (!file && n_bytes)) return fail(err, RN_E_ARG, "rn_picture_open: %s is NULL", out ? "file" : "out");
    *out = NULL;
    rn_picture *const made = mem_alloc(sizeof *made);
    if (!made) return fail(err, RN_E_NOMEM, "picture: out of memory");
    const rn_status st = picture_decode(file, n_bytes, &made->p, err);
    if (st == RN_OK)
        *out = made;
    else
        mem_free(made);
    return st;
}

rn_status rn_picture_get_info(const rn_picture *p, rn_picture_info *info, rn_error *err) {
    const rn_status st = sized_check(&public_picture_info, info, err);
    if (st != RN_OK) return st;
    const rn_picture_info ours = {.width = p->p.width,
                                  .height = p->p.height,
                                  .rgb = p->p.rgb,
                                  .format = p->p.format,
                                  .n_frames = p->p.n_frames};
    sized_write(&public_picture_info, &ours, info);
    return RN_OK;
}

rn_status rn_picture_from_frames(const rn_picture *const *frames, size_t n_frames, const double *seconds, double fps,
                                 rn_picture **out, rn_error *err) {
    const struct picture *list[VIDEO_MAX_FRAMES];
    if (!out || !frames || !seconds) return fail(err, RN_E_ARG, "rn_picture_from_frames: NULL argument");
    *out = NULL;
    for (size_t i = 0; i < n_frames && i < VIDEO_MAX_FRAMES; i++) {
        if (!frames[i]) return fail(err, RN_E_ARG, "rn_picture_from_frames: frame %zu is NULL", i);
        list[i] = &frames[i]->p;
    }
    rn_picture *const made = mem_alloc(sizeof *made);
    if (!made) return fail(err, RN_E_NOMEM, "picture: out of memory");
    const rn_status st = picture_from_frames(list, n_frames, seconds, fps, &made->p, err);
    if (st == RN_OK)
        *out = made;
    else
        mem_free(made);
    return st;
}

rn_status rn_picture_make_video(uint32_t width, uint32_t height, size_t n_frames, const double *seconds, double fps,
                                rn_picture **out, uint8_t **rgb, rn_error *err) {
    if (!out || !rgb || !seconds) return fail(err, RN_E_ARG, "rn_picture_make_video: NULL argument");
    *out = NULL, *rgb = NULL;
    rn_picture *const made = mem_alloc(sizeof *made);
    if (!made) return fail(err, RN_E_NOMEM, "picture: out of memory");
    const rn_status st = picture_make_video(width, height, n_frames, seconds, fps, &made->p, err);
    if (st == RN_OK)
        *out = made, *rgb = made->p.rgb;
    else
        mem_free(made);
    return st;
}

void rn_picture_close(rn_picture *p) {
    if (p) picture_free(&p->p);
    mem_free(p);
}

struct rn_picture_processor {
    struct pipeline pipeline;
};

// Of a folder the file, also where the family is not supported; a mmproj file has it among others. What patches a video's frames become, the family says.
static rn_status open_pipeline(const char *path, struct pipeline *out, rn_error *err) {
    struct vision_files v;
    rn_status st = RN_OK;
    if (path_is_folder(path)) st = preprocessor_open(path, out, err);
    if (st != RN_OK || (path_is_folder(path) && !out->takes_patches && !out->patch_size)) return st;
    st = vision_files_open_of(path, &v, err);
    if (st == RN_E_UNSUPPORTED && path_is_folder(path) && !out->takes_patches) return RN_OK;
    if (st == RN_OK) *out = v.info.pipeline;
    if (st == RN_OK) vision_files_close(&v);
    return st;
}

rn_status rn_picture_processor_open(const char *path, rn_picture_processor **out, rn_error *err) {
    if (!out || !path) return fail(err, RN_E_ARG, "rn_picture_processor_open: %s is NULL", out ? "path" : "out");
    *out = NULL;
    rn_picture_processor *const made = mem_alloc(sizeof *made);
    if (!made) return fail(err, RN_E_NOMEM, "picture processor: out of memory");
    const rn_status st = open_pipeline(path, &made->pipeline, err);
    if (st == RN_OK)
        *out = made;
    else
        mem_free(made);
    return st;
}

rn_status rn_picture_process(const rn_picture_processor *by, const rn_picture *p, rn_pixels *out, rn_error *err) {
    rn_status st = sized_check(&public_pixels, out, err);
    struct pixels made;
    if (st == RN_OK) st = pipeline_run(&by->pipeline, &p->p, true, &made, err);
    if (st != RN_OK) return st;
    rn_pixels ours = {.values = made.values, .n_dims = made.n_dims};
    memcpy(ours.shape, made.shape, sizeof made.shape);
    sized_write(&public_pixels, &ours, out);
    return RN_OK;
}

void rn_picture_processor_close(rn_picture_processor *p) { mem_free(p); }
