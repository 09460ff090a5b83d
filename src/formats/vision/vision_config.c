// formats/vision/vision_config.c - see vision_config.h. Members and defaults are those of transformers' configurations; VILA's members are those of its
// own code.
#include "formats/vision/vision_config.h"
#include "formats/folder/config_parts.h"
#include "formats/limits.h"
#include "formats/vision/vision_build.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

// ---- members ----------------------------------------------------------------------------------------------------------

// Each leaves *out as it is where the member is absent.
static rn_status read_count(const struct json_node *of, const char *name, int64_t max, int32_t *out, rn_error *err) {
    const struct json_node *const v = json_member(of, name);
    int64_t n = 0;
    const rn_status st = v ? json_int(v, 1, max, &n, err) : RN_OK;
    if (v) *out = (int32_t)n;
    return st == RN_OK ? RN_OK : fail_in(err, st, "member %s", name);
}

// The choice of a table that a string member names; the default where it is absent.
struct choice {
    const char *name;
    const char *means;
};
static rn_status read_choice(const struct json_node *of, const char *member, const struct choice *choices, size_t n,
                             const char **out, rn_error *err) {
    char known[256];
    size_t at = 0;
    const struct json_node *v;
    const rn_status st = config_string(of, member, &v, err);
    if (st != RN_OK || !v) return st;
    for (size_t i = 0; i < n; i++) {
        if (json_is(v, choices[i].name)) {
            *out = choices[i].means;
            return RN_OK;
        }
        at += (size_t)snprintf(known + at, sizeof known - at, "%s%s", i ? ", " : "", choices[i].name);
    }
    return fail(err, RN_E_UNSUPPORTED, "member %s: \"%.*s\" is not supported: %s", member, config_shown(v), v->text,
                known);
}

// ---- the tower ------------------------------------------------------------------------------------------------------

static const struct choice activations[] = {{"quick_gelu", "vit_gelu_quick"},
                                            {"gelu_pytorch_tanh", "vit_gelu_tanh"},
                                            {"gelu_new", "vit_gelu_tanh"},
                                            {"gelu", "vit_gelu"}};
static const struct choice internvit_norms[] = {{"layer_norm", "internvit"}, {"rms_norm", "internvit_rms"}};
static const struct choice internvit_activations[] = {{"gelu", "internvit"}};
#define CHOICES(list)   (list), sizeof(list) / sizeof *(list)
#define VIT_NUMBERS     12, 3072, 224
#define VIT_ACTIVATIONS CHOICES(activations)

// Of each tower: what its members are where config.json has none.
struct tower_kind {
    const char *type; // model_type
    const char *arch;
    float eps;
    int32_t patch_size, n_embd, n_head;
    bool has_class;
    int32_t n_layer, n_ff, side;
    const struct choice *acts;
    size_t n_acts;
};
static const struct tower_kind towers[] = {
    {"clip_vision_model", "vit_gelu_quick", 1e-5f, 32, 768, 12, true, VIT_NUMBERS, VIT_ACTIVATIONS},
    {"siglip_vision_model", "vit_gelu_tanh", 1e-6f, 16, 768, 12, false, VIT_NUMBERS, VIT_ACTIVATIONS},
    // SigLIP's, as the next one.
    {"idefics3_vision", "vit_gelu_tanh", 1e-6f, 32, 1152, 16, false, VIT_NUMBERS, VIT_ACTIVATIONS},
    {"smolvlm_vision", "vit_gelu_tanh", 1e-6f, 32, 1152, 16, false, VIT_NUMBERS, VIT_ACTIVATIONS},
    {"internvl_vision", "internvit", 1e-6f, 14, 1024, 16, true, 24, 4096, 448, CHOICES(internvit_activations)},
};

static rn_status find_tower(const struct json_node *of, const struct tower_kind **out, rn_error *err) {
    const struct json_node *type;
    const rn_status st = config_string(of, "model_type", &type, err);
    if (st != RN_OK) return st;
    if (!type) return fail(err, RN_E_FORMAT, "member model_type: is missing");
    for (size_t i = 0; i < sizeof towers / sizeof *towers; i++)
        if (json_is(type, towers[i].type)) {
            *out = &towers[i];
            return RN_OK;
        }
    return fail(
        err, RN_E_UNSUPPORTED,
        "member model_type: \"%.*s\" is not supported: clip_vision_model, siglip_vision_model, internvl_vision",
        config_shown(type), type->text);
}

// Features are hidden_states[feature_layer]: so many layers run, and no norm behind them.
static rn_status set_layers(struct package *p, struct hparams *h, int32_t n_layer, int64_t feature_layer,
                            rn_error *err) {
    const int64_t n = feature_layer < 0 ? n_layer + 1 + feature_layer : feature_layer;
    if (n < 1 || n > n_layer)
        return fail(err, RN_E_UNSUPPORTED, "features of layer %" PRId64 " of %" PRId32 " layers", feature_layer,
                    n_layer);
    h->n_layer = (int32_t)n;
    struct layer_hparams *const layers = arena_alloc(&p->arena, (size_t)n * sizeof *layers);
    if (!layers) return fail(err, RN_E_NOMEM, "out of memory for %" PRId64 " layers", n);
    for (int32_t l = 0; l < h->n_layer; l++)
        layers[l] = (struct layer_hparams){.n_head = h->n_head,
                                           .n_head_kv = h->n_head_kv,
                                           .head_dim = h->head_dim,
                                           .head_dim_v = h->head_dim_v,
                                           .n_rot = h->n_rot,
                                           .n_ff = h->n_ff,
                                           .kv_layer = l};
    h->layers = layers;
    return RN_OK;
}

