// cli/chat/markdown_screen.c - see markdown_screen.h.
#include "cli/chat/markdown_screen.h"
#include "app/term.h"
#include "cli/chat/markdown.h"
#include <ctype.h>
#include <string.h>

// A chunk is drawn anew up to this size; a longer one ends at the next line break.
enum { MOST_CHUNK = 32768, TAB_WIDTH = 4 };

void markdown_screen_begin(markdown_screen *m, int columns) {
    m->columns = columns;
    m->is_begun = m->is_silent = m->is_dirty = m->is_list = m->is_code = m->is_long = false;
    m->fence = 0;
    m->chunk.n = m->shown.n = m->n_long = 0;
}

void markdown_screen_free(markdown_screen *m) {
    bytes_free(&m->chunk);
    bytes_free(&m->shown);
}

// ---- lines on the screen -------------------------------------------------------------------------------------------

static size_t count_rows(const char *lines, size_t n, int columns) {
    size_t rows = 0;
    for (size_t at = 0; at < n;) {
        const char *const end = memchr(lines + at, '\n', n - at);
        const size_t n_line = end ? (size_t)(end - lines) - at : n - at;
        const int width = written_columns(lines + at, n_line);
        rows += width > columns ? (size_t)((width - 1) / columns) : 0;
        rows += end != NULL;
        at += n_line + (end != NULL);
    }
    return rows;
}

// Replaces the lines on the screen: both texts end without a line break.
static void replace(markdown_screen *m, const bytes *now, bytes *to) {
    size_t same = 0; // bytes of whole lines that stay
    const bytes *const was = &m->shown;
    const size_t n_least = was->n < now->n ? was->n : now->n;
    size_t i = 0;
    for (; i < n_least && was->data[i] == now->data[i]; i++)
        if (was->data[i] == '\n') same = i + 1;
    if (i == was->n && i == now->n) return;
    const bool only_grew = i == was->n && !memchr(now->data + same, '\x1b', now->n - same);
    if (m->is_silent) {
    } else if (only_grew) {
        bytes_add(to, now->data + i, now->n - i);
    } else {
        const size_t rows = count_rows(was->data + same, was->n - same, m->columns + 1);
        if (rows) bytes_add_format(to, "\x1b[%zuA", rows);
        if (was->n > same || rows) bytes_add_text(to, "\r");
        if (now->n == same) bytes_add_text(to, "\x1b[K");
        for (size_t at = same; at < now->n;) {
            const char *const end = memchr(now->data + at, '\n', now->n - at);
            const size_t n = end ? (size_t)(end - now->data) - at : now->n - at;
            bytes_add(to, now->data + at, n);
            bytes_add_text(to, end ? "\x1b[K\n" : "\x1b[K");
            at += n + (end != NULL);
        }
        if (rows) bytes_add_text(to, "\x1b[J");
    }
    m->shown.n = 0;
    bytes_add(&m->shown, now->data ? now->data : "", now->n);
}

// ---- the open chunk --------------------------------------------------------------------------------------------------

// Text that ends with marks may mean something else with what follows: they are drawn with it.
static size_t settled(const char *text, size_t n) {
    size_t end = n;
    while (end && strchr("`*_~#>|=+-:.[]() \t0123456789", text[end - 1]) && text[end - 1]) end--;
    // Only marks alone on their line, or at its end after a space or a word.
    size_t line = n;
    while (line && text[line - 1] != '\n') line--;
    if (end <= line) return line ? line - 1 : 0;
    while (n > end && strchr("`*_~[|", text[n - 1])) n--;
    return n;
}

// Appends the marks that would end what is open in the last paragraph, so that bold text is bold while it streams.
static void close_spans(bytes *text) {
    size_t from = text->n;
    while (from && !(text->data[from - 1] == '\n' && (from < 2 || text->data[from - 2] == '\n'))) from--;
    bool is_code = false, is_bold = false;
    for (size_t i = from; i < text->n; i++) {
        if (text->data[i] == '\\' && !is_code)
            i++;
        else if (text->data[i] == '`') {
            size_t n = 1;
            while (i + n < text->n && text->data[i + n] == '`') n++;
            if (n < 3) is_code = !is_code; // else a fence
            i += n - 1;
        } else if (!is_code && text->data[i] == '*' && i + 1 < text->n && text->data[i + 1] == '*')
            is_bold = !is_bold, i++;
        else if (!is_code && text->data[i] == '\n')
            is_bold = false; // a list's next item; few go on over a line
    }
    if (!is_code && !is_bold) return;
    while (text->n > from && isspace((unsigned char)text->data[text->n - 1])) text->n--;
    bytes_add_text(text, is_code ? "`" : "**");
}

