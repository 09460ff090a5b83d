// engine/request_drafters.c - the drafters that a request names.
#include "decoding/draft/drafts.h"
#include "engine/engine.h"
#include <stdio.h>
#include <string.h>

const char *rn_drafter_name(size_t i) { return i < drafter_n_kinds ? drafter_kinds[i].name : NULL; }

static rn_status unknown(const char *name, size_t n, rn_error *err) {
    char names[256] = "";
    for (size_t i = 0, at = 0; i < drafter_n_kinds && at < sizeof names; i++)
        at += (size_t)snprintf(names + at, sizeof names - at, "%s%s", i ? ", " : "", drafter_kinds[i].name);
    return fail(err, RN_E_ARG, "speculate: \"%.*s\" is unknown; known: %s", (int)(n < 64 ? n : 64), name, names);
}

rn_status request_read_drafters(const struct model_slot *l, const char *list, struct drafter_choice *out, int32_t *n,
                                rn_error *err) {
    (void)l;
    *n = 0;
    for (const char *at = list, *end; at; at = *end ? end + 1 : NULL) {
        end = at + strcspn(at, ",");
        const struct drafter_kind *const kind = drafter_find(at, (size_t)(end - at));
        if (!kind) return unknown(at, (size_t)(end - at), err);
        for (int32_t i = 0; i < *n; i++)
            if (out[i].kind == kind) return fail(err, RN_E_ARG, "speculate: %s is named twice", kind->name);
        if (*n == ENGINE_MAX_DRAFTERS)
            return fail(err, RN_E_ARG, "speculate: more than %d drafters", ENGINE_MAX_DRAFTERS);
        out[(*n)++] = (struct drafter_choice){kind, 0};
    }
    return RN_OK;
}

void stream_show_outputs(rn_stream *s, const struct drafter_choice *drafters, int32_t n) {
    rn_engine *const e = s->engine;
    for (int32_t i = 0; i < n; i++)
        if (e->outputs && drafters[i].kind->reads_outputs) s->play.keeps_output = true;
    s->play.outputs = (struct output_view){
        e->outputs, {(uint64_t)(s->model_slot - e->model_slots), s->prefix.salt, s->turn.client}};
}

void stream_keep_output(rn_stream *s) {
    if (s->play.keeps_output)
        output_store_add(s->engine->outputs, &s->play.outputs.owner, s->tokens + s->n_prompt,
                         s->n_tokens - s->n_prompt);
}
