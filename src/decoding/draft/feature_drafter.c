// decoding/draft/feature_drafter.c - see feature_drafter.h.
//
// The head's sequence consists of pairs: what the main model says after token t (its feature), and token t + 1. The row of a pair gives the
// logits of token t + 2, and a feature of token t + 1 as the head expects it, with which the pairs of guesses are made: scratch nodes, which are dropped
// after each draft. So of a step the pairs of the tokens that came are appended, the last of which guesses what follows; then the head looks
// behind the guesses that are reached most often, some of them in a step, as long as that pays (guess_pool.h).
//
// Features are of the prompt's last rows, as far as they were evaluated, and of all tokens behind them. The sequence may begin anywhere in the text, and does
// so again where features were not kept. EAGLE-3's features are three hidden states, of which a matrix, a part of its own, makes one.
#include "decoding/draft/feature_drafter.h"
#include "base/mem.h"
#include "decoding/draft/draft_pay.h"
#include "decoding/draft/draft_top.h"
#include "decoding/draft/feature_ring.h"
#include "decoding/draft/guess_pool.h"
#include <string.h>

enum {
    MOST_WIDE = 8,     // rows of a level
    MOST_ROWS = 48,    // of all levels together
    FORCED_LEVELS = 5, // where guesses are made whether they pay or not
    NO_SLOT = 0
};
// Guesses that the head holds less probable are left out.
static const float least_prob = 0.01F;
static const float levels_weight = 0.125F; // of the last draft in the mean number of levels
_Static_assert(2 * DRAFT_TOP_CLASSES <= DRAFT_CLASSES, "classes of the first guess, and of later ones");

enum doing { TURNS_TAPS, READS_PAIRS, LOOKS_BEHIND };

struct feature_drafter {
    drafter base;
    const struct strategy_env *env;
    const struct rowmath *rowmath;
    const int32_t *text; // lent
    int32_t n_slots;
    int32_t layer, taps;         // slots of the layer, and of the matrix that makes a feature of taps; NO_SLOT
    int32_t layer_seq, taps_seq; // on them
    int32_t n_embd;
    struct feature_ring features; // not read yet
    int32_t turned;               // EAGLE-3: the features before this position are made of their taps
    int32_t n;                    // tokens of the text that the draft follows
    int32_t least, most;          // as asked
    struct draft_step step;
    struct draft_pay pay;
    float mean_levels;
    // The tree, and the rows behind which it grows.
    struct guess_pool pool;
    enum doing doing;
    int32_t beams[MOST_WIDE], n_beams;
    float *hidden; // [MOST_ROWS][n_embd] that the rows of pairs gave; place 0: of the last certain token's
    int32_t n_hidden, n_nodes, n_levels; // n_nodes: scratch nodes of the layer's sequence; that of place i is i - 1
    double spent_ns;                     // this stream's share of the steps of this draft
    bool is_over;
    struct lm_input inputs[FEATURES_MOST];
    struct draft_top tops[MOST_WIDE];
    int32_t *scratch;
};

// ---- begin and end --------------------------------------------------------------------------------------------------

static rn_status open_slots(struct feature_drafter *d, rn_error *err) {
    const struct strategy_env *const env = d->env;
    rn_status st = RN_OK;
    for (int32_t i = d->base.slot; i < d->base.slot + d->n_slots; i++) {
        const struct strategy_slot *const slot = &env->slots[i];
        if (slot->part == STRATEGY_PART_EAGLE3_TAPS)
            d->taps = i;
        else if (d->layer == NO_SLOT)
            d->layer = i; // further next-token layers are not asked
    }
    st = env->ops->seq_open(env->user, d->layer, NULL, 0, &d->layer_seq, err);
    if (st == RN_OK && d->taps != NO_SLOT) st = env->ops->seq_open(env->user, d->taps, NULL, 0, &d->taps_seq, err);
    return st;
}

