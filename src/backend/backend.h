// backend/backend.h - where bytes live and programs run: the contract of every kind of machine.
//
// A backend takes a program (program.h), holds its weights, pages of keys and values and slots of state where it computes, and runs
// the program over batches of rows. How to write one: CONTRIBUTING.md, "Adding a backend".
//   backend_open -> backend_supports -> backend_get_plan -> backend_load -> run, fetch, copy, read and write pages -> backend_destroy
//
// Ownership: made by backend_open(), freed by backend_destroy().
// Threads:   one at a time (the step thread); a backend may use many inside.
#ifndef RN_BACKEND_BACKEND_H
#define RN_BACKEND_BACKEND_H

#include "backend/profile.h"
#include "backend/program.h"
#include "base/pool.h"
#include "base/status.h"
#include "kv/kv.h"
#include "tensor/kv_codec.h"

// One sequence as this step's rows see it: its committed pages, for each group.
struct batch_seq {
    const int32_t
        *pages[PROGRAM_MAX_GROUPS]; // page of each block of 64 positions; KV_NONE where it fell out of a window
    int32_t n_committed;            // positions in those pages, this step's appended rows included
    bool is_far;                    // rotated by the far frequencies, from its first position on
    uint64_t adapters;              // set of adapters; 0: none
};
// Where a row finds the recurrent state that it goes on from, and where it leaves its own.
struct batch_state {
    int32_t from; // the slot that the row before it in its sequence, or its parent, wrote; KV_NONE: zeros
    int32_t to;   // may be `from`. A slot that is read by another row too is not written
};
// Rows of a sequence stand in order, a scratch row behind its parent. Rows of a run mostly share one slot, in place; where the state
// is to be kept, at any row, the next one goes on in another.
struct batch_row {
    int32_t token, pos;
    // [program.n_vector] in place of the token's embedding, or with `adds` on top of it; NULL: none. Valid while the step runs.
    const float *vector;
    bool adds;
    int32_t coord[PROGRAM_MAX_COORDS];        // further rope coordinates; pos where the row has none of its own
    int32_t see_to;                           // last position that it attends to; its own where this is lower
    int32_t seq;                              // index into seqs
    struct kv_slot store[PROGRAM_MAX_GROUPS]; // where its keys and values go
    // Scratch rows: slots of positions [n_committed, pos], the row itself last; NULL for appended rows.
    const struct kv_slot *path[PROGRAM_MAX_GROUPS];
    struct batch_state state; // both KV_NONE where the program has no states
};
struct batch {
    const struct batch_row *rows;
    size_t n_rows;
    const struct batch_seq *seqs;
    const int32_t *wanted; // rows whose results are wanted: those whose logits are wanted first, else ascending
    size_t n_wanted, n_logits;
};

#define BACKEND_ARITHMETIC   "runnel-1" // the default one: docs/arithmetic.md
#define BACKEND_MAX_MEMORIES 4

typedef struct backend backend;

// What a backend is opened with. Zeros are the defaults.
struct backend_spec {
    const char *name; // of the registry; NULL: "cpu"
    const char *
        arithmetic; // the one whose bits the caller accepts; NULL: BACKEND_ARITHMETIC. A backend with another is refused
    // Host threads and kernels, of which a backend of another machine may make no use. The caller's; must outlive the backend.
    pool *threads;
    const struct kernel_set *kernels;
    bool keeps_rows; // weights are used as the file has them: nothing is copied, multiplying is slower. Same bits
    // An open backend of the same kind and spec, which will have loaded the very same program before this one does, and outlives it: its
    // weights may be used in place of copies, and are then planned there alone. NULL: none.
    const backend *weights_of;
};

