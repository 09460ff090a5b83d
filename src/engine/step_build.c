// engine/step_build.c - the rows of a model slot's next step: decode rows first, then as many prefill rows as the step budget allows.
#include "engine/engine.h"

enum {
    MIXED_ROWS = 256, // prefill rows of a step while streams decode, without target_itl_ms
    MOST_SHARES =
        3 // prefill may take 3 times the decode time if many wait, so a step takes at most 4 times as long as without
};

// What the streams of all model slots are about to do, for the prefill budgets.
void round_look(rn_engine *e, struct round *r) {
    for (size_t i = 0; i < e->n_model_slots; i++) {
        const struct model_slot *l = &e->model_slots[i];
        size_t n_decode = 0, n_prefill = 0;
        for (const rn_stream *s = e->streams; s; s = s->next) {
            if (s->model_slot != l || s->turn.parked || atomic_load(&s->paused)) continue;
            n_decode += s->state == STREAM_DECODE;
            n_prefill += s->state == STREAM_PREFILL;
        }
        r->n_decode += n_decode;
        r->n_prefill += n_prefill;
        r->decode_ns += step_time_ns(&l->step_time, n_decode);
        r->n_prompting += n_prefill > 0;
    }
}

// The number of prefill rows for a step that also decodes, in this slot or another: all streams wait for the step.
static size_t prompt_rows(const rn_engine *e, const struct model_slot *l, const struct round *r) {
    if (r->n_decode == 0) return (size_t)l->lm->n_batch;
    if (e->opt.target_itl_ms == 0) return MIXED_ROWS;
    // Prefill gets at least half of the time, and more if more streams wait for their first token than are decoding.
    const double waiting = (double)r->n_prefill / (double)r->n_decode, shares = waiting < 1             ? 1
                                                                                : waiting > MOST_SHARES ? MOST_SHARES
                                                                                                        : waiting;
    const double target = 1e6 * e->opt.target_itl_ms - r->decode_ns, share = shares * r->decode_ns;
    const double ns = target > share ? target : share;
    return step_time_prefill_rows(&l->step_time, ns / (double)(r->n_prompting ? r->n_prompting : 1));
}

// True if the stream may have rows in the next step. Otherwise lowers r->wait_until to the time at which a rate-limited one may.
static bool may_run(rn_stream *s, struct round *r) {
    const bool was_parked = s->turn.parked;
    s->turn.parked = false;
    if (s->state == STREAM_QUEUED || atomic_load(&s->paused)) return false;
    if (s->state == STREAM_DECODE && s->play.strategy->ops->waits && s->play.strategy->ops->waits(s->play.strategy))
        return false;
    if (s->state == STREAM_DECODE && s->time.next_token > r->now) {
        round_wait_until(r, s->time.next_token);
        return false;
    }
    if (outbox_has_room(&s->out)) return true;
    if (s->overflow == RN_OVERFLOW_DROP_OLDEST) {
        outbox_drop_oldest(&s->out);
        return true;
    }
    if (s->overflow == RN_OVERFLOW_CANCEL) {
        s->end.cancel_why = "slow reader";
        atomic_store(&s->cancelled, true);
        s->engine->work = true; // the next round ends it, even if nothing else runs
        return false;
    }
    if (outbox_open_tokens(&s->out))
        outbox_close_chunk(&s->out); // a long stream_interval must not keep text from its reader
    s->turn.parked = true;
    // From now on it counts as idle: a preempted stream may take its keys and values.
    if (!was_parked && s->engine->n_queued > 0) s->engine->work = true;
    return false;
}

// ---- decode rows ----------------------------------------------------------------------------------------------------

// A stream left out of this many steps is raised by one priority class.
static int64_t class_of(const rn_stream *s, int64_t n_steps) {
    return s->turn.priority + s->turn.n_left_out / n_steps;
}

static void leave_out(rn_stream *s) {
    s->turn.n_left_out++;
    s->turn.left_out_at = s->model_slot->stats.n_steps + 1;
}

// Order if a step cannot hold all streams: by class; then clients with fewer running streams; then the one left out longest ago, so
// that a client's streams take turns.
static bool decodes_before(const rn_stream *a, const rn_stream *b) {
    const int64_t class_a = class_of(a, 1), class_b = class_of(b, 1);
    if (class_a != class_b) return class_a > class_b;
    if (a->turn.n_client_running != b->turn.n_client_running)
        return a->turn.n_client_running < b->turn.n_client_running;
    if (a->turn.left_out_at != b->turn.left_out_at) return a->turn.left_out_at > b->turn.left_out_at;
    return a->time.begin < b->time.begin;
}

