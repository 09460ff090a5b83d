// kernels/x86/groups_avx512.h - the loop over rows and groups of panels that products with plain numbers share (F32, F16, BF16).
//
// A step of a chain waits 4 cycles for the one before, so several panels are gone through side by side, a chain for each row and panel.
#ifndef RN_KERNELS_X86_GROUPS_AVX512_H
#define RN_KERNELS_X86_GROUPS_AVX512_H

#include "kernels/panels/panel.h"
#include "kernels/x86/lanes_avx512.h"

enum { GROUP_MOST_ROWS = 8 };

// Some rows (x, x_stride bytes apart) times some panels: 16 floats for each at out + r * out_stride + 16 * p; of the last panel only the
// lanes `last` are written.
typedef void (*group_fn)(const uint8_t *panels, size_t panel_bytes, size_t k, const void *x, size_t x_stride,
                         float *out, size_t out_stride, __mmask16 last);

// rows[r - 1] does r rows: `group` with n_panels panels, `single` with what is left of them, one by one.
struct group_tiles {
    size_t most_rows, n_panels;
    group_fn group[GROUP_MOST_ROWS], single[GROUP_MOST_ROWS];
};

void run_groups(const struct group_tiles *t, const uint8_t *panels, size_t panel_bytes, size_t n_out, size_t k,
                const void *x, size_t x_stride, size_t n_rows, float *out, size_t out_stride);

enum { GROUP_AHEAD = 2048 }; // bytes; measured, docs/kernels.md

// Prefetches the lines that P panels, of which byte `at` is read now, need GROUP_AHEAD bytes later: near their ends those of the next
// group's. Once for each line.
ALWAYS_INLINE_512 void prefetch_group(const int P, const uint8_t *panels, size_t panel_bytes, size_t at) {
    const size_t ahead = at + GROUP_AHEAD, next = (size_t)(P - 1) * panel_bytes;
    const uint8_t *const line = panels + (ahead < panel_bytes ? ahead : ahead + next);
    for (int p = 0; p < P; p++) _mm_prefetch((const char *)line + (size_t)p * panel_bytes, _MM_HINT_T0);
}

// Panel p's 16 outputs of row r.
ALWAYS_INLINE_512 void put_outputs(const int P, float *out, int p, __m512 v, __mmask16 last) {
    if (p < P - 1)
        _mm512_storeu_ps(out + PANEL_ROWS * p, v);
    else
        _mm512_mask_storeu_ps(out + PANEL_ROWS * p, last, v);
}

#endif
