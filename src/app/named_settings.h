// app/named_settings.h - ways of generating that `compare` and the page's compare view offer by name.
//
// Each is a JSON object of a request's members, which says all that truncates or scales its distribution, so that it does not depend on
// defaults. --preset has sets of its own, of which single options change what they like.
//
// Threads: any; constant.
#ifndef RN_APP_NAMED_SETTINGS_H
#define RN_APP_NAMED_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct named_settings {
    const char *name, *words; // words: what sets it apart, for people
    const char *members;      // JSON
    int n_seqs;               // sequences that it takes beside a stream's own (rn_engine_options.n_seqs)
    bool needs_amateur, needs_early_layers; // rn_engine_options.amateur_model, rn_model_add_early_layers()
} named_settings;

extern const named_settings named_settings_rows[];           // ends with a name of NULL
const named_settings *named_settings_find(const char *name); // NULL: there is none

#endif
