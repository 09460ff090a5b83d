// tests/sampling/goldens_test.c - the sampler against rows that transformers' logits processors made.
//
// Bias and penalties are read off by a caller's stage, which sees the row after them; cuts by the list that is left, in both
// orders; temperature and log-softmax by their functions. Kinds and tolerances: goldens/README.md of the shared material.
#include "kernels/kernels.h"
#include "sampling/guidance.h"
#include "sampling/stages.h"
#include "tests/check.h"
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_N = 256, MAX_IDS = 100 };

struct golden {
    const char *processor, *kind;
    json_t *params;
    bool ambiguous;
    int32_t n;
    float row[MAX_N], expect[MAX_N], negative[MAX_N];
    int32_t ids[MAX_IDS];
    size_t n_ids;
};

// Eight hex digits for each value: the bits of a float, the highest first.
static int32_t read_row(const char *hex, float *out) {
    const int32_t n = (int32_t)(strlen(hex) / 8);
    for (int32_t i = 0; i < n && i < MAX_N; i++) {
        char digits[9] = {0};
        memcpy(digits, hex + 8 * i, 8);
        const uint32_t bits = (uint32_t)strtoul(digits, NULL, 16);
        memcpy(&out[i], &bits, sizeof bits);
    }
    return n;
}

static double number(const struct golden *g, const char *name, double otherwise) {
    const json_t *v = json_object_get(g->params, name);
    return v ? json_number_value(v) : otherwise;
}

// |got - want| within the README's relative tolerance; minus infinity only where it is wanted.
static bool close_rows(const float *got, const float *want, int32_t n, double relative) {
    for (int32_t i = 0; i < n; i++) {
        if (want[i] == -INFINITY || got[i] == -INFINITY) {
            if (want[i] != got[i]) return false;
        } else if (fabs((double)got[i] - (double)want[i]) > relative * fabs((double)want[i]) + 1e-5) {
            return false;
        }
    }
    return true;
}

// The same for values that are only defined up to a common amount: both are taken relative to their largest, so the tolerance is
// that of the two numbers subtracted.
static bool close_up_to_a_shift(const float *got, const float *want, int32_t n) {
    double got_max = -INFINITY, want_max = -INFINITY;
    for (int32_t i = 0; i < n; i++) {
        got_max = fmax(got_max, (double)got[i]);
        want_max = fmax(want_max, (double)want[i]);
    }
    for (int32_t i = 0; i < n; i++) {
        if (want[i] == -INFINITY || got[i] == -INFINITY) {
            if (want[i] != got[i]) return false;
            continue;
        }
        const double difference = ((double)got[i] - got_max) - ((double)want[i] - want_max);
        if (fabs(difference) > 1e-6 * (fabs((double)want[i]) + fabs(want_max)) + 1e-5) return false;
    }
    return true;
}

static void all_off(struct sampling_params *p) {
    sampling_defaults(p);
    p->temp = 1;
    p->top_k = 0;
    p->top_p = 1;
    p->min_p = 0;
    p->order = SAMPLING_ORDER_TRANSFORMERS;
}

struct capture {
    float row[MAX_N];
};
static bool take_copy(void *user, float *logits, int32_t n_vocab, const int32_t *tokens, size_t n_tokens) {
    struct capture *c = user;
    (void)tokens;
    (void)n_tokens;
    memcpy(c->row, logits, (size_t)n_vocab * sizeof *logits);
    return true;
}

// The row as it leaves bias and penalties; the first n_prompt ids are a prompt.
static bool edited_row(struct sampling_params *p, const struct golden *g, size_t n_prompt, struct capture *c) {
    rn_error err = {0};
    sampler *s = NULL;
    int32_t token;
    p->stage = take_copy;
    p->stage_user = c;
    if (!CHECK_OK(sampler_create(p, &kernel_set_get(CPU_REF)->row, g->n, MAX_IDS, &s, &err), &err)) return false;
    sampler_see_prompt(s, g->ids, n_prompt);
    for (size_t i = n_prompt; i < g->n_ids; i++) sampler_accept(s, g->ids[i]);
    const bool ok = CHECK_OK(sampler_draw(s, g->row, 0, &token, &err), &err);
    sampler_destroy(s);
    return ok;
}

