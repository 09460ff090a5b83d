// decoding/draft/feature_drafter.c - see feature_drafter.h.
//
// A layer's sequence consists of pairs: what the main model says after token t (its feature), and token t + 1. The row of a pair gives the
// logits of token t + 2, and a feature of token t + 1 as the head expects it, with which the pairs of guesses are made: scratch nodes, which are dropped
// after each draft. So of a step the pairs of the tokens that came are appended, the last of which guesses what follows; then the head looks
// behind the guesses that are reached most often, some of them in a step, as long as that pays (guess_pool.h).
//
// Where several next-token-prediction layers stand on each other (feature_layer.h), the pair of layer k + 1 is the feature that layer k gave, and the token
// one further on; so layer k guesses token t + 2 + k, and behind a guess it is the layer of its depth that looks. The guess has a row on each
// deeper one as well, whose pairs with the guesses behind it follow. Behind the last layer's guesses this layer goes on from its own features.
//
// Features are of the prompt's last rows, as far as they were evaluated, and of all tokens behind them. The sequence may begin anywhere in the text, and does
// so again where features were not kept. EAGLE-3's features are three hidden states, of which a matrix, a part of its own, makes one.
#include "decoding/draft/feature_drafter.h"
#include "base/mem.h"
#include "decoding/draft/draft_account.h"
#include "decoding/draft/draft_pay.h"
#include "decoding/draft/draft_top.h"
#include "decoding/draft/feature_layer.h"
#include "decoding/draft/guess_pool.h"
#include <math.h>
#include <string.h>

enum {
    MOST_LAYERS = 8,   // that stand on each other
    MOST_WIDE = 8,     // rows of a level
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
    struct feature_layer layers[MOST_LAYERS];
    int32_t n_layers;
    int32_t taps, taps_seq; // slot of the matrix that makes a feature of taps, NO_SLOT: none; its sequence
    int32_t n_embd;
    int32_t turned;      // EAGLE-3: the features before this position are made of their taps
    int32_t n;           // tokens of the text that the draft follows
    int32_t least, most; // as asked
    struct draft_step step;
    double lose_ns; // that this draft may take, should no guess be right; with `least` any time
    struct draft_pay pay;
    float mean_levels;
    // The tree, and the rows behind which it grows.
    struct guess_pool pool;
    enum doing doing;
    int32_t layer;     // that has the next rows
    int32_t n_chained; // layers that look behind guesses; 0: not known yet
    int32_t beams[MOST_WIDE], n_beams;
    int32_t n_hidden, n_levels; // places that are taken
    double spent_ns;            // this stream's share of the steps of this draft
    bool is_full;               // there was no room for more rows of a level
    bool is_over;
    struct lm_input inputs[FEATURES_MOST];
    struct draft_top tops[MOST_WIDE];
    int32_t *scratch;
};

static struct feature_ring *features_of(struct feature_drafter *d) { return &d->layers[0].inputs; }

// ---- begin and end --------------------------------------------------------------------------------------------------

static rn_status open_slots(struct feature_drafter *d, rn_error *err) {
    const struct strategy_env *const env = d->env;
    rn_status st = RN_OK;
    for (int32_t i = d->base.slot; i < d->base.slot + d->n_slots; i++)
        if (env->slots[i].part == STRATEGY_PART_EAGLE3_TAPS) d->taps = i;
    for (int32_t i = d->base.slot; st == RN_OK && i < d->base.slot + d->n_slots && d->n_layers < MOST_LAYERS; i++) {
        const bool reads_taps = d->taps != NO_SLOT && d->n_layers == 0;
        struct feature_layer *const l = &d->layers[d->n_layers];
        if (i == d->taps) continue;
        l->number = d->n_layers++;
        st = feature_layer_open(l, env, i, reads_taps ? 3 * d->n_embd : d->n_embd, err);
    }
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
    size_t n_scratch = 0;
    for (int32_t i = 0; i < d->n_layers; i++) {
        const size_t n = draft_top_scratch(env->slots[d->layers[i].slot].n_vocab);
        n_scratch = n > n_scratch ? n : n_scratch;
    }
    d->scratch = mem_alloc(n_scratch * sizeof *d->scratch);
    return d->scratch ? RN_OK : fail(err, RN_E_NOMEM, "draft heads: out of memory for %zu numbers", n_scratch);
}

