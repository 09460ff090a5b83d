// tests/formats/vision_files_test.c - the vision part of a folder: a small LLaVA in memory, sound and spoiled.
#include "base/mem.h"
#include "formats/limits.h"
#include "formats/vision/vision_files.h"
#include "tests/check.h"
#include "tests/support/folder_builder.h"
#include <stdlib.h>
#include <string.h>

static const char config[] =
    "{\"architectures\": [\"LlavaForConditionalGeneration\"], \"vision_feature_layer\": -2, \"text_config\": {\"hidden_size\": 6},"
    "\"vision_config\": {\"model_type\": \"clip_vision_model\", \"hidden_size\": 8, \"intermediate_size\": 12,"
    "\"num_hidden_layers\": 2, \"num_attention_heads\": 2, \"image_size\": 4, \"patch_size\": 2}}";
static const char processor[] =
    "{\"image_processor_type\": \"CLIPImageProcessor\", \"size\": {\"shortest_edge\": 4}, "
    "\"crop_size\": {\"height\": 4, \"width\": 4}}";

#define TOWER "vision_tower.vision_model."
static void add_norm(struct st_builder *b, const char *name) {
    char full[256];
    snprintf(full, sizeof full, TOWER "%s.weight", name);
    st_tensor(b, full, 1, 8, 0);
    snprintf(full, sizeof full, TOWER "%s.bias", name);
    st_tensor(b, full, 1, 8, 0);
}

static void add_matrix(struct st_builder *b, const char *name, uint64_t n_out, uint64_t n_in) {
    char full[256];
    snprintf(full, sizeof full, "%s.weight", name);
    st_tensor(b, full, 2, n_out, n_in);
    snprintf(full, sizeof full, "%s.bias", name);
    st_tensor(b, full, 1, n_out, 0);
}

// Numbers that stay small: a folder whose tower is run, too.
static void add_layer(struct st_builder *b, int layer) {
    static const char *const heads[] = {"q_proj", "k_proj", "v_proj", "out_proj"};
    char name[128];
    for (int i = 1; i <= 2; i++) {
        snprintf(name, sizeof name, "encoder.layers.%d.layer_norm%d", layer, i);
        add_norm(b, name);
    }
    for (int i = 0; i < 4; i++) {
        snprintf(name, sizeof name, TOWER "encoder.layers.%d.self_attn.%s", layer, heads[i]);
        add_matrix(b, name, 8, 8);
    }
    snprintf(name, sizeof name, TOWER "encoder.layers.%d.mlp.fc1", layer);
    add_matrix(b, name, 12, 8);
    snprintf(name, sizeof name, TOWER "encoder.layers.%d.mlp.fc2", layer);
    add_matrix(b, name, 8, 12);
}

static void add_all(struct st_builder *b) {
    static const float patches[8 * 3 * 2 * 2];
    st_tensor(b, TOWER "embeddings.class_embedding", 1, 8, 0);
    st_bytes(b, TOWER "embeddings.patch_embedding.weight", "F32", "8,3,2,2", patches, sizeof patches);
    st_tensor(b, TOWER "embeddings.position_embedding.weight", 2, 5, 8);
    add_norm(b, "pre_layrnorm");
    add_norm(b, "post_layernorm");
    add_layer(b, 0);
    add_layer(b, 1);
    add_matrix(b, "multi_modal_projector.linear_1", 6, 8);
    add_matrix(b, "multi_modal_projector.linear_2", 6, 6);
    st_tensor(b, "language_model.model.norm.weight", 1, 6, 0); // of the text model
}

struct spoiled {
    const char *why;
    const char *from, *to; // in config.json
    const char *omit;      // a tensor
    void (*add)(struct st_builder *b);
    const char *want; // of the error
};

static rn_status open_spoiled(const struct spoiled *s, struct vision_files *v, uint8_t **weights, char **text,
                              rn_error *err) {
    struct st_builder b;
    size_t n;
    st_begin(&b);
    b.omit = s->omit;
    add_all(&b);
    if (s->add) s->add(&b);
    *weights = st_finish(&b, &n);
    const char *const at = s->from ? strstr(config, s->from) : NULL;
    if (s->from && !CHECK(at)) return RN_E_INTERNAL;
    *text = malloc(sizeof config + (s->to ? strlen(s->to) : 0));
    if (at)
        sprintf(*text, "%.*s%s%s", (int)(at - config), config, s->to, at + strlen(s->from));
    else
        strcpy(*text, config);
    const struct package_bytes files[] = {
        {"config.json", (const uint8_t *)*text, strlen(*text)},
        {"model.safetensors", *weights, n},
        {"preprocessor_config.json", (const uint8_t *)processor, sizeof processor - 1},
    };
    return vision_files_from_bytes("folder", files, 3, v, err);
}

