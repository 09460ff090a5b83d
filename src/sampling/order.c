// sampling/order.c - in which order stages run: the named orders, and sequences that a request spells out.
#include "sampling/chain.h"
#include <stdio.h>
#include <string.h>

// What comes before the stages that a sequence names, but for penalties and DRY at its beginning; and behind them.
static const enum stage_id first_stages[] = {STAGE_MASK, STAGE_BIAS, STAGE_ENCODER_PENALTY},
                           fixed_stages[] = {STAGE_NGRAM, STAGE_MIN_TOKENS, STAGE_DECAY, STAGE_CALLER},
                           last_stages[] = {STAGE_MIROSTAT, STAGE_ADAPTIVE, STAGE_WATERMARK};
#define COUNT(a) (sizeof(a) / sizeof *(a))

const struct sampling_named_order sampling_orders[SAMPLING_N_ORDERS] = {
    [SAMPLING_ORDER_LLAMA_CPP] = {"llama.cpp", "penalties;dry;top_n_sigma;top_k;typical_p;top_p;min_p;epsilon;eta;"
                                               "top_a;top_h;tfs;xtc;temperature"},
    [SAMPLING_ORDER_TRANSFORMERS] = {"transformers", "penalties;dry;temperature;top_n_sigma;top_h;top_k;top_p;min_p;"
                                                     "typical_p;epsilon;eta;top_a;tfs;xtc"},
    [SAMPLING_ORDER_EXLLAMAV2] = {"exllamav2", "penalties;dry;temperature;top_n_sigma;top_k;top_p;top_a;min_p;tfs;"
                                               "typical_p;epsilon;eta;top_h;xtc"},
};

// Names in a sequence; of several for a stage the first one is listed.
static const struct {
    const char *name;
    enum stage_id stage;
} names[] = {
    {"penalties", STAGE_PENALTIES},
    {"dry", STAGE_DRY},
    {"top_n_sigma", STAGE_TOP_N_SIGMA},
    {"top_k", STAGE_TOP_K},
    {"typical_p", STAGE_TYPICAL},
    {"typ_p", STAGE_TYPICAL},
    {"top_p", STAGE_TOP_P},
    {"min_p", STAGE_MIN_P},
    {"epsilon", STAGE_EPSILON},
    {"eta", STAGE_ETA},
    {"top_a", STAGE_TOP_A},
    {"top_h", STAGE_TOP_H},
    {"tfs", STAGE_TAIL_FREE},
    {"xtc", STAGE_XTC},
    {"temperature", STAGE_TEMP},
    {"temp", STAGE_TEMP},
};

static rn_status unknown_name(const char *name, size_t n, rn_error *err) {
    char known[200] = "";
    size_t used = 0;
    for (size_t i = 0; i < COUNT(names) && used < sizeof known; i++)
        if (i == 0 || names[i].stage != names[i - 1].stage)
            used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", names[i].name);
    return fail(err, RN_E_ARG, "samplers: '%.*s' is not one of %s", (int)(n < 40 ? n : 40), name, known);
}

static rn_status add_name(struct sampling_sequence *to, const char *name, size_t n, rn_error *err) {
    size_t i = 0;
    while (i < COUNT(names) && (strlen(names[i].name) != n || memcmp(names[i].name, name, n) != 0)) i++;
    if (i == COUNT(names)) return unknown_name(name, n, err);
    for (int32_t k = 0; k < to->n; k++)
        if (to->stages[k] == names[i].stage)
            return fail(err, RN_E_ARG, "samplers: '%s' is there twice", names[i].name);
    to->stages[to->n++] = (uint8_t)names[i].stage;
    return RN_OK;
}

rn_status sampling_parse_sequence(const char *text, struct sampling_sequence *out, rn_error *err) {
    struct sampling_sequence found = {0};
    for (;; text++) {
        const size_t n = strcspn(text, ";");
        const rn_status st = add_name(&found, text, n, err);
        if (st) return st;
        text += n;
        if (!*text) break;
    }
    *out = found;
    return RN_OK;
}

static void add_stage(sampler *s, enum stage_id id) {
    // The temperature's place is that of the dynamic one as well, of which one at most is on.
    if (sampling_stages[id].is_on(&s->p)) s->chain[s->n_chain++] = id;
    if (id == STAGE_TEMP) add_stage(s, STAGE_DYNAMIC_TEMP);
}

static void add_stages(sampler *s, const enum stage_id *stages, size_t n) {
    for (size_t i = 0; i < n; i++) add_stage(s, stages[i]);
}

void sampler_order_stages(sampler *s) {
    struct sampling_sequence named;
    const struct sampling_sequence *const order = s->p.sequence.n ? &s->p.sequence : &named;
    int32_t i = 0;
    if (order == &named && sampling_parse_sequence(sampling_orders[s->p.order].stages, &named, NULL)) return;
    add_stages(s, first_stages, COUNT(first_stages));
    for (; i < order->n && (order->stages[i] == STAGE_PENALTIES || order->stages[i] == STAGE_DRY); i++)
        add_stage(s, (enum stage_id)order->stages[i]);
    add_stages(s, fixed_stages, COUNT(fixed_stages));
    for (; i < order->n; i++) add_stage(s, (enum stage_id)order->stages[i]);
    add_stages(s, last_stages, COUNT(last_stages));
}