static void destroy(drafter *base) {
    struct feature_drafter *d = (struct feature_drafter *)base;
    for (int32_t i = 0; i < d->n_layers; i++) feature_layer_free(&d->layers[i]);
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
        float *const to = feature_ring_put(features_of(d), rows->at + i);
        if (d->turned > rows->at + i) d->turned = rows->at + i;
        for (int32_t k = 0; to && d->taps != NO_SLOT && k < 3; k++)
            memcpy(to + (size_t)(k * d->n_embd), lm_tap(rows->results->model, row, k), n_bytes);
        if (to && d->taps == NO_SLOT) memcpy(to, lm_hidden(rows->results->model, row), n_bytes);
    }
}

// Pairs before the last token stay.
static void cut(drafter *base, int32_t n) {
    struct feature_drafter *d = (struct feature_drafter *)base;
    for (int32_t i = 0; i < d->n_layers; i++) feature_layer_cut(&d->layers[i], d->env, n);
}

// ---- does it pay? ---------------------------------------------------------------------------------------------------

static double rows_ns(const struct feature_drafter *d, int32_t layer, int32_t n_rows) {
    return draft_share_ns(&d->env->slots[d->layers[layer].slot], n_rows, d->step.n_streams);
}

// The layer that guesses what follows a guess at this depth; it and those behind it have a row of the guess.
static int32_t layer_behind(int32_t depth, int32_t n_layers) {
    return depth + 1 < n_layers ? depth + 1 : n_layers - 1;
}

// The level number 1 looks behind guesses for the next token, after layers behind the first have read their pairs.
static double level_ns(const struct feature_drafter *d, int32_t level) {
    double ns = 0;
    for (int32_t i = layer_behind(level - 1, d->n_layers); i < d->n_layers; i++) ns += rows_ns(d, i, MOST_WIDE / 2);
    for (int32_t i = 1; i < d->n_layers && level == 1; i++) ns += rows_ns(d, i, 1);
    return ns;
}

static double expected_ns(struct feature_drafter *d) {
    double ns = rows_ns(d, 0, feature_ring_n(features_of(d)));
    for (int32_t level = 1; (float)level < d->mean_levels; level++) {
        const float left = d->mean_levels - (float)level;
        ns += (double)(left < 1 ? left : 1) * level_ns(d, level);
    }
    if (d->taps != NO_SLOT) ns += draft_share_ns(&d->env->slots[d->taps], 1, d->step.n_streams);
    return ns;
}

// ---- a step ---------------------------------------------------------------------------------------------------------

static rn_status drop_nodes(struct feature_drafter *d, rn_error *err) {
    rn_status st = RN_OK;
    for (int32_t i = 0; i < d->n_layers; i++) {
        const rn_status one = feature_layer_drop_nodes(&d->layers[i], d->env, st == RN_OK ? err : NULL);
        if (st == RN_OK) st = one;
    }
    return st;
}

// The layers that have the vector to begin with, each standing on the one before it.
static int32_t count_chained(const struct feature_drafter *d) {
    int32_t n = 1;
    while (n < d->n_layers && feature_layer_has_root(&d->layers[n], d->n)) n++;
    return n;
}

// The first layer with pairs to read; those behind the first one only where there are guesses to look behind.
static int32_t layer_with_pairs(const struct feature_drafter *d) {
    const int32_t n = d->n_beams > 0 && d->n_chained == 0 ? d->n_layers : 1;
    for (int32_t i = 0; i < n; i++)
        if (feature_layer_has_pairs(&d->layers[i], d->n)) return i;
    return -1;
}

// What the next rows are, and on which slot.
static void look_ahead(struct feature_drafter *d) {
    const int32_t of_pairs = layer_with_pairs(d);
    if (d->turned < features_of(d)->from) d->turned = features_of(d)->from;
    if (of_pairs == 0 && d->taps != NO_SLOT && d->turned < d->n - 1) {
        d->doing = TURNS_TAPS;
        d->base.slot = d->taps;
        return;
    }
    d->doing = of_pairs >= 0 ? READS_PAIRS : LOOKS_BEHIND;
    if (of_pairs > 0) feature_layer_make_room(&d->layers[of_pairs], d->env, FEATURE_PLACES);
    if (of_pairs >= 0)
        d->layer = of_pairs;
    else if (d->n_beams > 0 &&
             d->n_chained == 0) // all pairs were read: the first level's rows, those of the last layer first
        d->n_chained = count_chained(d), d->layer = d->n_chained - 1;
    d->base.slot = d->layers[d->layer].slot;
}

