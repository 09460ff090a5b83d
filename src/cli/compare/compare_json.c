// cli/compare/compare_json.c - a comparison as one JSON object.
#include "app/json_write.h"
#include "app/stream_json.h"
#include "cli/compare/compare_print.h"

static void put_measures(json_writer *w, const compare_lane *l) {
    static const char *const distinct[] = {"distinct_1", "distinct_2", "distinct_3"};
    json_member_begin(w, "measures", '{');
    json_member_real(w, "tokens_per_second", compare_lane_rate(l));
    json_member_whole(w, "model_rows", l->usage.model_rows);
    json_member_real(w, "mean_logprob", l->logprob);
    json_member_real(w, "mean_entropy", l->entropy);
    for (size_t k = 0; k < 3; k++) json_member_real(w, distinct[k], l->distinct[k]);
    json_member_real(w, "repetition", l->repetition);
    json_member_real(w, "bleu", l->bleu);
    if (l->n_sequences > 0) json_member_real(w, "self_bleu", l->self_bleu);
    json_put_end(w, '}');
}

static void put_logprobs(json_writer *w, const compare_lane *l) {
    json_member_begin(w, "logprobs", '[');
    for (size_t i = 0; i < l->n_tokens; i++) {
        const lane_token *const t = &l->tokens[i];
        json_put_begin(w, '{');
        json_member_whole(w, "id", t->id);
        json_put_key(w, "logprob");
        json_put_float(w, t->logprob);
        json_put_key(w, "entropy");
        json_put_float(w, t->entropy);
        json_member_whole(w, "rank", t->rank);
        json_member_begin(w, "top", '[');
        for (int32_t k = 0; k < t->n_top; k++) {
            const rn_top *const top = &l->tops[t->first_top + (size_t)k];
            json_put_begin(w, '{');
            json_member_whole(w, "id", top->id);
            json_put_key(w, "logprob");
            json_put_float(w, top->logprob);
            json_put_end(w, '}');
        }
        json_put_end(w, ']');
        json_put_end(w, '}');
    }
    json_put_end(w, ']');
}

static void put_sequences(json_writer *w, const compare_lane *l) {
    if (l->n_sequences == 0) return;
    json_member_begin(w, "sequences", '[');
    for (const lane_sequence *q = l->sequences; q < l->sequences + l->n_sequences; q++) {
        json_put_begin(w, '{');
        json_put_key(w, "tokens");
        json_put_ids(w, q->tokens.ids, q->tokens.n);
        json_member_bytes(w, "text", &q->text);
        json_member_real(w, "score", q->score);
        json_member_real(w, "logprob", q->logprob);
        json_member_string(w, "finish_reason", rn_finish_name(q->finish));
        json_put_end(w, '}');
    }
    json_put_end(w, ']');
}

// Bytes that this text and each of all the others begin with.
static void put_common(json_writer *w, const comparison *c, const compare_lane *l) {
    json_member_begin(w, "common", '[');
    for (size_t i = 0; i < c->n; i++)
        json_put_whole(w, (int64_t)text_common(compare_lane_text(l), compare_lane_text(&c->lanes[i])));
    json_put_end(w, ']');
}

static void put_lane(json_writer *w, const comparison *c, const compare_lane *l) {
    json_put_begin(w, '{');
    json_member_string(w, "name", l->name);
    json_member_string(w, "model", l->model_name);
    json_put_key(w, "settings");
    json_put_raw(w, l->settings);
    json_member_u64(w, "seed", l->seed);
    json_member_bytes(w, "text", &l->text);
    json_member_begin(w, "tokens", '[');
    for (size_t i = 0; i < l->n_tokens; i++) json_put_whole(w, l->tokens[i].id);
    json_put_end(w, ']');
    put_logprobs(w, l);
    json_member_string(w, "finish_reason", rn_finish_name(l->finish));
    json_member_string(w, "finish_detail", l->detail);
    put_common(w, c, l);
    put_sequences(w, l);
    put_measures(w, l);
    json_member_begin(w, "usage", '{');
    json_member_whole(w, "prompt_tokens", l->usage.prompt_tokens);
    json_member_whole(w, "cached_tokens", l->usage.cached_tokens);
    json_member_whole(w, "completion_tokens", l->usage.completion_tokens);
    json_put_end(w, '}');
    json_put_speculation(w, &l->usage);
    json_member_begin(w, "timing", '{');
    json_member_rounded(w, "first_token_ms", l->first_ms, 3);
    json_member_rounded(w, "decode_ms", l->decode_ms, 3);
    json_put_end(w, '}');
    json_put_end(w, '}');
}

void compare_print_json(const comparison *c, bytes *to) {
    json_writer w = {to, false};
    json_put_begin(&w, '{');
    if (c->prompt) {
        json_member_text(&w, "prompt", c->prompt, c->n_prompt);
    } else {
        json_put_key(&w, "prompt_ids");
        json_put_ids(&w, c->ids->ids, c->ids->n);
    }
    json_member_begin(&w, "lanes", '[');
    for (size_t i = 0; i < c->n; i++) put_lane(&w, c, &c->lanes[i]);
    json_put_end(&w, ']');
    json_member_real(&w, "self_bleu", c->self_bleu);
    json_put_end(&w, '}');
    bytes_add_text(to, "\n");
}
