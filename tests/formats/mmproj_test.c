// tests/formats/mmproj_test.c - vision parts in GGUF files: llama.cpp's forms, older and newer, without runnel's own keys; and what is refused.
#include "base/mem.h"
#include "formats/vision/mmproj.h"
#include "tests/check.h"
#include "tests/support/gguf_builder.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N(rows) (sizeof(rows) / sizeof *(rows))

enum form {
    FORM_MLP,
    FORM_OLDER,
    FORM_IDEFICS3,
    FORM_QWEN2VL,
    FORM_GEMMA3,
    FORM_INTERNVL,
    FORM_PIXTRAL,
    FORM_MISTRAL3,
    FORM_QWEN25VL,
    FORM_QWEN3VL
};
enum { WIDTH = 8, FF = 12, TEXT = 6, PATCH = 2, SIDE = 4, LAYERS = 2 };

struct changed {
    const char *why;
    enum form form;
    const char *omit; // a key or tensor
    void (*add)(struct gguf_builder *b);
    const char *want; // of the error
};

static void tensor(struct gguf_builder *b, const char *name, uint32_t n_dims, uint64_t a, uint64_t c, uint64_t d,
                   uint64_t e) {
    static const float numbers[4096];
    const uint64_t dims[] = {a, c, d, e};
    uint64_t n = 1;
    for (uint32_t i = 0; i < n_dims; i++) n *= dims[i];
    gb_tensor(b, name, 0, n_dims, dims, numbers, (size_t)n * sizeof *numbers);
}

static void both(struct gguf_builder *b, const char *name, uint64_t n_in, uint64_t n_out) {
    char full[96];
    snprintf(full, sizeof full, "%s.weight", name);
    tensor(b, full, n_in ? 2 : 1, n_in ? n_in : n_out, n_out, 1, 1);
    snprintf(full, sizeof full, "%s.bias", name);
    tensor(b, full, 1, n_out, 1, 1, 1);
}

static void add_layers(struct gguf_builder *b, enum form form) {
    static const char *const heads[] = {"attn_q", "attn_k", "attn_v", "attn_out"};
    char name[64];
    for (int l = 0; l < LAYERS; l++) {
        for (int i = 1; i <= 2; i++) snprintf(name, sizeof name, "v.blk.%d.ln%d", l, i), both(b, name, 0, WIDTH);
        for (int i = form == FORM_QWEN3VL ? 3 : 0; i < 4; i++)
            snprintf(name, sizeof name, "v.blk.%d.%s", l, heads[i]), both(b, name, WIDTH, WIDTH);
        if (form == FORM_QWEN3VL)
            snprintf(name, sizeof name, "v.blk.%d.attn_qkv", l), both(b, name, WIDTH, 3 * WIDTH);
        snprintf(name, sizeof name, "v.blk.%d.%s", l, form == FORM_OLDER ? "ffn_down" : "ffn_up");
        both(b, name, WIDTH, FF);
        snprintf(name, sizeof name, "v.blk.%d.%s", l, form == FORM_OLDER ? "ffn_up" : "ffn_down");
        both(b, name, FF, WIDTH);
    }
}

static void add_keys(struct gguf_builder *b, enum form form) {
    static const char *const types[] = {"mlp",      "mlp",     "idefics3", "qwen2vl_merger",   "gemma3",
                                        "internvl", "pixtral", "pixtral",  "qwen2.5vl_merger", "qwen3vl_merger"};
    static const float mean[] = {.5F, .5F, .5F}, std[] = {.5F, .25F, .5F};
    gb_str(b, "general.architecture", "clip");
    gb_bool(b, "clip.has_vision_encoder", true);
    if (form == FORM_OLDER) gb_bool(b, "clip.has_llava_projector", true);
    if (form != FORM_OLDER) gb_str(b, "clip.projector_type", types[form]);
    gb_bool(b, "clip.use_gelu", form == FORM_IDEFICS3 || form == FORM_GEMMA3 || form == FORM_QWEN3VL);
    if (form >= FORM_PIXTRAL && form < FORM_QWEN3VL) gb_bool(b, "clip.use_silu", true);
    if (form == FORM_QWEN25VL) gb_u32(b, "clip.vision.n_wa_pattern", 2), gb_u32(b, "clip.vision.window_size", 9);
    if (form == FORM_QWEN3VL) gb_array(b, "clip.vision.is_deepstack_layers", GB_BOOL, (const uint8_t[]){0, 1}, 2, 1);
    if (form == FORM_MISTRAL3) gb_u32(b, "clip.vision.spatial_merge_size", 2);
    if (form == FORM_GEMMA3) gb_u32(b, "clip.vision.projector.scale_factor", 2);
    gb_u32(b, "clip.vision.image_size", SIDE);
    gb_u32(b, "clip.vision.patch_size", PATCH);
    gb_u32(b, "clip.vision.embedding_length", WIDTH);
    gb_u32(b, "clip.vision.feed_forward_length", FF);
    gb_u32(b, "clip.vision.block_count", LAYERS);
    gb_u32(b, "clip.vision.attention.head_count", 2);
    gb_f32(b, "clip.vision.attention.layer_norm_epsilon", 1e-5F);
    gb_u32(b, "clip.vision.projection_dim", TEXT);
    gb_array(b, "clip.vision.image_mean", GB_F32, mean, 3, sizeof *mean);
    gb_array(b, "clip.vision.image_std", GB_F32, std, 3, sizeof *std);
}

