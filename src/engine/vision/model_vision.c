// engine/vision/model_vision.c - the vision part of a model, and of the engines that run it.
#include "base/mem.h"
#include "engine/engine.h"
#include "engine/picture_handle.h"
#include "engine/vision/picture_rows.h"
#include <inttypes.h>
#include <string.h>

int32_t model_picture_token(const rn_model *m) {
    return m->vision.info.image_token >= 0 ? m->vision.info.image_token
                                           : 0; // any valid one: its embedding is not read
}

// A file that names no token has the family's, where the vocabulary does.
static void find_token(const rn_model *m, const char *name, int32_t *token) {
    const struct vocab *const v = package_vocab(m->pkg);
    const size_t n = name ? strlen(name) : 0;
    for (int32_t i = 0; n && *token < 0 && i < v->n_tokens; i++)
        if (v->tokens[i].text.n == n && memcmp(v->tokens[i].text.s, name, n) == 0) *token = i;
}

static rn_status check_fit(const rn_model *m, const struct vision_files *v, rn_error *err) {
    const struct hparams *const h = package_hparams(m->pkg);
    if (v->info.n_embd_out != h->n_embd)
        return fail(err, RN_E_FORMAT, "%s: pictures become vectors of %" PRId32 " numbers, %s reads %" PRId32,
                    package_path(v->tower), v->info.n_embd_out, package_path(m->pkg), h->n_embd);
    if (v->info.n_deepstack != h->n_deepstack)
        return fail(err, RN_E_FORMAT,
                    "%s: features of %" PRId32 " layers are added to layers, %s adds those of %" PRId32
                    " (n_deepstack_layers)",
                    package_path(v->tower), v->info.n_deepstack, package_path(m->pkg), h->n_deepstack);
    if (v->info.image_token >= h->n_vocab)
        return fail(err, RN_E_FORMAT, "%s: token %" PRId32 " stands for pictures, %s has 0..%" PRId32,
                    package_path(v->tower), v->info.image_token, package_path(m->pkg), h->n_vocab - 1);
    return RN_OK;
}

rn_status rn_model_add_vision(rn_model *m, const char *path, rn_error *err) {
    struct vision_files v;
    if (!m) return fail(err, RN_E_ARG, "rn_model_add_vision: NULL argument");
    if (atomic_load(&m->is_open))
        return fail(err, RN_E_STATE, "vision: an engine has been opened with the model; add it before");
    if (m->vision.tower) return fail(err, RN_E_STATE, "vision: the model has a vision part");
    rn_status st = path ? vision_files_open(path, &v, err) : vision_files_open_of(package_path(m->pkg), &v, err);
    if (st != RN_OK) return st;
    find_token(m, v.info.image_token_name, &v.info.image_token);
    find_token(m, v.info.video_token_name, &v.info.video_token);
    if (v.info.video_token >= package_hparams(m->pkg)->n_vocab) v.info.video_token = -1;
    if ((st = check_fit(m, &v, err)) == RN_OK)
        m->vision = v;
    else
        vision_files_close(&v);
    return st;
}

static rn_status append_piece(const rn_model *m, const struct picture_piece *piece, struct id_list *v,
                              rn_error *err) {
    const rn_status st = *piece->text ? model_need_tokenizer(m, err) : RN_OK;
    return st == RN_OK ? picture_piece_add(piece, m->tok, model_picture_token(m), v, err) : st;
}

rn_status rn_picture_tokens(const rn_model *m, const rn_picture *p, size_t n_pictures, int32_t **ids, size_t *n_ids,
                            rn_error *err) {
    struct pixels pixels;
    struct vision_grid g;
    struct picture_piece piece;
    struct id_list v = {0};
    if (ids) *ids = NULL;
    if (!m || !p || !ids || !n_ids) return fail(err, RN_E_ARG, "rn_picture_tokens: NULL argument");
    if (!m->vision.tower)
        return fail(err, RN_E_UNSUPPORTED, "a picture: %s takes none here (rn_model_add_vision())",
                    package_path(m->pkg));
    const struct vision_info *const info = &m->vision.info;
    rn_status st = pipeline_run(&info->pipeline, &p->p, n_pictures <= 1, &pixels, err);
    if (st == RN_OK) st = vision_read_grid(&m->vision, &pixels, &g, err);
    for (size_t i = 0; st == RN_OK && picture_piece_at(info, &pixels, g, i, &piece); i++)
        st = append_piece(m, &piece, &v, err);
    mem_free(pixels.values);
    if (st == RN_OK)
        *ids = v.ids, *n_ids = v.n;
    else
        mem_free(v.ids);
    return st;
}

