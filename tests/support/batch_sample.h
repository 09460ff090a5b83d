// tests/support/batch_sample.h - a batch with everything that one can hold, and the program and sizes that it is for.
#ifndef RN_TESTS_BATCH_SAMPLE_H
#define RN_TESTS_BATCH_SAMPLE_H

#include "backend/batch_pack.h"

enum { SAMPLE_VECTOR = 6, SAMPLE_ROWS = 5 };

// Two groups, one of them with a window; states and input vectors.
static const struct matrix sample_embedding = {.name = "token_embd.weight", .n_out = 100};
static const struct op sample_embed = {.kind = OP_EMBED, .layer = -1, .weights.matrix = 0};
static const struct program sample_program = {.ops = &sample_embed,
                                              .n_ops = 1,
                                              .matrices = &sample_embedding,
                                              .n_matrices = 1,
                                              .n_adapters = 3,
                                              .n_vector = SAMPLE_VECTOR,
                                              .n_coords = PROGRAM_MAX_COORDS,
                                              .n_groups = 2,
                                              .groups = {{.n_layer = 1}, {.n_layer = 2, .window = 70}},
                                              .state_bytes = 64};
static const struct backend_sizes sample_sizes = {
    .n_batch = 8, .n_wanted = 4, .n_logits = 3, .n_pages = {6, 4}, .n_states = 5};

// A sequence of 200 positions whose first pages fell out of the window, with a path of two below it, and one that begins.
struct batch_sample {
    struct batch_row rows[SAMPLE_ROWS];
    struct batch_seq seqs[2];
    struct batch batch;
};

static inline void sample_make(struct batch_sample *s) {
    static const int32_t all[] = {0, 1, 2, 3}, window[] = {KV_NONE, KV_NONE, 1, 2}, own[] = {4}, own_window[] = {3};
    static const struct kv_slot path[2][2] = {{{5, 0}, {5, 1}}, {{3, 10}, {3, 63}}};
    static const float vector[SAMPLE_VECTOR] = {1, -2, 0.5f, 1e30f, -0.0f, 3};
    static const int32_t wanted[] = {1, 4, 0};
    static const struct batch_adapter adapters[] = {{0, 0.5f}, {2, -1}};
    *s = (struct batch_sample){
        .seqs = {{.pages = {all, window}, .n_committed = 200, .is_far = true, .adapters = adapters, .n_adapters = 2},
                 {.pages = {own, own_window}, .n_committed = 3}},
        .rows = {{.token = 7, .pos = 199, .see_to = -1, .store = {{3, 7}, {2, 7}}, .state = {KV_NONE, 0}},
                 {.token = 8,
                  .pos = 201,
                  .see_to = -1,
                  .store = {{5, 1}, {3, 63}},
                  .path = {path[0], path[1]},
                  .state = {0, 1}},
                 {.token = 99,
                  .pos = 0,
                  .seq = 1,
                  .see_to = 2,
                  .vector = vector,
                  .coord = {1, 2, 3},
                  .store = {{4, 0}, {3, 0}},
                  .state = {KV_NONE, 2}},
                 {.token = 0,
                  .pos = 1,
                  .seq = 1,
                  .see_to = 2,
                  .area_first = 1,
                  .area_end = 3,
                  .vector = vector,
                  .adds = true,
                  .store = {{4, 1}, {3, 1}},
                  .state = {2, 2}},
                 {.token = 1, .pos = 2, .seq = 1, .see_to = 2, .store = {{4, 2}, {3, 2}}, .state = {2, 4}}}};
    s->batch = (struct batch){s->rows, SAMPLE_ROWS, s->seqs, wanted, 3, 2};
}

#endif
