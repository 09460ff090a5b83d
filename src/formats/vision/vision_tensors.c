// formats/vision/vision_tensors.c - see vision_tensors.h.
#include "formats/vision/vision_tensors.h"
#include "tensor/types.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

// A row for each tensor of a part: its name behind the part's front, without ".weight" or ".bias" where `both`. "%d": the layer.
struct vision_row {
    const char *name, *own;
    bool both;
    bool is_patches; // [n_embd][...] becomes a matrix
    bool is_post;    // the last norm: only where features are behind it
};

static const struct vision_row tower_rows[] = {
    {"embeddings.class_embedding", "v.class_embd", false, false, false},
    {"embeddings.patch_embedding", "v.patch_embd", true, true, false},
    {"embeddings.position_embedding", "v.position_embd", true, false, false},
    {"pre_layrnorm", "v.pre_ln", true, false, false},
    {"post_layernorm", "v.post_ln", true, false, true},
    {"encoder.layers.%d.layer_norm1", "v.blk.%d.ln1", true, false, false},
    {"encoder.layers.%d.layer_norm2", "v.blk.%d.ln2", true, false, false},
    {"encoder.layers.%d.self_attn.q_proj", "v.blk.%d.attn_q", true, false, false},
    {"encoder.layers.%d.self_attn.k_proj", "v.blk.%d.attn_k", true, false, false},
    {"encoder.layers.%d.self_attn.v_proj", "v.blk.%d.attn_v", true, false, false},
    {"encoder.layers.%d.self_attn.out_proj", "v.blk.%d.attn_out", true, false, false},
    {"encoder.layers.%d.mlp.fc1", "v.blk.%d.ffn_up", true, false, false},
    {"encoder.layers.%d.mlp.fc2", "v.blk.%d.ffn_down", true, false, false},
    // Qwen2-VL's.
    {"patch_embed.proj", "v.patch_embd", true, true, false},
    {"blocks.%d.norm1", "v.blk.%d.ln1", true, false, false},
    {"blocks.%d.norm2", "v.blk.%d.ln2", true, false, false},
    {"blocks.%d.attn.qkv", "v.blk.%d.attn_qkv", true, false, false},
    {"blocks.%d.attn.proj", "v.blk.%d.attn_out", true, false, false},
    {"blocks.%d.mlp.fc1", "v.blk.%d.ffn_up", true, false, false},
    {"blocks.%d.mlp.fc2", "v.blk.%d.ffn_down", true, false, false},
    {"merger.ln_q", "v.post_ln", true, false, true},
    {"blocks.%d.mlp.gate_proj", "v.blk.%d.ffn_gate", true, false, false}, // Qwen2.5-VL's
    {"blocks.%d.mlp.up_proj", "v.blk.%d.ffn_up", true, false, false},
    {"blocks.%d.mlp.down_proj", "v.blk.%d.ffn_down", true, false, false},
    {"blocks.%d.mlp.linear_fc1", "v.blk.%d.ffn_up", true, false, false}, // Qwen3-VL's
    {"blocks.%d.mlp.linear_fc2", "v.blk.%d.ffn_down", true, false, false},
    {"merger.norm", "v.post_ln", true, false, true},
    {"pos_embed", "v.position_embd", true, false, false},
    // InternVL's.
    {"embeddings.cls_token", "v.class_embd", false, false, false},
    {"embeddings.patch_embeddings.projection", "v.patch_embd", true, true, false},
    {"embeddings.position_embeddings", "v.position_embd.weight", false, false, false},
    {"layernorm", "v.post_ln", true, false, true},
    {"encoder.layer.%d.layernorm_before", "v.blk.%d.ln1", true, false, false},
    {"encoder.layer.%d.layernorm_after", "v.blk.%d.ln2", true, false, false},
    {"encoder.layer.%d.attention.q_proj", "v.blk.%d.attn_q", true, false, false},
    {"encoder.layer.%d.attention.k_proj", "v.blk.%d.attn_k", true, false, false},
    {"encoder.layer.%d.attention.v_proj", "v.blk.%d.attn_v", true, false, false},
    {"encoder.layer.%d.attention.q_norm", "v.blk.%d.attn_q_norm", true, false, false},
    {"encoder.layer.%d.attention.k_norm", "v.blk.%d.attn_k_norm", true, false, false},
    {"encoder.layer.%d.attention.projection_layer", "v.blk.%d.attn_out", true, false, false},
    {"encoder.layer.%d.lambda_1", "v.blk.%d.ls1.weight", false, false, false},
    {"encoder.layer.%d.lambda_2", "v.blk.%d.ls2.weight", false, false, false},
    {"encoder.layer.%d.mlp.fc1", "v.blk.%d.ffn_up", true, false, false},
    {"encoder.layer.%d.mlp.fc2", "v.blk.%d.ffn_down", true, false, false},
    // Pixtral's.
    {"patch_conv", "v.patch_embd", true, true, false},
    {"ln_pre", "v.pre_ln", true, false, false},
    {"transformer.layers.%d.attention_norm", "v.blk.%d.ln1", true, false, false},
    {"transformer.layers.%d.ffn_norm", "v.blk.%d.ln2", true, false, false},
    {"transformer.layers.%d.attention.q_proj", "v.blk.%d.attn_q", true, false, false},
    {"transformer.layers.%d.attention.k_proj", "v.blk.%d.attn_k", true, false, false},
    {"transformer.layers.%d.attention.v_proj", "v.blk.%d.attn_v", true, false, false},
    {"transformer.layers.%d.attention.o_proj", "v.blk.%d.attn_out", true, false, false},
    {"transformer.layers.%d.feed_forward.gate_proj", "v.blk.%d.ffn_gate", true, false, false},
    {"transformer.layers.%d.feed_forward.up_proj", "v.blk.%d.ffn_up", true, false, false},
    {"transformer.layers.%d.feed_forward.down_proj", "v.blk.%d.ffn_down", true, false, false},
};
static const struct vision_row projector_rows[] = {
    {"layer_norm", "mm.input_norm", true, false, false}, // InternVL's
    {"norm", "mm.input_norm", true, false, false},       // Mistral 3's
    {"patch_merger.merging_layer", "mm.patch_merger", true, false, false},
    {"linear_1", "mm.0", true, false, false},
    {"linear_2", "mm.2", true, false, false},
    // VILA's, with a norm before them or without.
    {"layers.1", "mm.input_norm", true, false, false},
    {"layers.2", "mm.0", true, false, false},
    {"layers.4", "mm.2", true, false, false},
    {"layers.0", "mm.0", true, false, false},
    {"mlp.0", "mm.0", true, false, false}, // Qwen2-VL's
    {"mlp.2", "mm.2", true, false, false},
    {"linear_fc1", "mm.0", true, false, false}, // Qwen3-VL's
    {"linear_fc2", "mm.2", true, false, false},
    {"proj", "mm.2", true, false, false}, // SmolVLM's only one
    {"newline", "model.image_newline", false, false, false},
    {"mm_input_projection_weight", "mm.2.weight", false, false, false}, // Gemma 3's
    {"mm_soft_emb_norm", "mm.input_norm", true, false, false},
};

