// tokenizer/pre_patterns.h - which splits a pre-tokenizer's name stands for.
//
// Threads: constant data.
#ifndef RN_TOKENIZER_PRE_PATTERNS_H
#define RN_TOKENIZER_PRE_PATTERNS_H

#include "tokenizer/text_steps.h"

#define PRE_MAX_STEPS 8

// Patterns are as published, and all of them isolate what they match, one after the other: each cuts the words that the
// one before has cut; what lies between two matches is a word too.
struct pre_row {
    const char *name;
    bool takes_whole_words;              // a word that is a token is taken as it is, whatever the merges say
    const char *patterns[PRE_MAX_STEPS]; // up to the first NULL
};

const struct pre_row *pre_row_find(struct vocab_str name); // NULL: not known
// The first row that stands for these splits. NULL: none.
const struct pre_row *pre_row_of(const struct split_step *splits, int n_splits, bool takes_whole_words);
const char *const *pre_names(void); // all names, NULL-terminated
// Of several names for the same the first one. i: from 0 on; NULL behind the last.
const char *pre_rule_name(size_t i);

// Steps of tokenizer.json that are splits with a pattern of their own.
extern const char pre_gpt2_words[];        // ByteLevel with use_regex
extern const char pre_digit[];             // Digits, each on its own
extern const char pre_digits[];            // Digits, together
extern const char pre_punctuation[];       // Punctuation, each on its own
extern const char pre_punctuation_run[];   // Punctuation, together
extern const char pre_white_space[];       // WhitespaceSplit
extern const char pre_words_and_symbols[]; // Whitespace

#endif
