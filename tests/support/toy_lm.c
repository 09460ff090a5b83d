// tests/support/toy_lm.c - the toy model: values in pages and state slots of bytes, and logits folded from what is read back.
#include "tests/support/toy_lm.h"
#include "base/checked.h"
#include "base/hash.h"
#include "base/mem.h"
#include "lm/lm_kv.h"
#include <assert.h>
#include <math.h>
#include <stdatomic.h>
#include <string.h>

enum {
    MAX_GROUPS = 2,
    VALUE_BYTES = 4,
    PAGE_BYTES = KV_PAGE * VALUE_BYTES,
    N_HIDDEN = 2,
    GARBAGE = 0xa5,
    STATE_SALT = 2
};

struct toy_row {
    int32_t node; // scratch node, or KV_NONE: a position of the sequence
    int32_t pos;
    int32_t result; // place among the wanted rows, KV_NONE: not wanted
    uint32_t state; // as read back from its slot after the row; 0 without a recurrence
};

struct toy {
    struct lm_kv k; // first: callers hold a pointer to its lm
    struct toy_config c;
    uint8_t *pages[MAX_GROUPS]; // [n_pages][KV_PAGE][VALUE_BYTES]
    bool *garbage[MAX_GROUPS];  // [n_pages] filled with garbage since it was last written
    uint8_t *states;            // [n_states][VALUE_BYTES]
    struct toy_row *rows;       // [n_batch] of the last step
    size_t n_rows;              // 0 after a step that failed
    float *logits, *hidden;     // [n_want][n_vocab], [n_want][N_HIDDEN]
    float *ranks;               // [n_want]
    int32_t *path;              // [max_scratch + 1] nodes from the root to a row's own
    atomic_int n_until_failure; // steps, the failing one counted; 0: none fails
};

static struct toy *toy_of(lm *m) { return (struct toy *)m; }

// The published function.

static uint32_t value_at(int32_t token, int32_t pos, int32_t group) {
    return (uint32_t)hash_u64((uint64_t)(uint32_t)token << 32 | (uint32_t)pos, (uint64_t)group);
}

static uint32_t fold(uint32_t h, uint32_t value) { return h * 1000003u + value; }

static uint32_t state_after(int32_t token, uint32_t state) {
    return (uint32_t)hash_u64((uint64_t)(uint32_t)token << 32 | state, STATE_SALT);
}

static bool in_window(const struct toy_config *c, int32_t j, int32_t pos) {
    return c->n_groups == 2 && j > pos - c->window;
}

static void logits_of(const struct toy_config *c, uint32_t h, int32_t token, float *out) {
    for (int32_t i = 0; i < c->n_vocab; i++)
        out[i] = token == c->nan_token ? NAN : (float)(hash_u64(h, (uint64_t)i) >> 8 & 0xffff) / 4096.0f - 8.0f;
}

static uint32_t expected(const struct toy_config *c, const int32_t *tokens, int32_t n) {
    uint32_t h = 0, state = 0;
    for (int32_t j = 0; j < n; j++) {
        h = fold(h, value_at(tokens[j], j, 0));
        if (in_window(c, j, n - 1)) h = fold(h, value_at(tokens[j], j, 1));
        state = state_after(tokens[j], state);
    }
    return c->n_states > 0 ? fold(h, state) : h;
}

void toy_lm_expect(const struct toy_config *c, const int32_t *tokens, int32_t n, float *out) {
    logits_of(c, expected(c, tokens, n), tokens[n - 1], out);
}

static void hidden_of(uint32_t h, float out[N_HIDDEN]) { out[0] = (float)(h & 0xffff), out[1] = (float)(h >> 16); }

static float rank_of(const struct toy_config *c, uint32_t h, int32_t token) {
    if (token == c->nan_token) return NAN;
    return (float)(hash_u64(h, UINT64_C(1) << 32) & 0xffff) / 4096.0f - 8.0f;
}

float toy_lm_expect_rank(const struct toy_config *c, const int32_t *tokens, int32_t n) {
    return rank_of(c, expected(c, tokens, n), tokens[n - 1]);
}

