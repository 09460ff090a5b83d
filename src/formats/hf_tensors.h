// formats/hf_tensors.h - a folder's tensors under GGUF's names and in GGUF's row order, so that all that follows knows one form.
//
// Rows of queries and keys (weights and biases) are laid out as GGUF files of the Llama family have them: the rotation of
// transformers pairs element i of a head with element i + d/2, GGUF's pairs 2i with 2i + 1. Row (h, j, i) of [heads, 2, d/2]
// becomes row (h, i, j). These tensors are copies in memory of the package; everything else stays in the mapped file.
// Llama 3's rope scaling becomes the tensor of factors that converters write, rope_freqs.weight.
#ifndef RN_FORMATS_HF_TENSORS_H
#define RN_FORMATS_HF_TENSORS_H

#include "formats/config_json.h"
#include "formats/package_build.h"
#include "formats/safetensors_read.h"

// The shards of p's files, in the same order. Fills p's tensors. Errors: RN_E_FORMAT, RN_E_UNSUPPORTED, RN_E_LIMIT, RN_E_NOMEM;
// they name the tensor as the folder does.
rn_status hf_add_tensors(struct package *p, const struct hf_config *c, const struct safetensors *shards,
                         rn_error *err);

// What the frequency of each pair is divided by. out: [n_rot / 2].
void llama3_rope_factors(const struct llama3_rope *r, float theta, int32_t n_rot, float *out);

#endif
