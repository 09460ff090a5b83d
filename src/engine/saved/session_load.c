// engine/saved/session_load.c - loads a session from a file. What does not fit this engine is left out, with a reason.
#include "base/clock.h"
#include "base/mem.h"
#include "engine/public_structs.h"
#include "engine/saved/fingerprint.h"
#include "engine/saved/session_parts.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

// A file that is being loaded.
struct load {
    rn_session *session;
    struct record_in in;
    struct session_head head;
    rn_saved *saved;
    int32_t seq; // -1: none; restored, not yet the session's
    rn_status st;
    rn_error err;
};

static void say_head(const struct session_head *h, uint64_t file_bytes, rn_saved *out) {
    snprintf(out->model, sizeof out->model, "%s", h->model);
    snprintf(out->architecture, sizeof out->architecture, "%s", h->architecture);
    snprintf(out->arithmetic, sizeof out->arithmetic, "%s", h->arithmetic);
    snprintf(out->kv_type, sizeof out->kv_type, "%s", h->kv_type);
    out->fingerprint = h->fingerprint;
    out->n_tokens = (size_t)h->n_tokens;
    out->n_positions = (size_t)h->n_positions;
    out->file_bytes = file_bytes;
}

// Opens the file and reads its head. The caller closes *file.
static rn_status open_saved(const char *path, file_in **file, struct load *l, rn_saved *saved, rn_error *err) {
    char *note;
    size_t n_note;
    rn_status st = file_in_open(path, file, err);
    if (st == RN_OK) st = session_file_open(&l->in, *file, &l->head, &note, &n_note, err);
    if (st != RN_OK) return st;
    rn_saved_init(saved);
    saved->note = note;
    saved->n_note = n_note;
    say_head(&l->head, file_in_size(*file), saved);
    return RN_OK;
}

// The caller's struct is empty until all has gone well.
static rn_status check_saved(rn_saved *saved, rn_error *err) {
    const rn_status st = sized_check(&public_saved, saved, err);
    if (st == RN_OK) sized_init(&public_saved, saved, saved->struct_size);
    return st;
}

rn_status rn_session_peek(const char *path, rn_saved *saved, rn_error *err) {
    struct load l = {0};
    file_in *file = NULL;
    rn_saved own;
    if (!path) return fail(err, RN_E_ARG, "rn_session_peek: NULL argument");
    rn_status st = check_saved(saved, err);
    if (st == RN_OK && (st = open_saved(path, &file, &l, &own, err)) == RN_OK)
        sized_write(&public_saved, &own, saved);
    file_in_close(file);
    return st;
}

// Sets the reason for leaving something out; returns false.
__attribute__((format(printf, 2, 3))) static bool leave(rn_saved *saved, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(saved->reason, sizeof saved->reason, fmt, ap);
    va_end(ap);
    return false;
}

// True if the tokens are usable here; otherwise saved->reason says why not.
static bool tokens_fit(const struct load *l, uint64_t fingerprint) {
    const struct session_head *h = &l->head;
    const struct model_slot *model_slot = l->session->model_slot;
    if (h->fingerprint != fingerprint)
        return leave(l->saved,
                     "saved with another model, or by another version of runnel: %s (%s, fingerprint %016" PRIx64
                     ", here %016" PRIx64 "): the session is empty, give it the conversation again",
                     h->model, h->architecture, h->fingerprint, fingerprint);
    if (h->n_tokens > model_slot->n_ctx)
        return leave(l->saved, "%d tokens do not fit the context of %d", h->n_tokens, model_slot->n_ctx);
    return true;
}

// The number of adapter i of the file in this model; -1: it is not loaded. One file may be loaded under several names: then it is the one
// of the same name, else the first that no adapter before i is.
static int32_t find_adapter(const struct load *l, int32_t i) {
    const rn_model *m = l->session->model_slot->m;
    const struct session_adapter *const of = l->head.adapters;
    int32_t first = -1, n_before = 0;
    for (int32_t k = 0; k < i; k++) n_before += of[k].fingerprint == of[i].fingerprint;
    for (size_t k = 0; k < m->n_adapters; k++) {
        if (adapter_fingerprint(m->adapters[k].file) != of[i].fingerprint) continue;
        if (strcmp(m->adapters[k].name, of[i].name) == 0) return (int32_t)k;
        if (n_before-- == 0) first = (int32_t)k;
    }
    return first;
}

static bool positions_fit(const struct load *l, const rn_engine_info *info) {
    const struct session_head *h = &l->head;
    if (h->n_positions == 0) return leave(l->saved, "%s", h->n_tokens ? "saved without keys and values" : "");
    if (strcmp(h->arithmetic, info->arithmetic) != 0)
        return leave(l->saved, "keys and values of arithmetic %s, this engine has %s", h->arithmetic,
                     info->arithmetic);
    if (strcmp(h->kv_type, info->kv_type) != 0)
        return leave(l->saved, "keys and values of type %s, this engine has %s", h->kv_type, info->kv_type);
    for (int32_t i = 0; i < h->n_adapters; i++)
        if (find_adapter(l, i) < 0)
            return leave(l->saved,
                         "keys and values made with adapter %s (fingerprint %016" PRIx64 "), which is not loaded",
                         h->adapters[i].name, h->adapters[i].fingerprint);
    for (int32_t i = 1; i < h->n_adapters; i++) // their products are added in this order
        if (find_adapter(l, i) <= find_adapter(l, i - 1))
            return leave(l->saved,
                         "keys and values made with adapter %s before %s, which are loaded the other way round",
                         h->adapters[i - 1].name, h->adapters[i].name);
    if (h->page != KV_PAGE)
        return leave(l->saved, "keys and values in pages of %d positions, this engine has %d", h->page, KV_PAGE);
    return true;
}

