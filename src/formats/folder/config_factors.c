// formats/folder/config_factors.c - the factors that Falcon-H1 (2507.22448, section 3.2.3) and Jais multiply numbers by on their way, and which
// converters multiply their matrices by; see config_parts.h.
#include "formats/folder/config_parts.h"
#include <inttypes.h>

static const struct {
    const char *member;
    enum hf_factor first;
    uint32_t n; // a list of so many; 0: a number
} rows[] = {
    {"lm_head_multiplier", HF_FACTOR_HEAD, 0},    {"attention_in_multiplier", HF_FACTOR_ATTENTION_IN, 0},
    {"key_multiplier", HF_FACTOR_KEY, 0},         {"attention_out_multiplier", HF_FACTOR_ATTENTION_OUT, 0},
    {"mlp_multipliers", HF_FACTOR_GATE, 2},       {"ssm_in_multiplier", HF_FACTOR_SSM_IN, 0},
    {"ssm_out_multiplier", HF_FACTOR_SSM_OUT, 0}, {"ssm_multipliers", HF_FACTOR_SSM_Z, 5},
};

static rn_status read_row(const struct json_node *v, uint32_t n, float *out, rn_error *err) {
    static const double most = 1e6;
    if (n == 0) return json_float(v, -most, most, out, err);
    if (v->kind != JSON_ARRAY || v->n_items != n) return fail(err, RN_E_FORMAT, "is not a list of %" PRIu32, n);
    const struct json_node *item = json_first(v);
    for (uint32_t i = 0; i < n; i++, item = json_next(item)) {
        const rn_status st = json_float(item, -most, most, out + i, err);
        if (st != RN_OK) return fail_in(err, st, "item %" PRIu32, i);
    }
    return RN_OK;
}

rn_status config_read_factors(struct hf_config *c, const struct json_node *root, rn_error *err) {
    struct hparams *const hp = &c->raw.hp;
    bool before = true;
    for (int i = 0; i < HF_N_FACTORS; i++) c->factors[i] = 1;
    if (c->arch->folds_scales) { // Jais
        const float width = c->raw.width_scale, alpha = c->raw.output_alpha;
        if (hp->embd_scale != 0) c->factors[HF_FACTOR_EMBEDDING] = hp->embd_scale;
        c->factors[HF_FACTOR_HEAD] = (width != 0 ? width : 1) * (alpha != 0 ? alpha : 1);
        hp->embd_scale = 0;
    }
    if (c->raw.facts->recurrent != RECURRENT_BESIDE) return RN_OK;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct json_node *const v = json_member(root, rows[i].member);
        const rn_status st = v ? read_row(v, rows[i].n, &c->factors[rows[i].first], err) : RN_OK;
        if (st != RN_OK) return fail_in(err, st, "member %s", rows[i].member);
    }
    if (hp->embd_scale != 0) c->factors[HF_FACTOR_EMBEDDING] = hp->embd_scale;
    hp->embd_scale = 0; // its matrix has it
    const struct json_node *const first = json_member(root, "mamba_norm_before_gate");
    const rn_status st = first ? json_bool(first, &before, err) : RN_OK;
    if (st != RN_OK) return fail_in(err, st, "member mamba_norm_before_gate");
    hp->ssm_norm_first = before && (c->traits & HF_STATE_NORM);
    return RN_OK;
}
