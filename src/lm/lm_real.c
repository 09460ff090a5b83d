// lm/lm_real.c - a step: pages and slots for all rows, rows as the backend sees them, one run; all or nothing.
#include "lm/lm_real.h"
#include "base/checked.h"
#include "base/mem.h"
#include "lm/lm_kv.h"

struct lm_real {
    struct lm_kv k; // first: callers hold a pointer to its lm
    const struct program *p;
    backend *b;
    struct lm_config c;
    int32_t n_blocks; // of a sequence of n_ctx positions
    // Of the running step:
    struct batch_row *rows; // [n_batch]
    struct batch_seq *seqs; // [n_batch]
    int32_t *seq_of;        // [max_seqs] index into seqs, -1: not in this step
    int32_t *seq_ids;       // [n_batch] the reverse
    int32_t n_seqs;
    struct batch_adapter (*adapters)[BATCH_MAX_ADAPTERS]; // [n_batch] of seqs
    int32_t *pages;                                       // [n_batch][n_groups][n_blocks]
    struct kv_slot *paths;                                // [n_batch][n_groups][max_scratch]
    int32_t *nodes;                                       // [n_batch] a row's scratch node, KV_NONE: appended
    int32_t *wanted, *wanted_of;                   // [n_want] rows; [n_batch] place of a row among the wanted, -1
    size_t n_rows;                                 // 0 after a step that failed, so that it has no results
    size_t n_wanted, n_logits, n_hidden, n_tapped; // rows that want a result; logits; the hidden state; taps
    struct backend_rows logits, hidden, rank, taps[PROGRAM_MAX_TAPS]; // of the last step, in host memory
    int32_t *len_before, *scratch_before;                             // [n_batch] of seqs, to undo
};

_Static_assert((int)LM_MAX_ADAPTERS == (int)BATCH_MAX_ADAPTERS, "as many adapters of a sequence");

static struct lm_real *self(lm *m) { return (struct lm_real *)m; }
static const struct lm_real *self_const(const lm *m) { return (const struct lm_real *)m; }

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

static rn_status check_row(const struct lm_real *m, const struct lm_row *r, rn_error *err) {
    const rn_status st = lm_kv_check_row(&m->k, r, err);
    if (st != RN_OK) return st;
    if (r->input && r->input->vector && m->k.lm.n_vector == 0)
        return fail(err, RN_E_UNSUPPORTED, "the model takes no input vectors");
    if (m->p->needs_vector && (!r->input || !r->input->vector || r->input->adds))
        return fail(err, RN_E_ARG, "the part reads an input vector beside the token, which the row does not have");
    if (r->input && r->input->has_coord && m->p->n_coords == 0)
        return fail(err, RN_E_UNSUPPORTED, "rope coordinates: the model rotates by positions alone");
    if (r->input && r->input->kind != 0 && (r->input->kind < 0 || r->input->kind >= m->p->n_row_kinds))
        return fail(err, RN_E_ARG, "is of kind %d, of which the model has %d", r->input->kind, m->p->n_row_kinds);
    if (r->want & ~(uint32_t)(LM_WANT_RESULTS | LM_WANT_STATE | LM_OPTIONAL))
        return fail(err, RN_E_ARG, "want 0x%x is unknown", (unsigned)r->want);
    if (r->want & LM_WANT_TAPS && m->p->n_taps == 0)
        return fail(err, RN_E_ARG, "wants taps, but no layer of the model is tapped");
    if (r->want & LM_WANT_LOGITS && m->k.lm.n_vocab == 0)
        return fail(err, RN_E_ARG, "wants logits, but the part has no head");
    if (r->want & LM_WANT_RESULTS && m->n_wanted == (size_t)m->c.n_want)
        return fail(err, RN_E_ARG, "more than %d rows want results", m->c.n_want);
    if (r->want & LM_WANT_LOGITS && m->n_logits == (size_t)m->k.lm.n_logits)
        return fail(err, RN_E_ARG, "more than %d rows want logits", m->k.lm.n_logits);
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
    const int32_t end = kv_seq_len(m->k.kv, r->seq), see_to = r->input->see_to;
    if (see_to < 0 || see_to == b->pos) return RN_OK;
    if (see_to < b->pos) return fail(err, RN_E_ARG, "sees up to position %d, before its own, %d", see_to, b->pos);
    if (r->parent != LM_APPEND) return fail(err, RN_E_ARG, "a scratch row sees up to its own position only");
    if (see_to >= end)
        return fail(err, RN_E_ARG, "sees up to position %d, the step ends before %d: a span is appended in one step",
                    see_to, end);
    if (has_slopes(m->p) && !m->p->kinds[0].is_mirrored)
        return fail(err, RN_E_UNSUPPORTED, "a span: the model weighs distances backwards only (ALiBi)");
    return RN_OK;
}

