// decoding/draft/drafts.c - see drafts.h.
#include "decoding/draft/drafts.h"
#include "base/mem.h"
#include "decoding/draft/draft_account.h"
#include <math.h>
#include <string.h>

enum {
    NOBODY = -1,
    MOST_DOUBTFUL = 16 // steps with guesses in a row where it is not sure what one without them takes
};
// Of the time of steps without a draft, so much is spent on looking whether drafts pay again.
static const double probe_share = 0.01;

struct drafts {
    drafter **of;   // [n_of] in order of preference
    int32_t *kinds; // [n_of] their numbers in drafter_kinds
    int32_t n_of;
    int32_t guesser; // the number of the one that made `proposed`
    // [n_of] what each guessed last, evaluated or not: what follows the first `at` tokens of the text.
    struct guess {
        int32_t at;
        struct draft draft;
        // Of this stream's share of the steps since its last draft was evaluated; below 0 where that took more than it was taken for.
        double idle_ns;
        double waited_ns; // idle_ns before that draft, at least 0
    } *guesses;
    const int32_t *text; // lent
    const struct strategy_env *env;
    int32_t least, most, n_vocab;
    int32_t n_each;   // rows that a token of the stream has in a step
    int32_t n;        // tokens of the text that the next draft follows
    int32_t chosen;   // whose draft it is; NOBODY
    bool asks_model;  // the chosen one has rows of its own to evaluate before it guesses
    int32_t n_rounds; // steps of drafters' models since the last one of the main model
    struct helper_step {
        int32_t slot;
        size_t n_rows; // of this stream
    } rounds[STRATEGY_HELPER_ROUNDS];
    struct draft proposed;
    struct draft_rows more; // beside it
    // In the last step of the main model: rows beside that of the last certain token, and other streams.
    size_t n_rows_beside, n_streams_beside;
    double n_tokens_beside;
    struct draft_step step; // what the next one may take
    struct draft_account account;
    double lose_ns;    // that it may take longer
    bool has_helped;   // some model has had rows
    int32_t n_guessed; // steps since the last one without guesses
};

rn_status drafts_create(const struct strategy_spec *spec, struct drafts **out, rn_error *err) {
    struct drafts *d = mem_calloc(1, sizeof *d);
    *out = NULL;
    if (!d) return fail(err, RN_E_NOMEM, "drafts: out of memory");
    *d = (struct drafts){.text = spec->text,
                         .n_vocab = spec->n_vocab,
                         .n_each = spec->guidance ? 2 : 1,
                         .least = spec->draft_least,
                         .most = spec->draft_most,
                         .chosen = NOBODY};
    d->n_rows_beside = (size_t)d->n_each - 1;
    d->of = mem_calloc((size_t)spec->n_drafters, sizeof(drafter *));
    d->kinds = mem_calloc((size_t)spec->n_drafters, sizeof *d->kinds);
    d->guesses = mem_calloc((size_t)spec->n_drafters, sizeof *d->guesses);
    rn_status st = d->of && d->kinds && d->guesses ? RN_OK : fail(err, RN_E_NOMEM, "drafts: out of memory");
    for (int32_t i = 0; i < spec->n_drafters && st == RN_OK; i++) {
        const struct drafter_choice *c = &spec->drafters[i];
        const struct drafter_spec s = {.text = spec->text,
                                       .n_text_most = spec->n_text_most,
                                       .n_prompt = spec->n_prompt,
                                       .n_before = spec->n_before,
                                       .n_vocab = spec->n_vocab,
                                       .rowmath = spec->rowmath,
                                       .slot = c->slot,
                                       .n_slots = c->n_slots,
                                       .sides = c->sides[0].tok ? c->sides : NULL,
                                       .lookahead = c->lookahead,
                                       .outputs = spec->outputs,
                                       .ngrams = spec->ngrams,
                                       .least = spec->draft_least,
                                       .draws = &spec->draws,
                                       .min_p = spec->draft_min_p};
        d->kinds[i] = drafter_number(c->kind);
        if ((st = c->kind->create(&s, &d->of[i], err)) == RN_OK) d->n_of++;
    }
    if (st == RN_OK)
        *out = d;
    else
        drafts_destroy(d);
    return st;
}

