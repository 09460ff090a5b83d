// tests/formats/hf_mxfp4_test.c - gpt-oss as it is published, its experts in MXFP4: the same numbers as in a folder that has them as
// floats, and what is refused.
#include "base/mem.h"
#include "tests/check.h"
#include "tests/support/folder_builder.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_EMBD = 64, N_FF = 32, N_EXPERT = 3, N_VOCAB = 16, GROUP = 32 };

static const char config[] =
    "{\"architectures\": [\"GptOssForCausalLM\"], \"model_type\": \"gpt_oss\", \"vocab_size\": 16,"
    " \"hidden_size\": 64, \"intermediate_size\": 32, \"num_hidden_layers\": 1, \"head_dim\": 16,"
    " \"num_attention_heads\": 4, \"num_key_value_heads\": 2, \"max_position_embeddings\": 64,"
    " \"rms_norm_eps\": 1e-05, \"rope_theta\": 150000, \"num_local_experts\": 3,"
    " \"num_experts_per_tok\": 2, \"sliding_window\": 8, \"tie_word_embeddings\": true%s}";
static const char quantized[] = ", \"quantization_config\": {\"quant_method\": \"mxfp4\","
                                " \"modules_to_not_convert\": [\"lm_head\"]}";

// What the folders differ in.
struct form {
    bool in_floats;
    const char *config;                 // what config.json ends in
    const char *omit;                   // a tensor left out
    const char *instead, *dtype, *dims; // a tensor of other bytes: its name, type, shape
    size_t n_bytes;
};

struct folder_file {
    struct st_builder b;
    const struct form *form;
};

static void put(struct folder_file *f, const char *name, const char *dtype, const char *dims, const void *bytes,
                size_t n) {
    static const uint8_t zeros[1 << 15];
    const struct form *o = f->form;
    char entry[400];
    if (o->omit && strcmp(o->omit, name) == 0) return;
    if (o->instead && strcmp(o->instead, name) == 0) dtype = o->dtype, dims = o->dims, bytes = zeros, n = o->n_bytes;
    const size_t begin = f->b.data.n;
    gb_put(&f->b.data, bytes, n);
    snprintf(entry, sizeof entry, "\"%s\":{\"dtype\":\"%s\",\"shape\":[%s],\"data_offsets\":[%zu,%zu]}", name, dtype,
             dims, begin, f->b.data.n);
    st_entry(&f->b, entry);
}

static uint32_t next_random(uint32_t *state) {
    *state = *state * 1664525 + 1013904223;
    return *state >> 16;
}

// One kind of matrices in both forms: [expert][row][k] in MXFP4, [expert][k][row] in floats.
static void put_experts(struct folder_file *f, const char *name, int n_rows, int k, uint32_t seed) {
    static const float values[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6, -0.0f, -0.5f, -1, -1.5f, -2, -3, -4, -6};
    const size_t n = (size_t)N_EXPERT * (size_t)n_rows * (size_t)k;
    uint8_t *blocks = calloc(n, 1), *scales = calloc(n, 1);
    float *floats = malloc(n * sizeof *floats);
    char path[128], dims[64];
    if (!blocks || !scales || !floats) abort();
    for (int e = 0; e < N_EXPERT; e++)
        for (int r = 0; r < n_rows; r++)
            for (int i = 0; i < k; i++) {
                const size_t at = ((size_t)e * (size_t)n_rows + (size_t)r) * (size_t)k + (size_t)i;
                const uint8_t code = next_random(&seed) & 15;
                if (i % GROUP == 0) scales[at / GROUP] = (uint8_t)(118 + next_random(&seed) % 6);
                blocks[at / 2] |= (uint8_t)(i % 2 ? code << 4 : code);
                floats[((size_t)e * (size_t)k + (size_t)i) * (size_t)n_rows + (size_t)r] =
                    ldexpf(values[code], scales[at / GROUP] - 127);
            }
    snprintf(path, sizeof path, "model.layers.0.mlp.experts.%s", name);
    if (f->form->in_floats) {
        snprintf(dims, sizeof dims, "%d,%d,%d", N_EXPERT, k, n_rows);
        put(f, path, "F32", dims, floats, n * sizeof *floats);
    } else {
        snprintf(path, sizeof path, "model.layers.0.mlp.experts.%s_blocks", name);
        snprintf(dims, sizeof dims, "%d,%d,%d,%d", N_EXPERT, n_rows, k / GROUP, GROUP / 2);
        put(f, path, "U8", dims, blocks, n / 2);
        snprintf(path, sizeof path, "model.layers.0.mlp.experts.%s_scales", name);
        snprintf(dims, sizeof dims, "%d,%d,%d", N_EXPERT, n_rows, k / GROUP);
        put(f, path, "U8", dims, scales, n / GROUP);
    }
    free(blocks);
    free(scales);
    free(floats);
}

