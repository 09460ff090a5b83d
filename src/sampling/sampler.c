// sampling/sampler.c - creates, forks and frees samplers, and keeps the tokens they have seen.
#include "sampling/sampler.h"
#include "base/mem.h"
#include "sampling/chain.h"
#include "sampling/token_lists.h"
#include <assert.h>
#include <float.h>
#include <string.h>

// Limits counts to the vocabulary, and turns a denormal temperature, which computing threads flush to zero, into 0.
static void settle(struct sampling_params *p, int32_t n_vocab) {
    if (p->temp < FLT_MIN) p->temp = 0;
    if (p->min_keep > n_vocab) p->min_keep = n_vocab;
    if (p->top_k >= n_vocab) p->top_k = 0;
}

// The token behind the last position is drawn and accepted, but never evaluated.
static size_t most_tokens(int32_t n_ctx) { return (size_t)n_ctx + 1; }

static rn_status no_memory(const sampler *s, rn_error *err) {
    return fail(err, RN_E_NOMEM, "sampler: out of memory for a vocabulary of %d", s->n_vocab);
}

static rn_status take_history(sampler *s, rn_error *err) {
    const struct sampling_params *const p = &s->p;
    const size_t cap = most_tokens(s->n_ctx);
    if (!sampling_has_history(p)) return RN_OK;
    const size_t window = !sampling_has_penalties(p) ? 0 : p->penalty_last_n < 0 ? cap : (size_t)p->penalty_last_n;
    const rn_status st = token_history_init(&s->history, cap, window, p->penalty_prompt, s->n_vocab, err);
    return st;
}

// Scratch for edits of rows: in the memory of the list's keys, which is used later, if there is a list and room in it.
static rn_status take_scratch(sampler *s, rn_error *err) {
    const size_t n = (size_t)s->n_vocab, n_lengths = sampling_repeat_window(&s->p, most_tokens(s->n_ctx));
    int32_t *const spare = (int32_t *)s->list.keys; // 2 n
    if (sampling_has_token_scratch(&s->p)) {
        s->n_own_by_token = spare ? 0 : n;
        s->by_token = spare ? spare : mem_alloc(n * sizeof *s->by_token);
        if (!s->by_token) return no_memory(s, err);
    }
    if (n_lengths == 0) return RN_OK;
    s->n_own_lengths = spare && n_lengths <= n ? 0 : n_lengths;
    s->lengths = s->n_own_lengths ? mem_alloc(n_lengths * sizeof *s->lengths) : spare + n;
    return s->lengths ? RN_OK : no_memory(s, err);
}

static rn_status take_list_memory(sampler *s, rn_error *err) {
    const struct sampling_params *const p = &s->p;
    const int32_t k = p->top_k > p->min_keep ? p->top_k : p->min_keep;
    return candidates_init(&s->list, s->rm, s->n_vocab, sampler_has_full_list(s) ? 0 : k, err);
}

static rn_status take_memory(sampler *s, rn_error *err) {
    const struct sampling_params *const p = &s->p;
    const size_t n_lists = token_lists_bytes(p);
    if (n_lists > 0) {
        if (!(s->lists = mem_alloc(n_lists))) return no_memory(s, err);
        token_lists_copy(&s->p, s->lists);
    }
    const bool has_row = s->first_cut > s->reads_masked || sampler_edits_list(s);
    if (has_row && !(s->row = mem_alloc((size_t)s->n_vocab * sizeof *s->row))) return no_memory(s, err);
    rn_status st = take_history(s, err);
    if (st == RN_OK && feedback_is_on(p)) st = feedback_init(&s->feedback, p, most_tokens(s->n_ctx), err);
    if (st == RN_OK && p->watermark.n_keys)
        st = watermark_init(&s->watermark, &p->watermark, most_tokens(s->n_ctx), err);
    if (st == RN_OK && p->temp > 0) st = take_list_memory(s, err);
    return st ? st : take_scratch(s, err);
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
    *s = (sampler){.p = *p, .rm = rm, .n_vocab = n_vocab, .n_ctx = n_ctx};
    settle(&s->p, n_vocab);
    sampler_build_chain(s);
    st = take_memory(s, err);
    if (st) {
        sampler_destroy(s);
        return st;
    }
    *out = s;
    return RN_OK;
}

rn_status sampler_fork(const sampler *s, sampler **out, rn_error *err) {
    const rn_status st = sampler_create(&s->p, s->rm, s->n_vocab, s->n_ctx, out, err);
    if (st) return st;
    token_history_copy(&(*out)->history, &s->history);
    feedback_copy(&(*out)->feedback, &s->feedback);
    watermark_copy(&(*out)->watermark, &s->watermark);
    (*out)->n_accepted = s->n_accepted;
    return RN_OK;
}

size_t sampler_bytes(const sampler *s) {
    const size_t n = (size_t)s->n_vocab;
    return sizeof *s + token_lists_bytes(&s->p) + (s->row ? n * sizeof *s->row : 0) +
           token_history_bytes(&s->history) + s->n_own_lengths * sizeof *s->lengths +
           s->n_own_by_token * sizeof *s->by_token + (s->feedback.after ? feedback_bytes(s->feedback.cap) : 0) +
           (s->watermark.table ? watermark_bytes(s->watermark.cap) + watermark_table_bytes(&s->p.watermark) : 0) +
           candidates_bytes(&s->list);
}

size_t sampler_most_bytes(int32_t n_vocab, int32_t n_ctx) {
    const size_t cap = most_tokens(n_ctx);
    return sizeof(sampler) + (size_t)n_vocab * sizeof(float) + token_history_most_bytes(cap, n_vocab) +
           (cap > (size_t)n_vocab ? cap * sizeof(int32_t) : 0) + feedback_bytes(cap) + candidates_most_bytes(n_vocab);
}

void sampler_destroy(sampler *s) {
    if (!s) return;
    if (s->n_own_by_token) mem_free(s->by_token);
    if (s->n_own_lengths) mem_free(s->lengths);
    mem_free(s->lists);
    mem_free(s->row);
    token_history_free(&s->history);
    feedback_free(&s->feedback);
    watermark_free(&s->watermark);
    candidates_free(&s->list);
    mem_free(s);
}

bool sampler_has_feedback(const sampler *s) { return feedback_is_on(&s->p); }

bool sampler_reads_tokens(const sampler *s) {
    const struct sampling_params *const p = &s->p;
    return sampling_has_history(p) || feedback_is_on(p) || p->min_tokens > 0 || p->exponential_decay_factor != 1 ||
           p->xtc_probability > 0;
}

void sampler_see_prompt(sampler *s, const int32_t *tokens, size_t n) { token_history_prompt(&s->history, tokens, n); }

void sampler_accept(sampler *s, int32_t token) {
    token_history_accept(&s->history, token);
    feedback_accept(&s->feedback, &s->p, token);
    s->n_accepted++;
    watermark_accept(&s->watermark, &s->p.watermark, s->history.tokens + s->history.n_prompt, s->n_accepted);
}

void sampler_rewind(sampler *s, size_t n) {
    assert(n <= s->n_accepted);
    token_history_rewind(&s->history, n);
    feedback_rewind(&s->feedback, n);
    watermark_rewind(&s->watermark, n);
    s->n_accepted -= n;
}

void sampler_set_seed(sampler *s, uint64_t seed) { s->p.seed = seed; }

void sampler_set_tried(sampler *s, uint32_t n_tried) { s->n_tried = n_tried; }