static const struct vision_row deepstack_rows[] = {{"%d.norm", "mm.input_norm", true, false, false},
                                                   {"%d.linear_fc1", "mm.0", true, false, false},
                                                   {"%d.linear_fc2", "mm.2", true, false, false}};

static const struct {
    const char *fronts[5]; // the first that fits is taken off; in a folder of the part alone there may be none
    // Behind the front, or with it, of what nothing reads here: buffers of older checkpoints, a pooling head, the other part.
    const char *left_out[8];
    const struct vision_row *rows;
    size_t n_rows;
} parts[] = {
    [VISION_TOWER] = {{"vision_tower.vision_model.", "vision_tower.", "vision_model.", "visual."},
                      {"embeddings.position_ids", "embeddings.mask_token", "head.", "merger.mlp.", "merger.linear_",
                       "deepstack_merger_list."},
                      tower_rows,
                      sizeof tower_rows / sizeof *tower_rows},
    [VISION_PROJECTOR] = {{"multi_modal_projector.", "visual.merger.", "connector.modality_projection.", "image_"},
                          {"ln_q.", "visual.merger.norm."},
                          projector_rows,
                          sizeof projector_rows / sizeof *projector_rows},
    [VISION_DEEPSTACK] = {{"visual.deepstack_merger_list."},
                          {NULL},
                          deepstack_rows,
                          sizeof deepstack_rows / sizeof *deepstack_rows},
};

