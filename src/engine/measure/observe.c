// engine/measure/observe.c - rn_observe(): evaluates a text on the step thread, between steps, with the backend's collector enabled.
#include "engine/engine.h"

struct observe_call {
    struct model_slot *model_slot;
    struct lm_adapters adapters;
    const int32_t *ids;
    size_t n_ids;
    rn_input_fn on_input;
    void *user;
    bool stopped;
    rn_status st;
    rn_error err;
};

// A tensor that holds several matrices (queries, keys and values) is reported once, as they are multiplied with the same rows.
static bool is_further_part(const struct program *p, int32_t matrix) {
    return matrix > 0 && p->matrices[matrix].name == p->matrices[matrix - 1].name;
}

// On thread 0 of the pool, which is the step thread.
static void take_row(void *user, int32_t matrix, int32_t slice, const float *x, size_t k) {
    struct observe_call *c = user;
    const struct program *p = model_program(c->model_slot->program);
    const struct matrix *m = &p->matrices[matrix];
    const rn_input in = {.struct_size = sizeof in,
                         .matrix = matrix,
                         .name = m->name,
                         .expert = slice,
                         .n_experts = (int32_t)m->n_slices,
                         .x = x,
                         .k = k};
    if (!c->stopped && !is_further_part(p, matrix)) c->stopped = c->on_input(c->user, &in);
}

static rn_status evaluate(struct observe_call *c, int32_t seq) {
    struct model_slot *l = c->model_slot;
    for (size_t done = 0, n; done < c->n_ids; done += n) {
        n = c->n_ids - done < (size_t)l->lm->n_batch ? c->n_ids - done : (size_t)l->lm->n_batch;
        rn_status st = package_check_files(l->m->pkg, &c->err);
        for (size_t i = 0; i < n; i++) l->rows[i] = (struct lm_row){seq, c->ids[done + i], LM_APPEND, 0};
        if (st == RN_OK) st = lm_step(l->lm, l->rows, n, NULL, &c->err);
        if (st != RN_OK) return st;
        if (c->stopped)
            return fail(&c->err, RN_E_CANCELLED, "stopped by the caller within positions %zu..%zu", done,
                        done + n - 1);
    }
    return RN_OK;
}

static void observe_on_step_thread(void *ctx) {
    struct observe_call *c = ctx;
    int32_t seq;
    const struct lm_seq_spec spec = {.n_most = (int32_t)c->n_ids, .adapters = c->adapters};
    c->st = lm_seq_new(c->model_slot->lm, &spec, &seq, &c->err);
    if (c->st != RN_OK) return;
    backend_collect(c->model_slot->backend, take_row, c);
    c->st = evaluate(c, seq);
    backend_collect(c->model_slot->backend, NULL, NULL);
    lm_seq_free(c->model_slot->lm, seq);
}

rn_status rn_observe(rn_engine *engine, size_t model, const int32_t *ids, size_t n_ids, rn_input_fn on_input,
                     void *user, rn_error *err) {
    if (!engine || !on_input || (!ids && n_ids)) return fail(err, RN_E_ARG, "rn_observe: NULL argument");
    if (model >= engine->n_models)
        return fail(err, RN_E_ARG, "model: %zu is outside 0..%zu", model, engine->n_models - 1);
    struct model_slot *l = &engine->model_slots[model];
    if (n_ids == 0) return fail(err, RN_E_ARG, "ids: none given");
    if (n_ids > (size_t)l->n_ctx)
        return fail(err, RN_E_LIMIT, "ids: %zu tokens are longer than the context of %d", n_ids, l->n_ctx);
    struct observe_call c = {.model_slot = l,
                             .adapters = model_slot_adapters(engine, l),
                             .ids = ids,
                             .n_ids = n_ids,
                             .on_input = on_input,
                             .user = user};
    engine_call_wait(engine, observe_on_step_thread, &c);
    return c.st == RN_OK ? RN_OK : fail(err, c.st, "%s", c.err.text);
}
