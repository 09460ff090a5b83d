// engine/stream_seqs.c - the sequences of a stream's strategy. The strategy declares them; the engine creates, fills, releases and
// restores them.
//
// The main sequence declares the stream's tokens: the prompt, then those emitted. Other sequences have their own lists.
#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "engine/engine.h"
#include <stdio.h>
#include <string.h>

static struct stream_seq *main_seq(const rn_stream *s) { return &s->play.seqs[STRATEGY_MAIN]; }

int32_t stream_evaluated(const rn_stream *s) {
    const struct stream_seq *q = main_seq(s);
    return q->seq < 0 ? 0 : lm_seq_len(q->model_slot->lm, q->seq);
}

int32_t stream_prefill_target(const rn_stream *s) { return main_seq(s)->n; }

int32_t seq_missing(const struct stream_seq *q) {
    return !q->model_slot ? 0 : q->n - (q->seq < 0 ? 0 : lm_seq_len(q->model_slot->lm, q->seq));
}

bool stream_holds(const rn_stream *s, const struct model_slot *l) {
    for (int32_t i = 0; i < s->play.n_seqs; i++)
        if (s->play.seqs[i].model_slot == l && s->play.seqs[i].seq >= 0) return true;
    return false;
}

struct stream_seq *stream_filling(const rn_stream *s, const struct model_slot *l) {
    for (int32_t i = 0; i < s->play.n_seqs; i++) {
        struct stream_seq *const q = &s->play.seqs[i];
        if ((!l || q->model_slot == l) && q->seq >= 0 && seq_missing(q) > 0) return q;
    }
    return NULL;
}

// Slot 0 is the stream's own model, followed by the engine's others in order.
static struct model_slot *model_slot_of_slot(rn_engine *e, const struct model_slot *own, size_t slot) {
    const size_t at = (size_t)(own - e->model_slots);
    return &e->model_slots[slot == 0 ? at : slot <= at ? slot - 1 : slot];
}

struct model_slot *stream_slot(const rn_stream *s, int32_t slot) {
    return slot < 0 || slot >= s->play.env.n_slots ? NULL
                                                   : model_slot_of_slot(s->engine, s->model_slot, (size_t)slot);
}

static enum strategy_part part_of(const struct model_slot *own, const struct model_slot *l) {
    static const enum strategy_part parts[] = {[PART_NEXTN] = STRATEGY_PART_NEXTN,
                                               [PART_MEDUSA] = STRATEGY_PART_MEDUSA,
                                               [PART_EAGLE] = STRATEGY_PART_EAGLE,
                                               [PART_EAGLE3] = STRATEGY_PART_EAGLE3,
                                               [PART_EAGLE3_TAPS] = STRATEGY_PART_EAGLE3_TAPS,
                                               [PART_LAYERS] = STRATEGY_PART_LAYERS,
                                               [PART_HEAD] = STRATEGY_PART_HEAD};
    if (!l->part) return STRATEGY_PART_NONE;
    return l->base->program == own->program ? parts[l->part->spec.kind] : STRATEGY_PART_OF_ANOTHER;
}

void model_slot_fill_slots(rn_engine *e, struct model_slot *own) {
    for (size_t i = 0; i < e->n_model_slots; i++) {
        const struct model_slot *l = model_slot_of_slot(e, own, i);
        own->slots[i] = (struct strategy_slot){.part = part_of(own, l),
                                               .number = l->part ? l->part->spec.number : 0,
                                               .n_vocab = l->lm->n_vocab,
                                               .n_embd = l->lm->n_embd,
                                               .n_rank = l->lm->n_rank,
                                               .rank_softmax = model_program(l->program)->rank_softmax,
                                               .n_layer = package_hparams(l->m->pkg)->n_layer,
                                               .ties_head = !package_tensor(l->m->pkg, "output.weight"),
                                               .early = l->m->early,
                                               .n_early = l->m->n_early,
                                               .first_early = l->m->n_taps,
                                               .n_ctx = l->n_ctx,
                                               .n_scratch = l->n_scratch,
                                               .time = &l->step_time};
    }
}

// The engine cannot evaluate its rows again: they read vectors, which it does not keep.
static bool is_of_part(const struct stream_seq *q) {
    return q->model_slot && model_slot_reads_vectors(q->model_slot);
}

// ---- create and release ---------------------------------------------------------------------------------------------

