// media/picture_reader.h - what the readers of single formats have in common (internal to media/).
#ifndef RN_MEDIA_PICTURE_READER_H
#define RN_MEDIA_PICTURE_READER_H

#include "base/cursor.h"
#include "base/status.h"
#include <stddef.h>
#include <stdint.h>

// What a reader fills: pixels as they lie in the file, upright or not.
struct raw_picture {
    uint32_t width, height;
    uint8_t n_channels;  // 3: RGB, 4: RGB and alpha (0: transparent)
    uint8_t orientation; // of EXIF, 1 to 8; 0 where the file does not say
    uint8_t *pixels;     // [height][width][n_channels], from mem_alloc()
};

/**
 * Check the size that a header states, then take memory for that many pixels.
 *
 * @param width, height  as the file has them, any numbers.
 */
rn_status raw_picture_begin(struct raw_picture *p, uint64_t width, uint64_t height, int n_channels, rn_error *err);

// A reader gets the whole file, of its format by the first bytes, and frees nothing of *out where it fails.
rn_status png_read(cursor file, struct raw_picture *out, rn_error *err);
rn_status jpeg_read(cursor file, struct raw_picture *out, rn_error *err);
rn_status webp_read(cursor file, struct raw_picture *out, rn_error *err);
rn_status gif_read(cursor file, struct raw_picture *out, rn_error *err);
rn_status bmp_read(cursor file, struct raw_picture *out, rn_error *err);

// Orientation 1 to 8 that the TIFF structure of EXIF data has, with or without "Exif\0\0" in front; 0: none.
uint8_t exif_orientation(const uint8_t *data, size_t n);
// The same of an XMP packet: tiff:Orientation as attribute or element.
uint8_t xmp_orientation(const uint8_t *data, size_t n);

#endif
