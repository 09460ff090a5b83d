// serve/openai/completions.c - POST /v1/completions: continues one or several prompts.
#include "app/say.h"
#include "app/stream_json.h"
#include "serve/api/api_generation.h"
#include "serve/api/prompt_form.h"
#include "serve/jobs/session_store.h"
#include "serve/openai/chat_completions.h"
#include "serve/openai/openai_json.h"
#include <stdlib.h>
#include <string.h>

// The arrays of the `logprobs` object.
typedef enum list_kind { LIST_TOKENS, LIST_VALUES, LIST_TOP, LIST_OFFSETS, N_LISTS } list_kind;
typedef struct part_lists {
    bytes lists[N_LISTS];
    int64_t n_chars;  // characters of the text so far: the next token's offset
    bytes prompt_ids; // of return_token_ids: items of an array
} part_lists;
typedef struct completion_answer {
    bool has_logprobs, has_echo, has_prompt_scores;
    openai_options options;
    size_t n_parts;
    part_lists parts[JOB_PARTS];
} completion_answer;

static completion_answer *answer_of(const job *j) { return j->more; }
static part_lists *lists_of(const job_part *p) { return &answer_of(p->job)->parts[p->index]; }

static void free_answer(void *more) {
    completion_answer *const a = more;
    for (size_t i = 0; i < a->n_parts; i++) {
        for (int k = 0; k < N_LISTS; k++) bytes_free(&a->parts[i].lists[k]);
        bytes_free(&a->parts[i].prompt_ids);
    }
    free(a);
}

static int64_t count_chars(const char *text, size_t n) {
    int64_t chars = 0;
    for (size_t i = 0; i < n; i++) chars += ((unsigned char)text[i] & 0xC0) != 0x80;
    return chars;
}

static void put_name(json_writer *w, const rn_model *m, int32_t id, bool by_id) {
    char name[OPENAI_ID_NAME];
    size_t n;
    char *const text = token_text(m, id, &n);
    openai_id_name(id, name);
    if (by_id)
        json_put_text(w, name, strlen(name));
    else
        json_put_text(w, n ? text : "", n);
    rn_free(text);
}

static void put_top(json_writer *w, const rn_model *m, const rn_token *t, bool by_id) {
    json_put_begin(w, '{');
    for (int32_t k = 0; k < t->n_top; k++) {
        bytes name = {0};
        put_name(&(json_writer){&name, false}, m, t->top[k].id, by_id);
        bytes_add_format(w->out, "%s%s:", k ? "," : "", name.data);
        w->needs_comma = false;
        json_put_float(w, t->top[k].logprob);
        bytes_free(&name);
    }
    json_put_end(w, '}');
}

// Adds a token to the arrays. n_chars: by how many characters it extends the text; -1: by its own text's length.
static void add_token(part_lists *l, const rn_model *m, const rn_token *t, int64_t n_chars, bool by_id) {
    json_writer w[N_LISTS];
    size_t n;
    char *const text = token_text(m, t->id, &n);
    for (int k = 0; k < N_LISTS; k++) w[k] = (json_writer){&l->lists[k], l->lists[k].n > 0};
    put_name(&w[LIST_TOKENS], m, t->id, by_id);
    if (t->rank) {
        json_put_float(&w[LIST_VALUES], t->logprob);
        put_top(&w[LIST_TOP], m, t, by_id);
    } else { // the first token of a prompt has no probability
        json_put_null(&w[LIST_VALUES]);
        json_put_null(&w[LIST_TOP]);
    }
    json_put_whole(&w[LIST_OFFSETS], l->n_chars);
    l->n_chars += n_chars >= 0 ? n_chars : count_chars(text, n);
    rn_free(text);
}

// Adds the prompt's tokens before those of the answer; offsets refer to the echoed text. The begin token, and a
// space that the tokenizer adds before the first word, are not part of that text.
static void add_prompt(part_lists *l, const rn_model *m, const rn_chunk *c, bool by_id) {
    for (size_t i = 0; i < c->n_prompt_data; i++) {
        char *text = NULL;
        size_t n = 0;
        int64_t n_chars = 0;
        if (rn_detokenize(m, &c->prompt_data[i].id, 1, false, &text, &n, NULL) == RN_OK && n > 0)
            n_chars = l->n_chars == 0 ? count_chars(text, n) : -1;
        rn_free(text);
        add_token(l, m, &c->prompt_data[i], n_chars, by_id);
    }
}

