// convert/vision_out.c - rn_convert_vision(): the vision part of a folder as a mmproj file (formats/vision/mmproj.h).
#include "base/mem.h"
#include "base/paths.h"
#include "convert/convert_options.h"
#include "convert/model_out.h"
#include "formats/folder/preprocessor.h"
#include "formats/gguf/gguf_write.h"
#include "formats/limits.h"
#include "formats/vision/mmproj.h"
#include <inttypes.h>
#include <runnel/tools.h>
#include <stdio.h>
#include <string.h>

static struct vocab_str text_of(const char *s) { return (struct vocab_str){s, (uint32_t)strlen(s)}; }

struct out {
    const struct vision_files *v;
    const struct mmproj_kind *kind;
    gguf_writer *w;
    struct arena mem;
    struct tensor_view *views;
    struct tensor_plan *plans;
    size_t n, max;
    rn_error *err;
};

// ---- tensors ----------------------------------------------------------------------------------------------------------

static bool is(const char *name, const char *other) { return strcmp(name, other) == 0; }

static struct tensor_view *add(struct out *o, const struct tensor_view *of, const char *name, bool is_float) {
    const size_t n_name = strlen(name) + 1;
    char *const copy = arena_alloc(&o->mem, n_name);
    if (!copy || o->n == o->max) return NULL;
    memcpy(copy, name, n_name);
    struct tensor_view *const t = &o->views[o->n];
    *t = *of;
    t->name = copy;
    o->plans[o->n++] = (struct tensor_plan){.t = t, .type = is_float ? TENSOR_F32 : of->type};
    return t;
}

// A matrix of patches as the convolution that it is in others' files.
static void as_convolution(struct tensor_view *t, uint64_t side) {
    t->ne[2] = t->ne[0] / (side * side), t->ne[3] = t->ne[1];
    t->ne[0] = t->ne[1] = side;
    t->n_dims = 4;
    t->row_bytes = t->n_bytes / (size_t)(t->ne[1] * t->ne[2] * t->ne[3]);
}

// Patches of two frames: a convolution for each.
static bool add_frames(struct out *o, const struct tensor_view *of) {
    const uint64_t side = (uint64_t)o->v->info.patch_size;
    static const char *const names[] = {"v.patch_embd.weight", MMPROJ_PATCH_SECOND};
    const size_t half = of->n_bytes / 2, plane = (size_t)(side * side) * (of->row_bytes / (size_t)of->ne[0]);
    for (size_t frame = 0; frame < 2; frame++) {
        uint8_t *const to = arena_alloc(&o->mem, half);
        struct tensor_view *const t = to ? add(o, of, names[frame], true) : NULL;
        if (!t) return false;
        for (size_t at = 0; at < half; at += plane) memcpy(to + at, of->data + 2 * at + frame * plane, plane);
        t->data = to, t->n_bytes = half, t->ne[0] /= 2;
        as_convolution(t, side);
    }
    return true;
}

// Queries, keys and values one by one.
static bool add_thirds(struct out *o, const struct tensor_view *of, const char *front, const char *ending) {
    static const char letters[] = "qkv";
    for (size_t i = 0; i < 3; i++) {
        char name[300];
        snprintf(name, sizeof name, "%.120sattn_%c%.120s", front, letters[i], ending);
        struct tensor_view *const t = add(o, of, name, of->n_dims == 1);
        if (!t) return false;
        t->ne[of->n_dims - 1] /= 3, t->n_bytes /= 3;
        t->data += i * t->n_bytes;
        if (of->n_dims == 1) t->row_bytes = t->n_bytes;
    }
    return true;
}

// A matrix with its inputs as rows.
static bool add_turned(struct out *o, const struct tensor_view *of, const char *name) {
    const size_t n_in = (size_t)of->ne[0], n_out = (size_t)of->ne[1], size = of->row_bytes / n_in;
    uint8_t *const data = arena_alloc(&o->mem, of->n_bytes), *to = data;
    struct tensor_view *const t = data ? add(o, of, name, false) : NULL;
    if (!t) return false;
    for (size_t i = 0; i < n_in; i++)
        for (size_t row = 0; row < n_out; row++, to += size)
            memcpy(to, of->data + row * of->row_bytes + i * size, size);
    t->data = data, t->ne[0] = n_out, t->ne[1] = n_in, t->row_bytes = n_out * size;
    return true;
}

