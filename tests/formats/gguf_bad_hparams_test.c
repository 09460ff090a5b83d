// tests/formats/gguf_bad_hparams_test.c - impossible hyper-parameters: item 11 of the list of malformed inputs.
#include "tests/check.h"
#include "tests/support/bad_gguf.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define N(rows) (sizeof(rows) / sizeof *(rows))

// The sound model with one key replaced.
struct number {
    const char *why, *key;
    enum gb_type type; // GB_I64 or GB_F64
    double v;
    const char *want; // NULL: must open
};
#define EPS  "llama.attention.layer_norm_rms_epsilon"
#define BASE "llama.rope.freq_base"

static const struct number numbers[] = {
    {"no layers", "llama.block_count", GB_I64, 0, "key llama.block_count: 0 is outside 1..1024"},
    {"layers negative", "llama.block_count", GB_I64, -1, "-1 is outside 1..1024"},
    {"a layer over the limit", "llama.block_count", GB_I64, 1025, "1025 is outside 1..1024"},
    {"most layers", "llama.block_count", GB_I64, 1024, NULL},
    {"context 0", "llama.context_length", GB_I64, 0, "key llama.context_length: 0 is outside 1..268435456"},
    {"context 2^32", "llama.context_length", GB_I64, 4294967296.0, "4294967296 is outside"},
    {"context at the limit", "llama.context_length", GB_I64, 268435456, NULL},
    {"context over the limit", "llama.context_length", GB_I64, 268435457, "268435457 is outside"},
    {"context 1", "llama.context_length", GB_I64, 1, NULL},
    {"no heads", "llama.attention.head_count", GB_I64, 0, "key llama.attention.head_count: 0 is outside 1..4096"},
    {"heads over the limit", "llama.attention.head_count", GB_I64, 4097, "4097 is outside 1..4096"},
    {"no KV heads", "llama.attention.head_count_kv", GB_I64, 0, "0 is outside 1..4096"},
    {"heads not divisible by KV heads", "llama.attention.head_count_kv", GB_I64, 3,
     "key llama.attention.head_count_kv: 3 does not divide the number of heads, 4"},
    {"more KV heads than heads", "llama.attention.head_count_kv", GB_I64, 8,
     "8 does not divide the number of heads, 4"},
    {"embedding not divisible by heads", "llama.attention.head_count", GB_I64, 6,
     "key llama.attention.head_count: 6 does not divide the embedding's width, 32"},
    {"embedding 0", "llama.embedding_length", GB_I64, 0, "key llama.embedding_length: 0 is outside 1..262144"},
    {"embedding unlike the tensor", "llama.embedding_length", GB_I64, 64,
     "tensor token_embd.weight: 2 dimensions, rows of 32; must be 2 and embedding_length 64"},
    {"feed forward 0", "llama.feed_forward_length", GB_I64, 0, "key llama.feed_forward_length: 0 is outside"},
    {"epsilon 0", EPS, GB_F64, 0, "key " EPS ": 0 is outside 1e-20..1"},
    {"epsilon negative", EPS, GB_F64, -1e-5, "-1e-05 is outside"},
    {"epsilon NaN", EPS, GB_F64, NAN, "nan is outside"},
    {"epsilon infinite", EPS, GB_F64, INFINITY, "inf is outside"},
    {"epsilon over the limit", EPS, GB_F64, 1.0001, "is outside 1e-20..1"},
    {"epsilon 1", EPS, GB_F64, 1, NULL},
    {"rope base 0", BASE, GB_F64, 0, "key " BASE ": 0 is outside 1..1e+12"},
    {"rope base NaN", BASE, GB_F64, NAN, "nan is outside"},
    {"rope base negative", BASE, GB_F64, -10000, "-10000 is outside"},
    {"rope base infinite", BASE, GB_F64, INFINITY, "inf is outside"},
    {"rope dimension odd", "llama.rope.dimension_count", GB_I64, 7,
     "key llama.rope.dimension_count: 7 is not even and at most the head's 8"},
    {"rope dimension over the head", "llama.rope.dimension_count", GB_I64, 10, "10 is not even and at most"},
    {"rope dimension 0: not said", "llama.rope.dimension_count", GB_I64, 0, NULL},
    {"rope dimension 1", "llama.rope.dimension_count", GB_I64, 1, "1 is not even and at most the head's 8"},
    {"rope dimension under the head", "llama.rope.dimension_count", GB_I64, 6, NULL},
    {"rope factor 0", "llama.rope.scaling.factor", GB_F64, 0, "0 is outside 0.001..1e+06"},
    {"rope factor NaN", "llama.rope.scaling.factor", GB_F64, NAN, "nan is outside"},
    {"old rope factor negative", "llama.rope.scale_linear", GB_F64, -4, "-4 is outside"},
    {"yarn context 0", "llama.rope.scaling.original_context_length", GB_I64, 0, "0 is outside 1..268435456"},
    {"window 0: none", "llama.attention.sliding_window", GB_I64, 0, NULL},
    {"window negative", "llama.attention.sliding_window", GB_I64, -1,
     "key llama.attention.sliding_window: -1 is outside 0..268435456"},
    {"values longer than keys", "llama.attention.value_length", GB_I64, 16,
     "key llama.attention.value_length: 16, where keys have 8: both must be equal"},
    {"key length 0", "llama.attention.key_length", GB_I64, 0, "0 is outside 1..4096"},
    {"key length of its own", "llama.attention.key_length", GB_I64, 16, NULL},
    {"vocabulary over the embedding's rows", "llama.vocab_size", GB_I64, 281,
     "key llama.vocab_size: 281, with 280 tokens and 280 rows of token_embd.weight"},
    {"vocabulary under the tokens", "llama.vocab_size", GB_I64, 279, "key llama.vocab_size: 279, with 280 tokens"},
    {"vocabulary 0", "llama.vocab_size", GB_I64, 0, "0 is outside 1..16777216"},
    {"experts used without experts", "llama.expert_used_count", GB_I64, 2,
     "key llama.expert_used_count: 2 of 0 experts"},
    {"experts, none used", "llama.expert_count", GB_I64, 8, "key llama.expert_used_count: 0 of 8 experts"},
};