static void put_floats(struct folder_file *f, const char *name, int d0, int d1) {
    const size_t n = (size_t)d0 * (size_t)(d1 ? d1 : 1);
    float *x = malloc(n * sizeof *x);
    char dims[64];
    if (!x) abort();
    for (size_t i = 0; i < n; i++) x[i] = (float)((int)(i % 13) - 6) / 8;
    snprintf(dims, sizeof dims, d1 ? "%d,%d" : "%d", d0, d1);
    put(f, name, "F32", dims, x, n * sizeof *x);
    free(x);
}

static rn_status open_form(const struct form *form, package **p, rn_error *err) {
    static const struct {
        const char *name;
        int d0, d1;
    } rest[] = {{"embed_tokens.weight", N_VOCAB, N_EMBD},
                {"norm.weight", N_EMBD, 0},
                {"layers.0.input_layernorm.weight", N_EMBD, 0},
                {"layers.0.post_attention_layernorm.weight", N_EMBD, 0},
                {"layers.0.self_attn.q_proj.weight", 64, N_EMBD},
                {"layers.0.self_attn.k_proj.weight", 32, N_EMBD},
                {"layers.0.self_attn.v_proj.weight", 32, N_EMBD},
                {"layers.0.self_attn.o_proj.weight", N_EMBD, 64},
                {"layers.0.self_attn.q_proj.bias", 64, 0},
                {"layers.0.self_attn.k_proj.bias", 32, 0},
                {"layers.0.self_attn.v_proj.bias", 32, 0},
                {"layers.0.self_attn.o_proj.bias", N_EMBD, 0},
                {"layers.0.self_attn.sinks", 4, 0},
                {"layers.0.mlp.router.weight", N_EXPERT, N_EMBD},
                {"layers.0.mlp.router.bias", N_EXPERT, 0},
                {"layers.0.mlp.experts.gate_up_proj_bias", N_EXPERT, 2 * N_FF},
                {"layers.0.mlp.experts.down_proj_bias", N_EXPERT, N_EMBD}};
    struct folder_file f = {.form = form};
    char text[1024], name[128];
    size_t n;
    st_begin(&f.b);
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++) {
        snprintf(name, sizeof name, "model.%s", rest[i].name);
        put_floats(&f, name, rest[i].d0, rest[i].d1);
    }
    put_experts(&f, "gate_up_proj", 2 * N_FF, N_EMBD, 1);
    put_experts(&f, "down_proj", N_EMBD, N_FF, 2);
    uint8_t *file = st_finish(&f.b, &n);
    const int n_config = snprintf(text, sizeof text, config, form->config);
    const struct package_bytes files[] = {{"config.json", (const uint8_t *)text, (size_t)n_config},
                                          {"model.safetensors", file, n}};
    const rn_status st = package_from_folder_bytes("oss", files, 2, p, err);
    if (st == RN_OK) // its tensors are copies, but for those that lie in `file`
        CHECK(package_n_tensors(*p) > 0);
    if (st != RN_OK) free(file);
    return st;
}

static void close_form(package *p) {
    if (!p) return;
    uint8_t *const file = (uint8_t *)(uintptr_t)package_file_at(p, 0)->data;
    package_close(p);
    free(file);
}

static void check_same_numbers(const struct tensor_view *a, const struct tensor_view *b) {
    const size_t n = (size_t)(a->ne[0] * a->ne[1] * a->ne[2]);
    float *x = malloc(n * sizeof *x), *y = malloc(n * sizeof *y);
    if (!x || !y) abort();
    tensor_type_info(a->type)->dequantize_row(a->data, x, n);
    tensor_type_info(b->type)->dequantize_row(b->data, y, n);
    size_t same = 0;
    while (same < n && x[same] == y[same]) same++;
    CHECK_INT(same, n);
    free(x);
    free(y);
}

