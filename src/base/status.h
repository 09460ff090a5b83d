// base/status.h - fills rn_error: the deepest function writes the sentence, outer ones may put their WHAT in front.
//
// Ownership: rn_error belongs to the caller; NULL is accepted everywhere.
// Threads:   one rn_error, one thread at a time.
#ifndef RN_BASE_STATUS_H
#define RN_BASE_STATUS_H

#include <runnel/status.h>

// Write `fmt` into err (if any) and return code. A text that does not fit is cut at a UTF-8 boundary; control
// characters (file names and keys are foreign) are replaced by '?', so that an error is always one printable line.
__attribute__((format(printf, 3, 4))) rn_status fail(rn_error *err, rn_status code, const char *fmt, ...);

// Put `fmt` and ": " before err's sentence; returns err->code (code when err is NULL).
__attribute__((format(printf, 3, 4))) rn_status fail_in(rn_error *err, rn_status code, const char *fmt, ...);

// RN_OK where min <= value <= max, else RN_E_ARG: "NAME: VALUE is outside MIN..MAX".
rn_status check_range(const char *name, int64_t value, int64_t min, int64_t max, rn_error *err);

#endif
