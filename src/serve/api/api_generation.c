// serve/api/api_generation.c - see api_generation.h.
#include "serve/api/api_generation.h"
#include "app/say.h"
#include "serve/access/api_keys.h"
#include "serve/access/client_address.h"
#include "serve/api/api.h"
#include "serve/api/api_budget.h"
#include "serve/api/form_members.h"
#include "serve/jobs/session_store.h"
#include <float.h>
#include <stdio.h>
#include <string.h>

void api_generation_init(api_generation *g) {
    *g = (api_generation){.n = 1,
                          .max_completion_tokens = -2,
                          .overflow = -1,
                          .buffer_tokens = -1,
                          .prompt_logprobs = -1,
                          .caches_prompt = true};
    generation_init(&g->g);
}

static bool each_overflow(void *target, size_t i, const char *key, const json_item *value, char *why) {
    (void)i, (void)key;
    static const char *const words[] = {
        [RN_OVERFLOW_PARK] = "park", [RN_OVERFLOW_DROP_OLDEST] = "drop-oldest", [RN_OVERFLOW_CANCEL] = "cancel"};
    return json_item_word(value, words, 3, &((api_generation *)target)->overflow, why);
}

// A word (low, normal, high) or a number as in vLLM, where lower values are scheduled first.
static bool each_priority(void *target, size_t i, const char *key, const json_item *value, char *why) {
    (void)i, (void)key;
    static const char *const words[] = {"low", "normal", "high"};
    int32_t *const to = &((api_generation *)target)->priority;
    int64_t number;
    if (!json_item_is_text(value)) {
        if (!json_item_whole(value, INT32_MIN, INT32_MAX, &number, why)) return false;
        *to = number < 0 ? RN_PRIORITY_HIGH : number > 0 ? RN_PRIORITY_LOW : RN_PRIORITY_NORMAL;
        return true;
    }
    int32_t word;
    if (!json_item_word(value, words, 3, &word, why)) return false;
    *to = RN_PRIORITY_LOW + word;
    return true;
}

static bool each_progress(void *target, size_t i, const char *key, const json_item *value, char *why) {
    (void)i, (void)key;
    bool is_on = true;
    if (!json_item_bool(value, &is_on, why)) return false;
    ((api_generation *)target)->no_progress = !is_on;
    ((api_generation *)target)->wants_progress = is_on;
    return true;
}

static bool each_stream_option(void *target, size_t i, const char *key, const json_item *value, char *why) {
    (void)i;
    api_generation *const g = target;
    g->has_stream_options = true;
    if (strcmp(key, "include_usage") == 0) return json_item_bool(value, &g->include_usage, why);
    if (strcmp(key, "continuous_usage_stats") == 0) return json_item_bool(value, &g->continuous_usage, why);
    return true;
}

// 0 and -1 both turn it off, as in vLLM.
static bool each_top_k(void *target, size_t i, const char *key, const json_item *value, char *why) {
    (void)key;
    rn_field f;
    int64_t k;
    for (i = 0; rn_sampling_field(i, &f) && strcmp(f.name, "top_k") != 0;) i++;
    if (!json_item_whole(value, -1, (int64_t)f.max, &k, why)) return false;
    ((api_generation *)target)->g.fields[i] = k < 0 ? 0 : (double)k;
    return true;
}

// -1 draws a seed, as llama-server and vLLM do.
static bool each_seed(void *target, size_t i, const char *key, const json_item *value, char *why) {
    (void)i, (void)key;
    generation *const g = &((api_generation *)target)->g;
    char other_why[JSON_WHY / 2];
    int64_t none;
    g->has_seed = !json_item_whole(value, -1, -1, &none, other_why);
    return !g->has_seed || json_item_u64(value, &g->seed, why);
}

static bool each_skip_special(void *target, size_t i, const char *key, const json_item *value, char *why) {
    (void)i, (void)key;
    bool is_on = true;
    if (!json_item_bool(value, &is_on, why)) return false;
    ((api_generation *)target)->g.special = !is_on;
    return true;
}

static bool each_allowed(void *target, size_t i, const char *key, const json_item *value, char *why) {
    (void)i, (void)key;
    ((api_generation *)target)->allowed_ids = value;
    return token_rules_check_ids(value, why);
}