// The model slot whose rows the strategy needs next; NULL: it names an unknown one.
static struct model_slot *next_model_slot(const rn_stream *s) {
    const struct strategy_ops *ops = s->play.strategy->ops;
    if (!ops->next_slot) return s->model_slot;
    const int32_t n_rounds = STRATEGY_HELPER_ROUNDS - s->play.n_helper_rounds,
                  slot = ops->next_slot(s->play.strategy, n_rounds);
    return n_rounds == 0 && slot != 0 ? NULL : stream_slot(s, slot);
}

// The share of this stream if n_after further streams get as much; at least what it needs.
static size_t fair(size_t left, size_t n_after, size_t least) {
    const size_t share = left / (n_after + 1);
    return share > least ? share : least;
}

static size_t free_of(size_t n, size_t n_used, const struct model_slot *l) {
    return n > n_used + l->n_kept_free ? n - n_used - l->n_kept_free : 0;
}

static rn_status add_decode_rows(struct model_slot *l, rn_stream *s, size_t n_after, rn_error *err) {
    const size_t left = free_of((size_t)l->lm->n_batch, l->n_rows, l),
                 left_logits = free_of((size_t)l->lm->n_logits, l->n_logits, l);
    if (!next_model_slot(s))
        return fail(err, RN_E_INTERNAL, "strategy: asks for an unknown model slot, or for more than %d helper steps",
                    STRATEGY_HELPER_ROUNDS);
    const size_t least = s->play.strategy->needs.n_results > 1 ? (size_t)s->play.strategy->needs.n_results : 1;
    if (left < least || left_logits < least) {
        l->crowded = true;
        leave_out(s);
        return RN_OK;
    }
    s->turn.n_left_out = 0;
    struct row_list list = {.rows = l->rows + l->n_rows,
                            .cap = fair(left, n_after, least),
                            .n_logits = fair(left_logits, n_after, least),
                            .n_rows_beside = l->n_rows + n_after,
                            .n_streams_beside = l->n_parts + n_after,
                            .n_tokens_beside = l->n_expected + (double)n_after,
                            .n_expected = 1,
                            .n_scratch = l->n_scratch,
                            .n_tokens = outbox_room(&s->out, stream_tokens_left(s)),
                            .n_rounds = STRATEGY_HELPER_ROUNDS - s->play.n_helper_rounds};
    rn_status st = s->play.strategy->ops->propose(s->play.strategy, &list, err);
    if (st == RN_OK) st = stream_place_rows(s, l, list.rows, list.n, err);
    if (st != RN_OK) return st;
    l->parts[l->n_parts++] = (struct stream_rows){s, l->n_rows, list.n, NULL, true, RESULTS_OF_PROPOSAL};
    for (size_t i = 0; i < list.n; i++) l->n_logits += (list.rows[i].want & LM_WANT_LOGITS) != 0;
    l->n_rows += list.n;
    l->n_expected += list.n_expected;
    return RN_OK;
}

// Selects the streams with rows in a step of this model slot.
typedef bool (*belongs_fn)(const rn_stream *s, const struct model_slot *l);
static bool decodes_here(const rn_stream *s, const struct model_slot *l) {
    if (s->model_slot != l || s->state != STREAM_DECODE) return false;
    const struct model_slot *next = next_model_slot(s);
    return next == l || !next;
}
static bool wants_help(const rn_stream *s, const struct model_slot *l) {
    return s->model_slot != l && s->state == STREAM_DECODE && next_model_slot(s) == l;
}
static bool fills_here(const rn_stream *s, const struct model_slot *l) {
    return s->state == STREAM_PREFILL && stream_filling(s, l);
}

// Fills l->order with the streams that belong here and may run. Insertion sort: they are mostly in order already.
static size_t gather(rn_engine *e, struct model_slot *l, belongs_fn belongs, struct round *r,
                     bool (*before)(const rn_stream *, const rn_stream *)) {
    size_t n = 0;
    for (rn_stream *s = e->streams; s; s = s->next) {
        if (!belongs(s, l) || !may_run(s, r)) continue;
        size_t at = n++;
        for (; before && at > 0 && before(s, l->order[at - 1]); at--) l->order[at] = l->order[at - 1];
        l->order[at] = s;
    }
    return n;
}

