// tokenizer/pre_patterns.h - the splits of pre-tokenizers that are known by name.
//
// Threads: constant data.
#ifndef RN_TOKENIZER_PRE_PATTERNS_H
#define RN_TOKENIZER_PRE_PATTERNS_H

#include "tokenizer/text_steps.h"

#define PRE_MAX_STEPS 8

// Patterns are as published. Each isolates its matches: it splits the words that the previous
// pattern has split, and the text between two matches is a word too.
struct pre_row {
    const char *name;
    // A word that is a token is taken whole, regardless of merges.
    bool takes_whole_words;
    const char *patterns[PRE_MAX_STEPS]; // up to the first NULL
};

// Its i-th step.
struct split_step pre_row_step(const struct pre_row *row, int i);
const struct pre_row *pre_row_find(struct vocab_str name); // NULL: not known
// The first row with these splits. NULL: none.
const struct pre_row *pre_row_of(const struct split_step *splits, int n_splits, bool takes_whole_words);
const char *const *pre_names(void); // all names, NULL-terminated
// The i-th distinct rule: the first of its names; NULL after the last.
const char *pre_rule_name(size_t i);

// Pre-tokenizer steps of tokenizer.json that are splits by a fixed pattern.
extern const char pre_gpt2_words[];  // ByteLevel with use_regex
extern const char pre_digit[];       // Digits, individually
extern const char pre_digits[];      // Digits, in runs
extern const char pre_byte_digits[]; // the same behind ByteLevel, which spells bytes as characters: some are numbers
extern const char pre_punctuation[]; // Punctuation, individually
extern const char pre_punctuation_run[];   // Punctuation, in runs
extern const char pre_white_space[];       // WhitespaceSplit
extern const char pre_words_and_symbols[]; // Whitespace

#endif
