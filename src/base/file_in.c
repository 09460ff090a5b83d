// base/file_in.c - a file read in order, piece by piece.
#include "base/file_in.h"
#include "base/file_sys.h"
#include "base/mem.h"
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

enum { READ_MOST = 8 << 20 };

struct file_in {
    int fd;              // -1: of bytes
    const uint8_t *data; // of bytes
    uint64_t size, pos;
    char *name;
};

static rn_status make(const char *name, file_in **out, rn_error *err) {
    file_in *f = mem_alloc(sizeof *f);
    *out = NULL;
    if (!f) return fail(err, RN_E_NOMEM, "%s: out of memory while reading it", name);
    *f = (file_in){.fd = -1, .name = mem_strndup(name, strlen(name))};
    if (!f->name) {
        file_in_close(f);
        return fail(err, RN_E_NOMEM, "%s: out of memory for its name", name);
    }
    *out = f;
    return RN_OK;
}

rn_status file_in_open(const char *path, file_in **out, rn_error *err) {
    rn_status st = make(path, out, err);
    size_t size = 0;
    if (st == RN_OK) st = file_open_regular(path, &(*out)->fd, &size, err);
    if (st == RN_OK) {
        (*out)->size = size;
    } else {
        file_in_close(*out);
        *out = NULL;
    }
    return st;
}

rn_status file_in_of_bytes(const char *name, const uint8_t *data, size_t n, file_in **out, rn_error *err) {
    const rn_status st = make(name, out, err);
    if (st == RN_OK) (*out)->data = data, (*out)->size = n;
    return st;
}

const char *file_in_name(const file_in *f) { return f->name; }
uint64_t file_in_size(const file_in *f) { return f->size; }
uint64_t file_in_pos(const file_in *f) { return f->pos; }

static rn_status too_short(const file_in *f, uint64_t at, size_t n, rn_error *err) {
    return fail(err, RN_E_IO, "%s: ended at byte %" PRIu64 " with %zu more to read", f->name, at, n);
}

rn_status file_in_read(file_in *f, void *out, size_t n, rn_error *err) {
    if (n > f->size - f->pos) return too_short(f, f->size, n, err);
    if (f->fd < 0) {
        if (n) memcpy(out, f->data + f->pos, n);
        f->pos += n;
        return RN_OK;
    }
    for (uint8_t *p = out; n;) {
        const ssize_t r = read(f->fd, p, n < READ_MOST ? n : READ_MOST);
        if (r < 0 && errno == EINTR) continue;
        if (r < 0) return file_sys_fail(f->name, "cannot be read", errno, err);
        if (r == 0) return too_short(f, f->pos, n, err); // it shrank
        p += r;
        n -= (size_t)r;
        f->pos += (uint64_t)r;
    }
    return RN_OK;
}

void file_in_close(file_in *f) {
    if (!f) return;
    if (f->fd >= 0) close(f->fd);
    mem_free(f->name);
    mem_free(f);
}
