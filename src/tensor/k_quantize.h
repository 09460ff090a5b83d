// tensor/k_quantize.h - what the two searches over blocks of 256 share.
//
// First, the best scale (and minimum) of each part of a block is searched. The block's F16 scales map the largest of these to the largest
// integers. Then two steps alternate as long as the error decreases: the integers of each part are chosen among their neighbours, and the
// F16 scales by least squares for the current integers and codes.
#ifndef RN_TENSOR_K_QUANTIZE_H
#define RN_TENSOR_K_QUANTIZE_H

#include "tensor/k_blocks.h"
#include "tensor/scale_search.h"

enum { K_MOST_TURNS = 4, K_MOST_PARTS = 16 };

static inline float half_rounded(float x) { return f16_to_f32(f16_from_f32(x)); }

// Computes the weights of the errors, then quantizes block by block; bytes are zero before. flatness: how far small numbers count like large
// ones; it multiplies the block's mean square.
typedef void (*k_block_fn)(const float *x, const float *w, uint8_t *block);

static inline void k_quantize(const float *src, const float *importance, uint8_t *block, size_t n, size_t block_bytes,
                              float flatness, k_block_fn quantize_block) {
    float w[BLOCK_256];
    for (size_t i = 0; i < n; i += BLOCK_256, block += block_bytes) {
        const float *const x = src + i;
        search_weights(x, importance ? importance + i : NULL, BLOCK_256, flatness * mean_square_of(x, BLOCK_256), w);
        memset(block, 0, block_bytes);
        quantize_block(x, w, block);
    }
}

#endif
