// grammar/schema/formats.h - the formats of JSON Schema's `format` that are enforced, as regular expressions.
#ifndef RN_GRAMMAR_SCHEMA_FORMATS_H
#define RN_GRAMMAR_SCHEMA_FORMATS_H

#include <stddef.h>

// The pattern of a whole string of a format; NULL: the name is an annotation only.
const char *format_pattern(const char *name, size_t n);

#endif
