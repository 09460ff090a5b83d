// media/picture.c - see picture.h: finds the format, checks sizes, and makes upright RGB of what a reader gives.
#include "media/picture.h"
#include "base/mem.h"
#include "media/picture_reader.h"
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

typedef rn_status (*reader_fn)(cursor file, struct raw_picture *out, rn_error *err);

// Readers over libraries that CMake did not find are not compiled.
#ifdef RUNNEL_HAS_PNG
#define PNG_READ png_read
#else
#define PNG_READ NULL
#endif
#ifdef RUNNEL_HAS_JPEG
#define JPEG_READ jpeg_read
#else
#define JPEG_READ NULL
#endif
#ifdef RUNNEL_HAS_WEBP
#define WEBP_READ webp_read
#else
#define WEBP_READ NULL
#endif
#ifdef RUNNEL_HAS_GIF
#define GIF_READ gif_read
#else
#define GIF_READ NULL
#endif

struct format {
    const char *name, *library; // NULL: none is needed
    const char *first, *at_8;   // bytes at the beginning, and at offset 8; NULL: any
    reader_fn read;             // NULL: named and refused
};
static const struct format formats[] = {
    {"PNG", "libpng", "\x89PNG\r\n\x1a\n", NULL, PNG_READ},
    {"JPEG", "libjpeg", "\xff\xd8\xff", NULL, JPEG_READ},
    {"WebP", "libwebpdemux", "RIFF", "WEBP", WEBP_READ},
    {"GIF", "libgif", "GIF87a", NULL, GIF_READ},
    {"GIF", "libgif", "GIF89a", NULL, GIF_READ},
    {"BMP", NULL, "BM", NULL, bmp_read},
    {"TIFF", NULL, "II*", NULL, NULL},
    {"TIFF", NULL, "MM", NULL, NULL},
    {"AVIF", NULL, "", "avif", NULL},
    {"HEIC", NULL, "", "heic", NULL},
    {"JPEG 2000", NULL, "", "\r\n\x87\n", NULL},
    {"JPEG XL", NULL, "\xff\x0a", NULL, NULL},
    {"PDF", NULL, "%PDF", NULL, NULL},
};

static bool begins_with(const uint8_t *data, size_t n, const char *text) {
    return n >= strlen(text) && memcmp(data, text, strlen(text)) == 0;
}

static const struct format *find_format(const uint8_t *data, size_t n) {
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (begins_with(data, n, formats[i].first) &&
            (!formats[i].at_8 || (n > 8 && begins_with(data + 8, n - 8, formats[i].at_8))))
            return &formats[i];
    return NULL;
}

static rn_status check_size(uint64_t width, uint64_t height, rn_error *err) {
    if (width == 0 || height == 0)
        return fail(err, RN_E_FORMAT, "%" PRIu64 " x %" PRIu64 " pixels: none", width, height);
    if (width > PICTURE_MAX_SIDE || height > PICTURE_MAX_SIDE)
        return fail(err, RN_E_LIMIT, "%" PRIu64 " x %" PRIu64 " pixels: a side has at most %d", width, height,
                    PICTURE_MAX_SIDE);
    if (width * height > PICTURE_MAX_PIXELS)
        return fail(err, RN_E_LIMIT, "%" PRIu64 " x %" PRIu64 " pixels: a picture has at most %d", width, height,
                    PICTURE_MAX_PIXELS);
    if (width > PICTURE_MAX_RATIO * height || height > PICTURE_MAX_RATIO * width)
        return fail(err, RN_E_LIMIT, "%" PRIu64 " x %" PRIu64 " pixels: a side has at most %d times the other one",
                    width, height, PICTURE_MAX_RATIO);
    return RN_OK;
}

