// decoding/beam_search.h - beam search as generate() of transformers 5 defines it (docs/decoding.md): which texts are followed, which
// are finished, and when it ends. It knows scores and tokens alone; decoding/beam_strategy.c has rows and sequences.
//
// Diverse beams (Vijayakumar et al. 2016) are groups, each a search of its own.
//
// Ownership: made by beam_search_create(), freed by beam_search_destroy(); all memory is taken at create. Threads: one at a time.
#ifndef RN_DECODING_BEAM_SEARCH_H
#define RN_DECODING_BEAM_SEARCH_H

#include "decoding/strategy.h"

enum { BEAM_MOST = 32, BEAM_NO_NODE = -1 };

// A continuation of a text that is followed.
struct beam_candidate {
    double score;   // of the text with it
    double logprob; // of the token, in the model's own distribution
    int32_t beam, token;
    bool ends; // the text
};

// A text that is followed: the last token of it is a node, whose parents are the tokens before.
struct beam {
    int32_t node;
    int32_t from; // which of the last step's it continues
    double score, logprob;
};
struct beam_finished {
    int32_t node, n; // tokens
    double score, logprob;
    bool is_whole; // else it was cut at the limit
};

struct beam_group {
    struct beam beams[BEAM_MOST]; // followed, best first
    int32_t n;
    struct beam_finished finished[BEAM_MOST]; // best first
    int32_t n_finished;
    bool is_done;
};

struct beam_search {
    int32_t n_beams, n_groups, n_of_group, n_most;
    float length_penalty;
    enum early_stopping early_stopping;
    struct beam_group groups[BEAM_MOST];
    int32_t chosen[BEAM_MOST], n_chosen;       // tokens that groups continue with in this step, so far
    int32_t n;                                 // tokens of each text that is followed
    int32_t n_candidates;                      // that a step of a group needs
    int32_t *parents, *tokens, *free, n_nodes; // of nodes, [n_cap]; free: stack of those that were given back
    int32_t n_free, n_cap;
    struct token_told *told; // [n_cap] of nodes; NULL: not wanted
};

// n_most: tokens of a text, at most. n_ends: end tokens.
rn_status beam_search_create(const struct strategy_options *o, int32_t n_most, int32_t n_ends, bool tells,
                             struct beam_search **out, rn_error *err);
void beam_search_destroy(struct beam_search *b); // NULL is fine

// A step: for each group that is not done, first to last, its candidates [n], at most n_candidates and best first (or in the order they
// were drawn); then beam_search_advance(). Candidates that end their text have `ends` set; at the limit all do.
// taken: told of each new node, with the candidate it is of.
typedef void (*beam_taken)(void *user, int32_t node, const struct beam_candidate *c);
void beam_search_take(struct beam_search *b, int32_t group, const struct beam_candidate *candidates, size_t n,
                      beam_taken taken, void *user);
// In place of beam_search_take() of a group that is done, whose texts go on with padding, as those of transformers did.
void beam_search_pad(struct beam_search *b, int32_t token);
void beam_search_advance(struct beam_search *b);
bool beam_search_is_done(const struct beam_search *b);
// The finished texts of all groups, best first; writes at most BEAM_MOST and returns their number.
int32_t beam_search_results(const struct beam_search *b, const struct beam_finished *out[BEAM_MOST]);
// What the score of a text is divided by.
double beam_search_length(const struct beam_search *b, int32_t n);

// The tokens of the text that ends in a node, n of them, or their nodes.
void beam_search_tokens(const struct beam_search *b, int32_t node, int32_t n, int32_t *tokens);
void beam_search_nodes(const struct beam_search *b, int32_t node, int32_t n, int32_t *nodes);
// The last node that two texts, of n_a and n_b tokens, have in common; *n: its tokens. BEAM_NO_NODE: none.
int32_t beam_search_common(const struct beam_search *b, int32_t node_a, int32_t n_a, int32_t node_b, int32_t n_b,
                           int32_t *n);

#endif
