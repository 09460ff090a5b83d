// tests/lm/same_bits_test.c - one prompt, one set of bits, with every CPU set, number of threads, chunking and batch.
//
// The prompt is long enough to cross a page of 64 positions; the first answer, by which the others are judged, comes from the
// reference set on one thread, all rows in one step.
#include "tests/check.h"
#include "tests/support/lm_rig.h"
#include <stdlib.h>
#include <string.h>

enum { N = 70, N_VOCAB = 50, N_FLOATS = N * N_VOCAB };

static const struct shape {
    const char *why;
    int n_embd, n_head, n_head_kv, n_ff;
    bool rope_freqs, biases, own_head;
} shapes[] = {
    {"heads of 24, tied head, n_ff no multiple of 64", 96, 4, 2, 160, false, false, false},
    {"six heads over two, rope factors, biases, a head of its own", 96, 6, 2, 96, true, true, true},
};

static struct tiny_model model_of(const struct shape *s, enum tensor_type type) {
    struct tiny_model m = tiny_model_default();
    m.n_embd = s->n_embd, m.n_head = s->n_head, m.n_head_kv = s->n_head_kv, m.n_ff = s->n_ff;
    m.rope_freqs = s->rope_freqs, m.biases = s->biases, m.own_head = s->own_head;
    m.n_vocab = N_VOCAB, m.vocab = TINY_NO_VOCAB, m.type = type;
    return m;
}

// Logits of every row of the prompt, evaluated in one way.
typedef bool (*way_fn)(struct rig *r, const int32_t *tokens, float *out);

static bool in_one_step(struct rig *r, const int32_t *tokens, float *out) {
    return rig_append(r, rig_seq(r), tokens, N, out);
}
static bool row_by_row(struct rig *r, const int32_t *tokens, float *out) {
    return rig_append_by(r, rig_seq(r), tokens, N, 1, out);
}
static bool in_threes(struct rig *r, const int32_t *tokens, float *out) {
    return rig_append_by(r, rig_seq(r), tokens, N, 3, out);
}

// Rows of up to three other sequences before and after each row.
static bool among_mates(struct rig *r, const int32_t *tokens, float *out) {
    struct lm_row rows[4];
    rn_error err = {0};
    int32_t seq[4];
    for (int i = 0; i < 4; i++) seq[i] = rig_seq(r);
    for (int32_t i = 0; i < N; i++) {
        size_t n = 0, ours = 0;
        for (int j = 0; j < 4; j++) {
            if (j != 2 && (i + j) % 3 == 0) continue;
            if (j == 2) ours = n;
            const int32_t token = j == 2 ? tokens[i] : (7 * i + j) % N_VOCAB;
            rows[n++] = (struct lm_row){seq[j], token, LM_APPEND, (i + j) % 2 || j == 2 ? LM_WANT_LOGITS : 0};
        }
        if (!CHECK_OK(lm_step(r->lm, rows, n, NULL, &err), &err)) return false;
        memcpy(out + (size_t)i * N_VOCAB, lm_logits(r->lm, ours), N_VOCAB * sizeof *out);
    }
    return true;
}

// Whole prompts of two sequences in one step, their rows in turn.
static bool woven_with_another(struct rig *r, const int32_t *tokens, float *out) {
    static struct lm_row rows[2 * N];
    rn_error err = {0};
    const int32_t seq[2] = {rig_seq(r), rig_seq(r)};
    for (int32_t i = 0; i < 2 * N; i++)
        rows[i] =
            (struct lm_row){seq[i % 2], i % 2 ? tokens[i / 2] : tokens[N - 1 - i / 2], LM_APPEND, LM_WANT_LOGITS};
    if (!CHECK_OK(lm_step(r->lm, rows, 2 * N, NULL, &err), &err)) return false;
    for (int32_t i = 0; i < N; i++)
        memcpy(out + (size_t)i * N_VOCAB, lm_logits(r->lm, (size_t)(2 * i + 1)), N_VOCAB * sizeof *out);
    return true;
}

// Only the last row wants anything.
static bool last_row_only(struct rig *r, const int32_t *tokens, float *out) {
    const int32_t seq = rig_seq(r);
    return rig_append(r, seq, tokens, N - 1, NULL) &&
           rig_append(r, seq, tokens + N - 1, 1, out + (size_t)(N - 1) * N_VOCAB);
}

