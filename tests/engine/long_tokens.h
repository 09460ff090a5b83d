// tests/engine/long_tokens.h - a model whose vocabulary has the bytes, a token of 3,000 bytes and short words.
#ifndef RN_TESTS_ENGINE_LONG_TOKENS_H
#define RN_TESTS_ENGINE_LONG_TOKENS_H

#include "tests/engine/fixture.h"
#include "tests/support/tiny_model.h"

enum { N_VOCAB = 300, BYTE_0 = 3, LONG_TOKEN = 259, LONG_TEXT = 3000 };

static inline bool write_long_model(const char *path) {
    static char long_text[LONG_TEXT + 1], texts[N_VOCAB][16];
    const char *list[N_VOCAB] = {"<unk>", "<s>", "</s>"};
    struct tiny_model m = tiny_model_default();
    struct gguf_builder b;
    memset(long_text, 'x', LONG_TEXT);
    for (int i = BYTE_0; i < N_VOCAB; i++) {
        snprintf(texts[i], sizeof texts[i], i < LONG_TOKEN ? "<0x%02X>" : "w%d", i < LONG_TOKEN ? i - BYTE_0 : i);
        list[i] = i == LONG_TOKEN ? long_text : texts[i];
    }
    m.n_layer = 1, m.n_vocab = N_VOCAB, m.n_ctx = 512, m.vocab = TINY_SPM;
    gb_begin(&b, 3);
    b.omit = "tokenizer.ggml.tokens";
    tiny_model_build(&m, &b);
    b.omit = NULL;
    gb_str_array(&b, "tokenizer.ggml.tokens", list, N_VOCAB);
    size_t n;
    uint8_t *const bytes = gb_finish(&b, &n);
    const bool ok = write_file(path, bytes, n);
    free(bytes);
    return ok;
}

static inline bool long_fixture_open(struct fixture *f) {
    char path[512];
    rn_error err = {0};
    const rn_engine_options opt = engine_options();
    *f = (struct fixture){0};
    snprintf(path, sizeof path, "%s/long.gguf", temp_dir());
    return CHECK(write_long_model(path)) && CHECK_OK(rn_model_open(path, NULL, &f->model, &err), &err) &&
           CHECK_OK(rn_engine_open(&f->model, 1, &opt, &f->engine, &err), &err);
}

#endif
