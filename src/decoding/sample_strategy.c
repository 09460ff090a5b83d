// decoding/sample_strategy.c - greedy decoding and sampling: one row in, one token out; with classifier-free guidance two rows, of the
// negative prompt and of the prompt; with drafts as many for each guess, and a token out for each that was right, and one more.
//
// With guidance the prompt's last row is evaluated again, in one step with the negative prompt's last row. A row of the main sequence
// has that of the negative one right before it, so that rows that are left out for lack of memory are left out in pairs.
//
// Guesses are verified by drawing each token as it would be drawn without them ("sample and match"): the row of a token is taken from the guess that
// equals it, as long as there is one. What is random is keyed by position, so tokens and bits are those without guesses.
//
// Tokens that have to follow (token_gate.forced) are emitted without a draw, behind the token that was drawn, and evaluated with it in one
// step. What a step or the reader has no room for waits, so that the tokens do not depend on either.
#include "base/mem.h"
#include "base/philox.h"
#include "decoding/draft/drafts.h"
#include "decoding/draft/typical.h"
#include "decoding/strategies.h"
#include "sampling/guidance.h"
#include <assert.h>

enum {
    MOST_FORCED = 64,
    MOST_PENDING = DRAFT_MOST + 1 + MOST_FORCED, // of a step: right guesses, one that is drawn, and what follows it
};

struct sample_strategy {
    strategy base;
    sampler *sampler;              // lent
    const struct token_gate *gate; // lent; NULL: all tokens may be drawn
    int32_t n_prompt, n_vocab;
    struct draft_figures *figures; // lent; NULL without drafters
    bool has_begun;                // the prompt's last row has been absorbed
    // Emitted, not evaluated yet. None before the first answer and after the last; several where tokens were forced, or banned strings took back
    // some of the tokens of a step.
    int32_t pending[MOST_PENDING];
    int32_t n_pending;
    int32_t forced[MOST_FORCED];
    int32_t n_forced, next_forced; // those from next_forced on have to follow and are not emitted yet
    bool asks_forced;              // the gate is asked before the next draw
    bool one_by_one;               // forced tokens have rows of their own
    int32_t n_room;                // tokens that the next absorb may emit
    uint32_t position;             // of the next token to be drawn, among the generated ones
    // What was drawn after the last rows and not emitted yet, and why nothing further could be. All but the last are accepted by the sampler.
    int32_t drawn[1 + DRAFT_MOST];
    int32_t n_drawn;
    struct drawn_from from; // what the last one was drawn from, where it is to be told; else all zero
    struct drafts *drafts;  // NULL: no guesses
    int32_t n_certain;      // positions of the text whose rows drafters have seen, or could have
    enum draft_verify verify;
    struct draft_draws draws; // keys of the draws
    struct typical_path path; // of VERIFY_TYPICAL: what is accepted of the step's guesses
    int32_t n_on_path;        // of its nodes: drawn. 0: it is not known yet
    int32_t *ids;             // [n_vocab] of verification by chance, and what follows; NULL without
    float *probs;
    double *weights;
    const struct guidance *guidance; // lent; NULL: none
    const struct rowmath *rowmath;
    float *mixed;      // [n_vocab] of the two rows; NULL without guidance
    int32_t negative;  // the negative prompt's sequence; STRATEGY_MAIN without guidance
    int32_t n_emitted; // tokens of the answer, the pending one among them
    rn_status status;
    rn_error error;
};

static rn_status begin(strategy *base, rn_error *err) {
    struct sample_strategy *s = (struct sample_strategy *)base;
    const struct strategy_env *env = base->env;
    const struct guidance *g = s->guidance;
    rn_status st = RN_OK;
    if (g) st = env->ops->seq_open(env->user, 0, g->tokens, g->n_tokens - 1, &s->negative, err);
    return st == RN_OK && s->drafts ? drafts_begin(s->drafts, env, err) : st;
}

static int32_t prompt_from(const strategy *base) {
    const struct sample_strategy *s = (const struct sample_strategy *)base;
    return s->has_begun ? s->n_prompt : s->n_prompt - 1;
}

