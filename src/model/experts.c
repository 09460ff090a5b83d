// model/experts.c - the routing of rows to experts.
#include "model/model_private.h"
#include <inttypes.h>

// Floats of a row of parts: widths of rows are 32-bit, and the backend holds batches of hundreds of rows.
#define MOST_PARTS_WIDTH ((size_t)1 << 24)

// The score of a group is the sum of its two best where the choice uses a bias (DeepSeek-V3, 2412.19437), else its best (DeepSeek-V2,
// 2405.04434).
static int32_t group_best(const struct model *m, const struct routing *t) {
    bool has_bias = false;
    for (int32_t l = 0; l < m->h->n_layer; l++) has_bias = has_bias || model_binding(m, l, ROLE_CHOICE_BIAS)->present;
    return has_bias && t->n_expert / t->n_group > 1 ? ROUTING_MAX_GROUP_BEST : 1;
}

rn_status model_experts(struct model *m, rn_error *err) {
    static const enum routing_scores scores[] = {[EXPERT_GATING_SOFTMAX] = ROUTING_SOFTMAX,
                                                 [EXPERT_GATING_SIGMOID] = ROUTING_SIGMOID,
                                                 [EXPERT_GATING_SOFTMAX_CHOSEN] = ROUTING_LOGITS};
    const struct hparams *h = m->h;
    struct routing *t = &m->p.routing;
    if (h->n_expert == 0) return RN_OK;
    *t = (struct routing){
        .scores = scores[h->expert_gating],
        .n_expert = h->n_expert,
        .n_used = h->n_expert_used,
        .n_group = h->n_expert_group ? h->n_expert_group : 1,
        .n_group_used = h->n_expert_group ? h->n_expert_group_used : 1,
        .is_normalized = h->expert_weights_norm,
        .scale = h->expert_weights_scale != 0 ? h->expert_weights_scale : 1,
        .margin = h->router_margin,
    };
    if (h->router_margin != 0) t->scores = ROUTING_RIVALS;
    t->group_best = group_best(m, t);
    const size_t of_experts = model_dims(m, -1)[DIM_PARTS_FF], of_chunks = model_dims(m, -1)[DIM_PARTS_CHUNK];
    const size_t ff = of_experts > of_chunks ? of_experts : of_chunks, embd = model_dims(m, -1)[DIM_PARTS_EMBD];
    if (ff <= MOST_PARTS_WIDTH && embd <= MOST_PARTS_WIDTH) return RN_OK;
    return fail(err, RN_E_LIMIT, "%s: %" PRId32 " experts of a row take %zu numbers, limit %zu", package_path(m->pkg),
                t->n_used, ff > embd ? ff : embd, MOST_PARTS_WIDTH);
}
