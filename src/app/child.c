// app/child.c - see child.h.
#include "app/child.h"
#include "app/memory.h"
#include "app/process.h"
#include "app/progress.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LOOK_MS = 100, WHY_MOST = 300, AT_ONCE = 64 << 10 };

static void close_end(int *end) {
    if (*end >= 0) close(*end);
    *end = -1;
}

static bool spawn_program(char *const *args, int pipes[3][2], int *id) {
    extern char **environ;
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    sigset_t none, usual;
    sigemptyset(&none);
    sigemptyset(&usual);
    sigaddset(&usual, SIGPIPE);
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&how);
    for (int i = 0; i < 3; i++) posix_spawn_file_actions_adddup2(&files, pipes[i][i != 0], i);
    posix_spawnattr_setsigmask(&how, &none);
    posix_spawnattr_setsigdefault(&how, &usual);
    posix_spawnattr_setpgroup(&how, 0); // Ctrl+C at the server's terminal is the server's
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    const int failed = posix_spawn(id, args[0], &files, &how, args, environ);
    posix_spawnattr_destroy(&how);
    posix_spawn_file_actions_destroy(&files);
    return !failed;
}

bool child_begin(child *c, const char *name, const char *const *args, size_t n_args) {
    int pipes[3][2] = {{-1, -1}, {-1, -1}, {-1, -1}};
    char *const folder = process_folder(), *const path = folder ? app_text("%s/%s", folder, name) : NULL;
    char *all[CHILD_MOST_ARGS + 2] = {path};
    bool ok = path != NULL && n_args <= CHILD_MOST_ARGS;
    *c = (child){.to = -1, .from = -1, .why = -1};
    for (size_t i = 0; ok && i < n_args; i++) all[1 + i] = (char *)(uintptr_t)args[i];
    for (int i = 0; ok && i < 3; i++) ok = pipe2(pipes[i], O_CLOEXEC) == 0;
    ok = ok && access(path, X_OK) == 0 && spawn_program(all, pipes, &c->id);
    if (ok) {
        c->to = pipes[0][1], c->from = pipes[1][0], c->why = pipes[2][0];
        pipes[0][1] = pipes[1][0] = pipes[2][0] = -1;
        for (int i = 0; i < 3; i++) {
            const int end = i == 0 ? c->to : i == 1 ? c->from : c->why;
            fcntl(end, F_SETFL, fcntl(end, F_GETFL) | O_NONBLOCK);
        }
    }
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 2; k++) close_end(&pipes[i][k]);
    free(path);
    free(folder);
    return ok;
}

// Reads what there is, no more than up to the limit. False: the end.
static bool read_some(int fd, bytes *to, size_t limit) {
    const size_t n_room = to->n < limit ? limit - to->n : 0;
    char *const at = n_room ? bytes_reserve(to, AT_ONCE) : NULL;
    const ssize_t n = at ? read(fd, at, n_room < AT_ONCE ? n_room : AT_ONCE) : 0;
    if (n > 0) to->n += (size_t)n, to->data[to->n] = '\0';
    return n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN));
}

// Waits until `fd` is ready for `events`, and takes what stderr has. False: no more time.
static bool wait_for(child *c, int fd, short events, const child_patience *p, bytes *reason, bool *is_ready) {
    struct pollfd at[2] = {{.fd = fd, .events = events}, {.fd = c->why, .events = POLLIN}};
    *is_ready = false;
    if (now_ns() > p->ends_ns || (p->is_given_up && p->is_given_up())) return false;
    if (poll(at, 2, LOOK_MS) <= 0) return true;
    if (at[1].revents && !read_some(c->why, reason, WHY_MOST)) close_end(&c->why);
    *is_ready = at[0].revents != 0;
    return true;
}

bool child_write(child *c, const void *data, size_t n, const child_patience *p, bytes *reason) {
    const char *at = data;
    for (bool is_ready; n;) {
        if (!wait_for(c, c->to, POLLOUT, p, reason, &is_ready)) return false;
        const ssize_t n_out = is_ready ? write(c->to, at, n) : 0;
        if (n_out < 0 && errno != EINTR && errno != EAGAIN) return false;
        if (n_out > 0) at += n_out, n -= (size_t)n_out;
    }
    return true;
}

bool child_read(child *c, void *data, size_t n, const child_patience *p, bytes *reason) {
    char *at = data;
    for (bool is_ready; n;) {
        if (!wait_for(c, c->from, POLLIN, p, reason, &is_ready)) return false;
        const ssize_t n_in = is_ready ? read(c->from, at, n) : -1;
        if (is_ready && (n_in == 0 || (n_in < 0 && errno != EINTR && errno != EAGAIN))) return false;
        if (n_in > 0) at += n_in, n -= (size_t)n_in;
    }
    return true;
}

bool child_read_all(child *c, bytes *to, size_t limit, const child_patience *p, bytes *reason) {
    while (c->from >= 0 || c->why >= 0) {
        bool is_ready;
        if (!wait_for(c, c->from, POLLIN, p, reason, &is_ready)) return false;
        if (is_ready && !read_some(c->from, to, limit)) close_end(&c->from);
    }
    return true;
}

void child_close_input(child *c) { close_end(&c->to); }

bool child_end(child *c, bool kills) {
    int status = 0;
    if (kills) kill(c->id, SIGKILL);
    close_end(&c->to);
    close_end(&c->from);
    close_end(&c->why);
    while (waitpid(c->id, &status, 0) < 0)
        if (errno != EINTR) return false;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
