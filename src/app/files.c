// app/files.c - reads files with a size limit, writes files under a temporary name, writes to stdout.
#include "app/files.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { READ_STEP = 65536 };

static bool read_all(int fd, const char *name, size_t limit, bytes *to) {
    const size_t n_before = to->n;
    for (;;) {
        char *const place = bytes_reserve(to, READ_STEP);
        if (!place) {
            say("%s: out of memory", name);
            return false;
        }
        const ssize_t n = read(fd, place, READ_STEP);
        if (n == 0) return true;
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) {
            say("%s: %s", name, strerror(errno));
            return false;
        }
        to->n += (size_t)n;
        to->data[to->n] = '\0';
        if (to->n - n_before > limit) {
            say("%s: longer than the limit of %zu bytes", name, limit);
            return false;
        }
    }
}

bool file_read(const char *path, size_t limit, bytes *to) {
    const bool is_stdin = strcmp(path, "-") == 0;
    const char *const name = is_stdin ? "stdin" : path;
    const int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        say("%s: %s", name, strerror(errno));
        return false;
    }
    const bool ok = read_all(fd, name, limit, to);
    if (!is_stdin) close(fd);
    return ok;
}

bool file_is_same(const char *a, const char *b) {
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static out_file *open_files;

static void remove_open_files(void) {
    for (const out_file *f = open_files; f; f = f->next) unlink(f->temp);
}

static void note_open(out_file *f) {
    static bool is_registered;
    if (!is_registered) is_registered = atexit(remove_open_files) == 0;
    f->next = open_files;
    open_files = f;
}

static void note_closed(const out_file *f) {
    for (out_file **at = &open_files; *at; at = &(*at)->next)
        if (*at == f) {
            *at = f->next;
            return;
        }
}

bool out_file_open(out_file *f, const char *path) {
    struct stat there;
    *f = (out_file){0};
    if (stat(path, &there) == 0 && !S_ISREG(there.st_mode)) { // renaming over a device would replace it
        say("%s: exists and is not a regular file", path);
        return false;
    }
    if (!*path) {
        say("the name of the output file is empty");
        return false;
    }
    *f = (out_file){.path = app_copy_text(path), .temp = app_text("%s.XXXXXX", path)};
    const mode_t mask = umask(0);
    umask(mask);
    const int fd = mkstemp(f->temp);
    // mkstemp() creates a private file; the result gets the mode of any new file.
    if (fd >= 0 && fchmod(fd, 0666 & ~mask) == 0 && (f->to = fdopen(fd, "wb"))) {
        note_open(f);
        return true;
    }
    say("%s: %s", path, strerror(errno));
    if (fd >= 0) {
        close(fd);
        unlink(f->temp);
    }
    out_file_drop(f);
    return false;
}

static bool note(out_file *f, bool ok) {
    if (!ok && f->why == 0) f->why = errno;
    return f->why == 0;
}

bool out_file_write(out_file *f, const void *data, size_t n) {
    return f->why == 0 && note(f, fwrite(data, 1, n, f->to) == n);
}

bool out_file_commit(out_file *f) {
    bool ok = f->why == 0 && note(f, fflush(f->to) == 0) && note(f, fsync(fileno(f->to)) == 0);
    ok = note(f, fclose(f->to) == 0) && ok;
    f->to = NULL;
    ok = ok && note(f, rename(f->temp, f->path) == 0);
    if (!ok) {
        say("%s: %s", f->path, strerror(f->why));
        unlink(f->temp);
    }
    out_file_drop(f);
    return ok;
}

void out_file_drop(out_file *f) {
    note_closed(f);
    if (f->to) {
        fclose(f->to);
        unlink(f->temp);
    }
    free(f->path);
    free(f->temp);
    *f = (out_file){0};
}

bool output_write(output *o, const void *data, size_t n) {
    const char *at = data;
    while (n && o->state == OUT_OPEN) {
        const ssize_t w = write(STDOUT_FILENO, at, n);
        if (w >= 0) {
            at += w, n -= (size_t)w;
        } else if (errno == EAGAIN) { // another process made the descriptor non-blocking
            poll(&(struct pollfd){.fd = STDOUT_FILENO, .events = POLLOUT}, 1, -1);
        } else if (errno == EPIPE) {
            o->state = OUT_CLOSED;
        } else if (errno != EINTR) {
            say("stdout: %s", strerror(errno));
            o->state = OUT_FAILED;
        }
    }
    return o->state == OUT_OPEN;
}

int output_exit(const output *o, int code) {
    static const int codes[] = {[OUT_CLOSED] = EXIT_CODE_OK, [OUT_FAILED] = EXIT_CODE_FAILED};
    return o->state == OUT_OPEN ? code : codes[o->state];
}
