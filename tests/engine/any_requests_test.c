// tests/engine/any_requests_test.c - everything that a request can say at once: any samplers, orders and watermarks, grammars, guidance,
// banned strings, token healing, least tokens, stop strings, adapters, log-probabilities, several answers of one prompt.
//
// Each answer is the one that its request gets alone, whatever else is in the batch, also with so few pages that streams are
// preempted and guess ahead; and it has what its request promises: the grammar's form, none of the banned strings, numbers that are numbers.
#include "saved_rig.h"
#include "tests/support/adapter_maker.h"
#include <ctype.h>
#include <jansson.h>
#include <math.h>

enum { MOST = 40, N_TOGETHER = 6, N_GRAMMARS = 8, MOST_LIST = 4, MOST_BEFORE = 60, N_ROUNDS = 60 };

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
}

// ---- answers ---------------------------------------------------------------------------------------------------------

struct answer {
    struct outcome o;
    rn_token token[MOST + 1]; // its numbers
    bool has_numbers;         // that are numbers
};

static void add_numbers(struct answer *a, const rn_chunk *c, const rn_request *r) {
    const size_t at = a->o.n_tokens;
    for (size_t i = 0; c->token_data && i < c->n_tokens && at + i <= MOST; i++) {
        const rn_token *const t = &c->token_data[i];
        rn_token *const to = &a->token[at + i];
        *to = (rn_token){.id = t->id,
                         .logprob = t->logprob,
                         .rank = t->rank,
                         .n_candidates = t->n_candidates,
                         .sampled_rank = t->sampled_rank};
        if (r->logprobs >= 0) a->has_numbers &= t->logprob <= 0 && t->rank >= 1;
        for (int32_t k = 1; k < t->n_top; k++) a->has_numbers &= t->top[k].logprob <= t->top[k - 1].logprob;
        if (r->sampled_logprobs < 0) continue;
        to->entropy = t->entropy, to->sampled_entropy = t->sampled_entropy, to->sampled_logprob = t->sampled_logprob;
        a->has_numbers &= t->entropy >= 0 && t->sampled_entropy >= 0 && t->sampled_logprob <= 0 &&
                          t->n_candidates >= 1 && t->sampled_rank >= 1 && t->sampled_rank <= t->n_candidates;
    }
}

static bool read_answer(rn_stream *s, const rn_request *r, struct answer *a) {
    rn_error err = {0};
    memset(a, 0, sizeof *a);
    a->has_numbers = true;
    while (a->o.finish == RN_FINISH_NONE) {
        rn_chunk c = new_chunk();
        if (!CHECK_OK(rn_stream_next(s, 60000000000, &c, &err), &err)) return false;
        add_numbers(a, &c, r);
        outcome_add(&a->o, &c);
    }
    return true;
}

static bool answer_alone(rn_engine *e, const rn_request *r, struct answer *a) {
    rn_stream *s = NULL;
    rn_error err = {0};
    const bool ok = CHECK_OK(rn_stream_begin(e, r, &s, &err), &err) && read_answer(s, r, a);
    rn_stream_close(s);
    return ok;
}

