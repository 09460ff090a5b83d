// engine/vision/vision_api.c - the vision part of a model in the public interface.
#include "base/cpus.h"
#include "base/mem.h"
#include "base/pool.h"
#include "engine/picture_handle.h"
#include "engine/public_structs.h"
#include "engine/vision/vision.h"

struct rn_vision {
    struct vision_files files;
    struct vision *v;
};

static rn_status choose_machine(int32_t n_threads, const char *cpu, struct vision_spec *out, rn_error *err) {
    enum cpu_set set = cpu_set_detect(CPU_N_SETS);
    cpus on;
    if (n_threads < 0 || n_threads > POOL_MAX_THREADS)
        return fail(err, RN_E_ARG, "n_threads: %d is outside 0..%d", (int)n_threads, POOL_MAX_THREADS);
    const rn_status st = cpu ? cpu_set_by_name(cpu, &set, err) : RN_OK;
    if (st != RN_OK) return st;
    cpus_detect("", &on);
    *out = (struct vision_spec){.n_threads = n_threads ? n_threads : on.n_threads, .kernels = kernel_set_get(set)};
    return RN_OK;
}

rn_status rn_vision_open(const char *path, int32_t n_threads, const char *cpu, rn_vision **out, rn_error *err) {
    struct vision_spec spec;
    if (out) *out = NULL;
    if (!path || !out) return fail(err, RN_E_ARG, "rn_vision_open: NULL argument");
    rn_status st = choose_machine(n_threads, cpu, &spec, err);
    if (st != RN_OK) return st;
    rn_vision *const made = mem_calloc(1, sizeof *made);
    if (!made) return fail(err, RN_E_NOMEM, "vision: out of memory");
    st = vision_files_open_of(path, &made->files, err);
    if (st == RN_OK) st = vision_create(&made->files, &spec, &made->v, err);
    if (st == RN_OK) st = vision_load(made->v, err);
    if (st == RN_OK)
        *out = made;
    else
        rn_vision_close(made);
    return st;
}

rn_status rn_vision_encode(rn_vision *v, const rn_picture *p, rn_vision_stage stage, rn_pixels *out, rn_error *err) {
    struct vision_rows rows = {0};
    struct pixels pixels;
    rn_status st = sized_check(&public_pixels, out, err);
    if (st != RN_OK) return st;
    if (!v || !p) return fail(err, RN_E_ARG, "rn_vision_encode: NULL argument");
    if (stage != RN_VISION_FEATURES && stage != RN_VISION_PROJECTED)
        return fail(err, RN_E_ARG, "stage: %d is unknown", (int)stage);
    st = pipeline_run(&vision_info(v->v)->pipeline, &p->p, true, &pixels, err);
    if (st != RN_OK) return st;
    st = vision_encode(v->v, &pixels, stage == RN_VISION_FEATURES ? VISION_FEATURES : VISION_PROJECTED, &rows, err);
    mem_free(pixels.values);
    if (st != RN_OK) return st;
    const rn_pixels ours = {.values = rows.values, .n_dims = 2, .shape = {rows.n, rows.width}};
    sized_write(&public_pixels, &ours, out);
    return RN_OK;
}

void rn_vision_close(rn_vision *v) {
    if (!v) return;
    vision_destroy(v->v);
    vision_files_close(&v->files);
    mem_free(v);
}
