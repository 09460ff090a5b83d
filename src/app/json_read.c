// app/json_read.c - reads jansson's trees by tables of members.
#include "app/json_read.h"
#include "app/json_write.h"
#include "app/numbers.h"
#include "app/say.h"
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The handle types are jansson's nodes under other names, so that callers do not depend on jansson.
static const json_t *tree(const json_doc *doc) { return (const json_t *)doc; }
static const json_t *node(const json_item *value) { return (const json_t *)value; }
static const json_item *item_of(const json_t *j) { return (const json_item *)j; }

static const char *type_name(const json_t *j) {
    static const char *const names[] = {[JSON_OBJECT] = "an object", [JSON_ARRAY] = "an array",
                                        [JSON_STRING] = "a string",  [JSON_INTEGER] = "a whole number",
                                        [JSON_REAL] = "a number",    [JSON_TRUE] = "true",
                                        [JSON_FALSE] = "false",      [JSON_NULL] = "null"};
    return names[json_typeof(j)];
}

static bool wrong_type(const json_t *j, const char *due, char *why) {
    snprintf(why, JSON_WHY / 2, "must be %s, not %s", due, type_name(j));
    return false;
}

bool json_item_text(const json_item *value, json_span *text, char *why) {
    const json_t *j = node(value);
    if (!json_is_string(j)) return wrong_type(j, "a string", why);
    *text = (json_span){json_string_value(j), json_string_length(j)};
    return true;
}

bool json_item_bool(const json_item *value, bool *v, char *why) {
    if (!json_is_boolean(node(value))) return wrong_type(node(value), "true or false", why);
    *v = json_is_true(node(value));
    return true;
}

// 1.0 stays a real.
static void put_real(json_writer *w, double v) {
    char text[40];
    bytes digits = {0};
    json_put_real(&(json_writer){&digits, false}, v);
    snprintf(text, sizeof text, "%s%s", digits.data ? digits.data : "null",
             digits.data && !strpbrk(digits.data, ".e") ? ".0" : "");
    bytes_free(&digits);
    json_put_raw(w, text);
}

// As json_dumps() would, but numbers keep the digits that were read: 0.01 stays 0.01. The depth was checked when it was parsed.
static void put_value(json_writer *w, const json_t *j) {
    const char *key;
    json_t *kid;
    size_t i;
    switch (json_typeof(j)) {
    case JSON_OBJECT:
        json_put_begin(w, '{');
        json_object_foreach((json_t *)j, key, kid) {
            json_put_key(w, key);
            put_value(w, kid);
        }
        json_put_end(w, '}');
        break;
    case JSON_ARRAY:
        json_put_begin(w, '[');
        json_array_foreach(j, i, kid) put_value(w, kid);
        json_put_end(w, ']');
        break;
    case JSON_STRING: json_put_text(w, json_string_value(j), json_string_length(j)); break;
    case JSON_INTEGER: json_put_whole(w, json_integer_value(j)); break;
    case JSON_REAL: put_real(w, json_real_value(j)); break;
    case JSON_TRUE: json_put_raw(w, "true"); break;
    case JSON_FALSE: json_put_raw(w, "false"); break;
    case JSON_NULL: json_put_null(w); break;
    }
}

void json_item_add(const json_item *value, bytes *to) {
    json_writer w = {to, false};
    put_value(&w, node(value));
}

bool json_item_is_text(const json_item *value) { return json_is_string(node(value)); }

bool json_item_is_null(const json_item *value) { return json_is_null(node(value)); }
bool json_item_is_object(const json_item *value) { return json_is_object(node(value)); }
bool json_item_is_array(const json_item *value) { return json_is_array(node(value)); }
const json_doc *json_item_doc(const json_item *value) {
    return json_is_object(node(value)) ? (const json_doc *)value : NULL;
}
size_t json_item_count(const json_item *array) { return json_array_size(node(array)); }
const json_item *json_item_at(const json_item *array, size_t i) { return item_of(json_array_get(node(array), i)); }
const json_item *json_item_member(const json_item *object, const char *name) {
    const json_t *const j = json_object_get(node(object), name);
    return j && !json_is_null(j) ? item_of(j) : NULL;
}

bool json_item_each(const json_item *object, member_each each, void *target, char *why) {
    const char *key;
    json_t *item;
    size_t i = 0;
    if (!json_is_object(node(object))) return wrong_type(node(object), "an object", why);
    json_object_foreach((json_t *)object, key, item) {
        if (!each(target, i++, key, item_of(item), why)) return false;
    }
    return true;
}

