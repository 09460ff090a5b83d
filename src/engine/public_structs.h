// engine/public_structs.h - the public structs that callers own: their sizes and defaults, and requests brought into today's layout.
#ifndef RN_ENGINE_PUBLIC_STRUCTS_H
#define RN_ENGINE_PUBLIC_STRUCTS_H

#include "base/sized_struct.h"
#include <runnel/runnel.h>

// Filled by callers.
extern const struct sized_struct public_model_options, public_engine_options, public_request, public_sampling,
    public_chat, public_embed_options, public_save_options;
// Filled by the library.
extern const struct sized_struct public_chunk, public_model_info, public_engine_info, public_memory,
    public_engine_stats, public_stream_state, public_step_time, public_embed_shape, public_limits, public_saved;
// Arrays, in a request and in a chunk.
extern const struct sized_array public_parts, public_tokens, public_deltas;

// A request in today's layout; the structs that it points to are beside it.
struct own_request {
    rn_request r; // r.sampling is never NULL; r.parts stays the caller's array, with r.part_stride
    rn_sampling sampling;
    rn_chat chat;
};
// RN_E_ARG: the size of any of them. own stays where it is: it points into itself.
rn_status own_request_read(const rn_request *theirs, struct own_request *own, rn_error *err);
rn_part request_part(const rn_request *r, size_t i); // of r.n_parts

// A chunk in today's layout for the caller's: arrays are brought to the caller's strides, in place.
rn_status chunk_check(const rn_chunk *theirs, rn_error *err); // RN_E_ARG: its sizes
void chunk_write(rn_chunk *ours, rn_chunk *theirs);           // that chunk_check() accepted

#endif
