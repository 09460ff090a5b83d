// decoding/draft/model_drafter.c - see model_drafter.h.
#include "decoding/draft/model_drafter.h"
#include "base/mem.h"
#include "base/philox.h"
#include "decoding/draft/draft_account.h"
#include "decoding/draft/verify.h"
#include "decoding/draft/vocab_bridge.h"
#include <math.h>

enum {
    MOST_LEVELS = STRATEGY_HELPER_ROUNDS, // tokens of the chain
    MOST_WIDE = 3,                        // guesses for one position
    MOST_DRAWN = 2,                       // the same where they are drawn
    MOST_LIKE = 16,                       // candidates near the best one that are looked at; more: only the best one
    MOST_BEHIND = 128,                    // tokens of the text that a sequence which lags behind begins again with
    PROBE_LEVELS = 2,
    MOST_PROMPT_OF_LAYERS = 32 // tokens of the prompt that layers of the model itself read
};
// Guesses besides the best one have at least so much of its probability: e^-3.
static const float least_like = 3.0F;
// What the model expects at one position behind the text, most probable first.
struct level {
    int32_t tokens[MOST_WIDE];
    uint8_t classes[MOST_WIDE];
    int32_t n;
    float p;                    // of the first one
    struct draft_source source; // where they were drawn; else n = 0
};

struct model_drafter {
    drafter base;
    const struct strategy_env *env;
    const struct rowmath *rowmath;
    const int32_t *main_text;   // lent
    struct vocab_bridge bridge; // where the vocabularies differ; all zero: they do not
    const int32_t *text;        // the text in the drafter's tokens: the main text, or the bridge's
    int32_t n_prompt, n_text_most;
    int32_t n_main_vocab, n_tokens; // of the main model's tokens; those that the drafter's rows may have
    int32_t n_ctx, n_scratch;       // of the drafter's slot
    float min_p;
    struct draft_draws draws;
    int32_t seq; // on the drafter's slot: the text from `from` on
    int32_t from;
    bool is_layers; // of the main model
    int32_t n;      // drafter's tokens of the text that the chain follows
    // Of the step: guesses that are made in any case, and the times that it is weighed by.
    int32_t least;
    double lose_ns;
    struct draft_step step, level_step; // of the main model, and of the drafter's
    // The chain is the first token of each level; the rows of its first n_nodes tokens are scratch nodes 0.. of the sequence.
    struct level levels[MOST_LEVELS];
    int32_t n_levels, n_nodes, most_levels;
    struct bridge_guess guesses[DRAFT_MOST]; // of the chain, in the main model's tokens, where there is a bridge
    int32_t n_guesses;
    bool is_over;      // no further level
    bool reads_row;    // the last row that was proposed has the next level
    struct level read; // of the last row
};

// ---- probability and class ------------------------------------------------------------------------------------------

enum { N_CLASSES = 16 };
static const float class_ends[N_CLASSES] = {0.05F, 0.1F,  0.2F, 0.3F,  0.4F,  0.5F,  0.6F,   0.7F,
                                            0.8F,  0.85F, 0.9F, 0.95F, 0.98F, 0.99F, 0.995F, INFINITY};
static int32_t class_of(float p) {
    int32_t class = 0;
    while (p >= class_ends[class]) class ++;
    return class;
}

// At first the model is taken at its word.
static void init_odds(drafter *d) {
    static const float at_depth = 0.7F;
    float shares[N_CLASSES];
    for (int32_t i = 0; i < N_CLASSES; i++)
        shares[i] = ((i ? class_ends[i - 1] : 0) + (i < N_CLASSES - 1 ? class_ends[i] : 1)) / 2;
    draft_odds_init(&d->odds, shares, N_CLASSES);
    draft_odds_init(&d->depths, &at_depth, 1);
}

// ---- its sequence ---------------------------------------------------------------------------------------------------

static int32_t length(const struct model_drafter *d) { return d->env->ops->seq_len(d->env->user, d->seq); }
static int32_t n_missing(const struct model_drafter *d) { return d->n - d->from - length(d); }
static bool is_bridged(const struct model_drafter *d) { return d->bridge.main.tok; }