// Rows of queries or keys with the pairs of each head side by side.
static bool add_pairs(struct out *o, const struct tensor_view *of) {
    const size_t n_head = (size_t)package_hparams(o->v->tower)->n_head, n_each = (size_t)of->ne[1] / n_head;
    uint8_t *const data = arena_alloc(&o->mem, of->n_bytes), *to = data;
    struct tensor_view *const t = data ? add(o, of, of->name, false) : NULL;
    if (!t) return false;
    for (size_t row = 0; row < n_head * n_each; row++, to += of->row_bytes) {
        const size_t in_head = row % n_each, from = row - in_head + in_head % 2 * (n_each / 2) + in_head / 2;
        memcpy(to, of->data + from * of->row_bytes, of->row_bytes);
    }
    t->data = data;
    return true;
}

// The inverse of vision_order_merger().
static bool add_merger(struct out *o, const struct tensor_view *of) {
    const size_t n_patches = (size_t)o->v->info.n_merge * (size_t)o->v->info.n_merge,
                 n_each = (size_t)of->ne[0] / n_patches, size = of->row_bytes / (size_t)of->ne[0];
    uint8_t *const data = arena_alloc(&o->mem, of->n_bytes), *to = data;
    struct tensor_view *const t = data ? add(o, of, of->name, false) : NULL;
    if (!t) return false;
    for (size_t row = 0; row < (size_t)of->ne[1]; row++)
        for (size_t i = 0; i < n_each; i++)
            for (size_t patch = 0; patch < n_patches; patch++, to += size)
                memcpy(to, of->data + row * of->row_bytes + (patch * n_each + i) * size, size);
    t->data = data;
    return true;
}

// The embedding of the token between lines, where the folder's text model has it: llama.cpp reads it from this file.
static rn_status add_break(struct out *o, const char *dir) {
    static const char token[] = "[IMG_BREAK]", name[] = MMPROJ_BREAK;
    const struct package_options opt = {.load = FILE_LOAD_MAP};
    package *text = NULL;
    rn_status st = package_open(dir, &opt, &text, o->err);
    if (st != RN_OK) return st;
    const struct vocab *const v = package_vocab(text);
    const struct tensor_view *const rows = package_tensor(text, "token_embd.weight");
    int32_t at = 0;
    while (at < v->n_tokens &&
           (v->tokens[at].text.n != sizeof token - 1 || memcmp(v->tokens[at].text.s, token, sizeof token - 1) != 0))
        at++;
    if (rows && at < v->n_tokens && (uint64_t)at < rows->ne[1]) {
        const size_t n = (size_t)rows->ne[0], n_bytes = n * sizeof(float);
        float *const data = arena_alloc(&o->mem, n_bytes);
        struct tensor_view made = {.type = TENSOR_F32,
                                   .n_dims = 1,
                                   .ne = {n, 1, 1, 1},
                                   .n_bytes = n_bytes,
                                   .row_bytes = n_bytes,
                                   .data = (const uint8_t *)data};
        if (data) tensor_type_info(rows->type)->dequantize_row(rows->data + (size_t)at * rows->row_bytes, data, n);
        if (!data || !add(o, &made, name, true)) st = fail(o->err, RN_E_NOMEM, "vision part: out of memory");
    }
    package_close(text);
    return st;
}

static bool add_tensor(struct out *o, const struct tensor_view *t) {
    const char *const qkv = strstr(t->name, "attn_qkv");
    char name[128];
    snprintf(name, sizeof name, "%s", t->name);
    if (is(name, "v.patch_embd.weight") && o->kind->has_frames) return add_frames(o, t);
    if (qkv && !o->kind->has_places) {
        snprintf(name, sizeof name, "%.*s", (int)(qkv - t->name), t->name);
        return add_thirds(o, t, name, qkv + strlen("attn_qkv"));
    }
    if (is(name, "model.image_newline")) snprintf(name, sizeof name, "v.image_newline");
    const struct mmproj_name *const other = mmproj_name_of(o->kind, t->name, false);
    if (other) snprintf(name, sizeof name, "%s%s", other->file, t->name + strlen(other->own));
    if (o->kind->is_pixtral && (strstr(t->name, ".attn_q.weight") || strstr(t->name, ".attn_k.weight")))
        return add_pairs(o, t);
    if (is(t->name, "mm.patch_merger.weight")) return add_merger(o, t);
    if (o->kind->has_means && is(t->name, "mm.2.weight")) return add_turned(o, t, name);
    const bool is_patches = is(name, "v.patch_embd.weight");
    struct tensor_view *const made =
        add(o, t, name, t->n_dims == 1 || is_patches || is(name, "v.position_embd.weight"));
    if (made && is_patches) as_convolution(made, (uint64_t)o->v->info.patch_size);
    return made;
}

