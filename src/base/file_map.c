// base/file_map.c - a whole file as read-only bytes.
#include "base/file_map.h"
#include "base/checked.h"
#include "base/fault.h"
#include "base/file_sys.h"
#include "base/mem.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { READ_SLICE = 8 << 20, RESIDENT_BATCH = 4096 };

static const uint8_t no_bytes[1]; // what an empty file's data points at: nothing can be mapped for it

static rn_status read_whole(const char *path, int fd, file_progress progress, void *user, file_map *m,
                            rn_error *err) {
    uint8_t *data = mem_pages(m->size);
    if (!data) return fail(err, RN_E_NOMEM, "%s: out of memory for its %zu bytes", path, m->size);
    m->data = data;
    for (size_t pos = 0, shown = 0; pos < m->size;) {
        const size_t left = m->size - pos;
        const ssize_t n = pread(fd, data + pos, left < READ_SLICE ? left : READ_SLICE, (off_t)pos);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return file_sys_fail(path, "cannot be read", errno, err);
        if (n == 0)
            return fail(err, RN_E_IO, "%s: truncated at byte %zu of %zu while it was being read", path, pos, m->size);
        pos += (size_t)n;
        if (progress && pos - shown >= READ_SLICE && pos < m->size) {
            shown = pos;
            if (progress(user, pos, m->size)) return fail(err, RN_E_CANCELLED, "%s: reading was cancelled", path);
        }
    }
    return RN_OK;
}

static rn_status lock_failed(const char *path, size_t size, int e, rn_error *err) {
    struct rlimit lim;
    if (getrlimit(RLIMIT_MEMLOCK, &lim) == 0 && lim.rlim_cur != RLIM_INFINITY && lim.rlim_cur < size)
        return fail(err, RN_E_IO,
                    "%s: %zu bytes cannot be locked in memory: RLIMIT_MEMLOCK is %llu bytes (ulimit -l)", path, size,
                    (unsigned long long)lim.rlim_cur);
    return fail(err, RN_E_IO, "%s: %zu bytes cannot be locked in memory: %s", path, size, strerrordesc_np(e));
}

static rn_status map_whole(const char *path, file_map *m, rn_error *err) {
    if (fault_here()) return file_sys_fail(path, "cannot be mapped", ENOMEM, err);
    void *p = mmap(NULL, m->size, PROT_READ, MAP_PRIVATE, m->fd, 0);
    if (p == MAP_FAILED) return file_sys_fail(path, "cannot be mapped", errno, err);
    m->data = p;
    if (m->how == FILE_LOAD_LOCK) return mlock(p, m->size) == 0 ? RN_OK : lock_failed(path, m->size, errno, err);
    madvise(p, m->size, MADV_WILLNEED); // only advice
    return RN_OK;
}

rn_status file_map_open(const char *path, enum file_load how, file_progress progress, void *user, file_map *out,
                        rn_error *err) {
    file_map m = {.how = how, .fd = -1};
    *out = m;
    rn_status st = file_open_regular(path, &m.fd, &m.size, err);
    if (st == RN_OK) {
        if (m.size == 0)
            m.data = no_bytes;
        else if (how == FILE_LOAD_READ)
            st = read_whole(path, m.fd, progress, user, &m, err);
        else
            st = map_whole(path, &m, err);
    }
    if (m.fd >= 0 && (!m.data || how == FILE_LOAD_READ)) {
        close(m.fd);
        m.fd = -1;
    }
    if (st == RN_OK && progress && progress(user, m.size, m.size))
        st = fail(err, RN_E_CANCELLED, "%s: loading was cancelled", path);
    if (st != RN_OK) file_map_close(&m);
    *out = m;
    return st;
}

rn_status file_map_check(const file_map *m, const char *path, rn_error *err) {
    struct stat st;
    if (m->fd < 0) return RN_OK;
    if (fstat(m->fd, &st) != 0) return file_sys_fail(path, "cannot be examined", errno, err);
    if ((size_t)st.st_size < m->size)
        return fail(err, RN_E_IO, "%s: shrank from %zu to %zu bytes while in use", path, m->size, (size_t)st.st_size);
    return RN_OK;
}

bool file_map_is_same(const file_map *a, const file_map *b) {
    struct stat x, y;
    if (a->data == b->data) return true;
    return a->fd >= 0 && b->fd >= 0 && a->size == b->size && fstat(a->fd, &x) == 0 && fstat(b->fd, &y) == 0 &&
           x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

size_t file_map_resident(const file_map *m, size_t off, size_t n) {
    if (off >= m->size || n == 0) return 0;
    const size_t end = n < m->size - off ? off + n : m->size;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t total = 0;
    for (size_t at = off / page * page; at < end;) {
        unsigned char in_memory[RESIDENT_BATCH];
        const size_t left = ceil_div(end - at, page), n_pages = left < RESIDENT_BATCH ? left : RESIDENT_BATCH;
        if (mincore((void *)(uintptr_t)(m->data + at), n_pages * page, in_memory) != 0) return total;
        for (size_t i = 0; i < n_pages; i++, at += page)
            if (in_memory[i] & 1) total += (at + page < end ? at + page : end) - (at > off ? at : off);
    }
    return total;
}

void file_map_forget(const file_map *m, size_t off, size_t n) {
    if (m->how != FILE_LOAD_MAP || m->fd < 0 || off >= m->size || n == 0) return;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), begin = off / page * page;
    const size_t end = n < m->size - off ? off + n : m->size;
    madvise((void *)(uintptr_t)(m->data + begin), end - begin, MADV_DONTNEED); // only advice
}

void file_map_close(file_map *m) {
    if (!m->data) return;                       // closed: fd means nothing, be it 0 in an all-zero struct
    void *const p = (void *)(uintptr_t)m->data; // const for users only
    if (p != no_bytes && m->how == FILE_LOAD_READ) mem_pages_free(p, m->size);
    if (p != no_bytes && m->how != FILE_LOAD_READ) munmap(p, m->size);
    if (m->fd >= 0) close(m->fd);
    *m = (file_map){.fd = -1};
}