static rn_status begin(drafter *base, const struct strategy_env *env, rn_error *err) {
    struct feature_drafter *d = (struct feature_drafter *)base;
    d->env = env;
    d->n_embd = env->slots[0].n_embd;
    const rn_status st = open_slots(d, err);
    if (st != RN_OK) return st;
    base->wants = d->taps == NO_SLOT ? LM_WANT_HIDDEN : LM_WANT_TAPS;
    d->hidden = mem_alloc(MOST_ROWS * (size_t)d->n_embd * sizeof *d->hidden);
    d->scratch = mem_alloc(draft_top_scratch(env->slots[d->layer].n_vocab) * sizeof *d->scratch);
    if (!feature_ring_init(&d->features, d->taps == NO_SLOT ? d->n_embd : 3 * d->n_embd) || !d->hidden || !d->scratch)
        return fail(err, RN_E_NOMEM, "draft heads: out of memory for features of %d numbers", d->n_embd);
    return RN_OK;
}

static void destroy(drafter *base) {
    struct feature_drafter *d = (struct feature_drafter *)base;
    feature_ring_free(&d->features);
    mem_free(d->hidden);
    mem_free(d->scratch);
    mem_free(d);
}

// ---- features -------------------------------------------------------------------------------------------------------

static bool has_results(const struct feature_drafter *d, const struct row_results *r, size_t row) {
    return d->taps == NO_SLOT ? lm_hidden(r->model, row) != NULL : lm_tap(r->model, row, 0) != NULL;
}

static void observe(drafter *base, const struct certain_rows *rows) {
    struct feature_drafter *d = (struct feature_drafter *)base;
    const size_t n_bytes = (size_t)d->n_embd * sizeof(float);
    for (int32_t i = 0; i < rows->n; i++) {
        const size_t row = rows->results->first + certain_row(rows, i);
        if (!has_results(d, rows->results, row)) continue;
        float *const to = feature_ring_put(&d->features, rows->at + i);
        if (d->turned > rows->at + i) d->turned = rows->at + i;
        for (int32_t k = 0; to && d->taps != NO_SLOT && k < 3; k++)
            memcpy(to + (size_t)(k * d->n_embd), lm_tap(rows->results->model, row, k), n_bytes);
        if (to && d->taps == NO_SLOT) memcpy(to, lm_hidden(rows->results->model, row), n_bytes);
    }
}

// Pairs before the last token stay.
static void cut(drafter *base, int32_t n) {
    struct feature_drafter *d = (struct feature_drafter *)base;
    const int32_t n_back = feature_ring_cut(&d->features, n - 1);
    const int32_t len = n_back ? d->env->ops->seq_len(d->env->user, d->layer_seq) : 0,
                  kept = len > n_back ? len - n_back : 0;
    if (n_back == 0) return;
    d->env->ops->seq_truncate(d->env->user, d->layer_seq, kept);
    d->n_nodes = 0;
    if (d->env->ops->seq_len(d->env->user, d->layer_seq) < kept) d->features.has_gap = true;
}

// ---- does it pay? ---------------------------------------------------------------------------------------------------

static double level_ns(const struct feature_drafter *d, int32_t n_rows) {
    return draft_share_ns(&d->env->slots[d->layer], n_rows, d->step.n_streams);
}

static double expected_ns(const struct feature_drafter *d) {
    double ns = level_ns(d, feature_ring_n(&d->features)) + (double)(d->mean_levels - 1) * level_ns(d, MOST_WIDE / 2);
    if (d->taps != NO_SLOT) ns += draft_share_ns(&d->env->slots[d->taps], 1, d->step.n_streams);
    return ns;
}

// ---- a step ---------------------------------------------------------------------------------------------------------

static rn_status drop_nodes(struct feature_drafter *d, rn_error *err) {
    if (d->n_nodes == 0) return RN_OK;
    d->n_nodes = 0;
    return d->env->ops->seq_keep(d->env->user, d->layer_seq, NULL, 0, err);
}

