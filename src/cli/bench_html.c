// cli/bench_html.c - rows as a page: rates by depth and by streams, beside the machine's limits, and where the time goes.
#include "app/say.h"
#include "app/wrap.h"
#include "cli/bench_print.h"
#include "cli/report/report_html.h"
#include "cli/report/report_plot.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const kind_titles[BENCH_N_KINDS] = {"Prompt", "Generation"};

static bool same_engine(const bench_row *a, const bench_row *b) {
    return strcmp(a->model, b->model) == 0 && strcmp(a->kv_type, b->kv_type) == 0 && a->n_threads == b->n_threads;
}

// ---- rates over an axis ---------------------------------------------------------------------------------------------

// What varies along the axis of a plot, and whether two rows differ in nothing else.
typedef struct axis {
    const char *title;
    double (*of)(const bench_row *row);
    bool (*is_line)(const bench_row *a, const bench_row *b, bench_kind kind);
} axis;

static double depth_of(const bench_row *r) { return r->c.depth; }
static double batch_of(const bench_row *r) { return r->c.n_batch; }

static bool same_but_depth(const bench_row *a, const bench_row *b, bench_kind k) {
    return same_engine(a, b) && bench_row_tokens(a, k) == bench_row_tokens(b, k) &&
           (k == BENCH_PROMPT || a->c.n_batch == b->c.n_batch);
}
static bool same_but_batch(const bench_row *a, const bench_row *b, bench_kind k) {
    return same_engine(a, b) && bench_row_tokens(a, k) == bench_row_tokens(b, k) && a->c.depth == b->c.depth;
}

static const axis by_depth = {"tokens/s by depth, the tokens before", depth_of, same_but_depth};
static const axis by_batch = {"tokens/s of all streams by their number", batch_of, same_but_batch};

// What sets a line apart: engines only where there are several.
static char *line_name(const bench_row *rows, size_t n, const bench_row *r, bench_kind k, const axis *a) {
    bench_row named = *r;
    char label[BENCH_LABEL_BYTES];
    bool is_one = true;
    for (size_t i = 0; i < n; i++) is_one = is_one && same_engine(&rows[i], r);
    if (a == &by_depth) named.c.depth = 0; // it is the axis
    if (a == &by_batch) named.c.n_batch = 1;
    bench_row_label(&named, k, label);
    if (is_one) return app_copy_text(label);
    return app_text("%s, %s, %d thread%s, %s", label, bench_base_name(r->model), r->n_threads,
                    r->n_threads == 1 ? "" : "s", r->kv_type);
}

static bool is_first_of_line(const bench_row *rows, size_t i, bench_kind k, const axis *a) {
    if (!rows[i].figures[k].n_values) return false;
    for (size_t j = 0; j < i; j++)
        if (rows[j].figures[k].n_values && a->is_line(&rows[i], &rows[j], k)) return false;
    return true;
}

static void add_line(const bench_row *rows, size_t n, size_t i, bench_kind k, const axis *a, double *xy,
                     report_series *to) {
    double *const x = xy, *const y = xy + n;
    size_t n_points = 0;
    for (size_t j = i; j < n; j++) {
        if (!rows[j].figures[k].n_values || !a->is_line(&rows[i], &rows[j], k)) continue;
        x[n_points] = a->of(&rows[j]);
        y[n_points++] = rows[j].figures[k].median;
    }
    *to = (report_series){
        .name = line_name(rows, n, &rows[i], k, a), .shape = REPORT_DOTS, .x = x, .y = y, .n = n_points};
}

static void add_plot_by(bytes *to, const bench_row *rows, size_t n, bench_kind k, const axis *a) {
    report_series *const series = app_alloc((n + 1) * sizeof *series);
    double *const xy = app_alloc((2 * n * n + 1) * sizeof *xy);
    size_t n_series = 0, longest = 0;
    for (size_t i = 0; i < n; i++) {
        if (!is_first_of_line(rows, i, k, a)) continue;
        add_line(rows, n, i, k, a, xy + 2 * n * n_series, &series[n_series]);
        series[n_series].colour = 1 + (int)(n_series % REPORT_COLOURS);
        if (series[n_series].n > longest) longest = series[n_series].n;
        n_series++;
    }
    const report_plot plot = {.title = a->title, .is_tall = true, .series = series, .n = n_series};
    if (longest > 1) report_add_plot(to, &plot);
    for (size_t i = 0; i < n_series; i++) free((char *)series[i].name);
    free(series);
    free(xy);
}

// ---- figures beside the limits --------------------------------------------------------------------------------------

static void add_figure(bytes *to, const bench_row *r, bench_kind k, double largest, bool has_old) {
    const bench_figure *const f = &r->figures[k];
    const bench_share share = bench_row_share(r, k);
    const char *const verdict = bench_row_verdict(r, k);
    char label[BENCH_LABEL_BYTES];
    bench_row_label(r, k, label);
    bytes_add_text(to, "<tr><th scope=\"row\">");
    report_string(to, bench_base_name(r->model));
    bytes_add_format(to, "</th><td>%s</td><td>%d</td><td>%s</td><td>%.*f", label, r->n_threads, r->kv_type,
                     f->median < 1000 ? 1 : 0, f->median);
    report_bar(to, f->median / largest);
    bytes_add_format(to, "</td><td>%.0f</td>", 100 * f->spread);
    report_cell(to, f->read_bytes_s / 1e9, 2);
    report_cell(to, 2 * f->int8_products_s / 1e12, 3);
    if (isnan(share.read)) {
        bytes_add_text(to, "<td>-</td>");
    } else {
        const bool is_read = bench_share_is_read(share);
        bytes_add_format(to, "<td>%.0f %% of %s", 100 * (is_read ? share.read : share.int8),
                         is_read ? "reading" : "int8");
        report_bar(to, is_read ? share.read : share.int8);
        bytes_add_text(to, "</td>");
    }
    if (has_old && verdict)
        bytes_add_format(to, "<td>%.3f, %s</td>", f->median / r->old[k], verdict);
    else if (has_old)
        bytes_add_text(to, "<td>-</td>");
    bytes_add_text(to, "</tr>\n");
}