static bool run_repetition_penalty(const struct golden *g) {
    struct sampling_params p;
    struct capture c;
    all_off(&p);
    p.repeat_penalty = (float)number(g, "repetition_penalty", 1);
    p.penalty_last_n = -1;
    p.penalty_prompt = false;
    const size_t n_prompt = (size_t)number(g, "prompt_ignore_length", 0);
    return edited_row(&p, g, n_prompt < g->n_ids ? n_prompt : g->n_ids, &c) &&
           CHECK(close_rows(c.row, g->expect, g->n, 1e-6));
}

static bool run_encoder_penalty(const struct golden *g) {
    struct golden prompted = *g;
    struct sampling_params p;
    struct capture c;
    all_off(&p);
    p.encoder_repetition_penalty = (float)number(g, "encoder_repetition_penalty", 1);
    const json_t *const ids = json_object_get(g->params, "encoder_input_ids");
    prompted.n_ids = json_array_size(ids);
    for (size_t i = 0; i < prompted.n_ids; i++) prompted.ids[i] = (int32_t)json_integer_value(json_array_get(ids, i));
    return edited_row(&p, &prompted, prompted.n_ids, &c) && CHECK(close_rows(c.row, g->expect, g->n, 1e-6));
}

// The end tokens of a case.
static size_t read_ends(const struct golden *g, int32_t *ends) {
    const json_t *const ids = json_object_get(g->params, "eos_token_id");
    for (size_t i = 0; i < json_array_size(ids); i++) ends[i] = (int32_t)json_integer_value(json_array_get(ids, i));
    return json_array_size(ids);
}

static bool run_length(const struct golden *g) {
    struct sampling_params p;
    struct capture c;
    int32_t ends[16];
    all_off(&p);
    p.end_tokens = ends;
    p.n_end_tokens = read_ends(g, ends);
    p.min_tokens = (int32_t)(number(g, "min_new_tokens", 0) + number(g, "min_length", 0));
    p.exponential_decay_start = (int32_t)number(g, "start", 0);
    p.exponential_decay_factor = (float)number(g, "factor", 1);
    // The factor is a float here, and is raised to the power of each token.
    const double tolerance = 1e-6 + (double)g->n_ids * 0x1p-24;
    return edited_row(&p, g, (size_t)number(g, "prompt_len", 0), &c) &&
           CHECK(close_rows(c.row, g->expect, g->n, tolerance));
}

static bool run_ngram(const struct golden *g) {
    struct sampling_params p;
    struct capture c;
    all_off(&p);
    p.no_repeat_ngram_size = (int32_t)number(g, "no_repeat_ngram_size", 0);
    if (edited_row(&p, g, g->n_ids, &c)) CHECK_MEM(c.row, g->expect, (size_t)g->n * sizeof(float));
    return true;
}

struct biases {
    struct sequence_bias entries[16];
    int32_t tokens[16][16];
    size_t n;
};
static void add_bias(struct biases *b, const json_t *ids, float bias) {
    struct sequence_bias *const e = &b->entries[b->n];
    *e = (struct sequence_bias){b->tokens[b->n], json_array_size(ids), bias};
    for (size_t i = 0; i < e->n_tokens; i++) b->tokens[b->n][i] = (int32_t)json_integer_value(json_array_get(ids, i));
    b->n++;
}

