// tests/engine/any_requests_test.c - everything that a request can say at once: any strategy with its options, samplers, orders and
// watermarks, grammars, guidance, banned strings, token healing, least tokens, stop strings, adapters, log-probabilities, several answers of
// one prompt, turns of a session.
//
// Each answer is the one that its request gets alone, whatever else is in the batch, also with so few pages that streams are preempted, whatever is
// guessed by any drafters, verified as it may be, and however it is read: chunk by chunk, revised, or with its beginning dropped. It has what its
// request promises: the grammar's form, none of the banned strings, numbers that are numbers. What cannot go together is refused by name, the same
// each time.
#include "any_strategy.h"
#include "saved_rig.h"
#include "tests/support/adapter_maker.h"
#include "tests/support/draft_heads.h"
#include "tests/support/tiny_model.h"
#include "whole_answer.h"
#include <ctype.h>
#include <jansson.h>
#include <runnel/tools.h>

enum {
    MOST = 40,
    N_TOGETHER = 6,
    N_GRAMMARS = 8,
    MOST_LIST = 4,
    MOST_BEFORE = 140,
    N_ROUNDS = 60,
    N_FIRST = 6,
    MOST_SESSION = 512
};
#define EARLY_LAYERS "0,1,2,3,4,5"

#if defined(TESTS_SANITIZED)
enum { N_SHORT = 10 };
#else
enum { N_SHORT = N_ROUNDS };
#endif

static uint64_t counter;
static double uniform(void) {
    uint64_t x = ++counter * UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return (double)((x ^ x >> 31) >> 11) * 0x1p-53;
}
static int32_t below(int32_t n) { return (int32_t)(uniform() * n); }
static bool chance(double p) { return uniform() < p; }

// ---- forms -----------------------------------------------------------------------------------------------------------

static const char *const choices[] = {"yes", "yes, but", "no way", "Lily"};

static bool is_choice(const char *text, bool is_whole) {
    for (size_t i = 0; i < 4; i++)
        if (is_whole ? strcmp(choices[i], text) == 0 : strncmp(choices[i], text, strlen(text)) == 0) return true;
    return false;
}
// (ab|c)*d?
static bool is_abcd(const char *t, bool is_whole) {
    for (; *t; t++) {
        if (*t == 'c') continue;
        if (*t == 'd') return t[1] == 0;
        if (*t != 'a') return false;
        if (!t[1]) return !is_whole;
        if (*++t != 'b') return false;
    }
    return true;
}
// [A-Z][a-z]{2,8}( [a-z]{1,6}){1,4}[.!]
static bool is_sentence(const char *t, bool is_whole) {
    int n = 0, n_words = 0;
    if (*t && !isupper((unsigned char)*t++)) return false;
    while (islower((unsigned char)*t)) n++, t++;
    if (n > 8 || (*t && n < 2)) return false;
    while (*t == ' ') {
        for (n = 0, t++; islower((unsigned char)*t);) n++, t++;
        n_words++;
        if (n > 6 || (*t && n < 1) || n_words > 4) return false;
    }
    if (!*t) return !is_whole;
    return n_words >= 1 && (*t == '.' || *t == '!') && !t[1];
}
static bool is_json(const char *text, bool is_whole, bool (*is_right)(const json_t *)) {
    json_error_t why;
    if (!is_whole) return true;
    json_t *const j = json_loads(text, JSON_DECODE_ANY, &why);
    const bool ok = j && is_right(j);
    json_decref(j);
    return ok;
}
static bool is_item(const json_t *j) {
    if (json_is_number(j)) return json_number_value(j) == 1; // 1.0 is 1
    return json_is_null(j) || (json_is_string(j) && strcmp(json_string_value(j), "a") == 0);
}
static bool is_list(const json_t *j) {
    for (size_t i = 0; i < json_array_size(j); i++)
        if (!is_item(json_array_get(j, i))) return false;
    return json_is_array(j) && json_array_size(j) <= 4;
}
static bool is_record(const json_t *j) {
    const json_t *const b = json_object_get(j, "b");
    return json_is_object(j) && json_is_boolean(json_object_get(j, "a")) && (!b || json_is_number(b)) &&
           json_object_size(j) == (b ? 2 : 1);
}
static bool is_object(const json_t *j) { return json_is_object(j); }
static bool is_json_list(const char *t, bool is_whole) { return is_json(t, is_whole, is_list); }
static bool is_json_record(const char *t, bool is_whole) { return is_json(t, is_whole, is_record); }
static bool is_json_object(const char *t, bool is_whole) { return is_json(t, is_whole, is_object); }
// Balanced brackets around letters.
static bool is_nested(const char *t, bool is_whole) {
    int depth = 0;
    bool was_letter = false;
    for (; *t; t++) {
        if (was_letter && *t != ')') return false;
        if (*t == '(') {
            depth++;
        } else if (*t == ')') {
            if (!was_letter || --depth < 0) return false;
        } else if (islower((unsigned char)*t) && depth > 0) {
            was_letter = true;
        } else {
            return false;
        }
        if (*t == ')' && depth == 0) return !t[1];
    }
    return !is_whole;
}

