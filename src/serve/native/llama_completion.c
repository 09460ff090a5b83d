// serve/native/llama_completion.c - POST /completion and /infill: the members of /v1/runnel/generate and those of llama-server, answered
// in llama-server's form. Its stream has no [DONE].
#include "serve/native/llama_completion.h"
#include "app/say.h"
#include "app/stream_json.h"
#include "serve/native/infill_form.h"
#include "serve/native/native_generate.h"
#include "serve/openai/openai_json.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct llama_request {
    native_request q;
    int32_t n_probs, id_slot, max_predict_ms;
    bool post_sampling_probs, return_tokens;
    infill hole;
} llama_request;

// What a job of this route needs (job.more).
typedef struct llama_answer {
    bool has_probs, has_tokens, has_new_line, is_shortened;
    int32_t id_slot, n_predict, n_probs;
    generation_parts parts; // numbers alone
    bytes prompt;           // a JSON string
} llama_answer;

static llama_answer *answer_of(const job *j) { return j->more; }

static void free_answer(void *more) {
    bytes_free(&((llama_answer *)more)->prompt);
    free(more);
}

// ---- the answer -----------------------------------------------------------------------------------------------------

// sampled: probabilities after the sampling stages are told as such, others as logarithms.
static void put_token(json_writer *w, const rn_model *m, int32_t id, float logprob, bool sampled) {
    size_t n;
    char *const text = token_text(m, id, &n);
    json_member_whole(w, "id", id);
    json_member_text(w, "token", text, n);
    json_member_begin(w, "bytes", '[');
    for (size_t i = 0; i < n; i++) json_put_whole(w, (unsigned char)text[i]);
    json_put_end(w, ']');
    json_put_key(w, sampled ? "prob" : "logprob");
    json_put_float(w, sampled ? expf(logprob) : logprob);
    rn_free(text);
}

static void put_probs(json_writer *w, const rn_model *m, const rn_token *tokens, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const rn_token *const t = &tokens[i];
        const bool sampled = t->n_candidates > 0;
        const rn_top *const top = sampled ? t->sampled_top : t->top;
        const int32_t n_top = sampled ? t->n_sampled_top : t->n_top;
        json_put_begin(w, '{');
        put_token(w, m, t->id, sampled ? t->sampled_logprob : t->logprob, sampled);
        json_member_begin(w, sampled ? "top_probs" : "top_logprobs", '[');
        for (int32_t k = 0; k < n_top; k++) {
            json_put_begin(w, '{');
            put_token(w, m, top[k].id, top[k].logprob, sampled);
            json_put_end(w, '}');
        }
        json_put_end(w, ']');
        json_put_end(w, '}');
    }
}

static void take_chunk(job *j, job_part *p, const rn_chunk *c) {
    llama_answer *const a = answer_of(j);
    const size_t n = openai_n_text_tokens(p, c);
    json_writer ids = {&p->ids, p->ids.n > 0};
    for (size_t i = 0; a->has_tokens && i < n; i++) json_put_whole(&ids, c->tokens[i]);
    if (a->has_probs && c->token_data)
        put_probs(&(json_writer){&p->logprobs, p->logprobs.n > 0}, job_model(j), c->token_data, n);
    a->has_new_line |= c->n_text > 0 && memchr(c->text, '\n', c->n_text) != NULL;
    bytes_add(&p->text, c->text, c->n_text);
}

// Writes what came since the last event, and forgets it.
static void put_piece(json_writer *w, job_part *p) {
    const llama_answer *const a = answer_of(p->job);
    json_member_whole(w, "index", p->index);
    json_member_bytes(w, "content", &p->text);
    openai_put_id_items(w, "tokens", &p->ids);
    json_member_whole(w, "id_slot", a->id_slot);
    json_member_bool(w, "stop", p->is_done);
    if (p->logprobs.n) openai_put_id_items(w, "completion_probabilities", &p->logprobs);
    bytes_free(&p->text);
    bytes_free(&p->ids);
    bytes_free(&p->logprobs);
}