static void draw(markdown_screen *m, bool is_whole, bytes *to) {
    bytes text = {0}, lines = {0};
    m->is_dirty = false;
    bytes_add(&text, m->chunk.data ? m->chunk.data : "", is_whole ? m->chunk.n : settled(m->chunk.data, m->chunk.n));
    if (!is_whole && !m->fence) close_spans(&text);
    if (text.n && !markdown_add(&lines, text.data, text.n, m->columns)) bytes_add(&lines, text.data, text.n);
    while (lines.n && lines.data[lines.n - 1] == '\n') lines.n--;
    replace(m, &lines, to);
    bytes_free(&text);
    bytes_free(&lines);
}

// Draws the chunk as it stays, and begins the next one below.
static void end_chunk(markdown_screen *m, bytes *to) {
    if (m->chunk.n || m->shown.n) {
        draw(m, true, to);
        if (m->shown.n && !m->is_silent) bytes_add_text(to, "\n");
    }
    m->chunk.n = m->shown.n = 0;
    m->is_list = false;
}

// ---- code ------------------------------------------------------------------------------------------------------------

// Draws the line of code, in colours where it fits. has_ended: the colours of the next one go on behind it.
static void draw_code(markdown_screen *m, bool has_ended, bytes *to) {
    code_colours ahead = m->colours;
    styled_text styled = {0};
    bytes line = {0};
    int width = written_columns(m->chunk.data ? m->chunk.data : "", m->chunk.n);
    code_colours_add(has_ended ? &m->colours : &ahead, m->chunk.data ? m->chunk.data : "", m->chunk.n, &styled);
    if (width <= m->columns) {
        const text_line all = {0, styled.text.n, width};
        styled_write(&styled, &all, &line);
        replace(m, &line, to);
    } else { // the terminal breaks it, so that it is copied as one line
        if (!m->is_long && m->shown.n && !m->is_silent) bytes_add_text(to, "\r\x1b[K");
        if (!m->is_silent) bytes_add(to, m->chunk.data + m->n_long, m->chunk.n - m->n_long);
        m->is_long = true;
        m->n_long = m->chunk.n;
    }
    if (has_ended) {
        if (!m->is_silent) bytes_add_text(to, "\n");
        m->chunk.n = m->shown.n = m->n_long = 0;
        m->is_long = false;
    }
    styled_text_free(&styled);
    bytes_free(&line);
}

static void draw_fence(markdown_screen *m, const char *line, size_t n, bytes *to) {
    if (m->is_silent) return;
    bytes_add_text(to, "\x1b[2m");
    bytes_add(to, line, n);
    bytes_add_text(to, "\x1b[0m\n");
}

// ---- lines of the text -----------------------------------------------------------------------------------------------

typedef struct line_kind {
    size_t indent;
    bool is_blank, is_item, is_closing; // is_closing: a fence with nothing behind it
    char fence;
    size_t n_fence;
    const char *info; // behind the fence
    size_t n_info;
} line_kind;

// The bytes of a list item's mark and the space behind it; 0: none.
static size_t mark_length(const char *text, size_t n) {
    size_t i = 0;
    while (i < n && i < 9 && isdigit((unsigned char)text[i])) i++;
    if (i ? i >= n || (text[i] != '.' && text[i] != ')') : n == 0 || !strchr("-*+", text[0])) return 0;
    return ++i < n && (text[i] == ' ' || text[i] == '\t') ? i + 1 : i == n ? i : 0;
}

static line_kind kind_of(const char *line, size_t n) {
    line_kind k = {0};
    size_t at = 0;
    for (; at < n && (line[at] == ' ' || line[at] == '\t'); at++) k.indent += line[at] == '\t' ? TAB_WIDTH : 1;
    k.is_blank = line_is_blank(line, n);
    for (size_t n_mark; (n_mark = mark_length(line + at, n - at)); at += n_mark) k.is_item = true;
    while (k.is_item && at < n && line[at] == ' ') at++;
    const char c = at < n ? line[at] : '\0';
    if (c != '`' && c != '~') return k;
    size_t n_fence = 0;
    while (at + n_fence < n && line[at + n_fence] == c) n_fence++;
    const char *info = line + at + n_fence;
    size_t n_info = n - at - n_fence;
    while (n_info && isspace((unsigned char)*info)) info++, n_info--;
    if (n_fence < 3 || (c == '`' && memchr(info, '`', n_info))) return k;
    k.fence = c, k.n_fence = n_fence, k.is_closing = n_info == 0;
    k.info = info, k.n_info = 0;
    while (k.n_info < n_info && !isspace((unsigned char)info[k.n_info]) && info[k.n_info] != '{') k.n_info++;
    return k;
}