static const struct {
    rn_grammar_kind kind;
    const char *text;
    bool (*holds)(const char *text, bool is_whole); // of a beginning where the text is not whole
} forms[N_GRAMMARS] = {
    {RN_GRAMMAR_CHOICE, NULL, is_choice},
    {RN_GRAMMAR_REGEX, "(ab|c)*d?", is_abcd},
    {RN_GRAMMAR_REGEX, "[A-Z][a-z]{2,8}( [a-z]{1,6}){1,4}[.!]", is_sentence},
    {RN_GRAMMAR_JSON_SCHEMA, "{\"type\":\"array\",\"items\":{\"enum\":[1,\"a\",null]},\"maxItems\":4}", is_json_list},
    {RN_GRAMMAR_JSON_SCHEMA,
     "{\"properties\":{\"a\":{\"type\":\"boolean\"},\"b\":{\"type\":\"number\"}},\"required\":[\"a\"],"
     "\"additionalProperties\":false,\"type\":\"object\"}",
     is_json_record},
    {RN_GRAMMAR_JSON_OBJECT, NULL, is_json_object},
    {RN_GRAMMAR_CFG, "root ::= \"(\" (root | [a-z]) \")\"", is_nested},
    {RN_GRAMMAR_CFG, "start: \"(\" (start | /[a-z]/) \")\"", is_nested},
};

static rn_grammar *compile(const rn_model *m, int i) {
    rn_grammar_source s;
    rn_grammar *made = NULL;
    rn_error err = {0};
    rn_grammar_source_init(&s);
    s.kind = forms[i].kind, s.text = forms[i].text, s.n_text = s.text ? strlen(s.text) : 0;
    if (s.kind == RN_GRAMMAR_CHOICE) s.choices = choices, s.n_choices = 4;
    CHECK_OK(rn_grammar_compile(m, &s, &made, &err), &err);
    return made;
}

// ---- requests --------------------------------------------------------------------------------------------------------

struct plan {
    rn_request r;
    rn_sampling sampling;
    char text[8 * MOST_BEFORE + 32]; // random words and one of the prompts
    rn_part prompt, negative;
    int form; // -1: any text
    rn_logit_bias bias[MOST_LIST];
    rn_sequence_bias sequences[MOST_LIST];
    int32_t sequence_tokens[MOST_LIST][3], banned_tokens[MOST_LIST], stop_tokens[2];
    char samplers[200];
    const char *banned[MOST_LIST], *stop[2], *breakers[2];
    int64_t keys[12];
    rn_watermark watermark;
    rn_adapter adapters[2];
    const struct any_strategy *way;
    rn_strategy_options options;
    bool has_session; // it is the second turn of one
};

static const char *const prompts[] = {
    "Once upon a time", "Lily saw a cat. The ca", "Tom said, \"", "One day, a bi", "A", "{\"a\": "};
static const char *const strings[] = {" the", "a", "Lily", ".", "\"", "at ", "{", "was", "ab", " dog", "\n", "true"};
enum { N_STRINGS = sizeof strings / sizeof *strings };

// A number of the whole range, more often near its lower end or the default.
static void set_any(rn_sampling *s, const rn_field *f) {
    rn_error err = {0};
    const double u = uniform(), share = chance(0.1) ? (double)below(2) : u * u * (chance(0.5) ? 0.05 : 1);
    double v = f->min + share * (f->max - f->min);
    if (f->is_int && f->max - f->min > 1000 && chance(0.8)) v = 1 + below(20);
    CHECK_OK(rn_sampling_set(s, f->name, f->is_int ? floor(v) : v, &err), &err);
}

static void any_order(struct plan *p) {
    const char *stages;
    p->sampling.order = (rn_sampler_order)below(3);
    if (chance(0.6)) return;
    rn_sampler_order_name((size_t)below(3), &stages);
    snprintf(p->samplers, sizeof p->samplers, "%s", stages);
    char *const cut = p->samplers + below((int32_t)strlen(p->samplers));
    if (cut > p->samplers && strchr(cut, ';')) *strchr(cut, ';') = 0; // stages at the end are off
    p->sampling.samplers = p->samplers;
}

static void any_lists(struct plan *p) {
    rn_sampling *const s = &p->sampling;
    for (int i = 0; i < MOST_LIST; i++) {
        p->bias[i] = (rn_logit_bias){below(4096), chance(0.2) ? -INFINITY : (float)(20 * uniform() - 10)};
        for (int k = 0; k < 3; k++) p->sequence_tokens[i][k] = 259 + below(200);
        p->sequences[i] =
            (rn_sequence_bias){p->sequence_tokens[i], (size_t)below(3) + 1, (float)(10 * uniform() - 5)};
        p->banned_tokens[i] = 259 + below(300);
    }
    s->logit_bias = p->bias, s->n_logit_bias = (size_t)below(MOST_LIST) * chance(0.4);
    s->sequence_bias = p->sequences, s->n_sequence_bias = (size_t)below(MOST_LIST) * chance(0.4);
    s->banned_tokens = p->banned_tokens, s->n_banned_tokens = (size_t)below(MOST_LIST) * chance(0.4);
    for (int i = 0; i < 2; i++) p->breakers[i] = strings[below(N_STRINGS)];
    if (chance(0.3)) s->dry_sequence_breakers = p->breakers, s->n_dry_sequence_breakers = (size_t)below(3);
}

