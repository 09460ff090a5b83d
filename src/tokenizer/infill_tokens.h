// tokenizer/infill_tokens.h - the tokens of prompts with a hole (fill in the middle), and in which order model families were trained to
// read them.
//
// Ownership: formats are constants. Threads: no state.
#ifndef RN_TOKENIZER_INFILL_TOKENS_H
#define RN_TOKENIZER_INFILL_TOKENS_H

#include "tokenizer/vocab.h"

// A prompt as a pattern, a letter for each part of it:
//   P S M    the tokens before the prefix and the suffix, and where the middle begins
//   p s      the prefix and the suffix
//   R F      the tokens before the name of the repository and before a file
//   r f t    the name of the repository, the name and the text of a file
//   [ ]      what is between them is there only where the file with the hole is named
// Anything else stands for itself.
struct infill_format {
    const char *family;
    const char *spellings[VOCAB_N_INFILL]; // NULL: none
    const char *end;                       // one more token that ends the middle; NULL: none
    const char *psm, *spm;                 // prefix, suffix, middle; suffix first
    const char *repo, *file, *named; // in front of them: the repository, each other file, the file with the hole
    bool is_spm;                     // as published; else psm
    bool needs_middle;               // a prompt without a token for the middle would be another one
    bool puts_space;                 // before the prefix, where the vocabulary puts one before a text
};

struct infill_tokens {
    const struct infill_format *format;
    int32_t ids[VOCAB_N_INFILL]; // -1: none
    int32_t end;
};

// Finds a vocabulary's tokens: those that the file names, else those with known spellings. False: it has none for a prefix, a suffix and
// a middle.
bool infill_tokens_find(const struct vocab *v, struct infill_tokens *out);
// What was looked for, for messages: "<|fim_prefix|>, <fim_prefix>, ...".
void infill_tokens_names(char *out, size_t n_out);

#endif