TEST(a_llava_folder_has_a_tower_and_a_projector) {
    static const struct spoiled sound = {.why = "sound"};
    struct vision_files v;
    rn_error err = {0};
    uint8_t *weights;
    char *text;
    if (CHECK_OK(open_spoiled(&sound, &v, &weights, &text, &err), &err)) {
        const struct hparams *const h = package_hparams(v.tower);
        CHECK_STR(h->arch, "vit_gelu_quick");
        CHECK_INT(h->n_layer, 1); // hidden_states[-2] of two layers
        CHECK_INT(h->head_dim, 4);
        CHECK_INT(vision_most_rows(&v.info), 5);
        CHECK_INT(vision_most_out(&v.info), 4);
        CHECK_INT(v.info.n_embd_out, 6);
        CHECK(package_tensor(v.tower, "v.class_embd") && package_tensor(v.tower, "v.blk.0.attn_out.bias"));
        CHECK(!package_tensor(v.tower, "v.blk.1.ln1.weight") && !package_tensor(v.tower, "v.post_ln.weight"));
        const struct tensor_view *const t = package_tensor(v.tower, "v.patch_embd.weight");
        CHECK(t && t->ne[0] == 12 && t->ne[1] == 8);
        CHECK_INT(package_n_tensors(v.projector), 4);
        vision_files_close(&v);
    }
    free(weights);
    free(text);
}

static void add_unknown(struct st_builder *b) { st_tensor(b, TOWER "encoder.layers.0.gamma", 1, 8, 0); }
static void add_type(struct st_builder *b) {
    static const uint8_t zeros[8];
    st_bytes(b, TOWER "embeddings.patch_embedding.bias", "I8", "8", zeros, sizeof zeros);
}
static void add_shape(struct st_builder *b) {
    static const float zeros[8];
    st_bytes(b, TOWER "embeddings.patch_embedding.bias", "F32", "2,2,2", zeros, sizeof zeros);
}