static void any_sampling(struct plan *p) {
    rn_sampling *const s = &p->sampling;
    rn_field f;
    rn_sampling_init(s);
    for (size_t i = 0; rn_sampling_field(i, &f); i++)
        if (chance(0.15) && !(s->mirostat && strcmp(f.name, "adaptive_target") == 0)) set_any(s, &f);
    if (chance(0.8)) s->temp = 0.3F + (float)uniform();
    if (chance(0.15)) s->temp = 0;
    s->min_tokens = chance(0.3) ? below(20) : 0;
    if (s->no_repeat_ngram_size == 1) s->no_repeat_ngram_size = 3;
    s->penalty_prompt = chance(0.5);
    any_order(p);
    any_lists(p);
    if (!chance(0.2) || s->temp < 1e-3F || s->mirostat || s->adaptive_target >= 0) return;
    rn_watermark_init(&p->watermark);
    for (int i = 0; i < 12; i++) p->keys[i] = below(1 << 20);
    p->watermark.keys = p->keys, p->watermark.n_keys = 1 + (size_t)below(12);
    p->watermark.ngram_len = 2 + below(4);
    s->watermark = &p->watermark;
}

// What a text is worth: any function of it.
static bool value_text(void *user, const rn_value_text *texts, size_t n, double *values) {
    (void)user;
    for (size_t i = 0; i < n; i++)
        values[i] = (double)(hash_of(texts[i].tokens, texts[i].n_tokens * sizeof *texts[i].tokens, 1) % 1000) / 500 -
                    1 + texts[i].is_whole;
    return true;
}

// Values of a tree that need an engine with a model, or a function.
static void any_value(rn_strategy_options *o) {
    if (chance(0.5)) return;
    o->value = chance(0.5) ? "model" : "callback";
    if (strcmp(o->value, "callback") == 0) o->value_fn = value_text;
}

static void any_way(struct plan *p) {
    struct toy_random random = {.seed = counter};
    p->way = &any_strategies[chance(0.4) ? 0 : below(N_ANY_STRATEGIES)];
    any_strategy_options(p->way, &random, &p->options);
    if (strcmp(p->way->name, "tree") == 0) any_value(&p->options);
    if (strcmp(p->way->name, "beam") == 0 && toy_chance(&random, 0.15)) // whether they go together or not
        p->options.num_beam_groups = 1 + toy_below(&random, 3),
        p->options.diversity_penalty = (float)toy_below(&random, 2);
    p->r.strategy = p->way->name, p->r.strategy_options = &p->options;
    p->r.accept_revisions = chance(0.2);
    p->has_session = chance(0.2);
    if (p->way == &any_strategies[0]) return;
    // What most strategies refuse would leave few of their requests.
    if (chance(0.7)) p->r.guidance_scale = 1, p->r.n_negative_prompt = p->r.n_banned_strings = 0;
    if (chance(0.7)) p->sampling.mirostat = 0, p->sampling.adaptive_target = -1, p->sampling.watermark = NULL;
}

static void any_request(struct plan *p, rn_grammar *const *grammars) {
    rn_request *const r = &p->r;
    *p = (struct plan){.form = chance(0.5) ? below(N_GRAMMARS) : -1};
    rn_request_init(r);
    any_sampling(p);
    const char *const text = prompts[below(6)], *const negative = prompts[below(6)];
    for (int32_t n = chance(0.8) ? below(MOST_BEFORE) : 0; n > 0; n--) strcat(p->text, strings[below(N_STRINGS)]);
    strcat(p->text, text);
    p->prompt = (rn_part){.kind = RN_PART_TEXT, .text = p->text, .n_text = strlen(p->text)};
    p->negative = (rn_part){.kind = RN_PART_TEXT, .text = negative, .n_text = strlen(negative)};
    r->parts = &p->prompt, r->n_parts = 1;
    r->sampling = &p->sampling;
    r->has_seed = true, r->seed = counter;
    r->max_tokens = 1 + below(MOST);
    if (p->form >= 0) r->grammar = grammars[p->form];
    if (chance(0.4))
        r->guidance_scale = (float)(4 * uniform()), r->negative_prompt = &p->negative,
        r->n_negative_prompt = (size_t)below(2);
    for (int i = 0; i < MOST_LIST; i++) p->banned[i] = strings[below(N_STRINGS)];
    r->banned_strings = p->banned, r->n_banned_strings = (size_t)below(MOST_LIST) * chance(0.5);
    r->banned_match_case = chance(0.3);
    for (int i = 0; i < 2; i++) p->stop[i] = strings[below(N_STRINGS)], p->stop_tokens[i] = 259 + below(300);
    r->stop = p->stop, r->n_stop = (size_t)below(3) * chance(0.3);
    r->stop_tokens = p->stop_tokens, r->n_stop_tokens = (size_t)below(3) * chance(0.3);
    r->ignore_eos = chance(0.3), r->special = chance(0.2);
    r->token_healing = chance(0.4);
    r->logprobs = chance(0.5) ? below(4) : -1;
    r->sampled_logprobs = chance(0.4) ? below(4) : -1;
    if (r->sampled_logprobs >= 0 && r->logprobs < 0) r->logprobs = 0;
    r->prompt_logprobs = chance(0.2) ? 1 : -1;
    r->stream_interval = 1 + below(4);
    for (int i = 0; i < 2; i++) p->adapters[i] = (rn_adapter){(size_t)i, (float)(2 * uniform() - 0.5)};
    r->own_adapters = true, r->adapters = p->adapters, r->n_adapters = (size_t)below(3);
    any_way(p);
}

