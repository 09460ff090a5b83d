// media/resize.c - see resize.h. After Pillow's src/libImaging/Resample.c and Geometry.c (MIT-CMU licence): the same doubles in the same
// order, as rounding decides bytes.
#include "media/resize.h"
#include "base/mem.h"
#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { PRECISION_BITS = 22 };

static const double pi = 3.14159265358979323846;

// ---- filters: support 0.5 to 3, in source pixels --------------------------------------------------------------------

static double box(double x) { return x > -0.5 && x <= 0.5 ? 1.0 : 0.0; }

static double bilinear(double x) { return fabs(x) < 1.0 ? 1.0 - fabs(x) : 0.0; }

static double hamming(double x) {
    x = fabs(x);
    if (x == 0.0) return 1.0;
    if (x >= 1.0) return 0.0;
    x *= pi;
    return sin(x) / x * (0.54 + 0.46 * cos(x));
}

// Keys 1981, with a = -0.5.
static double bicubic(double x) {
    const double a = -0.5;
    x = fabs(x);
    if (x < 1.0) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1;
    if (x < 2.0) return (((x - 5) * x + 8) * x - 4) * a;
    return 0.0;
}

static double sinc(double x) {
    if (x == 0.0) return 1.0;
    x *= pi;
    return sin(x) / x;
}

static double lanczos(double x) { return x >= -3.0 && x < 3.0 ? sinc(x) * sinc(x / 3) : 0.0; }

static const struct {
    double (*weight)(double x);
    double support;
} filters[RESIZE_N_FILTERS] = {
    [RESIZE_LANCZOS] = {lanczos, 3.0}, [RESIZE_BILINEAR] = {bilinear, 1.0}, [RESIZE_BICUBIC] = {bicubic, 2.0},
    [RESIZE_BOX] = {box, 0.5},         [RESIZE_HAMMING] = {hamming, 1.0},
};

// ---- weights of one axis ----------------------------------------------------------------------------------------------

struct axis {
    uint32_t n_weights;  // room for each output
    uint32_t *first, *n; // [outputs]: the first source pixel, and how many
    int32_t *weights;    // [outputs][n_weights]
};

static void axis_free(struct axis *a) {
    mem_free(a->first);
    mem_free(a->n);
    mem_free(a->weights);
    *a = (struct axis){0};
}

static void weigh(struct axis *a, double *exact, uint32_t at, double scale, enum resize_filter filter,
                  uint32_t n_from) {
    const double width = scale < 1.0 ? 1.0 : scale, support = filters[filter].support * width, ss = 1.0 / width;
    const double center = (at + 0.5) * scale;
    const double low = center - support + 0.5, high = center + support + 0.5;
    const uint32_t first = low < 0 ? 0 : (uint32_t)low, end = high > n_from ? n_from : (uint32_t)high;
    const uint32_t n = end - first;
    double total = 0;
    for (uint32_t i = 0; i < n; i++) {
        exact[i] = filters[filter].weight((i + first - center + 0.5) * ss);
        total += exact[i];
    }
    for (uint32_t i = 0; i < n; i++) {
        const double w = (total != 0.0 ? exact[i] / total : exact[i]) * (1 << PRECISION_BITS);
        a->weights[(size_t)at * a->n_weights + i] = (int32_t)(w < 0 ? w - 0.5 : w + 0.5);
    }
    a->first[at] = first, a->n[at] = n;
}

static rn_status axis_make(struct axis *a, uint32_t n_from, uint32_t n_to, enum resize_filter filter, rn_error *err) {
    const double scale = (double)n_from / n_to, support = filters[filter].support * (scale < 1.0 ? 1.0 : scale);
    a->n_weights = (uint32_t)ceil(support) * 2 + 1;
    a->first = mem_alloc(n_to * sizeof *a->first);
    a->n = mem_alloc(n_to * sizeof *a->n);
    a->weights = mem_alloc((size_t)n_to * a->n_weights * sizeof *a->weights);
    double *const exact = mem_alloc(a->n_weights * sizeof *exact);
    if (a->first && a->n && a->weights && exact) {
        for (uint32_t i = 0; i < n_to; i++) weigh(a, exact, i, scale, filter, n_from);
        mem_free(exact);
        return RN_OK;
    }
    mem_free(exact);
    axis_free(a);
    return fail(err, RN_E_NOMEM, "out of memory");
}

// ---- passes -----------------------------------------------------------------------------------------------------------

static uint8_t rounded(int32_t sum) {
    const int32_t x = sum >> PRECISION_BITS;
    return (uint8_t)(x < 0 ? 0 : x > 255 ? 255 : x);
}

