// formats/vision/vision_files.c - see vision_files.h.
#include "formats/vision/vision_files.h"
#include "base/paths.h"
#include "formats/folder/preprocessor.h"
#include "formats/limits.h"
#include "formats/vision/mmproj.h"
#include "formats/vision/vision_build.h"
#include "formats/vision/vision_tensors.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

// The projector's numbers follow from its tensors. One matrix alone is the second.
static rn_status set_projector(const struct vision_files *v, struct package *p, const struct vision_config *c,
                               rn_error *err) {
    const struct tensor_view *const last = package_tensor(p, "mm.2.weight"),
                                    *const first = package_tensor(p, "mm.0.weight"), *const in = first ? first : last;
    const uint64_t n_side = v->info.averages ? 1 : (uint64_t)v->info.n_merge,
                   n_in = n_side * n_side * (uint64_t)v->tower->hparams.n_embd;
    const bool is_one = strcmp(c->projector, "linear") == 0 || strcmp(c->projector, "norm_linear") == 0;
    if (!last || (!first && !is_one))
        return fail(err, RN_E_FORMAT, "%s: the projector's %s matrix is missing", package_shown_path(p->path),
                    first ? "second" : "first");
    const struct tensor_view *const merger = package_tensor(p, "mm.patch_merger.weight"), *const reads =
                                                                                              merger ? merger : in;
    if (reads->ne[0] != n_in || in->ne[1] > VISION_MAX_WIDTH)
        return fail(err, RN_E_FORMAT,
                    "%s: the projector's first matrix has %" PRIu64 " rows of %" PRIu64 ", features have %" PRIu64
                    " numbers and rows are up to %d",
                    package_shown_path(p->path), reads->ne[1], reads->ne[0], n_in, VISION_MAX_WIDTH);
    if (last->ne[1] != (uint64_t)c->n_text)
        return fail(err, RN_E_FORMAT,
                    "%s: the projector makes vectors of %" PRIu64 " numbers, the text model reads %" PRId32,
                    package_shown_path(p->path), last->ne[1], c->n_text);
    p->hparams = (struct hparams){.file_type = "model",
                                  .is_checked = true,
                                  .n_vocab = VISION_ROW_KINDS,
                                  .n_ctx_train = vision_most_out(&v->info),
                                  .n_embd = c->n_text,
                                  .n_ff = (int32_t)in->ne[1],
                                  .norm_eps = c->projector_eps > 0 ? c->projector_eps : 1e-5f,
                                  .n_patch = (int32_t)n_in,
                                  // Of patches that are merged: each has a norm, and their one row so many numbers.
                                  .n_head = merger ? v->info.n_merge * v->info.n_merge : 0,
                                  .head_dim = merger ? v->tower->hparams.n_embd : 0,
                                  .q_lora_rank = merger ? v->tower->hparams.n_embd : 0};
    snprintf(p->hparams.arch, sizeof p->hparams.arch, "%s", c->projector);
    return RN_OK;
}

rn_status vision_set_projector(struct vision_files *v, const struct vision_config *c, rn_error *err) {
    rn_status st = set_projector(v, v->projector, c, err);
    for (int32_t i = 0; st == RN_OK && i < v->info.n_deepstack; i++) st = set_projector(v, v->deepstack[i], c, err);
    v->info.n_embd_out = c->n_text;
    v->info.has_newline = package_tensor(v->projector, "model.image_newline");
    return st;
}

rn_status vision_create_deepstack(struct vision_files *v, const char *path, rn_error *err) {
    rn_status st = RN_OK;
    for (int32_t i = 0; st == RN_OK && i < v->info.n_deepstack; i++) st = package_create(path, &v->deepstack[i], err);
    return st;
}

// What a folder without a processor means.
static void set_square(struct vision_info *v) {
    const uint32_t side = (uint32_t)(v->grid * v->patch_size);
    v->pipeline = (struct pipeline){
        .steps = {{.kind = PIPELINE_RESIZE, .width = side, .height = side, .filter = RESIZE_BICUBIC}},
        .n_steps = 1,
        .rescale = 1 / 255.0,
        .normalizes = true,
        .mean = {0.5, 0.5, 0.5},
        .std = {0.5, 0.5, 0.5}};
}

// f: the folder, without a package.
static rn_status load(struct folder *f, struct vision_files *v, struct vision_config *c, rn_error *err) {
    rn_status st = package_create(f->path, &v->tower, err);
    if (st == RN_OK) st = package_create(f->path, &v->projector, err);
    f->p = v->tower;
    if (st == RN_OK) st = vision_config_read(f, v, c, err);
    if (st != RN_OK) return st;
    f->sub = c->tower_sub;
    st = vision_tensors_load(f, VISION_TOWER, 0, c, err);
    if (st != RN_OK) return st;
    f->p = v->projector, f->sub = c->projector_sub;
    st = vision_tensors_load(f, VISION_PROJECTOR, 0, c, err);
    if (st == RN_OK) st = vision_create_deepstack(v, f->path, err);
    for (int32_t i = 0; st == RN_OK && i < v->info.n_deepstack; i++) {
        f->p = v->deepstack[i];
        st = vision_tensors_load(f, VISION_DEEPSTACK, i, c, err);
    }
    if (st == RN_OK && strcmp(c->projector, "norm_linear") == 0) st = vision_turn_matrix(v->projector, true, err);
    if (st == RN_OK && strncmp(c->projector, "merge_mlp", 9) == 0)
        st = vision_order_merger(v->projector, v->info.n_merge, err);
    return st == RN_OK ? vision_set_projector(v, c, err) : st;
}

