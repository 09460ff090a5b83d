// sampling/guidance.c - see guidance.h.
#include "sampling/guidance.h"
#include <math.h>

rn_status guidance_mix(const struct rowmath *rm, const float *own, const float *negative, int32_t n_vocab,
                       float scale, float *out, rn_error *err) {
    const size_t n = (size_t)n_vocab;
    if (!isfinite(rm->max(own, n))) return fail(err, RN_E_FORMAT, "logits: not finite");
    if (!isfinite(rm->max(negative, n))) return fail(err, RN_E_FORMAT, "logits of the negative prompt: not finite");
    const double own_norm = row_log_sum_exp(rm, own, n), negative_norm = row_log_sum_exp(rm, negative, n);
    for (size_t i = 0; i < n; i++) {
        const double o = (double)own[i] - own_norm, m = (double)negative[i] - negative_norm;
        out[i] = (float)(isinf(o) || isinf(m) ? o : m + (double)scale * (o - m));
    }
    return RN_OK;
}
