// tests/lm/parts_test.c - next-token-prediction layers of GGUF files against plain double
// arithmetic; what every part refuses.
#include "tests/check.h"
#include "tests/support/arch_subjects.h"
#include "tests/support/draft_heads.h"
#include "tests/support/folder_builder.h"
#include "tests/support/plain_layer.h"
#include <stdlib.h>
#include <string.h>

enum { N = PLAIN_ROWS };

static struct rig_options options(int n_threads) {
    struct rig_options o = rig_defaults();
    o.codec = KV_F32, o.n_threads = n_threads;
    return o;
}

// ---- next-token-prediction layers ---------------------------------------------------------------

enum { NEXTN_EMBD = MADE_NEXTN_EMBD };
static void nextn_1(struct gguf_builder *b) { made_nextn(b, 1); }
static void nextn_2(struct gguf_builder *b) { made_nextn(b, 2); }
static void nextn_3(struct gguf_builder *b) { made_nextn(b, 3); }

#define NEXTN_LLAMA                                                                                                  \
    "block_count=3 context_length=256 embedding_length=64 feed_forward_length=96 attention.head_count=4 "            \
    "attention.head_count_kv=2 attention.layer_norm_rms_epsilon=1e-5"

static bool open_nextn(struct rig *base, const struct arch_model *like, int n_threads) {
    struct arch_model m = *like;
    const struct rig_options o = options(n_threads);
    size_t n_bytes;
    m.n_vocab = 50, m.type = TENSOR_F32, m.seed = 5, m.change = "nextn_predict_layers=1";
    uint8_t *bytes = arch_model_bytes(&m, &n_bytes);
    return rig_open_bytes(base, bytes, n_bytes, &o);
}

TEST(a_next_token_layer_reads_a_token_and_a_hidden_state) {
    const struct arch_model m = {"llama", NEXTN_LLAMA, .optional = "ffn_gate.weight ffn_up.weight ffn_down.weight",
                                 .more = nextn_2};
    const struct part_spec spec = {.kind = PART_NEXTN};
    const struct rig_options o = options(2);
    struct rig base, part = {0};
    int32_t tokens[N];
    float *vectors = new_floats(N * NEXTN_EMBD), *logits = new_floats(N * 50), *hidden = new_floats(N * NEXTN_EMBD);
    random_tokens(tokens, N, 50, 1);
    if (open_nextn(&base, &m, 1) && part_hidden_states(&base, tokens, vectors) &&
        rig_open_part(&part, &base, NULL, &spec, &o) && part_run(&part, tokens, vectors, 6, logits, hidden)) {
        struct plain_layer l = {.attn_norm = plain_weights(base.pkg, "blk.2.attn_norm.weight"),
                                .q = plain_weights(base.pkg, "blk.2.attn_q.weight"),
                                .k = plain_weights(base.pkg, "blk.2.attn_k.weight"),
                                .v = plain_weights(base.pkg, "blk.2.attn_v.weight"),
                                .o = plain_weights(base.pkg, "blk.2.attn_output.weight"),
                                .ffn_norm = plain_weights(base.pkg, "blk.2.ffn_norm.weight"),
                                .gate = plain_weights(base.pkg, "blk.2.ffn_gate.weight"),
                                .up = plain_weights(base.pkg, "blk.2.ffn_up.weight"),
                                .down = plain_weights(base.pkg, "blk.2.ffn_down.weight"),
                                .n_head = 4,
                                .n_head_kv = 2,
                                .head_dim = 16,
                                .theta = 10000,
                                .eps = 1e-5};
        struct plain_matrix embd = plain_weights(base.pkg, "token_embd.weight"),
                            head = plain_weights(base.pkg, "token_embd.weight"),
                            enorm = plain_weights(base.pkg, "blk.2.nextn.enorm.weight"),
                            hnorm = plain_weights(base.pkg, "blk.2.nextn.hnorm.weight"),
                            norm = plain_weights(base.pkg, "blk.2.nextn.shared_head_norm.weight"),
                            proj = plain_weights(base.pkg, "blk.2.nextn.eh_proj.weight");
        static double x[N][PLAIN_EMBD];
        for (int32_t r = 0; r < N; r++) {
            double pair[2 * NEXTN_EMBD];
            for (int32_t i = 0; i < NEXTN_EMBD; i++) {
                pair[i] = (double)embd.w[tokens[r] * NEXTN_EMBD + i];
                pair[NEXTN_EMBD + i] = (double)vectors[r * NEXTN_EMBD + i];
            }
            plain_rms_norm(pair, NEXTN_EMBD, enorm.w, 1e-5);
            plain_rms_norm(pair + NEXTN_EMBD, NEXTN_EMBD, hnorm.w, 1e-5);
            plain_multiply(&proj, pair, x[r]);
        }
        plain_layer_run(&l, NULL, x, NEXTN_EMBD);
        for (int32_t r = 0; r < N; r++) plain_rms_norm(x[r], NEXTN_EMBD, norm.w, 1e-5);
        check_note("hidden states differ by %g, logits by %g", plain_difference(hidden, x, NEXTN_EMBD),
                   plain_head_difference(logits, x, &head));
        CHECK(plain_difference(hidden, x, NEXTN_EMBD) < 2e-5);
        CHECK(plain_head_difference(logits, x, &head) < 2e-5);
        plain_layer_free(&l);
        free(embd.w), free(head.w), free(enorm.w), free(hnorm.w), free(norm.w), free(proj.w);
    }
    rig_close(&part);
    rig_close(&base);
    free(vectors);
    free(logits);
    free(hidden);
}

