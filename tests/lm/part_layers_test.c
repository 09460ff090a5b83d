// tests/lm/part_layers_test.c - models without some of their layers, in the same weights.
#include "model/model_private.h"
#include "tests/check.h"
#include "tests/support/arch_subjects.h"
#include "tests/support/lm_rig.h"
#include <stdlib.h>
#include <string.h>

enum { N = 9, VOCAB = 50 };

static struct rig_options options(void) {
    struct rig_options o = rig_defaults();
    o.codec = KV_F32;
    return o;
}

static bool open_subject(struct rig *r, const struct arch_model *like) {
    struct arch_model m = *like;
    const struct rig_options o = options();
    size_t n;
    m.n_vocab = VOCAB, m.type = TENSOR_F32, m.seed = 3;
    uint8_t *const bytes = arch_model_bytes(&m, &n);
    return rig_open_bytes(r, bytes, n, &o);
}

static bool open_layers(struct rig *part, const struct rig *base, const int32_t *layers, int32_t n) {
    const struct rig_options o = options();
    const struct part_spec spec = {.kind = PART_LAYERS, .layers = layers, .n_layers = n};
    return rig_open_part(part, base, NULL, &spec, &o);
}

static float *logits_of(struct rig *r, int32_t n_step) {
    int32_t tokens[N];
    float *const out = new_floats((size_t)N * (size_t)r->lm->n_vocab);
    random_tokens(tokens, N, VOCAB, 7);
    CHECK(rig_append_by(r, rig_seq(r), tokens, N, n_step, out));
    return out;
}

TEST(with_all_layers_each_architecture_gives_its_own_bits) {
    int n_refused = 0;
    for (size_t s = 0; s < N_ARCH_SUBJECTS; s++) {
        char name[ARCH_SUBJECT_NAME];
        struct rig base, part = {0};
        rn_error err = {0};
        struct model *built;
        int32_t all[64];
        arch_subject_name(s, name);
        check_note("%s", name);
        for (int32_t i = 0; i < 64; i++) all[i] = i;
        if (!open_subject(&base, &arch_subjects[s].m)) return;
        const int32_t n_layer = package_hparams(base.pkg)->n_layer;
        const struct part_spec spec = {.kind = PART_LAYERS, .layers = all, .n_layers = n_layer};
        const rn_status st = model_build_part(NULL, &spec, base.model, &built, &err);
        if (st != RN_OK) {
            CHECK_INT(st, RN_E_UNSUPPORTED);
            CHECK_HAS(err.text, "its layers have embeddings of their own");
            n_refused++;
        } else {
            const struct program *const p = model_program(built);
            for (size_t i = 0; i < p->n_matrices; i++) CHECK(p->matrices[i].is_borrowed);
            model_destroy(built);
            if (open_layers(&part, &base, all, n_layer)) {
                float *const own = logits_of(&base, 4), *const got = logits_of(&part, 3);
                CHECK_MEM(got, own, (size_t)N * (size_t)base.lm->n_vocab * sizeof *own);
                free(own), free(got);
            }
            rig_close(&part);
        }
        rig_close(&base);
    }
    CHECK(n_refused > 0 && n_refused < 4);
}

#define LLAMA                                                                                                        \
    "block_count=4 context_length=256 embedding_length=64 feed_forward_length=96 attention.head_count=4 "            \
    "attention.head_count_kv=2 attention.layer_norm_rms_epsilon=1e-5"
static const struct arch_model llama = {"llama",
                                        LLAMA,
                                        .optional = "ffn_gate.weight ffn_up.weight ffn_down.weight",
                                        .n_vocab = VOCAB,
                                        .type = TENSOR_F32,
                                        .seed = 3};

// A layer that adds nothing.
static void silence(uint8_t *bytes, size_t n, int32_t layer) {
    static const char *const last[] = {"attn_output", "ffn_down"};
    package *pkg;
    rn_error err = {0};
    if (!CHECK_OK(package_from_bytes("silent", bytes, n, &pkg, &err), &err)) return;
    for (int i = 0; i < 2; i++) {
        char name[64];
        snprintf(name, sizeof name, "blk.%d.%s.weight", layer, last[i]);
        const struct tensor_view *const t = package_tensor(pkg, name);
        if (CHECK(t)) memset(bytes + (t->data - bytes), 0, t->n_bytes);
    }
    package_close(pkg);
}

TEST(a_layer_that_is_left_out_is_one_that_adds_nothing) {
    static const struct {
        int32_t n, layers[3], n_silent, silent[3];
    } rows[] = {{3, {0, 1, 3}, 1, {2}}, {2, {1, 3}, 2, {0, 2}}, {1, {0}, 3, {1, 2, 3}}, {2, {0, 1}, 2, {2, 3}}};
    const struct rig_options o = options();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct rig base, part = {0}, silent = {0};
        size_t n, n_same;
        uint8_t *const bytes = arch_model_bytes(&llama, &n), *const changed = arch_model_bytes(&llama, &n_same);
        for (int32_t k = 0; k < rows[i].n_silent; k++) silence(changed, n, rows[i].silent[k]);
        check_note("row %zu", i);
        if (CHECK_INT(n, n_same) && rig_open_bytes(&base, bytes, n, &o) && rig_open_bytes(&silent, changed, n, &o) &&
            open_layers(&part, &base, rows[i].layers, rows[i].n)) {
            float *const want = logits_of(&silent, 4), *const got = logits_of(&part, 4),
                         *const own = logits_of(&base, 4);
            CHECK_MEM(got, want, N * VOCAB * sizeof *want);
            CHECK(memcmp(got, own, N * VOCAB * sizeof *own) != 0);
            free(want), free(got), free(own);
        }
        rig_close(&part), rig_close(&silent), rig_close(&base);
    }
}

TEST(layers_that_cannot_be_left_out_are_named) {
    static const struct {
        int32_t n, layers[4];
        const char *why;
    } rows[] = {{0, {0}, "0 of its 4 layers, at least 1"},
                {5, {0}, "5 of its 4 layers"},
                {1, {4}, "layer 4: the model has 0..3"},
                {1, {-1}, "layer -1: the model has 0..3"},
                {2, {1, 1}, "layer 1: the model has 0..3, each named once, in order"},
                {2, {2, 1}, "layer 1: the model has 0..3, each named once, in order"}};
    struct rig base;
    if (!open_subject(&base, &llama)) return;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct part_spec spec = {.kind = PART_LAYERS, .layers = rows[i].layers, .n_layers = rows[i].n};
        struct model *built;
        rn_error err = {0};
        check_note("row %zu", i);
        CHECK_FAILS(model_build_part(NULL, &spec, base.model, &built, &err), RN_E_ARG, &err);
        CHECK_HAS(err.text, rows[i].why);
        CHECK(!built);
    }
    rig_close(&base);
}
