// engine/stream_run.c - the end of a stream: what its session keeps, and its last chunk.
#include "base/clock.h"
#include "base/mem.h"
#include "engine/engine.h"
#include <stdio.h>
#include <string.h>

static double ms(int64_t from, int64_t to) { return from && to ? (double)(to - from) / 1e6 : 0.0; }

// The session keeps all tokens unless the stream failed. The last token is not evaluated yet; the next turn does that.
static void settle_session(rn_stream *s, rn_finish why) {
    rn_session *session = s->session;
    const int32_t own = s->play.seqs[STRATEGY_MAIN].seq;
    const int32_t seq = own >= 0 ? own : session->seq; // if the stream never began, still the session's
    if (why == RN_FINISH_ERROR) {
        if (own >= 0) lm_truncate(s->model_slot->lm, own, s->prefix.n_matched);
    } else {
        if (seq >= 0 && own < 0 && lm_seq_len(s->model_slot->lm, seq) > s->prefix.n_matched)
            lm_truncate(s->model_slot->lm, seq, s->prefix.n_matched);
        memcpy(session->tokens, s->tokens, (size_t)s->n_tokens * sizeof *s->tokens);
        session->n_tokens = s->n_tokens;
        session->n_reply_from = s->n_prompt;
    }
    session->t_used = clock_now_ns();
    // An empty sequence (a failed step empties those of recurrent models) would keep the prefix index from being used.
    stream_release_main(s, own >= 0 && lm_seq_len(s->model_slot->lm, own) > 0);
}

void stream_end(rn_stream *s, rn_finish why, const char *detail) {
    rn_error err;
    if (why != RN_FINISH_ERROR) stream_sequences_cut(s);
    if (stream_choices_end(s, why, detail, &err) != RN_OK) {
        s->end.status = err.code;
        why = RN_FINISH_ERROR, detail = err.text;
    }
    if (s->session) settle_session(s, why);
    if (why == RN_FINISH_STOP || why == RN_FINISH_LENGTH) stream_keep_output(s);
    if (s->play.strategy) s->play.strategy->ops->destroy(s->play.strategy); // here, since it may own sequences
    s->play.strategy = NULL;
    stream_suspend(s);
    if (detail != s->end.detail) snprintf(s->end.detail, sizeof s->end.detail, "%s", detail);
    stream_walk_note(s);
    s->end.finish = why;
    const int64_t n_made = s->n_tokens - s->n_prompt;
    s->end.usage =
        (rn_usage){.struct_size = sizeof s->end.usage,
                   .prompt_tokens = s->n_prompt,
                   .cached_tokens = s->prefix.n_cached,
                   .completion_tokens = stream_emitted(s),
                   .matched_tokens = s->prefix.n_matched,
                   .rewound_tokens = s->play.n_taken_back,
                   .accepted_prediction_tokens = s->play.drafts.n_predicted_right,
                   .rejected_prediction_tokens = s->play.drafts.n_predicted - s->play.drafts.n_predicted_right,
                   .model_rows = s->play.n_rows,
                   .speculates = s->play.speculates,
                   .picture_tokens = prompt_pictures_n_rows(&s->pictures),
                   .miss = s->prefix.miss_text[0] ? s->prefix.miss_text : rn_miss_name(s->prefix.miss)};
    draft_counts_tell(&s->play.draft_counts, &s->end.usage);
    s->end.timing = (rn_timing){.struct_size = sizeof s->end.timing,
                                .queue_ms = ms(s->time.begin, s->time.scheduled),
                                .prefill_ms = ms(s->time.scheduled, s->time.prompt),
                                .first_token_ms = ms(s->time.begin, s->time.first),
                                .decode_ms = ms(s->time.first, s->time.last),
                                .token_ms = s->time.token_ms,
                                .n_token_ms = s->time.token_ms ? (size_t)n_made : 0,
                                .pictures_ms = (double)s->time.pictures_ns / 1e6};
    rn_chunk last = {
        .finish_reason = why,
        .finish_detail = s->end.detail,
        .error = why == RN_FINISH_ERROR ? s->end.status : RN_OK,
        .seed = s->play.sampling.seed,
        .usage = &s->end.usage,
        .timing = &s->end.timing,
    };
    if (s->embed && why == RN_FINISH_STOP) embedding_show(s->embed, &last);
    if (stream_sequences_show(s, &last, &err) != RN_OK) {
        last.finish_reason = RN_FINISH_ERROR, last.error = err.code;
        snprintf(s->end.detail, sizeof s->end.detail, "%s", err.text);
    }
    outbox_end(&s->out, &last);
}
