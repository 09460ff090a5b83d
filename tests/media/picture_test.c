// tests/media/picture_test.c - pictures: Pillow's pixels, and files that are refused.
#include "base/mem.h"
#include "media/picture.h"
#include "tests/check.h"
#include <stdlib.h>
#include <string.h>

// Files of tests/media/pictures, made by make_pictures.py.
static const char *const files[] = {
    "1.png",
    "l.png",
    "la.png",
    "p.png",
    "rgb.png",
    "rgba.png",
    "i16.png",
    "palette-alpha.png",
    "rgb-transparent.png",
    "gray16-transparent.png",
    "turned.png",
    "l.jpeg",
    "rgb.jpeg",
    "cmyk.jpeg",
    "progressive.jpeg",
    "orientation-2.jpeg",
    "orientation-3.jpeg",
    "orientation-4.jpeg",
    "orientation-5.jpeg",
    "orientation-6.jpeg",
    "orientation-7.jpeg",
    "orientation-8.jpeg",
    "xmp.jpeg",
    "lossy.webp",
    "lossless-alpha.webp",
    "film.webp",
    "plain.gif",
    "transparent.gif",
    "film.gif",
    "1.bmp",
    "l.bmp",
    "p.bmp",
    "rgb.bmp",
    "rgba.bmp",
};
enum { N_FILES = sizeof files / sizeof *files };

static uint8_t *read_picture(const char *name, const char *more, size_t *n) {
    char path[128];
    snprintf(path, sizeof path, "media/pictures/%s%s", name, more);
    return read_file(tests_path(path), n);
}

// Is the format's library in this build? What is lacking is in the error.
static bool is_built(const uint8_t *file, size_t n) {
    struct picture p;
    rn_error err = {0};
    const rn_status st = picture_decode(file, n, &p, &err);
    picture_free(&p);
    return st != RN_E_UNSUPPORTED;
}

TEST(pixels_are_those_of_pillow) {
    size_t n_absent = 0;
    for (size_t i = 0; i < N_FILES; i++) {
        size_t n = 0, n_want = 0;
        uint8_t *const file = read_picture(files[i], "", &n), *const want = read_picture(files[i], ".rgb", &n_want);
        struct picture p = {0};
        rn_error err = {0};
        check_note("%s", files[i]);
        if (file && want && !is_built(file, n))
            n_absent++;
        else if (file && want && CHECK_OK(picture_decode(file, n, &p, &err), &err) &&
                 CHECK_INT(p.width, want[0] | want[1] << 8) && CHECK_INT(p.height, want[2] | want[3] << 8) &&
                 CHECK_INT(n_want, 4 + 3 * (size_t)p.width * p.height))
            CHECK_MEM(p.rgb, want + 4, n_want - 4);
        picture_free(&p);
        free(file);
        free(want);
    }
    if (n_absent) test_skip("libraries of %zu of these files were not there when runnel was built", n_absent);
}

TEST(a_file_that_ends_early_is_refused_wherever_it_ends) {
    for (size_t i = 0; i < N_FILES; i++) {
        size_t n = 0;
        uint8_t *const file = read_picture(files[i], "", &n);
        if (!file) continue;
        for (size_t cut = 0; cut < n && is_built(file, n); cut++) {
            uint8_t *const part = malloc(cut + 1); // of its own, so that sanitizers watch the end
            struct picture p = {0};
            rn_error err = {0};
            if (!part) continue;
            memcpy(part, file, cut);
            const rn_status st = picture_decode(part, cut, &p, &err);
            check_note("%s, %zu of %zu bytes: %s", files[i], cut, n, err.text);
            if (st == RN_OK && strcmp(files[i], "film.gif") == 0 && CHECK(cut > n / 2)) {
                picture_free(&p); // its first frame is whole, and more is not read
                free(part);
                break;
            }
            CHECK(st == RN_E_FORMAT || (st == RN_E_UNSUPPORTED && cut < 12));
            CHECK(!p.rgb);
            picture_free(&p);
            free(part);
        }
        free(file);
    }
}

// Any byte changed: pixels or an error, and nothing left behind. The sanitizers watch.
TEST(a_changed_byte_gives_pixels_or_an_error) {
    for (size_t i = 0; i < N_FILES; i++) {
        size_t n = 0;
        uint8_t *const file = read_picture(files[i], "", &n);
        for (size_t at = 0; file && at < n; at++) {
            const long live = mem_live();
            const uint8_t was = file[at];
            struct picture p = {0};
            rn_error err = {0};
            file[at] = (uint8_t)(was ^ (1U << at % 8) ^ 0x80);
            const rn_status st = picture_decode(file, n, &p, &err);
            file[at] = was;
            CHECK((st == RN_OK) == (p.rgb != NULL));
            CHECK(st == RN_OK || err.text[0]);
            picture_free(&p);
            CHECK_INT(mem_live(), live);
        }
        free(file);
    }
}