static rn_status check_area(const struct lm_real *m, const struct lm_row *r, const struct batch_row *b,
                            rn_error *err) {
    const int32_t end = kv_seq_len(m->k.kv, r->seq);
    if (!b->area_end) return RN_OK;
    if (r->parent == LM_APPEND && b->area_first >= 0 && b->area_first <= b->pos && b->pos < b->area_end &&
        b->area_end <= end)
        return RN_OK;
    return fail(err, RN_E_ARG, "attends to positions %d..%d, its own is %d and the step ends before %d",
                b->area_first, b->area_end - 1, b->pos, end);
}

static int32_t enter_seq(struct lm_real *m, int32_t seq) {
    if (m->seq_of[seq] >= 0) return m->seq_of[seq];
    const int32_t s = m->n_seqs++;
    m->seq_of[seq] = s;
    m->seq_ids[s] = seq;
    m->len_before[s] = kv_seq_len(m->k.kv, seq);
    m->scratch_before[s] = kv_scratch_len(m->k.kv, seq);
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
        kv_scratch_cut(m->k.kv, seq, m->scratch_before[s]);
        if (kv_seq_len(m->k.kv, seq) > m->len_before[s]) kv_truncate(m->k.kv, seq, m->len_before[s]);
    }
}

// Slots of a scratch row's path, the row itself last.
static void fill_path(struct lm_real *m, int32_t seq, int32_t node, struct batch_row *out) {
    const int32_t depth = kv_scratch_depth(m->k.kv, seq, node);
    const size_t row = (size_t)(out - m->rows);
    for (int32_t g = 0; g < m->p->n_groups; g++) {
        struct kv_slot *path = m->paths + (row * (size_t)m->p->n_groups + (size_t)g) * (size_t)m->c.max_scratch;
        for (int32_t n = node, d = depth; d > 0; d--, n = kv_scratch_parent(m->k.kv, seq, n))
            path[d - 1] = kv_scratch_slot(m->k.kv, seq, n, g);
        out->path[g] = path;
        out->store[g] = path[depth - 1];
    }
}

static rn_status add_row(struct lm_real *m, const struct lm_row *r, struct batch_row *out, rn_error *err) {
    int32_t *const node = &m->nodes[out - m->rows];
    *out = (struct batch_row){
        .token = r->token, .seq = enter_seq(m, r->seq), .see_to = -1, .state = {.from = KV_NONE, .to = KV_NONE}};
    if (r->input)
        out->vector = r->input->vector, out->adds = r->input->adds, out->see_to = r->input->see_to,
        out->area_first = r->input->area_first, out->area_end = r->input->area_end, out->kind = r->input->kind;
    const rn_status st = lm_kv_add_row(&m->k, r, &out->pos, node, err);
    if (st != RN_OK) return st;
    if (*node != KV_NONE) fill_path(m, r->seq, *node, out);
    for (int32_t g = 0; *node == KV_NONE && g < m->p->n_groups; g++)
        out->store[g] = kv_seq_slot(m->k.kv, r->seq, g, out->pos);
    return RN_OK;
}

