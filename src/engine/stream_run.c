// engine/stream_run.c - how a stream ends: what its session keeps, and what its reader learns.
#include "base/clock.h"
#include "base/mem.h"
#include "engine/engine.h"
#include <stdio.h>
#include <string.h>

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

void stream_end(rn_stream *s, rn_finish why, const char *detail) {
    rn_error err;
    if (stream_choices_end(s, why, detail, &err) != RN_OK) {
        s->end_status = err.code;
        why = RN_FINISH_ERROR, detail = err.text;
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
                          .completion_tokens = stream_emitted(s),
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
