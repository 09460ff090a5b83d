// kv/pages.c - pools of counted pages, and of slots of state: taking, holding, releasing, evicting and copying them.
#include "kv/kv_private.h"
#include <assert.h>
#include <string.h>

static void free_push(struct pool *g, int32_t p) {
    g->pages[p].next = g->free;
    g->free = p;
    g->n_free++;
}

static int32_t free_pop(struct pool *g) {
    const int32_t p = g->free;
    g->free = g->pages[p].next;
    g->n_free--;
    return p;
}

static void cached_push(struct pool *g, int32_t p) {
    g->pages[p].prev = g->newest;
    g->pages[p].next = KV_NONE;
    if (g->newest != KV_NONE)
        g->pages[g->newest].next = p;
    else
        g->oldest = p;
    g->newest = p;
    g->n_cached++;
}

static void cached_remove(struct pool *g, int32_t p) {
    const struct page *page = &g->pages[p];
    if (page->prev != KV_NONE)
        g->pages[page->prev].next = page->next;
    else
        g->oldest = page->next;
    if (page->next != KV_NONE)
        g->pages[page->next].prev = page->prev;
    else
        g->newest = page->prev;
    g->n_cached--;
}

int32_t page_take(kv *k, int32_t group) {
    struct pool *g = &k->pool[group];
    if (g->n_free == 0) {
        pages_evict(k, group);
        g->n_evicted++;
    }
    const int32_t p = free_pop(g);
    g->pages[p].refs = 1;
    return p;
}

void page_hold(kv *k, int32_t group, int32_t page) {
    struct pool *g = &k->pool[group];
    assert(g->pages[page].refs > 0 || g->pages[page].block != KV_NONE); // a free page is taken, not held
    if (g->pages[page].refs++ == 0) cached_remove(g, page);
}

void page_release(kv *k, int32_t group, int32_t page) {
    struct pool *g = &k->pool[group];
    assert(g->pages[page].refs > 0);
    if (--g->pages[page].refs > 0) return;
    if (g->pages[page].block != KV_NONE)
        cached_push(g, page);
    else
        free_push(g, page);
}

void page_own(kv *k, int32_t group, int32_t page, int32_t block) {
    struct page *p = &k->pool[group].pages[page];
    assert(p->refs > 0 && p->block == KV_NONE); // whoever enters a block holds its pages
    p->block = block;
}

void page_disown(kv *k, int32_t group, int32_t page) {
    struct pool *g = &k->pool[group];
    g->pages[page].block = KV_NONE;
    if (g->pages[page].refs > 0) return;
    cached_remove(g, page);
    free_push(g, page);
}

void page_forget(kv *k, int32_t group, int32_t page) {
    k->blocks[k->pool[group].pages[page].block].page[group] = KV_NONE;
    page_disown(k, group, page);
}

void pages_evict(kv *k, int32_t group) {
    const int32_t p = k->pool[group].oldest;
    assert(p != KV_NONE);
    if (group == 0) {
        index_drop(k, p);
    } else { // the block stays, and says so when this page is missed
        page_forget(k, group, p);
    }
}

rn_status pages_copy(kv *k, const struct kv_copy *c, rn_error *err) {
    if (c->group == 0)
        memmove(page_keys(k, c->dst) + c->slot_dst, page_keys(k, c->src) + c->slot_src,
                (size_t)c->n * sizeof(uint64_t));
    k->n_copied += (uint64_t)c->n;
    return k->copy(k->user, c, err);
}
