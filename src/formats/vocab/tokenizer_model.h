// formats/vocab/tokenizer_model.h - the vocabulary in a SentencePiece tokenizer.model (a protobuf ModelProto), of BPE or unigram kind.
//
// Threads: pure function.
#ifndef RN_FORMATS_VOCAB_TOKENIZER_MODEL_H
#define RN_FORMATS_VOCAB_TOKENIZER_MODEL_H

#include "base/arena.h"
#include "base/status.h"
#include "tokenizer/vocab.h"

// Everything that *out points to is allocated in `mem`, also after a failure. name: errors begin with it. The file does not state
// which special tokens are added to a text: BPE adds BOS, as Llama does, and unigram none; tokenizer_config_apply() may change that.
// Errors: RN_E_FORMAT, RN_E_UNSUPPORTED, RN_E_LIMIT, RN_E_NOMEM.
rn_status tokenizer_model_load(const char *name, const uint8_t *data, size_t n, struct arena *mem, struct vocab *out,
                               rn_error *err);

#endif