// What follows from the numbers that config.json has.
rn_status vision_set_tower(struct package *p, struct hparams *h, const char *arch, const struct vision_info *info,
                           int32_t n_layer, int64_t feature_layer, rn_error *err) {
    if (h->n_embd % h->n_head != 0)
        return fail(err, RN_E_FORMAT, "width %" PRId32 " and %" PRId32 " heads: heads are not of one width",
                    h->n_embd, h->n_head);
    snprintf(h->arch, sizeof h->arch, "%s", arch);
    h->n_head_kv = h->n_head;
    h->head_dim = h->head_dim_v = h->n_embd / h->n_head;
    if (h->rope_theta > 0) h->n_rot = h->head_dim;
    if (h->n_rot % 4 != 0)
        return fail(err, RN_E_FORMAT, "heads of %" PRId32 " numbers: rows and columns rotate a multiple of 4",
                    h->n_rot);
    h->n_vocab = VISION_ROW_KINDS;
    h->n_ctx_train = info->n_places ? info->n_places * info->n_places : vision_most_rows(info);
    h->n_patch = info->n_numbers;
    h->rope_factor = h->rope_attn_factor = 1;
    const rn_status st = set_layers(p, h, n_layer, feature_layer, err);
    p->hparams = *h;
    return st;
}

rn_status vision_set_grid(struct vision_info *out, int32_t side, bool is_any, rn_error *err) {
    out->n_numbers = (is_any ? 2 : 1) * 3 * out->patch_size * out->patch_size;
    if (is_any) {
        const int32_t block = out->n_merge * out->n_merge;
        out->max_patches = VISION_MOST_PATCHES / block * block;
        return RN_OK;
    }
    out->grid = side / out->patch_size;
    out->max_patches = out->grid * out->grid;
    if (out->grid < 1 || vision_most_rows(out) > VISION_MAX_ROWS)
        return fail(err, RN_E_LIMIT,
                    "pictures of %" PRId32 " pixels a side in patches of %" PRId32 ": %" PRId32
                    " patches, 1..%d are read",
                    side, out->patch_size, out->max_patches, VISION_MAX_ROWS - 1);
    return RN_OK;
}

// A number, or a list of two equal ones.
static rn_status read_side(const struct json_node *of, const char *name, int64_t max, int32_t *out, rn_error *err) {
    const struct json_node *const v = json_member(of, name);
    int64_t sides[2] = {0};
    if (!v || v->kind != JSON_ARRAY) return read_count(of, name, max, out, err);
    if (v->n_items != 2) return fail(err, RN_E_FORMAT, "member %s: %u items, must be 2", name, v->n_items);
    rn_status st = json_int(json_first(v), 1, max, &sides[0], err);
    if (st == RN_OK) st = json_int(json_next(json_first(v)), 1, max, &sides[1], err);
    if (st == RN_OK && sides[0] != sides[1])
        st = fail(err, RN_E_UNSUPPORTED, "%" PRId64 " x %" PRId64 ", squares are read", sides[0], sides[1]);
    *out = (int32_t)sides[0];
    return st == RN_OK ? RN_OK : fail_in(err, st, "member %s", name);
}

static rn_status read_grid(const struct json_node *of, const struct tower_kind *kind, struct vision_info *out,
                           rn_error *err) {
    int32_t side = kind->side, channels = 3;
    out->patch_size = kind->patch_size, out->has_class = kind->has_class;
    rn_status st = read_side(of, "image_size", PIPELINE_MAX_SIDE, &side, err);
    if (st == RN_OK) st = read_side(of, "patch_size", VISION_MAX_PATCH, &out->patch_size, err);
    if (st == RN_OK) st = read_count(of, "num_channels", 1024, &channels, err);
    if (st != RN_OK) return st;
    if (channels != 3) return fail(err, RN_E_UNSUPPORTED, "member num_channels: %" PRId32 ", 3 are read", channels);
    return vision_set_grid(out, side, false, err);
}

static rn_status read_tower(struct package *p, const struct json_node *of, int64_t feature_layer,
                            struct vision_info *info, rn_error *err) {
    const struct tower_kind *kind = NULL;
    rn_status st = find_tower(of, &kind, err);
    if (st != RN_OK) return st;
    const char *arch = kind->arch;
    int32_t n_layer = kind->n_layer;
    struct hparams h = {.file_type = "model",
                        .is_checked = true,
                        .n_embd = kind->n_embd,
                        .n_head = kind->n_head,
                        .n_ff = kind->n_ff,
                        .norm_eps = kind->eps};
    const struct json_node *const eps = json_member(of, "layer_norm_eps");
    st = read_count(of, "hidden_size", VISION_MAX_WIDTH, &h.n_embd, err);
    if (st == RN_OK) st = read_count(of, "intermediate_size", VISION_MAX_WIDTH, &h.n_ff, err);
    if (st == RN_OK) st = read_count(of, "num_hidden_layers", VISION_MAX_LAYERS, &n_layer, err);
    if (st == RN_OK) st = read_count(of, "num_attention_heads", h.n_embd, &h.n_head, err);
    if (st == RN_OK && eps) st = json_float(eps, 1e-12, 1, &h.norm_eps, err);
    if (st == RN_OK) st = read_choice(of, "hidden_act", kind->acts, kind->n_acts, &arch, err);
    if (st == RN_OK && kind->acts == internvit_activations)
        st = read_choice(of, "norm_type", CHOICES(internvit_norms), &arch, err);
    if (st == RN_OK) st = read_grid(of, kind, info, err);
    if (st != RN_OK) return st;
    return vision_set_tower(p, &h, arch, info, n_layer, feature_layer, err);
}

// ---- families -------------------------------------------------------------------------------------------------------

static rn_status read_feature_layer(const struct json_node *root, const char *name, int64_t *out, rn_error *err) {
    const struct json_node *const v = json_member(root, name);
    if (v && v->kind == JSON_ARRAY)
        return fail(err, RN_E_UNSUPPORTED, "member %s: features of several layers are not supported", name);
    const rn_status st = v ? json_int(v, -VISION_MAX_LAYERS, VISION_MAX_LAYERS, out, err) : RN_OK;
    return st == RN_OK ? RN_OK : fail_in(err, st, "member %s", name);
}

// Two spellings, of published checkpoints and of transformers 5. Whether the text model has such a token, who joins the two checks.
static rn_status read_image_token(const struct json_node *root, struct vision_info *out, rn_error *err) {
    const char *const name = json_member(root, "image_token_index") ? "image_token_index" : "image_token_id";
    const struct json_node *const v = json_member(root, name);
    int64_t n = -1;
    const rn_status st = v ? json_int(v, 0, INT32_MAX, &n, err) : RN_OK;
    if (v) out->image_token = (int32_t)n;
    return st == RN_OK ? RN_OK : fail_in(err, st, "member %s", name);
}

