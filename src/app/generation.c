// app/generation.c - fills a library request from a generation's fields.
#include "app/generation.h"
#include "app/numbers.h"
#include "app/say.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

void generation_init(generation *g) {
    *g = (generation){.guidance_scale = NAN,
                      .draft_max = -1,
                      .draft_min = -1,
                      .n = -1,
                      .order = -1,
                      .prompt_penalty = -1,
                      .logprobs = -1,
                      .sampled_logprobs = -1,
                      .stream_interval = 1};
    for (size_t i = 0; i < GENERATION_FIELDS; i++) g->fields[i] = NAN;
    strategy_form_init(&g->strategy);
}

void generation_copy(generation *to, const generation *from) {
    const int32_t *at = to->sequence_tokens;
    *to = *from;
    for (size_t i = 0; i < to->n_sequences; at += to->sequences[i++].n_tokens) to->sequences[i].tokens = at;
    watermark_form_copy(&to->watermark, &from->watermark);
}

double generation_field(const generation *g, const char *name) {
    rn_field field;
    for (size_t i = 0; i < GENERATION_FIELDS && rn_sampling_field(i, &field); i++)
        if (strcmp(field.name, name) == 0) return g->fields[i];
    return NAN;
}

void generation_preset_values(const char *preset, char *out, size_t n_out) {
    rn_sampling s;
    rn_field field;
    size_t n = 0;
    rn_sampling_init(&s);
    snprintf(out, n_out, "the defaults");
    if (rn_sampling_preset(&s, preset, NULL) != RN_OK) return;
    for (size_t i = 0; rn_sampling_field(i, &field) && n < n_out; i++) {
        const double v = rn_sampling_get(&s, field.name);
        if ((float)v != (float)field.def)
            n += (size_t)snprintf(out + n, n_out - n, "%s%s %.6g", n ? ", " : "", field.name, v);
    }
}

void generation_say_preset(const generation *g) {
    char values[200];
    const char *stages;
    if (g->order >= 0) {
        const char *const order = rn_sampler_order_name((size_t)g->order, &stages);
        say("sampler order %s: %s%s", order, stages, g->samplers[0] ? "; but --samplers is given" : "");
    }
    if (!g->preset) return;
    generation_preset_values(g->preset, values, sizeof values);
    say("preset %s: %s", g->preset, values);
}

bool generation_add_samplers(generation *g, const char *names, char *why) {
    const size_t n = strlen(g->samplers);
    if (!*names) {
        snprintf(why, NUMBER_WHY, "names no stage");
        return false;
    }
    const int more = snprintf(g->samplers + n, sizeof g->samplers - n, "%s%s", n ? ";" : "", names);
    if ((size_t)more < sizeof g->samplers - n) return true;
    snprintf(why, NUMBER_WHY, "must have less than %d bytes", GENERATION_SAMPLERS);
    return false;
}

bool generation_add_sequence(generation *g, double bias, char *why) {
    if (g->n_sequences == GENERATION_SEQUENCES) {
        snprintf(why, NUMBER_WHY, "more than %d sequences", GENERATION_SEQUENCES);
        return false;
    }
    g->sequences[g->n_sequences++] =
        (rn_sequence_bias){.tokens = g->sequence_tokens + g->n_sequence_tokens, .bias = (float)bias};
    return true;
}

bool generation_add_sequence_token(generation *g, int32_t token, char *why) {
    rn_sequence_bias *const b = &g->sequences[g->n_sequences - 1];
    if (b->n_tokens == GENERATION_SEQUENCE_MOST) {
        snprintf(why, NUMBER_WHY, "more than %d tokens", GENERATION_SEQUENCE_MOST);
        return false;
    }
    if (g->n_sequence_tokens == GENERATION_SEQUENCE_TOKENS) {
        snprintf(why, NUMBER_WHY, "more than %d tokens in all sequences", GENERATION_SEQUENCE_TOKENS);
        return false;
    }
    g->sequence_tokens[g->n_sequence_tokens++] = token;
    b->n_tokens++;
    return true;
}

bool generation_is_guided(const generation *g) { return !isnan(g->guidance_scale) && g->guidance_scale != 1; }

