// tests/formats/adapter_file_test.c - adapters as files: what is refused, by name, and what any change of a byte gives.
#include "base/mem.h"
#include "formats/adapter/adapter_file.h"
#include "tests/check.h"
#include "tests/support/adapter_maker.h"
#include "tests/support/folder_builder.h"
#include "tests/support/tiny_model.h"
#include <stdlib.h>
#include <string.h>

// A Llama of two layers, 64 wide, n_ff 96, 300 tokens, without a head of its own.
static uint8_t *base_bytes;
static package *open_base(void) {
    const struct tiny_model m = tiny_model_default();
    package *p = NULL;
    rn_error err = {0};
    size_t n;
    base_bytes = tiny_model_bytes(&m, &n);
    CHECK_OK(package_from_bytes("base", base_bytes, n, &p, &err), &err);
    return p;
}
static void close_base(package *p) {
    package_close(p);
    free(base_bytes);
}

// ---- PEFT -----------------------------------------------------------------------------------------------------------

#define CONFIG(more) "{\"peft_type\": \"LORA\", \"r\": 2, \"lora_alpha\": 4, \"bias\": \"none\"" more "}"
#define AT           "base_model.model.model.layers.0."

struct tensor {
    const char *name;
    uint64_t d0, d1;
};
static const struct tensor sound[] = {{AT "self_attn.q_proj.lora_A.weight", 2, 64},
                                      {AT "self_attn.q_proj.lora_B.weight", 64, 2}};

static rn_status open_peft(const package *base, const char *config, const struct tensor *tensors, size_t n,
                           struct adapter_file **out, rn_error *err) {
    struct st_builder b;
    size_t n_bytes;
    st_begin(&b);
    for (size_t i = 0; i < n; i++) st_tensor(&b, tensors[i].name, 2, tensors[i].d0, tensors[i].d1);
    uint8_t *bytes = st_finish(&b, &n_bytes);
    const struct package_bytes files[] = {{"adapter_config.json", (const uint8_t *)config, strlen(config)},
                                          {"adapter_model.safetensors", bytes, n_bytes}};
    const rn_status st = adapter_file_from_bytes("x", files, 2, base, out, err);
    adapter_file_close(*out); // before the bytes it points to
    free(bytes);
    return st;
}

