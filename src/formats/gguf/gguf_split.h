// formats/gguf/gguf_split.h - GGUF models in several files: NAME-00001-of-00003.gguf and so on, as llama.cpp's gguf-split writes them.
//
// Each part is a GGUF file with some of the tensors; the first one has the model's keys. Every part has split.no (from 0),
// split.count and split.tensors.count (of all parts). File names and keys must agree.
#ifndef RN_FORMATS_GGUF_GGUF_SPLIT_H
#define RN_FORMATS_GGUF_GGUF_SPLIT_H

#include "formats/gguf/gguf.h"
#include "formats/package_build.h"

// Maps the file at p's path or, if its name is that of a part, all parts; p's path becomes that of the first part.
// Errors: as package_open_files(), RN_E_LIMIT.
rn_status gguf_open_parts(struct package *p, const struct package_options *o, rn_error *err);

// Checks that the keys of p's part i agree with its name. *n_tensors: number of tensors in all parts.
rn_status gguf_check_part(const struct gguf *g, const struct package *p, size_t i, size_t *n_tensors, rn_error *err);

#endif
