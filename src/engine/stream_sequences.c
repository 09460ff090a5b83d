// engine/stream_sequences.c - the answers that a search found, with their texts and what is told of their tokens, for the stream's last
// chunk.
#include "base/clock.h"
#include "base/mem.h"
#include "engine/engine.h"
#include "text/text_buf.h"
#include <math.h>
#include <string.h>

struct sequence_list {
    rn_sequence *of;          // [n_most]
    int32_t *tokens;          // [n_most][n_tokens]
    struct token_told **told; // [n_most] of each one's tokens; NULL: not wanted
    size_t *details;          // [n_most] where in texts it says how each one ended
    struct text_buf texts;
    int32_t n, n_most;
    size_t n_tokens; // room of each
    bool failed;     // out of memory
    bool is_cut;     // the first one is the stream's answer, of which the last chunk has what was not emitted
    bool replaces;   // what was emitted, by a reader that accepts revisions, is another text: the last chunk has all
    // The reader's: tokens and text that it has taken, the last chunk's text, and data of the answer that was read last.
    size_t n_tokens_taken, n_text_taken;
    struct text_buf rest;
    rn_token *data;
    rn_top *top;
};

rn_status stream_sequences_create(rn_stream *s, rn_error *err) {
    const size_t n = (size_t)s->play.strategy->n_sequences, n_tokens = (size_t)(s->n_limit - s->n_prompt) + 1;
    if (n == 0) return RN_OK;
    struct sequence_list *const l = s->sequences = mem_calloc(1, sizeof *l);
    if (l) l->n_most = (int32_t)n, l->n_tokens = n_tokens;
    if (l && (l->of = mem_calloc(n, sizeof *l->of)) && (l->tokens = mem_calloc(n * n_tokens, sizeof *l->tokens)) &&
        (l->told = mem_calloc(n, sizeof(*l->told))) && (l->details = mem_calloc(n, sizeof *l->details)))
        return RN_OK;
    return fail(err, RN_E_NOMEM, "stream: out of memory for %zu answers of %zu tokens", n, n_tokens);
}

void stream_sequences_destroy(rn_stream *s) {
    struct sequence_list *const l = s->sequences;
    if (!l) return;
    for (int32_t i = 0; l->told && i < l->n_most; i++) mem_free(l->told[i]);
    mem_free(l->told);
    mem_free(l->of);
    mem_free(l->tokens);
    mem_free(l->details);
    mem_free(l->data);
    mem_free(l->top);
    text_buf_free(&l->texts);
    text_buf_free(&l->rest);
    mem_free(l);
}

static struct token_told *copy_told(const struct sequence_found *q) {
    struct token_told *const told = mem_alloc((size_t)q->n * sizeof *told);
    for (int32_t i = 0; told && i < q->n; i++) told[i] = q->told[q->told_at ? q->told_at[i] : i];
    return told;
}

void stream_sequences_add(rn_stream *s, const struct sequence_found *q) {
    struct sequence_list *const l = s->sequences;
    if (!l || l->n == l->n_most || (size_t)q->n > l->n_tokens) return;
    int32_t *const tokens = l->tokens + (size_t)l->n * l->n_tokens;
    memcpy(tokens, q->tokens, (size_t)q->n * sizeof *tokens);
    if (q->told && !(l->told[l->n] = copy_told(q))) l->failed = true;
    l->of[l->n++] = (rn_sequence){.tokens = tokens,
                                  .n_tokens = (size_t)q->n,
                                  .score = q->score,
                                  .logprob = q->logprob,
                                  .finish_reason = q->is_whole ? RN_FINISH_STOP : RN_FINISH_LENGTH};
}

// Tokens that come with the last chunk have its time.
static void note_times(rn_stream *s, int32_t from, int32_t n) {
    const int64_t now = clock_now_ns();
    if (!s->time.first) s->time.first = now;
    s->time.last = now;
    for (int32_t i = from; s->time.token_ms && i < n; i++) s->time.token_ms[i] = (double)(now - s->time.begin) / 1e6;
}

