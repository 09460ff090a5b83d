// tests/cli/markdown_screen_test.c - Markdown on a terminal: what stands there in the end, however the text arrived.
#include "app/term.h"
#include "cli/chat/markdown.h"
#include "cli/chat/markdown_screen.h"
#include "tests/check.h"
#include <locale.h>
#include <stdlib.h>
#include <string.h>

// A terminal: text, CR, LF, moves up and to a column, erasing to the end of the line and of the screen. Styles are left out.
enum { ROWS = 600, COLUMNS = 130, CELL = 40 };
typedef struct terminal {
    char cells[ROWS][COLUMNS][CELL];
    int row, column, columns, widest;
} terminal;

static void erase(terminal *t, int row, int column) {
    for (; column < COLUMNS; column++) t->cells[row][column][0] = '\0';
}

static void obey(terminal *t, int n, char what) {
    if (what == 'A') t->row -= n ? n : 1;
    if (what == 'G') t->column = n - 1;
    if (what == 'K' || what == 'J') erase(t, t->row, t->column);
    for (int r = t->row + 1; what == 'J' && r < ROWS; r++) erase(t, r, 0);
    if (t->row < 0) abort();
}

static void put(terminal *t, const char *c, size_t n, int width) {
    if (width == 0) {
        char *const last = t->cells[t->row][t->column ? t->column - 1 : 0];
        if (strlen(last) + n < CELL) strncat(last, c, n);
        return;
    }
    if (t->column + width > t->columns) t->row++, t->column = 0;
    if (t->row >= ROWS) abort();
    snprintf(t->cells[t->row][t->column], CELL, "%.*s", (int)n, c);
    if (width == 2) strcpy(t->cells[t->row][t->column + 1], "\x01"); // the second half
    t->column += width;
    if (t->column > t->widest) t->widest = t->column;
}

static void show(terminal *t, const char *text, size_t n) {
    for (size_t i = 0; i < n;) {
        int width;
        if (text[i] == '\x1b') {
            char *end;
            const long number = strtol(text + i + 2, &end, 10);
            while (*end == ';' || (*end >= '0' && *end <= '9')) end++;
            obey(t, (int)number, *end);
            i = (size_t)(end - text) + 1;
        } else if (text[i] == '\n' || text[i] == '\r') {
            t->row += text[i] == '\n';
            t->column = 0;
            i++;
        } else {
            const size_t n_char = term_character(text + i, n - i, &width);
            put(t, text + i, n_char, width);
            i += n_char;
        }
    }
}

// The lines without what is blank at their ends, and without empty lines at the end.
static void read_screen(const terminal *t, bytes *to) {
    size_t used = 0;
    for (int r = 0; r < ROWS; r++) {
        int last = COLUMNS;
        while (last && (!t->cells[r][last - 1][0] || strcmp(t->cells[r][last - 1], " ") == 0)) last--;
        for (int c = 0; c < last; c++) {
            const char *const cell = t->cells[r][c];
            if (cell[0] != '\x01') bytes_add_text(to, *cell ? cell : " ");
        }
        if (last) used = to->n;
        bytes_add_text(to, "\n");
    }
    to->n = used;
    if (to->data) to->data[used] = '\0';
}

static uint64_t state;
static size_t any(size_t n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (size_t)(state >> 33) % n;
}

// What stands on a screen of that width when the text came in pieces of 1 to most bytes (whole characters). most 0: all at once.
static char *drawn(const char *text, int columns, size_t most, int *widest) {
    static terminal t;
    markdown_screen m = {0};
    bytes out = {0}, screen = {0};
    const size_t n = strlen(text);
    memset(&t, 0, sizeof t);
    t.columns = columns + 1;
    markdown_screen_begin(&m, columns);
    for (size_t at = 0, piece; at < n; at += piece) {
        piece = most ? 1 + any(most) : n;
        if (piece > n - at) piece = n - at;
        while (at + piece < n && ((unsigned char)text[at + piece] & 0xc0) == 0x80) piece++;
        markdown_screen_add(&m, text + at, piece, &out);
        show(&t, out.data ? out.data : "", out.n);
        out.n = 0;
    }
    markdown_screen_end(&m, &out);
    show(&t, out.data ? out.data : "", out.n);
    read_screen(&t, &screen);
    if (widest) *widest = t.widest;
    markdown_screen_free(&m);
    bytes_free(&out);
    return screen.data;
}

