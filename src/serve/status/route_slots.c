// serve/status/route_slots.c - GET /slots: the state of each generation, with llama-server's member names where
// it has them. Never shows prompts or answers, nor what belongs to another key than the asking one.
#include "app/say.h"
#include "serve/access/api_keys.h"
#include "serve/api/api.h"
#include "serve/status/route_status.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

// Copies: a job may end on another thread as soon as the list of jobs is unlocked.
typedef struct slot {
    bool is_used;
    rn_stream_state state;
    char request[sizeof((job *)0)->id];
    size_t model;
    int32_t choice;
    uint64_t key;
} slot;
typedef struct slots {
    slot *rows; // n_streams engine slots by number, then queued generations by their position in the queue
    size_t n, n_streams;
} slots;

static void see(void *user, const job *j) {
    slots *const all = user;
    for (size_t i = 0; i < j->n_parts; i++) {
        slot s = {.is_used = true, .model = j->model, .key = j->key, .choice = (int32_t)i};
        memcpy(s.request, j->id, sizeof s.request);
        if (!job_get_state(j, i, &s.state)) continue;
        if (s.state.slot >= 0 && (size_t)s.state.slot < all->n_streams) {
            all->rows[s.state.slot] = s;
        } else if (s.state.phase == RN_STREAM_QUEUED) {
            slot *const rows = app_realloc(all->rows, (all->n + 1) * sizeof *rows);
            if (!rows) return;
            all->rows = rows;
            rows[all->n++] = s;
        }
    }
}

static int by_place(const void *a, const void *b) {
    return ((const slot *)a)->state.queue_position - ((const slot *)b)->state.queue_position;
}

// The key's name, or its number.
static void put_key(json_writer *w, const server *s, uint64_t key) {
    char label[API_KEY_LABEL];
    if (!key || !api_keys_label(s->keys, key, label)) return;
    json_put_key(w, "key");
    if (isdigit((unsigned char)*label))
        json_put_whole(w, strtoll(label, NULL, 10));
    else
        json_put_string(w, label);
}

static const char *state_of(const rn_stream_state *st) {
    return st->is_parked ? "parked" : st->is_paused ? "paused" : rn_stream_phase_name(st->phase);
}

static void put_work(json_writer *w, const server *s, const slot *x) {
    const rn_stream_state *const st = &x->state;
    json_member_string(w, "model", s->models[x->model].name);
    json_member_string(w, "request", x->request);
    json_member_whole(w, "choice", x->choice);
    put_key(w, s, x->key);
    if (st->queue_position) json_member_whole(w, "queue_position", st->queue_position);
    json_member_whole(w, "n_prompt", st->n_prompt);
    json_member_whole(w, "n_evaluated", st->n_evaluated);
    json_member_whole(w, "n_generated", st->n_generated);
    json_member_whole(w, "kv_pages", st->kv_pages);
    json_member_bool(w, "was_preempted", st->was_preempted);
}

static void put_slot(json_writer *w, const server *s, uint64_t key, size_t i, const slot *x) {
    rn_engine_info e = {.struct_size = sizeof e};
    json_put_begin(w, '{');
    json_member_whole(w, "id", (int64_t)i);
    json_member_bool(w, "is_processing", x->is_used);
    if (rn_engine_get_info(s->engine, x->model, &e, NULL) == RN_OK) json_member_whole(w, "n_ctx", e.n_ctx);
    json_member_string(w, "state", x->is_used ? state_of(&x->state) : "idle");
    if (x->is_used && x->key == key) put_work(w, s, x);
    json_put_end(w, '}');
}

void route_slots(struct server *s, http_exchange *x, const http_request *r) {
    slots all = {.n = (size_t)s->n_streams, .n_streams = (size_t)s->n_streams};
    bytes body = {0};
    json_writer w = {.out = &body};
    all.rows = app_alloc(all.n * sizeof *all.rows);
    if (!all.rows) all.n = 0; // no memory: the answer becomes that error
    if (all.rows) {
        api_each_job(s->api, see, &all);
        qsort(all.rows + all.n_streams, all.n - all.n_streams, sizeof *all.rows, by_place);
    }
    json_put_begin(&w, '[');
    for (size_t i = 0; i < all.n; i++) put_slot(&w, s, r->key, i, &all.rows[i]);
    json_put_end(&w, ']');
    http_answer_json(x, 200, &body);
    free(all.rows);
}
