// tests/lm/spans_test.c - rows that see each other both ways: a span is appended in one step, and its rows attend up to its end.
#include "tests/check.h"
#include "tests/support/arch_model.h"
#include "tests/support/lm_rig.h"
#include <stdlib.h>
#include <string.h>

// A text, a span that crosses pages, and text again.
enum { N_VOCAB = 50, MOST = 1400 };
struct shape {
    int32_t n, first, last; // rows; the span's
};
static const struct shape shape = {110, 30, 80}, long_shape = {1300, 1000, 1180};

// Rows whose rope coordinates are all the same: a row's result depends on the rows that it sees, in order, not on its position.
static const struct arch_model unrotated = {
    "qwen2vl",
    "block_count=2 context_length=2048 embedding_length=64 feed_forward_length=96 attention.head_count=4 "
    "attention.head_count_kv=2 attention.layer_norm_rms_epsilon=1e-5 rope.dimension_sections=(2,3,3,0)",
    .n_vocab = N_VOCAB, .type = TENSOR_F32, .seed = 3};
static const struct arch_model windowed = {
    "gemma2",
    "block_count=4 context_length=2048 embedding_length=64 feed_forward_length=96 attention.head_count=4 "
    "attention.head_count_kv=2 attention.layer_norm_rms_epsilon=1e-5 attention.sliding_window=24 "
    "attn_logit_softcapping=5.0",
    .n_vocab = N_VOCAB, .type = TENSOR_F32, .seed = 3};

static struct lm_config config(void) {
    struct lm_config c = rig_defaults().lm;
    c.n_ctx = MOST, c.n_batch = 1320, c.n_want = 1320, c.n_pages = 200;
    return c;
}

static bool open_model(struct rig *r, const struct arch_model *m, const struct rig_options *o) {
    size_t n_bytes;
    uint8_t *bytes = arch_model_bytes(m, &n_bytes);
    return rig_open_bytes(r, bytes, n_bytes, o);
}

static bool append(struct rig *r, int32_t seq, const int32_t *tokens, int32_t from, int32_t to, struct shape s,
                   float *out) {
    static struct lm_row rows[MOST];
    const bool has_coord = model_program(r->model)->n_coords > 0;
    const struct lm_input alone = {.has_coord = has_coord, .coord = {5, 5, 5}, .see_to = -1},
                          span = {.has_coord = has_coord, .coord = {5, 5, 5}, .see_to = s.last};
    rn_error err = {0};
    for (int32_t i = from; i < to; i++)
        rows[i - from] =
            (struct lm_row){seq, tokens[i], LM_APPEND, LM_WANT_LOGITS, i >= s.first && i <= s.last ? &span : &alone};
    if (from < to && !CHECK_OK(lm_step(r->lm, rows, (size_t)(to - from), NULL, &err), &err)) return false;
    for (int32_t i = from; i < to; i++)
        memcpy(out + (size_t)i * N_VOCAB, lm_logits(r->lm, (size_t)(i - from)), N_VOCAB * sizeof *out);
    return true;
}

// All of a text whose rows first .. last see each other, cut into steps around the span; n_step 0: one step.
static bool evaluate(struct rig *r, const int32_t *tokens, struct shape s, int32_t n_step, float *out) {
    const int32_t seq = rig_seq(r);
    if (n_step == 0 || s.last < 0) return append(r, seq, tokens, 0, s.n, s, out);
    for (int32_t at = 0; at < s.first; at += n_step) {
        const int32_t to = at + n_step < s.first ? at + n_step : s.first;
        if (!append(r, seq, tokens, at, to, s, out)) return false;
    }
    if (!append(r, seq, tokens, s.first, s.last + 1, s, out)) return false;
    for (int32_t at = s.last + 1; at < s.n; at += n_step) {
        const int32_t to = at + n_step < s.n ? at + n_step : s.n;
        if (!append(r, seq, tokens, at, to, s, out)) return false;
    }
    return true;
}

static const float *row(const float *logits, int32_t i) { return logits + (size_t)i * N_VOCAB; }
static bool same_row(const float *a, const float *b, int32_t i) {
    return memcmp(row(a, i), row(b, i), N_VOCAB * sizeof *a) == 0;
}

