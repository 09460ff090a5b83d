// tests/engine/llama_samplers_test.c - samplers against llama.cpp's own: what is left of rows, how likely, and what is penalized.
//
// tests/cli/llama_samplers.py makes the cases; a selection lies beside this file. RUNNEL_SAMPLER_CASES names a file of more, which
// cli.llama_samplers_test has made where llama.cpp is.
#include "engine/sampler_lists.h"
#include "fixture.h"
#include "kernels/kernels.h"
#include <jansson.h>
#include <math.h>
#include <stdlib.h>

enum { MOST_VOCAB = 8192, MOST_PROMPT = 256, N_CTX = 512 };

struct sample {
    json_t *c;
    struct sampling_params p;
    int32_t n_vocab, prompt[MOST_PROMPT];
    size_t n_prompt;
};

static void read_params(struct sample *s) {
    const json_t *const params = json_object_get(s->c, "params");
    rn_error err = {0};
    sampling_defaults(&s->p);
    s->p.penalty_last_n = 64;
    for (size_t i = 0; i < sampling_n_fields; i++) {
        const struct sampling_field *const f = &sampling_fields[i];
        const json_t *const v = json_object_get(params, f->name);
        if (v && f->kind == SAMPLING_INT)
            *(int32_t *)((char *)&s->p + f->offset) = (int32_t)json_integer_value(v);
        else if (v)
            *(float *)((char *)&s->p + f->offset) = (float)json_number_value(v);
    }
    const json_t *const samplers = json_object_get(s->c, "samplers");
    if (samplers) CHECK_OK(sampling_parse_sequence(json_string_value(samplers), &s->p.sequence, &err), &err);
}

static bool read_sample(json_t *c, struct sample *s) {
    const json_t *const prompt = json_object_get(c, "prompt");
    *s = (struct sample){.c = c, .n_vocab = (int32_t)json_integer_value(json_object_get(c, "n_vocab"))};
    s->n_prompt = json_array_size(prompt);
    if (!CHECK(s->n_vocab > 0 && s->n_vocab <= MOST_VOCAB && s->n_prompt <= MOST_PROMPT)) return false;
    for (size_t i = 0; i < s->n_prompt; i++) s->prompt[i] = (int32_t)json_integer_value(json_array_get(prompt, i));
    read_params(s);
    return true;
}

static sampler *make_sampler(const struct sample *s) {
    sampler *out = NULL;
    rn_error err = {0};
    CHECK_OK(sampler_create(&s->p, &kernel_set_get(CPU_REF)->row, s->n_vocab, N_CTX, &out, &err), &err);
    if (out) sampler_see_prompt(out, s->prompt, s->n_prompt);
    return out;
}

static void read_row(const json_t *hex, float *row, int32_t n) {
    for (int32_t i = 0; i < n; i++) {
        char digits[9] = {0};
        memcpy(digits, json_string_value(hex) + 8 * i, 8);
        const uint32_t bits = (uint32_t)strtoul(digits, NULL, 16);
        memcpy(&row[i], &bits, sizeof bits);
    }
}

// Theirs are computed in float: compared to 1e-3, and what weighs less than 1e-6 may be missing.
static bool same_candidates(const json_t *step, const int32_t *ids, const float *probs, size_t n) {
    static double want[MOST_VOCAB], got[MOST_VOCAB];
    const json_t *const their_ids = json_object_get(step, "ids"), *const theirs = json_object_get(step, "probs");
    memset(want, 0, sizeof want);
    memset(got, 0, sizeof got);
    for (size_t i = 0; i < json_array_size(theirs); i++)
        want[json_integer_value(json_array_get(their_ids, i))] = json_number_value(json_array_get(theirs, i));
    for (size_t i = 0; i < n; i++) got[ids[i]] = (double)probs[i];
    for (size_t i = 0; i < MOST_VOCAB; i++)
        if (fabs(want[i] - got[i]) > 1e-3 * want[i] + 1e-6) {
            check_note("token %zu: %g, llama.cpp has %g", i, got[i], want[i]);
            return CHECK(false);
        }
    return true;
}

// A sampler with a state must have drawn what it accepts: positions are tried until it is drawn.
static bool draw_and_accept(sampler *s, const float *row, int32_t token) {
    int32_t drawn = -1;
    for (uint32_t position = 0; sampler_has_feedback(s) && drawn != token && position < 200000; position++)
        if (sampler_draw(s, row, position, &drawn, NULL) != RN_OK) break;
    sampler_accept(s, token);
    return !sampler_has_feedback(s) || drawn == token;
}