_Static_assert((int)RN_MISS_NONE == (int)LM_MISS_NONE && (int)RN_MISS_EMPTY == (int)LM_MISS_EMPTY &&
                   (int)RN_MISS_DIFFERS == (int)LM_MISS_DIFFERS && (int)RN_MISS_END == (int)LM_MISS_END &&
                   (int)RN_MISS_WINDOW == (int)LM_MISS_WINDOW && (int)RN_MISS_STATE == (int)LM_MISS_STATE,
               "misses are numbered alike");

static void note_miss(rn_stream *s, rn_miss why) {
    s->prefix.miss = why;
    s->prefix.miss_text[0] = 0;
}

bool stream_reads_prompt(const rn_stream *s) {
    return s->play.strategy->ops->prompt_from(s->play.strategy) < s->n_prompt - 1;
}

// The number of declared rows whose results are not needed, so that they may come from the cache.
static int32_t most_cached(const rn_stream *s, const struct stream_seq *q) {
    const int32_t from = s->play.strategy->ops->prompt_from(s->play.strategy);
    return q == main_seq(s) && from < s->n_prompt ? from : q->n;
}

// Most tokens of a sequence other than the main one.
static int32_t other_seq_limit(const rn_stream *s, const struct model_slot *l) {
    return l == s->model_slot ? s->play.n_seq_limit : s->n_limit;
}
static int32_t seq_limit(const rn_stream *s, const struct stream_seq *q) {
    return q == main_seq(s) ? s->n_limit : other_seq_limit(s, q->model_slot);
}

// Adapters are those of the stream's own model; helper models have none.
static struct lm_seq_spec seq_spec(const rn_stream *s, const struct stream_seq *q) {
    const struct model_slot *const l = q->model_slot;
    return (struct lm_seq_spec){.n_most = seq_limit(s, q),
                                .salt = s->prefix.salt,
                                .adapters = l == s->model_slot ? s->prefix.adapters : (struct lm_adapters){0},
                                .whole_pages = s->prefix.whole_pages};
}

// Rows that see their whole text have the key of all of it: a text that begins alike has other rows.
static bool whole_text_input(const rn_stream *s, const struct stream_seq *q, int32_t at, struct lm_input *out) {
    *out = (struct lm_input){.key = hash_u64((uint64_t)at, q->text_key),
                             .see_to = q->n - 1,
                             .kind = s->n_first_kind > 0 && at >= s->n_first_kind};
    return true;
}

static bool has_pictures(const rn_stream *s, const struct stream_seq *q) {
    const int32_t end = prompt_pictures_end(&s->pictures), n = q->n < end ? q->n : end;
    if (end == 0 || q->model_slot != s->model_slot) return false;
    return q == main_seq(s) || memcmp(q->tokens, s->tokens, (size_t)n * sizeof *q->tokens) == 0;
}

bool stream_row_input(const rn_stream *s, const struct stream_seq *q, int32_t at, struct lm_input *out) {
    if (model_slot_sees_whole_text(q->model_slot)) return whole_text_input(s, q, at, out);
    return has_pictures(s, q) && prompt_pictures_input(&s->pictures, at, out);
}

bool stream_cuts_span(const rn_stream *s, const struct stream_seq *q, int32_t at, int32_t *first, int32_t *end) {
    return has_pictures(s, q) && prompt_pictures_cuts(&s->pictures, at, first, end);
}

// As lm_token_keys(), but for rows that have an input.
static const uint64_t *row_keys(const rn_stream *s, const struct stream_seq *q, int32_t n) {
    lm *const m = q->model_slot->lm;
    const uint64_t *const keys = lm_token_keys(m, q->tokens, n);
    const bool has_inputs = s->pictures.n > 0 || model_slot_sees_whole_text(q->model_slot);
    for (int32_t i = 0; i < n && i < m->n_ctx && has_inputs; i++) {
        struct lm_input in;
        if (stream_row_input(s, q, i, &in))
            m->keys[i] = lm_row_key(&(struct lm_row){.token = q->tokens[i], .input = &in});
    }
    return keys;
}

// Creates the lm's sequence with the longest prefix in the index.
static rn_status make_seq(rn_stream *s, struct stream_seq *q, struct lm_prefix *found, rn_error *err) {
    lm *m = q->model_slot->lm;
    const struct lm_seq_spec spec = seq_spec(s, q);
    rn_status st;
    const int32_t n = most_cached(s, q);
    if (model_slot_sees_whole_text(q->model_slot))
        q->text_key =
            hash_bytes(q->tokens, (size_t)q->n * sizeof *q->tokens, (uint64_t)q->n << 32 | (uint64_t)s->n_first_kind);
    do st = lm_match_prefix(m, &spec, row_keys(s, q, n), n < m->n_ctx ? n : m->n_ctx, found, err);
    while (st == RN_E_LIMIT && session_make_room(s->engine, q->model_slot, NULL));
    if (st == RN_OK) q->seq = found->seq;
    return st;
}