static uint32_t prompt_wants(const strategy *base, int32_t at) {
    const struct sample_strategy *s = (const struct sample_strategy *)base;
    const bool is_last = at == s->n_prompt - 1;
    return (is_last ? LM_WANT_LOGITS : 0) | (s->drafts ? drafts_wants(s->drafts) : 0);
}

static int32_t n_text(const struct sample_strategy *s) { return s->n_prompt + s->n_emitted; }

// Rows that a token has in a step.
static int32_t n_each(const struct sample_strategy *s) { return s->guidance ? 2 : 1; }

// ---- rows -----------------------------------------------------------------------------------------------------------

static int32_t next_slot(const strategy *base, int32_t n_rounds) {
    const struct sample_strategy *s = (const struct sample_strategy *)base;
    return s->drafts && n_rounds > 0 ? drafts_slot(s->drafts) : 0;
}

// The rows are of a drafter's model.
static bool asks_helper(const struct sample_strategy *s) { return s->drafts && drafts_slot(s->drafts) != 0; }

// A token is evaluated, and so committed to KV, only once it is known that the stream continues after it.
static rn_status propose(strategy *base, struct row_list *rows, rn_error *err) {
    struct sample_strategy *s = (struct sample_strategy *)base;
    const uint32_t also = s->drafts ? drafts_wants(s->drafts) : 0;
    assert(rows->cap >= 1);
    rows->n = 0;
    if (asks_helper(s)) return drafts_propose(s->drafts, rows, err);
    s->n_room = rows->n_tokens;
    if (s->n_pending == 0) return RN_OK;
    for (int32_t i = 0; i < s->n_pending && rows->n + (size_t)n_each(s) <= rows->cap; i++) {
        const uint32_t logits = i == s->n_pending - 1 ? LM_WANT_LOGITS : 0;
        if (s->guidance)
            rows->rows[rows->n++] = (struct lm_row){
                .seq = s->negative,
                .token = s->n_emitted ? s->pending[i] : s->guidance->tokens[s->guidance->n_tokens - 1],
                .parent = LM_APPEND,
                .want = logits};
        rows->rows[rows->n++] =
            (struct lm_row){.seq = STRATEGY_MAIN, .token = s->pending[i], .parent = LM_APPEND, .want = also | logits};
    }
    if (s->drafts && rows->n == (size_t)(n_each(s) * s->n_pending)) drafts_add_rows(s->drafts, rows, s->negative);
    return RN_OK;
}

// ---- the rows of a step: that of the last certain token, then one for each node of the draft ----

// The draft of the step; NULL: it had none.
static const struct draft *draft_of(const struct sample_strategy *s, const struct row_results *r) {
    const struct draft *d = s->drafts && r->at == RESULTS_OF_PROPOSAL ? drafts_proposed(s->drafts) : NULL;
    return d && d->n ? d : NULL;
}

// Rows behind those of the draft, which a drafter learns from.
static size_t n_more_rows(const struct sample_strategy *s, const struct row_results *r) {
    return s->drafts && r->at == RESULTS_OF_PROPOSAL ? (size_t)drafts_more_rows(s->drafts)->n : 0;
}

static size_t row_of(const struct sample_strategy *s, const struct row_results *r, int32_t node) {
    const struct draft *const d = draft_of(s, r);
    const size_t last = r->n - 1 - n_more_rows(s, r);
    return d ? last - (size_t)(n_each(s) * (d->n - 1 - node)) : last;
}

static bool has_node(const struct sample_strategy *s, const struct row_results *r, int32_t node) {
    const size_t row = row_of(s, r, node);
    return !results_dropped(r, row) && !(s->guidance && results_dropped(r, row - 1));
}

// The node of the draft that a token drawn behind `node` is; DRAFT_NONE: it is none that was evaluated.
static int32_t next_node(const struct sample_strategy *s, const struct row_results *r, int32_t node, int32_t token) {
    const struct draft *const d = draft_of(s, r);
    const int32_t child = d ? draft_child(d, node, token) : DRAFT_NONE;
    return child != DRAFT_NONE && has_node(s, r, child) ? child : DRAFT_NONE;
}

// ---- verification by chance ----

static bool is_guess_behind(const struct sample_strategy *s, const struct row_results *r, int32_t node, int32_t i) {
    const struct draft *const d = draft_of(s, r);
    return d->parents[i] == node && has_node(s, r, i);
}