static rn_status need_object(const struct json_node *root, const char *name, const struct json_node **out,
                             rn_error *err) {
    *out = json_member(root, name);
    if (*out && (*out)->kind == JSON_OBJECT) return RN_OK;
    return fail(err, RN_E_FORMAT, "member %s: %s", name, *out ? "is no object" : "is missing");
}

static const struct choice all_or_patches[] = {{"default", ""}, {"full", "all"}};
static const struct choice gelu_alone[] = {{"gelu", "mlp_gelu"}, {"gelu_pytorch_tanh", "mlp_gelu_tanh"}};

// The rows of a tower without a class row are all of patches.
static rn_status check_class(const struct vision_info *v, rn_error *err) {
    if (v->has_class || v->keeps_class) return RN_OK;
    return fail(
        err, RN_E_UNSUPPORTED,
        "member vision_feature_select_strategy: default would drop the first patch of a tower without a class row");
}

static const struct vision_marks pixtral_marks = {.line_end = "[IMG_BREAK]", .end = "[IMG_END]"};

// A number of rope_parameters, else of the object itself.
static rn_status read_theta(const struct json_node *of, float *out, rn_error *err) {
    const struct json_node *const inner = json_member(of, "rope_parameters"), *const in =
                                                                                  inner && inner->kind == JSON_OBJECT
                                                                                      ? inner
                                                                                      : of;
    const struct json_node *const v = json_member(in, "rope_theta");
    const rn_status st = v ? json_float(v, 1, 1e9, out, err) : RN_OK;
    return st == RN_OK ? RN_OK : fail_in(err, st, "member rope_theta");
}

// Pixtral's tower (2410.07073): patches of any grid, rotated by row and column.
static rn_status read_pixtral_tower(struct package *p, const struct json_node *of, int64_t layer,
                                    struct vision_info *info, rn_error *err) {
    static const struct choice acts[] = {{"gelu", "pixtral_vit_gelu"}, {"silu", "pixtral_vit_silu"}};
    const char *arch = "pixtral_vit_gelu";
    int32_t n_layer = 24, channels = 3;
    struct hparams h = {.file_type = "model",
                        .is_checked = true,
                        .n_embd = 1024,
                        .n_head = 16,
                        .n_ff = 4096,
                        .norm_eps = 1e-5f,
                        .rope_theta = 10000};
    info->patch_size = 16;
    rn_status st = read_count(of, "hidden_size", VISION_MAX_WIDTH, &h.n_embd, err);
    if (st == RN_OK) st = read_count(of, "intermediate_size", VISION_MAX_WIDTH, &h.n_ff, err);
    if (st == RN_OK) st = read_count(of, "num_hidden_layers", VISION_MAX_LAYERS, &n_layer, err);
    if (st == RN_OK) st = read_count(of, "num_attention_heads", h.n_embd, &h.n_head, err);
    if (st == RN_OK) st = read_count(of, "num_channels", 1024, &channels, err);
    if (st == RN_OK) st = read_side(of, "patch_size", VISION_MAX_PATCH, &info->patch_size, err);
    if (st == RN_OK) st = read_theta(of, &h.rope_theta, err);
    if (st == RN_OK) st = read_choice(of, "hidden_act", CHOICES(acts), &arch, err);
    if (st == RN_OK && channels != 3)
        st = fail(err, RN_E_UNSUPPORTED, "member num_channels: %" PRId32 ", 3 are read", channels);
    if (st == RN_OK) st = vision_set_grid(info, 0, true, err);
    info->n_numbers = 3 * info->patch_size * info->patch_size;
    return st == RN_OK ? vision_set_tower(p, &h, arch, info, n_layer, layer, err) : st;
}

// LLaVA-1.5 (2310.03744), as transformers writes it. out->n_text, v->info.image_token and .keeps_class: the family's defaults.
static rn_status read_llava_of(const struct json_node *root, int64_t layer, struct vision_files *v,
                               struct vision_config *out, rn_error *err) {
    const struct json_node *tower = NULL, *text = NULL;
    const char *takes = v->info.keeps_class ? "all" : "";
    out->projector = "mlp_gelu";
    rn_status st = need_object(root, "vision_config", &tower, err);
    if (st == RN_OK) st = need_object(root, "text_config", &text, err);
    if (st == RN_OK) st = read_count(text, "hidden_size", VISION_MAX_WIDTH, &out->n_text, err);
    if (st == RN_OK) st = read_choice(root, "projector_hidden_act", gelu_alone, 2, &out->projector, err);
    if (st == RN_OK) st = read_choice(root, "vision_feature_select_strategy", all_or_patches, 2, &takes, err);
    if (st == RN_OK) st = read_feature_layer(root, "vision_feature_layer", &layer, err);
    if (st != RN_OK) return st;
    v->info.keeps_class = *takes != 0;
    const struct json_node *const type = json_member(tower, "model_type");
    if (type && json_is(type, "pixtral")) {
        v->info.family = "Pixtral";
        out->marks = &pixtral_marks;
        st = read_pixtral_tower(v->tower, tower, layer, &v->info, err);
    } else {
        st = read_tower(v->tower, tower, layer, &v->info, err);
    }
    return st == RN_OK ? check_class(&v->info, err) : fail_in(err, st, "member vision_config");
}

// Mistral 3: merged patches.
static rn_status read_mistral3(const struct folder *f, const struct json_node *root, struct vision_files *v,
                               struct vision_config *out, rn_error *err) {
    static const struct choice acts[] = {{"gelu", "merge_mlp_gelu"}, {"gelu_pytorch_tanh", "merge_mlp_gelu_tanh"}};
    const struct json_node *tower = NULL, *text = NULL;
    int64_t layer = -1;
    (void)f;
    *out = (struct vision_config){
        .projector = "merge_mlp_gelu", .n_text = 4096, .projector_eps = 1e-6f, .marks = &pixtral_marks};
    v->info.image_token = 10; // Mistral3Config's
    v->info.n_merge = 2;
    rn_status st = need_object(root, "vision_config", &tower, err);
    if (st == RN_OK) st = need_object(root, "text_config", &text, err);
    if (st == RN_OK) st = read_count(text, "hidden_size", VISION_MAX_WIDTH, &out->n_text, err);
    const struct json_node *const eps = st == RN_OK ? json_member(text, "rms_norm_eps") : NULL;
    if (st == RN_OK && eps) st = json_float(eps, 1e-12, 1, &out->projector_eps, err);
    if (st == RN_OK) st = read_count(root, "spatial_merge_size", 8, &v->info.n_merge, err);
    if (st == RN_OK) st = read_choice(root, "projector_hidden_act", CHOICES(acts), &out->projector, err);
    if (st == RN_OK) st = read_feature_layer(root, "vision_feature_layer", &layer, err);
    if (st != RN_OK) return st;
    st = read_pixtral_tower(v->tower, tower, layer, &v->info, err);
    return st == RN_OK ? RN_OK : fail_in(err, st, "member vision_config");
}