static void count_cached(rn_stream *s, const struct lm_prefix *found) {
    if (s->time.scheduled) return; // preempted before: already counted
    s->prefix.n_cached = found->n;
    if (stream_reads_prompt(s))
        note_miss(s, s->scores.prompt ? RN_MISS_LOGITS : RN_MISS_NONE);
    else if (!s->session || found->n < s->prefix.n_matched)
        note_miss(s, s->prefix.n_matched ? RN_MISS_EVICTED : (rn_miss)found->miss);
}

// It begins with the same page as one that is being filled, from which it will have what both have in common.
static bool should_wait(const rn_stream *s, const struct stream_seq *q) {
    for (const struct stream_seq *p = s->play.seqs; p < s->play.seqs + s->play.n_seqs; p++)
        if (p != q && p->model_slot == q->model_slot && p->seq >= 0 && seq_missing(p) > 0 && p->n >= KV_PAGE &&
            q->n >= KV_PAGE && memcmp(p->tokens, q->tokens, KV_PAGE * sizeof *p->tokens) == 0)
            return true;
    return false;
}

bool stream_waits_for_seqs(const rn_stream *s) {
    for (int32_t i = 0; i < s->play.n_seqs; i++)
        if (s->play.seqs[i].model_slot && s->play.seqs[i].seq < 0) return true;
    return false;
}

rn_status stream_restore(rn_stream *s, struct model_slot **lacking, rn_error *err) {
    rn_status st = RN_OK;
    *lacking = NULL;
    for (int32_t i = 0; i < s->play.n_seqs && st == RN_OK; i++) {
        struct stream_seq *q = &s->play.seqs[i];
        struct lm_prefix found = {0};
        if (!q->model_slot || q->seq >= 0 || should_wait(s, q)) continue;
        st = make_seq(s, q, &found, err);
        if (st == RN_E_LIMIT) *lacking = q->model_slot;
        if (st == RN_OK && q == main_seq(s)) count_cached(s, &found);
    }
    if (st != RN_OK) return st;
    s->play.seqs_changed = false;
    s->state = stream_filling(s, NULL) ? STREAM_PREFILL : STREAM_DECODE;
    if (!s->time.scheduled) s->time.scheduled = clock_now_ns();
    return RN_OK;
}

// Truncates the session's sequence to the common prefix with the prompt, and to before the prompt's last row, whose logits are
// needed. Where windows or recurrent states were not kept, it is truncated further.
static int32_t go_back(rn_stream *s) {
    lm *m = s->model_slot->lm;
    const int32_t len = stream_evaluated(s);
    const int32_t most = s->prefix.n_matched < s->n_prompt ? s->prefix.n_matched : s->n_prompt - 1;
    if (len <= most) return len;
    const int32_t n = lm_truncate(m, main_seq(s)->seq, most);
    if (n < most) note_miss(s, model_program(s->model_slot->program)->state_bytes ? RN_MISS_STATE : RN_MISS_WINDOW);
    return n;
}

// Takes over the session's sequence if it is usable.
static void take_from_session(rn_stream *s) {
    rn_session *const session = s->session;
    const struct lm_seq_spec spec = seq_spec(s, main_seq(s));
    if (!session || session->seq < 0) return;
    if (stream_reads_prompt(s) || !lm_seq_fits(s->model_slot->lm, session->seq, &spec)) {
        lm_seq_free(s->model_slot->lm, session->seq);
    } else {
        main_seq(s)->seq = session->seq;
        s->prefix.n_cached = go_back(s);
    }
    session->seq = -1;
}

rn_status stream_schedule(rn_stream *s, rn_error *err) {
    rn_status st = RN_OK;
    if (!s->play.has_begun) {
        s->play.strategy->env = &s->play.env;
        if (s->play.strategy->ops->begin) st = s->play.strategy->ops->begin(s->play.strategy, err);
        s->play.has_begun = true;
    }
    if (st == RN_OK) take_from_session(s);
    return st;
}

static void release(struct stream_seq *q) {
    if (q->model_slot && q->seq >= 0) lm_seq_free(q->model_slot->lm, q->seq);
    q->seq = -1;
    q->n_nodes = 0;
    if (is_of_part(q)) q->n = 0;
}

