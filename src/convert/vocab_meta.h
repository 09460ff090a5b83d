// convert/vocab_meta.h - writes a vocabulary as the tokenizer.* pairs of a GGUF file.
#ifndef RN_CONVERT_VOCAB_META_H
#define RN_CONVERT_VOCAB_META_H

#include "base/log.h"
#include "formats/gguf/gguf_write.h"

// n_vocab: rows of the embedding, at least v's tokens; the list is filled up to it (tokenizer/fillers.h). log: receives a warning for
// each property of the vocabulary that GGUF cannot express and readers do without. Of a vocabulary without tokens only that is said.
// Errors: RN_E_UNSUPPORTED (a kind of tokenizer or pre-tokenizer that GGUF has no name for).
rn_status vocab_put(gguf_writer *w, const struct vocab *v, int32_t n_vocab, const log_sink *log, rn_error *err);

#endif
