// decoding/draft/output_store.h - finished answers of an engine, in which drafters look for what followed
// (SuffixDecoding's global tree). The text of one owner is never seen by another.
//
// All memory is allocated when the store is made. What is added is copied at once, as far as there is
// room, and indexed a few tokens at a time (output_store_work()), so that no step waits for a long answer. When
// room is short the least recently used answer leaves, a few tokens at a time as well: used is one that
// is new, or that a draft was copied from.
//
// Ownership: what is given is copied. Threads: one at a time (the step thread).
#ifndef RN_DECODING_DRAFT_OUTPUT_STORE_H
#define RN_DECODING_DRAFT_OUTPUT_STORE_H

#include "base/status.h"
#include "decoding/draft/suffix_trie.h"

// Bytes of a store, at least and at most.
#define OUTPUT_STORE_LEAST (1 << 20)
#define OUTPUT_STORE_MOST  (INT64_C(64) << 30)

// Who sees a text: streams of the same model, salt and client.
struct output_owner {
    uint64_t model, salt, client;
};

typedef struct output_store output_store;

// The answers that one owner sees.
struct output_view {
    output_store *store;
    struct output_owner owner;
};

// Of at most so many bytes. RN_E_ARG: fewer than OUTPUT_STORE_LEAST; RN_E_NOMEM.
rn_status output_store_create(uint64_t bytes, output_store **out, rn_error *err);
void output_store_destroy(output_store *s); // NULL is fine

// Adds an answer; of a long one the first part, at most a quarter of the store.
void output_store_add(output_store *s, const struct output_owner *owner, const int32_t *tokens, int32_t n);
// Indexes or takes out at most so many tokens. false: there was nothing to do.
bool output_store_work(output_store *s, int32_t n);

// The tree of an owner's answers, for walks until the next call of any other function; SUFFIX_NONE: there are none.
int32_t output_store_root(const output_store *s, const struct output_owner *owner);
const struct suffix_trie *output_store_trie(const output_store *s);
// A draft was copied from the text at this place.
void output_store_use(output_store *s, int32_t place);

struct output_store_figures {
    int32_t n_texts, n_tokens, n_most_tokens; // kept; that there is room for
    int32_t n_owners;
    uint64_t n_left; // answers that left for lack of room
};
void output_store_get_figures(const output_store *s, struct output_store_figures *out);

#endif
