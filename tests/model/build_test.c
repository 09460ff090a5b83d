// tests/model/build_test.c - tensors bound to operations: what a file must hold, and what is said when it does not.
#include "kernels/kernels.h"
#include "model/model.h"
#include "tests/check.h"
#include "tests/support/tiny_model.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

// A tiny model with one thing changed: a tensor left out and, perhaps, written otherwise; keys added.
struct change {
    const char *omit, *add; // names of tensors or keys
    uint32_t n_dims;
    uint64_t dims[4]; // of the tensor added, F32 zeros
    void (*keys)(struct gguf_builder *b);
};

static uint8_t *changed_bytes(const struct change *c, const struct tiny_model *m, size_t *n) {
    struct gguf_builder b;
    gb_begin(&b, 3);
    b.omit = c->omit;
    tiny_model_build(m, &b);
    b.omit = NULL;
    if (c->keys) c->keys(&b);
    size_t n_elements = 1;
    for (uint32_t d = 0; d < c->n_dims; d++) n_elements *= c->dims[d];
    if (c->add) gb_tensor(&b, c->add, 0, c->n_dims, c->dims, NULL, n_elements * sizeof(float));
    return gb_finish(&b, n);
}

static rn_status build(const struct change *c, const struct tiny_model *m, rn_error *err) {
    struct model *model = NULL;
    package *pkg = NULL;
    size_t n;
    uint8_t *bytes = changed_bytes(c, m, &n);
    rn_status st = package_from_bytes("tiny.gguf", bytes, n, &pkg, err);
    if (CHECK_OK(st, err)) {
        st = model_build(pkg, &model, err);
        CHECK((st == RN_OK) == (model != NULL));
    }
    model_destroy(model);
    package_close(pkg);
    free(bytes);
    return st;
}

static struct tiny_model tiny(void) {
    struct tiny_model m = tiny_model_default();
    m.vocab = TINY_NO_VOCAB;
    m.n_vocab = 40;
    return m;
}

static void keys_unknown_arch(struct gguf_builder *b) { gb_str(b, "general.architecture", "mamba9"); }
static void keys_t5(struct gguf_builder *b) { gb_str(b, "general.architecture", "t5"); }
static void keys_diffusion(struct gguf_builder *b) { gb_str(b, "general.architecture", "llada-moe"); }
static void keys_projector(struct gguf_builder *b) { gb_str(b, "general.type", "mmproj"); }
static void keys_experts(struct gguf_builder *b) {
    gb_u32(b, "llama.expert_count", 8);
    gb_u32(b, "llama.expert_used_count", 2);
}

static void keys_layer_after(struct gguf_builder *b) {
    gb_u32(b, "llama.block_count", 3);
    gb_u32(b, "llama.nextn_predict_layers", 1);
}

