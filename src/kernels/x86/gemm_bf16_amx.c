// kernels/x86/gemm_bf16_amx.c - BF16 panels times many rows of BF16, by tiles.
//
// A tile product is the defined sum itself (docs/arithmetic.md section 4), and a panel's 32 numbers of k are its right side as they
// lie: nothing is unpacked, and sums stay in tiles over a chunk of k.
#include "base/checked.h"
#include "kernels/panels/panel.h"
#include "kernels/x86/amx.h"
#include "kernels/x86/gemm_amx.h"

// One or two units of rows.
struct units {
    const uint8_t *a[2];
    size_t a_stride[2];
    struct gemm_place at[2];
};

#define LOAD_SUMS(c, u, panel)                                                                                       \
    do {                                                                                                             \
        if (is_first)                                                                                                \
            TILE_ZERO(c);                                                                                            \
        else                                                                                                         \
            TILE_LOAD(c, r->at[u].from + panel * PANEL_ROWS, r->at[u].from_stride * sizeof(float));                  \
    } while (0)
#define STORE_SUMS(c, u, panel) TILE_STORE(c, r->at[u].to + panel * PANEL_ROWS, r->at[u].to_stride * sizeof(float))

static inline __attribute__((always_inline)) void multiply_units(const int n_units, const struct units *r,
                                                                 const uint8_t *const panels[2], size_t n_steps,
                                                                 bool is_first) {
    LOAD_SUMS(0, 0, 0);
    LOAD_SUMS(1, 0, 1);
    if (n_units == 2) {
        LOAD_SUMS(2, 1, 0);
        LOAD_SUMS(3, 1, 1);
    }
    const struct gemm_place second = {.to = r->at[0].to + PANEL_ROWS, .to_stride = r->at[0].to_stride};
    for (size_t i = 0; i < n_steps; i++) {
        TILE_LOAD(4, r->a[0] + TILE_LINE * i, r->a_stride[0]);
        TILE_LOAD(6, panels[0] + TILE_BYTES * i, TILE_LINE);
        TILE_LOAD(7, panels[1] + TILE_BYTES * i, TILE_LINE);
        TILE_ADD_BF16(0, 4, 6);
        TILE_ADD_BF16(1, 4, 7);
        if (n_units == 2) {
            TILE_LOAD(5, r->a[1] + TILE_LINE * i, r->a_stride[1]);
            TILE_ADD_BF16(2, 5, 6);
            TILE_ADD_BF16(3, 5, 7);
            for (size_t j = 4 * i; j < 4 * i + 4; j++) {
                gemm_fetch_place(&r->at[0], 2 * TILE_ROWS + j);
                gemm_fetch_place(&second, 2 * TILE_ROWS + j);
            }
        }
    }
    STORE_SUMS(0, 0, 0);
    STORE_SUMS(1, 0, 1);
    if (n_units == 2) {
        STORE_SUMS(2, 1, 0);
        STORE_SUMS(3, 1, 1);
    }
}

static void multiply(const struct gemm_pass *p, const struct gemm_step *now, const struct gemm_step *next,
                     void *sums) {
    const size_t n_steps = ceil_div(now->n, 32);
    const uint8_t *panels[2];
    (void)next, (void)sums;
    for (int i = 0; i < 2; i++) panels[i] = now->panels[i] + 2 * PANEL_ROWS * now->from;
    for (size_t u = 0; u < p->n_units; u += 2) {
        struct units r;
        const size_t n_units = p->n_units - u < 2 ? 1 : 2;
        for (size_t i = 0; i < n_units; i++) {
            r.a[i] = gemm_unit(p, u + i, &r.a_stride[i]) + 2 * now->from;
            r.at[i] = gemm_place(p, now, u + i);
        }
        if (n_units == 2)
            multiply_units(2, &r, panels, n_steps, now->from == 0);
        else
            multiply_units(1, &r, panels, n_steps, now->from == 0);
    }
}

static const struct gemm_kind gemm_bf16 = {
    .act = ACT_BF16, .n_panels = 2, .most_chunk = 256, .chunk_step = 32, .multiply = multiply, .tiles = TILES_WHOLE};
DEFINE_GEMM(bf16, &gemm_bf16)
