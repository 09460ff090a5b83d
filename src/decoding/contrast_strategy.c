// decoding/contrast_strategy.c - sampling from what the model says more than somebody who knows less: contrastive decoding with an amateur
// model (Li et al. 2022, 2210.15097), and DoLa with the model's own head on early layers (Chuang et al. 2023, 2309.03883).
//
// Both add to the "sample" strategy. Where a row of the model has the logits that a token is to be drawn from, rows of a helper slot are
// asked for first, in the same round: of the amateur the text's last token, of the model's head one for each early layer. The mixed row
// (sampling/contrast.h) takes the place of the model's, so all stages, masks and banned strings are those of sampling. Log-probabilities
// are the model's own.
//
// DoLa compares with the early layer whose distribution is furthest from the last one's (contrast_divergence()).
#include "base/mem.h"
#include "decoding/early_layers.h"
#include "decoding/strategies.h"
#include "sampling/contrast.h"
#include <math.h>
#include <string.h>

struct contrast_strategy {
    strategy base;
    strategy *inner;               // owned: "sample"
    const struct token_gate *gate; // lent; NULL: all tokens may be drawn
    const struct rowmath *rowmath;
    struct contrast p;
    const char *other; // its name in errors
    int32_t n_vocab, n_embd, n_prompt, n_text;
    const int32_t *text; // lent
    int32_t slot, seq;   // of the helper
    bool has_logits;     // the last row that was proposed
    // The model's row is there, and waits for the helper's: what the inner strategy is to see.
    bool asks_helper;
    size_t n;
    int32_t at;
    float *own, *mixed; // [n_vocab] the model's row, and what came of it

    // DoLa.
    int32_t n_early, taps[EARLY_LAYERS_MOST]; // as lm_tap() numbers them
    int32_t next;                             // layer whose rows follow
    float *vectors;                           // [n_early][n_embd] what the taps hold; NULL: there is an amateur
    struct lm_input inputs[EARLY_LAYERS_MOST];
    float *furthest; // [n_vocab] the row of the layer that is furthest so far
    double distance;
    float *scratch; // [2][n_vocab]

    bool is_whole; // all of the helper's rows have been read
    const struct emitter *out;
    rn_status status;
    rn_error error;
};

static struct contrast_strategy *self(strategy *base) { return (struct contrast_strategy *)base; }
static bool is_dola(const struct contrast_strategy *s) { return s->vectors != NULL; }

static rn_status begin(strategy *base, rn_error *err) {
    struct contrast_strategy *s = self(base);
    const struct strategy_env *const env = base->env;
    rn_status st = RN_OK;
    s->inner->env = env;
    if (s->inner->ops->begin) st = s->inner->ops->begin(s->inner, err);
    return st == RN_OK
               ? env->ops->seq_open(env->user, s->slot, s->text, is_dola(s) ? 0 : s->n_prompt - 1, &s->seq, err)
               : st;
}

static int32_t prompt_from(const strategy *base) {
    const strategy *const inner = ((const struct contrast_strategy *)base)->inner;
    return inner->ops->prompt_from(inner);
}

static uint32_t also_wants(const struct contrast_strategy *s, uint32_t want) {
    return want | (is_dola(s) && want & LM_WANT_LOGITS ? LM_WANT_TAPS : 0);
}

static uint32_t prompt_wants(const strategy *base, int32_t at) {
    const struct contrast_strategy *s = (const struct contrast_strategy *)base;
    return also_wants(s, s->inner->ops->prompt_wants(s->inner, at));
}

static int32_t next_slot(const strategy *base, int32_t n_rounds) {
    const struct contrast_strategy *s = (const struct contrast_strategy *)base;
    return s->asks_helper && n_rounds > 0 ? s->slot : 0;
}

// ---- rows -----------------------------------------------------------------------------------------------------------

// As many early layers as there is room for.
static void propose_layers(struct contrast_strategy *s, struct row_list *rows) {
    const size_t most = rows->cap < rows->n_logits ? rows->cap : rows->n_logits;
    for (int32_t i = s->next; i < s->n_early && rows->n < most && rows->n < (size_t)rows->n_scratch; i++) {
        s->inputs[i] = (struct lm_input){.vector = s->vectors + (size_t)i * (size_t)s->n_embd, .see_to = -1};
        rows->rows[rows->n++] = (struct lm_row){.seq = s->seq,
                                                .token = s->text[s->n_text - 1],
                                                .parent = LM_ROOT,
                                                .want = LM_WANT_LOGITS,
                                                .input = &s->inputs[i]};
    }
}

