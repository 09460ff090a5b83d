// decoding/strategies.c - the table of strategies.
#include "decoding/strategies.h"
#include <stdio.h>
#include <string.h>

static int32_t n_beams(const struct strategy_options *o) { return o->num_beams; }
static int32_t n_samples(const struct strategy_options *o) { return o->best_of; }

// Samplers and marks that go by what was drawn before, in one text.
#define DRAW_HISTORY "mirostat|adaptive_target|watermark"

const struct strategy_kind strategy_kinds[] = {
    {"sample", sample_strategy_create, .is_for_requests = true, .help = "token by token, by the sampling options"},
    {"beam", beam_strategy_create, .is_for_requests = true, .set_sampling = beam_set_sampling, .n_texts = n_beams,
     .excludes = DRAW_HISTORY "|speculate|guidance_scale|banned_strings",
     .help = "the most probable whole text of several that are followed at once"},
    {"best-of", best_strategy_create, .is_for_requests = true, .n_texts = n_samples,
     .excludes = "speculate|guidance_scale|banned_strings", .help = "the best of several samples, or what most say"},
    {"contrastive", contrastive_strategy_create, .is_for_requests = true, .set_sampling = contrastive_set_sampling,
     .excludes = DRAW_HISTORY "|speculate|guidance_scale",
     .help = "the probable token after which the text repeats itself least"},
    {"contrastive-decoding", contrastive_decoding_strategy_create, .is_for_requests = true,
     .helper = STRATEGY_AMATEUR, .helper_model = contrastive_decoding_helper_model,
     .excludes = "speculate|guidance_scale", .help = "sampling from what the model says more than an amateur"},
    {"dola", dola_strategy_create, .is_for_requests = true, .excludes = "speculate|guidance_scale",
     .help = "sampling from what the last layer says more than an early one"},
    {"tree", tree_strategy_create, .is_for_requests = true, .set_sampling = tree_set_sampling,
     .helper = STRATEGY_VALUE, .helper_model = tree_helper_model,
     .excludes = DRAW_HISTORY "|speculate|guidance_scale|banned_strings",
     .help = "looking ahead in a tree of probable continuations"},
    {"score", score_strategy_create},
    {"embed", embed_strategy_create},
    {"prompt_scores", prompt_scores_strategy_create},
};
const size_t strategy_n_kinds = sizeof strategy_kinds / sizeof *strategy_kinds;

const struct strategy_kind *strategy_find(const char *name) {
    for (size_t i = 0; i < strategy_n_kinds; i++)
        if (strcmp(strategy_kinds[i].name, name) == 0) return &strategy_kinds[i];
    return NULL;
}

rn_status strategy_find_for_request(const char *name, const struct strategy_kind **kind, rn_error *err) {
    char names[256] = "";
    *kind = name ? strategy_find(name) : &strategy_kinds[0];
    if (*kind && (*kind)->is_for_requests) return RN_OK;
    for (size_t i = 0, n = 0; i < strategy_n_kinds && n < sizeof names; i++)
        if (strategy_kinds[i].is_for_requests)
            n += (size_t)snprintf(names + n, sizeof names - n, "%s%s", n ? ", " : "", strategy_kinds[i].name);
    return fail(err, RN_E_ARG, "strategy: %s is unknown; known ones are %s", name, names);
}

rn_status strategy_create(const char *name, const struct strategy_spec *spec, strategy **out, rn_error *err) {
    const struct strategy_kind *kind = strategy_find(name);
    char names[256] = "";
    *out = NULL;
    if (kind) return kind->create(spec, out, err);
    for (size_t i = 0, n = 0; i < strategy_n_kinds && n < sizeof names; i++)
        n += (size_t)snprintf(names + n, sizeof names - n, "%s%s", i ? ", " : "", strategy_kinds[i].name);
    return fail(err, RN_E_ARG, "strategy: \"%s\" is unknown; known ones are %s", name, names);
}

void strategy_destroy(strategy *s) {
    if (s) s->ops->destroy(s);
}
