// decoding/draft/feature_layer.h - a layer of a draft head that reads pairs of a vector and a token: its sequence, what it has still to read, and what its
// rows behind guesses gave.
//
// Layers may stand on each other (next-token-prediction layers: DeepSeek-V3, 2412.19437, section 2.2). Of a text of n tokens layer k, from 0, has read the pairs of
// vector i, which layer k - 1 gave (of layer 0: the main model), and token i + 1 + k; the last vector that it has waits for token n, and is the
// one that it reads with the first guesses.
#ifndef RN_DECODING_DRAFT_FEATURE_LAYER_H
#define RN_DECODING_DRAFT_FEATURE_LAYER_H

#include "decoding/draft/feature_ring.h"
#include "decoding/strategy.h"

enum { FEATURE_PLACES = 48, FEATURE_NO_NODE = -1 }; // place 0 is the last certain row's, the others those of guesses

struct feature_layer {
    int32_t slot, seq;
    int32_t number; // from 0
    struct feature_ring inputs;
    float *hidden;                 // [FEATURE_PLACES][width of a row's result]
    int32_t nodes[FEATURE_PLACES]; // scratch nodes of its sequence; FEATURE_NO_NODE
    int32_t n_nodes;
};

// Opens its sequence. n_input: width of the vectors that wait, which for EAGLE-3 are taps at first. RN_E_NOMEM; errors of seq_open. After any of them
// feature_layer_free().
rn_status feature_layer_open(struct feature_layer *l, const struct strategy_env *env, int32_t slot, int32_t n_input,
                             rn_error *err);
void feature_layer_free(struct feature_layer *l);

// Of a text of n tokens: pairs [inputs.from, this) can be read.
static inline int32_t feature_layer_pairs_to(const struct feature_layer *l, int32_t n) {
    const int32_t most = n - 1 - l->number;
    return l->inputs.to < most ? l->inputs.to : most;
}
static inline bool feature_layer_has_pairs(const struct feature_layer *l, int32_t n) {
    return l->inputs.from < feature_layer_pairs_to(l, n);
}
// Is the vector there that it reads with the first guesses behind n tokens? Of layers behind the first.
static inline bool feature_layer_has_root(const struct feature_layer *l, int32_t n) {
    return l->inputs.to == n - l->number && feature_ring_n(&l->inputs) == 1;
}
// Room for more_rows is made: where its sequence is too long, or does not go on where its vectors do, it begins again.
void feature_layer_make_room(struct feature_layer *l, const struct strategy_env *env, int32_t more_rows);
// Only the first n tokens of the text stay.
void feature_layer_cut(struct feature_layer *l, const struct strategy_env *env, int32_t n);
rn_status feature_layer_drop_nodes(struct feature_layer *l, const struct strategy_env *env, rn_error *err);

#endif