static bool each_bad_words(void *target, size_t i, const char *key, const json_item *value, char *why) {
    (void)i, (void)key;
    ((api_generation *)target)->bad_words = json_item_count(value) ? value : NULL;
    return token_rules_check_words(value, why);
}

static bool each_lora(void *target, size_t i, const char *key, const json_item *value, char *why) {
    (void)i, (void)key;
    ((api_generation *)target)->lora = value;
    return adapter_list_check(value, why);
}

static bool each_kept(void *target, size_t i, const char *key, const json_item *value, char *why) {
    (void)i, (void)key;
    int64_t n;
    if (!json_item_whole(value, -1, INT32_MAX, &n, why)) return false;
    ((api_generation *)target)->n_prompt_kept = (int32_t)n;
    if (n == 0) snprintf(why, JSON_WHY / 2, "0 would leave nothing of the prompt");
    return n != 0;
}

// As OpenAI and vLLM have it: the best of so many answers; 1 asks for nothing.
static bool each_best_of(void *target, size_t i, const char *key, const json_item *value, char *why) {
    (void)i, (void)key;
    int64_t n;
    if (!json_item_whole(value, 1, 32, &n, why)) return false;
    ((api_generation *)target)->best_of = (int32_t)n;
    return true;
}

static bool each_beam_search(void *target, size_t i, const char *key, const json_item *value, char *why) {
    (void)i, (void)key;
    bool is_on;
    if (!json_item_bool(value, &is_on, why)) return false;
    ((api_generation *)target)->uses_beams = is_on;
    return true;
}

#define STREAM_OPTIONS_SCHEMA                                                                                        \
    "{'type':'object','properties':{'include_usage':" SCHEMA_SWITCH ",'continuous_usage_stats':" SCHEMA_SWITCH "}}"
#define ALLOWED_SCHEMA   "{'type':'array','minItems':1,'items':" SCHEMA_ID "}"
#define BAD_WORDS_SCHEMA "{'type':'array','maxItems':128,'items':{'type':'string','minLength':1,'maxLength':256}}"
#define SESSION_SCHEMA   "{'type':'string','minLength':1,'maxLength':256}"
#define PRIORITY_SCHEMA                                                                                              \
    SCHEMA_EITHER(SCHEMA_WORDS("'low','normal','high'"), SCHEMA_WHOLE("-2147483648", "2147483647"))
#define LORA_ROW {"lora", MEMBER_EACH, .each = each_lora, .schema = ADAPTER_LIST_SCHEMA}
const member api_lora_rows[1] = {LORA_ROW};
static const member delivery_rows[] = {
    {"stream", MEMBER_BOOL, offsetof(api_generation, delivery.is_stream)},
    {"stream_options", MEMBER_EACH, .shape = SHAPE_OBJECT, .each = each_stream_option,
     .schema = STREAM_OPTIONS_SCHEMA},
    {"stream_interval", MEMBER_INT, offsetof(api_generation, g.stream_interval), 1, 1024},
    {"max_tokens", MEMBER_INT, offsetof(api_generation, g.n), -1, INT32_MAX},
    {"n_predict", MEMBER_INT, offsetof(api_generation, g.n), -1, INT32_MAX},
    {"top_k", MEMBER_EACH, .each = each_top_k, .schema = SCHEMA_WHOLE("-1", "1000000")},
    {"seed", MEMBER_EACH, .each = each_seed, .schema = SCHEMA_SEED("-1")},
    {"best_of", MEMBER_EACH, .each = each_best_of, .schema = SCHEMA_WHOLE("1", "32")},
    {"use_beam_search", MEMBER_EACH, .each = each_beam_search, .schema = SCHEMA_BOOL},
    {"allowed_token_ids", MEMBER_EACH, .each = each_allowed, .schema = ALLOWED_SCHEMA},
    {"bad_words", MEMBER_EACH, .each = each_bad_words, .schema = BAD_WORDS_SCHEMA},
    {"truncate_prompt_tokens", MEMBER_EACH, .each = each_kept,
     .schema = SCHEMA_EITHER("{'const':-1}", SCHEMA_WHOLE("1", "2147483647"))},
    {"include_stop_str_in_output", MEMBER_BOOL, offsetof(api_generation, includes_stop)},
    {"skip_special_tokens", MEMBER_EACH, .each = each_skip_special, .schema = SCHEMA_BOOL},
    {"return_token_ids", MEMBER_BOOL, offsetof(api_generation, has_ids)},
    {"return_tokens_as_token_ids", MEMBER_BOOL, offsetof(api_generation, logprobs_by_id)},
    {"n", MEMBER_INT, offsetof(api_generation, n), 1, API_CHOICES},
    {"overflow", MEMBER_EACH, .each = each_overflow, .schema = SCHEMA_WORDS("'park','drop-oldest','cancel'")},
    {"buffer_tokens", MEMBER_INT, offsetof(api_generation, buffer_tokens), 1, 65536},
    {"max_tokens_per_second", MEMBER_REAL, offsetof(api_generation, max_tokens_per_second), 0, 1e6},
    {"timeout", MEMBER_REAL, offsetof(api_generation, timeout), 0.001, 86400},
    {"resumable", MEMBER_BOOL, offsetof(api_generation, delivery.is_resumable)},
    {"session", MEMBER_NAME, offsetof(api_generation, session), .schema = SESSION_SCHEMA},
    {"priority", MEMBER_EACH, .each = each_priority, .schema = PRIORITY_SCHEMA},
    {"cache_salt", MEMBER_NAME, offsetof(api_generation, cache_salt)},
    {"cache_prompt", MEMBER_BOOL, offsetof(api_generation, caches_prompt)},
    {"prompt_logprobs", MEMBER_INT, offsetof(api_generation, prompt_logprobs), 0, 20},
    LORA_ROW,
    {"return_progress", MEMBER_EACH, .each = each_progress, .schema = SCHEMA_BOOL},
};
enum { N_DELIVERY_ROWS = sizeof delivery_rows / sizeof *delivery_rows };