static int32_t draw_by_rejection(struct sample_strategy *s, const struct row_results *r, int32_t node, size_t n,
                                 uint32_t n_tried) {
    const struct draft *const d = draft_of(s, r);
    const struct draft_draws *const key = &s->draws;
    struct verifier v;
    int32_t first = node + 1;
    while (!is_guess_behind(s, r, node, first)) first++;
    verifier_begin(&v, s->ids, s->probs, s->weights, n, d->sources[first]);
    for (int32_t i = first; i < d->n; i++) {
        if (!is_guess_behind(s, r, node, i)) continue;
        const double u = philox_uniform_again(key->seed, key->choice, s->position, PHILOX_ACCEPT,
                                              n_tried * DRAFT_MOST + (uint32_t)(i - first));
        if (u < verifier_chance(&v, d->tokens[i])) return d->tokens[i];
        verifier_reject(&v, d->tokens[i]);
    }
    return verifier_draw(&v, philox_uniform_again(key->seed, key->choice, s->position, PHILOX_SAMPLE, n_tried));
}

// ---- typical acceptance ----

struct typical_place {
    struct sample_strategy *s;
    const struct row_results *r;
    const uint64_t *mask; // of what follows where the search begins; NULL: all
    uint32_t n_tried;
    int32_t n_ahead; // tokens behind that place which the sampler has seen
};

static bool was_evaluated(void *user, int32_t node) {
    const struct typical_place *const t = user;
    return has_node(t->s, t->r, node);
}

// The logits that a token behind a node is drawn from.
static const float *logits_behind(struct sample_strategy *s, const struct row_results *r, int32_t node) {
    const float *const logits = results_logits(r, row_of(s, r, node));
    if (!s->guidance) return logits;
    s->status = guidance_mix(s->rowmath, logits, results_logits(r, row_of(s, r, node) - 1), s->n_vocab,
                             s->guidance->scale, s->mixed, &s->error);
    return s->mixed;
}

static rn_status law_behind(void *user, int32_t node, const int32_t *tokens, int32_t n, struct typical_law *out,
                            rn_error *err) {
    struct typical_place *const t = user;
    struct sample_strategy *const s = t->s;
    const uint64_t *mask = n == 0 ? t->mask : NULL;
    bool ends = false;
    rn_status st = RN_OK;
    if (n > 0 && s->gate) st = s->gate->look(s->gate->user, tokens, n, &mask, &ends, err);
    if (st != RN_OK || ends) return st;
    const float *const logits = logits_behind(s, t->r, node);
    if (s->status != RN_OK) return s->status; // err is s->error, which has it
    sampler_rewind(s->sampler, (size_t)t->n_ahead);
    for (int32_t i = 0; i < n; i++) sampler_accept(s->sampler, tokens[i]);
    t->n_ahead = n;
    sampler_set_tried(s->sampler, n == 0 ? t->n_tried : 0);
    *out = (struct typical_law){.ids = s->ids, .probs = s->probs};
    return sampler_distribution_masked(s->sampler, logits, mask, s->ids, s->probs, (size_t)s->n_vocab, &out->n, err);
}

// The next guess on the path of typical ones; DRAFT_NONE: none behind the node is typical.
static int32_t next_typical(struct sample_strategy *s, const struct row_results *r, int32_t node,
                            const uint64_t *mask, uint32_t n_tried) {
    struct typical_place t = {.s = s, .r = r, .mask = mask, .n_tried = n_tried};
    const struct typical_rows rows = {draft_of(s, r), was_evaluated, law_behind, &t};
    const bool is_on_it = s->n_on_path > 0 && s->path.nodes[s->n_on_path - 1] == node && n_tried == 0;
    if (!is_on_it) {
        s->n_on_path = 0;
        s->status = typical_find(&rows, node, &s->path, &s->error);
        sampler_rewind(s->sampler, (size_t)t.n_ahead);
        sampler_set_tried(s->sampler, n_tried);
    }
    if (s->status != RN_OK || s->n_on_path == s->path.n) return DRAFT_NONE;
    return rows.draft->tokens[s->path.nodes[s->n_on_path++]];
}

