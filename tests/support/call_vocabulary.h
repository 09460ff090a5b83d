// tests/support/call_vocabulary.h - a small vocabulary for grammars of calls: every byte, some words, and the tags of all output formats.
//
// Ownership: call_vocabulary_close(). Threads: immutable once opened.
#ifndef RN_TESTS_SUPPORT_CALL_VOCABULARY_H
#define RN_TESTS_SUPPORT_CALL_VOCABULARY_H

#include "grammar/grammar.h"

enum { CALL_MAX_TOKENS = 1024, CALL_N_MASK = CALL_MAX_TOKENS / 64 };

struct call_vocabulary {
    struct grammar_vocab v;
    char texts[CALL_MAX_TOKENS][80], names[CALL_MAX_TOKENS][16];
    bool is_control[CALL_MAX_TOKENS];
    int32_t n, n_tags; // the last n_tags are tags; token i below 256 is the byte i, of which 255 has no text
};

// has_controls: tags that look like control tokens are; else all are text.
rn_status call_vocabulary_open(struct call_vocabulary *t, bool has_controls, rn_error *err);
void call_vocabulary_close(struct call_vocabulary *t);
// What the token adds to a text: bytes of texts[token].
size_t call_token_bytes(const struct call_vocabulary *t, int32_t token);
// Is the JSON value one of the schema's, in the order of its members? Errors: of the schema.
rn_status calls_satisfy(const struct call_vocabulary *t, const char *schema, size_t n_schema, const char *value,
                        size_t n_value, bool *is_valid, rn_error *err);

#endif
