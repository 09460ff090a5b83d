// formats/hparams/hparams_states.c - checks relations between the parameters of recurrent layers;
// see hparams.h.
#include "formats/hparams/hparams.h"
#include <inttypes.h>

#define AT(field) offsetof(struct raw_hparams, field)

static rn_status missing(const struct raw_hparams *raw, size_t at, rn_error *err) {
    return fail(err, RN_E_FORMAT, "%s: missing", hparam_name_at(raw, at).text);
}

// lfm2: short depthwise convolutions without further state.
static rn_status check_short_conv(struct raw_hparams *raw, rn_error *err) {
    struct hparams *hp = &raw->hp;
    if (hp->ssm_d_conv == 0) return missing(raw, AT(hp.ssm_d_conv), err);
    hp->ssm_d_inner = hp->n_embd;
    hp->ssm_d_state = hp->ssm_n_head = hp->ssm_n_group = 0;
    return RN_OK;
}

// Mamba: a state for each channel.
static rn_status check_scan(struct raw_hparams *raw, rn_error *err) {
    struct hparams *hp = &raw->hp;
    const int64_t max = (int64_t)hparam_row_at(AT(hp.ssm_d_inner))->max;
    static const size_t needed[] = {AT(hp.ssm_d_conv), AT(hp.ssm_d_state), AT(hp.ssm_n_head)};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (hparam_get(raw, hparam_row_at(needed[i])) == 0) return missing(raw, needed[i], err);
    if (hp->ssm_d_inner == 0 && raw->ssm_expand != 0) {
        const int64_t n = (int64_t)raw->ssm_expand * hp->n_embd;
        if (n > max)
            return fail(err, RN_E_FORMAT, "%s: %" PRId32 " times %" PRId32 " is %" PRId64 ", limit %" PRId64,
                        hparam_name_at(raw, AT(ssm_expand)).text, raw->ssm_expand, hp->n_embd, n, max);
        hp->ssm_d_inner = (int32_t)n;
    }
    if (hp->ssm_d_inner == 0) return missing(raw, AT(hp.ssm_d_inner), err);
    if ((int64_t)hp->ssm_d_inner * hp->ssm_d_state > INT32_MAX)
        return fail(err, RN_E_FORMAT, "%s: %" PRId32 " by %" PRId32 " is a state of more than %d numbers",
                    hparam_name_at(raw, AT(hp.ssm_d_state)).text, hp->ssm_d_inner, hp->ssm_d_state, INT32_MAX);
    hp->ssm_dt_rank = hp->ssm_n_head;
    hp->ssm_n_head = hp->ssm_d_inner;
    hp->ssm_n_group = 0;
    return RN_OK;
}

// RWKV: a head's state has a row of its width for each of its keys; a block keeps the row before.
static rn_status check_wkv(struct raw_hparams *raw, rn_error *err) {
    struct hparams *hp = &raw->hp;
    static const size_t of_6[] = {AT(hp.wkv_mix_rank), 0}, of_7[] = {AT(hp.wkv_rate_rank), AT(hp.wkv_value_rank)};
    const bool is_6 = raw->facts->wkv_mixes;
    const size_t needed[] = {AT(hp.n_ff), AT(hp.wkv_head), AT(hp.wkv_decay_rank), (is_6 ? of_6 : of_7)[0],
                             (is_6 ? of_6 : of_7)[1]};
    if (hp->n_ff == 0 && raw->facts->ff_is_4x) hp->n_ff = 4 * hp->n_embd;
    for (size_t i = 0; i < sizeof needed / sizeof *needed - is_6; i++)
        if (hparam_get(raw, hparam_row_at(needed[i])) == 0) return missing(raw, needed[i], err);
    if (hp->n_embd % hp->wkv_head != 0)
        return fail(err, RN_E_FORMAT, "%s: %" PRId32 " does not divide the embedding's width, %" PRId32,
                    hparam_name_at(raw, AT(hp.wkv_head)).text, hp->wkv_head, hp->n_embd);
    if (hp->n_shift < 2 && raw->facts->has_layer_norm)
        return fail(err, RN_E_FORMAT, "%s: %" PRId32 ", must be 2: both blocks of a layer read the row before, too",
                    hparam_name_at(raw, AT(hp.n_shift)).text, hp->n_shift);
    hp->ssm_d_conv = 2;
    hp->ssm_d_inner = hp->n_embd;
    hp->ssm_d_state = hp->wkv_head;
    hp->ssm_n_head = hp->n_embd / hp->wkv_head;
    if (hp->ssm_n_group == 0 || !is_6 || raw->facts->has_layer_norm) hp->ssm_n_group = hp->ssm_n_head;
    if (is_6)
        hp->wkv_rate_rank = hp->wkv_value_rank = hp->wkv_gate_rank = 0;
    else
        hp->wkv_mix_rank = 0;
    if (!is_6 || !raw->facts->has_layer_norm) hp->wkv_halved_every = 0;
    if (hp->ssm_n_head % hp->ssm_n_group == 0) return RN_OK;
    return fail(err, RN_E_FORMAT, "%s: %" PRId32 " does not divide the number of heads, %" PRId32,
                hparam_name_at(raw, AT(hp.n_head_kv)).text, hp->ssm_n_group, hp->ssm_n_head);
}

