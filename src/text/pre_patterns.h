// text/pre_patterns.h - which patterns a pre-tokenizer's name stands for.
//
// Threads: constant data.
#ifndef RN_TEXT_PRE_PATTERNS_H
#define RN_TEXT_PRE_PATTERNS_H

#include "text/vocab.h"

#define PRE_MAX_PATTERNS 8

// Patterns (PCRE2's syntax) are applied one after the other: each cuts the words that the one before has cut; what lies
// between two matches is a word too.
struct pre_row {
    const char *name;
    bool takes_whole_words;                 // a word that is a token is taken as it is, whatever the merges say
    const char *patterns[PRE_MAX_PATTERNS]; // up to the first NULL
};

const struct pre_row *pre_row_find(struct vocab_str name); // NULL: not known
const char *const *pre_names(void);                        // all names, NULL-terminated

#endif
