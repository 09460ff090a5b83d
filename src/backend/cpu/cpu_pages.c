// backend/cpu/cpu_pages.c - the bytes of KV pages: for each layer of a group and each key head a key block, then a value block.
#include "backend/cpu/cpu_private.h"
#include "base/checked.h"
#include "base/mem.h"

size_t cpu_page_bytes(const struct cpu_backend *b, const struct program *p, int32_t group) {
    const struct kv_codec_ops *c = &b->k->kv[b->codec];
    const size_t head_dim = (size_t)p->head_dim;
    return (size_t)p->group_layers[group] * (size_t)p->n_head_kv *
           (c->key_bytes(head_dim) + c->value_bytes(head_dim));
}

rn_status cpu_pages_load(struct cpu_backend *b, rn_error *err) {
    const struct kv_codec_ops *c = &b->k->kv[b->codec];
    b->key_bytes = c->key_bytes((size_t)b->p->head_dim);
    b->value_bytes = c->value_bytes((size_t)b->p->head_dim);
    for (int32_t g = 0; g < b->p->n_groups; g++) {
        struct cpu_page_group *pg = &b->groups[g];
        pg->page_bytes = cpu_page_bytes(b, b->p, g);
        if (!size_mul(pg->page_bytes, (size_t)b->sizes.n_pages[g], &pg->pool_bytes) ||
            !(pg->pages = mem_pages(pg->pool_bytes)))
            return fail(err, RN_E_NOMEM, "keys and values: out of memory for %d pages of %zu bytes",
                        b->sizes.n_pages[g], pg->page_bytes);
    }
    return RN_OK;
}

void cpu_pages_free(struct cpu_backend *b) {
    for (int32_t g = 0; g < PROGRAM_MAX_GROUPS; g++)
        if (b->groups[g].pages) mem_pages_free(b->groups[g].pages, b->groups[g].pool_bytes);
}

uint8_t *cpu_key_block(const struct cpu_backend *b, int32_t layer, int32_t head, int32_t page) {
    const struct cpu_page_group *pg = &b->groups[b->p->layer_group[layer]];
    const size_t block = (size_t)b->p->layer_in_group[layer] * (size_t)b->p->n_head_kv + (size_t)head;
    return pg->pages + (size_t)page * pg->page_bytes + block * (b->key_bytes + b->value_bytes);
}

void cpu_pages_copy(struct cpu_backend *b, const struct kv_copy *c) {
    const struct kv_codec_ops *codec = &b->k->kv[b->codec];
    const struct cpu_page_group *pg = &b->groups[c->group];
    const size_t head_dim = (size_t)b->p->head_dim, block_bytes = b->key_bytes + b->value_bytes;
    const uint8_t *src = pg->pages + (size_t)c->src * pg->page_bytes;
    uint8_t *dst = pg->pages + (size_t)c->dst * pg->page_bytes;
    for (size_t off = 0; off < pg->page_bytes; off += block_bytes)
        for (int32_t i = 0; i < c->n; i++) {
            codec->copy_key(dst + off, c->slot_dst + i, src + off, c->slot_src + i, head_dim);
            codec->copy_value(dst + off + b->key_bytes, c->slot_dst + i, src + off + b->key_bytes, c->slot_src + i,
                              head_dim);
        }
}