void drafts_destroy(struct drafts *d) {
    if (!d) return;
    for (int32_t i = 0; i < d->n_of; i++) d->of[i]->ops->destroy(d->of[i]);
    mem_free(d->of);
    mem_free(d->kinds);
    mem_free(d->guesses);
    mem_free(d);
}

size_t drafts_bytes(void) {
    enum { ALLOCATIONS = 1 << 9 }; // a drafter's own struct, and the rounding of the allocator
    return sizeof(struct drafts) + sizeof(struct guess) + sizeof(drafter *) + sizeof(int32_t) + sizeof(drafter) +
           ALLOCATIONS;
}

int32_t drafts_n_seqs(const struct drafts *d) {
    int32_t n = 0;
    for (int32_t i = 0; i < d->n_of; i++) n += d->of[i]->n_seqs;
    return n;
}

uint32_t drafts_wants(const struct drafts *d) {
    uint32_t wants = 0;
    for (int32_t i = 0; i < d->n_of; i++) wants |= d->of[i]->wants;
    return wants;
}

int32_t drafts_n_prompt_rows(const struct drafts *d) {
    int32_t n = 0;
    for (int32_t i = 0; i < d->n_of; i++) n = d->of[i]->n_prompt_rows > n ? d->of[i]->n_prompt_rows : n;
    return n;
}

rn_status drafts_begin(struct drafts *d, const struct strategy_env *env, rn_error *err) {
    rn_status st = RN_OK;
    d->env = env;
    for (int32_t i = 0; i < d->n_of && st == RN_OK; i++)
        if (d->of[i]->ops->begin) st = d->of[i]->ops->begin(d->of[i], env, err);
    return st;
}

void drafts_observe(struct drafts *d, const struct certain_rows *rows) {
    for (int32_t i = 0; i < d->n_of; i++)
        if (d->of[i]->ops->observe) d->of[i]->ops->observe(d->of[i], rows);
}

// ---- who guesses ----------------------------------------------------------------------------------------------------

// Follows the text from where a drafter guessed, as far as its guesses were right.
static void learn(struct drafts *d, int32_t k) {
    struct guess *const g = &d->guesses[k];
    int32_t node = DRAFT_ROOT;
    for (int32_t at = g->at; at < d->n && node != DRAFT_NONE; at++) {
        int32_t next = DRAFT_NONE, n_children = 0;
        for (int32_t i = node + 1; i < g->draft.n; i++) {
            if (g->draft.parents[i] != node) continue;
            const bool was_right = g->draft.tokens[i] == d->text[at];
            draft_odds_learn(&d->of[k]->odds, g->draft.classes[i], was_right);
            if (was_right) next = i;
            n_children++;
        }
        if (n_children > 0) draft_odds_learn(&d->of[k]->depths, draft_class_of_depth(at - g->at), next != DRAFT_NONE);
        node = next;
    }
    g->draft.n = 0;
}

// What a drafter's model took of this stream's time in a step with rows of so many streams.
static double round_ns(const struct drafts *d, int32_t i, size_t n_streams) {
    const struct helper_step *const h = &d->rounds[i];
    return step_time_ns(d->env->slots[h->slot].time, h->n_rows * n_streams) / (double)n_streams;
}

// What the last draft took beyond its share is waited for before the next trial, so that trials keep to theirs even where their time was not known.
static void settle_time(struct drafts *d) {
    const size_t n_streams = d->n_streams_beside + 1;
    double spent_ns = d->step.ns[d->proposed.n] - d->step.ns[0];
    if (d->chosen == NOBODY || d->n_rounds == 0) return;
    for (int32_t i = 0; i < d->n_rounds; i++) spent_ns += round_ns(d, i, n_streams);
    struct guess *const g = &d->guesses[d->chosen];
    const double left_ns = g->waited_ns - spent_ns / probe_share;
    if (left_ns < 0) g->idle_ns += left_ns;
}

