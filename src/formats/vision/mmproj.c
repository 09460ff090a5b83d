// formats/vision/mmproj.c - see mmproj.h. Keys and names are those of llama.cpp's tools/mtmd.
#include "formats/vision/mmproj.h"
#include "formats/folder/preprocessor.h"
#include "formats/gguf/gguf.h"
#include "formats/gguf/gguf_meta.h"
#include "formats/gguf/gguf_records.h"
#include "formats/limits.h"
#include "formats/package_build.h"
#include "formats/vision/vision_build.h"
#include "formats/vision/vision_tensors.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct mmproj_kind kinds[] = {
    {"LLaVA-1.5", "mlp", "<image>"},
    {"LLaVA-NeXT", "mlp", "<image>", .is_map = true},
    {"LLaVA-OneVision", "mlp", "<image>", .is_map = true},
    {"SmolVLM", "idefics3", "<image>", .is_linear = true},
    {"Idefics3", "idefics3", "<image>", .is_linear = true},
    {"Qwen2-VL", "qwen2vl_merger", "<|image_pad|>", .has_frames = true},
    {"Qwen2.5-VL", "qwen2.5vl_merger", "<|image_pad|>", .has_frames = true, .has_windows = true},
    {"Qwen3-VL", "qwen3vl_merger", "<|image_pad|>", .has_frames = true, .has_places = true},
    {"Qwen3.5", "qwen3vl_merger", "<|image_pad|>", .has_frames = true, .has_places = true},
    {"Gemma 3", "gemma3", "<image_soft_token>", .has_means = true},
    {"InternVL", "internvl", "<IMG_CONTEXT>", .is_internvit = true},
    {"Pixtral", "pixtral", "[IMG]", .is_pixtral = true},
    {"Mistral 3", "pixtral", "[IMG]", .is_pixtral = true},
};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

const struct mmproj_kind *mmproj_kind_of(const char *family) {
    for (size_t i = 0; i < N_KINDS; i++)
        if (strcmp(kinds[i].family, family) == 0) return &kinds[i];
    return NULL;
}

static const struct mmproj_name names[] = {
    {"idefics3", "mm.model.fc.", "mm.2."},
    {"gemma3", "mm.input_projection.", "mm.2."},
    {"gemma3", "mm.soft_emb_norm.", "mm.input_norm."},
    {"internvl", "mm.model.mlp.0.", "mm.input_norm."},
    {"internvl", "mm.model.mlp.1.", "mm.0."},
    {"internvl", "mm.model.mlp.3.", "mm.2."},
    {"pixtral", "mm.1.", "mm.0."},
};

const struct mmproj_deepstack_name mmproj_deepstack_names[MMPROJ_N_DEEPSTACK_NAMES] = {
    {"norm.", "mm.input_norm."}, {"fc1.", "mm.0."}, {"fc2.", "mm.2."}};

const struct mmproj_name *mmproj_name_of(const struct mmproj_kind *kind, const char *name, bool in_file) {
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *const front = in_file ? names[i].file : names[i].own;
        if (strcmp(names[i].projector, kind->projector) == 0 && strncmp(name, front, strlen(front)) == 0)
            return &names[i];
    }
    return NULL;
}

static bool is_text(struct vocab_str s, const char *text) {
    return s.n == strlen(text) && memcmp(s.s, text, s.n) == 0;
}

static bool has_tensor(const struct gguf *g, const char *name) {
    const size_t n = strlen(name);
    for (size_t i = 0; i < g->n_tensors; i++)
        if (g->records[i].n_name == n && memcmp(g->records[i].name, name, n) == 0) return true;
    return false;
}

// ---- keys -------------------------------------------------------------------------------------------------------------

struct reading {
    struct gguf g;
    const struct mmproj_kind *kind;
    struct vision_files *v;
    struct vision_config c;
    struct hparams h;
    char tower[48], projector[48];
    uint32_t side; // of the largest picture, where it is of any size
    bool is_older; // ffn_down is the first matrix
};

static rn_status read_count(const struct gguf *g, const char *key, int64_t max, int32_t *out, rn_error *err) {
    int64_t n = 0;
    bool found;
    const rn_status st = gguf_get_int(g, key, 1, max, &n, &found, err);
    if (st == RN_OK && found) *out = (int32_t)n;
    return st;
}

static rn_status need_count(const struct gguf *g, const char *key, int64_t max, int32_t *out, rn_error *err) {
    int64_t n = 0;
    const rn_status st = gguf_get_int(g, key, 1, max, &n, NULL, err);
    if (st == RN_OK) *out = (int32_t)n;
    return st;
}

static rn_status read_name(const struct gguf *g, const char *key, char *out, size_t size, rn_error *err) {
    struct vocab_str s;
    bool found;
    const rn_status st = gguf_get_string(g, key, &s, &found, err);
    if (st == RN_OK && found) package_copy_text(out, size, s);
    return st;
}

