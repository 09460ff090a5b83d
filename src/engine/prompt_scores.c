// engine/prompt_scores.c - the log-probability of each prompt token, and the most probable alternatives, for the reader.
//
// The strategy "prompt_scores" supplies the logits rows.
#include "base/mem.h"
#include "engine/engine.h"
#include <math.h>

struct prompt_scores {
    int32_t n_top;
    rn_token *tokens; // [n_prompt]
    rn_top *top;      // [n_prompt][n_top]
};

rn_status prompt_scores_create(rn_stream *s, int32_t n_top, rn_error *err) {
    const int32_t n_vocab = s->model_slot->lm->n_vocab;
    struct prompt_scores *p = mem_calloc(1, sizeof *p);
    s->scores.prompt = p;
    if (p) {
        p->n_top = n_top < n_vocab ? n_top : n_vocab;
        p->tokens = mem_calloc((size_t)s->n_prompt, sizeof *p->tokens);
        p->top = mem_calloc((size_t)s->n_prompt, (size_t)p->n_top * sizeof *p->top + 1);
    }
    if (!p || !p->tokens || !p->top)
        return fail(err, RN_E_NOMEM, "prompt_logprobs: out of memory for %d tokens", s->n_prompt);
    p->tokens[0] = (rn_token){
        .id = s->tokens[0], .logprob = NAN, .entropy = NAN, .sampled_entropy = NAN, .sampled_logprob = NAN};
    return RN_OK;
}

void prompt_scores_destroy(struct prompt_scores *p) {
    if (!p) return;
    mem_free(p->tokens);
    mem_free(p->top);
    mem_free(p);
}

static void score(rn_stream *s, int32_t at, const float *logits) {
    struct prompt_scores *p = s->scores.prompt;
    const int32_t n_vocab = s->model_slot->lm->n_vocab, id = s->tokens[at];
    rn_top *const top = p->top + (size_t)at * (size_t)p->n_top;
    const float logprob =
        token_logprobs(&s->engine->kernels->row, logits, n_vocab, id, p->n_top, s->scores.top, s->scores.scratch);
    for (int32_t i = 0; i < p->n_top; i++) top[i] = (rn_top){s->scores.top[i].id, s->scores.top[i].logprob};
    p->tokens[at] = (rn_token){.id = id,
                               .logprob = logprob,
                               .top = p->n_top ? top : NULL,
                               .n_top = p->n_top,
                               .entropy = NAN,
                               .sampled_entropy = NAN,
                               .sampled_logprob = NAN,
                               .rank = token_rank(logits, n_vocab, id)};
}

void prompt_scores_take(rn_stream *s, int32_t at, const float *logits) {
    if (at + 1 < s->n_prompt) {
        score(s, at + 1, logits);
        return;
    }
    outbox_push_prompt(&s->out, s->scores.prompt->tokens, (size_t)s->n_prompt);
    outbox_close_chunk(&s->out);
}
