// base/file_sys.c - what file_map.c and file_out.c say alike.
#include "base/file_sys.h"
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

const char *file_kind(mode_t mode) {
    static const struct {
        mode_t type;
        const char *text;
    } kinds[] = {
        {S_IFREG, "a regular file"}, {S_IFDIR, "a directory"}, {S_IFIFO, "a named pipe"},
        {S_IFSOCK, "a socket"},      {S_IFCHR, "a device"},    {S_IFBLK, "a block device"},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if ((mode & S_IFMT) == kinds[i].type) return kinds[i].text;
    return "something unknown";
}

rn_status file_sys_fail(const char *path, const char *what, int e, rn_error *err) {
    return fail(err, e == ENOMEM ? RN_E_NOMEM : RN_E_IO, "%s: %s: %s", path, what, strerrordesc_np(e));
}
