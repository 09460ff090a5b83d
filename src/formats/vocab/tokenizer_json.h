// formats/vocab/tokenizer_json.h - the vocabulary that a Hugging Face tokenizer.json describes.
//
// BPE (byte-level, or over characters) and Unigram, with the normalizers, pre-tokenizers, post-processors, decoders and added tokens
// that docs/tokenizers.md lists. Anything else in the file is refused by name, because almost correct token ids are wrong.
// Threads: pure functions.
#ifndef RN_FORMATS_VOCAB_TOKENIZER_JSON_H
#define RN_FORMATS_VOCAB_TOKENIZER_JSON_H

#include "base/arena.h"
#include "base/status.h"
#include "tokenizer/vocab.h"

// data: the file; config_json: tokenizer_config.json of the same folder, NULL: none. name: errors begin with it. Everything that *out
// points to is allocated in `mem`, also after a failure. out->pre is the GGUF name of the same pre-tokenizer, if there is one.
// Errors: RN_E_FORMAT, RN_E_UNSUPPORTED (named), RN_E_LIMIT, RN_E_NOMEM.
rn_status tokenizer_json_load(const char *name, const uint8_t *data, size_t n, const char *config_json,
                              size_t n_config, struct arena *mem, struct vocab *out, rn_error *err);

// Sets the steps of *v, which has its tokens, by a text as in vocab.steps. Errors as above; byte-level steps are refused.
rn_status tokenizer_steps_load(const char *name, struct vocab_str json, struct arena *mem, struct vocab *v,
                               rn_error *err);

// Applies tokenizer_config.json to *v: bos, eos, unk and pad by their text, and which of them are added to a text. RWKV's token 0 gets the
// spelling of bos_token, as in its published class, and ends texts whatever eos_token is: that ends turns.
// Errors as above, and RN_E_FORMAT for a token that the vocabulary lacks.
rn_status tokenizer_config_apply(const char *name, const char *json, size_t n, struct arena *mem, struct vocab *v,
                                 rn_error *err);

#endif