static void read_bias(const struct golden *g, struct biases *b) {
    size_t i;
    json_t *v;
    b->n = 0;
    json_array_foreach(json_object_get(g->params, "sequence_bias"), i, v) {
        const json_t *amount = json_array_get(v, 1);
        add_bias(b, json_array_get(v, 0), json_is_string(amount) ? -INFINITY : (float)json_number_value(amount));
    }
    json_array_foreach(json_object_get(g->params, "suppress_tokens"), i, v) {
        json_t *one = json_pack("[O]", v);
        add_bias(b, one, -INFINITY);
        json_decref(one);
    }
    json_array_foreach(json_object_get(g->params, "bad_words_ids"), i, v) {
        const json_t *end = json_array_get(json_object_get(g->params, "eos_token_id"), 0);
        if (json_array_size(v) != 1 || !json_equal(json_array_get(v, 0), end)) // which is never banned there
            add_bias(b, v, -INFINITY);
    }
}

static bool run_bias(const struct golden *g) {
    struct sampling_params p;
    struct capture c;
    struct biases b;
    all_off(&p);
    read_bias(g, &b);
    p.sequences = b.entries;
    p.n_sequences = b.n;
    if (!edited_row(&p, g, 0, &c)) return true;
    if (strcmp(g->kind, "exact") == 0)
        CHECK_MEM(c.row, g->expect, (size_t)g->n * sizeof(float));
    else
        CHECK(close_rows(c.row, g->expect, g->n, 1e-6));
    return true;
}

static bool run_temperature(const struct golden *g) {
    float row[MAX_N];
    memcpy(row, g->row, sizeof row);
    stage_temperature(row, (size_t)g->n, kernel_set_get(CPU_REF)->row.max(row, (size_t)g->n),
                      (float)number(g, "temperature", 1));
    return CHECK(close_up_to_a_shift(row, g->expect, g->n));
}

static bool run_renormalize(const struct golden *g) {
    float row[MAX_N];
    for (int32_t i = 0; i < g->n; i++)
        row[i] = token_logprobs(&kernel_set_get(CPU_REF)->row, g->row, g->n, i, 0, NULL, NULL);
    return CHECK(close_rows(row, g->expect, g->n, 1e-5));
}

// transformers' top-k keeps all that equal the k-th: of those the ones with the smallest ids belong to the k first.
static void cut_ties(const struct golden *g, bool *kept, size_t k) {
    size_t n = 0;
    for (int32_t i = 0; i < g->n; i++) n += kept[i];
    for (; n > k; n--) {
        int32_t last = -1;
        for (int32_t i = 0; i < g->n; i++)
            if (kept[i] && (last < 0 || g->row[i] <= g->row[last])) last = i;
        kept[last] = false;
    }
}

// top_h 1 asks for all of the entropy: transformers' sums in float may reach it before the last candidates, or go on to those that
// weigh nothing. So at most two may differ that are not all but impossible.
static bool nearly_same_set(const struct golden *g, const bool *kept, const bool *got) {
    float max = -INFINITY;
    int n_other = 0;
    for (int32_t i = 0; i < g->n; i++) max = fmaxf(max, g->row[i]);
    for (int32_t i = 0; i < g->n; i++) n_other += kept[i] != got[i] && g->row[i] > max - 18;
    return n_other <= 2;
}

static bool same_set(const struct golden *g, const int32_t *ids, size_t n_ids, const struct sampling_params *p) {
    bool kept[MAX_N], got[MAX_N] = {0};
    size_t n_kept = 0;
    for (int32_t i = 0; i < g->n; i++) kept[i] = g->expect[i] != -INFINITY;
    if (p->top_k > 0) cut_ties(g, kept, (size_t)(p->top_k > p->min_keep ? p->top_k : p->min_keep));
    for (int32_t i = 0; i < g->n; i++) n_kept += kept[i];
    if (g->ambiguous && p->top_h != 1) return n_ids + 1 >= n_kept && n_ids <= n_kept + 1;
    for (size_t i = 0; i < n_ids; i++) got[ids[i]] = true;
    if (p->top_h == 1) return nearly_same_set(g, kept, got);
    return n_ids == n_kept && memcmp(kept, got, (size_t)g->n) == 0;
}

