// engine/defaults.c - initializers of the structs that callers fill, presets and fields by name, names of finish reasons.
#include "base/status.h"
#include "engine/params.h"
#include <math.h>
#include <string.h>

const char *rn_version(void) { return RUNNEL_VERSION; }

void rn_model_options_init(rn_model_options *o) {
    *o = (rn_model_options){.struct_size = sizeof *o, .load = RN_LOAD_MAP};
}

void rn_engine_options_init(rn_engine_options *o) {
    *o = (rn_engine_options){.struct_size = sizeof *o, .kv_type = RN_KV_F16, .n_streams = 1, .n_queue = 64};
}

void rn_save_options_init(rn_save_options *o) { *o = (rn_save_options){.struct_size = sizeof *o}; }
void rn_saved_init(rn_saved *s) { *s = (rn_saved){.struct_size = sizeof *s}; }

void rn_request_init(rn_request *r) {
    struct sampling_params p;
    *r = (rn_request){.struct_size = sizeof *r,
                      .add_special = true,
                      .max_tokens = -1,
                      .stream_interval = 1,
                      .logprobs = -1,
                      .prompt_logprobs = -1,
                      .overflow = RN_OVERFLOW_PARK,
                      .buffer_tokens = 1024};
    sampling_defaults(&p);
    sampling_to_public(&p, &r->sampling);
}

void sampling_to_public(const struct sampling_params *p, rn_sampling *s) {
    s->temp = p->temp;
    s->top_k = p->top_k;
    s->top_p = p->top_p;
    s->min_p = p->min_p;
    s->min_keep = p->min_keep;
    s->repeat_penalty = p->repeat_penalty;
    s->frequency_penalty = p->frequency_penalty;
    s->presence_penalty = p->presence_penalty;
    s->penalty_last_n = p->penalty_last_n;
    s->penalty_prompt = p->penalty_prompt;
}

void sampling_from_public(const rn_sampling *s, struct sampling_params *p) {
    sampling_defaults(p);
    p->temp = s->temp;
    p->top_k = s->top_k;
    p->top_p = s->top_p;
    p->min_p = s->min_p;
    p->min_keep = s->min_keep;
    p->repeat_penalty = s->repeat_penalty;
    p->frequency_penalty = s->frequency_penalty;
    p->presence_penalty = s->presence_penalty;
    p->penalty_last_n = s->penalty_last_n;
    p->penalty_prompt = s->penalty_prompt;
    p->order = s->order == RN_ORDER_TRANSFORMERS ? SAMPLING_ORDER_TRANSFORMERS : SAMPLING_ORDER_LLAMA_CPP;
    p->stage = s->stage;
    p->stage_user = s->stage_user;
}

rn_status rn_sampling_preset(rn_sampling *s, const char *name, rn_error *err) {
    struct sampling_params p;
    sampling_from_public(s, &p);
    const rn_status st = sampling_apply_preset(&p, name, err);
    if (st == RN_OK) sampling_to_public(&p, s);
    return st;
}

size_t rn_n_presets(void) { return sampling_n_presets; }

const char *rn_preset_name(size_t i, const char **help) {
    if (i >= sampling_n_presets) return NULL;
    if (help) *help = sampling_presets[i].help;
    return sampling_presets[i].name;
}

size_t rn_n_sampling_fields(void) { return sampling_n_fields; }

bool rn_sampling_field(size_t i, rn_field *field) {
    if (i >= sampling_n_fields) return false;
    const struct sampling_field *f = &sampling_fields[i];
    *field = (rn_field){f->name, f->help, f->kind == SAMPLING_INT, f->min, f->max, f->def};
    return true;
}

rn_status rn_sampling_set(rn_sampling *s, const char *name, double value, rn_error *err) {
    for (size_t i = 0; i < sampling_n_fields; i++) {
        const struct sampling_field *f = &sampling_fields[i];
        struct sampling_params p;
        if (strcmp(f->name, name) != 0) continue;
        if (!(value >= f->min && value <= f->max))
            return fail(err, RN_E_ARG, "%s: %g is outside %g..%g", name, value, f->min, f->max);
        if (f->kind == SAMPLING_INT && value != floor(value))
            return fail(err, RN_E_ARG, "%s: %g is not a whole number", name, value);
        sampling_from_public(s, &p);
        if (f->kind == SAMPLING_INT)
            *(int32_t *)((char *)&p + f->offset) = (int32_t)value;
        else
            *(float *)((char *)&p + f->offset) = (float)value;
        sampling_to_public(&p, s);
        return sampling_validate(&p, INT32_MAX, err); // a bound that is open at one end
    }
    return fail(err, RN_E_ARG, "%s: no such sampling field", name);
}

double rn_sampling_get(const rn_sampling *s, const char *name) {
    struct sampling_params p;
    sampling_from_public(s, &p);
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
