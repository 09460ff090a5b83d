// sampling/sampler.c - the chain of stages that are on, and the draw from what they leave.
#include "sampling/sampler.h"
#include "base/mem.h"
#include "base/philox.h"
#include "sampling/head.h"
#include "sampling/stages.h"
#include <assert.h>
#include <float.h>
#include <math.h>
#include <string.h>

enum stage_id {
    STAGE_BIAS,
    STAGE_PENALTIES,
    STAGE_CALLER,
    STAGE_TOP_K,
    STAGE_TOP_P,
    STAGE_MIN_P,
    STAGE_TEMP,
    N_STAGES
};

enum {
    BLOCK = 8192
}; // numbers, of which the largest has its place looked for while they are in the first-level cache

struct sampler {
    struct sampling_params p; // p.bias is bias
    struct logit_bias *bias;  // owned
    const struct rowmath *rm;
    int32_t n_vocab;
    enum stage_id chain[N_STAGES]; // the stages that are on, in their order
    size_t n_chain, first_cut;     // chain[0..first_cut) edit the row, chain[first_cut] takes the list
    bool is_headed;                // a draw needs no list: a head of the order does
    float *row;                    // [n_vocab] the edited logits; NULL when nothing edits them
    size_t max_block;              // of the row checked last: where the block of its first largest begins
    struct history history;
    struct candidates list; // all zero when greedy
    struct head head;
};

// A stage may work on a row, or take a list from a row, or change a list, or a head; the functions below fill what applies.
struct stage {
    const char *name;
    bool (*is_on)(const struct sampling_params *p);
    bool (*edit_row)(sampler *s, float max); // false: the caller's function says stop
    bool reads_row;                          // the whole of it: what it gets must be in order
    void (*take)(sampler *s, const float *row, float max);
    void (*change_list)(sampler *s);
    void (*cut_head)(sampler *s);
};

static bool bias_is_on(const struct sampling_params *p) { return p->n_bias > 0; }
static bool bias_row(sampler *s, float max) {
    (void)max;
    stage_bias(s->row, s->bias, s->p.n_bias);
    return true;
}

static bool penalties_are_on(const struct sampling_params *p) {
    return p->penalty_last_n != 0 &&
           (p->repeat_penalty != 1 || p->frequency_penalty != 0 || p->presence_penalty != 0);
}
static bool penalize_row(sampler *s, float max) {
    (void)max;
    stage_penalties(s->row, &s->history, s->p.repeat_penalty, s->p.frequency_penalty, s->p.presence_penalty);
    return true;
}

static bool caller_is_on(const struct sampling_params *p) { return p->stage != NULL; }
static bool call_caller(sampler *s, float max) {
    (void)max;
    return s->p.stage(s->p.stage_user, s->row, s->n_vocab, s->history.tokens, s->history.n);
}

// temp 0 takes the largest: nothing is cut, nothing is divided.
static bool top_k_is_on(const struct sampling_params *p) { return p->temp > 0 && p->top_k > 0; }
static void take_top_k(sampler *s, const float *row, float max) {
    (void)max;
    stage_take_top_k(&s->list, row, s->p.top_k, s->p.min_keep);
}
static void cut_top_k(sampler *s) { stage_cut_top_k(&s->list, s->p.top_k, s->p.min_keep); }

static bool top_p_is_on(const struct sampling_params *p) { return p->temp > 0 && p->top_p < 1; }
static void take_top_p(sampler *s, const float *row, float max) {
    stage_take_top_p(&s->list, row, max, s->p.top_p, s->p.min_keep);
}
static void cut_top_p(sampler *s) { stage_cut_top_p(&s->list, s->p.top_p, s->p.min_keep); }
static void cut_head_top_p(sampler *s) { head_cut_top_p(&s->head, s->p.top_p); }

static bool min_p_is_on(const struct sampling_params *p) { return p->temp > 0 && p->min_p > 0; }
static void take_min_p(sampler *s, const float *row, float max) {
    stage_take_min_p(&s->list, row, max, s->p.min_p, s->p.min_keep);
}
static void cut_min_p(sampler *s) { stage_cut_min_p(&s->list, s->p.min_p, s->p.min_keep); }
static void cut_head_min_p(sampler *s) { head_cut_min_p(&s->head, s->p.min_p); }