// What the next rows are, and on which slot.
static void look_ahead(struct feature_drafter *d) {
    if (d->turned < d->features.from) d->turned = d->features.from;
    d->doing = feature_ring_n(&d->features) == 0            ? LOOKS_BEHIND
               : d->taps != NO_SLOT && d->turned < d->n - 1 ? TURNS_TAPS
                                                            : READS_PAIRS;
    d->base.slot = d->doing == TURNS_TAPS ? d->taps : d->layer;
}

static rn_status plan(drafter *base, int32_t n, const struct draft_ask *ask, bool *pays, rn_error *err) {
    struct feature_drafter *d = (struct feature_drafter *)base;
    const rn_status st = drop_nodes(d, err);
    *pays = false;
    d->n = n;
    d->least = ask->least, d->most = ask->most;
    d->step = *ask->step;
    guess_pool_clear(&d->pool);
    d->n_hidden = d->n_levels = 0;
    d->spent_ns = 0;
    d->is_over = false;
    // The last token's own row follows; where those before it have none either, there is no feature to begin with.
    if (st != RN_OK || d->features.to != n - 1 || feature_ring_n(&d->features) == 0) return st;
    const int32_t len = d->env->ops->seq_len(d->env->user, d->layer_seq);
    if (d->features.has_gap || len + feature_ring_n(&d->features) + MOST_ROWS > d->env->slots[d->layer].n_ctx)
        d->env->ops->seq_truncate(d->env->user, d->layer_seq, 0);
    d->features.has_gap = false;
    *pays = draft_pays(&d->pay, expected_ns(d), ask);
    look_ahead(d);
    return st;
}

static bool wants_rows(const drafter *base) {
    const struct feature_drafter *d = (const struct feature_drafter *)base;
    return !d->is_over;
}

static void add_row(struct feature_drafter *d, struct row_list *rows, const float *vector, struct lm_row row) {
    struct lm_input *const input = &d->inputs[rows->n];
    *input = (struct lm_input){.vector = vector, .see_to = -1};
    row.input = input;
    rows->rows[rows->n++] = row;
}

static void add_taps(struct feature_drafter *d, struct row_list *rows) {
    const size_t most = (size_t)d->env->slots[d->taps].n_scratch;
    for (int32_t at = d->turned; at < d->n - 1 && rows->n < rows->cap && rows->n < most; at++)
        add_row(
            d, rows, feature_ring_at(&d->features, at),
            (struct lm_row){
                .seq = d->taps_seq, .token = d->text[at], .parent = LM_ROOT, .want = LM_WANT_HIDDEN | LM_OPTIONAL});
}

static void add_pairs(struct feature_drafter *d, struct row_list *rows) {
    for (int32_t at = d->features.from; at < d->n - 1 && rows->n < rows->cap; at++)
        add_row(d, rows, feature_ring_at(&d->features, at),
                (struct lm_row){.seq = d->layer_seq,
                                .token = d->text[at + 1],
                                .parent = LM_APPEND,
                                .want = at == d->n - 2 ? LM_WANT_LOGITS | LM_WANT_HIDDEN : 0});
}

static void add_beams(struct feature_drafter *d, struct row_list *rows) {
    for (int32_t i = 0; i < d->n_beams && rows->n < rows->cap && rows->n < rows->n_logits; i++) {
        const struct pool_node *const x = guess_pool_find(&d->pool, d->beams[i]), *const above =
                                                                                      x->parent == DRAFT_ROOT
                                                                                          ? NULL
                                                                                          : guess_pool_find(
                                                                                                &d->pool, x->parent);
        const int32_t place = above ? above->place : 0;
        add_row(d, rows, d->hidden + (size_t)(place * d->n_embd),
                (struct lm_row){.seq = d->layer_seq,
                                .token = x->token,
                                .parent = above ? place - 1 : LM_ROOT,
                                .want = LM_WANT_LOGITS | LM_WANT_HIDDEN | LM_OPTIONAL});
    }
}