static rn_status read_llava(const struct folder *f, const struct json_node *root, struct vision_files *v,
                            struct vision_config *out, rn_error *err) {
    (void)f;
    out->n_text = 4096;          // LlavaConfig's
    v->info.image_token = 32000; // and LlamaConfig's
    return read_llava_of(root, -2, v, out, err);
}

static rn_status need_map(const struct vision_info *v, rn_error *err) {
    if (!v->has_class || !v->keeps_class) return RN_OK;
    return fail(err, RN_E_UNSUPPORTED, "%s: a class row in a map of tiles", v->family);
}

// LLaVA-NeXT: the same tower and projector over a picture's tiles.
static rn_status read_llava_next(const struct folder *f, const struct json_node *root, struct vision_files *v,
                                 struct vision_config *out, rn_error *err) {
    v->info.order = VISION_AS_MAP;
    const rn_status st = read_llava(f, root, v, out, err);
    return st == RN_OK ? need_map(&v->info, err) : st;
}

// "anyres_max_9"
static rn_status read_most_tiles(const struct json_node *root, int32_t *out, rn_error *err) {
    const struct json_node *v;
    char text[24];
    int end = 0;
    *out = 9;
    const rn_status st = config_string(root, "vision_aspect_ratio", &v, err);
    if (st != RN_OK || !v) return st;
    snprintf(text, sizeof text, "%.*s", v->n_text < sizeof text ? (int)v->n_text : 0, v->text);
    if (sscanf(text, "anyres_max_%3" SCNd32 "%n", out, &end) == 1 && !text[end] && *out > 0) return RN_OK;
    return fail(err, RN_E_UNSUPPORTED, "member vision_aspect_ratio: \"%.*s\" is not supported: anyres_max_9",
                config_shown(v), v->text);
}

// LLaVA-OneVision (2408.03326): maps of at most so many tiles.
static rn_status read_llava_onevision(const struct folder *f, const struct json_node *root, struct vision_files *v,
                                      struct vision_config *out, rn_error *err) {
    (void)f;
    out->n_text = 4096; // Qwen2Config's
    v->info.image_token = 151646;
    v->info.order = VISION_AS_MAP, v->info.keeps_class = true;
    rn_status st = read_most_tiles(root, &v->info.most_tiles, err);
    if (st == RN_OK) st = read_llava_of(root, -1, v, out, err);
    return st == RN_OK ? need_map(&v->info, err) : st;
}

// config.json of a subfolder; read: what to do with it.
struct sub_config {
    struct vision_files *v;
    struct vision_config *out;
    int64_t layer;
};
static rn_status read_sub(const struct folder *f, const char *sub, struct sub_config *c,
                          rn_status (*read)(struct sub_config *, const struct json_node *, rn_error *),
                          rn_error *err) {
    struct folder in = *f;
    struct package_file file;
    struct json_tree tree = {0};
    bool found;
    in.sub = sub;
    rn_status st = folder_open_json(&in, "config.json", FOLDER_MAX_CONFIG_BYTES, &file, &tree, &found, err);
    if (st == RN_OK && !found)
        st = fail(err, RN_E_IO, "%s: has no %s/config.json", package_shown_path(f->path), sub);
    else if (st == RN_OK && tree.nodes[0].kind != JSON_OBJECT)
        st = fail(err, RN_E_FORMAT, "%s: is %s, must be an object", file.path, json_kind_name(&tree.nodes[0]));
    else if (st == RN_OK)
        st = package_in_file(file.path, read(c, &tree.nodes[0], err), err);
    json_free(&tree);
    package_file_close(&file);
    return st;
}

static rn_status read_vila_tower(struct sub_config *c, const struct json_node *root, rn_error *err) {
    return read_tower(c->v->tower, root, c->layer, &c->v->info, err);
}

static rn_status read_vila_projector(struct sub_config *c, const struct json_node *root, rn_error *err) {
    static const struct choice kinds[] = {
        {"mlp_downsample", "2"}, {"mlp_downsample_2x2_fix", "2"}, {"mlp2x_gelu", "1"}};
    const char *merge = NULL;
    const rn_status st = read_choice(root, "mm_projector_type", kinds, sizeof kinds / sizeof *kinds, &merge, err);
    if (st != RN_OK) return st;
    if (!merge) return fail(err, RN_E_FORMAT, "member mm_projector_type: is missing");
    c->v->info.n_merge = *merge - '0';
    return RN_OK;
}

// VILA (2312.07533): llm/, vision_tower/ and mm_projector/, each with a config.json of its own.
static rn_status read_vila(const struct folder *f, const struct json_node *root, struct vision_files *v,
                           struct vision_config *out, rn_error *err) {
    static const struct choice features[] = {{"cls_patch", "all"}, {"patch", ""}};
    static const struct choice aspects[] = {{"resize", ""}};
    struct sub_config c = {.v = v, .out = out, .layer = -2};
    const char *takes = "", *aspect = NULL;
    *out =
        (struct vision_config){.tower_sub = "vision_tower", .projector_sub = "mm_projector", .projector = "mlp_gelu"};
    rn_status st = read_count(root, "hidden_size", VISION_MAX_WIDTH, &out->n_text, err);
    if (st == RN_OK && out->n_text == 0) st = fail(err, RN_E_FORMAT, "member hidden_size: is missing");
    if (st == RN_OK) st = read_feature_layer(root, "mm_vision_select_layer", &c.layer, err);
    if (st == RN_OK) st = read_choice(root, "mm_vision_select_feature", features, 2, &takes, err);
    if (st == RN_OK) st = read_choice(root, "image_aspect_ratio", aspects, 1, &aspect, err);
    v->info.keeps_class = *takes != 0;
    if (st == RN_OK) st = read_sub(f, out->tower_sub, &c, read_vila_tower, err);
    if (st == RN_OK) st = read_sub(f, out->projector_sub, &c, read_vila_projector, err);
    return st;
}

