// base/file_sys.c - shared by the files that read and write files.
#include "base/file_sys.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

_Static_assert(sizeof(size_t) >= sizeof(off_t), "a file's size fits size_t");

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

// O_NONBLOCK: opening a pipe without a writer must not wait. It has no effect on regular files.
rn_status file_open_regular(const char *path, int *fd, size_t *size, rn_error *err) {
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (*fd < 0) return file_sys_fail(path, "cannot be opened", errno, err);
    struct stat st;
    if (fstat(*fd, &st) != 0) return file_sys_fail(path, "cannot be examined", errno, err);
    if (!S_ISREG(st.st_mode)) return fail(err, RN_E_IO, "%s: is %s, not a regular file", path, file_kind(st.st_mode));
    *size = (size_t)st.st_size;
    return RN_OK;
}