// False: no guess behind the node was evaluated, or none is typical, and a token is drawn as without guesses.
static bool draw_verified(struct sample_strategy *s, const struct row_results *r, int32_t node, const float *logits,
                          const struct token_rule *rule, uint32_t n_tried) {
    const struct draft *const d = draft_of(s, r);
    const uint64_t *mask = NULL;
    int32_t i = node + 1, token = DRAFT_NONE;
    size_t n = 0;
    while (d && i < d->n && !is_guess_behind(s, r, node, i)) i++;
    if (!d || i >= d->n) return false;
    if (rule) s->status = rule->mask(rule->user, &mask, &s->error);
    if (s->status == RN_OK && s->verify == VERIFY_REJECT)
        s->status = sampler_distribution_masked(s->sampler, logits, mask, s->ids, s->probs, (size_t)s->n_vocab, &n,
                                                &s->error);
    if (s->status == RN_OK)
        token = s->verify == VERIFY_REJECT ? draw_by_rejection(s, r, node, n, n_tried)
                                           : next_typical(s, r, node, mask, n_tried);
    if (s->status != RN_OK) return true;
    if (token != DRAFT_NONE) s->drawn[s->n_drawn] = token;
    return token != DRAFT_NONE;
}

// Draws the token behind a node and adds it to s->drawn.
static void draw(struct sample_strategy *s, const struct row_results *r, int32_t node) {
    uint32_t n_tried = 0;
    const uint64_t *mask = NULL;
    const struct token_rule *const rule = s->gate && s->gate->begin(s->gate->user, &n_tried) ? &s->gate->rule : NULL;
    s->status = RN_OK;
    const float *const logits = logits_behind(s, r, node);
    if (s->status != RN_OK) return;
    sampler_set_tried(s->sampler, n_tried);
    if (s->from.ids && rule) s->status = rule->mask(rule->user, &mask, &s->error);
    if (s->from.ids && s->status == RN_OK)
        s->status = sampler_distribution_masked(s->sampler, logits, mask, s->from.ids, s->from.probs,
                                                (size_t)s->n_vocab, &s->from.n, &s->error);
    if (s->status == RN_OK && !(s->verify != VERIFY_MATCH && draw_verified(s, r, node, logits, rule, n_tried)))
        s->status = sampler_draw_ruled(s->sampler, logits, s->position, rule, &s->drawn[s->n_drawn], &s->error);
    if (s->status == RN_OK) s->n_drawn++, s->position++;
    if (s->status != RN_OK && n_tried)
        (void)fail_in(&s->error, s->status, "%u token%s tried here and taken back", n_tried,
                      n_tried == 1 ? " was" : "s were");
}

static bool is_prompt_of_guidance(const struct sample_strategy *s, const struct row_results *r) {
    return s->guidance && r->at != RESULTS_OF_PROPOSAL; // absorb has it evaluated again
}

// Were all pending tokens evaluated, or the prompt's last row? Else the rest of them follow in the next step.
static bool has_logits(const struct sample_strategy *s, const struct row_results *r) {
    if (r->at != RESULTS_OF_PROPOSAL) return r->at + (int32_t)r->n == s->n_prompt;
    return r->n >= (size_t)(n_each(s) * s->n_pending);
}

// ---- tokens that have to follow ----

static bool has_forced(const struct sample_strategy *s) { return s->next_forced < s->n_forced; }

// False: it failed just now. A draw that failed may still have tokens before it to be emitted.
static bool ask_forced(struct sample_strategy *s) {
    size_t n = 0;
    if (!s->asks_forced || s->status != RN_OK || has_forced(s)) return true;
    s->asks_forced = false;
    s->n_forced = s->next_forced = 0;
    s->status = s->gate->forced(s->gate->user, s->forced, MOST_FORCED, &n, &s->error);
    if (s->status == RN_OK) s->n_forced = (int32_t)n;
    return s->status == RN_OK;
}

static int32_t take_forced(struct sample_strategy *s) {
    const int32_t token = s->forced[s->next_forced++];
    if (s->from.ids) s->from.ids[0] = token, s->from.probs[0] = 1, s->from.n = 1;
    if (!has_forced(s)) s->asks_forced = s->n_forced == MOST_FORCED; // there may be more
    sampler_accept(s->sampler, token);
    s->position++;
    return token;
}