// Some clients write whole numbers as 5.0. Beyond 2^53 such a number may have been rounded.
static bool is_whole_real(const json_t *j) {
    const double v = json_real_value(j);
    return json_is_real(j) && v == floor(v) && fabs(v) <= 0x1p53;
}

bool json_item_whole(const json_item *value, int64_t min, int64_t max, int64_t *v, char *why) {
    const json_t *j = node(value);
    const double real = json_real_value(j); // 0 of an integer
    if (json_is_real(j) && real == floor(real) && (real < (double)min || real > (double)max)) {
        snprintf(why, JSON_WHY / 2, "%.0f is outside %" PRId64 "..%" PRId64, real, min, max);
        return false;
    }
    if (!json_is_integer(j) && !is_whole_real(j)) return wrong_type(j, "a whole number", why);
    const int64_t got = json_is_integer(j) ? json_integer_value(j) : (int64_t)json_real_value(j);
    if (got < min || got > max) {
        snprintf(why, JSON_WHY / 2, "%" PRId64 " is outside %" PRId64 "..%" PRId64, got, min, max);
        return false;
    }
    *v = got;
    return true;
}

bool json_item_real(const json_item *value, double min, double max, double *v, char *why) {
    const json_t *j = node(value);
    if (!json_is_number(j)) return wrong_type(j, "a number", why);
    *v = json_number_value(j);
    return number_check(*v, min, max, false, why);
}

bool json_item_u64(const json_item *value, uint64_t *v, char *why) {
    int64_t got = 0;
    // A string, or a larger integer that rewrite_large() made a string.
    if (json_item_is_text(value)) return number_read_u64(json_string_value(node(value)), v, why);
    if (!json_item_whole(value, 0, INT64_MAX, &got, why)) return false;
    *v = (uint64_t)got;
    return true;
}

bool json_item_word(const json_item *value, const char *const *words, int32_t n, int32_t *index, char *why) {
    json_span text;
    if (!json_item_text(value, &text, why)) return false;
    for (int32_t i = 0; i < n; i++)
        if (strcmp(words[i], text.data) == 0) {
            *index = i;
            return true;
        }
    int at = snprintf(why, JSON_WHY / 2, "'%.60s' is not one of", text.data);
    for (int32_t i = 0; i < n && at < JSON_WHY / 2; i++)
        at += snprintf(why + at, (size_t)(JSON_WHY / 2 - at), "%s %s", i ? "," : "", words[i]);
    return false;
}

// jansson refuses integers beyond int64_t. In a copy of the text those that are the value of a member `seed` become strings, which
// json_item_u64() reads, and all others become reals, which they are equal to as near as a double can be.
static bool rewrite_large(const char *text, size_t n_text, bytes *to) {
    enum { SAFE_DIGITS = 18 };
    static const char name[] = "\"seed\"";
    size_t from = 0, string = 0; // where the last string began
    for (size_t i = 0; i < n_text; i++) {
        if (text[i] == '"') {
            for (string = i++; i < n_text && text[i] != '"'; i++) i += text[i] == '\\';
            continue;
        }
        if (text[i] < '0' || text[i] > '9') continue;
        size_t end = i, gap = string + sizeof name - 1;
        while (end < n_text && text[end] >= '0' && text[end] <= '9') end++;
        const bool is_whole = end == n_text || !strchr(".eE", text[end]);
        if (is_whole && end - i > SAFE_DIGITS && (i == 0 || !strchr(".eE+", text[i - 1]))) {
            while (gap < i && strchr(" \t\r\n:", text[gap]) && text[gap]) gap++;
            const bool is_seed = gap == i && memcmp(text + string, name, sizeof name - 1) == 0;
            bytes_add(to, text + from, i - from);
            bytes_add_text(to, is_seed ? "\"" : "");
            bytes_add(to, text + i, is_seed && end - i > 64 ? 64 : end - i);
            bytes_add_text(to, is_seed ? "\"" : ".0");
            from = end;
        }
        while (end < n_text && strchr("0123456789.eE+-", text[end]) && text[end]) end++;
        i = end - 1;
    }
    if (from > 0) bytes_add(to, text + from, n_text - from);
    return from > 0;
}

static json_t *load(const char *text, size_t n_text, json_error_t *error) {
    return json_loadb(text, n_text, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, error);
}

static json_t *parse(const char *text, size_t n_text, char *why) {
    json_error_t error;
    bytes quoted = {0};
    json_t *j = load(text, n_text, &error);
    if (!j && json_error_code(&error) == json_error_numeric_overflow && rewrite_large(text, n_text, &quoted) &&
        !memory_failed())
        j = load(quoted.data, quoted.n, &error);
    bytes_free(&quoted);
    if (!j) snprintf(why, JSON_WHY, "not JSON: %s (byte %d)", error.text, error.position);
    return j;
}

