// fuzz/fuzz_step.c - a small model of any architecture whose hyper-parameters are the input: an error, or a model that takes steps whose
// logits do not depend on how the text was cut into them.
//
// Input: "ARCH KEY=VALUE KEY=VALUE ...": the keys of a file with the tensors of the first subject of that architecture in
// tests/support/arch_subjects.c, or of the next ones: ARCH/1. arch_model.h says how values are written. The corpus begins with each
// subject's own, as tests/tools/step_corpus.c writes them.
#include "backend/cpu/cpu_backend.h"
#include "base/mem.h"
#include "lm/lm_real.h"
#include "model/model.h"
#include "tests/support/arch_subjects.h"
#include "walk_package.h"
#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { N_VOCAB = 16, N_ROWS = 12, N_CUT = 5, MAX_TEXT = 4000 };

static const struct gguf_builder *tensors_of(size_t s) {
    static struct gguf_builder drawn[N_ARCH_SUBJECTS];
    if (!drawn[s].data.n) {
        struct arch_model m = arch_subjects[s].m;
        m.n_vocab = N_VOCAB, m.seed = 1;
        gb_begin(&drawn[s], 3);
        arch_model_put_tensors(&m, &drawn[s]);
    }
    return &drawn[s];
}

static void append(lm *m, int32_t seq, int32_t from, int32_t to, float *out) {
    struct lm_row rows[N_ROWS] = {0};
    for (int32_t i = from; i < to; i++) rows[i - from] = (struct lm_row){seq, i % N_VOCAB, LM_APPEND, LM_WANT_LOGITS};
    must(lm_step(m, rows, (size_t)(to - from), NULL, NULL) == RN_OK);
    for (int32_t i = from; i < to; i++)
        memcpy(out + (size_t)i * N_VOCAB, lm_logits(m, (size_t)(i - from)), N_VOCAB * sizeof *out);
}

static void step_twice(lm *m) {
    float at_once[N_ROWS * N_VOCAB], in_two[N_ROWS * N_VOCAB];
    int32_t a = -1, b = -1;
    must(m->n_vocab == N_VOCAB);
    must(lm_seq_new(m, NULL, &a, NULL) == RN_OK && lm_seq_new(m, NULL, &b, NULL) == RN_OK);
    append(m, a, 0, N_ROWS, at_once);
    append(m, b, 0, N_CUT, in_two);
    append(m, b, N_CUT, N_ROWS, in_two);
    for (int32_t i = 0; i < N_ROWS * N_VOCAB; i++)
        must(at_once[i] == in_two[i] || (!isfinite(at_once[i]) && !isfinite(in_two[i])));
}

static void run_model(const struct program *p) {
    const struct lm_config c = {.n_ctx = 64,
                                .n_batch = N_ROWS,
                                .n_want = N_ROWS,
                                .max_seqs = 2,
                                .n_pages = 4,
                                .n_windows = 4,
                                .n_states = 6,
                                .identity = 1};
    const struct backend_sizes sizes = lm_real_sizes(p, &c);
    pool *threads = NULL;
    backend *b = NULL;
    lm *m = NULL;
    must(pool_create(1, &threads, NULL) == RN_OK);
    const struct backend_spec spec = {.threads = threads, .kernels = kernel_set_get(cpu_set_detect(CPU_N_SETS))};
    must(backend_open(&spec, &b, NULL) == RN_OK);
    if (backend_load(b, p, &sizes, NULL, NULL, NULL) == RN_OK && lm_real_create(p, b, &c, &m, NULL) == RN_OK)
        step_twice(m);
    lm_destroy(m);
    backend_destroy(b);
    pool_destroy(threads);
}

static void open_and_run(const uint8_t *bytes, size_t n) {
    package *p = NULL;
    struct model *m = NULL;
    rn_error err = {0};
    rn_status st = package_from_bytes("fuzz.gguf", bytes, n, &p, &err);
    must((st == RN_OK) == (p != NULL));
    if (p) walk_package(p);
    if (p) st = model_build(p, &m, &err);
    if (m) run_model(model_program(m));
    must((st == RN_OK) == (m != NULL) && (m || strncmp(err.text, "fuzz.gguf: ", 11) == 0));
    must(st != RN_E_INTERNAL);
    model_destroy(m);
    package_close(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    char text[MAX_TEXT + 1];
    if (n > MAX_TEXT) return 0;
    memcpy(text, data, n);
    text[n] = '\0';
    char *keys = text + strcspn(text, " ");
    if (*keys) *keys++ = '\0';
    const size_t s = arch_subject_named(text);
    if (s == N_ARCH_SUBJECTS) return 0;
    struct arch_model m = arch_subjects[s].m;
    m.keys = keys;
    const long live = mem_live();
    size_t n_bytes;
    uint8_t *bytes = arch_model_bytes_with(&m, tensors_of(s), &n_bytes);
    open_and_run(bytes, n_bytes);
    free(bytes);
    must(mem_live() == live);
    return 0;
}