// The kind: an absent projector type means mlp. Of an mlp the sizes of tiles tell LLaVA-NeXT from LLaVA-1.5.
static rn_status read_kind(struct reading *r, rn_error *err) {
    struct vocab_str arch, type = {"mlp", 3};
    bool found, has_vision = true;
    rn_status st = gguf_get_string(&r->g, "general.architecture", &arch, NULL, err);
    if (st != RN_OK) return st;
    if (!is_text(arch, "clip"))
        return fail(err, RN_E_UNSUPPORTED, "key general.architecture: '%.*s' is no vision part (clip)",
                    gguf_shown(arch.s, arch.n), arch.s);
    st = gguf_get_bool(&r->g, "clip.has_vision_encoder", &has_vision, &found, err);
    if (st == RN_OK && !has_vision)
        st = fail(err, RN_E_UNSUPPORTED, "key clip.has_vision_encoder: the file has none");
    if (st == RN_OK) st = gguf_get_string(&r->g, "clip.projector_type", &type, &found, err);
    if (st == RN_OK) st = gguf_get_string(&r->g, "clip.vision.projector_type", &type, &found, err);
    if (st != RN_OK) return st;
    for (size_t i = 0; i < N_KINDS && !r->kind; i++)
        if (is_text(type, kinds[i].projector)) r->kind = &kinds[i];
    if (!r->kind)
        return fail(
            err, RN_E_UNSUPPORTED,
            "key clip.projector_type: '%.*s' is not supported: mlp, idefics3, gemma3, internvl, pixtral, qwen2vl_merger, "
            "qwen2.5vl_merger and qwen3vl_merger are",
            gguf_shown(type.s, type.n), type.s);
    if (r->kind == &kinds[0] && gguf_find(&r->g, MMPROJ_MOST_TILES)) r->kind = mmproj_kind_of("LLaVA-OneVision");
    if (r->kind == &kinds[0] && gguf_find(&r->g, "clip.vision.image_grid_pinpoints"))
        r->kind = mmproj_kind_of("LLaVA-NeXT");
    if (r->kind->is_pixtral && has_tensor(&r->g, "mm.patch_merger.weight")) r->kind = mmproj_kind_of("Mistral 3");
    r->v->info.family = r->kind->family;
    return RN_OK;
}

static bool has_merger(const struct reading *r) { return strcmp(r->kind->family, "Mistral 3") == 0; }

static rn_status read_activations(struct reading *r, rn_error *err) {
    bool gelu = false, silu = false, found;
    rn_status st = gguf_get_bool(&r->g, "clip.use_gelu", &gelu, &found, err);
    if (st == RN_OK) st = gguf_get_bool(&r->g, "clip.use_silu", &silu, &found, err);
    if (st != RN_OK) return st;
    if (r->kind->is_pixtral    ? silu == gelu
        : r->kind->has_windows ? !silu || gelu
                               : silu || (gelu && r->kind->has_frames && !r->kind->has_places))
        return fail(err, RN_E_UNSUPPORTED, "key clip.use_%s: is not supported with %s",
                    silu != r->kind->has_windows ? "silu" : "gelu", r->kind->projector);
    const bool is_joined = has_tensor(&r->g, "v.blk.0.attn_qkv.weight");
    snprintf(r->tower, sizeof r->tower, "%s",
             r->kind->is_pixtral     ? silu ? "pixtral_vit_silu_pairs" : "pixtral_vit_gelu_pairs"
             : r->kind->is_internvit ? has_tensor(&r->g, "v.blk.0.ln1.bias") ? "internvit" : "internvit_rms"
             : r->kind->has_places   ? "qwen3_vit_gelu_tanh"
             : r->kind->has_windows  ? is_joined ? "qwen25_vit" : "qwen25_vit_split"
             : r->kind->has_frames   ? is_joined ? "qwen2_vit" : "qwen2_vit_split"
             : gelu                  ? "vit_gelu_tanh"
                                     : "vit_gelu_quick");
    snprintf(r->projector, sizeof r->projector, "%s",
             has_merger(r)        ? "merge_mlp_gelu"
             : r->kind->is_linear ? "linear"
             : r->kind->has_means ? "norm_linear"
                                  : "mlp_gelu");
    st = read_name(&r->g, MMPROJ_TOWER, r->tower, sizeof r->tower, err);
    return st == RN_OK ? read_name(&r->g, MMPROJ_PROJECTOR, r->projector, sizeof r->projector, err) : st;
}

