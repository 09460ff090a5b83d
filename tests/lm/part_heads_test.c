// tests/lm/part_heads_test.c - draft heads in safetensors files against plain double arithmetic: Medusa, EAGLE-1, EAGLE-3.
#include "tests/check.h"
#include "tests/support/arch_model.h"
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

// ---- a small base model, and heads made for it --------------------------------------------------------------------------

enum { EMBD = 64, VOCAB = 50 };

static bool open_base(struct rig *base, const struct model_spec *spec) {
    const struct arch_model m = {
        "llama",
        "block_count=4 context_length=256 embedding_length=64 feed_forward_length=96 attention.head_count=4 "
        "attention.head_count_kv=2 attention.layer_norm_rms_epsilon=1e-5",
        .optional = "ffn_gate.weight ffn_up.weight ffn_down.weight",
        .n_vocab = VOCAB,
        .type = TENSOR_F32,
        .seed = 5,
    };
    struct rig_options o = options(1);
    size_t n_bytes;
    uint8_t *bytes = arch_model_bytes(&m, &n_bytes);
    o.spec = spec;
    return rig_open_bytes(base, bytes, n_bytes, &o);
}

// One head of three residual blocks, the second without a bias.
static void medusa_of_three(struct st_builder *b) {
    st_random(b, "0.0.linear.weight", 1, EMBD, EMBD);
    st_random(b, "0.0.linear.bias", 2, EMBD, 0);
    st_random(b, "0.1.linear.weight", 3, EMBD, EMBD);
    st_random(b, "0.2.linear.weight", 4, EMBD, EMBD);
    st_random(b, "0.2.linear.bias", 5, EMBD, 0);
    st_random(b, "0.3.weight", 6, VOCAB, EMBD);
}

static bool open_head(package **pkg, uint8_t **bytes, void (*fill)(struct st_builder *b)) {
    struct st_builder b;
    rn_error err = {0};
    size_t n;
    st_begin(&b);
    fill(&b);
    *bytes = st_finish(&b, &n);
    return CHECK_OK(package_part_from_bytes("head", *bytes, n, pkg, &err), &err);
}

TEST(a_medusa_head_of_several_residual_blocks_runs_them_one_after_the_other) {
    const struct part_spec spec = {.kind = PART_MEDUSA};
    struct rig base, part = {0};
    package *pkg = NULL;
    uint8_t *bytes = NULL;
    float *vectors = new_floats(N * EMBD), *logits = new_floats(N * VOCAB), *hidden = new_floats(N * EMBD);
    int32_t tokens[N];
    random_tokens(tokens, N, VOCAB, 1);
    for (int n_threads = 1; n_threads <= 2; n_threads++) {
        const struct rig_options o = options(n_threads);
        if (open_base(&base, NULL) && part_hidden_states(&base, tokens, vectors) &&
            open_head(&pkg, &bytes, medusa_of_three) && rig_open_part(&part, &base, pkg, &spec, &o) &&
            part_run(&part, tokens, vectors, 7, logits, hidden)) {
            static double x[N][PLAIN_EMBD];
            struct plain_matrix head = plain_weights(pkg, "0.3.weight");
            for (int32_t r = 0; r < N; r++)
                for (int32_t i = 0; i < EMBD; i++) x[r][i] = (double)vectors[r * EMBD + i];
            for (int block = 0; block < 3; block++) {
                char name[2][40];
                double made[EMBD];
                snprintf(name[0], sizeof name[0], "0.%d.linear.weight", block);
                snprintf(name[1], sizeof name[1], "0.%d.linear.bias", block);
                struct plain_matrix w = plain_weights(pkg, name[0]), bias = {0};
                if (block != 1) bias = plain_weights(pkg, name[1]);
                for (int32_t r = 0; r < N; r++) {
                    plain_multiply(&w, x[r], made);
                    for (int32_t i = 0; i < EMBD; i++)
                        x[r][i] += plain_silu(made[i] + (bias.w ? (double)bias.w[i] : 0));
                }
                free(w.w), free(bias.w);
            }
            check_note("hidden states differ by %g, logits by %g", plain_difference(hidden, x, EMBD),
                       plain_head_difference(logits, x, &head));
            CHECK(plain_difference(hidden, x, EMBD) < 2e-5);
            CHECK(plain_head_difference(logits, x, &head) < 2e-5);
            free(head.w);
        }
        rig_close(&part);
        rig_close(&base);
        free(bytes);
        bytes = NULL;
    }
    free(vectors);
    free(logits);
    free(hidden);
}

// ---- published heads of the shared model ----------------------------------------------------------------------------

enum { STORIES_EMBD = 256 };

static bool open_stories(struct rig *base, package **pkg, const char *file) {
    const struct rig_options o = options(2);
    rn_error err = {0};
    *base = (struct rig){0};
    if (!shared_path("models/stories/hf")) {
        test_skip("no shared material: set RUNNEL_SHARED");
        return false;
    }
    return rig_open_file(base, shared_path("models/stories/hf"), &o) &&
           CHECK_OK(package_open_part(shared_path(file), NULL, pkg, &err), &err);
}