TEST(rows_of_a_span_see_the_same_keys_in_the_same_order) {
    struct rig_options o = rig_defaults();
    float *out = new_floats(MOST * N_VOCAB);
    int32_t tokens[MOST];
    o.lm = config();
    for (int codec = 0; codec < KV_N_CODECS; codec++) {
        struct rig r;
        o.codec = (enum kv_codec)codec;
        random_tokens(tokens, shape.n, N_VOCAB, 1);
        tokens[shape.first] = tokens[60] = tokens[shape.last] = 7;
        check_note("codec %d", codec);
        // The same token, unrotated, over the same keys: the last row, which sees backwards as any row does, says what they give.
        if (open_model(&r, &unrotated, &o) && evaluate(&r, tokens, shape, 0, out)) {
            CHECK(memcmp(row(out, shape.first), row(out, shape.last), N_VOCAB * sizeof *out) == 0);
            CHECK(memcmp(row(out, 60), row(out, shape.last), N_VOCAB * sizeof *out) == 0);
        }
        rig_close(&r);
    }
    free(out);
}

TEST(a_rows_span_changes_its_results_and_those_behind_it_only) {
    struct rig_options o = rig_defaults();
    float *plain = new_floats(MOST * N_VOCAB), *span = new_floats(MOST * N_VOCAB);
    int32_t tokens[MOST];
    struct rig r;
    o.lm = config();
    random_tokens(tokens, shape.n, N_VOCAB, 1);
    if (open_model(&r, &unrotated, &o) && evaluate(&r, tokens, (struct shape){shape.n, shape.n, -1}, 0, plain) &&
        evaluate(&r, tokens, shape, 0, span))
        for (int32_t i = 0; i < shape.n; i++) {
            check_note("row %d", i);
            CHECK(same_row(plain, span, i) == (i < shape.first));
        }
    rig_close(&r);
    free(plain);
    free(span);
}

TEST(a_spans_bits_are_the_same_for_every_cut_codec_set_and_number_of_threads) {
    static const struct arch_model *const models[] = {&unrotated, &windowed};
    float *want = new_floats(MOST * N_VOCAB), *got = new_floats(MOST * N_VOCAB);
    int32_t tokens[MOST];
    random_tokens(tokens, MOST, N_VOCAB, 1);
    for (size_t m = 0; m < 2; m++)
        for (int codec = 0; codec < KV_N_CODECS; codec++)
            for (int set = 0; set < CPU_N_SETS; set++)
                for (int n_threads = 1; n_threads <= 3; n_threads += 2) {
                    struct rig_options o = rig_defaults();
                    struct rig r;
                    if (!cpu_set_available((enum cpu_set)set)) continue;
                    check_note("model %zu, codec %d, set %s, %d threads", m, codec, cpu_set_name((enum cpu_set)set),
                               n_threads);
                    o.codec = (enum kv_codec)codec, o.set = (enum cpu_set)set, o.n_threads = n_threads;
                    o.lm = config();
                    const bool is_first = set == 0 && n_threads == 1;
                    if (open_model(&r, models[m], &o) && evaluate(&r, tokens, shape, 0, is_first ? want : got) &&
                        (is_first || CHECK(memcmp(got, want, (size_t)shape.n * N_VOCAB * sizeof *got) == 0)) &&
                        evaluate(&r, tokens, shape, 3, got))
                        CHECK(memcmp(got, want, (size_t)shape.n * N_VOCAB * sizeof *got) == 0);
                    rig_close(&r);
                }
    free(want);
    free(got);
}

// Splits of 1,024 keys that threads take apart, the span over the border of two.
TEST(a_spans_bits_do_not_depend_on_threads_over_long_texts) {
    float *want = new_floats(MOST * N_VOCAB), *got = new_floats(MOST * N_VOCAB);
    int32_t tokens[MOST];
    random_tokens(tokens, MOST, N_VOCAB, 2);
    for (int n_threads = 1; n_threads <= 4; n_threads += 3) {
        struct rig_options o = rig_defaults();
        struct rig r;
        o.n_threads = n_threads, o.lm = config();
        if (open_model(&r, &unrotated, &o) && evaluate(&r, tokens, long_shape, 100, n_threads == 1 ? want : got) &&
            n_threads > 1)
            for (int32_t i = 0; i < long_shape.n; i++)
                if (!CHECK(same_row(got, want, i))) break;
        rig_close(&r);
    }
    free(want);
    free(got);
}

