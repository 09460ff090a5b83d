// lm/lm_real.c - a step: pages and slots for all rows, rows as the backend sees them, one run; all or nothing.
#include "lm/lm_real.h"
#include "base/checked.h"
#include "base/mem.h"
#include <inttypes.h>
#include <string.h>

// What a sequence was made for.
struct seq_kind {
    struct lm_seq_spec spec;
    bool is_far; // rotated by the frequencies for long texts
};

struct lm_real {
    lm base;
    const struct program *p;
    backend *b;
    struct lm_config c;
    kv *kv;
    int32_t n_blocks; // of a sequence of n_ctx positions
    // Of the running step:
    struct batch_row *rows; // [n_batch]
    struct batch_seq *seqs; // [n_batch]
    int32_t *seq_of;        // [max_seqs] index into seqs, -1: not in this step
    int32_t *seq_ids;       // [n_batch] the reverse
    int32_t n_seqs;
    int32_t *pages;                                // [n_batch][n_groups][n_blocks]
    struct kv_slot *paths;                         // [n_batch][n_groups][max_scratch]
    int32_t *nodes;                                // [n_batch] a row's scratch node, KV_NONE: appended
    int32_t *wanted, *wanted_of;                   // [n_want] rows; [n_batch] place of a row among the wanted, -1
    size_t n_rows;                                 // 0 after a step that failed, so that it has no results
    size_t n_wanted, n_logits, n_hidden, n_tapped; // rows that want a result; logits; the hidden state; taps
    struct backend_rows logits, hidden, rank, taps[PROGRAM_MAX_TAPS]; // of the last step, in host memory
    int32_t *len_before, *scratch_before;                             // [n_batch] of seqs, to undo
    struct seq_kind *kinds;                                           // [max_seqs] of sequences that are in use
};

_Static_assert((int)LM_MISS_NONE == (int)KV_MISS_NONE && (int)LM_MISS_EMPTY == (int)KV_MISS_EMPTY &&
                   (int)LM_MISS_DIFFERS == (int)KV_MISS_DIFFERS && (int)LM_MISS_END == (int)KV_MISS_END &&
                   (int)LM_MISS_WINDOW == (int)KV_MISS_WINDOW && (int)LM_MISS_STATE == (int)KV_MISS_STATE,
               "misses are numbered alike");

static struct lm_real *self(lm *m) { return (struct lm_real *)m; }

// A window begins inside a page and ends inside one; another is copied before it is written where it is shared.
static int32_t pages_of_windows(const struct lm_config *c, int32_t window) {
    const int64_t each =
        (int64_t)ceil_div((size_t)window, KV_PAGE) + 2 + (int64_t)ceil_div((size_t)c->max_scratch, KV_PAGE);
    const int64_t n = (int64_t)c->n_windows * each + (int64_t)ceil_div((size_t)c->n_batch, KV_PAGE) + 1;
    return c->n_windows > 0 && n < c->n_pages ? (int32_t)n : c->n_pages;
}

struct backend_sizes lm_real_sizes(const struct program *p, const struct lm_config *c) {
    struct backend_sizes s = {
        .n_batch = (size_t)c->n_batch, .n_wanted = (size_t)c->n_want, .n_logits = (size_t)c->n_logits};
    for (int32_t g = 0; g < p->n_groups; g++) {
        s.n_pages[g] = p->groups[g].window ? pages_of_windows(c, p->groups[g].window) : c->n_pages;
        s.codec[g] = c->codec[g];
    }
    s.n_states = p->state_bytes ? c->n_states : 0;
    return s;
}

static struct seq_kind kind_of(const struct lm_real *m, const struct lm_seq_spec *s) {
    return (struct seq_kind){.spec = *s, .is_far = m->p->n_near > 0 && s->n_most > m->p->n_near};
}

static rn_status check_spec(const struct lm_seq_spec *s, rn_error *err) {
    if (s->adapters == 0) return RN_OK;
    return fail(err, RN_E_UNSUPPORTED, "adapter set %" PRIu64 ": no adapters are loaded", s->adapters);
}