static rn_status add_decoding(rn_engine *e, struct model_slot *l, belongs_fn belongs, struct round *r,
                              rn_stream **culprit, rn_error *err) {
    const size_t n = gather(e, l, belongs, r, l->crowded ? decodes_before : NULL);
    rn_status st = RN_OK;
    l->crowded = false;
    for (size_t i = 0; i < n && st == RN_OK; i++) {
        *culprit = l->order[i];
        st = add_decode_rows(l, l->order[i], n - i - 1, err);
    }
    return st;
}

// ---- prefill rows ---------------------------------------------------------------------------------------------------

static bool prompts_before(const rn_stream *a, const rn_stream *b) {
    enum { RAISE_STEPS = 8 };
    const int64_t class_a = class_of(a, RAISE_STEPS), class_b = class_of(b, RAISE_STEPS);
    if (class_a != class_b) return class_a > class_b;
    if (a->turn.n_client_running != b->turn.n_client_running)
        return a->turn.n_client_running < b->turn.n_client_running;
    return a->time.begin < b->time.begin;
}

static size_t left_of(const struct model_slot *l, const rn_stream *s) {
    return (size_t)seq_missing(stream_filling(s, l));
}

// The results that the strategy reads of a row of the main sequence; none for rows it has seen or generated.
static uint32_t wants_of(const rn_stream *s, int32_t at, int32_t from) {
    const strategy *const of = s->play.strategy;
    const int32_t looked = s->n_prompt - of->n_prompt_looked;
    return from >= s->n_prompt || at >= s->n_prompt || (at < from && at < looked) ? 0 : of->ops->prompt_wants(of, at);
}

// Takes rows back that would cut a span.
static void end_before_span(struct model_slot *l, struct stream_rows *part) {
    int32_t first, end;
    if (!stream_cuts_span(part->s, part->fills, part->at + (int32_t)part->n, &first, &end)) return;
    for (; part->n > 0 && part->at + (int32_t)part->n > first; part->n--)
        l->n_logits -= (l->rows[--l->n_rows].want & LM_WANT_LOGITS) != 0;
    part->absorbs = false;
    for (size_t i = 0; i < part->n; i++)
        part->absorbs = part->absorbs || (l->rows[part->first + i].want & LM_WANT_RESULTS) != 0;
}

// Adds up to n rows of the sequence being filled, as far as there is room for their logits.
static void add_prompt_rows(struct model_slot *l, rn_stream *s, size_t n) {
    struct stream_seq *q = stream_filling(s, l);
    const bool is_main = q == &s->play.seqs[STRATEGY_MAIN];
    const int32_t done = q->n - seq_missing(q),
                  from = is_main ? s->play.strategy->ops->prompt_from(s->play.strategy) : q->n,
                  // a later identical prompt, or the next turn, is looked up to the row before its last
        kept = (is_main ? s->n_prompt : q->n) - 2;
    struct stream_rows part = {s, l->n_rows, 0, q, false, done};
    for (; part.n < n; part.n++) {
        const int32_t at = done + (int32_t)part.n;
        const uint32_t want = is_main ? wants_of(s, at, from) : 0;
        if (want & LM_WANT_LOGITS && l->n_logits == (size_t)l->lm->n_logits) break;
        l->n_logits += (want & LM_WANT_LOGITS) != 0;
        part.absorbs |= (want & LM_WANT_RESULTS) != 0;
        struct lm_input *const in = l->inputs ? &l->inputs[l->n_rows] : NULL;
        l->rows[l->n_rows++] = (struct lm_row){.seq = q->seq,
                                               .token = q->tokens[at],
                                               .parent = LM_APPEND,
                                               .want = want | (at == kept ? LM_WANT_STATE : 0),
                                               .input = in && stream_row_input(s, q, at, in) ? in : NULL};
    }
    end_before_span(l, &part);
    if (part.n == 0) {
        leave_out(s);
        return;
    }
    s->turn.n_left_out = 0;
    l->parts[l->n_parts++] = part;
}

// The stream of the highest class with the fewest rows left to evaluate; NULL: none has rows left.
static rn_stream *shortest(const struct model_slot *l, size_t n) {
    rn_stream *found = NULL;
    size_t least = 0;
    for (size_t i = 0; i < n; i++) {
        rn_stream *const s = l->order[i];
        const size_t left = left_of(l, s) - s->turn.n_share;
        if (left == 0 || (found && s->turn.priority < found->turn.priority)) continue;
        if (!found || s->turn.priority > found->turn.priority || left < least) found = s, least = left;
    }
    return found;
}

