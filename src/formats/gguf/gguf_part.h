// formats/gguf/gguf_part.h - GGUF files of draft heads.
#ifndef RN_FORMATS_GGUF_GGUF_PART_H
#define RN_FORMATS_GGUF_GGUF_PART_H

#include "base/status.h"

struct package;

// runnel's key of a head with a vocabulary of its own: the model's token of each of the head's, ascending.
#define GGUF_DRAFT_TOKENS "draft.tokens"
// llama.cpp's keys of EAGLE-3 heads: struct part_options.
#define GGUF_EAGLE3_LAYERS   "eagle3.target_layers"
#define GGUF_EAGLE3_RESIDUAL "eagle3.norm_before_residual"
#define GGUF_EAGLE3_FC       "eagle3.norm_before_fc"
// Fills p, whose one file is open. Errors: RN_E_FORMAT, RN_E_UNSUPPORTED, RN_E_LIMIT, RN_E_NOMEM.
rn_status gguf_load_part(struct package *p, rn_error *err);

#endif