void stream_sequences_cut(rn_stream *s) {
    struct sequence_list *const l = s->sequences;
    const strategy *const play = s->play.strategy;
    struct sequence_found best;
    if (!l || !play || s->overflow == RN_OVERFLOW_DROP_OLDEST) return; // text before its end may be lost
    if (l->n == 0 && play->ops->best_so_far && play->ops->best_so_far(s->play.strategy, &best))
        stream_sequences_add(s, &best);
    if (l->n == 0) return;
    struct choice *const c = s->text.choices;
    const int32_t n = (int32_t)l->of[0].n_tokens;
    int32_t n_common = 0;
    while (n_common < n && n_common < c->n && c->tokens[n_common] == l->of[0].tokens[n_common]) n_common++;
    if (n_common == n) return;
    l->is_cut = true, l->replaces = n_common < c->n;
    memcpy(c->tokens, l->of[0].tokens, (size_t)n * sizeof *c->tokens);
    note_times(s, n_common, n);
    c->n = n;
    s->n_tokens = s->n_prompt + n;
}

int32_t stream_sequence_text(rn_stream *s, const int32_t *tokens, size_t n, struct text_buf *to) {
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
    return c.matcher.matched;
}

// Behind its text: where the grammar stands before its last token decides whether that one is an end token.
static void add_detail(rn_stream *s, const rn_sequence *q, int32_t matched, struct text_buf *to) {
    char text[sizeof s->end.detail];
    stream_tell_end(s, q->tokens[q->n_tokens - 1], matched, q->finish_reason == RN_FINISH_STOP, text, sizeof text);
    text_buf_add(to, text, strlen(text) + 1);
}

rn_status stream_sequences_show(rn_stream *s, rn_chunk *last, rn_error *err) {
    struct sequence_list *const l = s->sequences;
    size_t begins[STRATEGY_MAX_SEQS];
    const bool is_whole = last->finish_reason == RN_FINISH_STOP || last->finish_reason == RN_FINISH_LENGTH;
    if (!l || !(is_whole || l->is_cut)) return RN_OK;
    if (l->is_cut) l->n = 1;
    for (int32_t i = 0; i < l->n; i++) {
        begins[i] = l->texts.n;
        const int32_t matched = stream_sequence_text(s, l->of[i].tokens, l->of[i].n_tokens, &l->texts);
        l->details[i] = l->texts.n;
        add_detail(s, &l->of[i], matched, &l->texts);
    }
    if (l->texts.failed || l->failed)
        return fail(err, RN_E_NOMEM, "stream: out of memory for the texts of %d answers", l->n);
    for (int32_t i = 0; i < l->n; i++) { // only now: the buffer may have moved
        l->of[i].text = l->texts.s + begins[i];
        l->of[i].n_text = l->details[i] - begins[i] - 1;
    }
    if (l->is_cut) return RN_OK;
    last->sequences = l->of;
    last->n_sequences = (size_t)l->n;
    return RN_OK;
}

// ---- by the reader --------------------------------------------------------------------------------------------------

static void tell(const rn_stream *s, int32_t id, const struct token_told *from, rn_top *top, rn_token *to) {
    const bool has_logprob = s->scores.n_logprobs >= 0;
    for (int32_t k = 0; k < from->n_top + from->n_sampled_top; k++)
        top[k] = (rn_top){from->top[k].id, from->top[k].logprob};
    *to = (rn_token){.id = id,
                     .logprob = has_logprob ? from->logprob : NAN,
                     .rank = has_logprob ? from->rank : 0,
                     .top = from->n_top ? top : NULL,
                     .n_top = from->n_top,
                     .entropy = from->entropy,
                     .sampled_entropy = from->sampled_entropy,
                     .sampled_logprob = from->sampled_logprob,
                     .sampled_rank = from->sampled_rank,
                     .n_candidates = from->n_candidates,
                     .sampled_top = from->n_sampled_top ? top + from->n_top : NULL,
                     .n_sampled_top = from->n_sampled_top};
}

