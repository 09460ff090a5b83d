// base/file_sys.h - what file_map.c and file_out.c say alike. Private to base.
#ifndef RN_BASE_FILE_SYS_H
#define RN_BASE_FILE_SYS_H

#include "base/status.h"
#include <sys/types.h>

// "a directory", "a named pipe": what a path is, from st_mode.
const char *file_kind(mode_t mode);

// `PATH: WHAT: the system's words for errno value e`: RN_E_NOMEM for ENOMEM, else RN_E_IO.
rn_status file_sys_fail(const char *path, const char *what, int e, rn_error *err);

#endif