void toy_lm_expect_hidden(const struct toy_config *c, const int32_t *tokens, int32_t n, float out[N_HIDDEN]) {
    hidden_of(expected(c, tokens, n), out);
}

// Pages and state slots.

static void put_value(uint8_t *bytes, uint32_t value) {
    for (int i = 0; i < VALUE_BYTES; i++) bytes[i] = (uint8_t)(value >> 8 * i);
}

static uint32_t get_value(const uint8_t *bytes) {
    uint32_t value = 0;
    for (int i = 0; i < VALUE_BYTES; i++) value |= (uint32_t)bytes[i] << 8 * i;
    return value;
}

static uint8_t *slot_bytes(struct toy *t, int32_t group, struct kv_slot at) {
    assert(at.page != KV_NONE); // else kv/ released a page that a row still sees
    return t->pages[group] + (size_t)at.page * PAGE_BYTES + (size_t)at.slot * VALUE_BYTES;
}

static void store(struct toy *t, int32_t group, struct kv_slot at, uint32_t value) {
    uint8_t *bytes = slot_bytes(t, group, at);
    if (at.slot == 0) memset(bytes, GARBAGE, PAGE_BYTES); // a fresh page: what stood there before means nothing
    put_value(bytes, value);
    t->garbage[group][at.page] = false;
}

static uint32_t load(struct toy *t, int32_t group, struct kv_slot at) { return get_value(slot_bytes(t, group, at)); }

static uint8_t *state_bytes(struct toy *t, int32_t slot) {
    assert(slot >= 0 && slot < t->c.n_states);
    return t->states + (size_t)slot * VALUE_BYTES;
}

static rn_status copy_slots(void *user, const struct kv_copy *c, rn_error *err) {
    struct toy *t = user;
    (void)err;
    assert(c->group != KV_STATE); // states are never copied
    memcpy(slot_bytes(t, c->group, (struct kv_slot){c->dst, c->slot_dst}),
           slot_bytes(t, c->group, (struct kv_slot){c->src, c->slot_src}), (size_t)c->n * VALUE_BYTES);
    t->garbage[c->group][c->dst] = false;
    return RN_OK;
}

static void spoil_free_memory(struct toy *t) {
    for (int32_t i = 0; i < t->c.n_states; i++)
        if (kv_page_is_free(t->k.kv, KV_STATE, i)) memset(state_bytes(t, i), GARBAGE, VALUE_BYTES);
    for (int32_t g = 0; g < t->c.n_groups; g++)
        for (int32_t p = 0; p < t->c.n_pages; p++) {
            if (t->garbage[g][p] || !kv_page_is_free(t->k.kv, g, p)) continue;
            memset(t->pages[g] + (size_t)p * PAGE_BYTES, GARBAGE, PAGE_BYTES);
            t->garbage[g][p] = true;
        }
}

// A step.

static rn_status check_row(const struct toy *t, const struct lm_row *r, rn_error *err) {
    const rn_status st = lm_kv_check_row(&t->k, r, err);
    if (st != RN_OK) return st;
    if (r->want & ~(uint32_t)(LM_WANT_LOGITS | LM_WANT_HIDDEN | LM_WANT_STATE | LM_OPTIONAL))
        return fail(err, RN_E_ARG, "want 0x%x is unknown", (unsigned)r->want);
    if (r->input) return fail(err, RN_E_UNSUPPORTED, "the toy model's rows are tokens alone");
    return RN_OK;
}

static rn_status book_row(struct toy *t, const struct lm_row *r, struct toy_row *out, rn_error *err) {
    const rn_status st = check_row(t, r, err);
    *out = (struct toy_row){.result = KV_NONE};
    return st == RN_OK ? lm_kv_add_row(&t->k, r, &out->pos, &out->node, err) : st;
}

// Takes the first n rows back, the last one first.
static void unbook_rows(struct toy *t, const struct lm_row *rows, size_t n) {
    while (n-- > 0) {
        const int32_t seq = rows[n].seq;
        if (rows[n].parent == LM_APPEND)
            kv_truncate(t->k.kv, seq, kv_seq_len(t->k.kv, seq) - 1);
        else
            kv_scratch_cut(t->k.kv, seq, kv_scratch_len(t->k.kv, seq) - 1);
    }
}

