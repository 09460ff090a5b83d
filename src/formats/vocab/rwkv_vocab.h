// formats/vocab/rwkv_vocab.h - RWKV's own vocabulary file, rwkv_vocab_v20230424.txt.
//
// A line for each token: its id, which counts up from 1, a Python literal of a string or of bytes, and its number of bytes. Token 0, which
// ends texts, is in no line; its usual spelling is <|rwkv_tokenizer_end_of_text|>, and tokenizer_config_apply() may give it another one.
// Threads: pure functions.
#ifndef RN_FORMATS_VOCAB_RWKV_VOCAB_H
#define RN_FORMATS_VOCAB_RWKV_VOCAB_H

#include "base/arena.h"
#include "base/status.h"
#include "tokenizer/vocab.h"

// name: errors begin with it; then comes the line. What *out points to is allocated in `mem`, also after a failure. A token of two line
// feeds ends a turn (eot), as in the files of llama.cpp's converter. Errors: RN_E_FORMAT, RN_E_LIMIT, RN_E_NOMEM; *out is then empty.
rn_status rwkv_vocab_load(const char *name, const char *data, size_t n, struct arena *mem, struct vocab *out,
                          rn_error *err);

#endif
