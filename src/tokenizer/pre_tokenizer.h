// tokenizer/pre_tokenizer.h - cuts a text into the words that a model works within, by the published patterns.
//
// Patterns run in PCRE2 with the limits of docs/limits.md: reaching one is an error that tells the position.
// Ownership: pre_tokenizer_create() / pre_tokenizer_destroy(). Threads: immutable, any number of threads may split.
#ifndef RN_TOKENIZER_PRE_TOKENIZER_H
#define RN_TOKENIZER_PRE_TOKENIZER_H

#include "base/status.h"
#include "tokenizer/vocab.h"

typedef struct pre_tokenizer pre_tokenizer;

// The vocabulary's own splits, else those of the name it gives, which must outlive it. Errors: RN_E_UNSUPPORTED (name absent or
// unknown: with the list of known ones), those of pattern_create().
rn_status pre_tokenizer_create(const struct vocab *v, pre_tokenizer **out, rn_error *err);
void pre_tokenizer_destroy(pre_tokenizer *p); // NULL is fine
// Is a word that is a token as a whole taken as it is, whatever the merges say?
bool pre_tokenizer_takes_whole_words(const pre_tokenizer *p);

// Called for each word, in order; another status than RN_OK ends the split with it.
typedef rn_status (*word_fn)(void *user, size_t pos, size_t n, rn_error *err);

// text[0..n) is valid UTF-8; its words are not empty, and cover it without gaps unless a split removes something.
// Errors: RN_E_LIMIT, RN_E_NOMEM, what fn returns.
rn_status pre_tokenizer_split(const pre_tokenizer *p, const char *text, size_t n, word_fn fn, void *user,
                              rn_error *err);

const char *const *pre_tokenizer_known(void); // NULL-terminated

#endif