TEST(experts_in_mxfp4_hold_the_numbers_that_the_same_experts_in_floats_hold) {
    static const char *const names[] = {"blk.0.ffn_gate_exps.weight", "blk.0.ffn_up_exps.weight",
                                        "blk.0.ffn_down_exps.weight"};
    const struct form blocks = {.config = quantized}, floats = {.in_floats = true, .config = ""};
    package *a = NULL, *b = NULL;
    rn_error err = {0};
    if (CHECK_OK(open_form(&blocks, &a, &err), &err) && CHECK_OK(open_form(&floats, &b, &err), &err)) {
        CHECK_INT(package_n_tensors(a), package_n_tensors(b));
        for (size_t i = 0; i < package_n_tensors(a); i++) {
            const struct tensor_view *x = package_tensor_at(a, i), *y = package_tensor(b, x->name);
            check_note("%s", x->name);
            if (!CHECK(y)) continue;
            CHECK(memcmp(x->ne, y->ne, sizeof x->ne) == 0);
            check_same_numbers(x, y);
        }
        for (size_t i = 0; i < 3; i++) CHECK(package_tensor(a, names[i])->type == TENSOR_MXFP4);
    }
    close_form(a);
    close_form(b);
}

#define EXPERTS "model.layers.0.mlp.experts."

TEST(what_is_wrong_with_blocks_and_scales_is_said_of_the_tensor) {
    static const struct {
        const char *why;
        struct form form;
        const char *want;
    } rows[] = {
        {"no scales", {.config = quantized, .omit = EXPERTS "down_proj_scales"}, "down_proj_scales: missing"},
        {"no blocks", {.config = quantized, .omit = EXPERTS "gate_up_proj_blocks"}, "gate_up_proj_blocks: missing"},
        {"config.json says nothing of it", {.config = ""}, "tensor " EXPERTS "gate_up_proj: missing"},
        {"config.json says it of floats", {.in_floats = true, .config = quantized}, "gate_up_proj_blocks: missing"},
        {"another method",
         {.config = ", \"quantization_config\": {\"quant_method\": \"fp8\"}"},
         "member quantization_config: fp8 is not supported; mxfp4, and plain"},
        {"a method that is no text",
         {.config = ", \"quantization_config\": {\"quant_method\": 4}"},
         "is not supported"},
        {"a row more of scales",
         {.config = quantized,
          .instead = EXPERTS "down_proj_scales",
          .dtype = "U8",
          .dims = "3,65,1",
          .n_bytes = 195},
         "[3, 64, 1, 16] blocks for [3, 65, 1] scales"},
        {"scales as floats",
         {.config = quantized,
          .instead = EXPERTS "down_proj_scales",
          .dtype = "F32",
          .dims = "3,64,1",
          .n_bytes = 768},
         "is F32 of 3 dimensions"},
        {"blocks of another size",
         {.config = quantized,
          .instead = EXPERTS "down_proj_blocks",
          .dtype = "U8",
          .dims = "3,64,1,8",
          .n_bytes = 1536},
         "where a scale has a block of 16 bytes"},
        {"blocks as one list",
         {.config = quantized,
          .instead = EXPERTS "down_proj_blocks",
          .dtype = "U8",
          .dims = "3,64,16",
          .n_bytes = 3072},
         "is U8 of 3 dimensions, where mxfp4 has U8 of 4"},
        {"no blocks at all",
         {.config = quantized,
          .instead = EXPERTS "down_proj_blocks",
          .dtype = "U8",
          .dims = "3,0,1,16",
          .n_bytes = 0},
         "none of them 0"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        package *p = NULL;
        rn_error err = {0};
        const long live = mem_live();
        check_note("%s", rows[i].why);
        CHECK(open_form(&rows[i].form, &p, &err) != RN_OK && !p);
        CHECK_HAS(err.text, rows[i].want);
        CHECK_INT(mem_live(), live);
        close_form(p);
    }
}

static rn_status open_and_close(void *user) {
    package *p = NULL;
    const rn_status st = open_form(user, &p, NULL);
    close_form(p);
    return st;
}

TEST(an_mxfp4_folder_survives_each_failed_allocation) {
    struct form f = {.config = quantized};
    CHECK(check_each_failed_allocation(open_and_close, &f, __FILE__, __LINE__));
}
