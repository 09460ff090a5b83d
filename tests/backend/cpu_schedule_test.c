// tests/backend/cpu_schedule_test.c - distribution of a step's work: barriers only where needed, the same bits with every schedule.
#include "backend/cpu/cpu_private.h"
#include "base/philox.h"
#include "tests/check.h"
#include "tests/support/lm_rig.h"
#include <stdlib.h>
#include <string.h>

// A tiny model's matrices and sizes; programs are made here.
struct bench {
    uint8_t *bytes;
    package *pkg;
    struct model *model;
    pool *threads;
    backend *backend;
    const struct cpu_backend *cpu;
    struct program p; // outlives the backend
};
enum { EMBD = 96, KV = 48, FF = 160, VOCAB = 50, MOST_ROWS = 24 };
static const struct backend_sizes sizes = {.n_batch = MOST_ROWS, .n_wanted = MOST_ROWS, .n_pages = {2}};

static bool bench_open(struct bench *b, enum tensor_type type, int n_threads) {
    struct tiny_model m = tiny_model_default();
    rn_error err = {0};
    size_t n;
    m.n_embd = EMBD, m.n_head = 4, m.n_head_kv = 2, m.n_ff = FF, m.n_vocab = VOCAB, m.vocab = TINY_NO_VOCAB;
    m.type = type;
    *b = (struct bench){.bytes = tiny_model_bytes(&m, &n)};
    return CHECK_OK(package_from_bytes("tiny", b->bytes, n, &b->pkg, &err), &err) &&
           CHECK_OK(model_build(b->pkg, &b->model, &err), &err) &&
           CHECK_OK(pool_create(n_threads, &b->threads, &err), &err);
}
static bool bench_load(struct bench *b, const struct program *p, enum kv_codec codec) {
    rn_error err = {0};
    const struct kernel_set *set = kernel_set_get(cpu_set_detect(CPU_N_SETS));
    const struct backend_spec spec = {.threads = b->threads, .kernels = set};
    struct backend_sizes of_codec = sizes;
    of_codec.codec[0] = codec;
    if (!CHECK_OK(backend_open(&spec, &b->backend, &err), &err)) return false;
    b->cpu = (const struct cpu_backend *)b->backend;
    return CHECK_OK(backend_load(b->backend, p, &of_codec, NULL, NULL, &err), &err);
}
static void bench_close(struct bench *b) {
    backend_destroy(b->backend);
    pool_destroy(b->threads);
    model_destroy(b->model);
    package_close(b->pkg);
    free(b->bytes);
}

// Plans -----------------------------------------------------------------------------------------------------------------------

TEST(a_llama_layer_of_a_step_of_few_rows_has_5_barriers) {
    static const int most[CPU_N_SCHEDULES] = {[SCHEDULE_ROWS] = 10, [SCHEDULE_EACH] = 6, [SCHEDULE_STORES] = 5};
    struct bench b;
    if (bench_open(&b, TENSOR_Q8_0, 2) && bench_load(&b, model_program(b.model), KV_F16))
        for (enum cpu_schedule schedule = 0; schedule < CPU_N_SCHEDULES; schedule++) {
            int n = 0;
            for (size_t i = 0; i < b.cpu->n_ops; i++) {
                const struct op_schedule *w = &b.cpu->ops[i].schedules[schedule];
                n += b.cpu->ops[i].op.layer == 1 && w->n_together > 0 && w->barrier;
            }
            check_note("schedule %d", schedule);
            CHECK_INT(n, most[schedule]);
        }
    bench_close(&b);
}

enum { X, NORMED, Q, K, V, GATE, UP, DELTA, LAST, LOGITS, N_BUFFERS };
static const size_t widths[N_BUFFERS] = {EMBD, EMBD, EMBD, KV, KV, FF, FF, EMBD, EMBD, VOCAB};
enum { M_EMBED, M_Q, M_K, M_V, M_O, M_GATE, M_UP, M_DOWN };

// These ops over the model's matrices.
static void take_program(struct bench *b, const struct op *ops, size_t n) {
    b->p = *model_program(b->model);
    b->p.ops = ops, b->p.n_ops = n, b->p.n_buffers = N_BUFFERS, b->p.hidden = LAST, b->p.logits = LOGITS;
    for (int i = 0; i < N_BUFFERS; i++) b->p.width[i] = widths[i], b->p.rows[i] = i >= LAST ? ROWS_WANTED : ROWS_ALL;
}

