// tests/engine/toy_rig.h - an engine over the toy model with a vocabulary of bytes, whose draws are restricted to a few tokens, so that
// texts repeat and meet short strings often. Model 1 drafts: the same function, on pages of its own.
#ifndef RN_TESTS_ENGINE_TOY_RIG_H
#define RN_TESTS_ENGINE_TOY_RIG_H

#include "engine/engine.h"
#include "fixture.h"
#include "tests/support/tiny_model.h"
#include "tests/support/toy_lm.h"
#include "toy_random.h"
#include <stdio.h>
#include <unistd.h>

enum { TOY_VOCAB = 300, TOY_CTX = 256 };

struct toy_rig {
    struct toy_config config, config_of_1;
    rn_model *model;
    rn_engine *engine;
};

// g->config and g->config_of_1 are the models'.
static inline bool toy_rig_open_models(struct toy_rig *g, int n_streams, int n_threads) {
    char path[64];
    struct tiny_model tiny = tiny_model_default();
    struct given_lm given[2];
    rn_engine_options o = engine_options();
    rn_error err = {0};
    snprintf(path, sizeof path, "toy_rig.%d.gguf", (int)getpid());
    tiny.n_ctx = TOY_CTX, tiny.n_vocab = TOY_VOCAB;
    if (!CHECK(tiny_model_write(&tiny, path)) || !CHECK_OK(rn_model_open(path, NULL, &g->model, &err), &err))
        return false;
    remove(path);
    for (int i = 0; i < 2; i++) {
        if (!CHECK_OK(toy_lm_create(i ? &g->config_of_1 : &g->config, &given[i].lm, &err), &err)) return false;
        given[i].kv = toy_lm_kv(given[i].lm), given[i].n_scratch = g->config.max_scratch;
    }
    rn_model *const models[] = {g->model, g->model};
    o.draft_model = o.value_model = 1;
    o.n_streams = n_streams;
    o.n_seqs = 1; // slots of recurrent state for a second sequence
    o.n_threads = n_threads;
    o.output_store_bytes = 1 << 20;
    return CHECK_OK(engine_open_lms(models, given, 2, &o, &g->engine, &err), &err);
}

static inline bool toy_rig_open_rows(struct toy_rig *g, int32_t n_pages, int32_t n_states, int n_streams,
                                     int n_threads, int32_t n_rows) {
    *g = (struct toy_rig){.config = {.n_vocab = TOY_VOCAB,
                                     .n_ctx = TOY_CTX,
                                     .n_batch = n_rows,
                                     .n_want = n_rows,
                                     .max_seqs = 2 * n_streams + 2,
                                     .max_scratch = 4,
                                     .n_pages = n_pages,
                                     .n_groups = 1,
                                     .nan_token = -1,
                                     .n_states = n_states}};
    g->config_of_1 = g->config;
    return toy_rig_open_models(g, n_streams, n_threads);
}

static inline bool toy_rig_open(struct toy_rig *g, int32_t n_pages, int32_t n_states, int n_streams, int n_threads) {
    return toy_rig_open_rows(g, n_pages, n_states, n_streams, n_threads, 64);
}

static inline void toy_rig_close(struct toy_rig *g) {
    rn_engine_close(g->engine);
    rn_model_close(g->model);
}

// The token with these bytes.
static inline int32_t toy_token(const struct toy_rig *g, const char *bytes, size_t n) {
    for (int32_t i = 0; i < TOY_VOCAB; i++) {
        size_t n_piece;
        const char *piece = model_piece(g->model, i, false, &n_piece);
        if (n_piece == n && memcmp(piece, bytes, n) == 0) return i;
    }
    CHECK(false);
    return 0;
}

#endif
