// app/json_write.c - escapes strings, writes numbers in their shortest form.
#include "app/json_write.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void separate(json_writer *w) {
    if (w->needs_comma) bytes_add(w->out, ",", 1);
    w->needs_comma = true;
}

void json_put_begin(json_writer *w, char bracket) {
    separate(w);
    bytes_add(w->out, &bracket, 1);
    w->needs_comma = false;
}

void json_put_end(json_writer *w, char bracket) {
    bytes_add(w->out, &bracket, 1);
    w->needs_comma = true;
}

void json_put_text(json_writer *w, const char *text, size_t n_text) {
    static const char escapes[32] = {['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r'};
    const unsigned char *const s = (const unsigned char *)text;
    size_t n_plain = 0; // bytes before i that need no escaping
    separate(w);
    bytes_add(w->out, "\"", 1);
    for (size_t i = 0; i < n_text;) {
        const unsigned char c = s[i];
        const size_t n = character_length(text + i, n_text - i);
        if (n && c >= 0x20 && c != '"' && c != '\\' && c != 0x7f) {
            i += n, n_plain += n;
            continue;
        }
        bytes_add(w->out, s + i - n_plain, n_plain);
        n_plain = 0;
        if (n == 0)
            bytes_add_text(w->out, "\xef\xbf\xbd");
        else if (c == '"' || c == '\\')
            bytes_add_format(w->out, "\\%c", c);
        else if (c < 0x20 && escapes[c])
            bytes_add_format(w->out, "\\%c", escapes[c]);
        else
            bytes_add_format(w->out, "\\u%04x", c);
        i++;
    }
    bytes_add(w->out, s + n_text - n_plain, n_plain);
    bytes_add(w->out, "\"", 1);
}

void json_put_key(json_writer *w, const char *name) {
    json_put_text(w, name, strlen(name));
    bytes_add(w->out, ":", 1);
    w->needs_comma = false;
}

void json_put_string(json_writer *w, const char *text) {
    if (text)
        json_put_text(w, text, strlen(text));
    else
        json_put_null(w);
}

void json_put_whole(json_writer *w, int64_t v) {
    separate(w);
    bytes_add_format(w->out, "%" PRId64, v);
}

static void json_put_u64(json_writer *w, uint64_t v) {
    separate(w);
    bytes_add_format(w->out, "%" PRIu64, v);
}

void json_put_real(json_writer *w, double v) {
    char text[40] = "null";
    separate(w);
    for (int n = 15; n <= 17 && isfinite(v); n++) {
        snprintf(text, sizeof text, "%.*g", n, v);
        if (strtod(text, NULL) == v) break;
    }
    bytes_add_text(w->out, text);
}

void json_put_float(json_writer *w, float v) {
    char text[40] = "null";
    separate(w);
    for (int n = 6; n <= 9 && isfinite(v); n++) {
        snprintf(text, sizeof text, "%.*g", n, (double)v);
        if (strtof(text, NULL) == v) break;
    }
    bytes_add_text(w->out, text);
}

void json_put_rounded(json_writer *w, double v, int n_digits) {
    if (!isfinite(v)) {
        json_put_null(w);
        return;
    }
    separate(w);
    bytes_add_format(w->out, "%.*f", n_digits, v);
}

static void json_put_bool(json_writer *w, bool v) { json_put_raw(w, v ? "true" : "false"); }

void json_put_null(json_writer *w) { json_put_raw(w, "null"); }

void json_put_raw(json_writer *w, const char *json) {
    separate(w);
    bytes_add_text(w->out, json);
}

void json_put_ids(json_writer *w, const int32_t *ids, size_t n) {
    json_put_begin(w, '[');
    for (size_t i = 0; i < n; i++) json_put_whole(w, ids[i]);
    json_put_end(w, ']');
}

#define DEFINE_MEMBER(what, type)                                                                                    \
    void json_member_##what(json_writer *w, const char *name, type v) {                                              \
        json_put_key(w, name);                                                                                       \
        json_put_##what(w, v);                                                                                       \
    }
DEFINE_MEMBER(begin, char)
DEFINE_MEMBER(string, const char *)
DEFINE_MEMBER(whole, int64_t)
DEFINE_MEMBER(u64, uint64_t)
DEFINE_MEMBER(real, double)
DEFINE_MEMBER(bool, bool)

void json_member_rounded(json_writer *w, const char *name, double v, int n_digits) {
    json_put_key(w, name);
    json_put_rounded(w, v, n_digits);
}

void json_member_text(json_writer *w, const char *name, const char *text, size_t n_text) {
    json_put_key(w, name);
    json_put_text(w, n_text ? text : "", n_text);
}

void json_member_bytes(json_writer *w, const char *name, const bytes *text) {
    json_member_text(w, name, text->data, text->n);
}