// A token that the drafter's model lacks is fed as its first one: what follows is guessed a little worse.
static int32_t fed(const struct model_drafter *d, int32_t at) { return d->text[at] < d->n_tokens ? d->text[at] : 0; }

// Rows of the text's first n tokens stay; scratch nodes go.
static void leave(struct model_drafter *d, int32_t n) {
    const int32_t most = n - d->from, len = length(d);
    if (most < 0) d->from = n;
    d->env->ops->seq_truncate(d->env->user, d->seq, most < 0 ? 0 : most < len ? most : len);
    d->n_levels = d->n_nodes = d->n_guesses = 0;
}

// The last token's row is to be evaluated.
static void cut(drafter *base, int32_t n) {
    struct model_drafter *d = (struct model_drafter *)base;
    if (is_bridged(d))
        vocab_bridge_cut(&d->bridge, n); // the next plan() sees what of the other tokens changes
    else
        leave(d, n - 1);
}

// With the last n_behind of n tokens.
static void begin_again(struct model_drafter *d, int32_t n, int32_t n_behind) {
    d->env->ops->seq_truncate(d->env->user, d->seq, 0);
    d->n_levels = d->n_nodes = 0;
    d->from = n - n_behind;
}

static rn_status begin(drafter *base, const struct strategy_env *env, rn_error *err) {
    struct model_drafter *d = (struct model_drafter *)base;
    const struct strategy_slot *const slot = &env->slots[base->slot];
    int32_t *tokens = NULL;
    d->env = env;
    d->n_tokens = slot->n_vocab, d->n_ctx = slot->n_ctx, d->n_scratch = slot->n_scratch;
    // The text may have more of the drafter's tokens than a sequence may.
    if (is_bridged(d) && d->n_ctx > d->n_text_most - 1) d->n_ctx = d->n_text_most - 1;
    if (d->n_prompt > d->n_ctx - 1) d->from = d->n_prompt - (d->n_ctx + 1) / 2;
    d->is_layers = slot->part == STRATEGY_PART_LAYERS;
    if (d->is_layers) d->from = d->n_prompt; // see read_prompt()
    const int32_t n = d->n_prompt - d->from;
    if (!(tokens = mem_alloc((size_t)n * sizeof *tokens + 1)))
        return fail(err, RN_E_NOMEM, "draft: out of memory for a prompt of %d tokens", n);
    for (int32_t i = 0; i < n; i++) tokens[i] = fed(d, d->from + i);
    const rn_status st = env->ops->seq_open(env->user, base->slot, tokens, n, &d->seq, err);
    mem_free(tokens);
    return st;
}

// ---- does it pay? ---------------------------------------------------------------------------------------------------

// This stream's share of a step of the drafter's model, in which other streams may have rows, too.
static double level_ns(const struct model_drafter *d) { return d->level_step.ns[0] / d->step.n_streams; }

static double catching_up_ns(const struct model_drafter *d, int32_t missing) {
    const double row = step_time_prefill_row_ns(d->env->slots[d->base.slot].time);
    return missing > 1 ? (missing - 1) * (row > 0 ? row : d->level_step.ns[0]) : 0;
}

// May a chain of n tokens, of which so many are expected to be right, be lost?
static bool may_lose(const struct model_drafter *d, int32_t n, double n_right) {
    const double ns = n * level_ns(d) + d->step.most_ns[n] - d->step.ns[0] + catching_up_ns(d, n_missing(d)),
                 spared = n_right * d->step.ns[0] / d->step.n_tokens;
    return ns <= d->lose_ns + draft_account_hope(spared, d->step.ns[0] / d->step.n_streams);
}

static bool pays_by_depth(const struct model_drafter *d) {
    if (!may_lose(d, 1, draft_odds_of(&d->base.depths, 0))) return false;
    const double plain = d->step.n_tokens / d->step.ns[0], level = level_ns(d);
    double reach = 1, tokens = d->step.n_tokens, ns = catching_up_ns(d, n_missing(d));
    for (int32_t i = 0; i < d->most_levels; i++) {
        reach *= draft_odds_of(&d->base.depths, draft_class_of_depth(i));
        tokens += reach, ns += level;
        if (tokens / (ns + d->step.ns[i + 1]) > plain * DRAFT_LEAST_GAIN) return true;
    }
    return false;
}

