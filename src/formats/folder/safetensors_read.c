// formats/folder/safetensors_read.c - reads a safetensors file's header; see safetensors_read.h.
#include "formats/folder/safetensors_read.h"
#include "base/checked.h"
#include "base/cursor.h"
#include "formats/json/json_tree.h"
#include "formats/limits.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTH_BYTES = 8, SHOWN_NAME_BYTES = 80 };

static const struct safetensors_type types[] = {
    {"F32", 32, true, TENSOR_F32},
    {"F16", 16, true, TENSOR_F16},
    {"BF16", 16, true, TENSOR_BF16},
    {"F64", 64},
    {"I64", 64},
    {"I32", 32},
    {"I16", 16},
    {"I8", 8},
    {"U64", 64},
    {"U32", 32},
    {"U16", 16},
    {"U8", 8},
    {"BOOL", 8},
    {"F8_E4M3", 8},
    {"F8_E5M2", 8},
    {"F8_E8M0", 8},
    {"F8_E4M3FNUZ", 8},
    {"F8_E5M2FNUZ", 8},
    {"F6_E2M3", 6},
    {"F6_E3M2", 6},
    {"F4", 4},
    {"C64", 64},
};

// ---- one tensor ---------------------------------------------------------------------------------

static rn_status read_type(const struct json_node *v, const struct safetensors_type **out, rn_error *err) {
    if (!v || v->kind != JSON_STRING) return fail(err, RN_E_FORMAT, "member dtype: missing, or no string");
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (json_is(v, types[i].name)) return *out = &types[i], RN_OK;
    return fail(err, RN_E_FORMAT, "member dtype: \"%.*s\" is not known", v->n_text < 40 ? (int)v->n_text : 40,
                v->text);
}

static rn_status read_shape(const struct json_node *v, struct safetensors_record *t, rn_error *err) {
    if (!v || v->kind != JSON_ARRAY) return fail(err, RN_E_FORMAT, "member shape: missing, or no array");
    if (v->n_items > SAFETENSORS_MAX_DIMS)
        return fail(err, RN_E_LIMIT, "member shape: %" PRIu32 " dimensions, limit %d", v->n_items,
                    SAFETENSORS_MAX_DIMS);
    const struct json_node *d = json_first(v);
    for (t->n_dims = 0; t->n_dims < (int)v->n_items; t->n_dims++, d = json_next(d)) {
        int64_t dim;
        const rn_status st = json_int(d, 0, INT64_MAX, &dim, err);
        if (st != RN_OK) return fail_in(err, st, "member shape: dimension %d", t->n_dims);
        t->dims[t->n_dims] = (uint64_t)dim;
    }
    return RN_OK;
}

static rn_status read_offsets(const struct json_node *v, struct safetensors_record *t, rn_error *err) {
    int64_t at[2];
    if (!v || v->kind != JSON_ARRAY || v->n_items != 2)
        return fail(err, RN_E_FORMAT, "member data_offsets: missing, or no array of two");
    const struct json_node *d = json_first(v);
    for (int i = 0; i < 2; i++, d = json_next(d)) {
        const rn_status st = json_int(d, 0, INT64_MAX, &at[i], err);
        if (st != RN_OK) return fail_in(err, st, "member data_offsets: number %d", i);
    }
    if (at[1] < at[0])
        return fail(err, RN_E_FORMAT, "member data_offsets: ends at %" PRId64 ", before its beginning at %" PRId64,
                    at[1], at[0]);
    t->begin = (uint64_t)at[0];
    t->end = (uint64_t)at[1];
    return RN_OK;
}

static rn_status check_extent(const struct safetensors_record *t, rn_error *err) {
    size_t n_bits = t->type->n_bits;
    for (int d = 0; d < t->n_dims; d++)
        if (!size_mul(n_bits, t->dims[d], &n_bits))
            return fail(err, RN_E_FORMAT, "member shape: the number of its bytes overflows at dimension %d", d);
    if (n_bits % 8 != 0 || n_bits / 8 != t->end - t->begin)
        return fail(err, RN_E_FORMAT, "member data_offsets: %" PRIu64 " bytes, where its shape needs %zu of %s",
                    t->end - t->begin, n_bits / 8, t->type->name);
    return RN_OK;
}

static rn_status read_record(const struct json_node *v, struct arena *mem, struct safetensors_record *t,
                             rn_error *err) {
    if (v->n_name == 0 || v->n_name > SAFETENSORS_MAX_NAME_BYTES)
        return fail(err, RN_E_LIMIT, "its name has %" PRIu32 " bytes: 1..%d", v->n_name, SAFETENSORS_MAX_NAME_BYTES);
    if (memchr(v->name, 0, v->n_name)) return fail(err, RN_E_FORMAT, "a NUL byte in its name");
    if (v->kind != JSON_OBJECT) return fail(err, RN_E_FORMAT, "is %s, must be an object", json_kind_name(v));
    rn_status st = read_type(json_member(v, "dtype"), &t->type, err);
    if (st == RN_OK) st = read_shape(json_member(v, "shape"), t, err);
    if (st == RN_OK) st = read_offsets(json_member(v, "data_offsets"), t, err);
    if (st == RN_OK) st = check_extent(t, err);
    if (st != RN_OK) return st;
    t->n_name = v->n_name;
    t->name = arena_strndup(mem, v->name, v->n_name); // the name must outlive the JSON tree
    return t->name ? RN_OK : fail(err, RN_E_NOMEM, "out of memory for its name");
}