static bool run_steps(const struct sample *sample) {
    static int32_t ids[MOST_VOCAB];
    static float probs[MOST_VOCAB], row[MOST_VOCAB];
    sampler *const s = make_sampler(sample);
    size_t i;
    json_t *step;
    bool ok = s != NULL;
    json_array_foreach(json_object_get(sample->c, "steps"), i, step) {
        size_t n = 0;
        rn_error err = {0};
        if (!ok) break;
        read_row(json_object_get(step, "row"), row, sample->n_vocab);
        ok = CHECK_OK(sampler_distribution(s, row, ids, probs, MOST_VOCAB, &n, &err), &err) &&
             same_candidates(step, ids, probs, n) &&
             CHECK(draw_and_accept(s, row, (int32_t)json_integer_value(json_object_get(step, "accept"))));
    }
    sampler_destroy(s);
    return ok;
}

// ---- DRY with texts that break it -----------------------------------------------------------------------------------

static bool take_row(void *user, float *logits, int32_t n_vocab, const int32_t *tokens, size_t n_tokens) {
    (void)tokens, (void)n_tokens;
    memcpy(user, logits, (size_t)n_vocab * sizeof *logits);
    return true;
}

static bool run_breakers(struct sample *sample, const rn_model *m) {
    static float zeros[MOST_VOCAB], row[MOST_VOCAB];
    const char *texts[DRY_MAX_BREAKERS];
    const json_t *const list = json_object_get(sample->c, "breakers"), *const want =
                                                                           json_object_get(sample->c, "penalties");
    struct sampler_lists lists;
    rn_request r = text_request("");
    rn_error err = {0};
    int32_t token;
    for (size_t i = 0; i < json_array_size(list); i++) texts[i] = json_string_value(json_array_get(list, i));
    sampling_of(&r)->dry_sequence_breakers = texts, sampling_of(&r)->n_dry_sequence_breakers = json_array_size(list);
    sample->p.stage = take_row, sample->p.stage_user = row;
    bool ok = CHECK_OK(sampler_lists_make(&lists, m, &r, sample->n_vocab, &sample->p, &err), &err);
    sampler *const s = ok ? make_sampler(sample) : NULL;
    ok = s && CHECK_OK(sampler_draw(s, zeros, 0, &token, &err), &err);
    for (size_t i = 0; i < json_array_size(want); i++) {
        const json_t *const pair = json_array_get(want, i);
        float *const got = &row[json_integer_value(json_array_get(pair, 0))];
        const double theirs = json_number_value(json_array_get(pair, 1));
        check_note("token %d: %g, llama.cpp has %g", (int)(got - row), -(double)*got, theirs);
        ok = ok && CHECK(fabs((double)*got + theirs) <= 1e-5 * theirs);
        *got = 0;
    }
    for (int32_t i = 0; i < sample->n_vocab && ok; i++) ok = CHECK(row[i] == 0);
    sampler_destroy(s);
    sampler_lists_free(&lists, &sample->p);
    return ok;
}

static size_t run_file(const char *path) {
    json_error_t why;
    json_t *const file = json_load_file(path, 0, &why), *c;
    rn_model *m = NULL;
    rn_error err = {0};
    size_t i, n_run = 0;
    if (!CHECK(file != NULL) || !CHECK_OK(rn_model_open(stories(), NULL, &m, &err), &err)) return 0;
    json_array_foreach(json_object_get(file, "cases"), i, c) {
        struct sample s;
        if (!read_sample(c, &s)) break;
        check_note("case %zu, %s", i, json_string_value(json_object_get(c, "kind")));
        const bool ok = json_object_get(c, "penalties") ? run_breakers(&s, m) : run_steps(&s);
        if (!ok) break;
        n_run++;
    }
    if (n_run < json_array_size(json_object_get(file, "cases"))) check_note("case %zu", n_run), CHECK(false);
    json_decref(file);
    rn_model_close(m);
    return n_run;
}

TEST(a_selection_of_rows_is_left_as_llama_cpp_leaves_them) {
    CHECK(run_file(tests_path("engine/llama_samplers.json")) >= 14);
}

TEST(more_rows_are_left_as_llama_cpp_leaves_them) {
    const char *const path = getenv("RUNNEL_SAMPLER_CASES");
    if (!path) {
        test_skip("no llama.cpp here: cli.llama_samplers_test makes these cases where it is");
        return;
    }
    const size_t n_run = run_file(path);
    printf("%zu cases\n", n_run);
    CHECK(n_run > 1000);
}