// A whole line, without its line break, of which m->chunk[from..) is the text.
static void take_line(markdown_screen *m, size_t from, bytes *to) {
    const char *const line = m->chunk.data + from;
    const size_t n = m->chunk.n - from;
    const line_kind k = kind_of(line, n);
    if (m->fence) {
        const bool ends = k.fence == m->fence && k.n_fence >= m->n_fence && k.is_closing && !k.is_item;
        if (ends) m->fence = 0;
        if (ends && m->is_code) {
            draw_fence(m, line, n, to);
            m->chunk.n = 0;
            m->is_code = false;
        } else if (m->is_code) {
            draw_code(m, true, to);
        } else {
            bytes_add_text(&m->chunk, "\n");
        }
        return;
    }
    if (k.fence) {
        m->fence = k.fence, m->n_fence = k.n_fence;
        m->is_code = !k.is_item && k.indent < (m->is_list ? 2 : 4);
        if (!m->is_code) {
            bytes_add_text(&m->chunk, "\n");
            return;
        }
        bytes fence = {0};
        bytes_add(&fence, line, n);
        code_colours_begin(&m->colours, k.info, k.n_info);
        m->chunk.n = from;
        end_chunk(m, to);
        draw_fence(m, fence.data, fence.n, to);
        bytes_free(&fence);
        return;
    }
    bytes_add_text(&m->chunk, "\n");
    m->is_dirty = true;
    if (m->chunk.n > MOST_CHUNK) end_chunk(m, to);
}

// The line that begins at `from` begins a chunk of its own if there is a blank line above, and it does not belong to a list's item.
static bool begins_chunk(const markdown_screen *m, size_t from) {
    const char c = m->chunk.data[from];
    const bool has_gap = from >= 2 && m->chunk.data[from - 1] == '\n' && m->chunk.data[from - 2] == '\n';
    return has_gap && !m->fence && c != ' ' && c != '\t' && c != '\n';
}

// Ends the chunk above m->chunk[from], with the blank line between.
static void cut(markdown_screen *m, size_t from, bytes *to) {
    bytes rest = {0};
    bytes_add(&rest, m->chunk.data + from, m->chunk.n - from);
    m->chunk.n = from;
    end_chunk(m, to);
    if (!m->is_silent) bytes_add_text(to, "\n");
    bytes_free(&m->chunk);
    m->chunk = rest;
}

static size_t line_start(const markdown_screen *m) {
    size_t from = m->chunk.n;
    while (from && m->chunk.data[from - 1] != '\n') from--;
    return from;
}

static void add_character(markdown_screen *m, char c, bytes *to) {
    const size_t from = m->is_code ? 0 : line_start(m);
    if (c == '\r') return;
    if (c == '\n') {
        if (!m->is_code && m->chunk.n == 0) { // a blank line behind a code's fence, or above the text
            if (!m->is_silent && m->is_begun) bytes_add_text(to, "\n");
            return;
        }
        take_line(m, from, to);
        return;
    }
    bytes_add(&m->chunk, &c, 1);
    m->is_dirty = m->is_begun = true;
    if (m->is_code || from + 1 != m->chunk.n) return;
    if (begins_chunk(m, from)) cut(m, from, to);
    if (m->chunk.n == 1) m->is_list = strchr("-*+0123456789", c) != NULL;
}

static void show_open(markdown_screen *m, bytes *to) {
    if (!m->is_dirty) return;
    if (!m->is_code) {
        draw(m, false, to);
        return;
    }
    // What may become the closing fence is not shown yet.
    const size_t n = m->chunk.n;
    size_t at = 0;
    while (at < n && (m->chunk.data[at] == ' ' || m->chunk.data[at] == m->fence)) at++;
    if (at < n || !n) draw_code(m, false, to);
    m->is_dirty = false;
}

void markdown_screen_add(markdown_screen *m, const char *text, size_t n, bytes *to) {
    bytes plain = {0};
    term_add_plain(&plain, text, n);
    for (size_t i = 0; i < plain.n; i++)
        if (plain.data[i] == '\t' && m->is_code)
            for (int k = 0; k < TAB_WIDTH; k++) add_character(m, ' ', to);
        else
            add_character(m, plain.data[i], to);
    bytes_free(&plain);
    show_open(m, to);
}

void markdown_screen_resume(markdown_screen *m, const char *text, size_t n, bytes *to) {
    m->is_silent = true;
    markdown_screen_add(m, text, n, to);
    m->is_silent = false;
    m->shown.n = m->n_long = 0;
    m->is_long = false;
    m->is_dirty = true;
    show_open(m, to);
}

void markdown_screen_resize(markdown_screen *m, int columns, bytes *to) {
    if (columns == m->columns) return;
    const size_t rows = count_rows(m->shown.data ? m->shown.data : "", m->shown.n, columns + 1);
    m->columns = columns;
    if (m->is_code) return;
    if (rows) bytes_add_format(to, "\x1b[%zuA", rows);
    bytes_add_text(to, "\r\x1b[J");
    m->shown.n = 0;
    m->is_dirty = true;
    show_open(m, to);
}

void markdown_screen_end(markdown_screen *m, bytes *to) {
    if (m->is_code) {
        if (m->chunk.n) draw_code(m, true, to);
    } else {
        end_chunk(m, to);
    }
    m->fence = 0;
    m->is_code = false;
    m->chunk.n = m->shown.n = 0;
}
