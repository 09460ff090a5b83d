// cli/chat/reply_screen.c - see reply_screen.h.
#include "cli/chat/reply_screen.h"
#include "app/term.h"
#include "cli/chat/markdown.h"
#include <string.h>
#include <unistd.h>

enum { LEAST_COLUMNS = 20, START_BYTES = 16 };

static const char dim_on[] = "\x1b[2m", dim_off[] = "\x1b[0m";

void reply_screen_init(reply_screen *s) {
    *s = (reply_screen){.is_terminal = term_is(STDOUT_FILENO), .has_colour = term_colour(STDOUT_FILENO)};
    s->wraps = term_can_draw(STDOUT_FILENO);
    s->shows_reasoning = s->is_terminal;
    s->renders = s->wraps && s->has_colour && markdown_is_there();
}

void reply_screen_free(reply_screen *s) {
    markdown_screen_free(&s->markdown);
    bytes_free(&s->word);
    bytes_free(&s->start);
    bytes_free(&s->line);
}

static bool flush(reply_screen *s) {
    const bool goes_on = s->line.n == 0 || output_write(&s->out, s->line.data, s->line.n);
    s->line.n = 0;
    return goes_on;
}

static void begin_line(reply_screen *s) {
    s->column = s->indent = s->word_columns = 0;
    s->word.n = s->start.n = 0;
    s->start_known = s->is_fence = false;
}

static int usable_columns(void) {
    const int width = term_width(STDOUT_FILENO) - 1;
    return width < LEAST_COLUMNS ? LEAST_COLUMNS : width;
}

void reply_screen_begin(reply_screen *s) {
    s->columns = usable_columns();
    markdown_screen_begin(&s->markdown, s->columns);
    s->is_open = s->is_code = s->has_note = false;
    s->channel = RN_CHANNEL_CONTENT;
    begin_line(s);
}

// Is a line's first word a marker of a list item or a quote? Its wrapped lines are then indented to the text after it.
static bool is_marker(const char *text, size_t n) {
    if (n == 1 && strchr("-*+>", text[0])) return true;
    size_t n_digits = 0;
    while (n_digits < n && text[n_digits] >= '0' && text[n_digits] <= '9') n_digits++;
    return n_digits > 0 && n_digits + 1 == n && (text[n_digits] == '.' || text[n_digits] == ')');
}

// Collects the line's first bytes until its indentation is known, and whether it is a code fence.
static void learn_start(reply_screen *s, const char *c, size_t n) {
    if (s->start_known) return;
    bytes_add(&s->start, c, n);
    const size_t blanks = strspn(s->start.data, " ");
    const char *const text = s->start.data + blanks;
    const size_t n_text = s->start.n - blanks;
    if (n_text >= 3 && (memcmp(text, "```", 3) == 0 || memcmp(text, "~~~", 3) == 0))
        s->is_fence = s->start_known = true;
    else if (n_text > 1 && text[n_text - 1] == ' ')
        s->start_known = true;
    else if (s->start.n > START_BYTES)
        s->start_known = true;
    if (!s->start_known || s->is_fence || n_text == 0) return;
    const bool hangs = text[n_text - 1] == ' ' && is_marker(text, n_text - 1);
    s->indent = hangs ? s->column : (int)blanks;
    if (s->indent > s->columns / 2) s->indent = 0;
}

static void break_line(reply_screen *s) {
    bytes_add_format(&s->line, "\n%*s", s->indent, "");
    s->column = s->indent;
}

// Moves the unfinished word at the end of the line to the next one.
static void move_word(reply_screen *s) {
    if (s->word_columns) bytes_add_format(&s->line, "\x1b[%dD\x1b[K", s->word_columns);
    break_line(s);
    bytes_add(&s->line, s->word.data, s->word.n);
    s->column += s->word_columns;
}

static void end_word(reply_screen *s) {
    s->word.n = 0;
    s->word_columns = 0;
}

static void add_visible(reply_screen *s, const char *c, size_t n, int width) {
    const bool is_wide = width > 1; // lines may break before and after wide characters
    if (is_wide) end_word(s);
    if (s->column + width > s->columns && s->column > s->indent) {
        const bool moves =
            s->indent + s->word_columns + width <= s->columns && s->word_columns < s->column - s->indent;
        if (!moves) end_word(s);
        move_word(s);
    }
    bytes_add(&s->line, c, n);
    s->column += width;
    if (is_wide) return;
    bytes_add(&s->word, c, n);
    s->word_columns += width;
}