static void fill_seqs(struct lm_real *m) {
    for (int32_t s = 0; s < m->n_seqs; s++) {
        const int32_t len = kv_seq_len(m->k.kv, m->seq_ids[s]);
        m->seqs[s].n_committed = len;
        m->seqs[s].is_far = lm_kv_is_far(&m->k, &m->k.specs[m->seq_ids[s]]);
        const struct lm_adapters *list = &m->k.specs[m->seq_ids[s]].adapters;
        for (int32_t i = 0; i < list->n; i++)
            m->adapters[s][i] = (struct batch_adapter){list->of[i].adapter, list->of[i].scale};
        m->seqs[s].adapters = m->adapters[s];
        m->seqs[s].n_adapters = list->n;
        for (int32_t g = 0; g < m->p->n_groups; g++) {
            int32_t *pages = m->pages + ((size_t)s * (size_t)m->p->n_groups + (size_t)g) * (size_t)m->n_blocks;
            for (int32_t b = 0; b < (len + KV_PAGE - 1) / KV_PAGE; b++)
                pages[b] = kv_seq_page(m->k.kv, m->seq_ids[s], g, b);
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
    kv_place_states(m->k.kv);
    for (size_t i = 0; m->p->state_bytes > 0 && i < n; i++) {
        struct batch_row *r = &m->rows[i];
        r->state.from = lm_kv_state_from(&m->k, m->seq_ids[r->seq], r->pos, m->nodes[i]);
        r->state.to = lm_kv_state_to(&m->k, m->seq_ids[r->seq], r->pos, m->nodes[i]);
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
        rn_status st = rows[*i].input ? check_span(m, &rows[*i], &m->rows[*i], err) : RN_OK;
        if (st == RN_OK) st = check_area(m, &rows[*i], &m->rows[*i], err);
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
    for (int32_t s = 0; m->p->state_bytes > 0 && s < m->n_seqs; s++) kv_truncate(m->k.kv, m->seq_ids[s], 0);
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
            kv_commit(m->k.kv);
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

static struct lm_part part_of(const lm *base, int32_t part, int32_t n) {
    const struct lm_real *m = self_const(base);
    return lm_kv_part(&m->k, part, n, backend_page_bytes(m->b, part < m->p->n_groups ? part : KV_STATE));
}

static rn_status read_record(lm *base, int32_t seq, int32_t part, int32_t record, uint8_t *out, rn_error *err) {
    const struct lm_kv_record r = lm_kv_record(&self(base)->k, seq, part, record);
    return backend_read_page(self(base)->b, r.group, r.page, r.n, out, err);
}

static rn_status write_record(lm *base, int32_t seq, int32_t part, int32_t record, const uint8_t *bytes,
                              rn_error *err) {
    const struct lm_kv_record r = lm_kv_record(&self(base)->k, seq, part, record);
    return backend_write_page(self(base)->b, r.group, r.page, bytes, err);
}

static rn_status copy_pages(void *user, const struct kv_copy *c, rn_error *err) { return backend_copy(user, c, err); }

static void destroy(lm *base) {
    struct lm_real *m = self(base);
    lm_kv_free(&m->k);
    mem_free(m->rows);
    mem_free(m->seqs);
    mem_free(m->seq_of);
    mem_free(m->seq_ids);
    mem_free(m->adapters);
    mem_free(m->pages);
    mem_free(m->paths);
    mem_free(m->nodes);
    mem_free(m->wanted);
    mem_free(m->wanted_of);
    mem_free(m->len_before);
    mem_free(m->scratch_before);
    mem_free(m);
}

static const struct lm_ops ops = {
    .name = "real",
    .destroy = destroy,
    .step = step,
    .logits = logits,
    .hidden = hidden,
    LM_KV_OPS,
    .rank = rank,
    .tap = tap,
    .part = part_of,
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
    m->adapters = mem_calloc(n_batch, sizeof *m->adapters);
    m->pages = mem_calloc(n_batch * n_groups, (size_t)m->n_blocks * sizeof *m->pages);
    m->paths = mem_calloc(n_batch * n_groups, ((size_t)m->c.max_scratch + 1) * sizeof *m->paths);
    m->nodes = mem_calloc(n_batch, sizeof *m->nodes);
    m->wanted = mem_calloc((size_t)m->c.n_want, sizeof *m->wanted);
    m->wanted_of = mem_calloc(n_batch, sizeof *m->wanted_of);
    m->len_before = mem_calloc(n_batch, sizeof *m->len_before);
    m->scratch_before = mem_calloc(n_batch, sizeof *m->scratch_before);
    if (!m->rows || !m->seqs || !m->seq_of || !m->seq_ids || !m->adapters || !m->pages || !m->paths || !m->nodes ||
        !m->wanted || !m->wanted_of || !m->len_before || !m->scratch_before)
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
    m->k.lm = (lm){.ops = &ops,
                   .n_vocab = (int32_t)p->width[p->logits],
                   .n_embd = (int32_t)p->width[p->hidden],
                   .n_tokens = p->n_tokens,
                   .token_map = p->token_map,
                   .n_vector = p->n_vector,
                   .n_row_kinds = p->n_row_kinds,
                   .n_rank = p->n_rank,
                   .n_adapters = (int32_t)p->n_adapters,
                   .n_taps = p->n_taps,
                   .n_ctx = c->n_ctx,
                   .n_batch = c->n_batch,
                   .n_want = c->n_want,
                   .n_logits = c->n_logits ? c->n_logits : c->n_want,
                   .n_parts = p->n_groups + 1};
    m->k.n_near = p->n_near;
    const struct backend_sizes sizes = lm_real_sizes(p, c);
    struct kv_config k = {.n_groups = p->n_groups,
                          .max_seqs = c->max_seqs,
                          .n_ctx = c->n_ctx,
                          .max_scratch = c->max_scratch,
                          .n_states = p->state_bytes ? c->n_states : 0,
                          .state_interval = p->state_bytes ? c->state_interval : 0,
                          .identity = c->identity};
    for (int32_t g = 0; g < p->n_groups; g++) k.n_pages[g] = sizes.n_pages[g], k.window[g] = p->groups[g].window;
    rn_status st = lm_kv_create(&m->k, &k, copy_pages, b, err);
    if (st == RN_OK) st = take_memory(m, err);
    if (st == RN_OK)
        *out = &m->k.lm;
    else
        destroy(&m->k.lm);
    return st;
}

kv *lm_real_kv(lm *m) { return self(m)->k.kv; }
