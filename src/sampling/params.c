// sampling/params.c - the table of sampling parameters (names, ranges, defaults) and their validation.
#include "sampling/sampler.h"
#include "sampling/token_lists.h"
#include <float.h>

#define FIELD(member) #member, offsetof(struct sampling_params, member)

const struct sampling_field sampling_fields[] = {
    {FIELD(temp), SAMPLING_FLOAT, 0, 5, 0.8, "temperature; 0 takes the most likely token"},
    {FIELD(top_k), SAMPLING_INT, 0, 1000000, 40, "keep the k most likely tokens; 0 is off"},
    {FIELD(top_p), SAMPLING_FLOAT, 0, 1, 0.95,
     "keep the most likely tokens whose probabilities add up to this; 1 is off"},
    {FIELD(min_p), SAMPLING_FLOAT, 0, 1, 0.05,
     "drop tokens less likely than this share of the most likely token's probability; 0 is off"},
    {FIELD(min_keep), SAMPLING_INT, 1, 1000000, 1, "minimum number of tokens that top-k, top-p and min-p keep"},
    {FIELD(repeat_penalty), SAMPLING_FLOAT, 0.01, 10, 1, "divides the logits of tokens already seen; 1 is off"},
    {FIELD(frequency_penalty), SAMPLING_FLOAT, -2, 2, 0, "subtracted once for each time a token was seen; 0 is off"},
    {FIELD(presence_penalty), SAMPLING_FLOAT, -2, 2, 0, "subtracted from each token already seen; 0 is off"},
    {FIELD(penalty_last_n), SAMPLING_INT, -1, 1000000, 64,
     "how many past tokens penalties look at; -1 is all, 0 none"},
    {FIELD(dry_multiplier), SAMPLING_FLOAT, 0, 100, 0,
     "DRY: strength of the penalty for continuing a repeated passage; 0 is off"},
    {FIELD(dry_base), SAMPLING_FLOAT, 1, 100, 1.75, "DRY: factor of the penalty for each further token of a repeat"},
    {FIELD(dry_allowed_length), SAMPLING_INT, 0, 1000000, 2, "DRY: length of repeats that are not penalized yet"},
    {FIELD(dry_penalty_last_n), SAMPLING_INT, -1, 1000000, -1,
     "DRY: how many past tokens it looks at; -1 is all, 0 none"},
    {FIELD(xtc_probability), SAMPLING_FLOAT, 0, 1, 0,
     "XTC: how often the most likely tokens are left out, if several are likely; 0 is off"},
    {FIELD(xtc_threshold), SAMPLING_FLOAT, 0, 1, 0.1,
     "XTC: probability from which a token counts as likely; above 0.5 is off"},
    {FIELD(typical_p), SAMPLING_FLOAT, 0, 1, 1,
     "keep the tokens whose surprise is nearest to the entropy, up to this probability; 1 is off"},
    {FIELD(top_n_sigma), SAMPLING_FLOAT, -1, 100, 0,
     "keep tokens at most so many standard deviations of the logits below the best; 0 is off"},
    {FIELD(dynatemp_range), SAMPLING_FLOAT, 0, 5, 0,
     "let the temperature follow the entropy, within this distance; 0 is off"},
    {FIELD(dynatemp_exponent), SAMPLING_FLOAT, 0, 10, 1, "exponent of the entropy in the dynamic temperature"},
    {FIELD(mirostat), SAMPLING_INT, 0, 2, 0,
     "hold the surprise of the text at a target, in place of other truncation; version 1 or 2, 0 is off"},
    {FIELD(mirostat_tau), SAMPLING_FLOAT, 0, 100, 5, "mirostat: the surprise aimed at, in bits"},
    {FIELD(mirostat_eta), SAMPLING_FLOAT, 0, 1, 0.1, "mirostat: learning rate"},
    {FIELD(min_tokens), SAMPLING_INT, 0, 2147483647, 0, "tokens to generate before the text may end; 0 is off"},
    {FIELD(no_repeat_ngram_size), SAMPLING_INT, 0, 1000000, 0,
     "no sequence of so many tokens occurs twice, prompt included; 0 is off"},
    {FIELD(epsilon_cutoff), SAMPLING_FLOAT, 0, 1, 0, "drop tokens less likely than this; 0 is off"},
    {FIELD(eta_cutoff), SAMPLING_FLOAT, 0, 1, 0,
     "drop tokens less likely than this, or less for a high entropy; 0 is off"},
    {FIELD(top_a), SAMPLING_FLOAT, 0, 1, 0,
     "drop tokens less likely than this times the square of the best probability; 0 is off"},
    {FIELD(top_h), SAMPLING_FLOAT, 0, 1, 0,
     "keep the most likely tokens that have this share of the entropy of the first 100; 0 is off"},
    {FIELD(tfs_z), SAMPLING_FLOAT, 0, 1, 1,
     "tail-free: cut where this share of the curvature of the sorted probabilities is reached; 1 is off"},
    {FIELD(adaptive_target), SAMPLING_FLOAT, -1, 1, -1,
     "adaptive-p: probability that chosen tokens have on average; below 0 is off"},
    {FIELD(adaptive_decay), SAMPLING_FLOAT, 0, 0.99, 0.9, "adaptive-p: weight of earlier tokens in that average"},
    {FIELD(encoder_repetition_penalty), SAMPLING_FLOAT, 0.01, 10, 1,
     "multiplies the logits of the prompt's tokens; 1 is off"},
    {FIELD(exponential_decay_start), SAMPLING_INT, 0, 1000000, 0,
     "generated tokens after which end tokens become more likely"},
    {FIELD(exponential_decay_factor), SAMPLING_FLOAT, 1, 10, 1,
     "by which power of this, for each further token; 1 is off"},
};
const size_t sampling_n_fields = sizeof sampling_fields / sizeof *sampling_fields;

