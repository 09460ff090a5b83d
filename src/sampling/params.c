// sampling/params.c - the table of sampling parameters (names, ranges, defaults) and their validation.
#include "sampling/sampler.h"
#include <math.h>

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

static rn_status check_bias(const struct logit_bias *b, size_t i, int32_t n_vocab, rn_error *err) {
    if (b->token < 0 || b->token >= n_vocab)
        return fail(err, RN_E_ARG, "logit_bias[%zu]: token %d is outside 0..%d", i, b->token, n_vocab - 1);
    if (!(b->bias >= -100 && b->bias <= 100) && b->bias != -INFINITY)
        return fail(err, RN_E_ARG, "logit_bias[%zu]: bias %.7g of token %d is neither in -100..100 nor -inf", i,
                    (double)b->bias, b->token);
    return RN_OK;
}

rn_status sampling_validate(const struct sampling_params *p, int32_t n_vocab, rn_error *err) {
    for (size_t i = 0; i < sampling_n_fields; i++) {
        const rn_status st = check_field(&sampling_fields[i], p, err);
        if (st) return st;
    }
    if ((unsigned)p->order >= SAMPLING_N_ORDERS)
        return fail(err, RN_E_ARG, "sampler_order: %d is outside 0..%d", (int)p->order, SAMPLING_N_ORDERS - 1);
    if (p->n_bias > SAMPLING_MAX_BIAS)
        return fail(err, RN_E_ARG, "logit_bias: %zu entries, limit %d", p->n_bias, SAMPLING_MAX_BIAS);
    if (p->n_bias > 0 && !p->bias) return fail(err, RN_E_ARG, "logit_bias: NULL with %zu entries", p->n_bias);
    for (size_t i = 0; i < p->n_bias; i++) {
        const rn_status st = check_bias(&p->bias[i], i, n_vocab, err);
        if (st) return st;
    }
    return RN_OK;
}
