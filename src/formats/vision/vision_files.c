// formats/vision/vision_files.c - see vision_files.h.
#include "formats/vision/vision_files.h"
#include "base/paths.h"
#include "formats/folder/preprocessor.h"
#include "formats/limits.h"
#include "formats/vision/vision_config.h"
#include "formats/vision/vision_tensors.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

// The projector's numbers follow from its tensors.
static rn_status set_projector(struct vision_files *v, const struct vision_config *c, rn_error *err) {
    struct package *const p = v->projector;
    const struct tensor_view *const first = package_tensor(p, "mm.0.weight"), *const last =
                                                                                  package_tensor(p, "mm.2.weight");
    const uint64_t n_in = (uint64_t)v->info.n_merge * (uint64_t)v->info.n_merge * (uint64_t)v->tower->hparams.n_embd;
    if (!first || !last)
        return fail(err, RN_E_FORMAT, "%s: the projector's %s matrix is missing", package_shown_path(p->path),
                    first ? "second" : "first");
    if (first->ne[0] != n_in || first->ne[1] > VISION_MAX_WIDTH)
        return fail(err, RN_E_FORMAT,
                    "%s: the projector's first matrix has %" PRIu64 " rows of %" PRIu64 ", features have %" PRIu64
                    " numbers and rows are up to %d",
                    package_shown_path(p->path), first->ne[1], first->ne[0], n_in, VISION_MAX_WIDTH);
    if (last->ne[1] != (uint64_t)c->n_text)
        return fail(err, RN_E_FORMAT,
                    "%s: the projector makes vectors of %" PRIu64 " numbers, the text model reads %" PRId32,
                    package_shown_path(p->path), last->ne[1], c->n_text);
    p->hparams = (struct hparams){.file_type = "model",
                                  .is_checked = true,
                                  .n_vocab = VISION_ROW_KINDS,
                                  .n_ctx_train = vision_n_out(&v->info),
                                  .n_embd = c->n_text,
                                  .n_ff = (int32_t)first->ne[1],
                                  .norm_eps = 1e-5f, // of a norm without a number of its own: PyTorch's
                                  .n_patch = (int32_t)n_in};
    snprintf(p->hparams.arch, sizeof p->hparams.arch, "%s", c->projector);
    v->info.n_embd_out = c->n_text;
    return RN_OK;
}

// f: the folder, without a package.
static rn_status load(struct folder *f, struct vision_files *v, rn_error *err) {
    struct vision_config c;
    rn_status st = package_create(f->path, &v->tower, err);
    if (st == RN_OK) st = package_create(f->path, &v->projector, err);
    f->p = v->tower;
    if (st == RN_OK) st = vision_config_read(f, v, &c, err);
    if (st != RN_OK) return st;
    f->sub = c.tower_sub;
    st = vision_tensors_load(f, VISION_TOWER, &c, err);
    if (st != RN_OK) return st;
    f->p = v->projector, f->sub = c.projector_sub;
    st = vision_tensors_load(f, VISION_PROJECTOR, &c, err);
    return st == RN_OK ? set_projector(v, &c, err) : st;
}

static rn_status hand_over(struct vision_files *v, rn_status st, struct vision_files *out) {
    if (st == RN_OK)
        *out = *v;
    else
        vision_files_close(v);
    return st;
}

rn_status vision_files_open(const char *path, struct vision_files *out, rn_error *err) {
    struct vision_files v = {0};
    struct folder f = {.path = path};
    *out = v;
    if (!path_is_folder(path))
        return fail(err, RN_E_UNSUPPORTED, "%s: pictures need a model folder; this is none",
                    package_shown_path(path));
    rn_status st = load(&f, &v, err);
    if (st == RN_OK) st = preprocessor_open(path, &v.info.pipeline, err);
    return hand_over(&v, st, out);
}

rn_status vision_files_from_bytes(const char *name, const struct package_bytes *files, size_t n_files,
                                  struct vision_files *out, rn_error *err) {
    static const char pipeline[] = "preprocessor_config.json";
    struct vision_files v = {0};
    struct folder f = {.path = name, .given = files, .n_given = n_files};
    *out = v;
    rn_status st = load(&f, &v, err);
    size_t at = 0;
    while (at < n_files && strcmp(files[at].name, pipeline) != 0) at++;
    if (st == RN_OK && at == n_files) st = fail(err, RN_E_IO, "%s: has no %s", name, pipeline);
    if (st == RN_OK)
        st = package_in_file(
            pipeline, preprocessor_read((const char *)files[at].data, files[at].n, &v.info.pipeline, err), err);
    return hand_over(&v, st, out);
}

void vision_files_close(struct vision_files *v) {
    package_close(v->tower);
    package_close(v->projector);
    *v = (struct vision_files){0};
}