static bool apply_sampling(const generation *g, rn_sampling *s, rn_error *err) {
    rn_field field;
    rn_sampling_init(s);
    if (g->preset && rn_sampling_preset(s, g->preset, err) != RN_OK) return false;
    for (size_t i = 0; i < GENERATION_FIELDS && rn_sampling_field(i, &field); i++)
        if (!isnan(g->fields[i]) && rn_sampling_set(s, field.name, g->fields[i], err) != RN_OK) return false;
    if (g->order >= 0) s->order = (rn_sampler_order)g->order;
    if (g->prompt_penalty >= 0) s->penalty_prompt = g->prompt_penalty == 0;
    s->logit_bias = g->bias;
    s->n_logit_bias = g->n_bias;
    if (g->samplers[0]) s->samplers = g->samplers;
    s->banned_tokens = g->ban_ids;
    s->n_banned_tokens = g->n_ban_ids;
    s->sequence_bias = g->sequences;
    s->n_sequence_bias = g->n_sequences;
    if (g->watermark.is_given) s->watermark = &g->watermark.w;
    if (g->has_breakers) s->dry_sequence_breakers = g->breakers, s->n_dry_sequence_breakers = g->n_breakers;
    return true;
}

// ---- drafters -------------------------------------------------------------------------------------------------------

// Numbers may stand behind some: "lookahead=5:3:5", which the engine reads.
static bool is_drafter(const char *name, size_t n) {
    static const char sized[] = "lookahead=";
    const char *known = "none";
    if (n >= sizeof sized && memcmp(name, sized, sizeof sized - 1) == 0) return true;
    for (size_t i = 0; known; known = rn_drafter_name(i++))
        if (strlen(known) == n && memcmp(known, name, n) == 0) return true;
    return false;
}

static bool names_drafter(const char *list, const char *name, size_t n) {
    for (const char *at = list; (at = strstr(at, name)); at += n)
        if ((at == list || at[-1] == ',') && (at[n] == 0 || at[n] == ',')) return true;
    return false;
}

static bool add_drafter(generation *g, const char *name, const char *words, char *why) {
    const size_t n = strlen(name), n_before = strlen(g->speculate);
    if (!is_drafter(name, n))
        snprintf(why, NUMBER_WHY, "'%.60s' is not one of %s", name, words);
    else if (names_drafter(g->speculate, name, n))
        snprintf(why, NUMBER_WHY, "%s is named twice", name);
    else if (n_before > 0 && (strcmp(name, "none") == 0 || strcmp(g->speculate, "none") == 0))
        snprintf(why, NUMBER_WHY, "none stands alone");
    else if (n_before + 1 + n + 1 > sizeof g->speculate)
        snprintf(why, NUMBER_WHY, "too many drafters");
    else {
        snprintf(g->speculate + n_before, sizeof g->speculate - n_before, "%s%s", n_before ? "," : "", name);
        return true;
    }
    return false;
}

bool generation_add_drafters(generation *g, const char *names, char *why) {
    for (const char *at = names, *end; at; at = *end ? end + 1 : NULL) {
        char name[GENERATION_DRAFTERS];
        end = at + strcspn(at, ",");
        snprintf(name, sizeof name, "%.*s", (int)(end - at), at);
        if (!add_drafter(g, name, DRAFTER_REQUEST_WORDS, why)) return false;
    }
    return true;
}

bool generation_drafts_with(const generation *g, const char *name) {
    return names_drafter(g->speculate, name, strlen(name));
}

bool generation_take_drafters(generation *g, const char *names, char *why) {
    for (const char *at = names, *end; at; at = *end ? end + 1 : NULL) {
        char name[GENERATION_DRAFTERS];
        bool is_head;
        if (!draft_heads_take(&g->heads, at, &is_head, why)) return false;
        const size_t n = strcspn(at, is_head ? "=," : ",");
        end = at[n] == '=' ? at + strlen(at) : at + n;
        snprintf(name, sizeof name, "%.*s", (int)n, at);
        if (!add_drafter(g, name, DRAFTER_WORDS, why)) return false;
    }
    return true;
}

static bool makes_no_guesses(const generation *g) { return rn_strategy_excludes(g->strategy.strategy, "speculate"); }

// NULL: the library's default.
static const char *drafters_of(const generation *g) {
    if (g->implies_drafters && makes_no_guesses(g)) return NULL;
    if (g->speculate[0]) return g->speculate;
    return g->no_speculate ? "none" : NULL;
}

// Neither it nor its strategy refuses it.
static bool speculates(const generation *g) {
    const char *const names = drafters_of(g);
    return !makes_no_guesses(g) && (!names || strcmp(names, "none") != 0);
}