// The key of row `pos` in sequences of one kind.
static uint64_t key_at(uint64_t key, int32_t pos, const struct seq_kind *k) {
    if (k->is_far) key ^= UINT64_C(1) << 32;
    return pos == 0 ? lm_first_key(key, &k->spec) : key;
}

static void keys_of_kind(struct lm_real *m, const uint64_t *keys, int32_t n, const struct seq_kind *k) {
    for (int32_t i = 0; i < n && i < m->c.n_ctx; i++) m->base.keys[i] = key_at(keys[i], i, k);
}

static rn_status check_row(const struct lm_real *m, const struct lm_row *r, rn_error *err) {
    if (r->token < 0 || r->token >= m->base.n_vocab)
        return fail(err, RN_E_ARG, "token %d is outside 0..%d", r->token, m->base.n_vocab - 1);
    if (kv_seq_len(m->kv, r->seq) == KV_NONE) return fail(err, RN_E_ARG, "there is no sequence %d", r->seq);
    if (r->parent < LM_APPEND) return fail(err, RN_E_ARG, "parent %d is no node", r->parent);
    if (r->input && r->input->vector && m->base.n_vector == 0)
        return fail(err, RN_E_UNSUPPORTED, "the model takes no input vectors");
    if (m->p->needs_vector && (!r->input || !r->input->vector || r->input->adds))
        return fail(err, RN_E_ARG, "the part reads an input vector beside the token, which the row does not have");
    if (r->input && r->input->has_coord && m->p->n_coords == 0)
        return fail(err, RN_E_UNSUPPORTED, "rope coordinates: the model rotates by positions alone");
    if (r->want & ~(uint32_t)(LM_WANT_RESULTS | LM_WANT_STATE | LM_OPTIONAL))
        return fail(err, RN_E_ARG, "want 0x%x is unknown", (unsigned)r->want);
    if (r->want & LM_WANT_TAPS && m->p->n_taps == 0)
        return fail(err, RN_E_ARG, "wants taps: no layer of the model is tapped");
    if (r->want & LM_WANT_RESULTS && m->n_wanted == (size_t)m->c.n_want)
        return fail(err, RN_E_ARG, "more than %d rows want results", m->c.n_want);
    if (r->want & LM_WANT_LOGITS && m->n_logits == (size_t)m->base.n_logits)
        return fail(err, RN_E_ARG, "more than %d rows want logits", m->base.n_logits);
    return RN_OK;
}

static bool has_slopes(const struct program *p) {
    for (int32_t k = 0; k < p->n_kinds; k++)
        if (p->kinds[k].alibi_slopes) return true;
    return false;
}

// A row that attends beyond its own position: to what this step appends, at most.
static rn_status check_span(const struct lm_real *m, const struct lm_row *r, const struct batch_row *b,
                            rn_error *err) {
    const int32_t end = kv_seq_len(m->kv, r->seq), see_to = r->input->see_to;
    if (see_to < 0 || see_to == b->pos) return RN_OK;
    if (see_to < b->pos) return fail(err, RN_E_ARG, "sees up to position %d, before its own, %d", see_to, b->pos);
    if (r->parent != LM_APPEND) return fail(err, RN_E_ARG, "a scratch row sees up to its own position only");
    if (see_to >= end)
        return fail(err, RN_E_ARG, "sees up to position %d, the step ends before %d: a span is appended in one step",
                    see_to, end);
    if (has_slopes(m->p))
        return fail(err, RN_E_UNSUPPORTED, "a span: the model weighs distances backwards only (ALiBi)");
    return RN_OK;
}

static int32_t enter_seq(struct lm_real *m, int32_t seq) {
    if (m->seq_of[seq] >= 0) return m->seq_of[seq];
    const int32_t s = m->n_seqs++;
    m->seq_of[seq] = s;
    m->seq_ids[s] = seq;
    m->len_before[s] = kv_seq_len(m->kv, seq);
    m->scratch_before[s] = kv_scratch_len(m->kv, seq);
    return s;
}

static void leave_seqs(struct lm_real *m) {
    for (int32_t s = 0; s < m->n_seqs; s++) m->seq_of[m->seq_ids[s]] = -1;
    m->n_seqs = 0;
}

