// backend/cpu/cpu_private.h - what the files of this folder share.
#ifndef RN_BACKEND_CPU_PRIVATE_H
#define RN_BACKEND_CPU_PRIVATE_H

#include "backend/cpu/cpu_backend.h"
#include <stdatomic.h>

#define ATTEND_TILE        64   // queries of one task: rows of a sequence times the heads that share a key head ...
#define ATTEND_MAX_QUERIES 256  // ... but at least one row's heads, and those are no more than this
#define CPU_MAX_ACTS       40   // activation buffers: (row buffer, format) pairs in use
#define ATTEND_SPLIT       1024 // keys whose softmax states are merged in order (docs/design.md section 6)

// A matrix as held for multiplying: packed panels, or the file's rows, which a set that packs turns into panels just before it
// multiplies.
struct cpu_matrix {
    const struct matrix *m;
    const struct matmul_ops *ops;
    uint8_t *panels;               // NULL: file rows
    size_t panels_at, panel_bytes; // where in the backend's panels; bytes of one, 0: the set multiplies with rows
};

// How an op's work is divided among threads. SPLIT_ROWS ops that follow on each other need no barrier between them.
enum op_split {
    SPLIT_ROWS,  // each thread has its rows: the same ones in every such op
    SPLIT_CLAIM, // threads claim pieces from a counter
    SPLIT_EACH   // each thread does all of it, and keeps the result to itself
};

// The schedules of a step, planned when the program is loaded: they differ in who computes what, and in no bit (cpu_schedule.h).
enum cpu_schedule {
    SCHEDULE_ROWS, // many rows: what is done row by row is split by rows
    SCHEDULE_EACH, // few rows: each thread does it for all rows, which takes less time than waiting for another that does
    SCHEDULE_STORES, // so too; and whoever attends with a key head has stored the rows' keys and values there itself
    CPU_N_SCHEDULES
};

// An op's part in one schedule.
struct op_schedule {
    enum op_split split;
    bool barrier;       // wait for all threads before it
    bool fills_dst;     // changes dst in place, of which the thread's own copy does not hold the rows yet
    uint8_t own;        // OWN_ bits: operands that are the thread's own copies
    uint8_t n_together; // with so many ops from here on each claimed piece goes through all of them; 0: one of these
};
enum { OWN_SRC = 1, OWN_SRC2 = 2, OWN_DST = 4, OWN_ACT = 8 };
#define CPU_MOST_TOGETHER 8 // ops

// A program's op made ready; one more kind prepares activations for the matrices that share them.
struct cpu_op {
    struct op op;
    bool prepare; // op.src -> activation buffer `act`, in `format`
    enum act_format format;
    int32_t act;            // activation buffer read (by a product) or written (prepare); -1: none
    atomic_size_t *claimed; // next piece; NULL: it is never claimed
    struct op_schedule schedules[CPU_N_SCHEDULES];
};

// Rows of one sequence that are attended to together, for one key head at a time.
struct attend_task {
    int32_t first, n;    // rows of the batch
    int32_t begin, end;  // positions that they see: from the first that any of them does, behind the last
    int32_t n_apart;     // 1, or the splits of 1,024 keys that threads take apart ..
    size_t states, left; // .. then, of the first head: states [head][split][query], and splits not yet done [head]
};
// What a thread claims, times a key head: a whole task, or one of its splits (counted from the first that it sees).
struct attend_unit {
    int32_t task, split;
};
// The attention of the running step, of layers that attend in one way.
struct attend_plan {
    const struct attend_kind *kind;
    struct attend_task *tasks;
    struct attend_unit *units; // the longest first
    size_t n_tasks, n_units, most_units;
    float *m, *l, *o; // [most_states], o with v_dim floats each
    size_t most_states;
    atomic_int *left;
};

// The copies of row and activation buffers that a thread has to itself: of steps of at most n_rows rows (0: there are none).
struct own_copies {
    size_t n_rows, bytes;
    size_t row_at[PROGRAM_MAX_BUFFERS], act_at[CPU_MAX_ACTS]; // where in these bytes
};

struct cpu_page_group {
    uint8_t *pages;
    size_t page_bytes, pool_bytes;
    size_t key_bytes, value_bytes; // of one block
};

