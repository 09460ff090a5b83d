// cli/compare/lane_columns.c - see lane_columns.h.
#include "cli/compare/lane_columns.h"
#include "app/term.h"
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { LEAST_COLUMN = 22, SEPARATOR = 3, LEAST_ROWS = 4 };
static const char bold[] = "\x1b[1m", dim[] = "\x1b[2m", plain[] = "\x1b[0m";

// ---- lines ----------------------------------------------------------------------------------------------------------

// A line of a text that is wrapped to a width.
struct line {
    size_t n, next; // bytes of it; where the next line begins
    int width;      // columns
    bool is_open;   // it is the last one, and may still grow
};

static size_t skip_blanks(const char *text, size_t n, size_t at) {
    while (at < n && (text[at] == ' ' || text[at] == '\t')) at++;
    return at;
}

// Lines break between words, and before and behind wide characters; a word that is longer than the line breaks anywhere.
static struct line line_of(const char *text, size_t n, int columns) {
    struct line best = {0};
    int width = 0;
    for (size_t at = 0; at < n;) {
        int w;
        if (text[at] == '\n') return (struct line){.n = at, .next = at + 1, .width = width};
        const size_t n_char = term_character(text + at, n - at, &w);
        const bool is_blank = text[at] == ' ' || text[at] == '\t';
        if (is_blank || w > 1) best = (struct line){.n = at, .next = skip_blanks(text, n, at), .width = width};
        if (width + w > columns) {
            if (best.n == 0) best = (struct line){.n = at, .next = at, .width = width};
            // Whether a line break follows the blanks is not known before something does.
            best.is_open = best.next == n;
            if (!best.is_open && text[best.next] == '\n' && best.next > best.n) best.next++;
            return best;
        }
        width += w;
        at += n_char;
        if (w > 1) best = (struct line){.n = at, .next = skip_blanks(text, n, at), .width = width};
    }
    return (struct line){.n = n, .next = n, .width = width, .is_open = true};
}

// ---- one row across lanes -------------------------------------------------------------------------------------------

// A text of each lane and the style that it is shown in.
struct strip {
    const char *text;
    size_t n;
    bool is_whole;   // it will not grow
    bool is_revised; // what there is of it may still be replaced
};

static void go_to_column(lane_columns *c, size_t k) {
    const int at = (int)k * (c->column + SEPARATOR);
    if (k == 0) return;
    // Absolute, since terminals do not agree about the widths of all characters.
    bytes_add_format(&c->frame, "\x1b[%dG%s%s%s ", at - 1, c->has_colour ? dim : "", c->bar,
                     c->has_colour ? plain : "");
}

// Adds the next line of each strip as one row; the strips go on behind it.
static void add_row(lane_columns *c, struct strip *strips, size_t n, const char *style) {
    for (size_t k = 0; k < n; k++) {
        struct strip *const s = &strips[k];
        const struct line line = line_of(s->text, s->n, c->column);
        go_to_column(c, k);
        if (line.n && c->has_colour && style) bytes_add_text(&c->frame, style);
        term_add_line(&c->frame, s->text, line.n);
        if (line.n && c->has_colour && style) bytes_add_text(&c->frame, plain);
        s->text += line.next, s->n -= line.next;
    }
    bytes_add_text(&c->frame, "\x1b[K\n");
}

static void add_rows(lane_columns *c, struct strip *strips, size_t n, const char *style) {
    for (size_t left = 1; left > 0;) {
        add_row(c, strips, n, style);
        left = 0;
        for (size_t k = 0; k < n; k++) left += strips[k].n;
    }
}

static size_t n_here(const lane_columns *c) { return c->n - c->first < c->n_across ? c->n - c->first : c->n_across; }

static void add_head(lane_columns *c) {
    const size_t n = n_here(c);
    struct strip *const strips = app_alloc(n * sizeof *strips);
    const compare_lane *const lanes = c->lanes + c->first;
    if (c->has_printed) bytes_add_text(&c->frame, "\n");
    for (size_t k = 0; k < n; k++) strips[k] = (struct strip){lanes[k].label, strlen(lanes[k].label), true};
    add_rows(c, strips, n, bold);
    for (size_t k = 0; k < n; k++) strips[k] = (struct strip){lanes[k].words, strlen(lanes[k].words), true};
    add_rows(c, strips, n, dim);
    if (c->names_models) {
        for (size_t k = 0; k < n; k++)
            strips[k] = (struct strip){lanes[k].model_name, strlen(lanes[k].model_name), true};
        add_rows(c, strips, n, dim);
    }
    c->has_head = c->has_printed = true;
    free(strips);
}

// ---- the rows that grow ---------------------------------------------------------------------------------------------

// Divides the lanes evenly over as few bands as there must be.
static void lay_out(lane_columns *c) {
    const int room = c->width - 1; // the last column stays free
    size_t most = (size_t)((room + SEPARATOR) / (LEAST_COLUMN + SEPARATOR));
    if (most == 0) most = 1;
    const size_t left = c->n - c->first, n_bands = (left + most - 1) / most;
    c->n_across = (left + n_bands - 1) / n_bands;
    c->column = (room - SEPARATOR * ((int)c->n_across - 1)) / (int)c->n_across;
    if (c->column < 2) c->column = 2; // a wide character
}

// A terminal that has become narrower may have broken rows into several: then some of them stay, since going further up could erase rows
// that are printed for good.
static void erase(lane_columns *c) {
    if (c->n_rows > 0) bytes_add_format(&c->frame, "\r\x1b[%zuA\x1b[J", c->n_rows);
    c->n_rows = 0;
}

