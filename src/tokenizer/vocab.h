// tokenizer/vocab.h - a vocabulary as plain data, which formats/ reads from a file and a tokenizer
// is made from.
//
// Ownership: strings point into the file's bytes or the package's arena, and are valid as long as
// the package.
// Threads: immutable once filled.
#ifndef RN_TOKENIZER_VOCAB_H
#define RN_TOKENIZER_VOCAB_H

#include "tokenizer/text_steps.h"

enum vocab_model {
    VOCAB_NONE,      // absent or unknown
    VOCAB_SPM,       // SentencePiece's BPE: characters joined by scores (GGUF "llama")
    VOCAB_BPE,       // byte-level BPE: bytes joined by ranked merges (GGUF "gpt2")
    VOCAB_CHAR_BPE,  // characters joined by ranked merges, with byte fallback (GGUF "gemma4")
    VOCAB_UNIGRAM,   // the most likely sequence of pieces
    VOCAB_WORDPIECE, // of each word the longest piece, again and again (GGUF "bert")
    VOCAB_LONGEST    // of the text the longest token, again and again (GGUF "rwkv")
};

enum token_kind { // the numbers of GGUF's tokenizer.ggml.token_type
    TOKEN_NORMAL = 1,
    TOKEN_UNKNOWN = 2,
    TOKEN_CONTROL = 3,
    TOKEN_USER_DEFINED = 4,
    TOKEN_UNUSED = 5,
    TOKEN_BYTE = 6
};

enum token_flags {                // of control and user-defined tokens, as in tokenizer.json's added_tokens
    TOKEN_TAKES_SPACE_BEFORE = 1, // "lstrip": white space before it is part of it
    TOKEN_TAKES_SPACE_BEHIND = 2, // "rstrip"
    TOKEN_ONLY_WHOLE_WORD = 4,    // "single_word"
    TOKEN_IN_NORMALIZED = 8,      // "normalized": searched for in the normalized text
    // Added to the model's own tokens; the model never produces it from text.
    TOKEN_IS_ADDED = 16,
    TOKEN_ALL_FLAGS = 31
};

struct vocab_token {
    // As stored: SPM with U+2581 for spaces and <0xNN> for bytes, BPE in GPT-2's alphabet, the longest ones
    // with Python's escapes.
    struct vocab_str text;
    float score; // merge priority (SPM), log-probability (unigram); BPE: 0
    enum token_kind kind;
    uint8_t flags; // enum token_flags
};

struct vocab_replace {
    struct vocab_str from, to;
};

// Tokens of prompts with a hole (infill_tokens.h): before the prefix and the suffix, where the
// middle begins, before the name of a repository and before a file, and padding.
enum vocab_infill {
    VOCAB_INFILL_PREFIX,
    VOCAB_INFILL_SUFFIX,
    VOCAB_INFILL_MIDDLE,
    VOCAB_INFILL_REPO,
    VOCAB_INFILL_FILE,
    VOCAB_INFILL_PAD,
    VOCAB_N_INFILL
};

enum { VOCAB_MAX_BETWEEN = 2 };
// A pair of texts as one: the tokens between them. Before the first and behind the second are those of a text by itself.
struct vocab_pair {
    bool is_known;
    bool has_second_kind; // the second text and what follows have the second token type (BERT)
    int32_t n_between, between[VOCAB_MAX_BETWEEN];
};

struct vocab {
    enum vocab_model model;
    // From the file; n = 0: absent. VOCAB_NONE with a name: an unknown model.
    struct vocab_str model_name;
    struct vocab_str pre; // the pre-tokenizer's name; n = 0: absent
    int32_t n_tokens;
    const struct vocab_token *tokens; // [n_tokens]
    int32_t n_merges;
    const struct vocab_str *merges;       // [n_merges] "left right", best first; both kinds of BPE
    int32_t bos, eos, eot, eom, unk, pad; // -1: none. All < n_tokens
    int32_t infill[VOCAB_N_INFILL];       // that the file names: id + 1; 0: none
    int32_t n_end;
    // [n_end] further tokens that end a text, ascending; rows of the embedding beyond n_tokens
    // count.
    const int32_t *end;
    bool add_bos, add_eos; // what add_special does
    bool add_space_prefix; // SPM: adds a space before the text; with norms, these do it
    struct vocab_pair pair;

    // What GGUF cannot express. `splits` replaces `pre`, which is then only a name for the same
    // splits, if they have one.
    int32_t n_norms, n_splits, n_replaces;
    // The first norms, which run before TOKEN_IN_NORMALIZED are searched for.
    int32_t n_norms_before;
    const struct norm_step *norms; // [n_norms] run before everything else
    // [n_splits] NULL: given by `pre` (BPE), or no splits (the other models).
    const struct split_step *splits;
    // [n_replaces] applied to a token's text when it is decoded; not for SPM and byte-level BPE.
    const struct vocab_replace *replaces;
    // With `splits`: a word that is a token is taken whole, regardless of merges.
    bool takes_whole_words;
    bool has_byte_tokens; // SPM, character BPE, unigram: byte fallback; otherwise unk
    // WordPiece: what pieces that begin a word, and those that go on with one, begin with; of these one is empty.
    struct vocab_str word_sign, subword_sign;
    int32_t max_word_chars;    // WordPiece: a longer word is unknown
    bool fuse_unk;             // consecutive unknown characters are one unk
    bool drops_space_at_start; // when decoding a whole text; SPM: as add_space_prefix
    // TOKEN_IN_NORMALIZED have normalized spellings; unigram adds scores in single precision, and
    // prefers user-defined tokens.
    bool as_sentencepiece;
    // tokenizer.json without its model and tokens, where it was read of one (WordPiece, Unigram); n 0: not
    struct vocab_str steps;
};

// The tokens that end a text: the file's eos, eot, eom and end, and control tokens with a known
// spelling (models do not stop if one of them is missed). ids: [max]. Returns their number, at most
// max; ascending, without duplicates.
int vocab_end_tokens(const struct vocab *v, int32_t *ids, int max);

#endif