static rn_status read_data(rn_stream *s, size_t i, const rn_token **data, rn_error *err) {
    struct sequence_list *const l = s->sequences;
    const rn_sequence *const q = &l->of[i];
    *data = NULL;
    if (!l->told[i]) return RN_OK;
    const size_t n_top = (size_t)(s->scores.n_logprobs > 0 ? s->scores.n_logprobs : 0) +
                         (size_t)(s->scores.n_sampled > 0 ? s->scores.n_sampled : 0);
    if (!l->data) l->data = mem_alloc(l->n_tokens * sizeof *l->data);
    if (!l->top) l->top = mem_alloc(l->n_tokens * n_top * sizeof *l->top + 1);
    if (!l->data || !l->top)
        return fail(err, RN_E_NOMEM, "stream: out of memory for log-probabilities of %zu tokens", l->n_tokens);
    for (size_t k = 0; k < q->n_tokens; k++) tell(s, q->tokens[k], &l->told[i][k], l->top + k * n_top, &l->data[k]);
    *data = l->data;
    return RN_OK;
}

rn_status stream_sequence_read(rn_stream *s, size_t i, rn_chunk *chunk, rn_error *err) {
    struct sequence_list *const l = s->sequences;
    const rn_sequence *const q = &l->of[i];
    chunk->text = q->text, chunk->n_text = q->n_text;
    chunk->tokens = q->tokens, chunk->n_tokens = q->n_tokens;
    chunk->finish_reason = q->finish_reason, chunk->finish_detail = l->texts.s + l->details[i];
    return read_data(s, i, &chunk->token_data, err);
}

// The last chunk of a stream that was cut short: in place of the tokens and the text that it has behind those that were taken, all that
// the best text has there.
static rn_status add_rest(rn_stream *s, rn_chunk *last, rn_error *err) {
    struct sequence_list *const l = s->sequences;
    const rn_sequence *const q = &l->of[0];
    const rn_token *data = NULL;
    const rn_status st = read_data(s, 0, &data, err);
    if (st != RN_OK) return st;
    const bool has_echo = l->n_text_taken >= s->text.n_echo;
    const size_t n_text = has_echo ? l->n_text_taken - s->text.n_echo : 0;
    if (!has_echo) text_buf_add(&l->rest, s->text.echo, s->text.n_echo);
    if (q->n_text > n_text) text_buf_add(&l->rest, q->text + n_text, q->n_text - n_text);
    if (l->rest.failed) return fail(err, RN_E_NOMEM, "stream: out of memory for the text of its last chunk");
    last->text = l->rest.n ? l->rest.s : "", last->n_text = l->rest.n;
    last->tokens = q->tokens + l->n_tokens_taken, last->n_tokens = q->n_tokens - l->n_tokens_taken;
    if (data) last->token_data = data + l->n_tokens_taken;
    return RN_OK;
}

rn_status stream_sequences_take(rn_stream *s, rn_chunk *chunk, rn_error *err) {
    struct sequence_list *const l = s->sequences;
    const bool has_rest =
        l->is_cut && chunk->finish_reason != RN_FINISH_NONE && chunk->finish_reason != RN_FINISH_ERROR;
    if (has_rest && l->replaces) {
        chunk->replace_from = 0;
        chunk->replace_text_from = (int64_t)(l->n_text_taken < s->text.n_echo ? 0 : s->text.n_echo);
    }
    if (chunk->replace_from >= 0)
        l->n_tokens_taken = (size_t)chunk->replace_from, l->n_text_taken = (size_t)chunk->replace_text_from;
    if (has_rest) return add_rest(s, chunk, err);
    l->n_tokens_taken += chunk->n_tokens;
    l->n_text_taken += chunk->n_text;
    return RN_OK;
}
