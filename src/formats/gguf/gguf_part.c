// formats/gguf/gguf_part.c - loads a GGUF file of draft heads: runnel's own (rn_convert_draft_heads()), whose tensors have the names of the checkpoints, and
// EAGLE-3's as llama.cpp writes it, whose tensors are given those names.
#include "formats/gguf/gguf_part.h"
#include "formats/gguf/gguf.h"
#include "formats/gguf/gguf_meta.h"
#include "formats/gguf/gguf_records.h"
#include "formats/package_build.h"
#include <inttypes.h>
#include <string.h>

static const char *const archs[] = {"medusa", "eagle", "eagle3"};
enum { N_ARCHS = sizeof archs / sizeof *archs, GGUF_TENSOR_I64 = 27 };
static const char tokens_key[] = GGUF_DRAFT_TOKENS, map_name[] = "d2t";

static bool is_named(const struct gguf_record *t, const char *name) {
    return t->n_name == strlen(name) && memcmp(t->name, name, t->n_name) == 0;
}

static rn_status read_arch(const struct gguf *g, struct package *p, rn_error *err) {
    struct vocab_str arch;
    const rn_status st = gguf_get_string(g, "general.architecture", &arch, NULL, err);
    if (st != RN_OK) return st;
    for (size_t i = 0; i < N_ARCHS; i++)
        if (arch.n == strlen(archs[i]) && memcmp(arch.s, archs[i], arch.n) == 0) {
            package_copy_text(p->hparams.arch, sizeof p->hparams.arch, arch);
            return RN_OK;
        }
    return fail(err, RN_E_UNSUPPORTED,
                "key general.architecture: '%.*s' is no draft head: medusa, eagle and eagle3 are",
                gguf_shown(arch.s, arch.n), arch.s);
}

// ---- names ----------------------------------------------------------------------------------------------------------

// llama.cpp's names of EAGLE-3's tensors. rope_freqs are the model's, too.
static const struct {
    const char *name, *own;
} renamed[] = {
    {"blk.0.attn_norm.weight", "layers.0.input_layernorm.weight"},
    {"blk.0.attn_norm_2.weight", "layers.0.hidden_norm.weight"},
    {"blk.0.attn_q.weight", "layers.0.self_attn.q_proj.weight"},
    {"blk.0.attn_k.weight", "layers.0.self_attn.k_proj.weight"},
    {"blk.0.attn_v.weight", "layers.0.self_attn.v_proj.weight"},
    {"blk.0.attn_output.weight", "layers.0.self_attn.o_proj.weight"},
    {"blk.0.ffn_norm.weight", "layers.0.post_attention_layernorm.weight"},
    {"blk.0.ffn_gate.weight", "layers.0.mlp.gate_proj.weight"},
    {"blk.0.ffn_up.weight", "layers.0.mlp.up_proj.weight"},
    {"blk.0.ffn_down.weight", "layers.0.mlp.down_proj.weight"},
    {"output_norm.weight", "norm.weight"},
    {"output.weight", "lm_head.weight"},
    {"token_embd.weight", "embed_tokens.weight"},
    {"enc.output_norm.weight", "input_norm.weight"},
    {"rope_freqs.weight", NULL},
};

// NULL: the tensor is left out.
static const char *own_name(const struct gguf_record *t, bool is_llama, uint32_t *n) {
    *n = t->n_name;
    for (size_t i = 0; is_llama && i < sizeof renamed / sizeof *renamed; i++) {
        if (!is_named(t, renamed[i].name)) continue;
        *n = renamed[i].own ? (uint32_t)strlen(renamed[i].own) : 0;
        return renamed[i].own;
    }
    return t->name;
}

static rn_status add_tensors(const struct gguf *g, struct package *p, rn_error *err) {
    const struct file_map *const file = &p->files[0].map;
    for (size_t i = 0; i < g->n_tensors; i++) p->has_adjacent_rope |= is_named(&g->records[i], "blk.0.attn_q.weight");
    rn_status st = package_reserve_tensors(p, g->n_tensors, err);
    for (size_t i = 0; st == RN_OK && i < g->n_tensors; i++) {
        const struct gguf_record *const t = &g->records[i];
        struct tensor_claim claim;
        if (is_named(t, map_name)) continue;
        uint32_t n_name;
        const char *const name = own_name(t, p->has_adjacent_rope, &n_name);
        if (!name) continue;
        st = gguf_record_claim(g, t, &claim, err);
        claim.file = file, claim.name = name, claim.n_name = n_name;
        if (st == RN_OK) st = package_add_tensor(p, &claim, err);
        if (st != RN_OK) return fail_in(err, st, "tensor %.*s", gguf_shown(t->name, t->n_name), t->name);
    }
    return st == RN_OK ? package_check_overlap(p, 0, file, err) : st;
}

