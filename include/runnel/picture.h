// runnel/picture.h - pictures: PNG, JPEG, WebP, GIF and BMP files as rows of 8-bit RGB.
#ifndef RUNNEL_PICTURE_H
#define RUNNEL_PICTURE_H

#include <runnel/api.h>
#include <runnel/status.h>

#ifdef __cplusplus
extern "C" {
#endif

// The pixels are those of Pillow: upright by EXIF's or XMP's orientation, transparent parts laid
// over white, of 16 bits the upper 8, of an animation the first frame. Immutable; any thread.
typedef struct rn_picture rn_picture;

typedef struct rn_picture_info {
    size_t struct_size;
    uint32_t width, height;
    const uint8_t *rgb; // [height][width][3]; as long as the picture
    const char *format; // "PNG", "JPEG", "WebP", "GIF" or "BMP": by the file's first bytes
} rn_picture_info;

// Decodes a file in memory, which may be freed afterwards. RN_E_FORMAT: malformed, or it ends
// early; RN_E_LIMIT: too many bytes or pixels (docs/limits.md); RN_E_UNSUPPORTED: of another
// format, or of one whose library was not there when runnel was built.
RN_API rn_status rn_picture_open(const void *file, size_t n_bytes, rn_picture **out, rn_error *err);
RN_API rn_status rn_picture_get_info(const rn_picture *p, rn_picture_info *info, rn_error *err);
RN_API void rn_picture_close(rn_picture *p);

// What a model makes of a picture before its vision tower reads it: resized, padded, cropped,
// normalized as the preprocessor_config.json of its folder says, with the numbers of transformers'
// image processors over Pillow. Immutable; any thread.
typedef struct rn_picture_processor rn_picture_processor;

typedef struct rn_pixels {
    size_t struct_size;
    float *values; // in C order; freed by the caller with rn_free()
    // [3][height][width]; of Qwen2-VL [patches][numbers of a patch]
    size_t n_dims, shape[4];
} rn_pixels;

// path: a model's folder. RN_E_UNSUPPORTED: a file, or a processor that is not supported, by name.
RN_API rn_status rn_picture_processor_open(const char *path, rn_picture_processor **out,
                                           rn_error *err);
RN_API rn_status rn_picture_process(const rn_picture_processor *by, const rn_picture *p,
                                    rn_pixels *out, rn_error *err);
RN_API void rn_picture_processor_close(rn_picture_processor *p);

#ifdef __cplusplus
}
#endif

#endif