struct cpu_backend {
    backend base;
    const struct kernel_set *k;
    pool *threads;
    bool keeps_rows; // no panels
    const struct program *p;
    struct backend_sizes sizes;
    const struct cpu_backend *weights_of; // whose matrices and panels these are; NULL: its own
    struct cpu_matrix *matrices;
    uint8_t *panels; // of all matrices
    size_t panels_bytes;
    struct cpu_op *ops;
    size_t n_ops;
    atomic_size_t *claims; // [n_ops], a cache line apart
    float *buffers[PROGRAM_MAX_BUFFERS];
    size_t stride[PROGRAM_MAX_BUFFERS]; // floats between rows
    size_t n_acts;
    void *acts[CPU_MAX_ACTS];
    size_t act_stride[CPU_MAX_ACTS], act_rows[CPU_MAX_ACTS];
    struct own_copies copies;
    uint8_t *own;                      // [n_threads] of copies.bytes; NULL: none
    float *cos_sin[PROGRAM_MAX_ROPES]; // [n_batch][n_rot]
    struct cpu_page_group groups[PROGRAM_MAX_GROUPS];
    struct cpu_page_group states; // a page is a slot
    uint8_t *thread_scratch;      // [n_threads] of thread_scratch_bytes
    size_t thread_scratch_bytes;
    struct attend_plan attend[PROGRAM_MAX_KINDS];
    bool
        one_stores; // keys and values that the step's rows bring are read by one unit of each head: it can store them
    const struct batch *batch; // of the running step
    enum cpu_schedule schedule;
    backend_collect_fn collect; // NULL: none
    void *collect_user;
    struct cpu_profile *profile, *profiled; // running; ended and told. NULL: none
};

// cpu_weights.c
rn_status cpu_weights_load(struct cpu_backend *b, backend_progress progress, void *user, rn_error *err);
void cpu_weights_plan(const struct cpu_backend *b, const struct program *p, struct backend_memory *out);
void cpu_weights_free(struct cpu_backend *b);
// How many panels are made at a time where they are not kept, and the memory that takes; 0: the set multiplies with rows.
size_t cpu_panels_at_once(const struct matmul_ops *ops, size_t k);

// The activation buffers: which row buffer, in which format.
struct act_table {
    int32_t n;
    struct {
        int8_t src;
        enum act_format format;
        size_t k, n_part; // parts of a row that are prepared one by one
    } row[CPU_MAX_ACTS];
};

// cpu_lower.c: ops with activations shared; takes row and activation buffers.
rn_status cpu_lower(struct cpu_backend *b, rn_error *err);
uint64_t cpu_buffer_bytes(const struct cpu_backend *b, const struct program *p, const struct backend_sizes *s);
uint64_t cpu_buffers_resident(const struct cpu_backend *b); // of the row and activation buffers
void cpu_lower_free(struct cpu_backend *b);

// Memory of one thread's own, as large as any op wants it: 64-byte aligned, its contents lost between ops. A linear op has panels made
// there first, then what gemm wants.
size_t cpu_scratch_bytes(const struct cpu_backend *b, const struct program *p, const struct backend_sizes *s);
static inline void *cpu_scratch(const struct cpu_backend *b, int i_thread) {
    return b->thread_scratch + (size_t)i_thread * b->thread_scratch_bytes;
}

// cpu_copies.c, cpu_schedule.c
struct own_copies cpu_own_copies(const struct program *p, const struct backend_sizes *s, int n_threads,
                                 const struct act_table *acts);
void cpu_schedules_plan(struct cpu_backend *b); // fills the schedules of b->ops
enum cpu_schedule cpu_schedule_of_step(const struct cpu_backend *b);

// cpu_ops.c
size_t cpu_op_rows(const struct cpu_backend *b, const struct cpu_op *o); // of the running step

size_t recur_scratch_bytes(const struct program *p); // cpu_recur.c: of one thread
// cpu_attend.c, cpu_attend_plan.c
size_t attend_scratch_bytes(const struct cpu_backend *b, const struct program *p,
                            const struct backend_sizes *s); // of one thread
uint64_t attend_plan_bytes(const struct program *p, const struct backend_sizes *s, int n_threads);
rn_status attend_plan_load(struct cpu_backend *b, rn_error *err);
void attend_plan_free(struct cpu_backend *b);
void attend_plan_step(struct cpu_backend *b); // of b->batch, before its ops run

// cpu_pages.c
static inline const struct kv_codec_ops *cpu_codec(const struct cpu_backend *b, int32_t group) {
    return &b->k->kv[b->sizes.codec[group]];
}
rn_status cpu_pages_load(struct cpu_backend *b, rn_error *err);
size_t cpu_page_bytes(const struct cpu_backend *b, const struct program *p, int32_t group, enum kv_codec codec);
void cpu_pages_free(struct cpu_backend *b);
void cpu_pages_copy(struct cpu_backend *b, const struct kv_copy *c);
void cpu_page_read(const struct cpu_backend *b, int32_t group, int32_t page, int32_t n, uint8_t *out);
void cpu_page_write(struct cpu_backend *b, int32_t group, int32_t page, const uint8_t *bytes);
// The key block of a layer and head in a page; its value block follows it.
uint8_t *cpu_key_block(const struct cpu_backend *b, int32_t layer, int32_t head, int32_t page);

// cpu_states.c
rn_status cpu_states_load(struct cpu_backend *b, rn_error *err);
size_t cpu_state_bytes(const struct program *p); // of a slot
void cpu_states_free(struct cpu_backend *b);
uint8_t *cpu_state(const struct cpu_backend *b, int32_t slot); // 64-byte aligned

#endif
