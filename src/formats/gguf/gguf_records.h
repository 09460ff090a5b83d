// formats/gguf/gguf_records.h - tensor records of a GGUF file as a package takes them.
#ifndef RN_FORMATS_GGUF_GGUF_RECORDS_H
#define RN_FORMATS_GGUF_GGUF_RECORDS_H

#include "formats/gguf/gguf.h"
#include "formats/package_build.h"

// Checks type and offset; claim->file is the caller's. Errors: RN_E_FORMAT, RN_E_UNSUPPORTED.
rn_status gguf_record_claim(const struct gguf *g, const struct gguf_record *t, struct tensor_claim *claim,
                            rn_error *err);

#endif