// Sequences and trees back to where they were before the step.
static void undo(struct lm_real *m) {
    for (int32_t s = 0; s < m->n_seqs; s++) {
        const int32_t seq = m->seq_ids[s];
        kv_scratch_cut(m->kv, seq, m->scratch_before[s]);
        if (kv_seq_len(m->kv, seq) > m->len_before[s]) kv_truncate(m->kv, seq, m->len_before[s]);
    }
}

static rn_status add_row(struct lm_real *m, const struct lm_row *r, struct batch_row *out, rn_error *err) {
    const int32_t len = kv_seq_len(m->kv, r->seq), row = (int32_t)(out - m->rows);
    const uint64_t key = key_at(lm_row_key(r), r->parent < 0 ? len : len + 1, &m->kinds[r->seq]);
    rn_status st;
    *out = (struct batch_row){
        .token = r->token, .seq = enter_seq(m, r->seq), .pos = len, .state = {.from = KV_NONE, .to = KV_NONE}};
    m->nodes[row] = KV_NONE;
    out->see_to = -1;
    if (r->input) out->vector = r->input->vector, out->adds = r->input->adds, out->see_to = r->input->see_to;
    if (r->parent == LM_APPEND) {
        if ((st = kv_append(m->kv, r->seq, &key, 1, err)) != RN_OK) return st;
        for (int32_t g = 0; g < m->p->n_groups; g++) out->store[g] = kv_seq_slot(m->kv, r->seq, g, len);
        if (r->want & LM_WANT_STATE) kv_snapshot(m->kv, r->seq);
        return RN_OK;
    }
    int32_t node;
    if ((st = kv_scratch_add(m->kv, r->seq, r->parent, key, &node, err)) != RN_OK) return st;
    const int32_t depth = kv_scratch_depth(m->kv, r->seq, node);
    m->nodes[row] = node;
    out->pos = len + depth - 1;
    for (int32_t g = 0; g < m->p->n_groups; g++) {
        struct kv_slot *path =
            m->paths + ((size_t)row * (size_t)m->p->n_groups + (size_t)g) * (size_t)m->c.max_scratch;
        for (int32_t n = node, d = depth; d > 0; d--, n = kv_scratch_parent(m->kv, r->seq, n))
            path[d - 1] = kv_scratch_slot(m->kv, r->seq, n, g);
        out->path[g] = path;
        out->store[g] = path[depth - 1];
    }
    return RN_OK;
}

static void fill_seqs(struct lm_real *m) {
    for (int32_t s = 0; s < m->n_seqs; s++) {
        const int32_t len = kv_seq_len(m->kv, m->seq_ids[s]);
        m->seqs[s].n_committed = len;
        m->seqs[s].is_far = m->kinds[m->seq_ids[s]].is_far;
        m->seqs[s].adapters = m->kinds[m->seq_ids[s]].spec.adapters;
        for (int32_t g = 0; g < m->p->n_groups; g++) {
            int32_t *pages = m->pages + ((size_t)s * (size_t)m->p->n_groups + (size_t)g) * (size_t)m->n_blocks;
            for (int32_t b = 0; b < (len + KV_PAGE - 1) / KV_PAGE; b++)
                pages[b] = kv_seq_page(m->kv, m->seq_ids[s], g, b);
            m->seqs[s].pages[g] = pages;
        }
    }
}

// Rope coordinates, where the model has them: a row's own, or its position.
static void fill_coords(struct lm_real *m, const struct lm_row *rows, size_t n) {
    for (size_t i = 0; m->p->n_coords > 0 && i < n; i++)
        for (int32_t k = 0; k < PROGRAM_MAX_COORDS; k++)
            m->rows[i].coord[k] =
                rows[i].input && rows[i].input->has_coord ? rows[i].input->coord[k] : m->rows[i].pos;
}