// Aliases that clients of OpenAI, llama.cpp and vLLM use for members of the library.
static const struct {
    const char *alias, *name;
} aliases[] = {
    {"temperature", "temp"},
    {"repetition_penalty", "repeat_penalty"},
    {"repeat_last_n", "penalty_last_n"},
    {"stop_token_ids", "stop_tokens"},
    {"skip_eos", "ignore_eos"},
    {"cfg_scale", "guidance_scale"},
    {"typ_p", "typical_p"},
    {"beam_width", "num_beams"},
};

// Members of the library that delivery_rows reads in another way.
static const char *const own_forms[] = {"n", "top_k", "seed", "best_of", NULL};

const char *api_generation_name(const char *name) {
    for (size_t a = 0; a < sizeof aliases / sizeof *aliases; a++)
        if (strcmp(aliases[a].alias, name) == 0) return aliases[a].name;
    return name;
}

static bool is_in(const char *const *names, const char *name) {
    for (size_t i = 0; names && names[i]; i++)
        if (strcmp(names[i], name) == 0) return true;
    return false;
}

static void add_row(api_generation_rows *rows, const member *row, const char *name) {
    member *const to = &rows->rows[rows->n++];
    *to = *row;
    to->name = name;
}

void api_generation_make_rows(api_generation_rows *rows, const char *const *left_out) {
    generation_members own;
    generation_members_init(&own);
    rows->n = 0;
    for (size_t i = 0; i < own.n; i++) {
        member *const row = &own.rows[i];
        // g is the first field, so the rows' functions work with a pointer to either struct.
        row->offset += offsetof(api_generation, g);
        if (!is_in(own_forms, row->name) && !is_in(left_out, row->name)) add_row(rows, row, row->name);
        for (size_t a = 0; a < sizeof aliases / sizeof *aliases; a++)
            if (strcmp(aliases[a].name, row->name) == 0) add_row(rows, row, aliases[a].alias);
    }
    for (size_t i = 0; i < N_DELIVERY_ROWS; i++)
        if (!is_in(left_out, delivery_rows[i].name)) add_row(rows, &delivery_rows[i], delivery_rows[i].name);
    for (size_t i = 0; i < FORM_MEMBER_ROWS; i++) add_row(rows, &form_member_rows[i], form_member_rows[i].name);
}