_Static_assert((int)RN_VIDEO_MOST_FRAMES == (int)VIDEO_MAX_FRAMES, "the public number is the limit");

rn_status rn_video_choose_frames(const rn_model *m, uint32_t n_frames, double fps, double want_fps,
                                 uint32_t want_frames, uint32_t *at, size_t *n_at, rn_error *err) {
    if (!m || !at || !n_at) return fail(err, RN_E_ARG, "rn_video_choose_frames: NULL argument");
    if (!m->vision.tower)
        return fail(err, RN_E_UNSUPPORTED, "a video: %s takes none here (rn_model_add_vision())",
                    package_path(m->pkg));
    if (m->vision.info.video == VIDEO_NONE)
        return fail(err, RN_E_UNSUPPORTED, "a video: models of the family %s take pictures, but no videos here",
                    m->vision.info.family);
    if (n_frames < 1 || !(fps > 0 && fps <= 1000))
        return fail(err, RN_E_ARG, "a video: has %" PRIu32 " frames, %g in a second", n_frames, fps);
    if ((want_fps != 0 && !(want_fps > 0 && want_fps <= 1000)) || (want_fps > 0 && want_frames))
        return fail(err, RN_E_ARG, "a video: %g frames of each second and %" PRIu32 " of all cannot be chosen",
                    want_fps, want_frames);
    *n_at = pipeline_choose_frames(&m->vision.info.pipeline, want_fps, want_frames, n_frames, fps, at);
    return RN_OK;
}

static rn_status prepare(rn_engine *e, struct model_slot *l, rn_error *err) {
    if (!l->m->vision.tower) return RN_OK;
    if (l->weights_of && l->weights_of->m == l->m) {
        l->vision = l->weights_of->vision;
        return RN_OK;
    }
    if (l->program && model_program(l->program)->n_vector != vision_n_vector(&l->m->vision.info))
        return fail(err, RN_E_UNSUPPORTED, "%s: architecture '%s' takes no input vectors, so no pictures",
                    package_path(l->m->pkg), package_hparams(l->m->pkg)->arch);
    const struct vision_spec spec = {.n_threads = pool_n_threads(e->threads),
                                     .kernels = e->kernels,
                                     .keeps_rows = e->opt.no_repack,
                                     .cache_bytes = e->opt.picture_cache_bytes};
    return vision_create(&l->m->vision, &spec, &l->vision, err);
}

static bool owns(const struct model_slot *l) {
    return l->vision && !(l->weights_of && l->weights_of->vision == l->vision);
}

rn_status engine_prepare_visions(rn_engine *e, rn_error *err) {
    rn_status st = RN_OK;
    for (size_t i = 0; st == RN_OK && i < e->n_models; i++) st = prepare(e, &e->model_slots[i], err);
    return st;
}

uint64_t engine_vision_bytes(const rn_engine *e) {
    uint64_t n = 0;
    for (size_t i = 0; i < e->n_models; i++)
        if (owns(&e->model_slots[i])) n += vision_bytes(e->model_slots[i].vision) + e->opt.picture_cache_bytes;
    return n;
}

rn_status engine_load_visions(rn_engine *e, rn_error *err) {
    rn_status st = RN_OK;
    for (size_t i = 0; st == RN_OK && i < e->n_models; i++)
        if (owns(&e->model_slots[i])) st = vision_load(e->model_slots[i].vision, err);
    return st;
}

void engine_close_visions(rn_engine *e) {
    for (size_t i = 0; i < e->n_models; i++)
        if (owns(&e->model_slots[i])) vision_destroy(e->model_slots[i].vision);
}