void stream_release_main(rn_stream *s, bool keep_for_session) {
    struct stream_seq *q = main_seq(s);
    if (q->seq >= 0 && keep_for_session) {
        (void)lm_keep(q->model_slot->lm, q->seq, NULL, 0, NULL);
        s->session->seq = q->seq, s->session->salt = s->prefix.salt, s->session->adapters = s->prefix.adapters;
        q->seq = -1;
    }
    release(q);
}

void stream_suspend(rn_stream *s) {
    for (int32_t i = 0; i < s->play.n_seqs; i++) release(&s->play.seqs[i]);
    if (s->play.strategy && s->play.has_begun && s->play.strategy->ops->suspend)
        s->play.strategy->ops->suspend(s->play.strategy);
}

// ---- calls of the strategy ------------------------------------------------------------------------------------------

static bool in_use(const rn_stream *s, int32_t seq) {
    return seq >= 0 && seq < s->play.n_seqs && s->play.seqs[seq].model_slot;
}

// Finds an unused entry and allocates memory for its tokens.
static rn_status take_place(rn_stream *s, const struct model_slot *l, int32_t n, int32_t *seq, rn_error *err) {
    const int32_t limit = other_seq_limit(s, l), most = limit < l->n_ctx ? limit : l->n_ctx;
    *seq = -1;
    if (n > most) return fail(err, RN_E_LIMIT, "strategy: a sequence of %d tokens, limit %d", n, most);
    for (*seq = 0; *seq < s->play.n_seqs && s->play.seqs[*seq].model_slot;) ++*seq;
    if (*seq == s->play.n_seqs) return fail(err, RN_E_LIMIT, "strategy: more than %d sequences", s->play.n_seqs);
    struct stream_seq *q = &s->play.seqs[*seq];
    // The place may be taken again, by a sequence of another slot.
    const int32_t longest = s->play.n_seq_limit > s->n_limit ? s->play.n_seq_limit : s->n_limit;
    if (!q->tokens && !(q->tokens = mem_alloc(((size_t)longest + 1) * sizeof *q->tokens)))
        return fail(err, RN_E_NOMEM, "strategy: out of memory for a sequence of %d tokens", longest);
    return RN_OK;
}

static rn_status seq_open(void *user, int32_t slot, const int32_t *tokens, int32_t n, int32_t *seq, rn_error *err) {
    rn_stream *s = user;
    struct model_slot *l = stream_slot(s, slot);
    if (!l) return fail(err, RN_E_ARG, "strategy: model slot %d is outside 0..%d", slot, s->play.env.n_slots - 1);
    for (int32_t i = 0; i < n; i++)
        if (tokens[i] < 0 || tokens[i] >= l->lm->n_tokens)
            return fail(err, RN_E_ARG, "strategy: token %d is outside 0..%d of model slot %d", tokens[i],
                        l->lm->n_tokens - 1, slot);
    if (model_slot_reads_vectors(l) && n > 0)
        return fail(err, RN_E_ARG, "strategy: a sequence of model slot %d, a part, begins empty", slot);
    const rn_status st = take_place(s, l, n, seq, err);
    if (st != RN_OK) return st;
    struct stream_seq *q = &s->play.seqs[*seq];
    if (n > 0) memcpy(q->tokens, tokens, (size_t)n * sizeof *tokens);
    q->model_slot = l, q->n = n;
    s->play.seqs_changed = true;
    return RN_OK;
}

// Shares the pages if a sequence is free; otherwise the fork is created like any other sequence.
static rn_status seq_fork(void *user, int32_t seq, int32_t *out, rn_error *err) {
    rn_stream *s = user;
    *out = -1;
    if (!in_use(s, seq)) return fail(err, RN_E_ARG, "strategy: sequence %d does not exist", seq);
    const struct stream_seq *from = &s->play.seqs[seq];
    rn_status st = take_place(s, from->model_slot, from->n, out, err);
    if (st != RN_OK) return st;
    struct stream_seq *q = &s->play.seqs[*out];
    memcpy(q->tokens, from->tokens, (size_t)from->n * sizeof *q->tokens);
    q->model_slot = from->model_slot, q->n = from->n;
    if (from->seq >= 0) do
            st = lm_seq_fork(q->model_slot->lm, from->seq, &q->seq, NULL);
        while (st == RN_E_LIMIT && session_make_room(s->engine, q->model_slot, NULL));
    if (from->seq < 0 || st != RN_OK) q->seq = -1;
    if (q->seq < 0 || seq_missing(q) > 0) s->play.seqs_changed = true;
    return RN_OK;
}