// Outputs of one line whose pixels lie `stride` bytes apart, in and out.
static void resample(const struct axis *a, uint32_t at, const uint8_t *line, size_t stride, uint8_t *to) {
    const int32_t *const w = a->weights + (size_t)at * a->n_weights;
    int32_t sum[3] = {1 << (PRECISION_BITS - 1), 1 << (PRECISION_BITS - 1), 1 << (PRECISION_BITS - 1)};
    for (uint32_t i = 0; i < a->n[at]; i++)
        for (int c = 0; c < 3; c++) sum[c] += line[(a->first[at] + i) * stride + (size_t)c] * w[i];
    for (int c = 0; c < 3; c++) to[c] = rounded(sum[c]);
}

static void resample_rows(const struct axis *a, const uint8_t *rgb, uint32_t width, uint32_t height, uint8_t *to,
                          uint32_t to_width) {
    for (size_t y = 0; y < height; y++)
        for (uint32_t x = 0; x < to_width; x++) resample(a, x, rgb + 3 * y * width, 3, to + 3 * (y * to_width + x));
}

static void resample_columns(const struct axis *a, const uint8_t *rgb, uint32_t width, uint8_t *to,
                             uint32_t to_height) {
    for (uint32_t y = 0; y < to_height; y++)
        for (size_t x = 0; x < width; x++)
            resample(a, y, rgb + 3 * x, 3 * (size_t)width, to + 3 * (y * (size_t)width + x));
}

// Pillow adds the step up from pixel to pixel, and its roundings with it.
static rn_status nearest(const uint8_t *rgb, uint32_t width, uint32_t height, uint8_t *to, uint32_t to_width,
                         uint32_t to_height, rn_error *err) {
    const double step_x = (double)width / to_width, step_y = (double)height / to_height;
    uint32_t *const columns = mem_alloc(to_width * sizeof *columns);
    if (!columns) return fail(err, RN_E_NOMEM, "out of memory");
    double at = step_x * 0.5;
    for (uint32_t x = 0; x < to_width; x++, at += step_x) columns[x] = at < width ? (uint32_t)at : width - 1;
    at = step_y * 0.5;
    for (uint32_t y = 0; y < to_height; y++, at += step_y) {
        const size_t row = at < height ? (size_t)at : height - 1;
        for (uint32_t x = 0; x < to_width; x++)
            memcpy(to + 3 * ((size_t)y * to_width + x), rgb + 3 * (row * width + columns[x]), 3);
    }
    mem_free(columns);
    return RN_OK;
}

// The order decides roundings: since Pillow 13 columns come first where the height loses more than twice what the width does.
static bool columns_come_first(uint32_t width, uint32_t height, uint32_t to_width, uint32_t to_height) {
    const int64_t fewer_rows = (int64_t)height - to_height, fewer_columns = (int64_t)width - to_width;
    return fewer_rows > 0 && fewer_rows > 2 * fewer_columns;
}

rn_status resize_rgb(const uint8_t *rgb, uint32_t width, uint32_t height, enum resize_filter filter, uint8_t *to,
                     uint32_t to_width, uint32_t to_height, rn_error *err) {
    if (width == to_width && height == to_height) {
        memcpy(to, rgb, 3 * (size_t)width * height);
        return RN_OK;
    }
    if (filter == RESIZE_NEAREST) return nearest(rgb, width, height, to, to_width, to_height, err);
    struct axis x = {0}, y = {0};
    uint8_t *between = NULL;
    const bool is_wider = width != to_width, is_higher = height != to_height;
    const bool rows_first = !columns_come_first(width, height, to_width, to_height);
    const size_t n_between = 3 * (rows_first ? (size_t)to_width * height : (size_t)width * to_height);
    rn_status st = is_wider ? axis_make(&x, width, to_width, filter, err) : RN_OK;
    if (st == RN_OK && is_higher) st = axis_make(&y, height, to_height, filter, err);
    if (st == RN_OK && is_wider && is_higher && !(between = mem_alloc(n_between)))
        st = fail(err, RN_E_NOMEM, "out of memory");
    if (st == RN_OK && rows_first) {
        if (is_wider) resample_rows(&x, rgb, width, height, between ? between : to, to_width);
        if (is_higher) resample_columns(&y, between ? between : rgb, to_width, to, to_height);
    } else if (st == RN_OK) {
        if (is_higher) resample_columns(&y, rgb, width, between ? between : to, to_height);
        if (is_wider) resample_rows(&x, between ? between : rgb, width, to_height, to, to_width);
    }
    mem_free(between);
    axis_free(&x);
    axis_free(&y);
    return st;
}