static bool same_answer(const struct answer *a, const struct answer *b) {
    bool same = CHECK_INT(a->o.n_tokens, b->o.n_tokens) && CHECK_STR(a->o.text, b->o.text) &&
                CHECK_INT(a->o.finish, b->o.finish) && CHECK_STR(a->o.detail, b->o.detail);
    for (size_t i = 0; same && i < a->o.n_tokens; i++) {
        const rn_token *const x = &a->token[i], *const y = &b->token[i];
        same = CHECK_INT(a->o.tokens[i], b->o.tokens[i]) && CHECK_MEM(&x->logprob, &y->logprob, sizeof x->logprob) &&
               CHECK_MEM(&x->sampled_logprob, &y->sampled_logprob, sizeof x->sampled_logprob) &&
               CHECK_INT(x->rank, y->rank) && CHECK_MEM(&x->entropy, &y->entropy, sizeof x->entropy) &&
               CHECK_INT(x->n_candidates, y->n_candidates) &&
               CHECK_MEM(&x->sampled_entropy, &y->sampled_entropy, sizeof x->sampled_entropy);
    }
    return same;
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

static bool check_promises(const struct plan *p, const struct answer *a) {
    const rn_request *const r = &p->r;
    const struct outcome *const o = &a->o;
    const bool is_end = o->finish == RN_FINISH_STOP, by_string = is_end && strncmp(o->detail, "stop string", 11) == 0;
    const bool by_token = is_end && !by_string && strcmp(o->detail, "grammar") != 0;
    bool ok = CHECK(a->has_numbers) && CHECK_INT(o->usage.completion_tokens, o->n_tokens) &&
              CHECK(o->n_tokens <= (size_t)r->max_tokens);
    for (size_t i = 0; i < r->n_banned_strings; i++)
        ok &= CHECK(!contains(o->text, p->banned[i], r->banned_match_case));
    for (size_t i = 0; i < r->n_stop; i++) ok &= CHECK(!contains(o->text, p->stop[i], true));
    if (p->form >= 0 && !r->special)
        ok &= CHECK(forms[p->form].holds(o->text, is_end && !by_string && r->n_stop_tokens == 0));
    if (by_token) ok &= CHECK(o->n_tokens > (size_t)p->sampling.min_tokens);
    if (o->finish == RN_FINISH_LENGTH) ok &= CHECK_INT(o->n_tokens, r->max_tokens);
    // What can be ruled out can be ruled out altogether; that is said.
    if (o->finish == RN_FINISH_ERROR) ok &= CHECK(strstr(o->detail, "is left") || strstr(o->detail, "is allowed"));
    return ok && CHECK(o->finish == RN_FINISH_STOP || o->finish == RN_FINISH_LENGTH || o->finish == RN_FINISH_ERROR);
}

static bool open_adapted(struct fixture *f, const rn_engine_options *o) {
    static const struct made_adapter adapters[] = {{.rank = 4, .alpha = 8, .seed = 1},
                                                   {.rank = 3, .alpha = 3, .only = "ffn_", .seed = 2}};
    static const char *const names[] = {"first.gguf", "second.gguf"};
    rn_error err = {0};
    *f = (struct fixture){0};
    bool ok = CHECK_OK(rn_model_open(stories(), NULL, &f->model, &err), &err);
    for (size_t i = 0; ok && i < 2; i++)
        ok = made_adapter_write(&adapters[i], stories(), saved_path(names[i])) &&
             CHECK_OK(rn_model_add_adapter(f->model, saved_path(names[i]), i ? "second" : NULL, &err), &err);
    // The model drafts for itself, without the adapters.
    rn_engine_options with_draft = *o;
    rn_model *const models[] = {f->model, f->model};
    with_draft.draft_model = 1;
    return ok && CHECK_OK(rn_engine_open(models, 2, &with_draft, &f->engine, &err), &err);
}

static struct plan plans[N_TOGETHER];
static struct answer want[N_TOGETHER], got[N_TOGETHER], again;

// Requests at once, two of them of one prompt that was made once.
static void answer_together(rn_engine *e, int round) {
    rn_stream *s[N_TOGETHER] = {0};
    rn_prompt *shared = NULL;
    rn_error err = {0};
    CHECK_OK(rn_prompt_open(e, &plans[0].r, &shared, &err), &err);
    for (int i = 0; i < N_TOGETHER; i++) {
        rn_request r = plans[i].r;
        if (i == 0) r.prompt = shared;
        r.priority = (rn_priority)(below(3) - 1), r.client = (uint64_t)below(3), r.buffer_tokens = 1 + below(30);
        if (chance(0.5)) r.speculate = any_drafter((uint64_t)below(100)), r.draft_min = below(4);
        CHECK_OK(rn_stream_begin(e, &r, &s[i], &err), &err);
    }
    for (int i = 0; i < N_TOGETHER; i++) {
        check_note("round %d, request %d, form %d, samplers '%s'", round, i, plans[i].form, plans[i].samplers);
        if (s[i] && read_answer(s[i], &plans[i].r, &got[i])) same_answer(&got[i], &want[i]);
        rn_stream_close(s[i]);
    }
    rn_prompt_close(shared);
}

// is_short: of pages, so that streams are preempted.
static void attack(int n_rounds, uint64_t first, bool is_short, int32_t n_threads) {
    struct fixture alone, together;
    rn_engine_options o = engine_options(), few = engine_options();
    rn_grammar *grammars[N_GRAMMARS] = {0}, *others[N_GRAMMARS] = {0};
    rn_engine_stats stats = {.struct_size = sizeof stats};
    int n_ends[6] = {0}, n_whole = 0;
    o.n_ctx = few.n_ctx = 256;
    few.output_store_bytes = 1 << 20;
    few.n_streams = N_TOGETHER, few.n_kv = is_short ? 256 : 4096, few.n_threads = n_threads;
    if (!open_adapted(&alone, &o) || !open_adapted(&together, &few)) return;
    for (int i = 0; i < N_GRAMMARS; i++)
        grammars[i] = compile(alone.model, i), others[i] = compile(together.model, i);
    counter = first;
    for (int round = 0; round < n_rounds; round++) {
        for (int i = 0; i < N_TOGETHER; i++) {
            check_note("round %d, request %d", round, i);
            any_request(&plans[i], grammars);
            check_note("round %d, request %d, form %d, samplers '%s', scale %g, heals %d, min %d", round, i,
                       plans[i].form, plans[i].samplers, (double)plans[i].r.guidance_scale, plans[i].r.token_healing,
                       plans[i].sampling.min_tokens);
            if (!answer_alone(alone.engine, &plans[i].r, &want[i]) || !check_promises(&plans[i], &want[i])) {
                fprintf(stderr, "text '%s', %s\n", want[i].o.text, want[i].o.detail);
            }
            if (chance(0.1) && answer_alone(alone.engine, &plans[i].r, &again)) same_answer(&again, &want[i]);
            n_ends[want[i].o.finish]++;
            n_whole += plans[i].form >= 0 && want[i].o.finish == RN_FINISH_STOP;
            if (plans[i].form >= 0) plans[i].r.grammar = others[plans[i].form];
        }
        answer_together(together.engine, round);
    }
    rn_engine_get_stats(together.engine, &stats, NULL);
    check_note("%d ends, %d whole forms, %d lengths, %d errors, %d preempted", n_ends[RN_FINISH_STOP], n_whole,
               n_ends[RN_FINISH_LENGTH], n_ends[RN_FINISH_ERROR], (int)stats.n_preempted);
    CHECK(n_rounds < N_ROUNDS || (stats.n_preempted > 0) == is_short);
    CHECK(n_whole > n_rounds / 4 && n_ends[RN_FINISH_LENGTH] > n_rounds && n_ends[RN_FINISH_ERROR] < 2 * n_rounds);
    for (int i = 0; i < N_GRAMMARS; i++) rn_grammar_close(grammars[i]), rn_grammar_close(others[i]);
    fixture_close(&alone);
    fixture_close(&together);
}

TEST(any_requests_keep_their_promises_and_have_the_same_bits_alone_and_in_a_batch) {
    attack(getenv("RUNNEL_TEST_FULL") ? 1500 : N_SHORT, 1, false, 2);
}
TEST(also_where_streams_are_preempted) { attack(getenv("RUNNEL_TEST_FULL") ? 1500 : N_SHORT, 1 << 20, true, 1); }