static const struct number *number; // the row that put_number adds
static void put_number(struct gguf_builder *b) {
    if (number->type == GB_I64)
        gb_i64(b, number->key, (int64_t)number->v);
    else
        gb_f64(b, number->key, number->v);
}

TEST(item_11_numbers_outside_their_range_are_refused) {
    const struct tiny_model sound = bad_gguf_model(TINY_BYTES);
    for (size_t i = 0; i < N(numbers); i++) {
        number = &numbers[i];
        const struct bad_gguf row = {number->why, number->key, put_number, NULL, number->want};
        check_bad_gguf(&sound, &row, 1, NULL);
    }
}

TEST(item_11_a_missing_key_is_named) {
    static const struct bad_gguf rows[] = {
        {"layers", "llama.block_count", NULL, NULL, "key llama.block_count: missing"},
        {"context", "llama.context_length", NULL, NULL, "key llama.context_length: missing"},
        {"embedding", "llama.embedding_length", NULL, NULL, "key llama.embedding_length: missing"},
        {"heads", "llama.attention.head_count", NULL, NULL, "key llama.attention.head_count: missing"},
        {"feed forward", "llama.feed_forward_length", NULL, NULL, "key llama.feed_forward_length: missing"},
        {"epsilon", EPS, NULL, NULL, "key " EPS ": missing"},
        {"KV heads: as many as heads", "llama.attention.head_count_kv", NULL, NULL, NULL},
        {"rope base: 10000", BASE, NULL, NULL, NULL},
        {"embedding tensor", "token_embd.weight", NULL, NULL,
         "tensor token_embd.weight: missing; its rows are the vocabulary of llama"},
        {"architecture", "general.architecture", NULL, NULL, "key general.architecture: missing"},
    };
    const struct tiny_model sound = bad_gguf_model(TINY_BYTES);
    check_bad_gguf(&sound, rows, N(rows), NULL);
}

