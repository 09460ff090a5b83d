// app/video_open.c - see video_open.h.
#include "app/video_open.h"
#include "app/child.h"
#include "app/progress.h"
#include "app/video_talk.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

// Decoding may take its processor time twice over on a busy machine.
enum { MOST_SECONDS = 4 * VIDEO_CPU_SECONDS };

typedef struct opening {
    video_opening *o;
    child c;
    child_patience patience;
    bytes reason;
    struct video_head head;
    struct video_wants wants;
    uint32_t at[RN_VIDEO_MOST_FRAMES];
} opening;

static bool failed(opening *p, const rn_error *err, char *why) {
    p->o->is_unsupported = err->code == RN_E_UNSUPPORTED;
    p->o->lacks_memory = err->code == RN_E_NOMEM;
    snprintf(why, VIDEO_OPEN_WHY, "%.300s", err->text);
    return false;
}

// Which frames, and how large: all of them have at most so many pixels.
static bool choose(opening *p, char *why) {
    const struct video_head *const h = &p->head;
    rn_error err = {0};
    size_t n = 0;
    if (rn_video_choose_frames(p->o->model, h->n_frames, h->fps, p->o->choice.fps, (uint32_t)p->o->choice.n, p->at,
                               &n, &err) != RN_OK)
        return failed(p, &err, why);
    const double n_pixels = (double)h->width * h->height * (double)n,
                 scale = fmin(1, sqrt((double)p->o->most_pixels / n_pixels));
    const double width = fmax(1, floor(h->width * scale)), height = fmax(1, floor(h->height * scale));
    p->wants = (struct video_wants){(uint32_t)n, (uint32_t)width, (uint32_t)height};
    if (width * height * (double)n <= (double)p->o->most_pixels) return true;
    snprintf(why, VIDEO_OPEN_WHY, "%zu frames of %u x %u pixels are more than %" PRIu64 " together", n, h->width,
             h->height, p->o->most_pixels);
    return false;
}

static bool talk(opening *p, const void *file, size_t n, rn_picture **out, char *why) {
    const struct video_file said = {n};
    double seconds[RN_VIDEO_MOST_FRAMES];
    uint8_t *rgb = NULL;
    rn_error err = {0};
    const child_patience *const patience = &p->patience;
    if (!child_write(&p->c, &said, sizeof said, patience, &p->reason) ||
        !child_write(&p->c, file, n, patience, &p->reason) ||
        !child_read(&p->c, &p->head, sizeof p->head, patience, &p->reason) || !choose(p, why) ||
        !child_write(&p->c, &p->wants, sizeof p->wants, patience, &p->reason) ||
        !child_write(&p->c, p->at, p->wants.n * sizeof *p->at, patience, &p->reason) ||
        !child_read(&p->c, seconds, p->wants.n * sizeof *seconds, patience, &p->reason))
        return false;
    const double fps = p->wants.n / (p->head.n_frames / p->head.fps); // of those that are seen
    if (rn_picture_make_video(p->wants.width, p->wants.height, p->wants.n, seconds, fps, out, &rgb, &err) != RN_OK)
        return failed(p, &err, why);
    const size_t n_bytes = 3 * (size_t)p->wants.width * p->wants.height * p->wants.n;
    if (child_read(&p->c, rgb, n_bytes, patience, &p->reason)) return true;
    rn_picture_close(*out);
    *out = NULL;
    return false;
}

bool video_open(video_opening *o, const void *file, size_t n, rn_picture **out, char *why) {
    opening p = {.o = o, .patience = {now_ns() + (int64_t)MOST_SECONDS * 1000000000, o->is_given_up}};
    *out = NULL, *why = '\0';
    if (n > VIDEO_FILE_BYTES) {
        snprintf(why, VIDEO_OPEN_WHY, "video: %zu bytes: at most %d are read", n, VIDEO_FILE_BYTES);
        return false;
    }
    if (!child_begin(&p.c, "runnel-video", NULL, 0)) {
        o->is_unsupported = true;
        snprintf(why, VIDEO_OPEN_WHY,
                 "video: runnel-video, which is built where FFmpeg's libraries are, does not start");
        return false;
    }
    const bool ok = talk(&p, file, n, out, why);
    if (!ok && !*why) { // its own reason, which comes behind what it wrote
        bytes rest = {0};
        child_close_input(&p.c);
        (void)child_read_all(&p.c, &rest, 1, &p.patience, &p.reason);
        bytes_free(&rest);
    }
    const bool has_ended = now_ns() < p.patience.ends_ns;
    (void)child_end(&p.c, !ok);
    const char *const words = p.reason.n  ? p.reason.data
                              : has_ended ? "its decoder ended: too much memory or time, or a broken file"
                                          : "it takes too long";
    if (!ok && !*why) snprintf(why, VIDEO_OPEN_WHY, "video: %.*s", (int)strcspn(words, "\n"), words);
    bytes_free(&p.reason);
    return ok;
}