static double prediction_of(const generation *g) { return (double)g->n_prediction; }
static double draft_max_of(const generation *g) { return g->draft_max; }
static double draft_min_of(const generation *g) { return g->draft_min; }
static double verify_of(const generation *g) { return g->spec_verify; }
static double min_p_of(const generation *g) { return g->draft_min_p; }
static bool has_model_that_drafts(const generation *g) {
    return speculates(g) && (generation_drafts_with(g, "draft") || generation_drafts_with(g, "layer-skip"));
}

const char *generation_without_effect(const generation *g, const generation *shared, const char **why) {
    static const char *const no_guesses = "without speculation";
    static const struct {
        const char *name;
        double (*of)(const generation *g); // 0 or below: the default
        bool (*has_effect)(const generation *g);
        const char *why;
    } rows[] = {
        {"prediction", prediction_of, speculates, no_guesses},
        {"draft_max", draft_max_of, speculates, no_guesses},
        {"draft_min", draft_min_of, speculates, no_guesses},
        {"spec_verify", verify_of, speculates, no_guesses},
        {"draft_min_p", min_p_of, has_model_that_drafts, "without the drafters draft or layer-skip"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const double v = rows[i].of(g);
        if (v <= 0 || rows[i].has_effect(g) || (shared && v == rows[i].of(shared))) continue;
        *why = makes_no_guesses(g) ? "with a strategy that makes no guesses" : rows[i].why;
        return rows[i].name;
    }
    return NULL;
}

bool generation_apply(const generation *g, rn_request *req, generation_parts *parts, rn_error *err) {
    if (!apply_sampling(g, &parts->sampling, err)) return false;
    if (!strategy_form_apply(&g->strategy, req, &parts->strategy, err) ||
        !strategy_form_take_top_k(&g->strategy, generation_field(g, "top_k"), &parts->strategy, err))
        return false;
    req->sampling = &parts->sampling;
    req->max_tokens = g->n;
    req->seed = g->seed;
    req->has_seed = g->has_seed;
    req->stop = g->stop;
    req->stop_bytes = g->stop_bytes;
    req->n_stop = g->n_stop;
    req->stop_tokens = g->stop_tokens;
    req->n_stop_tokens = g->n_stop_tokens;
    req->ignore_eos = g->ignore_eos;
    req->banned_strings = g->banned;
    req->banned_string_bytes = g->banned_bytes;
    req->n_banned_strings = g->n_banned;
    req->banned_match_case = g->banned_match_case;
    req->token_healing = g->token_healing;
    req->no_forced_tokens = g->no_forced_tokens;
    if (!isnan(g->guidance_scale)) req->guidance_scale = (float)g->guidance_scale;
    req->negative_prompt = &g->negative[g->parse_special];
    req->n_negative_prompt = g->negative[0].n_text > 0;
    req->speculate = drafters_of(g);
    req->prediction = g->prediction;
    req->n_prediction = g->n_prediction;
    req->draft_max = g->draft_max < 0 ? 0 : g->draft_max;
    req->draft_min = g->draft_min < 0 ? 0 : g->draft_min;
    req->draft_min_p = (float)g->draft_min_p;
    req->spec_verify = (rn_verify)g->spec_verify;
    req->special = g->special;
    req->echo = g->echo;
    req->logprobs = g->logprobs < 0 && g->sampled_logprobs >= 0 ? 0 : g->logprobs;
    req->sampled_logprobs = g->sampled_logprobs;
    req->stream_interval = g->stream_interval;
    return true;
}

void generation_prompt(const generation *g, rn_request *req, rn_part *part, const char *text, size_t n_text) {
    *part = (rn_part){.kind = RN_PART_TEXT, .text = text, .n_text = n_text, .parse_special = g->parse_special};
    req->parts = part;
    req->n_parts = 1;
    req->add_special = true;
}

void generation_prompt_ids(rn_request *req, rn_part *part, const int32_t *ids, size_t n_ids) {
    *part = (rn_part){.kind = RN_PART_IDS, .ids = ids, .n_ids = n_ids};
    req->parts = part;
    req->n_parts = 1;
    req->add_special = false;
}

void generation_chat(const generation *g, rn_request *req, rn_chat *chat, const char *messages, size_t n_messages) {
    rn_chat_init(chat);
    chat->messages = messages;
    chat->n_messages = n_messages;
    chat->parse_special = g->parse_special;
    req->chat = chat;
}
