// cli/report/report_plot.c - see report_plot.h.
#include "cli/report/report_plot.h"
#include "app/say.h"
#include "cli/report/report_html.h"
#include <math.h>
#include <stdlib.h>

enum { WIDTH = 1000, HEIGHT = 1000, Y_PARTS = 4, X_PARTS = 4 };

// The end of an axis in four parts, each of which is 1, 2, 2.5, 3, ... times a power of ten.
static double axis_end(double v) {
    static const double steps[] = {1, 2, 2.5, 3, 4, 5, 6, 8, 10};
    if (!(v > 0)) return 1;
    const double part = v / Y_PARTS, power = pow(10, floor(log10(part)));
    size_t i = 0;
    // A little less than the step counts as the step: sums of figures are not exact.
    while (i < sizeof steps / sizeof *steps - 1 && steps[i] * power < part * (1 - 1e-9)) i++;
    return Y_PARTS * steps[i] * power;
}

struct scale {
    double x, y; // of a unit
};

static double x_of(const report_series *s, size_t i) { return s->x ? s->x[i] : (double)i + 0.5; }

static double largest(const report_plot *p, bool of_x) {
    double most = 0;
    for (const report_series *s = p->series; s < p->series + p->n; s++)
        for (size_t i = 0; i < (s->shape == REPORT_LIMIT ? 1 : s->n); i++) {
            if (of_x && s->shape == REPORT_LIMIT) continue;
            const double v = of_x ? x_of(s, i) + (s->x ? 0 : 0.5) : s->y[i];
            if (v > most) most = v;
        }
    return most;
}

static void add_point(bytes *to, char command, double x, double y) {
    bytes_add_format(to, "%c%.2f %.1f", command, x, HEIGHT - y);
}

static void add_line(bytes *to, const report_series *s, const struct scale *scale) {
    char command = 'M';
    for (size_t i = 0; i < s->n; i++) {
        if (isfinite(s->y[i])) add_point(to, command, x_of(s, i) * scale->x, s->y[i] * scale->y);
        command = isfinite(s->y[i]) ? 'L' : 'M';
    }
}

static void add_bars(bytes *to, const report_series *s, const struct scale *scale) {
    for (size_t i = 0; i < s->n; i++) {
        if (!isfinite(s->y[i]) || s->y[i] <= 0) continue;
        add_point(to, 'M', (x_of(s, i) - 0.45) * scale->x, 0);
        bytes_add_format(to, "v%.1fh%.2fv%.1fz", -s->y[i] * scale->y, 0.9 * scale->x, s->y[i] * scale->y);
    }
}

// Points are lines of no length with round ends, so that they stay round however the plot is stretched.
static void add_dots(bytes *to, const report_series *s, const struct scale *scale) {
    bytes_add_format(to, "<path class=\"dots c%d\" d=\"", s->colour);
    for (size_t i = 0; i < s->n; i++)
        if (isfinite(s->y[i])) {
            add_point(to, 'M', x_of(s, i) * scale->x, s->y[i] * scale->y);
            bytes_add_text(to, "h0");
        }
    bytes_add_text(to, "\"/>");
}

static const char *class_of(report_shape shape) {
    static const char *const classes[] = {[REPORT_LINE] = "",
                                          [REPORT_DOTS] = "",
                                          [REPORT_BARS] = "bars ",
                                          [REPORT_FAINT] = "bars faint ",
                                          [REPORT_LIMIT] = "limit "};
    return classes[shape];
}

static void add_series(bytes *to, const report_series *s, const struct scale *scale) {
    bytes_add_format(to, "<path class=\"%sc%d\" d=\"", class_of(s->shape), s->colour);
    if (s->shape == REPORT_BARS || s->shape == REPORT_FAINT) {
        add_bars(to, s, scale);
    } else if (s->shape == REPORT_LIMIT) {
        add_point(to, 'M', 0, s->y[0] * scale->y);
        bytes_add_format(to, "h%d", WIDTH);
    } else {
        add_line(to, s, scale);
    }
    bytes_add_text(to, "\"/>");
    if (s->shape == REPORT_DOTS) add_dots(to, s, scale);
}

static void add_legend(bytes *to, const report_plot *p) {
    bytes_add_text(to, "<figcaption><span>");
    report_string(to, p->title);
    bytes_add_text(to, "</span>");
    for (const report_series *s = p->series; s < p->series + p->n; s++) {
        if (!s->name) continue;
        const bool is_bar = s->shape == REPORT_BARS || s->shape == REPORT_FAINT;
        bytes_add_format(to,
                         "<span class=\"key\"><svg viewBox=\"0 0 20 10\" aria-hidden=\"true\"><path class=\"%sc%d\" "
                         "d=\"%s\"/></svg>",
                         class_of(s->shape), s->colour, is_bar ? "M0 1h20v8h-20z" : "M0 5h20");
        report_string(to, s->name);
        bytes_add_text(to, "</span>");
    }
    bytes_add_text(to, "</figcaption>");
}

// Digits after the point that a multiple of a step needs.
static int digits_of(double step) {
    int n = 0;
    while (n < 9 && fabs(step - round(step)) > 1e-9 * step) step *= 10, n++;
    return n;
}

static void add_axis(bytes *to, const char *name, double from, double end, int n_parts) {
    const double step = fabs(end - from) / n_parts;
    bytes_add_format(to, "<div class=\"%s\" aria-hidden=\"true\">", name);
    for (int i = 0; i <= n_parts; i++) {
        const double v = from + (end - from) * i / n_parts;
        bytes_add_format(to, "<span>%.*f</span>", digits_of(step), v);
    }
    bytes_add_text(to, "</div>");
}

void report_add_plot(bytes *to, const report_plot *p) {
    const double x_end = p->x_most > 0          ? p->x_most
                         : largest(p, true) > 0 ? largest(p, true)
                                                : 1,
                 y_end = axis_end(p->y_most > 0 ? p->y_most : largest(p, false));
    const struct scale scale = {WIDTH / x_end, HEIGHT / y_end};
    // Whole numbers at the axis only.
    const int x_parts = x_end == floor(x_end / X_PARTS) * X_PARTS ? X_PARTS : x_end == floor(x_end / 2) * 2 ? 2 : 1;
    bytes_add_format(to, "<figure class=\"plot%s\">", p->is_tall ? " tall" : "");
    add_legend(to, p);
    add_axis(to, "y", y_end, 0, Y_PARTS);
    bytes_add_format(to, "<svg viewBox=\"0 0 %d %d\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"", WIDTH,
                     HEIGHT);
    report_string(to, p->title);
    bytes_add_text(to, "\"><path class=\"grid\" d=\"");
    for (int i = 1; i <= Y_PARTS; i++) bytes_add_format(to, "M0 %dh%d", HEIGHT - HEIGHT * i / Y_PARTS, WIDTH);
    bytes_add_text(to, "\"/>");
    for (size_t i = 0; i < p->n; i++) add_series(to, &p->series[i], &scale);
    bytes_add_text(to, "</svg>");
    add_axis(to, "x", 0, x_end, x_parts);
    bytes_add_text(to, "</figure>\n");
}
