// sampling/contrast.c - see contrast.h.
#include "sampling/contrast.h"
#include <math.h>

rn_status contrast_mix(const struct rowmath *rm, const struct contrast *c, const float *own, const float *other,
                       const char *other_name, int32_t n_vocab, float *out, rn_error *err) {
    const size_t n = (size_t)n_vocab;
    const float max = rm->max(own, n);
    if (!isfinite(max)) return fail(err, RN_E_FORMAT, "logits: not finite");
    for (size_t i = 0; i < n; i++) out[i] = other[i] / c->temperature;
    if (!isfinite(rm->max(out, n))) return fail(err, RN_E_FORMAT, "logits of %s: not finite", other_name);
    const double least = c->relative_top > 0 ? (double)max + log_f64((double)c->relative_top) : -INFINITY,
                 own_norm = row_log_sum_exp(rm, own, n), norm = row_log_sum_exp(rm, out, n);
    for (size_t i = 0; i < n; i++) {
        const double o = (double)own[i] - own_norm, a = (double)out[i] - norm;
        out[i] = (double)own[i] < least ? -INFINITY : (float)(isinf(a) ? o : o - (double)c->weight * a);
    }
    return RN_OK;
}

double contrast_divergence(const struct rowmath *rm, const float *a, const float *b, int32_t n_vocab,
                           float *scratch) {
    const size_t n = (size_t)n_vocab;
    float *const p = scratch, *const q = scratch + n;
    const double norm_a = row_log_sum_exp(rm, a, n), norm_b = row_log_sum_exp(rm, b, n);
    double sum = 0;
    rm->exp(a, n, (float)norm_a, p);
    rm->exp(b, n, (float)norm_b, q);
    for (size_t i = 0; i < n; i++) {
        const double m = 0.5 * ((double)p[i] + (double)q[i]);
        if (m == 0 || a[i] == -INFINITY || b[i] == -INFINITY) continue;
        const double logs = (double)a[i] - norm_a + ((double)b[i] - norm_b);
        sum += m * (2 * log_f64(m) - logs);
    }
    return sum;
}