rn_status raw_picture_begin(struct raw_picture *p, uint64_t width, uint64_t height, int n_channels, rn_error *err) {
    const rn_status st = check_size(width, height, err);
    if (st != RN_OK) return st;
    p->pixels = mem_alloc((size_t)(width * height) * (size_t)n_channels);
    if (!p->pixels) return fail(err, RN_E_NOMEM, "out of memory");
    p->width = (uint32_t)width, p->height = (uint32_t)height;
    p->n_channels = (uint8_t)n_channels;
    return RN_OK;
}

// value * share / 255, rounded to nearest, as Pillow computes it: exact for bytes.
static uint8_t share_of(uint32_t sum) {
    sum += 128;
    return (uint8_t)((sum + (sum >> 8)) >> 8);
}

// RGB over white, in place: a pixel is written at or before where it is read.
static void drop_alpha(struct raw_picture *p) {
    const size_t n = (size_t)p->width * p->height;
    for (size_t i = 0; i < n; i++) {
        const uint8_t *const from = p->pixels + 4 * i;
        uint8_t *const to = p->pixels + 3 * i;
        const uint32_t alpha = from[3];
        for (int c = 0; c < 3; c++) to[c] = share_of(from[c] * alpha + 255 * (255 - alpha));
    }
    p->n_channels = 3;
}

/*
 * Orientation (Exif 2.32, section 4.6.4) says where the file's first row and column are to be shown; 5 to 8 exchange the sides.
 * One pass: the pixel at (x, y) of the file goes to (x or its mirror, y or its mirror), exchanged or not.
 */
static rn_status turn_upright(const struct raw_picture *p, struct picture *out, rn_error *err) {
    const bool is_turned = p->orientation >= 5;
    static const struct {
        bool x, y;
    } mirrors[9] = {[2] = {true, false}, [3] = {true, true}, [4] = {false, true},
                    [6] = {false, true}, [7] = {true, true}, [8] = {true, false}};
    const bool mirrors_x = mirrors[p->orientation].x, mirrors_y = mirrors[p->orientation].y;
    const uint32_t width = is_turned ? p->height : p->width;
    uint8_t *const rgb = mem_alloc(3 * (size_t)p->width * p->height);
    if (!rgb) return fail(err, RN_E_NOMEM, "out of memory");
    for (uint32_t y = 0; y < p->height; y++)
        for (uint32_t x = 0; x < p->width; x++) {
            const uint32_t to_x = mirrors_x ? p->width - 1 - x : x, to_y = mirrors_y ? p->height - 1 - y : y;
            const size_t to = is_turned ? (size_t)to_x * width + to_y : (size_t)to_y * width + to_x;
            memcpy(rgb + 3 * to, p->pixels + 3 * ((size_t)y * p->width + x), 3);
        }
    out->width = width, out->height = is_turned ? p->width : p->height;
    out->rgb = rgb;
    return RN_OK;
}

static rn_status make_picture(struct raw_picture *p, struct picture *out, rn_error *err) {
    if (p->n_channels == 4) drop_alpha(p);
    if (p->orientation >= 2) return turn_upright(p, out, err);
    out->width = p->width, out->height = p->height;
    out->rgb = p->pixels;
    p->pixels = NULL;
    return RN_OK;
}

rn_status picture_decode(const void *file, size_t n, struct picture *out, rn_error *err) {
    *out = (struct picture){0};
    if (n > PICTURE_MAX_BYTES)
        return fail(err, RN_E_LIMIT, "picture: %zu bytes: at most %d are read", n, PICTURE_MAX_BYTES);
    const struct format *const f = find_format(file, n);
    if (!f)
        return fail(err, RN_E_UNSUPPORTED, "picture: %s: PNG, JPEG, WebP, GIF and BMP are read",
                    n ? "not a picture by its first bytes" : "empty");
    if (!f->read)
        return f->library ? fail(err, RN_E_UNSUPPORTED, "picture: %s: %s was not there when runnel was built",
                                 f->name, f->library)
                          : fail(err, RN_E_UNSUPPORTED, "picture: %s is not read: PNG, JPEG, WebP, GIF and BMP are",
                                 f->name);
    struct raw_picture raw = {0};
    rn_status st = f->read((cursor){.data = file, .size = n}, &raw, err);
    if (st == RN_OK) st = make_picture(&raw, out, err);
    mem_free(raw.pixels);
    out->format = st == RN_OK ? f->name : NULL;
    return st == RN_OK ? RN_OK : fail_in(err, st, "picture: %s", f->name);
}

