// tests/backend/experts_test.c - mixtures of experts on the CPU: which experts a row goes to, and what they make of it, beside plain loops.
#include "backend/cpu/cpu_experts.h"
#include "base/checked.h"
#include "base/philox.h"
#include "tests/check.h"
#include "tests/support/lm_rig.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- choosing -------------------------------------------------------------------------------------------------------

enum { MOST_EXPERTS = 8 };

static const float nan_ = NAN;

static const struct {
    const char *why;
    struct routing t;
    float logits[MOST_EXPERTS], bias[MOST_EXPERTS];
    bool has_bias;
    int32_t chosen[MOST_EXPERTS];
    double weights[MOST_EXPERTS];
} routes[] = {
    {"the largest first, softmax over all",
     {ROUTING_SOFTMAX, 4, 2, 1, 1, 1, false, 1},
     {0, 2, 1, -1},
     .chosen = {1, 2},
     .weights = {0.6439142599, 0.2368828181}},
    {"weights divided by their sum",
     {ROUTING_SOFTMAX, 4, 2, 1, 1, 1, true, 1},
     {0, 2, 1, -1},
     .chosen = {1, 2},
     .weights = {0.7310585786, 0.2689414214}},
    {"softmax over the chosen",
     {ROUTING_LOGITS, 4, 2, 1, 1, 1, false, 1},
     {0, 2, 1, -1},
     .chosen = {1, 2},
     .weights = {0.7310585786, 0.2689414214}},
    {"sigmoids, divided, times a scale",
     {ROUTING_SIGMOID, 4, 2, 1, 1, 1, true, 2.5f},
     {0, 2, -1, -1},
     .chosen = {1, 0},
     .weights = {1.5947257784, 0.9052742216}},
    {"of equal ones the lower number first",
     {ROUTING_LOGITS, 4, 3, 1, 1, 1, false, 1},
     {1, 1, 1, 1},
     .chosen = {0, 1, 2},
     .weights = {1 / 3.0, 1 / 3.0, 1 / 3.0}},
    {"all of them",
     {ROUTING_LOGITS, 3, 3, 1, 1, 1, false, 1},
     {1, 3, 2},
     .chosen = {1, 2, 0},
     .weights = {0.6652409558, 0.2447284711, 0.0900305732}},
    {"one of one", {ROUTING_SOFTMAX, 1, 1, 1, 1, 1, true, 1}, {-5}, .chosen = {0}, .weights = {1}},
    {"a bias chooses and does not weigh",
     {ROUTING_SIGMOID, 4, 2, 1, 1, 1, false, 1},
     {0, 2, 1, -1},
     {0, 0, 0, 5},
     true,
     {3, 1},
     {0.2689414214, 0.8807970780}},
    {"sigmoids that are all 0 stay 0 when they are divided",
     {ROUTING_SIGMOID, 2, 2, 1, 1, 1, true, 1},
     {-200, -200},
     .chosen = {0, 1},
     .weights = {0, 0}},
    // Groups {0, 1} {2, 3} {4, 5} {6, 7}.
    {"the group of the best one, where each counts by its best",
     {ROUTING_LOGITS, 8, 2, 4, 1, 1, false, 1},
     {0, 5, 4, 4, 1, 1, 1, 1},
     .chosen = {1, 0},
     .weights = {0.9933071491, 0.0066928509}},
    {"the group of the largest sum, where each counts by its two best",
     {ROUTING_LOGITS, 8, 2, 4, 1, 2, false, 1},
     {0, 5, 4, 4, 1, 1, 1, 1},
     .chosen = {2, 3},
     .weights = {0.5, 0.5}},
    {"two groups of four: none from the others",
     {ROUTING_LOGITS, 8, 3, 4, 2, 2, false, 1},
     {0, 5, 4, 4, 1, 1, 4.5f, 0},
     .chosen = {1, 2, 3},
     .weights = {0.5761168848, 0.2119415576, 0.2119415576}},
    {"equal groups: the lower first",
     {ROUTING_LOGITS, 8, 2, 4, 1, 2, false, 1},
     {1, 1, 1, 1, 1, 1, 1, 1},
     .chosen = {0, 1},
     .weights = {0.5, 0.5}},
};