static void put_settings(json_writer *w, const job_part *p) {
    // As the library calls them, and llama-server.
    static const struct {
        const char *name, *theirs;
    } rows[] = {{"temp", "temperature"},
                {"top_k", "top_k"},
                {"top_p", "top_p"},
                {"min_p", "min_p"},
                {"repeat_penalty", "repeat_penalty"},
                {"frequency_penalty", "frequency_penalty"},
                {"presence_penalty", "presence_penalty"},
                {"penalty_last_n", "repeat_last_n"},
                {"dynatemp_range", "dynatemp_range"},
                {"dynatemp_exponent", "dynatemp_exponent"},
                {"top_n_sigma", "top_n_sigma"},
                {"typical_p", "typical_p"},
                {"xtc_probability", "xtc_probability"},
                {"xtc_threshold", "xtc_threshold"},
                {"dry_multiplier", "dry_multiplier"},
                {"dry_base", "dry_base"},
                {"dry_allowed_length", "dry_allowed_length"},
                {"dry_penalty_last_n", "dry_penalty_last_n"},
                {"mirostat", "mirostat"},
                {"mirostat_tau", "mirostat_tau"},
                {"mirostat_eta", "mirostat_eta"},
                {"adaptive_target", "adaptive_target"},
                {"adaptive_decay", "adaptive_decay"}};
    const llama_answer *const a = answer_of(p->job);
    json_member_begin(w, "generation_settings", '{');
    json_member_u64(w, "seed", p->seed);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        json_put_key(w, rows[i].theirs);
        json_put_float(w, (float)rn_sampling_get(&a->parts.sampling, rows[i].name));
    }
    json_member_whole(w, "n_predict", a->n_predict);
    json_member_whole(w, "n_probs", a->n_probs);
    json_put_end(w, '}');
}

static void put_rate(json_writer *w, const char *n_name, const char *ms_name, const char *each_name,
                     const char *rate_name, double n, double ms) {
    json_member_whole(w, n_name, (int64_t)n);
    json_member_rounded(w, ms_name, ms, 3);
    json_member_rounded(w, each_name, n > 0 ? ms / n : 0, 3);
    json_member_rounded(w, rate_name, ms > 0 ? n * 1e3 / ms : 0, 3);
}

static void put_timings(json_writer *w, const job_part *p) {
    const rn_usage *const u = &p->usage;
    json_member_begin(w, "timings", '{');
    json_member_whole(w, "cache_n", u->cached_tokens);
    openai_put_pictures(w, p->job);
    put_rate(w, "prompt_n", "prompt_ms", "prompt_per_token_ms", "prompt_per_second",
             (double)(u->prompt_tokens - u->cached_tokens), p->timing.prefill_ms);
    put_rate(w, "predicted_n", "predicted_ms", "predicted_per_token_ms", "predicted_per_second",
             (double)u->completion_tokens, p->timing.decode_ms);
    if (u->drafted_tokens > 0) {
        json_member_whole(w, "draft_n", u->drafted_tokens);
        json_member_whole(w, "draft_n_accepted", u->accepted_tokens);
    }
    json_put_end(w, '}');
}

// Members of a last event. The word is that of the stop string.
static void put_end(json_writer *w, const job_part *p) {
    static const char begins[] = "stop string \"";
    const size_t n_begins = sizeof begins - 1;
    const llama_answer *const a = answer_of(p->job);
    const bool is_word = p->finish == RN_FINISH_STOP && strncmp(p->detail, begins, n_begins) == 0;
    const bool is_eos = p->finish == RN_FINISH_STOP && !is_word;
    json_member_string(w, "model", job_model_name(p->job));
    json_member_whole(w, "tokens_predicted", p->usage.completion_tokens);
    json_member_whole(w, "tokens_evaluated", p->usage.prompt_tokens);
    put_settings(w, p);
    json_put_key(w, "prompt");
    json_put_raw(w, a->prompt.n ? a->prompt.data : "\"\"");
    json_member_bool(w, "has_new_line", a->has_new_line);
    json_member_bool(w, "truncated", a->is_shortened);
    json_member_string(w, "stop_type", is_word ? "word" : is_eos ? "eos" : "limit");
    json_member_bool(w, "stopped_eos", is_eos);
    json_member_bool(w, "stopped_limit", p->finish == RN_FINISH_LENGTH);
    json_member_bool(w, "stopped_word", is_word);
    json_member_text(w, "stopping_word", is_word ? p->detail + n_begins : "",
                     is_word ? strlen(p->detail) - n_begins - 1 : 0);
    json_member_whole(w, "tokens_cached", p->usage.prompt_tokens + p->usage.completion_tokens);
    put_timings(w, p);
}

