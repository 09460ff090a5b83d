// formats/gguf/gguf_write.h - writes a GGUF file (version 3): first its pairs and tensor records, then the tensors' bytes as they come.
//
//   gguf_writer_create(path, 32, &w, err)          tries the place at once: an unwritable one is known before any work
//   gguf_put_u32(w, "llama.block_count", 6) ...    pairs and records, in any order
//   gguf_put_record(w, name, type, n_dims, ne)
//   gguf_write_head(w, err)                        says what went wrong with the puts
//   gguf_write_data(w, bytes, n, err) ...          each tensor's bytes, in the records' order, cut anywhere
//   gguf_writer_commit(w, err)
//
// The file is complete or absent (base/file_map.h), and the same calls give the same bytes. What gguf_read() would refuse is not
// written: limits of formats/limits.h are checked here too. That keys and names are distinct, and text UTF-8, is the caller's matter.
// Ownership: gguf_writer_create(); gguf_writer_commit() or gguf_writer_abandon() frees. Threads: one at a time.
#ifndef RN_FORMATS_GGUF_GGUF_WRITE_H
#define RN_FORMATS_GGUF_GGUF_WRITE_H

#include "formats/gguf/gguf.h"

typedef struct gguf_writer gguf_writer;

// alignment: of tensor data, as gguf_read() gives it. Its key, where it is not the default, is a pair like others.
rn_status gguf_writer_create(const char *path, size_t alignment, gguf_writer **out, rn_error *err);

// The first put that fails is remembered, and those after it do nothing.
void gguf_put_u32(gguf_writer *w, const char *key, uint32_t v);
void gguf_put_f32(gguf_writer *w, const char *key, float v);
void gguf_put_bool(gguf_writer *w, const char *key, bool v);
void gguf_put_string(gguf_writer *w, const char *key, struct vocab_str v);
// An array of n items, which the next n calls of gguf_put_item_*() of its type give.
void gguf_put_array(gguf_writer *w, const char *key, enum gguf_type item_type, uint64_t n);
void gguf_put_item_string(gguf_writer *w, struct vocab_str v);
void gguf_put_item_f32(gguf_writer *w, float v);
void gguf_put_item_i32(gguf_writer *w, int32_t v);
void gguf_put_item_bool(gguf_writer *w, bool v);
// A pair of another file as it stands there, whatever it means.
void gguf_put_pair(gguf_writer *w, const struct gguf_pair *pair);
// ne: [n_dims], rows being whole blocks of the type.
void gguf_put_record(gguf_writer *w, const char *name, enum tensor_type type, int n_dims, const uint64_t *ne);

// Errors: those of the puts (RN_E_LIMIT, RN_E_NOMEM, RN_E_INTERNAL), RN_E_IO.
rn_status gguf_write_head(gguf_writer *w, rn_error *err);
rn_status gguf_write_data(gguf_writer *w, const void *data, size_t n, rn_error *err);
uint64_t gguf_writer_data_bytes(const gguf_writer *w); // of all records, padding included
// RN_E_INTERNAL: bytes are missing. Frees w, also on failure.
rn_status gguf_writer_commit(gguf_writer *w, rn_error *err);
void gguf_writer_abandon(gguf_writer *w); // leaves nothing behind; NULL is fine

#endif