static void seq_free(void *user, int32_t seq) {
    rn_stream *s = user;
    if (seq == STRATEGY_MAIN || !in_use(s, seq)) return;
    release(&s->play.seqs[seq]);
    s->play.seqs[seq].model_slot = NULL;
}

static int32_t seq_len(void *user, int32_t seq) {
    const rn_stream *s = user;
    return in_use(s, seq) ? s->play.seqs[seq].n : 0;
}

// True if this token may be declared at index `at`. In the main sequence only emitted tokens may.
static bool may_declare(const rn_stream *s, const struct stream_seq *q, int32_t at, int32_t token) {
    if (q != main_seq(s)) return at < seq_limit(s, q);
    return at < s->n_limit && at < s->n_tokens && s->tokens[at] == token;
}

static rn_status seq_keep(void *user, int32_t seq, const int32_t *path, int32_t n, rn_error *err) {
    rn_stream *s = user;
    if (!in_use(s, seq) || s->play.seqs[seq].seq < 0)
        return fail(err, RN_E_ARG, "strategy: keeps rows of sequence %d, which does not exist", seq);
    struct stream_seq *q = &s->play.seqs[seq];
    for (int32_t i = 0; i < n; i++)
        if (path[i] < 0 || path[i] >= q->n_nodes || !may_declare(s, q, q->n + i, q->nodes[path[i]].token))
            return fail(err, RN_E_INTERNAL, "strategy: scratch node %d is not token %d of sequence %d", path[i],
                        q->n + i, seq);
    const rn_status st = lm_keep(q->model_slot->lm, q->seq, path, n, err);
    if (st != RN_OK) return st;
    for (int32_t i = 0; i < n; i++) q->tokens[q->n + i] = q->nodes[path[i]].token;
    q->n += n;
    q->n_nodes = 0;
    return RN_OK;
}

static void seq_truncate(void *user, int32_t seq, int32_t n) {
    rn_stream *s = user;
    if (!in_use(s, seq) || n < 0) return;
    struct stream_seq *q = &s->play.seqs[seq];
    if (n < q->n) q->n = n;
    if (q->seq < 0) return;
    if (q->n_nodes) (void)lm_keep(q->model_slot->lm, q->seq, NULL, 0, NULL); // cannot fail: it only drops the tree
    q->n_nodes = 0;
    if (lm_seq_len(q->model_slot->lm, q->seq) <= q->n) return;
    const int32_t left = lm_truncate(q->model_slot->lm, q->seq, q->n);
    if (left == q->n) return;
    if (is_of_part(q))
        q->n = left;
    else
        s->play.seqs_changed = true;
}

rn_status stream_seqs_create(rn_stream *s, rn_error *err) {
    static const struct strategy_env_ops ops = {seq_open, seq_fork, seq_free, seq_len, seq_keep, seq_truncate};
    const rn_engine *e = s->engine;
    const struct strategy_needs *const needs = &s->play.strategy->needs;
    s->play.n_seqs = (needs->n_seqs ? needs->n_seqs : 1) + needs->n_helper_seqs;
    s->play.env = (struct strategy_env){
        .ops = &ops, .user = s, .slots = s->model_slot->slots, .n_slots = (int32_t)e->n_model_slots};
    if (s->play.n_seqs < 1 || s->play.n_seqs > STRATEGY_MAX_SEQS)
        return fail(err, RN_E_INTERNAL, "strategy: needs %d sequences, limit %d", s->play.n_seqs, STRATEGY_MAX_SEQS);
    if (!(s->play.seqs = mem_calloc((size_t)s->play.n_seqs, sizeof *s->play.seqs)))
        return fail(err, RN_E_NOMEM, "stream: out of memory for %d sequences", s->play.n_seqs);
    for (int32_t i = 0; i < s->play.n_seqs; i++) s->play.seqs[i].seq = -1;
    struct seq_node *nodes = NULL;
    if (s->play.strategy->has_scratch && !(nodes = mem_alloc((size_t)s->model_slot->n_scratch * sizeof *nodes)))
        return fail(err, RN_E_NOMEM, "stream: out of memory for %d scratch rows", s->model_slot->n_scratch);
    *main_seq(s) = (struct stream_seq){
        .model_slot = s->model_slot, .seq = -1, .n = s->n_prompt, .tokens = s->tokens, .nodes = nodes};
    return RN_OK;
}