// Idle sessions release their pages first, as for a stream.
static void restore_on_step_thread(void *ctx) {
    struct load *l = ctx;
    rn_session *const s = l->session;
    struct lm_seq_spec spec = {.n_most = l->head.is_far ? INT32_MAX : 0};
    for (int32_t i = 0; i < l->head.n_adapters; i++) {
        l->st = lm_adapters_add(&spec.adapters, find_adapter(l, i), l->head.adapters[i].scale, &l->err);
        if (l->st != RN_OK) return;
    }
    s->adapters = spec.adapters;
    do
        l->st =
            lm_seq_restore(s->model_slot->lm, &spec, lm_token_keys(s->model_slot->lm, s->tokens, l->head.n_positions),
                           l->head.n_positions, &l->seq, &l->err);
    while (l->st == RN_E_LIMIT && session_make_room(s->engine, s->model_slot, NULL));
}

static void adopt_on_step_thread(void *ctx) {
    const struct load *l = ctx;
    l->session->seq = l->seq;
    l->session->t_used = clock_now_ns();
}

static void drop_on_step_thread(void *ctx) {
    const struct load *l = ctx;
    lm_seq_free(l->session->model_slot->lm, l->seq);
}

static rn_status fill_part(struct load *l, int32_t part, rn_error *err) {
    const struct model_slot *model_slot = l->session->model_slot;
    const struct lm_part p = lm_part(model_slot->lm, part, l->head.n_positions);
    struct session_records r;
    rn_status st = session_file_part(&l->in, part, &p, err);
    if (st == RN_OK) st = session_records_begin(&r, model_slot, l->seq, part, &p, err);
    if (st != RN_OK) return st;
    while (st == RN_OK && session_records_next(&r)) {
        for (int32_t i = 0; st == RN_OK && i < r.n; i++)
            st = record_in_get(&l->in, r.bytes + (size_t)i * p.record_bytes, err);
        if (st != RN_OK) break;
        engine_call_wait(l->session->engine, session_records_write, &r);
        if (r.st != RN_OK) st = fail(err, r.st, "%s", r.err.text);
    }
    session_records_end(&r);
    return st;
}

// The sequence becomes visible only after all of it was read and checked.
static rn_status restore_positions(struct load *l, rn_error *err) {
    rn_engine *const e = l->session->engine;
    engine_call_wait(e, restore_on_step_thread, l);
    if (l->st == RN_E_LIMIT) {
        leave(l->saved, "no room for keys and values: %s", l->err.text);
        return RN_OK;
    }
    if (l->st != RN_OK) return fail(err, l->st, "%s", l->err.text);
    rn_status st = RN_OK;
    for (int32_t p = 0; st == RN_OK && p < l->session->model_slot->lm->n_parts; p++) st = fill_part(l, p, err);
    if (st == RN_OK) st = record_in_end(&l->in, err);
    engine_call_wait(e, st == RN_OK ? adopt_on_step_thread : drop_on_step_thread, l);
    if (st == RN_OK) l->saved->n_restored = (size_t)l->head.n_positions;
    return st;
}

static rn_status take_over(struct load *l, rn_error *err) {
    rn_session *const s = l->session;
    rn_engine_info info = {.struct_size = sizeof info};
    uint64_t fingerprint;
    rn_status st = rn_engine_get_info(s->engine, (size_t)(s->model_slot - s->engine->model_slots), &info, err);
    if (st == RN_OK) st = model_slot_fingerprint(s->model_slot, &fingerprint, err);
    if (st != RN_OK || !tokens_fit(l, fingerprint)) return st;
    st = session_file_tokens(&l->in, &l->head, s->model_slot->lm->n_vocab, s->tokens, err);
    if (st != RN_OK) return st;
    s->n_tokens = l->head.n_tokens;
    l->saved->n_loaded = (size_t)l->head.n_tokens;
    return positions_fit(l, &info) ? restore_positions(l, err) : RN_OK;
}

rn_status rn_session_load(rn_engine *engine, size_t model, const char *path, rn_session **session, rn_saved *saved,
                          rn_error *err) {
    rn_saved own;
    struct load l = {.seq = -1, .saved = &own};
    file_in *file = NULL;
    rn_saved_init(&own);
    if (session) *session = NULL;
    if (!engine || !path || !session) return fail(err, RN_E_ARG, "rn_session_load: NULL argument");
    rn_status st = check_saved(saved, err);
    if (st != RN_OK) return st;
    st = open_saved(path, &file, &l, &own, err);
    if (st == RN_OK) st = rn_session_open(engine, model, &l.session, err);
    if (st == RN_OK) st = take_over(&l, err);
    file_in_close(file);
    if (st == RN_OK) {
        *session = l.session;
        sized_write(&public_saved, &own, saved);
        return RN_OK;
    }
    rn_session_close(l.session);
    mem_free(own.note);
    return st;
}
