// media/video_frames.h - which frames of a video a model sees, as transformers' video processors choose them.
//
// Threads: any; nothing is kept.
#ifndef RN_MEDIA_VIDEO_FRAMES_H
#define RN_MEDIA_VIDEO_FRAMES_H

#include "media/picture.h"
#include <stdbool.h>

struct video_frames {
    double fps;        // so many of each second; not read where `n` says how many of all
    uint32_t n;        // 0: by fps
    uint32_t min, max; // of fps
};
// What processors of published models have.
static inline struct video_frames video_frames_usual(void) {
    return (struct video_frames){.fps = 2, .min = 4, .max = VIDEO_MAX_FRAMES};
}

/**
 * Qwen2VLVideoProcessor.sample_frames(), or, with `from_end_to_end`, Qwen3VLVideoProcessor.sample_frames(). Never more frames than there are, nor than VIDEO_MAX_FRAMES.
 *
 * @param patch_frames  how many make a patch: the former takes a multiple of it, or all where there are fewer.
 * @param n_all  frames of the video, at least 1.
 * @param fps  of these, above 0.
 * @param at  [VIDEO_MAX_FRAMES] receives their numbers, in order.
 * @return how many; at least 1.
 */
size_t video_frames_choose(const struct video_frames *f, bool from_end_to_end, uint32_t patch_frames, uint32_t n_all,
                           double fps, uint32_t *at);

#endif