static rn_status book_rows(struct toy *t, const struct lm_row *rows, size_t n, size_t *failed_row, rn_error *err) {
    int32_t n_wanted = 0;
    for (size_t i = 0; i < n; i++) {
        rn_status st = RN_OK;
        const bool wanted = rows[i].want & LM_WANT_RESULTS;
        if (wanted && n_wanted == t->c.n_want)
            st = fail(err, RN_E_ARG, "more than %d rows want results", t->c.n_want);
        if (st == RN_OK) st = book_row(t, &rows[i], &t->rows[i], err);
        if (st != RN_OK) {
            unbook_rows(t, rows, i);
            if (failed_row) *failed_row = i;
            return fail_in(err, st, "toy model: row %zu", i);
        }
        if (wanted) t->rows[i].result = n_wanted++;
    }
    return RN_OK;
}

static struct kv_slot row_slot(const struct toy *t, int32_t seq, const struct toy_row *row, int32_t group) {
    return row->node == KV_NONE ? kv_seq_slot(t->k.kv, seq, group, row->pos)
                                : kv_scratch_slot(t->k.kv, seq, row->node, group);
}

// In the order of the rows, since a row's slot may be the one that the row before it wrote.
static void run_recurrence(struct toy *t, const struct lm_row *rows, size_t n) {
    kv_place_states(t->k.kv);
    for (size_t i = 0; i < n; i++) {
        struct toy_row *row = &t->rows[i];
        const int32_t from = lm_kv_state_from(&t->k, rows[i].seq, row->pos, row->node);
        const int32_t to = lm_kv_state_to(&t->k, rows[i].seq, row->pos, row->node);
        assert((from == KV_NONE) == (row->pos == 0)); // only an empty prefix has no state
        const uint32_t state = from == KV_NONE ? 0 : get_value(state_bytes(t, from));
        put_value(state_bytes(t, to), state_after(rows[i].token, state));
        row->state = get_value(state_bytes(t, to));
    }
}

// h of a row, from the bytes of its pages and of its state.
static uint32_t read_back(struct toy *t, int32_t seq, const struct toy_row *row) {
    const int32_t len = row->node == KV_NONE ? row->pos + 1 : kv_seq_len(t->k.kv, seq);
    for (int32_t node = row->node, j = row->pos; j >= len; j--, node = kv_scratch_parent(t->k.kv, seq, node))
        t->path[j - len] = node;
    uint32_t h = 0;
    for (int32_t j = 0; j <= row->pos; j++)
        for (int32_t g = 0; g < 1 + in_window(&t->c, j, row->pos); g++) {
            const struct kv_slot at =
                j < len ? kv_seq_slot(t->k.kv, seq, g, j) : kv_scratch_slot(t->k.kv, seq, t->path[j - len], g);
            h = fold(h, load(t, g, at));
        }
    return t->c.n_states > 0 ? fold(h, row->state) : h;
}

// As a backend that fails half way: what it wrote means nothing, and states are written in place.
static rn_status fail_run(struct toy *t, const struct lm_row *rows, size_t n, size_t *failed_row, rn_error *err) {
    unbook_rows(t, rows, n);
    for (size_t i = 0; t->c.n_states > 0 && i < n; i++) kv_truncate(t->k.kv, rows[i].seq, 0);
    if (failed_row) *failed_row = LM_ALL_ROWS;
    return fail(err, RN_E_IO, TOY_FAILURE);
}

