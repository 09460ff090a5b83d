// tokenizer/tokenizer.h - text to token ids and back, exact to the published tokenizers (tests: shared vectors/tokenizers).
//
// Linear time in the length of the text for every input (n log n in a word). Pre-tokenizer patterns run in PCRE2 with limits
// set; a limit hit is an error with the position, never a crash.
// Ownership: made from a vocab that must outlive it. Threads: immutable, any number of threads; encode allocates.
#ifndef RN_TOKENIZER_TOKENIZER_H
#define RN_TOKENIZER_TOKENIZER_H

#include "base/status.h"
#include "tokenizer/specials.h"
#include "tokenizer/vocab.h"

#define TOKENIZER_MAX_TEXT (512 * 1024 * 1024) // bytes: three times as many still count in 31 bits

typedef struct tokenizer tokenizer;

// Errors: RN_E_FORMAT (merges name unknown tokens, missing byte tokens in SPM ... naming the entry), RN_E_UNSUPPORTED
// (unknown pre-tokenizer: the name and the list of known ones), RN_E_NOMEM.
rn_status tokenizer_create(const struct vocab *v, tokenizer **out, rn_error *err);
void tokenizer_destroy(tokenizer *t); // NULL is fine

// ids of text[0..n), which may hold any bytes. add_special: BOS/EOS as the vocabulary says. parse_special: spellings of
// control tokens in the text become those tokens (user-defined ones always do).
// Errors: RN_E_LIMIT (over TOKENIZER_MAX_TEXT; a limit of the patterns), RN_E_NOMEM.
// *ids is mem_alloc'ed for the caller; *n_ids its length; both 0 on failure. *n_dropped (NULL allowed): bytes for which
// the vocabulary has no token.
rn_status tokenizer_encode(const tokenizer *t, const char *text, size_t n, bool add_special, bool parse_special,
                           int32_t **ids, size_t *n_ids, size_t *n_dropped, rn_error *err);

// ids of text that goes on from other text: as above, but no space is put before it and no special tokens are added.
rn_status tokenizer_encode_more(const tokenizer *t, const char *text, size_t n, bool parse_special, int32_t **ids,
                                size_t *n_ids, rn_error *err);

// ids of a text that is put together from markup and from what strangers wrote: control tokens only where their whole spelling lies
// in markup[0..n_markup), ranges of the text that ascend and do not touch. What lies between them is one text, whoever wrote it, so
// the ids are tokenizer_encode()'s with parse_special wherever the rest spells no control token. No special tokens are added.
rn_status tokenizer_encode_marked(const tokenizer *t, const char *text, size_t n, const struct text_range *markup,
                                  size_t n_markup, int32_t **ids, size_t *n_ids, rn_error *err);

// The bytes of one token as they stand inside a text (SPM: its leading space kept). Control tokens have none unless
// `special`; then their spelling. Pointers live as long as the tokenizer.
const char *tokenizer_piece(const tokenizer *t, int32_t id, bool special, size_t *n_bytes);
size_t tokenizer_max_piece(const tokenizer *t); // bytes of the longest piece

// The text of ids as a whole: pieces joined, without the space that SPM put before the text and behind control tokens.
// *text is mem_alloc'ed, terminated. RN_E_ARG: an id outside the vocabulary.
rn_status tokenizer_decode(const tokenizer *t, const int32_t *ids, size_t n_ids, bool special, char **text, size_t *n,
                           rn_error *err);

// The pre-tokenizers known, for messages and `info`: NULL-terminated.
const char *const *tokenizer_known_pre(void);

#endif
