// tests/media/resize_test.c - resizing has Pillow's bytes (tests/media/make_resized.py; random sizes: cli.pictures_test).
#include "media/resize.h"
#include "tests/check.h"
#include <stdlib.h>

static uint8_t *make_source(size_t n) {
    uint8_t *const rgb = malloc(n);
    for (size_t i = 0; rgb && i < n; i++) rgb[i] = (uint8_t)(i * i * 7 + 31 * i / 3);
    return rgb;
}

TEST(every_filter_gives_the_bytes_of_pillow) {
    size_t n = 0, at = 0, n_done = 0;
    uint8_t *const file = read_file(tests_path("media/resized.bin"), &n);
    while (file && at + 5 <= n) {
        const uint8_t *const head = file + at;
        const size_t n_to = (size_t)3 * head[3] * head[4];
        uint8_t *const from = make_source((size_t)3 * head[1] * head[2]), *const to = malloc(n_to);
        check_note("filter %u, %u x %u to %u x %u", head[0], head[1], head[2], head[3], head[4]);
        if (from && to && CHECK(at + 5 + n_to <= n) &&
            CHECK_OK(resize_rgb(from, head[1], head[2], (enum resize_filter)head[0], to, head[3], head[4], NULL),
                     NULL))
            CHECK_MEM(to, head + 5, n_to);
        free(from);
        free(to);
        at += 5 + n_to;
        n_done++;
    }
    CHECK_INT(n_done, 54);
    free(file);
}

struct once {
    const uint8_t *from;
    enum resize_filter filter;
};

static rn_status resize_once(void *user) {
    const struct once *const o = user;
    uint8_t to[3 * 4 * 7];
    return resize_rgb(o->from, 13, 9, o->filter, to, 4, 7, NULL);
}

TEST(each_failed_allocation_of_a_resize_is_reported) {
    uint8_t *const from = make_source((size_t)3 * 13 * 9);
    for (int f = 0; from && f < RESIZE_N_FILTERS; f++) {
        struct once o = {from, (enum resize_filter)f};
        CHECK(check_each_failed_allocation(resize_once, &o, __FILE__, __LINE__));
    }
    free(from);
}
