// pull/partial_file.c - see partial_file.h.
#include "pull/partial_file.h"
#include "app/bytes.h"
#include "app/interrupt.h"
#include "app/say.h"
#include "app/wrap.h"
#include "pull/http_fetch.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

// A file is fetched in about 16 segments, which are neither so small that requests cost time nor so large that much is lost with one.
enum { N_SEGMENTS = 16, LEAST_SEGMENT = 256 << 10, MOST_SEGMENT = 32 << 20 };
static const uint64_t MOST_BYTES = (uint64_t)16 << 40;
#define STATE_HEAD "runnel-part 1"

bool make_folders_above(const char *path) {
    char *const folder = app_copy_text(path);
    bool ok = true;
    for (char *c = strchr(folder + 1, '/'); ok && c; c = strchr(c + 1, '/')) {
        *c = '\0';
        ok = mkdir(folder, 0777) == 0 || errno == EEXIST;
        *c = '/';
    }
    free(folder);
    return ok;
}

bool write_small_file(const char *path, const char *text, size_t n) {
    char *const temp = app_text("%s.new", path);
    const int fd = open(temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    bool ok = fd >= 0 && write(fd, text, n) == (ssize_t)n && fsync(fd) == 0;
    if (fd >= 0) ok = close(fd) == 0 && ok;
    ok = ok && rename(temp, path) == 0;
    if (!ok && fd >= 0) unlink(temp);
    free(temp);
    return ok;
}

// Is the open file still the one with this name? Another process may have renamed or deleted it while we waited for its lock.
static bool is_named(int fd, const char *path) {
    struct stat open_one, named;
    return fstat(fd, &open_one) == 0 && stat(path, &named) == 0 && open_one.st_dev == named.st_dev &&
           open_one.st_ino == named.st_ino;
}

static part_outcome failed(const part_file *p) {
    say("%s: %s", p->part, strerror(errno));
    return PART_FAILED;
}

part_outcome part_open(part_file *p, const char *path) {
    enum { LOOK_MS = 200 };
    bool has_said = false;
    *p = (part_file){.fd = -1,
                     .path = app_copy_text(path),
                     .part = app_text("%s.part", path),
                     .state = app_text("%s.part.state", path)};
    if (!make_folders_above(path)) return failed(p);
    for (;;) {
        p->fd = open(p->part, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
        if (p->fd < 0) return failed(p);
        while (flock(p->fd, LOCK_EX | LOCK_NB) != 0) {
            if (errno != EWOULDBLOCK && errno != EINTR) return failed(p);
            if (!has_said) say("%s: another process is fetching it: waiting for that one", path);
            has_said = true;
            if (interrupt_came()) return PART_INTERRUPTED;
            poll(NULL, 0, LOOK_MS);
        }
        if (is_named(p->fd, p->part)) break;
        close(p->fd);
        p->fd = -1;
        if (access(path, R_OK) == 0) return PART_IS_THERE;
    }
    if (!has_said || access(path, R_OK) != 0) return PART_OPEN;
    unlink(p->part); // empty: it was made after the other process had finished
    return PART_IS_THERE;
}

uint64_t part_segment_end(const part_file *p, size_t i) {
    const uint64_t end = (i + 1) * p->segment_bytes;
    return i + 1 < p->n_segments || p->n_bytes == NO_SIZE ? end : p->n_bytes;
}

uint64_t part_n_done(const part_file *p) {
    uint64_t n = 0;
    for (size_t i = 0; i < p->n_segments; i++) n += p->done[i];
    return n;
}

// Reads the state of an earlier pull, if it is of this content.
static bool read_state(part_file *p) {
    char line[PART_VALIDATOR + 8];
    struct stat st;
    uint64_t n_bytes = 0, segment_bytes = 0;
    FILE *const f = p->validator[0] ? fopen(p->state, "re") : NULL;
    bool ok = f && fstat(p->fd, &st) == 0 && (uint64_t)st.st_size == p->n_bytes && fgets(line, sizeof line, f) &&
              strcmp(line, STATE_HEAD "\n") == 0 && fgets(line, sizeof line, f) &&
              strncmp(line, p->validator, strlen(p->validator)) == 0 &&
              strcmp(line + strlen(p->validator), "\n") == 0 &&
              fscanf(f, "%" SCNu64 " %" SCNu64, &n_bytes, &segment_bytes) == 2 && n_bytes == p->n_bytes &&
              segment_bytes == p->segment_bytes;
    for (size_t i = 0; ok && i < p->n_segments; i++)
        ok = fscanf(f, "%" SCNu64, &p->done[i]) == 1 && p->done[i] <= part_segment_end(p, i) - i * p->segment_bytes;
    if (f) fclose(f);
    return ok;
}

// Forgets everything that was fetched. False: the error has been printed.
static bool part_restart(part_file *p) {
    for (size_t i = 0; i < p->n_segments; i++) p->done[i] = 0;
    unlink(p->state);
    if (ftruncate(p->fd, 0) == 0 && (p->n_bytes == NO_SIZE || ftruncate(p->fd, (off_t)p->n_bytes) == 0)) return true;
    failed(p);
    return false;
}

// Are there so many bytes free beside it? What a part file has already is counted by the file system.
static bool has_room(const part_file *p) {
    struct statvfs fs;
    struct stat st;
    char need[HUMAN_BYTES], free_text[HUMAN_BYTES];
    if (p->n_bytes == NO_SIZE || fstatvfs(p->fd, &fs) != 0 || fstat(p->fd, &st) != 0) return true;
    const uint64_t n_there = (uint64_t)st.st_blocks * 512, n_free = (uint64_t)fs.f_bavail * fs.f_frsize;
    const uint64_t n_need = p->n_bytes > n_there ? p->n_bytes - n_there : 0;
    if (n_need <= n_free) return true;
    say("%s: needs %s, and the disk has %s free", p->path, human_size(n_need, need), human_size(n_free, free_text));
    return false;
}

bool part_begin(part_file *p, uint64_t n_bytes, const char *validator) {
    p->n_bytes = n_bytes;
    snprintf(p->validator, sizeof p->validator, "%s", n_bytes == NO_SIZE ? "" : validator);
    p->segment_bytes = n_bytes / N_SEGMENTS + 1;
    if (p->segment_bytes < LEAST_SEGMENT) p->segment_bytes = LEAST_SEGMENT;
    if (p->segment_bytes > MOST_SEGMENT) p->segment_bytes = MOST_SEGMENT;
    if (n_bytes == NO_SIZE) p->segment_bytes = NO_SIZE;
    if (n_bytes != NO_SIZE && n_bytes > MOST_BYTES) {
        say("%s: %" PRIu64 " bytes are announced, at most %" PRIu64 " are fetched", p->path, n_bytes, MOST_BYTES);
        return false;
    }
    if (!has_room(p)) return false;
    p->n_segments = n_bytes == NO_SIZE || n_bytes == 0 ? 1 : (size_t)((n_bytes - 1) / p->segment_bytes + 1);
    p->done = app_alloc(p->n_segments * sizeof *p->done);
    return read_state(p) || part_restart(p);
}

bool part_write(part_file *p, uint64_t at, const char *data, size_t n) {
    while (n) {
        const ssize_t w = pwrite(p->fd, data, n, (off_t)at);
        if (w < 0 && errno == EINTR) continue;
        if (w <= 0) return false;
        data += w, at += (uint64_t)w, n -= (size_t)w;
    }
    return true;
}

void part_save(part_file *p) {
    bytes text = {0};
    if (!p->validator[0] || fdatasync(p->fd) != 0) return;
    bytes_add_format(&text, STATE_HEAD "\n%s\n%" PRIu64 " %" PRIu64 "\n", p->validator, p->n_bytes, p->segment_bytes);
    for (size_t i = 0; i < p->n_segments; i++) bytes_add_format(&text, "%" PRIu64 "\n", p->done[i]);
    write_small_file(p->state, text.data, text.n);
    bytes_free(&text);
}

bool part_commit(part_file *p) {
    if (fsync(p->fd) != 0 || rename(p->part, p->path) != 0) {
        failed(p);
        return false;
    }
    unlink(p->state);
    return true;
}

void part_drop(part_file *p) {
    unlink(p->state);
    unlink(p->part);
}

void part_close(part_file *p) {
    if (p->fd >= 0) close(p->fd);
    free(p->path);
    free(p->part);
    free(p->state);
    free(p->done);
    *p = (part_file){.fd = -1};
}
