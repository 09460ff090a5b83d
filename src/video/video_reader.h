// video/video_reader.h - frames of a video file in memory, through FFmpeg's libraries.
//
// Only formats and decoders of a list are used, of which none asks for another file or address; FFmpeg gets memory to read from, no path and no protocol.
// Ownership: the caller's struct, all zero at first; video_reader_close(). The file outlives it. Threads: one at a time.
#ifndef RN_VIDEO_VIDEO_READER_H
#define RN_VIDEO_VIDEO_READER_H

#include "app/video_talk.h"
#include <stdbool.h>
#include <stddef.h>

enum { VIDEO_WHY = 256 };

typedef struct video_reader {
    const uint8_t *file;
    size_t n_file, at;
    double *seconds; // [head.n_frames] when each is shown, from 0
    int quarter;     // turns to the right, which make its frames upright
    struct video_head head;
    struct video_decoder *decoder;
} video_reader;

// Counts the frames. False: why says what it is, or which limit it passes.
bool video_reader_open(video_reader *r, const uint8_t *file, size_t n, char *why);
// The frames at[0..n), numbers that do not fall, each given to `take` as RGB of width x height, over white. False: why; or take said so.
typedef bool (*video_take_fn)(void *user, const uint8_t *rgb, size_t n_bytes);
bool video_reader_frames(video_reader *r, const uint32_t *at, size_t n, uint32_t width, uint32_t height,
                         video_take_fn take, void *user, char *why);
void video_reader_close(video_reader *r);

#endif