// The square of places, as large as its tensor, and the layers whose features are projected, too.
static rn_status read_places(struct reading *r, int32_t n_layer, rn_error *err) {
    static const char name[] = "v.position_embd.weight", key[] = "clip.vision.is_deepstack_layers";
    struct vision_info *const info = &r->v->info;
    const struct gguf_pair *list = NULL;
    uint64_t n = 0;
    bool found;
    for (size_t i = 0; i < r->g.n_tensors; i++) {
        const struct gguf_record *const t = &r->g.records[i];
        if (t->n_name == sizeof name - 1 && memcmp(t->name, name, t->n_name) == 0 && t->n_dims == 2) n = t->dims[1];
    }
    while ((uint64_t)(info->n_places + 1) * (uint64_t)(info->n_places + 1) <= n &&
           info->n_places * info->n_places < VISION_MAX_ROWS)
        info->n_places++;
    if (n == 0 || (uint64_t)info->n_places * (uint64_t)info->n_places != n)
        return fail(err, RN_E_FORMAT, "tensor %s: %" PRIu64 " rows are no square of 1..%d", name, n, VISION_MAX_ROWS);
    const rn_status st = gguf_get_array(&r->g, key, GGUF_BOOL, &list, &found, err);
    if (st != RN_OK || !found) return st;
    if (list->n > (uint64_t)n_layer)
        return fail(err, RN_E_FORMAT, "key %s: %" PRIu64 " layers of %" PRId32, key, list->n, n_layer);
    for (uint64_t l = 0; l < list->n; l++) {
        if (!list->value[l]) continue;
        if (info->n_deepstack == VISION_MAX_DEEPSTACK)
            return fail(err, RN_E_LIMIT, "key %s: more than %d layers", key, VISION_MAX_DEEPSTACK);
        info->deepstack[info->n_deepstack++] = (int32_t)l;
    }
    return RN_OK;
}

static rn_status read_numbers(struct reading *r, int32_t *n_layer, rn_error *err) {
    const struct gguf *const g = &r->g;
    struct vision_info *const info = &r->v->info;
    struct hparams *const h = &r->h;
    bool found;
    int32_t side = 0;
    *h = (struct hparams){.file_type = "model", .is_checked = true};
    rn_status st = need_count(g, "clip.vision.embedding_length", VISION_MAX_WIDTH, &h->n_embd, err);
    if (st == RN_OK) st = need_count(g, "clip.vision.feed_forward_length", VISION_MAX_WIDTH, &h->n_ff, err);
    if (st == RN_OK) st = need_count(g, "clip.vision.block_count", VISION_MAX_LAYERS, n_layer, err);
    if (st == RN_OK) st = need_count(g, "clip.vision.attention.head_count", h->n_embd, &h->n_head, err);
    if (st == RN_OK)
        st = gguf_get_float(g, "clip.vision.attention.layer_norm_epsilon", 1e-12, 1, &h->norm_eps, NULL, err);
    if (st == RN_OK) st = need_count(g, "clip.vision.patch_size", VISION_MAX_PATCH, &info->patch_size, err);
    if (st == RN_OK) st = need_count(g, "clip.vision.projection_dim", VISION_MAX_WIDTH, &r->c.n_text, err);
    if (st == RN_OK && !r->kind->has_frames)
        st = need_count(g, "clip.vision.image_size", PIPELINE_MAX_SIDE, &side, err);
    if (st == RN_OK && (r->kind->is_linear || r->kind->has_means || r->kind->is_internvit))
        st = read_count(g, "clip.vision.projector.scale_factor", 8, &info->n_merge, err);
    if (st == RN_OK && (r->kind->has_frames || has_merger(r)))
        st = read_count(g, "clip.vision.spatial_merge_size", 8, &info->n_merge, err);
    r->c.projector_eps = h->norm_eps;
    if (st == RN_OK) st = gguf_get_float(g, MMPROJ_EPS, 1e-12, 1, &r->c.projector_eps, &found, err);
    if (st == RN_OK) st = read_count(g, MMPROJ_MOST_TILES, 999, &info->most_tiles, err);
    int64_t token = -1;
    if (st == RN_OK) st = gguf_get_int(g, MMPROJ_TOKEN, 0, INT32_MAX, &token, &found, err);
    info->image_token = (int32_t)token;
    token = -1;
    if (st == RN_OK) st = gguf_get_int(g, MMPROJ_VIDEO_TOKEN, 0, INT32_MAX, &token, &found, err);
    info->video_token = (int32_t)token;
    if (st == RN_OK) st = read_count(g, MMPROJ_PER_SECOND, 1000, &info->tokens_per_second, err);
    if (st == RN_OK && r->kind->has_places) st = read_places(r, *n_layer, err);
    if (st == RN_OK) st = vision_set_grid(info, side, r->kind->has_frames || r->kind->is_pixtral, err);
    if (r->kind->is_pixtral) info->n_numbers = 3 * info->patch_size * info->patch_size, r->side = (uint32_t)side;
    return st;
}