static const api_refusal foreign[] = {
    {"logits_processors", "[]", "the server runs no code of its clients"},
    {"detokenize", "true", "the answer is text; return_token_ids adds the ids"},
    // Texts of tokens are joined as they are. true is what vLLM's clients send who did not choose.
    {"spaces_between_special_tokens", "true false", "no spaces are added"},
    {"prompt_embeds", "", "embeddings as a prompt are not supported"},
    {"guided_whitespace_pattern", "", "use json_space"},
    {"n_probs", "0", "use logprobs"},
    {"n_keep", "0", "context shifting is not supported"},
    {"n_discard", "0", "context shifting is not supported"},
    {"id_slot", "-1", "slots cannot be chosen; use session to keep a prompt's cache"},
    {"service_tier", "\"auto\" \"default\"", "only the default tier is available"},
    {"store", "false", "answers are not stored here; /v1/responses stores them"},
};
const api_refusals api_foreign_members = {foreign, sizeof foreign / sizeof *foreign};

// What else only a generation would refuse: other routes read these members too.
static bool check_names(const api_generation *g, api_error *e) {
    rn_sampling scratch;
    rn_error err = {0};
    rn_sampling_init(&scratch);
    if (g->g.preset && rn_sampling_preset(&scratch, g->g.preset, &err) != RN_OK)
        return api_fail(e, API_INVALID_VALUE, "preset", "%s", err.text);
    if (g->session && (!*g->session || strlen(g->session) > SESSION_NAME))
        return api_fail(e, API_INVALID_VALUE, "session", "session: %zu bytes, must have 1..%d", strlen(g->session),
                        SESSION_NAME);
    return true;
}

// n answers of a strategy that finds several texts are its n best ones, of one stream (job.finds_answers).
static bool finds_answers(const api_generation *g) {
    int32_t n_texts;
    bool is_given;
    return g->n > 1 && strategy_form_texts(&g->g.strategy, &n_texts, &is_given);
}

// As vLLM has it: without num_beams or beam_width there are as many beams as answers.
static bool find_answers(api_generation *g, api_error *e) {
    strategy_form *const f = &g->g.strategy;
    int32_t n_texts;
    bool is_given;
    const char *const count = strategy_form_texts(f, &n_texts, &is_given);
    if (!finds_answers(g)) return true;
    if (!is_given && (strcmp(count, "num_beams") == 0 || n_texts < g->n))
        strategy_form_choose(f, NULL, count, (double)(n_texts = g->n));
    if (g->n > n_texts) return api_fail(e, API_INVALID_VALUE, "n", "n: %d answers of %s %d", g->n, count, n_texts);
    strategy_form_choose(f, NULL, "num_return_sequences", (double)g->n);
    return true;
}

// What the two say together, in whatever order they stand: with use_beam_search best_of is the number of beams, as vLLM had it.
static bool settle_search(api_generation *g, api_error *e) {
    strategy_form *const f = &g->g.strategy;
    int32_t n_beams;
    bool is_given;
    if (g->uses_beams) strategy_form_choose(f, "beam", NULL, 0);
    if (g->uses_beams && strcmp(f->strategy, "beam") != 0)
        return api_fail(e, API_INVALID_VALUE, "use_beam_search", "use_beam_search: excludes the strategy %.60s",
                        f->strategy);
    if (g->best_of < 2) return true;
    if (!g->uses_beams) {
        strategy_form_choose(f, "best-of", "best_of", g->best_of);
        return true;
    }
    (void)strategy_form_texts(f, &n_beams, &is_given);
    if (is_given && n_beams != g->best_of)
        return api_fail(e, API_INVALID_VALUE, "best_of",
                        "best_of: %d beside num_beams %d, which it is with use_beam_search", g->best_of, n_beams);
    strategy_form_choose(f, NULL, "num_beams", g->best_of);
    return true;
}

