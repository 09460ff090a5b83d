// engine/defaults.c - sampling presets and fields by name, names of finish reasons.
#include "base/status.h"
#include "engine/params.h"
#include "engine/public_structs.h"
#include <math.h>
#include <stddef.h>
#include <string.h>

const char *rn_version(void) { return RUNNEL_VERSION; }

// What both structs have, by the same name.
#define BOTH(name)                                                                                                   \
    {offsetof(rn_sampling, name), offsetof(struct sampling_params, name), sizeof((rn_sampling){0}.name)}
static const struct {
    size_t theirs, ours, n_bytes;
} numbers[] = {
    BOTH(temp),
    BOTH(top_k),
    BOTH(top_p),
    BOTH(min_p),
    BOTH(min_keep),
    BOTH(repeat_penalty),
    BOTH(frequency_penalty),
    BOTH(presence_penalty),
    BOTH(penalty_last_n),
    BOTH(penalty_prompt),
    BOTH(dry_multiplier),
    BOTH(dry_base),
    BOTH(dry_allowed_length),
    BOTH(dry_penalty_last_n),
    BOTH(xtc_probability),
    BOTH(xtc_threshold),
    BOTH(typical_p),
    BOTH(top_n_sigma),
    BOTH(dynatemp_range),
    BOTH(dynatemp_exponent),
    BOTH(mirostat),
    BOTH(mirostat_tau),
    BOTH(mirostat_eta),
    BOTH(min_tokens),
    BOTH(no_repeat_ngram_size),
    BOTH(epsilon_cutoff),
    BOTH(eta_cutoff),
    BOTH(top_a),
    BOTH(top_h),
    BOTH(tfs_z),
    BOTH(adaptive_target),
    BOTH(adaptive_decay),
    BOTH(encoder_repetition_penalty),
    BOTH(exponential_decay_start),
    BOTH(exponential_decay_factor),
};
enum { N_NUMBERS = sizeof numbers / sizeof *numbers };

static void to_public(const struct sampling_params *from, rn_sampling *to) {
    for (size_t i = 0; i < N_NUMBERS; i++)
        memcpy((char *)to + numbers[i].theirs, (const char *)from + numbers[i].ours, numbers[i].n_bytes);
}

void sampling_from_public(const rn_sampling *from, struct sampling_params *to) {
    sampling_defaults(to);
    for (size_t i = 0; i < N_NUMBERS; i++)
        memcpy((char *)to + numbers[i].ours, (const char *)from + numbers[i].theirs, numbers[i].n_bytes);
    to->order = (enum sampling_order)from->order; // the same numbers
    to->stage = from->stage;
    to->stage_user = from->stage_user;
}

// The caller's struct with the fields of p.
static void write_fields(const struct sampling_params *p, rn_sampling *own, rn_sampling *theirs) {
    to_public(p, own);
    sized_write(&public_sampling, own, theirs);
}

rn_status rn_sampling_preset(rn_sampling *s, const char *name, rn_error *err) {
    rn_sampling own;
    struct sampling_params p;
    if (!s || !name) return fail(err, RN_E_ARG, "rn_sampling_preset: NULL argument");
    rn_status st = sized_read(&public_sampling, s, &own, err);
    if (st != RN_OK) return st;
    sampling_from_public(&own, &p);
    if ((st = sampling_apply_preset(&p, name, err)) == RN_OK) write_fields(&p, &own, s);
    return st;
}

size_t rn_n_presets(void) { return sampling_n_presets; }

const char *rn_preset_name(size_t i, const char **help) {
    if (i >= sampling_n_presets) return NULL;
    if (help) *help = sampling_presets[i].help;
    return sampling_presets[i].name;
}

const char *rn_sampler_order_name(size_t i, const char **stages) {
    if (i >= SAMPLING_N_ORDERS) return NULL;
    if (stages) *stages = sampling_orders[i].stages;
    return sampling_orders[i].name;
}

size_t rn_n_sampling_fields(void) { return sampling_n_fields; }

bool rn_sampling_field(size_t i, rn_field *field) {
    if (i >= sampling_n_fields || !field) return false;
    const struct sampling_field *f = &sampling_fields[i];
    *field = (rn_field){f->name, f->help, f->kind == SAMPLING_INT, f->min, f->max, f->def};
    return true;
}

rn_status rn_sampling_set(rn_sampling *s, const char *name, double value, rn_error *err) {
    rn_sampling own;
    if (!s || !name) return fail(err, RN_E_ARG, "rn_sampling_set: NULL argument");
    rn_status st = sized_read(&public_sampling, s, &own, err);
    if (st != RN_OK) return st;
    for (size_t i = 0; i < sampling_n_fields; i++) {
        const struct sampling_field *f = &sampling_fields[i];
        struct sampling_params p;
        if (strcmp(f->name, name) != 0) continue;
        if (!(value >= f->min && value <= f->max))
            return fail(err, RN_E_ARG, "%s: %g is outside %g..%g", name, value, f->min, f->max);
        if (f->kind == SAMPLING_INT && value != floor(value))
            return fail(err, RN_E_ARG, "%s: %g is not a whole number", name, value);
        sampling_from_public(&own, &p);
        if (f->kind == SAMPLING_INT)
            *(int32_t *)((char *)&p + f->offset) = (int32_t)value;
        else
            *(float *)((char *)&p + f->offset) = (float)value;
        st = sampling_validate(&p, INT32_MAX, err); // a bound that is open at one end
        if (st == RN_OK) write_fields(&p, &own, s);
        return st;
    }
    return fail(err, RN_E_ARG, "%s: unknown sampling field", name);
}

double rn_sampling_get(const rn_sampling *s, const char *name) {
    rn_sampling own;
    struct sampling_params p;
    if (!s || !name || sized_read(&public_sampling, s, &own, NULL) != RN_OK) return NAN;
    sampling_from_public(&own, &p);
    for (size_t i = 0; i < sampling_n_fields; i++) {
        const void *const field = (const char *)&p + sampling_fields[i].offset;
        if (strcmp(sampling_fields[i].name, name) != 0) continue;
        return sampling_fields[i].kind == SAMPLING_INT ? *(const int32_t *)field : (double)*(const float *)field;
    }
    return NAN;
}

const char *rn_finish_name(rn_finish f) {
    static const char *const names[] = {"", "stop", "length", "cancelled", "error"};
    return (unsigned)f < sizeof names / sizeof *names ? names[f] : "?";
}
