// tokenizer/byte_tokens.h - the byte tokens <0x00> to <0xFF>, the fallback for text that no other
// token covers.
//
// Threads: pure functions.
#ifndef RN_TOKENIZER_BYTE_TOKENS_H
#define RN_TOKENIZER_BYTE_TOKENS_H

#include "tokenizer/vocab.h"

// The byte of a token <0xNN>, digits in upper or lower case; -1: the text does not have that form.
int byte_token_value(struct vocab_str text);
// Sets byte_id[b] to the first TOKEN_BYTE for byte b, -1: none. Returns the number of bytes that
// have one.
int byte_tokens_find(const struct vocab *v, int32_t byte_id[256]);

#endif