static uint8_t *build(const struct changed *c, size_t *n) {
    struct gguf_builder b;
    gb_begin(&b, 3);
    b.omit = c->omit;
    add_keys(&b, c->form);
    tensor(&b, "v.patch_embd.weight", 4, PATCH, PATCH, 3, WIDTH);
    if (c->form == FORM_QWEN3VL) {
        tensor(&b, "v.position_embd.weight", 2, WIDTH, 9, 1, 1);
        tensor(&b, "v.patch_embd.bias", 1, WIDTH, 1, 1, 1);
        both(&b, "v.deepstack.1.norm", 0, 4 * WIDTH);
        both(&b, "v.deepstack.1.fc1", 4 * WIDTH, 7);
        both(&b, "v.deepstack.1.fc2", 7, TEXT);
    }
    if (c->form == FORM_QWEN2VL || c->form == FORM_QWEN25VL || c->form == FORM_QWEN3VL) {
        tensor(&b, "v.patch_embd.weight.1", 4, PATCH, PATCH, 3, WIDTH);
    } else {
        tensor(&b, "v.patch_embd.bias", 1, WIDTH, 1, 1, 1);
        const uint64_t has_class = c->form == FORM_MLP || c->form == FORM_OLDER || c->form == FORM_INTERNVL;
        tensor(&b, "v.position_embd.weight", 2, WIDTH, SIDE / PATCH * (SIDE / PATCH) + has_class, 1, 1);
    }
    if (c->form == FORM_MLP || c->form == FORM_OLDER)
        tensor(&b, "v.class_embd", 1, WIDTH, 1, 1, 1), both(&b, "v.pre_ln", 0, WIDTH);
    if (c->form == FORM_INTERNVL) tensor(&b, "v.class_embd", 1, WIDTH, 1, 1, 1);
    both(&b, "v.post_ln", 0, WIDTH);
    add_layers(&b, c->form);
    if (c->form == FORM_IDEFICS3) {
        tensor(&b, "mm.model.fc.weight", 2, 4 * WIDTH, TEXT, 1, 1);
    } else if (c->form == FORM_GEMMA3) {
        tensor(&b, "mm.input_projection.weight", 2, TEXT, WIDTH, 1, 1);
        tensor(&b, "mm.soft_emb_norm.weight", 1, WIDTH, 1, 1, 1);
    } else if (c->form == FORM_PIXTRAL || c->form == FORM_MISTRAL3) {
        both(&b, "mm.1", WIDTH, 7);
        both(&b, "mm.2", 7, TEXT);
        tensor(&b, "v.token_embd.img_break", 1, TEXT, 1, 1, 1);
        if (c->form == FORM_MISTRAL3) tensor(&b, "mm.patch_merger.weight", 2, 4 * WIDTH, WIDTH, 1, 1);
    } else if (c->form == FORM_INTERNVL) {
        both(&b, "mm.model.mlp.0", 0, 4 * WIDTH);
        both(&b, "mm.model.mlp.1", 4 * WIDTH, 7);
        both(&b, "mm.model.mlp.3", 7, TEXT);
    } else {
        both(&b, "mm.0", c->form == FORM_QWEN2VL || c->form >= FORM_QWEN25VL ? 4 * WIDTH : WIDTH, 7);
        both(&b, "mm.2", 7, TEXT);
    }
    b.omit = NULL; // what is added may replace what was left out
    if (c->add) c->add(&b);
    return gb_finish(&b, n);
}

static rn_status open_changed(const struct changed *c, struct vision_files *v, uint8_t **file, rn_error *err) {
    size_t n;
    *file = build(c, &n);
    return mmproj_from_bytes("mmproj.gguf", *file, n, v, err);
}