TEST(a_file_that_cannot_be_run_is_refused_with_file_tensor_and_shapes) {
    static const struct {
        const char *why;
        struct change c;
        rn_status status;
        const char *text;
    } rows[] = {
        {"a missing norm",
         {.omit = "output_norm.weight"},
         RN_E_FORMAT,
         "tiny.gguf: tensor output_norm.weight is missing: architecture 'llama' needs it with shape [64, 1]"},
        {"a missing matrix of the second layer",
         {.omit = "blk.1.attn_k.weight"},
         RN_E_FORMAT,
         "tiny.gguf: tensor blk.1.attn_k.weight is missing: architecture 'llama' needs it with shape [64, 32]"},
        {"rows of another length",
         {"blk.0.ffn_down.weight", "blk.0.ffn_down.weight", 2, {64, 96}, NULL},
         RN_E_FORMAT,
         "tiny.gguf: tensor blk.0.ffn_down.weight has shape [64, 96, 1, 1], architecture 'llama' needs [96, 64]"},
        {"one row too many",
         {"blk.0.attn_v.weight", "blk.0.attn_v.weight", 2, {64, 33}, NULL},
         RN_E_FORMAT,
         "tiny.gguf: tensor blk.0.attn_v.weight has shape [64, 33, 1, 1], architecture 'llama' needs [64, 32]"},
        {"a third dimension",
         {"blk.0.attn_q.weight", "blk.0.attn_q.weight", 3, {64, 64, 2}, NULL},
         RN_E_FORMAT,
         "tensor blk.0.attn_q.weight has shape [64, 64, 2, 1]"},
        {"a norm of another width",
         {"blk.1.ffn_norm.weight", "blk.1.ffn_norm.weight", 1, {63}, NULL},
         RN_E_FORMAT,
         "tensor blk.1.ffn_norm.weight has shape [63, 1, 1, 1], architecture 'llama' needs [64, 1]"},
        {"a norm that is a matrix",
         {"blk.1.ffn_norm.weight", "blk.1.ffn_norm.weight", 2, {64, 2}, NULL},
         RN_E_FORMAT,
         "tensor blk.1.ffn_norm.weight has shape [64, 2, 1, 1], architecture 'llama' needs [64, 1]"},
        {"an optional bias of another width",
         {NULL, "blk.0.attn_k.bias", 1, {64}, NULL},
         RN_E_FORMAT,
         "tensor blk.0.attn_k.bias has shape [64, 1, 1, 1], architecture 'llama' needs [32, 1]"},
        {"a head of another vocabulary",
         {NULL, "output.weight", 2, {64, 41}, NULL},
         RN_E_FORMAT,
         "tensor output.weight has shape [64, 41, 1, 1], architecture 'llama' needs [64, 40]"},
        {"rope factors for other heads",
         {NULL, "rope_freqs.weight", 1, {16}, NULL},
         RN_E_FORMAT,
         "tensor rope_freqs.weight has shape [16, 1, 1, 1], architecture 'llama' needs [8, 1]"},
        {"rope factors of 0",
         {NULL, "rope_freqs.weight", 1, {8}, NULL},
         RN_E_FORMAT,
         "tiny.gguf: tensor rope_freqs.weight: factor 0 is 0, must be finite and at least 0.001"},
        {"a tensor that nothing uses",
         {NULL, "blk.0.attn_q_norm.weight", 1, {16}, NULL},
         RN_E_FORMAT,
         "tiny.gguf: tensor blk.0.attn_q_norm.weight: architecture 'llama' does not use it"},
        {"a tensor of a layer that is not there",
         {NULL, "blk.2.attn_q.weight", 2, {64, 64}, NULL},
         RN_E_FORMAT,
         "tensor blk.2.attn_q.weight: architecture 'llama' does not use it"},
        {"a tensor of a layer behind those that are left out",
         {"llama.block_count", "blk.3.attn_q.weight", 2, {64, 64}, keys_layer_after},
         RN_E_FORMAT,
         "tensor blk.3.attn_q.weight: architecture 'llama' does not use it"},
        {"a tensor that nothing uses before a layer that is left out",
         {"llama.block_count", "blk.1.nextn.eh_proj.weight", 2, {128, 64}, keys_layer_after},
         RN_E_FORMAT,
         "tensor blk.1.nextn.eh_proj.weight: architecture 'llama' does not use it"},
        {"another architecture",
         {"general.architecture", NULL, 0, {0}, keys_unknown_arch},
         RN_E_UNSUPPORTED,
         "tiny.gguf: architecture 'mamba9' (general.type 'model') is not supported; nearest: mamba2, mamba; docs/models.md lists all"},
        {"an encoder-decoder",
         {"general.architecture", NULL, 0, {0}, keys_t5},
         RN_E_UNSUPPORTED,
         "tiny.gguf: architecture 't5' is not supported: it is an encoder-decoder, whose decoder reads another text's rows"},
        {"a diffusion model",
         {"general.architecture", NULL, 0, {0}, keys_diffusion},
         RN_E_UNSUPPORTED,
         "tiny.gguf: architecture 'llada-moe' is not supported: it is a diffusion model"},
        {"a projector",
         {.keys = keys_projector},
         RN_E_UNSUPPORTED,
         "tiny.gguf: general.type is 'mmproj', not a model that generates text (architecture 'llama')"},
        {"experts without a router",
         {.keys = keys_experts},
         RN_E_FORMAT,
         "tiny.gguf: tensor blk.0.ffn_gate_inp.weight is missing: architecture 'llama' needs it with shape [64, 8]"},
    };
    const struct tiny_model m = tiny();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rn_error err = {0};
        check_note("%s", rows[i].why);
        CHECK_FAILS(build(&rows[i].c, &m, &err), rows[i].status, &err);
        CHECK_HAS(err.text, rows[i].text);
    }
}