static rn_status step(lm *m, const struct lm_row *rows, size_t n, size_t *failed_row, rn_error *err) {
    struct toy *t = toy_of(m);
    t->n_rows = 0;
    if (n == 0 || n > (size_t)t->c.n_batch)
        return fail(err, RN_E_ARG, "toy model: %zu rows, 1..%d are possible", n, t->c.n_batch);
    spoil_free_memory(t);
    const rn_status st = book_rows(t, rows, n, failed_row, err);
    if (st != RN_OK) return st;
    for (size_t i = 0; i < n; i++)
        for (int32_t g = 0; g < t->c.n_groups; g++)
            store(t, g, row_slot(t, rows[i].seq, &t->rows[i], g), value_at(rows[i].token, t->rows[i].pos, g));
    if (t->c.n_states > 0) run_recurrence(t, rows, n);
    if (atomic_load(&t->n_until_failure) && atomic_fetch_sub(&t->n_until_failure, 1) == 1)
        return fail_run(t, rows, n, failed_row, err);
    for (size_t i = 0; i < n; i++) {
        if (t->rows[i].result == KV_NONE) continue;
        const size_t place = (size_t)t->rows[i].result;
        const uint32_t h = read_back(t, rows[i].seq, &t->rows[i]);
        logits_of(&t->c, h, rows[i].token, t->logits + place * (size_t)t->c.n_vocab);
        hidden_of(h, t->hidden + place * N_HIDDEN);
        t->ranks[place] = rank_of(&t->c, h, rows[i].token);
    }
    kv_commit(t->k.kv);
    t->n_rows = n;
    return RN_OK;
}

static const float *result(const struct toy *t, const float *results, size_t row, size_t width) {
    if (row >= t->n_rows || t->rows[row].result == KV_NONE) return NULL;
    return results + (size_t)t->rows[row].result * width;
}
static const float *logits(lm *m, size_t row) {
    const struct toy *t = toy_of(m);
    return result(t, t->logits, row, (size_t)t->c.n_vocab);
}
static const float *rank(lm *m, size_t row) {
    return toy_of(m)->c.n_rank ? result(toy_of(m), toy_of(m)->ranks, row, 1) : NULL;
}
static const float *hidden(lm *m, size_t row) { return result(toy_of(m), toy_of(m)->hidden, row, N_HIDDEN); }

// Records of a sequence's pages and state.

static struct lm_part part_of(const lm *m, int32_t part, int32_t n) {
    const struct toy *t = (const struct toy *)m;
    return lm_kv_part(&t->k, part, n, part < t->c.n_groups ? PAGE_BYTES : VALUE_BYTES);
}

static rn_status read_record(lm *m, int32_t seq, int32_t part, int32_t record, uint8_t *out, rn_error *err) {
    const struct toy *t = toy_of(m);
    const struct lm_kv_record r = lm_kv_record(&t->k, seq, part, record);
    (void)err;
    if (r.group == KV_STATE) {
        memcpy(out, t->states + (size_t)r.page * VALUE_BYTES, VALUE_BYTES);
        return RN_OK;
    }
    memset(out, 0, PAGE_BYTES);
    memcpy(out, t->pages[part] + (size_t)r.page * PAGE_BYTES, (size_t)r.n * VALUE_BYTES);
    return RN_OK;
}

static rn_status write_record(lm *m, int32_t seq, int32_t part, int32_t record, const uint8_t *bytes, rn_error *err) {
    struct toy *t = toy_of(m);
    const struct lm_kv_record r = lm_kv_record(&t->k, seq, part, record);
    (void)err;
    if (r.group == KV_STATE) {
        memcpy(state_bytes(t, r.page), bytes, VALUE_BYTES);
        return RN_OK;
    }
    memcpy(t->pages[part] + (size_t)r.page * PAGE_BYTES, bytes, PAGE_BYTES);
    t->garbage[part][r.page] = false;
    return RN_OK;
}

// Making and freeing.

static void destroy(lm *m) {
    struct toy *t = toy_of(m);
    for (int32_t g = 0; g < MAX_GROUPS; g++) {
        mem_free(t->pages[g]);
        mem_free(t->garbage[g]);
    }
    mem_free(t->states);
    mem_free(t->rows);
    mem_free(t->logits);
    mem_free(t->hidden);
    mem_free(t->ranks);
    mem_free(t->path);
    lm_kv_free(&t->k);
    mem_free(t);
}

static const struct lm_ops toy_ops = {
    .name = "toy",
    .destroy = destroy,
    .step = step,
    .logits = logits,
    .hidden = hidden,
    .rank = rank,
    LM_KV_OPS,
    .part = part_of,
    .read_record = read_record,
    .write_record = write_record,
};

