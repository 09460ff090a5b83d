// grammar/schema/formats.h - the formats of JSON Schema's `format` that are enforced, as regular
// expressions.
#ifndef RN_GRAMMAR_SCHEMA_FORMATS_H
#define RN_GRAMMAR_SCHEMA_FORMATS_H

#include <stdbool.h>
#include <stddef.h>

// The pattern of a whole string of a format; NULL: there is none.
const char *format_pattern(const char *name, size_t n);
// Is it a format of JSON Schema's? Other names are annotations.
bool format_is_known(const char *name, size_t n);

#endif
