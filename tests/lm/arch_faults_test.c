// tests/lm/arch_faults_test.c - a model of each architecture opened and run with one allocation failing, then the next: an error each time,
// nothing left behind.
#include "tests/check.h"
#include "tests/support/arch_subjects.h"
#include "tests/support/lm_rig.h"
#include <stdlib.h>

enum { N_VOCAB = 16 };

struct opening {
    uint8_t *bytes;
    size_t n;
};

// A prompt, a scratch row that is kept, a fork, and a cached prefix.
static rn_status take_steps(lm *m) {
    const struct lm_row rows[] = {{0, 1, LM_APPEND, 0},
                                  {0, 2, LM_APPEND, LM_WANT_STATE},
                                  {0, 3, LM_APPEND, LM_WANT_LOGITS},
                                  {0, 4, LM_ROOT, LM_WANT_LOGITS}};
    const int32_t prompt[] = {1, 2, 5}, path[] = {0};
    struct lm_prefix found;
    int32_t seq = -1, fork = -1;
    rn_status st = lm_seq_new(m, NULL, &seq, NULL);
    if (st == RN_OK) st = lm_step(m, rows, 4, NULL, NULL);
    if (st == RN_OK) st = lm_keep(m, seq, path, 1, NULL);
    if (st == RN_OK) st = lm_seq_fork(m, seq, &fork, NULL);
    if (st == RN_OK) st = lm_match_tokens(m, NULL, prompt, 3, &found, NULL);
    return st;
}

static rn_status open_and_step(void *user) {
    const struct opening *o = user;
    const struct lm_config c = {.n_ctx = 64,
                                .n_batch = 8,
                                .n_want = 8,
                                .max_seqs = 4,
                                .max_scratch = 2,
                                .n_pages = 4,
                                .n_states = 8,
                                .identity = 1};
    package *pkg = NULL;
    struct model *model = NULL;
    pool *threads = NULL;
    backend *b = NULL;
    lm *m = NULL;
    rn_status st = package_from_bytes("tiny", o->bytes, o->n, &pkg, NULL);
    if (st == RN_OK) st = model_build(pkg, &model, NULL);
    if (st == RN_OK) st = pool_create(1, &threads, NULL);
    if (st == RN_OK)
        st = test_backend_open(
            &(struct backend_spec){.threads = threads, .kernels = kernel_set_get(cpu_set_detect(CPU_N_SETS))}, &b,
            NULL);
    if (st == RN_OK) {
        const struct backend_sizes sizes = lm_real_sizes(model_program(model), &c);
        st = backend_load(b, model_program(model), &sizes, NULL, NULL, NULL);
    }
    if (st == RN_OK) st = lm_real_create(model_program(model), b, &c, &m, NULL);
    if (st == RN_OK) st = take_steps(m);
    lm_destroy(m);
    backend_destroy(b);
    pool_destroy(threads);
    model_destroy(model);
    package_close(pkg);
    return st;
}

TEST(opening_and_stepping_a_model_of_any_architecture_survives_every_failed_allocation) {
    for (int i = 0; i < N_ARCH_SUBJECTS; i++) {
        struct arch_model m = arch_subjects[i].m;
        struct opening o = {0};
        m.n_vocab = N_VOCAB, m.type = i % 2 ? TENSOR_Q8_0 : TENSOR_F32, m.seed = 1;
        o.bytes = arch_model_bytes(&m, &o.n);
        check_note("%s: %s", m.arch, arch_subjects[i].why);
        CHECK(check_each_failed_allocation(open_and_step, &o, __FILE__, __LINE__));
        free(o.bytes);
    }
}
