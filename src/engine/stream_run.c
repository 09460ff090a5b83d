// engine/stream_run.c - the step thread's side of a stream: its sequence, what becomes of a token, how it ends.
#include "base/clock.h"
#include "base/mem.h"
#include "engine/engine.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void finish(rn_stream *s, rn_finish why, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static void finish(rn_stream *s, rn_finish why, const char *fmt, ...) {
    va_list ap;
    if (s->finish != RN_FINISH_NONE) return;
    s->finish = why;
    va_start(ap, fmt);
    vsnprintf(s->detail, sizeof s->detail, fmt, ap);
    va_end(ap);
}

// Room was checked before the step, so what does not fit is a bug: the stream ends with it rather than with wrong text.
static void out_of_room(rn_stream *s) {
    s->end_status = RN_E_INTERNAL;
    finish(s, RN_FINISH_ERROR, "stream: token %d does not fit its buffer of %zu tokens, %zu bytes",
           s->n_tokens - s->n_prompt, s->out.cap_tokens, s->out.cap_text);
}

// Text of a token on its way out: whole characters, then past the stop strings.
static void push_text(rn_stream *s, const char *piece, size_t n) {
    size_t n_text = utf8_assembler_push(&s->utf8, piece, n, s->text_a);
    n_text = stop_matcher_push(&s->matcher, s->text_a, n_text, s->text_b);
    if (!outbox_push_text(&s->out, s->text_b, n_text)) out_of_room(s);
    if (s->matcher.matched >= 0) {
        size_t n_stop;
        const char *stop = stop_set_string(s->stops, s->matcher.matched, &n_stop);
        finish(s, RN_FINISH_STOP, "stop string \"%.*s\"", (int)n_stop, stop);
    }
}

static bool is_stop_id(const rn_stream *s, int32_t id, const char **what) {
    *what = "stop token";
    for (size_t i = 0; i < s->n_stop_ids; i++)
        if (s->stop_ids[i] == id) return true;
    *what = "end token";
    return !s->ignore_eos && model_is_end_token(s->lane->m, id);
}

static void push_token(rn_stream *s, const struct emission *e) {
    struct outbox_token t = {.id = e->token, .logprob = NAN, .drafted = e->drafted};
    rn_top top[LOGPROBS_MAX_TOP];
    if (s->n_logprobs >= 0 && e->logits) {
        const int32_t n_vocab = s->lane->lm->n_vocab;
        t.n_top = s->n_logprobs < n_vocab ? s->n_logprobs : n_vocab;
        t.logprob =
            token_logprobs(&s->engine->kernels->row, e->logits, n_vocab, e->token, t.n_top, s->top, s->top_scratch);
        for (int32_t i = 0; i < t.n_top; i++) top[i] = (rn_top){s->top[i].id, s->top[i].logprob};
        t.rank = token_rank(e->logits, n_vocab, e->token);
    }
    if (!outbox_push_token(&s->out, &t, top, e->logits)) out_of_room(s);
}

// What comes after the stream has ended is not taken.
static bool emit(void *user, const struct emission *e) {
    rn_stream *s = user;
    if (s->finish != RN_FINISH_NONE || s->n_tokens >= s->n_limit) return false;
    const int64_t now = clock_now_ns();
    const char *what;
    const int32_t n_made = s->n_tokens - s->n_prompt;
    if (!s->t_first) s->t_first = now;
    s->t_last = now;
    if (s->token_gap_ns) s->t_next_token = (s->t_next_token > now ? s->t_next_token : now) + s->token_gap_ns;
    if (s->token_ms) s->token_ms[n_made] = (double)(now - s->t_begin) / 1e6;
    s->tokens[s->n_tokens++] = e->token;
    push_token(s, e);
    size_t n;
    if (is_stop_id(s, e->token, &what)) {
        const char *spelling = model_piece(s->lane->m, e->token, true, &n);
        finish(s, RN_FINISH_STOP, "%s %d%s%.*s", what, e->token, n ? " " : "", (int)n, spelling);
    } else {
        const bool spelled = s->special || (s->answer && answer_spells(s->answer, e->token));
        const char *piece = model_piece(s->lane->m, e->token, spelled, &n);
        push_text(s, piece, n);
    }
    if (s->n_tokens >= s->n_limit)
        finish(s, RN_FINISH_LENGTH, s->context_binds ? "context %d" : "max_tokens %d",
               s->context_binds ? s->lane->n_ctx : s->n_limit - s->n_prompt);
    if (s->finish == RN_FINISH_NONE && outbox_chunk_is_full(&s->out)) outbox_close_chunk(&s->out);
    return s->finish == RN_FINISH_NONE;
}