// Looks again where that costs little: at the end of the text, if the sequence lags behind.
static bool probes(struct model_drafter *d, double probe_ns) {
    const int32_t missing = n_missing(d), behind = missing < MOST_BEHIND ? missing : MOST_BEHIND;
    const double more_ns = d->step.ns[PROBE_LEVELS] - d->step.ns[0];
    if (fmin(probe_ns, d->lose_ns) < catching_up_ns(d, behind) + PROBE_LEVELS * level_ns(d) + more_ns) return false;
    if (behind < missing) begin_again(d, d->n, behind);
    d->most_levels = PROBE_LEVELS;
    return true;
}

// Whether one more token of the chain is worth its two rows: it is if it gives more in the time that it takes than the step has so far
// (docs/speculation.md).
static bool goes_on(const struct model_drafter *d) {
    double reach = 1, tokens = d->step.n_tokens;
    if (d->n_levels >= d->most_levels || d->n_nodes >= d->n_scratch) return false;
    if (d->n_levels < d->least) return true;
    if (level_ns(d) == 0) return false; // what a step of it takes is not known yet
    for (int32_t i = 0; i < d->n_levels; i++) {
        reach *= draft_odds_of(&d->base.odds, d->levels[i].classes[0]);
        tokens += reach;
    }
    const double ns = d->n_levels * level_ns(d) + d->step.ns[d->n_levels],
                 more_ns = level_ns(d) + d->step.ns[d->n_levels + 1] - d->step.ns[d->n_levels],
                 more = reach * draft_odds_of(&d->base.depths, draft_class_of_depth(d->n_levels));
    if (!may_lose(d, d->n_levels + 1, tokens + more - d->step.n_tokens)) return false;
    return more * ns > tokens * more_ns;
}

// ---- a step ---------------------------------------------------------------------------------------------------------

// The main text's first n tokens are *n_own of the drafter's. What of them is cut otherwise than before is evaluated again.
static rn_status follow(struct model_drafter *d, int32_t n, int32_t *n_own, rn_error *err) {
    int32_t n_same;
    *n_own = n;
    if (!is_bridged(d)) return RN_OK;
    const int32_t n_before = (int32_t)d->bridge.n;
    const rn_status st = vocab_bridge_follow(&d->bridge, d->main_text, n, &n_same, err);
    d->text = d->bridge.ids;
    *n_own = (int32_t)d->bridge.n;
    if (st == RN_OK && (n_same < n_before || n_same == *n_own))
        leave(d, n_same < *n_own ? n_same : *n_own > 0 ? *n_own - 1 : 0);
    return st;
}

// Keeps the rows of guesses that became the text, which has n tokens now.
static rn_status settle(struct model_drafter *d, int32_t n, rn_error *err) {
    int32_t path[MOST_LEVELS], n_kept = 0;
    const int32_t at = d->from + length(d), n_nodes = d->n_nodes;
    while (n_kept < n_nodes && at + n_kept < n - 1 && d->text[at + n_kept] == d->levels[n_kept].tokens[0])
        path[n_kept] = n_kept, n_kept++;
    d->n = n;
    d->n_levels = d->n_nodes = d->n_guesses = 0;
    d->is_over = false;
    return n_nodes ? d->env->ops->seq_keep(d->env->user, d->seq, path, n_kept, err) : RN_OK;
}

// Layers of the model itself read no more of the prompt than may be lost with it, where they need not draft: they take about as long as the model does, at most.
static void read_prompt(struct model_drafter *d) {
    const double row_ns = step_time_prefill_row_ns(d->env->slots[0].time);
    const int32_t room = d->n_ctx - 1 - (d->n - d->n_prompt), n = d->n_prompt < room ? d->n_prompt : room,
                  most = n < MOST_PROMPT_OF_LAYERS ? n : MOST_PROMPT_OF_LAYERS;
    if (most <= 0) return;
    if (d->from != d->n_prompt || length(d) > 0) return;
    if (d->least > 0)
        d->from -= most;
    else if (row_ns > 0)
        d->from -= (int32_t)fmax(0, fmin(most, d->lose_ns / 2 / row_ns));
}

