// formats/gguf/gguf_read.c - reads a GGUF file's header, pairs and tensor records; see gguf.h.
#include "base/checked.h"
#include "base/cursor.h"
#include "formats/gguf/gguf.h"
#include "formats/limits.h"
#include "text/utf8.h"
#include <inttypes.h>
#include <string.h>

const struct gguf_type_info gguf_types[GGUF_N_TYPES] = {
    [GGUF_U8] = {"u8", 1, 1},        [GGUF_I8] = {"i8", 1, 1},     [GGUF_U16] = {"u16", 2, 2},
    [GGUF_I16] = {"i16", 2, 2},      [GGUF_U32] = {"u32", 4, 4},   [GGUF_I32] = {"i32", 4, 4},
    [GGUF_F32] = {"f32", 4, 4},      [GGUF_BOOL] = {"bool", 1, 1}, [GGUF_STRING] = {"string", 0, 8},
    [GGUF_ARRAY] = {"array", 0, 12}, [GGUF_U64] = {"u64", 8, 8},   [GGUF_I64] = {"i64", 8, 8},
    [GGUF_F64] = {"f64", 8, 8},
};

enum {
    HEADER_BYTES = 24,
    MIN_PAIR_BYTES = 8 + 1 + 4 + 1,           // a key of one byte, a value of one
    MIN_RECORD_BYTES = 8 + 1 + 4 + 8 + 4 + 8, // a name of one byte, one dimension
    SHOWN_NAME_BYTES = 80
};

struct reader {
    struct gguf *g;
    cursor c;
    rn_error *err;
};

int gguf_shown(const char *s, size_t n) {
    if (n <= SHOWN_NAME_BYTES) return (int)n;
    n = SHOWN_NAME_BYTES;
    while (n > 0 && ((unsigned char)s[n] & 0xc0) == 0x80) n--; // do not end within a UTF-8 character
    return (int)n;
}

static rn_status cut_short(const struct reader *r, const char *what) {
    return fail(r->err, RN_E_FORMAT, "%s at byte %zu runs past the end of the file (%zu bytes)", what, r->c.pos,
                r->c.size);
}

// Checks a count or length from the file against its limit, and against what the remaining bytes
// can hold.
static rn_status check_count(const struct reader *r, uint64_t n, const char *what, uint64_t max, uint64_t min_bytes) {
    const uint64_t left = cursor_left(&r->c);
    if (n > INT64_MAX)
        return fail(r->err, RN_E_FORMAT, "%" PRIu64 " %s: negative as a signed number (at byte %zu)", n, what,
                    r->c.pos);
    if (n > max)
        return fail(r->err, RN_E_LIMIT, "%" PRIu64 " %s, limit %" PRIu64 " (at byte %zu)", n, what, max, r->c.pos);
    if (n * min_bytes > left) // n <= max: no overflow
        return fail(r->err, RN_E_FORMAT,
                    "%" PRIu64 " %s need at least %" PRIu64 " bytes, %" PRIu64 " are left (at byte %zu)", n, what,
                    n * min_bytes, left, r->c.pos);
    return RN_OK;
}

static rn_status check_version(const struct reader *r, uint32_t version) {
    const uint32_t swapped = __builtin_bswap32(version);
    if (version == 2 || version == 3) return RN_OK;
    if (swapped >= 1 && swapped <= 3)
        return fail(r->err, RN_E_UNSUPPORTED, "version: %" PRIu32 " in big-endian byte order, which is not supported",
                    swapped);
    return fail(r->err, RN_E_UNSUPPORTED, "version: %" PRIu32 " is not supported; 2 and 3 are", version);
}

static rn_status read_header(struct reader *r) {
    struct gguf *g = r->g;
    uint64_t n_tensors, n_pairs;
    cursor_skip(&r->c, 4); // the magic: checked in formats/file_kind.c
    if (!cursor_u32(&r->c, &g->version)) return cut_short(r, "header: the version");
    rn_status st = check_version(r, g->version);
    if (st != RN_OK) return st;
    if (!cursor_u64(&r->c, &n_tensors) || !cursor_u64(&r->c, &n_pairs))
        return fail(r->err, RN_E_FORMAT, "header: takes %d bytes, the file has %zu", HEADER_BYTES, r->c.size);
    if ((st = check_count(r, n_tensors, "tensors", GGUF_MAX_TENSORS, MIN_RECORD_BYTES)) != RN_OK ||
        (st = check_count(r, n_pairs, "metadata pairs", GGUF_MAX_PAIRS, MIN_PAIR_BYTES)) != RN_OK)
        return fail_in(r->err, st, "header");
    g->n_tensors = (size_t)n_tensors;
    g->n_pairs = (size_t)n_pairs;
    return RN_OK;
}

