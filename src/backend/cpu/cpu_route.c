// backend/cpu/cpu_route.c - routing: the experts of a row and their weights (docs/arithmetic.md, section 5).
#include "backend/cpu/cpu_experts.h"
#include <math.h>
#include <string.h>

// Inserts i into list[0, *n), the indices of the largest scores in `want` so far: at most `most`, the largest first. Indices come in
// ascending order, so of equal scores the lower index is first. NaN is not above anything, so the list always fills up.
static void keep_best(const float *want, int32_t *list, int32_t *n, int32_t most, int32_t i) {
    int32_t at = *n;
    if (at == most && !(want[i] > want[list[at - 1]])) return;
    if (at < most)
        ++*n;
    else
        at--;
    for (; at > 0 && want[i] > want[list[at - 1]]; at--) list[at] = list[at - 1];
    list[at] = i;
}

static float group_score(const struct routing *t, const float *want, int32_t group) {
    int32_t best[ROUTING_MAX_GROUP_BEST] = {0}, n = 0;
    const int32_t size = t->n_expert / t->n_group;
    for (int32_t i = 0; i < size; i++) keep_best(want, best, &n, t->group_best, group * size + i);
    float sum = want[best[0]];
    for (int32_t i = 1; i < n; i++) sum += want[best[i]];
    return sum;
}

// The n_used experts with the largest scores within the best groups. scratch: [2 * n_group] floats and as many integers.
static void choose(const struct routing *t, const float *want, int32_t *chosen, float *scratch) {
    float *const score = scratch, *const is_open = scratch + t->n_group;
    int32_t *const groups = (int32_t *)(void *)(scratch + 2 * t->n_group);
    const int32_t size = t->n_expert / t->n_group;
    int32_t n_open = 0, n = 0;
    for (int32_t g = 0; t->n_group > 1 && g < t->n_group; g++) {
        score[g] = group_score(t, want, g);
        keep_best(score, groups, &n_open, t->n_group_used, g);
        is_open[g] = 0;
    }
    for (int32_t i = 0; i < n_open; i++) is_open[groups[i]] = 1;
    for (int32_t g = 0; g < t->n_group; g++)
        for (int32_t i = g * size; (n_open == 0 || is_open[g] != 0) && i < (g + 1) * size; i++)
            keep_best(want, chosen, &n, t->n_used, i);
}

static void weigh(const struct kernel_set *k, const struct routing *t, float *weights) {
    const size_t n = (size_t)t->n_used;
    if (t->scores == ROUTING_LOGITS) k->softmax(weights, n);
    if (t->is_normalized) {
        float sum = 0;
        for (size_t i = 0; i < n; i++) sum += weights[i];
        for (size_t i = 0; i < n; i++) weights[i] /= sum + 1e-20f; // all sigmoids may be 0
    }
    if (t->scale != 1) k->scale(weights, t->scale, n);
}

// The weights of ROUTING_RIVALS. near: [n_expert] scratch.
static void weigh_rivals(const struct kernel_set *k, const struct routing *t, const float *score,
                         const int32_t *chosen, float *near, float *weights) {
    for (int32_t c = 0; c < t->n_used; c++) {
        const float best = score[chosen[c]];
        size_t n = 1;
        near[0] = best;
        for (int32_t i = 0; i < t->n_expert; i++) {
            bool is_out = i == chosen[c];
            for (int32_t b = 0; b < c; b++) is_out = is_out || i == chosen[b];
            const float size = fabsf(score[i]) > best ? fabsf(score[i]) : best;
            if (!is_out && !((best - score[i]) / size > t->margin)) near[n++] = score[i];
        }
        k->softmax(near, n);
        weights[c] = near[0];
    }
}

size_t cpu_route_scratch(const struct program *p) {
    return (2 * (size_t)p->routing.n_expert + 3 * (size_t)p->routing.n_group + (size_t)p->routing.n_used) *
           sizeof(float);
}

void cpu_op_route(const struct op_run *x, size_t begin, size_t end) {
    const struct routing *t = &x->b->p->routing;
    const struct kernel_set *k = x->b->k;
    const float *const bias = x->o->op.weights.vec;
    const size_t n = (size_t)t->n_expert, n_used = (size_t)t->n_used;
    float *const score = cpu_scratch(x->b, x->i_thread), *const biased = score + n;
    int32_t *const chosen = (int32_t *)(void *)(biased + n);
    for (size_t r = begin; r < end; r++) {
        float *const out = run_dst(x, r);
        memcpy(score, run_src(x, r), n * sizeof *score);
        if (t->scores == ROUTING_SOFTMAX) k->softmax(score, n);
        if (t->scores == ROUTING_SIGMOID) k->activate[ACT_FN_SIGMOID](score, n, score);
        if (bias) {
            memcpy(biased, score, n * sizeof *score);
            k->add(biased, bias, n);
        }
        choose(t, bias ? biased : score, chosen, biased + n + n_used);
        for (size_t i = 0; i < n_used; i++) {
            out[i] = score[chosen[i]];
            out[n_used + i] = (float)chosen[i];
        }
        if (t->scores == ROUTING_RIVALS) weigh_rivals(k, t, score, chosen, biased, out);
        weigh(k, t, out);
        for (size_t i = 0; x->o->op.weights.vec2 && i < n_used; i++) out[i] *= x->o->op.weights.vec2[chosen[i]];
    }
}
