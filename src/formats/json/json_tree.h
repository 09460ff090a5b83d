// formats/json/json_tree.h - parses a JSON text (RFC 8259) into a flat list of its values, in the order in which they begin.
//
// The whole text is checked first: UTF-8, syntax, no repeated member in an object, depth and number of values within
// formats/limits.h. There is no recursion, and memory grows only with the number of values, so that the header of an untrusted file
// cannot exhaust stack or memory.
// Ownership: json_free() releases; strings without escapes point into the text, which outlives the tree. Threads: immutable once read.
#ifndef RN_FORMATS_JSON_JSON_TREE_H
#define RN_FORMATS_JSON_JSON_TREE_H

#include "base/arena.h"
#include "base/status.h"
#include <stdbool.h>
#include <stdint.h>

enum json_kind { JSON_NULL, JSON_FALSE, JSON_TRUE, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

struct json_node {
    const char *name; // of a member of an object: n_name bytes, decoded, no terminator; else NULL
    const char *text; // of a string: n_text bytes, decoded; of a number: as it is written, perhaps "Infinity"
    uint32_t n_name, n_text;
    uint32_t n_items; // of an array or object
    uint32_t n_nodes; // nodes of this value including all it contains: the next value is n_nodes further
    enum json_kind kind;
};

struct json_tree {
    struct json_node *nodes; // nodes[0] is the whole text
    size_t n_nodes, max_nodes;
    struct arena strings; // decoded strings that had escapes
    bool takes_infinity;  // accept Infinity, -Infinity and NaN as numbers: Python's json writes them
};

// t: zeroed except takes_infinity; call json_free() also after an error. n: below 4 GiB.
// Errors: RN_E_FORMAT (`not JSON: WHY (at byte N)`), RN_E_LIMIT, RN_E_NOMEM.
rn_status json_read(struct json_tree *t, const char *text, size_t n, rn_error *err);
void json_free(struct json_tree *t);

// Items in order: for (i = 0, v = json_first(a); i < a->n_items; i++, v = json_next(v)).
static inline const struct json_node *json_first(const struct json_node *v) { return v + 1; }
static inline const struct json_node *json_next(const struct json_node *v) { return v + v->n_nodes; }

// The member of an object by name; NULL if it is absent or null, or if v is NULL or no object.
const struct json_node *json_member(const struct json_node *v, const char *name);
bool json_has_null(const struct json_node *v, const char *name); // is v an object with this member set to null?
bool json_is(const struct json_node *v, const char *text);       // is v this string?

// The JSON pointer (RFC 6901) of a value below root, with the escapes of JSON's strings, cut where it does not fit; empty for the root itself. cap: bytes of out, with the terminator.
void json_pointer(const struct json_node *root, const struct json_node *at, char *out, size_t cap);

// The kind of a value, for messages: "a string", "an object".
const char *json_kind_name(const struct json_node *v);

// An integer in min..max; "1.0", "1e3" and "Infinity" are not integers. Errors: RN_E_FORMAT, `WHY` without a name.
rn_status json_int(const struct json_node *v, int64_t min, int64_t max, int64_t *out, rn_error *err);
// A finite number in min..max. The decimal point is `.` in every locale.
rn_status json_float(const struct json_node *v, double min, double max, float *out, rn_error *err);
rn_status json_double(const struct json_node *v, double min, double max, double *out, rn_error *err);
rn_status json_bool(const struct json_node *v, bool *out, rn_error *err);

#endif