// What may be spent on heads, should no guess be right, beside a row for a guess. reach: how often one is.
static double may_spend(const struct feature_drafter *d, double reach) {
    const struct draft_step *const s = &d->step;
    const double hope = draft_account_hope(reach * s->ns[0] / s->n_tokens, s->ns[0] / s->n_streams);
    return d->lose_ns + hope - (s->most_ns[1] - s->ns[0]);
}

// The layer begins again with the last features where to read all that wait may take too long.
static void leave_out_early(struct feature_drafter *d) {
    const struct strategy_slot *const slot = &d->env->slots[d->layers[0].slot];
    const double left = may_spend(d, (double)d->pay.more[0]);
    const int32_t n_all = feature_ring_n(features_of(d));
    int32_t n = n_all;
    while (n > 1 && draft_most_share_ns(slot, n, d->step.n_streams) > left) n--;
    feature_ring_skip(features_of(d), n_all - n);
}

static rn_status plan(drafter *base, int32_t n, const struct draft_ask *ask, bool *pays, rn_error *err) {
    struct feature_drafter *d = (struct feature_drafter *)base;
    const rn_status st = drop_nodes(d, err);
    *pays = false;
    d->n = n;
    d->least = ask->least, d->most = ask->most;
    d->step = *ask->step;
    d->lose_ns = ask->least > 0 ? INFINITY : ask->lose_ns;
    guess_pool_clear(&d->pool);
    d->n_hidden = d->n_levels = d->n_beams = d->n_chained = 0;
    d->spent_ns = 0;
    d->is_full = d->is_over = false;
    // The last token's own row follows; where those before it have none either, there is no feature to begin with.
    if (st != RN_OK || features_of(d)->to != n - 1 || feature_ring_n(features_of(d)) == 0) return st;
    if (d->step.ns[0] > 0) leave_out_early(d);
    feature_layer_make_room(&d->layers[0], d->env, FEATURE_PLACES);
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
            d, rows, feature_ring_at(features_of(d), at),
            (struct lm_row){
                .seq = d->taps_seq, .token = d->text[at], .parent = LM_ROOT, .want = LM_WANT_HIDDEN | LM_OPTIONAL});
}

static void add_pairs(struct feature_drafter *d, struct row_list *rows) {
    const struct feature_layer *const l = &d->layers[d->layer];
    const uint32_t of_each = d->layer + 1 < d->n_layers ? LM_WANT_HIDDEN : 0; // the next layer reads it
    for (int32_t at = l->inputs.from; at < feature_layer_pairs_to(l, d->n) && rows->n < rows->cap; at++)
        add_row(d, rows, feature_ring_at(&l->inputs, at),
                (struct lm_row){.seq = l->seq,
                                .token = d->text[at + 1 + l->number],
                                .parent = LM_APPEND,
                                .want = d->layer == 0 && at == d->n - 2 ? LM_WANT_LOGITS | LM_WANT_HIDDEN : of_each});
}

// The first of the chained layers that have a row of the beam; it guesses what follows.
static int32_t first_layer(struct feature_drafter *d, int32_t beam) {
    return layer_behind(guess_pool_find(&d->pool, d->beams[beam])->depth, d->n_chained);
}

// The row of a guess: with what the layer before gave for the guess in front of it, or where no layer is left, with what this one gave.
static struct lm_row row_of(struct feature_drafter *d, const struct pool_node *x, const float **vector) {
    const struct feature_layer *const l = &d->layers[d->layer];
    const struct pool_node *const above = x->parent == DRAFT_ROOT ? NULL : guess_pool_find(&d->pool, x->parent);
    const int32_t place = above ? above->place : 0;
    const bool goes_on = x->depth + 1 >= d->n_chained;
    if (!above && !goes_on)
        *vector = feature_ring_at(&l->inputs, d->n - 1 - l->number);
    else
        *vector = (goes_on ? l : l - 1)->hidden + (size_t)place * (size_t)d->n_embd;
    const bool guesses = layer_behind(x->depth, d->n_chained) == d->layer;
    return (struct lm_row){.seq = l->seq,
                           .token = x->token,
                           .parent = above ? l->nodes[place] : LM_ROOT,
                           .want = LM_WANT_HIDDEN | LM_OPTIONAL | (guesses ? LM_WANT_LOGITS : 0)};
}

