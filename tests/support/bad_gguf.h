// tests/support/bad_gguf.h - runs tables of spoiled GGUF files: a row says what is wrong with an otherwise sound one.
#ifndef RN_TESTS_BAD_GGUF_H
#define RN_TESTS_BAD_GGUF_H

#include "formats/package.h"
#include "tests/support/tiny_model.h"

struct bad_gguf {
    const char *why;
    const char *omit;                        // pair or tensor of the sound model that is left out; NULL: none
    void (*add)(struct gguf_builder *b);     // what comes after it; NULL: nothing
    void (*spoil)(uint8_t *file, size_t *n); // changes the finished bytes, may shorten them; NULL: not
    const char *want;                        // part of the error; NULL: the file must open
};

// The model that rows spoil: one layer of 32, 4 heads over 2, n_ff 32, 280 tokens of `vocab`, Q8_0.
struct tiny_model bad_gguf_model(enum tiny_vocab vocab);
// Each row must be refused with its error, which begins with the file's name, and leave nothing behind (or open).
// then: what else must succeed once the file is open, e.g. making the tokenizer; NULL: nothing.
void check_bad_gguf(const struct tiny_model *sound, const struct bad_gguf *rows, size_t n_rows,
                    rn_status (*then)(const package *p, rn_error *err));

#endif