// ---- the vocabulary of a head ---------------------------------------------------------------------------------------

// A model's token for each of the head's, ascending: an array, or a tensor of llama.cpp's.
struct token_list {
    const char *what;
    const struct gguf_pair *pair; // NULL: 64-bit numbers at `data`
    const uint8_t *data;
    uint64_t n;
};

static int64_t token_at(const struct token_list *l, uint64_t i) {
    if (l->pair) return gguf_int_item(l->pair, i);
    const uint64_t x = gguf_load_u64(l->data + 8 * i);
    return x > INT64_MAX ? -1 : (int64_t)x;
}

static rn_status take_tokens(struct package *p, const struct token_list *l, rn_error *err) {
    int64_t before = -1;
    if (l->n == 0) return fail(err, RN_E_FORMAT, "%s: no tokens", l->what);
    if (!(p->token_map = arena_alloc(&p->arena, (size_t)l->n * sizeof *p->token_map)))
        return fail(err, RN_E_NOMEM, "%s: out of memory for %" PRIu64 " tokens", l->what, l->n);
    for (uint64_t i = 0; i < l->n; i++) {
        const int64_t token = token_at(l, i);
        if (token <= before || token > INT32_MAX)
            return fail(err, RN_E_FORMAT, "%s: item %" PRIu64 ": %" PRId64 " is no token after the one before",
                        l->what, i, token);
        before = token;
        p->token_map[i] = (int32_t)token;
    }
    p->n_token_map = (size_t)l->n;
    return RN_OK;
}

static rn_status read_tokens(const struct gguf *g, struct package *p, rn_error *err) {
    struct token_list list = {.what = "key " GGUF_DRAFT_TOKENS};
    bool found;
    rn_status st = gguf_get_array(g, tokens_key, GGUF_I32, &list.pair, &found, err);
    if (st != RN_OK) return st;
    if (found) {
        list.n = list.pair->n;
        return take_tokens(p, &list, err);
    }
    for (size_t i = 0; i < g->n_tensors; i++) {
        const struct gguf_record *const t = &g->records[i];
        if (!is_named(t, map_name)) continue;
        const uint64_t room = g->size - g->data_start;
        if (t->type != GGUF_TENSOR_I64 || t->n_dims != 1)
            return fail(err, RN_E_FORMAT, "tensor d2t: must be I64 of 1 dimension");
        if (t->offset > room || t->dims[0] > (room - t->offset) / 8)
            return fail(err, RN_E_FORMAT, "tensor d2t: %" PRIu64 " numbers at offset %" PRIu64 " end beyond the file",
                        t->dims[0], t->offset);
        list = (struct token_list){"tensor d2t", NULL, g->data + g->data_start + t->offset, t->dims[0]};
        return take_tokens(p, &list, err);
    }
    return RN_OK;
}

// ---- options --------------------------------------------------------------------------------------------------------

static rn_status read_taps(const struct gguf *g, struct part_options *o, rn_error *err) {
    static const char key[] = GGUF_EAGLE3_LAYERS;
    const struct gguf_pair *list;
    const rn_status st = gguf_get_array(g, key, GGUF_I32, &list, &o->has_taps, err);
    if (st != RN_OK || !o->has_taps) return st;
    if (list->n != PART_TAPS)
        return fail(err, RN_E_FORMAT, "key %s: %" PRIu64 " layers, must be %d", key, list->n, PART_TAPS);
    for (uint64_t i = 0; i < PART_TAPS; i++) {
        const int64_t layer = gguf_int_item(list, i);
        if (layer < (i ? o->taps[i - 1] + 1 : 1) || layer > INT32_MAX)
            return fail(err, RN_E_FORMAT, "key %s: item %" PRIu64 ": %" PRId64 " is no layer after the one before",
                        key, i, layer);
        o->taps[i] = (int32_t)layer;
    }
    return RN_OK;
}

static rn_status read_options(const struct gguf *g, struct part_options *o, rn_error *err) {
    bool found;
    rn_status st = read_taps(g, o, err);
    if (st == RN_OK) st = gguf_get_bool(g, GGUF_EAGLE3_RESIDUAL, &o->norm_before_residual, &found, err);
    return st == RN_OK ? gguf_get_bool(g, GGUF_EAGLE3_FC, &o->norm_before_fc, &found, err) : st;
}

rn_status gguf_load_part(struct package *p, rn_error *err) {
    struct gguf g = {0};
    rn_status st = gguf_read(&g, p->files[0].map.data, p->files[0].map.size, err);
    if (st == RN_OK) st = read_arch(&g, p, err);
    if (st == RN_OK) st = add_tensors(&g, p, err);
    if (st == RN_OK) st = read_tokens(&g, p, err);
    if (st == RN_OK) st = read_options(&g, &p->part, err);
    gguf_free(&g);
    p->format = "GGUF, draft heads";
    return st;
}