TEST(a_window_begins_behind_each_row_and_ends_with_its_span) {
    enum { WINDOW = 24, FIRST = 40, LAST = 60, N = 61 };
    const struct arch_model one_layer = {
        "gemma2",
        "block_count=1 context_length=2048 embedding_length=64 feed_forward_length=96 "
        "attention.head_count=4 attention.head_count_kv=2 "
        "attention.layer_norm_rms_epsilon=1e-5 attention.sliding_window=24",
        .n_vocab = N_VOCAB, .type = TENSOR_F32, .seed = 3};
    float *plain = new_floats(N * N_VOCAB), *other = new_floats(N * N_VOCAB);
    int32_t tokens[N];
    struct rig r;
    struct rig_options o = rig_defaults();
    o.lm = config();
    random_tokens(tokens, N, N_VOCAB, 1);
    if (open_model(&r, &one_layer, &o) && evaluate(&r, tokens, (struct shape){N, FIRST, LAST}, 0, plain))
        for (int32_t changed = 0; changed < N; changed++) { // a row's results change with the rows that it sees
            const int32_t was = tokens[changed];
            tokens[changed] = (was + 1) % N_VOCAB;
            check_note("row %d is another", changed);
            if (evaluate(&r, tokens, (struct shape){N, FIRST, LAST}, 0, other)) {
                CHECK(same_row(plain, other, 45) == (changed < 45 - WINDOW + 1 || changed > LAST));
                CHECK(same_row(plain, other, FIRST - 1) == (changed < FIRST - WINDOW || changed >= FIRST));
            }
            tokens[changed] = was;
            for (int32_t s = 0; s < 8; s++)
                if (lm_seq_len(r.lm, s) >= 0) lm_seq_free(r.lm, s);
        }
    rig_close(&r);
    free(plain);
    free(other);
}

TEST(a_span_that_the_step_does_not_hold_is_refused) {
    const struct lm_input to_3 = {.see_to = 3}, to_1 = {.see_to = 1}, to_2 = {.see_to = 2},
                          behind = {.see_to = -1, .area_first = 2, .area_end = 3},
                          beyond = {.see_to = -1, .area_first = 0, .area_end = 3};
    const struct {
        const char *why, *message;
        struct lm_row rows[3];
        size_t n, failed;
    } cases[] = {
        {"its last row is missing",
         "row 0: sees up to position 3, the step ends before 3: a span is appended in one step",
         {{0, 1, LM_APPEND, 0, &to_3}, {0, 1, LM_APPEND, 0, &to_3}},
         2,
         0},
        {"it ends before the row",
         "row 1: sees up to position 1, before its own, 2",
         {{0, 1, LM_APPEND, 0, NULL}, {0, 1, LM_APPEND, 0, &to_1}},
         2,
         1},
        {"an area without the row",
         "row 0: attends to positions 2..2, its own is 1 and the step ends before 3",
         {{0, 1, LM_APPEND, 0, &behind}, {0, 1, LM_APPEND, 0, NULL}},
         2,
         0},
        {"an area that the step does not hold",
         "row 0: attends to positions 0..2, its own is 1 and the step ends before 2",
         {{0, 1, LM_APPEND, 0, &beyond}},
         1,
         0},
        {"a scratch row", "row 0: a scratch row sees up to its own position only", {{0, 1, LM_ROOT, 0, &to_2}}, 1, 0},
    };
    struct rig_options o = rig_defaults();
    struct rig r;
    static const int32_t text[] = {4};
    if (open_model(&r, &unrotated, &o) && rig_append(&r, rig_seq(&r), text, 1, NULL))
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            rn_error err = {0};
            size_t failed = 99;
            check_note("%s", cases[i].why);
            CHECK_INT(lm_step(r.lm, cases[i].rows, cases[i].n, &failed, &err), RN_E_ARG);
            CHECK_STR(err.text, cases[i].message);
            CHECK_INT(failed, cases[i].failed);
            CHECK_INT(lm_seq_len(r.lm, 0), 1);
        }
    rig_close(&r);
}

TEST(a_model_that_weighs_distances_backwards_only_refuses_spans_by_name) {
    static const struct arch_model bloom = {
        "bloom",
        "block_count=2 context_length=256 embedding_length=64 feed_forward_length=96 attention.head_count=4 "
        "attention.layer_norm_epsilon=1e-5",
        .n_vocab = N_VOCAB, .type = TENSOR_F32, .seed = 3};
    const struct lm_input span = {.see_to = 1};
    struct rig_options o = rig_defaults();
    struct rig r;
    rn_error err = {0};
    if (open_model(&r, &bloom, &o)) {
        const int32_t seq = rig_seq(&r);
        const struct lm_row rows[] = {{seq, 1, LM_APPEND, 0, &span}, {seq, 1, LM_APPEND, 0, &span}};
        CHECK_INT(lm_step(r.lm, rows, 2, NULL, &err), RN_E_UNSUPPORTED);
        CHECK_STR(err.text, "row 0: a span: the model weighs distances backwards only (ALiBi)");
    }
    rig_close(&r);
}
