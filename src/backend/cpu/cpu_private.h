// backend/cpu/cpu_private.h - what the files of this folder share.
#ifndef RN_BACKEND_CPU_PRIVATE_H
#define RN_BACKEND_CPU_PRIVATE_H

#include "backend/cpu/cpu_backend.h"
#include <stdatomic.h>

#define ATTEND_TILE        64   // queries of a task: rows times the heads that share a key head ...
#define ATTEND_MAX_QUERIES 256  // ... but at least the heads of one row, which are limited to this
#define CPU_MAX_ACTS       64   // activation buffers: (row buffer, format) pairs
#define ATTEND_SPLIT       1024 // keys of a split; states are merged in order (docs/arithmetic.md)

// A matrix for products: packed panels, or the file's rows, which a kernel set with panels packs
// just before use.
struct cpu_matrix {
    const struct matrix *m;
    const struct matmul_ops *ops;
    uint8_t *panels; // NULL: the file's rows are used
    bool is_shared;  // the panels are those of cpu_backend.part_of
    // Offset in the backend's panels; bytes of one panel, 0: the kernel set multiplies with rows.
    size_t panels_at, panel_bytes;
};

// How an op's work is divided among threads. Consecutive SPLIT_ROWS ops need no barrier between
// them.
enum op_split {
    SPLIT_ROWS,  // each thread computes its rows, the same ones in every such op
    SPLIT_CLAIM, // threads claim pieces from a counter
    SPLIT_EACH   // each thread computes all rows, in private copies
};

// The schedules of a step, planned when the program is loaded. They divide the work differently and
// give the same bits (cpu_schedule.h).
enum cpu_schedule {
    SCHEDULE_ROWS, // many rows: row-wise ops are divided by rows
    // Few rows: each thread computes row-wise ops for all rows, which is faster than waiting for
    // another thread.
    SCHEDULE_EACH,
    // The same; and the thread that attends with a key head stores the rows' keys and values of
    // that head itself.
    SCHEDULE_STORES,
    CPU_N_SCHEDULES
};

// An op's part in one schedule.
struct op_schedule {
    enum op_split split;
    bool barrier;   // all threads wait before it
    bool fills_dst; // dst changes in place and must first be copied from the shared rows
    uint8_t own;    // OWN_ bits: operands that are private copies
    // Ops joined from this one on: each claimed piece goes through all. 0: joined to an earlier op.
    uint8_t n_together;
};
enum { OWN_SRC = 1, OWN_SRC2 = 2, OWN_DST = 4, OWN_ACT = 8 };
#define CPU_MOST_TOGETHER 8 // ops

// An op of the program, lowered; or one that prepares activations for the matrices that share them.
struct cpu_op {
    struct op op;
    bool prepare; // converts op.src to activation buffer `act`, in `format`
    enum act_format format;
    int32_t act;                        // activation buffer that a product reads or `prepare` writes; -1: none
    const struct cpu_adapter *adapters; // [program.n_adapters] of the op; NULL: none change it
    atomic_size_t *claimed;             // number of the next piece; NULL: its work is never claimed
    struct op_schedule schedules[CPU_N_SCHEDULES];
};

// Rows of one sequence whose attention is computed together, for one key head at a time.
struct attend_task {
    int32_t first, n;   // rows of the batch
    int32_t begin, end; // positions [begin, end) that any of them attends to
    int32_t n_apart;    // 1, or the number of splits of 1,024 keys that threads share
    // Of these, for the first head: states [head][split][query], splits left [head].
    size_t states, left;
};
// What a thread claims, for each key head: a whole task, or one of its splits (from the first that
// it reads).
struct attend_unit {
    int32_t task, split;
};
// The attention of the current step, for layers of one kind.
struct attend_plan {
    const struct attend_kind *kind;
    struct attend_task *tasks;
    struct attend_unit *units; // longest first
    size_t n_tasks, n_units, most_units;
    float *m, *l, *o; // [most_states], o with v_dim floats each
    size_t most_states;
    atomic_int *left;
};