// The amateur has all of the text but its last token.
static void propose_amateur(struct contrast_strategy *s, struct row_list *rows) {
    rows->rows[rows->n++] =
        (struct lm_row){.seq = s->seq, .token = s->text[s->n_text - 1], .parent = LM_APPEND, .want = LM_WANT_LOGITS};
}

static rn_status propose(strategy *base, struct row_list *rows, rn_error *err) {
    struct contrast_strategy *s = self(base);
    rows->n = 0;
    if (s->asks_helper && rows->n_rounds == 0) return RN_OK; // a step of the main model goes first
    if (s->asks_helper) {
        (is_dola(s) ? propose_layers : propose_amateur)(s, rows);
        return RN_OK;
    }
    const rn_status st = s->inner->ops->propose(s->inner, rows, err);
    s->has_logits = rows->n > 0 && rows->rows[rows->n - 1].want & LM_WANT_LOGITS;
    for (size_t i = 0; i < rows->n; i++) rows->rows[i].want = also_wants(s, rows->rows[i].want);
    return st;
}

// ---- results --------------------------------------------------------------------------------------------------------

static bool has_row(const struct contrast_strategy *s, const struct row_results *r) {
    return r->at == RESULTS_OF_PROPOSAL ? s->has_logits : r->at + (int32_t)r->n == s->n_prompt;
}

static struct row_results for_inner(const struct contrast_strategy *s) {
    return (struct row_results){.n = s->n, .at = s->at, .last_logits = s->mixed};
}

static void read_inner(struct contrast_strategy *s, const struct row_results *r) {
    if (s->inner->ops->read) s->inner->ops->read(s->inner, r);
}

static void keep_row(struct contrast_strategy *s, const struct row_results *r) {
    const size_t last = r->n - 1, n_embd = (size_t)s->n_embd;
    memcpy(s->own, results_logits(r, last), (size_t)s->n_vocab * sizeof *s->own);
    for (int32_t i = 0; i < s->n_early; i++)
        memcpy(s->vectors + (size_t)i * n_embd, lm_tap(r->model, r->first + last, s->taps[i]),
               n_embd * sizeof *s->vectors);
}

// A layer whose row is no distribution is left to contrast_mix(), if it is the first one, and out of it else.
static void look_at_layers(struct contrast_strategy *s, const struct row_results *r) {
    for (size_t i = 0; i < r->n; i++, s->next++) {
        const float *const row = results_logits(r, i);
        const double distance =
            s->n_early > 1 ? contrast_divergence(s->rowmath, s->own, row, s->n_vocab, s->scratch) : 0;
        if (s->next > 0 && !(distance > s->distance)) continue;
        s->distance = distance;
        memcpy(s->furthest, row, (size_t)s->n_vocab * sizeof *row);
    }
}

// Where none of the tokens that the contrast leaves may follow, the row is the model's own.
static void leave_allowed(struct contrast_strategy *s) {
    const struct token_gate *const gate = s->gate;
    uint32_t n_tried;
    if (!gate || !gate->begin(gate->user, &n_tried)) return;
    for (int32_t i = 0; i < s->n_vocab; i++) {
        bool is_allowed = true;
        if (s->mixed[i] == -INFINITY) continue;
        // What fails here fails again in the draw.
        if (gate->rule.allows(gate->rule.user, i, &is_allowed, NULL) != RN_OK || is_allowed) return;
    }
    memcpy(s->mixed, s->own, (size_t)s->n_vocab * sizeof *s->mixed);
}

static void read_helper(struct contrast_strategy *s, const struct row_results *r) {
    if (is_dola(s)) look_at_layers(s, r);
    s->is_whole = !is_dola(s) || s->next == s->n_early;
    if (!s->is_whole) return;
    s->status = contrast_mix(s->rowmath, &s->p, s->own, is_dola(s) ? s->furthest : results_logits(r, 0), s->other,
                             s->n_vocab, s->mixed, &s->error);
    if (s->status != RN_OK) return;
    const struct row_results theirs = for_inner(s);
    leave_allowed(s);
    read_inner(s, &theirs);
}