static rn_status read_video_token(const struct json_node *root, struct vision_info *out, rn_error *err) {
    static const char name[] = "video_token_id";
    const struct json_node *const v = json_member(root, name);
    int64_t n = out->video_token;
    const rn_status st = v ? json_int(v, 0, INT32_MAX, &n, err) : RN_OK;
    out->video_token = (int32_t)n;
    return st == RN_OK ? RN_OK : fail_in(err, st, "member %s", name);
}

// What the towers of Qwen2-VL and Qwen2.5-VL share: patches of two equal frames, rotated by row and column; the merger's norm is the tower's last.
struct qwen_tower {
    struct hparams h;
    int32_t n_layer; // 0: Qwen2-VL's
};
static rn_status read_qwen(const struct json_node *of, const char *width, struct vision_info *info,
                           struct qwen_tower *t, rn_error *err) {
    int32_t frames = 2, channels = 3;
    t->h = (struct hparams){.file_type = "model",
                            .is_checked = true,
                            .n_embd = t->h.n_embd,
                            .n_head = 16,
                            .norm_eps = 1e-6f,
                            .rope_theta = 10000};
    if (!t->n_layer) t->n_layer = 32;
    if (!info->patch_size) info->patch_size = 14;
    info->n_merge = 2, info->has_coords = true;
    info->image_token = 151655; // Qwen2VLConfig's, and Qwen2_5_VLConfig's
    info->video_token = 151656;
    info->video = VIDEO_AS_ONE;
    rn_status st = read_count(of, width, VISION_MAX_WIDTH, &t->h.n_embd, err);
    if (st == RN_OK) st = read_count(of, "num_heads", t->h.n_embd, &t->h.n_head, err);
    if (st == RN_OK) st = read_count(of, "depth", VISION_MAX_LAYERS, &t->n_layer, err);
    if (st == RN_OK) st = read_count(of, "patch_size", VISION_MAX_PATCH, &info->patch_size, err);
    if (st == RN_OK) st = read_count(of, "spatial_merge_size", 8, &info->n_merge, err);
    if (st == RN_OK) st = read_count(of, "temporal_patch_size", 4, &frames, err);
    if (st == RN_OK)
        st = read_count(of, json_member(of, "in_chans") ? "in_chans" : "in_channels", 1024, &channels, err);
    if (st == RN_OK && channels != 3)
        st = fail(err, RN_E_UNSUPPORTED, "member in_channels: %" PRId32 ", 3 are read", channels);
    info->n_numbers = 3 * frames * info->patch_size * info->patch_size;
    info->max_patches = VISION_MOST_PATCHES / (info->n_merge * info->n_merge) * info->n_merge * info->n_merge;
    return st;
}

// Qwen2-VL (2409.12191).
static rn_status read_qwen2_vl(const struct folder *f, const struct json_node *root, struct vision_files *v,
                               struct vision_config *out, rn_error *err) {
    static const struct choice act[] = {{"quick_gelu", "qwen2_vit"}};
    struct qwen_tower t = {.h.n_embd = 1280};
    int32_t ratio = 4;
    const char *arch = "qwen2_vit";
    const struct json_node *of = NULL;
    (void)f;
    *out = (struct vision_config){.projector = "mlp_gelu", .n_text = 3584, .has_post_norm = true};
    rn_status st = need_object(root, "vision_config", &of, err);
    if (st == RN_OK) st = read_qwen(of, "embed_dim", &v->info, &t, err);
    if (st == RN_OK) st = read_count(of, "mlp_ratio", 64, &ratio, err);
    if (st == RN_OK) st = read_count(of, "hidden_size", VISION_MAX_WIDTH, &out->n_text, err);
    if (st == RN_OK) st = read_choice(of, "hidden_act", act, 1, &arch, err);
    t.h.n_ff = ratio * t.h.n_embd;
    if (st == RN_OK) st = vision_set_tower(v->tower, &t.h, arch, &v->info, t.n_layer, -1, err);
    return st == RN_OK ? RN_OK : fail_in(err, st, "member vision_config");
}

void vision_set_windows(struct package *p, const bool *sees_all) {
    struct layer_hparams *const layers = (struct layer_hparams *)p->hparams.layers;
    for (int32_t l = 0; l < p->hparams.n_layer; l++)
        if (!sees_all[l]) layers[l].flags |= LAYER_SWA;
}

static rn_status read_full_layers(const struct json_node *of, int32_t n_layer, bool *all, rn_error *err) {
    static const char name[] = "fullatt_block_indexes";
    const struct json_node *const list = json_member(of, name);
    for (int32_t l = 7; l < n_layer && !list; l += 8) all[l] = true;
    if (!list) return RN_OK;
    if (list->kind != JSON_ARRAY) return fail(err, RN_E_FORMAT, "member %s: is no list", name);
    const struct json_node *v = json_first(list);
    for (uint32_t i = 0; i < list->n_items; i++, v = json_next(v)) {
        int64_t l = 0;
        const rn_status st = json_int(v, 0, VISION_MAX_LAYERS - 1, &l, err);
        if (st != RN_OK) return fail_in(err, st, "member %s", name);
        all[l] = true;
    }
    return RN_OK;
}