// Letters: barrier `|` or none, then r(ows), c(laimed), e(ach), and `+` where the op goes with the one before it.
static void spell(char *out, const struct cpu_op *o, enum cpu_schedule schedule) {
    const struct op_schedule *w = &o->schedules[schedule];
    if (w->barrier) *out++ = '|';
    *out++ = w->n_together == 0 ? '+' : "rce"[w->split];
    *out = '\0';
}

struct planned_op {
    const char *why;
    struct op op;
    const char *schedules[CPU_N_SCHEDULES];
};
#define OP(k, s, s2, d, m, l)                                                                                        \
    {.kind = OP_##k, .src = (s), .src2 = (s2), .dst = (d), .weights.matrix = (m), .layer = (l)}
#define LAST_OP(k, s, d, m)                                                                                          \
    {.kind = OP_##k, .src = (s), .src2 = -1, .dst = (d), .weights.matrix = (m), .layer = -1, .rows = ROWS_WANTED}

static void check_plan(const struct planned_op *rows, size_t n) {
    struct bench b;
    if (bench_open(&b, TENSOR_F32, 2)) {
        struct op ops[32];
        for (size_t i = 0; i < n; i++) ops[i] = rows[i].op;
        take_program(&b, ops, n);
        if (bench_load(&b, &b.p, KV_F16) && CHECK_INT(b.cpu->n_ops, n))
            for (size_t i = 0; i < n; i++)
                for (enum cpu_schedule schedule = 0; schedule < CPU_N_SCHEDULES; schedule++) {
                    char spelled[4];
                    spell(spelled, &b.cpu->ops[i], schedule);
                    check_note("%s: schedule %d of op %zu", rows[i].why, schedule, i);
                    CHECK_STR(spelled, rows[i].schedules[schedule]);
                }
    }
    bench_close(&b);
}

TEST(a_barrier_stands_wherever_one_thread_meets_what_another_writes_or_reads_and_nowhere_else) {
    static const struct planned_op rows[] = {
        {"the first op", OP(EMBED, -1, -1, X, M_EMBED, -1), {"r", "e", "e"}},
        {"own rows after own rows", OP(RMS_NORM, X, -1, NORMED, -1, 0), {"r", "e", "e"}},
        {"pieces of all rows after rows", OP(LINEAR, NORMED, -1, DELTA, M_O, 0), {"|c", "c", "c"}},
        {"rows that others still read", OP(ADD, X, -1, NORMED, -1, 0), {"|r", "e", "e"}},
        {"rows of whole pieces", OP(LINEAR, X, -1, Q, M_Q, 0), {"c", "c", "c"}},
        {"rows written in pieces", OP(ADD, DELTA, -1, X, -1, 0), {"|r", "|e", "|e"}},
        {"rows changed in place that all threads see", OP(ADD, X, -1, DELTA, -1, 0), {"r", "e", "e"}},
        {"pieces over rows that others still read", OP(LINEAR, NORMED, -1, DELTA, M_Q, 0), {"|c", "|c", "|c"}},
        {"other rows", LAST_OP(GATHER, X, LAST, -1), {"|r", "|r", "|r"}},
        {"the head", LAST_OP(LINEAR, LAST, LOGITS, M_EMBED), {"|c", "|c", "|c"}},
    };
    check_plan(rows, sizeof rows / sizeof *rows);
}

TEST(ops_go_together_where_pieces_of_one_need_no_other_piece_and_nowhere_else) {
    static const struct planned_op rows[] = {
        {"the first op", OP(EMBED, -1, -1, X, M_EMBED, -1), {"r", "e", "e"}},
        {"the first of three matrices", OP(LINEAR, X, -1, Q, M_Q, 0), {"|c", "c", "c"}},
        {"beside it", OP(LINEAR, X, -1, K, M_K, 0), {"c", "+", "+"}},
        {"and beside both", OP(LINEAR, X, -1, V, M_V, 0), {"c", "+", "+"}},
        {"reads what a matrix writes", OP(LINEAR, Q, -1, DELTA, M_O, 0), {"|c", "|c", "|c"}},
        {"keys and values of pieces", OP(STORE_KV, K, V, -1, -1, 0), {"r", "r", "c"}},
        {"stored just before", OP(ATTEND, Q, -1, NORMED, -1, 0), {"|c", "|c", "+"}},
        {"stored for a layer", OP(STORE_KV, K, V, -1, -1, 0), {"|r", "|r", "|r"}},
        {"but not this one", OP(ATTEND, Q, -1, NORMED, -1, 1), {"|c", "|c", "|c"}},
        {"gate", OP(LINEAR, X, -1, GATE, M_GATE, 0), {"c", "c", "c"}},
        {"up", OP(LINEAR, X, -1, UP, M_UP, 0), {"c", "+", "+"}},
        {"what is made of both", OP(GATE, GATE, UP, GATE, -1, 0), {"|r", "+", "+"}},
        {"down", OP(LINEAR, GATE, -1, DELTA, M_DOWN, 0), {"|c", "|c", "|c"}},
        {"not of what is just before it", OP(GATE, GATE, UP, UP, -1, 0), {"r", "e", "e"}},
        {"of rows", OP(LINEAR, X, -1, Q, M_Q, 0), {"c", "c", "c"}},
        {"into these rows", OP(GATE, Q, DELTA, X, -1, 0), {"|r", "|e", "|e"}},
    };
    check_plan(rows, sizeof rows / sizeof *rows);
}

// Random programs -------------------------------------------------------------------------------------------------------------

struct random {
    uint64_t seed;
    uint32_t n_drawn;
};
static int below(struct random *r, int n) { return (int)(philox_uniform(r->seed, 1, r->n_drawn++, PHILOX_TEST) * n); }

enum { MOST_OPS = 48, N_STEPS = 4 };
struct made {
    struct op ops[MOST_OPS];
    size_t n;
    bool written[N_BUFFERS];
};

// A buffer of this width that holds something (any: may hold nothing yet), not one of the two; -1: none was found.
static int8_t draw_buffer(struct random *r, const struct made *m, size_t width, bool any, int not1, int not2) {
    for (int tries = 0; tries < 20; tries++) {
        const int i = below(r, LAST);
        if (widths[i] == width && (any || m->written[i]) && i != not1 && i != not2) return (int8_t)i;
    }
    return -1;
}

static void push(struct made *m, struct op o) {
    if (o.kind == OP_EMBED) o.embed.factor = 1;
    if (o.kind == OP_ADD) o.scale.factor = 1;
    o.width = o.dst < 0 ? 0 : (int32_t)widths[o.dst];
    if (!o.heads.n) o.heads.n = 1;
    o.heads.src.stride = o.heads.dst.stride = o.width / o.heads.n;
    m->ops[m->n++] = o;
    if (o.dst >= 0) m->written[o.dst] = true;
}

static void draw_op(struct random *r, struct made *m, const struct program *p, const float *ones) {
    static const size_t any_width[] = {EMBD, KV, FF};
    const size_t width = any_width[below(r, 3)];
    const int kind = below(r, 12);
    struct op o = {.layer = below(r, 2), .src = -1, .src2 = -1, .dst = -1, .weights.matrix = -1};
    if (kind < 6) {
        o.kind = OP_LINEAR, o.weights.matrix = M_Q + below(r, M_DOWN);
        o.src = draw_buffer(r, m, p->matrices[o.weights.matrix].k, false, -1, -1);
        o.dst = draw_buffer(r, m, p->matrices[o.weights.matrix].n_out, true, o.src, -1);
        if (o.src < 0 || o.dst < 0) return;
    } else if (kind < 7) {
        o.kind = OP_RMS_NORM, o.weights.vec = ones;
        o.src = draw_buffer(r, m, width, false, -1, -1), o.dst = draw_buffer(r, m, width, true, -1, -1);
        if (o.src < 0 || o.dst < 0) return;
    } else if (kind < 9) {
        o.kind = OP_GATE, o.src = draw_buffer(r, m, width, false, -1, -1);
        o.src2 = draw_buffer(r, m, width, false, o.src, -1);
        o.dst = below(r, 2) ? o.src : draw_buffer(r, m, width, true, o.src2, -1);
        if (o.src < 0 || o.src2 < 0 || o.dst < 0) return;
    } else if (kind < 10) {
        o.kind = OP_ADD, o.src = draw_buffer(r, m, width, false, -1, -1);
        o.dst = draw_buffer(r, m, width, false, o.src, -1);
        if (o.src < 0 || o.dst < 0) return;
    } else if (kind < 11) {
        o.kind = OP_ROPE, o.heads.n = below(r, 2) ? 4 : 2;
        o.dst = draw_buffer(r, m, o.heads.n == 4 ? EMBD : KV, false, -1, -1);
        if (o.dst < 0) return;
    } else if (m->written[K] && m->written[V]) {
        push(m, (struct op){
                    .kind = OP_STORE_KV, .layer = o.layer, .src = K, .src2 = V, .dst = -1, .weights.matrix = -1});
        o.kind = OP_ATTEND, o.src = draw_buffer(r, m, EMBD, false, -1, -1);
        o.dst = draw_buffer(r, m, EMBD, true, o.src, -1);
    } else {
        return;
    }
    push(m, o);
}

// As in a model's program, random ops read only what was written in the same step.
static void draw_program(struct random *r, struct made *m, const struct program *p, const float *ones) {
    *m = (struct made){0};
    push(m, (struct op)OP(EMBED, -1, -1, X, M_EMBED, -1));
    while (m->n < MOST_OPS - 5) draw_op(r, m, p, ones);
    push(m, (struct op)LAST_OP(GATHER, draw_buffer(r, m, EMBD, false, -1, -1), LAST, -1));
    push(m, (struct op)LAST_OP(RMS_NORM, LAST, LAST, -1));
    m->ops[m->n - 1].weights.vec = ones;
    push(m, (struct op)LAST_OP(LINEAR, LAST, LOGITS, M_EMBED));
}

// Steps of a few rows of one sequence, and of more than are few; all logits to out. Returns how many.
static size_t run_steps(struct bench *b, struct random *r, float *out) {
    static const int32_t pages[] = {0, 1};
    size_t n_out = 0;
    for (int32_t step = 0, pos = 0; step < N_STEPS; step++) {
        struct batch_row rows[MOST_ROWS] = {0};
        int32_t wanted[MOST_ROWS];
        const int32_t n = step == 0 ? 1 : 1 + below(r, step == 3 ? MOST_ROWS : 3);
        for (int32_t i = 0; i < n; i++, pos++) {
            rows[i] = (struct batch_row){
                .token = below(r, VOCAB), .pos = pos, .store = {{pages[pos / KV_BLOCK], pos % KV_BLOCK}}};
            wanted[i] = i;
        }
        const struct batch_seq seq = {.pages = {pages}, .n_committed = pos};
        struct backend_rows results = {0};
        rn_error err = {0};
        CHECK_OK(backend_run(b->backend, &(struct batch){rows, (size_t)n, &seq, wanted, (size_t)n}, &err), &err);
        CHECK_OK(backend_fetch(b->backend, LOGITS, (size_t)n, &results, &err), &err);
        for (int32_t i = 0; i < n; i++, n_out += VOCAB)
            memcpy(out + n_out, backend_row(&results, (size_t)i), VOCAB * sizeof(float));
    }
    return n_out;
}

static void check_program(uint64_t seed, enum tensor_type type, int n_threads, const float *want, float *out,
                          size_t *n_out) {
    struct random r = {.seed = seed};
    struct made m;
    struct bench b;
    float ones[FF];
    for (int i = 0; i < FF; i++) ones[i] = 1;
    if (bench_open(&b, type, n_threads)) {
        draw_program(&r, &m, model_program(b.model), ones);
        take_program(&b, m.ops, m.n);
        if (bench_load(&b, &b.p, (enum kv_codec)(seed % KV_N_CODECS))) {
            *n_out = run_steps(&b, &r, out);
            check_note("program %llu of %s on %d threads", (unsigned long long)seed, tensor_type_info(type)->name,
                       n_threads);
            if (want) CHECK_MEM(out, want, *n_out * sizeof *out);
        }
    }
    bench_close(&b);
}

TEST(any_program_gives_the_same_bits_on_any_number_of_threads) {
    static const enum tensor_type types[] = {TENSOR_F32, TENSOR_Q8_0, TENSOR_Q4_1, TENSOR_BF16};
    static const int n_threads[] = {2, 3, 8};
#if defined(TESTS_SANITIZED)
    enum { N_PROGRAMS = 12 };
#else
    enum { N_PROGRAMS = 60 };
#endif
    float *want = new_floats((size_t)N_STEPS * MOST_ROWS * VOCAB),
          *out = new_floats((size_t)N_STEPS * MOST_ROWS * VOCAB);
    for (uint64_t seed = 1; seed <= N_PROGRAMS; seed++) {
        const enum tensor_type type = types[seed % 4];
        size_t n_want = 0, n = 0;
        check_program(seed, type, 1, NULL, want, &n_want);
        for (int i = 0; i < 3; i++) {
            check_program(seed, type, n_threads[i], want, out, &n);
            CHECK_INT(n, n_want);
        }
    }
    free(want);
    free(out);
}