// The projector of features of a layer.
static bool add_deepstack(struct out *o, int32_t i) {
    const package *const p = o->v->deepstack[i];
    bool ok = true;
    for (size_t t = 0; ok && t < package_n_tensors(p); t++) {
        const struct tensor_view *const view = package_tensor_at(p, t);
        for (size_t k = 0; ok && k < MMPROJ_N_DEEPSTACK_NAMES; k++) {
            const struct mmproj_deepstack_name *const n = &mmproj_deepstack_names[k];
            char name[128];
            if (strncmp(view->name, n->own, strlen(n->own)) != 0) continue;
            snprintf(name, sizeof name, MMPROJ_DEEPSTACK "%s%s", o->v->info.deepstack[i], n->file,
                     view->name + strlen(n->own));
            ok = add(o, view, name, view->n_dims == 1);
        }
    }
    return ok;
}

static rn_status add_tensors(struct out *o) {
    const package *const parts[] = {o->v->tower, o->v->projector};
    bool ok = true;
    for (size_t p = 0; p < 2; p++) o->max += 3 * package_n_tensors(parts[p]);
    for (int32_t i = 0; i < o->v->info.n_deepstack; i++) o->max += package_n_tensors(o->v->deepstack[i]);
    o->max++;
    o->views = arena_alloc(&o->mem, o->max * sizeof *o->views);
    o->plans = arena_alloc(&o->mem, o->max * sizeof *o->plans);
    ok = o->views && o->plans;
    for (size_t p = 0; p < 2; p++)
        for (size_t i = 0; ok && i < package_n_tensors(parts[p]); i++)
            ok = add_tensor(o, package_tensor_at(parts[p], i));
    for (int32_t i = 0; ok && i < o->v->info.n_deepstack; i++) ok = add_deepstack(o, i);
    return ok ? RN_OK : fail(o->err, RN_E_NOMEM, "vision part: out of memory for its tensors");
}

// ---- keys -------------------------------------------------------------------------------------------------------------

static void put_three(gguf_writer *w, const char *key, const double of[3]) {
    gguf_put_array(w, key, GGUF_F32, 3);
    for (int i = 0; i < 3; i++) gguf_put_item_f32(w, (float)of[i]);
}

static void put_sizes(gguf_writer *w, const struct tiling *t) {
    gguf_put_array(w, "clip.vision.image_grid_pinpoints", GGUF_I32, 2 * t->n_sizes);
    for (size_t i = 0; i < t->n_sizes; i++) {
        gguf_put_item_i32(w, (int32_t)t->sizes[i].width);
        gguf_put_item_i32(w, (int32_t)t->sizes[i].height);
    }
    gguf_put_string(w, "clip.vision.mm_patch_merge_type", text_of("spatial_unpad"));
}

static void put_processor(gguf_writer *w, const struct pipeline *p) {
    put_three(w, "clip.vision.image_mean", p->mean);
    put_three(w, "clip.vision.image_std", p->std);
    if (p->tiling.kind == TILING_BEST_SIZE) put_sizes(w, &p->tiling);
    if (p->tiling.kind == TILING_CLOSEST) {
        gguf_put_u32(w, "clip.vision.preproc_min_tiles", p->tiling.least_tiles);
        gguf_put_u32(w, "clip.vision.preproc_max_tiles", p->tiling.most_tiles);
    }
    for (size_t i = 0; i < p->n_steps; i++) {
        const struct pipeline_step *const s = &p->steps[i];
        if (s->kind == PIPELINE_RESIZE_LONG) gguf_put_u32(w, "clip.vision.preproc_image_size", s->width);
        if (s->kind != PIPELINE_RESIZE_AREA) continue;
        gguf_put_u32(w, "clip.vision.image_min_pixels", s->min_pixels);
        gguf_put_u32(w, "clip.vision.image_max_pixels", s->max_pixels);
    }
}

