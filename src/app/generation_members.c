// app/generation_members.c - reads a generation from the members of a JSON request.
#include "app/generation.h"
#include "app/json_schema.h"
#include "app/numbers.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static bool too_many(size_t limit, char *why) {
    snprintf(why, NUMBER_WHY, "more than %zu items", limit);
    return false;
}

static bool each_stop(void *target, size_t i, const char *key, const json_item *value, char *why) {
    (void)i, (void)key;
    generation *const g = target;
    json_span text;
    if (!json_item_text(value, &text, why)) return false;
    if (g->n_stop == GENERATION_STOPS) return too_many(GENERATION_STOPS, why);
    if (text.n == 0 || text.n > GENERATION_STOP_BYTES) {
        snprintf(why, NUMBER_WHY, "%zu bytes, must have 1..%d", text.n, GENERATION_STOP_BYTES);
        return false;
    }
    g->stop[g->n_stop] = text.data;
    g->stop_bytes[g->n_stop++] = text.n;
    return true;
}

static bool each_banned(void *target, size_t i, const char *key, const json_item *value, char *why) {
    (void)i, (void)key;
    generation *const g = target;
    json_span text;
    if (!json_item_text(value, &text, why)) return false;
    if (g->n_banned == GENERATION_BANNED) return too_many(GENERATION_BANNED, why);
    if (text.n == 0 || text.n > GENERATION_BANNED_BYTES) {
        snprintf(why, NUMBER_WHY, "%zu bytes, must have 1..%d", text.n, GENERATION_BANNED_BYTES);
        return false;
    }
    g->banned[g->n_banned] = text.data;
    g->banned_bytes[g->n_banned++] = text.n;
    return true;
}

static bool each_negative(void *target, size_t i, const char *key, const json_item *value, char *why) {
    (void)i, (void)key;
    generation *const g = target;
    json_span text;
    if (!json_item_text(value, &text, why)) return false;
    for (int k = 0; k < 2; k++)
        g->negative[k] =
            (rn_part){.kind = RN_PART_TEXT, .text = text.data, .n_text = text.n, .parse_special = k == 1};
    return true;
}

static bool each_stop_token(void *target, size_t i, const char *key, const json_item *value, char *why) {
    (void)i, (void)key;
    generation *const g = target;
    int64_t id;
    if (!json_item_whole(value, 0, INT32_MAX, &id, why)) return false;
    if (g->n_stop_tokens == GENERATION_STOP_TOKENS) return too_many(GENERATION_STOP_TOKENS, why);
    g->stop_tokens[g->n_stop_tokens++] = (int32_t)id;
    return true;
}

// Minus infinity is the string "-inf", since JSON has no such number.
static bool read_bias(const json_item *value, double *bias, char *why) {
    json_span text = {0};
    *bias = -INFINITY;
    const bool is_never =
        json_item_is_text(value) && json_item_text(value, &text, why) && strcmp(text.data, "-inf") == 0;
    return is_never || json_item_real(value, -100, 100, bias, why);
}

// [[ID, ID, ...], BIAS], as transformers writes it into generation_config.json.
static bool each_sequence(void *target, size_t i, const char *key, const json_item *value, char *why) {
    (void)i, (void)key;
    const json_item *const ids = json_item_is_array(value) ? json_item_at(value, 0) : NULL;
    double bias;
    int64_t id;
    if (!ids || json_item_count(value) != 2 || !json_item_is_array(ids) || json_item_count(ids) == 0) {
        snprintf(why, NUMBER_WHY, "must be [[ID, ..], BIAS]");
        return false;
    }
    if (!read_bias(json_item_at(value, 1), &bias, why) || !generation_add_sequence(target, bias, why)) return false;
    for (size_t k = 0; k < json_item_count(ids); k++)
        if (!json_item_whole(json_item_at(ids, k), 0, INT32_MAX, &id, why) ||
            !generation_add_sequence_token(target, (int32_t)id, why))
            return false;
    return true;
}

// {"ID": BIAS, ...}
static bool each_bias(void *target, size_t i, const char *key, const json_item *value, char *why) {
    (void)i;
    generation *const g = target;
    int64_t id;
    double bias;
    if (!number_read_whole(key, 0, INT32_MAX, &id, why) || !read_bias(value, &bias, why)) return false;
    if (g->n_bias == GENERATION_BIASES) return too_many(GENERATION_BIASES, why);
    g->bias[g->n_bias++] = (rn_logit_bias){(int32_t)id, (float)bias};
    return true;
}

