// base/file_in.h - a file read in order, piece by piece, into the reader's memory. Later changes of the file do not affect what was
// read, and a file truncated meanwhile causes an error, not a signal.
//
// Ownership: file_in_close() frees. Threads: one at a time.
#ifndef RN_BASE_FILE_IN_H
#define RN_BASE_FILE_IN_H

#include "base/status.h"
#include <stddef.h>
#include <stdint.h>

typedef struct file_in file_in;

// RN_E_IO (missing, not a regular file), RN_E_NOMEM.
rn_status file_in_open(const char *path, file_in **out, rn_error *err);
// The same for bytes of the caller, which must outlive it. name: the start of error messages.
rn_status file_in_of_bytes(const char *name, const uint8_t *data, size_t n, file_in **out, rn_error *err);
const char *file_in_name(const file_in *f);
uint64_t file_in_size(const file_in *f);
uint64_t file_in_pos(const file_in *f); // of the next byte
// Exactly n bytes; RN_E_IO: there are fewer left.
rn_status file_in_read(file_in *f, void *out, size_t n, rn_error *err);
void file_in_close(file_in *f); // NULL is fine

#endif