static void put_tower(const struct out *o) {
    const struct vision_info *const info = &o->v->info;
    const struct hparams *const h = package_hparams(o->v->tower);
    gguf_writer *const w = o->w;
    const uint32_t side = info->n_places        ? (uint32_t)(info->n_places * info->patch_size)
                          : o->kind->is_pixtral ? info->pipeline.steps[0].width
                          : info->grid          ? (uint32_t)(info->grid * info->patch_size)
                                                : 560; // llama.cpp's, where any is read
    gguf_put_string(w, "general.architecture", text_of("clip"));
    gguf_put_string(w, "general.type", text_of("mmproj"));
    gguf_put_bool(w, "clip.has_vision_encoder", true);
    gguf_put_string(w, "clip.projector_type", text_of(o->kind->projector));
    if (strncmp(h->arch, "vit_gelu", 8) == 0 || o->kind->is_internvit || o->kind->has_places)
        gguf_put_bool(w, "clip.use_gelu", !is(h->arch, "vit_gelu_quick"));
    if (o->kind->is_pixtral)
        gguf_put_bool(w, is(h->arch, "pixtral_vit_silu") ? "clip.use_silu" : "clip.use_gelu", true);
    if (o->kind->is_pixtral && package_hparams(o->v->projector)->norm_eps != h->norm_eps)
        gguf_put_f32(w, MMPROJ_EPS, package_hparams(o->v->projector)->norm_eps);
    gguf_put_u32(w, "clip.vision.image_size", side);
    gguf_put_u32(w, "clip.vision.patch_size", (uint32_t)info->patch_size);
    gguf_put_u32(w, "clip.vision.embedding_length", (uint32_t)h->n_embd);
    gguf_put_u32(w, "clip.vision.feed_forward_length", (uint32_t)h->n_ff);
    gguf_put_u32(w, "clip.vision.block_count", (uint32_t)h->n_layer);
    gguf_put_u32(w, "clip.vision.attention.head_count", (uint32_t)h->n_head);
    gguf_put_f32(w, "clip.vision.attention.layer_norm_epsilon", h->norm_eps);
    gguf_put_u32(w, "clip.vision.projection_dim", (uint32_t)info->n_embd_out);
}

// Every n-th layer attends to all of the picture; one behind the last layer: none does. 0: it is otherwise.
static uint32_t full_layers(const struct hparams *h) {
    int32_t n = 1;
    while (n <= h->n_layer && h->layers[n - 1].flags & LAYER_SWA) n++;
    for (int32_t l = 0; l < h->n_layer; l++)
        if (!(h->layers[l].flags & LAYER_SWA) != ((l + 1) % n == 0)) return 0;
    return (uint32_t)n;
}

static void put_deepstack(const struct out *o) {
    const struct vision_info *const info = &o->v->info;
    const int32_t n = package_hparams(o->v->tower)->n_layer;
    gguf_put_array(o->w, "clip.vision.is_deepstack_layers", GGUF_BOOL, (uint64_t)n);
    for (int32_t l = 0, at = 0; l < n; l++) {
        const bool is_next = at < info->n_deepstack && info->deepstack[at] == l;
        gguf_put_item_bool(o->w, is_next);
        at += is_next;
    }
}

static void put_family(const struct out *o) {
    const struct vision_info *const info = &o->v->info;
    const char *const tower = package_hparams(o->v->tower)->arch, *const projector =
                                                                      package_hparams(o->v->projector)->arch;
    if (o->kind->is_linear || o->kind->has_means || o->kind->is_internvit) {
        gguf_put_u32(o->w, "clip.vision.projector.scale_factor", (uint32_t)info->n_merge);
    } else if (o->kind->has_frames || o->kind->is_pixtral) {
        if (o->kind->has_windows) {
            gguf_put_bool(o->w, "clip.use_silu", true);
            gguf_put_u32(o->w, "clip.vision.n_wa_pattern", full_layers(package_hparams(o->v->tower)));
            gguf_put_u32(o->w, "clip.vision.window_size",
                         (uint32_t)(info->window * info->n_merge * info->patch_size));
        }
        gguf_put_u32(o->w, "clip.vision.spatial_merge_size", (uint32_t)info->n_merge);
        if (o->kind->has_places) put_deepstack(o);
    } else { // layers behind it are not in the file
        gguf_put_array(o->w, "clip.vision.feature_layer", GGUF_I32, 1);
        gguf_put_item_i32(o->w, package_hparams(o->v->tower)->n_layer);
    }
    if (is(tower, "vit_gelu") || is(tower, "qwen3_vit_gelu")) gguf_put_string(o->w, MMPROJ_TOWER, text_of(tower));
    if (is(projector, "mlp_gelu_tanh") || is(projector, "merge_mlp_gelu_tanh"))
        gguf_put_string(o->w, MMPROJ_PROJECTOR, text_of(projector));
    if (info->most_tiles) gguf_put_u32(o->w, MMPROJ_MOST_TILES, (uint32_t)info->most_tiles);
    if (info->video && info->video_token >= 0) gguf_put_u32(o->w, MMPROJ_VIDEO_TOKEN, (uint32_t)info->video_token);
    if (info->video == VIDEO_BY_SECONDS) gguf_put_u32(o->w, MMPROJ_PER_SECOND, (uint32_t)info->tokens_per_second);
    if (info->pipeline.video_max_pixels) {
        gguf_put_u32(o->w, MMPROJ_VIDEO_MIN, info->pipeline.video_min_pixels);
        gguf_put_u32(o->w, MMPROJ_VIDEO_MAX, info->pipeline.video_max_pixels);
    }
    if (info->image_token >= 0) gguf_put_u32(o->w, MMPROJ_TOKEN, (uint32_t)info->image_token);
}

