// lm/lm_kv.c - see lm_kv.h.
#include "lm/lm_kv.h"
#include "base/mem.h"

_Static_assert((int)LM_MISS_NONE == (int)KV_MISS_NONE && (int)LM_MISS_EMPTY == (int)KV_MISS_EMPTY &&
                   (int)LM_MISS_DIFFERS == (int)KV_MISS_DIFFERS && (int)LM_MISS_END == (int)KV_MISS_END &&
                   (int)LM_MISS_WINDOW == (int)KV_MISS_WINDOW && (int)LM_MISS_STATE == (int)KV_MISS_STATE,
               "misses are numbered alike");

static struct lm_kv *self(lm *m) { return (struct lm_kv *)m; }
static const struct lm_kv *self_const(const lm *m) { return (const struct lm_kv *)m; }

rn_status lm_kv_create(struct lm_kv *m, const struct kv_config *c, kv_copy_fn copy, void *user, rn_error *err) {
    const rn_status st = kv_create(c, copy, user, &m->kv, err); // checks the numbers
    if (st != RN_OK) return st;
    m->n_groups = c->n_groups;
    m->specs = mem_calloc((size_t)c->max_seqs, sizeof *m->specs);
    if (!m->specs || !lm_take_room(&m->lm))
        return fail(err, RN_E_NOMEM, "lm: out of memory for %d sequences", c->max_seqs);
    return RN_OK;
}

void lm_kv_free(struct lm_kv *m) {
    kv_destroy(m->kv);
    mem_free(m->specs);
    lm_free_room(&m->lm);
}

bool lm_kv_is_far(const struct lm_kv *m, const struct lm_seq_spec *spec) {
    return m->n_near > 0 && spec->n_most > m->n_near;
}

// Row keys. Sequences that differ in what they were made for share no prefix, so their keys differ.

static uint64_t key_at(const struct lm_kv *m, uint64_t key, int32_t pos, const struct lm_seq_spec *spec) {
    if (lm_kv_is_far(m, spec)) key ^= UINT64_C(1) << 32;
    return pos == 0 ? lm_first_key(key, spec) : key;
}

static const uint64_t *keys_for(struct lm_kv *m, const struct lm_seq_spec *spec, const uint64_t *keys, int32_t n) {
    for (int32_t i = 0; i < n && i < m->lm.n_ctx; i++) m->lm.keys[i] = key_at(m, keys[i], i, spec);
    return m->lm.keys;
}

// Rows of a step.

rn_status lm_kv_check_row(const struct lm_kv *m, const struct lm_row *r, rn_error *err) {
    if (r->token < 0 || r->token >= m->lm.n_tokens)
        return fail(err, RN_E_ARG, "token %d is outside 0..%d", r->token, m->lm.n_tokens - 1);
    if (kv_seq_len(m->kv, r->seq) == KV_NONE) return fail(err, RN_E_ARG, "sequence %d does not exist", r->seq);
    if (r->parent < LM_APPEND) return fail(err, RN_E_ARG, "parent %d does not exist", r->parent);
    return RN_OK;
}

rn_status lm_kv_add_row(struct lm_kv *m, const struct lm_row *r, int32_t *pos, int32_t *node, rn_error *err) {
    const int32_t len = kv_seq_len(m->kv, r->seq);
    const uint64_t key = key_at(m, lm_row_key(r), r->parent < 0 ? len : len + 1, &m->specs[r->seq]);
    *pos = len, *node = KV_NONE;
    if (r->parent == LM_APPEND) {
        const rn_status st = kv_append(m->kv, r->seq, &key, 1, err);
        if (st == RN_OK && r->want & LM_WANT_STATE) kv_snapshot(m->kv, r->seq);
        return st;
    }
    if (r->want & LM_OPTIONAL && !kv_has_spare_state(m->kv))
        return fail(err, RN_E_LIMIT, "sequence %d: no slot of state is spare for a row that is optional", r->seq);
    const rn_status st = kv_scratch_add(m->kv, r->seq, r->parent, key, node, err);
    if (st == RN_OK) *pos += kv_scratch_depth(m->kv, r->seq, *node) - 1;
    return st;
}

int32_t lm_kv_state_from(const struct lm_kv *m, int32_t seq, int32_t pos, int32_t node) {
    if (node == KV_NONE) return kv_seq_state(m->kv, seq, pos);
    const int32_t parent = kv_scratch_parent(m->kv, seq, node);
    return parent == KV_NONE ? kv_seq_state(m->kv, seq, kv_seq_len(m->kv, seq))
                             : kv_scratch_state(m->kv, seq, parent);
}

