// media/video_frames.c - see video_frames.h.
#include "media/video_frames.h"
#include <math.h>

static double within(double n, double least, double most) { return fmin(fmax(n, least), most); }

// Every step-th, rounded down: torch.arange() in float32.
static size_t choose_steps(double n, uint32_t n_all, uint32_t *at) {
    const double step = n_all / n;
    const size_t n_at = (size_t)n;
    for (size_t i = 0; i < n_at; i++) {
        const uint32_t frame = (uint32_t)(float)((double)i * step);
        at[i] = frame < n_all ? frame : n_all - 1;
    }
    return n_at;
}

// From the first to the last one, rounded: numpy.linspace().
static size_t choose_between(double n, uint32_t n_all, uint32_t *at) {
    const size_t n_at = (size_t)n;
    const double step = n_at > 1 ? (n_all - 1.0) / (n - 1) : 0;
    for (size_t i = 0; i < n_at; i++) at[i] = (uint32_t)rint((double)i * step);
    if (n_at > 1) at[n_at - 1] = n_all - 1;
    return n_at;
}

size_t video_frames_choose(const struct video_frames *f, bool from_end_to_end, uint32_t patch_frames, uint32_t n_all,
                           double fps, uint32_t *at) {
    const double most = fmin(n_all, VIDEO_MAX_FRAMES), by_fps = n_all / fps * f->fps, whole = patch_frames;
    if (from_end_to_end) {
        const double n = f->n ? f->n : within(floor(by_fps), f->min, fmin(f->max, most));
        return choose_between(within(n, 1, most), n_all, at);
    }
    const double most_whole = floor(most / whole) * whole;
    const double n = f->n ? rint(f->n / whole) * whole
                          : floor(within(by_fps, f->min, floor(fmin(f->max, most) / whole) * whole) / whole) * whole;
    if (most_whole == 0) return choose_steps(most, n_all, at);
    return choose_steps(within(n, whole, most_whole), n_all, at);
}
