// sampling/presets.c - the table of presets: named values for the parameters that shape the text.
#include "sampling/sampler.h"
#include <stdio.h>
#include <string.h>

// clang-format off
const struct sampling_preset sampling_presets[] = {
    // name      help                                          temp  top_k top_p  min_p  repeat frequency presence
    {"greedy",   "always the most likely token",               0.0f, 0,    1.0f,  0.0f,  1.0f,  0.0f,     0.0f},
    {"focused",  "close to the most likely text",              0.3f, 20,   0.9f,  0.05f, 1.0f,  0.0f,     0.0f},
    {"balanced", "the defaults",                               0.8f, 40,   0.95f, 0.05f, 1.0f,  0.0f,     0.0f},
    {"creative", "unusual words, still coherent",              1.1f, 100,  0.97f, 0.03f, 1.0f,  0.0f,     0.2f},
    {"wild",     "surprises, held together by min-p alone",    1.6f, 0,    1.0f,  0.05f, 1.0f,  0.0f,     0.0f},
    {"code",     "programs: narrow, repetition is not penalized",   0.2f, 40,   0.95f, 0.05f, 1.0f,  0.0f,     0.0f},
    {"chat",     "conversation: lively, few loops",            0.7f, 40,   0.9f,  0.05f, 1.05f, 0.0f,     0.0f},
    {"story",    "long prose: varied, words wear out",         1.0f, 0,    0.98f, 0.05f, 1.05f, 0.1f,     0.1f},
    {"summary",  "sticks to its source, repeats little",       0.3f, 40,   0.9f,  0.1f,  1.0f,  0.2f,     0.0f},
};
// clang-format on
const size_t sampling_n_presets = sizeof sampling_presets / sizeof *sampling_presets;

static void list_names(char *out, size_t n_bytes) {
    size_t used = 0;
    out[0] = 0;
    for (size_t i = 0; i < sampling_n_presets && used < n_bytes; i++)
        used += (size_t)snprintf(out + used, n_bytes - used, "%s%s", i ? ", " : "", sampling_presets[i].name);
}

rn_status sampling_apply_preset(struct sampling_params *p, const char *name, rn_error *err) {
    for (size_t i = 0; i < sampling_n_presets; i++) {
        const struct sampling_preset *row = &sampling_presets[i];
        if (strcmp(row->name, name) != 0) continue;
        p->temp = row->temp;
        p->top_k = row->top_k;
        p->top_p = row->top_p;
        p->min_p = row->min_p;
        p->repeat_penalty = row->repeat_penalty;
        p->frequency_penalty = row->frequency_penalty;
        p->presence_penalty = row->presence_penalty;
        return RN_OK;
    }
    char known[200];
    list_names(known, sizeof known);
    return fail(err, RN_E_ARG, "preset: '%s' is not one of %s", name, known);
}