void stream_seqs_destroy(rn_stream *s) {
    for (int32_t i = 0; s->play.seqs && i < s->play.n_seqs; i++) {
        if (i != STRATEGY_MAIN) mem_free(s->play.seqs[i].tokens);
        mem_free(s->play.seqs[i].nodes);
    }
    mem_free(s->play.seqs);
}

// ---- the rows of a step ---------------------------------------------------------------------------------------------

// Where a scratch row stands behind its sequence's last position, 1: directly. Rows before it in `rows` may be its parents.
static int32_t depth_of(const struct stream_seq *q, const struct lm_row *rows, size_t i) {
    int32_t depth = 1, parent = rows[i].parent;
    while (parent >= q->n_nodes) {
        size_t at = 0;
        for (int32_t n_before = parent - q->n_nodes;; at++)
            if (rows[at].seq == rows[i].seq && rows[at].parent != LM_APPEND && n_before-- == 0) break;
        parent = rows[at].parent;
        depth++;
    }
    return parent < 0 ? depth : depth + q->nodes[parent].depth;
}

// What the row has beside its token: coordinates, behind a picture whose model has them.
static void set_input(const rn_stream *s, const struct model_slot *l, const struct stream_seq *q, struct lm_row *rows,
                      size_t i) {
    if (s->pictures.n == 0 || !l->inputs || l != s->model_slot) return;
    const int32_t next = q->n + q->n_appended;
    const int32_t at = rows[i].parent == LM_APPEND ? next - 1 : next + depth_of(q, rows, i) - 1;
    struct lm_input *const in = &l->inputs[&rows[i] - l->rows];
    if (stream_row_input(s, q, at, in)) rows[i].input = in;
}

rn_status stream_place_rows(rn_stream *s, const struct model_slot *l, struct lm_row *rows, size_t n, rn_error *err) {
    for (int32_t i = 0; i < s->play.n_seqs; i++) s->play.seqs[i].n_appended = 0;
    for (size_t i = 0; i < n; i++) {
        struct lm_row *r = &rows[i];
        if (!in_use(s, r->seq) || s->play.seqs[r->seq].model_slot != l || s->play.seqs[r->seq].seq < 0 ||
            seq_missing(&s->play.seqs[r->seq]) > 0)
            return fail(err, RN_E_INTERNAL, "strategy: row %zu is of sequence %d, which is not one of this model", i,
                        r->seq);
        struct stream_seq *q = &s->play.seqs[r->seq];
        if (r->parent == LM_APPEND && !may_declare(s, q, q->n + q->n_appended++, r->token))
            return fail(err, RN_E_INTERNAL,
                        "strategy: row %zu appends token %d, which was not emitted, or is past the limit of %d", i,
                        r->token, s->n_limit);
        if (r->parent != LM_APPEND && !q->nodes && !(q->nodes = mem_alloc((size_t)l->n_scratch * sizeof *q->nodes)))
            return fail(err, RN_E_NOMEM, "strategy: out of memory for %d scratch rows", l->n_scratch);
        r->seq = q->seq;
        set_input(s, l, q, rows, i);
    }
    return RN_OK;
}

static struct stream_seq *find(const rn_stream *s, const struct model_slot *l, int32_t seq) {
    struct stream_seq *q = s->play.seqs;
    while (q->model_slot != l || q->seq != seq) q++;
    return q;
}

void stream_note_rows(const struct model_slot *l, const struct stream_rows *part) {
    const int32_t *const n_more = part->s->play.strategy->n_more_rows;
    for (size_t i = part->first; i < part->first + part->n; i++) {
        const struct lm_row *r = &l->rows[i];
        const bool is_guess = !n_more || i + (size_t)*n_more < part->first + part->n;
        if (lm_row_was_dropped(l->lm, i)) continue;
        struct stream_seq *q = find(part->s, l, r->seq);
        if (r->parent == LM_APPEND)
            q->tokens[q->n++] = r->token;
        else {
            const int32_t depth = r->parent == LM_ROOT ? 1 : q->nodes[r->parent].depth + 1;
            q->nodes[q->n_nodes++] = (struct seq_node){r->token, depth};
            if (q == main_seq(part->s) && is_guess && part->s->play.strategy->drafter)
                draft_counts_evaluated(part->s, depth);
            part->s->play.draft_counts.n_more_rows += !is_guess;
        }
    }
}
