// backend/backend.h - where a program runs and where its memory is: the contract of every backend.
//
// A backend loads a program (program.h), holds its weights, its pages of keys and values and its
// recurrent states in the memory in which it computes, and runs the program over batches of rows.
// How to write one: CONTRIBUTING.md, "Adding a backend". The order of the calls:
//   open -> supports -> get_plan -> load -> run, fetch, copy, read_page, write_page -> destroy
//
// Ownership: created by backend_open(), freed by backend_destroy(). Arguments are only read during
// the call, except what backend_spec and backend_load() say.
// Threads:   one call at a time (the step thread). A backend may use any number of threads inside.
// Errors:    a failed call returns a status and describes the failure in *err (NULL allowed).
#ifndef RN_BACKEND_BACKEND_H
#define RN_BACKEND_BACKEND_H

#include "backend/profile.h"
#include "backend/program.h"
#include "base/pool.h"
#include "base/status.h"
#include "kv/kv.h"
#include "tensor/kv_codec.h"

// A sequence's rows are multiplied with an adapter's matrices too (op.weights.adapters).
struct batch_adapter {
    int32_t adapter; // 0..program.n_adapters-1
    float scale;     // of the adapter's own scale
};
#define BATCH_MAX_ADAPTERS 8 // of a sequence

// One sequence as the rows of a batch see it: its committed pages, for each group of layers.
struct batch_seq {
    // [ceil(n_committed / 64)] the page of each block of 64 positions; KV_NONE: outside the
    // attention window.
    const int32_t *pages[PROGRAM_MAX_GROUPS];
    int32_t n_committed; // positions in those pages, including the rows appended by this batch
    bool is_far;         // its rows use the rope frequencies for long texts
    // Adapters of its rows, by ascending number, at most BATCH_MAX_ADAPTERS; their products are
    // added in this order.
    const struct batch_adapter *adapters;
    int32_t n_adapters;
};
// The slots from which a row reads its recurrent state and to which it writes the new one.
struct batch_state {
    // Written by the previous row of the sequence, or by the parent of a scratch row; KV_NONE: the
    // state is all zeros.
    int32_t from;
    // May equal `from`: the state is then updated in place. Never a slot that another row of the
    // batch still reads.
    int32_t to;
};
// The rows of a sequence are in the order of their positions; a scratch row comes after its parent.
struct batch_row {
    int32_t token, pos;
    // [program.n_vector] replaces the token's embedding, or with `adds` is added to it; NULL: none.
    const float *vector;
    bool adds;
    int32_t kind;                      // below program.n_row_kinds, or 0
    int32_t coord[PROGRAM_MAX_COORDS]; // further rope coordinates; pos unless the row has its own
    // The last position that the row attends to; a value below pos means pos.
    int32_t see_to;
    // In layers whose kind is by_area the row attends to positions [area_first, area_end) instead, its own among them; area_end 0: it has no area.
    int32_t area_first, area_end;
    int32_t seq;                              // index into batch.seqs
    struct kv_slot store[PROGRAM_MAX_GROUPS]; // where its keys and values are written
    // Scratch rows: the slots of positions n_committed to pos, its own last. NULL for appended
    // rows.
    const struct kv_slot *path[PROGRAM_MAX_GROUPS];
    struct batch_state state; // both KV_NONE if the program has no recurrent state
};
struct batch {
    const struct batch_row *rows;
    size_t n_rows;
    const struct batch_seq *seqs;
    // [n_wanted] indices of the rows that have results: first the n_logits rows that have logits,
    // then those that have only a hidden state or taps; ascending within each part.
    const int32_t *wanted;
    size_t n_wanted, n_logits;
};

// The default arithmetic, which docs/arithmetic.md defines.
#define BACKEND_ARITHMETIC   "runnel-1"
#define BACKEND_MAX_MEMORIES 4

typedef struct backend backend;

// What a backend is opened with. Zeros are the defaults.
struct backend_spec {
    const char *name; // as in the registry; NULL: "cpu"
    // The arithmetic that the caller accepts; NULL: BACKEND_ARITHMETIC. A backend that computes
    // another one is refused.
    const char *arithmetic;
    // Threads and kernels of the host, which other backends may ignore. Borrowed: they must outlive
    // the backend.
    pool *threads;
    const struct kernel_set *kernels;
    // Weights stay as the file stores them: no copies, slower products, the same bits.
    bool keeps_rows;
    // An open backend of the same kind and spec that loads the same program before this one does
    // and outlives it. Its weights may be shared instead of copied; then only its plan counts them.
    // NULL: none.
    const backend *weights_of;
    // Of a part (model_build_part()): an open backend of the same kind that loads the model on which
    // the part stands before this one loads the part, and outlives it. Borrowed matrices may be
    // shared instead of copied; then only its plan counts them. NULL: none.
    const backend *base;
};

