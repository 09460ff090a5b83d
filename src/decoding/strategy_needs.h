// decoding/strategy_needs.h - the room that one stream of a strategy takes on a model slot.
//
// Each strategy states it when it is made. The engine plans room for every stream, more with rn_engine_options.n_seqs and n_scratch, and
// refuses a stream whose strategy needs more. Optional rows (LM_OPTIONAL) are no need: they are dropped where there is no room.
#ifndef RN_DECODING_STRATEGY_NEEDS_H
#define RN_DECODING_STRATEGY_NEEDS_H

#include <stdint.h>

struct strategy_needs {
    int32_t n_seqs;           // sequences that it has at once, the stream's own among them; 0 counts as 1
    int32_t n_helper_seqs;    // and on slots of drafters, where every stream has one
    int32_t n_scratch;        // scratch nodes of a sequence
    int32_t n_helper_scratch; // and of one of its helper model (strategy_spec.helper_slot)
    int32_t n_results;        // rows of a step whose logits it needs; 0 counts as 1
};

// Slots of recurrent state, of models that have one: for each sequence, for each scratch node, and one that is kept.
static inline int32_t strategy_needs_states(int32_t n_seqs, int32_t n_scratch) { return n_seqs + n_scratch + 1; }

#endif
