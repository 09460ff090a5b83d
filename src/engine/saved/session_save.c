// engine/saved/session_save.c - saves a session to a file. A fork of it is written, so that it can be used meanwhile.
#include "base/mem.h"
#include "base/one_line.h"
#include "base/paths.h"
#include "engine/public_structs.h"
#include "engine/saved/fingerprint.h"
#include "engine/saved/session_parts.h"
#include <stdio.h>
#include <string.h>

// A snapshot of the session, taken between two steps.
struct snapshot {
    rn_session *session;
    bool with_kv;
    int32_t *tokens;             // [n_ctx + 1]
    int32_t seq;                 // -1: none; else to be freed on the step thread
    struct lm_adapters adapters; // of seq
    struct session_head head;
    rn_status st;
    rn_error err;
};

// Pages that the session released may still be in the prefix index.
static rn_status look_up_pages(rn_session *s, rn_error *err) {
    struct lm_prefix found;
    if (s->seq >= 0 || s->n_tokens == 0) return RN_OK;
    const struct lm_seq_spec spec = {.n_most = s->n_tokens, .salt = s->salt, .adapters = s->adapters};
    rn_status st;
    do st = lm_match_tokens(s->model_slot->lm, &spec, s->tokens, s->n_tokens, &found, err);
    while (st == RN_E_LIMIT && session_make_room(s->engine, s->model_slot, s));
    if (st != RN_OK) return st;
    if (found.n > 0)
        s->seq = found.seq;
    else
        lm_seq_free(s->model_slot->lm, found.seq);
    return RN_OK;
}

static void take_on_step_thread(void *ctx) {
    struct snapshot *c = ctx;
    rn_session *const s = c->session;
    if ((c->st = session_check_free(s, &c->err)) != RN_OK) return;
    memcpy(c->tokens, s->tokens, (size_t)s->n_tokens * sizeof *c->tokens);
    c->head.n_tokens = s->n_tokens;
    if (!c->with_kv) return;
    c->st = look_up_pages(s, &c->err);
    if (c->st != RN_OK || s->seq < 0) return;
    do c->st = lm_seq_fork(s->model_slot->lm, s->seq, &c->seq, &c->err);
    while (c->st == RN_E_LIMIT && session_make_room(s->engine, s->model_slot, s));
    if (c->st != RN_OK) return;
    c->head.n_positions = lm_seq_len(s->model_slot->lm, c->seq);
    const struct lm_seq_spec near = {.salt = s->salt, .adapters = s->adapters};
    c->head.is_far = !lm_seq_fits(s->model_slot->lm, c->seq, &near);
    c->adapters = s->adapters;
}

static void set_text(char *out, size_t size, const char *text) {
    one_line(out, (size_t)snprintf(out, size, "%s", text) >= size);
}

static rn_status name_model(const rn_session *s, struct session_head *h, rn_error *err) {
    const struct model_slot *l = s->model_slot;
    const struct hparams *hp = package_hparams(l->m->pkg);
    rn_engine_info info = {.struct_size = sizeof info};
    rn_status st = rn_engine_get_info(s->engine, (size_t)(l - s->engine->model_slots), &info, err);
    if (st == RN_OK) st = model_slot_fingerprint(l, &h->fingerprint, err);
    if (st != RN_OK) return st;
    h->page = KV_PAGE;
    set_text(h->model, sizeof h->model, hp->name[0] ? hp->name : path_last_name(package_path(l->m->pkg)));
    set_text(h->architecture, sizeof h->architecture, hp->arch);
    set_text(h->arithmetic, sizeof h->arithmetic, info.arithmetic);
    set_text(h->kv_type, sizeof h->kv_type, info.kv_type);
    return RN_OK;
}

static void name_adapters(struct snapshot *c) {
    const rn_model *m = c->session->model_slot->m;
    c->head.n_adapters = c->head.n_positions > 0 ? c->adapters.n : 0;
    for (int32_t i = 0; i < c->head.n_adapters; i++) {
        struct session_adapter *a = &c->head.adapters[i];
        const struct model_adapter *of = &m->adapters[c->adapters.of[i].adapter];
        a->fingerprint = adapter_fingerprint(of->file);
        a->scale = c->adapters.of[i].scale;
        set_text(a->name, sizeof a->name, of->name);
    }
}