void sampling_defaults(struct sampling_params *p) {
    *p = (struct sampling_params){.penalty_prompt = true, .order = SAMPLING_ORDER_LLAMA_CPP};
    for (size_t i = 0; i < sampling_n_fields; i++) {
        const struct sampling_field *f = &sampling_fields[i];
        void *member = (char *)p + f->offset;
        if (f->kind == SAMPLING_FLOAT)
            *(float *)member = (float)f->def;
        else
            *(int32_t *)member = (int32_t)f->def;
    }
}

static rn_status check_field(const struct sampling_field *f, const struct sampling_params *p, rn_error *err) {
    const void *member = (const char *)p + f->offset;
    const double v = f->kind == SAMPLING_FLOAT ? (double)*(const float *)member : (double)*(const int32_t *)member;
    // Limits are rounded to the field's type first: 0.01f is a little below 0.01, and allowed.
    const bool is_float = f->kind == SAMPLING_FLOAT;
    const double lo = is_float ? (double)(float)f->min : f->min, hi = is_float ? (double)(float)f->max : f->max;
    if (v >= lo && v <= hi) return RN_OK; // false for NaN
    return fail(err, RN_E_ARG, "%s: %.*g is outside %.7g..%.7g", f->name, is_float ? 7 : 10, v, f->min, f->max);
}

static rn_status check_watermark(const struct sampling_params *p, rn_error *err) {
    if (p->mirostat != 0 || p->adaptive_target >= 0)
        return fail(err, RN_E_ARG, "watermark: excludes mirostat and adaptive_target");
    if (p->temp < FLT_MIN)
        return fail(err, RN_E_ARG, "watermark: needs a temp above 0: what is not drawn bears none");
    return watermark_check(&p->watermark, err);
}

rn_status sampling_validate(const struct sampling_params *p, int32_t n_vocab, rn_error *err) {
    for (size_t i = 0; i < sampling_n_fields; i++) {
        const rn_status st = check_field(&sampling_fields[i], p, err);
        if (st) return st;
    }
    if ((unsigned)p->order >= SAMPLING_N_ORDERS)
        return fail(err, RN_E_ARG, "sampler_order: %d is outside 0..%d", (int)p->order, SAMPLING_N_ORDERS - 1);
    if (p->mirostat != 0 && p->adaptive_target >= 0) return fail(err, RN_E_ARG, "adaptive_target: excludes mirostat");
    const rn_status st = p->watermark.n_keys ? check_watermark(p, err) : RN_OK;
    if (st) return st;
    return token_lists_check(p, n_vocab, err);
}