// ---- reading ----

static bool is_of_helper(const struct sample_strategy *s, const struct row_results *r) {
    return r->at == RESULTS_OF_PROPOSAL && asks_helper(s);
}

// Draws what can be drawn before anything is emitted: masks, and what tokens were drawn from, are asked for one by one.
static void read_rows(strategy *base, const struct row_results *r) {
    struct sample_strategy *s = (struct sample_strategy *)base;
    if (is_of_helper(s, r)) {
        drafts_read(s->drafts, r);
        return;
    }
    s->n_drawn = 0;
    s->n_on_path = 0;
    s->status = RN_OK;
    if (is_prompt_of_guidance(s, r) || !has_logits(s, r)) return;
    if (n_more_rows(s, r) > 0) drafts_read_more(s->drafts, r);
    if (!ask_forced(s) || has_forced(s) || s->verify != VERIFY_MATCH) return;
    draw(s, r, DRAFT_ROOT);
    for (int32_t node = DRAFT_ROOT; s->status == RN_OK && !s->gate && !s->from.ids;) {
        const int32_t token = s->drawn[s->n_drawn - 1];
        if ((node = next_node(s, r, node, token)) == DRAFT_NONE) break;
        sampler_accept(s->sampler, token);
        draw(s, r, node);
    }
}

// ---- absorb ----

// Takes back what the engine took back, of which the last n_emitted tokens were emitted after this step. True: nothing but the token just
// emitted, so the same row is drawn from again; else the tokens before it that were not kept are evaluated again. What was taken back is drawn.
static bool go_back(struct sample_strategy *s, const struct rewound *w, const int32_t *emitted, int32_t n_emitted) {
    sampler_rewind(s->sampler, (size_t)w->n_back);
    s->position -= (uint32_t)w->n_back;
    s->n_forced = s->next_forced = 0;
    s->asks_forced = false;
    if (w->n_back == 1) return true;
    s->n_emitted -= w->n_back - 1;
    s->n_pending = n_emitted - (w->n_back - 1);
    for (int32_t i = 0; i < s->n_pending; i++) s->pending[i] = emitted[i];
    if (s->n_pending < 1) s->n_pending = 1, s->pending[0] = w->last;
    if (s->drafts) drafts_cut(s->drafts, n_text(s));
    if (s->guidance)
        s->base.env->ops->seq_truncate(s->base.env->user, s->negative,
                                       s->guidance->n_tokens + s->n_emitted - s->n_pending);
    return false;
}

// Drafters read results of the step's rows: first those of tokens that are certain. With guidance the prompt's last one comes again.
static void show_certain(struct sample_strategy *s, const struct row_results *r) {
    const bool is_prompt = r->at != RESULTS_OF_PROPOSAL;
    const int32_t each = is_prompt ? 1 : n_each(s), n_rows = (int32_t)r->n / each;
    int32_t places[MOST_PENDING];
    struct certain_rows rows = {.results = r,
                                .at = is_prompt ? r->at : n_text(s) - s->n_pending,
                                .n = is_prompt || n_rows < s->n_pending ? n_rows : s->n_pending};
    if (!s->drafts) return;
    for (int32_t i = 0; each > 1 && i < rows.n; i++) places[i] = i * each + each - 1, rows.rows = places;
    if (is_prompt_of_guidance(s, r) && rows.at + rows.n == s->n_prompt) rows.n--;
    s->n_certain = rows.at + rows.n;
    drafts_observe(s->drafts, &rows);
}

// Then those of the guesses that were right.
static void show_path(struct sample_strategy *s, const struct row_results *r, const int32_t *path, int32_t n) {
    int32_t places[DRAFT_MOST];
    for (int32_t i = 0; i < n; i++) places[i] = (int32_t)row_of(s, r, path[i]);
    drafts_observe(s->drafts, &(struct certain_rows){.results = r, .rows = places, .at = s->n_certain, .n = n});
}