bool json_doc_parse(const char *text, size_t n_text, json_doc **doc, char *why) {
    json_t *j = parse(text, n_text, why);
    *doc = NULL;
    if (!j) return false;
    if (!json_is_object(j)) {
        snprintf(why, JSON_WHY, "must be an object, not %s", type_name(j));
        json_decref(j);
        return false;
    }
    *doc = (json_doc *)j;
    return true;
}

void json_doc_free(json_doc *doc) { json_decref((json_t *)doc); }

bool json_doc_has(const json_doc *doc, const char *name) { return json_object_get(tree(doc), name) != NULL; }

char *json_doc_scalar(const json_doc *doc, const char *name) {
    const json_t *j = json_object_get(tree(doc), name);
    if (!j || !(json_is_string(j) || json_is_number(j))) return NULL;
    char *text = json_dumps(j, JSON_ENCODE_ANY | JSON_COMPACT);
    char *copy = text ? app_copy_text(text) : NULL;
    free(text);
    return copy;
}

static const member *find_member(const member_group *groups, size_t n_groups, const char *name, void **target) {
    for (size_t g = 0; g < n_groups; g++)
        for (size_t i = 0; i < groups[g].n_rows; i++)
            if (strcmp(groups[g].rows[i].name, name) == 0) {
                *target = groups[g].target;
                return &groups[g].rows[i];
            }
    return NULL;
}

static bool read_each(const member *row, void *target, json_t *j, char *why) {
    const char *key;
    json_t *item;
    size_t i = 0;
    char item_why[JSON_WHY / 2] = "";
    if (json_is_array(j) && (row->shape == SHAPE_ARRAY || row->shape == SHAPE_VALUE_OR_ARRAY)) {
        json_array_foreach(j, i, item) {
            if (row->each(target, i, NULL, item_of(item), item_why)) continue;
            snprintf(why, JSON_WHY / 2, "[%zu]: %.200s", i, item_why);
            return false;
        }
        return true;
    }
    if (json_is_object(j) && row->shape == SHAPE_OBJECT) {
        json_object_foreach(j, key, item) {
            if (row->each(target, i++, key, item_of(item), item_why)) continue;
            snprintf(why, JSON_WHY / 2, "\"%.40s\": %.200s", key, item_why);
            return false;
        }
        return true;
    }
    if (row->shape == SHAPE_ARRAY) return wrong_type(j, "an array", why);
    if (row->shape == SHAPE_OBJECT) return wrong_type(j, "an object", why);
    return row->each(target, 0, NULL, item_of(j), why);
}

static bool read_ids(const json_t *j, id_list *list, char *why) {
    if (!json_is_array(j)) return wrong_type(j, "an array", why);
    const size_t n = json_array_size(j);
    free(list->ids);
    *list = (id_list){.ids = app_alloc(n * sizeof *list->ids)};
    if (!list->ids) {
        snprintf(why, JSON_WHY / 2, "out of memory");
        return false;
    }
    for (; list->n < n; list->n++) {
        char item_why[JSON_WHY / 2] = "";
        int64_t id;
        if (!json_item_whole(item_of(json_array_get(j, list->n)), 0, INT32_MAX, &id, item_why)) {
            snprintf(why, JSON_WHY / 2, "[%zu]: %.200s", list->n, item_why);
            return false;
        }
        list->ids[list->n] = (int32_t)id;
    }
    return true;
}

bool json_item_ids(const json_item *value, id_list *list, char *why) { return read_ids(node(value), list, why); }

static bool read_json(const json_t *j, char **field, char *why) {
    if (json_is_null(j)) return wrong_type(j, "a value", why);
    bytes text = {0};
    json_item_add(item_of(j), &text);
    *field = text.data ? app_copy_text(text.data) : NULL;
    bytes_free(&text);
    if (!*field) snprintf(why, JSON_WHY / 2, "out of memory");
    return *field != NULL;
}

// The words false and true as JSON has them, others as strings.
static bool read_word(const char *words, const json_t *j, int32_t *index, char *why) {
    const char *const word = json_is_true(j) ? "true" : json_is_false(j) ? "false" : json_string_value(j);
    const size_t n_word = word ? strlen(word) : 0;
    int32_t i = 0;
    for (const char *at = words; word; i++) {
        const size_t n = strcspn(at, "|");
        const bool is_boolean = (n == 4 && memcmp(at, "true", n) == 0) || (n == 5 && memcmp(at, "false", n) == 0);
        if (n == n_word && memcmp(at, word, n) == 0 && is_boolean == json_is_boolean(j)) {
            *index = i;
            return true;
        }
        if (!at[n]) break;
        at += n + 1;
    }
    snprintf(why, JSON_WHY / 2, "must be one of %s", words);
    return false;
}

