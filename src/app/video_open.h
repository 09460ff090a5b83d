// app/video_open.h - a video file as the frames that a model sees, decoded by the program `runnel-video` (app/video_talk.h).
//
// Threads: any.
#ifndef RN_APP_VIDEO_OPEN_H
#define RN_APP_VIDEO_OPEN_H

#include <runnel/runnel.h>
#include <stdbool.h>

enum { VIDEO_OPEN_WHY = 320 };

// fps: so many frames of each second, n: of all; 0: as the model's processor chooses them.
typedef struct video_choice {
    double fps;
    int32_t n;
} video_choice;

typedef struct video_opening {
    const rn_model *model;
    video_choice choice;
    uint64_t most_pixels; // of all its frames: where they have more, they are made smaller while they are decoded
    bool (*is_given_up)(void); // NULL: never
    bool is_unsupported;       // set: the model takes none, or this build reads none
    bool lacks_memory;         // set
} video_opening;

enum { VIDEO_OPEN_PIXELS = 200000000 }; // what the library takes (docs/limits.md)

// False: why ([VIDEO_OPEN_WHY]) has the reason.
bool video_open(video_opening *o, const void *file, size_t n, rn_picture **out, char *why);

#endif