// Qwen2.5-VL (2502.13923): most layers attend within windows.
static rn_status read_qwen25_vl(const struct folder *f, const struct json_node *root, struct vision_files *v,
                                struct vision_config *out, rn_error *err) {
    static const struct choice act[] = {{"silu", "qwen25_vit"}};
    struct qwen_tower t = {.h.n_embd = 3584};
    int32_t window = 112;
    bool sees_all[VISION_MAX_LAYERS] = {0};
    const char *arch = "qwen25_vit";
    const struct json_node *of = NULL;
    (void)f;
    *out = (struct vision_config){.projector = "mlp_gelu", .n_text = 3584, .has_post_norm = true};
    rn_status st = need_object(root, "vision_config", &of, err);
    if (st == RN_OK) st = read_qwen(of, "hidden_size", &v->info, &t, err);
    t.h.n_ff = 3420;
    if (st == RN_OK) st = read_count(of, "intermediate_size", VISION_MAX_WIDTH, &t.h.n_ff, err);
    if (st == RN_OK) st = read_count(of, "out_hidden_size", VISION_MAX_WIDTH, &out->n_text, err);
    if (st == RN_OK) st = read_count(of, "window_size", PIPELINE_MAX_SIDE, &window, err);
    v->info.video = VIDEO_BY_SECONDS, v->info.tokens_per_second = 4; // Qwen2_5_VLVisionConfig's
    if (st == RN_OK) st = read_count(of, "tokens_per_second", 1000, &v->info.tokens_per_second, err);
    if (st == RN_OK) st = read_choice(of, "hidden_act", act, 1, &arch, err);
    if (st == RN_OK) st = read_full_layers(of, t.n_layer, sees_all, err);
    v->info.window = window / v->info.n_merge / v->info.patch_size;
    if (st == RN_OK && v->info.window < 1)
        st = fail(err, RN_E_FORMAT, "member window_size: %" PRId32 " pixels, blocks have %" PRId32, window,
                  v->info.n_merge * v->info.patch_size);
    if (st == RN_OK) st = vision_set_tower(v->tower, &t.h, arch, &v->info, t.n_layer, -1, err);
    if (st == RN_OK) vision_set_windows(v->tower, sees_all);
    return st == RN_OK ? RN_OK : fail_in(err, st, "member vision_config");
}

// Ascending layers; absent: Qwen3VLVisionConfig's.
static rn_status read_deepstack(const struct json_node *of, int32_t n_layer, struct vision_info *info,
                                rn_error *err) {
    static const char name[] = "deepstack_visual_indexes";
    static const int32_t usual[] = {8, 16, 24};
    const struct json_node *const list = json_member(of, name);
    rn_status st = RN_OK;
    info->n_deepstack = sizeof usual / sizeof *usual;
    memcpy(info->deepstack, usual, sizeof usual);
    if (list && (list->kind != JSON_ARRAY || list->n_items > VISION_MAX_DEEPSTACK))
        return fail(err, RN_E_FORMAT, "member %s: is no list of 0..%d layers", name, VISION_MAX_DEEPSTACK);
    if (list) info->n_deepstack = (int32_t)list->n_items;
    const struct json_node *v = list ? json_first(list) : NULL;
    for (int32_t i = 0; st == RN_OK && v && i < info->n_deepstack; i++, v = json_next(v)) {
        int64_t layer = 0;
        st = json_int(v, 0, VISION_MAX_LAYERS - 1, &layer, err);
        info->deepstack[i] = (int32_t)layer;
    }
    for (int32_t i = 0; st == RN_OK && i < info->n_deepstack; i++) {
        const int32_t layer = info->deepstack[i];
        if (layer >= n_layer)
            st = fail(err, RN_E_FORMAT, "layer %" PRId32 " of %" PRId32, layer, n_layer);
        else if (i > 0 && layer <= info->deepstack[i - 1])
            st = fail(err, RN_E_UNSUPPORTED, "layer %" PRId32 " is behind layer %" PRId32 ": they must ascend", layer,
                      info->deepstack[i - 1]);
    }
    return st == RN_OK ? RN_OK : fail_in(err, st, "member %s", name);
}

// The side of the square of places.
static rn_status read_places(const struct json_node *of, struct vision_info *info, rn_error *err) {
    int32_t n = 2304; // Qwen3VLVisionConfig's
    const rn_status st = read_count(of, "num_position_embeddings", VISION_MAX_ROWS, &n, err);
    info->n_places = 1;
    while ((info->n_places + 1) * (info->n_places + 1) <= n) info->n_places++;
    if (st != RN_OK || info->n_places * info->n_places == n) return st;
    return fail(err, RN_E_FORMAT, "member num_position_embeddings: %" PRId32 " is no square", n);
}

// The tower of Qwen3-VL and Qwen3.5: places that are interpolated, and features of some layers beside those of the last one.
static rn_status read_qwen3_tower(const struct json_node *root, bool has_deepstack, struct vision_files *v,
                                  struct vision_config *out, rn_error *err) {
    static const struct choice act[] = {{"gelu_pytorch_tanh", "qwen3_vit_gelu_tanh"}, {"gelu", "qwen3_vit_gelu"}};
    struct qwen_tower t = {.h.n_embd = 1152, .n_layer = 27};
    struct vision_info *const info = &v->info;
    const char *arch = "qwen3_vit_gelu_tanh";
    const struct json_node *of = NULL;
    info->patch_size = 16;
    *out = (struct vision_config){
        .projector = "mlp_gelu", .n_text = 3584, .has_post_norm = true, .projector_eps = 1e-6f};
    rn_status st = need_object(root, "vision_config", &of, err);
    if (st == RN_OK) st = read_qwen(of, "hidden_size", info, &t, err);
    t.h.n_ff = 4304;
    if (st == RN_OK) st = read_count(of, "intermediate_size", VISION_MAX_WIDTH, &t.h.n_ff, err);
    if (st == RN_OK) st = read_count(of, "out_hidden_size", VISION_MAX_WIDTH, &out->n_text, err);
    if (st == RN_OK) st = read_choice(of, "hidden_act", CHOICES(act), &arch, err);
    if (st == RN_OK) st = read_theta(of, &t.h.rope_theta, err);
    info->video = VIDEO_WITH_TIMES;
    if (st == RN_OK) st = read_places(of, info, err);
    if (st == RN_OK && has_deepstack) st = read_deepstack(of, t.n_layer, info, err);
    if (st == RN_OK) st = vision_set_tower(v->tower, &t.h, arch, info, t.n_layer, -1, err);
    return st == RN_OK ? RN_OK : fail_in(err, st, "member vision_config");
}