static void add_wrapping(reply_screen *s, const char *c, size_t n, int width) {
    if (*c == '\n') {
        bytes_add_text(&s->line, "\n");
        s->is_code ^= s->is_fence;
        begin_line(s);
    } else if (s->is_code || s->is_fence) {
        bytes_add(&s->line, c, n);
        s->column += width; // so that what follows the reply begins a line of its own
        learn_start(s, c, n);
    } else if (*c == ' ' || *c == '\t') {
        if (s->column < s->columns) { // a space at the end of a full line is dropped
            bytes_add_text(&s->line, " ");
            s->column++;
        }
        end_word(s);
        learn_start(s, " ", 1);
    } else {
        add_visible(s, c, n, width);
        learn_start(s, c, n);
    }
}

// Adds text that consists of whole characters.
static void add_text(reply_screen *s, const char *text, size_t n) {
    bytes shown = {0};
    term_add_plain(&shown, text, n);
    for (size_t at = 0; at < shown.n;) {
        int width;
        const size_t n_char = term_character(shown.data + at, shown.n - at, &width);
        add_wrapping(s, shown.data + at, n_char, width);
        at += n_char;
    }
    bytes_free(&shown);
}

static void hide_note(reply_screen *s) {
    if (s->has_note) bytes_add_text(&s->line, "\r\x1b[K");
    s->has_note = false;
}

// Switches to another channel; marks the end of shown reasoning.
static void turn_to(reply_screen *s, rn_channel channel) {
    hide_note(s);
    if (s->channel == RN_CHANNEL_CONTENT && s->renders) {
        markdown_screen_end(&s->markdown, &s->line);
        markdown_screen_begin(&s->markdown, s->columns);
    }
    if (s->channel == RN_CHANNEL_REASONING && s->shows_reasoning && s->is_open) {
        if (s->column) bytes_add_text(&s->line, "\n");
        bytes_add_text(&s->line, s->has_colour ? dim_off : "(answer)");
        bytes_add_text(&s->line, "\n");
        begin_line(s);
    }
    if (channel == RN_CHANNEL_REASONING && s->shows_reasoning) {
        if (s->column) bytes_add_text(&s->line, "\n");
        bytes_add_text(&s->line, s->has_colour ? dim_on : "(thinking)\n");
        begin_line(s);
    } else if (channel == RN_CHANNEL_REASONING && s->wraps) {
        bytes_add_format(&s->line, "%sthinking ...%s", s->has_colour ? dim_on : "", s->has_colour ? dim_off : "");
        s->has_note = true;
    }
    s->channel = channel;
}

static void show(reply_screen *s, const char *text, size_t n) {
    if (n == 0) return;
    s->is_open = true;
    if (s->wraps) {
        add_text(s, text, n);
    } else {
        if (s->is_terminal)
            term_add_plain(&s->line, text, n);
        else
            bytes_add(&s->line, text, n);
        s->column = text[n - 1] != '\n';
    }
}

static void show_call(reply_screen *s, const rn_delta *d) {
    if (d->name) {
        if (s->column) show(s, "\n", 1);
        show(s, "call ", 5);
        show(s, d->name, strlen(d->name));
        show(s, " ", 1);
    }
    show(s, d->text, d->n_text);
    if (d->ends) show(s, "\n", 1);
}

static void show_content(reply_screen *s, const char *text, size_t n) {
    const int columns = usable_columns();
    if (!s->renders) {
        show(s, text, n);
        return;
    }
    if (n) s->is_open = true;
    markdown_screen_resize(&s->markdown, columns, &s->line);
    s->columns = columns;
    markdown_screen_add(&s->markdown, text, n, &s->line);
}

void reply_screen_resume(reply_screen *s, const char *text, size_t n) {
    if (s->renders) {
        s->is_open = true;
        markdown_screen_resume(&s->markdown, text, n, &s->line);
    } else { // the last line is enough
        size_t from = n;
        while (from > 0 && text[from - 1] != '\n') from--;
        show(s, text + from, n - from);
    }
    flush(s);
}

bool reply_screen_add(reply_screen *s, const rn_delta *delta) {
    if (delta->channel != s->channel) turn_to(s, delta->channel);
    if (delta->channel == RN_CHANNEL_TOOL_CALL)
        show_call(s, delta);
    else if (delta->channel == RN_CHANNEL_CONTENT)
        show_content(s, delta->text, delta->n_text);
    else if (s->shows_reasoning)
        show(s, delta->text, delta->n_text);
    return flush(s);
}

void reply_screen_end(reply_screen *s) {
    hide_note(s);
    if (s->channel == RN_CHANNEL_CONTENT && s->renders) markdown_screen_end(&s->markdown, &s->line);
    if (s->channel == RN_CHANNEL_REASONING && s->shows_reasoning && s->has_colour) bytes_add_text(&s->line, dim_off);
    if (s->column) bytes_add_text(&s->line, "\n");
    flush(s);
    begin_line(s);
}
