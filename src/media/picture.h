// media/picture.h - pictures: the bytes of a PNG, JPEG, WebP, GIF or BMP file become rows of 8-bit RGB.
//
// The pixels are those of Pillow, which the image processors of published models read with:
// Image.open(), ImageOps.exif_transpose(), transparent parts laid over white, convert("RGB"); of 16
// bits the upper 8. Of an animation it is the first frame. Profiles and gamma are not applied.
// Ownership: the caller's struct; picture_free() frees the pixels. Threads: any, one picture each.
#ifndef RN_MEDIA_PICTURE_H
#define RN_MEDIA_PICTURE_H

#include "base/status.h"
#include <stddef.h>
#include <stdint.h>

// Checked before memory for pixels is taken (docs/limits.md).
enum {
    PICTURE_MAX_BYTES = 20 << 20, // of the file
    PICTURE_MAX_SIDE = 16384,
    PICTURE_MAX_PIXELS = 50000000,
    PICTURE_MAX_RATIO = 200,   // of the longer to the shorter side
    PICTURE_MAX_SCANS = 50,    // of a progressive JPEG: each one goes over the whole picture
    PICTURE_MAX_FRAMES = 10000 // of an animated WebP, whose reader lists them all
};

struct picture {
    uint32_t width, height; // at least 1
    uint8_t *rgb;           // [height][width][3]
    const char *format;     // "PNG"; static
};

/**
 * Decode a file in memory. What format it is, its first bytes say.
 *
 * @param out  zeros where it fails.
 * @return RN_E_FORMAT: malformed, or it ends early; RN_E_LIMIT: a limit above; RN_E_UNSUPPORTED: no picture
 *         that is read here, or a format whose library was not there when runnel was built; RN_E_NOMEM.
 */
rn_status picture_decode(const void *file, size_t n, struct picture *out, rn_error *err);
void picture_free(struct picture *p);

#endif
