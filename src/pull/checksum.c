// pull/checksum.c - see checksum.h.
#include "pull/checksum.h"
#include "app/memory.h"
#include <errno.h>
#include <nettle/sha1.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STEP = 1 << 20 };

// Reads the file in steps into add().
static bool read_steps(int fd, uint64_t n, void (*add)(void *sum, size_t n, const uint8_t *data), void *sum,
                       checksum_progress progress, void *user) {
    uint8_t *const data = app_alloc(STEP);
    uint64_t done = 0;
    bool ok = true;
    while (ok && done < n) {
        const size_t want = n - done < STEP ? (size_t)(n - done) : STEP;
        const ssize_t got = pread(fd, data, want, (off_t)done);
        if (got < 0 && errno == EINTR) continue;
        ok = got > 0;
        if (!ok) break;
        add(sum, (size_t)got, data);
        done += (uint64_t)got;
        ok = !progress || progress(user, done);
    }
    free(data);
    return ok;
}

static void put_hex(const uint8_t *digest, size_t n, char *hex) {
    for (size_t i = 0; i < n; i++) snprintf(hex + 2 * i, 3, "%02x", digest[i]);
}

static void add_sha256(void *sum, size_t n, const uint8_t *data) { sha256_update(sum, n, data); }
static void add_sha1(void *sum, size_t n, const uint8_t *data) { sha1_update(sum, n, data); }

bool checksum_sha256(int fd, uint64_t n, checksum_progress progress, void *user, char hex[SHA256_HEX]) {
    struct sha256_ctx sum;
    uint8_t digest[SHA256_DIGEST_SIZE];
    sha256_init(&sum);
    if (!read_steps(fd, n, add_sha256, &sum, progress, user)) return false;
    sha256_digest(&sum, sizeof digest, digest);
    put_hex(digest, sizeof digest, hex);
    return true;
}

bool checksum_git(int fd, uint64_t n, char hex[GIT_OID_HEX]) {
    struct sha1_ctx sum;
    uint8_t digest[SHA1_DIGEST_SIZE];
    char head[40];
    const int n_head = snprintf(head, sizeof head, "blob %llu", (unsigned long long)n) + 1; // its terminator counts
    sha1_init(&sum);
    sha1_update(&sum, (size_t)n_head, (const uint8_t *)head);
    if (!read_steps(fd, n, add_sha1, &sum, NULL, NULL)) return false;
    sha1_digest(&sum, sizeof digest, digest);
    put_hex(digest, sizeof digest, hex);
    return true;
}

bool checksum_is_hex(const char *text, int n) {
    return (int)strlen(text) == n && strspn(text, "0123456789abcdef") == (size_t)n;
}