static void read_rows(strategy *base, const struct row_results *r) {
    struct contrast_strategy *s = self(base);
    s->status = RN_OK;
    if (s->asks_helper)
        read_helper(s, r);
    else if (has_row(s, r))
        keep_row(s, r);
    else
        read_inner(s, r);
}

// ---- what the inner strategy emits ----

static bool may_emit(void *user) {
    const struct emitter *const out = ((const struct contrast_strategy *)user)->out;
    return out->ops->may_emit(out->user);
}

static enum emit_answer emit(void *user, const struct emission *e) {
    struct contrast_strategy *s = user;
    struct emission theirs = *e;
    if (theirs.logits == s->mixed) theirs.logits = s->own;
    const enum emit_answer answer = s->out->ops->emit(s->out->user, &theirs);
    s->n_text++;
    return answer;
}

// The main sequence ends before the text's last token where more than one was taken back; so does the amateur's.
static struct rewound rewound(void *user) {
    struct contrast_strategy *s = user;
    const struct strategy_env *const env = s->base.env;
    const struct rewound w = s->out->ops->rewound(s->out->user);
    s->n_text -= w.n_back;
    if (w.n_back == 1) leave_allowed(s); // the same row is drawn from again, without the token
    if (!is_dola(s) && w.n_back > 1) env->ops->seq_truncate(env->user, s->seq, s->n_text - 1);
    return w;
}

static rn_status absorb_inner(struct contrast_strategy *s, const struct row_results *r, const struct emitter *out,
                              rn_error *err) {
    static const struct emitter_ops ops = {.may_emit = may_emit, .emit = emit, .rewound = rewound};
    s->out = out;
    return s->inner->ops->absorb(s->inner, r, &(struct emitter){&ops, s}, err);
}

static rn_status absorb(strategy *base, const struct row_results *r, const struct emitter *out, rn_error *err) {
    struct contrast_strategy *s = self(base);
    const struct strategy_env *const env = base->env;
    if (!base->ops->read) read_rows(base, r);
    if (!s->asks_helper && !has_row(s, r)) return absorb_inner(s, r, out, err);
    if (!s->asks_helper) {
        s->asks_helper = out->ops->may_emit(out->user);
        s->n = r->n, s->at = r->at;
        s->next = 0;
        return RN_OK;
    }
    const rn_status st = is_dola(s) ? env->ops->seq_keep(env->user, s->seq, NULL, 0, err) : RN_OK;
    if (s->status != RN_OK) return fail(err, s->status, "%s", s->error.text);
    if (st != RN_OK || !s->is_whole) return st;
    s->asks_helper = false;
    const struct row_results theirs = for_inner(s);
    return absorb_inner(s, &theirs, out, err);
}

static void destroy(strategy *base) {
    struct contrast_strategy *s = self(base);
    strategy_destroy(s->inner);
    mem_free(s->own);
    mem_free(s->mixed);
    mem_free(s->vectors);
    mem_free(s->furthest);
    mem_free(s->scratch);
    mem_free(s);
}

#define COMMON                                                                                                       \
    .begin = begin, .prompt_from = prompt_from, .prompt_wants = prompt_wants, .next_slot = next_slot,                \
    .propose = propose, .absorb = absorb, .destroy = destroy
static const struct strategy_ops parallel_ops = {COMMON, .read = read_rows}, step_thread_ops = {COMMON};

// What both have. Tokens that have to follow are evaluated one by one, since each takes a round of the helper.
static rn_status create(const struct strategy_spec *spec, struct contrast_strategy **out, rn_error *err) {
    const struct strategy_options *const o = spec->options;
    const size_t n_vocab = (size_t)spec->n_vocab;
    struct strategy_spec inner = *spec;
    struct contrast_strategy *s = mem_calloc(1, sizeof *s);
    if (!s) return fail(err, RN_E_NOMEM, "contrast: out of memory");
    *out = s;
    *s = (struct contrast_strategy){
        .base = {.ops = spec->draws_on_step_thread ? &step_thread_ops : &parallel_ops,
                 .can_rewind = true,
                 .needs.n_helper_seqs = 1},
        .gate = spec->gate,
        .rowmath = spec->rowmath,
        .p = {.weight = o->amateur_weight, .temperature = o->amateur_temperature, .relative_top = o->relative_top},
        .n_vocab = spec->n_vocab,
        .n_embd = spec->n_embd,
        .n_prompt = spec->n_prompt,
        .n_text = spec->n_prompt,
        .text = spec->text,
        .own = mem_alloc(n_vocab * sizeof *s->own),
        .mixed = mem_alloc(n_vocab * sizeof *s->mixed)};
    if (!s->own || !s->mixed)
        return fail(err, RN_E_NOMEM, "contrast: out of memory for a vocabulary of %d", spec->n_vocab);
    inner.n_drafters = 0;
    inner.tells_each_row = true;
    return sample_strategy_create(&inner, &s->inner, err);
}