TEST(what_is_not_supported_or_wrong_is_refused_by_name) {
    static const struct spoiled rows[] = {
        {"family", "LlavaForConditionalGeneration", "Blip2ForConditionalGeneration", NULL, NULL,
         "Blip2ForConditionalGeneration takes no pictures here"},
        {"a family with its reason", "LlavaForConditionalGeneration", "MllamaForConditionalGeneration", NULL, NULL,
         "MllamaForConditionalGeneration takes no pictures here: Llama 3.2 vision attends to pictures from layers"},
        {"a layout with its reason", "LlavaForConditionalGeneration", "InternVLChatModel", NULL, NULL,
         "InternVLChatModel takes no pictures here: InternVL in OpenGVLab's own layout; transformers' is read"},
        {"a class row in a map", "LlavaForConditionalGeneration",
         "LlavaNextForConditionalGeneration\"], \"vision_feature_select_strategy\": \"full\", \"x\": [\"", NULL, NULL,
         "LLaVA-NeXT: a class row in a map of tiles"},
        {"tiles without a bound", "LlavaForConditionalGeneration",
         "LlavaOnevisionForConditionalGeneration\"], \"vision_aspect_ratio\": \"anyres_max_0\", \"x\": [\"", NULL,
         NULL, "member vision_aspect_ratio: \"anyres_max_0\" is not supported: anyres_max_9"},
        {"means that do not fit",
         "LlavaForConditionalGeneration\"], \"vision_feature_layer\": -2, \"text_config\": "
         "{\"hidden_size\": 6},\"vision_config\": {\"model_type\": \"clip_vision_model",
         "Gemma3ForConditionalGeneration\"], \"mm_tokens_per_image\": 5, \"text_config\": {\"hidden_size\": "
         "6},\"vision_config\": {\"model_type\": \"siglip_vision_model",
         NULL, NULL, "member mm_tokens_per_image: 2 x 2 patches do not become 5 means"},
        {"blocks that do not fit", "LlavaForConditionalGeneration\"], \"vision_feature_layer\": -2",
         "InternVLForConditionalGeneration\"], \"downsample_ratio\": 0.3", NULL, NULL,
         "member downsample_ratio: 0.3 is not the inverse of a whole number"},
        {"all rows of a class tower", "LlavaForConditionalGeneration",
         "InternVLForConditionalGeneration\"], \"vision_feature_select_strategy\": \"full\", \"x\": [\"", NULL, NULL,
         "member vision_feature_select_strategy: \"full\" is not supported: default"},
        {"the first patch of a tower of any size", "clip_vision_model", "pixtral", NULL, NULL,
         "default would drop the first patch"},
        {"heads that rows and columns cannot share",
         "clip_vision_model\", \"hidden_size\": 8, \"intermediate_size\": 12,"
         "\"num_hidden_layers\": 2, \"num_attention_heads\": 2, \"image_size\": 4",
         "pixtral\", \"hidden_size\": 8, \"num_attention_heads\": 4, \"num_hidden_layers\": 2", NULL, NULL,
         "rows and columns rotate a multiple of 4"},
        {"windows smaller than a block",
         "LlavaForConditionalGeneration\"], \"vision_feature_layer\": -2, \"text_config\": "
         "{\"hidden_size\": 6},\"vision_config\": {\"model_type\": \"clip_vision_model",
         "Qwen2_5_VLForConditionalGeneration\"], \"vision_config\": {\"window_size\": 3, \"model_type\": \"x", NULL,
         NULL, "member window_size: 3 pixels, blocks have 4"},
        {"layers that are no numbers",
         "LlavaForConditionalGeneration\"], \"vision_feature_layer\": -2, \"text_config\": "
         "{\"hidden_size\": 6},\"vision_config\": {\"model_type\": \"clip_vision_model",
         "Qwen2_5_VLForConditionalGeneration\"], \"vision_config\": {\"fullatt_block_indexes\": [-1], \"model_type\": "
         "\"x",
         NULL, NULL, "member fullatt_block_indexes"},
        {"layers that do not ascend",
         "LlavaForConditionalGeneration\"], \"vision_feature_layer\": -2, \"text_config\": "
         "{\"hidden_size\": 6},\"vision_config\": {\"model_type\": \"clip_vision_model",
         "Qwen3VLForConditionalGeneration\"], \"vision_config\": {\"deepstack_visual_indexes\": [1, 1], \"model_type\": "
         "\"x",
         NULL, NULL, "member deepstack_visual_indexes: layer 1 is behind layer 1: they must ascend"},
        {"a layer that is not there",
         "LlavaForConditionalGeneration\"], \"vision_feature_layer\": -2, \"text_config\": "
         "{\"hidden_size\": 6},\"vision_config\": {\"model_type\": \"clip_vision_model",
         "Qwen3VLForConditionalGeneration\"], \"vision_config\": {\"depth\": 4, \"model_type\": \"x", NULL, NULL,
         "member deepstack_visual_indexes: layer 8 of 4"},
        {"places that are no square",
         "LlavaForConditionalGeneration\"], \"vision_feature_layer\": -2, \"text_config\": "
         "{\"hidden_size\": 6},\"vision_config\": {\"model_type\": \"clip_vision_model",
         "Qwen3VLForConditionalGeneration\"], \"vision_config\": {\"num_position_embeddings\": 8, \"model_type\": \"x",
         NULL, NULL, "member num_position_embeddings: 8 is no square"},
        {"a picture that is no square", "\"image_size\": 4", "\"image_size\": [4, 6]", NULL, NULL,
         "member image_size: 4 x 6, squares are read"},
        {"a class row among means", "LlavaForConditionalGeneration\"], \"vision_feature_layer\": -2",
         "Gemma3ForConditionalGeneration\"], \"mm_tokens_per_image\": 4", NULL, NULL, "a tower with a class row"},
        {"no class row to drop", "clip_vision_model", "siglip_vision_model", NULL, NULL,
         "default would drop the first patch"},
        {"no class", "\"architectures\": [\"LlavaForConditionalGeneration\"], ", "", NULL, NULL,
         "member architectures"},
        {"tower", "clip_vision_model", "dinov2", NULL, NULL, "\"dinov2\" is not supported: clip_vision_model"},
        {"no tower", "\"vision_config\"", "\"vision\"", NULL, NULL, "member vision_config: is missing"},
        {"tower of another kind", "\"model_type\": \"clip_vision_model\", ", "", NULL, NULL,
         "member model_type: is missing"},
        {"no text", "\"text_config\"", "\"text\"", NULL, NULL, "member text_config: is missing"},
        {"layers", "-2", "[-2, -1]", NULL, NULL, "features of several layers"},
        {"a layer before the first", "-2", "-3", NULL, NULL, "features of layer -3 of 2 layers"},
        {"a layer behind the last", "-2", "3", NULL, NULL, "features of layer 3 of 2 layers"},
        {"a layer that is no number", "-2", "\"-2\"", NULL, NULL, "member vision_feature_layer"},
        {"activation", "\"hidden_size\": 8", "\"hidden_act\": \"relu\", \"hidden_size\": 8", NULL, NULL,
         "member hidden_act: \"relu\" is not supported: quick_gelu"},
        {"heads", "\"num_attention_heads\": 2", "\"num_attention_heads\": 3", NULL, NULL,
         "heads are not of one width"},
        {"no heads", "\"num_attention_heads\": 2", "\"num_attention_heads\": 0", NULL, NULL,
         "member num_attention_heads"},
        {"layers without end", "\"num_hidden_layers\": 2", "\"num_hidden_layers\": 1025", NULL, NULL,
         "member num_hidden_layers"},
        {"width", "\"hidden_size\": 8", "\"hidden_size\": 65537", NULL, NULL, "member hidden_size"},
        {"patches", "\"patch_size\": 2", "\"patch_size\": 5", NULL, NULL, "0 patches, 1..16383 are read"},
        {"more patches", "\"image_size\": 4", "\"image_size\": 256", NULL, NULL, "16384 patches, 1..16383 are read"},
        {"a larger patch", "\"patch_size\": 2", "\"patch_size\": 65", NULL, NULL, "member patch_size"},
        {"channels", "\"image_size\": 4", "\"image_size\": 4, \"num_channels\": 1", NULL, NULL,
         "member num_channels: 1, 3 are read"},
        {"eps", "\"image_size\": 4", "\"image_size\": 4, \"layer_norm_eps\": 0", NULL, NULL, "0"},
        {"strategy", "\"vision_feature_layer\": -2", "\"vision_feature_select_strategy\": \"last\"", NULL, NULL,
         "member vision_feature_select_strategy: \"last\" is not supported: default, full"},
        {"projector", "\"vision_feature_layer\": -2", "\"projector_hidden_act\": \"silu\"", NULL, NULL,
         "member projector_hidden_act: \"silu\""},
        {"text model", "\"hidden_size\": 6", "\"hidden_size\": 7", NULL, NULL,
         "vectors of 6 numbers, the text model reads 7"},
        {"a matrix is missing", NULL, NULL, "multi_modal_projector.linear_2.weight", NULL,
         "second matrix is missing"},
        {"unknown tensor", NULL, NULL, NULL, add_unknown, "encoder.layers.0.gamma: nothing uses it"},
        {"type", NULL, NULL, NULL, add_type, "patch_embedding.bias: type I8 is not supported"},
        {"dimensions", NULL, NULL, NULL, add_shape, "3 dimensions, 1 or 2 are needed"},
        {"another family's members", "LlavaForConditionalGeneration", "Qwen2VLForConditionalGeneration", NULL, NULL,
         "the projector's first matrix has 6 rows of 8, features have 5120 numbers"},
        {"no object", "{\"architectures\"", "[{\"architectures\"", NULL, NULL, "not JSON"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct vision_files v;
        rn_error err = {0};
        uint8_t *weights = NULL;
        char *text = NULL;
        const long live = mem_live();
        check_note("%s", rows[i].why);
        CHECK(open_spoiled(&rows[i], &v, &weights, &text, &err) != RN_OK);
        CHECK_HAS(err.text, rows[i].want);
        CHECK(!v.tower && !v.projector);
        CHECK_INT(mem_live(), live);
        free(weights);
        free(text);
    }
}

static rn_status open_and_close(void *user) {
    static const struct spoiled sound = {.why = "sound"};
    struct vision_files v;
    uint8_t *weights = NULL;
    char *text = NULL;
    (void)user;
    const rn_status st = open_spoiled(&sound, &v, &weights, &text, NULL);
    if (st == RN_OK) vision_files_close(&v);
    free(weights);
    free(text);
    return st;
}

TEST(every_allocation_may_fail) { CHECK(check_each_failed_allocation(open_and_close, NULL, __FILE__, __LINE__)); }
