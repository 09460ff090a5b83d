// decoding/draft/draft_top.c - see draft_top.h.
#include "decoding/draft/draft_top.h"
#include <math.h>

size_t draft_top_scratch(int32_t n) {
    const size_t least = 8 * DRAFT_TOP_MOST;
    return 2 * (size_t)n > least ? 2 * (size_t)n : least;
}

void draft_top_of(const struct rowmath *rm, const float *row, int32_t n, const int32_t *map, int32_t most,
                  int32_t *scratch, struct draft_top *out) {
    int32_t best[DRAFT_TOP_MOST];
    const float max = rm->max(row, (size_t)n), sum = rm->sum_exp(row, (size_t)n, max);
    out->n = 0;
    if (!isfinite(max) || !isfinite(sum)) return;
    out->n = (int32_t)row_top_k(rm, row, (size_t)n, (size_t)most, best, scratch);
    for (int32_t i = 0; i < out->n; i++) {
        out->tokens[i] = map ? map[best[i]] : best[i];
        out->probs[i] = exp_f32(row[best[i]] - max) / sum;
    }
}

static const float least[DRAFT_TOP_CLASSES - 1] = {0.95F, 0.85F, 0.7F, 0.5F, 0.3F, 0.15F, 0.05F};
const float draft_prob_shares[DRAFT_TOP_CLASSES] = {0.95F, 0.85F, 0.75F, 0.6F, 0.4F, 0.2F, 0.1F, 0.02F};

int32_t draft_class_of_prob(float p) {
    int32_t class = 0;
    while (class < DRAFT_TOP_CLASSES - 1 && p < least[class]) class ++;
    return class;
}
