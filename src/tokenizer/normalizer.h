// tokenizer/normalizer.h - rewrites a segment of text by a vocabulary's normalization steps, before
// it is split and encoded.
//
// Ownership: normalizer_init() / normalizer_free(); points into the vocabulary. Threads: immutable
// after init.
#ifndef RN_TOKENIZER_NORMALIZER_H
#define RN_TOKENIZER_NORMALIZER_H

#include "base/status.h"
#include "text/text_buf.h"
#include "tokenizer/vocab.h"

// A text may grow by at most this factor plus this many bytes. Published normalizers stay below a
// factor of 20 (U+FDFA in NFKC: 11); the steps of an untrusted file could double a text repeatedly.
enum { NORMALIZER_MAX_GROWTH = 64, NORMALIZER_MAX_EXTRA = 1024 };

struct normalizer {
    const struct norm_step *steps; // [n_steps] the vocabulary's
    struct norm_tool *tools;       // [n_steps] compiled data of each step
    int32_t n_steps;
}; // zero = changes nothing

// The position of a segment in the text, which decides whether something is prepended.
struct norm_place {
    bool is_first, is_last; // it is the beginning, the end of the text
    bool at_start;          // it is the beginning of the text, or follows a control token
    bool goes_on;           // it continues text that was encoded before: nothing is prepended
};

// Errors: those of pattern_create() and charsmap_init(), RN_E_NOMEM. On failure *z is zero.
rn_status normalizer_init(struct normalizer *z, const struct vocab *v, rn_error *err);
void normalizer_free(struct normalizer *z);
// Runs steps [from, to), at least one, and writes the result to *out. The caller frees *out by
// text_buf_free(), also on failure.
// Errors: RN_E_LIMIT (a result beyond the bounds above or TOKENIZER_MAX_TEXT, a limit of a
// pattern), RN_E_NOMEM.
rn_status normalizer_run(const struct normalizer *z, int32_t from, int32_t to, const char *text, size_t n,
                         struct norm_place place, struct text_buf *out, rn_error *err);

#endif