// Every n-th layer attends to all of the picture, the others within windows.
static rn_status set_windows(struct reading *r, rn_error *err) {
    struct vision_info *const info = &r->v->info;
    bool sees_all[VISION_MAX_LAYERS] = {0};
    int32_t pattern = 0, window = 112; // llama.cpp's
    rn_status st = need_count(&r->g, "clip.vision.n_wa_pattern", VISION_MAX_LAYERS + 1, &pattern, err);
    if (st == RN_OK) st = read_count(&r->g, "clip.vision.window_size", PIPELINE_MAX_SIDE, &window, err);
    if (st != RN_OK) return st;
    info->window = window / info->n_merge / info->patch_size;
    if (info->window < 1)
        return fail(err, RN_E_FORMAT, "key clip.vision.window_size: %" PRId32 " pixels, blocks have %" PRId32, window,
                    info->n_merge * info->patch_size);
    for (int32_t l = pattern - 1; l < VISION_MAX_LAYERS; l += pattern) sees_all[l] = true;
    vision_set_windows(r->v->tower, sees_all);
    return RN_OK;
}

// hidden_states[feature_layer]; absent: behind the last of the file's layers, as the original has it.
static rn_status read_feature_layer(const struct gguf *g, int32_t n_layer, int64_t *out, rn_error *err) {
    const struct gguf_pair *list = NULL;
    bool found;
    const rn_status st = gguf_get_array(g, "clip.vision.feature_layer", GGUF_I32, &list, &found, err);
    *out = n_layer;
    if (st != RN_OK || !found) return st;
    if (list->n != 1)
        return fail(err, RN_E_UNSUPPORTED, "key clip.vision.feature_layer: features of %" PRIu64 " layers", list->n);
    *out = gguf_int_item(list, 0);
    return RN_OK;
}

// ---- the processor ----------------------------------------------------------------------------------------------------

static rn_status read_three(const struct gguf *g, const char *key, double min, double out[3], rn_error *err) {
    const struct gguf_pair *list;
    bool found;
    const rn_status st = gguf_get_array(g, key, GGUF_F32, &list, &found, err);
    if (st != RN_OK || !found) return st;
    if (list->n != 3) return fail(err, RN_E_FORMAT, "key %s: %" PRIu64 " numbers, must be 3", key, list->n);
    for (uint64_t i = 0; i < 3; i++) {
        out[i] = (double)gguf_f32_item(list, i);
        if (!(out[i] >= min && out[i] <= 1e3))
            return fail(err, RN_E_FORMAT, "key %s: %g is outside %g..1000", key, out[i], min);
    }
    return RN_OK;
}

static void add_step(struct pipeline *p, struct pipeline_step s) { p->steps[p->n_steps++] = s; }

// [width, height, width, height ..]
static rn_status read_sizes(const struct gguf *g, struct tiling *t, rn_error *err) {
    static const char key[] = "clip.vision.image_grid_pinpoints";
    const struct gguf_pair *list;
    const rn_status st = gguf_get_array(g, key, GGUF_I32, &list, NULL, err);
    if (st != RN_OK) return st;
    if (list->n < 2 || list->n % 2 || list->n / 2 > TILING_MAX_SIZES)
        return fail(err, RN_E_FORMAT, "key %s: %" PRIu64 " numbers: must be 1 to %d pairs", key, list->n,
                    TILING_MAX_SIZES);
    for (uint64_t i = 0; i < list->n; i += 2) {
        const int64_t w = gguf_int_item(list, i), h = gguf_int_item(list, i + 1);
        if (w < 1 || h < 1 || w > PICTURE_MAX_PIXELS || h > PICTURE_MAX_PIXELS || w % t->side || h % t->side ||
            w / t->side * (h / t->side) > TILING_MAX_TILES)
            return fail(err, RN_E_UNSUPPORTED, "key %s: %" PRId64 " x %" PRId64 " is no whole number of tiles of %u",
                        key, h, w, t->side);
        t->sizes[t->n_sizes++] = (struct tiling_size){(uint32_t)h, (uint32_t)w};
    }
    return RN_OK;
}