TEST(a_file_with_a_vocabulary_alone_is_refused_with_what_it_serves) {
    struct gguf_builder b;
    struct model *model = NULL;
    package *pkg = NULL;
    rn_error err = {0};
    size_t n;
    gb_begin(&b, 3);
    gb_str(&b, "general.architecture", "llama");
    gb_str(&b, "tokenizer.ggml.model", "gpt2");
    gb_str_array(&b, "tokenizer.ggml.tokens", (const char *const[]){"a", "b"}, 2);
    gb_array(&b, "tokenizer.ggml.token_type", GB_I32, (const int32_t[]){1, 1}, 2, 4);
    gb_str_array(&b, "tokenizer.ggml.merges", NULL, 0);
    uint8_t *bytes = gb_finish(&b, &n);
    if (CHECK_OK(package_from_bytes("vocab.gguf", bytes, n, &pkg, &err), &err)) {
        CHECK_FAILS(model_build(pkg, &model, &err), RN_E_UNSUPPORTED, &err);
        CHECK_HAS(err.text, "vocab.gguf: holds only a vocabulary: it works with tokenize, detokenize and info only");
    }
    package_close(pkg);
    free(bytes);
}

TEST(what_files_may_leave_out_or_add_without_harm_is_accepted) {
    static const struct {
        const char *why;
        struct change c;
    } rows[] = {
        {"nothing changed", {0}},
        {"a head of its own", {NULL, "output.weight", 2, {64, 40}, NULL}},
        {"one bias among none", {NULL, "blk.1.ffn_up.bias", 1, {96}, NULL}},
        {"frequencies that an old converter wrote out", {NULL, "blk.0.attn_rot_embd.weight", 1, {8}, NULL}},
        {"a layer that predicts further tokens",
         {"llama.block_count", "blk.2.nextn.eh_proj.weight", 2, {128, 64}, keys_layer_after}},
    };
    const struct tiny_model m = tiny();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rn_error err = {0};
        check_note("%s", rows[i].why);
        CHECK_OK(build(&rows[i].c, &m, &err), &err);
    }
}

// Programs.

struct built {
    uint8_t *bytes;
    package *pkg;
    struct model *model;
    const struct program *p;
};

static bool built_open(struct built *b, const struct tiny_model *m, const struct change *c) {
    rn_error err = {0};
    size_t n;
    *b = (struct built){.bytes = changed_bytes(c, m, &n)};
    if (!CHECK_OK(package_from_bytes("tiny.gguf", b->bytes, n, &b->pkg, &err), &err)) return false;
    if (!CHECK_OK(model_build(b->pkg, &b->model, &err), &err)) return false;
    b->p = model_program(b->model);
    return true;
}

static void built_close(struct built *b) {
    model_destroy(b->model);
    package_close(b->pkg);
    free(b->bytes);
}