static rn_status plan(drafter *base, int32_t n, const struct draft_ask *ask, bool *pays, rn_error *err) {
    struct model_drafter *d = (struct model_drafter *)base;
    int32_t n_own;
    rn_status st = follow(d, n, &n_own, err);
    if (st == RN_OK && n_own - d->from > d->n_ctx - 1) begin_again(d, n_own, (d->n_ctx + 1) / 2);
    if (st == RN_OK) st = settle(d, n_own, err);
    *pays = false;
    if (st != RN_OK || n_own == 0) return st;
    d->least = ask->least, d->lose_ns = ask->lose_ns;
    d->step = *ask->step;
    draft_step_init(&d->level_step, d->env->slots[base->slot].time, d->step.n_streams, 1, d->step.n_streams,
                    d->step.n_streams);
    if (d->is_layers) read_prompt(d);
    const int32_t tried = d->step.most, most = ask->most < MOST_LEVELS ? ask->most : MOST_LEVELS;
    d->most_levels = most <= tried ? most : ask->least > tried ? ask->least : tried;
    if (d->most_levels > most) d->most_levels = most;
    if (ask->least > 0)
        *pays = true;
    else
        *pays = d->step.ns[0] > 0 && (pays_by_depth(d) || probes(d, ask->probe_ns));
    return st;
}

static bool wants_rows(const drafter *base) {
    const struct model_drafter *d = (const struct model_drafter *)base;
    return !d->is_over;
}

static rn_status propose(drafter *base, struct row_list *rows, rn_error *err) {
    struct model_drafter *d = (struct model_drafter *)base;
    (void)err;
    d->reads_row = true;
    if (d->n_levels > 0) {
        rows->rows[rows->n++] = (struct lm_row){.seq = d->seq,
                                                .token = d->levels[d->n_levels - 1].tokens[0],
                                                .parent = d->n_nodes ? d->n_nodes - 1 : LM_ROOT,
                                                .want = LM_WANT_LOGITS | LM_OPTIONAL};
        return RN_OK;
    }
    for (int32_t at = d->from + length(d); at < d->n && rows->n < rows->cap; at++)
        rows->rows[rows->n++] = (struct lm_row){
            .seq = d->seq, .token = fed(d, at), .parent = LM_APPEND, .want = at == d->n - 1 ? LM_WANT_LOGITS : 0};
    d->reads_row = rows->rows[rows->n - 1].want != 0;
    return RN_OK;
}

// Tokens of the source, without putting back. How sure they are said to be does not depend on what was drawn, which all is verified.
static void draw_level(struct model_drafter *d, float best_p) {
    struct draft_source left = d->read.source;
    const uint32_t position = d->draws.n_given + (uint32_t)(d->n - d->n_prompt + d->n_levels);
    for (int32_t k = 0; k < MOST_DRAWN && k < left.n; k++) {
        const double u = philox_uniform_again(d->draws.seed, d->draws.choice, position, PHILOX_DRAFT, (uint32_t)k);
        struct verifier v = {.ids = left.ids, .weights = left.weights, .n = (size_t)left.n};
        const int32_t token = verifier_draw(&v, u);
        verifier_reject(&v, token); // as of a fixed list: it is left out
        d->read.tokens[d->read.n] = token;
        d->read.classes[d->read.n++] = (uint8_t)class_of(best_p);
    }
}

// The most probable tokens of a row that can be drawn at the temperature; fewer where too many are alike.
static void read_source(struct model_drafter *d, const float *row, size_t n_common, float max) {
    struct draft_source *const q = &d->read.source;
    size_t n = DRAFT_SOURCE + 1;
    for (float range = 2 * least_like * d->draws.temp; n > DRAFT_SOURCE && range > 1e-3F; range /= 2)
        n = d->rowmath->select_ge(row, n_common, max - range, q->ids, DRAFT_SOURCE);
    q->n = n <= DRAFT_SOURCE ? (int32_t)n : 0;
    for (int32_t i = 0; i < q->n; i++) q->weights[i] = (double)exp_f32((row[q->ids[i]] - max) / d->draws.temp);
}

