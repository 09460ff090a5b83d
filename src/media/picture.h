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
    PICTURE_MAX_RATIO = 200,    // of the longer to the shorter side
    PICTURE_MAX_SCANS = 50,     // of a progressive JPEG: each one goes over the whole picture
    PICTURE_MAX_FRAMES = 10000, // of an animated WebP, whose reader lists them all
    // Of a video, as it is seen: frames, and pixels of all of them together.
    VIDEO_MAX_FRAMES = 768,
    VIDEO_MAX_PIXELS = 200000000
};

struct picture {
    uint32_t width, height; // at least 1
    uint8_t *rgb;           // [height][width][3]; of a video [n_frames][height][width][3]
    const char *format;     // "PNG"; static
    // Of a video: how many frames are seen, at which second each, and how many of these are in a second. 0: it is a still picture.
    uint32_t n_frames;
    double *seconds, fps; // [n_frames]
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

/**
 * A video of pictures that are its frames.
 *
 * @param seconds  [n] of each frame, from 0, none before the one before it.
 * @param fps      frames in a second, of these.
 * @param out      zeros where it fails; the frames are copied.
 * @return RN_E_ARG: frames of several sizes, a frame that is a video, seconds or fps that are no such numbers; RN_E_LIMIT: a limit above; RN_E_NOMEM.
 */
rn_status picture_from_frames(const struct picture *const *frames, size_t n, const double *seconds, double fps,
                              struct picture *out, rn_error *err);
// The same of frames whose numbers the caller fills in afterwards: out->rgb is black.
rn_status picture_make_video(uint32_t width, uint32_t height, size_t n, const double *seconds, double fps,
                             struct picture *out, rn_error *err);

#endif