// ---- what cannot go together ----

static int32_t n_reserved; // sequences of a stream (rn_engine_options.n_seqs)

static bool is_way(const struct plan *p, const char *name) { return strcmp(p->way->name, name) == 0; }
static bool is_search(const struct plan *p) { return p->way->has_sequences || is_way(p, "tree"); } // of whole texts
static bool is_scored(const struct plan *p) {
    return is_way(p, "beam") || is_way(p, "contrastive") || is_way(p, "tree");
}
static int32_t n_seqs_of(const struct plan *p) {
    return 1 + (is_way(p, "beam") ? p->options.num_beams : is_way(p, "best-of") ? p->options.best_of : 0);
}

static bool has_mirostat(const struct plan *p) { return is_scored(p) && p->sampling.mirostat; }
static bool has_target(const struct plan *p) { return is_scored(p) && p->sampling.adaptive_target >= 0; }
static bool has_watermark(const struct plan *p) { return is_scored(p) && p->sampling.watermark; }
static bool has_banned(const struct plan *p) { return is_search(p) && p->r.n_banned_strings; }
static bool has_guidance(const struct plan *p) { return p->way != any_strategies && p->r.guidance_scale != 1; }
static bool has_revisions(const struct plan *p) { return !is_search(p) && p->form >= 0 && p->r.accept_revisions; }
static bool has_odd_groups(const struct plan *p) { return p->options.num_beams % p->options.num_beam_groups != 0; }
static bool has_wrong_penalty(const struct plan *p) {
    return (p->options.num_beam_groups > 1) != (p->options.diversity_penalty > 0);
}
static bool returns_too_many(const struct plan *p) {
    return p->way->has_sequences &&
           p->options.num_return_sequences > (is_way(p, "beam") ? p->options.num_beams : p->options.best_of);
}
static bool draws_without_temp(const struct plan *p) { return p->options.do_sample && p->sampling.temp == 0; }
static bool has_too_many_sequences(const struct plan *p) { return n_seqs_of(p) > n_reserved + 2; }

static const struct {
    const char *what;
    bool (*holds)(const struct plan *p);
} reasons[] = {
    {"mirostat: not with the strategy ", has_mirostat},
    {"adaptive_target: not with the strategy ", has_target},
    {"watermark: not with the strategy ", has_watermark},
    {"banned_strings: not with the strategy ", has_banned},
    {"guidance_scale: not with the strategy ", has_guidance},
    {"accept_revisions: excludes a grammar", has_revisions},
    {"num_beam_groups: ", has_odd_groups},
    {"diversity_penalty: must be ", has_wrong_penalty},
    {"num_return_sequences: ", returns_too_many},
    {"do_sample: needs a temp above 0", draws_without_temp},
    {"strategy beam: needs ", has_too_many_sequences},
    {"strategy best-of: needs ", has_too_many_sequences},
};
enum { N_REASONS = sizeof reasons / sizeof *reasons };

static bool is_refused(const struct plan *p) {
    for (size_t i = 0; i < N_REASONS; i++)
        if (reasons[i].holds(p)) return true;
    return false;
}
static int n_named[N_REASONS];
static bool names_a_reason(const struct plan *p, const char *text) {
    for (size_t i = 0; i < N_REASONS; i++)
        if (strncmp(text, reasons[i].what, strlen(reasons[i].what)) == 0 && reasons[i].holds(p)) return ++n_named[i];
    return false;
}

// ---- answers ---------------------------------------------------------------------------------------------------------

struct answer {
    rn_status refused; // RN_OK: it was begun
    rn_error err;
    struct whole_answer whole;
    int32_t session[MOST_SESSION]; // what its session holds then
    size_t n_session;
};

// The turn before, the same for all.
static bool open_session(rn_engine *e, const struct plan *p, rn_session **session) {
    static struct outcome first;
    rn_error err = {0};
    rn_request r = text_request("Lily and Tom saw");
    *session = NULL;
    if (!p->has_session) return true;
    r.max_tokens = N_FIRST, r.ignore_eos = true, r.speculate = "none";
    r.own_adapters = true, r.adapters = p->adapters, r.n_adapters = p->r.n_adapters;
    if (!CHECK_OK(rn_session_open(e, 0, session, &err), &err)) return false;
    r.session = *session;
    return run_request(e, &r, &first);
}

static void close_session(rn_session *session, struct answer *a) {
    const int32_t *tokens;
    rn_error err = {0};
    if (!session) return;
    if (CHECK_OK(rn_session_tokens(session, &tokens, &a->n_session, &err), &err) &&
        CHECK(a->n_session <= MOST_SESSION))
        memcpy(a->session, tokens, a->n_session * sizeof *tokens);
    rn_session_close(session);
}