// Names of stages, or texts that have several, separated by ';'. An array that is empty would leave no order.
static bool each_samplers(void *target, size_t i, const char *key, const json_item *value, char *why) {
    (void)i, (void)key;
    generation *const g = target;
    const size_t n = json_item_is_array(value) ? json_item_count(value) : 1;
    g->samplers[0] = 0;
    for (size_t k = 0; k < n; k++) {
        json_span text;
        const json_item *const item = json_item_is_array(value) ? json_item_at(value, k) : value;
        if (!json_item_text(item, &text, why) || !generation_add_samplers(g, text.data, why)) return false;
    }
    if (n > 0) return true;
    snprintf(why, NUMBER_WHY, "names no stage");
    return false;
}

// An empty array: no text ends a repeat.
static bool each_breakers(void *target, size_t i, const char *key, const json_item *value, char *why) {
    (void)i, (void)key;
    generation *const g = target;
    g->has_breakers = true;
    g->n_breakers = 0;
    if (!json_item_is_array(value)) {
        snprintf(why, NUMBER_WHY, "must be an array of texts");
        return false;
    }
    for (size_t k = 0; k < json_item_count(value); k++) {
        json_span text;
        if (!json_item_text(json_item_at(value, k), &text, why)) return false;
        if (g->n_breakers == GENERATION_BREAKERS) return too_many(GENERATION_BREAKERS, why);
        if (text.n == 0 || text.n > GENERATION_BREAKER_BYTES || strlen(text.data) < text.n) {
            snprintf(why, NUMBER_WHY, "[%zu]: %zu bytes, must have 1..%d and none that is 0", k, text.n,
                     GENERATION_BREAKER_BYTES);
            return false;
        }
        g->breakers[g->n_breakers++] = text.data;
    }
    return true;
}

static bool each_ban_id(void *target, size_t i, const char *key, const json_item *value, char *why) {
    (void)i, (void)key;
    generation *const g = target;
    int64_t id;
    if (!json_item_whole(value, 0, INT32_MAX, &id, why)) return false;
    if (g->n_ban_ids == GENERATION_BAN_IDS) return too_many(GENERATION_BAN_IDS, why);
    g->ban_ids[g->n_ban_ids++] = (int32_t)id;
    return true;
}

static bool each_seed(void *target, size_t i, const char *key, const json_item *value, char *why) {
    (void)i, (void)key;
    generation *const g = target;
    g->has_seed = true;
    return json_item_u64(value, &g->seed, why);
}

static bool each_prompt_penalty(void *target, size_t i, const char *key, const json_item *value, char *why) {
    (void)i, (void)key;
    bool is_on;
    if (!json_item_bool(value, &is_on, why)) return false;
    ((generation *)target)->prompt_penalty = is_on ? 0 : 1;
    return true;
}

enum { ORDERS = 8 };
static bool each_order(void *target, size_t i, const char *key, const json_item *value, char *why) {
    (void)i, (void)key;
    const char *words[ORDERS];
    int32_t n = 0;
    while (n < ORDERS && (words[n] = rn_sampler_order_name((size_t)n, NULL))) n++;
    return json_item_word(value, words, n, &((generation *)target)->order, why);
}

static bool each_drafter(void *target, size_t i, const char *key, const json_item *value, char *why) {
    (void)key;
    generation *const g = target;
    json_span text;
    if (!json_item_text(value, &text, why)) return false;
    if (i == 0) g->speculate[0] = 0, g->implies_drafters = false; // in place of the default's
    return generation_add_drafters(g, text.data, why);
}

static bool each_verify(void *target, size_t i, const char *key, const json_item *value, char *why) {
    static const char *const words[] = {"match", "reject", "typical"}; // in the order of rn_spec_verify
    (void)i, (void)key;
    return json_item_word(value, words, 3, &((generation *)target)->spec_verify, why);
}

static bool add_prediction(generation *g, const json_item *value, char *why) {
    json_span text;
    if (!json_item_text(value, &text, why)) return false;
    if (g->n_prediction == GENERATION_PREDICTION) {
        snprintf(why, NUMBER_WHY, "more than %d parts", GENERATION_PREDICTION);
        return false;
    }
    g->prediction[g->n_prediction++] = (rn_part){.kind = RN_PART_TEXT, .text = text.data, .n_text = text.n};
    return true;
}

struct typed_object {
    const char *type, *name;
    bool is_of_type;
    const json_item *value;
};