static void add_figures(bytes *to, const bench_row *rows, size_t n, bench_kind k) {
    double largest = 0;
    bool has_old = false;
    for (size_t i = 0; i < n; i++) {
        if (rows[i].figures[k].n_values && rows[i].figures[k].median > largest) largest = rows[i].figures[k].median;
        has_old = has_old || bench_row_verdict(&rows[i], k);
    }
    if (!(largest > 0)) return;
    bytes_add_format(to, "<h2>%s</h2>\n<div class=\"plots\">", kind_titles[k]);
    add_plot_by(to, rows, n, k, &by_depth);
    if (k == BENCH_GENERATION) add_plot_by(to, rows, n, k, &by_batch);
    bytes_add_format(to,
                     "</div>\n<div class=\"wide\"><table><thead><tr><th scope=\"col\">model</th>"
                     "<th scope=\"col\">measured</th><th scope=\"col\">threads</th><th scope=\"col\">kv</th>"
                     "<th scope=\"col\">tokens/s</th><th scope=\"col\">&#177; %%</th><th scope=\"col\">read GB/s</th>"
                     "<th scope=\"col\">int8 TOPS</th><th scope=\"col\">of the machine's limit</th>"
                     "%s</tr></thead><tbody>\n",
                     has_old ? "<th scope=\"col\">beside the earlier file</th>" : "");
    for (size_t i = 0; i < n; i++)
        if (rows[i].figures[k].n_values) add_figure(to, &rows[i], k, largest, has_old);
    bytes_add_text(to, "</tbody></table></div>\n");
}

// ---- operations -----------------------------------------------------------------------------------------------------

static int by_time(const void *a, const void *b) {
    const bench_sum *x = a, *y = b;
    return (x->ns < y->ns) - (x->ns > y->ns);
}

static void add_operation(bytes *to, const bench_sum *s, const bench_sums *all, const rn_limits *limits) {
    const double share = (double)s->ns / (double)all->ns, rate = s->ns ? (double)s->bytes / (double)s->ns : 0;
    bytes_add_text(to, "<tr><th scope=\"row\">");
    report_string(to, s->name);
    bytes_add_format(to, "</th><td>%.1f</td><td>%.1f %%", (double)s->ns / 1e3 / (double)all->n_steps, 100 * share);
    report_bar(to, share);
    bytes_add_format(to, "</td><td>%.1f</td><td>%.3f</td><td>%.2f", (double)s->wait_ns / 1e3 / (double)all->n_steps,
                     (double)s->bytes / 1e6 / (double)all->n_steps, rate);
    if (limits->struct_size) report_bar(to, rate * 1e9 / limits->read_bytes_s);
    bytes_add_text(to, "</td></tr>\n");
}

static void add_operations(bytes *to, const bench_row *r, bench_kind k, bool is_open) {
    const bench_sums *const s = &r->sums[k];
    char label[BENCH_LABEL_BYTES];
    if (!s->n_steps) return;
    bench_row_label(r, k, label);
    bytes_add_format(to, "<details%s><summary><h2>Operations: ", is_open ? " open" : "");
    report_string(to, bench_base_name(r->model));
    bytes_add_format(
        to,
        ", %s, %d thread%s</h2></summary>\n<p class=\"soft\">%llu step%s of %.1f us. Times of the first thread; its "
        "GB/s beside those that all threads together can read at most.</p>\n",
        label, r->n_threads, r->n_threads == 1 ? "" : "s", (unsigned long long)s->n_steps, s->n_steps == 1 ? "" : "s",
        (double)s->ns / 1e3 / (double)s->n_steps);
    bytes_add_text(to,
                   "<div class=\"wide\"><table><thead><tr><th scope=\"col\">a step's</th><th scope=\"col\">us</th>"
                   "<th scope=\"col\">share</th><th scope=\"col\">wait us</th><th scope=\"col\">MB</th>"
                   "<th scope=\"col\">GB/s</th></tr></thead><tbody>\n");
    bench_sum *const sorted = app_alloc(s->n_kinds * sizeof *sorted);
    memcpy(sorted, s->kinds, s->n_kinds * sizeof *sorted);
    qsort(sorted, s->n_kinds, sizeof *sorted, by_time);
    for (size_t i = 0; i < s->n_kinds; i++) add_operation(to, &sorted[i], s, &r->limits);
    free(sorted);
    bytes_add_text(to, "</tbody></table></div></details>\n");
}

static void add_paragraph(bytes *to, bytes *line) {
    bytes_add_text(to, "<p class=\"soft\">");
    report_text(to, line->data, line->n);
    bytes_add_text(to, "</p>\n");
    line->n = 0;
}

void bench_print_html(const bench_row *rows, size_t n, const bench_machine *m, bytes *to) {
    bytes line = {0};
    report_begin(to, "Measured speed");
    bench_machine_print(m, &line);
    add_paragraph(to, &line);
    for (size_t i = 0; i < n; i++)
        if (bench_row_add_limits(rows, i, &line)) add_paragraph(to, &line);
    bytes_free(&line);
    for (bench_kind k = 0; k < BENCH_N_KINDS; k++) add_figures(to, rows, n, k);
    for (size_t i = 0; i < n; i++)
        for (bench_kind k = 0; k < BENCH_N_KINDS; k++) add_operations(to, &rows[i], k, i == 0);
    report_end(to);
}