// What the family's processor usually does, where the file does not have it.
static rn_status set_usual(struct reading *r, rn_error *err) {
    struct vision_info *const info = &r->v->info;
    struct pipeline *const p = &info->pipeline;
    const uint32_t side = (uint32_t)(info->grid * info->patch_size);
    const struct pipeline_step resize = {PIPELINE_RESIZE, side, side,
                                         .filter = r->kind->has_means ? RESIZE_BILINEAR : RESIZE_BICUBIC};
    *p = (struct pipeline){.rescale = 1 / 255.0, .normalizes = true, .std = {1, 1, 1}};
    rn_status st = read_three(&r->g, "clip.vision.image_mean", -1e3, p->mean, err);
    if (st == RN_OK) st = read_three(&r->g, "clip.vision.image_std", 1e-6, p->std, err);
    if (st != RN_OK) return st;
    if (r->kind->has_frames) {
        int32_t least = 56 * 56, most = 28 * 28 * 1280;
        p->patch_size = (uint32_t)info->patch_size, p->merge_size = (uint32_t)info->n_merge, p->patch_frames = 2;
        st = read_count(&r->g, "clip.vision.image_min_pixels", PICTURE_MAX_PIXELS, &least, err);
        if (st == RN_OK) st = read_count(&r->g, "clip.vision.image_max_pixels", PICTURE_MAX_PIXELS, &most, err);
        if (st == RN_OK && least > most)
            st = fail(err, RN_E_FORMAT, "key clip.vision.image_min_pixels: %" PRId32 " is more than %" PRId32, least,
                      most);
        add_step(p, (struct pipeline_step){.kind = PIPELINE_RESIZE_AREA,
                                           .width = p->patch_size * p->merge_size,
                                           .min_pixels = (uint32_t)least,
                                           .max_pixels = (uint32_t)most,
                                           .filter = RESIZE_BICUBIC});
        return st;
    }
    if (r->kind->is_linear) {
        int32_t longest = (int32_t)(4 * side);
        st = read_count(&r->g, "clip.vision.preproc_image_size", PIPELINE_MAX_SIDE, &longest, err);
        add_step(p, (struct pipeline_step){
                        .kind = PIPELINE_RESIZE_LONG, .width = (uint32_t)longest, .filter = RESIZE_LANCZOS});
        p->tiling = (struct tiling){.kind = TILING_SPLIT, .side = side, .filter = RESIZE_LANCZOS};
        p->has_marks = true;
        return st;
    }
    if (r->kind->is_pixtral) {
        add_step(p, (struct pipeline_step){PIPELINE_RESIZE_WITHIN, r->side, r->side, 0, UINT32_MAX, RESIZE_BICUBIC});
        p->takes_patches = p->has_marks = true;
        return RN_OK;
    }
    if (r->kind->is_internvit) {
        int32_t least = 1, most = 12;
        st = read_count(&r->g, "clip.vision.preproc_min_tiles", TILING_MAX_TILES, &least, err);
        if (st == RN_OK) st = read_count(&r->g, "clip.vision.preproc_max_tiles", TILING_MAX_TILES, &most, err);
        p->tiling = (struct tiling){.kind = TILING_CLOSEST,
                                    .side = side,
                                    .filter = RESIZE_BICUBIC,
                                    .least_tiles = (uint32_t)least,
                                    .most_tiles = (uint32_t)most};
        p->has_marks = true;
        return st;
    }
    if (r->kind->has_means) {
        add_step(p, resize);
        p->has_marks = true;
        return RN_OK;
    }
    if (info->order == VISION_AS_MAP) {
        p->tiling = (struct tiling){
            .kind = TILING_BEST_SIZE, .side = side, .filter = RESIZE_BICUBIC, .only_alone = info->most_tiles > 0};
        st = read_sizes(&r->g, &p->tiling, err);
        if (info->most_tiles == 0) return st;
    }
    add_step(p, (struct pipeline_step){.kind = PIPELINE_PAD_SQUARE});
    add_step(p, resize);
    return st;
}

static rn_status read_processor(struct reading *r, rn_error *err) {
    struct vocab_str text;
    bool found;
    rn_status st = gguf_get_string(&r->g, MMPROJ_PROCESSOR, &text, &found, err);
    if (st == RN_OK && found) {
        st = text.n <= FOLDER_MAX_CONFIG_BYTES
                 ? preprocessor_read(text.s, text.n, &r->v->info.pipeline, err)
                 : fail(err, RN_E_LIMIT, "%" PRIu32 " bytes, limit %d", text.n, FOLDER_MAX_CONFIG_BYTES);
        if (st != RN_OK) st = fail_in(err, st, "key %s", MMPROJ_PROCESSOR);
    } else if (st == RN_OK) {
        st = set_usual(r, err);
    }
    struct pipeline *const p = &r->v->info.pipeline;
    int32_t least = (int32_t)p->video_min_pixels, most = (int32_t)p->video_max_pixels;
    if (st == RN_OK) st = read_count(&r->g, MMPROJ_VIDEO_MIN, PICTURE_MAX_PIXELS, &least, err);
    if (st == RN_OK) st = read_count(&r->g, MMPROJ_VIDEO_MAX, PICTURE_MAX_PIXELS, &most, err);
    if (st == RN_OK && most && least > most)
        st = fail(err, RN_E_FORMAT, "key " MMPROJ_VIDEO_MIN ": %" PRId32 " is more than %" PRId32, least, most);
    p->video_min_pixels = (uint32_t)least, p->video_max_pixels = (uint32_t)most;
    return st == RN_OK ? vision_fit_pipeline(r->v, err) : st;
}

