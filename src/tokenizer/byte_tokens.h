// tokenizer/byte_tokens.h - the tokens <0x00> to <0xFF> that write what no other token covers.
//
// Threads: pure functions.
#ifndef RN_TOKENIZER_BYTE_TOKENS_H
#define RN_TOKENIZER_BYTE_TOKENS_H

#include "tokenizer/vocab.h"

// The byte that <0xNN> spells, in both cases of letters; -1: the text is not of that form.
int byte_token_value(struct vocab_str text);
// byte_id[b]: the first TOKEN_BYTE for byte b, -1: none. Returns for how many bytes there is one.
int byte_tokens_find(const struct vocab *v, int32_t byte_id[256]);

#endif
