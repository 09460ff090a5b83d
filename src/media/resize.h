// media/resize.h - resizing 8-bit RGB, with the bytes of Pillow's Image.resize().
//
// Threads: any.
#ifndef RN_MEDIA_RESIZE_H
#define RN_MEDIA_RESIZE_H

#include "base/status.h"
#include <stdint.h>

// Pillow's numbers, which preprocessor_config.json has as `resample`.
enum resize_filter {
    RESIZE_NEAREST,
    RESIZE_LANCZOS,
    RESIZE_BILINEAR,
    RESIZE_BICUBIC,
    RESIZE_BOX,
    RESIZE_HAMMING,
    RESIZE_N_FILTERS
};

/**
 * Resize a picture. Two passes, each rounded to bytes, horizontal first unless the height shrinks by more than twice as many pixels as the width (Pillow 13); the filter is widened where a side shrinks
 * (antialiasing). Weights are doubles, rounded to 22 bits behind the point; sums are integers, so that their order is free.
 *
 * @param rgb      [height][width][3]; sides at least 1.
 * @param to       [to_height][to_width][3], the caller's.
 * @return RN_E_NOMEM, else RN_OK.
 */
rn_status resize_rgb(const uint8_t *rgb, uint32_t width, uint32_t height, enum resize_filter filter, uint8_t *to,
                     uint32_t to_width, uint32_t to_height, rn_error *err);

#endif