static rn_status check_config(const struct toy_config *c, rn_error *err) {
    if (c->n_vocab < 1 || c->n_batch < 1 || c->n_want < 1)
        return fail(err, RN_E_ARG, "toy model: n_vocab %d, n_batch %d, n_want %d: each is at least 1", c->n_vocab,
                    c->n_batch, c->n_want);
    if (c->n_groups < 1 || c->n_groups > MAX_GROUPS)
        return fail(err, RN_E_ARG, "toy model: n_groups: %d is outside 1..%d", c->n_groups, MAX_GROUPS);
    if (c->n_groups == 2 && c->window < 1)
        return fail(err, RN_E_ARG, "toy model: window: %d is less than 1", c->window);
    if (c->n_rank < 0 || c->n_rank > 1)
        return fail(err, RN_E_ARG, "toy model: n_rank: %d is outside 0..1", c->n_rank);
    if (c->n_states < 0) return fail(err, RN_E_ARG, "toy model: n_states: %d is less than 0", c->n_states);
    return RN_OK;
}

static rn_status take_memory(struct toy *t, rn_error *err) {
    const struct toy_config *c = &t->c;
    const size_t n_want = (size_t)c->n_want;
    size_t n_logits = 0;
    bool ok = size_mul(n_want, (size_t)c->n_vocab, &n_logits);
    for (int32_t g = 0; ok && g < c->n_groups; g++) {
        t->pages[g] = mem_calloc((size_t)c->n_pages, PAGE_BYTES);
        t->garbage[g] = mem_calloc((size_t)c->n_pages, sizeof *t->garbage[g]);
        ok = t->pages[g] && t->garbage[g];
    }
    if (c->n_states > 0) ok = ok && (t->states = mem_calloc((size_t)c->n_states, VALUE_BYTES));
    ok = ok && (t->rows = mem_calloc((size_t)c->n_batch, sizeof *t->rows));
    ok = ok && (t->logits = mem_calloc(n_logits, sizeof *t->logits));
    ok = ok && (t->hidden = mem_calloc(n_want, N_HIDDEN * sizeof *t->hidden));
    ok = ok && (t->ranks = mem_calloc(n_want, sizeof *t->ranks));
    ok = ok && (t->path = mem_calloc((size_t)c->max_scratch + 1, sizeof *t->path));
    return ok ? RN_OK : fail(err, RN_E_NOMEM, "toy model: out of memory");
}

rn_status toy_lm_create(const struct toy_config *c, lm **out, rn_error *err) {
    *out = NULL;
    rn_status st = check_config(c, err);
    if (st != RN_OK) return st;
    struct toy *t = mem_calloc(1, sizeof *t);
    if (!t) return fail(err, RN_E_NOMEM, "toy model: out of memory");
    t->c = *c;
    t->k.lm = (lm){.ops = &toy_ops,
                   .n_vocab = c->n_vocab,
                   .n_tokens = c->n_vocab,
                   .n_embd = N_HIDDEN,
                   .n_rank = c->n_rank,
                   .n_ctx = c->n_ctx,
                   .n_batch = c->n_batch,
                   .n_want = c->n_want,
                   .n_logits = c->n_want,
                   .n_parts = c->n_groups + (c->n_states > 0)};
    const struct kv_config config = {
        .n_groups = c->n_groups,
        .n_pages = {c->n_pages, c->n_pages},
        .window = {0, c->n_groups == 2 ? c->window : 0},
        .max_seqs = c->max_seqs,
        .n_ctx = c->n_ctx,
        .max_scratch = c->max_scratch,
        .n_states = c->n_states,
        .state_interval = c->state_interval,
    };
    st = lm_kv_create(&t->k, &config, copy_slots, t, err);
    if (st == RN_OK) st = take_memory(t, err);
    if (st == RN_OK)
        *out = &t->k.lm;
    else
        destroy(&t->k.lm);
    return st;
}

void toy_lm_fail_at(lm *m, int n) { atomic_store(&toy_of(m)->n_until_failure, n); }

kv *toy_lm_kv(lm *m) { return toy_of(m)->k.kv; }