static void stream_chunk(job *j, job_part *p, const rn_chunk *c) {
    take_chunk(j, p, c);
    if (p->text.n == 0 && p->ids.n == 0 && !p->is_done) return;
    if (p->is_done && p->finish != RN_FINISH_STOP && p->finish != RN_FINISH_LENGTH) return;
    bytes json = {0};
    json_writer w = {&json, false};
    json_put_begin(&w, '{');
    put_piece(&w, p);
    if (p->is_done) {
        put_end(&w, p);
    } else {
        const rn_usage u = job_usage_so_far(j);
        json_member_whole(&w, "tokens_predicted", u.completion_tokens);
        json_member_whole(&w, "tokens_evaluated", u.prompt_tokens);
    }
    json_put_end(&w, '}');
    job_event(j, NULL, &json);
}

static void stream_end(job *j) { (void)j; }

static void whole_end(job *j) {
    json_writer w = {&j->body, false};
    json_put_begin(&w, '{');
    put_piece(&w, &j->parts[0]);
    put_end(&w, &j->parts[0]);
    json_put_end(&w, '}');
}

static const job_format stream_format = {NULL, stream_chunk, stream_end, NULL, free_answer},
                        whole_format = {NULL, take_chunk, whole_end, NULL, free_answer, .is_whole = true};

// ---- the request ----------------------------------------------------------------------------------------------------

// [{"data": BASE64, "id": N}, ..], for the mark [img-N].
static bool each_image(void *target, size_t i, const char *key, const json_item *value, char *why) {
    llama_request *const l = target;
    sent_pictures *const p = &l->q.chat.pictures;
    const json_item *const data = json_item_member(value, "data"), *const id = json_item_member(value, "id");
    char place[SENT_PICTURE_PLACE], inner[JSON_WHY] = "is missing";
    int64_t number = 0;
    (void)key;
    snprintf(place, sizeof place, "image_data[%zu].data", i);
    if (!data || !sent_pictures_add(p, data, place, inner)) {
        snprintf(why, JSON_WHY / 2, "data%s%.200s", *inner == ':' ? "" : ": ", inner);
        return false;
    }
    if (id && !json_item_whole(id, 0, INT32_MAX, &number, inner)) {
        snprintf(why, JSON_WHY / 2, "id: %.200s", inner);
        return false;
    }
    if (id) p->sent[p->n - 1].id = number;
    return true;
}

static const member image_rows[] = {
    {"image_data", MEMBER_EACH, .shape = SHAPE_ARRAY, .each = each_image, .schema = SCHEMA_ARRAY_OF(SCHEMA_OBJECT)},
};
static const member rows[] = {
    {"n_probs", MEMBER_INT, offsetof(llama_request, n_probs), 0, 20},
    {"post_sampling_probs", MEMBER_BOOL, offsetof(llama_request, post_sampling_probs)},
    {"return_tokens", MEMBER_BOOL, offsetof(llama_request, return_tokens)},
    {"id_slot", MEMBER_INT, offsetof(llama_request, id_slot), -1, INT32_MAX},
    {"t_max_predict_ms", MEMBER_INT, offsetof(llama_request, max_predict_ms), 0, 86400000},
};

// Those of a prompt that is an object.
static bool take_media(llama_request *l) {
    const json_item *const media = l->q.prompt.media;
    char place[SENT_PICTURE_PLACE], why[JSON_WHY] = "";
    for (size_t i = 0; media && i < json_item_count(media); i++) {
        snprintf(place, sizeof place, "prompt.multimodal_data[%zu]", i);
        if (!sent_pictures_add(&l->q.chat.pictures, json_item_at(media, i), place, why))
            return api_fail(&l->q.r.error, API_INVALID_VALUE, place, "%s%s%s", place, *why == ':' ? "" : ": ", why);
    }
    return true;
}

