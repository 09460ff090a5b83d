// lm/lm.c - what is the same for every lm: row keys, and steps with optional rows.
#include "lm/lm.h"
#include "base/hash.h"
#include "base/mem.h"
#include <string.h>

#define IS_HASH (UINT64_C(1) << 63) // token ids never have this bit

uint64_t lm_row_key(const struct lm_row *row) {
    const struct lm_input *in = row->input;
    if (!in || (!in->vector && !in->has_coord && in->see_to < 0)) return lm_token_key(row->token);
    const uint64_t parts[] = {in->vector && !in->adds ? 0 : lm_token_key(row->token) + 1,
                              in->vector || in->see_to >= 0 ? in->key : 0,
                              (uint64_t)(in->vector != NULL) | (uint64_t)in->has_coord << 1,
                              in->has_coord ? (uint64_t)(uint32_t)in->coord[0] : 0,
                              in->has_coord ? (uint64_t)(uint32_t)in->coord[1] : 0,
                              in->has_coord ? (uint64_t)(uint32_t)in->coord[2] : 0,
                              in->see_to < 0 ? 0 : (uint64_t)(uint32_t)in->see_to + 1};
    return hash_bytes(parts, sizeof parts, 0) | IS_HASH;
}

uint64_t lm_first_key(uint64_t key, const struct lm_seq_spec *s) {
    uint64_t parts[2 + LM_MAX_ADAPTERS] = {key, s->salt};
    for (int32_t i = 0; i < s->adapters.n; i++) {
        uint32_t bits;
        memcpy(&bits, &s->adapters.of[i].scale, sizeof bits);
        parts[2 + i] = ((uint64_t)(uint32_t)s->adapters.of[i].adapter + 1) << 32 | bits; // never 0
    }
    return s->salt || s->adapters.n ? hash_bytes(parts, sizeof parts, 0) | IS_HASH : key;
}

// ---- adapters ---------------------------------------------------------------------------------------------------------------

rn_status lm_adapters_add(struct lm_adapters *list, int32_t adapter, float scale, rn_error *err) {
    int32_t at = list->n;
    for (int32_t i = 0; i < list->n; i++)
        if (list->of[i].adapter == adapter) return fail(err, RN_E_ARG, "adapter %d: named twice", adapter);
    if (scale == 0) return RN_OK;
    if (list->n == LM_MAX_ADAPTERS)
        return fail(err, RN_E_LIMIT, "adapters: more than %d of one sequence", LM_MAX_ADAPTERS);
    for (; at > 0 && list->of[at - 1].adapter > adapter; at--) list->of[at] = list->of[at - 1];
    list->of[at] = (struct lm_adapter){adapter, scale};
    list->n++;
    return RN_OK;
}

static bool equal_adapters(const struct lm_adapters *a, const struct lm_adapters *b) {
    bool equal = a->n == b->n;
    for (int32_t i = 0; equal && i < a->n; i++)
        equal = a->of[i].adapter == b->of[i].adapter && memcmp(&a->of[i].scale, &b->of[i].scale, sizeof(float)) == 0;
    return equal;
}

bool lm_shares_prefixes(const struct lm_seq_spec *a, const struct lm_seq_spec *b) {
    return a->salt == b->salt && equal_adapters(&a->adapters, &b->adapters);
}

const uint64_t *lm_token_keys(lm *m, const int32_t *tokens, int32_t n) {
    for (int32_t i = 0; i < n && i < m->n_ctx; i++) m->keys[i] = lm_token_key(tokens[i]);
    return m->keys;
}

// Optional rows: the step is tried with as many as possible. Where one finds no room it is left out; where a row that is not optional finds
// none, the last optional one before it makes way. A step that fails has changed nothing, so that each try begins anew.

static bool is_optional(const struct lm_row *r) { return r->want & LM_OPTIONAL; }