// Guesses from the prediction that were evaluated.
static void count_predicted(struct sample_strategy *s, const struct row_results *r) {
    const struct draft *const d = draft_of(s, r);
    for (int32_t i = 0; d && i < d->n; i++) s->figures->n_predicted += d->predicted[i] && has_node(s, r, i);
}

// Emits tokens: drawn ones as long as there are rows, and those that have to follow as far as there is room.
static rn_status emit_tokens(struct sample_strategy *s, const struct row_results *r, const struct emitter *out,
                             int32_t room, rn_error *err) {
    const struct strategy_env *const env = s->base.env;
    int32_t emitted[MOST_PENDING], path[DRAFT_MOST], n_emitted = 0, n_path = 0, n_drawn = 0, node = DRAFT_ROOT;
    enum emit_answer answer = EMIT_NEXT;
    count_predicted(s, r);
    // n_path of them have rows; the token behind `node` can be drawn until one has none.
    for (bool has_row = true; has_row || (has_forced(s) && !s->one_by_one && room > 0 && n_emitted < MOST_PENDING);
         room--) {
        const bool is_forced = has_forced(s);
        if (!is_forced && n_drawn >= s->n_drawn && s->status == RN_OK) draw(s, r, node);
        if (s->status != RN_OK && (is_forced || n_drawn >= s->n_drawn))
            return fail(err, s->status, "%s", s->error.text);
        const int32_t token = is_forced ? take_forced(s) : s->drawn[n_drawn++];
        if (!is_forced && n_drawn == s->n_drawn) sampler_accept(s->sampler, token);
        const int32_t child = has_row ? next_node(s, r, node, token) : DRAFT_NONE;
        const struct emission e = {.token = token,
                                   .logits = has_row ? results_logits(r, row_of(s, r, node)) : NULL,
                                   .from = s->from.ids ? &s->from : NULL,
                                   .drafted = child != DRAFT_NONE ? n_path + 1 : 0};
        answer = out->ops->emit(out->user, &e);
        if (answer == EMIT_REWIND) {
            const struct rewound w = out->ops->rewound(out->user);
            if (!go_back(s, &w, emitted, n_emitted)) return RN_OK;
            if (!is_forced) s->n_drawn = --n_drawn; // the same row again
            answer = EMIT_NEXT;
            continue;
        }
        if (child != DRAFT_NONE) s->figures->n_predicted_right += draft_of(s, r)->predicted[child];
        if (answer == EMIT_END) break;
        emitted[n_emitted++] = token;
        s->n_emitted++;
        has_row = child != DRAFT_NONE;
        if (has_row) path[n_path++] = node = child;
        if (!is_forced) s->asks_forced = s->gate && s->gate->forced;
        if (!ask_forced(s)) return fail(err, s->status, "%s", s->error.text);
    }
    for (int32_t i = n_path; answer == EMIT_NEXT && i < n_emitted; i++) s->pending[s->n_pending++] = emitted[i];
    if (!draft_of(s, r) && n_more_rows(s, r) == 0) return RN_OK;
    show_path(s, r, path, n_path);
    const rn_status st = env->ops->seq_keep(env->user, STRATEGY_MAIN, path, n_path, err);
    return st == RN_OK && s->guidance ? env->ops->seq_keep(env->user, s->negative, path, n_path, err) : st;
}

static rn_status absorb(strategy *base, const struct row_results *r, const struct emitter *out, rn_error *err) {
    struct sample_strategy *s = (struct sample_strategy *)base;
    if (!base->ops->read) read_rows(base, r);
    if (is_of_helper(s, r)) return drafts_absorb(s->drafts, r, err);
    show_certain(s, r);
    if (!has_logits(s, r)) {
        if (r->at != RESULTS_OF_PROPOSAL) return RN_OK; // of the prompt, for drafters alone
        const int32_t n_done = (int32_t)r->n / n_each(s);
        s->n_pending -= n_done;
        for (int32_t i = 0; i < s->n_pending; i++) s->pending[i] = s->pending[i + n_done];
        return RN_OK;
    }
    s->n_pending = 0;
    s->has_begun = true;
    if (!out->ops->may_emit(out->user)) return RN_OK;
    if (is_prompt_of_guidance(s, r)) {
        base->env->ops->seq_truncate(base->env->user, STRATEGY_MAIN, s->n_prompt - 1);
        s->pending[0] = s->guidance->last, s->n_pending = 1;
        return RN_OK;
    }
    const rn_status st = emit_tokens(s, r, out, r->at == RESULTS_OF_PROPOSAL ? s->n_room : 1, err);
    return st == RN_OK && s->drafts && s->n_pending > 0 ? drafts_choose(s->drafts, n_text(s), err) : st;
}

