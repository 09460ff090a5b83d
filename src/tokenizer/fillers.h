// tokenizer/fillers.h - the tokens that stand for rows of an embedding without a token: embeddings
// are padded to round sizes, while lists of tokens are as long as the embedding in GGUF files.
//
// Threads: pure functions.
#ifndef RN_TOKENIZER_FILLERS_H
#define RN_TOKENIZER_FILLERS_H

#include "tokenizer/vocab.h"

struct filler {
    char text[24]; // "[PAD151669]", as llama.cpp's converter calls it
};
struct filler filler_of(int32_t id);
// The number of tokens before the fillers at the end of the list, special tokens included.
int32_t fillers_begin(const struct vocab *v);

#endif
