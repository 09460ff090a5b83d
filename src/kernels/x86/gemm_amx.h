// kernels/x86/gemm_amx.h - the loop nest of a product of many rows, shared by all types; gemm_amx.c runs it.
//
//   for each pass of PASS_ROWS rows
//     for each BLOCK_COLUMNS columns
//       for each chunk of k          so that the rows' chunk comes from the second-level cache for all columns but the first
//         for each panel or two      unpack the chunk in tile order: it stays in the first-level cache
//           for each 16 rows or 32   multiply; sums so far are in `acc`
//
// The last chunk adds to the output directly, except for incomplete rows and columns, which go through `acc`.
#ifndef RN_KERNELS_X86_GEMM_AMX_H
#define RN_KERNELS_X86_GEMM_AMX_H

#include "kernels/kernels.h"
#include "kernels/x86/tiles_amx.h"
#include <stdbool.h>

enum { MOST_PANELS = 2, PASS_ROWS = 512, BLOCK_COLUMNS = 128 };

// Rows of one pass. The last 16 are a copy filled up with zeros where they are not whole.
struct gemm_pass {
    size_t k, n_rows, n_units; // units of 16 rows
    const uint8_t *x, *last;
    size_t stride, last_stride;
    size_t n_columns; // of a step
    void *side;       // what start() made of the rows
};

// A step of the walk: numbers [from, from + n) of k of one panel or two.
struct gemm_step {
    const uint8_t *panels[MOST_PANELS];
    size_t from, n;
    void *columns;    // buffer for weights in tile order
    bool is_unpacked; // they are there already
    float *acc, *out; // sums so far, rows of n_columns; where they go in the end
    size_t out_stride;
    bool is_whole; // the output has all of the columns
};

// The functions of a type's product. `columns` is a chunk of the panels in tile order, `sums` a buffer for stored tiles.
struct gemm_kind {
    enum act_format act;
    size_t n_panels, most_chunk, chunk_step; // of a step; numbers of k: chunks are as even as `chunk_step` allows
    size_t columns_bytes, sums_bytes;
    size_t (*side_bytes)(size_t k);          // of a pass; NULL: none
    void (*start)(const struct gemm_pass *); // NULL: nothing to make of the rows
    // Unpacks the columns, if they are not, and multiplies all rows of the pass with them. A kind that unpacks ahead leaves the next
    // step's (NULL: none) unpacked too; steps alternate between two buffers.
    void (*multiply)(const struct gemm_pass *, const struct gemm_step *now, const struct gemm_step *next, void *sums);
    bool is_ahead;
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
static inline struct gemm_place gemm_place(const struct gemm_pass *p, const struct gemm_step *s, size_t u) {
    static const _Alignas(64) float zeros[MOST_PANELS * PANEL_ROWS];
    const size_t r = u * TILE_ROWS;
    const bool direct = s->from + s->n == p->k && s->is_whole && r + TILE_ROWS <= p->n_rows;
    float *const acc = s->acc + r * p->n_columns;
    return (struct gemm_place){.from = s->from == 0 ? zeros : acc,
                               .to = direct ? s->out + r * s->out_stride : acc,
                               .from_stride = s->from == 0 ? 0 : p->n_columns,
                               .to_stride = direct ? s->out_stride : p->n_columns};
}

// Fetches the place of a panel's row r into the second-level cache: rows of the output often lie so far apart that the first level holds
// them in one set of lines.
static inline void gemm_fetch_place(const struct gemm_place *at, size_t r) {
    __builtin_prefetch(at->to + r * at->to_stride, 1, 2);
}

// amx_gemm_TYPE and amx_gemm_TYPE_scratch by `kind`, which may depend on n_rows.
#define DEFINE_GEMM(type, kind)                                                                                      \
    size_t amx_gemm_##type##_scratch(size_t k) {                                                                     \
        const size_t n_rows = PASS_ROWS;                                                                             \
        (void)n_rows;                                                                                                \
        return gemm_scratch_bytes(kind, k);                                                                          \
    }                                                                                                                \
    void amx_gemm_##type(const void *w, size_t n_out, size_t k, const void *x, size_t act_stride, size_t n_rows,     \
                         float *out, size_t out_stride, void *scratch) {                                             \
        gemm_run(kind, w, panel_##type##_bytes(k), n_out, k, x, act_stride, n_rows, out, out_stride, scratch);       \
    }

#endif
