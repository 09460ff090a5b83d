// lm/lm.c - row keys, the same for every lm.
#include "lm/lm.h"
#include "base/hash.h"

#define IS_HASH (UINT64_C(1) << 63) // token ids never have this bit

uint64_t lm_row_key(const struct lm_row *row) {
    const struct lm_input *in = row->input;
    if (!in || (!in->vector && !in->has_coord && in->see_to < 0)) return lm_token_key(row->token);
    const uint64_t parts[] = {in->vector && !in->adds ? 0 : lm_token_key(row->token) + 1,
                              in->vector || in->see_to >= 0 ? in->key : 0,
                              (uint64_t)(in->vector != NULL) | (uint64_t)in->has_coord << 1,
                              in->has_coord ? (uint64_t)(uint32_t)in->coord[0] : 0,
                              in->has_coord ? (uint64_t)(uint32_t)in->coord[1] : 0,
                              in->has_coord ? (uint64_t)(uint32_t)in->coord[2] : 0,
                              in->see_to < 0 ? 0 : (uint64_t)(uint32_t)in->see_to + 1};
    return hash_bytes(parts, sizeof parts, 0) | IS_HASH;
}

uint64_t lm_first_key(uint64_t key, const struct lm_seq_spec *s) {
    const uint64_t parts[] = {key, s->salt, s->adapters};
    return s->salt || s->adapters ? hash_bytes(parts, sizeof parts, 0) | IS_HASH : key;
}

const uint64_t *lm_token_keys(lm *m, const int32_t *tokens, int32_t n) {
    for (int32_t i = 0; i < n && i < m->n_ctx; i++) m->keys[i] = lm_token_key(tokens[i]);
    return m->keys;
}
