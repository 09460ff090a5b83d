// sampling/chain.c - the table of stages, and what follows from those that are on.
#include "sampling/chain.h"
#include "base/philox.h"
#include "sampling/list_stages.h"
#include "sampling/repeats.h"
#include <math.h>

// ---- edits of the row -----------------------------------------------------------------------------------------------

static bool mask_is_on(const struct sampling_params *p) { return p->masked; }
static bool mask_row(sampler *s, float max) {
    (void)max;
    s->rm->mask(s->row, s->mask, (size_t)s->n_vocab, s->row);
    return true;
}

static bool bias_is_on(const struct sampling_params *p) { return p->n_bias + p->n_sequences + p->n_banned > 0; }
static bool bias_row(sampler *s, float max) {
    (void)max;
    stage_bias(s->row, s->p.bias, s->p.n_bias);
    stage_sequence_bias(s->row, s->p.sequences, s->p.n_sequences, s->history.tokens, s->history.n);
    stage_ban(s->row, s->p.banned, s->p.n_banned);
    return true;
}

static bool encoder_is_on(const struct sampling_params *p) { return p->encoder_repetition_penalty != 1; }
static bool favor_prompt(sampler *s, float max) {
    (void)max;
    stage_encoder_penalty(s->row, s->history.tokens, s->history.n_prompt, s->p.encoder_repetition_penalty,
                          s->by_token);
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

static bool dry_is_on(const struct sampling_params *p) {
    return p->dry_multiplier != 0 && p->dry_penalty_last_n != 0;
}
static bool dry_row(sampler *s, float max) {
    (void)max;
    const struct sampling_params *const p = &s->p;
    const struct dry dry = {p->dry_multiplier, p->dry_base, p->dry_allowed_length, p->breakers, p->n_breakers};
    const size_t seen = s->history.n;
    const size_t n =
        p->dry_penalty_last_n < 0 || (size_t)p->dry_penalty_last_n > seen ? seen : (size_t)p->dry_penalty_last_n;
    stage_dry(s->row, &dry, s->history.tokens + seen - n, n, s->lengths, s->by_token);
    return true;
}

static bool ngram_is_on(const struct sampling_params *p) { return p->no_repeat_ngram_size > 0; }
static bool ban_ngrams(sampler *s, float max) {
    (void)max;
    stage_no_repeat_ngram(s->row, s->p.no_repeat_ngram_size, s->history.tokens, s->history.n, s->lengths);
    return true;
}

static bool min_tokens_is_on(const struct sampling_params *p) { return p->min_tokens > 0 && p->n_end_tokens > 0; }
static bool ban_ends(sampler *s, float max) {
    (void)max;
    if (s->n_accepted < (size_t)s->p.min_tokens) stage_ban(s->row, s->p.end_tokens, s->p.n_end_tokens);
    return true;
}

static bool decay_is_on(const struct sampling_params *p) {
    return p->exponential_decay_factor != 1 && p->n_end_tokens > 0;
}
static bool raise_ends(sampler *s, float max) {
    (void)max;
    const size_t start = (size_t)s->p.exponential_decay_start;
    if (s->n_accepted > start)
        stage_exponential_decay(s->row, s->p.end_tokens, s->p.n_end_tokens, s->p.exponential_decay_factor,
                                s->n_accepted - start);
    return true;
}

static bool caller_is_on(const struct sampling_params *p) { return p->stage != NULL; }
// Whatever it writes to a forbidden token's logit is dropped.
static bool call_caller(sampler *s, float max) {
    const bool goes_on = s->p.stage(s->p.stage_user, s->row, s->n_vocab, s->history.tokens, s->history.n);
    if (s->mask) mask_row(s, max);
    return goes_on;
}

static bool looks_for_repeats(const struct sampling_params *p) { return dry_is_on(p) || ngram_is_on(p); }
bool sampling_has_history(const struct sampling_params *p) {
    return sampling_has_penalties(p) || caller_is_on(p) || looks_for_repeats(p) || encoder_is_on(p) ||
           p->n_sequences > 0 || p->watermark.n_keys > 0;
}
size_t sampling_repeat_window(const struct sampling_params *p, size_t cap) {
    if (!looks_for_repeats(p)) return 0;
    if (ngram_is_on(p) || p->dry_penalty_last_n < 0 || (size_t)p->dry_penalty_last_n > cap) return cap;
    return (size_t)p->dry_penalty_last_n;
}
bool sampling_has_token_scratch(const struct sampling_params *p) { return dry_is_on(p) || encoder_is_on(p); }

// ---- cuts and changes of the list -----------------------------------------------------------------------------------

// With temp 0 the largest logit is taken, and mirostat is a cut of its own.
static bool is_drawn(const struct sampling_params *p) { return p->temp > 0; }
static bool has_cuts(const struct sampling_params *p) { return is_drawn(p) && p->mirostat == 0; }

static bool sigma_is_on(const struct sampling_params *p) { return has_cuts(p) && p->top_n_sigma > 0; }
static void take_sigma(sampler *s, const float *row, float max) {
    stage_take_top_n_sigma(&s->list, row, max, s->p.top_n_sigma, s->p.min_keep);
}
static void cut_sigma(sampler *s) { stage_cut_top_n_sigma(&s->list, s->p.top_n_sigma, s->p.min_keep); }

static bool top_k_is_on(const struct sampling_params *p) { return has_cuts(p) && p->top_k > 0; }
static void take_top_k(sampler *s, const float *row, float max) {
    (void)max;
    stage_take_top_k(&s->list, row, s->p.top_k, s->p.min_keep);
}
static void cut_top_k(sampler *s) { stage_cut_top_k(&s->list, s->p.top_k, s->p.min_keep); }

static bool typical_is_on(const struct sampling_params *p) { return has_cuts(p) && p->typical_p < 1; }
static void cut_typical(sampler *s) { stage_cut_typical(&s->list, s->p.typical_p, s->p.min_keep); }

static bool top_p_is_on(const struct sampling_params *p) { return has_cuts(p) && p->top_p < 1; }
static void take_top_p(sampler *s, const float *row, float max) {
    stage_take_top_p(&s->list, row, max, s->p.top_p, s->p.min_keep);
}
static void cut_top_p(sampler *s) { stage_cut_top_p(&s->list, s->p.top_p, s->p.min_keep); }
static void cut_head_top_p(sampler *s) { head_cut_top_p(&s->head, s->p.top_p); }

static bool min_p_is_on(const struct sampling_params *p) { return has_cuts(p) && p->min_p > 0; }
static void take_min_p(sampler *s, const float *row, float max) {
    stage_take_min_p(&s->list, row, max, s->p.min_p, s->p.min_keep);
}
static void cut_min_p(sampler *s) { stage_cut_min_p(&s->list, s->p.min_p, s->p.min_keep); }
static void cut_head_min_p(sampler *s) { head_cut_min_p(&s->head, s->p.min_p); }

static bool epsilon_is_on(const struct sampling_params *p) { return has_cuts(p) && p->epsilon_cutoff > 0; }
static void take_epsilon(sampler *s, const float *row, float max) {
    stage_take_epsilon(&s->list, row, max, s->p.epsilon_cutoff, s->p.min_keep);
}
static void cut_epsilon(sampler *s) { stage_cut_epsilon(&s->list, s->p.epsilon_cutoff, s->p.min_keep); }

static bool eta_is_on(const struct sampling_params *p) { return has_cuts(p) && p->eta_cutoff > 0; }
static void cut_eta(sampler *s) { stage_cut_eta(&s->list, s->p.eta_cutoff, s->p.min_keep); }

static bool top_a_is_on(const struct sampling_params *p) { return has_cuts(p) && p->top_a > 0; }
static void take_top_a(sampler *s, const float *row, float max) {
    stage_take_top_a(&s->list, row, max, s->p.top_a, s->p.min_keep);
}
static void cut_top_a(sampler *s) { stage_cut_top_a(&s->list, s->p.top_a, s->p.min_keep); }

static bool top_h_is_on(const struct sampling_params *p) { return has_cuts(p) && p->top_h > 0; }
static void take_top_h(sampler *s, const float *row, float max) {
    (void)max;
    stage_take_top_h(&s->list, row, s->p.top_h, s->p.min_keep);
}
static void cut_top_h(sampler *s) { stage_cut_top_h(&s->list, s->p.top_h, s->p.min_keep); }

static bool tail_free_is_on(const struct sampling_params *p) { return has_cuts(p) && p->tfs_z < 1; }
static void cut_tail_free(sampler *s) { stage_cut_tail_free(&s->list, s->p.tfs_z, s->p.min_keep); }

// Above one half no two tokens can be likely enough.
static bool xtc_is_on(const struct sampling_params *p) {
    return has_cuts(p) && p->xtc_probability > 0 && p->xtc_threshold <= 0.5f;
}
static void cut_xtc(sampler *s) {
    if (philox_uniform(s->p.seed, s->p.choice, s->position, PHILOX_XTC) < (double)s->p.xtc_probability)
        stage_xtc(&s->list, s->p.xtc_threshold, s->p.min_keep);
}

static bool temp_is_on(const struct sampling_params *p) {
    return is_drawn(p) && p->temp != 1 && p->dynatemp_range == 0;
}
// A temperature takes logits relative to the largest, max. Penalties behind it must see where zero was.
static void restore_level(const sampler *s, float *x, size_t n, float max, float temp) {
    const double level = fmin(fmax((double)max / (double)temp, -1e38), 1e38); // finite, whatever is added
    for (size_t i = 0; i < n && s->restores_level && temp > 0; i++) x[i] = (float)((double)x[i] + level);
}
static bool temper_row(sampler *s, float max) {
    stage_temperature(s->row, (size_t)s->n_vocab, max, s->p.temp);
    restore_level(s, s->row, (size_t)s->n_vocab, max, s->p.temp);
    return true;
}
static void temper_list(sampler *s) {
    const float max = s->list.logits[0];
    stage_temperature(s->list.logits, s->list.n, max, s->p.temp);
    restore_level(s, s->list.logits, s->list.n, max, s->p.temp);
}

static bool dynamic_temp_is_on(const struct sampling_params *p) { return is_drawn(p) && p->dynatemp_range > 0; }
static void temper_list_by_entropy(sampler *s) {
    const float max = s->list.logits[0];
    const float temp = stage_dynamic_temperature(&s->list, s->p.temp, s->p.dynatemp_range, s->p.dynatemp_exponent);
    restore_level(s, s->list.logits, s->list.n, max, temp);
}

static bool mirostat_is_on(const struct sampling_params *p) { return is_drawn(p) && p->mirostat != 0; }
static void take_mirostat(sampler *s, const float *row, float max) {
    if (s->p.mirostat == 2) {
        stage_take_mirostat(&s->list, &s->feedback, row, max);
        return;
    }
    candidates_take_from(&s->list, row, -INFINITY);
    stage_cut_mirostat(&s->list, &s->feedback, &s->p, s->n_vocab);
}
static void cut_mirostat(sampler *s) { stage_cut_mirostat(&s->list, &s->feedback, &s->p, s->n_vocab); }

static bool adaptive_is_on(const struct sampling_params *p) { return is_drawn(p) && p->adaptive_target >= 0; }
static void adapt_list(sampler *s) { stage_adaptive(&s->list, &s->feedback, &s->p); }

static bool watermark_is_on(const struct sampling_params *p) { return p->watermark.n_keys > 0; }
static bool mark_row(sampler *s, float max) {
    // What the list held is in the row, from which it is filled again.
    const struct watermark_scratch scratch = {s->list.ids, s->list.logits, s->list.keys_out};
    stage_watermark(s->row, s->n_vocab, max, &s->watermark, &s->p.watermark, &scratch);
    return true;
}

// ---- the table ------------------------------------------------------------------------------------------------------

const struct stage sampling_stages[N_STAGES] = {
    [STAGE_MASK] = {"the token mask", mask_is_on, .edit_row = mask_row, .reads_row = true, .keeps_ratios = true},
    [STAGE_BIAS] = {"logit bias", bias_is_on, .edit_row = bias_row, .keeps_ratios = true},
    [STAGE_ENCODER_PENALTY] = {"encoder repetition penalty", encoder_is_on, .edit_row = favor_prompt,
                               .keeps_ratios = true},
    [STAGE_PENALTIES] = {"penalties", sampling_has_penalties, .edit_row = penalize_row, .keeps_ratios = true},
    [STAGE_DRY] = {"DRY", dry_is_on, .edit_row = dry_row, .keeps_ratios = true},
    [STAGE_NGRAM] = {"n-grams that may not recur", ngram_is_on, .edit_row = ban_ngrams, .keeps_ratios = true},
    [STAGE_MIN_TOKENS] = {"min_tokens", min_tokens_is_on, .edit_row = ban_ends, .keeps_ratios = true},
    [STAGE_DECAY] = {"exponential decay", decay_is_on, .edit_row = raise_ends, .keeps_ratios = true},
    [STAGE_CALLER] = {"the caller's stage", caller_is_on, .edit_row = call_caller, .reads_row = true},
    [STAGE_TOP_N_SIGMA] = {"top-n-sigma", sigma_is_on, .take = take_sigma, .change_list = cut_sigma},
    [STAGE_TOP_K] = {"top-k", top_k_is_on, .take = take_top_k, .change_list = cut_top_k, .ignores_rest = true},
    [STAGE_TYPICAL] = {"typical", typical_is_on, .change_list = cut_typical},
    [STAGE_TOP_P] = {"top-p", top_p_is_on, .take = take_top_p, .change_list = cut_top_p, .cut_head = cut_head_top_p},
    [STAGE_MIN_P] = {"min-p", min_p_is_on, .take = take_min_p, .change_list = cut_min_p, .cut_head = cut_head_min_p,
                     .keeps_ratios = true, .ignores_rest = true},
    [STAGE_EPSILON] = {"epsilon", epsilon_is_on, .take = take_epsilon, .change_list = cut_epsilon},
    [STAGE_ETA] = {"eta", eta_is_on, .change_list = cut_eta},
    [STAGE_TOP_A] = {"top-a", top_a_is_on, .take = take_top_a, .change_list = cut_top_a},
    [STAGE_TOP_H] = {"top-h", top_h_is_on, .take = take_top_h, .change_list = cut_top_h},
    [STAGE_TAIL_FREE] = {"tail-free", tail_free_is_on, .change_list = cut_tail_free},
    [STAGE_XTC] = {"XTC", xtc_is_on, .change_list = cut_xtc},
    [STAGE_TEMP] = {"temperature", temp_is_on, .edit_row = temper_row, .reads_row = true, .change_list = temper_list,
                    .keeps_ratios = true},
    [STAGE_DYNAMIC_TEMP] = {"dynamic temperature", dynamic_temp_is_on, .change_list = temper_list_by_entropy},
    [STAGE_MIROSTAT] = {"mirostat", mirostat_is_on, .take = take_mirostat, .change_list = cut_mirostat},
    [STAGE_ADAPTIVE] = {"adaptive-p", adaptive_is_on, .change_list = adapt_list},
    [STAGE_WATERMARK] = {"the watermark", watermark_is_on, .edit_row = mark_row, .reads_row = true},
};

// ---- the chain ------------------------------------------------------------------------------------------------------

// The histogram knows top-p, min-p, and one temperature: the last of the edits, or the last stage. It cannot count candidates for
// min_keep.
static bool may_be_headed(const sampler *s) {
    for (size_t i = s->first_cut; i < s->n_chain; i++)
        if (!sampling_stages[s->chain[i]].cut_head && !(s->temp_is_last_stage && i + 1 == s->n_chain)) return false;
    return s->first_cut == s->n_chain || s->p.min_keep <= 1;
}

static bool has_penalties_behind_temp(const sampler *s) {
    bool has_temp = false;
    for (size_t i = 0; i < s->n_chain; i++) {
        if (has_temp && s->chain[i] == STAGE_PENALTIES) return true;
        has_temp |= s->chain[i] == STAGE_TEMP || s->chain[i] == STAGE_DYNAMIC_TEMP;
    }
    return false;
}

static bool has_temp_before(const sampler *s, size_t end) {
    for (size_t i = 0; i < end; i++)
        if (s->chain[i] == STAGE_TEMP) return true;
    return false;
}

// See the table in sampling/sampler.h. A temperature before the cut rounds relative to the largest logit, which may be forbidden.
static bool may_mask_wait(const sampler *s) {
    if (!s->is_headed)
        return !caller_is_on(&s->p) && sampling_stages[s->chain[s->first_cut]].ignores_rest &&
               !has_temp_before(s, s->first_cut);
    for (size_t i = 0; i < s->n_chain; i++)
        if (!sampling_stages[s->chain[i]].keeps_ratios) return false;
    return !has_temp_before(s, s->first_cut - s->temp_is_last_edit);
}

void sampler_build_chain(sampler *s) {
    sampler_order_stages(s);
    while (s->first_cut < s->n_chain && sampling_stages[s->chain[s->first_cut]].edit_row) s->first_cut++;
    s->temp_is_last_edit = s->first_cut > 0 && s->chain[s->first_cut - 1] == STAGE_TEMP;
    s->temp_is_last_stage = s->first_cut < s->n_chain && s->chain[s->n_chain - 1] == STAGE_TEMP;
    s->restores_level = s->p.keeps_level || has_penalties_behind_temp(s);
    s->is_headed = may_be_headed(s);
    s->mask_may_wait = may_mask_wait(s);
    s->reads_masked = s->p.masked && s->first_cut == 1 &&
                      (s->p.temp == 0 || (!s->is_headed && sampling_stages[s->chain[1]].ignores_rest));
}

bool sampler_edits_list(const sampler *s) {
    for (size_t i = s->first_cut; i < s->n_chain; i++)
        if (!sampling_stages[s->chain[i]].change_list) return true;
    return false;
}

bool sampler_has_full_list(const sampler *s) {
    return s->first_cut == s->n_chain || s->chain[s->first_cut] != STAGE_TOP_K || adaptive_is_on(&s->p) ||
           sampler_edits_list(s);
}
