// decoding/draft/verify.c - see verify.h.
#include "decoding/draft/verify.h"

void verifier_begin(struct verifier *v, const int32_t *ids, const float *probs, double *weights, size_t n,
                    const struct draft_source *source) {
    *v = (struct verifier){.ids = ids, .weights = weights, .n = n};
    for (size_t i = 0; i < n; i++) weights[i] = (double)probs[i];
    if (source) v->source = *source;
}

static double total_of(const double *weights, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += weights[i];
    return sum;
}

static size_t find(const int32_t *ids, size_t n, int32_t token) {
    size_t i = 0;
    while (i < n && ids[i] != token) i++;
    return i;
}

// The probability of a token by what the guess was drawn from.
static double guessed(const struct draft_source *q, int32_t token) {
    const size_t n = (size_t)q->n, i = find(q->ids, n, token);
    return i < n ? q->weights[i] / total_of(q->weights, n) : 0;
}

double verifier_chance(const struct verifier *v, int32_t token) {
    const size_t i = find(v->ids, v->n, token);
    if (i == v->n || v->weights[i] <= 0) return 0;
    const double p = v->weights[i] / total_of(v->weights, v->n);
    const double q = v->source.n ? guessed(&v->source, token) : 1;
    return p >= q ? 1 : p / q;
}

// A token of a fixed list is left out.
static void leave_out(struct verifier *v, int32_t token) {
    const size_t i = find(v->ids, v->n, token);
    if (i == v->n) return;
    const double was = v->weights[i];
    v->weights[i] = 0;
    if (total_of(v->weights, v->n) <= 0) v->weights[i] = was; // by rounding: it cannot have been rejected
}

// (p - q)+; p where nothing is left, which happens by rounding alone.
static void subtract_source(struct verifier *v) {
    const struct draft_source *const q = &v->source;
    const double p_total = total_of(v->weights, v->n), q_total = total_of(q->weights, (size_t)q->n);
    double before[DRAFT_SOURCE], left = 0;
    size_t places[DRAFT_SOURCE];
    for (int32_t k = 0; k < q->n; k++) {
        places[k] = find(v->ids, v->n, q->ids[k]);
        if (places[k] == v->n) continue;
        double *const w = &v->weights[places[k]];
        const double rest = *w - q->weights[k] / q_total * p_total;
        before[k] = *w;
        *w = rest > 0 ? rest : 0;
    }
    left = total_of(v->weights, v->n);
    for (int32_t k = 0; k < q->n && left <= 0; k++)
        if (places[k] < v->n) v->weights[places[k]] = before[k];
}

void verifier_reject(struct verifier *v, int32_t token) {
    struct draft_source *const q = &v->source;
    if (q->n == 0) {
        leave_out(v, token);
        return;
    }
    subtract_source(v);
    const size_t i = find(q->ids, (size_t)q->n, token);
    if (!q->is_put_back && i < (size_t)q->n) q->weights[i] = 0;
}

int32_t verifier_draw(const struct verifier *v, double u) {
    const double target = u * total_of(v->weights, v->n);
    double sum = 0;
    size_t last = 0;
    for (size_t i = 0; i < v->n; i++) {
        if (v->weights[i] <= 0) continue;
        sum += v->weights[i];
        last = i;
        if (target < sum) break;
    }
    return v->ids[last];
}