// ---- tensors ----------------------------------------------------------------------------------------------------------

static bool is_of(const char *front, const struct gguf_record *t) {
    const size_t n = strlen(front);
    return t->n_name >= n && memcmp(t->name, front, n) == 0;
}

static const char *behind_front(const char *name, const char *front) {
    const size_t n = strlen(front);
    return strncmp(name, front, n) == 0 ? name + n : NULL;
}

// Our name of a tensor. older: the two matrices of a feed-forward part change places.
static void own_name(const struct reading *r, const struct gguf_record *t, char out[128]) {
    char name[128];
    int32_t layer;
    int at = 0;
    snprintf(name, sizeof name, "%.*s", (int)t->n_name, t->name);
    snprintf(out, 128, "%s", name);
    const struct mmproj_name *const other = mmproj_name_of(r->kind, name, true);
    if (other) snprintf(out, 128, "%s%.100s", other->own, name + strlen(other->file));
    if (strcmp(name, "v.image_newline") == 0) snprintf(out, 128, "model.image_newline");
    if (r->is_older && sscanf(name, "v.blk.%5" SCNd32 ".ffn_%n", &layer, &at) == 1 && at > 0) {
        const char *const which = name + at, *rest;
        if ((rest = behind_front(which, "down."))) snprintf(out, 128, "v.blk.%" PRId32 ".ffn_up.%.80s", layer, rest);
        if ((rest = behind_front(which, "up."))) snprintf(out, 128, "v.blk.%" PRId32 ".ffn_down.%.80s", layer, rest);
    }
}

static int32_t layer_of(const char *name) {
    int32_t layer = -1;
    return sscanf(name, "v.blk.%5" SCNd32 ".", &layer) == 1 ? layer : -1;
}

// Of llama.cpp's older files the first matrix is ffn_down, which its shape says: it makes rows of n_ff numbers.
static bool is_older(const struct reading *r) {
    static const char name[] = "v.blk.0.ffn_down.weight";
    for (size_t i = 0; i < r->g.n_tensors; i++) {
        const struct gguf_record *const t = &r->g.records[i];
        if (t->n_name == sizeof name - 1 && memcmp(t->name, name, sizeof name - 1) == 0 && t->n_dims == 2)
            return r->h.n_ff == r->h.n_embd ? gguf_find(&r->g, "clip.has_llava_projector") != NULL
                                            : t->dims[1] == (uint64_t)r->h.n_ff;
    }
    return false;
}

// Convolutions become matrices, whose product is in the file.
static void flatten(struct tensor_claim *claim, uint64_t dims[2]) {
    if (claim->n_dims != 4) return;
    dims[0] = claim->dims[0] * claim->dims[1] * claim->dims[2], dims[1] = claim->dims[3];
    claim->dims = dims;
    claim->n_dims = 2;
}

// The projector of features of a layer whose tensor it is, which gets its name here; NULL: it is none, or of a layer that has none.
static struct package *deepstack_of(const struct reading *r, char name[128]) {
    int32_t layer;
    int at = 0;
    if (sscanf(name, "v.deepstack.%5" SCNd32 ".%n", &layer, &at) != 1 || at == 0) return NULL;
    for (int32_t i = 0; i < r->v->info.n_deepstack; i++)
        for (size_t k = 0; k < MMPROJ_N_DEEPSTACK_NAMES && layer == r->v->info.deepstack[i]; k++) {
            const char *const rest = behind_front(name + at, mmproj_deepstack_names[k].file);
            char own[128];
            if (!rest) continue;
            snprintf(own, sizeof own, "%s%.80s", mmproj_deepstack_names[k].own, rest);
            memcpy(name, own, sizeof own);
            return r->v->deepstack[i];
        }
    return NULL;
}

static rn_status add_tensor(struct reading *r, const struct gguf_record *t, rn_error *err) {
    struct tensor_claim claim;
    char name[128];
    uint64_t dims[2];
    if (t->n_name >= sizeof name - 16) return fail(err, RN_E_FORMAT, "the name has %" PRIu32 " bytes", t->n_name);
    rn_status st = gguf_record_claim(&r->g, t, &claim, err);
    if (st != RN_OK) return st;
    own_name(r, t, name);
    if (strcmp(name, MMPROJ_BREAK) == 0) return RN_OK; // the text model has it
    const bool is_tower = is_of("v.", t) && strcmp(name, "model.image_newline") != 0;
    struct package *const deep = r->kind->has_places ? deepstack_of(r, name) : NULL, *const p = deep ? deep
                                                                                                : is_tower
                                                                                                    ? r->v->tower
                                                                                                    : r->v->projector;
    if (is_tower && layer_of(name) >= r->v->tower->hparams.n_layer) return RN_OK;
    if (strcmp(name, "v.post_ln.weight") == 0 || strcmp(name, "v.post_ln.bias") == 0)
        if (!r->c.has_post_norm) return RN_OK;
    claim.name = name, claim.n_name = (uint32_t)strlen(name);
    claim.file = &p->files[0].map;
    flatten(&claim, dims);
    return package_add_tensor(p, &claim, err);
}