TEST(what_of_peft_is_not_supported_is_refused_by_name) {
    static const struct {
        const char *config;
        struct tensor more; // a further tensor, or one in place of the first if `replaces`
        bool replaces;
        const char *text;
    } rows[] = {
        {CONFIG(", \"use_dora\": true"),
         .text = "member use_dora: weight-decomposed adapters (DoRA) are not supported"},
        {CONFIG(", \"modules_to_save\": [\"lm_head\"]"), .text = "member modules_to_save: "},
        {CONFIG(", \"target_parameters\": [\"experts.down_proj\"]"), .text = "member target_parameters: "},
        {CONFIG(", \"trainable_token_indices\": [1]"), .text = "member trainable_token_indices: "},
        {CONFIG(", \"layer_replication\": [[0, 2]]"), .text = "member layer_replication: "},
        {CONFIG(", \"lora_bias\": true"), .text = "member lora_bias: "},
        {CONFIG(", \"alora_invocation_tokens\": [1]"), .text = "member alora_invocation_tokens: "},
        {CONFIG(", \"use_qalora\": true"), .text = "member use_qalora: "},
        {CONFIG(", \"use_bdlora\": {\"n\": 2}"), .text = "member use_bdlora: "},
        {CONFIG(", \"arrow_config\": {\"top_k\": 3}"), .text = "member arrow_config: "},
        {CONFIG(", \"monteclora_config\": {\"n\": 3}"), .text = "member monteclora_config: "},
        {"{\"peft_type\": \"LORA\", \"r\": 2, \"lora_alpha\": 4, \"bias\": \"all\"}",
         .text = "member bias: trained biases"},
        {"{\"peft_type\": \"IA3\", \"r\": 2, \"lora_alpha\": 4}",
         .text = "member peft_type: IA3 is not supported, LORA is"},
        {"{\"lora_alpha\": 4}", .text = "member r: missing"},
        {"{\"r\": 2}", .text = "member lora_alpha: missing"},
        {"{\"r\": 4097, \"lora_alpha\": 1}", .text = "member r: 4097 is outside 1..4096"},
        {"{\"r\": 2, \"lora_alpha\": \"x\"}", .text = "member lora_alpha: "},
        {"[]", .text = "an array, expected an object"},
        {CONFIG(", \"rank_pattern\": {\"q_proj\": 3}"), .text = "rank 2, "},
        {CONFIG(", \"rank_pattern\": {\"(\": 3}"), .text = "member rank_pattern.(: "},
        {CONFIG(", \"alpha_pattern\": [1]"), .text = "member alpha_pattern: an array, expected an object"},
        {CONFIG(""), {AT "self_attn.q_proj.lora_magnitude_vector.weight", 64, 1}, .text = "(DoRA) are not supported"},
        {CONFIG(""),
         {AT "mlp.up_proj.modules_to_save.weight", 96, 64},
         .text = "tensors other than lora_A and lora_B"},
        {CONFIG(""),
         {"base_model.model.model.embed_tokens.weight", 302, 64},
         .text = "a vocabulary that was resized"},
        {CONFIG(""), {AT "mlp.up_proj.lora_A.weight", 2, 64}, .text = "mlp.up_proj.lora_B.weight: missing"},
        {CONFIG(""), {AT "mlp.up_proj.lora_B.weight", 96, 2}, .text = "1 matrices lora_A and 2 lora_B"},
        {CONFIG(""), {AT "self_attn.q_proj.lora_A.weight", 2, 63}, true, "shape [63, 2, 1], expected [64, 2, 1]"},
        {CONFIG(""), {AT "self_attn.q_proj.lora_A.weight", 3, 64}, true, "rank 3, "},
        {CONFIG(""),
         {"base_model.model.model.layers.2.self_attn.q_proj.lora_A.weight", 2, 64},
         .text = "lora_B.weight: missing"},
    };
    package *base = open_base();
    for (size_t i = 0; base && i < sizeof rows / sizeof *rows; i++) {
        struct tensor tensors[3] = {sound[0], sound[1], rows[i].more};
        struct adapter_file *f;
        rn_error err = {0};
        if (rows[i].replaces) tensors[0] = rows[i].more;
        const size_t n = rows[i].more.name && !rows[i].replaces ? 3 : 2;
        check_note("row %zu: %s", i, rows[i].text);
        CHECK(open_peft(base, rows[i].config, tensors, n, &f, &err) != RN_OK && !f);
        CHECK_HAS(err.text, rows[i].text);
        CHECK(strncmp(err.text, "x", 1) == 0);
    }
    close_base(base);
}

TEST(a_module_that_the_model_does_not_have_is_refused) {
    static const struct {
        struct tensor a, b;
        const char *text;
    } rows[] = {
        {{"base_model.model.model.layers.2.mlp.up_proj.lora_A.weight", 2, 64},
         {"base_model.model.model.layers.2.mlp.up_proj.lora_B.weight", 96, 2},
         "the model (LlamaForCausalLM, 2 layers) has no such matrix"},
        {{"base_model.model.model.layers.0.mlp.fc1.lora_A.weight", 2, 64},
         {"base_model.model.model.layers.0.mlp.fc1.lora_B.weight", 96, 2},
         "has no such matrix"},
        {{"base_model.model.model.layers.0.input_layernorm.lora_A.weight", 2, 64},
         {"base_model.model.model.layers.0.input_layernorm.lora_B.weight", 64, 2},
         "which is no matrix"},
        {{AT "self_attn.k_proj.lora_A.weight", 2, 64},
         {AT "self_attn.k_proj.lora_B.weight", 64, 2},
         "64 rows, where 32 are"},
        {{AT "mlp.up_proj.lora_A.weight", 2, 64}, {AT "mlp.up_proj.lora_B.weight", 95, 2}, "expected [2, 96, 1]"},
    };
    package *base = open_base();
    for (size_t i = 0; base && i < sizeof rows / sizeof *rows; i++) {
        const struct tensor tensors[] = {rows[i].a, rows[i].b};
        struct adapter_file *f;
        rn_error err = {0};
        check_note("row %zu", i);
        CHECK(open_peft(base, CONFIG(""), tensors, 2, &f, &err) != RN_OK && !f);
        CHECK_HAS(err.text, rows[i].text);
        CHECK_HAS(err.text, rows[i].a.name[0] ? "tensor base_model" : "");
    }
    close_base(base);
}