static rn_stream *begin(rn_engine *e, const rn_request *r, struct answer *a) {
    rn_stream *s = NULL;
    memset(a, 0, sizeof *a);
    whole_clear(&a->whole);
    a->refused = rn_stream_begin(e, r, &s, &a->err);
    return s;
}

static bool answer_alone(rn_engine *e, const struct plan *p, struct answer *a) {
    rn_request r = p->r;
    rn_session *session;
    if (!open_session(e, p, &session)) return false;
    r.session = session;
    rn_stream *const s = begin(e, &r, a);
    const bool ok = !s || whole_read(s, &r, &a->whole);
    rn_stream_close(s);
    close_session(session, a);
    return ok;
}

static bool same_answer(const struct answer *a, const struct answer *b) {
    return CHECK_INT(a->refused, b->refused) && CHECK_STR(a->err.text, b->err.text) &&
           whole_same(&a->whole, &b->whole) && CHECK_INT(a->n_session, b->n_session) &&
           CHECK_MEM(a->session, b->session, b->n_session * sizeof *b->session);
}

static bool contains(const char *text, const char *what, bool match_case) {
    const size_t n = strlen(what);
    for (; *text; text++) {
        size_t i = 0;
        while (i < n && text[i] &&
               (match_case ? text[i] == what[i] : tolower((unsigned char)text[i]) == tolower((unsigned char)what[i])))
            i++;
        if (i == n) return true;
    }
    return false;
}

static bool ended_for(const struct answer *a, const char *why) {
    return strncmp(a->whole.o.detail, why, strlen(why)) == 0;
}
// The texts of its search had no room left for one more token of each.
static bool ran_out(const struct answer *a) { return ended_for(a, "room beside the other texts"); }

static bool check_promises(const struct plan *p, const struct answer *a) {
    const rn_request *const r = &p->r;
    const struct outcome *const o = &a->whole.o;
    if (!CHECK((a->refused != RN_OK) == is_refused(p))) return false;
    if (a->refused != RN_OK) return CHECK(names_a_reason(p, a->err.text));
    const bool is_end = o->finish == RN_FINISH_STOP, by_string = is_end && strncmp(o->detail, "stop string", 11) == 0;
    const bool by_token = is_end && !by_string && strcmp(o->detail, "grammar") != 0;
    bool ok = CHECK(a->whole.has_numbers) && CHECK_INT(o->usage.completion_tokens, o->n_tokens) &&
              CHECK(o->n_tokens <= (size_t)r->max_tokens);
    for (size_t i = 0; i < r->n_banned_strings; i++)
        ok &= CHECK(!contains(o->text, p->banned[i], r->banned_match_case));
    for (size_t i = 0; i < r->n_stop; i++) ok &= CHECK(!contains(o->text, p->stop[i], true));
    if (p->form >= 0 && !r->special)
        ok &= CHECK(forms[p->form].holds(o->text, is_end && !by_string && r->n_stop_tokens == 0));
    if (by_token) ok &= CHECK(o->n_tokens > (size_t)p->sampling.min_tokens);
    const bool by_negative = ended_for(a, "room beside the negative prompt");
    if (o->finish == RN_FINISH_LENGTH && (ran_out(a) || by_negative))
        ok &= CHECK(by_negative ? r->guidance_scale != 1 : n_seqs_of(p) > 2) &&
              CHECK(o->n_tokens < (size_t)r->max_tokens);
    else if (o->finish == RN_FINISH_LENGTH)
        ok &= CHECK_INT(o->n_tokens, r->max_tokens);
    // What can be ruled out can be ruled out altogether; that is said.
    if (o->finish == RN_FINISH_ERROR)
        ok &=
            CHECK(strstr(o->detail, "is left") || strstr(o->detail, "is allowed") || strstr(o->detail, "can follow"));
    if (p->way->has_sequences && o->finish != RN_FINISH_ERROR)
        // Fewer where the stages leave fewer texts.
        ok &= CHECK(a->whole.n_sequences >= 1) &&
              CHECK(a->whole.n_sequences <= (size_t)p->options.num_return_sequences) &&
              CHECK_STR(a->whole.best, o->text);
    return ok && CHECK(o->finish == RN_FINISH_STOP || o->finish == RN_FINISH_LENGTH || o->finish == RN_FINISH_ERROR);
}

// ---- engines ---------------------------------------------------------------------------------------------------------