static void take_chunk(job *j, job_part *p, const rn_chunk *c) {
    const completion_answer *const a = answer_of(j);
    const bool by_id = a->options.logprobs_by_id;
    // With echo, end tokens are listed too: clients that score a text count tokens from its end.
    const size_t n_told = a->has_echo ? c->n_tokens : openai_n_text_tokens(p, c);
    const size_t n = c->token_data && a->has_logprobs ? n_told : 0;
    for (size_t i = 0; c->prompt_data && i < job_n_found(p); i++) {
        if (a->has_echo && a->has_logprobs) add_prompt(lists_of(&p[i]), job_model(j), c, by_id);
        if (a->has_prompt_scores)
            openai_put_prompt_scores(&(json_writer){&p[i].prompt_scores, false}, job_model(j), c->prompt_data,
                                     c->n_prompt_data);
    }
    for (size_t i = 0; i < n; i++) add_token(lists_of(p), job_model(j), &c->token_data[i], -1, by_id);
    json_writer ids = {&p->ids, p->ids.n > 0};
    for (size_t i = 0; a->options.has_ids && i < c->n_tokens; i++) json_put_whole(&ids, c->tokens[i]);
    bytes_add(&p->text, c->text, c->n_text);
    p->state[0] += (int64_t)c->n_dropped;
}

// Writes the logprobs collected so far and empties the lists.
static void put_lists(json_writer *w, job_part *p) {
    static const char *const names[N_LISTS] = {"tokens", "token_logprobs", "top_logprobs", "text_offset"};
    if (!answer_of(p->job)->has_logprobs) {
        json_member_string(w, "logprobs", NULL);
        return;
    }
    json_member_begin(w, "logprobs", '{');
    for (int k = 0; k < N_LISTS; k++) {
        bytes *const list = &lists_of(p)->lists[k];
        json_member_begin(w, names[k], '[');
        if (list->n) json_put_raw(w, list->data);
        json_put_end(w, ']');
        bytes_free(list);
    }
    json_put_end(w, '}');
}

static void put_ids(json_writer *w, job_part *p) {
    bytes *const prompt = &lists_of(p)->prompt_ids;
    if (!answer_of(p->job)->options.has_ids) return;
    openai_put_id_items(w, "token_ids", &p->ids);
    if (prompt->n) openai_put_id_items(w, "prompt_token_ids", prompt); // once
    bytes_free(&p->ids);
    bytes_free(prompt);
}

static void put_choice(json_writer *w, job_part *p) {
    json_put_begin(w, '{');
    json_member_whole(w, "index", p->index);
    json_member_bytes(w, "text", &p->text);
    put_lists(w, p);
    if (p->prompt_scores.n) {
        json_member_begin(w, "prompt_logprobs", '[');
        json_put_raw(w, p->prompt_scores.data);
        json_put_end(w, ']');
        bytes_free(&p->prompt_scores);
    }
    put_ids(w, p);
    if (p->state[0])
        // Tokens that a slow client lost because it asked for the overflow policy drop-oldest.
        json_member_whole(w, "dropped", p->state[0]);
    p->state[0] = 0;
    json_member_string(w, "finish_reason", p->is_done ? openai_finish(p) : NULL);
    if (p->is_done) openai_put_rest(w, p);
    json_put_end(w, '}');
    bytes_free(&p->text);
}

static void stream_chunk(job *j, job_part *p, const rn_chunk *c) {
    take_chunk(j, p, c);
    if (p->text.n == 0 && lists_of(p)->lists[LIST_TOKENS].n == 0 && p->ids.n == 0 && !p->is_done) return;
    if (p->is_done && p->finish != RN_FINISH_STOP && p->finish != RN_FINISH_LENGTH) return;
    bytes json = {0};
    json_writer w = {&json, false};
    json_put_begin(&w, '{');
    openai_put_head(&w, j, "cmpl-", "text_completion");
    json_member_begin(&w, "choices", '[');
    put_choice(&w, p);
    json_put_end(&w, ']');
    openai_put_event_usage(&w, j, &answer_of(j)->options);
    json_put_end(&w, '}');
    job_event(j, NULL, &json);
}

static void stream_end(job *j) { openai_stream_end(j, "cmpl-", "text_completion", answer_of(j)->options.has_usage); }

static void whole_end(job *j) { openai_put_whole(j, "cmpl-", "text_completion", put_choice, NULL); }

static const job_format stream_format = {NULL, stream_chunk, stream_end, NULL, free_answer},
                        whole_format = {NULL, take_chunk, whole_end, NULL, free_answer, .is_whole = true};

// ---- the request ----------------------------------------------------------------------------------------------------

typedef struct completion_request {
    api_request r;
    api_generation g;
    prompt_form prompts;
    json_span suffix;
} completion_request;

static const member prompt_rows[] = {{"prompt", MEMBER_EACH, .each = prompt_form_each, .schema = PROMPT_FORM_SCHEMA}};
static const member suffix_rows[] = {{"suffix", MEMBER_TEXT, offsetof(completion_request, suffix)}};
static const api_refusals refusals = {NULL, 0, &api_foreign_members};

static bool read_request(completion_request *c) {
    api_generation_rows made;
    static const char *const left_out[] = {"sampled_logprobs", NULL};
    api_generation_make_rows(&made, left_out);
    const member_group groups[] = {API_COMMON_GROUP(&c->r),
                                   API_GENERATION_GROUP(&made, &c->g),
                                   {prompt_rows, 1, &c->prompts},
                                   {suffix_rows, 1, c}};
    return api_request_read(&c->r, groups, sizeof groups / sizeof *groups, &refusals);
}

