// decoding/draft/vocab_bridge.h - a text in the tokens of two vocabularies: for a model that drafts and has another vocabulary than the main one.
//
// The text's bytes are cut into the drafter's tokens. Where the text grows, only what lies behind the last seam is cut anew: a seam is an end of a token in
// both vocabularies, some tokens before the text's end and before white space, where words are cut apart anyway. So a step costs the
// same however long the text is, and tokens before a seam stay. Guesses go the other way: their bytes are cut together with the main text's last
// tokens, so that words are cut as in a whole text.
//
// A character that the text ends within is in no token of the other vocabulary until it is whole; guesses are to begin with it.
//
// Control tokens have no text. One is the other vocabulary's control token of the same spelling, or of the same role (end of text, of turn); else it is
// left out. Bytes that a vocabulary has no tokens for are guessed worse, and nothing else.
//
// Ownership: vocab_bridge_free() frees what it has; tokenizers are lent. Threads: one at a time.
#ifndef RN_DECODING_DRAFT_VOCAB_BRIDGE_H
#define RN_DECODING_DRAFT_VOCAB_BRIDGE_H

#include "base/status.h"
#include "tokenizer/tokenizer.h"

// One of the two.
struct bridge_side {
    const tokenizer *tok; // NULL: there is no bridge, the vocabularies are the same
    const struct vocab *vocab;
};

struct vocab_bridge {
    struct bridge_side main, other;
    int32_t *ids; // [n] the text in the other vocabulary
    uint32_t n, cap;
    int32_t n_text;  // tokens of the main text that they are
    uint32_t n_held; // its last bytes, of a character that is not whole
    // Behind so many tokens of the main text, and of `ids`. Ascending.
    struct bridge_seam {
        int32_t main, other;
    } *seams;
    uint32_t n_seams, cap_seams;
    char *bytes; // of what is cut
    uint32_t n_bytes, cap_bytes;
    int64_t n_cut; // bytes that were cut so far, for tests
};

// A guess in the main vocabulary.
struct bridge_guess {
    int32_t token;
    int32_t first, end; // guesses of the other vocabulary whose first byte it has
};

void vocab_bridge_init(struct vocab_bridge *b, const struct bridge_side *main, const struct bridge_side *other);
void vocab_bridge_free(struct vocab_bridge *b);
/**
 * The main text has the n tokens `text` now; those that it was told of before are the same, but for a vocab_bridge_cut().
 *
 * @param n_same  as many of `ids` are as they were.
 * @return RN_E_NOMEM, RN_E_LIMIT (of a pre-tokenizer); the bridge is to be freed then.
 */
rn_status vocab_bridge_follow(struct vocab_bridge *b, const int32_t *text, int32_t n, int32_t *n_same, rn_error *err);
// Only the first n tokens of the main text stay; others take the place of those behind.
void vocab_bridge_cut(struct vocab_bridge *b, int32_t n);
/**
 * Guesses in the main vocabulary, for those of the other one that follow the text as vocab_bridge_follow() had it.
 *
 * @param out  [max]; *n of them. A control token ends them, and bytes that are no whole character are left out.
 * @return as vocab_bridge_follow(), but the bridge stays usable.
 */
rn_status vocab_bridge_back(struct vocab_bridge *b, const int32_t *text, const int32_t *guesses, int32_t n_guesses,
                            struct bridge_guess *out, int32_t max, int32_t *n, rn_error *err);

#endif
