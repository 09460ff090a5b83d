// runnel/api.h - what the other headers share: export mark, version, log and progress callbacks.
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

// Structs that grow begin with `size_t struct_size` (docs/abi.md). Fields are only ever appended.
//
// A struct of the caller's is made by rn_NAME_init(), or, where there is no such function and the
// library fills it, as `rn_NAME x = {sizeof x};`. rn_NAME_init_sized() is for bindings of other
// languages: they pass the size of the struct as they know it. An older program's struct is shorter
// than the library's: what it lacks has its default, and it is filled no further than its size.
// A longer one, of a program built against a newer header, is RN_E_ARG: `request: struct_size is
// 400, this library (0.1.0) knows 384: the program was built against a newer one`.
//
// In a struct of the library's, reached by a pointer, struct_size is what the library has.
// RN_HAS(chunk.usage, reasoning_tokens): false where the library is older than that field.
#define RN_HAS(s, field) ((s)->struct_size >= (size_t)((const char *)(&(s)->field + 1) - (const char *)(s)))

// One line of text, no line break. Any thread; must not call back into runnel.
typedef enum rn_log_level { RN_LOG_ERROR = 0, RN_LOG_WARN = 1, RN_LOG_INFO = 2, RN_LOG_DEBUG = 3 } rn_log_level;
typedef void (*rn_log_fn)(void *user, rn_log_level level, const char *text);

// How far a long piece of work is: done of total units (bytes when loading, repacking and writing, tokens when a prompt is evaluated).
// Return true to abort: the call or stream then ends with RN_E_CANCELLED / RN_FINISH_CANCELLED.
typedef enum rn_phase { RN_PHASE_LOAD = 0, RN_PHASE_REPACK = 1, RN_PHASE_PREFILL = 2, RN_PHASE_WRITE = 3 } rn_phase;
typedef bool (*rn_progress_fn)(void *user, rn_phase phase, uint64_t done, uint64_t total);

#ifdef __cplusplus
}
#endif
#endif
