// decoding/draft/drafters.c - the table of drafters.
#include "decoding/draft/drafter.h"
#include "decoding/draft/feature_drafter.h"
#include "decoding/draft/lookahead_drafter.h"
#include "decoding/draft/medusa_drafter.h"
#include "decoding/draft/model_drafter.h"
#include "decoding/draft/ngram_cache_drafter.h"
#include "decoding/draft/ngram_drafter.h"
#include "decoding/draft/suffix_drafter.h"
#include <string.h>

const struct drafter_kind drafter_kinds[] = {
    {"ngram", .create = ngram_drafter_create, .reads_prediction = true},
    {"suffix", .create = suffix_drafter_create, .reads_prediction = true, .reads_outputs = true},
    {"ngram-cache", .create = ngram_cache_drafter_create, .reads_outputs = true},
    {"lookahead", .create = lookahead_drafter_create, .has_sizes = true},
    {"draft", .needs_model = true, .create = model_drafter_create},
    {"layer-skip", .parts = 1U << STRATEGY_PART_LAYERS, .create = model_drafter_create},
    {"mtp", .parts = 1U << STRATEGY_PART_NEXTN, .create = feature_drafter_create},
    {"medusa", .parts = 1U << STRATEGY_PART_MEDUSA, .create = medusa_drafter_create},
    {"eagle", .parts = 1U << STRATEGY_PART_EAGLE | 1U << STRATEGY_PART_EAGLE3 | 1U << STRATEGY_PART_EAGLE3_TAPS,
     .create = feature_drafter_create},
};
const size_t drafter_n_kinds = sizeof drafter_kinds / sizeof *drafter_kinds;
_Static_assert(sizeof drafter_kinds / sizeof *drafter_kinds <= DRAFTERS_MOST, "they are counted apart");

int32_t drafter_number(const struct drafter_kind *kind) {
    size_t i = 0;
    while (i + 1 < drafter_n_kinds && kind != &drafter_kinds[i]) i++;
    return (int32_t)i;
}

const struct drafter_kind *drafter_find(const char *name, size_t n) {
    for (size_t i = 0; i < drafter_n_kinds; i++)
        if (strlen(drafter_kinds[i].name) == n && memcmp(drafter_kinds[i].name, name, n) == 0)
            return &drafter_kinds[i];
    return NULL;
}