// Which slots rows read and write is settled once all of them have been added: only then is it known which states can be kept.
static void fill_states(struct lm_real *m, size_t n) {
    kv_place_states(m->kv);
    for (size_t i = 0; m->p->state_bytes > 0 && i < n; i++) {
        struct batch_row *r = &m->rows[i];
        const int32_t seq = m->seq_ids[r->seq], node = m->nodes[i];
        const int32_t parent = node == KV_NONE ? KV_NONE : kv_scratch_parent(m->kv, seq, node);
        const int32_t before = node == KV_NONE ? r->pos : kv_seq_len(m->kv, seq);
        r->state.from = parent == KV_NONE ? kv_seq_state(m->kv, seq, before) : kv_scratch_state(m->kv, seq, parent);
        r->state.to = node == KV_NONE ? kv_seq_state(m->kv, seq, r->pos + 1) : kv_scratch_state(m->kv, seq, node);
    }
}

// Adds all rows to their sequences; on failure *i is the row that could not be added.
static rn_status add_rows(struct lm_real *m, const struct lm_row *rows, size_t n, size_t *i, rn_error *err) {
    for (*i = 0; *i < n; ++*i) {
        const struct lm_row *r = &rows[*i];
        rn_status st = check_row(m, r, err);
        if (st == RN_OK) st = add_row(m, r, &m->rows[*i], err);
        if (st != RN_OK) return fail_in(err, st, "row %zu", *i);
        m->n_wanted += (r->want & LM_WANT_RESULTS) != 0;
        m->n_hidden += (r->want & LM_WANT_HIDDEN) != 0;
        m->n_tapped += (r->want & LM_WANT_TAPS) != 0;
        m->n_logits += (r->want & LM_WANT_LOGITS) != 0;
    }
    for (*i = 0; *i < n; ++*i) {
        const rn_status st = rows[*i].input ? check_span(m, &rows[*i], &m->rows[*i], err) : RN_OK;
        if (st != RN_OK) return fail_in(err, st, "row %zu", *i);
    }
    return RN_OK;
}

// Rows whose logits are wanted come first: the head runs over these alone.
static void list_wanted(struct lm_real *m, const struct lm_row *rows, size_t n) {
    size_t at_logits = 0, at_hidden = m->n_logits;
    for (size_t i = 0; i < n; i++) {
        m->wanted_of[i] = -1;
        if (!(rows[i].want & LM_WANT_RESULTS)) continue;
        const size_t at = rows[i].want & LM_WANT_LOGITS ? at_logits++ : at_hidden++;
        m->wanted_of[i] = (int32_t)at;
        m->wanted[at] = (int32_t)i;
    }
}

static rn_status fetch_results(struct lm_real *m, rn_error *err) {
    const struct {
        int32_t buffer;
        size_t n;
        struct backend_rows *to;
    } results[] = {{m->p->logits, m->n_logits, &m->logits},
                   {m->p->hidden, m->n_hidden ? m->n_wanted : 0, &m->hidden},
                   {m->p->rank, m->p->n_rank ? m->n_wanted : 0, &m->rank}};
    rn_status st = RN_OK;
    for (size_t i = 0; i < sizeof results / sizeof *results; i++) {
        *results[i].to = (struct backend_rows){NULL, 0};
        if (st == RN_OK && results[i].n)
            st = backend_fetch(m->b, results[i].buffer, results[i].n, results[i].to, err);
    }
    for (int32_t k = 0; k < m->p->n_taps; k++) {
        m->taps[k] = (struct backend_rows){NULL, 0};
        if (st == RN_OK && m->n_tapped) st = backend_fetch(m->b, m->p->taps[k].buffer, m->n_wanted, &m->taps[k], err);
    }
    return st;
}

static rn_status run(struct lm_real *m, size_t n, rn_error *err) {
    const struct batch batch = {m->rows, n, m->seqs, m->wanted, m->n_wanted, m->n_logits};
    const rn_status st = backend_run(m->b, &batch, err);
    return st == RN_OK ? fetch_results(m, err) : st;
}

// After a run that failed: keys and values of the rows are unused slots again, but a recurrent state is written in place.
static void undo_run(struct lm_real *m) {
    undo(m);
    for (int32_t s = 0; m->p->state_bytes > 0 && s < m->n_seqs; s++) kv_truncate(m->kv, m->seq_ids[s], 0);
}