static void clear_wkv(struct hparams *hp) {
    hp->wkv_head = hp->n_shift = hp->wkv_decay_rank = hp->wkv_rate_rank = hp->wkv_value_rank = hp->wkv_gate_rank = 0;
    hp->wkv_mix_rank = hp->wkv_halved_every = 0;
}

rn_status hparams_check_states(struct raw_hparams *raw, rn_error *err) {
    struct hparams *hp = &raw->hp;
    static const size_t needed[] = {AT(hp.ssm_d_conv), AT(hp.ssm_d_state), AT(hp.ssm_n_head), AT(hp.ssm_n_group)};
    if (raw->facts->recurrent == RECURRENT_NONE) {
        hp->ssm_d_conv = hp->ssm_d_inner = hp->ssm_d_state = hp->ssm_n_head = hp->ssm_n_group = 0;
        clear_wkv(hp);
        return RN_OK;
    }
    if (raw->facts->wkv) return check_wkv(raw, err);
    clear_wkv(hp);
    if (raw->facts->short_conv) return check_short_conv(raw, err);
    if (raw->facts->scans) return check_scan(raw, err);
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (hparam_get(raw, hparam_row_at(needed[i])) == 0) return missing(raw, needed[i], err);
    const int64_t max = (int64_t)hparam_row_at(AT(hp.ssm_d_inner))->max;
    if (raw->source == HPARAMS_CONFIG) {
        const int64_t n = (int64_t)hp->ssm_n_head * raw->ssm_head_dim;
        if (n == 0) return missing(raw, AT(ssm_head_dim), err);
        if (n > max)
            return fail(err, RN_E_FORMAT, "%s: %" PRId32 " heads of %" PRId32 " are %" PRId64 " wide, limit %" PRId64,
                        hparam_name_at(raw, AT(hp.ssm_n_head)).text, hp->ssm_n_head, raw->ssm_head_dim, n, max);
        hp->ssm_d_inner = (int32_t)n;
    }
    if (hp->ssm_d_inner == 0) return missing(raw, AT(hp.ssm_d_inner), err);
    if (hp->ssm_d_inner % hp->ssm_n_head != 0)
        return fail(err, RN_E_FORMAT, "%s: %" PRId32 " does not divide the states' width, %" PRId32,
                    hparam_name_at(raw, AT(hp.ssm_n_head)).text, hp->ssm_n_head, hp->ssm_d_inner);
    if (hp->ssm_n_head % hp->ssm_n_group != 0)
        return fail(err, RN_E_FORMAT, "%s: %" PRId32 " does not divide the number of heads, %" PRId32,
                    hparam_name_at(raw, AT(hp.ssm_n_group)).text, hp->ssm_n_group, hp->ssm_n_head);
    if ((int64_t)hp->ssm_d_inner * hp->ssm_d_state > INT32_MAX || (int64_t)hp->ssm_n_group * hp->ssm_d_state > max)
        return fail(err, RN_E_FORMAT, "%s: %" PRId32 " by %" PRId32 " is a state of more than %d numbers",
                    hparam_name_at(raw, AT(hp.ssm_d_state)).text, hp->ssm_d_inner, hp->ssm_d_state, INT32_MAX);
    return RN_OK;
}