static void route_one(size_t i, const struct kernel_set *set, const float *logits, float *choices) {
    _Alignas(64) float scratch[64];
    const struct program p = {.routing = routes[i].t};
    float row[MOST_EXPERTS];
    memcpy(row, logits, sizeof row);
    struct cpu_backend b = {.k = set, .p = &p, .thread_scratch = (uint8_t *)scratch, .buffers = {row, choices}};
    const struct cpu_op o = {
        .op = {.kind = OP_ROUTE, .src = 0, .dst = 1, .weights.vec = routes[i].has_bias ? routes[i].bias : NULL}};
    CHECK(cpu_route_scratch(&p) <= sizeof scratch);
    cpu_op_route(&(struct op_run){&b, &o, 0, 1, 1}, 0, 1);
}

TEST(the_right_experts_are_chosen_with_the_right_weights) {
    const struct kernel_set *sets[] = {kernel_set_get(CPU_REF), kernel_set_get(cpu_set_detect(CPU_N_SETS))};
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++)
        for (int s = 0; s < 2; s++) {
            float choices[2 * MOST_EXPERTS] = {0};
            const int32_t n = routes[i].t.n_used;
            route_one(i, sets[s], routes[i].logits, choices);
            for (int32_t j = 0; j < n; j++) {
                check_note("%s: choice %d", routes[i].why, j);
                CHECK_INT((int32_t)choices[n + j], routes[i].chosen[j]);
                check_note("%s: weight %d is %g", routes[i].why, j, (double)choices[j]);
                CHECK(fabs((double)choices[j] - routes[i].weights[j]) <= 1e-6);
            }
        }
}

// A row that went wrong has its own result spoiled; it must not point outside the experts, or twice to one.
TEST(a_row_of_nan_still_goes_to_as_many_experts_and_to_none_twice) {
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++)
        for (int at = 0; at <= MOST_EXPERTS; at++) {
            const int32_t n = routes[i].t.n_used;
            float logits[MOST_EXPERTS], choices[2 * MOST_EXPERTS] = {0};
            bool seen[MOST_EXPERTS] = {0};
            for (int e = 0; e < MOST_EXPERTS; e++)
                logits[e] = e == at || at == MOST_EXPERTS ? nan_ : routes[i].logits[e];
            route_one(i, kernel_set_get(CPU_REF), logits, choices);
            for (int32_t j = 0; j < n; j++) {
                const int32_t e = (int32_t)choices[n + j];
                check_note("%s: choice %d with NaN at %d", routes[i].why, j, at);
                if (!CHECK(e >= 0 && e < routes[i].t.n_expert && !seen[e])) return;
                seen[e] = true;
            }
        }
}

// ---- what experts make of a row -------------------------------------------------------------------------------------

enum { EMBD = 40, FF = 24, N_EXPERT = 5, N_USED = 2, VOCAB = 30, PAD_FF = 32, PAD_EMBD = 48 };
enum { X, ROUTED, CHOICES, PART_IN, GATED, UP, DOWN, OUT, LAST, N_BUFFERS };

struct mixture {
    float embd[VOCAB][EMBD], router[N_EXPERT][EMBD];
    float gate_up[N_EXPERT][2 * FF][EMBD], down[N_EXPERT][EMBD][FF]; // gate and up in one tensor
    float gate_bias[N_EXPERT][FF], down_bias[N_EXPERT][EMBD];
};

static void fill(float *x, size_t n, uint32_t stream, float size) {
    for (size_t i = 0; i < n; i++) x[i] = size * (2 * (float)philox_uniform(5, stream, (uint32_t)i, PHILOX_TEST) - 1);
}

static struct mixture *new_mixture(void) {
    struct mixture *m = malloc(sizeof *m);
    if (!m) abort();
    fill(&m->embd[0][0], VOCAB * EMBD, 1, 1);
    fill(&m->router[0][0], N_EXPERT * EMBD, 2, 1);
    fill(&m->gate_up[0][0][0], N_EXPERT * 2 * FF * EMBD, 3, 0.3f);
    fill(&m->down[0][0][0], N_EXPERT * EMBD * FF, 4, 0.3f);
    fill(&m->gate_bias[0][0], N_EXPERT * FF, 5, 0.5f);
    fill(&m->down_bias[0][0], N_EXPERT * EMBD, 6, 0.5f);
    return m;
}

