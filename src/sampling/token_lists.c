// sampling/token_lists.c - see token_lists.h. Keys and structs come first in the block, since they want the stricter alignment.
#include "sampling/token_lists.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static size_t n_sequence_tokens(const struct sampling_params *p) {
    size_t n = 0;
    for (size_t i = 0; i < p->n_sequences; i++) n += p->sequences[i].n_tokens;
    return n;
}
static size_t n_tail_tokens(const struct sampling_params *p) {
    size_t n = 0;
    for (size_t i = 0; i < p->n_breakers; i++) n += p->breakers[i].n_tail;
    return n;
}

size_t token_lists_bytes(const struct sampling_params *p) {
    const size_t n_ids = p->n_banned + p->n_end_tokens + n_sequence_tokens(p) + n_tail_tokens(p);
    return p->watermark.n_keys * sizeof *p->watermark.keys + p->n_sequences * sizeof *p->sequences +
           p->n_breakers * sizeof *p->breakers + p->n_bias * sizeof *p->bias + n_ids * sizeof(int32_t);
}

static void *put(char **at, const void *from, size_t n_bytes) {
    void *const to = *at;
    if (n_bytes) memcpy(to, from, n_bytes);
    *at += n_bytes;
    return to;
}

static int by_token(const void *a, const void *b) {
    const struct dry_breaker *const x = a, *const y = b;
    return (x->token > y->token) - (x->token < y->token);
}

void token_lists_copy(struct sampling_params *p, void *block) {
    char *at = block;
    p->watermark.keys = put(&at, p->watermark.keys, p->watermark.n_keys * sizeof *p->watermark.keys);
    struct sequence_bias *const sequences = put(&at, p->sequences, p->n_sequences * sizeof *sequences);
    struct dry_breaker *const breakers = put(&at, p->breakers, p->n_breakers * sizeof *breakers);
    p->bias = put(&at, p->bias, p->n_bias * sizeof *p->bias);
    p->banned = put(&at, p->banned, p->n_banned * sizeof *p->banned);
    p->end_tokens = put(&at, p->end_tokens, p->n_end_tokens * sizeof *p->end_tokens);
    for (size_t i = 0; i < p->n_sequences; i++)
        sequences[i].tokens = put(&at, sequences[i].tokens, sequences[i].n_tokens * sizeof *sequences[i].tokens);
    for (size_t i = 0; i < p->n_breakers; i++)
        breakers[i].tail = put(&at, breakers[i].tail, breakers[i].n_tail * sizeof *breakers[i].tail);
    if (p->n_breakers) qsort(breakers, p->n_breakers, sizeof *breakers, by_token);
    p->sequences = sequences;
    p->breakers = breakers;
}

static rn_status check_count(const char *name, const void *list, size_t n, rn_error *err) {
    if (n > SAMPLING_MAX_BIAS) return fail(err, RN_E_ARG, "%s: %zu entries, limit %d", name, n, SAMPLING_MAX_BIAS);
    return n > 0 && !list ? fail(err, RN_E_ARG, "%s: NULL with %zu entries", name, n) : RN_OK;
}

static rn_status check_token(const char *name, size_t i, int32_t token, int32_t n_vocab, rn_error *err) {
    if (token >= 0 && token < n_vocab) return RN_OK;
    return fail(err, RN_E_ARG, "%s[%zu]: token %d is outside 0..%d", name, i, token, n_vocab - 1);
}

static rn_status check_bias(const char *name, size_t i, float bias, int32_t token, rn_error *err) {
    if ((bias >= -100 && bias <= 100) || bias == -INFINITY) return RN_OK;
    return fail(err, RN_E_ARG, "%s[%zu]: bias %.7g of token %d is neither in -100..100 nor -inf", name, i,
                (double)bias, token);
}

static rn_status check_ids(const char *name, const int32_t *ids, size_t n, int32_t n_vocab, rn_error *err) {
    rn_status st = n > 0 && !ids ? fail(err, RN_E_ARG, "%s: NULL with %zu entries", name, n) : RN_OK;
    for (size_t i = 0; i < n && st == RN_OK; i++) st = check_token(name, i, ids[i], n_vocab, err);
    return st;
}

static rn_status check_sequence(const struct sequence_bias *b, size_t i, int32_t n_vocab, rn_error *err) {
    if (b->n_tokens < 1 || b->n_tokens > SAMPLING_MAX_BIASED)
        return fail(err, RN_E_ARG, "sequence_bias[%zu]: %zu tokens, must have 1..%d", i, b->n_tokens,
                    SAMPLING_MAX_BIASED);
    const rn_status st = check_ids("sequence_bias", b->tokens, b->n_tokens, n_vocab, err);
    return st ? st : check_bias("sequence_bias", i, b->bias, b->tokens[b->n_tokens - 1], err);
}

rn_status token_lists_check(const struct sampling_params *p, int32_t n_vocab, rn_error *err) {
    rn_status st = check_count("logit_bias", p->bias, p->n_bias, err);
    for (size_t i = 0; i < p->n_bias && st == RN_OK; i++) {
        st = check_token("logit_bias", i, p->bias[i].token, n_vocab, err);
        if (st == RN_OK) st = check_bias("logit_bias", i, p->bias[i].bias, p->bias[i].token, err);
    }
    if (st == RN_OK) st = check_count("sequence_bias", p->sequences, p->n_sequences, err);
    for (size_t i = 0; i < p->n_sequences && st == RN_OK; i++) st = check_sequence(&p->sequences[i], i, n_vocab, err);
    if (st == RN_OK) st = check_count("banned_tokens", p->banned, p->n_banned, err);
    if (st == RN_OK) st = check_ids("banned_tokens", p->banned, p->n_banned, n_vocab, err);
    if (st == RN_OK) st = check_ids("end_tokens", p->end_tokens, p->n_end_tokens, n_vocab, err);
    for (size_t i = 0; i < p->n_breakers && st == RN_OK; i++) {
        st = check_token("dry_sequence_breakers", i, p->breakers[i].token, n_vocab, err);
        if (st == RN_OK && p->breakers[i].n_tail > SAMPLING_MAX_TAIL)
            st = fail(err, RN_E_ARG, "dry_sequence_breakers[%zu]: %zu tokens behind the first, limit %d", i,
                      p->breakers[i].n_tail, SAMPLING_MAX_TAIL);
    }
    return st;
}
