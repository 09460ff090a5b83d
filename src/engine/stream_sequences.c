// engine/stream_sequences.c - the answers that a search found, with their texts, for the stream's last chunk.
#include "base/mem.h"
#include "engine/engine.h"
#include "text/text_buf.h"
#include <string.h>

struct sequence_list {
    rn_sequence *of; // [n_most]
    int32_t *tokens; // [n_most][n_tokens]
    struct text_buf texts;
    int32_t n, n_most;
    size_t n_tokens; // room of each
};

rn_status stream_sequences_create(rn_stream *s, rn_error *err) {
    const size_t n = (size_t)s->play.strategy->n_sequences, n_tokens = (size_t)(s->n_limit - s->n_prompt) + 1;
    if (n == 0) return RN_OK;
    struct sequence_list *const l = s->sequences = mem_calloc(1, sizeof *l);
    if (l) l->n_most = (int32_t)n, l->n_tokens = n_tokens;
    if (l && (l->of = mem_calloc(n, sizeof *l->of)) && (l->tokens = mem_calloc(n * n_tokens, sizeof *l->tokens)))
        return RN_OK;
    return fail(err, RN_E_NOMEM, "stream: out of memory for %zu answers of %zu tokens", n, n_tokens);
}

void stream_sequences_destroy(rn_stream *s) {
    struct sequence_list *const l = s->sequences;
    if (!l) return;
    mem_free(l->of);
    mem_free(l->tokens);
    text_buf_free(&l->texts);
    mem_free(l);
}

void stream_sequences_add(rn_stream *s, const struct sequence_found *q) {
    struct sequence_list *const l = s->sequences;
    if (!l || l->n == l->n_most || (size_t)q->n > l->n_tokens) return;
    int32_t *const tokens = l->tokens + (size_t)l->n * l->n_tokens;
    memcpy(tokens, q->tokens, (size_t)q->n * sizeof *tokens);
    l->of[l->n++] = (rn_sequence){.tokens = tokens,
                                  .n_tokens = (size_t)q->n,
                                  .score = q->score,
                                  .logprob = q->logprob,
                                  .finish_reason = q->is_whole ? RN_FINISH_STOP : RN_FINISH_LENGTH};
}

void stream_sequence_text(rn_stream *s, const int32_t *tokens, size_t n, struct text_buf *to) {
    struct choice c = {.n_healed = s->text.n_heal_given,
                       .utf8 = {.keep_invalid = s->text.choices[0].utf8.keep_invalid}};
    stop_matcher_init(&c.matcher, s->text.stops);
    for (size_t i = 0; i < n; i++) {
        if (s->grammar_frames) (void)stream_walk_go(s, tokens, (int32_t)i, NULL); // has been there before
        text_buf_add(to, s->text.b, stream_pass_token(s, &c, tokens[i]).n);
    }
    const size_t n_held = c.matcher.matched >= 0 ? 0 : utf8_assembler_finish(&c.utf8, s->text.a);
    text_buf_add(to, s->text.b, stop_matcher_push(&c.matcher, s->text.a, n_held, s->text.b));
    text_buf_add(to, s->text.b, stop_matcher_finish(&c.matcher, s->text.b));
    text_buf_add(to, "", 1);
}

const rn_sequence *stream_sequence_at(const rn_stream *s, size_t i) { return &s->sequences->of[i]; }

rn_status stream_sequences_show(rn_stream *s, rn_chunk *last, rn_error *err) {
    struct sequence_list *const l = s->sequences;
    size_t ends[STRATEGY_MAX_SEQS];
    const bool is_whole = last->finish_reason == RN_FINISH_STOP || last->finish_reason == RN_FINISH_LENGTH;
    if (!l || !is_whole) return RN_OK;
    for (int32_t i = 0; i < l->n; i++) {
        stream_sequence_text(s, l->of[i].tokens, l->of[i].n_tokens, &l->texts);
        ends[i] = l->texts.n;
    }
    if (l->texts.failed) return fail(err, RN_E_NOMEM, "stream: out of memory for the texts of %d answers", l->n);
    for (int32_t i = 0; i < l->n; i++) { // only now: the buffer may have moved
        const size_t at = i > 0 ? ends[i - 1] : 0;
        l->of[i].text = l->texts.s + at;
        l->of[i].n_text = ends[i] - at - 1;
    }
    last->sequences = l->of;
    last->n_sequences = (size_t)l->n;
    return RN_OK;
}