static void heads_array(struct gguf_builder *b, const char *key, const int32_t *v, size_t n) {
    gb_array(b, key, GB_I32, v, n, sizeof *v);
}
static void heads_2_for_1(struct gguf_builder *b) {
    heads_array(b, "llama.attention.head_count", (const int32_t[]){4, 4}, 2);
}
static void heads_none(struct gguf_builder *b) { heads_array(b, "llama.attention.head_count", NULL, 0); }
static void heads_bad(struct gguf_builder *b) {
    heads_array(b, "llama.attention.head_count", (const int32_t[]){-4}, 1);
}
static void heads_1(struct gguf_builder *b) { heads_array(b, "llama.attention.head_count", (const int32_t[]){4}, 1); }
static void heads_float(struct gguf_builder *b) {
    gb_array(b, "llama.attention.head_count", GB_F32, (const float[]){4}, 1, 4);
}
static void layers_array(struct gguf_builder *b) { heads_array(b, "llama.block_count", (const int32_t[]){1}, 1); }
static void heads_4_2(struct gguf_builder *b) {
    heads_array(b, "llama.attention.head_count", (const int32_t[]){4, 2}, 2);
}
static void heads_4_1(struct gguf_builder *b) {
    heads_array(b, "llama.attention.head_count", (const int32_t[]){4, 1}, 2);
}
static void heads_4_4(struct gguf_builder *b) {
    heads_array(b, "llama.attention.head_count", (const int32_t[]){4, 4}, 2);
}

TEST(item_11_numbers_for_each_layer_must_be_one_for_each) {
    static const struct bad_gguf rows[] = {
        {"two for one layer", "llama.attention.head_count", heads_2_for_1, NULL,
         "key llama.attention.head_count: 2 values for 1 layers"},
        {"none", "llama.attention.head_count", heads_none, NULL, "0 values for 1 layers"},
        {"out of range", "llama.attention.head_count", heads_bad, NULL, "item 0: -4 is outside 1..4096"},
        {"no integers", "llama.attention.head_count", heads_float, NULL,
         "is an array of f32, must be an array of i32"},
        {"one for one is read", "llama.attention.head_count", heads_1, NULL, NULL},
        {"not a key that may be an array", "llama.block_count", layers_array, NULL, "is an array of i32"},
    };
    const struct tiny_model sound = bad_gguf_model(TINY_BYTES);
    check_bad_gguf(&sound, rows, N(rows), NULL);

    static const struct bad_gguf rows_of_two[] = {
        {"layers that differ", "llama.attention.head_count", heads_4_2, NULL, NULL},
        {"a layer with too few", "llama.attention.head_count", heads_4_1, NULL,
         "key llama.attention.head_count_kv: layer 1: 2 does not divide the number of heads, 1"},
        {"layers that do not", "llama.attention.head_count", heads_4_4, NULL, NULL},
    };
    struct tiny_model two_layers = sound;
    two_layers.n_layer = 2;
    check_bad_gguf(&two_layers, rows_of_two, N(rows_of_two), NULL);
}

static void arch_empty(struct gguf_builder *b) { gb_str(b, "general.architecture", ""); }
static void arch_64(struct gguf_builder *b) {
    char name[65] = {0};
    memset(name, 'a', 64);
    gb_str(b, "general.architecture", name);
}
static void scaling_unknown(struct gguf_builder *b) { gb_str(b, "llama.rope.scaling.type", "dynamic"); }
static void longrope_alone(struct gguf_builder *b) { gb_str(b, "llama.rope.scaling.type", "longrope"); }
static void scaling_yarn(struct gguf_builder *b) { gb_str(b, "llama.rope.scaling.type", "yarn"); }
static void yarn_slow_before_fast(struct gguf_builder *b) {
    scaling_yarn(b);
    gb_f32(b, "llama.rope.scaling.yarn_beta_fast", 1);
    gb_f32(b, "llama.rope.scaling.yarn_beta_slow", 2);
}
static void yarn_over_theta_1(struct gguf_builder *b) {
    scaling_yarn(b);
    gb_f32(b, BASE, 1);
}
static void yarn_half_extrapolated(struct gguf_builder *b) {
    scaling_yarn(b);
    gb_f32(b, "llama.rope.scaling.yarn_ext_factor", 0.5f);
}
static void attn_factor_0(struct gguf_builder *b) { gb_f32(b, "llama.rope.scaling.attn_factor", 0); }
static void experts(struct gguf_builder *b, uint32_t n, uint32_t n_used) {
    gb_u32(b, "llama.expert_count", n);
    gb_u32(b, "llama.expert_used_count", n_used);
}
static void experts_9_of_8(struct gguf_builder *b) { experts(b, 8, 9); }
static void experts_8_of_8(struct gguf_builder *b) { experts(b, 8, 8); }
static void more_tokens_than_rows(struct gguf_builder *b) {
    gb_tensor(b, "token_embd.weight", 0, 2, (const uint64_t[]){32, 279}, NULL, 32 * 279 * 4);
}
static void more_rows_than_tokens(struct gguf_builder *b) {
    gb_tensor(b, "token_embd.weight", 0, 2, (const uint64_t[]){32, 384}, NULL, 32 * 384 * 4);
}
static void embedding_3d(struct gguf_builder *b) {
    gb_tensor(b, "token_embd.weight", 0, 3, (const uint64_t[]){32, 140, 2}, NULL, 32 * 280 * 4);
}

