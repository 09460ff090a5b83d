// decoding/hidden_store.h - the hidden states of a text's positions, each of length 1, and which of them is most like another one.
//
// In F32: half the memory in F16 would round what the model computed, and cosines of neighbouring texts differ little. Sums run along
// the state in ascending order, each operation rounded; lanes run over positions, so every CPU gives the same bits.
// Ownership: hidden_store_init() / hidden_store_free(); all zero is an empty one. Threads: one at a time.
#ifndef RN_DECODING_HIDDEN_STORE_H
#define RN_DECODING_HIDDEN_STORE_H

#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hidden_store {
    float *states; // [blocks][n_embd][HIDDEN_LANES] of so many positions side by side
    float *one;    // [n_embd] the state that was given last, of length 1
    size_t n_embd;
    int32_t n, most;
};
enum { HIDDEN_LANES = 16 };

// Room for `most` positions; their memory is resident once they are added. RN_E_NOMEM.
rn_status hidden_store_init(struct hidden_store *h, int32_t n_embd, int32_t most, rn_error *err);
void hidden_store_free(struct hidden_store *h);
// state: [n_embd]. One of length 0 stays as it is. false: it is not finite.
bool hidden_store_add(struct hidden_store *h, const float *state);
void hidden_store_cut(struct hidden_store *h, int32_t n); // keeps the first n
// The largest cosine between `state` and one that is stored; -1 if there is none. false: as above.
bool hidden_store_nearest(struct hidden_store *h, const float *state, double *cosine);

#endif
