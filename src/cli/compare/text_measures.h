// cli/compare/text_measures.h - how varied texts are: distinct n-grams, repetition, and BLEU of each text against the others.
//
// All of them count words, so that texts of models with different vocabularies compare. A word is a run of letters and digits; every
// other character that is not white space is a word of its own, and so is each character from U+2E80 on (ideographs, kana, Hangul, emoji).
// Definitions and their sources: docs/compare.md.
//
// Ownership: text_words_make() / text_words_free().
// Threads:   any; one object, one at a time.
#ifndef RN_CLI_TEXT_MEASURES_H
#define RN_CLI_TEXT_MEASURES_H

#include <stddef.h>
#include <stdint.h>

enum { BLEU_ORDER = 4, REPETITION_ORDER = 4 };

// The words of one text, as numbers: equal words of all texts of one call of text_words_make() have equal numbers.
typedef struct text_words {
    int32_t *ids;
    size_t n;
} text_words;

typedef struct text_span {
    const char *text; // NULL where n is 0
    size_t n;
} text_span;

// Cuts n texts into words. words [n] is filled. Invalid UTF-8 counts as letters.
void text_words_make(const text_span *texts, size_t n, text_words *words);
void text_words_free(text_words *words, size_t n);

// Different n-grams among all n-grams of `order` words, 0..1. NaN: there is none.
double text_distinct(const text_words *w, size_t order);
// 1 - text_distinct() of REPETITION_ORDER words.
double text_repetition(const text_words *w);
// BLEU of text i with the other n - 1 as references, 0..1. NaN: it has no words, or there are no others.
double text_bleu(const text_words *words, size_t n, size_t i);

// Leading bytes that two texts share, whole characters only: where they part.
size_t text_common(text_span a, text_span b);

#endif