static bool is_ready(void) {
    if (!markdown_is_there()) test_skip("built without md4c");
    setlocale(LC_CTYPE, "C.UTF-8");
    setenv("LANG", "C.UTF-8", 1);
    return markdown_is_there();
}

static void check_drawn(const char *text, int columns, const char *want) {
    char *const got = drawn(text, columns, 0, NULL);
    CHECK_STR(got, want);
    free(got);
}

TEST(each_kind_of_block_is_drawn) {
    if (!is_ready()) return;
    check_drawn("# A\n\nb **c** *d* ~~e~~ `f`", 40, "A\n\nb c d e f");
    check_drawn("one two three four", 9, "one two\nthree\nfour");
    check_drawn("- one two three\n- b\n  1. c\n  2. d", 10,
                "\xe2\x80\xa2 one two\n  three\n\xe2\x80\xa2 b\n  1. c\n  2. d");
    check_drawn("3. a\n4. b\n\n5. c", 20, "3. a\n4. b\n\n5. c");
    check_drawn("- [ ] a\n- [x] b", 20, "[ ] a\n[x] b");
    check_drawn("> one two three", 11, "\xe2\x94\x82 one two\n\xe2\x94\x82 three");
    check_drawn(
        "a\n\n---\n\nb", 9,
        "a\n\n\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\n\nb");
    check_drawn("[here](http://x.org) <http://y.org>", 40, "here (http://x.org) http://y.org");
    check_drawn("verse one\nverse two", 40, "verse one\nverse two");
    check_drawn("a <b>c</b> &amp; &#228; &#27;[2J \x1b[2J", 60, "a <b>c</b> & \xc3\xa4 &#27;[2J \xef\xbf\xbd[2J");
    check_drawn("\\(x_1\\) and \\[y\\] and \\*", 40, "\\(x_1\\) and \\[y\\] and *");
}

TEST(a_table_fits_its_width_and_keeps_its_columns) {
    if (!is_ready()) return;
    check_drawn(
        "| a | b |\n|---|--:|\n| cc | d |", 40,
        "a  \xe2\x94\x82 b\n\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\xbc\xe2\x94\x80\xe2\x94\x80\ncc \xe2\x94\x82 d");
    check_drawn(
        "|a|b|\n|---|:---:|\n|one two three|ddddd|", 13,
        "a     \xe2\x94\x82   b\n\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\xbc\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\none   \xe2\x94\x82 ddddd\ntwo   \xe2\x94\x82\nthree \xe2\x94\x82");
    // Of wide characters, and of emoji that some terminals join, the next cell is where the header has it.
    char *const got = drawn(
        "|abcdefgh|b|\n|---|---|\n|\xe6\x97\xa5\xe6\x9c\xac|c|\n|\xf0\x9f\x91\xa8\xe2\x80\x8d\xf0\x9f\x91\xa9|d|\n|\xd7\xa9\xd7\x9c|e|",
        40, 0, NULL);
    CHECK_HAS(got, "abcdefgh \xe2\x94\x82 b");
    CHECK_HAS(got, "\xe6\x97\xa5\xe6\x9c\xac     \xe2\x94\x82 c");
    CHECK_HAS(got, "     \xe2\x94\x82 d");
    CHECK_HAS(got, "\xd7\xa9\xd7\x9c       \xe2\x94\x82 e");
    free(got);
}

