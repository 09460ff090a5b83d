// fuzz/walk_package.h - what fuzz targets do with a package that opened: hold it to its promises, touch every byte it points to.
#ifndef RN_FUZZ_WALK_PACKAGE_H
#define RN_FUZZ_WALK_PACKAGE_H

#include "formats/package.h"
#include <stdlib.h>
#include <string.h>

// What package.h promises, and reading every byte that it points to. A broken promise ends the process.
static inline void must(bool holds) {
    if (!holds) abort();
}
static unsigned sum; // of what was read, so that the reads are not optimized away
static inline void touch(const void *bytes, size_t n) {
    for (size_t i = 0; i < n; i++) sum += ((const uint8_t *)bytes)[i];
}

// Does it lie in one of the package's files? Tensors made in memory do not, and are touched like the others.
static inline bool in_a_file(const package *p, const struct tensor_view *t) {
    for (size_t i = 0; i < package_n_files(p); i++) {
        const struct file_map *f = package_file_at(p, i);
        if (t->data >= f->data && t->n_bytes <= f->size && (size_t)(t->data - f->data) <= f->size - t->n_bytes)
            return true;
    }
    return false;
}

static inline void walk_tensors(const package *p) {
    for (size_t i = 0; i < package_n_tensors(p); i++) {
        const struct tensor_view *t = package_tensor_at(p, i);
        must(in_a_file(p, t) || t->n_bytes <= package_made_bytes(p));
        must(t->n_dims >= 1 && t->n_dims <= PACKAGE_MAX_DIMS && t->n_bytes > 0);
        must(package_tensor(p, t->name) == t); // names are unique
        touch(t->data, t->n_bytes);
        float block[256];
        const struct tensor_type_info *type = tensor_type_info(t->type);
        must(t->ne[0] % type->block_len == 0);
        type->dequantize_row(t->data, block, type->block_len);
    }
}

static inline void walk_vocab(const struct vocab *v) {
    const int32_t ids[] = {v->bos, v->eos, v->eot, v->eom, v->unk, v->pad};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        must(ids[i] >= -1 && ids[i] < (v->n_tokens ? v->n_tokens : 0));
    for (int32_t i = 0; i < v->n_tokens; i++) {
        must(v->tokens[i].kind >= TOKEN_NORMAL && v->tokens[i].kind <= TOKEN_BYTE);
        touch(v->tokens[i].text.s, v->tokens[i].text.n);
    }
    for (int32_t i = 0; i < v->n_merges; i++) touch(v->merges[i].s, v->merges[i].n);
    for (int32_t i = 0; i < v->n_end; i++) must(v->end[i] > (i ? v->end[i - 1] : -1));
    int32_t end[8];
    must(vocab_end_tokens(v, end, 8) <= 8);
}

static inline void walk_layer(const struct hparams *hp, const struct layer_hparams *l) {
    must(l->kv_layer >= 0 && l->kv_layer < hp->n_layer);
    must((l->flags & (LAYER_NO_FFN | LAYER_EXPERTS)) || l->n_ff > 0);
    if (l->flags & LAYER_RECURRENT) {
        must(hp->ssm_d_conv > 0 && hp->ssm_d_inner > 0 && (l->flags & LAYER_BESIDE || l->n_head_kv == 0));
        must(hp->ssm_n_head == 0 || hp->ssm_d_inner % hp->ssm_n_head == 0);
        must(hp->ssm_n_group == 0 || hp->ssm_n_head % hp->ssm_n_group == 0); // Mamba-1 has no groups
        if (!(l->flags & LAYER_BESIDE)) return;
    }
    if (l->flags & LAYER_NO_MIXER) {
        must(l->n_head_kv == 0); // DeciLM's layers may lack the feed-forward part, too
        return;
    }
    must(l->n_head_kv > 0 && l->n_head % l->n_head_kv == 0 && l->head_dim > 0 && l->head_dim_v > 0);
    must(l->n_rot >= 0 && l->n_rot % 2 == 0 && l->n_rot <= l->head_dim);
    must(!(l->flags & LAYER_SWA) || hp->n_swa > 0 || hp->n_chunk > 0);
}

static inline void walk_hparams(const struct hparams *hp, const struct vocab *v) {
    must(strlen(hp->arch) > 0 && strlen(hp->name) < sizeof hp->name && strlen(hp->file_type) < sizeof hp->file_type);
    if (!hp->is_checked) {
        must(hp->n_layer == 0 && hp->n_embd == 0);
        return;
    }
    must(hp->n_layer > 0 && hp->n_embd > 0 && hp->n_ctx_train > 0 && hp->n_vocab >= v->n_tokens);
    for (int32_t l = 0; l < hp->n_layer; l++) walk_layer(hp, &hp->layers[l]);
    must(hp->n_rot >= 0 && hp->n_rot % 2 == 0 && (hp->n_rot == 0 || hp->rope_theta >= 1));
    must(hp->norm_eps > 0 && hp->rope_factor > 0 && hp->rope_attn_factor > 0);
    must(hp->n_expert == 0 || (hp->n_expert_used > 0 && hp->n_expert_used <= hp->n_expert && hp->n_ff_expert > 0));
    must(hp->rope_scaling != ROPE_SCALING_YARN || (hp->rope_theta > 1 && hp->rope_beta_fast >= hp->rope_beta_slow));
}

static inline void walk_package(const package *p) {
    size_t n_template = 0;
    const char *text = package_chat_template(p, &n_template);
    touch(text, n_template);
    walk_tensors(p);
    walk_vocab(package_vocab(p));
    walk_hparams(package_hparams(p), package_vocab(p));
}

#endif
