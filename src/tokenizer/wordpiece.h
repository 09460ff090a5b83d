// tokenizer/wordpiece.h - WordPiece (Schuster and Nakajima 2012; as in BERT, 1810.04805): a word is the longest piece that it begins
// with, then the longest that its rest begins with among those that go on with a word; a word that is not covered so is unknown.
//
// Ownership: wordpiece_init() / wordpiece_free(); points into the vocabulary. Threads: immutable after init.
#ifndef RN_TOKENIZER_WORDPIECE_H
#define RN_TOKENIZER_WORDPIECE_H

#include "base/status.h"
#include "tokenizer/id_list.h"
#include "tokenizer/trie.h"
#include "tokenizer/vocab.h"

struct wordpiece {
    const struct vocab *v;
    struct trie first, more; // pieces that begin a word, and that go on with one, without their signs
}; // zero = nothing to free

// Errors: RN_E_FORMAT (no unknown token), RN_E_NOMEM.
rn_status wordpiece_init(struct wordpiece *w, const struct vocab *v, rn_error *err);
void wordpiece_free(struct wordpiece *w);
// Appends the tokens of a word. Errors: RN_E_NOMEM.
rn_status wordpiece_encode(const struct wordpiece *w, const char *word, size_t n, struct id_list *ids, rn_error *err);

// Writes the text of a piece to out, which has room for one byte more than the token's text: a space before those that begin a word.
size_t wordpiece_text(const struct vocab *v, struct vocab_str piece, char *out);

#endif