// A prompt with a suffix is what is before the hole. An empty suffix is none: clients send it by default.
static bool add_suffix(completion_request *c) {
    api_error *const e = &c->r.error;
    rn_error err = {0};
    if (c->suffix.n == 0) return true;
    if (c->g.g.echo) return api_fail(e, API_UNSUPPORTED_PARAMETER, "echo", "echo: excludes suffix");
    if (c->g.n_prompt_kept)
        return api_fail(e, API_UNSUPPORTED_PARAMETER, "truncate_prompt_tokens",
                        "truncate_prompt_tokens: excludes suffix");
    return prompt_form_add_suffix(&c->prompts, c->r.server->models[c->r.model].model, &c->suffix, &c->g.g, &err) ||
           api_fail_begin(e, err.code, &err, "suffix");
}

static bool check(completion_request *c) {
    api_error *const e = &c->r.error;
    if (c->prompts.n == 0) return api_fail(e, API_MISSING_PARAMETER, "prompt", "prompt: is missing");
    if (c->prompts.n * (size_t)c->g.n > JOB_PARTS)
        return api_fail(e, API_INVALID_VALUE, "n", "n: %zu prompts with %d answers each are more than %d",
                        c->prompts.n, c->g.n, JOB_PARTS);
    if (c->g.g.echo && c->g.g.logprobs >= 0 && c->g.session)
        return api_fail(e, API_UNSUPPORTED_PARAMETER, "echo", "echo: with logprobs, excludes session");
    return api_generation_check(&c->g, c->r.server, c->prompts.n * (size_t)c->g.n, e) && add_suffix(c) &&
           api_generation_prompts(&c->g, &c->r, &c->prompts);
}

static void note_prompt_ids(completion_request *c, job *j, size_t i) {
    const id_list *const ids = &c->prompts.items[i / (size_t)c->g.n].ids;
    json_writer w = {&answer_of(j)->parts[i].prompt_ids, false};
    for (size_t k = 0; c->g.has_ids && k < ids->n; k++) json_put_whole(&w, ids->ids[k]);
}

static bool begin_parts(completion_request *c, job *j) {
    if (!api_generation_admit(&c->g, &c->r, j)) return false;
    for (size_t i = 0; i < j->n_parts; i++) {
        rn_request req;
        generation_parts parts;
        rn_part part;
        rn_request_init(&req);
        if (!api_generation_apply(&c->g, c->r.server, &req, &parts, (int32_t)(i % (size_t)c->g.n), &c->r.error))
            return false;
        if (c->g.g.echo && c->g.g.logprobs > req.prompt_logprobs) req.prompt_logprobs = c->g.g.logprobs;
        prompt_form_apply(&c->prompts, i / (size_t)c->g.n, c->g.g.parse_special, &req, &part);
        if (j->session) req.session = session_of(j->session);
        note_prompt_ids(c, j, i);
        if (!job_begin_part(j, i, &req, "prompt", &c->r.error)) return false;
    }
    return true;
}

static job *begin_job(completion_request *c) {
    const size_t n = c->prompts.n * (size_t)c->g.n;
    job *const j = job_new(c->r.server, c->g.delivery.is_stream ? &stream_format : &whole_format, n);
    completion_answer *const answer = j ? app_alloc(sizeof *answer) : NULL;
    if (!answer) {
        job_close(j);
        return NULL;
    }
    *answer = (completion_answer){.has_logprobs = c->g.g.logprobs >= 0,
                                  .options = openai_options_of(&c->g),
                                  .has_echo = c->g.g.echo,
                                  .has_prompt_scores = c->g.prompt_logprobs >= 0,
                                  .n_parts = n};
    j->more = answer;
    j->n_answers = (size_t)c->g.n;
    if (begin_parts(c, j)) return j;
    job_close(j);
    return NULL;
}

void route_completions(struct server *s, http_exchange *x, const http_request *http) {
    enum { DEFAULT_TOKENS = 16 }; // OpenAI's
    completion_request *const c = app_alloc(sizeof *c);
    if (!c) {
        api_answer_error(x, &api_no_memory);
        return;
    }
    *c = (completion_request){0};
    api_generation_init(&c->g);
    c->g.g.n = DEFAULT_TOKENS;
    const bool ok = api_request_open(&c->r, s, http, http->body, http->n_body) && read_request(c) &&
                    api_request_find_model(&c->r) && check(c);
    if (!ok || !api_generation_is_long(&c->g, c->prompts.n * (size_t)c->g.n) || !http_defer(x))
        job_answer(ok ? begin_job(c) : NULL, x, &c->r, &c->g.delivery);
    prompt_form_free(&c->prompts);
    api_request_close(&c->r);
    free(c);
}
