// engine/public_structs.h - sizes and defaults of public structs that callers own; conversion of requests to the current layout.
#ifndef RN_ENGINE_PUBLIC_STRUCTS_H
#define RN_ENGINE_PUBLIC_STRUCTS_H

#include "base/sized_struct.h"
#include <runnel/runnel.h>

// Filled by callers.
extern const struct sized_struct public_model_options, public_engine_options, public_request, public_sampling,
    public_chat, public_embed_options, public_save_options, public_grammar_source, public_infill, public_watermark,
    public_strategy_options;
// Filled by the library.
extern const struct sized_struct public_chunk, public_model_info, public_engine_info, public_adapter_info,
    public_memory, public_engine_stats, public_stream_state, public_step_time, public_embed_shape, public_limits,
    public_saved, public_infill_prompt, public_watermark_score, public_picture_info, public_pixels;
// Arrays, in a request and in a chunk.
extern const struct sized_array public_parts, public_tokens, public_deltas;

// A request in the current layout, with the structs that it points to.
struct own_request {
    rn_request
        r; // r.sampling and r.strategy_options are never NULL; r.parts stays the caller's array, with r.part_stride
    rn_sampling sampling;
    rn_strategy_options options;
    rn_chat chat;
};
// RN_E_ARG: a struct_size is wrong. *own must not be moved, as it points into itself.
rn_status own_request_read(const rn_request *theirs, struct own_request *own, rn_error *err);
rn_part request_part(const rn_request *r, const rn_part *parts, size_t i); // of r.n_parts

// Converts a chunk from the current layout to the caller's; arrays are moved to the caller's strides in place.
rn_status chunk_check(const rn_chunk *theirs, rn_error *err); // RN_E_ARG: its sizes
void chunk_write(rn_chunk *ours, rn_chunk *theirs);           // theirs passed chunk_check()

#endif
