// engine/watermark_api.c - public functions about watermarks.
#include "base/status.h"
#include "engine/params.h"
#include "engine/public_structs.h"
#include <math.h>

rn_status watermark_from_public(const rn_watermark *theirs, rn_watermark *own, struct watermark_params *out,
                                rn_error *err) {
    const rn_status st = sized_read(&public_watermark, theirs, own, err);
    if (st != RN_OK) return st;
    *out = (struct watermark_params){.keys = own->keys,
                                     .n_keys = own->n_keys,
                                     .ngram_len = own->ngram_len,
                                     .history_size = own->context_history_size,
                                     .table_size = own->sampling_table_size,
                                     .table_seed = own->sampling_table_seed,
                                     .skip_first = own->skip_first_ngram_calls};
    return watermark_check(out, err);
}

rn_status rn_watermark_detect(const rn_watermark *w, const int32_t *tokens, size_t n_tokens,
                              rn_watermark_score *score, rn_error *err) {
    rn_watermark own;
    struct watermark_params p;
    struct watermark_score s;
    if (!w || !score || (n_tokens && !tokens)) return fail(err, RN_E_ARG, "rn_watermark_detect: NULL argument");
    rn_status st = sized_check(&public_watermark_score, score, err);
    if (st == RN_OK) st = watermark_from_public(w, &own, &p, err);
    if (st == RN_OK) st = watermark_score(&p, tokens, n_tokens, &s, err);
    if (st != RN_OK) return st;
    // A table of equal bits tells nothing.
    const double z = s.deviation > 0 ? (s.weighted_mean - s.expected) / s.deviation : 0;
    const rn_watermark_score found = {.n_scored = s.n_scored,
                                      .mean = s.mean,
                                      .weighted_mean = s.weighted_mean,
                                      .z = z,
                                      .p_value = s.deviation > 0 ? erfc(z / sqrt(2)) / 2 : 1};
    sized_write(&public_watermark_score, &found, score);
    return RN_OK;
}