// The most probable tokens of a row, of those that both models have. None: the row is not finite.
static void read_row(drafter *base, const struct row_results *r) {
    struct model_drafter *d = (struct model_drafter *)base;
    const int32_t n_common = d->n_tokens < d->n_main_vocab ? d->n_tokens : d->n_main_vocab;
    int32_t like[MOST_LIKE];
    d->read.n = d->read.source.n = 0, d->read.p = 0;
    if (!d->reads_row || results_dropped(r, r->n - 1)) return;
    const float *const row = results_logits(r, r->n - 1);
    const float max = d->rowmath->max(row, (size_t)n_common);
    if (!isfinite(max)) return;
    const float sum = d->rowmath->sum_exp(row, (size_t)n_common, max);
    d->read.p = 1 / sum;
    if (d->draws.is_on) {
        read_source(d, row, (size_t)n_common, max);
        if (1 / sum >= d->min_p) draw_level(d, 1 / sum);
        return;
    }
    size_t n = d->rowmath->select_ge(row, (size_t)n_common, max - least_like, like, MOST_LIKE);
    if (n > MOST_LIKE) n = d->rowmath->select_ge(row, (size_t)n_common, max, like, MOST_LIKE);
    for (; n > 0 && n <= MOST_LIKE && d->read.n < MOST_WIDE;) {
        size_t best = 0;
        for (size_t i = 1; i < n; i++)
            if (row[like[i]] > row[like[best]]) best = i;
        d->read.tokens[d->read.n] = like[best];
        d->read.classes[d->read.n++] = (uint8_t)class_of(exp_f32(row[like[best]] - max) / sum);
        for (n--; best < n; best++) like[best] = like[best + 1];
    }
    if (d->read.n > 0 && 1 / sum < d->min_p) d->read.n = 0;
}

// Text behind a control token of another vocabulary is not guessed.
static bool ends_text(const struct model_drafter *d) {
    const struct vocab *const v = d->bridge.other.vocab;
    return is_bridged(d) && v->tokens[d->levels[d->n_levels - 1].tokens[0]].kind == TOKEN_CONTROL;
}

static rn_status absorb(drafter *base, const struct row_results *r, rn_error *err) {
    struct model_drafter *d = (struct model_drafter *)base;
    (void)err;
    if (!d->reads_row) return RN_OK; // the rest of the text follows
    d->n_nodes += d->n_levels > 0 && !results_dropped(r, r->n - 1);
    if (d->read.n > 0) d->levels[d->n_levels++] = d->read;
    d->is_over = d->read.n == 0 || ends_text(d) || !goes_on(d);
    return RN_OK;
}

static rn_status finish(drafter *base, rn_error *err) {
    struct model_drafter *d = (struct model_drafter *)base;
    int32_t chain[MOST_LEVELS];
    if (!is_bridged(d)) return RN_OK;
    for (int32_t i = 0; i < d->n_levels; i++) chain[i] = d->levels[i].tokens[0];
    return vocab_bridge_back(&d->bridge, d->main_text, chain, d->n_levels, d->guesses, DRAFT_MOST, &d->n_guesses,
                             err);
}

// What the text and the chain have is declared; the chain is made again.
static void suspend(drafter *base) {
    struct model_drafter *d = (struct model_drafter *)base;
    if (d->n > 0) leave(d, d->n - 1);
    d->is_over = false;
}

// ---- the draft ------------------------------------------------------------------------------------------------------

// All nodes that were drawn, level by level.
static void tell_drawn(struct model_drafter *d, struct draft *out) {
    int32_t parent = DRAFT_ROOT;
    out->n = 0;
    for (int32_t i = 0; i < d->n_levels; i++) {
        const struct level *const l = &d->levels[i];
        const int32_t first = out->n;
        for (int32_t k = 0; k < l->n; k++) {
            draft_add(out, l->tokens[k], parent, l->classes[k]);
            out->sources[out->n - 1] = &l->source;
        }
        parent = first;
    }
}

