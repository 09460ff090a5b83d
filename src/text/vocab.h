// text/vocab.h - a vocabulary as plain data: what formats/ reads out of a file and a tokenizer is made from.
//
// Ownership: strings point into the file's bytes or the package's arena: they live as long as the package.
// Threads: immutable once filled.
#ifndef RN_TEXT_VOCAB_H
#define RN_TEXT_VOCAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum vocab_model { VOCAB_NONE, VOCAB_SPM, VOCAB_BPE }; // GGUF: absent or a name unknown here, "llama", "gpt2"

enum token_kind { // the numbers of GGUF's tokenizer.ggml.token_type
    TOKEN_NORMAL = 1,
    TOKEN_UNKNOWN = 2,
    TOKEN_CONTROL = 3,
    TOKEN_USER_DEFINED = 4,
    TOKEN_UNUSED = 5,
    TOKEN_BYTE = 6
};

struct vocab_str {
    const char *s; // no terminator
    uint32_t n;
};
struct vocab_token {
    struct vocab_str text; // as stored: SPM with U+2581 for spaces and <0xNN> for bytes, BPE in GPT-2's byte alphabet
    float score;           // SPM merges by it; BPE: 0
    enum token_kind kind;
};

struct vocab {
    enum vocab_model model;
    struct vocab_str model_name; // as the file says; n = 0: absent. VOCAB_NONE with a name: a model not known here
    struct vocab_str pre;        // pre-tokenizer's name; n = 0: absent
    int32_t n_tokens;
    const struct vocab_token *tokens; // [n_tokens]
    int32_t n_merges;
    const struct vocab_str *merges;       // [n_merges] "left right", best first; BPE only
    int32_t bos, eos, eot, eom, unk, pad; // -1: none. All < n_tokens
    int32_t n_end;
    const int32_t
        *end; // [n_end] tokens that end a text beside those, ascending. Rows of the embedding beyond n_tokens count
    bool add_bos, add_eos; // what add_special does
    bool add_space_prefix; // SPM: a space before the text
};

// The tokens that end a text: the file's eos, eot, eom and end, and control tokens with a spelling known for it (people report
// models that never stop when one of them is missed). ids: room for max; returns their number (at most max), ascending, each once.
int vocab_end_tokens(const struct vocab *v, int32_t *ids, int max);

#endif
