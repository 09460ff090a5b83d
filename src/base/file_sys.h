// base/file_sys.h - shared by the files that read and write files. Private to base.
#ifndef RN_BASE_FILE_SYS_H
#define RN_BASE_FILE_SYS_H

#include "base/status.h"
#include <stddef.h>
#include <sys/types.h>

// The kind of file for messages, from st_mode: "a directory", "a named pipe".
const char *file_kind(mode_t mode);

// Opens a file for reading without waiting for the other end of a pipe. RN_E_IO: missing, or not a regular file; *fd may be open
// then, else it is -1.
rn_status file_open_regular(const char *path, int *fd, size_t *size, rn_error *err);

// Fails with `PATH: WHAT: strerror(e)`. RN_E_NOMEM for ENOMEM, else RN_E_IO.
rn_status file_sys_fail(const char *path, const char *what, int e, rn_error *err);

#endif