static void look_at_step(struct drafts *d) {
    draft_step_init(&d->step, d->env->slots[0].time, (int32_t)d->n_rows_beside + 1, d->n_each,
                    (int32_t)d->n_streams_beside + 1, d->n_tokens_beside + 1);
    if (d->step.most > d->most) d->step.most = d->most;
}

// This stream's part of a step without guesses.
static double plain_ns(const struct drafts *d) { return d->step.ns[0] / d->step.n_streams; }

// What guesses are charged with of the steps of drafters' models: not the first one of all, in which the prompt is read, unless it is that of layers of the
// main model, which read no more of it than may be lost.
static double helped_ns(const struct drafts *d) {
    double ns = 0;
    for (int32_t i = 0; i < d->n_rounds; i++)
        if (i > 0 || d->has_helped || d->env->slots[d->rounds[i].slot].part == STRATEGY_PART_LAYERS)
            ns += round_ns(d, i, (size_t)d->step.n_streams);
    return ns;
}

// Settles the account of the step that was evaluated.
static void settle_account(struct drafts *d, int32_t n) {
    if (d->proposed.n + d->more.n + d->n_rounds > 0) {
        int32_t n_right = 0, node = DRAFT_ROOT;
        for (int32_t at = d->n; at < n && node != DRAFT_NONE; at++)
            if ((node = draft_child(&d->proposed, node, d->text[at])) != DRAFT_NONE) n_right++;
        look_at_step(d);
        const struct draft_step *const s = &d->step;
        draft_account_guesses(&d->account, n_right * s->ns[0] / s->n_tokens,
                              s->most_ns[d->proposed.n + d->more.n] - s->ns[0] + helped_ns(d));
        d->has_helped |= d->n_rounds > 0;
        d->n_guessed++;
    } else {
        d->n_guessed = 0;
    }
    if (d->step.n_streams > 0) draft_account_step(&d->account, plain_ns(d));
}

// So many of the guesses that their rows take no longer than may be lost.
static int32_t affordable(const struct drafts *d, int32_t k, int32_t length, double lose_ns) {
    const struct draft_step *const s = &d->step;
    double more[DRAFT_MOST];
    draft_expect(&d->of[k]->odds, &d->guesses[k].draft, more);
    for (; length > 0; length--) {
        const double hope = draft_account_hope(more[length - 1] * s->ns[0] / s->n_tokens, plain_ns(d));
        if (s->most_ns[length + d->more.n] - s->ns[0] <= lose_ns + hope) break;
    }
    return length;
}

// Has the drafter guess; how many of its guesses pay or are tried, beside the rows that it wants to learn from.
static int32_t guess(struct drafts *d, int32_t k, const struct draft_ask *ask) {
    struct guess *const g = &d->guesses[k];
    const struct drafter_ops *const ops = d->of[k]->ops;
    g->at = d->n;
    d->more.n = 0;
    ops->draft(d->of[k], d->n, &g->draft);
    if (ops->more_rows) {
        look_at_step(d);
        ops->more_rows(d->of[k], d->n, ask, &d->more);
        draft_cut(&g->draft, DRAFT_MOST - d->more.n, DRAFT_MOST);
    }
    int32_t n_valid = 0; // a drafter's model may have more tokens
    while (n_valid < g->draft.n && g->draft.tokens[n_valid] >= 0 && g->draft.tokens[n_valid] < d->n_vocab) n_valid++;
    g->draft.n = n_valid;
    if (g->draft.n == 0) return 0;
    if (draft_is_drawn(&g->draft)) return g->draft.n < d->most ? g->draft.n : d->most;
    if (!draft_could_pay(&d->of[k]->odds, &g->draft, d->n_tokens_beside + 1)) return 0;
    look_at_step(d);
    const int32_t length =
        affordable(d, k, draft_length(&d->of[k]->odds, &g->draft, &d->step, d->step.ns + d->more.n), d->lose_ns);
    if (length > 0 || !ask || ops->more_rows) return length;
    // Guesses that would pay if rows were cheap, where it costs little to see whether they are.
    return affordable(d, k, draft_length(&d->of[k]->odds, &g->draft, &d->step, d->step.cheap_ns),
                      fmin(ask->probe_ns, d->lose_ns));
}

