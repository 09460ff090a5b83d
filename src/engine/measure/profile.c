// engine/measure/profile.c - rn_profile_begin(), rn_profile_end(): start and read the backend's counters between steps.
#include "base/checked.h"
#include "base/mem.h"
#include "engine/engine.h"
#include <string.h>

struct profile_call {
    struct model_slot *model_slot;
    size_t n_events;
    rn_profile *profile;
    rn_status st;
    rn_error err;
};

static void begin_on_step_thread(void *ctx) {
    struct profile_call *c = ctx;
    if (c->model_slot->profiled)
        c->st = fail(&c->err, RN_E_STATE, "profile: already running");
    else
        c->st = backend_profile_begin(c->model_slot->backend, c->n_events, &c->err);
    if (c->st == RN_OK) c->model_slot->profiled = true;
}

// A copy in the public form, in one block with its ops, pointers to them and events.
static rn_profile *copy_profile(const struct backend_profile *from) {
    size_t ops_bytes, events_bytes, n_bytes;
    if (!size_mul(from->n_ops, sizeof(rn_profile_op) + sizeof(rn_profile_op *), &ops_bytes) ||
        !size_mul(from->n_events, sizeof(rn_profile_event), &events_bytes) ||
        !size_add(ops_bytes, events_bytes, &n_bytes) || !size_add(n_bytes, sizeof(rn_profile), &n_bytes))
        return NULL;
    rn_profile *p = mem_alloc(n_bytes);
    if (!p) return NULL;
    rn_profile_op *ops = (rn_profile_op *)(p + 1);
    const rn_profile_op **list = (const rn_profile_op **)(ops + from->n_ops);
    rn_profile_event *events = (rn_profile_event *)(list + from->n_ops);
    int64_t first_ns = INT64_MAX;
    for (size_t i = 0; i < from->n_ops; i++) {
        const struct backend_op_use *o = &from->ops[i];
        ops[i] = (rn_profile_op){sizeof *ops, o->kind,    o->matrix, o->layer,    o->calls,
                                 o->ns,       o->wait_ns, o->bytes,  o->products, o->is_int8};
        list[i] = &ops[i];
    }
    for (size_t i = 0; i < from->n_events; i++)
        if (from->events[i].begin_ns < first_ns) first_ns = from->events[i].begin_ns;
    for (size_t i = 0; i < from->n_events; i++) {
        const struct backend_event *e = &from->events[i];
        events[i] = (rn_profile_event){e->op, e->thread, e->step, e->begin_ns - first_ns, e->ns};
    }
    *p = (rn_profile){sizeof *p,   from->n_steps, from->n_rows,   from->ns,       list,
                      from->n_ops, events,        from->n_events, from->n_dropped};
    return p;
}

static void end_on_step_thread(void *ctx) {
    struct profile_call *c = ctx;
    if (!c->model_slot->profiled) {
        c->st = fail(&c->err, RN_E_STATE, "profile: not running");
        return;
    }
    const struct backend_profile *p = backend_profile_end(c->model_slot->backend);
    c->model_slot->profiled = false;
    c->profile = copy_profile(p);
    if (!c->profile)
        c->st = fail(&c->err, RN_E_NOMEM, "profile: out of memory for %zu ops and %zu events", p->n_ops, p->n_events);
}

static rn_status call(rn_engine *engine, size_t model, void (*fn)(void *), struct profile_call *c, rn_error *err) {
    if (model >= engine->n_models)
        return fail(err, RN_E_ARG, "model: %zu is outside 0..%zu", model, engine->n_models - 1);
    c->model_slot = &engine->model_slots[model];
    engine_call_wait(engine, fn, c);
    return c->st == RN_OK ? RN_OK : fail(err, c->st, "%s", c->err.text);
}

rn_status rn_profile_begin(rn_engine *engine, size_t model, size_t n_events, rn_error *err) {
    if (!engine) return fail(err, RN_E_ARG, "rn_profile_begin: NULL argument");
    return call(engine, model, begin_on_step_thread, &(struct profile_call){.n_events = n_events}, err);
}

rn_status rn_profile_end(rn_engine *engine, size_t model, rn_profile **profile, rn_error *err) {
    if (profile) *profile = NULL;
    if (!engine || !profile) return fail(err, RN_E_ARG, "rn_profile_end: NULL argument");
    struct profile_call c = {0};
    const rn_status st = call(engine, model, end_on_step_thread, &c, err);
    *profile = c.profile;
    return st;
}

void rn_profile_free(rn_profile *profile) { mem_free(profile); }
