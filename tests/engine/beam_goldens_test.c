// tests/engine/beam_goldens_test.c - beam search and diverse beams give the sequences and scores of transformers' generate(), and of an
// independent form of diverse beams (shared goldens/search).
#include "fixture.h"
#include <jansson.h>
#include <math.h>

enum { MOST_TOKENS = 64, MOST_BIASED = 8 };

static json_t *of(const json_t *c, const char *name) { return json_object_get(c, name); }
static double number_of(const json_t *c, const char *name, double def) {
    return of(c, name) ? json_number_value(of(c, name)) : def;
}

static size_t ids_of(const json_t *list, int32_t ids[MOST_TOKENS]) {
    for (size_t i = 0; i < json_array_size(list) && i < MOST_TOKENS; i++)
        ids[i] = (int32_t)json_integer_value(json_array_get(list, i));
    return json_array_size(list);
}

static int32_t early_of(const json_t *c) {
    const json_t *const v = of(c, "early_stopping");
    return json_is_string(v) ? RN_EARLY_STOPPING_NEVER
           : json_is_true(v) ? RN_EARLY_STOPPING_TRUE
                             : RN_EARLY_STOPPING_FALSE;
}

// A request of a case, and what it points to.
struct golden_request {
    rn_request r;
    rn_sampling sampling;
    rn_strategy_options o;
    rn_part part;
    int32_t ids[MOST_TOKENS], ends[MOST_TOKENS], biased[MOST_BIASED][MOST_TOKENS];
    rn_sequence_bias biases[MOST_BIASED];
};

static bool is_end(const struct golden_request *g, int32_t token) {
    for (size_t i = 0; i < g->r.n_stop_tokens; i++)
        if (g->ends[i] == token) return true;
    return false;
}

static void make_request(const json_t *c, struct golden_request *g) {
    rn_request_init(&g->r);
    rn_sampling_init(&g->sampling);
    rn_strategy_options_init(&g->o);
    g->part = (rn_part){.kind = RN_PART_IDS, .ids = g->ids, .n_ids = ids_of(of(c, "ids"), g->ids)};
    g->r.parts = &g->part, g->r.n_parts = 1;
    g->r.ignore_eos = true;
    g->r.stop_tokens = g->ends, g->r.n_stop_tokens = ids_of(of(c, "eos_token_id"), g->ends);
    g->r.max_tokens = (int32_t)number_of(c, "max_new_tokens", 0);
    g->r.strategy = "beam", g->r.strategy_options = &g->o, g->r.sampling = &g->sampling;
    g->o.num_beams = (int32_t)number_of(c, "num_beams", 1);
    g->o.num_beam_groups = (int32_t)number_of(c, "num_beam_groups", 1);
    g->o.diversity_penalty = (float)number_of(c, "diversity_penalty", 0);
    g->o.length_penalty = (float)number_of(c, "length_penalty", 1);
    g->o.num_return_sequences = (int32_t)number_of(c, "num_return_sequences", 1);
    g->o.early_stopping = early_of(c);
    g->o.renormalize_logits = json_is_true(of(c, "renormalize_logits"));
    g->sampling.repeat_penalty = (float)number_of(c, "repetition_penalty", 1);
    g->sampling.penalty_last_n = -1;
    g->sampling.no_repeat_ngram_size = (int32_t)number_of(c, "no_repeat_ngram_size", 0);
    g->sampling.min_tokens = (int32_t)number_of(c, "min_new_tokens", 0);
    const json_t *const bad = of(c, "bad_words_ids");
    size_t n = 0;
    for (size_t i = 0; i < json_array_size(bad) && n < MOST_BIASED; i++) {
        const size_t n_ids = ids_of(json_array_get(bad, i), g->biased[n]);
        if (n_ids > 1 || !is_end(g, g->biased[n][0])) // generate() drops those that are an end token
            g->biases[n] = (rn_sequence_bias){g->biased[n], n_ids, -INFINITY}, n++;
    }
    g->sampling.sequence_bias = g->biases, g->sampling.n_sequence_bias = n;
}

// The goldens have no padding token at the end, also where one was generated.
static bool is_same(const int32_t *a, size_t n_a, const int32_t *golden, size_t n) {
    enum { PADDING = 274 };
    for (; n_a > n; n_a--)
        if (a[n_a - 1] != PADDING) return false;
    return n_a == n && memcmp(a, golden, n * sizeof *a) == 0;
}