static bool read_request(llama_request *l, bool is_infill) {
    native_request *const q = &l->q;
    api_error *const e = &q->r.error;
    const member_group groups[] = {{rows, sizeof rows / sizeof *rows, l},
                                   is_infill ? (member_group){infill_rows, INFILL_ROWS, &l->hole}
                                             : (member_group){image_rows, 1, l}};
    if (is_infill) q->parts = &l->hole.part;
    q->prompt.takes_media = !is_infill;
    if (!native_read(q, groups, 2) || (is_infill && !infill_read(&l->hole, q)) || !take_media(l)) return false;
    if (q->g.n > 1) return api_fail(e, API_UNSUPPORTED_PARAMETER, "n", "n: must be 1: /v1/completions takes more");
    if (q->prompt.n == 0 && !is_infill)
        return api_fail(e, API_UNSUPPORTED_PARAMETER, "messages", "messages: use /v1/chat/completions");
    if (q->g.g.sampled_logprobs >= 0)
        return api_fail(e, API_UNSUPPORTED_PARAMETER, "sampled_logprobs",
                        "sampled_logprobs: use n_probs with post_sampling_probs");
    if (l->n_probs) q->g.g.logprobs = l->n_probs;
    if (l->n_probs && l->post_sampling_probs) q->g.g.sampled_logprobs = l->n_probs;
    if (l->max_predict_ms) q->g.timeout = l->max_predict_ms / 1e3;
    return true;
}

static rn_status add_ids(const llama_request *l, const int32_t *ids, size_t n, bytes *to, rn_error *err) {
    char *text = NULL;
    size_t n_text = 0;
    const rn_status st = rn_detokenize(l->q.r.server->models[l->q.r.model].model, ids, n, true, &text, &n_text, err);
    if (n_text) bytes_add(to, text, n_text);
    rn_free(text);
    return st;
}

// Ids are told as text. False: the error says why.
static bool note_prompt(llama_request *l, llama_answer *a) {
    const native_request *const q = &l->q;
    rn_error err = {0};
    rn_status st = RN_OK;
    bytes all = {0};
    for (size_t i = 0; st == RN_OK && i < q->n_parts; i++) {
        const rn_part *const p = &q->parts[i];
        if (p->kind == RN_PART_IDS)
            st = add_ids(l, p->ids, p->n_ids, &all, &err);
        else
            bytes_add(&all, p->text, p->n_text);
    }
    const prompt_item *const only = q->parts ? NULL : &q->prompt.items[0];
    if (only && !only->text.data)
        st = add_ids(l, only->ids.ids, only->ids.n, &all, &err);
    else if (only)
        bytes_add(&all, only->text.data, only->text.n);
    if (st == RN_OK) json_put_text(&(json_writer){&a->prompt, false}, all.n ? all.data : "", all.n);
    bytes_free(&all);
    return st == RN_OK || api_fail_begin(&l->q.r.error, st, &err, "prompt");
}

static job *begin(llama_request *l) {
    const api_generation *const g = &l->q.g;
    llama_answer *const a = app_alloc(sizeof *a);
    rn_request req;
    if (!a) return NULL;
    *a = (llama_answer){.has_probs = g->g.logprobs >= 0,
                        .has_tokens = l->return_tokens,
                        .id_slot = l->id_slot,
                        .n_predict = g->g.n,
                        .is_shortened = l->hole.made.n_left_out > 0,
                        .n_probs = l->n_probs};
    rn_request_init(&req);
    if (!api_generation_apply(g, l->q.r.server, &req, &a->parts, 0, &l->q.r.error) || !note_prompt(l, a)) {
        free_answer(a);
        return NULL;
    }
    return native_begin_as(&l->q, g->delivery.is_stream ? &stream_format : &whole_format, a);
}

static void answer(struct server *s, http_exchange *x, const http_request *http, bool is_infill) {
    llama_request *const l = app_alloc(sizeof *l);
    if (!l) {
        api_answer_error(x, &api_no_memory);
        return;
    }
    *l = (llama_request){.id_slot = -1};
    native_init(&l->q);
    const bool ok = api_request_open(&l->q.r, s, http, http->body, http->n_body) && read_request(l, is_infill);
    const bool is_long = l->q.chat.pictures.n > 0 || api_generation_is_long(&l->q.g, 1);
    if (!ok || !is_long || !http_defer(x)) job_answer(ok ? begin(l) : NULL, x, &l->q.r, &l->q.g.delivery);
    native_free(&l->q);
    infill_free(&l->hole);
    free(l);
}

void route_llama_completion(struct server *s, http_exchange *x, const http_request *http) {
    answer(s, x, http, false);
}

void route_llama_infill(struct server *s, http_exchange *x, const http_request *http) { answer(s, x, http, true); }