TEST(a_next_token_layer_gives_the_same_bits_for_every_cut_and_number_of_threads) {
    static const char *const subjects[] = {"deepseek2", "deepseek2/1", "glm4moe", "qwen3", "qwen3next"};
    static void (*const more[])(struct gguf_builder *) = {NULL, NULL, nextn_1, nextn_2,
                                                          nextn_3}; // by layers of the file
    const struct part_spec spec = {.kind = PART_NEXTN};
    float *vectors = new_floats(N * NEXTN_EMBD), *hidden = new_floats(N * NEXTN_EMBD);
    float *want = new_floats(N * 50), *got = new_floats(N * 50);
    int32_t tokens[N];
    random_tokens(tokens, N, 50, 1);
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++) {
        const size_t s = arch_subject_named(subjects[i]);
        check_note("%s", subjects[i]);
        if (!CHECK(s < N_ARCH_SUBJECTS)) continue;
        struct arch_model m = arch_subjects[s].m;
        struct rig base, part = {0};
        m.more = more[atoi(strstr(m.keys, "block_count=") + strlen("block_count="))];
        if (open_nextn(&base, &m, 1) && part_hidden_states(&base, tokens, vectors)) {
            for (int n_threads = 1; n_threads <= 3; n_threads += 2) {
                const struct rig_options o = options(n_threads);
                if (rig_open_part(&part, &base, NULL, &spec, &o) &&
                    part_run(&part, tokens, vectors, n_threads == 1 ? N : 3, n_threads == 1 ? want : got, hidden) &&
                    n_threads > 1)
                    CHECK(memcmp(want, got, N * 50 * sizeof *got) == 0);
                rig_close(&part);
            }
        }
        rig_close(&base);
    }
    free(vectors);
    free(hidden);
    free(want);
    free(got);
}

// ---- refusals -----------------------------------------------------------------------------------

