// pull/checksum.h - sums of files, in hexadecimal.
//
// Threads: any.
#ifndef RN_PULL_CHECKSUM_H
#define RN_PULL_CHECKSUM_H

#include <stdbool.h>
#include <stdint.h>

enum { SHA256_HEX = 65, GIT_OID_HEX = 41 }; // with the terminator

// Called now and then with how many bytes were read; false ends it.
typedef bool (*checksum_progress)(void *user, uint64_t n_done);

// SHA-256 of an open file's n bytes. False: it cannot be read, has fewer, or progress() ended it.
bool checksum_sha256(int fd, uint64_t n, checksum_progress progress, void *user, char hex[SHA256_HEX]);
// The name that git gives a file of these n bytes: SHA-1 of "blob N\0" and the bytes.
bool checksum_git(int fd, uint64_t n, char hex[GIT_OID_HEX]);

// Has the text n hexadecimal digits, in lower case, and no more?
bool checksum_is_hex(const char *text, int n);

#endif
