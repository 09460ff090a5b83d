// serve/api/remote_pictures.c - see remote_pictures.h.
#include "serve/api/remote_pictures.h"
#include "app/memory.h"
#include "app/process.h"
#include "app/progress.h"
#include "serve/work/workers.h"
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LOOK_MS = 100, WHY_MOST = 300, FOR_REDIRECTS_MS = 500 };

bool media_host_check(const char *host, char *why, size_t size) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
    const bool is_below = strncmp(host, "*.", 2) == 0;
    const char *const name = host + (is_below ? 2 : 0);
    const size_t n = *name == '[' ? strcspn(name, "]") + 1 : strspn(name, letters);
    const char *const port = name + (n <= strlen(name) ? n : 0);
    char *end = NULL;
    const long number = *port == ':' && isdigit((unsigned char)port[1]) ? strtol(port + 1, &end, 10) : 1;
    const bool is_fine =
        n > 0 && n <= 253 && (*port == '\0' || (end && *end == '\0')) && number > 0 && number < 65536;
    if (!is_fine)
        snprintf(why, size,
                 "'%.80s' is no host like img.example, *.img.example or img.example:8443 (without https://)", host);
    return is_fine;
}

// ---- the process ----------------------------------------------------------------------------------------------------

// Its ends of the pipes for address, picture and reason.
typedef struct child {
    pid_t id;
    int to, from, why;
} child;

static void close_both(int ends[2]) {
    for (int i = 0; i < 2; i++)
        if (ends[i] >= 0) close(ends[i]);
}

static bool spawn_program(char **args, const int pipes[3][2], pid_t *id) {
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

static bool begin(child *c, const text_list *hosts, char *why) {
    int pipes[3][2] = {{-1, -1}, {-1, -1}, {-1, -1}};
    char *const folder = process_folder(), *const path = folder ? app_text("%s/runnel-pull", folder) : NULL;
    char *args[TEXT_LIST_ITEMS + 3] = {path, "--picture"};
    bool ok = path != NULL;
    for (size_t i = 0; i < hosts->n; i++) args[2 + i] = (char *)(uintptr_t)hosts->items[i];
    for (int i = 0; ok && i < 3; i++) ok = pipe2(pipes[i], O_CLOEXEC) == 0;
    ok = ok && spawn_program(args, (const int(*)[2])pipes, &c->id);
    if (ok) {
        c->to = pipes[0][1], c->from = pipes[1][0], c->why = pipes[2][0];
        pipes[0][1] = pipes[1][0] = pipes[2][0] = -1;
    } else {
        snprintf(why, JSON_WHY / 2,
                 "cannot be fetched: runnel-pull, which is built where libcurl is, does not start");
    }
    for (int i = 0; i < 3; i++) close_both(pipes[i]);
    free(path);
    free(folder);
    return ok;
}

// Reads what there is. False: the end, or the limit.
static bool read_some(int fd, bytes *to, size_t limit) {
    enum { AT_ONCE = 64 << 10 };
    char *const at = to->n < limit ? bytes_reserve(to, AT_ONCE) : NULL;
    const ssize_t n = at ? read(fd, at, AT_ONCE) : 0;
    if (n > 0) to->n += (size_t)n, to->data[to->n] = '\0';
    return n > 0 || (n < 0 && errno == EINTR);
}

// Up to the end of both, as long as somebody waits and there is time.
static bool read_both(const child *c, bytes *picture, bytes *reason, size_t limit) {
    const int64_t ends_ns = now_ns() + (int64_t)(SENT_PICTURE_SECONDS * 1000 + FOR_REDIRECTS_MS) * 1000000;
    struct pollfd at[2] = {{.fd = c->from, .events = POLLIN}, {.fd = c->why, .events = POLLIN}};
    while (at[0].fd >= 0 || at[1].fd >= 0) {
        if (now_ns() > ends_ns || work_is_given_up()) return false;
        if (poll(at, 2, LOOK_MS) <= 0) continue;
        if (at[0].revents && !read_some(c->from, picture, limit)) at[0].fd = -1;
        if (at[1].revents && !read_some(c->why, reason, WHY_MOST)) at[1].fd = -1;
    }
    return true;
}

static bool fetch(const text_list *hosts, const json_span *url, size_t limit, bytes *picture, char *why) {
    child c = {0};
    bytes reason = {0};
    int status = 0;
    if (!begin(&c, hosts, why)) return false;
    const bool is_asked = write(c.to, url->data, url->n) == (ssize_t)url->n; // less than a pipe holds
    close(c.to);
    const bool is_whole = is_asked && read_both(&c, picture, &reason, limit + 1);
    if (!is_whole) kill(c.id, SIGKILL);
    close(c.from);
    close(c.why);
    while (waitpid(c.id, &status, 0) < 0 && errno == EINTR) continue;
    const bool ok =
        is_whole && WIFEXITED(status) && WEXITSTATUS(status) == 0 && picture->n > 0 && picture->n <= limit;
    if (!ok) {
        const char *const words = !is_whole ? "it took too long"
                                  : picture->n > limit
                                      ? "with those before it, it has more bytes than a request may name"
                                  : reason.n ? reason.data
                                             : "nothing came";
        snprintf(why, JSON_WHY / 2, "cannot be fetched: %.*s", (int)strcspn(words, "\n"), words);
    }
    bytes_free(&reason);
    return ok;
}

bool remote_pictures_fetch(const server *s, sent_pictures *p, size_t *failed, char *why) {
    size_t n_bytes = 0;
    for (size_t i = 0; i < p->n && !p->are_open && s->media_hosts.n; i++) {
        sent_picture *const one = &p->sent[i];
        if (!one->is_remote || one->file.n) continue;
        *failed = i;
        if (!work_may_fetch()) {
            snprintf(why, JSON_WHY / 2, "is an address that is written with escapes: write its beginning as it is");
            return false;
        }
        if (!fetch(&s->media_hosts, &one->text, ((size_t)REMOTE_PICTURES_MIB << 20) - n_bytes, &one->file, why))
            return false;
        n_bytes += one->file.n;
    }
    return true;
}
