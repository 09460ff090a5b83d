// formats/llama3_rope.c - Llama 3's rope scaling as factors of pairs (transformers: modeling_rope_utils; llama.cpp's converter).
//
// Of a pair with wavelength w in positions: below n_ctx_orig / high_freq it stays, above n_ctx_orig / low_freq its frequency is
// divided by `factor`, and between the two lies the mean of both, weighted by s = (n_ctx_orig / w - low) / (high - low).
#include "formats/hf_tensors.h"
#include <math.h>

// theta^x for x in [0, 1): the product of theta's square roots that x's binary digits name. Square roots are exact under
// IEEE 754, which pow() is not: this gives the same bits with every C library.
static double power(double theta, double x) {
    double root = theta, product = 1;
    for (int digit = 0; digit < 53 && x > 0; digit++) {
        root = sqrt(root);
        x *= 2;
        if (x >= 1) {
            product *= root;
            x -= 1;
        }
    }
    return product;
}

void llama3_rope_factors(const struct llama3_rope *r, float theta, int32_t n_rot, float *out) {
    const double two_pi = 6.283185307179586477, n_ctx = r->n_ctx_orig;
    const double low = (double)r->low_freq, high = (double)r->high_freq, factor = (double)r->factor;
    for (int32_t i = 0; i < n_rot / 2; i++) {
        const double turns = n_ctx / (two_pi * power((double)theta, 2.0 * i / n_rot)); // n_ctx / w
        const double s = (turns - low) / (high - low);
        out[i] = s > 1 ? 1.0f : s < 0 ? (float)factor : (float)(1 / ((1 - s) / factor + s));
    }
}