static bool temp_is_on(const struct sampling_params *p) { return p->temp > 0 && p->temp != 1; }
static bool temper_row(sampler *s, float max) {
    stage_temperature(s->row, (size_t)s->n_vocab, max, s->p.temp);
    return true;
}
static void temper_list(sampler *s) { stage_temperature(s->list.logits, s->list.n, s->list.logits[0], s->p.temp); }

static const struct stage stages[N_STAGES] = {
    [STAGE_BIAS] = {"logit bias", bias_is_on, .edit_row = bias_row},
    [STAGE_PENALTIES] = {"penalties", penalties_are_on, .edit_row = penalize_row},
    [STAGE_CALLER] = {"the caller's stage", caller_is_on, .edit_row = call_caller, .reads_row = true},
    [STAGE_TOP_K] = {"top-k", top_k_is_on, .take = take_top_k, .change_list = cut_top_k},
    [STAGE_TOP_P] = {"top-p", top_p_is_on, .take = take_top_p, .change_list = cut_top_p, .cut_head = cut_head_top_p},
    [STAGE_MIN_P] = {"min-p", min_p_is_on, .take = take_min_p, .change_list = cut_min_p, .cut_head = cut_head_min_p},
    [STAGE_TEMP] = {"temperature", temp_is_on, .edit_row = temper_row, .reads_row = true, .change_list = temper_list},
};

static const enum stage_id orders[SAMPLING_N_ORDERS][N_STAGES] = {
    [SAMPLING_ORDER_LLAMA_CPP] = {STAGE_BIAS, STAGE_PENALTIES, STAGE_CALLER, STAGE_TOP_K, STAGE_TOP_P, STAGE_MIN_P,
                                  STAGE_TEMP},
    [SAMPLING_ORDER_TRANSFORMERS] = {STAGE_BIAS, STAGE_PENALTIES, STAGE_CALLER, STAGE_TEMP, STAGE_TOP_K, STAGE_TOP_P,
                                     STAGE_MIN_P},
};

static void build_chain(sampler *s) {
    for (size_t i = 0; i < N_STAGES; i++) {
        const enum stage_id id = orders[s->p.order][i];
        if (stages[id].is_on(&s->p)) s->chain[s->n_chain++] = id;
    }
    while (s->first_cut < s->n_chain && stages[s->chain[s->first_cut]].edit_row) s->first_cut++;
    // Top-k has its short list. min_keep is a count, which a head does not know.
    s->is_headed = s->first_cut == s->n_chain || (s->chain[s->first_cut] != STAGE_TOP_K && s->p.min_keep <= 1);
}
static bool temp_comes_first(const sampler *s) {
    return s->first_cut > 0 && s->chain[s->first_cut - 1] == STAGE_TEMP;
}

// The parameters as the stages see them: what reaches over the vocabulary is cut to it, and a denormal temperature, which
// computing threads read as 0, is 0.
static void settle(struct sampling_params *p, int32_t n_vocab) {
    if (p->temp < FLT_MIN) p->temp = 0;
    if (p->min_keep > n_vocab) p->min_keep = n_vocab;
    if (p->top_k >= n_vocab) p->top_k = 0;
}

static rn_status take_memory(sampler *s, int32_t n_ctx, rn_error *err) {
    const struct sampling_params *p = &s->p;
    if (p->n_bias > 0) {
        if (!(s->bias = mem_alloc(p->n_bias * sizeof *s->bias))) goto nomem;
        memcpy(s->bias, p->bias, p->n_bias * sizeof *s->bias);
        s->p.bias = s->bias;
    }
    if (s->first_cut > 0 && !(s->row = mem_alloc((size_t)s->n_vocab * sizeof *s->row))) goto nomem;
    if (penalties_are_on(p) || caller_is_on(p)) {
        const size_t cap = (size_t)n_ctx + 1; // the last token drawn is seen, though never evaluated
        const size_t window = !penalties_are_on(p) ? 0 : p->penalty_last_n < 0 ? cap : (size_t)p->penalty_last_n;
        const rn_status st = token_history_init(&s->history, cap, window, p->penalty_prompt, s->n_vocab, err);
        if (st) return st;
    }
    if (p->temp == 0) return RN_OK;
    const bool short_list = s->first_cut < s->n_chain && s->chain[s->first_cut] == STAGE_TOP_K;
    const int32_t k = p->top_k > p->min_keep ? p->top_k : p->min_keep;
    return candidates_init(&s->list, s->rm, s->n_vocab, short_list ? k : 0, err);
nomem:
    return fail(err, RN_E_NOMEM, "sampler: out of memory for a vocabulary of %d", s->n_vocab);
}