// ---- the file ---------------------------------------------------------------------------------------------------------

// A folder without a file is read as SigLIP's processor would resize: its text.
static rn_status processor_text(const char *dir, const struct vision_info *info, char **out, size_t *n,
                                rn_error *err) {
    const rn_status st = preprocessor_text(dir, out, n, err);
    if (st != RN_OK || *out) return st;
    const int side = info->grid * info->patch_size;
    char text[128];
    *n = (size_t)snprintf(text, sizeof text,
                          "{\"image_processor_type\":\"SiglipImageProcessor\",\"size\":{\"height\":%d,\"width\":%d}}",
                          side, side);
    *out = mem_strndup(text, *n);
    return *out ? RN_OK : fail(err, RN_E_NOMEM, "vision part: out of memory");
}

static rn_status check_form(const struct out *o, const char *dir, rn_error *err) {
    const struct vision_info *const info = &o->v->info;
    if (!o->kind)
        return fail(err, RN_E_UNSUPPORTED, "%s: the vision part of %s has no form as a mmproj file", dir,
                    info->family);
    if (o->kind->is_pixtral && package_hparams(o->v->tower)->rope_theta != 10000)
        return fail(err, RN_E_UNSUPPORTED, "%s: a tower with rope_theta %g has no form in a mmproj file", dir,
                    (double)package_hparams(o->v->tower)->rope_theta);
    if (o->kind->has_windows && full_layers(package_hparams(o->v->tower)) == 0)
        return fail(err, RN_E_UNSUPPORTED,
                    "%s: fullatt_block_indexes that are not every n-th layer have no form in a mmproj file", dir);
    if (info->has_class && info->keeps_class)
        return fail(err, RN_E_UNSUPPORTED, "%s: a class row among features has no form in a mmproj file", dir);
    return RN_OK;
}

static rn_status write_file(struct out *o, const char *dir, const char *path, rn_error *err) {
    const struct mix *mix;
    rn_quantize_options opt;
    char *text = NULL;
    size_t n_text = 0;
    rn_status st = check_form(o, dir, err);
    if (st == RN_OK) st = convert_options_read(NULL, &opt, &mix, err);
    if (st == RN_OK) st = processor_text(dir, &o->v->info, &text, &n_text, err);
    if (st == RN_OK) st = add_tensors(o);
    if (st == RN_OK && o->kind->is_pixtral) st = add_break(o, dir);
    if (st == RN_OK) st = gguf_writer_create(path, GGUF_DEFAULT_ALIGNMENT, &o->w, err);
    if (st == RN_OK) {
        put_tower(o);
        put_processor(o->w, &o->v->info.pipeline);
        put_family(o);
        gguf_put_string(o->w, MMPROJ_PROCESSOR, (struct vocab_str){text, (uint32_t)n_text});
        st = model_write(o->w, o->v->tower, o->plans, o->n, NULL, &opt, false, err);
    }
    mem_free(text);
    return st;
}

rn_status rn_convert_vision(const char *dir, const char *path, rn_error *err) {
    struct vision_files v;
    if (!dir || !path) return fail(err, RN_E_ARG, "rn_convert_vision: NULL argument");
    if (!path_is_folder(dir)) return fail(err, RN_E_ARG, "%s: is no model folder", dir);
    rn_status st = vision_files_open(dir, &v, err);
    if (st != RN_OK) return st;
    struct out o = {.v = &v, .kind = mmproj_kind_of(v.info.family), .err = err};
    st = write_file(&o, dir, path, err);
    arena_free(&o.mem);
    vision_files_close(&v);
    return st;
}