// Half of the rows go to the prompt whose turn it is, so each makes progress. Half go to those with the fewest rows left: a short
// prompt after a long one is done soon, and prompts of equal length finish one by one rather than all at the end.
static void share_rows(const struct model_slot *l, size_t n, size_t n_rows) {
    for (size_t i = 0; i < n; i++) l->order[i]->turn.n_share = 0;
    const size_t half = (n_rows + 1) / 2, left = left_of(l, l->order[0]);
    l->order[0]->turn.n_share = left < half ? left : half;
    n_rows -= l->order[0]->turn.n_share;
    for (rn_stream *s; n_rows > 0 && (s = shortest(l, n));) {
        const size_t more = left_of(l, s) - s->turn.n_share;
        const size_t take = more < n_rows ? more : n_rows;
        s->turn.n_share += take;
        n_rows -= take;
    }
}

// Texts that are seen as a whole are evaluated as a whole, in turn, as many as there is room for.
static void share_rows_of_texts(const struct model_slot *l, size_t n, size_t n_rows) {
    for (size_t i = 0; i < n; i++) {
        const size_t left = left_of(l, l->order[i]);
        l->order[i]->turn.n_share = left <= n_rows ? left : 0;
        n_rows -= l->order[i]->turn.n_share;
    }
}

// Rows that see each other are all in one step: n rows of the stream end before them, or behind them where `room` holds them.
static size_t whole_spans(const struct model_slot *l, const rn_stream *s, size_t n, size_t room) {
    const struct stream_seq *const q = stream_filling(s, l);
    const int32_t done = q->n - seq_missing(q);
    int32_t first, end;
    if (n > room) n = room;
    if (n == 0 || !stream_cuts_span(s, q, done + (int32_t)n, &first, &end)) return n;
    if (first > done) return (size_t)(first - done);
    return (size_t)(end - done) <= room ? (size_t)(end - done) : 0;
}

// The rows that the prompt whose turn it is has next and that see each other, if they were left out before; decoding could take all room always.
static size_t waiting_span(const rn_engine *e, const struct model_slot *l) {
    const rn_stream *next = NULL;
    int32_t first, end;
    if (model_slot_span(l) == 0) return 0;
    for (const rn_stream *s = e->streams; s; s = s->next)
        if (fills_here(s, l) && !s->turn.parked && !atomic_load(&s->paused) && (!next || prompts_before(s, next)))
            next = s;
    if (!next || next->turn.n_left_out == 0) return 0;
    const struct stream_seq *const q = stream_filling(next, l);
    const int32_t done = q->n - seq_missing(q);
    return stream_cuts_span(next, q, done + 1, &first, &end) ? (size_t)(end - done) : 0;
}

static void add_prompts(rn_engine *e, struct model_slot *l, struct round *r) {
    const size_t n = gather(e, l, fills_here, r, prompts_before), budget = prompt_rows(e, l, r);
    size_t room = (size_t)l->lm->n_batch - l->n_rows;
    if (n == 0 || room == 0) return;
    if (model_slot_sees_whole_text(l))
        share_rows_of_texts(l, n, room);
    else
        share_rows(l, n, budget < room ? budget : room);
    for (size_t i = 0; i < n; i++) {
        const size_t share = whole_spans(l, l->order[i], l->order[i]->turn.n_share, room);
        add_prompt_rows(l, l->order[i], share);
        room -= share;
    }
}

rn_status step_build(rn_engine *e, struct model_slot *l, struct round *r, rn_stream **culprit, rn_error *err) {
    l->n_rows = l->n_parts = l->n_logits = 0;
    l->n_expected = 0;
    l->n_kept_free = waiting_span(e, l);
    const rn_status st = add_decoding(e, l, decodes_here, r, culprit, err);
    l->n_decode_rows = l->n_rows;
    if (st == RN_OK) add_prompts(e, l, r);
    return st;
}

rn_status step_build_helpers(rn_engine *e, struct model_slot *l, struct round *r, rn_stream **culprit,
                             rn_error *err) {
    l->n_rows = l->n_parts = l->n_logits = 0;
    l->n_expected = 0;
    l->n_kept_free = 0;
    const rn_status st = add_decoding(e, l, wants_help, r, culprit, err);
    l->n_decode_rows = l->n_rows;
    return st;
}
