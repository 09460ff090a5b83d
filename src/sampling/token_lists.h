// sampling/token_lists.h - private to sampling/: a sampler's own copy of the lists that its
// parameters point to, in one block.
//
// Ownership: the block belongs to the sampler. Threads: pure functions of what they are given.
#ifndef RN_SAMPLING_TOKEN_LISTS_H
#define RN_SAMPLING_TOKEN_LISTS_H

#include "sampling/sampler.h"

size_t token_lists_bytes(const struct sampling_params *p); // of such a block
// Copies the lists of p into block [token_lists_bytes(p)] and makes p point there. Breakers are
// sorted by token.
void token_lists_copy(struct sampling_params *p, void *block);
// Checks the lists: RN_E_ARG as sampling_validate() says.
rn_status token_lists_check(const struct sampling_params *p, int32_t n_vocab, rn_error *err);

#endif