static const char *behind(const char *name, const char *front) {
    const size_t n = strlen(front);
    return strncmp(name, front, n) == 0 ? name + n : NULL;
}

// The name behind the part's front. NULL: the tensor is another part's, or is left out.
static const char *name_of(const char *name, enum vision_part part, bool is_alone) {
    const char *const model = behind(name, "model."), *const full = model ? model : name, *at = NULL;
    for (size_t i = 0; parts[part].fronts[i] && !at; i++) at = behind(full, parts[part].fronts[i]);
    if (!at && is_alone) at = full;
    for (size_t i = 0; at && parts[part].left_out[i]; i++)
        if (behind(at, parts[part].left_out[i]) || behind(full, parts[part].left_out[i])) return NULL;
    return at;
}

// Does the pattern, with an ending, fit the name? *layer: the number at "%d"; -1: it has none.
static bool fits(const char *pattern, const char *ending, const char *name, int32_t *layer) {
    char want[96];
    const char *const at = strstr(pattern, "%d");
    *layer = -1;
    if (at) {
        const size_t n = (size_t)(at - pattern);
        int end = 0;
        if (strncmp(name, pattern, n) != 0 || name[n] < '0' || name[n] > '9' ||
            sscanf(name + n, "%5" SCNd32 "%n", layer, &end) != 1)
            return false;
        snprintf(want, sizeof want, "%.*s%" PRId32 "%s%s", (int)n, pattern, *layer, at + 2, ending);
    } else {
        snprintf(want, sizeof want, "%s%s", pattern, ending);
    }
    return strcmp(want, name) == 0;
}

static const struct vision_row *find_row(enum vision_part part, const char *name, const char **ending,
                                         int32_t *layer) {
    static const char *const endings[] = {".weight", ".bias"};
    for (const struct vision_row *r = parts[part].rows; r < parts[part].rows + parts[part].n_rows; r++)
        for (size_t e = 0; e < 2; e++) {
            *ending = r->both ? endings[e] : "";
            if (fits(r->name, *ending, name, layer)) return r;
            if (!r->both) break;
        }
    return NULL;
}

static rn_status add(struct package *p, const struct vision_row *r, const char *ending, int32_t layer,
                     const struct safetensors_record *t, size_t shard, rn_error *err) {
    char name[96];
    uint64_t ne[PACKAGE_MAX_DIMS] = {1, 1, 1, 1};
    int n_dims = t->n_dims;
    if (!t->type->is_read)
        return fail(err, RN_E_UNSUPPORTED, "type %s is not supported; F32, F16 and BF16 are", t->type->name);
    const char *const at = strstr(r->own, "%d");
    if (at)
        snprintf(name, sizeof name, "%.*s%" PRId32 "%s%s", (int)(at - r->own), r->own, layer, at + 2, ending);
    else
        snprintf(name, sizeof name, "%s%s", r->own, ending);
    if (r->is_patches && n_dims > 2 && strcmp(ending, ".weight") == 0) { // their product is in the file
        for (int d = 1; d < n_dims; d++) ne[0] *= t->dims[d];
        ne[1] = t->dims[0];
        n_dims = 2;
    } else {
        while (t->n_dims > 2 && n_dims > 1 && t->dims[t->n_dims - n_dims] == 1) n_dims--; // [1][1][n_embd]
        if (n_dims < 1 || n_dims > 2) return fail(err, RN_E_FORMAT, "%d dimensions, 1 or 2 are needed", n_dims);
        for (int d = 0; d < n_dims; d++) ne[d] = t->dims[t->n_dims - 1 - d];
    }
    const struct tensor_claim claim = {.name = name,
                                       .n_name = (uint32_t)strlen(name),
                                       .type = t->type->type,
                                       .n_dims = n_dims,
                                       .dims = ne,
                                       .file = &p->files[shard].map,
                                       .offset = t->begin};
    return package_add_tensor(p, &claim, err);
}