// ---- the header ---------------------------------------------------------------------------------

static bool is_metadata(const struct json_node *v) {
    static const char name[] = "__metadata__";
    return v->n_name == sizeof name - 1 && memcmp(v->name, name, v->n_name) == 0;
}

static rn_status check_metadata(const struct json_node *v, rn_error *err) {
    if (v->kind != JSON_OBJECT)
        return fail(err, RN_E_FORMAT, "__metadata__: is %s, must be an object", json_kind_name(v));
    const struct json_node *m = json_first(v);
    for (uint32_t i = 0; i < v->n_items; i++, m = json_next(m))
        if (m->kind != JSON_STRING)
            return fail(err, RN_E_FORMAT, "__metadata__: member %" PRIu32 " is %s, must be a string", i,
                        json_kind_name(m));
    return RN_OK;
}

static rn_status read_records(const struct json_node *header, struct arena *mem, struct safetensors *s,
                              rn_error *err) {
    s->records = arena_alloc(mem, header->n_items * sizeof *s->records); // n_items is at most JSON_MAX_VALUES
    if (!s->records) return fail(err, RN_E_NOMEM, "out of memory for %" PRIu32 " tensors", header->n_items);
    const struct json_node *v = json_first(header);
    for (uint32_t i = 0; i < header->n_items; i++, v = json_next(v)) {
        rn_status st;
        if (is_metadata(v)) {
            if ((st = check_metadata(v, err)) != RN_OK) return st;
            continue;
        }
        if (s->n_records == SAFETENSORS_MAX_TENSORS)
            return fail(err, RN_E_LIMIT, "more than %d tensors", SAFETENSORS_MAX_TENSORS);
        st = read_record(v, mem, &s->records[s->n_records], err);
        if (st != RN_OK) {
            const int shown = v->n_name < SHOWN_NAME_BYTES ? (int)v->n_name : SHOWN_NAME_BYTES;
            return fail_in(err, st, "tensor %.*s", shown, v->name);
        }
        s->n_records++;
    }
    return RN_OK;
}

static int by_place(const void *a, const void *b) {
    const struct safetensors_record *x = a, *y = b;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    return (x->end > y->end) - (x->end < y->end); // an empty tensor comes before one that begins at the same byte
}

// Checks that the tensors cover the data without gaps or overlaps, and makes their offsets relative
// to the file: `start` is where the data begins.
static rn_status place(struct safetensors *s, size_t start, size_t n, rn_error *err) {
    uint64_t at = 0;
    qsort(s->records, s->n_records, sizeof *s->records, by_place);
    for (size_t i = 0; i < s->n_records; i++) {
        struct safetensors_record *t = &s->records[i];
        if (t->begin != at)
            return fail(err, RN_E_FORMAT,
                        "tensor %s: begins at byte %" PRIu64 " of the data, expected byte %" PRIu64 ": %s", t->name,
                        t->begin, at, t->begin < at ? "it overlaps another tensor" : "there is a gap before it");
        at = t->end;
        if (at > n - start)
            return fail(err, RN_E_FORMAT, "tensor %s: ends at byte %" PRIu64 " of the data, which has %zu bytes",
                        t->name, at, n - start);
        t->begin += start;
        t->end += start;
    }
    if (at != n - start)
        return fail(err, RN_E_FORMAT, "%zu bytes after the last tensor belong to none", (size_t)(n - start - at));
    return RN_OK;
}

rn_status safetensors_read(const uint8_t *data, size_t n, struct arena *mem, struct safetensors *s, rn_error *err) {
    cursor c = {.data = data, .size = n};
    uint64_t n_header;
    const uint8_t *header;
    if (!cursor_u64(&c, &n_header))
        return fail(err, RN_E_FORMAT, "header: its length takes %d bytes, the file has %zu", LENGTH_BYTES, n);
    if (n_header > SAFETENSORS_MAX_HEADER_BYTES)
        return fail(err, RN_E_LIMIT, "header: %" PRIu64 " bytes, limit %d", n_header, SAFETENSORS_MAX_HEADER_BYTES);
    if (!cursor_bytes(&c, n_header, &header))
        return fail(err, RN_E_FORMAT, "header: %" PRIu64 " bytes, %zu are left", n_header, cursor_left(&c));
    if (n_header == 0 || header[0] != '{') return fail(err, RN_E_FORMAT, "header: does not begin with '{'");

    struct json_tree tree = {0};
    rn_status st = json_read(&tree, (const char *)header, (size_t)n_header, err);
    if (st == RN_OK) st = read_records(&tree.nodes[0], mem, s, err);
    json_free(&tree);
    if (st != RN_OK) return fail_in(err, st, "header");
    return place(s, c.pos, n, err);
}
