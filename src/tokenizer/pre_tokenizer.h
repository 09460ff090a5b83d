// tokenizer/pre_tokenizer.h - splits a text by the published patterns into words, which are then
// encoded one by one.
//
// Patterns run in PCRE2 with the limits of docs/limits.md; exceeding one is an error that names the
// position.
// Ownership: pre_tokenizer_create() / pre_tokenizer_destroy(). Threads: immutable; any number of
// threads may split.
#ifndef RN_TOKENIZER_PRE_TOKENIZER_H
#define RN_TOKENIZER_PRE_TOKENIZER_H

#include "base/status.h"
#include "tokenizer/vocab.h"

typedef struct pre_tokenizer pre_tokenizer;

// Uses the vocabulary's own splits, otherwise those of its pre-tokenizer's name. v must outlive it.
// Errors: RN_E_UNSUPPORTED (the name is absent or unknown; the message lists known ones), those of
// pattern_create().
rn_status pre_tokenizer_create(const struct vocab *v, pre_tokenizer **out, rn_error *err);
void pre_tokenizer_destroy(pre_tokenizer *p); // NULL is fine
// Is a word that is a token taken whole, regardless of merges?
bool pre_tokenizer_takes_whole_words(const pre_tokenizer *p);

// Called for each word, in order; any status but RN_OK ends the split and is returned.
typedef rn_status (*word_fn)(void *user, size_t pos, size_t n, rn_error *err);

// text[0..n) must be valid UTF-8. Words are not empty, and cover the text without gaps unless a
// split removes its matches.
// Errors: RN_E_LIMIT, RN_E_NOMEM, those of fn.
rn_status pre_tokenizer_split(const pre_tokenizer *p, const char *text, size_t n, word_fn fn, void *user,
                              rn_error *err);

const char *const *pre_tokenizer_known(void); // NULL-terminated

#endif
