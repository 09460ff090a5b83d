// engine/sampler_lists.c - see sampler_lists.h.
#include "engine/sampler_lists.h"
#include "base/mem.h"
#include "engine/engine.h"
#include "engine/params.h"
#include <string.h>

static rn_status no_memory(const char *name, rn_error *err) {
    return fail(err, RN_E_NOMEM, "%s: out of memory", name);
}

static rn_status check_count(const char *name, const void *list, size_t n, size_t most, rn_error *err) {
    if (n > most) return fail(err, RN_E_ARG, "%s: %zu entries, limit %zu", name, n, most);
    return n > 0 && !list ? fail(err, RN_E_ARG, "%s: NULL", name) : RN_OK;
}

static rn_status make_bias(struct sampler_lists *l, const rn_sampling *from, struct sampling_params *p,
                           rn_error *err) {
    const size_t n = from->n_logit_bias;
    const rn_status st = check_count("logit_bias", from->logit_bias, n, SAMPLING_MAX_BIAS, err);
    if (st || n == 0) return st;
    if (!(l->bias = mem_calloc(n, sizeof *l->bias))) return no_memory("logit_bias", err);
    for (size_t i = 0; i < n; i++)
        l->bias[i] = (struct logit_bias){from->logit_bias[i].token, from->logit_bias[i].bias};
    p->bias = l->bias, p->n_bias = n;
    return RN_OK;
}

static rn_status make_sequences(struct sampler_lists *l, const rn_sampling *from, struct sampling_params *p,
                                rn_error *err) {
    const size_t n = from->n_sequence_bias;
    const rn_status st = check_count("sequence_bias", from->sequence_bias, n, SAMPLING_MAX_BIAS, err);
    if (st || n == 0) return st;
    if (!(l->sequences = mem_calloc(n, sizeof *l->sequences))) return no_memory("sequence_bias", err);
    for (size_t i = 0; i < n; i++) {
        const rn_sequence_bias *const b = &from->sequence_bias[i];
        l->sequences[i] = (struct sequence_bias){b->tokens, b->n_tokens, b->bias};
    }
    p->sequences = l->sequences, p->n_sequences = n;
    return RN_OK;
}

static void add_end(struct sampler_lists *l, struct sampling_params *p, int32_t id, int32_t n_vocab) {
    if (id >= n_vocab) return;
    for (size_t i = 0; i < p->n_end_tokens; i++)
        if (l->ends[i] == id) return;
    l->ends[p->n_end_tokens++] = id;
}

// The tokens that end this stream.
static rn_status make_ends(struct sampler_lists *l, const rn_model *m, const rn_request *r, int32_t n_vocab,
                           struct sampling_params *p, rn_error *err) {
    const size_t n_model = r->ignore_eos ? 0 : (size_t)m->n_end;
    if (p->min_tokens == 0 && p->exponential_decay_factor == 1) return RN_OK;
    if (!(l->ends = mem_calloc(n_model + r->n_stop_tokens + 1, sizeof *l->ends))) return no_memory("min_tokens", err);
    p->end_tokens = l->ends;
    for (size_t i = 0; i < n_model; i++) add_end(l, p, m->end_ids[i], n_vocab);
    for (size_t i = 0; i < r->n_stop_tokens; i++) add_end(l, p, r->stop_tokens[i], n_vocab);
    return RN_OK;
}

// ---- DRY's breakers, as llama.cpp reads them -------------------------------------------------------------------------

struct breaker_texts {
    const char *text[DRY_MAX_BREAKERS];
    size_t n_bytes[DRY_MAX_BREAKERS], n;
};

static rn_status read_texts(const rn_sampling *from, struct breaker_texts *out, rn_error *err) {
    static const char *const defaults[] = {"\n", ":", "\"", "*"};
    const char *const *const texts = from->dry_sequence_breakers ? from->dry_sequence_breakers : defaults;
    out->n = from->dry_sequence_breakers ? from->n_dry_sequence_breakers : sizeof defaults / sizeof *defaults;
    if (out->n > DRY_MAX_BREAKERS)
        return fail(err, RN_E_ARG, "dry_sequence_breakers: %zu texts, limit %d", out->n, DRY_MAX_BREAKERS);
    for (size_t i = 0; i < out->n; i++) {
        if (!texts[i]) return fail(err, RN_E_ARG, "dry_sequence_breakers[%zu]: NULL", i);
        out->text[i] = texts[i];
        out->n_bytes[i] = strlen(texts[i]);
        if (out->n_bytes[i] == 0 || out->n_bytes[i] > DRY_MAX_BREAKER_BYTES)
            return fail(err, RN_E_ARG, "dry_sequence_breakers[%zu]: %zu bytes, must have 1..%d", i, out->n_bytes[i],
                        DRY_MAX_BREAKER_BYTES);
    }
    return RN_OK;
}