static rn_status write_part(struct record_out *o, const struct snapshot *c, int32_t part, const struct lm_part *p,
                            rn_error *err) {
    struct session_records r;
    rn_status st = session_file_write_part(o, part, p, err);
    if (st == RN_OK) st = session_records_begin(&r, c->session->model_slot, c->seq, part, p, err);
    if (st != RN_OK) return st;
    while (st == RN_OK && session_records_next(&r)) {
        engine_call_wait(c->session->engine, session_records_read, &r);
        if (r.st != RN_OK) st = fail(err, r.st, "%s", r.err.text);
        for (int32_t i = 0; st == RN_OK && i < r.n; i++)
            st = record_out_put(o, r.bytes + (size_t)i * p->record_bytes, err);
    }
    session_records_end(&r);
    return st;
}

static rn_status write_file(const struct snapshot *c, const char *path, const rn_save_options *opt, rn_error *err) {
    const lm *m = c->session->model_slot->lm;
    struct lm_part parts[LM_MAX_PARTS];
    const int32_t n_parts = c->head.n_positions > 0 ? m->n_parts : 0;
    struct record_out o;
    for (int32_t p = 0; p < n_parts; p++) parts[p] = lm_part(m, p, c->head.n_positions);
    rn_status st = session_file_begin(&o, path, &c->head, opt->note, opt->n_note, c->tokens, parts, n_parts, err);
    for (int32_t p = 0; st == RN_OK && p < n_parts; p++) st = write_part(&o, c, p, &parts[p], err);
    if (st == RN_OK) return record_out_commit(&o, err);
    record_out_abandon(&o);
    return st;
}

static void free_on_step_thread(void *ctx) {
    const struct snapshot *c = ctx;
    lm_seq_free(c->session->model_slot->lm, c->seq);
}

static rn_status check_save(const rn_session *s, const char *path, const rn_save_options *o, rn_error *err) {
    if (o->n_note > 0 && !o->note) return fail(err, RN_E_ARG, "note: NULL with n_note %zu", o->n_note);
    if (o->n_note > RN_SAVED_MAX_NOTE)
        return fail(err, RN_E_LIMIT, "note: %zu bytes, limit %u", o->n_note, RN_SAVED_MAX_NOTE);
    for (size_t i = 0; i < s->engine->n_model_slots; i++)
        if (rn_model_reads(s->engine->model_slots[i].m, path))
            return fail(err, RN_E_ARG, "%s: is a file of the model", path);
    return RN_OK;
}

rn_status rn_session_save(rn_session *session, const char *path, const rn_save_options *opt, rn_error *err) {
    rn_save_options own;
    if (!session || !path) return fail(err, RN_E_ARG, "rn_session_save: NULL argument");
    rn_status st = sized_read(&public_save_options, opt, &own, err);
    opt = &own;
    if (st == RN_OK) st = check_save(session, path, opt, err);
    if (st != RN_OK) return st;
    struct snapshot c = {.session = session, .with_kv = opt->with_kv, .seq = -1};
    c.tokens = mem_alloc(((size_t)session->model_slot->n_ctx + 1) * sizeof *c.tokens);
    if (!c.tokens) return fail(err, RN_E_NOMEM, "session: out of memory for %d tokens", session->model_slot->n_ctx);
    st = name_model(session, &c.head, err);
    if (st == RN_OK) engine_call_wait(session->engine, take_on_step_thread, &c);
    if (st == RN_OK && c.st != RN_OK) st = fail(err, c.st, "%s", c.err.text);
    if (st == RN_OK) name_adapters(&c);
    if (st == RN_OK) st = write_file(&c, path, opt, err);
    if (c.seq >= 0) engine_call_wait(session->engine, free_on_step_thread, &c);
    mem_free(c.tokens);
    return st;
}
