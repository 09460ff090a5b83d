// formats/json/json_values.c - looks up members of a JSON tree and converts texts to numbers; see
// json_tree.h.
#include "formats/json/json_tree.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_BYTES = 64 }; // 17 digits are enough for a double; longer ones are refused, and cut in messages

static const struct json_node *find_member(const struct json_node *v, const char *name) {
    if (!v || v->kind != JSON_OBJECT) return NULL;
    const size_t n = strlen(name);
    const struct json_node *m = json_first(v);
    for (uint32_t i = 0; i < v->n_items; i++, m = json_next(m))
        if (m->n_name == n && memcmp(m->name, name, n) == 0) return m;
    return NULL;
}

const struct json_node *json_member(const struct json_node *v, const char *name) {
    const struct json_node *m = find_member(v, name);
    return m && m->kind == JSON_NULL ? NULL : m;
}

bool json_has_null(const struct json_node *v, const char *name) {
    const struct json_node *m = find_member(v, name);
    return m && m->kind == JSON_NULL;
}

bool json_is(const struct json_node *v, const char *text) {
    return v && v->kind == JSON_STRING && strlen(text) == v->n_text && memcmp(v->text, text, v->n_text) == 0;
}

const char *json_kind_name(const struct json_node *v) {
    static const char *const names[] = {"null", "false", "true", "a number", "a string", "an array", "an object"};
    return names[v->kind];
}

static rn_status wrong_kind(const struct json_node *v, const char *want, rn_error *err) {
    return fail(err, RN_E_FORMAT, "is %s, must be %s", json_kind_name(v), want);
}

static int shown(const struct json_node *v) { return v->n_text < NUMBER_BYTES ? (int)v->n_text : NUMBER_BYTES; }

// Parses decimal digits; false: overflow of int64_t.
static bool parse_int(const char *s, uint32_t n, int64_t *out) {
    const bool minus = n > 0 && s[0] == '-';
    *out = 0;
    for (uint32_t i = minus ? 1 : 0; i < n; i++)
        if (__builtin_mul_overflow(*out, 10, out) || __builtin_add_overflow(*out, s[i] - '0', out)) return false;
    if (minus) *out = -*out;
    return true;
}

// One character of a name, of m bytes, as RFC 6901 and JSON's strings write it; returns its bytes. Control characters, those of C1 too, would
// be lost in messages.
static size_t pointer_char(char out[static 8], const char *s, size_t *m) {
    static const char marks[] = "~/\\\b\f\n\r\t";
    static const char *const spelled[] = {"~0", "~1", "\\\\", "\\b", "\\f", "\\n", "\\r", "\\t"};
    const uint8_t b = (uint8_t)s[0];
    const char *const mark = b ? strchr(marks, b) : NULL;
    const bool is_c1 = b == 0xc2 && (uint8_t)s[1] < 0xa0;
    *m = is_c1 ? 2 : 1;
    if (mark) return (size_t)snprintf(out, 8, "%s", spelled[mark - marks]);
    if (b < ' ' || b == 0x7f || is_c1) return (size_t)snprintf(out, 8, "\\u%04x", is_c1 ? (uint8_t)s[1] : b);
    out[0] = s[0];
    return 1;
}

// What does not fit is cut; returns the bytes, cap - 1 at most.
static size_t pointer_name(char *out, size_t cap, const char *s, size_t n) {
    size_t used = 0;
    char one[8];
    for (size_t i = 0, m; i < n; i += m) {
        const size_t size = pointer_char(one, s + i, &m);
        if (size >= cap - used) break;
        memcpy(out + used, one, size);
        used += size;
    }
    out[used] = 0;
    return used;
}

void json_pointer(const struct json_node *root, const struct json_node *at, char *out, size_t cap) {
    size_t n = 0;
    out[0] = 0;
    for (const struct json_node *v = root; v < at && n < cap;) {
        const struct json_node *item = json_first(v);
        uint32_t i = 0;
        while (!(item <= at && at < item + item->n_nodes)) item = json_next(item), i++;
        if (v->kind == JSON_OBJECT && cap - n > 1) {
            out[n++] = '/';
            n += pointer_name(out + n, cap - n, item->name, item->n_name);
        } else {
            n += (size_t)snprintf(out + n, cap - n, "/%u", i);
        }
        v = item;
    }
}

rn_status json_int(const struct json_node *v, int64_t min, int64_t max, int64_t *out, rn_error *err) {
    int64_t x;
    if (v->kind != JSON_NUMBER) return wrong_kind(v, "an integer", err);
    for (uint32_t i = 0; i < v->n_text; i++)
        if (!strchr("-0123456789", v->text[i]))
            return fail(err, RN_E_FORMAT, "is %.*s, must be an integer", shown(v), v->text);
    if (!parse_int(v->text, v->n_text, &x) || x < min || x > max)
        return fail(err, RN_E_FORMAT, "%.*s is outside %" PRId64 "..%" PRId64, shown(v), v->text, min, max);
    *out = x;
    return RN_OK;
}

// strtod() expects the locale's decimal point, so replace the point by that.
static double parse_float(const char *s, uint32_t n) {
    char text[NUMBER_BYTES + 16], point[16];
    size_t k = 0;
    const int n_point = snprintf(point, sizeof point, "%.1f", 0.5) - 2; // "0", the point, "5"
    for (uint32_t i = 0; i < n; i++) {
        if (s[i] != '.') {
            text[k++] = s[i];
            continue;
        }
        memcpy(text + k, point + 1, (size_t)n_point);
        k += (size_t)n_point;
    }
    text[k] = 0;
    return strtod(text, NULL);
}

rn_status json_double(const struct json_node *v, double min, double max, double *out, rn_error *err) {
    if (v->kind != JSON_NUMBER) return wrong_kind(v, "a number", err);
    if (v->n_text > NUMBER_BYTES)
        return fail(err, RN_E_FORMAT, "%.*s...: a number of %" PRIu32 " characters, limit %d", shown(v), v->text,
                    v->n_text, NUMBER_BYTES);
    const double x = parse_float(v->text, v->n_text);
    if (!(x >= min && x <= max)) return fail(err, RN_E_FORMAT, "%.*s is outside %g..%g", shown(v), v->text, min, max);
    *out = x;
    return RN_OK;
}

rn_status json_float(const struct json_node *v, double min, double max, float *out, rn_error *err) {
    double x = 0;
    const rn_status st = json_double(v, min, max, &x, err);
    if (st == RN_OK) *out = (float)x;
    return st;
}

rn_status json_bool(const struct json_node *v, bool *out, rn_error *err) {
    if (v->kind != JSON_TRUE && v->kind != JSON_FALSE) return wrong_kind(v, "true or false", err);
    *out = v->kind == JSON_TRUE;
    return RN_OK;
}