rn_status sampler_create(const struct sampling_params *p, const struct rowmath *rm, int32_t n_vocab, int32_t n_ctx,
                         sampler **out, rn_error *err) {
    assert(n_vocab > 0 && n_ctx > 0);
    *out = NULL;
    rn_status st = sampling_validate(p, n_vocab, err);
    if (st) return st;
    if (n_vocab > CANDIDATES_MAX_VOCAB)
        return fail(err, RN_E_LIMIT, "sampler: a vocabulary of %d, the limit is %d", n_vocab, CANDIDATES_MAX_VOCAB);
    sampler *s = mem_alloc(sizeof *s);
    if (!s) return fail(err, RN_E_NOMEM, "sampler: out of memory");
    *s = (sampler){.p = *p, .rm = rm, .n_vocab = n_vocab};
    settle(&s->p, n_vocab);
    build_chain(s);
    st = take_memory(s, n_ctx, err);
    if (st) {
        sampler_destroy(s);
        return st;
    }
    *out = s;
    return RN_OK;
}

void sampler_destroy(sampler *s) {
    if (!s) return;
    mem_free(s->bias);
    mem_free(s->row);
    token_history_free(&s->history);
    candidates_free(&s->list);
    mem_free(s);
}

void sampler_see_prompt(sampler *s, const int32_t *tokens, size_t n) { token_history_prompt(&s->history, tokens, n); }
void sampler_accept(sampler *s, int32_t token) { token_history_accept(&s->history, token); }
void sampler_rewind(sampler *s, size_t n) { token_history_rewind(&s->history, n); }

// The largest of a row; NaN where anything is.
static float find_max(sampler *s, const float *row) {
    const size_t n = (size_t)s->n_vocab;
    float max = -INFINITY;
    s->max_block = 0;
    for (size_t i = 0; i < n && !isnan(max); i += BLOCK) {
        const float m = s->rm->max(row + i, n - i < BLOCK ? n - i : BLOCK);
        if (!(m <= max)) max = m, s->max_block = i;
    }
    return max;
}

// The largest logit, or the reason why the row cannot be drawn from. One pass: the maximum is NaN where anything is.
// after: the stage that made the row so; NULL for the model's own.
static rn_status check_row(sampler *s, const float *row, const struct stage *after, float *max, rn_error *err) {
    *max = find_max(s, row);
    if (isfinite(*max)) return RN_OK;
    const char *logits = after ? "logits after " : "logits", *name = after ? after->name : "";
    if (*max == -INFINITY)
        return fail(err, RN_E_FORMAT, "%s%s: none of %d tokens is left, all are -inf", logits, name, s->n_vocab);
    int32_t bad = 0;
    while (bad < s->n_vocab - 1 && !isnan(row[bad]) && row[bad] != INFINITY) bad++;
    return fail(err, RN_E_FORMAT, "%s%s: token %d is %s", logits, name, bad,
                isnan(row[bad]) ? "not a number" : "+inf");
}

// The first n_edits stages, on a copy of the row. Bias and penalties leave a number that is none, or too many infinities, to be seen
// after them: unless it must be known which stage it was (`each`), the row is looked at only where one reads all of it, and at the end.
static rn_status run_edits(sampler *s, const float *logits, size_t n_edits, bool each, float *max, rn_error *err) {
    rn_status st = RN_OK;
    if (each || stages[s->chain[0]].reads_row) st = check_row(s, logits, NULL, max, err);
    if (st) return st;
    memcpy(s->row, logits, (size_t)s->n_vocab * sizeof *s->row);
    for (size_t i = 0; i < n_edits; i++) {
        const struct stage *const stage = &stages[s->chain[i]];
        if (!stage->edit_row(s, *max)) return fail(err, RN_E_CANCELLED, "%s: asked to end the stream", stage->name);
        if (each || i + 1 == n_edits || stages[s->chain[i + 1]].reads_row) st = check_row(s, s->row, stage, max, err);
        if (st) return st;
    }
    return RN_OK;
}

