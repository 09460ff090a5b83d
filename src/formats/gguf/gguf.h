// formats/gguf/gguf.h - parses a GGUF file (versions 2 and 3) into its metadata pairs and tensor records.
//
//   "GGUF" | version u32 | n_tensors u64 | n_pairs u64 | pairs | tensor records | padding to `alignment` | tensor data
//   pair:   key (u64 length, bytes) | type u32 | value;  array: item type u32 | count u64 | items
//   record: name (u64 length, bytes) | n_dims u32 | dims u64[n_dims] | type u32 | offset u64 into the tensor data
//
// Checked here: that everything is inside the file, every length and count against formats/limits.h, keys and names (UTF-8, no NUL,
// unique), value types, bools, the alignment. gguf_meta.h and gguf_load.c interpret the values.
// Ownership: strings and values point into the caller's bytes; lists are in the arena. Threads: immutable once read.
#ifndef RN_FORMATS_GGUF_GGUF_H
#define RN_FORMATS_GGUF_GGUF_H

#include "base/arena.h"
#include "base/status.h"
#include "formats/name_index.h"
#include "formats/package.h"

// The numbers of value types in the file.
enum gguf_type {
    GGUF_U8,
    GGUF_I8,
    GGUF_U16,
    GGUF_I16,
    GGUF_U32,
    GGUF_I32,
    GGUF_F32,
    GGUF_BOOL,
    GGUF_STRING,
    GGUF_ARRAY,
    GGUF_U64,
    GGUF_I64,
    GGUF_F64,
    GGUF_N_TYPES
};
struct gguf_type_info {
    const char *name;   // "u32"
    uint32_t n_bytes;   // size of a value; 0: variable
    uint32_t min_bytes; // smallest size of an array item
};
extern const struct gguf_type_info gguf_types[GGUF_N_TYPES];

struct gguf_pair {
    const char *key; // n_key bytes, no terminator
    uint32_t n_key;
    enum gguf_type type, item_type; // item_type: for arrays only; never GGUF_ARRAY
    uint64_t n;                     // bytes of a string, items of an array, else 1
    const uint8_t *value;           // the string's bytes, the first item, or the number; unaligned
};

struct gguf_record {
    const char *name; // n_name bytes, no terminator
    uint32_t n_name;
    uint32_t n_dims;
    uint64_t dims[PACKAGE_MAX_DIMS];
    uint32_t type;
    uint64_t offset;
};

struct gguf {
    const uint8_t *data;
    size_t size;
    uint32_t version;
    size_t n_pairs, n_tensors;
    struct gguf_pair *pairs;
    struct gguf_record *records;
    struct name_index keys;
    size_t alignment;
    size_t data_start; // offset of tensor data; the end of the file if there are no tensors
    struct arena arena;
};

// g: zeroed by the caller, who calls gguf_free() also after an error. Errors: RN_E_FORMAT, RN_E_UNSUPPORTED, RN_E_LIMIT, RN_E_NOMEM.
rn_status gguf_read(struct gguf *g, const uint8_t *data, size_t n, rn_error *err);
void gguf_free(struct gguf *g);
const struct gguf_pair *gguf_find(const struct gguf *g, const char *key); // NULL: absent

// Numbers in the file: little endian, unaligned.
static inline uint32_t gguf_load_u32(const uint8_t *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}
static inline uint64_t gguf_load_u64(const uint8_t *p) {
    return gguf_load_u32(p) | (uint64_t)gguf_load_u32(p + 4) << 32;
}

// Iterates over the items of a string array, which gguf_read() has checked. Start with *at = pair->value.
static inline struct vocab_str gguf_next_string(const uint8_t **at) {
    const uint64_t n = gguf_load_u64(*at);
    const struct vocab_str s = {(const char *)*at + 8, (uint32_t)n};
    *at += 8 + n;
    return s;
}

// Size of a pair's value in the file, without its type, and without the length of a string or array. Allows copying pairs without
// knowing what their keys mean.
size_t gguf_value_bytes(const struct gguf_pair *pair);

// How many bytes of a name from a file an error message shows: all, or as many whole characters as fit.
int gguf_shown(const char *s, size_t n);

#endif
