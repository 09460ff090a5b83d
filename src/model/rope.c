// model/rope.c - rotary frequencies (RoFormer, 2104.09864): linear scaling, YaRN (Peng et al. 2023, 2309.00071) and per-pair factors.
#include "kernels/rowmath.h"
#include "model/model.h"
#include <math.h>

// The fractional pair that makes `turns` full rotations over the original context length.
static double pair_with_turns(const struct hparams *h, double turns) {
    const double two_pi = 6.283185307179586477;
    return h->n_rot * log_f64(h->rope_n_ctx_orig / (turns * two_pi)) / (2 * log_f64((double)h->rope_theta));
}

// YaRN, section 3.2 (NTK by parts): pairs up to `low` keep their frequency, that of pairs from `high` on is divided by the factor, and
// those in between are interpolated. As in transformers and llama.cpp, both ends are rounded to whole pairs, unless the model says
// otherwise, and clamped to 0..n_rot-1, although the pairs end at n_rot / 2.
struct ramp {
    double low, high;
};
static struct ramp yarn_ramp(const struct hparams *h) {
    struct ramp r = {pair_with_turns(h, (double)h->rope_beta_fast), pair_with_turns(h, (double)h->rope_beta_slow)};
    if (!h->rope_exact_ramp) r = (struct ramp){floor(r.low), ceil(r.high)};
    r.low = r.low < 0 ? 0 : r.low;
    r.high = r.high > h->n_rot - 1 ? h->n_rot - 1 : r.high;
    if (r.low == r.high) r.high += 0.001;
    return r;
}

// Weight of the scaled frequency for pair i: 0..1.
static double yarn_share(const struct ramp *r, int32_t i) {
    const double x = (i - r->low) / (r->high - r->low);
    return x < 0 ? 0 : x > 1 ? 1 : x;
}

void rope_inv_freq(const struct hparams *h, const float *factors, float *out) {
    const bool yarn = h->rope_scaling == ROPE_SCALING_YARN;
    const struct ramp ramp = yarn ? yarn_ramp(h) : (struct ramp){0};
    const double log_theta = log_f64((double)h->rope_theta), factor = (double)h->rope_factor;
    for (int32_t i = 0; i < h->n_rot / 2; i++) {
        const double share = yarn ? yarn_share(&ramp, i) : h->rope_scaling == ROPE_SCALING_LINEAR ? 1 : 0;
        double freq = exp_f64(-2.0 * i / h->n_rot * log_theta);
        if (share > 0) freq = freq * (1 - share) + freq / factor * share;
        if (factors) freq /= (double)factors[i];
        out[i] = (float)freq;
    }
}

// YaRN, section 3.3: the temperature of attention, applied to both queries and keys. m: DeepSeek's weight of the logarithm.
static double yarn_magnitude(double factor, double m) { return factor <= 1 ? 1 : 1 + 0.1 * m * log_f64(factor); }

float rope_magnitude(const struct hparams *h) {
    if (h->rope_scaling != ROPE_SCALING_YARN) return h->rope_attn_factor;
    const double factor = (double)h->rope_factor;
    return (float)((double)h->rope_attn_factor * yarn_magnitude(factor, (double)h->rope_mscale) /
                   yarn_magnitude(factor, (double)h->rope_mscale_all));
}
