// media/pipeline.h - from a picture to the numbers that a vision tower reads: a list of steps, as data.
//
// formats/folder/preprocessor.h reads it from a model's folder. The definitions are those of the image processors of
// transformers over Pillow, whose bytes and floats it gives.
// Ownership: the numbers are the caller's, freed with mem_free(). Threads: a pipeline is immutable; any.
#ifndef RN_MEDIA_PIPELINE_H
#define RN_MEDIA_PIPELINE_H

#include "media/picture.h"
#include "media/resize.h"
#include "media/tiling.h"
#include "media/video_frames.h"
#include <stdbool.h>

enum pipeline_step_kind {
    PIPELINE_PAD_SQUARE,  // centred, with the mean color; the spare pixel goes to the right and below
    PIPELINE_RESIZE,      // to width x height
    PIPELINE_RESIZE_EDGE, // the shorter side to `width`, the other one by ratio, rounded down
    PIPELINE_RESIZE_LONG, // Idefics3: the longer side to `width`, the other one by ratio, rounded down and then up to an even number
    PIPELINE_RESIZE_AREA, // Qwen2-VL: sides are multiples of `width`, the area between min_pixels and max_pixels
    PIPELINE_RESIZE_WITHIN, // Pixtral: within width x height, by ratio, rounded down; then up to whole blocks of patches, of at most max_pixels
    PIPELINE_CROP, // width x height of the middle; what is beyond the picture is black
};

enum { PIPELINE_MAX_STEPS = 4, PIPELINE_MAX_SIDE = 4096, PIPELINE_MAX_PATCH_FRAMES = 4 };

struct pipeline_step {
    enum pipeline_step_kind kind;
    uint32_t width, height;
    uint32_t min_pixels, max_pixels;
    enum resize_filter filter;
};

struct pipeline {
    struct pipeline_step steps[PIPELINE_MAX_STEPS];
    size_t n_steps;
    bool takes_patches;     // of the tower: patch_size, patch_frames and merge_size are not the processor's to say
    bool has_marks;         // the processor writes the family's marks around pictures (struct vision_marks)
    struct tiling tiling;   // behind the steps: the picture in views, each an input of the tower
    double rescale;         // what a byte is multiplied with
    bool normalizes;        // then mean is subtracted, and it is divided by std
    double mean[3], std[3]; // of red, green and blue; the mean is also the color of a padding
    // 0: the result is [3][height][width], with a tiling [views][3][side][side]. Else Qwen2-VL's patches of so many pixels a side: [n_patches][3 * patch_frames * patch_size^2],
    // in the order of blocks of merge_size x merge_size, each patch channel by channel, as many equal frames in each.
    uint32_t patch_size, patch_frames, merge_size;
    // Of a video: `patch_frames` frames in each patch, the last one again where they are not whole. min_pixels and max_pixels are those of a
    // frame, or area_of_all: of all together (Qwen3-VL).
    bool takes_video, area_of_all;
    uint32_t video_min_pixels, video_max_pixels; // 0: as of a picture
    struct video_frames video_frames;            // fps 0: video_frames_usual()
};
// Which frames of a video it takes (video_frames_choose()). fps, n: in place of its own; 0: those.
size_t pipeline_choose_frames(const struct pipeline *p, double want_fps, uint32_t want_n, uint32_t n_all, double fps,
                              uint32_t *at);
// Of a video's frames together, once they are resized; each has as many of them as the others.
enum { PIPELINE_MOST_VIDEO_PIXELS = 25165824 };

struct pixels {
    size_t n_dims, shape[4];
    float *values;
    size_t n_rows, n_cols;         // of the grid of patches; 0: they are no patches
    size_t n_views;                // equally large inputs of the tower, one behind the other
    uint32_t tile_rows, tile_cols; // all views but the whole picture's; 0: there are no tiles
    uint32_t width, height;        // of the picture
    // Of a video: [n_views] the second of each, behind `values` in the same memory; how long a view is. NULL, 0: it is none.
    const double *seconds;
    double view_seconds;
};

static inline size_t pixels_of_view(const struct pixels *p) {
    size_t n = 1;
    for (size_t d = 0; d < p->n_dims; d++) n *= p->shape[d];
    return n / p->n_views;
}

/**
 * Run a pipeline.
 *
 * @param is_alone  the prompt has no other picture (struct tiling.only_alone).
 * @param out  zeros where it fails.
 * @return RN_E_LIMIT: a step would make more than PICTURE_MAX_PIXELS; RN_E_UNSUPPORTED: a video, where !takes_video; RN_E_NOMEM.
 */
rn_status pipeline_run(const struct pipeline *p, const struct picture *in, bool is_alone, struct pixels *out,
                       rn_error *err);

#endif