// A thread's private copies of row and activation buffers, for steps of at most n_rows rows; 0:
// there are none.
struct own_copies {
    size_t n_rows, bytes;
    size_t row_at[PROGRAM_MAX_BUFFERS], act_at[CPU_MAX_ACTS]; // offsets in these bytes
};

// Row buffers of adapters (cpu_adapters.c): offsets in the room of a thread.
struct adapter_room {
    size_t stride; // floats of A x of a row; 0: there is no room
    size_t n_own;  // rows of a step of few rows
    size_t shared_bytes, thread_bytes;
    size_t own_at, tile_at, gathered_at, expert_at, scratch_at;
    uint8_t *shared, *threads;
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
    const struct cpu_backend *weights_of; // owner of the matrices and panels; NULL: this one
    const struct cpu_backend *part_of;    // owner of borrowed panels; NULL: none are shared
    struct cpu_matrix *matrices;
    uint8_t *panels; // of all matrices
    size_t panels_bytes;
    struct cpu_adapter *adapters;     // of all ops that adapters change
    struct cpu_adapter **adapters_of; // [program.n_ops] an op's; NULL: none
    uint8_t *adapter_panels;          // their matrices
    size_t adapter_panels_bytes;
    struct adapter_room adapter_room;
    uint64_t adapters_used; // by rows of the current step: a bit for each adapter
    struct cpu_op *ops;
    size_t n_ops, first_result; // from first_result on none is about a row that nothing is wanted of
    atomic_size_t *claims;      // [n_ops], a cache line apart
    float *buffers[PROGRAM_MAX_BUFFERS];
    size_t stride[PROGRAM_MAX_BUFFERS]; // floats between rows
    size_t n_acts;
    void *acts[CPU_MAX_ACTS];
    size_t act_stride[CPU_MAX_ACTS], act_rows[CPU_MAX_ACTS];
    struct own_copies copies;
    uint8_t *own;                      // [n_threads] of copies.bytes; NULL: none
    float *cos_sin[PROGRAM_MAX_ROPES]; // [n_batch][n_rot]
    struct cpu_page_group groups[PROGRAM_MAX_GROUPS];
    struct cpu_page_group states; // a page is a slot of state
    uint8_t *thread_scratch;      // [n_threads] of thread_scratch_bytes
    size_t thread_scratch_bytes;
    struct attend_plan attend[PROGRAM_MAX_KINDS];
    // Each sequence's new keys and values are read by one unit of each head, which can store them.
    bool one_stores;
    const struct batch *batch; // of the current step
    enum cpu_schedule schedule;
    backend_collect_fn collect; // NULL: none
    void *collect_user;
    struct cpu_profile *profile, *profiled; // running; ended and returned. NULL: none
};

// cpu_weights.c
rn_status cpu_weights_load(struct cpu_backend *b, backend_progress progress, void *user, rn_error *err);
void cpu_weights_plan(const struct cpu_backend *b, const struct program *p, struct backend_memory *out);
void cpu_weights_free(struct cpu_backend *b);
// Panels packed at a time if they are not kept, and the memory for them; 0: the kernel set
// multiplies with rows.
size_t cpu_panels_at_once(const struct matmul_ops *ops, size_t k);

// The activation buffers: a row buffer, and the format it is converted to.
struct act_table {
    int32_t n;
    struct {
        int8_t src;
        enum act_format format;
        size_t k, n_part; // parts of a row, each converted for itself
    } row[CPU_MAX_ACTS];
};

// cpu_lower.c: lowers the program's ops, and allocates row and activation buffers.
rn_status cpu_lower(struct cpu_backend *b, rn_error *err);
uint64_t cpu_buffer_bytes(const struct cpu_backend *b, const struct program *p, const struct backend_sizes *s);
uint64_t cpu_buffers_resident(const struct cpu_backend *b); // of the row and activation buffers
void cpu_lower_free(struct cpu_backend *b);

// Scratch memory of each thread, as large as any op needs: 64-byte aligned, not kept between ops. A
// linear op keeps packed panels there first, then the kernel's scratch.
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
size_t cpu_op_rows(const struct cpu_backend *b, const struct cpu_op *o); // rows of the current step

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
