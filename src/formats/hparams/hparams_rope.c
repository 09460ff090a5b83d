// formats/hparams/hparams_rope.c - checks relations between the parameters of rotation; see
// hparams.h.
#include "formats/hparams/hparams.h"
#include <inttypes.h>
#include <math.h>

#define AT(field) offsetof(struct raw_hparams, field)

static rn_status check_rotation(struct raw_hparams *raw, rn_error *err) {
    struct hparams *hp = &raw->hp;
    const size_t named = raw->source == HPARAMS_GGUF ? AT(hp.n_rot) : AT(hp.head_dim);
    if (hp->alibi_max_bias == 0 && raw->facts->alibi_layers == hp->n_layer) hp->alibi_max_bias = 8;
    if (raw->facts->rotation == ROTATION_NOWHERE || hp->alibi_max_bias > 0 ||
        (raw->facts->rotation == ROTATION_BY_SWITCH && !raw->rope_switch)) {
        hp->n_rot = 0;
        hp->rope_theta = 0;
        hp->rope_scaling = ROPE_SCALING_NONE;
        return RN_OK;
    }
    if (raw->partial_rotary != 0) // rounded down as in transformers: 0.4 of 80 is 32
        hp->n_rot = (int32_t)((double)raw->partial_rotary * hp->head_dim + 1e-6);
    if (hp->n_rot == 0 && raw->partial_rotary == 0) hp->n_rot = hp->head_dim;
    if (hp->n_rot == 0 || hp->n_rot % 2 != 0 || hp->n_rot > hp->head_dim)
        return fail(err, RN_E_FORMAT, "%s: %" PRId32 " is not even and at most the head's %" PRId32,
                    hparam_name_at(raw, raw->partial_rotary != 0 ? AT(partial_rotary) : named).text, hp->n_rot,
                    hp->head_dim);
    if (hp->rope_theta == 0) hp->rope_theta = 10000;
    return RN_OK;
}

// YaRN (Peng et al. 2023): the defaults of transformers and llama.cpp for values that are absent or
// 0.
static rn_status check_yarn(struct raw_hparams *raw, rn_error *err) {
    struct hparams *hp = &raw->hp;
    if (hp->rope_n_ctx_orig == 0) hp->rope_n_ctx_orig = hp->n_ctx_train;
    if (hp->rope_beta_fast == 0) hp->rope_beta_fast = 32;
    if (hp->rope_beta_slow == 0) hp->rope_beta_slow = 1;
    if (hp->rope_beta_fast < hp->rope_beta_slow)
        return fail(err, RN_E_FORMAT, "%s: %g is below beta_slow, %g",
                    hparam_name_at(raw, AT(hp.rope_beta_fast)).text, (double)hp->rope_beta_fast,
                    (double)hp->rope_beta_slow);
    if (hp->rope_theta <= 1)
        return fail(err, RN_E_FORMAT, "%s: %g, where yarn needs more than 1",
                    hparam_name_at(raw, AT(hp.rope_theta)).text, (double)hp->rope_theta);
    if (raw->source == HPARAMS_CONFIG && !raw->facts->is_mla && (hp->rope_mscale == 0 || hp->rope_mscale_all == 0))
        hp->rope_mscale = hp->rope_mscale_all = 0;           // valid only together
    if (raw->source == HPARAMS_GGUF && raw->facts->is_mla) { // its files store a tenth, and one value for both
        hp->rope_mscale_all *= 10;
        hp->rope_mscale = hp->rope_mscale_all;
    }
    if (hp->rope_mscale == 0) hp->rope_mscale = 1;
    if (raw->attention_factor != 0) { // the complete factor: nothing follows from rope_factor
        hp->rope_attn_factor = raw->attention_factor;
        hp->rope_mscale = hp->rope_mscale_all = 0;
    }
    return RN_OK;
}

// LongRoPE (Ding et al. 2024) as in transformers and llama.cpp's converter: cosines and sines are
// scaled with the logarithm of the context's extension.
static rn_status check_longrope(struct raw_hparams *raw, rn_error *err) {
    struct hparams *hp = &raw->hp;
    if (hp->rope_n_ctx_orig == 0 && raw->source == HPARAMS_GGUF) // as llama.cpp takes it
        hp->rope_n_ctx_orig = hp->n_ctx_train;
    if (hp->rope_n_ctx_orig == 0)
        return fail(err, RN_E_FORMAT, "%s: missing, where longrope needs it",
                    hparam_name_at(raw, AT(hp.rope_n_ctx_orig)).text);
    if (raw->source == HPARAMS_CONFIG) {
        const double longer = (double)hp->n_ctx_train / hp->rope_n_ctx_orig;
        if (raw->attention_factor != 0)
            hp->rope_attn_factor = raw->attention_factor;
        else if (longer > 1 && hp->rope_n_ctx_orig > 1)
            hp->rope_attn_factor = (float)sqrt(1 + log(longer) / log((double)hp->rope_n_ctx_orig));
    }
    hp->rope_factor = 1;
    hp->rope_beta_fast = hp->rope_beta_slow = hp->rope_mscale = hp->rope_mscale_all = 0;
    return RN_OK;
}

// Sets the interval of the queries' temperature if it is absent, as in llama.cpp's files.
static void set_temperature(struct raw_hparams *raw) {
    struct hparams *hp = &raw->hp;
    const enum temperature_rule rule = raw->facts->temperature;
    if (rule == TEMPERATURE_FAR && hp->attn_temp_length == 0)
        hp->attn_temp_length = hp->rope_n_ctx_orig ? hp->rope_n_ctx_orig : hp->n_ctx_train;
    if (rule == TEMPERATURE_NONE || hp->attn_temp_scale == 0 || hp->attn_temp_length == 0)
        hp->attn_temp_scale = 0, hp->attn_temp_length = 0;
}

rn_status hparams_check_rope(struct raw_hparams *raw, rn_error *err) {
    struct hparams *hp = &raw->hp;
    const rn_status st = check_rotation(raw, err);
    if (st != RN_OK) return st;
    set_temperature(raw);
    if (hp->rope_factor == 0 || hp->rope_scaling == ROPE_SCALING_NONE) hp->rope_factor = 1;
    if (hp->rope_attn_factor == 0) hp->rope_attn_factor = 1;
    if (raw->yarn_attn_factor != 0) hp->rope_attn_factor *= raw->yarn_attn_factor;
    if (raw->facts->swa_is_plain && hp->n_swa != 0 && hp->rope_theta_swa == 0) hp->rope_theta_swa = hp->rope_theta;
    if (hp->rope_scaling == ROPE_SCALING_YARN) return check_yarn(raw, err);
    hp->rope_exact_ramp = false;
    if (hp->rope_scaling == ROPE_SCALING_LONGROPE) return check_longrope(raw, err);
    hp->rope_n_ctx_orig = 0;
    hp->rope_beta_fast = hp->rope_beta_slow = hp->rope_mscale = hp->rope_mscale_all = 0;
    return RN_OK;
}
