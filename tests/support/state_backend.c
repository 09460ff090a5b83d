// tests/support/state_backend.c - see state_backend.h.
#include "tests/support/state_backend.h"
#include "base/hash.h"
#include "tests/check.h"
#include <stdlib.h>
#include <string.h>

const struct program state_program = {.n_tokens = STATE_VOCAB,
                                      .width = {STATE_VOCAB, 1},
                                      .rows = {ROWS_WANTED, ROWS_WANTED},
                                      .n_buffers = 2,
                                      .logits = 0,
                                      .hidden = 1,
                                      .n_groups = 1,
                                      .state_bytes = 8};

struct state_backend {
    backend base;
    struct backend_sizes sizes;
    const kv *books;
    uint64_t *pages, *states; // [n_pages][KV_PAGE], [n_states]
    float *logits;            // [n_wanted][STATE_VOCAB]
    struct state_counts counts;
    int failures; // runs until the one that fails; 0: none will
};

static uint64_t value_of(int32_t token, int32_t pos) { return hash_u64((uint64_t)token, (uint64_t)pos); }
static uint64_t fold(uint64_t h, uint64_t value) { return h * 1000003u + value; }
static uint64_t recur(int32_t token, uint64_t state) { return hash_u64((uint64_t)token, state); }

static void logits_of(uint64_t state, uint64_t folded, float *out) {
    for (uint64_t i = 0; i < STATE_VOCAB; i++) out[i] = (float)(hash_u64(state + folded, i) & 0xffff) / 256.0f;
}

void state_expect(const int32_t *tokens, int32_t n, float *out) {
    uint64_t state = 0, folded = 0;
    for (int32_t i = 0; i < n; i++) {
        state = recur(tokens[i], state);
        folded = fold(folded, value_of(tokens[i], i));
    }
    logits_of(state, folded, out);
}

static struct state_backend *self(backend *b) { return (struct state_backend *)b; }

static void spoil(struct state_backend *b) {
    for (int32_t p = 0; p < b->sizes.n_pages[0]; p++)
        if (kv_page_is_free(b->books, 0, p)) memset(b->pages + p * KV_PAGE, 0xa5, KV_PAGE * sizeof *b->pages);
    for (int32_t i = 0; i < b->sizes.n_states; i++)
        if (kv_page_is_free(b->books, KV_STATE, i)) memset(b->states + i, 0xa5, sizeof *b->states);
}

static uint64_t *slot_of(const struct state_backend *b, struct kv_slot at) {
    return b->pages + at.page * KV_PAGE + at.slot;
}

// An appended row continues from the state written by the previous appended row of its sequence.
static void check_order(struct state_backend *b, const struct batch *batch, size_t r) {
    const struct batch_row *row = &batch->rows[r];
    CHECK(row->state.to >= 0 && row->state.to < b->sizes.n_states);
    CHECK((row->state.from == KV_NONE) == (row->pos == 0));
    for (size_t i = r; i-- > 0;) {
        if (batch->rows[i].seq != row->seq || batch->rows[i].path[0] || row->path[0]) continue;
        CHECK_INT(batch->rows[i].pos, row->pos - 1);
        CHECK_INT(batch->rows[i].state.to, row->state.from);
        b->counts.moved += row->state.from != row->state.to;
        b->counts.in_place += row->state.from == row->state.to;
        return;
    }
}