// How often the last token of a text that was cut off anywhere is the one that the whole text has there.
static const float whole_share = 0.5F;

// One is as sure as the drafter's tokens that begin within it, all of them.
static void tell_bridged(struct model_drafter *d, struct draft *out) {
    out->n = 0;
    for (int32_t i = 0; i < d->n_guesses; i++) {
        const struct bridge_guess *const g = &d->guesses[i];
        float p = 1;
        for (int32_t k = g->first; k < g->end; k++) p *= d->levels[k].p;
        if (i == d->n_guesses - 1 && g->end == d->n_levels) p *= whole_share; // a longer token may begin so
        draft_add(out, g->token, i - 1, class_of(p));
    }
}

// The nodes of all levels, those that are reached most often first. A child is never reached more often than its parent, which was made before it.
static void draft(drafter *base, int32_t n, struct draft *out) {
    struct model_drafter *const d = (struct model_drafter *)base;
    struct {
        int32_t level, token;
        double reach;
    } nodes[MOST_LEVELS * MOST_WIDE];
    int32_t n_nodes = 0, place[MOST_LEVELS];
    double chain = 1;
    (void)n;
    if (d->draws.is_on || is_bridged(d)) {
        (is_bridged(d) ? tell_bridged : tell_drawn)(d, out);
        return;
    }
    for (int32_t i = 0; i < d->n_levels; i++) {
        const struct level *const l = &d->levels[i];
        const double parent = chain;
        for (int32_t k = 0; k < l->n; k++) {
            const double reach = parent * draft_odds_of(&base->odds, l->classes[k]);
            int32_t at = n_nodes++;
            if (k == 0) chain = reach;
            for (; at > 0 && nodes[at - 1].reach < reach; at--) nodes[at] = nodes[at - 1];
            nodes[at].level = i, nodes[at].token = k, nodes[at].reach = reach;
        }
    }
    out->n = 0;
    for (int32_t i = 0; i < n_nodes; i++) {
        const int32_t level = nodes[i].level, k = nodes[i].token;
        if (k == 0) place[level] = out->n;
        draft_add(out, d->levels[level].tokens[k], level ? place[level - 1] : DRAFT_ROOT,
                  d->levels[level].classes[k]);
    }
}

static void destroy(drafter *base) {
    struct model_drafter *d = (struct model_drafter *)base;
    vocab_bridge_free(&d->bridge);
    mem_free(d);
}

static const struct drafter_ops ops = {.begin = begin,
                                       .draft = draft,
                                       .cut = cut,
                                       .destroy = destroy,
                                       .plan = plan,
                                       .wants_rows = wants_rows,
                                       .propose = propose,
                                       .read = read_row,
                                       .absorb = absorb,
                                       .finish = finish,
                                       .suspend = suspend};

rn_status model_drafter_create(const struct drafter_spec *spec, drafter **out, rn_error *err) {
    struct model_drafter *d = mem_calloc(1, sizeof *d);
    *out = NULL;
    if (!d) return fail(err, RN_E_NOMEM, "draft: out of memory");
    d->base = (drafter){.ops = &ops, .slot = spec->slot, .n_seqs = 1};
    d->rowmath = spec->rowmath, d->text = d->main_text = spec->text, d->n_prompt = spec->n_prompt;
    d->n_main_vocab = spec->n_vocab, d->min_p = spec->min_p, d->n_text_most = spec->n_text_most;
    if (spec->draws && !spec->sides) d->draws = *spec->draws;
    init_odds(&d->base);
    rn_status st = RN_OK;
    if (spec->sides) {
        int32_t n_same;
        vocab_bridge_init(&d->bridge, &spec->sides[0], &spec->sides[1]);
        st = vocab_bridge_follow(&d->bridge, spec->text, spec->n_prompt, &n_same, err);
        d->text = d->bridge.ids, d->n_prompt = (int32_t)d->bridge.n;
        d->n_main_vocab = spec->sides[1].vocab->n_tokens;
    }
    if (st == RN_OK)
        *out = &d->base;
    else
        destroy(&d->base);
    return st;
}
