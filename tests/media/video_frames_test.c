// tests/media/video_frames_test.c - which frames of a video are seen: numbers that transformers' sample_frames() gave (tests/media/make_video_frames.py).
#include "media/video_frames.h"
#include "tests/check.h"

#include "tests/media/video_frames.h"

TEST(frames_are_those_of_transformers) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct frames_case *const c = &cases[i];
        struct video_frames f = video_frames_usual();
        uint32_t at[VIDEO_MAX_FRAMES];
        if (c->want_fps > 0) f.fps = c->want_fps;
        f.n = c->want_n;
        check_note("case %zu: %u frames, %g in a second", i, c->n_all, c->fps);
        const size_t n = video_frames_choose(&f, c->from_end_to_end, 2, c->n_all, c->fps, at);
        uint64_t sum = 0;
        for (size_t k = 0; k < n; k++) sum = sum * 31 + at[k];
        CHECK_INT(n, c->n);
        CHECK(sum == c->sum);
    }
}

// What transformers refuses: more than there are, and one frame.
TEST(there_are_never_more_frames_than_the_video_has) {
    uint32_t at[VIDEO_MAX_FRAMES];
    for (int from_end_to_end = 0; from_end_to_end < 2; from_end_to_end++)
        for (uint32_t n_all = 1; n_all < 2000; n_all += n_all < 20 ? 1 : 97)
            for (uint32_t want = 0; want <= VIDEO_MAX_FRAMES; want += 64) {
                struct video_frames f = video_frames_usual();
                f.n = want;
                const size_t n = video_frames_choose(&f, from_end_to_end, 2, n_all, 25, at);
                CHECK(n >= 1 && n <= n_all && n <= VIDEO_MAX_FRAMES);
                for (size_t i = 0; i < n; i++) CHECK(at[i] < n_all && (i == 0 || at[i] > at[i - 1]));
            }
}