TEST(item_11_names_and_tensors_that_contradict_the_numbers_are_refused) {
    static const struct bad_gguf rows[] = {
        {"architecture empty", "general.architecture", arch_empty, NULL,
         "key general.architecture: a name of 0 bytes: 1..63"},
        {"architecture of 64 bytes", "general.architecture", arch_64, NULL, "a name of 64 bytes: 1..63"},
        {"rope scaling unknown", NULL, scaling_unknown, NULL,
         "key llama.rope.scaling.type: \"dynamic\" is not known; none, linear, yarn and longrope are"},
        {"longrope without its factors", NULL, longrope_alone, NULL,
         "tensor rope_factors_short.weight: missing, where longrope needs it"},
        {"rope scaling known", NULL, scaling_yarn, NULL, NULL},
        {"yarn: slow before fast", NULL, yarn_slow_before_fast, NULL,
         "key llama.rope.scaling.yarn_beta_fast: 1 is below beta_slow, 2"},
        {"yarn over a base of 1", BASE, yarn_over_theta_1, NULL, "key " BASE ": 1, where yarn needs more than 1"},
        {"yarn in part", NULL, yarn_half_extrapolated, NULL,
         "key llama.rope.scaling.yarn_ext_factor: 0.5 is outside 1..1"},
        {"attention times 0", NULL, attn_factor_0, NULL,
         "key llama.rope.scaling.attn_factor: 0 is outside 0.001..1000"},
        {"more experts used than there are", NULL, experts_9_of_8, NULL,
         "key llama.expert_used_count: 9 of 8 experts"},
        {"all experts used", NULL, experts_8_of_8, NULL, NULL},
        {"fewer embedding rows than tokens", "token_embd.weight", more_tokens_than_rows, NULL,
         "tensor token_embd.weight: 279 rows for 280 tokens of the vocabulary"},
        {"a padded embedding is read", "token_embd.weight", more_rows_than_tokens, NULL, NULL},
        {"embedding of three dimensions", "token_embd.weight", embedding_3d, NULL, "3 dimensions, rows of 32"},
    };
    const struct tiny_model sound = bad_gguf_model(TINY_BYTES);
    check_bad_gguf(&sound, rows, N(rows), NULL);
}

// 2.24: a minimal file must be an answer, not a crash.
TEST(field_2_24_minimal_files_are_answered) {
    struct gguf_builder b;
    static const struct {
        const char *arch;
        bool tensor;
        const char *want;
    } rows[] = {
        {NULL, false, "key general.architecture: missing"},
        {"llama", false, "holds neither tensors nor a vocabulary"},
        {"llama", true, "key llama.block_count: missing"},
    };
    for (size_t i = 0; i < N(rows); i++) {
        gb_begin(&b, 3);
        if (rows[i].arch) gb_str(&b, "general.architecture", rows[i].arch);
        if (rows[i].tensor) gb_tensor(&b, "token_embd.weight", 0, 2, (const uint64_t[]){4, 4}, NULL, 64);
        size_t n;
        uint8_t *file = gb_finish(&b, &n);
        package *p;
        rn_error err = {0};
        CHECK_FAILS(package_from_bytes("min.gguf", file, n, &p, &err), RN_E_FORMAT, &err);
        CHECK_HAS(err.text, rows[i].want);
        free(file);
    }
}