// weighs_input: the experts read weighted rows (Llama 4), else their outputs are weighted. per_slice: so many have one matrix.
static size_t list_ops(const struct mixture *m, bool weighs_input, int32_t per_slice, struct op ops[16]) {
    size_t n = 0;
    const int8_t in = weighs_input ? PART_IN : X;
    const struct op_head of_embd = {PAD_EMBD, 0}, of_ff = {PAD_FF, 0}, of_in = {weighs_input ? PAD_EMBD : 0, 0};
#define OP(kind_, src_, src2_, dst_, matrix_, width_, ...)                                                           \
    ops[n++] = (struct op){.kind = OP_##kind_,                                                                       \
                           .layer = -1,                                                                              \
                           .src = (src_),                                                                            \
                           .src2 = (src2_),                                                                          \
                           .dst = (dst_),                                                                            \
                           .weights.matrix = (matrix_),                                                              \
                           .width = (width_),                                                                        \
                           __VA_ARGS__}
    OP(EMBED, -1, -1, X, 0, EMBD, .heads.n = 1, .embed.factor = 1);
    OP(LINEAR, X, -1, ROUTED, 1, N_EXPERT, .heads.n = 1);
    OP(ROUTE, ROUTED, -1, CHOICES, -1, 2 * N_USED, .heads.n = 1);
    if (weighs_input) OP(SPREAD, X, CHOICES, PART_IN, -1, N_USED * PAD_EMBD, .heads = {N_USED, .dst = of_embd});
    OP(EXPERTS, in, CHOICES, GATED, 2, N_USED * PAD_FF, .weights.vec = &m->gate_bias[0][0],
       .heads = {N_USED, of_in, of_ff}, .experts = {weighs_input, per_slice});
    OP(EXPERTS, in, CHOICES, UP, 3, N_USED * PAD_FF, .heads = {N_USED, of_in, of_ff},
       .experts = {weighs_input, per_slice});
    OP(GATE, GATED, UP, GATED, -1, N_USED * PAD_FF, .heads.n = 1, .activate.fn = ACT_FN_SILU);
    OP(EXPERTS, GATED, CHOICES, DOWN, 4, N_USED * PAD_EMBD, .weights.vec = &m->down_bias[0][0],
       .heads = {N_USED, of_ff, of_embd}, .experts = {true, per_slice});
    OP(EXPERTS_SUM, DOWN, CHOICES, OUT, -1, EMBD, .heads.n = 1, .experts_sum.is_weighted = !weighs_input);
    OP(GATHER, OUT, -1, LAST, -1, EMBD, .heads.n = 1, .rows = ROWS_WANTED);
#undef OP
    return n;
}

static const struct routing routing = {ROUTING_SOFTMAX, N_EXPERT, N_USED, 1, 1, 1, true, 1};

static double dot(const float *w, const double *x, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += (double)w[i] * x[i];
    return sum;
}

// The same in double, row by row and expert by expert.
static void plain_loops(const struct mixture *m, int32_t token, bool weighs_input, int32_t per_slice,
                        double out[EMBD]) {
    double x[EMBD], score[N_EXPERT], sum = 0;
    int32_t best[N_USED] = {-1, -1};
    for (int i = 0; i < EMBD; i++) x[i] = (double)m->embd[token][i], out[i] = 0;
    for (int e = 0; e < N_EXPERT; e++) score[e] = exp(dot(m->router[e], x, EMBD));
    for (int j = 0; j < N_USED; j++) {
        for (int32_t e = 0; e < N_EXPERT; e++)
            if (e != best[0] && (best[j] < 0 || score[e] > score[best[j]])) best[j] = e;
        sum += score[best[j]];
    }
    for (int j = 0; j < N_USED; j++) {
        const int32_t e = per_slice ? best[j] / per_slice : best[j];
        const double weight = score[best[j]] / sum, in = weighs_input ? weight : 1, after = weighs_input ? 1 : weight;
        double hidden[FF], read[EMBD];
        for (int i = 0; i < EMBD; i++) read[i] = x[i] * in;
        for (int i = 0; i < FF; i++) {
            const double g = dot(m->gate_up[e][i], read, EMBD) + (double)m->gate_bias[e][i];
            hidden[i] = g / (1 + exp(-g)) * dot(m->gate_up[e][FF + i], read, EMBD);
        }
        for (int i = 0; i < EMBD; i++)
            out[i] += after * (dot(m->down[e][i], hidden, FF) + (double)m->down_bias[e][i]);
    }
}

static struct matrix matrix_of(const char *name, const void *data, size_t k, size_t n_out, size_t n_slices,
                               size_t slice_rows) {
    return (struct matrix){.name = name,
                           .type = TENSOR_F32,
                           .k = k,
                           .n_out = n_out,
                           .row_bytes = k * 4,
                           .data = data,
                           .n_slices = n_slices,
                           .slice_bytes = slice_rows * k * 4};
}