static rn_status step(lm *base, const struct lm_row *rows, size_t n, size_t *failed_row, rn_error *err) {
    struct lm_real *m = self(base);
    size_t i;
    m->n_rows = m->n_wanted = m->n_logits = m->n_hidden = m->n_tapped = 0;
    if (n == 0 || n > (size_t)m->c.n_batch)
        return fail(err, RN_E_ARG, "step: %zu rows, 1..%d are possible", n, m->c.n_batch);
    rn_status st = add_rows(m, rows, n, &i, err);
    if (st != RN_OK) {
        if (failed_row) *failed_row = i;
        undo(m);
    } else {
        fill_seqs(m);
        fill_states(m, n);
        fill_coords(m, rows, n);
        list_wanted(m, rows, n);
        st = run(m, n, err);
        if (st == RN_OK) {
            kv_commit(m->kv);
            m->n_rows = n;
        } else {
            if (failed_row) *failed_row = LM_ALL_ROWS;
            undo_run(m);
        }
    }
    leave_seqs(m);
    return st;
}

static const float *result(const struct lm_real *m, const struct backend_rows *rows, size_t row) {
    if (row >= m->n_rows || m->wanted_of[row] < 0 || !rows->at) return NULL;
    return backend_row(rows, (size_t)m->wanted_of[row]);
}
static const float *logits(lm *base, size_t row) {
    const struct lm_real *m = self(base);
    if (row < m->n_rows && m->wanted_of[row] >= (int32_t)m->n_logits) return NULL; // only its hidden state was wanted
    return result(m, &m->logits, row);
}
static const float *hidden(lm *base, size_t row) { return result(self(base), &self(base)->hidden, row); }
static const float *rank(lm *base, size_t row) { return result(self(base), &self(base)->rank, row); }

static const float *tap(lm *base, size_t row, int32_t k) {
    return k >= 0 && k < base->n_taps ? result(self(base), &self(base)->taps[k], row) : NULL;
}

static rn_status seq_new(lm *base, const struct lm_seq_spec *spec, int32_t *seq, rn_error *err) {
    struct lm_real *m = self(base);
    rn_status st = check_spec(spec, err);
    if (st == RN_OK) st = kv_seq_new(m->kv, seq, err);
    if (st == RN_OK) m->kinds[*seq] = kind_of(m, spec);
    return st;
}
static rn_status seq_fork(lm *base, int32_t seq, int32_t *out, rn_error *err) {
    struct lm_real *m = self(base);
    const rn_status st = kv_seq_fork(m->kv, seq, out, err);
    if (st == RN_OK) m->kinds[*out] = m->kinds[seq];
    return st;
}
static bool seq_fits(const lm *base, int32_t seq, const struct lm_seq_spec *spec) {
    const struct lm_real *m = (const struct lm_real *)base;
    const struct seq_kind k = kind_of(m, spec);
    return m->kinds[seq].is_far == k.is_far && lm_shares_prefixes(&m->kinds[seq].spec, spec);
}
static void seq_free(lm *base, int32_t seq) { kv_seq_free(self(base)->kv, seq); }
static int32_t seq_len(const lm *base, int32_t seq) { return kv_seq_len(((const struct lm_real *)base)->kv, seq); }
static int32_t scratch_room(const lm *base, int32_t seq, const char **why) {
    return kv_scratch_room(((const struct lm_real *)base)->kv, seq, why);
}
static rn_status keep(lm *base, int32_t seq, const int32_t *path, int32_t n, rn_error *err) {
    return kv_keep(self(base)->kv, seq, path, n, err);
}
static int32_t truncate_seq(lm *base, int32_t seq, int32_t n) { return kv_truncate(self(base)->kv, seq, n); }

static rn_status match_prefix(lm *base, const struct lm_seq_spec *spec, const uint64_t *keys, int32_t n,
                              struct lm_prefix *out, rn_error *err) {
    struct lm_real *m = self(base);
    const struct seq_kind kind = kind_of(m, spec);
    enum kv_miss why;
    rn_status st = check_spec(spec, err);
    if (st != RN_OK) return st;
    keys_of_kind(m, keys, n, &kind);
    st = kv_match_prefix(m->kv, m->base.keys, n, &out->seq, &out->n, &why, err);
    if (st != RN_OK) return st;
    out->miss = (enum lm_miss)why;
    m->kinds[out->seq] = kind;
    return RN_OK;
}