// Patches of two frames: two convolutions in the file, one matrix here, whose rows have channel by channel the one's numbers and the other's.
static rn_status join_frames(struct reading *r, rn_error *err) {
    struct package *const p = r->v->tower;
    const struct tensor_view *const a = package_tensor(p, "v.patch_embd.weight"), *const b = package_tensor(
                                                                                      p, MMPROJ_PATCH_SECOND);
    const size_t n_plane = (size_t)(r->v->info.patch_size * r->v->info.patch_size);
    if (!a || !b)
        return fail(err, RN_E_FORMAT, "tensor %s: is missing", a ? MMPROJ_PATCH_SECOND : "v.patch_embd.weight");
    if (a->type != b->type || tensor_type_info(a->type)->block_len != 1 || a->ne[0] != 3 * n_plane ||
        b->ne[0] != a->ne[0] || b->ne[1] != a->ne[1])
        return fail(err, RN_E_FORMAT, "tensor %s: the second frame is of another type or shape", MMPROJ_PATCH_SECOND);
    const size_t n_bytes = n_plane * tensor_type_info(a->type)->block_bytes, n_rows = (size_t)(3 * a->ne[1]);
    const uint64_t dims[2] = {2 * a->ne[0], a->ne[1]};
    static const char name[] = "v.patch_embd.weight";
    const struct tensor_claim claim = {
        .name = name, .n_name = sizeof name - 1, .type = a->type, .n_dims = 2, .dims = dims};
    const uint8_t *const from[2] = {a->data, b->data};
    const struct tensor_view *const before = p->tensors;
    const size_t n_before = p->n_tensors;
    size_t room;
    if (!package_made_size(2 * n_rows * n_bytes, &room)) return fail(err, RN_E_LIMIT, "tensor %s: too large", name);
    rn_status st = package_reserve_made(p, room, err);
    if (st == RN_OK) st = package_begin_anew(p, n_before, err);
    for (size_t i = 0; st == RN_OK && i < n_before; i++)
        if (before + i != a && before + i != b) package_keep_tensor(p, before + i);
    if (st == RN_OK) st = package_add_tensor(p, &claim, err);
    if (st != RN_OK) return st;
    uint8_t *to = package_made_data(p);
    for (size_t row = 0; row < n_rows; row++)
        for (int frame = 0; frame < 2; frame++, to += n_bytes) memcpy(to, from[frame] + row * n_bytes, n_bytes);
    return RN_OK;
}

static rn_status add_tensors(struct reading *r, rn_error *err) {
    rn_status st = package_reserve_tensors(r->v->tower, r->g.n_tensors, err);
    for (int32_t i = 0; st == RN_OK && i < r->v->info.n_deepstack; i++)
        st = package_reserve_tensors(r->v->deepstack[i], r->g.n_tensors, err);
    if (st == RN_OK) st = package_reserve_tensors(r->v->projector, r->g.n_tensors, err);
    for (size_t i = 0; st == RN_OK && i < r->g.n_tensors; i++) {
        const struct gguf_record *const t = &r->g.records[i];
        if (is_of("a.", t) || is_of("mm.a.", t)) continue; // of a tower for sound
        st = add_tensor(r, t, err);
        if (st != RN_OK) return fail_in(err, st, "tensor %.*s", gguf_shown(t->name, t->n_name), t->name);
    }
    return st;
}

// The same file, once more for each.
static rn_status open_deepstack(struct vision_files *v, rn_error *err) {
    const struct package_options o = {.load = FILE_LOAD_MAP};
    const struct package_file *const file = &v->tower->files[0];
    const struct package_bytes bytes = {file->path, file->map.data, file->map.size};
    rn_status st = vision_create_deepstack(v, file->path, err);
    for (int32_t i = 0; st == RN_OK && i < v->info.n_deepstack; i++)
        st = file->is_ours ? package_open_files(v->deepstack[i], &file->path, 1, &o, err)
                           : package_take_bytes(v->deepstack[i], &bytes, 1, err);
    return st;
}

// ---- the file ---------------------------------------------------------------------------------------------------------

