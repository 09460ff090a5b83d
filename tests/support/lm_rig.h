// tests/support/lm_rig.h - everything that an lm of a real model needs, opened in one call: package, program, pool, backend.
#ifndef RN_TESTS_LM_RIG_H
#define RN_TESTS_LM_RIG_H

#include "backend/backend.h"
#include "formats/package.h"
#include "kernels/kernels.h"
#include "lm/lm_real.h"
#include "model/model.h"
#include "tests/support/test_backend.h"
#include "tests/support/tiny_model.h"

struct rig_options {
    enum cpu_set set;
    int n_threads;
    enum kv_codec codec;
    bool mixes_codecs; // groups after the first one use codec_windows
    enum kv_codec codec_windows;
    bool keeps_rows; // weights are not repacked
    struct lm_config lm;
    const struct model_spec *spec; // NULL: the model without taps
    const char *backend;           // NULL: the one under test (test_backend.h)
};
// One thread of the best set, F16; steps of 256 rows, 8 sequences of at most 256 positions, 64 pages.
struct rig_options rig_defaults(void);

struct rig {
    uint8_t *bytes; // of a model made here
    package *pkg;
    struct model *model;
    pool *threads;
    backend *backend;
    lm *lm;
};
// false, and a failed check, where one of them cannot be made. rig_close() also after a failure.
bool rig_open(struct rig *r, const struct tiny_model *m, const struct rig_options *o);
bool rig_open_file(struct rig *r, const char *path, const struct rig_options *o);
bool rig_open_bytes(struct rig *r, uint8_t *bytes, size_t n, const struct rig_options *o); // takes the bytes over
bool rig_open_package(struct rig *r, package *pkg, const struct rig_options *o);           // takes it over
// A part on top of base's model; pkg: its own package, taken over, NULL: base's.
bool rig_open_part(struct rig *r, const struct rig *base, package *pkg, const struct part_spec *spec,
                   const struct rig_options *o);
void rig_close(struct rig *r);

// The steps of a test, each a failed check where the lm refuses.
int32_t rig_seq(struct rig *r);
int32_t rig_seq_for(struct rig *r, int32_t n_most); // lm_seq_new()
int32_t rig_fork(struct rig *r, int32_t seq);
// Appends tokens[0..n) in one step (none for n = 0); out: [n][n_vocab] their logits, NULL: not wanted.
bool rig_append(struct rig *r, int32_t seq, const int32_t *tokens, int32_t n, float *out);
// The same tokens in steps of at most n_step rows.
bool rig_append_by(struct rig *r, int32_t seq, const int32_t *tokens, int32_t n, int32_t n_step, float *out);
// One scratch row; out: [n_vocab].
bool rig_scratch(struct rig *r, int32_t seq, int32_t token, int32_t parent, float *out);
// In a sequence of its own that no page is shared with: nothing is cached before or after.
bool rig_eval_fresh(struct rig *r, const int32_t *tokens, int32_t n, float *out);

// A text of n tokens gives the same logits in one step and in steps of n_step, wherever they are numbers.
void rig_check_cut(struct rig *r, int32_t n, int32_t n_step);

// n tokens below n_vocab, the same for the same seed on every machine.
void random_tokens(int32_t *out, int32_t n, int32_t n_vocab, uint64_t seed);
// n floats on the heap; out of memory aborts. free() them.
float *new_floats(size_t n);

#endif
