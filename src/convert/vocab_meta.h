// convert/vocab_meta.h - a vocabulary as the tokenizer.* pairs of a GGUF file.
#ifndef RN_CONVERT_VOCAB_META_H
#define RN_CONVERT_VOCAB_META_H

#include "base/log.h"
#include "formats/gguf/gguf_write.h"

// log: what the file cannot say and tokenizers of GGUF files go without, each a warning. A vocabulary without tokens puts nothing.
// Errors: RN_E_UNSUPPORTED (a kind of tokenizer, or a way to split text, that GGUF has no name for).
rn_status vocab_put(gguf_writer *w, const struct vocab *v, const log_sink *log, rn_error *err);

#endif
