// cli/report/report_html.c - see report_html.h.
#include "cli/report/report_html.h"
#include <math.h>
#include <runnel/api.h>
#include <stdint.h>
#include <string.h>

// The files beside this one.
#define PART extern __attribute__((visibility("hidden"))) const char
__asm__(".pushsection .rodata\n"
        "report_css: .incbin \"" RUNNEL_REPORT "/report.css\"\n"
        "report_css_end:\n"
        "report_js: .incbin \"" RUNNEL_REPORT "/report.js\"\n"
        "report_js_end:\n"
        ".popsection\n");
PART report_css[], report_css_end[], report_js[], report_js_end[];

// tests/cli/report_test.py says what they must be.
#define CSS_HASH "sha256-2qaiV/yQQzr99BMh4kv7nVphqPeWPgbibblpwzOPLXY="
#define JS_HASH  "sha256-NkBl/KmWTXIok5W4i/KDwaMc93I3FiVv4jlVwYaFIQc="

void report_begin(bytes *to, const char *title) {
    bytes_add_text(to,
                   "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                   "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src '" CSS_HASH
                   "'; script-src '" JS_HASH "'; base-uri 'none'; form-action 'none'\">\n"
                   "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                   "<meta name=\"color-scheme\" content=\"light dark\">\n<title>");
    report_string(to, title);
    bytes_add_text(to, "</title>\n<style>");
    bytes_add(to, report_css, (size_t)(report_css_end - report_css));
    bytes_add_text(to, "</style>\n</head>\n<body>\n<h1>");
    report_string(to, title);
    bytes_add_text(to, "</h1>\n");
}

void report_end(bytes *to) {
    bytes_add_format(to, "<footer class=\"soft\">runnel %s</footer>\n<script>", rn_version());
    bytes_add(to, report_js, (size_t)(report_js_end - report_js));
    bytes_add_text(to, "</script>\n</body>\n</html>\n");
}

// A valid character's code point.
static uint32_t code_of(const char *text, size_t n) {
    static const unsigned char masks[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
    uint32_t c = (unsigned char)text[0] & masks[n];
    for (size_t i = 1; i < n; i++) c = c << 6 | ((unsigned char)text[i] & 0x3F);
    return c;
}

static bool is_shown_by_number(uint32_t c) {
    const bool is_control = (c < 0x20 && c != '\n' && c != '\t') || (c >= 0x7F && c < 0xA0);
    const bool turns = c == 0x61C || c == 0x200E || c == 0x200F || (c >= 0x202A && c <= 0x202E) ||
                       (c >= 0x2066 && c <= 0x2069); // Unicode's Bidi_Control
    return is_control || turns || c == 0xFEFF || (c & 0xFFFE) == 0xFFFE;
}

void report_text(bytes *to, const char *text, size_t n_text) {
    for (size_t at = 0; at < n_text;) {
        const size_t n = character_length(text + at, n_text - at);
        const uint32_t c = n ? code_of(text + at, n) : 0xFFFD;
        if (n == 0)
            bytes_add_text(to, "\xef\xbf\xbd");
        else if (is_shown_by_number(c))
            bytes_add_format(to, "[U+%04X]", (unsigned)c);
        else if (c < 0x80 && strchr("&<>\"'", (int)c))
            bytes_add_format(to, "&#%u;", (unsigned)c);
        else
            bytes_add(to, text + at, n);
        at += n ? n : 1;
    }
}

void report_string(bytes *to, const char *text) { report_text(to, text, strlen(text)); }

void report_cell(bytes *to, double v, int n_digits) {
    if (isfinite(v))
        bytes_add_format(to, "<td>%.*f</td>", n_digits, v);
    else
        bytes_add_text(to, "<td>-</td>");
}

void report_bar(bytes *to, double share) {
    const double percent = !(share > 0) ? 0 : share > 1 ? 100 : 100 * share;
    bytes_add_format(to, "<svg aria-hidden=\"true\"><rect width=\"%.1f%%\" height=\"100%%\"/></svg>", percent);
}
