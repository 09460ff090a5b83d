// formats/folder/safetensors_read.h - parses the header of a safetensors file: its tensors and their extents.
//
//   n_header u64 | header: JSON, n_header bytes, padded with spaces | tensor data to the end of the file
//   header: {"NAME": {"dtype": "BF16", "shape": [out, in], "data_offsets": [begin, end]}, ..., "__metadata__": {"k": "v"}}
//
// The checks are those of the reference library: the header's length; tensors cover the data from the first byte to the last without
// gaps or overlap; each extent equals the size of its shape. hf_tensors.c decides which types are supported.
// Ownership: lists and names are in the arena. Threads: immutable once read.
#ifndef RN_FORMATS_FOLDER_SAFETENSORS_READ_H
#define RN_FORMATS_FOLDER_SAFETENSORS_READ_H

#include "base/arena.h"
#include "base/status.h"
#include "formats/limits.h"
#include "formats/package.h"

// An element type as headers name it.
struct safetensors_type {
    const char *name; // "BF16"
    uint32_t n_bits;
    bool is_read;          // supported, as
    enum tensor_type type; // this type
};

struct safetensors_record {
    const char *name; // n_name bytes, no terminator
    uint32_t n_name;
    int n_dims;                          // 0..SAFETENSORS_MAX_DIMS
    uint64_t dims[SAFETENSORS_MAX_DIMS]; // as in the header: the last one is contiguous
    const struct safetensors_type *type;
    uint64_t begin, end; // from the beginning of the file
};

struct safetensors {
    struct safetensors_record *records; // in the order of their data
    size_t n_records;
};

// s: zeroed. Errors: RN_E_FORMAT, RN_E_LIMIT, RN_E_NOMEM.
rn_status safetensors_read(const uint8_t *data, size_t n, struct arena *mem, struct safetensors *s, rn_error *err);

#endif