TEST(code_is_kept_as_it_is_and_coloured) {
    if (!is_ready()) return;
    check_drawn("a\n```c\nint  x; /* **y** */\n\n  z\n```\nb", 40, "a\n```c\nint  x; /* **y** */\n\n  z\n```\nb");
    check_drawn("```\n12345678901\n```", 8, "```\n123456789\n01\n```");
    styled_text t = {0};
    code_colours c;
    code_colours_begin(&c, "Python", 6);
    const char *const lines[] = {"if x: # no", "s = '''a", "b''' + 'c' + 1"};
    for (size_t i = 0; i < 3; i++) code_colours_add(&c, lines[i], strlen(lines[i]), &t);
    for (size_t i = 0; i < t.styles.n; i++)
        t.styles.data[i] = (char)('0' + (t.styles.data[i] >> 5) + (t.styles.data[i] & STYLE_DIM ? 9 : 0));
    bytes_add(&t.styles, "", 1);
    //                       if x: # no  s = '''a  b''' + 'c' + 1
    CHECK_STR(t.styles.data, "3300009999"
                             "00002222"
                             "222200022200"
                             "01");
    styled_text_free(&t);
    code_colours_begin(&c, "no such language", 4);
    CHECK(!c.language);
}

static const char *const pieces[] = {"**",
                                     "`",
                                     "```",
                                     "\n",
                                     "\n\n",
                                     "- ",
                                     "1. ",
                                     "> ",
                                     "| a | b |\n|---|---|\n| c | d |",
                                     " word",
                                     "\xe6\x97\xa5\xe6\x9c\xac",
                                     "*",
                                     "#",
                                     " ",
                                     "    ",
                                     "~~~\n",
                                     "[x](y)",
                                     "\xc3\xa9",
                                     "\\(",
                                     "_",
                                     "\n```py\nx = 'y' # z\n```\n",
                                     "\n* **b** c\n",
                                     "\xf0\x9f\x91\xa8\xe2\x80\x8d\xf0\x9f\x91\xa9",
                                     "---\n",
                                     "&amp;",
                                     "\t"};

TEST(the_screen_is_the_same_however_the_text_arrives) {
    if (!is_ready()) return;
    for (state = 1; state < 1200; state++) {
        const uint64_t seed = state;
        bytes text = {0};
        for (size_t i = 0, n = 1 + any(40); i < n; i++)
            bytes_add_text(&text, pieces[any(sizeof pieces / sizeof *pieces)]);
        const int columns = (int)(20 + any(80));
        int widest;
        char *const want = drawn(text.data, columns, 0, &widest);
        for (size_t most = 1; most < 20; most += 6) {
            char *const got = drawn(text.data, columns, most, NULL);
            check_note("seed %d, %d columns, pieces of %zu: %s", (int)seed, columns, most, text.data);
            const bool is_same = CHECK_STR(got, want);
            free(got);
            if (!is_same) return;
        }
        // Only code may be wider than what is free, and then as wide as the terminal.
        CHECK(widest <= columns + 1);
        free(want);
        bytes_free(&text);
        state = seed;
    }
}

TEST(a_reply_that_goes_on_shows_its_open_chunk_again) {
    if (!is_ready()) return;
    static terminal t;
    markdown_screen m = {0};
    bytes out = {0}, screen = {0};
    t.columns = 41;
    const char *const rows[][3] = {{"one\n\n**two", " three** four", "two three four"},
                                   {"a\n```py\nb = 1\nif x", ": c\n```\nd", "if x: c\n```\nd"}};
    for (size_t i = 0; i < 2; i++) {
        memset(t.cells, 0, sizeof t.cells);
        t.row = t.column = 0;
        out.n = screen.n = 0;
        markdown_screen_begin(&m, 40);
        markdown_screen_resume(&m, rows[i][0], strlen(rows[i][0]), &out);
        markdown_screen_add(&m, rows[i][1], strlen(rows[i][1]), &out);
        markdown_screen_end(&m, &out);
        show(&t, out.data, out.n);
        read_screen(&t, &screen);
        CHECK_STR(screen.data, rows[i][2]);
    }
    markdown_screen_free(&m);
    bytes_free(&out);
    bytes_free(&screen);
}