static rn_status read_qwen3_vl(const struct folder *f, const struct json_node *root, struct vision_files *v,
                               struct vision_config *out, rn_error *err) {
    (void)f;
    return read_qwen3_tower(root, true, v, out, err);
}

static rn_status read_qwen35(const struct folder *f, const struct json_node *root, struct vision_files *v,
                             struct vision_config *out, rn_error *err) {
    (void)f;
    const rn_status st = read_qwen3_tower(root, false, v, out, err);
    v->info.image_token = 248056, v->info.video_token = 248057; // Qwen3_5Config's
    return st;
}

static const struct vision_marks tile_marks = {.tile = "<fake_token_around_image><row_%d_col_%d>",
                                               .row_end = "\n",
                                               .tiles_end = "\n",
                                               .whole = "<fake_token_around_image><global-img>",
                                               .end = "<fake_token_around_image>"};

// SmolVLM (2504.05299) and Idefics3 (2408.12637): the tower's last norm, then neighbours in one row and a matrix.
static rn_status read_smolvlm(const struct folder *f, const struct json_node *root, struct vision_files *v,
                              struct vision_config *out, rn_error *err) {
    const struct json_node *tower = NULL, *text = NULL;
    (void)f;
    *out = (struct vision_config){.projector = "linear",
                                  .n_text = 4096,
                                  .has_post_norm = true,
                                  .marks = &tile_marks,
                                  .can_lack_processor = true};
    v->info.n_merge = 2;
    rn_status st = need_object(root, "vision_config", &tower, err);
    if (st == RN_OK) st = need_object(root, "text_config", &text, err);
    if (st == RN_OK) st = read_count(text, "hidden_size", VISION_MAX_WIDTH, &out->n_text, err);
    if (st == RN_OK) st = read_count(root, "scale_factor", 8, &v->info.n_merge, err);
    if (st != RN_OK) return st;
    st = read_tower(v->tower, tower, -1, &v->info, err);
    if (st == RN_OK && v->info.grid % v->info.n_merge != 0)
        st = fail(err, RN_E_FORMAT, "%" PRId32 " x %" PRId32 " patches are no whole number of blocks of %" PRId32,
                  v->info.grid, v->info.grid, v->info.n_merge);
    return st == RN_OK ? RN_OK : fail_in(err, st, "member vision_config");
}

static const struct vision_marks gemma3_marks = {
    .before = "\n\n<start_of_image>",
    .before_tiles = "Here is the original image \n\n<start_of_image>",
    .after = "<end_of_image>\n\n",
    .first_tile = "<end_of_image>\n\n and here are some crops to help you see better \n\n<start_of_image>",
    .next_tile = "<end_of_image>\n\n \n\n<start_of_image>",
    .place = "<start_of_image>"};

// Gemma 3 (2503.19786): the tower's last norm, means of neighbours, a norm and a matrix.
static rn_status read_gemma3(const struct folder *f, const struct json_node *root, struct vision_files *v,
                             struct vision_config *out, rn_error *err) {
    const struct json_node *tower = NULL, *text = NULL;
    int32_t n_tokens = 256, side = 0;
    (void)f;
    *out = (struct vision_config){
        .projector = "norm_linear", .n_text = 2304, .has_post_norm = true, .marks = &gemma3_marks};
    v->info.image_token = 262144; // Gemma3Config's, as the next ones
    v->info.averages = v->info.sees_itself = true;
    rn_status st = need_object(root, "vision_config", &tower, err);
    if (st == RN_OK) st = need_object(root, "text_config", &text, err);
    if (st == RN_OK) st = read_count(text, "hidden_size", VISION_MAX_WIDTH, &out->n_text, err);
    if (st == RN_OK) st = read_count(root, "mm_tokens_per_image", VISION_MAX_ROWS, &n_tokens, err);
    if (st == RN_OK) st = read_tower(v->tower, tower, -1, &v->info, err);
    if (st != RN_OK) return fail_in(err, st, "member vision_config");
    while ((side + 1) * (side + 1) <= n_tokens) side++;
    v->info.n_merge = v->info.grid / side;
    out->projector_eps = v->tower->hparams.norm_eps;
    if (v->info.has_class) return fail(err, RN_E_UNSUPPORTED, "member vision_config: a tower with a class row");
    if (v->info.n_merge == 0 || v->info.grid / v->info.n_merge != side || side * side != n_tokens)
        return fail(err, RN_E_FORMAT,
                    "member mm_tokens_per_image: %" PRId32 " x %" PRId32 " patches do not become %" PRId32 " means",
                    v->info.grid, v->info.grid, n_tokens);
    return RN_OK;
}

static const struct vision_marks internvl_marks = {.open = "<img>", .close = "</img>"};

// The inverse of a whole number.
static rn_status read_ratio(const struct json_node *of, const char *name, int32_t *out, rn_error *err) {
    const struct json_node *const v = json_member(of, name);
    double ratio = 0.5;
    const rn_status st = v ? json_double(v, 1.0 / 8, 1, &ratio, err) : RN_OK;
    if (st != RN_OK) return fail_in(err, st, "member %s", name);
    *out = (int32_t)(1 / ratio);
    if (1.0 / *out == ratio) return RN_OK;
    return fail(err, RN_E_UNSUPPORTED, "member %s: %g is not the inverse of a whole number", name, ratio);
}

static rn_status read_flag(const struct json_node *of, const char *name, bool *out, rn_error *err) {
    const struct json_node *const v = json_member(of, name);
    const rn_status st = v ? json_bool(v, out, err) : RN_OK;
    return st == RN_OK ? RN_OK : fail_in(err, st, "member %s", name);
}