// Runs stages before the first cut. *row: the edited logits, or `logits` where nothing edits them; *max: their largest.
static rn_status edit_row(sampler *s, const float *logits, size_t n_edits, const float **row, float *max,
                          rn_error *err) {
    *row = n_edits > 0 ? s->row : logits;
    if (n_edits == 0) return check_row(s, logits, NULL, max, err);
    const bool each = caller_is_on(&s->p); // a stage of the caller's runs once, whatever comes of it
    const rn_status st = run_edits(s, logits, n_edits, each, max, err);
    return st && !each ? run_edits(s, logits, n_edits, true, max, err) : st;
}

static void run_cuts(sampler *s, const float *row, float max) {
    stages[s->chain[s->first_cut]].take(s, row, max);
    for (size_t i = s->first_cut + 1; i < s->n_chain; i++) stages[s->chain[i]].change_list(s);
}

static int32_t draw_from_list(sampler *s, const float *row, float max, double u) {
    run_cuts(s, row, max);
    return s->list.ids[candidates_find(&s->list, draw_target(u, candidates_weigh(&s->list)))];
}

static int32_t draw_from_head(sampler *s, const float *row, float max, double u) {
    const bool first = temp_comes_first(s);
    head_begin(&s->head, &s->list, row, max, first ? s->p.temp : 0);
    for (size_t i = s->first_cut; i < s->n_chain; i++)
        if (stages[s->chain[i]].cut_head) stages[s->chain[i]].cut_head(s);
    return head_draw(&s->head, first || !temp_is_on(&s->p) ? 0 : s->p.temp, u);
}

// Of the row checked last.
static int32_t first_equal(const sampler *s, const float *row, float max) {
    const size_t at = s->max_block, left = (size_t)s->n_vocab - at;
    int32_t first = 0;
    s->rm->select_ge(row + at, left < BLOCK ? left : BLOCK, max, &first, 1);
    return (int32_t)at + first;
}

rn_status sampler_draw(sampler *s, const float *logits, uint32_t position, int32_t *token, rn_error *err) {
    const float *row;
    float max;
    const size_t n_edits = s->first_cut - (s->is_headed && temp_comes_first(s) ? 1 : 0); // heads see to temperatures
    const rn_status st = edit_row(s, logits, n_edits, &row, &max, err);
    if (st) return fail_in(err, st, "position %u", position);
    const double u = philox_uniform(s->p.seed, s->p.choice, position, PHILOX_SAMPLE);
    *token = s->p.temp == 0 ? first_equal(s, row, max)
             : s->is_headed ? draw_from_head(s, row, max, u)
                            : draw_from_list(s, row, max, u);
    return RN_OK;
}

rn_status sampler_distribution(sampler *s, const float *logits, int32_t *ids, float *probs, size_t max_n, size_t *n,
                               rn_error *err) {
    const float *row;
    float max;
    const rn_status st = edit_row(s, logits, s->first_cut, &row, &max, err);
    if (st) return st;
    *n = 0;
    if (max_n == 0) return RN_OK;
    if (s->p.temp == 0) {
        *n = 1;
        ids[0] = first_equal(s, row, max);
        probs[0] = 1;
        return RN_OK;
    }
    struct candidates *list = &s->list;
    if (s->first_cut < s->n_chain)
        run_cuts(s, row, max);
    else
        candidates_take_from(list, row, -INFINITY);
    const double total = (double)candidates_weigh(list);
    *n = list->n < max_n ? list->n : max_n;
    for (size_t i = 0; i < *n; i++) {
        ids[i] = list->ids[i];
        probs[i] = (float)((double)candidates_weight(list, i) / total);
    }
    return RN_OK;
}