// A picture in patches: those of the processor are those of the tower, and not more than this reads.
rn_status vision_fit_pipeline(struct vision_files *v, rn_error *err) {
    struct pipeline *const p = &v->info.pipeline;
    const struct vision_info *const info = &v->info;
    const uint32_t side = (uint32_t)info->patch_size, most = (uint32_t)info->max_patches * side * side;
    if (p->takes_patches && !info->grid)
        p->patch_size = side, p->merge_size = (uint32_t)info->n_merge,
        p->patch_frames = (uint32_t)info->n_numbers / (3 * side * side);
    const bool fits = info->grid ? p->patch_size == 0 && !p->takes_patches
                                 : p->patch_size == side && p->merge_size == (uint32_t)info->n_merge &&
                                       3 * p->patch_frames * side * side == (uint32_t)info->n_numbers;
    if (!fits)
        return fail(err, RN_E_FORMAT, "%s: patches of the processor are not those of the tower",
                    package_shown_path(v->tower->path));
    p->takes_video = info->video != VIDEO_NONE;
    p->area_of_all = info->video == VIDEO_WITH_TIMES;
    for (size_t i = 0; !info->grid && i < p->n_steps; i++) {
        if (p->steps[i].max_pixels > most) p->steps[i].max_pixels = most;
        if (p->steps[i].min_pixels > most) p->steps[i].min_pixels = most;
    }
    return RN_OK;
}

static rn_status hand_over(struct vision_files *v, rn_status st, struct vision_files *out) {
    if (st == RN_OK)
        *out = *v;
    else
        vision_files_close(v);
    return st;
}

static bool has_processor(const char *folder) {
    static const char *const names[] = {"preprocessor_config.json", "processor_config.json"};
    char path[PATH_BYTES];
    bool found = false;
    for (size_t i = 0; i < sizeof names / sizeof *names && !found; i++) // an error is told by who reads it
        if (path_in_folder(folder, NULL, names[i], path, &found, NULL) != RN_OK) return true;
    return found;
}

rn_status vision_files_open(const char *path, struct vision_files *out, rn_error *err) {
    struct vision_files v = {0};
    struct vision_config c;
    struct folder f = {.path = path};
    *out = v;
    if (!path_is_folder(path)) return mmproj_open(path, out, err);
    rn_status st = load(&f, &v, &c, err);
    if (st == RN_OK && c.can_lack_processor && !has_processor(path))
        set_square(&v.info);
    else if (st == RN_OK)
        st = preprocessor_open(path, &v.info.pipeline, err);
    if (st == RN_OK) st = vision_fit_pipeline(&v, err);
    if (v.info.pipeline.has_marks) v.info.marks = c.marks;
    return hand_over(&v, st, out);
}

rn_status vision_files_open_of(const char *model, struct vision_files *out, rn_error *err) {
    const char *const name = path_last_name(model);
    char beside[PATH_BYTES], folder[PATH_BYTES];
    bool found = false;
    rn_status st = vision_files_open(model, out, err);
    if (st != RN_E_UNSUPPORTED || path_is_folder(model) || strncmp(name, "mmproj", 6) == 0) return st;
    snprintf(folder, sizeof folder, "%.*s", (int)(name - model), model);
    st = path_find_in_folder(*folder ? folder : ".", "mmproj", ".gguf", beside, &found, err);
    if (st == RN_OK && !found)
        st = fail(err, RN_E_UNSUPPORTED, "%s: has no file mmproj*.gguf beside it, so takes no pictures",
                  package_shown_path(model));
    return st == RN_OK ? vision_files_open(beside, out, err) : st;
}

rn_status vision_files_from_bytes(const char *name, const struct package_bytes *files, size_t n_files,
                                  struct vision_files *out, rn_error *err) {
    static const char pipeline[] = "preprocessor_config.json";
    struct vision_files v = {0};
    struct vision_config c;
    struct folder f = {.path = name, .given = files, .n_given = n_files};
    *out = v;
    rn_status st = load(&f, &v, &c, err);
    size_t at = 0;
    while (at < n_files && strcmp(files[at].name, pipeline) != 0) at++;
    if (st == RN_OK && at == n_files && c.can_lack_processor)
        set_square(&v.info);
    else if (st == RN_OK && at == n_files)
        st = fail(err, RN_E_IO, "%s: has no %s", name, pipeline);
    else if (st == RN_OK) {
        st = preprocessor_read((const char *)files[at].data, files[at].n, &v.info.pipeline, err);
        st = package_in_file(pipeline, st, err);
    }
    for (size_t i = 0; st == RN_OK && i < n_files; i++)
        if (strcmp(files[i].name, PREPROCESSOR_VIDEO) == 0)
            st = package_in_file(
                PREPROCESSOR_VIDEO,
                preprocessor_read_video((const char *)files[i].data, files[i].n, &v.info.pipeline, err), err);
    if (st == RN_OK) st = vision_fit_pipeline(&v, err);
    if (v.info.pipeline.has_marks) v.info.marks = c.marks;
    return hand_over(&v, st, out);
}

void vision_files_close(struct vision_files *v) {
    package_close(v->tower);
    package_close(v->projector);
    for (size_t i = 0; i < VISION_MAX_DEEPSTACK; i++) package_close(v->deepstack[i]);
    *v = (struct vision_files){0};
}