static rn_status load(struct reading *r, rn_error *err) {
    const struct file_map *const file = &r->v->tower->files[0].map;
    struct vision_info *const info = &r->v->info;
    int32_t n_layer = 0;
    int64_t layer = 0;
    info->n_merge = 1;
    rn_status st = gguf_read(&r->g, file->data, file->size, err);
    if (st == RN_OK) st = read_kind(r, err);
    if (st != RN_OK) return st;
    r->c.has_post_norm = (r->kind->is_internvit && has_tensor(&r->g, "v.post_ln.weight")) || r->kind->is_linear ||
                         r->kind->has_frames || r->kind->has_means;
    if (r->c.has_post_norm || r->kind->is_internvit || has_merger(r)) info->n_merge = r->kind->has_means ? 4 : 2;
    info->averages = info->sees_itself = r->kind->has_means;
    info->has_coords = r->kind->has_frames;
    info->order = r->kind->is_map ? VISION_AS_MAP : VISION_IN_TURN;
    info->image_token_name = r->kind->token;
    info->video_token_name = r->kind->has_frames ? "<|video_pad|>" : NULL;
    info->video = r->kind->has_places    ? VIDEO_WITH_TIMES
                  : r->kind->has_windows ? VIDEO_BY_SECONDS
                  : r->kind->has_frames  ? VIDEO_AS_ONE
                                         : VIDEO_NONE;
    info->tokens_per_second = 2; // published models'
    info->has_class = has_tensor(&r->g, "v.class_embd");
    st = read_activations(r, err);
    if (st == RN_OK) st = read_numbers(r, &n_layer, err);
    if (st == RN_OK) st = read_feature_layer(&r->g, n_layer, &layer, err);
    if (st == RN_OK && info->averages && info->grid < info->n_merge)
        st = fail(err, RN_E_FORMAT,
                  "key clip.vision.projector.scale_factor: %" PRId32 " is more than %" PRId32 " patches",
                  info->n_merge, info->grid);
    if (!r->kind->has_means && !has_merger(r) && !r->kind->has_places) r->c.projector_eps = 0;
    if (r->kind->has_frames || r->kind->is_pixtral) r->h.rope_theta = 10000;
    if (st == RN_OK) st = vision_set_tower(r->v->tower, &r->h, r->tower, info, n_layer, layer, err);
    if (st == RN_OK && r->kind->has_windows) st = set_windows(r, err);
    if (st == RN_OK) st = open_deepstack(r->v, err);
    if (st != RN_OK) return st;
    r->is_older = is_older(r);
    r->c.projector = r->projector;
    st = add_tensors(r, err);
    if (st == RN_OK && r->kind->has_frames) st = join_frames(r, err);
    if (st == RN_OK && has_merger(r)) st = vision_order_merger(r->v->projector, info->n_merge, err);
    if (st == RN_OK && r->kind->has_means) st = vision_turn_matrix(r->v->projector, false, err);
    if (st == RN_OK) st = vision_set_projector(r->v, &r->c, err);
    if (st == RN_OK) st = read_processor(r, err);
    if (st == RN_OK) info->marks = info->pipeline.has_marks ? vision_marks_of(r->kind->family) : NULL;
    r->v->tower->format = r->v->projector->format = "GGUF, vision part";
    return st;
}

static rn_status finish(struct vision_files *v, rn_status st, struct vision_files *out) {
    if (st == RN_OK)
        *out = *v;
    else
        vision_files_close(v);
    return st;
}

static rn_status begin(const char *path, struct vision_files *v, rn_error *err) {
    const rn_status st = package_create(path, &v->tower, err);
    return st == RN_OK ? package_create(path, &v->projector, err) : st;
}

static rn_status read_all(struct vision_files *v, const char *path, rn_error *err) {
    struct reading r = {.v = v};
    const rn_status st = load(&r, err);
    gguf_free(&r.g);
    return package_in_file(path, st, err);
}

rn_status mmproj_open(const char *path, struct vision_files *out, rn_error *err) {
    const struct package_options o = {.load = FILE_LOAD_MAP};
    struct vision_files v = {0};
    *out = v;
    rn_status st = begin(path, &v, err);
    if (st == RN_OK) st = package_open_files(v.tower, &path, 1, &o, err);
    if (st == RN_OK) st = package_open_files(v.projector, &path, 1, &o, err);
    if (st == RN_OK) st = read_all(&v, path, err);
    return finish(&v, st, out);
}

rn_status mmproj_from_bytes(const char *name, const uint8_t *data, size_t n, struct vision_files *out,
                            rn_error *err) {
    const struct package_bytes file = {name, data, n};
    struct vision_files v = {0};
    *out = v;
    rn_status st = begin(name, &v, err);
    if (st == RN_OK) st = package_take_bytes(v.tower, &file, 1, err);
    if (st == RN_OK) st = package_take_bytes(v.projector, &file, 1, err);
    if (st == RN_OK) st = read_all(&v, name, err);
    return finish(&v, st, out);
}
