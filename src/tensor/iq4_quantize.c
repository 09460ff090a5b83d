// tensor/iq4_quantize.c - quantizes rows to IQ4_NL, by search.
#include "tensor/blocks.h"
#include "tensor/rows.h"
#include "tensor/scale_search.h"

void iq4_nl_quantize_row(const float *src, const float *importance, void *dst, size_t n) {
    uint8_t *block = dst;
    float w[BLOCK_32];
    for (size_t i = 0; i < n; i += BLOCK_32, block += IQ4_NL_BYTES) {
        const float *const x = src + i;
        search_weights(x, importance ? importance + i : NULL, BLOCK_32, mean_square_of(x, BLOCK_32), w);
        memset(block, 0, IQ4_NL_BYTES);
        store_u16(block, f16_from_f32(search_iq4_scale(x, w, BLOCK_32)));
        const float d = load_half(block);
        for (int j = 0; j < BLOCK_32; j++) put_nibble_32(block + 2, j, nearest_iq4(x[j], d));
    }
}
