// tokenizer/charsmap.h - SentencePiece's precompiled map of characters (normalizer_spec.precompiled_charsmap): a double-array trie
// and the texts that its leaves stand for.
//
//   | u32 n_trie | n_trie bytes: u32 units | texts, each ended by a zero byte |     little endian
//
// A unit (Yata et al., darts-clone): bits 0-7 and 31 the label, bit 8 has a leaf, bit 9 and 10-30 the offset of its children; a leaf
// has its value in bits 0-30.
// Ownership: points into the map's bytes. Threads: immutable.
#ifndef RN_TOKENIZER_CHARSMAP_H
#define RN_TOKENIZER_CHARSMAP_H

#include "base/status.h"
#include "tokenizer/text_steps.h"

struct charsmap {
    const uint8_t *units; // [n_units] of 4 bytes
    size_t n_units;
    const char *texts; // [n_texts] the last byte is zero
    size_t n_texts;
};

// Errors: RN_E_FORMAT.
rn_status charsmap_init(struct charsmap *m, struct vocab_str bytes, rn_error *err);
// The first (`longest`: the longest) beginning of s[0..n) that the map has: its length, 0: none; *to is what stands for it.
size_t charsmap_find(const struct charsmap *m, const char *s, size_t n, bool longest, struct vocab_str *to);

#endif
