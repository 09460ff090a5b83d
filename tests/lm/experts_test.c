// tests/lm/experts_test.c - files of mixtures of experts: what they must hold, and in which forms. Against other engines they are tested
// with all others: architectures_test.c, peer_greedy_test.c.
#include "tests/check.h"
#include "tests/support/lm_rig.h"
#include <stdlib.h>
#include <string.h>

enum { N = 20, N_VOCAB = 50 };

static struct tiny_model small(const char *arch, enum tensor_type type) {
    struct tiny_model m = tiny_model_default();
    m.n_embd = 96, m.n_ff = 96, m.n_vocab = N_VOCAB, m.vocab = TINY_NO_VOCAB, m.type = type;
    tiny_model_add_experts(&m, arch);
    return m;
}

static bool evaluate(const struct tiny_model *m, int n_threads, float out[N * N_VOCAB]) {
    struct rig_options o = rig_defaults();
    struct rig r;
    int32_t tokens[N];
    o.n_threads = n_threads;
    random_tokens(tokens, N, N_VOCAB, 3);
    const bool ok = rig_open(&r, m, &o) && rig_append(&r, rig_seq(&r), tokens, N, out);
    rig_close(&r);
    return ok;
}

TEST(gate_and_up_in_one_tensor_give_the_bits_of_two) {
    static const enum tensor_type types[] = {TENSOR_F32, TENSOR_BF16, TENSOR_Q8_0, TENSOR_Q4_0};
    static float apart[N * N_VOCAB], fused[N * N_VOCAB];
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        struct tiny_model m = small("llama", types[i]);
        check_note("%s", tensor_type_info(types[i])->name);
        if (!evaluate(&m, 1, apart)) return;
        m.experts.fused = true;
        if (!evaluate(&m, 2, fused)) return;
        CHECK_MEM(fused, apart, sizeof apart);
    }
}

TEST(a_file_without_a_tensor_of_its_experts_is_refused_by_name) {
    static const struct {
        const char *arch, *omit, *part;
    } rows[] = {
        {"llama", "blk.2.ffn_gate_inp.weight",
         "blk.2.ffn_gate_inp.weight is missing: architecture 'llama' needs it with shape [96, 6]"},
        {"llama", "blk.0.ffn_up_exps.weight",
         "blk.0.ffn_up_exps.weight is missing: architecture 'llama' needs it with shape [96, 96, 6]"},
        {"qwen2moe", "blk.3.ffn_down_shexp.weight", "blk.3.ffn_down_shexp.weight is missing"},
        {"qwen2moe", "blk.1.ffn_gate_inp_shexp.weight", "blk.1.ffn_gate_inp_shexp.weight is missing"},
        {"gpt-oss", "blk.1.ffn_down_exps.bias", "blk.1.ffn_down_exps.bias is missing"},
        {"gpt-oss", "blk.1.attn_sinks.weight", "blk.1.attn_sinks.weight is missing"},
        {"glm4moe", "blk.1.ffn_gate_exps.weight", "blk.1.ffn_gate_exps.weight is missing"},
        {"glm4moe", "blk.0.ffn_up.weight", "blk.0.ffn_up.weight is missing"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct tiny_model m = small(rows[i].arch, TENSOR_F32);
        struct gguf_builder b;
        struct model *model = NULL;
        package *pkg = NULL;
        rn_error err = {0};
        size_t n;
        gb_begin(&b, 3);
        b.omit = rows[i].omit;
        tiny_model_build(&m, &b);
        uint8_t *bytes = gb_finish(&b, &n);
        check_note("%s without %s", rows[i].arch, rows[i].omit);
        if (CHECK_OK(package_from_bytes("tiny", bytes, n, &pkg, &err), &err)) {
            CHECK_FAILS(model_build(pkg, &model, &err), RN_E_FORMAT, &err);
            CHECK_HAS(err.text, rows[i].part);
        }
        model_destroy(model);
        package_close(pkg);
        free(bytes);
    }
}

struct opening {
    uint8_t *bytes;
    size_t n;
};
static rn_status open_and_step(void *user) {
    const struct opening *o = user;
    package *pkg = NULL;
    struct model *model = NULL;
    pool *threads = NULL;
    backend *b = NULL;
    const struct backend_sizes sizes = {.n_batch = 8, .n_wanted = 8, .n_pages = {2, 2}};
    rn_status st = package_from_bytes("tiny", o->bytes, o->n, &pkg, NULL);
    if (st == RN_OK) st = model_build(pkg, &model, NULL);
    if (st == RN_OK) st = pool_create(2, &threads, NULL);
    if (st == RN_OK)
        st = test_backend_open(
            &(struct backend_spec){.threads = threads, .kernels = kernel_set_get(cpu_set_detect(CPU_N_SETS))}, &b,
            NULL);
    if (st == RN_OK) st = backend_load(b, model_program(model), &sizes, NULL, NULL, NULL);
    backend_destroy(b);
    pool_destroy(threads);
    model_destroy(model);
    package_close(pkg);
    return st;
}

TEST(opening_a_model_with_experts_survives_every_failed_allocation) {
    const struct tiny_model m = small("glm4moe", TENSOR_Q8_0);
    struct opening o = {0};
    o.bytes = tiny_model_bytes(&m, &o.n);
    CHECK(check_each_failed_allocation(open_and_step, &o, __FILE__, __LINE__));
    free(o.bytes);
}
