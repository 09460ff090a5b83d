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
    uint32_t n_frames;  // of a video, whose rgb is [n_frames][height][width][3]; 0: a still picture
} rn_picture_info;

// Decodes a file in memory, which may be freed afterwards. RN_E_FORMAT: malformed, or it ends
// early; RN_E_LIMIT: too many bytes or pixels (docs/limits.md); RN_E_UNSUPPORTED: of another
// format, or of one whose library was not there when runnel was built.
RN_API rn_status rn_picture_open(const void *file, size_t n_bytes, rn_picture **out, rn_error *err);
// A video of pictures of one size, its frames in order, which may be closed afterwards. seconds:
// [n_frames] when each is seen, from 0; fps: how many of these frames are in a second. Where it
// stands as a picture of a prompt, the model sees it as transformers' processors have it: Qwen2-VL,
// Qwen2.5-VL, Qwen3-VL, Qwen3.5 (docs/vision.md); others refuse it. RN_E_ARG: frames of several
// sizes, seconds that go back; RN_E_LIMIT (docs/limits.md); RN_E_NOMEM.
RN_API rn_status rn_picture_from_frames(const rn_picture *const *frames, size_t n_frames,
                                        const double *seconds, double fps, rn_picture **out,
                                        rn_error *err);
// The same of frames that the caller writes itself: *rgb, [n_frames][height][width][3], is black at
// first, and to be filled before anything else is done with the picture. Errors as above.
RN_API rn_status rn_picture_make_video(uint32_t width, uint32_t height, size_t n_frames,
                                       const double *seconds, double fps, rn_picture **out,
                                       uint8_t **rgb, rn_error *err);
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

// The vision part of a model: its processor, its tower and its projector. docs/vision.md has the
// families. For one picture at a time; internally locked, any thread.
typedef struct rn_vision rn_vision;

typedef enum rn_vision_stage {
    RN_VISION_FEATURES = 0, // [rows of the tower][its width]: of CLIP with the class row, first
    RN_VISION_PROJECTED = 1 // [rows of the text model][its width]
} rn_vision_stage;

// path: a model's folder, which stays mapped. n_threads: 0: as many as an engine would use. cpu: as
// in rn_engine_options; NULL: the best. RN_E_UNSUPPORTED: a file, a model without a vision part, or
// one of a family that is not supported, by name; RN_E_FORMAT, RN_E_IO, RN_E_LIMIT, RN_E_NOMEM.
RN_API rn_status rn_vision_open(const char *path, int32_t n_threads, const char *cpu,
                                rn_vision **out, rn_error *err);
// What the model makes of a picture: the same bits for any number of threads and any CPU set.
// out: two dimensions. RN_E_FORMAT: its numbers are not finite; RN_E_LIMIT, RN_E_NOMEM.
RN_API rn_status rn_vision_encode(rn_vision *v, const rn_picture *p, rn_vision_stage stage,
                                  rn_pixels *out, rn_error *err);
RN_API void rn_vision_close(rn_vision *v);

#ifdef __cplusplus
}
#endif

#endif