static void check_mixture(bool weighs_input, int32_t per_slice, enum cpu_set set, int n_threads, size_t n_rows,
                          bool keeps_rows) {
    struct mixture *m = new_mixture();
    struct op ops[16];
    const size_t n_slices = per_slice ? (size_t)((N_EXPERT - 1) / per_slice + 1) : N_EXPERT;
    const struct matrix matrices[] = {matrix_of("embd", m->embd, EMBD, VOCAB, 1, VOCAB),
                                      matrix_of("router", m->router, EMBD, N_EXPERT, 1, N_EXPERT),
                                      matrix_of("gate", m->gate_up, EMBD, FF, n_slices, 2 * FF),
                                      matrix_of("up", m->gate_up[0][FF], EMBD, FF, n_slices, 2 * FF),
                                      matrix_of("down", m->down, FF, EMBD, n_slices, EMBD)};
    struct program p = {.ops = ops,
                        .matrices = matrices,
                        .n_matrices = 5,
                        .n_buffers = N_BUFFERS,
                        .hidden = LAST,
                        .logits = LAST,
                        .width = {EMBD, N_EXPERT, 2 * N_USED, N_USED * PAD_EMBD, N_USED * PAD_FF, N_USED * PAD_FF,
                                  N_USED * PAD_EMBD, EMBD, EMBD},
                        .rows = {[LAST] = ROWS_WANTED},
                        .n_groups = 1,
                        .routing = routing};
    const struct backend_sizes sizes = {.n_batch = 64, .n_wanted = 64, .n_pages = {1}, .codec = {KV_F32}};
    struct batch_row rows[64] = {0};
    int32_t wanted[64];
    pool *threads = NULL;
    backend *b = NULL;
    rn_error err = {0};
    p.n_ops = list_ops(m, weighs_input, per_slice, ops);
    for (size_t r = 0; r < n_rows; r++) rows[r].token = (int32_t)(r * 7 % VOCAB), wanted[r] = (int32_t)r;
    const struct batch_seq seq = {0};
    const struct batch batch = {.rows = rows, .n_rows = n_rows, .seqs = &seq, .wanted = wanted, .n_wanted = n_rows};
    CHECK_OK(pool_create(n_threads, &threads, &err), &err);
    const struct backend_spec spec = {.threads = threads, .kernels = kernel_set_get(set), .keeps_rows = keeps_rows};
    if (threads && CHECK_OK(backend_open(&spec, &b, &err), &err)) {
        if (CHECK_OK(backend_load(b, &p, &sizes, NULL, NULL, &err), &err)) {
            struct backend_rows results = {0};
            CHECK_OK(backend_run(b, &batch, &err), &err);
            CHECK_OK(backend_fetch(b, LAST, batch.n_rows, &results, &err), &err);
            double worst = 0, want[EMBD];
            for (size_t r = 0; r < n_rows; r++) {
                plain_loops(m, rows[r].token, weighs_input, per_slice, want);
                for (int i = 0; i < EMBD; i++)
                    worst = fmax(worst, fabs((double)backend_row(&results, r)[i] - want[i]));
            }
            check_note("%s, %d threads, %zu rows%s: differs by %g", cpu_set_name(set), n_threads, n_rows,
                       keeps_rows ? ", rows kept" : "", worst);
            CHECK(worst <= 1e-5); // of numbers up to about 2
        }
    }
    backend_destroy(b);
    pool_destroy(threads);
    free(m);
}

static void check_mixtures(bool weighs_input, int32_t per_slice) {
    static const size_t n_rows[] = {1, 2, 4, 5, 17, 64};
    for (enum cpu_set set = CPU_REF; set < CPU_N_SETS; set++)
        for (size_t i = 0; cpu_set_available(set) && i < sizeof n_rows / sizeof *n_rows; i++)
            for (int n_threads = 1; n_threads <= 3; n_threads++)
                check_mixture(weighs_input, per_slice, set, n_threads, n_rows[i], i % 2 == 1);
}

TEST(experts_give_what_plain_loops_give) { check_mixtures(false, 0); }
TEST(experts_that_read_weighted_rows_give_what_plain_loops_give) { check_mixtures(true, 0); }
TEST(experts_that_share_matrices_give_what_plain_loops_give) { check_mixtures(false, 2); }