static void take(struct drafts *d, int32_t k, int32_t length) {
    d->chosen = k;
    d->guesser = d->kinds[k];
    if (!d->of[k]->ops->more_rows || d->more.n > 0) {
        struct guess *const g = &d->guesses[k];
        g->waited_ns = g->idle_ns > 0 ? g->idle_ns : 0;
        g->idle_ns = 0;
    }
    d->proposed = d->guesses[k].draft;
    draft_cut(&d->proposed, length > d->least ? length : d->least, DRAFT_MOST);
}

rn_status drafts_choose(struct drafts *d, int32_t n, rn_error *err) {
    int32_t able = NOBODY; // the first one with a guess, which is made where there shall be some in any case
    rn_status st = RN_OK;
    settle_time(d);
    settle_account(d, n);
    d->n = n;
    d->chosen = NOBODY;
    d->asks_model = false;
    d->n_rounds = 0;
    d->proposed.n = 0;
    d->more.n = 0;
    for (int32_t i = 0; i < d->n_of; i++) learn(d, i);
    for (int32_t i = 0; i < d->n_of && st == RN_OK; i++) {
        drafter *const of = d->of[i];
        struct guess *const g = &d->guesses[i];
        bool pays = false;
        if (of->ops->plan || d->step.n_streams == 0) look_at_step(d);
        const bool is_blind = d->step.is_doubtful && d->n_guessed >= MOST_DOUBTFUL;
        d->lose_ns = is_blind ? -INFINITY : draft_account_left(&d->account, plain_ns(d));
        const struct draft_ask ask = {d->least, d->most, &d->step, g->idle_ns * probe_share, d->lose_ns};
        g->idle_ns += plain_ns(d);
        if (of->ops->plan && (st = of->ops->plan(of, n, &ask, &pays, err)) == RN_OK && pays) {
            d->chosen = i, d->asks_model = true;
            return RN_OK;
        }
        if (of->ops->plan) continue;
        const int32_t length = guess(d, i, &ask);
        if (length > 0 || d->more.n > 0) {
            take(d, i, length);
            return RN_OK;
        }
        if (able == NOBODY && g->draft.n > 0) able = i;
    }
    if (st == RN_OK && able != NOBODY && d->least > 0) take(d, able, 0);
    return st;
}

// ---- rows of a drafter's model --------------------------------------------------------------------------------------

int32_t drafts_slot(const struct drafts *d) {
    if (!d->asks_model || d->n_rounds == STRATEGY_HELPER_ROUNDS) return 0;
    drafter *const of = d->of[d->chosen];
    return of->ops->wants_rows(of) ? of->slot : 0;
}

rn_status drafts_propose(struct drafts *d, struct row_list *rows, rn_error *err) {
    drafter *const of = d->of[d->chosen];
    return of->ops->propose(of, rows, err);
}

void drafts_read(struct drafts *d, const struct row_results *r) {
    drafter *const of = d->of[d->chosen];
    if (of->ops->read) of->ops->read(of, r);
}

rn_status drafts_absorb(struct drafts *d, const struct row_results *r, rn_error *err) {
    drafter *const of = d->of[d->chosen];
    if (d->n_rounds < STRATEGY_HELPER_ROUNDS) d->rounds[d->n_rounds++] = (struct helper_step){of->slot, r->n};
    const rn_status st = of->ops->absorb(of, r, err);
    return st == RN_OK && of->ops->finish && drafts_slot(d) == 0 ? of->ops->finish(of, err) : st;
}

