// tensor/q8_0_quantize.c - quantizes rows to Q8_0.
#include "tensor/blocks.h"
#include "tensor/rows.h"
#include "tensor/scale_search.h"
#include <math.h>

// As the reference does it: divides by the scale in float, rounds halves away from zero, and only then rounds the scale to F16.
static void by_rule(const float *x, uint8_t *block) {
    float amax = 0;
    for (int i = 0; i < BLOCK_32; i++) amax = fmaxf(amax, fabsf(x[i]));
    const float d = amax / 127, inverse = 1 / d;
    store_u16(block, f16_from_f32(d));
    // A scale so small that its inverse overflows is 0 in F16, so the codes do not matter.
    for (int i = 0; i < BLOCK_32; i++) block[2 + i] = isinf(inverse) ? 0 : (uint8_t)(int8_t)roundf(x[i] * inverse);
}

static void by_search(const float *x, const float *importance, uint8_t *block) {
    float w[BLOCK_32];
    search_weights(x, importance, BLOCK_32, mean_square_of(x, BLOCK_32), w);
    store_u16(block, f16_from_f32(search_scale(x, w, BLOCK_32, (struct codes){-127, 127, NULL, 0})));
    const float d = load_half(block);
    for (int i = 0; i < BLOCK_32; i++) block[2 + i] = (uint8_t)(int8_t)nearest_code(x[i], d, -127, 127);
}

void q8_0_quantize_row(const float *src, const float *importance, void *dst, size_t n) {
    uint8_t *block = dst;
    for (size_t i = 0; i < n; i += BLOCK_32, block += Q8_0_BYTES) {
        if (importance)
            by_search(src + i, importance + i, block);
        else
            by_rule(src + i, block);
    }
}
