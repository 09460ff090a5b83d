// media/bitmap.c - see bitmap.h.
#include "media/bitmap.h"
#include "base/mem.h"
#include <inttypes.h>
#include <string.h>

rn_status bitmap_begin(struct bitmap *b, uint64_t width, uint64_t height, rn_error *err) {
    if (width == 0 || height == 0 || width > PICTURE_MAX_PIXELS || height > PICTURE_MAX_PIXELS ||
        width * height > PICTURE_MAX_PIXELS)
        return fail(err, RN_E_LIMIT, "would be %" PRIu64 " x %" PRIu64 " pixels: 1 to %d are made", width, height,
                    PICTURE_MAX_PIXELS);
    b->own = mem_alloc((size_t)(3 * width * height));
    if (!b->own) return fail(err, RN_E_NOMEM, "out of memory");
    b->rgb = b->own;
    b->width = (uint32_t)width, b->height = (uint32_t)height;
    return RN_OK;
}

void bitmap_fill(struct bitmap *b, const uint8_t color[3]) {
    for (size_t i = 0; i < (size_t)b->width * b->height; i++) memcpy(b->own + 3 * i, color, 3);
}

void bitmap_paste(const struct bitmap *from, int64_t left, int64_t top, struct bitmap *to) {
    const int64_t x0 = left > 0 ? left : 0, y0 = top > 0 ? top : 0;
    const int64_t x1 = left + from->width < to->width ? left + from->width : to->width;
    const int64_t y1 = top + from->height < to->height ? top + from->height : to->height;
    for (int64_t y = y0; y < y1 && x0 < x1; y++)
        memcpy(to->own + 3 * (y * to->width + x0), from->rgb + 3 * ((y - top) * from->width + x0 - left),
               (size_t)(3 * (x1 - x0)));
}

rn_status bitmap_resize(const struct bitmap *from, enum resize_filter filter, uint64_t width, uint64_t height,
                        struct bitmap *to, rn_error *err) {
    const rn_status st = bitmap_begin(to, width, height, err);
    return st == RN_OK ? resize_rgb(from->rgb, from->width, from->height, filter, to->own, to->width, to->height, err)
                       : st;
}

void bitmap_free(struct bitmap *b) {
    mem_free(b->own);
    *b = (struct bitmap){0};
}
