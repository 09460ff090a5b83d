// sampling/sampler.c - creates, forks and frees samplers, and keeps the tokens they have seen.
#include "sampling/sampler.h"
#include "base/mem.h"
#include "sampling/chain.h"
#include <assert.h>
#include <float.h>
#include <string.h>

// Limits counts to the vocabulary, and turns a denormal temperature, which computing threads flush to zero, into 0.
static void settle(struct sampling_params *p, int32_t n_vocab) {
    if (p->temp < FLT_MIN) p->temp = 0;
    if (p->min_keep > n_vocab) p->min_keep = n_vocab;
    if (p->top_k >= n_vocab) p->top_k = 0;
}

static rn_status take_memory(sampler *s, rn_error *err) {
    const struct sampling_params *p = &s->p;
    if (p->n_bias > 0) {
        if (!(s->bias = mem_alloc(p->n_bias * sizeof *s->bias))) goto nomem;
        memcpy(s->bias, p->bias, p->n_bias * sizeof *s->bias);
        s->p.bias = s->bias;
    }
    if (s->first_cut > 0 && !(s->row = mem_alloc((size_t)s->n_vocab * sizeof *s->row))) goto nomem;
    if (sampling_has_history(p)) {
        const size_t cap = (size_t)s->n_ctx + 1; // the last token drawn is accepted, but never evaluated
        const size_t window = !sampling_has_penalties(p) ? 0
                              : p->penalty_last_n < 0    ? cap
                                                         : (size_t)p->penalty_last_n;
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
    if (st == RN_OK) token_history_copy(&(*out)->history, &s->history);
    return st;
}

size_t sampler_bytes(const sampler *s) {
    return sizeof *s + s->p.n_bias * sizeof *s->bias + (s->row ? (size_t)s->n_vocab * sizeof *s->row : 0) +
           token_history_bytes(&s->history) + candidates_bytes(&s->list);
}

size_t sampler_most_bytes(int32_t n_vocab, int32_t n_ctx) {
    return sizeof(sampler) + (size_t)n_vocab * sizeof *((sampler *)0)->row +
           token_history_most_bytes((size_t)n_ctx + 1, n_vocab) + candidates_most_bytes(n_vocab);
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
void sampler_set_tried(sampler *s, uint32_t n_tried) { s->n_tried = n_tried; }
