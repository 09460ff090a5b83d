// backend/cpu/cpu_pages.c - KV pages: for each layer of the group and each key head a block of keys, then a block of values.
#include "backend/cpu/cpu_private.h"
#include "base/checked.h"
#include "base/mem.h"
#include <string.h>

static struct cpu_page_group group_of(const struct cpu_backend *b, const struct program *p, int32_t group,
                                      enum kv_codec codec) {
    const struct kv_codec_ops *c = &b->k->kv[codec];
    const struct page_group *g = &p->groups[group];
    struct cpu_page_group out = {.key_bytes = c->key_bytes((size_t)g->head_dim),
                                 .value_bytes = c->value_bytes((size_t)g->v_dim)};
    out.page_bytes = (size_t)g->n_layer * (size_t)g->n_head_kv * (out.key_bytes + out.value_bytes);
    return out;
}

size_t cpu_page_bytes(const struct cpu_backend *b, const struct program *p, int32_t group, enum kv_codec codec) {
    return group_of(b, p, group, codec).page_bytes;
}

rn_status cpu_pages_load(struct cpu_backend *b, rn_error *err) {
    for (int32_t g = 0; g < b->p->n_groups; g++) {
        struct cpu_page_group *pg = &b->groups[g];
        *pg = group_of(b, b->p, g, b->sizes.codec[g]);
        if (pg->page_bytes == 0) continue;
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
    const struct attention *a = &b->p->attention[layer];
    const struct cpu_page_group *pg = &b->groups[a->group];
    const size_t block = (size_t)a->layer_in_group * (size_t)b->p->groups[a->group].n_head_kv + (size_t)head;
    return pg->pages + (size_t)page * pg->page_bytes + block * (pg->key_bytes + pg->value_bytes);
}

struct slots {
    uint8_t *page;
    int32_t first;
};

static void copy_slots(const struct cpu_backend *b, int32_t group, struct slots dst, struct slots src, int32_t n) {
    const struct kv_codec_ops *codec = cpu_codec(b, group);
    const struct cpu_page_group *pg = &b->groups[group];
    const size_t head_dim = (size_t)b->p->groups[group].head_dim, v_dim = (size_t)b->p->groups[group].v_dim;
    for (size_t keys = 0; keys < pg->page_bytes; keys += pg->key_bytes + pg->value_bytes)
        for (int32_t i = 0; i < n; i++) {
            const size_t values = keys + pg->key_bytes;
            codec->copy_key(dst.page + keys, dst.first + i, src.page + keys, src.first + i, head_dim);
            codec->copy_value(dst.page + values, dst.first + i, src.page + values, src.first + i, v_dim);
        }
}

static uint8_t *page_at(const struct cpu_page_group *pg, int32_t page) {
    return pg->pages + (size_t)page * pg->page_bytes;
}

void cpu_pages_copy(struct cpu_backend *b, const struct kv_copy *c) {
    const struct cpu_page_group *pg = &b->groups[c->group];
    copy_slots(b, c->group, (struct slots){page_at(pg, c->dst), c->slot_dst},
               (struct slots){page_at(pg, c->src), c->slot_src}, c->n);
}

void cpu_page_read(const struct cpu_backend *b, int32_t group, int32_t page, int32_t n, uint8_t *out) {
    if (group == KV_STATE) {
        memcpy(out, cpu_state(b, page), b->p->state_bytes);
    } else if (n == KV_PAGE) {
        memcpy(out, page_at(&b->groups[group], page), b->groups[group].page_bytes);
    } else { // positions after n may hold what the page was used for before
        memset(out, 0, b->groups[group].page_bytes);
        copy_slots(b, group, (struct slots){out, 0}, (struct slots){page_at(&b->groups[group], page), 0}, n);
    }
}

void cpu_page_write(struct cpu_backend *b, int32_t group, int32_t page, const uint8_t *bytes) {
    if (group == KV_STATE)
        memcpy(cpu_state(b, page), bytes, b->p->state_bytes);
    else
        memcpy(page_at(&b->groups[group], page), bytes, b->groups[group].page_bytes);
}
