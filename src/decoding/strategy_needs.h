// decoding/strategy_needs.h - the room that one stream of a strategy takes on a model slot, for the memory plan.
//
// The engine plans what sampling needs for every stream, and what rn_engine_options.n_seqs and n_scratch reserve beside it. A strategy
// that needs more than that is refused when its stream is made. Optional rows (LM_OPTIONAL) are no need: they are dropped where there is
// no room.
#ifndef RN_DECODING_STRATEGY_NEEDS_H
#define RN_DECODING_STRATEGY_NEEDS_H

#include <stdint.h>

struct strategy_needs {
    int32_t n_seqs;    // sequences that it has at once, the stream's own among them
    int32_t n_scratch; // scratch nodes of a sequence
    int32_t
        n_states; // slots of recurrent state, of models that have one: for each sequence, for each scratch node, and one that is kept
    int32_t n_results; // rows of a step whose logits it wants
};

#endif
