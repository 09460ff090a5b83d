// formats/gguf/gguf_meta.h - typed lookups of a GGUF file's keys, with checks of type and range.
//
// If the key is absent, a lookup leaves *out unchanged and returns RN_OK with *found = false; with found NULL that is an error.
// Errors: RN_E_FORMAT, `key NAME: WHY`.
#ifndef RN_FORMATS_GGUF_GGUF_META_H
#define RN_FORMATS_GGUF_GGUF_META_H

#include "formats/gguf/gguf.h"

// Any integer type; min..max is the range accepted.
rn_status gguf_get_int(const struct gguf *g, const char *key, int64_t min, int64_t max, int64_t *out, bool *found,
                       rn_error *err);
// f32 or f64, finite and in min..max.
rn_status gguf_get_float(const struct gguf *g, const char *key, double min, double max, float *out, bool *found,
                         rn_error *err);
rn_status gguf_get_bool(const struct gguf *g, const char *key, bool *out, bool *found, rn_error *err);
// UTF-8 without NUL. *out points into the file's bytes.
rn_status gguf_get_string(const struct gguf *g, const char *key, struct vocab_str *out, bool *found, rn_error *err);
// An array of `type`, or of any integer type when type is GGUF_I32. *out is the pair.
rn_status gguf_get_array(const struct gguf *g, const char *key, enum gguf_type type, const struct gguf_pair **out,
                         bool *found, rn_error *err);

// Item i of an array of integers. Values above INT64_MAX are returned as INT64_MAX, which every range check rejects.
int64_t gguf_int_item(const struct gguf_pair *pair, uint64_t i);
float gguf_f32_item(const struct gguf_pair *pair, uint64_t i);

#endif
