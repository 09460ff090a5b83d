// tests/support/bad_gguf.c - see bad_gguf.h.
#include "tests/support/bad_gguf.h"
#include "base/mem.h"
#include "tests/check.h"
#include <stdlib.h>
#include <string.h>

struct tiny_model bad_gguf_model(enum tiny_vocab vocab) {
    return (struct tiny_model){.n_layer = 1,
                               .n_embd = 32,
                               .n_head = 4,
                               .n_head_kv = 2,
                               .n_ff = 32,
                               .n_vocab = 280,
                               .n_ctx = 64,
                               .type = TENSOR_Q8_0,
                               .vocab = vocab,
                               .seed = 7};
}

static uint8_t *spoiled(const struct tiny_model *sound, const struct bad_gguf *row, size_t *n) {
    struct gguf_builder b;
    gb_begin(&b, 3);
    b.omit = row->omit;
    tiny_model_build(sound, &b);
    b.omit = NULL;
    if (row->add) row->add(&b);
    uint8_t *file = gb_finish(&b, n);
    if (row->spoil) row->spoil(file, n);
    uint8_t *exact = malloc(*n); // so that a sanitizer sees the first byte read too far
    if (!exact) abort();
    memcpy(exact, file, *n);
    free(file);
    return exact;
}

static void check_row(const struct tiny_model *sound, const struct bad_gguf *row,
                      rn_status (*then)(const package *p, rn_error *err)) {
    rn_error err = {0};
    package *p = NULL;
    size_t n;
    uint8_t *file = spoiled(sound, row, &n);
    const long live = mem_live();
    check_note("%s", row->why);
    rn_status st = package_from_bytes("bad.gguf", file, n, &p, &err);
    CHECK((st == RN_OK) == (p != NULL));
    if (st != RN_OK)
        CHECK(strncmp(err.text, "bad.gguf: ", 10) == 0);
    else if (then)
        st = then(p, &err);
    if (row->want) {
        CHECK(st != RN_OK);
        CHECK_HAS(err.text, row->want);
    } else {
        CHECK_OK(st, &err);
    }
    package_close(p);
    CHECK_INT(mem_live(), live);
    free(file);
}

void check_bad_gguf(const struct tiny_model *sound, const struct bad_gguf *rows, size_t n_rows,
                    rn_status (*then)(const package *p, rn_error *err)) {
    for (size_t i = 0; i < n_rows; i++) check_row(sound, &rows[i], then);
    check_note("%s", "");
}
