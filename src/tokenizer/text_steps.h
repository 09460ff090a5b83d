// tokenizer/text_steps.h - the steps of a tokenizer before its model, as plain data: normalization
// steps that rewrite the text, and splits that divide it into words.
//
// Both have the meaning of Hugging Face's tokenizer.json, where each step is an object with a
// "type".
// Ownership: strings belong to the vocabulary's owner. Threads: immutable once filled.
#ifndef RN_TOKENIZER_TEXT_STEPS_H
#define RN_TOKENIZER_TEXT_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vocab_str {
    const char *s; // not terminated
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
    NORM_PREPEND,       // prepends `content`
    NORM_REPLACE,       // replaces each `pattern` by `content`
    NORM_CHARSMAP,      // SentencePiece's compiled character map: `pattern` has its bytes
    // BERT's (bert_text.h).
    NORM_BERT_CLEAN,
    NORM_BERT_HAN,
    NORM_BERT_ACCENTS,
    NORM_BERT_PUNCTUATION,
    N_NORM_KINDS
};

// What tokenizer.json, and our own key in GGUF files, call the kinds without parameters; NULL: one with.
const char *norm_kind_name(enum norm_kind kind);

enum norm_when {         // NORM_PREPEND prepends its content ...
    NORM_ALWAYS,         // to each non-empty segment of text between added tokens
    NORM_UNLESS_THERE,   // to each segment that does not begin with it
    NORM_UNLESS_THERE_1, // to the first segment of the text, if it does not begin with it
    NORM_AT_START        // at the start of the text and after control tokens (SentencePiece)
};

struct norm_step {
    enum norm_kind kind;
    enum norm_when when;
    bool left, right; // NORM_STRIP: which ends
    // NORM_STRIP: only U+0020, and only at the ends of the whole text (SentencePiece).
    bool only_ends;
    bool is_regex; // NORM_REPLACE: pattern is a regular expression, not a string
    // NORM_CHARSMAP: look up as Hugging Face does, otherwise as SentencePiece does.
    bool by_graphemes;
    struct vocab_str pattern, content;
};

enum split_behavior { // what happens to a match
    SPLIT_ISOLATED,
    SPLIT_REMOVED,
    SPLIT_MERGED_WITH_PREVIOUS,
    SPLIT_MERGED_WITH_NEXT,
    SPLIT_CONTIGUOUS // neighbouring matches are one word
};

struct split_step {
    struct vocab_str pattern; // as published; docs/tokenizers.md lists supported expressions
    enum split_behavior behavior;
    bool is_regex;
    bool invert; // swaps the matches and the text between them
    // The text is bytes, each by itself: a step behind ByteLevel, which may cut a character. The pattern is PCRE2's.
    bool on_bytes;
};

#endif