bool api_generation_check(api_generation *g, const struct server *s, size_t n_answers, api_error *e) {
    const size_t most = (size_t)s->n_streams + (size_t)s->n_queue;
    if (n_answers > most)
        return api_fail(e, API_INVALID_VALUE, "n",
                        "n: %zu answers are more than this server runs (--streams %d) and lets wait (--queue %d)",
                        n_answers, s->n_streams, s->n_queue);
    if (!settle_search(g, e) || !find_answers(g, e)) return false;
    if (g->has_stream_options && !g->delivery.is_stream)
        return api_fail(e, API_INVALID_VALUE, "stream_options", "stream_options: only together with stream");
    if (g->delivery.is_resumable && !g->delivery.is_stream)
        return api_fail(e, API_INVALID_VALUE, "resumable", "resumable: only together with stream");
    if (g->session && !g->caches_prompt)
        return api_fail(e, API_INVALID_VALUE, "cache_prompt",
                        "cache_prompt: false excludes session, which is a cached prompt");
    if (generation_field(&g->g, "min_tokens") > 0 && g->g.n_stop > 0)
        return api_fail(e, API_UNSUPPORTED_PARAMETER, "min_tokens",
                        "min_tokens: excludes stop, since stop strings end an answer of any length");
    for (size_t i = 0; g->includes_stop && i < g->g.n_stop; i++)
        if (memchr(g->g.stop[i], 0, g->g.stop_bytes[i]))
            return api_fail(e, API_UNSUPPORTED_PARAMETER, "include_stop_str_in_output",
                            "include_stop_str_in_output: stop[%zu] contains U+0000", i);
    const int32_t n_texts = 1 + strategy_form_n_seqs(&g->g.strategy);
    if (n_texts > s->n_beams)
        return api_fail(e, API_INVALID_VALUE, "strategy",
                        "strategy: %d texts at once, more than this server has room for (--beams %d)", n_texts,
                        s->n_beams);
    if (g->session && g->n > 1) return api_fail(e, API_UNSUPPORTED_PARAMETER, "n", "n: must be 1 with a session");
    return check_names(g, e);
}

// The server's watermark goes onto what is drawn, where it can be.
static bool mark(const struct server *s, const char *strategy, rn_sampling *sampling, api_error *e) {
    if (!s->watermark.is_given) return true;
    if (sampling->watermark)
        return api_fail(e, API_UNSUPPORTED_PARAMETER, "watermark",
                        "watermark: this server marks its answers with keys of its own");
    if (sampling->temp >= FLT_MIN && sampling->mirostat == 0 && sampling->adaptive_target < 0 &&
        !rn_strategy_excludes(strategy, "watermark"))
        sampling->watermark = &s->watermark.w;
    return true;
}

bool api_generation_apply(const api_generation *g, const struct server *s, rn_request *req, generation_parts *parts,
                          int32_t choice, api_error *e) {
    rn_error err = {0};
    const char *why, *const idle = generation_without_effect(&g->g, NULL, &why);
    if (idle) return api_fail(e, API_INVALID_VALUE, idle, "%s: has no effect %s", idle, why);
    if (!generation_apply(&g->g, req, parts, &err)) return api_fail_begin(e, err.code, &err, "prompt");
    if (!mark(s, req->strategy, &parts->sampling, e)) return false;
    if (g->max_completion_tokens != -2) req->max_tokens = g->max_completion_tokens;
    req->seed += (uint64_t)choice;
    req->max_tokens_per_second = g->max_tokens_per_second;
    if (g->overflow >= 0) req->overflow = (rn_overflow)g->overflow;
    if (g->buffer_tokens > 0) req->buffer_tokens = g->buffer_tokens;
    req->prompt_logprobs = g->prompt_logprobs;
    req->priority = (rn_priority)g->priority;
    req->timeout_ms = (int32_t)(g->timeout * 1e3);
    return true;
}

// Estimates the tokens that the request may use: its prompt's and the token limit of each answer. The difference to the real number
// is settled when the job ends.
static uint64_t most_tokens(const api_generation *g, const api_request *r, const job *j) {
    enum { UNLIMITED = 1024 };
    const int32_t asked = g->max_completion_tokens != -2 ? g->max_completion_tokens : g->g.n;
    return api_budget_estimate(api_request_text_bytes(r)) + j->n_parts * (uint64_t)(asked >= 0 ? asked : UNLIMITED);
}

// Identifies the client for fair scheduling: by its key or, without keys, by its address (of IPv6: the /64). 0: unknown.
static uint64_t client_of(const struct api *a, const api_request *r) {
    char group[CLIENT_TEXT];
    if (r->key) return r->key;
    if (!r->client) return 0;
    client_group(r->client, group);
    return api_secret_number(a, group, 0);
}

static uint64_t salt_of(const struct api *a, const job *j, const char *cache_salt) {
    const uint64_t key = j->server->shares_prefixes ? 0 : j->key;
    return key || cache_salt ? api_secret_number(a, cache_salt ? cache_salt : "", key) : 0;
}

