// engine/measure/compare.c - rn_compare(): evaluates a text with two models in lockstep and compares their rows.
#include "engine/engine.h"
#include <math.h>

struct side {
    struct model_slot *model_slot;
    struct lm_adapters adapters;
    int32_t seq;
    bool has_seq;
};

struct compare_call {
    rn_engine *e;
    struct side sides[2]; // the model, its reference
    const int32_t *ids;
    size_t n_ids;
    rn_compare_fn on_row;
    void *user;
    rn_status st;
    rn_error err;
};

// Rows that both can evaluate, with logits, in one step.
static size_t rows_at_once(const struct compare_call *c) {
    size_t n = SIZE_MAX;
    for (int k = 0; k < 2; k++) {
        const lm *m = c->sides[k].model_slot->lm;
        n = (size_t)m->n_batch < n ? (size_t)m->n_batch : n;
        n = (size_t)m->n_logits < n ? (size_t)m->n_logits : n;
    }
    return n;
}

static rn_status evaluate(struct compare_call *c, struct side *s, size_t at, size_t n) {
    struct model_slot *l = s->model_slot;
    for (size_t i = 0; i < n; i++) l->rows[i] = (struct lm_row){s->seq, c->ids[at + i], LM_APPEND, LM_WANT_LOGITS};
    const rn_status st = package_check_files(l->m->pkg, &c->err);
    return st == RN_OK ? lm_step(l->lm, l->rows, n, NULL, &c->err) : st;
}

static rn_status show_rows(struct compare_call *c, size_t at, size_t n) {
    const int32_t n_vocab = c->sides[0].model_slot->lm->n_vocab;
    for (size_t i = 0; i < n; i++) {
        const float *rows[2];
        for (int k = 0; k < 2; k++) {
            rows[k] = lm_logits(c->sides[k].model_slot->lm, i);
            if (!isfinite(c->e->kernels->row.max(rows[k], (size_t)n_vocab)))
                return fail(&c->err, RN_E_FORMAT, "%s: logits at position %zu are not finite",
                            package_path(c->sides[k].model_slot->m->pkg), at + i);
        }
        if (c->on_row(c->user, at + i, rows[0], rows[1], n_vocab))
            return fail(&c->err, RN_E_CANCELLED, "stopped by the caller at position %zu", at + i);
    }
    return RN_OK;
}

static void compare_on_step_thread(void *ctx) {
    struct compare_call *c = ctx;
    const size_t step = rows_at_once(c);
    for (int k = 0; c->st == RN_OK && k < 2; k++) {
        const struct lm_seq_spec spec = {.n_most = (int32_t)c->n_ids, .adapters = c->sides[k].adapters};
        c->st = lm_seq_new(c->sides[k].model_slot->lm, &spec, &c->sides[k].seq, &c->err);
        c->sides[k].has_seq = c->st == RN_OK;
    }
    for (size_t at = 0, n; c->st == RN_OK && at < c->n_ids; at += n) {
        n = c->n_ids - at < step ? c->n_ids - at : step;
        for (int k = 0; c->st == RN_OK && k < 2; k++) c->st = evaluate(c, &c->sides[k], at, n);
        if (c->st == RN_OK) c->st = show_rows(c, at, n);
    }
    for (int k = 0; k < 2; k++)
        if (c->sides[k].has_seq) lm_seq_free(c->sides[k].model_slot->lm, c->sides[k].seq);
}

rn_status rn_compare(rn_engine *engine, size_t model, size_t reference, const int32_t *ids, size_t n_ids,
                     rn_compare_fn on_row, void *user, rn_error *err) {
    if (!engine || !on_row || (!ids && n_ids)) return fail(err, RN_E_ARG, "rn_compare: NULL argument");
    if (model >= engine->n_models || reference >= engine->n_models || model == reference)
        return fail(err, RN_E_ARG, "models: %zu and %zu must be two of 0..%zu", model, reference,
                    engine->n_models - 1);
    struct model_slot *a = &engine->model_slots[model], *b = &engine->model_slots[reference];
    const int32_t n_ctx = a->n_ctx < b->n_ctx ? a->n_ctx : b->n_ctx;
    if (a->lm->n_vocab != b->lm->n_vocab)
        return fail(err, RN_E_ARG, "%s: %d tokens, %s: %d: only models of one vocabulary can be compared",
                    package_path(a->m->pkg), a->lm->n_vocab, package_path(b->m->pkg), b->lm->n_vocab);
    if (n_ids == 0) return fail(err, RN_E_ARG, "ids: none given");
    if (n_ids > (size_t)n_ctx)
        return fail(err, RN_E_LIMIT, "ids: %zu tokens do not fit the context of %d", n_ids, n_ctx);
    struct compare_call c = {.e = engine,
                             .sides = {{a, model_slot_adapters(engine, a)}, {b, model_slot_adapters(engine, b)}},
                             .ids = ids,
                             .n_ids = n_ids,
                             .on_row = on_row,
                             .user = user};
    engine_call_wait(engine, compare_on_step_thread, &c);
    return c.st == RN_OK ? RN_OK : fail(err, c.st, "%s", c.err.text);
}