static rn_status run(backend *base, const struct batch *batch, rn_error *err) {
    struct state_backend *b = self(base);
    if (b->failures > 0 && --b->failures == 0) {
        for (size_t r = 0; r < batch->n_rows; r++) { // half done: what belongs to the rows is garbage
            b->states[batch->rows[r].state.to] = 0xbad;
            *slot_of(b, batch->rows[r].store[0]) = 0xbad;
        }
        return fail(err, RN_E_IO, "backend state: the device is gone");
    }
    if (b->books) spoil(b);
    for (size_t r = 0, wanted = 0; r < batch->n_rows; r++) {
        const struct batch_row *row = &batch->rows[r];
        const struct batch_seq *seq = &batch->seqs[row->seq];
        uint64_t folded = 0;
        check_order(b, batch, r);
        const uint64_t state = recur(row->token, row->state.from == KV_NONE ? 0 : b->states[row->state.from]);
        b->states[row->state.to] = state;
        *slot_of(b, row->store[0]) = value_of(row->token, row->pos);
        for (int32_t p = 0; p <= row->pos; p++) {
            const bool in_path = row->path[0] && p >= seq->n_committed;
            const struct kv_slot at = in_path ? row->path[0][p - seq->n_committed]
                                              : (struct kv_slot){seq->pages[0][p / KV_PAGE], p % KV_PAGE};
            folded = fold(folded, *slot_of(b, at));
        }
        if (wanted < batch->n_wanted && batch->wanted[wanted] == (int32_t)r)
            logits_of(state, folded, b->logits + wanted++ * STATE_VOCAB);
    }
    return RN_OK;
}

static rn_status copy(backend *base, const struct kv_copy *c, rn_error *err) {
    const struct state_backend *b = self(base);
    (void)err;
    CHECK_INT(c->group, 0); // states are never copied
    memcpy(slot_of(b, (struct kv_slot){c->dst, c->slot_dst}), slot_of(b, (struct kv_slot){c->src, c->slot_src}),
           (size_t)c->n * sizeof *b->pages);
    return RN_OK;
}

static rn_status fetch(backend *base, int32_t buffer, size_t n, struct backend_rows *out, rn_error *err) {
    if (buffer != 0) return fail(err, RN_E_ARG, "backend state: there is no buffer %d of %zu rows", buffer, n);
    *out = (struct backend_rows){self(base)->logits, STATE_VOCAB};
    return RN_OK;
}

static void destroy(backend *base) {
    struct state_backend *b = self(base);
    free(b->pages);
    free(b->states);
    free(b->logits);
    free(b);
}

static size_t page_bytes(const backend *base, int32_t group) {
    (void)base;
    return group == KV_STATE ? sizeof(uint64_t) : KV_PAGE * sizeof(uint64_t);
}

static rn_status read_page(backend *base, int32_t group, int32_t page, int32_t n, uint8_t *out, rn_error *err) {
    const struct state_backend *b = self(base);
    (void)err;
    memset(out, 0, page_bytes(base, group));
    if (group == KV_STATE)
        memcpy(out, b->states + page, sizeof *b->states);
    else
        memcpy(out, b->pages + page * KV_PAGE, (size_t)n * sizeof *b->pages);
    return RN_OK;
}

static rn_status write_page(backend *base, int32_t group, int32_t page, const uint8_t *bytes, rn_error *err) {
    const struct state_backend *b = self(base);
    (void)err;
    memcpy(group == KV_STATE ? b->states + page : b->pages + page * KV_PAGE, bytes, page_bytes(base, group));
    return RN_OK;
}

static const struct backend_ops ops = {.name = "state",
                                       .copy = copy,
                                       .page_bytes = page_bytes,
                                       .read_page = read_page,
                                       .write_page = write_page,
                                       .run = run,
                                       .fetch = fetch,
                                       .destroy = destroy};

backend *state_backend_new(const struct backend_sizes *s) {
    struct state_backend *b = calloc(1, sizeof *b);
    if (!b) abort();
    b->base.ops = &ops;
    b->sizes = *s;
    b->pages = calloc((size_t)s->n_pages[0] * KV_PAGE, sizeof *b->pages);
    b->states = calloc((size_t)s->n_states, sizeof *b->states);
    b->logits = calloc(s->n_wanted * STATE_VOCAB, sizeof *b->logits);
    if (!b->pages || !b->states || !b->logits) abort();
    return &b->base;
}

void state_backend_fail_at(backend *b, int n) { self(b)->failures = n; }
void state_backend_watch(backend *b, const kv *books) { self(b)->books = books; }
struct state_counts state_backend_counts(const backend *b) { return ((const struct state_backend *)b)->counts; }
