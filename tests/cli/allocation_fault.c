// tests/cli/allocation_fault.c - preloaded: the FAIL_AT-th allocation of the process fails. At its end the number of all of them goes to FAIL_LOG.
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

extern void *__libc_malloc(size_t n), *__libc_calloc(size_t n, size_t size), *__libc_realloc(void *p, size_t n);

static atomic_long n_allocations;

static int fails(void) {
    static long at = -1;
    if (at < 0) at = getenv("FAIL_AT") ? atol(getenv("FAIL_AT")) : 0;
    if (atomic_fetch_add(&n_allocations, 1) + 1 != at) return 0;
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t n) { return fails() ? NULL : __libc_malloc(n); }
void *calloc(size_t n, size_t size) { return fails() ? NULL : __libc_calloc(n, size); }
void *realloc(void *p, size_t n) { return fails() ? NULL : __libc_realloc(p, n); }

__attribute__((destructor)) static void tell(void) {
    const char *const path = getenv("FAIL_LOG");
    const int fd = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600) : -1;
    if (fd < 0) return;
    dprintf(fd, "%ld\n", (long)n_allocations);
    close(fd);
}