// Bytes that a program takes in one memory, known before anything is allocated.
struct backend_memory {
    const char *name;                        // "host", "gpu 0"
    uint64_t limit_bytes;                    // of this memory; 0: the caller knows (the host's)
    uint64_t mapped_bytes;                   // weights used where the file has them
    uint64_t repacked_bytes;                 // copies in this backend's layout
    uint64_t buffer_bytes;                   // row buffers for n_batch rows and their results
    uint64_t page_bytes[PROGRAM_MAX_GROUPS]; // one page of each group
    uint64_t state_bytes;                    // one slot of state
};
// Memory 0 is the host's, also where nothing lies there.
struct backend_plan {
    size_t n_memories;
    struct backend_memory memory[BACKEND_MAX_MEMORIES];
};
// What of it is in memory now: pages, slots of state among them, count once they were touched.
struct backend_use {
    uint64_t repacked_bytes, buffer_bytes, page_bytes;
};
struct backend_sizes {
    size_t n_batch, n_wanted;
    size_t n_logits; // of the wanted rows, with logits; 0: all
    int32_t n_pages[PROGRAM_MAX_GROUPS];
    enum kv_codec codec[PROGRAM_MAX_GROUPS]; // of the pages of each group
    int32_t n_states;                        // 0 where the program has none
};
// done of total bytes laid out; true aborts with RN_E_CANCELLED.
typedef bool (*backend_progress)(void *user, uint64_t done, uint64_t total);

// Sees row x of what slice number `slice` of matrix number `matrix` of the program is multiplied with: [k].
typedef void (*backend_collect_fn)(void *user, int32_t matrix, int32_t slice, const float *x, size_t k);

// Rows of results in host memory: row i begins at at + i * stride.
struct backend_rows {
    const float *at;
    size_t stride; // floats
};
static inline const float *backend_row(const struct backend_rows *r, size_t i) { return r->at + i * r->stride; }

struct backend_ops {
    const char *name;
    rn_status (*supports)(const backend *b, const struct program *p, rn_error *err);
    rn_status (*plan)(const backend *b, const struct program *p, const struct backend_sizes *s,
                      struct backend_plan *out, rn_error *err);
    // Lay the weights out and take all memory; run() allocates nothing.
    rn_status (*load)(backend *b, const struct program *p, const struct backend_sizes *s, backend_progress progress,
                      void *user, rn_error *err);
    rn_status (*copy)(backend *b, const struct kv_copy *c, rn_error *err);
    size_t (*page_bytes)(const backend *b, int32_t group);
    rn_status (*read_page)(backend *b, int32_t group, int32_t page, int32_t n, uint8_t *out, rn_error *err);
    rn_status (*write_page)(backend *b, int32_t group, int32_t page, const uint8_t *bytes, rn_error *err);
    rn_status (*run)(backend *b, const struct batch *batch, rn_error *err);
    rn_status (*fetch)(backend *b, int32_t buffer, size_t n, struct backend_rows *out, rn_error *err);
    void (*collect)(backend *b, backend_collect_fn fn, void *user);
    rn_status (*profile_begin)(backend *b, size_t n_events, rn_error *err);
    const struct backend_profile *(*profile_end)(backend *b);
    void (*use)(const backend *b, struct backend_use *out);
    void (*destroy)(backend *b);
};
struct backend {
    const struct backend_ops *ops;
    const char *arithmetic; // whose bits it computes; part of what identifies prefixes and saved sessions
};

// A kind of backend: a row of the registry (registry.c).
struct backend_kind {
    const char *name, *arithmetic;
    rn_status (*open)(const struct backend_spec *spec, backend **out, rn_error *err);
};
// RN_E_ARG: no such name (the list is named). RN_E_UNSUPPORTED: it computes another arithmetic than the spec accepts, or the machine
// lacks what it needs. RN_E_NOMEM.
rn_status backend_open(const struct backend_spec *spec, backend **out, rn_error *err);
// The same over another table.
rn_status backend_open_among(const struct backend_kind *kinds, size_t n_kinds, const struct backend_spec *spec,
                             backend **out, rn_error *err);