// Heads with random weights, some of the model's own layers, and a file of n-grams that follow each other in other texts.
static bool add_drafters(rn_model *m) {
    static const char text[] =
        "Once upon a time, there was a little girl named Lily. She had a big dog. Tom said, \"the cat was at a bird.\"";
    package *pkg = NULL;
    rn_ngram_cache *c = NULL;
    rn_error err = {0};
    int32_t *ids = NULL;
    size_t n;
    bool ok = CHECK_OK(rn_model_add_draft_heads(m, RN_DRAFT_HEAD_LAYERS, "1-2", &err), &err) &&
              CHECK_OK(package_open(stories(), NULL, &pkg, &err), &err);
    for (int i = 0; ok && i < 2; i++) {
        size_t n_bytes;
        uint8_t *const bytes = i ? made_eagle(pkg, true, 1, &n_bytes) : made_medusa(pkg, 3, 1, &n_bytes);
        const char *const path = saved_path(i ? "eagle.safetensors" : "medusa.safetensors");
        ok = CHECK(write_file(path, bytes, n_bytes)) &&
             CHECK_OK(rn_model_add_draft_heads(m, i ? RN_DRAFT_HEAD_EAGLE : RN_DRAFT_HEAD_MEDUSA, path, &err), &err);
        free(bytes);
    }
    package_close(pkg);
    ok = ok && CHECK_OK(rn_ngram_cache_new(m, &c, &err), &err) &&
         CHECK_OK(rn_tokenize(m, text, strlen(text), true, false, &ids, &n, &err), &err) &&
         CHECK_OK(rn_ngram_cache_add_text(c, ids, n, 2, 4, &err), &err) &&
         CHECK_OK(rn_ngram_cache_write(c, saved_path("ngrams.bin"), &err), &err) &&
         CHECK_OK(rn_model_add_ngram_cache(m, saved_path("ngrams.bin"), &err), &err);
    rn_free(ids);
    rn_ngram_cache_close(c);
    return ok;
}

static rn_model *other_words; // a model with another vocabulary

static bool open_other_words(void) {
    struct tiny_model tiny = tiny_model_default();
    rn_error err = {0};
    tiny.vocab = TINY_BYTES, tiny.n_ctx = 256;
    return CHECK(tiny_model_write(&tiny, saved_path("other.gguf"))) &&
           CHECK_OK(rn_model_open(saved_path("other.gguf"), NULL, &other_words, &err), &err);
}

static bool open_adapted(struct fixture *f, const rn_engine_options *o, bool drafts) {
    static const struct made_adapter adapters[] = {{.rank = 4, .alpha = 8, .seed = 1},
                                                   {.rank = 3, .alpha = 3, .only = "ffn_", .seed = 2}};
    static const char *const names[] = {"first.gguf", "second.gguf"};
    rn_error err = {0};
    *f = (struct fixture){0};
    bool ok = CHECK_OK(rn_model_open(stories(), NULL, &f->model, &err), &err);
    for (size_t i = 0; ok && i < 2; i++)
        ok = made_adapter_write(&adapters[i], stories(), saved_path(names[i])) &&
             CHECK_OK(rn_model_add_adapter(f->model, saved_path(names[i]), i ? "second" : NULL, &err), &err);
    ok = ok && CHECK_OK(rn_model_add_early_layers(f->model, EARLY_LAYERS, &err), &err);
    // The model drafts for itself, is its own amateur and says what texts are worth, without the adapters.
    rn_engine_options with_draft = *o;
    rn_model *const models[] = {f->model, f->model, other_words};
    with_draft.draft_model = drafts;
    with_draft.amateur_model = with_draft.value_model = 1;
    return ok && (!drafts || add_drafters(f->model)) &&
           CHECK_OK(rn_engine_open(models, drafts ? 3 : 2, &with_draft, &f->engine, &err), &err);
}

static struct plan plans[N_TOGETHER];
static struct answer want[N_TOGETHER], got[N_TOGETHER], again;
static int n_dropped, n_revised; // answers

// r: as it is sent.
static void note_plan(int round, int i, const rn_request *r) {
    const struct plan *const p = &plans[i];
    check_note("round %d, request %d, %s, form %d, samplers '%s', scale %g, heals %d, min %d, session %d; value %s; "
               "speculate %s, %d to %d guesses, verified by %d; overflow %d, revisions %d",
               round, i, p->way->why, p->form, p->samplers, (double)r->guidance_scale, r->token_healing,
               p->sampling.min_tokens, p->has_session, p->options.value ? p->options.value : "NULL",
               r->speculate ? r->speculate : "NULL", r->draft_min, r->draft_max, (int)r->spec_verify,
               (int)r->overflow, r->accept_revisions);
}

// Guesses by any drafters, one of them from a text that is the answer, the answer with another beginning, or another text.
static void any_guesses(rn_request *r, const struct plan *p, const struct answer *answer, rn_part *prediction) {
    static const char *const drafters[] = {"ngram",
                                           "suffix",
                                           "suffix,ngram",
                                           "ngram-cache",
                                           "lookahead",
                                           "medusa",
                                           "eagle",
                                           "lookahead=2:2:2,ngram",
                                           "draft",
                                           "ngram,draft",
                                           "draft,suffix",
                                           "layer-skip",
                                           "draft=2",
                                           "suffix,draft=2",
                                           "medusa,ngram",
                                           "eagle,lookahead",
                                           "ngram,medusa",
                                           "ngram-cache,eagle",
                                           "layer-skip,suffix"};
    enum { N_DRAFTERS = sizeof drafters / sizeof *drafters };
    r->speculate = drafters[below(N_DRAFTERS)];
    r->draft_max = below(13);
    r->draft_min = chance(0.6) ? below((r->draft_max ? r->draft_max : 16) + 1) : 0;
    r->draft_min_p = chance(0.2) ? (float)uniform() : 0;
    if (p->sampling.temp == 0 && !p->sampling.mirostat && p->sampling.adaptive_target < 0)
        r->spec_verify = (rn_verify)below(3); // the same tokens
    const bool reads = strstr(r->speculate, "suffix") || strncmp(r->speculate, "ngram,", 6) == 0 ||
                       strcmp(r->speculate, "ngram") == 0;
    if (!reads || chance(0.4)) return;
    const char *const text =
        chance(0.7) ? answer->whole.o.text + (chance(0.3) ? answer->whole.o.n_text / 2 : 0) : p->text;
    *prediction = (rn_part){.kind = RN_PART_TEXT, .text = text, .n_text = strlen(text)};
    r->prediction = prediction, r->n_prediction = 1;
}