// Reads the name of a key or tensor.
static rn_status read_name(struct reader *r, uint64_t max, const char **name, uint32_t *n_name) {
    uint64_t n;
    const uint8_t *bytes;
    if (!cursor_u64(&r->c, &n)) return cut_short(r, "the length of its name");
    if (n == 0) return fail(r->err, RN_E_FORMAT, "its name is empty (at byte %zu)", r->c.pos);
    if (n > max)
        return fail(r->err, RN_E_LIMIT, "its name has %" PRIu64 " bytes, limit %" PRIu64 " (at byte %zu)", n, max,
                    r->c.pos);
    if (!cursor_bytes(&r->c, n, &bytes)) return cut_short(r, "its name");
    *name = (const char *)bytes;
    *n_name = (uint32_t)n;
    if (memchr(bytes, 0, (size_t)n))
        return fail(r->err, RN_E_FORMAT, "a NUL byte in its name (at byte %zu)", r->c.pos);
    if (!utf8_valid(*name, (size_t)n))
        return fail(r->err, RN_E_FORMAT, "its name is not UTF-8 (at byte %zu)", r->c.pos);
    return RN_OK;
}

static rn_status read_type(struct reader *r, enum gguf_type *type) {
    uint32_t id;
    if (!cursor_u32(&r->c, &id)) return cut_short(r, "its type");
    if (id >= GGUF_N_TYPES)
        return fail(r->err, RN_E_FORMAT, "type %" PRIu32 " is not a GGUF value type, 0..%d (at byte %zu)", id,
                    GGUF_N_TYPES - 1, r->c.pos - 4);
    *type = (enum gguf_type)id;
    return RN_OK;
}

static rn_status read_string(struct reader *r, const uint8_t **bytes, uint64_t *n) {
    if (!cursor_u64(&r->c, n)) return cut_short(r, "a string's length");
    if (*n > GGUF_MAX_STRING_BYTES)
        return fail(r->err, RN_E_LIMIT, "a string of %" PRIu64 " bytes, limit %d (at byte %zu)", *n,
                    GGUF_MAX_STRING_BYTES, r->c.pos);
    if (!cursor_bytes(&r->c, *n, bytes))
        return fail(r->err, RN_E_FORMAT, "a string of %" PRIu64 " bytes at byte %zu, where %zu are left", *n,
                    r->c.pos, cursor_left(&r->c));
    return RN_OK;
}

static rn_status check_bools(const struct reader *r, const uint8_t *bools, uint64_t n) {
    for (uint64_t i = 0; i < n; i++)
        if (bools[i] > 1)
            return fail(r->err, RN_E_FORMAT, "a bool of %d: 0 or 1 (at byte %zu)", bools[i],
                        (size_t)(bools - r->c.data + (ptrdiff_t)i));
    return RN_OK;
}

static rn_status read_strings(struct reader *r, struct gguf_pair *pair) {
    pair->value = r->c.data + r->c.pos;
    for (uint64_t i = 0; i < pair->n; i++) {
        const uint8_t *bytes;
        uint64_t n;
        const rn_status st = read_string(r, &bytes, &n);
        if (st != RN_OK) return fail_in(r->err, st, "item %" PRIu64, i);
    }
    return RN_OK;
}

static rn_status read_fixed(struct reader *r, enum gguf_type type, uint64_t n, const uint8_t **value) {
    if (!cursor_bytes(&r->c, n * gguf_types[type].n_bytes, value)) return cut_short(r, "its value");
    return type == GGUF_BOOL ? check_bools(r, *value, n) : RN_OK;
}

static rn_status read_array(struct reader *r, struct gguf_pair *pair) {
    rn_status st = read_type(r, &pair->item_type);
    if (st != RN_OK) return fail_in(r->err, st, "array");
    if (pair->item_type == GGUF_ARRAY)
        return fail(r->err, RN_E_UNSUPPORTED, "an array of arrays (at byte %zu)", r->c.pos - 4);
    if (!cursor_u64(&r->c, &pair->n)) return cut_short(r, "the number of its items");
    st = check_count(r, pair->n, "array items", GGUF_MAX_ARRAY_ITEMS, gguf_types[pair->item_type].min_bytes);
    if (st != RN_OK) return st;
    return pair->item_type == GGUF_STRING ? read_strings(r, pair)
                                          : read_fixed(r, pair->item_type, pair->n, &pair->value);
}

static rn_status read_value(struct reader *r, struct gguf_pair *pair) {
    const rn_status st = read_type(r, &pair->type);
    if (st != RN_OK) return st;
    if (pair->type == GGUF_ARRAY) return read_array(r, pair);
    if (pair->type == GGUF_STRING) return read_string(r, &pair->value, &pair->n);
    pair->n = 1;
    return read_fixed(r, pair->type, 1, &pair->value);
}