// ---- GGUF -----------------------------------------------------------------------------------------------------------

static void head(struct gguf_builder *b, const char *arch, const char *type, const char *kind) {
    gb_begin(b, 3);
    gb_str(b, "general.architecture", arch);
    gb_str(b, "general.type", type);
    if (kind) gb_str(b, "adapter.type", kind);
}

static void matrix(struct gguf_builder *b, const char *name, uint64_t ne0, uint64_t ne1) {
    float *x = calloc((size_t)(ne0 * ne1), sizeof *x);
    if (!x) abort();
    gb_tensor(b, name, 0, 2, (const uint64_t[]){ne0, ne1}, x, (size_t)(ne0 * ne1) * sizeof *x);
    free(x);
}

TEST(malformed_gguf_adapters_are_refused_by_name) {
    static const struct {
        const char *arch, *type, *kind, *names[3];
        uint64_t ne[3][2];
        const char *text;
    } rows[] = {
        {"llama",
         "vocab",
         "lora",
         {"blk.0.attn_q.weight.lora_a"},
         {{64, 2}},
         "key general.type: 'vocab', expected 'adapter'"},
        {"llama",
         "adapter",
         "ia3",
         {"blk.0.attn_q.weight.lora_a"},
         {{64, 2}},
         "key adapter.type: 'ia3' is not supported"},
        {"llama", "adapter", NULL, {"blk.0.attn_q.weight.lora_a"}, {{64, 2}}, "key adapter.type: ''"},
        {"qwen2", "adapter", "lora", {"blk.0.attn_q.weight.lora_a"}, {{64, 2}}, "'qwen2', the model's is 'llama'"},
        {"llama",
         "adapter",
         "lora",
         {"blk.0.attn_q.weight.lora_a"},
         {{64, 2}},
         "tensor blk.0.attn_q.weight.lora_b: missing"},
        {"llama",
         "adapter",
         "lora",
         {"blk.0.attn_q.weight.lora_b"},
         {{2, 64}},
         "0 tensors NAME.lora_a and 1 NAME.lora_b"},
        {"llama",
         "adapter",
         "lora",
         {"blk.0.attn_norm.weight"},
         {{64, 1}},
         "replaces a tensor of the model as a whole"},
        {"llama",
         "adapter",
         "lora",
         {"blk.9.attn_q.weight.lora_a", "blk.9.attn_q.weight.lora_b"},
         {{64, 2}, {2, 64}},
         "which the model does not have"},
        {"llama",
         "adapter",
         "lora",
         {"blk.0.attn_q.weight.lora_a", "blk.0.attn_q.weight.lora_b"},
         {{64, 2}, {3, 64}},
         "shape [3, 64, 1], expected [2, 64, 1]"},
        {"llama",
         "adapter",
         "lora",
         {"blk.0.attn_q.weight.lora_a", "blk.0.attn_q.weight.lora_b"},
         {{64, 4097}, {4097, 64}},
         "rank 4097 is outside 1..4096"},
        {"llama",
         "adapter",
         "lora",
         {"token_embd.weight.lora_a", "token_embd.weight.lora_b"},
         {{2, 299}, {2, 64}},
         "shape [2, 299, 1], expected [2, 300, 1]"},
    };
    package *base = open_base();
    for (size_t i = 0; base && i < sizeof rows / sizeof *rows; i++) {
        struct gguf_builder b;
        struct adapter_file *f;
        size_t n;
        rn_error err = {0};
        head(&b, rows[i].arch, rows[i].type, rows[i].kind);
        for (size_t k = 0; k < 3 && rows[i].names[k]; k++)
            matrix(&b, rows[i].names[k], rows[i].ne[k][0], rows[i].ne[k][1]);
        uint8_t *bytes = gb_finish(&b, &n);
        check_note("row %zu", i);
        CHECK(adapter_file_from_bytes("x", &(struct package_bytes){"x", bytes, n}, 1, base, &f, &err) != RN_OK && !f);
        CHECK_HAS(err.text, rows[i].text);
        free(bytes);
    }
    close_base(base);
}

