// app/draft_figures.h - what guesses brought, as numbers and in words.
#ifndef RN_APP_DRAFT_FIGURES_H
#define RN_APP_DRAFT_FIGURES_H

#include <runnel/stream.h>
#include <stddef.h>

enum { DRAFT_WORDS = 128 };

// Rows of decode steps for each token of the answer; 1 without guesses.
double draft_rows_per_token(const rn_usage *usage);
// "3 of 8 guesses right, 1.25 rows a token, 1.46 x as fast as without", for people; empty if nothing was guessed. Returns `out`.
const char *draft_words(const rn_usage *usage, char out[DRAFT_WORDS]);

#endif
