// engine/vision/vision.c - see vision.h.
#include "engine/vision/vision.h"
#include "base/checked.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/pool.h"
#include "base/thread.h"
#include "lm/lm_real.h"
#include "model/model.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

// A program with its memory: all rows of a picture are one step.
struct part {
    struct model *model;
    backend *backend;
    struct lm_config config;
    struct backend_plan plan;
    lm *lm;
    float *in; // [n_batch][n_vector] of the step
    struct lm_row *rows;
    struct lm_input *inputs;
};

struct vision {
    struct vision_files files;
    struct part tower, projector;
    pool *threads;
    mutex lock; // around a picture
    bool has_lock;
    uint64_t n_steps;
};

// ---- open and close -----------------------------------------------------------------------------------------------------

static rn_status open_part(struct part *p, const package *pkg, int32_t n_rows, const struct vision *v,
                           const struct vision_spec *spec, rn_error *err) {
    const struct backend_spec b = {.threads = v->threads, .kernels = spec->kernels, .keeps_rows = spec->keeps_rows};
    p->config = (struct lm_config){.n_ctx = n_rows,
                                   .n_batch = n_rows,
                                   .n_want = n_rows,
                                   .max_seqs = 1,
                                   .n_pages = (int32_t)ceil_div((size_t)n_rows, KV_PAGE) + 1};
    for (int32_t g = 0; g < PROGRAM_MAX_GROUPS; g++) p->config.codec[g] = KV_F32;
    rn_status st = model_build_vision(pkg, &p->model, err);
    if (st == RN_OK) st = backend_open(&b, &p->backend, err);
    if (st != RN_OK) return st;
    const struct program *const program = model_program(p->model);
    const struct backend_sizes sizes = lm_real_sizes(program, &p->config);
    st = backend_supports(p->backend, program, err);
    return st == RN_OK ? backend_get_plan(p->backend, program, &sizes, &p->plan, err) : st;
}

static rn_status load_part(struct part *p, rn_error *err) {
    const struct program *const program = model_program(p->model);
    const struct backend_sizes sizes = lm_real_sizes(program, &p->config);
    const size_t n = (size_t)p->config.n_batch;
    rn_status st = backend_load(p->backend, program, &sizes, NULL, NULL, err);
    if (st == RN_OK) st = lm_real_create(program, p->backend, &p->config, &p->lm, err);
    if (st != RN_OK) return st;
    p->in = mem_calloc(n * (size_t)program->n_vector, sizeof *p->in);
    p->rows = mem_calloc(n, sizeof *p->rows);
    p->inputs = mem_calloc(n, sizeof *p->inputs);
    return p->in && p->rows && p->inputs ? RN_OK : fail(err, RN_E_NOMEM, "vision: out of memory for %zu rows", n);
}

static void close_part(struct part *p) {
    lm_destroy(p->lm);
    backend_destroy(p->backend);
    model_destroy(p->model);
    mem_free(p->in);
    mem_free(p->rows);
    mem_free(p->inputs);
}

rn_status vision_open(const char *path, const struct vision_spec *spec, struct vision **out, rn_error *err) {
    struct vision *const v = mem_calloc(1, sizeof *v);
    *out = NULL;
    if (!v) return fail(err, RN_E_NOMEM, "vision: out of memory");
    rn_status st = vision_files_open(path, &v->files, err);
    if (st == RN_OK) v->has_lock = (st = mutex_init(&v->lock, err)) == RN_OK;
    if (st == RN_OK) st = pool_create(spec->n_threads, &v->threads, err);
    if (st == RN_OK) st = open_part(&v->tower, v->files.tower, vision_n_rows(&v->files.info), v, spec, err);
    if (st == RN_OK) st = open_part(&v->projector, v->files.projector, vision_n_out(&v->files.info), v, spec, err);
    if (st == RN_OK)
        *out = v;
    else
        vision_close(v);
    return st;
}

static uint64_t part_bytes(const struct part *p) {
    const struct program *const program = model_program(p->model);
    const struct backend_memory *const m = &p->plan.memory[0];
    uint64_t n = m->mapped_bytes + m->repacked_bytes + m->buffer_bytes +
                 (uint64_t)p->config.n_batch * (uint64_t)program->n_vector * sizeof(float);
    for (int32_t g = 0; g < program->n_groups; g++) n += m->page_bytes[g] * (uint64_t)p->config.n_pages;
    return n;
}

uint64_t vision_bytes(const struct vision *v) { return part_bytes(&v->tower) + part_bytes(&v->projector); }

rn_status vision_load(struct vision *v, rn_error *err) {
    const rn_status st = load_part(&v->tower, err);
    return st == RN_OK ? load_part(&v->projector, err) : st;
}

void vision_close(struct vision *v) {
    if (!v) return;
    close_part(&v->tower);
    close_part(&v->projector);
    pool_destroy(v->threads);
    if (v->has_lock) mutex_destroy(&v->lock);
    vision_files_close(&v->files);
    mem_free(v);
}

const struct vision_info *vision_info(const struct vision *v) { return &v->files.info; }

// ---- a picture ----------------------------------------------------------------------------------------------------------