struct wanted {
    enum vision_part part;
    int32_t number;
};
static rn_status take(const struct folder *f, struct wanted w, const struct vision_config *c,
                      const struct safetensors_record *t, size_t shard, rn_error *err) {
    const enum vision_part part = w.part;
    const char *ending;
    int32_t layer;
    char full[SAFETENSORS_MAX_NAME_BYTES + 1];
    snprintf(full, sizeof full, "%.*s", (int)t->n_name, t->name);
    const char *const name = name_of(full, part, f->sub != NULL);
    if (!name) return RN_OK;
    const struct vision_row *const r = find_row(part, name, &ending, &layer);
    if (r && part == VISION_DEEPSTACK && layer != w.number) return RN_OK;
    if (r && part != VISION_DEEPSTACK &&
        ((layer >= 0 && layer >= f->p->hparams.n_layer) || (r->is_post && !c->has_post_norm)))
        return RN_OK;
    const rn_status st = r ? add(f->p, r, ending, layer, t, shard, err)
                           : fail(err, RN_E_FORMAT, "nothing uses it, so features would be wrong");
    if (st == RN_OK) return RN_OK;
    return package_in_file(f->p->files[shard].path, fail_in(err, st, "tensor %s", full), err);
}

rn_status vision_tensors_load(const struct folder *f, enum vision_part part, int32_t number,
                              const struct vision_config *c, rn_error *err) {
    const struct package_options o = {.load = FILE_LOAD_MAP};
    struct package *const p = f->p;
    struct safetensors *shards;
    size_t n = 0;
    rn_status st = folder_open_weights(f, &o, &shards, err);
    for (size_t s = 0; st == RN_OK && s < p->n_files; s++) n += shards[s].n_records;
    if (st == RN_OK) st = package_reserve_tensors(p, n, err);
    for (size_t s = 0; st == RN_OK && s < p->n_files; s++)
        for (size_t i = 0; st == RN_OK && i < shards[s].n_records; i++)
            st = take(f, (struct wanted){part, number}, c, &shards[s].records[i], s, err);
    p->format = "safetensors, vision part";
    return st;
}

// ---- made anew ----------------------------------------------------------------------------------------------------------

static rn_status add_made(struct package *p, const char *name, enum tensor_type type, int n_dims,
                          const uint64_t dims[2], rn_error *err) {
    const struct tensor_claim claim = {
        .name = name, .n_name = (uint32_t)strlen(name), .type = type, .n_dims = n_dims, .dims = dims};
    return package_add_tensor(p, &claim, err);
}

static void turn(const struct tensor_view *from, size_t size, uint8_t *to) {
    for (size_t i = 0; i < (size_t)from->ne[0]; i++)
        for (size_t row = 0; row < (size_t)from->ne[1]; row++, to += size)
            memcpy(to, from->data + (row * (size_t)from->ne[0] + i) * size, size);
}

// A tensor that is replaced by one that is made of it.
struct remade {
    const char *name;
    enum { MADE_TURNED, MADE_ORDERED, MADE_FLOATS } how; // rows are columns; columns in another order; in floats
    size_t n;                                            // MADE_ORDERED: patches; MADE_FLOATS: added to each number
};

