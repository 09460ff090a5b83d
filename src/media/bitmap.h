// media/bitmap.h - a picture on its way through a pipeline: 8-bit RGB that is pasted, resized and cut. Private to media/.
//
// Ownership: bitmap_free() frees what is the bitmap's own. Threads: any, one bitmap each.
#ifndef RN_MEDIA_BITMAP_H
#define RN_MEDIA_BITMAP_H

#include "media/picture.h"
#include "media/resize.h"

struct bitmap {
    uint32_t width, height;
    const uint8_t *rgb;
    uint8_t *own; // NULL: the pixels are somebody else's
};

// Pixels without a value yet. RN_E_LIMIT: none, or more than PICTURE_MAX_PIXELS; RN_E_NOMEM.
rn_status bitmap_begin(struct bitmap *b, uint64_t width, uint64_t height, rn_error *err);
void bitmap_fill(struct bitmap *b, const uint8_t color[3]);
// Copies what both have in common; `left` and `top`: where the source's corner lies in the target.
void bitmap_paste(const struct bitmap *from, int64_t left, int64_t top, struct bitmap *to);
// to: bitmap_begin() and resize_rgb(), with their errors.
rn_status bitmap_resize(const struct bitmap *from, enum resize_filter filter, uint64_t width, uint64_t height,
                        struct bitmap *to, rn_error *err);
void bitmap_free(struct bitmap *b);

#endif
