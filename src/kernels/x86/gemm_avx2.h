// kernels/x86/gemm_avx2.h - panels times four rows of bytes and more: what the types with blocks of 32 and of 256 share.
//
// Four rows of activations are brought side by side, a quad, once for all panels. Then 256 numbers of a panel, a strip, meet all quads:
// the first quad unpacks the weights on its way and leaves them in a room in the first-level cache, where the others find them. The sums
// of a quad and 16 outputs are eight registers; what is added up so far lies in the first-level cache, too.
#ifndef RN_KERNELS_X86_GEMM_AVX2_H
#define RN_KERNELS_X86_GEMM_AVX2_H

#include "kernels/panels/panel_k.h"
#include "kernels/x86/avx2.h"
#include "kernels/x86/lanes_avx2.h"

enum { QUAD = 4, STRIP = 256, STRIP_BLOCKS = STRIP / 32 };

// Rows' bytes by groups of four numbers, so that the loads that spread them over a register come from one line. start: -above times the
// sums of the numbers at positions 0, 1 and 2, 3 mod 4 of a block, or of a part, as two 16-bit numbers: what the sums of a row begin with,
// above being what the type's weights have too much. Both are whole lines.
struct quad_32 { // 32 numbers
    _Alignas(64) int8_t a[8][QUAD][4];
    float d[QUAD], s[QUAD];
    int32_t start[QUAD];
};
struct quad_256 { // 256 numbers, in 16 or 8 parts
    _Alignas(64) int8_t a[64][QUAD][4];
    float d[QUAD];
    int32_t start[16][QUAD];
    int32_t
        sums[8]
            [QUAD]; // [2 q], [2 q + 1]: the sums of parts 4 q, 4 q + 2 and of 4 q + 1, 4 q + 3 as two 16-bit numbers
};

// By an instruction for floats: the one for integers GCC 12 at times takes apart into a load, a move and a shuffle.
ALWAYS_INLINE __m256i splat_start(const int32_t *start) {
    return _mm256_castps_si256(_mm256_broadcast_ss((const float *)(const void *)start));
}

// Lines that are asked for ahead: n for each 32 numbers that a quad is multiplied with.
struct ahead {
    const uint8_t *at;
    size_t n;
};
// Further ahead than `prefetch`: between the first and the last quad of a strip nothing else is read from memory.
ALWAYS_INLINE void fetch_ahead(struct ahead *ahead) {
    const uint8_t *at = ahead->at;
    for (size_t i = 0; i < ahead->n; i++, at += PANEL_LINE) _mm_prefetch((const char *)at, _MM_HINT_T0);
    ahead->at = at;
}

// A quad's rows with a strip: acc[r][16] += . panel: of all k; quads: of this strip; room: the strip unpacked.
typedef void (*gemm_tile)(const uint8_t *panel, size_t k, size_t strip, const void *quads, void *room, float *acc,
                          struct ahead *ahead);

struct gemm_type {
    size_t block, quad_bytes;
    void (*make_quads)(const void *x, size_t act_stride, size_t n_rows, size_t k, void *quads);
    gemm_tile first;       // of four rows: unpacks
    gemm_tile later[QUAD]; // of 1 to 4 rows
    void (*matmul)(const void *w, size_t row_bytes, size_t n_out, size_t k, const void *x, size_t act_stride,
                   size_t n_rows, float *out, size_t out_stride); // of fewer rows
};

void avx2_quads_32(const void *x, size_t act_stride, size_t n_rows, size_t k, int above, struct quad_32 *to);
void avx2_quads_256(const void *x, size_t act_stride, size_t n_rows, size_t k, int above, int part,
                    struct quad_256 *to);
void avx2_run_gemm(const struct gemm_type *t, const uint8_t *panels, size_t panel_bytes, size_t n_out, size_t k,
                   const void *x, size_t act_stride, size_t n_rows, float *out, size_t out_stride, void *scratch);

#endif
