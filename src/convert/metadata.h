// convert/metadata.h - writes a package's hyper-parameters, vocabulary and chat template as the metadata pairs of a GGUF file.
#ifndef RN_CONVERT_METADATA_H
#define RN_CONVERT_METADATA_H

#include "base/log.h"
#include "formats/gguf/gguf_write.h"

// file_type: value of general.file_type. log: see vocab_meta.h. Reading the pairs back gives the package's values again.
// Errors: RN_E_UNSUPPORTED (a value that no GGUF key can express). Errors of the writer are returned by gguf_write_head().
rn_status metadata_put(gguf_writer *w, const package *p, uint32_t file_type, const log_sink *log, rn_error *err);

#endif