static void feature_layer(struct gguf_builder *b) {
    gb_array(b, "clip.vision.feature_layer", GB_I32, (int32_t[]){1}, 1, 4);
}
static void pinpoints(struct gguf_builder *b) {
    gb_array(b, "clip.vision.image_grid_pinpoints", GB_I32, (int32_t[]){8, 4, 4, 12}, 4, 4);
    tensor(b, "v.image_newline", 1, TEXT, 1, 1, 1);
}
static void sound(struct gguf_builder *b) { tensor(b, "a.blk.0.ln1.weight", 1, 3, 1, 1, 1); }

TEST(files_of_llama_cpp_have_a_tower_and_a_projector) {
    static const struct {
        struct changed file;
        const char *family, *tower, *projector;
        int32_t n_layer;
        enum tiling_kind tiling;
        size_t n_steps;
    } rows[] = {
        {{"mlp", FORM_MLP}, "LLaVA-1.5", "vit_gelu_quick", "mlp_gelu", 2, TILING_NONE, 2},
        {{"older names", FORM_OLDER}, "LLaVA-1.5", "vit_gelu_quick", "mlp_gelu", 2, TILING_NONE, 2},
        {{"layers", FORM_MLP, .add = feature_layer}, "LLaVA-1.5", "vit_gelu_quick", "mlp_gelu", 1, TILING_NONE, 2},
        {{"tiles", FORM_MLP, .add = pinpoints}, "LLaVA-NeXT", "vit_gelu_quick", "mlp_gelu", 2, TILING_BEST_SIZE, 0},
        {{"idefics3", FORM_IDEFICS3}, "SmolVLM", "vit_gelu_tanh", "linear", 2, TILING_SPLIT, 1},
        {{"with sound", FORM_IDEFICS3, .add = sound}, "SmolVLM", "vit_gelu_tanh", "linear", 2, TILING_SPLIT, 1},
        {{"gemma3", FORM_GEMMA3}, "Gemma 3", "vit_gelu_tanh", "norm_linear", 2, TILING_NONE, 1},
        {{"qwen2.5vl", FORM_QWEN25VL}, "Qwen2.5-VL", "qwen25_vit_split", "mlp_gelu", 2, TILING_NONE, 1},
        {{"qwen3vl", FORM_QWEN3VL}, "Qwen3-VL", "qwen3_vit_gelu_tanh", "mlp_gelu", 2, TILING_NONE, 1},
        {{"pixtral", FORM_PIXTRAL}, "Pixtral", "pixtral_vit_silu_pairs", "mlp_gelu", 2, TILING_NONE, 1},
        {{"mistral3", FORM_MISTRAL3}, "Mistral 3", "pixtral_vit_silu_pairs", "merge_mlp_gelu", 2, TILING_NONE, 1},
        {{"internvl", FORM_INTERNVL}, "InternVL", "internvit", "mlp_gelu", 2, TILING_CLOSEST, 0},
        {{"internvl without a mean", FORM_INTERNVL, "v.blk.0.ln1.bias"},
         "InternVL",
         "internvit_rms",
         "mlp_gelu",
         2,
         TILING_CLOSEST,
         0},
        {{"qwen2vl", FORM_QWEN2VL}, "Qwen2-VL", "qwen2_vit_split", "mlp_gelu", 2, TILING_NONE, 1},
    };
    for (size_t i = 0; i < N(rows); i++) {
        struct vision_files v;
        rn_error err = {0};
        uint8_t *file;
        check_note("%s", rows[i].file.why);
        if (CHECK_OK(open_changed(&rows[i].file, &v, &file, &err), &err)) {
            const struct tensor_view *const patches = package_tensor(v.tower, "v.patch_embd.weight"),
                                            *const up = package_tensor(v.tower, "v.blk.0.ffn_up.weight");
            CHECK_STR(v.info.family, rows[i].family);
            CHECK_STR(package_hparams(v.tower)->arch, rows[i].tower);
            CHECK_STR(package_hparams(v.projector)->arch, rows[i].projector);
            CHECK_INT(package_hparams(v.tower)->n_layer, rows[i].n_layer);
            CHECK_INT(v.info.pipeline.tiling.kind, rows[i].tiling);
            CHECK_INT(v.info.pipeline.n_steps, rows[i].n_steps);
            CHECK(patches && patches->n_dims == 2 && patches->ne[0] == (uint64_t)v.info.n_numbers);
            CHECK(up && up->ne[1] == FF);
            CHECK_INT(v.info.n_embd_out, TEXT);
            CHECK_INT(v.info.has_newline, rows[i].tiling == TILING_BEST_SIZE);
            CHECK_INT(v.info.marks != NULL, (rows[i].file.form >= FORM_GEMMA3 && rows[i].file.form < FORM_QWEN25VL) ||
                                                rows[i].file.form == FORM_IDEFICS3);
            vision_files_close(&v);
        }
        free(file);
    }
}