static rn_status check_video(uint64_t width, uint64_t height, size_t n, const double *seconds, double fps,
                             rn_error *err) {
    if (n < 1 || n > VIDEO_MAX_FRAMES)
        return fail(err, RN_E_LIMIT, "video: %zu frames, 1..%d are read", n, VIDEO_MAX_FRAMES);
    if (!(fps > 0 && fps <= 1000)) return fail(err, RN_E_ARG, "video: %g frames in a second, 0..1000 are", fps);
    for (size_t i = 0; i < n; i++)
        if (!(seconds[i] >= (i ? seconds[i - 1] : 0) && seconds[i] <= 1e6))
            return fail(err, RN_E_ARG, "video: frame %zu is at second %g", i, seconds[i]);
    const rn_status st = check_size(width, height, err);
    if (st != RN_OK) return fail_in(err, st, "video");
    if (width * height * n > VIDEO_MAX_PIXELS)
        return fail(err, RN_E_LIMIT,
                    "video: %zu frames of %" PRIu64 " x %" PRIu64 " pixels: at most %d together are read", n, width,
                    height, VIDEO_MAX_PIXELS);
    return RN_OK;
}

rn_status picture_make_video(uint32_t width, uint32_t height, size_t n, const double *seconds, double fps,
                             struct picture *out, rn_error *err) {
    *out = (struct picture){0};
    const rn_status st = check_video(width, height, n, seconds, fps, err);
    if (st != RN_OK) return st;
    struct picture made = {.width = width,
                           .height = height,
                           .rgb = mem_calloc(n * height, 3 * (size_t)width),
                           .format = "frames",
                           .n_frames = (uint32_t)n,
                           .seconds = mem_alloc(n * sizeof *made.seconds),
                           .fps = fps};
    if (!made.rgb || !made.seconds) {
        picture_free(&made);
        return fail(err, RN_E_NOMEM, "video: out of memory for %zu frames", n);
    }
    memcpy(made.seconds, seconds, n * sizeof *made.seconds);
    *out = made;
    return RN_OK;
}

static rn_status check_frames(const struct picture *const *frames, size_t n, rn_error *err) {
    for (size_t i = 0; i < n; i++) {
        const struct picture *const p = frames[i];
        if (p->n_frames) return fail(err, RN_E_ARG, "video: frame %zu is a video", i);
        if (p->width != frames[0]->width || p->height != frames[0]->height)
            return fail(err, RN_E_ARG, "video: frame %zu has %u x %u pixels, the first one has %u x %u", i, p->width,
                        p->height, frames[0]->width, frames[0]->height);
    }
    return RN_OK;
}

rn_status picture_from_frames(const struct picture *const *frames, size_t n, const double *seconds, double fps,
                              struct picture *out, rn_error *err) {
    const bool is_fine = n >= 1 && n <= VIDEO_MAX_FRAMES; // else picture_make_video() says so
    *out = (struct picture){0};
    rn_status st = is_fine ? check_frames(frames, n, err) : RN_OK;
    if (st == RN_OK)
        st = picture_make_video(is_fine ? frames[0]->width : 1, is_fine ? frames[0]->height : 1, n, seconds, fps, out,
                                err);
    for (size_t i = 0; st == RN_OK && i < n; i++) {
        const size_t n_bytes = 3 * (size_t)out->width * out->height;
        memcpy(out->rgb + i * n_bytes, frames[i]->rgb, n_bytes);
    }
    return st;
}

void picture_free(struct picture *p) {
    mem_free(p->rgb);
    mem_free(p->seconds);
    *p = (struct picture){0};
}