// What a kind of backend can do of a program: checked alike for all by backend_check_support().
struct backend_support {
    bool ops[OP_N_KINDS];
    bool multiplies[TENSOR_N_TYPES]; // matrices of OP_LINEAR and OP_EXPERTS
    bool looks_up[TENSOR_N_TYPES];   // matrices whose rows are read: OP_EMBED, OP_EMBED_POS
};
// RN_E_UNSUPPORTED: names the op, its layer, and the matrix with its type.
rn_status backend_check_support(const char *backend_name, const struct backend_support *s, const struct program *p,
                                rn_error *err);

// Can it run the program? RN_E_UNSUPPORTED: what it cannot, by op, type and tensor.
static inline rn_status backend_supports(const backend *b, const struct program *p, rn_error *err) {
    return b->ops->supports(b, p, err);
}

static inline rn_status backend_get_plan(const backend *b, const struct program *p, const struct backend_sizes *s,
                                         struct backend_plan *out, rn_error *err) {
    return b->ops->plan(b, p, s, out, err);
}
static inline rn_status backend_load(backend *b, const struct program *p, const struct backend_sizes *s,
                                     backend_progress progress, void *user, rn_error *err) {
    return b->ops->load(b, p, s, progress, user, err);
}
// Positions from one page to another of the same group, before the next run(). A failure leaves the slots that were to be written
// undefined and all others as they were.
static inline rn_status backend_copy(backend *b, const struct kv_copy *c, rn_error *err) {
    return b->ops->copy(b, c, err);
}
// Pages from outside, between steps. KV_STATE in place of a group: slots of state.
static inline size_t backend_page_bytes(const backend *b, int32_t group) { return b->ops->page_bytes(b, group); }
// What a page holds, laid out as the KV type is on every machine: its first n positions, zeros behind them. A slot: all of it, whatever n.
static inline rn_status backend_read_page(backend *b, int32_t group, int32_t page, int32_t n, uint8_t *out,
                                          rn_error *err) {
    return b->ops->read_page(b, group, page, n, out, err);
}
// The same back into a page. The bytes may be anybody's: what they make of a row is as undefined as they are, and of that row alone.
static inline rn_status backend_write_page(backend *b, int32_t group, int32_t page, const uint8_t *bytes,
                                           rn_error *err) {
    return b->ops->write_page(b, group, page, bytes, err);
}
// Evaluates the batch: stores the rows' keys, values and states, and makes the results, which stay where the backend computes until
// fetch(). A failure (a device that is gone, a rank that does not answer) leaves nothing but the rows' own slots of pages and
// states undefined, and no results. It may be any status but RN_E_LIMIT, which an lm gives where it has no room.
static inline rn_status backend_run(backend *b, const struct batch *batch, rn_error *err) {
    return b->ops->run(b, batch, err);
}
// The first n rows of a results buffer of the last run (program.hidden, logits, rank or a tap: in the order of batch.wanted where it holds the
// wanted rows, else of batch.rows) in host memory: valid until the next run(). They are the backend's.
static inline rn_status backend_fetch(backend *b, int32_t buffer, size_t n, struct backend_rows *out, rn_error *err) {
    return b->ops->fetch(b, buffer, n, out, err);
}
// Until it is called again, run() shows fn what every matrix is multiplied with before it is: op by op, row by row, in routing order, from one thread, so that sums
// over them do not depend on the number of threads. It slows every step down; bits stay. fn NULL: no more.
static inline void backend_collect(backend *b, backend_collect_fn fn, void *user) { b->ops->collect(b, fn, user); }
// From now on run() counts, and keeps the first n_events events; begins anew where a count was running. Bits stay, and steps take two
// looks at the clock an op longer. RN_E_NOMEM: no count is running.
static inline rn_status backend_profile_begin(backend *b, size_t n_events, rn_error *err) {
    return b->ops->profile_begin(b, n_events, err);
}
// Stops, and tells what was counted; NULL: no count was running.
static inline const struct backend_profile *backend_profile_end(backend *b) { return b->ops->profile_end(b); }
static inline void backend_get_use(const backend *b, struct backend_use *out) { b->ops->use(b, out); }
static inline void backend_destroy(backend *b) {
    if (b) b->ops->destroy(b);
}

#endif
