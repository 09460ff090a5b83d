// fuzz/session_repair.h - checksums of a saved session made to fit whatever stands before them, as whoever forges a file does.
#ifndef RN_FUZZ_SESSION_REPAIR_H
#define RN_FUZZ_SESSION_REPAIR_H

#include "base/hash.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline uint64_t session_u64(const uint8_t *p) {
    uint64_t v = 0;
    for (int i = 0; i < 8; i++) v |= (uint64_t)p[i] << 8 * i;
    return v;
}

static inline void session_set(uint8_t *p, uint64_t v, size_t n) {
    for (size_t i = 0; i < n; i++) p[i] = (uint8_t)(v >> 8 * i);
}

// Of n bytes at `at`; false: they and their checksum are not all there.
static inline bool session_sum(uint8_t *data, size_t size, size_t at, uint64_t n) {
    if (at > size || size - at < 8 || n > size - at - 8) return false;
    session_set(data + at + n, hash_bytes(data + at, (size_t)n, at), 8);
    return true;
}

// Beginning, heads and records, as far as the lengths can be followed. The length in the beginning stays as it is.
static inline void session_repair(uint8_t *data, size_t size) {
    size_t at = 32;
    if (!session_sum(data, size, 0, 24)) return;
    while (session_sum(data, size, at, 24)) {
        const uint64_t n_records = session_u64(data + at + 8), n_bytes = session_u64(data + at + 16);
        at += 32;
        for (uint64_t i = 0; i < n_records; i++, at += (size_t)n_bytes + 8)
            if (!session_sum(data, size, at, n_bytes)) return;
    }
}

#endif
