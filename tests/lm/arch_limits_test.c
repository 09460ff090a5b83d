// tests/lm/arch_limits_test.c - limits of model and backend that a file's numbers can reach, each at the last value that goes and at the next.
#include "backend/cpu/cpu_private.h"
#include "tests/check.h"
#include "tests/support/arch_model.h"
#include "tests/support/lm_rig.h"
#include <stdlib.h>
#include <string.h>

#define WIDE "context_length=64 embedding_length=64 attention.layer_norm_rms_epsilon=1e-5 "

// Opened, built and loaded: what came of it.
static rn_status load(const struct arch_model *m, const char *backend_name, rn_error *err) {
    const struct lm_config c = {.n_ctx = 64, .n_batch = 4, .n_want = 4, .max_seqs = 1, .n_pages = 2, .n_states = 1};
    package *pkg = NULL;
    struct model *model = NULL;
    pool *threads = NULL;
    backend *b = NULL;
    size_t n;
    uint8_t *bytes = arch_model_bytes(m, &n);
    CHECK_OK(pool_create(1, &threads, err), err);
    CHECK_OK(test_backend_open(&(struct backend_spec){.name = backend_name,
                                                      .threads = threads,
                                                      .kernels = kernel_set_get(cpu_set_detect(CPU_N_SETS))},
                               &b, err),
             err);
    rn_status st = package_from_bytes("wide.gguf", bytes, n, &pkg, err);
    if (st == RN_OK) st = model_build(pkg, &model, err);
    if (st == RN_OK) {
        const struct backend_sizes sizes = lm_real_sizes(model_program(model), &c);
        st = backend_load(b, model_program(model), &sizes, NULL, NULL, err);
    }
    backend_destroy(b);
    pool_destroy(threads);
    model_destroy(model);
    package_close(pkg);
    free(bytes);
    return st;
}

