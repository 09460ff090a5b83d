// app/base64_read.c - see base64_read.h.
#include "app/base64_read.h"
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

// The value of a digit, or below 0.
static int digit(char c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

static bool is_break(char c) { return c == '\n' || c == '\r'; }

static bool refuse_at(size_t at, unsigned char c, char *why) {
    if (c >= ' ' && c < 0x7f)
        snprintf(why, BASE64_WHY, "is no base64: '%c' at byte %zu", c, at);
    else
        snprintf(why, BASE64_WHY, "is no base64: byte 0x%02x at %zu", c, at);
    return false;
}

// What is behind the last digit: padding, as much as is missing, or none.
static bool check_end(const char *text, size_t n, size_t from, size_t n_digits, char *why) {
    size_t n_padding = 0;
    for (size_t i = from; i < n; i++)
        if (text[i] == '=')
            n_padding++;
        else if (!is_break(text[i]))
            return refuse_at(i, (unsigned char)text[i], why);
    const size_t rest = n_digits % 4, due = rest ? 4 - rest : 0;
    if (rest != 1 && (n_padding == 0 || n_padding == due)) return true;
    snprintf(why, BASE64_WHY, "is no base64: it ends within four digits (%zu of them, %zu of padding)", n_digits,
             n_padding);
    return false;
}

bool base64_read(const char *text, size_t n, bytes *to, char *why) {
    char *out = bytes_reserve(to, n / 4 * 3 + 3);
    size_t i = 0, n_digits = 0, n_out = 0;
    uint32_t bits = 0;
    if (!out) {
        snprintf(why, BASE64_WHY, "out of memory for %zu bytes of base64", n);
        return false;
    }
    for (; i < n && text[i] != '='; i++) {
        const int d = digit(text[i]);
        if (is_break(text[i])) continue;
        if (d < 0) return refuse_at(i, (unsigned char)text[i], why);
        bits = bits << 6 | (uint32_t)d;
        if (++n_digits % 4 == 1) continue;
        out[n_out++] = (char)(bits >> (6 - 2 * ((n_digits - 1) % 4)));
    }
    if (!check_end(text, n, i, n_digits, why)) return false;
    to->n += n_out;
    to->data[to->n] = '\0';
    return true;
}

static bool begins(const char *text, size_t n, const char *with) {
    const size_t n_with = strlen(with);
    return n >= n_with && strncasecmp(text, with, n_with) == 0;
}

bool is_data_url(const char *text, size_t n) { return begins(text, n, "data:"); }

bool data_url_read(const char *kind, const char *text, size_t n, bytes *to, char *why) {
    enum { HEAD_MOST = 256 };
    static const char ends[] = ";base64";
    const size_t n_ends = sizeof ends - 1;
    const char *const comma = is_data_url(text, n) ? memchr(text, ',', n < HEAD_MOST ? n : HEAD_MOST) : NULL;
    const size_t n_head = comma ? (size_t)(comma - text) : 0;
    if (!comma) {
        snprintf(why, BASE64_WHY, "is no data: URL of the form data:%s/...;base64,...", kind);
        return false;
    }
    const size_t n_kind = strlen(kind);
    if (!begins(text + 5, n_head - 5, kind) || n_head == 5 + n_kind || text[5 + n_kind] != '/') {
        const size_t n_type = strcspn(text + 5, ";,");
        snprintf(why, BASE64_WHY, "is a data: URL of the type '%.*s', must be %s/...", n_type < 40 ? (int)n_type : 40,
                 text + 5, kind);
        return false;
    }
    if (n_head < n_ends || strncasecmp(comma - n_ends, ends, n_ends) != 0) {
        snprintf(why, BASE64_WHY, "is a data: URL without ;base64");
        return false;
    }
    return base64_read(comma + 1, n - n_head - 1, to, why);
}
