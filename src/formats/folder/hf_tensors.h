// formats/folder/hf_tensors.h - a folder's tensors under GGUF's names and in GGUF's forms, so that all that follows knows one form.
//
// Each row of the architecture's table (hf_names.h) makes a tensor, or one of each layer. What a form leaves as it lies stays in the
// mapped file; the rest are copies in memory of the package. Rope scaled by a factor for each pair becomes the tensors of factors
// that converters write: rope_freqs.weight, rope_factors_short.weight and rope_factors_long.weight.
#ifndef RN_FORMATS_FOLDER_HF_TENSORS_H
#define RN_FORMATS_FOLDER_HF_TENSORS_H

#include "formats/folder/config_json.h"
#include "formats/folder/safetensors_read.h"
#include "formats/package_build.h"

// The shards of p's files, in the same order. Fills p's tensors. Errors: RN_E_FORMAT, RN_E_UNSUPPORTED, RN_E_LIMIT, RN_E_NOMEM;
// they name the tensor as the folder does.
rn_status hf_add_tensors(struct package *p, const struct hf_config *c, const struct safetensors *shards,
                         rn_error *err);

// rope_factors.c: the tensors of factors that config.json asks for, at most HF_MAX_FACTOR_TENSORS; their bytes as made tensors.
enum { HF_MAX_FACTOR_TENSORS = 2 };
bool hf_rope_bytes(const struct hf_config *c, size_t *out); // false: overflow
rn_status hf_add_rope_factors(struct package *p, const struct hf_config *c, rn_error *err);

double rope_power(double theta, double x); // theta^x for x in [0, 1], the same with every C library

// What the frequency of each pair is divided by. out: [n_rot / 2].
void llama3_rope_factors(const struct llama3_rope *r, float theta, int32_t n_rot, float *out);

#endif
