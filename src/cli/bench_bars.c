// cli/bench_bars.c - a bar chart in text: label, bar, rate, and its share of the machine's limit.
//
//   stories.gguf, 2 threads, f16
//   prompt 512        ███████████████████████▌     14594 tok/s   43% int8
//   generate 64 x8    ██████▎                      11873 tok/s   38% read
#include "app/term.h"
#include "app/wrap.h"
#include "cli/bench_print.h"
#include <math.h>
#include <string.h>

enum { LEAST_WIDTH = 40, MOST_WIDTH = 200, WIDE = 64, LEAST_BAR = 4 };

// "14594 tok/s   43% int8  +12%"; without units and names if is_wide is false.
static void tail_of(const bench_row *r, bench_kind kind, bool is_wide, char *tail, size_t size) {
    const bench_share s = bench_row_share(r, kind);
    const char *verdict = bench_row_verdict(r, kind);
    const double rate = r->figures[kind].median;
    size_t n = (size_t)snprintf(tail, size, rate < 1000 ? "%7.1f%s" : "%7.0f%s", rate, is_wide ? " tok/s" : "");
    if (!isnan(s.read))
        n += (size_t)snprintf(tail + n, size - n, is_wide ? "  %3.0f%% %s" : " %3.0f%%",
                              100 * (bench_share_is_read(s) ? s.read : s.int8),
                              bench_share_is_read(s) ? "read" : "int8");
    if (!verdict || strcmp(verdict, "same") == 0) return;
    if (is_wide)
        snprintf(tail + n, size - n, "  %+.0f%%", 100 * (rate / r->old[kind] - 1));
    else
        snprintf(tail + n, size - n, " %c", verdict[0] == 'f' ? '+' : '-');
}

// Draws a bar in steps of an eighth of a column with UTF-8 (U+2588 full block to U+258F one eighth block), else
// of a whole column.
void bench_bar_add(bytes *to, double share, int width, const bench_canvas *on) {
    const int eighths = (int)lround(share * width * 8), n_full = on->has_utf8 ? eighths / 8 : (eighths + 4) / 8;
    const int rest = on->has_utf8 ? eighths % 8 : 0;
    for (int i = 0; i < n_full; i++) bytes_add_text(to, on->has_utf8 ? "\u2588" : "#");
    if (rest) {
        const char part[3] = {'\xe2', '\x96', (char)(0x90 - rest)};
        bytes_add(to, part, sizeof part);
    }
    for (int i = n_full + (rest > 0); i < width; i++) bytes_add_text(to, " ");
}

static bool same_engine(const bench_row *a, const bench_row *b) {
    return strcmp(a->model, b->model) == 0 && strcmp(a->kv_type, b->kv_type) == 0 && a->n_threads == b->n_threads;
}

static void add_heading(bytes *to, const bench_row *r, int width) {
    char line[512], size[HUMAN_BYTES];
    bytes plain = {0};
    snprintf(line, sizeof line, "%.200s, %s, %s, %s, %d thread%s, %s", bench_base_name(r->model), r->type,
             human_size(r->model_bytes, size), r->cpu, r->n_threads, r->n_threads == 1 ? "" : "s", r->kv_type);
    term_add_plain(&plain, line, strlen(line));
    add_wrapped(to, plain.data, 2, width);
    bytes_free(&plain);
}

// Column widths and scales that all lines share.
typedef struct layout {
    int label, tail, bar;
    bool is_wide;
    double largest[BENCH_N_KINDS];
} layout;

static layout lay_out(const bench_row *rows, size_t n, int width) {
    layout l = {.is_wide = width >= WIDE};
    for (size_t i = 0; i < n; i++)
        for (bench_kind k = 0; k < BENCH_N_KINDS; k++) {
            char label[BENCH_LABEL_BYTES], tail[96];
            if (!rows[i].figures[k].n_values) continue;
            bench_row_label(&rows[i], k, label);
            tail_of(&rows[i], k, l.is_wide, tail, sizeof tail);
            if ((int)strlen(label) > l.label) l.label = (int)strlen(label);
            if ((int)strlen(tail) > l.tail) l.tail = (int)strlen(tail);
            if (rows[i].figures[k].median > l.largest[k]) l.largest[k] = rows[i].figures[k].median;
        }
    l.bar = width - l.label - l.tail - 2;
    if (l.bar < LEAST_BAR) { // cuts the label, not the figures
        l.bar = LEAST_BAR;
        l.label = width - l.tail - l.bar - 2;
        if (l.label < 0) l.label = 0;
    }
    return l;
}

static void add_line(bytes *to, const bench_row *r, bench_kind k, const layout *l, const bench_canvas *on) {
    static const char *const colours[BENCH_N_KINDS] = {"\x1b[36m", "\x1b[32m"};
    char label[BENCH_LABEL_BYTES], tail[96];
    const char *verdict = bench_row_verdict(r, k);
    const bool is_slower = verdict && strcmp(verdict, "slower") == 0;
    bench_row_label(r, k, label);
    tail_of(r, k, l->is_wide, tail, sizeof tail);
    bytes_add_format(to, "%-*.*s ", l->label, l->label, label);
    if (on->has_colour) bytes_add_text(to, colours[k]);
    bench_bar_add(to, r->figures[k].median / l->largest[k], l->bar, on);
    if (on->has_colour) bytes_add_text(to, is_slower ? "\x1b[31m" : "\x1b[0m");
    bytes_add_format(to, " %s%s\n", tail, on->has_colour && is_slower ? "\x1b[0m" : "");
}

void bench_print_bars(const bench_row *rows, size_t n, const bench_canvas *on, bytes *to) {
    const int width = on->width < LEAST_WIDTH ? LEAST_WIDTH : on->width > MOST_WIDTH ? MOST_WIDTH : on->width;
    const layout l = lay_out(rows, n, width);
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || !same_engine(&rows[i], &rows[i - 1])) add_heading(to, &rows[i], width);
        for (bench_kind k = 0; k < BENCH_N_KINDS; k++)
            if (rows[i].figures[k].n_values) add_line(to, &rows[i], k, &l, on);
    }
}
