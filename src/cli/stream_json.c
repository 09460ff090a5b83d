// cli/stream_json.c - member by member, in the order the manual shows them.
#include "cli/stream_json.h"

void json_put_logprobs(json_writer *w, const rn_token *tokens, size_t n) {
    for (size_t i = 0; i < n; i++) {
        json_put_begin(w, '{');
        json_put_key(w, "id");
        json_put_whole(w, tokens[i].id);
        json_put_key(w, "logprob");
        json_put_float(w, tokens[i].logprob);
        json_put_key(w, "top");
        json_put_begin(w, '[');
        for (int32_t k = 0; k < tokens[i].n_top; k++) {
            json_put_begin(w, '{');
            json_put_key(w, "id");
            json_put_whole(w, tokens[i].top[k].id);
            json_put_key(w, "logprob");
            json_put_float(w, tokens[i].top[k].logprob);
            json_put_end(w, '}');
        }
        json_put_end(w, ']');
        json_put_end(w, '}');
    }
}

static void put_usage(json_writer *w, const rn_usage *usage) {
    json_put_key(w, "usage");
    json_put_begin(w, '{');
    json_put_key(w, "prompt_tokens");
    json_put_whole(w, usage->prompt_tokens);
    json_put_key(w, "cached_tokens");
    json_put_whole(w, usage->cached_tokens);
    json_put_key(w, "completion_tokens");
    json_put_whole(w, usage->completion_tokens);
    json_put_end(w, '}');
}

static void put_timing(json_writer *w, const rn_timing *timing, bool has_token_times) {
    enum { MICROSECONDS = 3 };
    json_put_key(w, "timing");
    json_put_begin(w, '{');
    json_put_key(w, "queue_ms");
    json_put_rounded(w, timing->queue_ms, MICROSECONDS);
    json_put_key(w, "prefill_ms");
    json_put_rounded(w, timing->prefill_ms, MICROSECONDS);
    json_put_key(w, "first_token_ms");
    json_put_rounded(w, timing->first_token_ms, MICROSECONDS);
    json_put_key(w, "decode_ms");
    json_put_rounded(w, timing->decode_ms, MICROSECONDS);
    if (has_token_times) {
        json_put_key(w, "token_ms");
        json_put_begin(w, '[');
        for (size_t i = 0; i < timing->n_token_ms; i++) json_put_rounded(w, timing->token_ms[i], MICROSECONDS);
        json_put_end(w, ']');
    }
    json_put_end(w, '}');
}

void json_put_finish(json_writer *w, const rn_chunk *last, bool has_token_times) {
    json_put_key(w, "finish_reason");
    json_put_string(w, rn_finish_name(last->finish_reason));
    json_put_key(w, "finish_detail");
    json_put_string(w, last->finish_detail);
    json_put_key(w, "seed");
    json_put_u64(w, last->seed);
    put_usage(w, &last->usage);
    put_timing(w, &last->timing, has_token_times);
}