TEST(parts_that_are_not_there_or_do_not_fit_are_refused_by_name) {
    static const struct arch_model m = {"llama", NEXTN_LLAMA,
                                        .optional = "ffn_gate.weight ffn_up.weight ffn_down.weight", .more = nextn_2};
    static const struct {
        const char *message;
        bool has_file;
        struct part_spec spec;
    } rows[] = {
        {"tiny: next-token layer 1: the file has 1", false, {PART_NEXTN, 1}},
        {"tiny: next-token layer -1: the file has 1", false, {PART_NEXTN, -1}},
        {"part: no tensor 3.0.linear.weight: the file has no Medusa head 3", true, {PART_MEDUSA, 3}},
        {"part: EAGLE head 1: a file has one", true, {PART_EAGLE, 1}},
        {"part: tensor 0.0.linear.weight has shape [8, 8, 1, 1], architecture 'llama' needs [64, 64]",
         true,
         {PART_MEDUSA, 0}},
        {"part: tensor 1.2.weight is missing: architecture 'llama' needs it with shape [64, 50]",
         true,
         {PART_MEDUSA, 1}},
        {"part: no tensor layers.0.self_attn.q_proj.weight: the file has no EAGLE head", true, {PART_EAGLE, 0}},
    };
    struct st_builder b;
    struct rig base;
    package *pkg = NULL;
    rn_error err = {0};
    size_t n;
    st_begin(&b);
    st_tensor(&b, "0.0.linear.weight", 2, 8, 8);
    st_tensor(&b, "0.1.weight", 2, 50, 8);
    st_tensor(&b, "1.0.linear.weight", 2, 64, 64);
    st_tensor(&b, "1.1.linear.weight", 2, 64, 64);
    uint8_t *bytes = st_finish(&b, &n);
    if (CHECK_OK(package_part_from_bytes("part", bytes, n, &pkg, &err), &err) && open_nextn(&base, &m, 1)) {
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            struct model *part;
            check_note("row %zu", i);
            CHECK(model_build_part(rows[i].has_file ? pkg : NULL, &rows[i].spec, base.model, &part, &err) != RN_OK);
            CHECK_STR(err.text, rows[i].message);
            CHECK(part == NULL);
        }
        rig_close(&base);
    }
    package_close(pkg);
    free(bytes);
}

TEST(a_row_without_an_input_vector_is_refused_where_the_part_reads_one) {
    static const struct arch_model m = {"llama", NEXTN_LLAMA,
                                        .optional = "ffn_gate.weight ffn_up.weight ffn_down.weight", .more = nextn_2};
    const struct part_spec spec = {.kind = PART_NEXTN};
    const struct rig_options o = options(1);
    struct rig base, part = {0};
    rn_error err = {0};
    if (open_nextn(&base, &m, 1) && rig_open_part(&part, &base, NULL, &spec, &o)) {
        const float vector[NEXTN_EMBD] = {0};
        const struct lm_input adds = {.vector = vector, .adds = true, .see_to = -1};
        const struct lm_row rows[] = {{rig_seq(&part), 1, LM_APPEND, 0, NULL}, {0, 1, LM_APPEND, 0, &adds}};
        for (int i = 0; i < 2; i++) {
            CHECK_INT(lm_step(part.lm, &rows[i], 1, NULL, &err), RN_E_ARG);
            CHECK_STR(err.text,
                      "row 0: the part reads an input vector beside the token, which the row does not have");
        }
    }
    rig_close(&part);
    rig_close(&base);
}

static rn_status build_and_free(void *ctx) {
    const struct rig *base = ctx;
    struct model *m;
    const rn_status st = model_build_part(NULL, &(struct part_spec){.kind = PART_NEXTN}, base->model, &m, NULL);
    if (st == RN_OK) model_destroy(m);
    return st;
}

TEST(every_failed_allocation_of_a_part_is_reported_and_leaks_nothing) {
    static const struct arch_model m = {"llama", NEXTN_LLAMA,
                                        .optional = "ffn_gate.weight ffn_up.weight ffn_down.weight", .more = nextn_2};
    struct rig base;
    if (open_nextn(&base, &m, 1)) CHECK(check_each_failed_allocation(build_and_free, &base, __FILE__, __LINE__));
    rig_close(&base);
}