// Its rows hold a channel of the first frame, then of the second.
TEST(the_two_frames_of_a_patch_become_one_matrix) {
    static const struct changed plain = {"frames", FORM_QWEN2VL};
    struct vision_files v;
    rn_error err = {0};
    size_t n;
    uint8_t *const file = build(&plain, &n);
    if (CHECK_OK(mmproj_from_bytes("mmproj.gguf", file, n, &v, &err), &err)) {
        const struct tensor_view *const t = package_tensor(v.tower, "v.patch_embd.weight");
        CHECK(t && t->ne[0] == 2 * 3 * PATCH * PATCH && t->ne[1] == WIDTH && t->n_bytes == 4 * 24 * WIDTH);
        CHECK(!package_tensor(v.tower, MMPROJ_PATCH_SECOND));
        vision_files_close(&v);
    }
    free(file);
}

static void other_type(struct gguf_builder *b) { gb_str(b, "clip.projector_type", "resampler"); }
static void no_vision(struct gguf_builder *b) { gb_bool(b, "clip.has_vision_encoder", false); }
static void other_arch(struct gguf_builder *b) { gb_str(b, "general.architecture", "llama"); }
static void layers(struct gguf_builder *b) {
    gb_array(b, "clip.vision.feature_layer", GB_I32, (int32_t[]){1, 2}, 2, 4);
}
static void far_layer(struct gguf_builder *b) {
    gb_array(b, "clip.vision.feature_layer", GB_I32, (int32_t[]){3}, 1, 4);
}
static void odd_pinpoints(struct gguf_builder *b) {
    gb_array(b, "clip.vision.image_grid_pinpoints", GB_I32, (int32_t[]){8, 4, 4}, 3, 4);
}
static void other_pinpoints(struct gguf_builder *b) {
    gb_array(b, "clip.vision.image_grid_pinpoints", GB_I32, (int32_t[]){8, 5}, 2, 4);
}
static void silu(struct gguf_builder *b) { gb_bool(b, "clip.use_silu", true); }
static void processor(struct gguf_builder *b) { gb_str(b, MMPROJ_PROCESSOR, "{"); }
static void tower(struct gguf_builder *b) { gb_str(b, MMPROJ_TOWER, "vit_x"); }
static void heads(struct gguf_builder *b) { gb_u32(b, "clip.vision.attention.head_count", 3); }
static void eps(struct gguf_builder *b) { gb_f32(b, "clip.vision.attention.layer_norm_epsilon", 0); }
static void side(struct gguf_builder *b) { gb_u32(b, "clip.vision.image_size", 1); }
static void std_zero(struct gguf_builder *b) {
    gb_array(b, "clip.vision.image_std", GB_F32, (float[]){1, 0, 1}, 3, 4);
}

static void seven_places(struct gguf_builder *b) { tensor(b, "v.position_embd.weight", 2, WIDTH, 7, 1, 1); }
static void three_layers(struct gguf_builder *b) {
    gb_array(b, "clip.vision.is_deepstack_layers", GB_BOOL, (const uint8_t[]){0, 1, 0}, 3, 1);
}
static void another_layer(struct gguf_builder *b) {
    gb_array(b, "clip.vision.is_deepstack_layers", GB_BOOL, (const uint8_t[]){1, 1}, 2, 1);
}
static void small_window(struct gguf_builder *b) { gb_u32(b, "clip.vision.window_size", 3); }