static rn_status read_pairs(struct reader *r) {
    struct gguf *g = r->g;
    g->pairs = arena_alloc(&g->arena, g->n_pairs * sizeof *g->pairs); // n_pairs is bounded, so no overflow
    if (!g->pairs || !name_index_init(&g->keys, g->n_pairs, &g->arena))
        return fail(r->err, RN_E_NOMEM, "metadata: out of memory for %zu pairs", g->n_pairs);
    for (size_t i = 0; i < g->n_pairs; i++) {
        struct gguf_pair *pair = &g->pairs[i];
        rn_status st = read_name(r, GGUF_MAX_KEY_BYTES, &pair->key, &pair->n_key);
        if (st != RN_OK) return fail_in(r->err, st, "metadata pair %zu", i);
        const uint32_t first = name_index_add(&g->keys, pair->key, pair->n_key, (uint32_t)i);
        if (first != i)
            st = fail(r->err, RN_E_FORMAT, "given twice (pairs %" PRIu32 " and %zu)", first, i);
        else
            st = read_value(r, pair);
        if (st != RN_OK) return fail_in(r->err, st, "key %.*s", gguf_shown(pair->key, pair->n_key), pair->key);
    }
    return RN_OK;
}

static rn_status read_record(struct reader *r, struct gguf_record *t) {
    if (!cursor_u32(&r->c, &t->n_dims)) return cut_short(r, "the number of its dimensions");
    if (t->n_dims < 1 || t->n_dims > PACKAGE_MAX_DIMS)
        return fail(r->err, RN_E_FORMAT, "%" PRIu32 " dimensions: 1..%d (at byte %zu)", t->n_dims, PACKAGE_MAX_DIMS,
                    r->c.pos - 4);
    for (uint32_t d = 0; d < t->n_dims; d++) cursor_u64(&r->c, &t->dims[d]);
    cursor_u32(&r->c, &t->type);
    if (!cursor_u64(&r->c, &t->offset)) return cut_short(r, "its record"); // a failed cursor stays failed
    return RN_OK;
}

static rn_status read_records(struct reader *r) {
    struct gguf *g = r->g;
    g->records = arena_alloc(&g->arena, g->n_tensors * sizeof *g->records);
    if (!g->records) return fail(r->err, RN_E_NOMEM, "tensors: out of memory for %zu records", g->n_tensors);
    for (size_t i = 0; i < g->n_tensors; i++) {
        struct gguf_record *t = &g->records[i];
        rn_status st = read_name(r, GGUF_MAX_TENSOR_NAME_BYTES, &t->name, &t->n_name);
        if (st != RN_OK) return fail_in(r->err, st, "tensor record %zu", i);
        st = read_record(r, t);
        if (st != RN_OK) return fail_in(r->err, st, "tensor %.*s", gguf_shown(t->name, t->n_name), t->name);
    }
    return RN_OK;
}

static rn_status read_alignment(struct reader *r) {
    static const char key[] = "general.alignment";
    const struct gguf_pair *pair = gguf_find(r->g, key);
    r->g->alignment = GGUF_DEFAULT_ALIGNMENT;
    if (!pair) return RN_OK;
    if (pair->type != GGUF_U32)
        return fail(r->err, RN_E_FORMAT, "key %s: is a %s, must be a u32", key, gguf_types[pair->type].name);
    const uint32_t a = gguf_load_u32(pair->value);
    if (a < GGUF_MIN_ALIGNMENT || a > GGUF_MAX_ALIGNMENT || (a & (a - 1)) != 0)
        return fail(r->err, RN_E_FORMAT, "key %s: %" PRIu32 " is not a power of two in %d..%d", key, a,
                    GGUF_MIN_ALIGNMENT, GGUF_MAX_ALIGNMENT);
    r->g->alignment = a;
    return RN_OK;
}

static rn_status find_data(struct reader *r) {
    struct gguf *g = r->g;
    g->data_start = r->c.pos;
    if (g->n_tensors == 0) return RN_OK; // files with only a vocabulary often lack the padding
    if (!size_round_up(r->c.pos, g->alignment, &g->data_start) || g->data_start > g->size)
        return fail(r->err, RN_E_FORMAT, "tensor data: begins at byte %zu, past the end of the file (%zu bytes)",
                    g->data_start, g->size);
    return RN_OK;
}

rn_status gguf_read(struct gguf *g, const uint8_t *data, size_t n, rn_error *err) {
    struct reader r = {.g = g, .c = {.data = data, .size = n}, .err = err};
    rn_status st;
    g->data = data;
    g->size = n;
    if ((st = read_header(&r)) != RN_OK || (st = read_pairs(&r)) != RN_OK || (st = read_alignment(&r)) != RN_OK ||
        (st = read_records(&r)) != RN_OK)
        return st;
    return find_data(&r);
}

void gguf_free(struct gguf *g) { arena_free(&g->arena); }

const struct gguf_pair *gguf_find(const struct gguf *g, const char *key) {
    const int64_t i = name_index_find(&g->keys, key, strlen(key));
    return i < 0 ? NULL : &g->pairs[i];
}

size_t gguf_value_bytes(const struct gguf_pair *pair) {
    const enum gguf_type type = pair->type == GGUF_ARRAY ? pair->item_type : pair->type;
    if (pair->type == GGUF_STRING) return pair->n;
    if (type != GGUF_STRING) return pair->n * gguf_types[type].n_bytes;
    const uint8_t *end = pair->value;
    for (uint64_t i = 0; i < pair->n; i++) gguf_next_string(&end);
    return (size_t)(end - pair->value);
}
