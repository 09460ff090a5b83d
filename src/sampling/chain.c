// sampling/chain.c - the table of stages, and the order of those that are on.
#include "sampling/chain.h"
#include "sampling/token_mask.h"

static bool mask_is_on(const struct sampling_params *p) { return p->masked; }
static bool mask_row(sampler *s, float max) {
    (void)max;
    token_mask_apply(s->mask, s->row, s->n_vocab);
    return true;
}

static bool bias_is_on(const struct sampling_params *p) { return p->n_bias > 0; }
static bool bias_row(sampler *s, float max) {
    (void)max;
    stage_bias(s->row, s->bias, s->p.n_bias);
    return true;
}

bool sampling_has_penalties(const struct sampling_params *p) {
    return p->penalty_last_n != 0 &&
           (p->repeat_penalty != 1 || p->frequency_penalty != 0 || p->presence_penalty != 0);
}
static bool penalize_row(sampler *s, float max) {
    (void)max;
    stage_penalties(s->row, &s->history, s->p.repeat_penalty, s->p.frequency_penalty, s->p.presence_penalty);
    return true;
}

static bool caller_is_on(const struct sampling_params *p) { return p->stage != NULL; }
// Whatever it writes to a forbidden token's logit is dropped.
static bool call_caller(sampler *s, float max) {
    const bool goes_on = s->p.stage(s->p.stage_user, s->row, s->n_vocab, s->history.tokens, s->history.n);
    if (s->mask) mask_row(s, max);
    return goes_on;
}
bool sampling_has_history(const struct sampling_params *p) { return sampling_has_penalties(p) || caller_is_on(p); }

// With temp 0 the largest logit is taken, so cuts and temperature are off.
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

const struct stage sampling_stages[N_STAGES] = {
    [STAGE_MASK] = {"the token mask", mask_is_on, .edit_row = mask_row, .reads_row = true, .keeps_ratios = true},
    [STAGE_BIAS] = {"logit bias", bias_is_on, .edit_row = bias_row, .keeps_ratios = true},
    [STAGE_PENALTIES] = {"penalties", sampling_has_penalties, .edit_row = penalize_row, .keeps_ratios = true},
    [STAGE_CALLER] = {"the caller's stage", caller_is_on, .edit_row = call_caller, .reads_row = true},
    [STAGE_TOP_K] = {"top-k", top_k_is_on, .take = take_top_k, .change_list = cut_top_k},
    [STAGE_TOP_P] = {"top-p", top_p_is_on, .take = take_top_p, .change_list = cut_top_p, .cut_head = cut_head_top_p},
    [STAGE_MIN_P] = {"min-p", min_p_is_on, .take = take_min_p, .change_list = cut_min_p, .cut_head = cut_head_min_p,
                     .keeps_ratios = true},
    [STAGE_TEMP] = {"temperature", temp_is_on, .edit_row = temper_row, .reads_row = true, .change_list = temper_list,
                    .keeps_ratios = true},
};

static const enum stage_id orders[SAMPLING_N_ORDERS][N_STAGES] = {
    [SAMPLING_ORDER_LLAMA_CPP] = {STAGE_MASK, STAGE_BIAS, STAGE_PENALTIES, STAGE_CALLER, STAGE_TOP_K, STAGE_TOP_P,
                                  STAGE_MIN_P, STAGE_TEMP},
    [SAMPLING_ORDER_TRANSFORMERS] = {STAGE_MASK, STAGE_BIAS, STAGE_PENALTIES, STAGE_CALLER, STAGE_TEMP, STAGE_TOP_K,
                                     STAGE_TOP_P, STAGE_MIN_P},
};

bool sampler_temp_comes_first(const sampler *s) {
    return s->first_cut > 0 && s->chain[s->first_cut - 1] == STAGE_TEMP;
}

// See the table in sampling/sampler.h. A temperature before the cut rounds relative to the largest logit, which may be forbidden.
static bool may_mask_wait(const sampler *s) {
    if (!s->is_headed)
        return !caller_is_on(&s->p) && s->chain[s->first_cut] != STAGE_TOP_P && !sampler_temp_comes_first(s);
    for (size_t i = 0; i < s->n_chain; i++)
        if (!sampling_stages[s->chain[i]].keeps_ratios) return false;
    return true;
}

void sampler_build_chain(sampler *s) {
    for (size_t i = 0; i < N_STAGES; i++) {
        const enum stage_id id = orders[s->p.order][i];
        if (sampling_stages[id].is_on(&s->p)) s->chain[s->n_chain++] = id;
    }
    while (s->first_cut < s->n_chain && sampling_stages[s->chain[s->first_cut]].edit_row) s->first_cut++;
    // top_k has a short list of its own, and a histogram (head.h) cannot count candidates for min_keep.
    s->is_headed = s->first_cut == s->n_chain || (s->chain[s->first_cut] != STAGE_TOP_K && s->p.min_keep <= 1);
    s->mask_may_wait = may_mask_wait(s);
}