// Parts are the groups of pages, then the states.

static struct lm_part part_of(const lm *base, int32_t part, int32_t n) {
    const struct lm_real *m = (const struct lm_real *)base;
    const bool is_state = part == m->p->n_groups;
    struct lm_part out = {.record_bytes = backend_page_bytes(m->b, is_state ? KV_STATE : part)};
    if (out.record_bytes == 0) return out;
    if (!is_state) out.first = kv_first_block(m->kv, part, n);
    out.n = is_state ? n > 0 : (n + KV_PAGE - 1) / KV_PAGE - out.first;
    return out;
}

static rn_status seq_restore(lm *base, const struct lm_seq_spec *spec, const uint64_t *keys, int32_t n, int32_t *seq,
                             rn_error *err) {
    struct lm_real *m = self(base);
    const struct seq_kind kind = kind_of(m, spec);
    rn_status st = check_spec(spec, err);
    if (st != RN_OK) return st;
    keys_of_kind(m, keys, n, &kind);
    st = kv_seq_new_private(m->kv, m->base.keys, n, seq, err);
    if (st == RN_OK) m->kinds[*seq] = kind;
    return st;
}

static int32_t page_of(const struct lm_real *m, int32_t seq, int32_t part, int32_t record) {
    if (part < m->p->n_groups) return kv_seq_page(m->kv, seq, part, record);
    return kv_seq_state(m->kv, seq, kv_seq_len(m->kv, seq));
}

static rn_status read_record(lm *base, int32_t seq, int32_t part, int32_t record, uint8_t *out, rn_error *err) {
    const struct lm_real *m = self(base);
    const int32_t n = kv_seq_len(m->kv, seq) - record * KV_PAGE;
    return backend_read_page(m->b, part < m->p->n_groups ? part : KV_STATE, page_of(m, seq, part, record),
                             n < KV_PAGE ? n : KV_PAGE, out, err);
}

static rn_status write_record(lm *base, int32_t seq, int32_t part, int32_t record, const uint8_t *bytes,
                              rn_error *err) {
    struct lm_real *m = self(base);
    return backend_write_page(m->b, part < m->p->n_groups ? part : KV_STATE, page_of(m, seq, part, record), bytes,
                              err);
}

static rn_status copy_pages(void *user, const struct kv_copy *c, rn_error *err) { return backend_copy(user, c, err); }

static void destroy(lm *base) {
    struct lm_real *m = self(base);
    kv_destroy(m->kv);
    mem_free(m->rows);
    mem_free(m->seqs);
    mem_free(m->seq_of);
    mem_free(m->seq_ids);
    mem_free(m->pages);
    mem_free(m->paths);
    mem_free(m->nodes);
    mem_free(m->wanted);
    mem_free(m->wanted_of);
    mem_free(m->len_before);
    mem_free(m->scratch_before);
    lm_free_room(base);
    mem_free(m->kinds);
    mem_free(m);
}

static const struct lm_ops ops = {
    .name = "real",
    .destroy = destroy,
    .step = step,
    .logits = logits,
    .hidden = hidden,
    .seq_new = seq_new,
    .seq_fork = seq_fork,
    .seq_free = seq_free,
    .seq_len = seq_len,
    .scratch_room = scratch_room,
    .keep = keep,
    .truncate = truncate_seq,
    .match_prefix = match_prefix,
    .seq_fits = seq_fits,
    .rank = rank,
    .tap = tap,
    .part = part_of,
    .seq_restore = seq_restore,
    .read_record = read_record,
    .write_record = write_record,
};

