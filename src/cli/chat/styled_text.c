// cli/chat/styled_text.c - see styled_text.h.
#include "cli/chat/styled_text.h"
#include "app/term.h"
#include <string.h>

void styled_add(styled_text *t, const char *text, size_t n, uint8_t style) {
    bytes_add(&t->text, text, n);
    char *const to = bytes_reserve(&t->styles, n);
    if (!to || !n) return;
    memset(to, style, n);
    t->styles.n += n;
}

void styled_text_free(styled_text *t) {
    bytes_free(&t->text);
    bytes_free(&t->styles);
}

static const char joiner[] = "\xe2\x80\x8d"; // U+200D, zero width joiner
enum { N_JOINER = sizeof joiner - 1 };

static bool is_joined(const char *text, size_t from, size_t at) {
    return at >= from + N_JOINER && memcmp(text + at - N_JOINER, joiner, N_JOINER) == 0;
}

bool styled_line(const styled_text *t, size_t *at, int columns, text_line *line) {
    const char *const text = t->text.data;
    size_t i = *at, stop = 0,
           next = 0; // where the line may end, and where the next one would begin; next 0: nowhere yet
    int used = 0, used_stop = 0;
    if (i >= t->text.n) return false;
    for (line->from = i; i < t->text.n && text[i] != '\n';) {
        int width;
        const size_t n = term_character(text + i, t->text.n - i, &width);
        if (text[i] == ' ') {
            if (next != i) stop = i, used_stop = used; // the first of several spaces
            next = i + 1;
        } else if (width > 1 && i > line->from && next != i && !is_joined(text, line->from, i)) {
            stop = next = i, used_stop = used; // wide characters have no spaces between words
        }
        if (used + width > columns && text[i] != ' ' && i > line->from && width) {
            if (!next) stop = next = i, used_stop = used;
            *line = (text_line){line->from, stop, used_stop};
            *at = next;
            return true;
        }
        used += width;
        i += n;
    }
    *at = i + (i < t->text.n);
    while (i > line->from && text[i - 1] == ' ') i--, used--;
    line->to = i, line->columns = used;
    return true;
}

int styled_columns(const styled_text *t) {
    text_line line;
    int most = 0;
    for (size_t at = 0; styled_line(t, &at, 1 << 24, &line);)
        if (line.columns > most) most = line.columns;
    return most;
}

static void write_style(uint8_t style, bytes *to) {
    static const struct {
        uint8_t style;
        const char *code;
    } codes[] = {
        {STYLE_BOLD, ";1"}, {STYLE_DIM, ";2"}, {STYLE_ITALIC, ";3"}, {STYLE_UNDERLINE, ";4"}, {STYLE_STRIKE, ";9"}};
    static const char *const colours[8] = {"", ";36", ";32", ";35"};
    bytes_add_text(to, "\x1b[0");
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (style & codes[i].style) bytes_add_text(to, codes[i].code);
    if (style & STYLE_COLOURS) bytes_add_text(to, colours[style >> 5]);
    bytes_add_text(to, "m");
}

void styled_write(const styled_text *t, const text_line *line, bytes *to) {
    uint8_t style = 0;
    for (size_t i = line->from; i < line->to; i++) {
        const uint8_t wanted = (uint8_t)t->styles.data[i];
        if (wanted != style) write_style(style = wanted, to);
        bytes_add(to, t->text.data + i, 1);
    }
    if (style) write_style(0, to);
}

int written_columns(const char *line, size_t n) {
    int columns = 0;
    for (size_t i = 0; i < n;) {
        int width = 0;
        if (line[i] == '\x1b') {
            for (i += 2; i < n && !(line[i] >= '@' && line[i] <= '~');) i++;
            i++;
            continue;
        }
        i += term_character(line + i, n - i, &width);
        columns += width;
    }
    return columns;
}
