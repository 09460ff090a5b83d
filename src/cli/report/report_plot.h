// cli/report/report_plot.h - a plot as SVG: lines and bars over a common axis, both axes from 0.
//
// The axes' numbers are text of the page around the SVG, which can be stretched to every width that way.
//
// Threads: one at a time.
#ifndef RN_CLI_REPORT_PLOT_H
#define RN_CLI_REPORT_PLOT_H

#include "app/bytes.h"
#include <stddef.h>

typedef enum report_shape {
    REPORT_LINE,
    REPORT_DOTS,  // a line with its points
    REPORT_BARS,  // as wide as the distance between values of x
    REPORT_FAINT, // bars behind a line
    REPORT_LIMIT  // a dashed line over the whole width, at y[0]
} report_shape;

typedef struct report_series {
    const char *name; // any text; NULL: not in the legend
    report_shape shape;
    const double *x; // [n]; NULL: 0.5, 1.5, ..
    const double *y; // NaN: a gap
    size_t n;
    int colour; // 1..REPORT_COLOURS
} report_series;
enum { REPORT_COLOURS = 8 };

typedef struct report_plot {
    const char *title; // any text
    double x_most;     // 0: the largest x
    double y_most;     // 0: the largest y
    int y_digits;
    bool is_tall;
    const report_series *series;
    size_t n;
} report_plot;

void report_add_plot(bytes *to, const report_plot *plot);

#endif
