// fuzz/replay.c - a plain main for a fuzz target: feeds it every file named, or every file of each folder named.
//
// Each input ends right before a page that may not be touched, so that one byte too far is a crash in any build.
// Prints `ok NAME (N inputs)`; `SKIP NAME: why` where a path is not there; exit 1 when a file cannot be read.
// With REPLAY_VERBOSE set each input is named before it is run.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *program;
static long n_inputs;

static bool trouble(const char *path) {
    fprintf(stderr, "%s: %s: %s\n", program, path, strerror(errno));
    return false;
}

static bool read_all(int fd, uint8_t *to, size_t n) {
    while (n) {
        const ssize_t r = read(fd, to, n);
        if (r < 0 && errno == EINTR) continue;
        if (r == 0) errno = EIO; // it shrank
        if (r <= 0) return false;
        to += r;
        n -= (size_t)r;
    }
    return true;
}

static bool replay_file(const char *path) {
    struct stat st;
    const int fd = open(path, O_RDONLY);
    if (fd < 0 || fstat(fd, &st) != 0) return trouble(path);
    const size_t size = (size_t)st.st_size, page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t room = (size + page - 1) / page * page;
    uint8_t *p = mmap(NULL, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED || mprotect(p + room, page, PROT_NONE) != 0) return trouble(path);
    if (!read_all(fd, p + room - size, size)) return trouble(path);
    close(fd);
    if (getenv("REPLAY_VERBOSE")) fprintf(stderr, "%s\n", path);
    LLVMFuzzerTestOneInput(p + room - size, size);
    munmap(p, room + page);
    n_inputs++;
    return true;
}

static int is_input(const struct dirent *e) { return e->d_name[0] != '.'; }

static int by_name(const struct dirent **a, const struct dirent **b) { return strcmp((*a)->d_name, (*b)->d_name); }

static bool replay_folder(const char *dir) {
    struct dirent **names;
    const int n = scandir(dir, &names, is_input, by_name);
    if (n < 0) return trouble(dir);
    bool ok = true;
    for (int i = 0; i < n; i++) {
        char path[4096];
        struct stat st;
        snprintf(path, sizeof path, "%s/%s", dir, names[i]->d_name);
        if (stat(path, &st) != 0)
            ok = trouble(path);
        else if (S_ISREG(st.st_mode))
            ok = replay_file(path) && ok; // folders inside are not entered
        free(names[i]);
    }
    free(names);
    return ok;
}

int main(int argc, char **argv) {
    const char *slash = strrchr(argv[0], '/');
    program = slash ? slash + 1 : argv[0];
    bool ok = true, skipped = false;
    for (int i = 1; i < argc; i++) {
        struct stat st;
        if (stat(argv[i], &st) == 0)
            ok = (S_ISDIR(st.st_mode) ? replay_folder(argv[i]) : replay_file(argv[i])) && ok;
        else if (errno != ENOENT)
            ok = trouble(argv[i]);
        else
            skipped = printf("SKIP %s: %s is not there\n", program, argv[i]) > 0;
    }
    if (ok && (n_inputs || !skipped)) printf("ok %s (%ld inputs)\n", program, n_inputs);
    return ok ? 0 : 1;
}
