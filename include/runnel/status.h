// runnel/status.h - what every call that can fail returns: a status code and, on request, a
// sentence.
#ifndef RUNNEL_STATUS_H
#define RUNNEL_STATUS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Codes have gaps so that a class can grow; the numbers below are stable.
typedef enum rn_status {
    RN_OK = 0,
    RN_E_AGAIN = 1,  // nothing within the timeout: try again
    RN_E_END = 2,    // the stream's last chunk has been taken already
    RN_E_ARG = 10,   // an argument or option is wrong: the text names it, its value and the range
    RN_E_STATE = 11, // not possible in the object's current state (for example a busy session)
    RN_E_UNSUPPORTED = 12, // valid, but this build or model does not support it
    RN_E_IO = 20,          // the operating system refused or failed a file operation
    RN_E_FORMAT = 21,      // a file's content is malformed
    RN_E_NOMEM = 30,       // an allocation failed
    RN_E_LIMIT = 31,       // a limit (context, memory plan, queue) would be exceeded
    RN_E_BUSY = 32,        // a limit is reached for now: try again after rn_error.retry_after_s
    RN_E_CANCELLED = 40,   // a progress callback asked to stop
    RN_E_INTERNAL = 90     // an invariant of runnel was broken: a bug worth reporting
} rn_status;

// Receives the error of a failing call: `WHAT: WHY`, with values and limits. Owned by the caller;
// NULL is accepted wherever an rn_error * is taken. `text` is always terminated; a long text is cut
// at a character.
typedef struct rn_error {
    rn_status code;
    char text[1024];
    int32_t retry_after_s; // RN_E_BUSY: estimated seconds until there is room; else 0
    uint64_t reserved[3];  // for fields of later releases: this struct never grows
} rn_error;

#ifdef __cplusplus
}
#endif
#endif