static rn_status propose(drafter *base, struct row_list *rows, rn_error *err) {
    struct feature_drafter *d = (struct feature_drafter *)base;
    static void (*const add[])(struct feature_drafter *, struct row_list *) = {
        [TURNS_TAPS] = add_taps, [READS_PAIRS] = add_pairs, [LOOKS_BEHIND] = add_beams};
    (void)err;
    add[d->doing](d, rows);
    return RN_OK;
}

// The row behind which the head looks, and what it holds most probable there.
static void read_guesses(struct feature_drafter *d, const struct row_results *r, size_t row, int32_t place,
                         struct draft_top *top) {
    top->n = 0;
    if (results_dropped(r, row)) return;
    draft_top_of(d->rowmath, results_logits(r, row), r->model->n_vocab, r->model->token_map, DRAFT_TOP_MOST,
                 d->scratch, top);
    memcpy(d->hidden + (size_t)(place * d->n_embd), lm_hidden(r->model, r->first + row),
           (size_t)d->n_embd * sizeof *d->hidden);
}

static bool reads_last_pair(const struct feature_drafter *d, const struct row_results *r) {
    return d->doing == READS_PAIRS && d->features.from + (int32_t)r->n == d->n - 1;
}

static void read_rows(drafter *base, const struct row_results *r) {
    struct feature_drafter *d = (struct feature_drafter *)base;
    if (d->doing == TURNS_TAPS)
        for (size_t i = 0; i < r->n && !results_dropped(r, i); i++)
            memcpy(feature_ring_at(&d->features, d->turned + (int32_t)i), lm_hidden(r->model, r->first + i),
                   (size_t)d->n_embd * sizeof(float));
    if (reads_last_pair(d, r)) read_guesses(d, r, r->n - 1, 0, &d->tops[0]);
    for (size_t i = 0; d->doing == LOOKS_BEHIND && i < r->n; i++)
        read_guesses(d, r, i, d->n_hidden + (int32_t)i, &d->tops[i]);
}

static void add_guesses(struct feature_drafter *d, const struct pool_node *parent, const struct draft_top *top) {
    const struct pool_node above = parent ? *parent : (struct pool_node){0}; // it moves
    for (int32_t i = 0; i < top->n && (i == 0 || top->probs[i] >= least_prob); i++) {
        const int32_t class = draft_class_of_prob(top->probs[i]) + (parent ? DRAFT_TOP_CLASSES : 0);
        guess_pool_add(&d->pool, parent ? &above : NULL, top->tokens[i], class, draft_odds_of(&d->base.odds, class));
    }
}

static int32_t least_of(int32_t a, int32_t b) { return a < b ? a : b; }

// A step of the layer is done: behind which guesses does it look next?
static rn_status choose_beams(struct feature_drafter *d, int32_t n_rows, rn_error *err) {
    const int32_t room = least_of(MOST_ROWS - d->n_hidden, d->env->slots[d->layer].n_scratch - d->n_nodes);
    d->n_levels++;
    d->spent_ns += level_ns(d, n_rows);
    const struct pool_costs costs = {.step = &d->step,
                                     .depths = &d->base.depths,
                                     .most = d->most,
                                     .spent_ns = d->spent_ns,
                                     .level_ns = level_ns(d, MOST_WIDE / 2)};
    d->n_beams = guess_pool_next(&d->pool, &costs, d->least > 0 && d->n_levels < FORCED_LEVELS, d->beams,
                                 least_of(room, MOST_WIDE));
    d->is_over = d->n_beams == 0;
    return d->is_over ? drop_nodes(d, err) : RN_OK;
}

static rn_status absorb_taps(struct feature_drafter *d, const struct row_results *r, rn_error *err) {
    int32_t n = 0;
    while (n < (int32_t)r->n && !results_dropped(r, (size_t)n)) n++;
    d->turned += n;
    d->is_over = n == 0;
    return d->env->ops->seq_keep(d->env->user, d->taps_seq, NULL, 0, err);
}