static const struct way {
    const char *name;
    way_fn fn;
    int n_threads;
    bool best_set;     // else the reference
    int32_t first_row; // of those that it gives
    bool keeps_rows;   // weights as the file has them
} ways[] = {
    {"ref, 1 thread, in one step", in_one_step, 1, false},
    {"ref, 3 threads, in threes", in_threes, 3, false},
    {"best set, 1 thread, in one step", in_one_step, 1, true},
    {"best set, 2 threads, in one step", in_one_step, 2, true},
    {"best set, 3 threads, in threes", in_threes, 3, true},
    {"best set, 8 threads, in one step", in_one_step, 8, true},
    {"best set, 2 threads, row by row", row_by_row, 2, true},
    {"best set, 1 thread, among mates", among_mates, 1, true},
    {"best set, 2 threads, woven with another prompt", woven_with_another, 2, true},
    {"best set, 1 thread, logits of the last row only", last_row_only, 1, true, N - 1},
    {"best set, 3 threads, in one step, not repacked", in_one_step, 3, true, 0, true},
    {"best set, 2 threads, row by row, not repacked", row_by_row, 2, true, 0, true},
    {"ref, 2 threads, in threes, not repacked", in_threes, 2, false, 0, true},
};

static bool evaluate(const struct tiny_model *m, enum kv_codec codec, const struct way *w, const char *over,
                     const int32_t *tokens, float *out) {
    struct rig_options o = rig_defaults();
    struct rig r;
    o.codec = codec;
    o.n_threads = w->n_threads;
    o.keeps_rows = w->keeps_rows;
    o.backend = over;
    if (!w->best_set) o.set = CPU_REF;
    const bool ok = rig_open(&r, m, &o) && w->fn(&r, tokens, out);
    rig_close(&r);
    return ok;
}

static void check_model(const struct tiny_model *m, const char *why, enum kv_codec codec) {
    static float want[N_FLOATS], got[N_FLOATS];
    int32_t tokens[N];
    random_tokens(tokens, N, N_VOCAB, 3);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        const size_t first = (size_t)ways[i].first_row * N_VOCAB;
        if (i && (!ways[i].best_set || ways[i].keeps_rows) && !test_backend_is_cpu()) continue;
        memset(got, 0, sizeof got);
        if (!evaluate(m, codec, &ways[i], i ? NULL : "cpu", tokens, i ? got : want)) return;
        check_note("%s, keys and values %s, %s: %s", tensor_type_info(m->type)->name, kv_codec_name(codec), why,
                   ways[i].name);
        if (i) CHECK_MEM(got + first, want + first, (N_FLOATS - first) * sizeof *want);
    }
}

static void check_ways(const struct shape *s, enum tensor_type type, enum kv_codec codec) {
    const struct tiny_model m = model_of(s, type);
    check_model(&m, s->why, codec);
}

// All codecs, or one of them over other backends; the types in turn with one and the other shape, so that each shape meets each codec
// with three types.
static void check_type(enum tensor_type type) {
    const int step = test_backend_is_cpu() ? 1 : KV_N_CODECS;
    for (int codec = (int)type % step; codec < KV_N_CODECS; codec += step)
        check_ways(&shapes[((int)type + codec) % 2], type, (enum kv_codec)codec);
}

TEST(an_f32_model_gives_the_same_bits_every_way) { check_type(TENSOR_F32); }
TEST(an_f16_model_gives_the_same_bits_every_way) { check_type(TENSOR_F16); }
TEST(a_bf16_model_gives_the_same_bits_every_way) { check_type(TENSOR_BF16); }
TEST(a_q8_0_model_gives_the_same_bits_every_way) { check_type(TENSOR_Q8_0); }
TEST(a_q4_0_model_gives_the_same_bits_every_way) { check_type(TENSOR_Q4_0); }
TEST(a_q4_1_model_gives_the_same_bits_every_way) { check_type(TENSOR_Q4_1); }

// The other types have products of their own, and nothing else: one codec will do.
static void check_weights(enum tensor_type type) {
    static const struct shape wide = {"rows of 256 and 512", 256, 4, 2, 512, false, false, true};
    check_ways(tensor_type_info(type)->block_len > 32 ? &wide : &shapes[0], type, KV_F16);
}

TEST(a_q5_0_model_gives_the_same_bits_every_way) { check_weights(TENSOR_Q5_0); }
TEST(a_q5_1_model_gives_the_same_bits_every_way) { check_weights(TENSOR_Q5_1); }
TEST(an_iq4_nl_model_gives_the_same_bits_every_way) { check_weights(TENSOR_IQ4_NL); }
TEST(an_mxfp4_model_gives_the_same_bits_every_way) { check_weights(TENSOR_MXFP4); }
TEST(a_q2_k_model_gives_the_same_bits_every_way) { check_weights(TENSOR_Q2_K); }
TEST(a_q3_k_model_gives_the_same_bits_every_way) { check_weights(TENSOR_Q3_K); }
TEST(a_q4_k_model_gives_the_same_bits_every_way) { check_weights(TENSOR_Q4_K); }
TEST(a_q5_k_model_gives_the_same_bits_every_way) { check_weights(TENSOR_Q5_K); }
TEST(a_q6_k_model_gives_the_same_bits_every_way) { check_weights(TENSOR_Q6_K); }
TEST(an_iq4_xs_model_gives_the_same_bits_every_way) { check_weights(TENSOR_IQ4_XS); }
// The IQ types share the code of two panels; their tables: kernels/check_test.c.
TEST(an_iq3_xxs_model_gives_the_same_bits_every_way) { check_weights(TENSOR_IQ3_XXS); }
TEST(an_iq2_s_model_gives_the_same_bits_every_way) { check_weights(TENSOR_IQ2_S); }