// Tokens of the prompt that may stay. -1: those that leave room for the answer, of at most half of the context.
static size_t most_kept(const api_generation *g, int32_t n_ctx) {
    if (g->n_prompt_kept > 0) return (size_t)g->n_prompt_kept;
    const int32_t asked = g->max_completion_tokens != -2 ? g->max_completion_tokens : g->g.n;
    const int32_t answer = asked < 1 ? 1 : asked < n_ctx / 2 ? asked : n_ctx / 2;
    return (size_t)(n_ctx - answer);
}

bool api_generation_prompts(const api_generation *g, api_request *r, prompt_form *prompts) {
    rn_engine_info info = {.struct_size = sizeof info};
    rn_error err = {0};
    if (!g->has_ids && g->n_prompt_kept == 0) return true;
    const rn_status st = rn_engine_get_info(r->server->engine, r->model, &info, &err);
    if (st != RN_OK) return api_fail_status(&r->error, st, &err, NULL);
    if (g->n_prompt_kept > info.n_ctx)
        return api_fail(&r->error, API_INVALID_VALUE, "truncate_prompt_tokens",
                        "truncate_prompt_tokens: %d is above the context of %d", g->n_prompt_kept, info.n_ctx);
    if (!prompt_form_tokenize(prompts, r->server->models[r->model].model, g->g.parse_special, &err))
        return memory_failed() ? api_fail(&r->error, API_OUT_OF_MEMORY, NULL, "%s", api_no_memory.message)
                               : api_fail_begin(&r->error, err.code, &err, "prompt");
    if (g->n_prompt_kept) prompt_form_keep_last(prompts, most_kept(g, info.n_ctx));
    return true;
}

static bool make_rules(const api_generation *g, job *j, api_error *e) {
    const token_rules_source from = {.allowed = g->allowed_ids, .bad_words = g->bad_words};
    return token_rules_new(&from, j->server->models[j->model].model, &j->rules, e);
}

bool api_generation_is_long(const api_generation *g, size_t n_answers) {
    enum { FEW_ANSWERS = 4 };
    const bool has_dry =
        generation_field(&g->g, "dry_multiplier") > 0; // looks for its breakers in the whole vocabulary
    return g->session || n_answers > FEW_ANSWERS || g->allowed_ids || g->bad_words || g->g.n_banned ||
           g->g.form.member || has_dry;
}

// The adapters that the request names, in its list or as its model. Else the engine's.
static bool take_adapters(const api_generation *g, const api_request *r, job *j, api_error *e) {
    const server *const s = j->server;
    j->own_adapters = g->lora || r->adapter >= 0;
    if (g->lora) return adapter_list_read(g->lora, s->models[j->model].model, "lora", &j->adapters, e);
    if (r->adapter < 0) return true;
    const float given = s->machine.adapters[r->adapter].scale;
    j->adapters = (adapter_list){{{(size_t)r->adapter, given != 0 ? given : 1}}, 1};
    j->model_name = server_adapter_name(s, (size_t)r->adapter);
    return true;
}

bool api_generation_admit(const api_generation *g, api_request *r, job *j) {
    struct api *const a = j->server->api;
    api_error *const e = &r->error;
    j->model = r->model;
    j->includes_stop = g->includes_stop;
    j->finds_answers = finds_answers(g);
    j->has_echo = g->g.echo;
    j->has_progress = !g->no_progress;
    j->wakes_for_progress = g->wants_progress;
    j->key = r->key;
    j->client = client_of(a, r);
    // Without prompt caching the salt is the job's unique id, which matches no cached prefix.
    j->salt = salt_of(a, j, g->caches_prompt ? g->cache_salt : j->id);
    if (!api_keys_is_valid(j->server->keys, j->key)) // since the request's head was read
        return api_fail(e, API_INVALID_KEY, NULL, "key: is not valid any more");
    if (atomic_load(&j->server->is_draining)) return api_fail(e, API_SHUTTING_DOWN, NULL, "server: shutting down");
    if (!take_adapters(g, r, j, e) || !make_rules(g, j, e) || !form_compile(&g->g.form, r, &j->grammar)) return false;
    j->form = g->g.form.member;
    if (!api_budget_take(r, most_tokens(g, r, j), &j->n_reserved)) return false;
    if (g->session && !session_borrow(api_sessions(a), j->key, j->model, g->session, &j->session, e)) return false;
    return true;
}