static bool may_emit(void *user) {
    rn_stream *s = user;
    if (s->n_tokens >= s->n_limit)
        finish(s, RN_FINISH_LENGTH, "max_tokens 0"); // the prompt is in the cache, that is all
    return s->finish == RN_FINISH_NONE;
}

static void score_prompt(void *user, int32_t at, const float *logits) { prompt_scores_take(user, at, logits); }

static void end(void *user, enum strategy_end why) {
    static const rn_finish reasons[] = {
        [STRATEGY_END_STOP] = RN_FINISH_STOP, [STRATEGY_END_LENGTH] = RN_FINISH_LENGTH};
    finish(user, reasons[why], "%s", "");
}

struct emitter stream_emitter(rn_stream *s) {
    static const struct emitter_ops ops = {may_emit, emit, score_prompt, end};
    return (struct emitter){&ops, s};
}

static double ms(int64_t from, int64_t to) { return from && to ? (double)(to - from) / 1e6 : 0.0; }

// What the session knows afterwards: everything made, unless the stream failed. The last token is not evaluated yet: the next turn does it.
static void settle_session(rn_stream *s, rn_finish why) {
    rn_session *session = s->session;
    const int32_t own = s->seqs[STRATEGY_MAIN].seq;
    const int32_t seq = own >= 0 ? own : session->seq; // of one that never began, still the session's
    if (why == RN_FINISH_ERROR) {
        if (own >= 0) lm_truncate(s->lane->lm, own, s->n_matched);
    } else {
        if (seq >= 0 && own < 0 && lm_seq_len(s->lane->lm, seq) > s->n_matched)
            lm_truncate(s->lane->lm, seq, s->n_matched);
        memcpy(session->tokens, s->tokens, (size_t)s->n_tokens * sizeof *s->tokens);
        session->n_tokens = s->n_tokens;
        session->n_reply_from = s->n_prompt;
    }
    session->t_used = clock_now_ns();
    stream_release_main(s, true);
}

// What was held back comes out. False: it does not fit.
static bool push_held_text(rn_stream *s) {
    size_t n = s->matcher.matched >= 0 ? 0 : utf8_assembler_finish(&s->utf8, s->text_a);
    n = stop_matcher_push(&s->matcher, s->text_a, n, s->text_b);
    const bool fits = outbox_push_text(&s->out, s->text_b, n);
    n = stop_matcher_finish(&s->matcher, s->text_b);
    return outbox_push_text(&s->out, s->text_b, n) && fits;
}

void stream_end(rn_stream *s, rn_finish why, const char *detail) {
    if (!push_held_text(s)) {
        out_of_room(s);
        why = RN_FINISH_ERROR, detail = s->detail;
    }
    if (s->session) settle_session(s, why);
    if (s->strategy) s->strategy->ops->destroy(s->strategy); // here, since it may own sequences
    s->strategy = NULL;
    stream_suspend(s);
    if (detail != s->detail) snprintf(s->detail, sizeof s->detail, "%s", detail);
    s->finish = why;
    const int64_t n_made = s->n_tokens - s->n_prompt;
    s->usage = (rn_usage){.struct_size = sizeof s->usage,
                          .prompt_tokens = s->n_prompt,
                          .cached_tokens = s->n_cached,
                          .completion_tokens = n_made,
                          .matched_tokens = s->n_matched,
                          .miss = s->miss};
    s->timing = (rn_timing){.struct_size = sizeof s->timing,
                            .queue_ms = ms(s->t_begin, s->t_scheduled),
                            .prefill_ms = ms(s->t_scheduled, s->t_prompt),
                            .first_token_ms = ms(s->t_begin, s->t_first),
                            .decode_ms = ms(s->t_first, s->t_last),
                            .token_ms = s->token_ms,
                            .n_token_ms = s->token_ms ? (size_t)n_made : 0};
    rn_chunk last = {
        .finish_reason = why,
        .finish_detail = s->detail,
        .error = why == RN_FINISH_ERROR ? s->end_status : RN_OK,
        .seed = s->sampling.seed,
        .usage = &s->usage,
        .timing = &s->timing,
    };
    if (s->embed && why == RN_FINISH_STOP) embedding_show(s->embed, &last);
    outbox_end(&s->out, &last);
}
