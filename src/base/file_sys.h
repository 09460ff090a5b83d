// base/file_sys.h - what the files that read and write files do and say alike. Private to base.
#ifndef RN_BASE_FILE_SYS_H
#define RN_BASE_FILE_SYS_H

#include "base/status.h"
#include <stddef.h>
#include <sys/types.h>

// "a directory", "a named pipe": what a path is, from st_mode.
const char *file_kind(mode_t mode);

// Opened for reading, without waiting for the other end of a pipe. RN_E_IO: missing, or no regular file; *fd may be open then, else -1.
rn_status file_open_regular(const char *path, int *fd, size_t *size, rn_error *err);

// `PATH: WHAT: the system's words for errno value e`: RN_E_NOMEM for ENOMEM, else RN_E_IO.
rn_status file_sys_fail(const char *path, const char *what, int e, rn_error *err);

#endif