// The tolerance of scores is 1e-4 (goldens/README.md). A length_penalty below 0 multiplies what the reference summed in float32 by a power
// of the length, and with it the rounding: there it is the sum that is within 1e-4.
static void check_score(const json_t *c, const rn_sequence *q, double score) {
    const double multiplied = fmax(1, pow((double)q->n_tokens, -number_of(c, "length_penalty", 1)));
    const double distance = fabs(q->score - score);
    CHECK(distance <= 1e-4 * multiplied);
}

static void check_sequences(const json_t *c, const rn_chunk *last) {
    const json_t *const sequences = of(c, "sequences"), *const scores = of(c, "scores");
    if (!CHECK_INT((int64_t)last->n_sequences, (int64_t)json_array_size(sequences))) return;
    for (size_t i = 0; i < last->n_sequences; i++) {
        const rn_sequence *const q = &last->sequences[i];
        int32_t ids[MOST_TOKENS];
        const size_t n = ids_of(json_array_get(sequences, i), ids);
        char *const text = json_dumps(c, JSON_COMPACT);
        check_note("case %s, sequence %zu", text ? text : "", i);
        free(text);
        CHECK(is_same(q->tokens, q->n_tokens, ids, n));
        const double score = json_number_value(json_array_get(scores, i));
        check_score(c, q, score);
    }
}

static void run_case(rn_engine *e, const json_t *c) {
    static struct golden_request g;
    struct outcome o = {0};
    rn_error err = {0};
    rn_stream *s;
    make_request(c, &g);
    if (!CHECK_OK(rn_stream_begin(e, &g.r, &s, &err), &err)) return;
    for (rn_chunk chunk = new_chunk(); o.finish == RN_FINISH_NONE;) {
        if (!CHECK_OK(rn_stream_next(s, 60000000000, &chunk, &err), &err)) break;
        outcome_add(&o, &chunk);
        if (o.finish != RN_FINISH_NONE) check_sequences(c, &chunk);
    }
    int32_t ids[MOST_TOKENS];
    const size_t n = ids_of(json_array_get(of(c, "sequences"), 0), ids);
    CHECK(is_same(o.tokens, o.n_tokens, ids, n)); // the stream is the best one
    rn_stream_close(s);
}

static void run_cases(const char *name, const char *kind, size_t n) {
    char cases_path[64], model_path[64];
    snprintf(cases_path, sizeof cases_path, "goldens/search/%s.json", name);
    snprintf(model_path, sizeof model_path, "goldens/%s", name);
    if (!shared_path(cases_path)) {
        test_skip("no shared material: set RUNNEL_SHARED");
        return;
    }
    json_t *const doc = json_load_file(shared_path(cases_path), 0, NULL);
    rn_engine_options o = engine_options();
    struct fixture f = {0};
    rn_error err = {0};
    o.kv_type = RN_KV_F32, o.n_seqs = 7;
    const json_t *const cases = of(doc, kind);
    if (CHECK_INT((int64_t)json_array_size(cases), (int64_t)n) &&
        CHECK_OK(rn_model_open(shared_path(model_path), NULL, &f.model, &err), &err) &&
        CHECK_OK(rn_engine_open(&f.model, 1, &o, &f.engine, &err), &err))
        for (size_t i = 0; i < json_array_size(cases); i++) run_case(f.engine, json_array_get(cases, i));
    fixture_close(&f);
    json_decref(doc);
}

TEST(beams_of_a_llama_are_those_of_generate) { run_cases("small-llama", "beam", 112); }
TEST(beams_of_a_gpt2_are_those_of_generate) { run_cases("gpt2", "beam", 112); }
TEST(beams_of_a_qwen2_are_those_of_generate) { run_cases("qwen2", "beam", 112); }
TEST(diverse_beams_of_a_llama_are_those_of_their_definition) { run_cases("small-llama", "diverse_beam", 12); }
TEST(diverse_beams_of_a_gpt2_are_those_of_their_definition) { run_cases("gpt2", "diverse_beam", 12); }
TEST(diverse_beams_of_a_qwen2_are_those_of_their_definition) { run_cases("qwen2", "diverse_beam", 12); }
