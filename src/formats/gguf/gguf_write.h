// formats/gguf/gguf_write.h - writes a GGUF file (version 3): first its metadata pairs and tensor records, then the tensors' bytes.
//
//   gguf_writer_create(path, 32, &w, err)          opens the file at once, so that an unwritable path fails before any work
//   gguf_put_u32(w, "llama.block_count", 6) ...    pairs and records, in any order
//   gguf_put_record(w, name, type, n_dims, ne)
//   gguf_write_head(w, err)                        reports errors of the puts
//   gguf_write_data(w, bytes, n, err) ...          each tensor's bytes, in the order of the records, in pieces of any size
//   gguf_writer_commit(w, err)
//
// The file is complete or absent (base/file_map.h), and the same calls give the same bytes. The limits of formats/limits.h are
// checked, so that gguf_read() accepts the file. The caller ensures that keys and names are distinct and texts valid UTF-8.
// Ownership: gguf_writer_create(); gguf_writer_commit() or gguf_writer_abandon() frees. Threads: one at a time.
#ifndef RN_FORMATS_GGUF_GGUF_WRITE_H
#define RN_FORMATS_GGUF_GGUF_WRITE_H

#include "formats/gguf/gguf.h"

typedef struct gguf_writer gguf_writer;

// alignment: of tensor data. If it is not the default, the caller also writes the pair general.alignment.
rn_status gguf_writer_create(const char *path, size_t alignment, gguf_writer **out, rn_error *err);

// After the first put that fails, later ones do nothing; gguf_write_head() returns the error.
void gguf_put_u32(gguf_writer *w, const char *key, uint32_t v);
void gguf_put_f32(gguf_writer *w, const char *key, float v);
void gguf_put_bool(gguf_writer *w, const char *key, bool v);
void gguf_put_string(gguf_writer *w, const char *key, struct vocab_str v);
// Begins an array of n items, which must be added by the next n calls of gguf_put_item_*() of its type.
void gguf_put_array(gguf_writer *w, const char *key, enum gguf_type item_type, uint64_t n);
void gguf_put_item_string(gguf_writer *w, struct vocab_str v);
void gguf_put_item_f32(gguf_writer *w, float v);
void gguf_put_item_i32(gguf_writer *w, int32_t v);
void gguf_put_item_bool(gguf_writer *w, bool v);
// Copies a pair of another file unchanged.
void gguf_put_pair(gguf_writer *w, const struct gguf_pair *pair);
// ne: [n_dims]; ne[0] is a multiple of the type's block length.
void gguf_put_record(gguf_writer *w, const char *name, enum tensor_type type, int n_dims, const uint64_t *ne);

// Errors: those of the puts (RN_E_LIMIT, RN_E_NOMEM, RN_E_INTERNAL), RN_E_IO.
rn_status gguf_write_head(gguf_writer *w, rn_error *err);
rn_status gguf_write_data(gguf_writer *w, const void *data, size_t n, rn_error *err);
uint64_t gguf_writer_data_bytes(const gguf_writer *w); // tensor data of all records, padding included
// After all data: the file as it will be, at a temporary path that is valid until the commit.
rn_status gguf_writer_preview(gguf_writer *w, const char **path, rn_error *err);
// Finishes and renames the file. RN_E_INTERNAL: not all tensor bytes were written. Frees w, also on failure.
rn_status gguf_writer_commit(gguf_writer *w, rn_error *err);
void gguf_writer_abandon(gguf_writer *w); // removes the unfinished file and frees w; NULL is fine

#endif
