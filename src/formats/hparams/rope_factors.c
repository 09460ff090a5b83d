// formats/hparams/rope_factors.c - rope scaling as a factor for each pair (transformers:
// modeling_rope_utils; llama.cpp's converter).
//
// Llama 3, for a pair with wavelength w in positions: below n_ctx_orig / high_freq the frequency is
// unchanged, above n_ctx_orig / low_freq it is divided by `factor`, and in between it is the mean
// of both, weighted by s = (n_ctx_orig / w - low) / (high - low).
#include "base/checked.h"
#include "formats/folder/hf_tensors.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

// theta^x as a product of repeated square roots of theta, selected by the binary digits of x.
// Square roots are exactly rounded under IEEE 754 and pow() is not, so the result has the same bits
// with every C library.
double rope_power(double theta, double x) {
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
        const double turns = n_ctx / (two_pi * rope_power((double)theta, 2.0 * i / n_rot)); // n_ctx / w
        const double s = (turns - low) / (high - low);
        out[i] = s > 1 ? 1.0f : s < 0 ? (float)factor : (float)(1 / ((1 - s) / factor + s));
    }
}

// ---- tensors of factors -------------------------------------------------------------------------

static uint64_t n_pairs(const struct hf_config *c) { return (uint64_t)c->raw.hp.n_rot / 2; }

bool hf_rope_bytes(const struct hf_config *c, size_t *out) {
    const uint64_t n = c->short_factors ? 2 : c->llama3.is_set || c->n_rot_proportional != 0 ? 1 : 0;
    size_t each;
    return package_made_size(n_pairs(c) * sizeof(float), &each) && size_mul(each, (size_t)n, out);
}

static rn_status add(struct package *p, const struct hf_config *c, const char *name, float **out, rn_error *err) {
    const uint64_t n = n_pairs(c);
    const struct tensor_claim claim = {
        .name = name, .n_name = (uint32_t)strlen(name), .type = TENSOR_F32, .n_dims = 1, .dims = &n};
    const rn_status st = package_add_tensor(p, &claim, err);
    if (st == RN_OK) *out = (float *)(void *)package_made_data(p);
    return st;
}

static rn_status add_longrope(struct package *p, const struct hf_config *c, rn_error *err) {
    float *out;
    if (c->n_factors != n_pairs(c))
        return fail(err, RN_E_FORMAT, "member %s: %" PRIu32 " factors for %" PRIu64 " pairs", c->raw.rope_object,
                    c->n_factors, n_pairs(c));
    rn_status st = add(p, c, "rope_factors_long.weight", &out, err);
    if (st != RN_OK) return st;
    memcpy(out, c->long_factors, c->n_factors * sizeof *out);
    st = add(p, c, "rope_factors_short.weight", &out, err);
    if (st == RN_OK) memcpy(out, c->short_factors, c->n_factors * sizeof *out);
    return st;
}

rn_status hf_add_rope_factors(struct package *p, const struct hf_config *c, rn_error *err) {
    static const float stands_still = 1e30f; // the value that converters write
    const struct hparams *hp = &c->raw.hp;
    float *out;
    if (c->short_factors) return add_longrope(p, c, err);
    if (!c->llama3.is_set && c->n_rot_proportional == 0) return RN_OK;
    const rn_status st = add(p, c, "rope_freqs.weight", &out, err);
    if (st != RN_OK) return st;
    if (c->llama3.is_set)
        llama3_rope_factors(&c->llama3, hp->rope_theta, hp->n_rot, out);
    else
        for (int32_t i = 0; i < hp->n_rot / 2; i++) out[i] = i < c->n_rot_proportional / 2 ? 1 : stands_still;
    return RN_OK;
}