TEST(a_program_has_the_ops_of_each_layer_and_every_buffer_as_wide_as_its_ops_need) {
    struct built b;
    struct tiny_model m = tiny();
    m.biases = m.own_head = true;
    if (built_open(&b, &m, &(struct change){0})) {
        const struct program *p = b.p;
        size_t count[OP_N_KINDS] = {0}, n_biases = 0;
        for (size_t i = 0; i < p->n_ops; i++) {
            const struct op *o = &p->ops[i];
            count[o->kind]++;
            n_biases += o->kind == OP_LINEAR && o->weights.vec;
            check_note("op %zu: %s", i, op_kind_name(o->kind));
            CHECK(o->dst < 0 || p->rows[o->dst] == o->rows);
            if (o->kind != OP_LINEAR) continue;
            CHECK_INT(p->width[o->src], p->matrices[o->weights.matrix].k);
            CHECK_INT(p->width[o->dst], p->matrices[o->weights.matrix].n_out);
        }
        check_note("two layers");
        CHECK_INT(count[OP_LINEAR], 2 * 7 + 1);
        CHECK_INT(n_biases, 2 * 7);
        CHECK_INT(count[OP_ATTEND], 2);
        CHECK_INT(count[OP_RMS_NORM], 5);
        CHECK_INT(count[OP_GATHER], 1);
        CHECK_INT(p->n_matrices, 2 * 7 + 2);
        CHECK_INT(p->width[p->logits], 40);
        CHECK_INT(p->width[p->hidden], 64);
        CHECK(p->kinds[0].scale == 0.25f); // heads of 16
    }
    built_close(&b);
}

TEST(a_tied_head_multiplies_by_the_embedding) {
    struct built b;
    const struct tiny_model m = tiny();
    if (built_open(&b, &m, &(struct change){0})) {
        const struct op *head = &b.p->ops[b.p->n_ops - 1], *embed = &b.p->ops[0];
        CHECK_INT(head->kind, OP_LINEAR);
        CHECK_INT(embed->kind, OP_EMBED);
        CHECK_INT(head->weights.matrix, embed->weights.matrix);
        CHECK_STR(b.p->matrices[head->weights.matrix].name, "token_embd.weight");
    }
    built_close(&b);
}

static void keys_linear(struct gguf_builder *b) {
    gb_str(b, "llama.rope.scaling.type", "linear");
    gb_f32(b, "llama.rope.scaling.factor", 4);
}

TEST(linear_rope_scaling_divides_the_frequencies_of_the_program) {
    struct built plain, scaled;
    const struct tiny_model m = tiny();
    const bool ok = built_open(&plain, &m, &(struct change){0});
    if (built_open(&scaled, &m, &(struct change){.keys = keys_linear}) && ok)
        for (int32_t i = 0; i < plain.p->ropes[0].n_rot / 2; i++)
            CHECK(scaled.p->ropes[0].inv_freq[i] == plain.p->ropes[0].inv_freq[i] / 4);
    built_close(&plain);
    built_close(&scaled);
}

TEST(rope_factors_of_a_file_divide_the_frequencies_of_the_program) {
    struct built plain, with;
    struct tiny_model m = tiny();
    const bool ok = built_open(&plain, &m, &(struct change){0});
    m.rope_freqs = true;
    if (built_open(&with, &m, &(struct change){0}) && ok) {
        const struct tensor_view *t = package_tensor(with.pkg, "rope_freqs.weight");
        float factor;
        for (int32_t i = 0; i < plain.p->ropes[0].n_rot / 2; i++) {
            memcpy(&factor, t->data + 4 * i, sizeof factor);
            CHECK(factor > 0.5f);
            CHECK(fabsf(with.p->ropes[0].inv_freq[i] * factor / plain.p->ropes[0].inv_freq[i] - 1) < 1e-6f);
        }
    }
    built_close(&plain);
    built_close(&with);
}

static rn_status build_and_drop(void *user) {
    const struct built *b = user;
    struct model *m = NULL;
    const rn_status st = model_build(b->pkg, &m, NULL);
    CHECK((st == RN_OK) == (m != NULL));
    model_destroy(m);
    return st;
}

TEST(every_failed_allocation_of_a_build_is_reported_and_leaks_nothing) {
    struct built b;
    struct tiny_model m = tiny();
    m.biases = m.rope_freqs = true;
    if (built_open(&b, &m, &(struct change){0}))
        CHECK(check_each_failed_allocation(build_and_drop, &b, __FILE__, __LINE__));
    built_close(&b);
}
