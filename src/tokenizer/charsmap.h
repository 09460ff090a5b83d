// tokenizer/charsmap.h - SentencePiece's precompiled character map
// (normalizer_spec.precompiled_charsmap): a double-array trie whose leaves refer to replacement
// texts.
//
//   | u32 n_trie | n_trie bytes: u32 units | texts, each zero-terminated |     little endian
//
// A unit (Yata et al., darts-clone): bits 0-7 and 31 are the label, bit 8 is set if it has a leaf,
// bits 9 and 10-30 are the offset of its children; a leaf has its value in bits 0-30.
// Ownership: points into the map's bytes. Threads: immutable.
#ifndef RN_TOKENIZER_CHARSMAP_H
#define RN_TOKENIZER_CHARSMAP_H

#include "base/status.h"
#include "tokenizer/text_steps.h"

struct charsmap {
    const uint8_t *units; // [n_units] of 4 bytes
    size_t n_units;
    const char *texts; // [n_texts] bytes, of which the last is zero
    size_t n_texts;
};

// Errors: RN_E_FORMAT.
rn_status charsmap_init(struct charsmap *m, struct vocab_str bytes, rn_error *err);
// Finds the shortest (longest if `longest`) prefix of s[0..n) in the map. Returns its length, 0:
// none, and sets *to to its replacement.
size_t charsmap_find(const struct charsmap *m, const char *s, size_t n, bool longest, struct vocab_str *to);

#endif
