// grammar/unicode_properties.h - which script a character has, and properties that are not general categories: tables of
// tools/make_unicode_properties.py.
#ifndef RN_GRAMMAR_UNICODE_PROPERTIES_H
#define RN_GRAMMAR_UNICODE_PROPERTIES_H

#include "grammar/chars.h"

enum { UNICODE_SCRIPTS = 162, UNICODE_SCRIPT_RUNS = 1639, UNICODE_PROPERTIES = 12 };

struct unicode_script {
    const char *name, *alias;
};
extern const struct unicode_script unicode_scripts[UNICODE_SCRIPTS];
// A character << 8, and the number of the script of the characters from it to the next run; sorted.
extern const uint32_t unicode_script_runs[UNICODE_SCRIPT_RUNS];

struct unicode_property {
    const char *name, *alias;
    const char *categories[2]; // all characters of these, and
    uint16_t first, n;         // ranges
};
extern const struct unicode_property unicode_properties[UNICODE_PROPERTIES];
extern const struct char_range unicode_property_ranges[];

#endif