static rn_status hand_over(struct contrast_strategy *s, rn_status st, strategy **out) {
    if (st == RN_OK)
        *out = &s->base;
    else if (s)
        destroy(&s->base);
    return st;
}

int32_t contrastive_decoding_helper_model(const struct strategy_options *o) { return o->amateur_model; }

rn_status contrastive_decoding_strategy_create(const struct strategy_spec *spec, strategy **out, rn_error *err) {
    struct contrast_strategy *s = NULL;
    *out = NULL;
    const struct strategy_slot *const amateur = &spec->slots[spec->helper_slot];
    if (amateur->n_vocab < spec->n_vocab)
        return fail(err, RN_E_ARG, "amateur_model: has %d tokens, the request's model %d", amateur->n_vocab,
                    spec->n_vocab);
    if (amateur->n_ctx < spec->n_text_most - 1)
        return fail(err, RN_E_LIMIT, "amateur_model: a context of %d, the text may become %d tokens long",
                    amateur->n_ctx, spec->n_text_most - 1);
    const rn_status st = create(spec, &s, err);
    if (s) s->slot = spec->helper_slot, s->other = "the amateur model";
    return hand_over(s, st, out);
}

// ---- DoLa -----------------------------------------------------------------------------------------------------------

static int32_t head_slot(const struct strategy_spec *spec) {
    int32_t i = spec->n_slots - 1;
    while (i > 0 && spec->slots[i].part != STRATEGY_PART_HEAD) i--;
    return i;
}

static rn_status choose_layers(struct contrast_strategy *s, const struct strategy_spec *spec, rn_error *err) {
    const struct strategy_slot *const own = &spec->slots[0];
    const char *const text = spec->options->dola_layers;
    int32_t layers[EARLY_LAYERS_MOST];
    const rn_status st =
        early_layers_read(text ? text : "low", own->n_layer, own->ties_head, layers, &s->n_early, err);
    for (int32_t i = 0; i < s->n_early && st == RN_OK; i++) {
        int32_t k = 0;
        while (k < own->n_early && own->early[k] != layers[i]) k++;
        if (k == own->n_early)
            return fail(
                err, RN_E_ARG,
                "dola_layers: the model was not opened with layer %d (--early-layers, rn_model_add_early_layers())",
                layers[i]);
        s->taps[i] = own->first_early + k;
    }
    return st;
}

static rn_status take_memory(struct contrast_strategy *s, rn_error *err) {
    const size_t n_vocab = (size_t)s->n_vocab;
    s->vectors = mem_alloc((size_t)s->n_early * (size_t)s->n_embd * sizeof *s->vectors);
    s->furthest = mem_alloc(n_vocab * sizeof *s->furthest);
    s->scratch = mem_alloc(2 * n_vocab * sizeof *s->scratch);
    return s->vectors && s->furthest && s->scratch
               ? RN_OK
               : fail(err, RN_E_NOMEM, "dola: out of memory for %d layers of %d numbers", s->n_early, s->n_embd);
}

rn_status dola_strategy_create(const struct strategy_spec *spec, strategy **out, rn_error *err) {
    struct contrast_strategy *s = NULL;
    *out = NULL;
    const int32_t slot = head_slot(spec);
    if (slot == 0)
        return fail(
            err, RN_E_UNSUPPORTED,
            "dola: the model was opened without early layers (--early-layers low, rn_model_add_early_layers())");
    rn_status st = create(spec, &s, err);
    if (st == RN_OK) st = choose_layers(s, spec, err);
    if (st == RN_OK) st = take_memory(s, err);
    if (s) s->slot = slot, s->other = "an early layer", s->p.weight = s->p.temperature = 1;
    return hand_over(s, st, out);
}
