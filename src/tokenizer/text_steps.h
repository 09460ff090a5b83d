// tokenizer/text_steps.h - what a tokenizer does to a text before its model sees it, as plain data: steps that rewrite the text, and steps
// that cut it into words.
//
// Both follow the published meaning of Hugging Face's tokenizer.json, where each step is an object with a "type".
// Ownership: strings are the vocabulary's owner's. Threads: immutable once filled.
#ifndef RN_TOKENIZER_TEXT_STEPS_H
#define RN_TOKENIZER_TEXT_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vocab_str {
    const char *s; // no terminator
    uint32_t n;
};

enum norm_kind {
    NORM_NFC,
    NORM_NFD,
    NORM_NFKC,
    NORM_NFKD,
    NORM_LOWERCASE,
    NORM_STRIP_ACCENTS, // drops combining marks
    NORM_STRIP,         // drops white space at the ends
    NORM_PREPEND,       // puts `content` before the text
    NORM_REPLACE,       // each `pattern` becomes `content`
    NORM_CHARSMAP       // SentencePiece's compiled map of characters: `pattern` has its bytes
};

enum norm_when {         // a NORM_PREPEND puts its content ...
    NORM_ALWAYS,         // before each stretch of text between added tokens that is not empty
    NORM_UNLESS_THERE,   // the same, where the stretch does not begin with it
    NORM_UNLESS_THERE_1, // the same, before the stretch with which the text begins
    NORM_AT_START        // where the text begins or a control token ended (SentencePiece)
};

struct norm_step {
    enum norm_kind kind;
    enum norm_when when;
    bool left, right;  // NORM_STRIP: which ends
    bool only_ends;    // NORM_STRIP: U+0020 alone, and where the whole text begins and ends (SentencePiece)
    bool is_regex;     // NORM_REPLACE: pattern is a regular expression, not a string
    bool by_graphemes; // NORM_CHARSMAP: as Hugging Face looks characters up, else as SentencePiece does
    struct vocab_str pattern, content;
};

enum split_behavior { // what becomes of a match
    SPLIT_ISOLATED,
    SPLIT_REMOVED,
    SPLIT_MERGED_WITH_PREVIOUS,
    SPLIT_MERGED_WITH_NEXT,
    SPLIT_CONTIGUOUS // neighbouring matches are one word
};

struct split_step {
    struct vocab_str pattern; // as published: docs/tokenizers.md says which expressions are understood
    enum split_behavior behavior;
    bool is_regex;
    bool invert; // matches and what lies between them change places
};

#endif
