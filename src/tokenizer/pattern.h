// tokenizer/pattern.h - a regular expression of a tokenizer, matched by PCRE2 within the limits of
// docs/limits.md.
//
// Tokenizers are published with expressions in Oniguruma's syntax; pattern_create() translates them
// to PCRE2's exactly, or refuses them.
// Ownership: pattern_create() / pattern_destroy(). Threads: immutable; a pattern_match belongs to
// one thread.
#ifndef RN_TOKENIZER_PATTERN_H
#define RN_TOKENIZER_PATTERN_H

#include "base/status.h"
#include "tokenizer/text_steps.h"

#define PATTERN_MAX_BYTES   8192 // length of an expression; the longest published one has 1,100
#define PATTERN_MATCH_LIMIT 1000000
#define PATTERN_DEPTH_LIMIT 10000
#define PATTERN_HEAP_LIMIT  (16 * 1024) // KiB

typedef struct pattern pattern;

// Errors: RN_E_FORMAT (does not compile; the message says where and why), RN_E_UNSUPPORTED (cannot
// be translated), RN_E_LIMIT, RN_E_NOMEM.
rn_status pattern_create(struct vocab_str text, bool is_regex, pattern **out, rn_error *err);
// The same of an expression in PCRE2's syntax over bytes: any text, each byte a character by itself.
rn_status pattern_create_of_bytes(struct vocab_str text, pattern **out, rn_error *err);
void pattern_destroy(pattern *p); // NULL is fine

typedef struct pattern_match pattern_match; // memory for one match
pattern_match *pattern_match_create(void);  // NULL: out of memory
void pattern_match_destroy(pattern_match *m);

struct pattern_hit {
    size_t begin, end; // equal for an empty match
    bool found;
};
// Finds the first match in s[0..n), valid UTF-8, at or after `from`. Errors: RN_E_LIMIT,
// RN_E_NOMEM; messages have no WHAT, which the caller adds.
rn_status pattern_find(const pattern *p, pattern_match *m, const char *s, size_t n, size_t from,
                       struct pattern_hit *hit, rn_error *err);

#endif