// In one of the ways to read it. Guesses, pieces and classes change nothing.
static void read_any_way(rn_request *r, const struct plan *p, const struct answer *answer, rn_part *prediction) {
    r->priority = (rn_priority)(below(3) - 1), r->client = (uint64_t)below(3), r->buffer_tokens = 1 + below(30);
    r->stream_interval = 1 + below(6);
    if (chance(0.5)) r->speculate = "none";
    if (is_refused(p)) return;
    if (p->way == any_strategies && chance(0.8)) any_guesses(r, p, answer, prediction);
    if (!r->accept_revisions && chance(0.2))
        r->overflow = RN_OVERFLOW_DROP_OLDEST;
    else if (is_search(p) || p->form < 0)
        r->accept_revisions = chance(0.3);
}

// What came of a stream that was cancelled is a beginning, where it could not have been revised.
static void check_beginning(const rn_request *r, const struct answer *a, const struct answer *whole) {
    const struct outcome *const o = &a->whole.o, *const all = &whole->whole.o;
    CHECK_INT(a->whole.n_sequences, 0);
    if (r->accept_revisions || !CHECK(o->n_dropped + o->n_tokens <= all->n_tokens)) return;
    CHECK_MEM(o->tokens, all->tokens + o->n_dropped, o->n_tokens * sizeof *o->tokens);
    CHECK_MEM(a->whole.told, whole->whole.told + o->n_dropped, o->n_tokens * sizeof *a->whole.told);
}

static void check_answer(const rn_request *r, const struct answer *a, const struct answer *whole) {
    if (a->whole.o.finish == RN_FINISH_CANCELLED)
        check_beginning(r, a, whole);
    else if (!same_answer(a, whole))
        fprintf(stderr, "want '%s', %s\ngot '%s', %s\n", whole->whole.o.text, whole->whole.o.detail, a->whole.o.text,
                a->whole.o.detail);
}

static struct sums {
    int64_t n_guessing; // requests that name drafters
    int64_t n_drafted, n_accepted, n_predicted;
    int64_t by[RN_MAX_DRAFTERS];
} sums;

static void add_figures(const rn_request *r, const rn_usage *u) {
    sums.n_guessing += r->speculate && strcmp(r->speculate, "none") != 0;
    sums.n_drafted += u->drafted_tokens, sums.n_accepted += u->accepted_tokens;
    sums.n_predicted += u->accepted_prediction_tokens;
    for (int i = 0; i < RN_MAX_DRAFTERS; i++) sums.by[i] += u->drafted_by[i];
}

// Requests at once, two of them of one prompt that was made once.
static void answer_together(rn_engine *e, int round) {
    rn_stream *s[N_TOGETHER] = {0};
    rn_part prediction[N_TOGETHER];
    rn_session *sessions[N_TOGETHER];
    rn_request r[N_TOGETHER];
    rn_prompt *shared = NULL;
    rn_error err = {0};
    CHECK_OK(rn_prompt_open(e, &plans[0].r, &shared, &err), &err);
    for (int i = 0; i < N_TOGETHER; i++) open_session(e, &plans[i], &sessions[i]);
    for (int i = 0; i < N_TOGETHER; i++) {
        r[i] = plans[i].r;
        r[i].session = sessions[i];
        if (i == 0 && !sessions[i]) r[i].prompt = shared;
        read_any_way(&r[i], &plans[i], &want[i], &prediction[i]);
        s[i] = begin(e, &r[i], &got[i]);
        if (s[i] && chance(0.05)) rn_stream_cancel(s[i]);
    }
    for (int i = 0; i < N_TOGETHER; i++) {
        note_plan(round, i, &r[i]);
        const bool is_read = !s[i] || whole_read(s[i], &r[i], &got[i].whole);
        rn_stream_close(s[i]);
        close_session(sessions[i], &got[i]);
        if (is_read) check_answer(&r[i], &got[i], &want[i]);
        add_figures(&r[i], &got[i].whole.o.usage);
        n_dropped += got[i].whole.o.n_dropped > 0, n_revised += got[i].whole.n_revised > 0;
    }
    rn_prompt_close(shared);
}

// Pages, sequences beside those of every stream, threads of the engine that answers all at once; where the numbers that draw begin.
struct setting {
    int32_t n_kv, n_seqs, n_threads;
    uint64_t first;
};