static void put_u32(uint8_t *to, uint32_t value, bool is_big) {
    for (int i = 0; i < 4; i++) to[i] = (uint8_t)(value >> 8 * (is_big ? 3 - i : i));
}

// A BMP of one bit a pixel whose rows are not there: what its header says is checked first.
static rn_status open_header(uint32_t width, uint32_t height, rn_error *err) {
    uint8_t file[62] = {'B', 'M', [10] = 62, [14] = 40, [26] = 1, [28] = 1};
    struct picture p = {0};
    put_u32(file + 18, width, false);
    put_u32(file + 22, height, false);
    const rn_status st = picture_decode(file, sizeof file, &p, err);
    CHECK(!p.rgb);
    return st;
}

TEST(sizes_beyond_the_limits_are_refused_before_memory_is_taken) {
    static const struct {
        uint32_t width, height;
        const char *why; // NULL: within the limits, so that the missing rows are what is wrong
    } cases[] = {
        {16384, 3051, NULL},
        {16384, 3052, "at most 50000000"},
        {3051, 16384, NULL},
        {16384, 82, NULL},
        {16384, 81, "200 times"},
        {81, 16384, "200 times"},
        {16385, 1000, "at most 16384"},
        {1000, 16385, "at most 16384"},
        {1, 1000000, "at most 16384"},
        {100000, 100000, "at most 16384"},
        {1, 201, "200 times"},
        {1, 200, NULL},
        {0, 5, "none"},
        {5, 0, "none"},
        {0xffffffff, 5, "at most 16384"},
        {5, 0x80000000, "at most 16384"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const long count = mem_count();
        rn_error err = {0};
        const rn_status st = open_header(cases[i].width, cases[i].height, &err);
        check_note("%u x %u: %s", cases[i].width, cases[i].height, err.text);
        if (!cases[i].why) {
            CHECK_INT(st, RN_E_FORMAT);
            CHECK_HAS(err.text, "ends early");
        } else {
            CHECK_INT(st, cases[i].width && cases[i].height ? RN_E_LIMIT : RN_E_FORMAT);
            CHECK_HAS(err.text, cases[i].why);
            CHECK_INT(mem_count(), count);
        }
    }
}

TEST(bytes_beyond_the_limit_are_refused) {
    uint8_t *const file = calloc(1, PICTURE_MAX_BYTES + 1);
    struct picture p = {0};
    rn_error err = {0};
    if (!file) return;
    CHECK_INT(picture_decode(file, PICTURE_MAX_BYTES, &p, &err), RN_E_UNSUPPORTED);
    CHECK_INT(picture_decode(file, PICTURE_MAX_BYTES + 1, &p, &err), RN_E_LIMIT);
    CHECK_HAS(err.text, "20971521 bytes: at most 20971520");
    free(file);
}

TEST(what_is_no_picture_that_is_read_is_named) {
    static const struct {
        const char *bytes;
        size_t n;
        const char *why;
    } cases[] = {
        {"", 0, "empty"},
        {"hello", 5, "not a picture by its first bytes"},
        {"II*\0", 4, "TIFF is not read"},
        {"MM\0*", 4, "TIFF is not read"},
        {"\0\0\0\x1c"
         "ftypavif",
         12, "AVIF is not read"},
        {"\0\0\0\x1c"
         "ftypheic",
         12, "HEIC is not read"},
        {"%PDF-1.7", 8, "PDF is not read"},
        {"RIFF\0\0\0\0WAVE", 12, "not a picture"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct picture p = {0};
        rn_error err = {0};
        CHECK_INT(picture_decode(cases[i].bytes, cases[i].n, &p, &err), RN_E_UNSUPPORTED);
        CHECK_HAS(err.text, cases[i].why);
    }
}

struct whole_file {
    const uint8_t *data;
    size_t n;
};

static rn_status decode_once(void *user) {
    const struct whole_file *const f = user;
    struct picture p = {0};
    const rn_status st = picture_decode(f->data, f->n, &p, NULL);
    CHECK((st == RN_OK) == (p.rgb != NULL));
    picture_free(&p);
    return st;
}

// What libjpeg, libwebp and giflib allocate is their own, and not counted here.
TEST(each_failed_allocation_is_reported) {
    for (size_t i = 0; i < N_FILES; i++) {
        size_t n = 0;
        uint8_t *const file = read_picture(files[i], "", &n);
        struct whole_file f = {file, n};
        check_note("%s", files[i]);
        if (file && is_built(file, n)) CHECK(check_each_failed_allocation(decode_once, &f, __FILE__, __LINE__));
        free(file);
    }
}