// The list that is left, and log-probabilities up to a shift, -inf for what is not left.
static bool cut_row(const struct sampling_params *p, const struct golden *g, int32_t *ids, size_t *n, float *values) {
    rn_error err = {0};
    sampler *s = NULL;
    float probs[MAX_N];
    if (!CHECK_OK(sampler_create(p, &kernel_set_get(CPU_REF)->row, g->n, MAX_IDS, &s, &err), &err)) return false;
    const size_t n_prompt = (size_t)number(g, "prompt_len", (double)g->n_ids);
    sampler_see_prompt(s, g->ids, n_prompt);
    for (size_t i = n_prompt; i < g->n_ids; i++) sampler_accept(s, g->ids[i]);
    const bool ok = CHECK_OK(sampler_distribution(s, g->row, ids, probs, MAX_N, n, &err), &err);
    sampler_destroy(s);
    for (int32_t i = 0; i < g->n; i++) values[i] = -INFINITY;
    for (size_t i = 0; ok && i < *n; i++) values[ids[i]] = logf(probs[i]);
    return ok;
}

static void read_cuts(const struct golden *g, struct sampling_params *p) {
    all_off(p);
    p->temp = (float)number(g, "temperature", 1);
    p->top_k = (int32_t)number(g, "top_k", 0);
    p->top_p = (float)number(g, "top_p", 1);
    p->min_p = (float)number(g, "min_p", 0);
    p->min_keep = (int32_t)number(g, "min_tokens_to_keep", 1);
    p->typical_p = (float)number(g, "typical_p", 1);
    p->epsilon_cutoff = (float)number(g, "epsilon_cutoff", 0);
    p->eta_cutoff = (float)number(g, "eta_cutoff", 0);
    p->top_h = (float)number(g, "top_h", 0);
}

static bool run_cut(const struct golden *g) {
    struct sampling_params p;
    int32_t ids[MAX_N];
    float values[MAX_N];
    size_t n = 0;
    read_cuts(g, &p);
    for (int order = 0; order < SAMPLING_N_ORDERS; order++) {
        p.order = (enum sampling_order)order;
        if (cut_row(&p, g, ids, &n, values)) CHECK(same_set(g, ids, n, &p));
    }
    return true;
}

static bool run_chain(const struct golden *g) {
    struct sampling_params p;
    struct biases b;
    int32_t ids[MAX_N], ends[16];
    float values[MAX_N];
    size_t n = 0;
    read_cuts(g, &p);
    read_bias(g, &b);
    p.sequences = b.entries, p.n_sequences = b.n;
    p.end_tokens = ends, p.n_end_tokens = read_ends(g, ends);
    p.min_tokens = (int32_t)number(g, "min_new_tokens", 0);
    p.repeat_penalty = (float)number(g, "repetition_penalty", 1);
    p.penalty_last_n = -1;
    p.no_repeat_ngram_size = (int32_t)number(g, "no_repeat_ngram_size", 0);
    if (cut_row(&p, g, ids, &n, values) && CHECK(same_set(g, ids, n, &p)))
        CHECK(close_up_to_a_shift(values, g->expect, g->n));
    return true;
}

// Of logits as they are: the same distribution as of their log-softmax, so the rows differ by a common amount.
static bool run_raw_guidance(const struct golden *g) {
    float mixed[MAX_N];
    rn_error err = {0};
    const float scale = (float)number(g, "guidance_scale", 1);
    return CHECK_OK(guidance_mix(&kernel_set_get(CPU_REF)->row, g->row, g->negative, g->n, scale, mixed, &err),
                    &err) &&
           CHECK(close_up_to_a_shift(mixed, g->expect, g->n));
}

static bool run_guidance(const struct golden *g) {
    float mixed[MAX_N];
    rn_error err = {0};
    const float scale = (float)number(g, "guidance_scale", 1);
    return CHECK_OK(guidance_mix(&kernel_set_get(CPU_REF)->row, g->row, g->negative, g->n, scale, mixed, &err),
                    &err) &&
           CHECK(close_rows(mixed, g->expect, g->n, 1e-5));
}