static bool typed_member(void *target, size_t i, const char *key, const json_item *value, char *why) {
    struct typed_object *const o = target;
    json_span text;
    (void)i;
    if (strcmp(key, o->name) == 0)
        o->value = value;
    else if (strcmp(key, "type") == 0 && json_item_is_text(value) && json_item_text(value, &text, why))
        o->is_of_type = strcmp(text.data, o->type) == 0;
    else
        return false;
    return true;
}

// The member of this name in an object that has only a type beside it; NULL: it is no such object.
static const json_item *value_of_type(const json_item *object, const char *type, const char *name) {
    struct typed_object o = {.type = type, .name = name};
    char why[JSON_WHY];
    if (!json_item_is_object(object) || !json_item_each(object, typed_member, &o, why)) return NULL;
    return o.is_of_type ? o.value : NULL;
}

// A text, or as OpenAI has it, {"type": "content", "content": a text or [{"type": "text", "text": a text}, ..]}.
static bool each_prediction(void *target, size_t i, const char *key, const json_item *value, char *why) {
    (void)i, (void)key;
    generation *const g = target;
    g->n_prediction = 0; // in place of the default's
    if (json_item_is_text(value)) return add_prediction(g, value, why);
    const json_item *const content = value_of_type(value, "content", "content");
    if (!content) {
        snprintf(why, NUMBER_WHY, "must be a text, or {\"type\": \"content\", \"content\": ..}");
        return false;
    }
    if (!json_item_is_array(content)) return add_prediction(g, content, why);
    for (size_t k = 0; k < json_item_count(content); k++) {
        const json_item *const text = value_of_type(json_item_at(content, k), "text", "text");
        if (!text) {
            snprintf(why, NUMBER_WHY, "content[%zu]: must be {\"type\": \"text\", \"text\": ..}", k);
            return false;
        }
        if (!add_prediction(g, text, why)) return false;
    }
    return true;
}

static bool each_forced(void *target, size_t i, const char *key, const json_item *value, char *why) {
    (void)i, (void)key;
    bool is_on = true;
    const bool ok = json_item_bool(value, &is_on, why);
    ((generation *)target)->no_forced_tokens = !is_on;
    return ok;
}

static bool each_schema(void *target, size_t i, const char *key, const json_item *value, char *why) {
    (void)i, (void)key;
    if (json_item_is_text(value)) {
        snprintf(why, NUMBER_WHY, "must be a JSON Schema: an object, true or false");
        return false;
    }
    return grammar_form_set(&((generation *)target)->form, RN_GRAMMAR_JSON_SCHEMA, "json_schema", value, why);
}

static bool each_json_mode(void *target, size_t i, const char *key, const json_item *value, char *why) {
    (void)i, (void)key;
    return grammar_form_switch(&((generation *)target)->form, "json_mode", value, why);
}

static bool each_regex(void *target, size_t i, const char *key, const json_item *value, char *why) {
    (void)i, (void)key;
    return grammar_form_set(&((generation *)target)->form, RN_GRAMMAR_REGEX, "regex", value, why);
}

static bool each_choices(void *target, size_t i, const char *key, const json_item *value, char *why) {
    (void)i, (void)key;
    return grammar_form_set(&((generation *)target)->form, RN_GRAMMAR_CHOICE, "choices", value, why);
}

static bool each_grammar(void *target, size_t i, const char *key, const json_item *value, char *why) {
    (void)i, (void)key;
    return grammar_form_set_text(&((generation *)target)->form, "grammar", value, why);
}

static bool each_tags(void *target, size_t i, const char *key, const json_item *value, char *why) {
    (void)i, (void)key;
    return grammar_form_set(&((generation *)target)->form, RN_GRAMMAR_STRUCTURAL_TAG, "structural_tag", value, why);
}

static bool each_space(void *target, size_t i, const char *key, const json_item *value, char *why) {
    (void)i, (void)key;
    return grammar_form_set_space(&((generation *)target)->form, value, why);
}

static bool each_watermark(void *target, size_t i, const char *key, const json_item *value, char *why) {
    (void)i, (void)key;
    return watermark_form_set(&((generation *)target)->watermark, value, why);
}