static void order(const struct tensor_view *from, size_t size, size_t n_patches, uint8_t *to) {
    const size_t each = (size_t)from->ne[0] / n_patches;
    for (size_t row = 0; row < (size_t)from->ne[1]; row++)
        for (size_t patch = 0; patch < n_patches; patch++)
            for (size_t i = 0; i < each; i++, to += size)
                memcpy(to, from->data + row * from->row_bytes + (i * n_patches + patch) * size, size);
}

static rn_status make(struct package *p, const struct tensor_view *from, const struct remade *r, rn_error *err) {
    const struct tensor_type_info *const type = tensor_type_info(from->type);
    const bool is_float = r->how == MADE_FLOATS, is_turned = r->how == MADE_TURNED;
    const uint64_t dims[2] = {from->ne[is_turned], from->ne[!is_turned]};
    const rn_status st = add_made(p, r->name, is_float ? TENSOR_F32 : from->type, from->n_dims, dims, err);
    if (st != RN_OK) return st;
    uint8_t *const to = package_made_data(p);
    if (is_turned)
        turn(from, type->block_bytes, to);
    else if (!is_float)
        order(from, type->block_bytes, r->n, to);
    else {
        float *const floats = (float *)(void *)to;
        type->dequantize_row(from->data, floats, (size_t)from->ne[0]);
        for (size_t i = 0; i < (size_t)from->ne[0]; i++) floats[i] += (float)r->n;
    }
    return RN_OK;
}

static rn_status check(const struct package *p, const struct remade *r, const struct tensor_view **out, size_t *room,
                       rn_error *err) {
    const struct tensor_view *const t = *out = package_tensor(p, r->name);
    const char *const path = package_shown_path(p->path);
    size_t n;
    if (!t) return fail(err, RN_E_FORMAT, "%s: tensor %s: is missing", path, r->name);
    if (tensor_type_info(t->type)->block_len != 1)
        return fail(err, RN_E_UNSUPPORTED, "%s: tensor %s: type %s is not supported here; F32, F16 and BF16 are",
                    path, r->name, tensor_type_info(t->type)->name);
    if (t->n_dims != (r->how == MADE_FLOATS ? 1 : 2) || (r->how == MADE_ORDERED && t->ne[0] % r->n))
        return fail(err, RN_E_FORMAT, "%s: tensor %s: of a shape that is not read", path, r->name);
    if (!package_made_size(r->how == MADE_FLOATS ? t->ne[0] * sizeof(float) : t->n_bytes, &n))
        return fail(err, RN_E_LIMIT, "%s: tensor %s: too large", path, r->name);
    *room += n;
    return RN_OK;
}

enum { MOST_REMADE = 2 };
static rn_status remake(struct package *p, const struct remade *list, size_t n, rn_error *err) {
    const struct tensor_view *from[MOST_REMADE] = {0}, *const before = p->tensors;
    const size_t n_before = p->n_tensors;
    size_t room = 0;
    rn_status st = RN_OK;
    for (size_t i = 0; st == RN_OK && i < n; i++) st = check(p, &list[i], &from[i], &room, err);
    if (st == RN_OK) st = package_reserve_made(p, room, err);
    if (st == RN_OK) st = package_begin_anew(p, n_before, err);
    for (size_t i = 0; st == RN_OK && i < n_before; i++)
        if (before + i != from[0] && before + i != from[1]) package_keep_tensor(p, before + i);
    for (size_t i = 0; st == RN_OK && i < n; i++) st = make(p, from[i], &list[i], err);
    return st;
}

rn_status vision_turn_matrix(struct package *p, bool adds_one, rn_error *err) {
    const struct remade list[] = {{"mm.2.weight", MADE_TURNED, 0}, {"mm.input_norm.weight", MADE_FLOATS, adds_one}};
    return remake(p, list, 2, err);
}

rn_status vision_order_merger(struct package *p, int32_t n_merge, rn_error *err) {
    const struct remade list[] = {{"mm.patch_merger.weight", MADE_ORDERED, (size_t)n_merge * (size_t)n_merge}};
    return remake(p, list, 1, err);
}
