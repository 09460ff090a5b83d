// base/file_map.h - a whole file as read-only bytes: mapped, read into memory, or mapped and locked.
//
// Reading a mapped file that has shrunk raises SIGBUS. file_map_check() checks before a use that the file still has its
// size; the engine calls it between steps.
// Ownership: file_map_open() fills, file_map_close() releases. Threads: immutable while open.
#ifndef RN_BASE_FILE_MAP_H
#define RN_BASE_FILE_MAP_H

#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum file_load { FILE_LOAD_MAP, FILE_LOAD_READ, FILE_LOAD_LOCK };

typedef struct file_map {
    const uint8_t *data;
    size_t size;
    enum file_load how;
    int fd; // kept open for file_map_check() when mapped, else -1; private
} file_map; // all zero + fd -1 = closed

// progress: called with bytes done and bytes in all; a true answer stops with RN_E_CANCELLED. NULL: none.
typedef bool (*file_progress)(void *user, uint64_t done, uint64_t total);

// Errors: RN_E_IO (missing, a directory, not a regular file, cannot be locked: with the limit), RN_E_NOMEM,
// RN_E_CANCELLED. FILE_LOAD_MAP also asks the system to read ahead.
rn_status file_map_open(const char *path, enum file_load how, file_progress progress, void *user, file_map *out,
                        rn_error *err);
rn_status file_map_check(const file_map *m, const char *path, rn_error *err); // RN_E_IO: it shrank
// True if both are the same map, or map the same file, under whatever names.
bool file_map_is_same(const file_map *a, const file_map *b);
size_t file_map_resident(const file_map *m, size_t off, size_t n); // bytes of [off, off+n) in memory now
// Releases [off, off+n), which will not be read soon: pages of a mapped file leave this process's memory and return when they
// are read. Does nothing for bytes that were read into memory or locked.
void file_map_forget(const file_map *m, size_t off, size_t n);
void file_map_close(file_map *m);

// A file that is written completely or not at all: bytes go to a temporary file in the same folder, commit does fsync and rename.
typedef struct file_out file_out;
typedef enum file_readers {
    FILE_BY_UMASK, // as any new file
    FILE_PRIVATE   // by its owner only (0600), also where it replaces a file that others could read
} file_readers;
rn_status file_out_begin(const char *path, file_readers readers, file_out **out, rn_error *err);
rn_status file_out_write(file_out *f, const void *data, size_t n, rn_error *err);
// What was written is in the temporary file, whose path is valid as long as f: it may be read before it is committed.
rn_status file_out_flush(file_out *f, const char **temp_path, rn_error *err);
rn_status file_out_commit(file_out *f, rn_error *err); // frees f, also on failure
void file_out_abandon(file_out *f);                    // removes the temporary file; NULL is fine

#endif
