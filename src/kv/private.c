// kv/private.c - sequences whose keys, values and state come from elsewhere, and which no other sequence may find.
#include "kv/kv_private.h"
#include <assert.h>

int32_t kv_first_block(const kv *k, int32_t group, int32_t len) {
    assert(group >= 0 && group < k->config.n_groups && len >= 0);
    return first_needed(&k->pool[group], len);
}

static rn_status check_room(const kv *k, int32_t n, rn_error *err) {
    if (n > k->config.n_ctx)
        return fail(err, RN_E_LIMIT, "kv: %d positions pass the limit of %d", n, k->config.n_ctx);
    for (int32_t g = 0; g < k->config.n_groups; g++) {
        const int32_t want = n_blocks(n) - kv_first_block(k, g, n), have = pages_available(&k->pool[g]);
        if (want > have)
            return fail(err, RN_E_LIMIT, "kv: %d positions need %d pages of group %d, %d of %d are available", n,
                        want, g, have, k->pool[g].n_pages);
    }
    if (n > 0 && k->config.n_states > 0 && pages_available(&k->pool[KV_STATE]) == 0)
        return fail(err, RN_E_LIMIT, "kv: a state needs a slot, none of %d is available", k->config.n_states);
    return RN_OK;
}

rn_status kv_seq_new_private(kv *k, const uint64_t *keys, int32_t n, kv_seq *out, rn_error *err) {
    assert(n >= 0);
    *out = KV_NONE;
    rn_status st = check_room(k, n, err);
    if (st == RN_OK) st = kv_seq_new(k, out, err);
    if (st != RN_OK) return st;
    struct seq *q = seq_at(k, *out);
    for (int32_t g = 0; g < k->config.n_groups; g++) {
        q->first[g] = kv_first_block(k, g, n);
        for (int32_t b = 0; b < n_blocks(n); b++) q->pages[g][b] = b < q->first[g] ? KV_NONE : page_take(k, g);
    }
    for (int32_t i = 0; i < n; i++) page_keys(k, q->pages[0][i / KV_PAGE])[i % KV_PAGE] = keys[i];
    if (n > 0 && k->config.n_states > 0) q->state = page_take(k, KV_STATE);
    q->len = q->stored = n;
    q->is_private = n > 0;
    return RN_OK;
}