// n_shared: cases of the shared file.
static const struct {
    const char *processor;
    bool (*run)(const struct golden *g);
    int n_shared;
} runs[] = {
    {"temperature", run_temperature, 20},
    {"top_k", run_cut, 72},
    {"top_p", run_cut, 84},
    {"min_p", run_cut, 60},
    {"repetition_penalty", run_repetition_penalty, 54},
    {"encoder_repetition_penalty", run_encoder_penalty, 4},
    {"typical", run_cut, 48},
    {"epsilon", run_cut, 48},
    {"eta", run_cut, 48},
    {"top_h", run_cut, 48},
    {"no_repeat_ngram", run_ngram, 48},
    {"min_length", run_length, 18},
    {"min_new_tokens", run_length, 18},
    {"exponential_decay_length", run_length, 48},
    {"sequence_bias", run_bias, 40},
    {"suppress_tokens", run_bias, 4},
    {"bad_words", run_bias, 40},
    {"renormalize", run_renormalize, 12},
    {"cfg_logprobs", run_guidance, 6},
    {"cfg_logits", run_raw_guidance, 6},
    {"chain", run_chain, 60},
};
enum { N_RUNS = sizeof runs / sizeof *runs };

static bool read_golden(json_t *file, json_t *c, struct golden *g) {
    const char *name = json_string_value(json_object_get(c, "row"));
    const char *row = json_string_value(json_object_get(json_object_get(file, "rows"), name));
    const char *expect = json_string_value(json_object_get(c, "expect"));
    if (!CHECK(row && expect)) return false;
    *g = (struct golden){.processor = json_string_value(json_object_get(c, "processor")),
                         .kind = json_string_value(json_object_get(c, "kind")),
                         .params = json_object_get(c, "params"),
                         .ambiguous = json_is_true(json_object_get(c, "ambiguous"))};
    g->n = read_row(row, g->row);
    const char *negative = json_string_value(json_object_get(g->params, "unconditional_row"));
    if (negative) {
        const json_t *other = json_object_get(json_object_get(file, "rows"), negative);
        if (!CHECK(other && read_row(json_string_value(other), g->negative) == g->n)) return false;
    }
    g->n_ids = json_array_size(json_object_get(c, "ids"));
    if (!CHECK(g->n <= MAX_N && read_row(expect, g->expect) == g->n && g->n_ids <= MAX_IDS)) return false;
    for (size_t i = 0; i < g->n_ids; i++)
        g->ids[i] = (int32_t)json_integer_value(json_array_get(json_object_get(c, "ids"), i));
    return true;
}

static bool run_file(const char *path, int n_run[N_RUNS]) {
    json_error_t why;
    json_t *file = json_load_file(path, 0, &why), *c;
    size_t i;
    if (!CHECK(file != NULL)) return false;
    json_array_foreach(json_object_get(file, "cases"), i, c) {
        struct golden g;
        if (!read_golden(file, c, &g)) break;
        for (int k = 0; k < N_RUNS; k++) {
            if (strcmp(runs[k].processor, g.processor) != 0) continue;
            check_note("case %zu: %s over %s", i, g.processor, json_string_value(json_object_get(c, "row")));
            n_run[k] += runs[k].run(&g);
        }
    }
    json_decref(file);
    return true;
}

TEST(a_selection_of_rows_equals_that_of_transformers) {
    int n_run[N_RUNS] = {0};
    if (!run_file(tests_path("sampling/logits_processors_small.json"), n_run)) return;
    for (int k = 0; k < N_RUNS; k++) {
        check_note("%s", runs[k].processor);
        CHECK(n_run[k] > 0);
    }
}

TEST(all_shared_rows_of_these_stages_equal_those_of_transformers) {
    const char *path = shared_path("goldens/logits_processors.json");
    int n_run[N_RUNS] = {0};
    if (!path) {
        test_skip("no shared material: set RUNNEL_SHARED");
        return;
    }
    if (!run_file(path, n_run)) return;
    for (int k = 0; k < N_RUNS; k++) {
        check_note("%s", runs[k].processor);
        CHECK_INT(n_run[k], runs[k].n_shared);
    }
}
