// tokenizer/pieces.h - the bytes that each token of a vocabulary stands for, decoded once into one
// block of memory.
//
// SPM: U+2581 is a space, <0xNN> a byte. Byte-level BPE: GPT-2's alphabet, in which every byte has
// a printable character; control and user-defined tokens keep their spelling. WordPiece: pieces that begin a word have
// a space before them. The other models: the
// vocabulary's replacements, except for control tokens.
// Ownership: pieces_init() / pieces_free(). Threads: immutable after init.
#ifndef RN_TOKENIZER_PIECES_H
#define RN_TOKENIZER_PIECES_H

#include "base/status.h"
#include "tokenizer/vocab.h"

struct pieces {
    char *bytes;
    uint32_t *offset; // [n_tokens + 1]
    uint32_t longest;
}; // zero = nothing to free

// Errors: RN_E_FORMAT (a byte token that is not <0xNN>), RN_E_UNSUPPORTED (a replacement longer
// than its original), RN_E_LIMIT (more than 4 GiB), RN_E_NOMEM. On failure *p is zero.
rn_status pieces_init(struct pieces *p, const struct vocab *v, rn_error *err);
// The tokens as stored in the vocabulary, for models that work on characters.
rn_status pieces_init_as_stored(struct pieces *p, const struct vocab *v, rn_error *err);
void pieces_free(struct pieces *p);

static inline const char *piece_of(const struct pieces *p, int32_t id, uint32_t *n) {
    *n = p->offset[id + 1] - p->offset[id];
    return p->bytes + p->offset[id];
}

// Decodes GPT-2's alphabet to bytes, out [n]. Characters outside the alphabet stay unchanged.
size_t byte_level_decode(const char *s, size_t n, char *out);
bool byte_level_covers(const char *s, size_t n); // are all characters in the alphabet?

#endif
