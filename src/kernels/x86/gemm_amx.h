// kernels/x86/gemm_amx.h - the way through a product of many rows that all types share; gemm_amx.c walks it.
//
//   for each pass of PASS_ROWS rows
//     for each BLOCK_PAIRS pairs of panels
//       for each chunk of k          so that the rows' chunk comes from the second-level cache for all pairs but the first
//         for each pair              unpack its chunk as tiles want it, while the one before is multiplied: it stays in the first-level cache
//           for each 16 rows         multiply; what is added up so far waits in `acc`
//
// The last chunk adds to its place in the output, but for rows and columns that are not whole: they take the way over `acc`.
#ifndef RN_KERNELS_X86_GEMM_AMX_H
#define RN_KERNELS_X86_GEMM_AMX_H

#include "kernels/kernels.h"
#include "kernels/x86/tiles_amx.h"
#include <stdbool.h>

enum { COLUMNS = 2 * PANEL_ROWS, PASS_ROWS = 512, BLOCK_PAIRS = 4 };

// Rows of one pass. The last 16 are a copy filled up with zeros where they are not whole.
struct gemm_pass {
    size_t k, n_rows, n_units; // units of 16 rows
    const uint8_t *x, *last;
    size_t stride, last_stride;
    void *side; // what start() made of the rows
};

// What a type's product is made of. `columns` is a chunk of two panels as unpack() leaves it, `sums` room for tiles to be stored in.
struct gemm_kind {
    enum act_format act;
    size_t most_chunk, chunk_step; // numbers of k: chunks are as even as steps allow
    size_t columns_bytes, sums_bytes;
    size_t (*side_bytes)(size_t k);          // of a pass; NULL: none
    void (*start)(const struct gemm_pass *); // NULL: nothing to make of the rows
    void (*unpack)(const uint8_t *const panels[2], size_t k, size_t from, size_t n, void *columns);
    // Numbers [from, from + n) of k of all rows of the pass. out: NULL where the columns are not whole.
    void (*multiply)(const struct gemm_pass *, size_t from, size_t n, const void *columns, void *sums, float *acc,
                     float *out, size_t out_stride);
    struct tile_config tiles;
};

size_t gemm_scratch_bytes(const struct gemm_kind *, size_t k);
void gemm_run(const struct gemm_kind *, const uint8_t *w, size_t panel_bytes, size_t n_out, size_t k, const void *x,
              size_t act_stride, size_t n_rows, float *out, size_t out_stride, void *scratch);

// The 16 prepared rows of unit u, *stride bytes apart.
static inline const uint8_t *gemm_unit(const struct gemm_pass *p, size_t u, size_t *stride) {
    const bool whole = (u + 1) * TILE_ROWS <= p->n_rows;
    *stride = whole ? p->stride : p->last_stride;
    return whole ? p->x + u * TILE_ROWS * p->stride : p->last;
}

// Where the sums of a unit so far come from and go to; both have `stride` floats between rows.
struct gemm_place {
    const float *from;
    float *to;
    size_t from_stride, to_stride;
};
static inline struct gemm_place gemm_place(const struct gemm_pass *p, size_t u, bool is_first, bool is_last,
                                           float *acc, float *out, size_t out_stride) {
    static const _Alignas(64) float zeros[COLUMNS];
    const size_t r = u * TILE_ROWS;
    const bool direct = is_last && out && r + TILE_ROWS <= p->n_rows;
    return (struct gemm_place){.from = is_first ? zeros : acc + r * COLUMNS,
                               .to = direct ? out + r * out_stride : acc + r * COLUMNS,
                               .from_stride = is_first ? 0 : COLUMNS,
                               .to_stride = direct ? out_stride : COLUMNS};
}

// Fetches the place of row r into the second-level cache: rows of the output often lie so far apart that the first level holds them in
// one set of lines.
static inline void gemm_fetch_place(const struct gemm_place *at, size_t r) {
    __builtin_prefetch(at->to + r * at->to_stride, 1, 2);
    __builtin_prefetch(at->to + r * at->to_stride + PANEL_ROWS, 1, 2);
}

// amx_gemm_TYPE and amx_gemm_TYPE_scratch by `kind`, a constant.
#define DEFINE_GEMM(type, kind)                                                                                      \
    size_t amx_gemm_##type##_scratch(size_t k) { return gemm_scratch_bytes(&(kind), k); }                            \
    void amx_gemm_##type(const void *w, size_t n_out, size_t k, const void *x, size_t act_stride, size_t n_rows,     \
                         float *out, size_t out_stride, void *scratch) {                                             \
        gemm_run(&(kind), w, panel_##type##_bytes(k), n_out, k, x, act_stride, n_rows, out, out_stride, scratch);    \
    }

// The same for a file whose inlined side_bytes(), start(), unpack_columns() and multiply() take what distinguishes the type, a
// constant, before the arguments of struct gemm_kind's functions.
#define DEFINE_TYPED_GEMM(type, act, most, step, tiles, t)                                                           \
    static size_t side_##type(size_t k) { return side_bytes(t, k); }                                                 \
    static void start_##type(const struct gemm_pass *p) { start(t, p); }                                             \
    static void unpack_##type(const uint8_t *const panels[2], size_t k, size_t from, size_t n, void *columns) {      \
        unpack_columns(t, panels, k, from, n, columns);                                                              \
    }                                                                                                                \
    static void multiply_##type(const struct gemm_pass *p, size_t from, size_t n, const void *columns, void *sums,   \
                                float *acc, float *out, size_t out_stride) {                                         \
        multiply(t, p, from, n, columns, sums, acc, out, out_stride);                                                \
    }                                                                                                                \
    static const struct gemm_kind gemm_##type = {                                                                    \
        act,         most,         step,          sizeof(struct columns), sizeof(struct sums),                       \
        side_##type, start_##type, unpack_##type, multiply_##type,        tiles};                                    \
    DEFINE_GEMM(type, gemm_##type)

#endif
