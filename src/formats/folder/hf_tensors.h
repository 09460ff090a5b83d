// formats/folder/hf_tensors.h - maps a folder's tensors to GGUF names and layouts, so that higher layers know only one form.
//
// Each row of the architecture's table (hf_names.h) gives one tensor, or one per layer. Tensors whose layout does not change are used
// from the mapped file; the others are copied into memory of the package. Rope factors become the tensors that converters write:
// rope_freqs.weight, rope_factors_short.weight and rope_factors_long.weight.
#ifndef RN_FORMATS_FOLDER_HF_TENSORS_H
#define RN_FORMATS_FOLDER_HF_TENSORS_H

#include "formats/folder/config_json.h"
#include "formats/folder/safetensors_read.h"
#include "formats/package_build.h"

// Fills p's tensors, and c's number of next-token-prediction layers. shards: of p's files, in the same order. Errors: RN_E_FORMAT, RN_E_UNSUPPORTED, RN_E_LIMIT, RN_E_NOMEM; they use
// the folder's tensor names.
rn_status hf_add_tensors(struct package *p, struct hf_config *c, const struct safetensors *shards, rn_error *err);

// rope_factors.c: adds the tensors of rope factors that config.json asks for, at most HF_MAX_FACTOR_TENSORS.
enum { HF_MAX_FACTOR_TENSORS = 2 };
bool hf_rope_bytes(const struct hf_config *c, size_t *out); // false: overflow
rn_status hf_add_rope_factors(struct package *p, const struct hf_config *c, rn_error *err);

double rope_power(double theta, double x); // theta^x for x in [0, 1], the same bits with every C library

// The divisor of each pair's frequency. out: [n_rot / 2].
void llama3_rope_factors(const struct llama3_rope *r, float theta, int32_t n_rot, float *out);

#endif