int32_t lm_kv_state_to(const struct lm_kv *m, int32_t seq, int32_t pos, int32_t node) {
    return node == KV_NONE ? kv_seq_state(m->kv, seq, pos + 1) : kv_scratch_state(m->kv, seq, node);
}

// Sequences.

static rn_status check_spec(const struct lm_kv *m, const struct lm_seq_spec *s, rn_error *err) {
    for (int32_t i = 0; i < s->adapters.n; i++) {
        const int32_t adapter = s->adapters.of[i].adapter;
        if (adapter < 0 || adapter >= m->lm.n_adapters)
            return fail(err, RN_E_UNSUPPORTED, "adapter %d: the model has %d", adapter, m->lm.n_adapters);
    }
    return RN_OK;
}

rn_status lm_kv_seq_new(lm *base, const struct lm_seq_spec *spec, int32_t *seq, rn_error *err) {
    struct lm_kv *m = self(base);
    rn_status st = check_spec(m, spec, err);
    if (st == RN_OK) st = kv_seq_new(m->kv, seq, err);
    if (st == RN_OK) m->specs[*seq] = *spec;
    return st;
}

rn_status lm_kv_seq_fork(lm *base, int32_t seq, int32_t *out, rn_error *err) {
    struct lm_kv *m = self(base);
    const rn_status st = kv_seq_fork(m->kv, seq, out, err);
    if (st == RN_OK) m->specs[*out] = m->specs[seq];
    return st;
}

bool lm_kv_seq_fits(const lm *base, int32_t seq, const struct lm_seq_spec *spec) {
    const struct lm_kv *m = self_const(base);
    const struct lm_seq_spec *own = &m->specs[seq];
    return lm_kv_is_far(m, own) == lm_kv_is_far(m, spec) && lm_shares_prefixes(own, spec);
}

void lm_kv_seq_free(lm *m, int32_t seq) { kv_seq_free(self(m)->kv, seq); }
int32_t lm_kv_seq_len(const lm *m, int32_t seq) { return kv_seq_len(self_const(m)->kv, seq); }
int32_t lm_kv_scratch_room(const lm *m, int32_t seq, const char **why) {
    return kv_scratch_room(self_const(m)->kv, seq, why);
}
rn_status lm_kv_keep(lm *m, int32_t seq, const int32_t *path, int32_t n, rn_error *err) {
    return kv_keep(self(m)->kv, seq, path, n, err);
}
int32_t lm_kv_truncate(lm *m, int32_t seq, int32_t n) { return kv_truncate(self(m)->kv, seq, n); }

rn_status lm_kv_match_prefix(lm *base, const struct lm_seq_spec *spec, const uint64_t *keys, int32_t n,
                             struct lm_prefix *out, rn_error *err) {
    struct lm_kv *m = self(base);
    enum kv_miss why;
    rn_status st = check_spec(m, spec, err);
    if (st != RN_OK) return st;
    st = (spec->whole_pages ? kv_match_pages : kv_match_prefix)(m->kv, keys_for(m, spec, keys, n), n, &out->seq,
                                                                &out->n, &why, err);
    if (st != RN_OK) return st;
    out->miss = (enum lm_miss)why;
    m->specs[out->seq] = *spec;
    return RN_OK;
}

rn_status lm_kv_seq_restore(lm *base, const struct lm_seq_spec *spec, const uint64_t *keys, int32_t n, int32_t *seq,
                            rn_error *err) {
    struct lm_kv *m = self(base);
    rn_status st = check_spec(m, spec, err);
    if (st == RN_OK) st = kv_seq_new_private(m->kv, keys_for(m, spec, keys, n), n, seq, err);
    if (st == RN_OK) m->specs[*seq] = *spec;
    return st;
}

// Records: a sequence's parts are the groups of pages, then the state.

struct lm_part lm_kv_part(const struct lm_kv *m, int32_t part, int32_t n, size_t record_bytes) {
    struct lm_part out = {.record_bytes = record_bytes};
    if (record_bytes == 0) return out;
    if (part == m->n_groups) {
        out.n = n > 0;
    } else {
        out.first = kv_first_block(m->kv, part, n);
        out.n = (n + KV_PAGE - 1) / KV_PAGE - out.first;
    }
    return out;
}

struct lm_kv_record lm_kv_record(const struct lm_kv *m, int32_t seq, int32_t part, int32_t record) {
    const int32_t len = kv_seq_len(m->kv, seq), n = len - record * KV_PAGE;
    if (part == m->n_groups) return (struct lm_kv_record){KV_STATE, kv_seq_state(m->kv, seq, len), 1};
    return (struct lm_kv_record){part, kv_seq_page(m->kv, seq, part, record), n < KV_PAGE ? n : KV_PAGE};
}