TEST(the_scale_is_alpha_by_rank_and_1_without_alpha) {
    package *base = open_base();
    for (int i = 0; base && i < 2; i++) {
        const struct made_adapter m = {.rank = 4, .alpha = i ? 6 : 0, .seed = 1};
        struct adapter_file *f = NULL;
        size_t n;
        rn_error err = {0};
        uint8_t *bytes = made_adapter_bytes(&m, base, &n);
        if (CHECK_OK(adapter_file_from_bytes("x", &(struct package_bytes){"x", bytes, n}, 1, base, &f, &err), &err)) {
            CHECK_INT(adapter_file_n_pairs(f), 14); // seven matrices of two layers
            CHECK(adapter_file_pair(f, 0)->scale == (i ? 1.5f : 1));
            CHECK(adapter_file_find(f, "blk.1.ffn_up.weight") && !adapter_file_find(f, "output.weight"));
        }
        adapter_file_close(f);
        free(bytes);
    }
    close_base(base);
}

// Any byte changed, and any length: an error that names the file, or an adapter whose matrices fit the model.
TEST(a_changed_byte_gives_an_error_or_an_adapter_that_fits) {
    package *base = open_base();
    const struct made_adapter m = {.rank = 1, .alpha = 1, .only = "attn_k.", .seed = 3};
    size_t n, n_opened = 0;
    uint8_t *bytes = made_adapter_bytes(&m, base, &n);
    const long live = mem_live();
    for (size_t i = 0; i < 2 * n; i++) {
        struct adapter_file *f = NULL;
        rn_error err = {0};
        uint8_t *copy = malloc(n);
        memcpy(copy, bytes, n);
        if (i < n) copy[i] ^= (uint8_t)(1u << i % 8);
        const size_t length = i < n ? n : i - n;
        const rn_status st =
            adapter_file_from_bytes("x", &(struct package_bytes){"x", copy, length}, 1, base, &f, &err);
        CHECK((st == RN_OK) == (f != NULL));
        if (!f) CHECK(strncmp(err.text, "x: ", 3) == 0 && st != RN_E_INTERNAL);
        for (size_t k = 0; f && k < adapter_file_n_pairs(f); k++) {
            const struct adapter_pair *p = adapter_file_pair(f, k);
            const struct tensor_view *t = package_tensor(base, p->tensor);
            CHECK(t && p->a.ne[0] == t->ne[0] && p->a.ne[1] == p->rank && p->b.ne[0] == p->rank &&
                  p->b.ne[1] == t->ne[1]);
        }
        n_opened += f != NULL;
        adapter_file_close(f);
        free(copy);
    }
    CHECK(n_opened > 100); // numbers of matrices
    CHECK_INT(mem_live(), live);
    free(bytes);
    close_base(base);
}

static rn_status open_sound(void *user) {
    struct adapter_file *f;
    return open_peft(user, CONFIG(", \"alpha_pattern\": {\"q_proj\": 3}"), sound, 2, &f, NULL);
}

TEST(any_failed_allocation_is_reported_and_leaks_nothing) {
    package *base = open_base();
    if (base) check_each_failed_allocation(open_sound, base, __FILE__, __LINE__);
    close_base(base);
}