static rn_status add_breaker(struct sampler_lists *l, const struct dry_breaker *b, rn_error *err) {
    if (l->n_breakers == l->cap_breakers) {
        const size_t cap = l->cap_breakers ? 2 * l->cap_breakers : 64;
        struct dry_breaker *const more = mem_realloc(l->breakers, cap * sizeof *more);
        if (!more) return no_memory("dry_sequence_breakers", err);
        l->breakers = more, l->cap_breakers = cap;
    }
    l->breakers[l->n_breakers++] = *b;
    return RN_OK;
}

// The tokens of a breaker's bytes from the k-th on, as they would continue a text.
static rn_status make_tail(struct sampler_lists *l, const tokenizer *t, const struct breaker_texts *texts, size_t i,
                           size_t k, rn_error *err) {
    if (l->tails[i][k]) return RN_OK;
    return tokenizer_encode_more(t, texts->text[i] + k, texts->n_bytes[i] - k, false, SIZE_MAX, &l->tails[i][k],
                                 &l->n_tails[i][k], err);
}

// How much of the breaker stands at the piece's p-th byte, if it is all of it or all of the piece's rest; else 0.
static size_t match_at(const char *piece, size_t n_piece, size_t p, const char *text, size_t n_text) {
    const size_t n = n_piece - p < n_text ? n_piece - p : n_text;
    return memcmp(piece + p, text, n) == 0 ? n : 0;
}

// A token that contains the text breaks by itself; one that ends with its beginning does if the rest follows.
static rn_status add_token(struct sampler_lists *l, const rn_model *m, const struct breaker_texts *texts, size_t i,
                           int32_t id, rn_error *err) {
    size_t n_piece;
    const char *const piece = model_piece(m, id, true, &n_piece), *const end = piece + n_piece;
    const size_t n_text = texts->n_bytes[i], first = l->n_breakers;
    for (const char *at = piece; at < end && (at = memchr(at, texts->text[i][0], (size_t)(end - at))); at++) {
        const size_t n = match_at(piece, n_piece, (size_t)(at - piece), texts->text[i], n_text);
        if (n == n_text) {
            l->n_breakers = first;
            return add_breaker(l, &(struct dry_breaker){.token = id}, err);
        }
        if (n == 0) continue;
        rn_status st = make_tail(l, m->tok, texts, i, n, err);
        const size_t n_tail = l->n_tails[i][n] < SAMPLING_MAX_TAIL ? l->n_tails[i][n] : SAMPLING_MAX_TAIL;
        if (st == RN_OK) st = add_breaker(l, &(struct dry_breaker){id, l->tails[i][n], n_tail}, err);
        if (st) return st;
    }
    return RN_OK;
}

static rn_status make_breakers(struct sampler_lists *l, const rn_model *m, const rn_sampling *from, int32_t n_vocab,
                               struct sampling_params *p, rn_error *err) {
    struct breaker_texts texts;
    if (p->dry_multiplier == 0 || p->dry_penalty_last_n == 0) return RN_OK;
    rn_status st = read_texts(from, &texts, err);
    if (st || texts.n == 0) return st;
    if (!m->tok && !from->dry_sequence_breakers) return RN_OK;
    if ((st = model_need_tokenizer(m, err)) != RN_OK) return fail_in(err, st, "dry_sequence_breakers");
    for (int32_t id = 0; id < n_vocab; id++)
        for (size_t i = 0; i < texts.n && st == RN_OK; i++) st = add_token(l, m, &texts, i, id, err);
    p->breakers = l->breakers, p->n_breakers = l->n_breakers;
    return st;
}

rn_status sampler_lists_make(struct sampler_lists *l, const rn_model *m, const rn_request *r, int32_t n_vocab,
                             struct sampling_params *p, rn_error *err) {
    const rn_sampling *const from = r->sampling;
    *l = (struct sampler_lists){0};
    rn_status st = make_bias(l, from, p, err);
    if (st == RN_OK) st = make_sequences(l, from, p, err);
    if (st == RN_OK)
        st = check_count("banned_tokens", from->banned_tokens, from->n_banned_tokens, SAMPLING_MAX_BIAS, err);
    if (st != RN_OK) return st;
    p->banned = from->banned_tokens, p->n_banned = from->n_banned_tokens;
    st = make_ends(l, m, r, n_vocab, p, err);
    if (st == RN_OK && from->watermark)
        st = watermark_from_public(from->watermark, &l->watermark, &p->watermark, err);
    return st == RN_OK ? make_breakers(l, m, from, n_vocab, p, err) : st;
}

void sampler_lists_free(struct sampler_lists *l, struct sampling_params *p) {
    mem_free(l->bias);
    mem_free(l->sequences);
    mem_free(l->ends);
    mem_free(l->breakers);
    for (size_t i = 0; i < DRY_MAX_BREAKERS; i++)
        for (size_t k = 0; k < DRY_MAX_BREAKER_BYTES; k++) mem_free(l->tails[i][k]);
    p->watermark.keys = NULL, p->watermark.n_keys = 0;
    p->bias = NULL, p->sequences = NULL, p->banned = p->end_tokens = NULL, p->breakers = NULL;
    p->n_bias = p->n_sequences = p->n_banned = p->n_end_tokens = p->n_breakers = 0;
}
