// convert/metadata.h - a package's hyper-parameters, vocabulary and chat template as the pairs of a GGUF file.
#ifndef RN_CONVERT_METADATA_H
#define RN_CONVERT_METADATA_H

#include "base/log.h"
#include "formats/gguf/gguf_write.h"

// file_type: number of general.file_type. log: see vocab_meta.h. Reading the pairs back gives the package's values again.
// Errors: RN_E_UNSUPPORTED (what no key can say). Those of the puts come with gguf_write_head().
rn_status metadata_put(gguf_writer *w, const package *p, uint32_t file_type, const log_sink *log, rn_error *err);

#endif
