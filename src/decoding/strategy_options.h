// decoding/strategy_options.h - the options that requests give to strategies: one table, from which the public API, JSON and the
// command line have names, ranges, defaults and help.
//
// A new option is a field here and in rn_strategy_options, a row of the table in strategy_options.c, and one in
// engine/strategy_api.c.
#ifndef RN_DECODING_STRATEGY_OPTIONS_H
#define RN_DECODING_STRATEGY_OPTIONS_H

#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum early_stopping { EARLY_STOPPING_FALSE, EARLY_STOPPING_TRUE, EARLY_STOPPING_NEVER };

enum { CONTRASTIVE_MOST = 64 }; // candidates

struct strategy_options {
    int32_t num_beams, num_beam_groups;
    float diversity_penalty, length_penalty;
    int32_t early_stopping;                // of enum early_stopping
    int32_t do_sample, renormalize_logits; // 0 or 1
    int32_t num_return_sequences;
    float penalty_alpha;
    int32_t num_candidates;
    int32_t amateur_model; // 0: none
    float amateur_weight, amateur_temperature, relative_top;
    const char *dola_layers; // NULL: "low"
    int32_t simulations, tree_width;
    float c_puct;
    const char *value; // NULL: "likelihood"
    int32_t best_of;
    const char *majority; // NULL: not given
};

struct strategy_option {
    const char *name;       // as generate() of transformers calls it
    const char *strategies; // that take it, separated by '|'
    size_t offset;          // in struct strategy_options
    // Words are int32_t, the word's number; texts are const char *, NULL: not given.
    enum { STRATEGY_REAL, STRATEGY_INT, STRATEGY_WORD, STRATEGY_TEXT } kind;
    double min, max, def; // inclusive; of numbers and words
    const char *words;    // separated by '|'; NULL: it is none
    const char *help;
};
extern const struct strategy_option strategy_options_table[];
extern const size_t strategy_n_options;

const struct strategy_option *strategy_option_find(const char *name); // NULL: unknown
void strategy_options_defaults(struct strategy_options *o);
// RN_E_ARG: an option is out of range, or differs from its default and is none of the strategy of that name.
rn_status strategy_options_check(const struct strategy_options *o, const char *strategy, rn_error *err);
// Is a name in a list separated by '|'? NULL: an empty list.
bool strategy_option_is_in(const char *list, const char *name);

#endif