static void add_beams(struct feature_drafter *d, struct row_list *rows) {
    for (int32_t i = 0; i < d->n_beams && rows->n < rows->cap && rows->n < rows->n_logits; i++) {
        const float *vector;
        if (first_layer(d, i) > d->layer) continue;
        const struct lm_row row = row_of(d, guess_pool_find(&d->pool, d->beams[i]), &vector);
        add_row(d, rows, vector, row);
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

static void keep_hidden(struct feature_drafter *d, const struct row_results *r, size_t row, float *to) {
    memcpy(to, lm_hidden(r->model, r->first + row), (size_t)d->n_embd * sizeof *to);
}

// What the row of a place gave, and where it guesses, what it holds most probable.
static void read_place(struct feature_drafter *d, const struct row_results *r, size_t row, int32_t place,
                       struct draft_top *top) {
    struct feature_layer *const l = &d->layers[d->layer];
    if (top) top->n = 0;
    l->nodes[place] = FEATURE_NO_NODE;
    if (results_dropped(r, row)) return;
    keep_hidden(d, r, row, l->hidden + (size_t)place * (size_t)d->n_embd);
    if (top)
        draft_top_of(d->rowmath, results_logits(r, row), r->model->n_vocab, r->model->token_map, DRAFT_TOP_MOST,
                     d->scratch, top);
}

static void read_taps(struct feature_drafter *d, const struct row_results *r) {
    for (size_t i = 0; i < r->n && !results_dropped(r, i); i++)
        keep_hidden(d, r, i, feature_ring_at(features_of(d), d->turned + (int32_t)i));
}

static bool reads_last_pair(const struct feature_drafter *d, const struct row_results *r) {
    return d->layer == 0 && d->layers[0].inputs.from + (int32_t)r->n == d->n - 1;
}

static void read_pairs(struct feature_drafter *d, const struct row_results *r) {
    const struct feature_layer *const l = &d->layers[d->layer];
    for (size_t i = 0; d->layer + 1 < d->n_layers && i < r->n; i++) {
        float *const to = feature_ring_put(&d->layers[d->layer + 1].inputs, l->inputs.from + (int32_t)i);
        if (to) keep_hidden(d, r, i, to);
    }
    if (reads_last_pair(d, r)) read_place(d, r, r->n - 1, 0, &d->tops[0]);
}

static void read_beams(struct feature_drafter *d, const struct row_results *r) {
    size_t row = 0;
    for (int32_t i = 0; i < d->n_beams && row < r->n; i++)
        if (first_layer(d, i) <= d->layer)
            read_place(d, r, row++, d->n_hidden + i, first_layer(d, i) == d->layer ? &d->tops[i] : NULL);
}

static void read_rows(drafter *base, const struct row_results *r) {
    struct feature_drafter *d = (struct feature_drafter *)base;
    static void (*const read[])(struct feature_drafter *, const struct row_results *) = {
        [TURNS_TAPS] = read_taps, [READS_PAIRS] = read_pairs, [LOOKS_BEHIND] = read_beams};
    read[d->doing](d, r);
}

static void add_guesses(struct feature_drafter *d, const struct pool_node *parent, const struct draft_top *top) {
    const struct pool_node above = parent ? *parent : (struct pool_node){0}; // it moves
    for (int32_t i = 0; i < top->n && (i == 0 || top->probs[i] >= least_prob); i++) {
        const int32_t class = draft_class_of_prob(top->probs[i]) + (parent ? DRAFT_TOP_CLASSES : 0);
        guess_pool_add(&d->pool, parent ? &above : NULL, top->tokens[i], class, draft_odds_of(&d->base.odds, class));
    }
}

static int32_t least_of(int32_t a, int32_t b) { return a < b ? a : b; }

// What rows of another level may take at the most.
static double most_level_ns(const struct feature_drafter *d, int32_t n_beams) {
    double ns = 0;
    for (int32_t i = layer_behind(d->n_levels - 1, d->n_layers); i < d->n_layers; i++)
        ns += draft_most_share_ns(&d->env->slots[d->layers[i].slot], n_beams, d->step.n_streams);
    for (int32_t i = 1; i < d->n_layers && d->n_levels == 1; i++) // pairs that wait
        ns += draft_most_share_ns(&d->env->slots[d->layers[i].slot], feature_ring_n(&d->layers[i].inputs),
                                  d->step.n_streams);
    return ns;
}

// So many of the guesses that a level behind them takes no longer than may be lost.
static int32_t affordable(const struct feature_drafter *d, int32_t most) {
    if (d->pool.n == 0 || d->step.ns[0] == 0) return most;
    const double left = may_spend(d, (double)d->pool.nodes[0].reach) - d->spent_ns;
    while (most > 0 && most_level_ns(d, most) > left) most--;
    return most;
}

// A level is done: behind which guesses does the head look next?
static rn_status choose_beams(struct feature_drafter *d, rn_error *err) {
    int32_t room = FEATURE_PLACES - d->n_hidden;
    for (int32_t i = 0; i < d->n_layers; i++)
        room = least_of(room, d->env->slots[d->layers[i].slot].n_scratch - d->layers[i].n_nodes);
    d->n_levels++;
    const struct pool_costs costs = {.step = &d->step,
                                     .depths = &d->base.depths,
                                     .most = d->most,
                                     .spent_ns = d->spent_ns,
                                     .level_ns = level_ns(d, d->n_levels)};
    room = affordable(d, least_of(room, MOST_WIDE));
    d->n_beams =
        room > 0 ? guess_pool_next(&d->pool, &costs, d->least > 0 && d->n_levels < FORCED_LEVELS, d->beams, room) : 0;
    d->layer = d->n_chained > 0 ? d->n_chained - 1 : 0;
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
    d->layers[d->layer].inputs.from += (int32_t)r->n;
    d->spent_ns += rows_ns(d, d->layer, (int32_t)r->n);
    if (!is_last) return RN_OK;
    d->n_hidden = 1;
    add_guesses(d, NULL, &d->tops[0]);
    return choose_beams(d, err);
}

// All layers have their rows of the level's guesses.
static rn_status end_level(struct feature_drafter *d, rn_error *err) {
    for (int32_t i = 0; i < d->n_beams; i++) guess_pool_find(&d->pool, d->beams[i])->place = d->n_hidden + i;
    for (int32_t i = 0; i < d->n_beams; i++) {
        const struct pool_node *const x = guess_pool_find(&d->pool, d->beams[i]);
        if (x) add_guesses(d, x, &d->tops[i]); // else better guesses behind the others have taken its place
    }
    d->n_hidden += d->n_beams;
    if (!d->is_full) return choose_beams(d, err);
    d->is_over = true;
    return drop_nodes(d, err);
}

// Rows of the last layer come first: it has one of each guess, as far as there is room.
static rn_status absorb_beams(struct feature_drafter *d, const struct row_results *r, rn_error *err) {
    struct feature_layer *const l = &d->layers[d->layer];
    int32_t n = 0, n_asked = 0, first = d->n_chained - 1;
    for (int32_t i = 0; i < d->n_beams; i++) {
        if (first_layer(d, i) > d->layer) continue;
        n_asked++;
        if (n == (int32_t)r->n || results_dropped(r, (size_t)n)) continue;
        l->nodes[d->n_hidden + i] = l->n_nodes++;
        n++;
    }
    d->spent_ns += rows_ns(d, d->layer, (int32_t)r->n);
    if (d->layer == d->n_chained - 1) {
        d->is_full = n < (int32_t)r->n;
        n_asked = d->n_beams = n;
    }
    if (n == 0 || n < n_asked) { // there is no more room
        d->is_over = true;
        return drop_nodes(d, err);
    }
    for (int32_t i = 0; i < d->n_beams; i++) first = least_of(first, first_layer(d, i));
    if (d->layer == first) return end_level(d, err);
    d->layer--;
    return RN_OK;
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
    for (int32_t i = 0; i < d->n_layers; i++) d->layers[i].n_nodes = 0;
    d->is_over = feature_ring_n(features_of(d)) == 0;
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
