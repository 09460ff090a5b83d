// base/file_out.c - a file that is written completely or not at all.
#include "base/clock.h"
#include "base/file_map.h"
#include "base/file_sys.h"
#include "base/mem.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUFFER = 256 << 10, NAME_TRIES = 100 };

struct file_out {
    int fd;           // -1: a write failed and the temporary file is gone
    size_t n_held;    // bytes in buffer
    char *path;       // where the file will be
    char *temp_path;  // where it is until then: in the same folder, so that rename() does not copy
    size_t n_dir;     // bytes of path that name the folder, with the last slash
    uint8_t buffer[]; // [BUFFER]: callers write many small fields
};

static void file_out_free(file_out *f) {
    if (f->fd >= 0) {
        close(f->fd);
        unlink(f->temp_path);
    }
    mem_free(f->path);
    mem_free(f->temp_path);
    mem_free(f);
}

// Creates `.NAME.xxxxxx` in the folder of path. Not with mkstemp(), which makes private files: here the umask applies, as for any
// file of the user's, and it cannot be read without setting it for the whole process.
static int open_temp(file_out *f, size_t cap, file_readers readers) {
    const char *name = f->path + f->n_dir;
    for (int i = 0; i < NAME_TRIES; i++) {
        const unsigned x = (unsigned)(clock_entropy() & 0xFFFFFF);
        // A name near the system's limit of 255 bytes is shortened, so that the temporary name fits.
        snprintf(f->temp_path, cap, "%.*s.%.200s.%06x", (int)f->n_dir, f->path, name, x);
        const int fd =
            open(f->temp_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, readers == FILE_PRIVATE ? 0600 : 0666);
        if (fd >= 0 || errno != EEXIST) return fd;
    }
    return -1;
}

rn_status file_out_begin(const char *path, file_readers readers, file_out **out, rn_error *err) {
    *out = NULL;
    struct stat st;
    const bool is_there = stat(path, &st) == 0;
    if (is_there && !S_ISREG(st.st_mode)) // rename() would put a file in its place
        return fail(err, RN_E_IO, "%s: is %s, not a regular file", path, file_kind(st.st_mode));
    if (!is_there && errno != ENOENT) // for example a name that is too long: otherwise only rename() would fail
        return file_sys_fail(path, "cannot be created", errno, err);

    const size_t n_path = strlen(path), temp_cap = n_path + sizeof "..xxxxxx";
    const char *slash = strrchr(path, '/');
    if (n_path == 0) return fail(err, RN_E_IO, "the name of the output file is empty");
    file_out *f = mem_alloc(sizeof *f + BUFFER);
    if (!f) return fail(err, RN_E_NOMEM, "%s: out of memory for a write buffer", path);
    *f = (file_out){.fd = -1, .n_dir = slash ? (size_t)(slash - path) + 1 : 0};
    f->path = mem_strndup(path, n_path);
    f->temp_path = mem_alloc(temp_cap);
    rn_status status = RN_OK;
    if (!f->path || !f->temp_path)
        status = fail(err, RN_E_NOMEM, "%s: out of memory for its name", path);
    else if ((f->fd = open_temp(f, temp_cap, readers)) < 0)
        status = file_sys_fail(path, "cannot be created", errno, err);
    if (status == RN_OK)
        *out = f;
    else
        file_out_free(f);
    return status;
}

static rn_status drop(file_out *f, const char *what, int e, rn_error *err) {
    close(f->fd);
    unlink(f->temp_path);
    f->fd = -1;
    return file_sys_fail(f->path, what, e, err);
}

static rn_status write_all(file_out *f, const uint8_t *p, size_t n, rn_error *err) {
    while (n) {
        const ssize_t w = write(f->fd, p, n);
        if (w < 0 && errno == EINTR) continue;
        if (w < 0) return drop(f, "cannot be written", errno, err);
        p += w;
        n -= (size_t)w;
    }
    return RN_OK;
}

static rn_status flush(file_out *f, rn_error *err) {
    const size_t n = f->n_held;
    f->n_held = 0;
    return write_all(f, f->buffer, n, err);
}

rn_status file_out_write(file_out *f, const void *data, size_t n, rn_error *err) {
    if (f->fd < 0) return fail(err, RN_E_IO, "%s: an earlier write failed", f->path);
    if (n > BUFFER - f->n_held) {
        const rn_status st = flush(f, err);
        if (st != RN_OK) return st;
        if (n >= BUFFER) return write_all(f, data, n, err);
    }
    if (n) memcpy(f->buffer + f->n_held, data, n); // data may be NULL when n is 0
    f->n_held += n;
    return RN_OK;
}

static int sync_fd(int fd) {
    int r;
    do r = fsync(fd);
    while (r != 0 && errno == EINTR);
    return r;
}

// The new name is durable once the folder is. Some file systems cannot sync a folder, and one without read permission
// cannot be opened. The file is complete in either case.
static rn_status sync_folder(file_out *f, rn_error *err) {
    snprintf(f->temp_path, f->n_dir + 2, "%.*s.", (int)f->n_dir, f->path); // the file has its name: room for "DIR/."
    const int fd = open(f->temp_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return RN_OK;
    const int e = sync_fd(fd) == 0 ? 0 : errno;
    close(fd);
    return e == EIO ? file_sys_fail(f->path, "its folder cannot be synced", e, err) : RN_OK;
}

rn_status file_out_flush(file_out *f, const char **temp_path, rn_error *err) {
    if (f->fd < 0) return fail(err, RN_E_IO, "%s: an earlier write failed", f->path);
    *temp_path = f->temp_path;
    return flush(f, err);
}

static rn_status commit(file_out *f, rn_error *err) {
    if (f->fd < 0) return fail(err, RN_E_IO, "%s: an earlier write failed", f->path);
    const rn_status st = flush(f, err);
    if (st != RN_OK) return st;
    if (sync_fd(f->fd) != 0) return drop(f, "cannot be synced", errno, err);
    if (rename(f->temp_path, f->path) != 0) return drop(f, "cannot be put in place", errno, err);
    close(f->fd); // fsync has reported what a close might
    f->fd = -1;
    return sync_folder(f, err);
}

rn_status file_out_commit(file_out *f, rn_error *err) {
    const rn_status st = commit(f, err);
    file_out_free(f);
    return st;
}

void file_out_abandon(file_out *f) {
    if (f) file_out_free(f);
}
