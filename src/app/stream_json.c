// app/stream_json.c - writes parts of chunks as JSON, in the order that the manual shows.
#include "app/stream_json.h"
#include "app/draft_figures.h"
#include "app/memory.h"
#include <math.h>
#include <string.h>

// Returns the token's text as it appears inside a text: some tokenizers strip the space of the first token, so
// this detokenizes the token twice in a row and takes the second part.
char *token_text(const rn_model *m, int32_t id, size_t *n) {
    const int32_t twice[] = {id, id};
    char *one = NULL, *both = NULL;
    size_t n_one = 0, n_both = 0;
    *n = 0;
    rn_status st = rn_detokenize(m, twice, 1, true, &one, &n_one, NULL);
    if (st == RN_OK) st = rn_detokenize(m, twice, 2, true, &both, &n_both, NULL);
    if (st == RN_E_NOMEM) memory_noted(NULL);
    if (st == RN_OK && n_both >= n_one) {
        *n = n_both - n_one;
        memmove(both, both + n_one, *n);
    }
    rn_free(one);
    return both;
}

static void put_id(json_writer *w, int32_t id, const rn_model *pieces) {
    json_member_whole(w, "id", id);
    if (!pieces) return;
    size_t n;
    char *const text = token_text(pieces, id, &n);
    json_member_text(w, "piece", text, n);
    rn_free(text);
}

static void put_top(json_writer *w, const rn_top *top, int32_t n, const rn_model *pieces) {
    for (int32_t k = 0; k < n; k++) {
        json_put_begin(w, '{');
        put_id(w, top[k].id, pieces);
        json_put_key(w, "logprob");
        json_put_float(w, top[k].logprob);
        json_put_end(w, '}');
    }
}

// Where the token stood in the model's own distribution, and what it was drawn from; beams and trees draw from nothing.
static void put_sampled(json_writer *w, const rn_token *t, const rn_model *pieces) {
    json_member_whole(w, "rank", t->rank);
    json_put_key(w, "entropy");
    json_put_float(w, t->entropy);
    if (t->n_candidates == 0) return;
    json_member_begin(w, "sampled", '{');
    json_put_key(w, "logprob");
    json_put_float(w, t->sampled_logprob);
    json_member_whole(w, "rank", t->sampled_rank);
    json_put_key(w, "entropy");
    json_put_float(w, t->sampled_entropy);
    json_member_whole(w, "candidates", t->n_candidates);
    json_member_begin(w, "top", '[');
    put_top(w, t->sampled_top, t->n_sampled_top, pieces);
    json_put_end(w, ']');
    json_put_end(w, '}');
}

void json_put_logprobs(json_writer *w, const rn_token *tokens, size_t n, const rn_model *pieces) {
    for (size_t i = 0; i < n; i++) {
        json_put_begin(w, '{');
        put_id(w, tokens[i].id, pieces);
        json_put_key(w, "logprob");
        json_put_float(w, tokens[i].logprob);
        json_member_begin(w, "top", '[');
        put_top(w, tokens[i].top, tokens[i].n_top, pieces);
        json_put_end(w, ']');
        if (tokens[i].n_candidates > 0 || isfinite(tokens[i].entropy)) put_sampled(w, &tokens[i], pieces);
        json_put_end(w, '}');
    }
}

void json_put_drafted(json_writer *w, const rn_chunk *c) {
    size_t n = 0;
    for (size_t i = 0; c->token_data && i < c->n_tokens; i++) {
        if (!c->token_data[i].drafted) continue;
        if (n++ == 0) json_member_begin(w, "drafted", '[');
        json_put_whole(w, (int64_t)i);
    }
    if (n > 0) json_put_end(w, ']');
}

static void put_usage(json_writer *w, const rn_usage *usage) {
    json_member_begin(w, "usage", '{');
    json_member_whole(w, "prompt_tokens", usage->prompt_tokens);
    if (usage->picture_tokens) json_member_whole(w, "picture_tokens", usage->picture_tokens);
    json_member_whole(w, "cached_tokens", usage->cached_tokens);
    json_member_whole(w, "completion_tokens", usage->completion_tokens);
    if (usage->reasoning_tokens) json_member_whole(w, "reasoning_tokens", usage->reasoning_tokens);
    json_put_end(w, '}');
}

static void put_pair(json_writer *w, int64_t drafted, int64_t accepted) {
    json_put_whole(w, drafted);
    json_put_whole(w, accepted);
    json_put_end(w, ']');
}