// ---- rows of the main model -----------------------------------------------------------------------------------------

static int32_t least_of(size_t a, size_t b, size_t c) {
    const size_t ab = a < b ? a : b;
    return (int32_t)(ab < c ? ab : c);
}

// Rows to learn from, if there is room for all of them.
static void add_more_rows(struct drafts *d, struct row_list *rows) {
    size_t n_logits = (size_t)(d->n_each * (1 + d->proposed.n));
    for (int32_t i = 0; i < d->more.n; i++) n_logits += d->more.has_logits[i];
    if (rows->n + (size_t)d->more.n > rows->cap || n_logits > rows->n_logits ||
        d->proposed.n + d->more.n > rows->n_scratch || rows->n_tokens == 1)
        d->more.n = 0;
    for (int32_t i = 0; i < d->more.n; i++) {
        const int32_t parent = d->more.parents[i];
        rows->rows[rows->n++] = (struct lm_row){.seq = STRATEGY_MAIN,
                                                .token = d->more.tokens[i],
                                                .parent = parent == DRAFT_ROOT ? LM_ROOT : d->proposed.n + parent,
                                                .want = LM_OPTIONAL | (d->more.has_logits[i] ? LM_WANT_LOGITS : 0)};
    }
}

void drafts_add_rows(struct drafts *d, struct row_list *rows, int32_t negative) {
    const size_t each = (size_t)d->n_each;
    const int32_t room =
        least_of((rows->cap - rows->n) / each, (rows->n_logits - each) / each, (size_t)rows->n_scratch);
    d->n_rows_beside = rows->n_rows_beside + rows->n - 1, d->n_streams_beside = rows->n_streams_beside;
    d->n_tokens_beside = rows->n_tokens_beside;
    if (d->asks_model) {
        take(d, d->chosen, guess(d, d->chosen, NULL));
        d->asks_model = false;
    }
    draft_cut(&d->proposed, room < d->most ? room : d->most, rows->n_tokens - 1);
    if (d->proposed.n > 0) {
        double more[DRAFT_MOST];
        draft_expect(&d->of[d->chosen]->odds, &d->proposed, more);
        rows->n_expected += more[d->proposed.n - 1];
    }
    for (int32_t i = 0; i < d->proposed.n; i++) {
        struct lm_row row = {.seq = negative,
                             .token = d->proposed.tokens[i],
                             .parent = d->proposed.parents[i] == DRAFT_ROOT ? LM_ROOT : d->proposed.parents[i],
                             .want = LM_WANT_LOGITS | LM_OPTIONAL};
        if (each > 1) rows->rows[rows->n++] = row;
        row.seq = STRATEGY_MAIN, row.want |= drafts_wants(d);
        rows->rows[rows->n++] = row;
    }
    add_more_rows(d, rows);
}

const struct draft_rows *drafts_more_rows(const struct drafts *d) { return &d->more; }

void drafts_read_more(struct drafts *d, const struct row_results *r) {
    drafter *const of = d->more.n > 0 ? d->of[d->chosen] : NULL;
    if (of && !results_dropped(r, r->n - 1)) of->ops->read_more(of, r, r->n - (size_t)d->more.n);
}

const int32_t *drafts_guesser(const struct drafts *d) { return &d->guesser; }

const struct draft *drafts_proposed(const struct drafts *d) { return &d->proposed; }

void drafts_cut(struct drafts *d, int32_t n) {
    for (int32_t i = 0; i < d->n_of; i++) {
        d->of[i]->ops->cut(d->of[i], n);
        d->guesses[i].draft.n = 0;
    }
}

void drafts_suspend(struct drafts *d) {
    for (int32_t i = 0; i < d->n_of; i++)
        if (d->of[i]->ops->suspend) d->of[i]->ops->suspend(d->of[i]);
}
