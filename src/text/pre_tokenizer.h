// text/pre_tokenizer.h - cuts a text into the words that byte-level BPE merges within, by the published patterns.
//
// Patterns run in PCRE2 with the limits of docs/limits.md: reaching one is an error that tells the position.
// Ownership: pre_tokenizer_create() / pre_tokenizer_destroy(). Threads: immutable, any number of threads may split.
#ifndef RN_TEXT_PRE_TOKENIZER_H
#define RN_TEXT_PRE_TOKENIZER_H

#include "base/status.h"
#include "text/vocab.h"

#define PRE_MATCH_LIMIT 1000000
#define PRE_DEPTH_LIMIT 10000
#define PRE_HEAP_LIMIT  (16 * 1024) // KiB

typedef struct pre_tokenizer pre_tokenizer;

// name: as in tokenizer.ggml.pre. Errors: RN_E_UNSUPPORTED (absent or unknown: with the list of known ones), RN_E_NOMEM.
rn_status pre_tokenizer_create(struct vocab_str name, pre_tokenizer **out, rn_error *err);
void pre_tokenizer_destroy(pre_tokenizer *p); // NULL is fine
// Is a word that is a token as a whole taken as it is, whatever the merges say?
bool pre_tokenizer_takes_whole_words(const pre_tokenizer *p);

// Called for each word, in order; another status than RN_OK ends the split with it.
typedef rn_status (*word_fn)(void *user, size_t pos, size_t n, rn_error *err);

// text[0..n) is valid UTF-8; its words cover it without gaps. Errors: RN_E_LIMIT, RN_E_NOMEM, what fn returns.
rn_status pre_tokenizer_split(const pre_tokenizer *p, const char *text, size_t n, word_fn fn, void *user,
                              rn_error *err);

const char *const *pre_tokenizer_known(void); // NULL-terminated

#endif
