// convert/imatrix_file.h - importance matrices on disk: the GGUF form that llama.cpp reads and writes too.
//
//   general.type "imatrix", imatrix.datasets [string], imatrix.chunk_count u32, imatrix.chunk_size u32
//   for each matrix NAME of k columns:
//     NAME.in_sum2  F32 [k, n]   sums of squared inputs, for each of n matrices (of experts) side by side
//     NAME.counts   F32 [1, n]   rows that were summed; [1, 1] stands for all n
//
// Ownership: imatrix_load() or imatrix_read() fills, imatrix_free() releases. Threads: immutable once filled.
#ifndef RN_CONVERT_IMATRIX_FILE_H
#define RN_CONVERT_IMATRIX_FILE_H

#include "base/arena.h"
#include "formats/gguf/gguf_write.h"

#define IMATRIX_MAX_MEAN 1e20f // times weights and their squares, summed over a block, it still fits a float

struct imatrix_entry {
    const char *name; // n_name bytes, of the file: "blk.0.attn_q.weight"
    uint32_t n_name;
    uint64_t k, n;
    const float *mean; // [n][k] mean squared inputs; 1 where no row was counted
};
struct imatrix {
    struct arena arena;
    struct file_map file;
    size_t n_entries;
    struct imatrix_entry *entries;
    struct name_index names;
};

// m: zeroed before the call; call imatrix_free() also after a failure. Errors: RN_E_IO, RN_E_FORMAT (names the tensor), RN_E_LIMIT,
// RN_E_NOMEM.
rn_status imatrix_load(struct imatrix *m, const char *path, rn_error *err);
// The same from bytes of the caller that outlive m.
rn_status imatrix_read(struct imatrix *m, const uint8_t *data, size_t n, rn_error *err);
void imatrix_free(struct imatrix *m);
const struct imatrix_entry *imatrix_find(const struct imatrix *m, const char *name); // NULL: none

// The sums of one tensor.
struct imatrix_sum {
    const char *name; // NULL: skipped
    size_t k;
    size_t n;         // matrices in the tensor: experts, or 1
    double *sum2;     // [n][k]
    uint64_t *n_rows; // [n]
};
struct imatrix_origin {
    const char *dataset; // NULL: none
    uint32_t n_chunks, chunk_size;
};
// Adds everything to a new writer, writes the file and commits it. Frees w, also on failure.
rn_status imatrix_save(gguf_writer *w, const struct imatrix_sum *sums, size_t n_sums,
                       const struct imatrix_origin *from, rn_error *err);

#endif