#define STOP_TEXT_SCHEMA "{'type':'string','minLength':1,'maxLength':256}"
#define STOP_SCHEMA      "{'anyOf':[" STOP_TEXT_SCHEMA ",{'type':'array','maxItems':16,'items':" STOP_TEXT_SCHEMA "}]}"
#define BANNED_SCHEMA    "{'anyOf':[" STOP_TEXT_SCHEMA ",{'type':'array','maxItems':512,'items':" STOP_TEXT_SCHEMA "}]}"
#define BIAS_SCHEMA                                                                                                  \
    "{'type':'object','maxProperties':1024,'additionalProperties':{'anyOf':[{'const':'-inf'},"                       \
    "{'type':'number','minimum':-100,'maximum':100}]}}"
#define SEQUENCES_SCHEMA                                                                                             \
    "{'type':'array','maxItems':1024,'items':{'type':'array','minItems':2,'maxItems':2,'prefixItems':["              \
    "{'type':'array','minItems':1,'maxItems':64,'items':" SCHEMA_ID "},{'anyOf':[{'const':'-inf'},"                  \
    "{'type':'number','minimum':-100,'maximum':100}]}]}}"
#define SAMPLERS_SCHEMA                                                                                              \
    "{'anyOf':[{'type':'string','minLength':1},{'type':'array','minItems':1,'items':{'type':'string','minLength':1}}]}"
#define DRAFTERS_SCHEMA                                                                                              \
    "{'anyOf':[" DRAFTER_SCHEMA ",{'type':'array','uniqueItems':true,'items':" DRAFTER_SCHEMA "}]}"
#define PREDICTION_PART_SCHEMA                                                                                       \
    "{'type':'object','required':['type','text'],'properties':{'type':{'const':'text'},'text':{'type':'string'}}}"
#define PREDICTION_SCHEMA                                                                                                            \
    "{'anyOf':[{'type':'string'},{'type':'object','required':['type','content'],'properties':{"                                      \
    "'type':{'const':'content'},'content':{'anyOf':[{'type':'string'},{'type':'array','maxItems':64,'items':" PREDICTION_PART_SCHEMA \
    "}]}}}]}"
#define BREAKERS_SCHEMA "{'type':'array','maxItems':32,'items':{'type':'string','minLength':1,'maxLength':40}}"
#define BAN_IDS_SCHEMA  "{'type':'array','maxItems':1024,'items':{'type':'integer','minimum':0}}"
static const member fixed_rows[] = {
    {"n", MEMBER_INT, .offset = offsetof(generation, n), .min = -1, .max = INT32_MAX},
    {"preset", MEMBER_NAME, .offset = offsetof(generation, preset)},
    {"penalty_prompt", MEMBER_EACH, .each = each_prompt_penalty, .schema = SCHEMA_BOOL},
    {"sampler_order", MEMBER_EACH, .each = each_order,
     .schema = SCHEMA_WORDS("'llama.cpp','transformers','exllamav2'")},
    {"samplers", MEMBER_EACH, .each = each_samplers, .schema = SAMPLERS_SCHEMA},
    {"dry_sequence_breakers", MEMBER_EACH, .each = each_breakers, .schema = BREAKERS_SCHEMA},
    {"banned_tokens", MEMBER_EACH, .shape = SHAPE_ARRAY, .each = each_ban_id, .schema = BAN_IDS_SCHEMA},
    {"sequence_bias", MEMBER_EACH, .shape = SHAPE_ARRAY, .each = each_sequence, .schema = SEQUENCES_SCHEMA},
    {"logit_bias", MEMBER_EACH, .shape = SHAPE_OBJECT, .each = each_bias, .schema = BIAS_SCHEMA},
    {"seed", MEMBER_EACH, .each = each_seed, .schema = SCHEMA_SEED("0")},
    {"stop", MEMBER_EACH, .shape = SHAPE_VALUE_OR_ARRAY, .each = each_stop, .schema = STOP_SCHEMA},
    {"stop_tokens", MEMBER_EACH, .shape = SHAPE_ARRAY, .each = each_stop_token, .schema = SCHEMA_IDS},
    {"banned_strings", MEMBER_EACH, .shape = SHAPE_VALUE_OR_ARRAY, .each = each_banned, .schema = BANNED_SCHEMA},
    {"banned_match_case", MEMBER_BOOL, .offset = offsetof(generation, banned_match_case)},
    {"guidance_scale", MEMBER_REAL, .offset = offsetof(generation, guidance_scale), .min = 0, .max = 100},
    {"negative_prompt", MEMBER_EACH, .each = each_negative, .schema = "{'type':'string'}"},
    {"speculate", MEMBER_EACH, .shape = SHAPE_VALUE_OR_ARRAY, .each = each_drafter, .schema = DRAFTERS_SCHEMA},
    {"prediction", MEMBER_EACH, .each = each_prediction, .schema = PREDICTION_SCHEMA},
    {"draft_max", MEMBER_INT, .offset = offsetof(generation, draft_max), .min = 1, .max = 63},
    {"draft_min", MEMBER_INT, .offset = offsetof(generation, draft_min), .min = 0, .max = 63},
    {"spec_verify", MEMBER_EACH, .each = each_verify, .schema = SCHEMA_WORDS("'match','reject','typical'")},
    {"draft_min_p", MEMBER_REAL, .offset = offsetof(generation, draft_min_p), .min = 0, .max = 1},
    {"watermark", MEMBER_EACH, .each = each_watermark, .schema = SCHEMA_WATERMARK},
    {"forced_tokens", MEMBER_EACH, .each = each_forced, .schema = SCHEMA_BOOL},
    {"token_healing", MEMBER_BOOL, .offset = offsetof(generation, token_healing)},
    {"json_schema", MEMBER_EACH, .each = each_schema, .schema = SCHEMA_FORM},
    {"json_mode", MEMBER_EACH, .each = each_json_mode, .schema = SCHEMA_BOOL},
    {"regex", MEMBER_EACH, .each = each_regex, .schema = SCHEMA_TEXT},
    {"choices", MEMBER_EACH, .each = each_choices, .schema = SCHEMA_CHOICES},
    {"grammar", MEMBER_EACH, .each = each_grammar, .schema = SCHEMA_TEXT},
    {"structural_tag", MEMBER_EACH, .each = each_tags, .schema = SCHEMA_TAGS},
    {"json_space", MEMBER_EACH, .each = each_space, .schema = SCHEMA_WORDS("'dumps','compact','free'")},
    {"ignore_eos", MEMBER_BOOL, .offset = offsetof(generation, ignore_eos)},
    {"special", MEMBER_BOOL, .offset = offsetof(generation, special)},
    {"parse_special", MEMBER_BOOL, .offset = offsetof(generation, parse_special)},
    {"echo", MEMBER_BOOL, .offset = offsetof(generation, echo)},
    {"sampled_logprobs", MEMBER_INT, .offset = offsetof(generation, sampled_logprobs), .min = 0, .max = 20},
    {"logprobs", MEMBER_INT, .offset = offsetof(generation, logprobs), .min = 0, .max = 20},
};