static rn_status take_memory(struct lm_real *m, rn_error *err) {
    const size_t n_batch = (size_t)m->c.n_batch, n_groups = (size_t)m->p->n_groups;
    m->n_blocks = (m->c.n_ctx + KV_PAGE - 1) / KV_PAGE; // kv_create() has checked n_ctx
    m->rows = mem_calloc(n_batch, sizeof *m->rows);
    m->seqs = mem_calloc(n_batch, sizeof *m->seqs);
    m->seq_of = mem_alloc((size_t)m->c.max_seqs * sizeof *m->seq_of);
    m->seq_ids = mem_calloc(n_batch, sizeof *m->seq_ids);
    m->pages = mem_calloc(n_batch * n_groups, (size_t)m->n_blocks * sizeof *m->pages);
    m->paths = mem_calloc(n_batch * n_groups, ((size_t)m->c.max_scratch + 1) * sizeof *m->paths);
    m->nodes = mem_calloc(n_batch, sizeof *m->nodes);
    m->wanted = mem_calloc((size_t)m->c.n_want, sizeof *m->wanted);
    m->wanted_of = mem_calloc(n_batch, sizeof *m->wanted_of);
    m->len_before = mem_calloc(n_batch, sizeof *m->len_before);
    m->scratch_before = mem_calloc(n_batch, sizeof *m->scratch_before);
    m->kinds = mem_calloc((size_t)m->c.max_seqs, sizeof *m->kinds);
    if (!m->rows || !m->seqs || !m->seq_of || !m->seq_ids || !m->pages || !m->paths || !m->nodes || !m->wanted ||
        !m->wanted_of || !m->len_before || !m->scratch_before || !m->kinds || !lm_take_room(&m->base))
        return fail(err, RN_E_NOMEM, "lm: out of memory for steps of %d rows", m->c.n_batch);
    for (int32_t s = 0; s < m->c.max_seqs; s++) m->seq_of[s] = -1;
    return RN_OK;
}

rn_status lm_real_create(const struct program *p, backend *b, const struct lm_config *c, lm **out, rn_error *err) {
    *out = NULL;
    if (c->n_batch < 1 || c->n_want < 0)
        return fail(err, RN_E_ARG, "lm: n_batch %d, n_want %d: at least 1 and 0", c->n_batch, c->n_want);
    if (c->n_logits < 0 || c->n_logits > c->n_want)
        return fail(err, RN_E_ARG, "lm: n_logits %d is outside 0..%d, the wanted rows", c->n_logits, c->n_want);
    if (p->state_bytes > 0 && c->n_states < 1)
        return fail(err, RN_E_ARG, "lm: n_states %d: the model has a recurrent state, at least 1", c->n_states);
    struct lm_real *m = mem_calloc(1, sizeof *m);
    if (!m) return fail(err, RN_E_NOMEM, "lm: out of memory");
    m->p = p, m->b = b, m->c = *c;
    m->base = (lm){.ops = &ops,
                   .n_vocab = (int32_t)p->width[p->logits],
                   .n_embd = (int32_t)p->width[p->hidden],
                   .n_vector = p->n_vector,
                   .n_rank = p->n_rank,
                   .n_taps = p->n_taps,
                   .n_ctx = c->n_ctx,
                   .n_batch = c->n_batch,
                   .n_want = c->n_want,
                   .n_logits = c->n_logits ? c->n_logits : c->n_want,
                   .n_parts = p->n_groups + 1};
    const struct backend_sizes sizes = lm_real_sizes(p, c);
    struct kv_config k = {.n_groups = p->n_groups,
                          .max_seqs = c->max_seqs,
                          .n_ctx = c->n_ctx,
                          .max_scratch = c->max_scratch,
                          .n_states = p->state_bytes ? c->n_states : 0,
                          .state_interval = p->state_bytes ? c->state_interval : 0,
                          .identity = c->identity};
    for (int32_t g = 0; g < p->n_groups; g++) k.n_pages[g] = sizes.n_pages[g], k.window[g] = p->groups[g].window;
    rn_status st = kv_create(&k, copy_pages, b, &m->kv, err);
    if (st == RN_OK) st = take_memory(m, err);
    if (st == RN_OK)
        *out = &m->base;
    else
        destroy(&m->base);
    return st;
}

kv *lm_real_kv(lm *m) { return self(m)->kv; }
