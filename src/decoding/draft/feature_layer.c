// decoding/draft/feature_layer.c - see feature_layer.h.
#include "decoding/draft/feature_layer.h"
#include "base/mem.h"

rn_status feature_layer_open(struct feature_layer *l, const struct strategy_env *env, int32_t slot, int32_t n_input,
                             rn_error *err) {
    const int32_t n_embd = env->slots[0].n_embd;
    l->slot = slot;
    const rn_status st = env->ops->seq_open(env->user, slot, NULL, 0, &l->seq, err);
    if (st != RN_OK) return st;
    l->hidden = mem_alloc(FEATURE_PLACES * (size_t)n_embd * sizeof *l->hidden);
    if (!feature_ring_init(&l->inputs, n_input) || !l->hidden)
        return fail(err, RN_E_NOMEM, "draft heads: out of memory for vectors of %d numbers", n_input);
    return RN_OK;
}

void feature_layer_free(struct feature_layer *l) {
    feature_ring_free(&l->inputs);
    mem_free(l->hidden);
}

void feature_layer_make_room(struct feature_layer *l, const struct strategy_env *env, int32_t more_rows) {
    const int32_t len = env->ops->seq_len(env->user, l->seq);
    if (l->inputs.has_gap || len + feature_ring_n(&l->inputs) + more_rows > env->slots[l->slot].n_ctx)
        env->ops->seq_truncate(env->user, l->seq, 0);
    l->inputs.has_gap = false;
}

void feature_layer_cut(struct feature_layer *l, const struct strategy_env *env, int32_t n) {
    // A vector that layer k - 1 gave for position i has seen token i + k; the main model's at the last token is evaluated again.
    const int32_t read = n - 1 - l->number, there = l->number > 0 ? n - l->number : n - 1;
    const int32_t n_back = feature_ring_cut(&l->inputs, read > 0 ? read : 0, there > 0 ? there : 0);
    const int32_t len = n_back ? env->ops->seq_len(env->user, l->seq) : 0, kept = len > n_back ? len - n_back : 0;
    if (n_back == 0) return;
    env->ops->seq_truncate(env->user, l->seq, kept);
    l->n_nodes = 0;
    if (env->ops->seq_len(env->user, l->seq) < kept) l->inputs.has_gap = true;
}

rn_status feature_layer_drop_nodes(struct feature_layer *l, const struct strategy_env *env, rn_error *err) {
    if (l->n_nodes == 0) return RN_OK;
    l->n_nodes = 0;
    return env->ops->seq_keep(env->user, l->seq, NULL, 0, err);
}
