// convert/copy_pairs.c - see copy_pairs.h.
#include "convert/copy_pairs.h"
#include <string.h>

static bool is_key(const struct gguf_pair *pair, const char *key) {
    return strlen(key) == pair->n_key && memcmp(pair->key, key, pair->n_key) == 0;
}

static void put_pairs(gguf_writer *w, const struct gguf *g, const struct replaced_pair *ours, size_t n_ours) {
    static const char of_parts[] = "split."; // keys of split files; the output is a single file
    bool was_put[MAX_REPLACED_PAIRS] = {0};
    for (size_t i = 0; i < g->n_pairs; i++) {
        const struct gguf_pair *pair = &g->pairs[i];
        size_t k = 0;
        if (pair->n_key > sizeof of_parts - 1 && memcmp(pair->key, of_parts, sizeof of_parts - 1) == 0) continue;
        while (k < n_ours && !is_key(pair, ours[k].key)) k++;
        if (k == n_ours) {
            gguf_put_pair(w, pair);
        } else {
            gguf_put_u32(w, ours[k].key, ours[k].value);
            was_put[k] = true;
        }
    }
    for (size_t k = 0; k < n_ours; k++)
        if (!was_put[k]) gguf_put_u32(w, ours[k].key, ours[k].value);
}

rn_status pairs_copy(const uint8_t *source, size_t n, const char *out, const struct replaced_pair *replaced,
                     size_t n_replaced, gguf_writer **w, rn_error *err) {
    struct gguf g = {0};
    *w = NULL;
    rn_status st = gguf_read(&g, source, n, err);
    if (st == RN_OK) st = gguf_writer_create(out, g.alignment, w, err);
    if (st == RN_OK) put_pairs(*w, &g, replaced, n_replaced);
    gguf_free(&g);
    return st;
}
