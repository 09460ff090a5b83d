// app/video_talk.h - what a program and `runnel-video` tell each other about a video, in the machine's own byte order:
//
//   to it:  struct video_file, the file; from it: struct video_head; to it: struct video_wants, the numbers of frames, uint32_t each; from it: their
//   seconds, double each, then the frames, bytes [height][width][3] each.
//
// Where it cannot go on it ends with another code than 0, and says why on stderr.
#ifndef RN_APP_VIDEO_TALK_H
#define RN_APP_VIDEO_TALK_H

#include <stdint.h>

// docs/limits.md. SIDE and RATIO are those of pictures.
enum {
    VIDEO_FILE_BYTES = 100 << 20,
    VIDEO_FILE_FRAMES = 1000000,
    VIDEO_FILE_SECONDS = 6 * 3600,
    VIDEO_SIDE = 16384,
    VIDEO_RATIO = 200,
    VIDEO_FRAME_PIXELS = 50000000,
    VIDEO_CHOSEN = 768,
    VIDEO_CPU_SECONDS = 60,
    VIDEO_MEMORY_MIB = 2048,
};

struct video_file {
    uint64_t n_bytes;
};
struct video_head {
    uint32_t width, height; // upright
    uint32_t n_frames, unused;
    double fps;
};
struct video_wants {
    uint32_t n;
    uint32_t width, height; // as small as its frames are to be, at most as they are
};

#endif