void json_put_speculation(json_writer *w, const rn_usage *usage) {
    enum { THOUSANDTHS = 3 };
    int n_depths = RN_DRAFT_DEPTHS;
    if (!usage->speculates) return;
    json_member_begin(w, "speculation", '{');
    json_member_whole(w, "drafted", usage->drafted_tokens);
    json_member_whole(w, "accepted", usage->accepted_tokens);
    while (n_depths > 0 && usage->drafted_at_depth[n_depths - 1] == 0) n_depths--;
    json_member_begin(w, "by_depth", '[');
    for (int i = 0; i < n_depths; i++) {
        json_put_begin(w, '[');
        put_pair(w, usage->drafted_at_depth[i], usage->accepted_at_depth[i]);
    }
    json_put_end(w, ']');
    json_member_begin(w, "by_drafter", '{');
    for (size_t i = 0; rn_drafter_name(i); i++) {
        if (usage->drafted_by[i] == 0) continue;
        json_member_begin(w, rn_drafter_name(i), '[');
        put_pair(w, usage->drafted_by[i], usage->accepted_by[i]);
    }
    json_put_end(w, '}');
    json_member_rounded(w, "rows_per_token", draft_rows_per_token(usage), THOUSANDTHS);
    if (usage->accepted_prediction_tokens + usage->rejected_prediction_tokens > 0) {
        json_member_whole(w, "accepted_prediction", usage->accepted_prediction_tokens);
        json_member_whole(w, "rejected_prediction", usage->rejected_prediction_tokens);
    }
    if (usage->speed_up > 0) json_member_rounded(w, "speed_up", usage->speed_up, THOUSANDTHS);
    json_put_end(w, '}');
}

// Reports messages that were dropped to fit the context.
static void put_dropped(json_writer *w, const rn_chunk *last) {
    if (last->n_dropped_messages == 0) return;
    json_member_whole(w, "dropped_messages", last->n_dropped_messages);
    json_member_whole(w, "untruncated_tokens", last->untruncated_tokens);
}

void json_put_timing(json_writer *w, const rn_timing *timing, bool has_token_times) {
    enum { MICROSECONDS = 3 };
    json_member_begin(w, "timing", '{');
    json_member_rounded(w, "queue_ms", timing->queue_ms, MICROSECONDS);
    json_member_rounded(w, "prefill_ms", timing->prefill_ms, MICROSECONDS);
    json_member_rounded(w, "first_token_ms", timing->first_token_ms, MICROSECONDS);
    json_member_rounded(w, "decode_ms", timing->decode_ms, MICROSECONDS);
    if (timing->pictures_ms > 0) json_member_rounded(w, "pictures_ms", timing->pictures_ms, MICROSECONDS);
    if (has_token_times) {
        json_member_begin(w, "token_ms", '[');
        for (size_t i = 0; i < timing->n_token_ms; i++) json_put_rounded(w, timing->token_ms[i], MICROSECONDS);
        json_put_end(w, ']');
    }
    json_put_end(w, '}');
}

// Log-probabilities of the tokens of an answer that a search found, where they were asked for.
static void put_told(json_writer *w, rn_stream *stream, size_t i, const rn_model *pieces) {
    rn_chunk c;
    rn_chunk_init(&c);
    if (rn_stream_read_sequence(stream, i, &c, NULL) != RN_OK) memory_noted(NULL);
    if (!c.token_data) return;
    json_member_begin(w, "logprobs", '[');
    json_put_logprobs(w, c.token_data, c.n_tokens, pieces);
    json_put_end(w, ']');
}

static void put_sequences(json_writer *w, const rn_chunk *last, rn_stream *stream, const rn_model *pieces) {
    if (last->n_sequences == 0) return;
    json_member_begin(w, "sequences", '[');
    for (const rn_sequence *q = last->sequences; q < last->sequences + last->n_sequences; q++) {
        json_put_begin(w, '{');
        json_member_begin(w, "tokens", '[');
        for (size_t i = 0; i < q->n_tokens; i++) json_put_whole(w, q->tokens[i]);
        json_put_end(w, ']');
        json_member_text(w, "text", q->text, q->n_text);
        json_member_real(w, "score", q->score);
        json_member_real(w, "logprob", q->logprob);
        json_member_string(w, "finish_reason", rn_finish_name(q->finish_reason));
        put_told(w, stream, (size_t)(q - last->sequences), pieces);
        json_put_end(w, '}');
    }
    json_put_end(w, ']');
}

void json_put_finish(json_writer *w, const rn_chunk *last, bool has_token_times, rn_stream *stream,
                     const rn_model *pieces) {
    json_member_string(w, "finish_reason", rn_finish_name(last->finish_reason));
    json_member_string(w, "finish_detail", last->finish_detail);
    json_member_u64(w, "seed", last->seed);
    put_sequences(w, last, stream, pieces);
    put_usage(w, last->usage);
    json_put_speculation(w, last->usage);
    put_dropped(w, last);
    json_put_timing(w, last->timing, has_token_times);
}
