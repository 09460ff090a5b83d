// grammar/schema/declared.h - of which types a member is, by what its schema says outright: for formats
// that write strings without quotes, so that text is read as what the tool declares.
//
// The grammar of calls and the parser of answers both ask here, so that what one writes the other reads.
// It looks at `type`, `enum`, `const`, `allOf`, `anyOf`, `oneOf` and references within the document; what
// it does not follow may be of any type.
// Ownership: the tree's. Threads: pure functions.
#ifndef RN_GRAMMAR_SCHEMA_DECLARED_H
#define RN_GRAMMAR_SCHEMA_DECLARED_H

#include "formats/json/json_tree.h"

// The schema of a member of what `schema` describes; NULL: not found. root: the document, for references.
const struct json_node *schema_declared_member(const struct json_node *root, const struct json_node *schema,
                                               const char *name, size_t n);
// The schema of the items of an array.
const struct json_node *schema_declared_items(const struct json_node *root, const struct json_node *schema);
// The types of all values that a schema (NULL: any) allows (enum value_type), and perhaps others.
unsigned schema_declared_types(const struct json_node *root, const struct json_node *schema);

#endif
