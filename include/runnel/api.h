// runnel/api.h - shared by the other headers: export macro, version, struct sizes, callbacks.
#ifndef RUNNEL_API_H
#define RUNNEL_API_H

#include <runnel/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RN_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

RN_API const char *rn_version(void); // "0.1.0"

// NULL where a function does not allow it: one that returns rn_status gives RN_E_ARG; others do
// nothing, or return 0, false, NULL or "". A pointer that is not NULL must be valid, and an array
// must have as many elements as its count says.

// Lists are read by index, from 0 to rn_n_LIST() - 1: rn_LIST_name(i, &help) is an element's name,
// and its description if `help` is not NULL. Beyond the end: NULL (structs: false).

// Structs that grow begin with `size_t struct_size` (docs/abi.md). Fields are only ever appended.
//
// The caller initializes its structs with rn_NAME_init() or, if there is no such function and the
// library fills the struct, with `rn_NAME x = {sizeof x};`. rn_NAME_init_sized() is for bindings of
// other languages, which pass the size of the struct as they declare it. A struct shorter than the
// library's comes from an older program: missing fields have their defaults, and the library writes
// no further than its size. A longer struct comes from a program that was built against a newer
// header and is refused with RN_E_ARG: `request: struct_size is 400, this library (0.1.0) knows
// 384: the program was built against a newer one`.
//
// Structs that the library owns and returns by pointer have the library's struct_size.
// RN_HAS(chunk.usage, reasoning_tokens) is false if the library is older than that field.
#define RN_HAS(s, field)                                                                           \
    ((s)->struct_size >= (size_t)((const char *)(&(s)->field + 1) - (const char *)(s)))

// One line of text, no line break. Any thread; must not call back into runnel.
typedef enum rn_log_level {
    RN_LOG_ERROR = 0,
    RN_LOG_WARN = 1,
    RN_LOG_INFO = 2,
    RN_LOG_DEBUG = 3
} rn_log_level;
typedef void (*rn_log_fn)(void *user, rn_log_level level, const char *text);

// Progress of a long operation: `done` of `total` units (bytes when loading, repacking and writing,
// tokens in prefill). Return true to abort: the call then returns RN_E_CANCELLED, a stream ends
// with RN_FINISH_CANCELLED.
typedef enum rn_phase {
    RN_PHASE_LOAD = 0,
    RN_PHASE_REPACK = 1,
    RN_PHASE_PREFILL = 2,
    RN_PHASE_WRITE = 3
} rn_phase;
typedef bool (*rn_progress_fn)(void *user, rn_phase phase, uint64_t done, uint64_t total);

#ifdef __cplusplus
}
#endif
#endif