void generation_members_init(generation_members *members) {
    rn_field field;
    *members = (generation_members){0};
    for (size_t i = 0; i < GENERATION_FIELDS && rn_sampling_field(i, &field); i++)
        members->rows[members->n++] = (member){.name = field.name,
                                               .kind = field.is_int ? MEMBER_WHOLE : MEMBER_REAL,
                                               .offset = offsetof(generation, fields) + i * sizeof(double),
                                               .min = field.min,
                                               .max = field.max};
    for (size_t i = 0; i < sizeof fixed_rows / sizeof *fixed_rows; i++) members->rows[members->n++] = fixed_rows[i];
    strategy_members_init(&members->strategy);
    for (size_t i = 0; i < members->strategy.n; i++) {
        members->rows[members->n] = members->strategy.rows[i];
        members->rows[members->n++].offset += offsetof(generation, strategy);
    }
}

void generation_begin_lists(const json_doc *doc, generation *g) {
    if (json_doc_has(doc, "preset"))
        for (size_t i = 0; i < GENERATION_FIELDS; i++) g->fields[i] = NAN;
    if (json_doc_has(doc, "strategy")) strategy_form_init(&g->strategy);
    if (json_doc_has(doc, "stop")) g->n_stop = 0;
    if (json_doc_has(doc, "stop_tokens")) g->n_stop_tokens = 0;
    if (json_doc_has(doc, "logit_bias")) g->n_bias = 0;
    if (json_doc_has(doc, "sequence_bias")) g->n_sequences = g->n_sequence_tokens = 0;
    if (json_doc_has(doc, "banned_strings")) g->n_banned = 0;
    if (json_doc_has(doc, "banned_tokens")) g->n_ban_ids = 0;
}

bool generation_read(const generation_members *members, const json_doc *doc, const member_group *more, generation *g,
                     char *why) {
    const member_group groups[] = {{members->rows, members->n, g}, *more};
    generation_begin_lists(doc, g);
    return json_doc_read(doc, groups, 2, why);
}