// InternVL 2.5 and 3 (2412.05271, 2504.10479), as transformers writes them.
static rn_status read_internvl(const struct folder *f, const struct json_node *root, struct vision_files *v,
                               struct vision_config *out, rn_error *err) {
    static const struct choice patches_alone[] = {{"default", ""}};
    const struct json_node *tower = NULL, *text = NULL;
    const char *takes = "";
    int64_t layer = -1;
    bool pools = true, has_places = true;
    (void)f;
    *out = (struct vision_config){.projector = "mlp_gelu", .n_text = 4096, .marks = &internvl_marks};
    v->info.image_token = 151667; // InternVLConfig's
    rn_status st = need_object(root, "vision_config", &tower, err);
    if (st == RN_OK) st = need_object(root, "text_config", &text, err);
    if (st == RN_OK) st = read_count(text, "hidden_size", VISION_MAX_WIDTH, &out->n_text, err);
    if (st == RN_OK) st = read_ratio(root, "downsample_ratio", &v->info.n_merge, err);
    if (st == RN_OK) st = read_choice(root, "projector_hidden_act", gelu_alone, 2, &out->projector, err);
    if (st == RN_OK) st = read_choice(root, "vision_feature_select_strategy", patches_alone, 1, &takes, err);
    if (st == RN_OK) st = read_feature_layer(root, "vision_feature_layer", &layer, err);
    if (st == RN_OK) st = read_flag(tower, "use_mean_pooling", &pools, err);
    if (st == RN_OK) st = read_flag(tower, "use_absolute_position_embeddings", &has_places, err);
    if (st == RN_OK && !has_places)
        st = fail(err, RN_E_UNSUPPORTED, "member use_absolute_position_embeddings: false is not supported");
    if (st != RN_OK) return st;
    st = read_tower(v->tower, tower, layer, &v->info, err);
    if (st != RN_OK) return fail_in(err, st, "member vision_config");
    out->has_post_norm = layer == -1 && !pools;
    if (v->info.grid % v->info.n_merge != 0)
        return fail(err, RN_E_FORMAT, "%" PRId32 " x %" PRId32 " patches are no whole number of blocks of %" PRId32,
                    v->info.grid, v->info.grid, v->info.n_merge);
    return RN_OK;
}

static const struct family {
    const char *class_name, *name;
    rn_status (*read)(const struct folder *, const struct json_node *, struct vision_files *, struct vision_config *,
                      rn_error *);
} families[] = {
    {"LlavaForConditionalGeneration", "LLaVA-1.5", read_llava},
    {"LlavaNextForConditionalGeneration", "LLaVA-NeXT", read_llava_next},
    {"LlavaOnevisionForConditionalGeneration", "LLaVA-OneVision", read_llava_onevision},
    {"LlavaLlamaModel", "VILA", read_vila},
    {"Qwen2VLForConditionalGeneration", "Qwen2-VL", read_qwen2_vl},
    {"Qwen2_5_VLForConditionalGeneration", "Qwen2.5-VL", read_qwen25_vl},
    {"Qwen3VLForConditionalGeneration", "Qwen3-VL", read_qwen3_vl},
    {"Qwen3VLMoeForConditionalGeneration", "Qwen3-VL", read_qwen3_vl},
    {"Qwen3_5ForConditionalGeneration", "Qwen3.5", read_qwen35},
    {"Qwen3_5MoeForConditionalGeneration", "Qwen3.5", read_qwen35},
    {"SmolVLMForConditionalGeneration", "SmolVLM", read_smolvlm},
    {"Idefics3ForConditionalGeneration", "Idefics3", read_smolvlm},
    {"Gemma3ForConditionalGeneration", "Gemma 3", read_gemma3},
    {"InternVLForConditionalGeneration", "InternVL", read_internvl},
    {"Mistral3ForConditionalGeneration", "Mistral 3", read_mistral3},
};

static rn_status find_family(const struct json_node *root, const struct family **out, rn_error *err) {
    const struct json_node *const classes = json_member(root, "architectures");
    if (!classes || classes->kind != JSON_ARRAY || classes->n_items == 0 || json_first(classes)->kind != JSON_STRING)
        return fail(err, RN_E_FORMAT, "member architectures: is no list of names");
    const struct json_node *const name = json_first(classes);
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (json_is(name, families[i].class_name)) {
            *out = &families[i];
            return RN_OK;
        }
    const char *const why = vision_refusal_reason(name);
    if (why)
        return fail(err, RN_E_UNSUPPORTED, "%.*s takes no pictures here: %s", config_shown(name), name->text, why);
    return fail(err, RN_E_UNSUPPORTED, "%.*s takes no pictures here; docs/vision.md lists the families that do",
                config_shown(name), name->text);
}

rn_status vision_config_read(const struct folder *f, struct vision_files *v, struct vision_config *out,
                             rn_error *err) {
    struct package_file file;
    struct json_tree tree = {0};
    const struct family *family = NULL;
    bool found;
    *out = (struct vision_config){0};
    v->info.n_merge = 1;
    v->info.image_token = v->info.video_token = -1;
    rn_status st = folder_open_json(f, "config.json", FOLDER_MAX_CONFIG_BYTES, &file, &tree, &found, err);
    if (st == RN_OK && !found) {
        st = fail(err, RN_E_IO, "%s: is a directory without config.json, so not a model folder",
                  package_shown_path(f->path));
    } else if (st == RN_OK) {
        if (tree.nodes[0].kind != JSON_OBJECT)
            st = fail(err, RN_E_FORMAT, "is %s, must be an object", json_kind_name(&tree.nodes[0]));
        if (st == RN_OK) st = find_family(&tree.nodes[0], &family, err);
        if (st == RN_OK) {
            v->info.family = family->name;
            st = family->read(f, &tree.nodes[0], v, out, err);
            if (st == RN_OK) st = read_image_token(&tree.nodes[0], &v->info, err);
            if (st == RN_OK && v->info.video) st = read_video_token(&tree.nodes[0], &v->info, err);
            if (st == RN_OK && v->info.n_merge > 1 && v->info.has_class && v->info.keeps_class)
                st = fail(err, RN_E_UNSUPPORTED, "%s: a class row among patches that are merged", family->name);
        }
        st = package_in_file(file.path, st, err);
    }
    json_free(&tree);
    package_file_close(&file);
    return st;
}

const struct vision_marks *vision_marks_of(const char *family) {
    static const struct {
        const char *family;
        const struct vision_marks *marks;
    } all[] = {{"SmolVLM", &tile_marks},      {"Idefics3", &tile_marks},   {"Gemma 3", &gemma3_marks},
               {"InternVL", &internvl_marks}, {"Pixtral", &pixtral_marks}, {"Mistral 3", &pixtral_marks}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(family, all[i].family) == 0) return all[i].marks;
    return NULL;
}
