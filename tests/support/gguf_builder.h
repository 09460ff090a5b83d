// tests/support/gguf_builder.h - writes GGUF files in memory, sound ones and, on request, broken ones.
//
//   struct gguf_builder b;
//   gb_begin(&b, 3);
//   gb_str(&b, "general.architecture", "llama");
//   gb_tensor(&b, "token_embd.weight", 0, 2, (uint64_t[]){4, 3}, data, sizeof data);
//   uint8_t *file = gb_finish(&b, &n_bytes);   // free() it
//
// Nothing is checked: counts, types and offsets are written as given. Out of memory aborts.
#ifndef RN_TESTS_GGUF_BUILDER_H
#define RN_TESTS_GGUF_BUILDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gb_type {
    GB_U8,
    GB_I8,
    GB_U16,
    GB_I16,
    GB_U32,
    GB_I32,
    GB_F32,
    GB_BOOL,
    GB_STR,
    GB_ARRAY,
    GB_U64,
    GB_I64,
    GB_F64
};

struct gb_bytes {
    uint8_t *data;
    size_t n, cap;
};
struct gguf_builder {
    uint32_t version;
    uint32_t alignment; // of tensor data, 32 at first; its key is the caller's to write
    uint64_t n_pairs, n_tensors;
    struct gb_bytes pairs, records, data;
    const char *omit; // pairs and tensors of this name are left out; NULL: none
};

void gb_begin(struct gguf_builder *b, uint32_t version);
uint8_t *gb_finish(struct gguf_builder *b, size_t *n_bytes); // the whole file; the builder is empty again

void gb_u8(struct gguf_builder *b, const char *key, uint8_t v);
void gb_u16(struct gguf_builder *b, const char *key, uint16_t v);
void gb_u32(struct gguf_builder *b, const char *key, uint32_t v);
void gb_i32(struct gguf_builder *b, const char *key, int32_t v);
void gb_u64(struct gguf_builder *b, const char *key, uint64_t v);
void gb_i64(struct gguf_builder *b, const char *key, int64_t v);
void gb_f32(struct gguf_builder *b, const char *key, float v);
void gb_f64(struct gguf_builder *b, const char *key, double v);
void gb_bool(struct gguf_builder *b, const char *key, bool v);
void gb_str(struct gguf_builder *b, const char *key, const char *text);
void gb_str_n(struct gguf_builder *b, const char *key, const void *bytes, size_t n);
// items: n numbers of item_type (not GB_STR), item_bytes each.
void gb_array(struct gguf_builder *b, const char *key, enum gb_type item_type, const void *items, size_t n,
              size_t item_bytes);
void gb_str_array(struct gguf_builder *b, const char *key, const char *const *items, size_t n);

// A pair of any type number, with these bytes as its value.
void gb_value(struct gguf_builder *b, const char *key, uint32_t type, const void *bytes, size_t n);
// Raw bytes in place of a pair, counted as one.
void gb_raw_pair(struct gguf_builder *b, const void *bytes, size_t n);

// A tensor whose data follows the others', padded to the alignment.
void gb_tensor(struct gguf_builder *b, const char *name, uint32_t type, uint32_t n_dims, const uint64_t *dims,
               const void *data, size_t n_bytes);
// Only the record, with any offset.
void gb_tensor_at(struct gguf_builder *b, const char *name, uint32_t type, uint32_t n_dims, const uint64_t *dims,
                  uint64_t offset);
void gb_data(struct gguf_builder *b, const void *data, size_t n); // data NULL: zeros

void gb_put(struct gb_bytes *to, const void *bytes, size_t n); // bytes NULL: zeros
void gb_put_u32(struct gb_bytes *to, uint32_t v);
void gb_put_u64(struct gb_bytes *to, uint64_t v);

#endif
