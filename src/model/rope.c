// model/rope.c - rotary frequencies (RoFormer, 2104.09864), linear scaling and per-pair factors.
#include "kernels/rowmath.h"
#include "model/model.h"

void rope_inv_freq(const struct hparams *h, const float *factors, float *out) {
    const double log_theta = log_f64((double)h->rope_theta);
    for (int32_t i = 0; i < h->n_rot / 2; i++) {
        double freq = exp_f64(-2.0 * i / h->n_rot * log_theta);
        if (h->rope_scaling == ROPE_SCALING_LINEAR) freq /= (double)h->rope_factor;
        if (factors) freq /= (double)factors[i];
        out[i] = (float)freq;
    }
}