static rn_status absorb_pairs(struct feature_drafter *d, const struct row_results *r, rn_error *err) {
    const bool is_last = reads_last_pair(d, r);
    d->features.from += (int32_t)r->n;
    if (!is_last) return RN_OK;
    d->n_hidden = 1;
    add_guesses(d, NULL, &d->tops[0]);
    return choose_beams(d, (int32_t)r->n, err);
}

static rn_status absorb_beams(struct feature_drafter *d, const struct row_results *r, rn_error *err) {
    int32_t n = 0;
    while (n < (int32_t)r->n && !results_dropped(r, (size_t)n)) n++;
    for (int32_t i = 0; i < n; i++) {
        struct pool_node *const x = guess_pool_find(&d->pool, d->beams[i]);
        d->n_nodes++;
        const int32_t place = d->n_hidden++;
        if (!x) continue; // better guesses behind the others have taken its place
        x->place = place;
        add_guesses(d, x, &d->tops[i]);
    }
    if (n == (int32_t)r->n) return choose_beams(d, n, err);
    d->is_over = true; // there is no more room
    return drop_nodes(d, err);
}

static rn_status absorb(drafter *base, const struct row_results *r, rn_error *err) {
    struct feature_drafter *d = (struct feature_drafter *)base;
    const rn_status st = d->doing == TURNS_TAPS    ? absorb_taps(d, r, err)
                         : d->doing == READS_PAIRS ? absorb_pairs(d, r, err)
                                                   : absorb_beams(d, r, err);
    look_ahead(d);
    return st;
}

// Pairs that were appended are gone, and the tree does not grow further.
static void suspend(drafter *base) {
    struct feature_drafter *d = (struct feature_drafter *)base;
    d->n_nodes = 0;
    d->is_over = feature_ring_n(&d->features) == 0;
}

// ---- the draft ------------------------------------------------------------------------------------------------------

static void draft(drafter *base, int32_t n, struct draft *out) {
    struct feature_drafter *d = (struct feature_drafter *)base;
    (void)n;
    guess_pool_draft(&d->pool, out);
    draft_pay_learn(&d->pay, &base->odds, out);
    d->mean_levels += levels_weight * ((float)d->n_levels - d->mean_levels);
}

static const struct drafter_ops ops = {.begin = begin,
                                       .draft = draft,
                                       .cut = cut,
                                       .destroy = destroy,
                                       .plan = plan,
                                       .wants_rows = wants_rows,
                                       .propose = propose,
                                       .read = read_rows,
                                       .absorb = absorb,
                                       .suspend = suspend,
                                       .observe = observe};

rn_status feature_drafter_create(const struct drafter_spec *spec, drafter **out, rn_error *err) {
    static const float right_at_depth = 0.7F;
    struct feature_drafter *d = mem_calloc(1, sizeof *d);
    float shares[2 * DRAFT_TOP_CLASSES];
    *out = NULL;
    if (!d) return fail(err, RN_E_NOMEM, "draft heads: out of memory");
    d->base = (drafter){.ops = &ops, .slot = spec->slot, .n_seqs = spec->n_slots, .n_prompt_rows = FEATURES_MOST - 1};
    d->rowmath = spec->rowmath, d->text = spec->text, d->n_slots = spec->n_slots;
    d->mean_levels = 1;
    memcpy(shares, draft_prob_shares, sizeof draft_prob_shares);
    memcpy(shares + DRAFT_TOP_CLASSES, draft_prob_shares, sizeof draft_prob_shares);
    draft_odds_init(&d->base.odds, shares, 2 * DRAFT_TOP_CLASSES);
    draft_odds_init(&d->base.depths, &right_at_depth, 1);
    *out = &d->base;
    return RN_OK;
}
