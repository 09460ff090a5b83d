// formats/refusals.h - why models of some names are not run, which is not for want of a table.
#ifndef RN_FORMATS_REFUSALS_H
#define RN_FORMATS_REFUSALS_H

#include <stddef.h>

// A name of general.architecture, or a class of config.json. NULL: nothing more is known than that it is not supported.
const char *refusal_reason(const char *name, size_t n);
// The i-th reason, and the names that it is of, each between two spaces. NULL: there are fewer.
const char *refusal_at(size_t i, const char **names);

#endif
