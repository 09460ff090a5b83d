// tests/support/gguf_builder.c - see gguf_builder.h.
#include "tests/support/gguf_builder.h"
#include <stdlib.h>
#include <string.h>

void gb_put(struct gb_bytes *to, const void *bytes, size_t n) {
    if (n > to->cap - to->n) {
        to->cap = 2 * to->cap + n + 256;
        to->data = realloc(to->data, to->cap);
        if (!to->data) abort();
    }
    if (n && bytes)
        memcpy(to->data + to->n, bytes, n);
    else if (n)
        memset(to->data + to->n, 0, n);
    to->n += n;
}

static void put_int(struct gb_bytes *to, uint64_t v, size_t n_bytes) {
    for (size_t i = 0; i < n_bytes; i++) gb_put(to, &(uint8_t){(uint8_t)(v >> (8 * i))}, 1);
}
void gb_put_u32(struct gb_bytes *to, uint32_t v) { put_int(to, v, 4); }
void gb_put_u64(struct gb_bytes *to, uint64_t v) { put_int(to, v, 8); }

static void put_str(struct gb_bytes *to, const void *s, size_t n) {
    gb_put_u64(to, n);
    gb_put(to, s, n);
}

static void pad(struct gb_bytes *to, size_t alignment) {
    gb_put(to, NULL, (alignment - to->n % alignment) % alignment);
}

void gb_begin(struct gguf_builder *b, uint32_t version) {
    *b = (struct gguf_builder){.version = version, .alignment = 32};
}

uint8_t *gb_finish(struct gguf_builder *b, size_t *n_bytes) {
    struct gb_bytes file = {0};
    gb_put(&file, "GGUF", 4);
    gb_put_u32(&file, b->version);
    gb_put_u64(&file, b->n_tensors);
    gb_put_u64(&file, b->n_pairs);
    gb_put(&file, b->pairs.data, b->pairs.n);
    gb_put(&file, b->records.data, b->records.n);
    if (b->data.n) {
        pad(&file, b->alignment);
        gb_put(&file, b->data.data, b->data.n);
    }
    free(b->pairs.data);
    free(b->records.data);
    free(b->data.data);
    gb_begin(b, b->version);
    *n_bytes = file.n;
    return file.data;
}

static bool omitted(const struct gguf_builder *b, const char *name) { return b->omit && strcmp(b->omit, name) == 0; }

void gb_value(struct gguf_builder *b, const char *key, uint32_t type, const void *bytes, size_t n) {
    if (omitted(b, key)) return;
    put_str(&b->pairs, key, strlen(key));
    gb_put_u32(&b->pairs, type);
    gb_put(&b->pairs, bytes, n);
    b->n_pairs++;
}

void gb_raw_pair(struct gguf_builder *b, const void *bytes, size_t n) {
    gb_put(&b->pairs, bytes, n);
    b->n_pairs++;
}

static void put_number(struct gguf_builder *b, const char *key, enum gb_type type, uint64_t v, size_t n_bytes) {
    struct gb_bytes value = {0};
    put_int(&value, v, n_bytes);
    gb_value(b, key, type, value.data, value.n);
    free(value.data);
}
void gb_u8(struct gguf_builder *b, const char *key, uint8_t v) { put_number(b, key, GB_U8, v, 1); }
void gb_u16(struct gguf_builder *b, const char *key, uint16_t v) { put_number(b, key, GB_U16, v, 2); }
void gb_u32(struct gguf_builder *b, const char *key, uint32_t v) { put_number(b, key, GB_U32, v, 4); }
void gb_i32(struct gguf_builder *b, const char *key, int32_t v) { put_number(b, key, GB_I32, (uint32_t)v, 4); }
void gb_u64(struct gguf_builder *b, const char *key, uint64_t v) { put_number(b, key, GB_U64, v, 8); }
void gb_i64(struct gguf_builder *b, const char *key, int64_t v) { put_number(b, key, GB_I64, (uint64_t)v, 8); }
void gb_bool(struct gguf_builder *b, const char *key, bool v) { put_number(b, key, GB_BOOL, v, 1); }
void gb_f32(struct gguf_builder *b, const char *key, float v) {
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    put_number(b, key, GB_F32, bits, 4);
}
void gb_f64(struct gguf_builder *b, const char *key, double v) {
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    put_number(b, key, GB_F64, bits, 8);
}

void gb_str_n(struct gguf_builder *b, const char *key, const void *bytes, size_t n) {
    struct gb_bytes value = {0};
    put_str(&value, bytes, n);
    gb_value(b, key, GB_STR, value.data, value.n);
    free(value.data);
}
void gb_str(struct gguf_builder *b, const char *key, const char *text) { gb_str_n(b, key, text, strlen(text)); }

void gb_array(struct gguf_builder *b, const char *key, enum gb_type item_type, const void *items, size_t n,
              size_t item_bytes) {
    struct gb_bytes value = {0};
    gb_put_u32(&value, item_type);
    gb_put_u64(&value, n);
    gb_put(&value, items, n * item_bytes);
    gb_value(b, key, GB_ARRAY, value.data, value.n);
    free(value.data);
}

void gb_str_array(struct gguf_builder *b, const char *key, const char *const *items, size_t n) {
    struct gb_bytes value = {0};
    gb_put_u32(&value, GB_STR);
    gb_put_u64(&value, n);
    for (size_t i = 0; i < n; i++) put_str(&value, items[i], strlen(items[i]));
    gb_value(b, key, GB_ARRAY, value.data, value.n);
    free(value.data);
}

void gb_tensor_at(struct gguf_builder *b, const char *name, uint32_t type, uint32_t n_dims, const uint64_t *dims,
                  uint64_t offset) {
    if (omitted(b, name)) return;
    put_str(&b->records, name, strlen(name));
    gb_put_u32(&b->records, n_dims);
    for (uint32_t d = 0; d < n_dims; d++) gb_put_u64(&b->records, dims[d]);
    gb_put_u32(&b->records, type);
    gb_put_u64(&b->records, offset);
    b->n_tensors++;
}

void gb_data(struct gguf_builder *b, const void *data, size_t n) { gb_put(&b->data, data, n); }

void gb_tensor(struct gguf_builder *b, const char *name, uint32_t type, uint32_t n_dims, const uint64_t *dims,
               const void *data, size_t n_bytes) {
    if (omitted(b, name)) return;
    pad(&b->data, b->alignment);
    gb_tensor_at(b, name, type, n_dims, dims, b->data.n);
    gb_data(b, data, n_bytes);
}
