// app/infill_prompt.c - see infill_prompt.h.
#include "app/infill_prompt.h"
#include <stdio.h>
#include <string.h>

const char *const infill_orders[] = {
    [RN_INFILL_PUBLISHED] = "published", [RN_INFILL_PSM] = "psm", [RN_INFILL_SPM] = "spm"};

// The answer has what was asked for, but at most a quarter of the context.
static size_t most_ids(const generation *g, int32_t n_ctx) {
    enum { USUAL_ANSWER = 256 };
    const int32_t wanted = g->n < 0 ? USUAL_ANSWER : g->n, quarter = n_ctx / 4;
    return (size_t)(n_ctx - (wanted < quarter ? wanted : quarter));
}

static bool has_stop(const generation *g, int32_t id) {
    for (size_t i = 0; i < g->n_stop_tokens; i++)
        if (g->stop_tokens[i] == id) return true;
    return false;
}

static bool add_stops(generation *g, const rn_infill_prompt *p, rn_error *err) {
    for (size_t i = 0; i < p->n_stop_tokens; i++) {
        if (has_stop(g, p->stop_tokens[i])) continue;
        if (g->n_stop_tokens == GENERATION_STOP_TOKENS) {
            err->code = RN_E_ARG;
            snprintf(err->text, sizeof err->text, "stop_tokens: with the %zu that end a middle, more than %d",
                     p->n_stop_tokens, GENERATION_STOP_TOKENS);
            return false;
        }
        g->stop_tokens[g->n_stop_tokens++] = p->stop_tokens[i];
    }
    return true;
}

// The library's messages begin with "infill: ".
static void name_member(const char *what, rn_error *err) {
    static const char begins[] = "infill: ";
    const rn_error theirs = *err;
    if (strncmp(theirs.text, begins, sizeof begins - 1) == 0)
        snprintf(err->text, sizeof err->text, "%s: %.900s", what, theirs.text + sizeof begins - 1);
}

bool infill_make(const rn_model *m, const rn_infill *in, const char *what, int32_t n_ctx, generation *g,
                 rn_infill_prompt *p, rn_error *err) {
    rn_infill own = *in;
    *p = (rn_infill_prompt){.struct_size = sizeof *p};
    if (n_ctx) own.max_ids = most_ids(g, n_ctx);
    if (rn_infill_make(m, &own, p, err) != RN_OK) {
        name_member(what, err);
        return false;
    }
    if (add_stops(g, p, err)) return true;
    rn_free(p->ids);
    p->ids = NULL;
    return false;
}
