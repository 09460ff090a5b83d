// app/strategy_form.h - a strategy and its options, from the command line or from members of a request. Names, ranges and defaults are the
// library's (rn_strategy_option_at()).
//
// Ownership: plain data; texts are the command line's or the request's and must outlive it.
// Threads:   one at a time.
#ifndef RN_APP_STRATEGY_FORM_H
#define RN_APP_STRATEGY_FORM_H

#include "app/json_read.h"
#include "app/machine.h"
#include <runnel/runnel.h>

enum {
    STRATEGY_OPTIONS = 32,
    STRATEGY_WORDS = 160
}; // room for rows of rn_strategy_option_at(); for names of strategies

typedef struct strategy_form {
    const char *strategy;             // NULL: not given
    double numbers[STRATEGY_OPTIONS]; // by index of rn_strategy_option_at(), as are the others; NaN: not given
    int32_t words[STRATEGY_OPTIONS];  // index; -1: not given
    const char *texts[STRATEGY_OPTIONS];
} strategy_form;

void strategy_form_init(strategy_form *f);
// Of the command line: is the strategy unknown, or an option of another one given? Then it is said, and the answer is false.
bool strategy_form_check(const strategy_form *f);
// Sets the request's strategy and its options; out is the caller's. False: it is unknown, or an option is out of range or of
// another strategy.
bool strategy_form_apply(const strategy_form *f, rn_request *req, rn_strategy_options *out, rn_error *err);
// For clients that name no strategy but ask for one: sets it, unless one is named, and one of its numbers (option NULL: none).
void strategy_form_choose(strategy_form *f, const char *strategy, const char *option, double value);
// Of strategies that find several texts: the option that says how many it follows, and that number; NULL: one.
const char *strategy_form_texts(const strategy_form *f, int32_t *n, bool *is_given);
// Sequences beside a stream's own that the engine reserves for it (rn_engine_options.n_seqs).
int32_t strategy_form_n_seqs(const strategy_form *f);
// Of the command line: the machine gets what the strategy needs, sequences, early layers and the model of --value model:FILE, whose value
// becomes "model". Before models are opened. False: another strategy has other early layers or another model, which is said.
bool strategy_form_reserve(strategy_form *f, machine *on);
// Does it draw tokens, by temperature and stages that truncate? Where it does not, why_not says so, for options_refuse().
bool strategy_form_draws(const strategy_form *f, const char **why_not);
// generate() calls the candidates of contrastive search top_k: they are so many, unless num_candidates is given. NaN or 0: not given.
bool strategy_form_take_top_k(const strategy_form *f, double top_k, rn_strategy_options *out, rn_error *err);
bool strategy_form_needs_amateur(const strategy_form *f);
// Of the command line: is --amateur given without a strategy that reads it? Then it is said, and the answer is false.
bool strategy_form_check_amateur(const strategy_form *f, const options *parsed);
// Sets the strategy or an option by its name, from a value as people write it; a text stays the caller's. "default": not given. False with
// a reason in why [JSON_WHY]; *is_known false: there is no such option.
bool strategy_form_set(strategy_form *f, const char *name, const char *value, bool *is_known, char *why);
// The value of the strategy (i 0) or of option i - 1, as people write it, and what it is; NULL: there is none of that number.
const char *strategy_form_show(const strategy_form *f, size_t i, const char **name, bytes *value, bytes *about);

// Rows whose target is a strategy_form. Those of options point into their struct, which is not moved.
typedef struct strategy_rows {
    option rows[STRATEGY_OPTIONS + 1];
    size_t n;
    char names[STRATEGY_OPTIONS][32], helps[STRATEGY_OPTIONS + 1][768], strategies[STRATEGY_WORDS];
} strategy_rows;
void strategy_rows_init(strategy_rows *rows);
typedef struct strategy_members {
    member rows[STRATEGY_OPTIONS + 1];
    size_t n;
} strategy_members;
void strategy_members_init(strategy_members *members);

#endif