TEST(an_eagle_head_is_a_layer_over_embeddings_and_hidden_states) {
    const struct part_spec spec = {.kind = PART_EAGLE};
    const struct rig_options o = options(2);
    struct rig base, part = {0};
    package *pkg;
    float *vectors = new_floats(N * STORIES_EMBD), *logits = new_floats(N * 4096),
          *hidden = new_floats(N * STORIES_EMBD);
    int32_t tokens[N];
    random_tokens(tokens, N, 4096, 1);
    if (open_stories(&base, &pkg, "models/stories/eagle/model.safetensors") &&
        part_hidden_states(&base, tokens, vectors) && rig_open_part(&part, &base, pkg, &spec, &o) &&
        part_run(&part, tokens, vectors, 7, logits, hidden)) {
        struct plain_layer l = {.q = plain_weights(pkg, "layers.0.self_attn.q_proj.weight"),
                                .k = plain_weights(pkg, "layers.0.self_attn.k_proj.weight"),
                                .v = plain_weights(pkg, "layers.0.self_attn.v_proj.weight"),
                                .o = plain_weights(pkg, "layers.0.self_attn.o_proj.weight"),
                                .ffn_norm = plain_weights(pkg, "layers.0.post_attention_layernorm.weight"),
                                .gate = plain_weights(pkg, "layers.0.mlp.gate_proj.weight"),
                                .up = plain_weights(pkg, "layers.0.mlp.up_proj.weight"),
                                .down = plain_weights(pkg, "layers.0.mlp.down_proj.weight"),
                                .n_head = 4,
                                .n_head_kv = 2,
                                .head_dim = 64,
                                .halves = true,
                                .theta = 10000,
                                .eps = 1e-5};
        struct plain_matrix embd = plain_weights(pkg, "embed_tokens.weight"), fc = plain_weights(pkg, "fc.weight"),
                            bias = plain_weights(pkg, "fc.bias"), head = plain_weights(base.pkg, "token_embd.weight");
        static double x[N][PLAIN_EMBD];
        for (int32_t r = 0; r < N; r++) {
            double pair[2 * STORIES_EMBD];
            for (int32_t i = 0; i < STORIES_EMBD; i++) {
                pair[i] = (double)embd.w[tokens[r] * STORIES_EMBD + i];
                pair[STORIES_EMBD + i] = (double)vectors[r * STORIES_EMBD + i];
            }
            plain_multiply(&fc, pair, x[r]);
            for (int32_t i = 0; i < STORIES_EMBD; i++) x[r][i] += (double)bias.w[i];
        }
        plain_layer_run(&l, NULL, x, STORIES_EMBD);
        // A number halfway between two of BF16 may be rounded the other way.
        check_note("hidden states differ by %g, logits by %g", plain_difference(hidden, x, STORIES_EMBD),
                   plain_head_difference(logits, x, &head));
        CHECK(plain_difference(hidden, x, STORIES_EMBD) < 1e-4);
        CHECK(plain_head_difference(logits, x, &head) < 0.01);
        plain_layer_free(&l);
        free(embd.w), free(fc.w), free(bias.w), free(head.w);
    } else {
        rig_close(&part);
    }
    rig_close(&part);
    rig_close(&base);
    free(vectors);
    free(logits);
    free(hidden);
}

TEST(a_medusa_head_is_a_residual_block_and_a_head_of_its_own) {
    for (int32_t number = 0; number < 2; number++) {
        const struct part_spec spec = {.kind = PART_MEDUSA, .number = number};
        const struct rig_options o = options(2);
        struct rig base, part = {0};
        package *pkg;
        float *vectors = new_floats(N * STORIES_EMBD), *logits = new_floats(N * 4096),
              *hidden = new_floats(N * STORIES_EMBD);
        int32_t tokens[N];
        random_tokens(tokens, N, 4096, 1);
        if (open_stories(&base, &pkg, "models/stories/medusa/medusa_lm_head.safetensors") &&
            part_hidden_states(&base, tokens, vectors) && rig_open_part(&part, &base, pkg, &spec, &o) &&
            part_run(&part, tokens, vectors, 7, logits, hidden)) {
            char name[3][40];
            snprintf(name[0], sizeof name[0], "%d.0.linear.weight", number);
            snprintf(name[1], sizeof name[1], "%d.0.linear.bias", number);
            snprintf(name[2], sizeof name[2], "%d.1.weight", number);
            struct plain_matrix w = plain_weights(pkg, name[0]), bias = plain_weights(pkg, name[1]),
                                head = plain_weights(pkg, name[2]);
            static double x[N][PLAIN_EMBD];
            for (int32_t r = 0; r < N; r++) {
                double in[STORIES_EMBD];
                for (int32_t i = 0; i < STORIES_EMBD; i++) in[i] = (double)vectors[r * STORIES_EMBD + i];
                plain_multiply(&w, in, x[r]);
                for (int32_t i = 0; i < STORIES_EMBD; i++) x[r][i] = in[i] + plain_silu(x[r][i] + (double)bias.w[i]);
            }
            check_note("head %d: hidden states differ by %g, logits by %g", number,
                       plain_difference(hidden, x, STORIES_EMBD), plain_head_difference(logits, x, &head));
            CHECK(plain_difference(hidden, x, STORIES_EMBD) < 2e-5);
            CHECK(plain_head_difference(logits, x, &head) < 0.01);
            free(w.w), free(bias.w), free(head.w);
        }
        rig_close(&part);
        rig_close(&base);
        free(vectors);
        free(logits);
        free(hidden);
    }
}
