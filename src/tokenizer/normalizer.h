// tokenizer/normalizer.h - rewrites a stretch of text by a vocabulary's steps before it is cut and encoded.
//
// Ownership: normalizer_init() fills, normalizer_free() releases; points into the vocabulary. Threads: immutable once filled.
#ifndef RN_TOKENIZER_NORMALIZER_H
#define RN_TOKENIZER_NORMALIZER_H

#include "base/status.h"
#include "text/text_buf.h"
#include "tokenizer/vocab.h"

// A text becomes at most this many times as long, and so many bytes more. Published ones stay below 20 times (U+FDFA in NFKC is
// 11); steps of a stranger's file could double it again and again.
enum { NORMALIZER_MAX_GROWTH = 64, NORMALIZER_MAX_EXTRA = 1024 };

struct normalizer {
    const struct norm_step *steps; // the vocabulary's
    struct norm_tool *tools;       // [n_steps] what a step needs
    int32_t n_steps;
}; // zero = changes nothing

// Where a stretch stands: what decides whether something is put before it.
struct norm_place {
    bool is_first, is_last; // the text begins, ends with it
    bool at_start;          // the text begins with it, or a control token stands before it
    bool goes_on;           // it goes on from text that was encoded before: nothing is put before it
};

// Errors: those of pattern_create() and charsmap_init(), RN_E_NOMEM. On failure *z is zero.
rn_status normalizer_init(struct normalizer *z, const struct vocab *v, rn_error *err);
void normalizer_free(struct normalizer *z);
// Runs the steps from..to-1, at least one. Fills *out, which is text_buf_free()d by the caller whatever comes back.
// Errors: RN_E_LIMIT (a result beyond the bounds above or TOKENIZER_MAX_TEXT, a limit of a pattern), RN_E_NOMEM.
rn_status normalizer_run(const struct normalizer *z, int32_t from, int32_t to, const char *text, size_t n,
                         struct norm_place place, struct text_buf *out, rn_error *err);

#endif
