// convert/convert_options.c - see convert_options.h.
#include "convert/convert_options.h"
#include "base/pool.h"
#include "base/sized_struct.h"
#include "tensor/types.h"
#include <stdio.h>

static const struct sized_struct quantize_options = {"quantize_options", "call rn_quantize_options_init()",
                                                     SIZED_FIRST(rn_quantize_options, report_user),
                                                     sizeof(rn_quantize_options), NULL};

void rn_quantize_options_init_sized(rn_quantize_options *o, size_t struct_size) {
    sized_init(&quantize_options, o, struct_size);
}

rn_status convert_options_read(const rn_quantize_options *opt, rn_quantize_options *out, const struct mix **mix,
                               rn_error *err) {
    char known[512];
    size_t n = 0;
    const rn_status st = sized_read(&quantize_options, opt, out, err);
    *mix = NULL;
    if (st != RN_OK) return st;
    if (out->n_threads < 0 || out->n_threads > POOL_MAX_THREADS)
        return fail(err, RN_E_ARG, "n_threads: %d is outside 0..%d", out->n_threads, POOL_MAX_THREADS);
    if (out->n_keep && !out->keep) return fail(err, RN_E_ARG, "keep: NULL argument");
    if (!out->type || (*mix = mix_find(out->type))) return RN_OK;
    for (size_t i = 0; i < mix_count() && n < sizeof known; i++)
        n += (size_t)snprintf(known + n, sizeof known - n, "%s%s", i ? ", " : "", mix_at(i)->name);
    return fail(err, RN_E_ARG, "type: %s is %s; %s are written", out->type,
                tensor_type_by_name(out->type) ? "read, but not written" : "unknown", known);
}