// Runs the program over the first n rows of p->in, which see each other, and copies their hidden states to out.
static rn_status run_part(struct vision *v, struct part *p, size_t n, float *out, rn_error *err) {
    const size_t n_in = (size_t)p->lm->n_vector, n_out = (size_t)p->lm->n_embd;
    const uint64_t step = hash_u64(++v->n_steps, 0); // no two steps have anything in common
    int32_t seq;
    rn_status st = lm_seq_new(p->lm, NULL, &seq, err);
    if (st != RN_OK) return st;
    for (size_t i = 0; i < n; i++) {
        p->inputs[i] = (struct lm_input){
            .vector = p->in + i * n_in, .key = hash_u64(step, (uint64_t)i), .see_to = (int32_t)n - 1};
        p->rows[i].seq = seq, p->rows[i].parent = LM_APPEND, p->rows[i].want = LM_WANT_HIDDEN;
        p->rows[i].input = &p->inputs[i];
    }
    st = lm_step(p->lm, p->rows, n, NULL, err);
    for (size_t i = 0; st == RN_OK && i < n; i++) memcpy(out + i * n_out, lm_hidden(p->lm, i), n_out * sizeof *out);
    lm_seq_free(p->lm, seq);
    return st;
}

// Pixels [3][height][width] as a row for each patch, channel by channel, behind that of the class.
static void put_patches(struct vision *v, const float *pixels) {
    const struct vision_info *const info = &v->files.info;
    const size_t side = (size_t)info->patch_size, grid = (size_t)info->grid, n_wide = side * grid;
    float *to = v->tower.in;
    if (info->has_class) {
        memset(to, 0, (size_t)info->n_numbers * sizeof *to);
        v->tower.rows[0].token = 1;
        to += info->n_numbers;
    }
    for (size_t gy = 0; gy < grid; gy++)
        for (size_t gx = 0; gx < grid; gx++)
            for (size_t c = 0; c < 3; c++)
                for (size_t y = 0; y < side; y++, to += side)
                    memcpy(to, pixels + (c * n_wide + gy * side + y) * n_wide + gx * side, side * sizeof *to);
}

// Features as rows of the projector: neighbours side by side, zeros where the grid ends.
static void put_features(struct vision *v, const float *features) {
    const struct vision_info *const info = &v->files.info;
    const size_t grid = (size_t)info->grid, merge = (size_t)info->n_merge, n = (size_t)v->tower.lm->n_embd;
    const size_t side = ceil_div(grid, merge);
    float *to = v->projector.in;
    if (info->has_class && info->keeps_class) memcpy(to, features, n * sizeof *to), to += n;
    if (info->has_class) features += n;
    for (size_t by = 0; by < side; by++)
        for (size_t bx = 0; bx < side; bx++)
            for (size_t y = by * merge; y < (by + 1) * merge; y++)
                for (size_t x = bx * merge; x < (bx + 1) * merge; x++, to += n) {
                    if (y < grid && x < grid)
                        memcpy(to, features + (y * grid + x) * n, n * sizeof *to);
                    else
                        memset(to, 0, n * sizeof *to);
                }
}

static rn_status check_pixels(const struct vision *v, const struct pixels *p, rn_error *err) {
    const size_t side = (size_t)v->files.info.patch_size * (size_t)v->files.info.grid;
    // Pixels beyond the last whole patch are not read, as a convolution does not.
    if (p->n_dims == 3 && p->shape[0] == 3 && p->shape[1] == side && p->shape[2] == side) return RN_OK;
    return fail(err, RN_E_FORMAT,
                "%s: preprocessor_config.json makes %zu x %zu pixels of it, the tower reads %zu x %zu",
                package_path(v->files.tower), p->shape[2], p->shape[1], side, side);
}

static rn_status check_finite(const struct vision *v, const struct vision_rows *r, rn_error *err) {
    for (size_t i = 0; i < r->n * r->width; i++)
        if (!isfinite(r->values[i]))
            return fail(err, RN_E_FORMAT,
                        "%s: the vision tower makes a number of the picture that is not finite, in row %zu",
                        package_path(v->files.tower), i / r->width);
    return RN_OK;
}

static rn_status encode(struct vision *v, const struct pixels *pixels, float *features, struct vision_rows *out,
                        enum vision_stage stage, rn_error *err) {
    put_patches(v, pixels->values);
    rn_status st = run_part(v, &v->tower, (size_t)vision_n_rows(&v->files.info), features, err);
    if (st != RN_OK || stage == VISION_FEATURES) return st;
    put_features(v, features);
    return run_part(v, &v->projector, out->n, out->values, err);
}

rn_status vision_encode(struct vision *v, const struct pixels *pixels, enum vision_stage stage,
                        struct vision_rows *out, rn_error *err) {
    const bool is_last = stage == VISION_PROJECTED;
    const struct lm *const last = is_last ? v->projector.lm : v->tower.lm;
    const size_t n_rows = (size_t)vision_n_rows(&v->files.info);
    *out = (struct vision_rows){.n = is_last ? (size_t)vision_n_out(&v->files.info) : n_rows,
                                .width = (size_t)last->n_embd};
    rn_status st = check_pixels(v, pixels, err);
    if (st != RN_OK) return st;
    out->values = mem_calloc(out->n * out->width, sizeof *out->values);
    float *const features =
        is_last ? mem_calloc(n_rows * (size_t)v->tower.lm->n_embd, sizeof *features) : out->values;
    if (!out->values || !features) st = fail(err, RN_E_NOMEM, "vision: out of memory for %zu rows", n_rows);
    if (st == RN_OK) {
        mutex_lock(&v->lock);
        st = encode(v, pixels, features, out, stage, err);
        mutex_unlock(&v->lock);
    }
    if (st == RN_OK) st = check_finite(v, out, err);
    if (is_last) mem_free(features);
    if (st == RN_OK) return RN_OK;
    mem_free(out->values);
    *out = (struct vision_rows){0};
    return st;
}