// Bytes that a program needs in one memory, known before anything is allocated.
struct backend_memory {
    const char *name;                        // "host", "gpu 0"
    uint64_t limit_bytes;                    // size of this memory; 0: not known (the host's)
    uint64_t mapped_bytes;                   // weights used directly from the mapped file
    uint64_t repacked_bytes;                 // copies of weights in the backend's layout
    uint64_t adapter_bytes;                  // matrices of adapters
    uint64_t buffer_bytes;                   // row buffers for n_batch rows and their results
    uint64_t page_bytes[PROGRAM_MAX_GROUPS]; // one page of each group
    uint64_t state_bytes;                    // one slot of recurrent state
};
// memory[0] is always the host's, even if nothing is stored there.
struct backend_plan {
    size_t n_memories;
    struct backend_memory memory[BACKEND_MAX_MEMORIES];
};
// Bytes resident now. page_bytes: pages and states that have been touched.
struct backend_use {
    uint64_t repacked_bytes, adapter_bytes, buffer_bytes, page_bytes;
};
struct backend_sizes {
    size_t n_batch;  // most rows of a batch
    size_t n_wanted; // most of them with results
    size_t n_logits; // most of these with logits; 0: all
    int32_t n_pages[PROGRAM_MAX_GROUPS];
    enum kv_codec codec[PROGRAM_MAX_GROUPS]; // of each group's pages
    int32_t n_states;                        // slots; 0 if the program has no recurrent state
};
// Called while weights are laid out: `done` of `total` bytes. Returning true aborts the load with
// RN_E_CANCELLED.
typedef bool (*backend_progress)(void *user, uint64_t done, uint64_t total);

// Receives x [k], a row that is multiplied with slice `slice` (an expert) of matrix `matrix` of the
// program.
typedef void (*backend_collect_fn)(void *user, int32_t matrix, int32_t slice, const float *x, size_t k);

// Rows of results in host memory: row i begins at `at` + i * stride.
struct backend_rows {
    const float *at;
    size_t stride; // floats
};
static inline const float *backend_row(const struct backend_rows *r, size_t i) { return r->at + i * r->stride; }

// The functions of a backend; each is documented at the inline function that calls it. A backend
// without profiles has NULL for profile_begin and profile_end; all others are needed.
struct backend_ops {
    const char *name;
    rn_status (*supports)(const backend *b, const struct program *p, rn_error *err);
    rn_status (*plan)(const backend *b, const struct program *p, const struct backend_sizes *s,
                      struct backend_plan *out, rn_error *err);
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
    // What it computes: part of the identity of cached prefixes and saved sessions.
    const char *arithmetic;
};

// A kind of backend: a row of the registry (registry.c). open() sees a spec whose arithmetic has
// been accepted.
struct backend_kind {
    const char *name, *arithmetic;
    rn_status (*open)(const struct backend_spec *spec, backend **out, rn_error *err);
};
// Opens the backend that spec names; *out is NULL on failure. RN_E_ARG: no such name (the error
// lists those that exist). RN_E_UNSUPPORTED: it computes another arithmetic, or this machine lacks
// what it needs. RN_E_NOMEM.
rn_status backend_open(const struct backend_spec *spec, backend **out, rn_error *err);
// The same with another registry: kinds [n_kinds].
rn_status backend_open_among(const struct backend_kind *kinds, size_t n_kinds, const struct backend_spec *spec,
                             backend **out, rn_error *err);

// What a backend supports; backend_check_support() checks a program against it.
struct backend_support {
    bool ops[OP_N_KINDS];
    bool multiplies[TENSOR_N_TYPES]; // matrices of products: OP_LINEAR, OP_EXPERTS
    bool looks_up[TENSOR_N_TYPES];   // matrices of which rows are read: OP_EMBED, OP_EMBED_POS
};
// RN_E_UNSUPPORTED: the error names the operation, its layer, and the matrix with its type.
rn_status backend_check_support(const char *backend_name, const struct backend_support *s, const struct program *p,
                                rn_error *err);