static void suspend(strategy *base) {
    struct sample_strategy *s = (struct sample_strategy *)base;
    if (s->drafts) drafts_suspend(s->drafts);
}

static void destroy(strategy *base) {
    struct sample_strategy *s = (struct sample_strategy *)base;
    mem_free(s->from.ids);
    mem_free(s->from.probs);
    mem_free(s->mixed);
    mem_free(s->ids);
    mem_free(s->probs);
    mem_free(s->weights);
    drafts_destroy(s->drafts);
    mem_free(s);
}

#define COMMON                                                                                                       \
    .begin = begin, .prompt_from = prompt_from, .prompt_wants = prompt_wants, .next_slot = next_slot,                \
    .propose = propose, .suspend = suspend, .absorb = absorb, .destroy = destroy
static const struct strategy_ops parallel_ops = {COMMON, .read = read_rows}, step_thread_ops = {COMMON};

rn_status sample_strategy_create(const struct strategy_spec *spec, strategy **out, rn_error *err) {
    struct sample_strategy *s = mem_alloc(sizeof *s);
    *out = NULL;
    if (!s) return fail(err, RN_E_NOMEM, "sample strategy: out of memory");
    *s = (struct sample_strategy){
        .base = {.ops = spec->draws_on_step_thread ? &step_thread_ops : &parallel_ops, .can_rewind = true},
        .sampler = spec->sampler,
        .gate = spec->gate,
        .guidance = spec->guidance,
        .rowmath = spec->rowmath,
        .n_prompt = spec->n_prompt,
        .figures = spec->figures,
        .n_vocab = spec->n_vocab,
        .asks_forced = spec->gate && spec->gate->forced,
        .one_by_one = spec->tells_each_row || spec->guidance,
        .position = (uint32_t)spec->n_given};
    if (spec->n_drafters > 0) {
        const rn_status st = drafts_create(spec, &s->drafts, err);
        if (st != RN_OK) {
            destroy(&s->base);
            return st;
        }
        const size_t n = (size_t)spec->n_vocab;
        if (spec->verify != VERIFY_MATCH &&
            (!(s->ids = mem_alloc(n * sizeof *s->ids)) || !(s->probs = mem_alloc(n * sizeof *s->probs)) ||
             !(s->weights = mem_alloc(n * sizeof *s->weights)))) {
            destroy(&s->base);
            return fail(err, RN_E_NOMEM, "sample strategy: out of memory for a vocabulary of %d", spec->n_vocab);
        }
        s->verify = spec->verify, s->draws = spec->draws;
        s->base.has_scratch = true;
        s->base.drafter = drafts_guesser(s->drafts);
        s->base.n_more_rows = &drafts_more_rows(s->drafts)->n;
        s->base.n_prompt_looked = drafts_n_prompt_rows(s->drafts);
        s->base.needs.n_helper_seqs = drafts_n_seqs(s->drafts);
    }
    if (spec->guidance) {
        s->base.needs.n_seqs = s->base.needs.n_results = 2;
        if (!(s->mixed = mem_alloc((size_t)spec->n_vocab * sizeof *s->mixed))) {
            destroy(&s->base);
            return fail(err, RN_E_NOMEM, "sample strategy: out of memory for a vocabulary of %d", spec->n_vocab);
        }
    }
    if (spec->tells_drawn_from) {
        s->from.ids = mem_alloc((size_t)spec->n_vocab * sizeof *s->from.ids);
        s->from.probs = mem_alloc((size_t)spec->n_vocab * sizeof *s->from.probs);
        if (!s->from.ids || !s->from.probs) {
            destroy(&s->base);
            return fail(err, RN_E_NOMEM, "sample strategy: out of memory for %d candidates", spec->n_vocab);
        }
    }
    *out = &s->base;
    return RN_OK;
}
