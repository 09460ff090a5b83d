// fuzz/fuzz_video.c - any bytes as a video. FFmpeg's libraries have memory of their own, which is not counted.
#include "video/video_reader.h"
#include "walk_package.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

struct taken {
    size_t n, n_bytes;
};

static bool take(void *user, const uint8_t *rgb, size_t n_bytes) {
    struct taken *const t = user;
    must(n_bytes == t->n_bytes);
    for (size_t i = 0; i < n_bytes; i++) sum += rgb[i]; // all of them are there
    t->n++;
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    enum { MOST = 4, SIDE = 32 };
    char why[VIDEO_WHY] = "";
    video_reader r = {0};
    const bool ok = video_reader_open(&r, data, n, why);
    must(ok || why[0] != 0);
    if (ok) {
        const struct video_head *const h = &r.head;
        const uint32_t width = h->width < SIDE ? h->width : SIDE, height = h->height < SIDE ? h->height : SIDE;
        uint32_t at[MOST];
        must(h->n_frames >= 1 && h->n_frames <= VIDEO_FILE_FRAMES && h->fps > 0 && h->width >= 1 && h->height >= 1);
        for (uint32_t i = 0; i < h->n_frames; i++)
            must(r.seconds[i] >= (i ? r.seconds[i - 1] : 0) && r.seconds[i] <= VIDEO_FILE_SECONDS);
        for (uint32_t i = 0; i < MOST; i++) at[i] = (uint32_t)((uint64_t)i * h->n_frames / MOST);
        struct taken t = {.n_bytes = 3 * (size_t)width * height};
        const bool has_all = video_reader_frames(&r, at, MOST, width, height, take, &t, why);
        must(has_all ? t.n == MOST : why[0] != 0);
    }
    video_reader_close(&r);
    return 0;
}