// Can the backend run the program? RN_E_UNSUPPORTED: the error names the first operation that it
// cannot run.
static inline rn_status backend_supports(const backend *b, const struct program *p, rn_error *err) {
    return b->ops->supports(b, p, err);
}
// What each memory will hold after a load with these sizes. Allocates nothing.
static inline rn_status backend_get_plan(const backend *b, const struct program *p, const struct backend_sizes *s,
                                         struct backend_plan *out, rn_error *err) {
    return b->ops->plan(b, p, s, out, err);
}
// Lays the weights out and takes all memory; run() allocates nothing afterwards. Called once.
// Borrowed until backend_destroy(): p and what it points to. progress: NULL allowed.
// RN_E_UNSUPPORTED, RN_E_LIMIT, RN_E_NOMEM, RN_E_CANCELLED, or an error of the device. After a
// failure only backend_destroy() may follow.
static inline rn_status backend_load(backend *b, const struct program *p, const struct backend_sizes *s,
                                     backend_progress progress, void *user, rn_error *err) {
    return b->ops->load(b, p, s, progress, user, err);
}
// Copies positions of one page to another page of the same group; the next run() sees them. A
// failure leaves the slots to be written undefined and all others unchanged.
static inline rn_status backend_copy(backend *b, const struct kv_copy *c, rn_error *err) {
    return b->ops->copy(b, c, err);
}
// Pages as bytes, between steps; with KV_STATE in place of a group, slots of recurrent state.
// Bytes of one page. 0: there are none.
static inline size_t backend_page_bytes(const backend *b, int32_t group) { return b->ops->page_bytes(b, group); }
// out [backend_page_bytes()]: the first n positions of the page in the codec's layout, which is the
// same on every machine, and zeros after them. Of a slot: all of it, n is ignored. A failure leaves
// `out` undefined.
static inline rn_status backend_read_page(backend *b, int32_t group, int32_t page, int32_t n, uint8_t *out,
                                          rn_error *err) {
    return b->ops->read_page(b, group, page, n, out, err);
}
// Writes such bytes back to a page. They are untrusted: whatever they contain affects only the
// results of rows that attend to the page. A failure leaves the page undefined.
static inline rn_status backend_write_page(backend *b, int32_t group, int32_t page, const uint8_t *bytes,
                                           rn_error *err) {
    return b->ops->write_page(b, group, page, bytes, err);
}
// Evaluates the batch: stores the keys, values and states of its rows and computes their results,
// which stay where the backend computes until fetch(). A failure (a lost device, a rank that does
// not answer) leaves the slots of pages and states that these rows write undefined, all others
// unchanged, and no results. It may have any status but RN_E_LIMIT, by which an lm reports that it
// has no room.
static inline rn_status backend_run(backend *b, const struct batch *batch, rn_error *err) {
    return b->ops->run(b, batch, err);
}
// The first n rows of a result buffer of the last run, in host memory that belongs to the backend
// and is valid until the next run(). buffer: program.hidden, logits, rank or a tap. Rows are in the
// order of batch.wanted if the buffer holds the wanted rows, else in that of batch.rows.
static inline rn_status backend_fetch(backend *b, int32_t buffer, size_t n, struct backend_rows *out, rn_error *err) {
    return b->ops->fetch(b, buffer, n, out, err);
}
// From now on run() passes fn every row that a matrix is about to be multiplied with: operation by
// operation, row by row, experts in routing order, from one thread, so that sums over the rows do
// not depend on the number of threads. Slows every step down; results have the same bits. fn NULL:
// off.
static inline void backend_collect(backend *b, backend_collect_fn fn, void *user) { b->ops->collect(b, fn, user); }
// From now on run() profiles and records the first n_events events; a running profile starts over.
// Results have the same bits; each operation takes two clock readings more. RN_E_NOMEM: no profile
// is running. RN_E_UNSUPPORTED: the backend has none.
static inline rn_status backend_profile_begin(backend *b, size_t n_events, rn_error *err) {
    if (b->ops->profile_begin) return b->ops->profile_begin(b, n_events, err);
    return fail(err, RN_E_UNSUPPORTED, "backend %s: profiles are not supported", b->ops->name);
}
// Ends the profile and returns it (profile.h); NULL: none was running.
static inline const struct backend_profile *backend_profile_end(backend *b) {
    return b->ops->profile_end ? b->ops->profile_end(b) : NULL;
}
// Memory in use now.
static inline void backend_get_use(const backend *b, struct backend_use *out) { b->ops->use(b, out); }
// Frees everything; also after a failed load. NULL is fine.
static inline void backend_destroy(backend *b) {
    if (b) b->ops->destroy(b);
}

#endif
