// text/pre_patterns.c - the published patterns as a table.
#include "text/pre_patterns.h"
#include <string.h>

// White space as the published tokenizers have it (Unicode's White_Space); PCRE2's \s would add U+180E.
#define NON_ASCII_WS "\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}"
#define WS           "\\t-\\r " NON_ASCII_WS
#define SPACE        "[" WS "]"
#define NO_NEWLINE   "[\\t\\x{b}\\f " NON_ASCII_WS "]"
#define DIGIT        "\\p{N}"
#define LETTER       "\\p{L}"

// A space goes to the word behind it; the last of several too, the others are a word of their own.
#define SPACES_TAIL SPACE "+(?![^" WS "])|" SPACE "+"

// \s*[\r\n]+ without going back over a long run of spaces: white space up to its last line break.
#define LINE_BREAKS "(?:" NO_NEWLINE "*+[\\r\\n]++)++"

// Radford et al. 2019, the published encoder of GPT-2.
#define GPT2_WORDS "'s|'t|'re|'ve|'m|'ll|'d| ?" LETTER "+| ?" DIGIT "+| ?[^" WS "\\p{L}\\p{N}]+|" SPACES_TAIL
// The published tokenizer of Llama 3; that of cl100k_base differs only in how it is written.
#define LLAMA3_WORDS                                                                                                 \
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?" LETTER "+|" DIGIT "{1,3}| ?[^" WS                          \
    "\\p{L}\\p{N}]+[\\r\\n]*|" LINE_BREAKS "|" SPACES_TAIL

// A pre-tokenizer with several names has a row for each.
#define PRE_ROWS(ROW)                                                                                                \
    ROW("gpt-2", false, GPT2_WORDS)                                                                                  \
    ROW("smollm", false, DIGIT, GPT2_WORDS)                                                                          \
    ROW("llama-bpe", true, LLAMA3_WORDS)                                                                             \
    ROW("llama3", true, LLAMA3_WORDS)                                                                                \
    ROW("llama-v3", true, LLAMA3_WORDS)

static const struct pre_row pre_rows[] = {
#define ROW(name, whole, ...) {name, whole, {__VA_ARGS__}},
    PRE_ROWS(ROW)
#undef ROW
};

const struct pre_row *pre_row_find(struct vocab_str name) {
    for (size_t i = 0; i < sizeof pre_rows / sizeof *pre_rows; i++)
        if (strlen(pre_rows[i].name) == name.n && memcmp(pre_rows[i].name, name.s, name.n) == 0) return &pre_rows[i];
    return NULL;
}

const char *const *pre_names(void) {
#define NAME(name, ...) name,
    static const char *const names[] = {PRE_ROWS(NAME) NULL};
#undef NAME
    return names;
}