static bool read_member(const member *row, void *target, json_t *j, char *why) {
    void *const field = (char *)target + row->offset;
    json_span text = {0};
    int64_t whole = 0;
    switch (row->kind) {
    case MEMBER_BOOL: return json_item_bool(item_of(j), field, why);
    case MEMBER_TEXT: return json_item_text(item_of(j), field, why);
    case MEMBER_NAME:
        if (!json_item_text(item_of(j), &text, why)) return false;
        if (strlen(text.data) != text.n) {
            snprintf(why, JSON_WHY / 2, "a member's name contains U+0000");
            return false;
        }
        *(const char **)field = text.data;
        return true;
    case MEMBER_INT:
        if (!json_item_whole(item_of(j), (int64_t)row->min, (int64_t)row->max, &whole, why)) return false;
        *(int32_t *)field = (int32_t)whole;
        return true;
    case MEMBER_WHOLE:
        if (!json_item_whole(item_of(j), (int64_t)row->min, (int64_t)row->max, &whole, why)) return false;
        *(double *)field = (double)whole;
        return true;
    case MEMBER_WORD: return read_word(row->words, j, field, why);
    case MEMBER_REAL: return json_item_real(item_of(j), row->min, row->max, field, why);
    case MEMBER_IDS: return read_ids(j, field, why);
    case MEMBER_JSON: return read_json(j, field, why);
    case MEMBER_EACH: return read_each(row, target, j, why);
    }
    return false;
}

bool json_doc_read(const json_doc *doc, const member_group *groups, size_t n_groups, char *why) {
    const char *name;
    json_t *j;
    json_object_foreach((json_t *)doc, name, j) {
        char member_why[JSON_WHY / 2] = "";
        void *target = NULL;
        const member *row = find_member(groups, n_groups, name, &target);
        if (!row) {
            snprintf(why, JSON_WHY, "%.60s: unknown member", name);
            return false;
        }
        if (!read_member(row, target, j, member_why)) {
            const char *gap = member_why[0] == '[' ? "" : ": "; // "stop[2]: ..."
            snprintf(why, JSON_WHY, "%s%s%s", name, gap, member_why);
            return false;
        }
    }
    return true;
}

// Writes the member's path: "stop" and "[2]: must be a string" give "stop[2]".
static void put_param(const char *name, const char *member_why, char *param) {
    const char *const end = member_why[0] == '[' ? strchr(member_why, ':') : NULL;
    snprintf(param, JSON_WHY / 2, "%.60s%.*s", name, end ? (int)(end - member_why) : 0, member_why);
}

bool json_doc_read_open(const json_doc *doc, const member_group *groups, size_t n_groups, json_other other,
                        void *user, char *param, char *why) {
    const char *name;
    json_t *j;
    json_object_foreach((json_t *)doc, name, j) {
        char member_why[JSON_WHY / 2] = "";
        void *target = NULL;
        const member *const row = find_member(groups, n_groups, name, &target);
        if (json_is_null(j) ||
            (row ? read_member(row, target, j, member_why) : other(user, name, item_of(j), member_why)))
            continue;
        const char *const gap = member_why[0] == '[' ? "" : ": ";
        snprintf(why, JSON_WHY, "%.60s%s%s", name, gap, member_why);
        put_param(name, member_why, param);
        return false;
    }
    return true;
}

static bool read_row(json_t *row, const member_group *group, char *why) {
    const char *name;
    json_t *j;
    char member_why[JSON_WHY / 2] = "";
    if (!json_is_object(row)) return wrong_type(row, "an object", why);
    json_object_foreach(row, name, j) {
        void *target;
        const member *m = json_is_null(j) ? NULL : find_member(group, 1, name, &target);
        if (!m || read_member(m, target, j, member_why)) continue;
        snprintf(why, JSON_WHY / 2, "%.60s: %.180s", name, member_why);
        return false;
    }
    return true;
}

bool json_read_rows(const char *text, size_t n_text, const member_group *group, json_take take, void *user,
                    char *why) {
    json_t *const all = parse(text, n_text, why), *row;
    size_t i;
    char row_why[JSON_WHY / 2] = "";
    bool ok = all && (json_is_array(all) || wrong_type(all, "an array", why));
    if (ok) json_array_foreach(all, i, row) {
            ok = read_row(row, group, row_why) && take(user, row_why);
            if (ok) continue;
            snprintf(why, JSON_WHY, "[%zu]: %.250s", i, row_why);
            break;
        }
    json_decref(all);
    return ok;
}