static void follow_width(lane_columns *c) {
    const int width = term_width(STDOUT_FILENO);
    if (width == c->width) return;
    c->width = width;
    erase(c);
    lay_out(c);
    c->has_head = false; // the columns are at other places now
}

static size_t screen_rows(void) {
    struct winsize size = {0};
    const bool is_known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 2;
    return is_known && size.ws_row - 2 > LEAST_ROWS ? (size_t)(size.ws_row - 2) : LEAST_ROWS;
}

static void take_strips(const lane_columns *c, struct strip *strips, size_t n) {
    for (size_t k = 0; k < n; k++) {
        const compare_lane *const l = &c->lanes[c->first + k];
        size_t shown = c->n_shown[c->first + k], end = l->text.n;
        if (shown == 0) shown = end ? skip_blanks(l->text.data, end, 0) : 0;
        while (l->is_done && end > shown && strchr(" \n", l->text.data[end - 1])) end--;
        strips[k] = (struct strip){l->text.data ? l->text.data + shown : "", end - shown, l->is_done,
                                   l->is_revised && !l->is_done};
    }
}

// Is the next row as it will stay? Every lane must have gone on behind it, or have ended.
static bool is_final(const lane_columns *c, const struct strip *strips, size_t n) {
    for (size_t k = 0; k < n; k++)
        if (strips[k].is_revised || (!strips[k].is_whole && line_of(strips[k].text, strips[k].n, c->column).is_open))
            return false;
    return true;
}

static bool has_text(const struct strip *strips, size_t n) {
    for (size_t k = 0; k < n; k++)
        if (strips[k].n > 0) return true;
    return false;
}

// Adds the rows from the first that is not printed for good, as many as the screen holds. False: lanes still grow, or there are more rows.
static bool add_band(lane_columns *c) {
    const size_t n = n_here(c), most = screen_rows();
    struct strip *const strips = app_alloc(n * sizeof *strips);
    bool is_whole = true, still_final = true;
    take_strips(c, strips, n);
    while (has_text(strips, n) && c->n_rows < most) {
        still_final = still_final && is_final(c, strips, n);
        add_row(c, strips, n, NULL);
        if (!still_final) {
            c->n_rows++;
            continue;
        }
        for (size_t k = 0; k < n; k++)
            c->n_shown[c->first + k] =
                (size_t)(strips[k].text -
                         (c->lanes[c->first + k].text.data ? c->lanes[c->first + k].text.data : strips[k].text));
    }
    for (size_t k = 0; k < n; k++) is_whole = is_whole && strips[k].is_whole && strips[k].n == 0;
    free(strips);
    return is_whole;
}

static void draw(lane_columns *c) {
    follow_width(c);
    erase(c);
    while (c->first < c->n) {
        if (!c->has_head) add_head(c);
        if (!add_band(c)) return;
        c->first += n_here(c);
        c->has_head = false;
        if (c->first < c->n) lay_out(c);
    }
}

// ---- one after another ----------------------------------------------------------------------------------------------

static void add_bytes(bytes *to, const char *text, size_t n) { bytes_add(to, text, n); }

static void add_title(lane_columns *c, const compare_lane *l) {
    bytes title = {0};
    bytes_add_format(&title, "# %s%s%s%s%s%s", l->label, *l->words ? ": " : "", l->words, c->names_models ? " (" : "",
                     c->names_models ? l->model_name : "", c->names_models ? ")" : "");
    term_add_line(&c->frame, title.data, title.n); // also in a pipe: it is a line, and what is in it is anybody's
    bytes_add_text(&c->frame, "\n");
    bytes_free(&title);
}

static void add_next(lane_columns *c) {
    for (; c->first < c->n; c->first++, c->has_head = false) {
        const compare_lane *const l = &c->lanes[c->first];
        size_t *const shown = &c->n_shown[c->first];
        if (!c->has_head) add_title(c, l);
        c->has_head = true;
        if (l->is_revised && !l->is_done) return; // what is printed stays
        if (l->text.n > *shown)
            (c->is_terminal ? term_add_plain : add_bytes)(&c->frame, l->text.data + *shown, l->text.n - *shown);
        *shown = l->text.n;
        if (!l->is_done) return;
        bytes_add_text(&c->frame, *shown && l->text.data[*shown - 1] == '\n' ? "\n" : "\n\n");
    }
}

void lane_columns_begin(lane_columns *c, output *out, const compare_lane *lanes, size_t n, bool names_models) {
    *c = (lane_columns){.out = out, .lanes = lanes, .n = n, .names_models = names_models};
    c->is_terminal = term_is(STDOUT_FILENO);
    c->is_drawn = term_can_draw(STDOUT_FILENO);
    c->bar = term_utf8() ? "\u2502" : "|";
    c->has_colour = term_colour(STDOUT_FILENO);
    c->n_shown = app_alloc((n + 1) * sizeof *c->n_shown);
    c->width = term_width(STDOUT_FILENO);
    lay_out(c);
}

// Is there anything that the last call has not seen?
static bool has_news(lane_columns *c) {
    size_t n_seen = 1;
    for (size_t i = 0; i < c->n; i++) n_seen += c->lanes[i].text.n + c->lanes[i].n_revisions + c->lanes[i].is_done;
    const bool is_new = n_seen != c->n_seen || (c->is_drawn && c->width != term_width(STDOUT_FILENO));
    c->n_seen = n_seen;
    return is_new;
}

bool lane_columns_show(lane_columns *c) {
    if (!has_news(c)) return true;
    c->frame.n = 0;
    if (c->is_drawn)
        draw(c);
    else
        add_next(c);
    return c->frame.n == 0 || output_write(c->out, c->frame.data, c->frame.n);
}

void lane_columns_free(lane_columns *c) {
    free(c->n_shown);
    bytes_free(&c->frame);
}
