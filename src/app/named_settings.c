// app/named_settings.c - the table of named ways of generating.
#include "app/named_settings.h"
#include <string.h>

#define SAMPLE(temp, top_k, top_p) "{\"temp\": " #temp ", \"top_k\": " #top_k ", \"top_p\": " #top_p ", \"min_p\": 0}"

// clang-format off
const named_settings named_settings_rows[] = {
    {"greedy",   "the most probable token", "{\"temp\": 0}", 0},
    {"focused",  "temp 0.3, top-p 0.9",     SAMPLE(0.3, 0, 0.9), 0},
    {"balanced", "temp 0.8, top-p 0.9",     SAMPLE(0.8, 0, 0.9), 0},
    {"creative", "temp 1.2, top-k 50",      SAMPLE(1.2, 50, 1), 0},
    {"wild",     "temp 1.5, top-k 100",     SAMPLE(1.5, 100, 1), 0},
    {"beam",     "beam search, 4 beams",    "{\"strategy\": \"beam\", \"num_beams\": 4, \"num_return_sequences\": 4}", 3},
    {"best-of",  "the best of 4 samples",   "{\"strategy\": \"best-of\", \"best_of\": 4, \"num_return_sequences\": 4}", 3},
    {"contrastive", "contrastive search", "{\"strategy\": \"contrastive\"}", 0},
    {"contrastive-decoding", "more than an amateur says", "{\"strategy\": \"contrastive-decoding\"}", 0, .needs_amateur = true},
    {"dola",     "more than early layers say", "{\"strategy\": \"dola\", \"repeat_penalty\": 1.2}", 0, .needs_early_layers = true},
    {"tree",     "tree search",             "{\"strategy\": \"tree\"}", 0},
    {0},
};
// clang-format on

const named_settings *named_settings_find(const char *name) {
    for (const named_settings *s = named_settings_rows; s->name; s++)
        if (strcmp(s->name, name) == 0) return s;
    return NULL;
}