static void attack(const struct setting *g) {
    const int n_rounds = getenv("RUNNEL_TEST_FULL") ? 1500 : N_SHORT;
    const bool is_short = g->n_kv < 4096; // of pages
    struct fixture alone, together;
    rn_engine_options o = engine_options(), few = engine_options();
    rn_grammar *grammars[N_GRAMMARS] = {0}, *others[N_GRAMMARS] = {0};
    rn_engine_stats stats = {.struct_size = sizeof stats};
    int n_ends[6] = {0}, n_whole = 0, n_refused = 0, n_out = 0, n_of_way[N_ANY_STRATEGIES] = {0};
    n_dropped = n_revised = 0;
    memset(n_named, 0, sizeof n_named);
    o.n_ctx = few.n_ctx = 256;
    few.output_store_bytes = 1 << 20;
    o.n_seqs = few.n_seqs = n_reserved = g->n_seqs, o.n_kv = few.n_kv = g->n_kv; // what a search has room for
    few.n_streams = N_TOGETHER, few.n_threads = g->n_threads;
    sums = (struct sums){0};
    if (!open_other_words() || !open_adapted(&alone, &o, false) || !open_adapted(&together, &few, true)) return;
    for (int i = 0; i < N_GRAMMARS; i++)
        grammars[i] = compile(alone.model, i), others[i] = compile(together.model, i);
    counter = g->first;
    for (int round = 0; round < n_rounds; round++) {
        for (int i = 0; i < N_TOGETHER; i++) {
            check_note("round %d, request %d", round, i);
            any_request(&plans[i], grammars);
            note_plan(round, i, &plans[i].r);
            if (!answer_alone(alone.engine, &plans[i], &want[i]) || !check_promises(&plans[i], &want[i]))
                fprintf(stderr, "text '%s', %s, %s\n", want[i].whole.o.text, want[i].whole.o.detail,
                        want[i].err.text);
            if (chance(0.1) && answer_alone(alone.engine, &plans[i], &again)) same_answer(&again, &want[i]);
            if (want[i].refused == RN_OK) {
                n_ends[want[i].whole.o.finish]++;
                n_out += ran_out(&want[i]);
                n_of_way[plans[i].way - any_strategies]++;
            } else
                n_refused++;
            n_whole += plans[i].form >= 0 && want[i].whole.o.finish == RN_FINISH_STOP;
            if (plans[i].form >= 0) plans[i].r.grammar = others[plans[i].form];
        }
        answer_together(together.engine, round);
    }
    rn_engine_get_stats(together.engine, &stats, NULL);
    check_note("%d ends, %d whole forms, %d lengths, %d errors, %d refused, %d dropped, %d revised, %d preempted",
               n_ends[RN_FINISH_STOP], n_whole, n_ends[RN_FINISH_LENGTH], n_ends[RN_FINISH_ERROR], n_refused,
               n_dropped, n_revised, (int)stats.n_preempted);
    for (int i = 0; i < N_ANY_STRATEGIES; i++) CHECK(n_of_way[i] > 0 || !g->n_seqs || n_rounds < N_ROUNDS);
    CHECK(n_refused > n_rounds / 2);
    // A few rounds need not meet everything: what is guessed and dropped depends on the clock, too.
    if (n_rounds >= N_ROUNDS) {
        CHECK(n_dropped > 0 && (n_revised > 0 || is_short));
        CHECK(is_short ? stats.n_preempted > 0 || g->n_seqs > 0 : stats.n_preempted == 0);
        CHECK((n_out > 0) == (is_short && g->n_seqs > 0));
    }
    CHECK(n_whole > n_rounds / 4 && n_ends[RN_FINISH_LENGTH] > n_rounds && n_ends[RN_FINISH_ERROR] < 2 * n_rounds);
    check_note("%lld guesses, %lld right, %lld of predictions, by %lld requests", (long long)sums.n_drafted,
               (long long)sums.n_accepted, (long long)sums.n_predicted, (long long)sums.n_guessing);
    CHECK(sums.n_guessing > n_rounds);
    if (n_rounds >= N_ROUNDS) {
        CHECK(sums.n_drafted > 5 * sums.n_guessing);
        CHECK(3 * sums.n_accepted > sums.n_guessing && 20 * sums.n_predicted > sums.n_guessing);
    }
    for (int i = 0; rn_drafter_name((size_t)i) && (g->n_seqs == 0 || !is_short); i++) {
        check_note("%s: %lld guesses", rn_drafter_name((size_t)i), (long long)sums.by[i]);
        CHECK((sums.by[i] > 0) == (strcmp(rn_drafter_name((size_t)i), "mtp") != 0) || n_rounds < N_ROUNDS);
    }
    for (int i = 0; i < N_GRAMMARS; i++) rn_grammar_close(grammars[i]), rn_grammar_close(others[i]);
    fixture_close(&alone);
    fixture_close(&together);
    rn_model_close(other_words);
}

TEST(any_requests_keep_their_promises_and_have_the_same_bits_alone_and_in_a_batch) {
    attack(&(struct setting){.n_kv = 4096, .n_seqs = 3, .n_threads = 2, .first = 1});
}
TEST(also_where_streams_are_preempted) { attack(&(struct setting){.n_kv = 256, .n_threads = 1, .first = 1 << 20}); }
TEST(also_where_the_texts_of_a_search_run_out_of_room) {
    attack(&(struct setting){.n_kv = 256, .n_seqs = 3, .n_threads = 2, .first = 1 << 21});
}