static rn_status check_order(const struct lm_row *rows, size_t n, size_t *failed_row, rn_error *err) {
    for (size_t i = 0; i < n; i++)
        for (size_t k = i + 1; is_optional(&rows[i]) && k < n; k++)
            if (rows[k].seq == rows[i].seq && !is_optional(&rows[k])) {
                if (failed_row) *failed_row = k;
                return fail(err, RN_E_ARG, "row %zu: is required, but comes after optional row %zu of sequence %d", k,
                            i, rows[i].seq);
            }
    return RN_OK;
}

// Row i, and the later ones of its sequence.
static void drop(lm *m, const struct lm_row *rows, size_t n, size_t i) {
    for (size_t k = i; k < n; k++)
        if (rows[k].seq == rows[i].seq) m->place[k] = -1;
}

// Results have places for rows that are not optional first.
static void drop_without_places(lm *m, const struct lm_row *rows, size_t n) {
    int32_t n_want = 0, n_logits = 0;
    for (int optional = 0; optional < 2; optional++)
        for (size_t i = 0; i < n; i++) {
            if (is_optional(&rows[i]) != optional || m->place[i] < 0) continue;
            const bool wants = rows[i].want & LM_WANT_RESULTS, wants_logits = rows[i].want & LM_WANT_LOGITS;
            if (optional && ((wants && n_want == m->n_want) || (wants_logits && n_logits == m->n_logits))) {
                drop(m, rows, n, i);
                continue;
            }
            n_want += wants, n_logits += wants_logits;
        }
}

// The rows that are left, in order; their number.
static size_t gather(lm *m, const struct lm_row *rows, size_t n) {
    size_t n_kept = 0;
    for (size_t i = 0; i < n; i++)
        if (m->place[i] >= 0) m->place[i] = (int32_t)n_kept, m->kept[n_kept++] = rows[i];
    m->n_dropped = n - n_kept;
    return n_kept;
}

// After row `failed` found no room: the row that makes way; n: there is none.
static size_t who_makes_way(const lm *m, const struct lm_row *rows, size_t n, size_t failed) {
    for (size_t i = failed + 1; i-- > 0;)
        if (m->place[i] >= 0 && is_optional(&rows[i])) return i;
    return n;
}

static rn_status step_with_optional(lm *m, const struct lm_row *rows, size_t n, size_t *failed_row, rn_error *err) {
    rn_status st = check_order(rows, n, failed_row, err);
    if (st != RN_OK) return st;
    memset(m->place, 0, n * sizeof *m->place);
    drop_without_places(m, rows, n);
    for (;;) {
        size_t failed = LM_ALL_ROWS, i = 0;
        const size_t n_kept = gather(m, rows, n);
        if (n_kept == 0) return RN_OK;
        st = m->ops->step(m, m->kept, n_kept, &failed, err);
        if (st == RN_OK) return RN_OK;
        while (failed != LM_ALL_ROWS && i < n && m->place[i] != (int32_t)failed) i++;
        if (failed_row) *failed_row = failed == LM_ALL_ROWS ? LM_ALL_ROWS : i;
        const size_t out = st == RN_E_LIMIT && failed != LM_ALL_ROWS ? who_makes_way(m, rows, n, i) : n;
        if (out == n) return st;
        drop(m, rows, n, out);
    }
}

rn_status lm_step(lm *m, const struct lm_row *rows, size_t n, size_t *failed_row, rn_error *err) {
    bool any = false;
    m->n_dropped = 0;
    for (size_t i = 0; i < n; i++) any = any || is_optional(&rows[i]);
    if (any && n <= (size_t)m->n_batch) return step_with_optional(m, rows, n, failed_row, err);
    return m->ops->step(m, rows, n, failed_row, err);
}

bool lm_take_room(lm *m) {
    m->keys = mem_calloc((size_t)m->n_ctx, sizeof *m->keys);
    m->kept = mem_calloc((size_t)m->n_batch, sizeof *m->kept);
    m->place = mem_calloc((size_t)m->n_batch, sizeof *m->place);
    return m->keys && m->kept && m->place;
}

void lm_free_room(lm *m) {
    mem_free(m->keys);
    mem_free(m->kept);
    mem_free(m->place);
}
