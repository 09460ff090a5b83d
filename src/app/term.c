// app/term.c - properties of the terminal.
#include "app/term.h"
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

bool term_is(int fd) { return isatty(fd) == 1; }

int term_width(int fd) {
    struct winsize size = {0};
    return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

bool term_can_draw(int fd) {
    const char *kind = getenv("TERM");
    return term_is(fd) && kind && *kind && strcmp(kind, "dumb") != 0;
}

bool term_colour(int fd) {
    const char *no = getenv("NO_COLOR");
    return term_can_draw(fd) && !(no && *no);
}

bool term_utf8(void) {
    static const char *const variables[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *v = getenv(variables[i]);
        if (v && *v) return strcasestr(v, "utf-8") || strcasestr(v, "utf8");
    }
    return false;
}

void term_add_plain(bytes *to, const char *text, size_t n_text) {
    const unsigned char *const s = (const unsigned char *)text;
    for (size_t i = 0; i < n_text; i++) {
        const bool is_c0 = (s[i] < 0x20 && s[i] != '\n' && s[i] != '\t') || s[i] == 0x7f;
        const bool is_c1 = s[i] == 0xc2 && i + 1 < n_text && s[i + 1] >= 0x80 && s[i + 1] <= 0x9f; // U+0080..U+009F
        if (is_c0 || is_c1)
            bytes_add_text(to, "\xef\xbf\xbd");
        else
            bytes_add(to, text + i, 1);
        i += is_c1;
    }
}

void term_add_line(bytes *to, const char *text, size_t n_text) {
    for (size_t at = 0; at < n_text;) {
        const size_t n_char = character_length(text + at, n_text - at);
        const unsigned char *const s = (const unsigned char *)text + at;
        const bool orders = n_char == 3 && s[0] == 0xE2 &&
                            ((s[1] == 0x80 && s[2] >= 0xAA && s[2] <= 0xAE) || // U+202A..U+202E
                             (s[1] == 0x81 && s[2] >= 0xA6 && s[2] <= 0xA9));  // U+2066..U+2069
        if (text[at] == '\t' || text[at] == '\n')
            bytes_add_text(to, " ");
        else if (!orders)
            term_add_plain(to, text + at, n_char ? n_char : 1);
        at += n_char ? n_char : 1;
    }
}

size_t term_character(const char *text, size_t n, int *columns) {
    wchar_t c;
    mbstate_t state = {0};
    const size_t n_char = mbrtowc(&c, text, n, &state);
    *columns = 1;
    if (n_char == 0 || n_char > n) return 1;
    const int width = wcwidth(c);
    if (width >= 0) *columns = width;
    return n_char;
}
