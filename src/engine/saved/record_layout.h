// engine/saved/record_layout.h - shared by writing and reading files of records; private to these.
#ifndef RN_ENGINE_SAVED_RECORD_LAYOUT_H
#define RN_ENGINE_SAVED_RECORD_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#define RECORD_FILE_MAGIC   "runnel\x1aS" // 0x1a: a terminal's `type` stops here
#define RECORD_FILE_VERSION 1

static inline void put_le(uint8_t *p, uint64_t v, size_t n) {
    for (size_t i = 0; i < n; i++) p[i] = (uint8_t)(v >> 8 * i);
}

#endif
