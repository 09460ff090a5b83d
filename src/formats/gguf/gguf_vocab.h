// formats/gguf/gguf_vocab.h - the vocabulary that a GGUF file's tokenizer.* keys describe.
#ifndef RN_FORMATS_GGUF_GGUF_VOCAB_H
#define RN_FORMATS_GGUF_GGUF_VOCAB_H

#include "formats/gguf/gguf.h"

// v: zeroed. Lists are allocated in `into`, strings point into the file's bytes. A file without tokenizer.ggml.model has no
// vocabulary: VOCAB_NONE and no tokens. An unknown tokenizer model keeps its name and its tokens: tokenizer_create() refuses it.
// Errors: RN_E_FORMAT, RN_E_LIMIT, RN_E_NOMEM; `key NAME: WHY`.
enum { GGUF_WORD_CHARS = 100 }; // WordPiece: longer words are unknown
// What the tokenizer model "bert" means beyond its tokens, where no key says otherwise.
void gguf_describe_bert(struct vocab *v);
rn_status gguf_read_vocab(const struct gguf *g, struct arena *into, struct vocab *v, rn_error *err);

#endif
