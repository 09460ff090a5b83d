// tokenizer/vocab.h - a vocabulary as plain data: what formats/ reads out of a file and a tokenizer is made from.
//
// Ownership: strings point into the file's bytes or the package's arena: they live as long as the package.
// Threads: immutable once filled.
#ifndef RN_TOKENIZER_VOCAB_H
#define RN_TOKENIZER_VOCAB_H

#include "tokenizer/text_steps.h"

enum vocab_model {
    VOCAB_NONE,     // absent, or a name unknown here
    VOCAB_SPM,      // SentencePiece's BPE: characters joined by scores (GGUF "llama")
    VOCAB_BPE,      // byte-level BPE: bytes joined by ranked merges (GGUF "gpt2")
    VOCAB_CHAR_BPE, // characters joined by ranked merges, bytes for what no token covers (GGUF "gemma4")
    VOCAB_UNIGRAM   // the most likely sequence of pieces
};

enum token_kind { // the numbers of GGUF's tokenizer.ggml.token_type
    TOKEN_NORMAL = 1,
    TOKEN_UNKNOWN = 2,
    TOKEN_CONTROL = 3,
    TOKEN_USER_DEFINED = 4,
    TOKEN_UNUSED = 5,
    TOKEN_BYTE = 6
};

enum token_flags {                // of control and user-defined tokens, as tokenizer.json's added_tokens have them
    TOKEN_TAKES_SPACE_BEFORE = 1, // "lstrip": white space before it belongs to it
    TOKEN_TAKES_SPACE_BEHIND = 2, // "rstrip"
    TOKEN_ONLY_WHOLE_WORD = 4,    // "single_word"
    TOKEN_IN_NORMALIZED = 8,      // "normalized": looked for in the text as the normalizer leaves it
    TOKEN_IS_ADDED = 16           // beside the model's own tokens, which it never makes from text
};

struct vocab_token {
    struct vocab_str text; // as stored: SPM with U+2581 for spaces and <0xNN> for bytes, BPE in GPT-2's byte alphabet
    float score;           // SPM merges by it, unigram sums it; BPE: 0
    enum token_kind kind;
    uint8_t flags; // enum token_flags
};

struct vocab_replace {
    struct vocab_str from, to;
};

struct vocab {
    enum vocab_model model;
    struct vocab_str model_name; // as the file says; n = 0: absent. VOCAB_NONE with a name: a model not known here
    struct vocab_str pre;        // pre-tokenizer's name; n = 0: absent
    int32_t n_tokens;
    const struct vocab_token *tokens; // [n_tokens]
    int32_t n_merges;
    const struct vocab_str *merges;       // [n_merges] "left right", best first; both kinds of BPE
    int32_t bos, eos, eot, eom, unk, pad; // -1: none. All < n_tokens
    int32_t n_end;
    const int32_t *end;    // [n_end] tokens that end a text beside those, ascending. Rows of the embedding beyond
                           // n_tokens count
    bool add_bos, add_eos; // what add_special does
    bool add_space_prefix; // SPM: a space before the text; where there are norms, they put it

    // What GGUF cannot say. `splits` replaces `pre`, which then is only a name for the same, if it has one.
    int32_t n_norms, n_splits, n_replaces;
    int32_t n_norms_before;          // of the norms the first ones: run before TOKEN_IN_NORMALIZED are looked for
    const struct norm_step *norms;   // [n_norms] before everything else
    const struct split_step *splits; // [n_splits] NULL: as `pre` says (BPE), or whole texts (the other models)
    const struct vocab_replace
        *replaces;             // [n_replaces] in a token's text when it is written; not SPM, byte-level BPE
    bool takes_whole_words;    // with `splits`: a word that is a token is taken, whatever the merges say
    bool has_byte_tokens;      // SPM, character BPE, unigram: <0xNN> for what no token covers, else unk
    bool fuse_unk;             // neighbouring unknown characters are one unk
    bool drops_space_at_start; // decoding a whole text; SPM: as add_space_prefix
    bool as_sentencepiece;     // TOKEN_IN_NORMALIZED are spelled as the normalizer leaves them; unigram adds
                               // scores in single precision, and user-defined tokens are pieces that win
};

// The tokens that end a text: the file's eos, eot, eom and end, and control tokens with a spelling known for it (people report
// models that never stop when one of them is missed). ids: room for max; returns their number (at most max), ascending, each once.
int vocab_end_tokens(const struct vocab *v, int32_t *ids, int max);

#endif
