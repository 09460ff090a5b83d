// tests/support/lm_rig.c - see lm_rig.h.
#include "tests/support/lm_rig.h"
#include "base/philox.h"
#include "tests/check.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROWS = 1200 };

struct rig_options rig_defaults(void) {
    return (struct rig_options){.set = cpu_set_detect(CPU_N_SETS),
                                .n_threads = 1,
                                .codec = KV_F16,
                                .lm = {.n_ctx = 256,
                                       .n_batch = 256,
                                       .n_want = 256,
                                       .max_seqs = 8,
                                       .max_scratch = 80,
                                       .n_pages = 64,
                                       .n_states = 8 + 8 + 80,
                                       .identity = 1}};
}

// Everything above the package, or above the model where there is one.
static bool stand_up(struct rig *r, const struct rig_options *o) {
    rn_error err = {0};
    if (!r->model &&
        !CHECK_OK(model_build_with(r->pkg, o->spec ? o->spec : &(struct model_spec){0}, &r->model, &err), &err))
        return false;
    if (!CHECK_OK(pool_create(o->n_threads, &r->threads, &err), &err)) return false;
    const struct backend_spec spec = {
        .name = o->backend, .threads = r->threads, .kernels = kernel_set_get(o->set), .keeps_rows = o->keeps_rows};
    if (!CHECK_OK(test_backend_open(&spec, &r->backend, &err), &err)) return false;
    const struct program *p = model_program(r->model);
    struct lm_config config = o->lm;
    for (int32_t g = 0; g < p->n_groups; g++)
        config.codec[g] = g > 0 && o->mixes_codecs ? o->codec_windows : o->codec;
    const struct backend_sizes sizes = lm_real_sizes(p, &config);
    if (!CHECK_OK(backend_load(r->backend, p, &sizes, NULL, NULL, &err), &err)) return false;
    return CHECK_OK(lm_real_create(p, r->backend, &config, &r->lm, &err), &err);
}

bool rig_open_bytes(struct rig *r, uint8_t *bytes, size_t n, const struct rig_options *o) {
    rn_error err = {0};
    *r = (struct rig){.bytes = bytes};
    return CHECK_OK(package_from_bytes("tiny", bytes, n, &r->pkg, &err), &err) && stand_up(r, o);
}

bool rig_open(struct rig *r, const struct tiny_model *m, const struct rig_options *o) {
    size_t n;
    uint8_t *bytes = tiny_model_bytes(m, &n);
    return rig_open_bytes(r, bytes, n, o);
}

bool rig_open_file(struct rig *r, const char *path, const struct rig_options *o) {
    rn_error err = {0};
    *r = (struct rig){0};
    return CHECK_OK(package_open(path, NULL, &r->pkg, &err), &err) && stand_up(r, o);
}

bool rig_open_part(struct rig *r, const struct rig *base, package *pkg, const struct part_spec *spec,
                   const struct rig_options *o) {
    rn_error err = {0};
    *r = (struct rig){.pkg = pkg};
    return CHECK_OK(model_build_part(pkg, spec, base->model, &r->model, &err), &err) && stand_up(r, o);
}

bool rig_open_package(struct rig *r, package *pkg, const struct rig_options *o) {
    *r = (struct rig){.pkg = pkg};
    return stand_up(r, o);
}

void rig_close(struct rig *r) {
    lm_destroy(r->lm);
    backend_destroy(r->backend);
    pool_destroy(r->threads);
    model_destroy(r->model);
    package_close(r->pkg);
    free(r->bytes);
    *r = (struct rig){0};
}

int32_t rig_seq_for(struct rig *r, int32_t n_most) {
    rn_error err = {0};
    int32_t seq = -1;
    CHECK_OK(lm_seq_new(r->lm, &(struct lm_seq_spec){.n_most = n_most}, &seq, &err), &err);
    return seq;
}

int32_t rig_seq(struct rig *r) { return rig_seq_for(r, 0); }

int32_t rig_fork(struct rig *r, int32_t seq) {
    rn_error err = {0};
    int32_t out = -1;
    CHECK_OK(lm_seq_fork(r->lm, seq, &out, &err), &err);
    return out;
}

bool rig_append(struct rig *r, int32_t seq, const int32_t *tokens, int32_t n, float *out) {
    static struct lm_row rows[MOST_ROWS];
    const size_t n_vocab = (size_t)r->lm->n_vocab;
    rn_error err = {0};
    if (n > MOST_ROWS) abort();
    if (n == 0) return true;
    for (int32_t i = 0; i < n; i++) rows[i] = (struct lm_row){seq, tokens[i], LM_APPEND, out ? LM_WANT_LOGITS : 0};
    if (!CHECK_OK(lm_step(r->lm, rows, (size_t)n, NULL, &err), &err)) return false;
    for (int32_t i = 0; out && i < n; i++)
        memcpy(out + (size_t)i * n_vocab, lm_logits(r->lm, (size_t)i), n_vocab * sizeof *out);
    return true;
}

bool rig_append_by(struct rig *r, int32_t seq, const int32_t *tokens, int32_t n, int32_t n_step, float *out) {
    for (int32_t i = 0; i < n; i += n_step) {
        const int32_t n_now = n - i < n_step ? n - i : n_step;
        if (!rig_append(r, seq, tokens + i, n_now, out ? out + (size_t)i * (size_t)r->lm->n_vocab : NULL))
            return false;
    }
    return true;
}

bool rig_scratch(struct rig *r, int32_t seq, int32_t token, int32_t parent, float *out) {
    rn_error err = {0};
    const struct lm_row row = {seq, token, parent, LM_WANT_LOGITS};
    if (!CHECK_OK(lm_step(r->lm, &row, 1, NULL, &err), &err)) return false;
    memcpy(out, lm_logits(r->lm, 0), (size_t)r->lm->n_vocab * sizeof *out);
    return true;
}

bool rig_eval_fresh(struct rig *r, const int32_t *tokens, int32_t n, float *out) {
    kv_forget(lm_real_kv(r->lm));
    const int32_t seq = rig_seq_for(r, n);
    const bool ok = seq >= 0 && rig_append_by(r, seq, tokens, n, r->lm->n_batch, out);
    if (seq >= 0) lm_seq_free(r->lm, seq);
    kv_forget(lm_real_kv(r->lm));
    return ok;
}

void rig_check_cut(struct rig *r, int32_t n, int32_t n_step) {
    const size_t n_floats = (size_t)n * (size_t)r->lm->n_vocab;
    float *cut = new_floats(n_floats), *at_once = new_floats(n_floats);
    int32_t tokens[MOST_ROWS];
    if (n > MOST_ROWS) abort();
    random_tokens(tokens, n, r->lm->n_vocab, 1);
    if (rig_append_by(r, rig_seq_for(r, n), tokens, n, n_step, cut) &&
        rig_append(r, rig_seq_for(r, n), tokens, n, at_once))
        for (size_t i = 0; i < n_floats; i++)
            if ((isfinite(cut[i]) || isfinite(at_once[i])) && !CHECK(cut[i] == at_once[i])) break;
    free(cut);
    free(at_once);
}

void random_tokens(int32_t *out, int32_t n, int32_t n_vocab, uint64_t seed) {
    for (int32_t i = 0; i < n; i++) out[i] = (int32_t)(philox_uniform(seed, 0, (uint32_t)i, PHILOX_TEST) * n_vocab);
}

float *new_floats(size_t n) {
    float *x = calloc(n ? n : 1, sizeof *x);
    if (!x) abort();
    return x;
}
