// video/video_main.c - the program `runnel-video`: decodes frames of a video for the others (app/video_talk.h), not for people.
//
// A process of its own, since decoders of video are large and read what strangers made: it may take so much memory and time, opens no file, and whatever
// happens to it ends one request. The other programs start without FFmpeg's libraries, too.
#include "app/process.h"
#include "app/video_talk.h"
#include "video/video_reader.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static void limit(int what, rlim_t most) { (void)setrlimit(what, &(struct rlimit){most, most}); }

static void limit_all(void) {
    limit(RLIMIT_CPU, VIDEO_CPU_SECONDS);
    limit(RLIMIT_NOFILE, 3); // the three that are open
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_FSIZE, 0);
#ifndef __SANITIZE_ADDRESS__ // which reserves terabytes
    limit(RLIMIT_AS, (rlim_t)VIDEO_MEMORY_MIB << 20);
#endif
}

static bool get(void *to, size_t n) {
    for (uint8_t *at = to; n;) {
        const ssize_t now = read(STDIN_FILENO, at, n);
        if (now == 0 || (now < 0 && errno != EINTR)) return false;
        if (now > 0) at += now, n -= (size_t)now;
    }
    return true;
}

static bool put(void *user, const uint8_t *from, size_t n) {
    (void)user;
    while (n) {
        const ssize_t now = write(STDOUT_FILENO, from, n);
        if (now < 0 && errno != EINTR) return false;
        if (now > 0) from += now, n -= (size_t)now;
    }
    return true;
}

static bool wants_are_fine(const struct video_wants *w, const video_reader *r) {
    return w->n >= 1 && w->n <= VIDEO_CHOSEN && w->width >= 1 && w->height >= 1 && w->width <= r->head.width &&
           w->height <= r->head.height;
}

static bool answer(video_reader *r, char *why) {
    struct video_wants wants;
    uint32_t at[VIDEO_CHOSEN];
    double seconds[VIDEO_CHOSEN];
    if (!put(NULL, (const uint8_t *)&r->head, sizeof r->head) || !get(&wants, sizeof wants)) return false;
    if (!wants_are_fine(&wants, r) || !get(at, wants.n * sizeof *at)) return false;
    for (uint32_t i = 0; i < wants.n; i++) {
        if (at[i] >= r->head.n_frames || (i && at[i] < at[i - 1])) return false;
        seconds[i] = r->seconds[at[i]];
    }
    return put(NULL, (const uint8_t *)seconds, wants.n * sizeof *seconds) &&
           video_reader_frames(r, at, wants.n, wants.width, wants.height, put, NULL, why);
}

int main(void) {
    char why[VIDEO_WHY] = "";
    struct video_file file;
    video_reader r = {0};
    process_begin();
    limit_all();
    if (!get(&file, sizeof file) || file.n_bytes > VIDEO_FILE_BYTES) return 1;
    uint8_t *const bytes = malloc(file.n_bytes + 1);
    const bool ok =
        bytes && get(bytes, file.n_bytes) && video_reader_open(&r, bytes, file.n_bytes, why) && answer(&r, why);
    if (!ok && *why) fprintf(stderr, "%s\n", why);
    video_reader_close(&r);
    free(bytes);
    return ok ? 0 : 1;
}
