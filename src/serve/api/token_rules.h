// serve/api/token_rules.h - vLLM's rules about which tokens an answer may have: allowed_token_ids, bad_words. A logits stage of the request (rn_sampling.stage) forbids the others.
//
// Ownership: token_rules_new() / token_rules_free(); shared by a job's streams, which must have been closed before it is freed.
// Threads: immutable once made; each stream has a token_state of its own, used by the engine's thread.
#ifndef RN_SERVE_API_TOKEN_RULES_H
#define RN_SERVE_API_TOKEN_RULES_H

#include "app/json_read.h"
#include "serve/api/api_error.h"
#include <runnel/runnel.h>

enum { BAD_WORDS = 128, BAD_WORD_BYTES = 256 };

typedef struct token_rules token_rules;

// What the request says. Pointers are valid while the rules are made.
typedef struct token_rules_source {
    const json_item *allowed;   // an array of ids; NULL: all are allowed
    const json_item *bad_words; // an array of texts; NULL: none
} token_rules_source;

// *rules is NULL where the request has no such rule. False: e says which member is wrong, or that there is no memory.
bool token_rules_new(const token_rules_source *from, const rn_model *m, token_rules **rules, api_error *e);
void token_rules_free(token_rules *rules); // NULL is fine

typedef struct token_state {
    const token_rules *rules;
    size_t n_prompt; // 0: not known before the first token
} token_state;

// An rn_logits_fn whose user is a token_state.
bool token_rules_stage(void *state, float *logits, int32_t n_vocab, const int32_t *tokens, size_t n_tokens);

// For `member` rows: what is wrong about the value itself.
bool token_rules_check_ids(const json_item *ids, char *why);
bool token_rules_check_words(const json_item *words, char *why);

#endif