// Experts: with weights whose products have ways of their own for many rows, by panels and by file rows.
static void check_experts(const char *arch, enum tensor_type type) {
    const struct shape wide = {arch, 256, 4, 2, 256, false, false, true}, narrow = {arch, 96, 4, 2, 96};
    struct tiny_model m = model_of(tensor_type_info(type)->block_len > 32 ? &wide : &narrow, type);
    tiny_model_add_experts(&m, arch);
    check_model(&m, arch, KV_F16);
}

TEST(a_model_with_experts_gives_the_same_bits_every_way) {
    check_experts("llama", TENSOR_F32);
    check_experts("llama", TENSOR_Q4_K);
}
TEST(a_model_with_a_shared_expert_and_a_dense_layer_gives_the_same_bits_every_way) {
    check_experts("qwen2moe", TENSOR_Q4_0);
}
TEST(a_model_with_biases_of_experts_gives_the_same_bits_every_way) { check_experts("gpt-oss", TENSOR_BF16); }
TEST(a_model_with_groups_of_experts_gives_the_same_bits_every_way) { check_experts("glm4moe", TENSOR_Q6_K); }

TEST(the_best_set_of_this_machine_is_above_the_reference) { // what "best set" stood for in the tests above
    if (cpu_set_detect(CPU_N_SETS) == CPU_REF) test_skip("no set above the reference: it was compared with itself");
}

// Splits of the prompt into steps.

static bool in_parts(struct rig *r, const int32_t *tokens, const int32_t *cuts, int n_cuts, float *out) {
    const int32_t seq = rig_seq(r);
    bool ok = true;
    for (int i = 0; ok && i <= n_cuts; i++) {
        const int32_t from = i ? cuts[i - 1] : 0, to = i < n_cuts ? cuts[i] : N;
        ok = rig_append(r, seq, tokens + from, to - from, out + (size_t)from * N_VOCAB);
    }
    lm_seq_free(r->lm, seq);
    kv_forget(lm_real_kv(r->lm)); // the next one evaluates everything anew
    return ok;
}

static void check_splits(enum tensor_type type, enum kv_codec codec) {
    static const int32_t three_ways[][2] = {{1, 2},   {1, 69},  {62, 65}, {63, 64}, {64, 65},
                                            {63, 65}, {20, 64}, {68, 69}, {33, 47}};
    static float want[N_FLOATS], got[N_FLOATS];
    const struct tiny_model m = model_of(&shapes[0], type);
    struct rig_options o = rig_defaults();
    int32_t tokens[N];
    struct rig r;
    o.codec = codec;
    random_tokens(tokens, N, N_VOCAB, 4);
    bool ok = rig_open(&r, &m, &o) && in_parts(&r, tokens, NULL, 0, want);
    for (int32_t cut = 1; ok && cut < N; cut += test_stride(1, 1)) {
        check_note("cut at %d", cut);
        ok = in_parts(&r, tokens, &cut, 1, got) && CHECK_MEM(got, want, sizeof want);
    }
    for (size_t i = 0; ok && i < sizeof three_ways / sizeof *three_ways; i++) {
        check_note("cut at %d and %d", three_ways[i][0], three_ways[i][1]);
        ok = in_parts(&r, tokens, three_ways[i], 2, got) && CHECK_MEM(got, want, sizeof want);
    }
    rig_close(&r);
}

TEST(every_split_of_a_prompt_gives_the_same_bits_with_f16_keys_and_values) { check_splits(TENSOR_Q8_0, KV_F16); }
TEST(every_split_of_a_prompt_gives_the_same_bits_with_f32_keys_and_values) { check_splits(TENSOR_Q4_1, KV_F32); }
TEST(every_split_of_a_prompt_gives_the_same_bits_with_q8_keys_and_values) { check_splits(TENSOR_BF16, KV_Q8); }
TEST(every_split_of_a_prompt_gives_the_same_bits_with_bf16_keys_and_values) { check_splits(TENSOR_Q8_0, KV_BF16); }
