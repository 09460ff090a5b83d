// convert/model_out.h - the second half of convert and quantize: writes the tensors after the caller has added the metadata pairs.
#ifndef RN_CONVERT_MODEL_OUT_H
#define RN_CONVERT_MODEL_OUT_H

#include "convert/type_plan.h"

// Writes the tensors in the plans' order and commits. is_checked: only a file that can be read as a model is committed. Frees w, also on
// failure. Errors: those of the writer, of requantize.h and of the pool; of package_open() and model_build(); RN_E_IO (a source file
// shrank), RN_E_CANCELLED.
rn_status model_write(gguf_writer *w, const package *p, const struct tensor_plan *plans, size_t n,
                      const struct merges *merges, const rn_quantize_options *opt, bool is_checked, rn_error *err);

#endif
