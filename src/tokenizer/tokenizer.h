// tokenizer/tokenizer.h - text to token ids and back, exactly as the published tokenizers (tests:
// shared vectors/tokenizers).
//
// Linear time in the length of the text for any input (n log n within a word). Pre-tokenizer
// patterns run in PCRE2 with limits; exceeding one is an error that names the position.
// Ownership: made from a vocab that must outlive it. Threads: immutable, any number of threads;
// encoding allocates.
#ifndef RN_TOKENIZER_TOKENIZER_H
#define RN_TOKENIZER_TOKENIZER_H

#include "base/status.h"
#include "tokenizer/specials.h"
#include "tokenizer/vocab.h"

#define TOKENIZER_MAX_TEXT (512 * 1024 * 1024) // in bytes; three times as many still fit 31 bits

typedef struct tokenizer tokenizer;

// Errors: RN_E_FORMAT (merges of unknown tokens, missing byte tokens in SPM, ...; the message names
// the entry), RN_E_UNSUPPORTED (an unknown pre-tokenizer; the message names it and lists known
// ones), RN_E_NOMEM.
rn_status tokenizer_create(const struct vocab *v, tokenizer **out, rn_error *err);
void tokenizer_destroy(tokenizer *t); // NULL is fine

// Encodes text[0..n), which may be any bytes. add_special: adds BOS/EOS as the vocabulary says.
// parse_special: spellings of control tokens in the text become these tokens (user-defined tokens
// always do). *ids is mem_alloc'ed for the caller, *n_ids its length; both 0 on failure. *n_dropped
// (NULL allowed): the number of bytes for which the vocabulary has no token.
// Errors: RN_E_LIMIT (longer than TOKENIZER_MAX_TEXT; a limit of the patterns), RN_E_NOMEM.
rn_status tokenizer_encode(const tokenizer *t, const char *text, size_t n, bool add_special, bool parse_special,
                           int32_t **ids, size_t *n_ids, size_t *n_dropped, rn_error *err);

// The same for a caller that can use at most max_ids tokens. A text that certainly has more is refused early: by its length, before
// anything else is done, or on the way, once there are four times as many. Then the result is RN_E_LIMIT, and *n_ids, more than
// max_ids, is how many there are at least. A text that has more, but not so many, may be encoded as a whole. SIZE_MAX: no limit.
rn_status tokenizer_encode_at_most(const tokenizer *t, const char *text, size_t n, bool add_special,
                                   bool parse_special, size_t max_ids, int32_t **ids, size_t *n_ids, rn_error *err);

// Tokens that a text has at least, by its length and the longest token. 0 where a token may stand for any length of text, because a
// normalizer shortens it or what is unknown becomes one token.
size_t tokenizer_least(const tokenizer *t, const char *text, size_t n);

// Encodes text that continues other text: as tokenizer_encode_at_most(), but no space is prepended and no special tokens are added.
rn_status tokenizer_encode_more(const tokenizer *t, const char *text, size_t n, bool parse_special, size_t max_ids,
                                int32_t **ids, size_t *n_ids, rn_error *err);

// Encodes a text that consists of trusted markup and untrusted content: control tokens are
// recognized only where their whole spelling is in one of markup[0..n_markup), ranges of the text
// that are ascending and do not touch. Otherwise the text is encoded as a whole, so the ids are
// those of tokenizer_encode() with parse_special if the content spells no control token. No special
// tokens are added. max_ids: as in tokenizer_encode_at_most().
rn_status tokenizer_encode_marked(const tokenizer *t, const char *text, size_t n, const struct text_range *markup,
                                  size_t n_markup, size_t max_ids, int32_t **ids, size_t *n_ids, rn_error *err);

// The bytes of a token within a text (SPM: including its leading space). Control tokens have none,
// or their spelling if `special`. Pointers are valid as long as the tokenizer.
const char *tokenizer_piece(const tokenizer *t, int32_t id, bool special, size_t *n_bytes);
size_t tokenizer_max_piece(const tokenizer *t); // length of the longest piece in bytes

// Decodes ids as a whole text: the pieces joined, without the space that SPM adds at the start and
// after control tokens. *text is mem_alloc'ed for the caller and terminated. RN_E_ARG: an id
// outside the vocabulary.
rn_status tokenizer_decode(const tokenizer *t, const int32_t *ids, size_t n_ids, bool special, char **text, size_t *n,
                           rn_error *err);

#endif