TEST(what_is_not_supported_or_wrong_is_refused_by_name) {
    static const struct changed rows[] = {
        {"a model", FORM_MLP, "general.architecture", other_arch, "'llama' is no vision part (clip)"},
        {"no architecture", FORM_MLP, "general.architecture", NULL, "key general.architecture"},
        {"projector", FORM_MLP, "clip.projector_type", other_type,
         "'resampler' is not supported: mlp, idefics3, gemma3, internvl, pixtral, qwen2vl_merger, "
         "qwen2.5vl_merger and qwen3vl_merger are"},
        {"for sound alone", FORM_MLP, "clip.has_vision_encoder", no_vision, "key clip.has_vision_encoder"},
        {"silu", FORM_MLP, NULL, silu, "key clip.use_silu"},
        {"layers", FORM_MLP, NULL, layers, "features of 2 layers"},
        {"a layer behind the last", FORM_MLP, NULL, far_layer, "features of layer 3 of 2 layers"},
        {"pairs", FORM_MLP, NULL, odd_pinpoints, "3 numbers: must be 1 to 64 pairs"},
        {"tiles", FORM_MLP, NULL, other_pinpoints, "5 x 8 is no whole number of tiles of 4"},
        {"processor", FORM_MLP, NULL, processor, "key " MMPROJ_PROCESSOR},
        {"heads", FORM_MLP, "clip.vision.attention.head_count", heads, "heads are not of one width"},
        {"eps", FORM_MLP, "clip.vision.attention.layer_norm_epsilon", eps, "layer_norm_epsilon"},
        {"side", FORM_MLP, "clip.vision.image_size", side, "0 patches, 1..16383 are read"},
        {"deviation", FORM_MLP, "clip.vision.image_std", std_zero, "key clip.vision.image_std: 0 is outside"},
        {"activation of qwen2.5vl", FORM_QWEN25VL, "clip.use_silu", NULL, "is not supported with qwen2.5vl_merger"},
        {"windows", FORM_QWEN25VL, "clip.vision.n_wa_pattern", NULL, "key clip.vision.n_wa_pattern"},
        {"small windows", FORM_QWEN25VL, "clip.vision.window_size", small_window,
         "window_size: 3 pixels, blocks have 4"},
        {"activation of pixtral", FORM_PIXTRAL, "clip.use_silu", NULL,
         "key clip.use_gelu: is not supported with pixtral"},
        {"width", FORM_MLP, "clip.vision.embedding_length", NULL, "key clip.vision.embedding_length"},
        {"a matrix of the projector", FORM_MLP, "mm.2.weight", NULL, "second matrix is missing"},
        {"places", FORM_QWEN3VL, "v.position_embd.weight", seven_places, "7 rows are no square"},
        {"more layers than there are", FORM_QWEN3VL, "clip.vision.is_deepstack_layers", three_layers,
         "3 layers of 2"},
        {"a layer without a projector", FORM_QWEN3VL, "clip.vision.is_deepstack_layers", another_layer,
         "the projector's first matrix is missing"},
        {"the second frame", FORM_QWEN2VL, MMPROJ_PATCH_SECOND, NULL, "tensor " MMPROJ_PATCH_SECOND ": is missing"},
        {"patches", FORM_QWEN2VL, "v.patch_embd.weight", NULL, "tensor v.patch_embd.weight: is missing"},
    };
    for (size_t i = 0; i < N(rows); i++) {
        struct vision_files v;
        rn_error err = {0};
        uint8_t *file;
        const long live = mem_live();
        check_note("%s", rows[i].why);
        CHECK(open_changed(&rows[i], &v, &file, &err) != RN_OK);
        CHECK_HAS(err.text, rows[i].want);
        CHECK_HAS(err.text, "mmproj.gguf: ");
        CHECK(!v.tower && !v.projector);
        CHECK_INT(mem_live(), live);
        free(file);
    }
    struct vision_files v;
    rn_error err = {0};
    static const struct changed unknown = {"architecture", FORM_MLP, NULL, tower, NULL};
    uint8_t *file;
    if (CHECK_OK(open_changed(&unknown, &v, &file, &err), &err)) { // who builds the program knows them
        CHECK_STR(package_hparams(v.tower)->arch, "vit_x");
        vision_files_close(&v);
    }
    free(file);
}

TEST(a_file_cut_at_any_byte_is_refused) {
    static const struct changed plain = {"sound", FORM_QWEN2VL};
    size_t n;
    uint8_t *const file = build(&plain, &n);
    for (size_t at = 0; at < n; at += at < 4000 ? 1 : 97) {
        struct vision_files v;
        rn_error err = {0};
        uint8_t *const cut = malloc(at ? at : 1);
        memcpy(cut, file, at);
        check_note("%zu of %zu bytes", at, n);
        CHECK(mmproj_from_bytes("mmproj.gguf", cut, at, &v, &err) != RN_OK && err.text[0] && !v.tower);
        free(cut);
    }
    free(file);
}

static rn_status open_and_close(void *user) {
    const struct changed *const c = user;
    struct vision_files v;
    uint8_t *file;
    const rn_status st = open_changed(c, &v, &file, NULL);
    if (st == RN_OK) vision_files_close(&v);
    free(file);
    return st;
}

TEST(every_allocation_may_fail) {
    struct changed c = {"sound", FORM_QWEN2VL};
    CHECK(check_each_failed_allocation(open_and_close, &c, __FILE__, __LINE__));
}
