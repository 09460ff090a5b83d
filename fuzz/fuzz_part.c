// fuzz/fuzz_part.c - any bytes as the file of a draft head on top of a small model: an error, or a
// part whose steps give results that do not depend on how the rows were cut into them.
#include "backend/cpu/cpu_backend.h"
#include "base/mem.h"
#include "lm/lm_real.h"
#include "model/model.h"
#include "tests/support/arch_model.h"
#include "walk_package.h"
#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { N_VOCAB = 16, N_EMBD = 8, N_ROWS = 6, N_CUT = 2, N_HEADS = 2 };

static const struct model *base_model(void) {
    static struct model *base;
    static package *p;
    static const struct arch_model m = {
        "llama",
        "block_count=4 context_length=64 embedding_length=8 feed_forward_length=12 attention.head_count=2 "
        "attention.head_count_kv=1 attention.layer_norm_rms_epsilon=1e-5",
        .optional = "ffn_gate.weight ffn_up.weight ffn_down.weight",
        .n_vocab = N_VOCAB,
        .type = TENSOR_F32,
        .seed = 1,
    };
    size_t n;
    if (base) return base;
    const uint8_t *bytes = arch_model_bytes(&m, &n); // the package's: both live as long as the process
    must(package_from_bytes("base", bytes, n, &p, NULL) == RN_OK && model_build(p, &base, NULL) == RN_OK);
    return base;
}

// Rows [from, to) of a sequence; out: [N_ROWS][n_embd] their hidden states, behind which
// [N_ROWS][n_vocab] their logits.
static void append(lm *m, int32_t seq, int32_t from, int32_t to, float *out) {
    static float vectors[N_ROWS][3 * N_EMBD];
    struct lm_row rows[N_ROWS] = {0};
    struct lm_input inputs[N_ROWS] = {0};
    const size_t n_embd = (size_t)m->n_embd, n_vocab = (size_t)m->n_vocab;
    for (int32_t i = from; i < to; i++) {
        for (int32_t k = 0; k < m->n_vector; k++) vectors[i][k] = (float)(i - k) / 16;
        inputs[i - from] = (struct lm_input){.vector = vectors[i], .key = (uint64_t)i, .see_to = -1};
        rows[i - from] =
            (struct lm_row){seq, i, LM_APPEND, LM_WANT_HIDDEN | (n_vocab ? LM_WANT_LOGITS : 0), &inputs[i - from]};
    }
    must(lm_step(m, rows, (size_t)(to - from), NULL, NULL) == RN_OK);
    for (int32_t i = from; i < to; i++) {
        memcpy(out + (size_t)i * n_embd, lm_hidden(m, (size_t)(i - from)), n_embd * sizeof *out);
        if (n_vocab)
            memcpy(out + N_ROWS * n_embd + (size_t)i * n_vocab, lm_logits(m, (size_t)(i - from)),
                   n_vocab * sizeof *out);
    }
}

static void step_twice(lm *m) {
    float at_once[N_ROWS * (N_EMBD + N_VOCAB)], in_two[N_ROWS * (N_EMBD + N_VOCAB)];
    int32_t a = -1, b = -1;
    must(m->n_vocab <= N_VOCAB && m->n_embd == N_EMBD && m->n_tokens == N_VOCAB);
    must(m->n_vector == N_EMBD || m->n_vector == 3 * N_EMBD);
    for (int32_t i = 0; m->token_map && i < m->n_vocab; i++)
        must(m->token_map[i] < N_VOCAB && m->token_map[i] > (i ? m->token_map[i - 1] : -1));
    must(lm_seq_new(m, NULL, &a, NULL) == RN_OK && lm_seq_new(m, NULL, &b, NULL) == RN_OK);
    append(m, a, 0, N_ROWS, at_once);
    append(m, b, 0, N_CUT, in_two);
    append(m, b, N_CUT, N_ROWS, in_two);
    for (int32_t i = 0; i < N_ROWS * (m->n_embd + m->n_vocab); i++)
        must(at_once[i] == in_two[i] || (!isfinite(at_once[i]) && !isfinite(in_two[i])));
}

static void run_part(const struct program *p) {
    const struct lm_config c = {
        .n_ctx = 64, .n_batch = N_ROWS, .n_want = N_ROWS, .max_seqs = 2, .n_pages = 4, .n_windows = 4, .identity = 1};
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

static void build_and_run(const package *p, const struct part_spec *spec) {
    struct model *m = NULL;
    rn_error err = {0};
    const rn_status st = model_build_part(p, spec, base_model(), &m, &err);
    must((st == RN_OK) == (m != NULL) && st != RN_E_INTERNAL && (m || strncmp(err.text, "fuzz: ", 6) == 0));
    if (m) run_part(model_program(m));
    model_destroy(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    static const enum part_kind kinds[] = {PART_MEDUSA, PART_EAGLE, PART_EAGLE3, PART_EAGLE3_TAPS};
    base_model();
    const long live = mem_live();
    package *p = NULL;
    rn_error err = {0};
    const rn_status st = package_part_from_bytes("fuzz", data, n, &p, &err);
    must((st == RN_OK) == (p != NULL) && (p || strncmp(err.text, "fuzz: ", 6) == 0));
    if (p) walk_tensors(p);
    for (size_t k = 0; p && k < sizeof kinds / sizeof *kinds; k++)
        for (int32_t number = 0; number < N_HEADS; number++)
            build_and_run(p, &(struct part_spec){.kind = kinds[k], .number = number});
    package_close(p);
    must(mem_live() == live);
    return 0;
}