TEST(a_model_has_up_to_eight_kinds_of_attention) {
    static const struct {
        const char *why, *keys, *text;
    } rows[] = {
        {"eight numbers of heads", "block_count=8 attention.head_count=(1,2,3,4,5,6,7,8) attention.head_count_kv=1 ",
         NULL},
        {"nine", "block_count=9 attention.head_count=(1,2,3,4,5,6,7,8,9) attention.head_count_kv=1 ",
         "wide.gguf: layer 8: more than 8 kinds of attention"},
        {"eight numbers of key heads",
         "block_count=8 attention.head_count=24 attention.head_count_kv=(1,2,3,4,6,8,12,24) ", NULL},
        {"nine", "block_count=9 attention.head_count=36 attention.head_count_kv=(1,2,3,4,6,9,12,18,36) ",
         "wide.gguf: layer 8: more than 8 kinds of attention"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char keys[512];
        rn_error err = {0};
        snprintf(keys, sizeof keys, "%s feed_forward_length=64 attention.key_length=8 " WIDE, rows[i].keys);
        const struct arch_model m = {"llama", keys, .n_vocab = 8, .seed = 1};
        check_note("%s", rows[i].why);
        CHECK_FAILS(load(&m, NULL, &err), rows[i].text ? RN_E_UNSUPPORTED : RN_OK, &err);
        if (rows[i].text) CHECK_HAS(err.text, rows[i].text);
    }
}

// What is multiplied with a matrix in blocks is rounded once for all that read it: the normed row, attention's, the last one's, and that
// of each layer's feed-forward, which are all of another width. The limit is the CPU's own.
TEST(a_program_on_the_cpu_has_up_to_sixty_four_activations) {
    enum { N_OTHERS = 3 };
    for (int n_layer = CPU_MAX_ACTS - N_OTHERS; n_layer <= CPU_MAX_ACTS - N_OTHERS + 1; n_layer++) {
        char keys[700];
        rn_error err = {0};
        int n =
            snprintf(keys, sizeof keys, WIDE "attention.head_count=4 block_count=%d feed_forward_length=", n_layer);
        for (int l = 0; l < n_layer; l++)
            n += snprintf(keys + n, sizeof keys - (size_t)n, "%c%d", l == 0 ? '(' : ',', 32 * (l + 1));
        snprintf(keys + n, sizeof keys - (size_t)n, ")");
        const struct arch_model m = {"llama", keys, .n_vocab = 8, .type = TENSOR_Q8_0, .without = "cls", .seed = 1};
        const bool fits = n_layer + N_OTHERS <= CPU_MAX_ACTS;
        check_note("%d layers", n_layer);
        CHECK_FAILS(load(&m, "cpu", &err), fits ? RN_OK : RN_E_LIMIT, &err);
        if (!fits) CHECK_HAS(err.text, "backend cpu: the program needs more than 64 activation buffers");
    }
}

// Zeros: this many experts' weights are not drawn.
static void put_experts(struct gguf_builder *b, uint32_t n_embd, uint32_t n_expert) {
    const struct tensor_type_info *q4 = tensor_type_info(TENSOR_Q4_0), *f32 = tensor_type_info(TENSOR_F32);
    const struct {
        const char *name;
        const struct tensor_type_info *type;
        uint64_t ne[3];
    } rows[] = {
        {"token_embd.weight", f32, {n_embd, 8, 1}},
        {"output_norm.weight", f32, {n_embd, 1, 1}},
        {"blk.0.attn_norm.weight", f32, {n_embd, 1, 1}},
        {"blk.0.ffn_norm.weight", f32, {n_embd, 1, 1}},
        {"blk.0.attn_q.weight", q4, {n_embd, 32, 1}},
        {"blk.0.attn_k.weight", q4, {n_embd, 32, 1}},
        {"blk.0.attn_v.weight", q4, {n_embd, 32, 1}},
        {"blk.0.attn_output.weight", q4, {32, n_embd, 1}},
        {"blk.0.ffn_gate_inp.weight", q4, {n_embd, n_expert, 1}},
        {"blk.0.ffn_gate_exps.weight", q4, {n_embd, 1, n_expert}},
        {"blk.0.ffn_up_exps.weight", q4, {n_embd, 1, n_expert}},
        {"blk.0.ffn_down_exps.weight", f32, {1, n_embd, n_expert}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const uint64_t *ne = rows[i].ne;
        gb_tensor(b, rows[i].name, rows[i].type->gguf_id,
                  ne[2] > 1   ? 3
                  : ne[1] > 1 ? 2
                              : 1,
                  ne, NULL, ne[0] / rows[i].type->block_len * rows[i].type->block_bytes * ne[1] * ne[2]);
    }
}

static rn_status build_wide_experts(uint32_t n_embd, uint32_t n_expert, rn_error *err) {
    struct gguf_builder b;
    struct model *model = NULL;
    package *pkg = NULL;
    size_t n;
    gb_begin(&b, 3);
    gb_str(&b, "general.architecture", "llama");
    gb_u32(&b, "llama.block_count", 1);
    gb_u32(&b, "llama.context_length", 64);
    gb_u32(&b, "llama.embedding_length", n_embd);
    gb_u32(&b, "llama.feed_forward_length", 1);
    gb_u32(&b, "llama.attention.head_count", 1);
    gb_u32(&b, "llama.attention.key_length", 32);
    gb_f32(&b, "llama.attention.layer_norm_rms_epsilon", 1e-5f);
    gb_u32(&b, "llama.expert_count", n_expert);
    gb_u32(&b, "llama.expert_used_count", n_expert);
    put_experts(&b, n_embd, n_expert);
    uint8_t *bytes = gb_finish(&b, &n);
    rn_status st = package_from_bytes("wide.gguf", bytes, n, &pkg, err);
    if (st == RN_OK) st = model_build(pkg, &model, err);
    model_destroy(model);
    package_close(pkg);
    free(bytes);
    return st;
}

TEST(the_parts_of_a_row_have_up_to_sixteen_million_numbers) {
    enum { MOST = 1 << 24, N_EMBD = 2048, N_EXPERT = MOST / N_EMBD };
    rn_error err = {0};
    CHECK_OK(build_wide_experts(N_EMBD, N_EXPERT, &err), &err);
    CHECK_FAILS(build_wide_experts(N_EMBD, N_EXPERT + 1, &err), RN_E_LIMIT, &err);
    CHECK_HAS(err.text, "wide.gguf: 8193 experts of a row take 16779264 numbers, limit 16777216");
}
