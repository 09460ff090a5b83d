// formats/gguf/gguf_meta.c - see gguf_meta.h.
#include "formats/gguf/gguf_meta.h"
#include "text/utf8.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

static bool is_int(enum gguf_type type) {
    const uint32_t ints = 1u << GGUF_U8 | 1u << GGUF_I8 | 1u << GGUF_U16 | 1u << GGUF_I16 | 1u << GGUF_U32 |
                          1u << GGUF_I32 | 1u << GGUF_U64 | 1u << GGUF_I64;
    return (ints >> type & 1) != 0;
}

static int64_t load_int(enum gguf_type type, const uint8_t *p) {
    switch (type) {
    case GGUF_U8: return p[0];
    case GGUF_I8: return (int8_t)p[0];
    case GGUF_U16: return p[0] | p[1] << 8;
    case GGUF_I16: return (int16_t)(p[0] | p[1] << 8);
    case GGUF_U32: return gguf_load_u32(p);
    case GGUF_I32: return (int32_t)gguf_load_u32(p);
    case GGUF_I64: return (int64_t)gguf_load_u64(p);
    default: { // GGUF_U64
        const uint64_t v = gguf_load_u64(p);
        return v > INT64_MAX ? INT64_MAX : (int64_t)v;
    }
    }
}

static float load_f32(const uint8_t *p) {
    const uint32_t bits = gguf_load_u32(p);
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static double load_f64(const uint8_t *p) {
    const uint64_t bits = gguf_load_u64(p);
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

int64_t gguf_int_item(const struct gguf_pair *pair, uint64_t i) {
    const enum gguf_type type = pair->type == GGUF_ARRAY ? pair->item_type : pair->type;
    return load_int(type, pair->value + i * gguf_types[type].n_bytes);
}

float gguf_f32_item(const struct gguf_pair *pair, uint64_t i) { return load_f32(pair->value + 4 * i); }

// Finds a key's pair. Returns NULL if it is absent; *st is an error if it is required.
static const struct gguf_pair *look_up(const struct gguf *g, const char *key, bool *found, rn_status *st,
                                       rn_error *err) {
    const struct gguf_pair *pair = gguf_find(g, key);
    *st = RN_OK;
    if (found) *found = pair != NULL;
    if (!pair && !found) *st = fail(err, RN_E_FORMAT, "key %s: missing", key);
    return pair;
}

static rn_status wrong_type(const char *key, const struct gguf_pair *pair, const char *want, rn_error *err) {
    if (pair->type == GGUF_ARRAY)
        return fail(err, RN_E_FORMAT, "key %s: is an array of %s, must be %s", key, gguf_types[pair->item_type].name,
                    want);
    return fail(err, RN_E_FORMAT, "key %s: is of type %s, must be %s", key, gguf_types[pair->type].name, want);
}

rn_status gguf_get_int(const struct gguf *g, const char *key, int64_t min, int64_t max, int64_t *out, bool *found,
                       rn_error *err) {
    rn_status st;
    const struct gguf_pair *pair = look_up(g, key, found, &st, err);
    if (!pair) return st;
    if (!is_int(pair->type)) return wrong_type(key, pair, "an integer", err);
    const int64_t v = gguf_int_item(pair, 0);
    if (v < min || v > max)
        return fail(err, RN_E_FORMAT, "key %s: %" PRId64 " is outside %" PRId64 "..%" PRId64, key, v, min, max);
    *out = v;
    return RN_OK;
}

rn_status gguf_get_float(const struct gguf *g, const char *key, double min, double max, float *out, bool *found,
                         rn_error *err) {
    rn_status st;
    const struct gguf_pair *pair = look_up(g, key, found, &st, err);
    if (!pair) return st;
    if (pair->type != GGUF_F32 && pair->type != GGUF_F64) return wrong_type(key, pair, "an f32", err);
    const double v = pair->type == GGUF_F32 ? (double)load_f32(pair->value) : load_f64(pair->value);
    if (!(v >= min && v <= max)) // also false for NaN
        return fail(err, RN_E_FORMAT, "key %s: %g is outside %g..%g", key, v, min, max);
    *out = (float)v;
    return RN_OK;
}

rn_status gguf_get_bool(const struct gguf *g, const char *key, bool *out, bool *found, rn_error *err) {
    rn_status st;
    const struct gguf_pair *pair = look_up(g, key, found, &st, err);
    if (!pair) return st;
    if (pair->type != GGUF_BOOL) return wrong_type(key, pair, "a bool", err);
    *out = pair->value[0] != 0;
    return RN_OK;
}

rn_status gguf_get_string(const struct gguf *g, const char *key, struct vocab_str *out, bool *found, rn_error *err) {
    rn_status st;
    const struct gguf_pair *pair = look_up(g, key, found, &st, err);
    if (!pair) return st;
    if (pair->type != GGUF_STRING) return wrong_type(key, pair, "a string", err);
    const char *s = (const char *)pair->value;
    if (memchr(s, 0, pair->n)) return fail(err, RN_E_FORMAT, "key %s: contains a NUL byte", key);
    if (!utf8_valid(s, pair->n)) return fail(err, RN_E_FORMAT, "key %s: its text is not UTF-8", key);
    *out = (struct vocab_str){s, (uint32_t)pair->n};
    return RN_OK;
}

rn_status gguf_get_array(const struct gguf *g, const char *key, enum gguf_type type, const struct gguf_pair **out,
                         bool *found, rn_error *err) {
    rn_status st;
    const struct gguf_pair *pair = look_up(g, key, found, &st, err);
    if (!pair) return st;
    const bool fits =
        pair->type == GGUF_ARRAY && (type == GGUF_I32 ? is_int(pair->item_type) : pair->item_type == type);
    if (!fits) {
        char want[32] = "an array of ";
        strcat(want, gguf_types[type].name);
        return wrong_type(key, pair, want, err);
    }
    *out = pair;
    return RN_OK;
}
