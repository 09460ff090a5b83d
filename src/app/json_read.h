// app/json_read.h - a JSON object read into a struct by a table of its members, strictly.
//
// Refused with the member's name: an unknown member, a wrong type, a number that is out of range or has a fraction where a whole
// one is required (5.0 has none), a repeated member, NaN, invalid UTF-8, anything after the object. A string may hold U+0000 where the row's
// kind keeps lengths.
//
// Ownership: a json_doc holds the strings that were read; json_doc_free() ends them.
// Threads:   one at a time.
#ifndef RN_APP_JSON_READ_H
#define RN_APP_JSON_READ_H

#include "app/bytes.h"
#include "app/numbers.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JSON_WHY 512

typedef struct json_doc json_doc;
typedef struct json_item json_item; // one value inside an object, for MEMBER_EACH

typedef struct json_span { // n bytes and a terminator; NULL: the member was not there
    const char *data;
    size_t n;
} json_span;

typedef enum member_kind {
    MEMBER_BOOL,  // bool
    MEMBER_TEXT,  // json_span
    MEMBER_NAME,  // const char *: a string without U+0000
    MEMBER_INT,   // int32_t in min..max
    MEMBER_REAL,  // double in min..max
    MEMBER_WHOLE, // double in min..max without a fraction
    MEMBER_WORD,  // int32_t: index of the word among `words`; false and true are words, too
    MEMBER_IDS,   // id_list (app/numbers.h) of an array; its ids are freed by the caller, also after a failure
    MEMBER_JSON,  // char *: any value but null, as JSON text; freed by the caller, also after a failure
    MEMBER_EACH   // what `each` makes of it: called for the value, or for each item of an array or object
} member_kind;

// key: the item's key in an object, else NULL. i: its index. On failure a reason of at most JSON_WHY / 2 bytes
// in why.
typedef bool (*member_each)(void *target, size_t i, const char *key, const json_item *value, char *why);
// The JSON types that a MEMBER_EACH row accepts.
typedef enum member_shape { SHAPE_VALUE = 0, SHAPE_ARRAY, SHAPE_OBJECT, SHAPE_VALUE_OR_ARRAY } member_shape;

typedef struct member {
    const char *name;
    member_kind kind;
    size_t offset;
    double min, max;
    member_shape shape;
    member_each each;
    // JSON Schema of the values, with ' in place of " (app/json_schema.h), where kind and range do not tell it; NULL: they do.
    const char *schema;
    const char *words; // of MEMBER_WORD, separated by '|'
} member;

typedef struct member_group {
    const member *rows;
    size_t n_rows;
    void *target;
} member_group;

// Parse only: *doc is NULL on failure, with the reason in why.
bool json_doc_parse(const char *text, size_t n_text, json_doc **doc, char *why);
// A member's value as JSON text, to echo a request's id; NULL if absent or neither a string nor a number. Freed with free().
char *json_doc_scalar(const json_doc *doc, const char *name);
// Reads all members into the groups' targets. Strings point into the doc.
bool json_doc_read(const json_doc *doc, const member_group *groups, size_t n_groups, char *why);
bool json_doc_has(const json_doc *doc, const char *name);
// For requests of other programs: null members count as absent, and members that no row names are passed to other(), which may
// accept them (reasons as for `each`). param: JSON_WHY / 2 bytes; receives where it went wrong, such as "stop[2]".
typedef bool (*json_other)(void *user, const char *name, const json_item *value, char *why);
bool json_doc_read_open(const json_doc *doc, const member_group *groups, size_t n_groups, json_other other,
                        void *user, char *param, char *why);
void json_doc_free(json_doc *doc); // NULL is fine

// Reads an array of objects: each one by the rows into `target`, then passed to take(). For files of other versions of the
// program: unknown and null members are skipped. Values are valid during the call. take() stops by returning false with a
// reason in why.
typedef bool (*json_take)(void *user, char *why);
bool json_read_rows(const char *text, size_t n_text, const member_group *group, json_take take, void *user,
                    char *why);

// For MEMBER_EACH. On failure each writes a reason to why.
bool json_item_text(const json_item *value, json_span *text, char *why);
bool json_item_whole(const json_item *value, int64_t min, int64_t max, int64_t *v, char *why);
bool json_item_real(const json_item *value, double min, double max, double *v, char *why);
bool json_item_u64(const json_item *value, uint64_t *v, char *why); // a whole number, or a string of digits
bool json_item_bool(const json_item *value, bool *v, char *why);
// One of n words, as its index.
bool json_item_word(const json_item *value, const char *const *words, int32_t n, int32_t *index, char *why);
bool json_item_is_text(const json_item *value);
bool json_item_is_null(const json_item *value);
bool json_item_is_object(const json_item *value);
bool json_item_is_array(const json_item *value);
// An object as a document, borrowed, for json_doc_read_open(); NULL: no object.
const json_doc *json_item_doc(const json_item *value);
size_t json_item_count(const json_item *array);
const json_item *json_item_at(const json_item *array, size_t i);
const json_item *json_item_member(const json_item *object, const char *name); // NULL: not there, null, or no object
// Calls `each` for every member of an object, in the order of the text, as for MEMBER_EACH.
bool json_item_each(const json_item *object, member_each each, void *target, char *why);
bool json_item_ids(const json_item *value, id_list *list, char *why); // freed by the caller, also after a failure
void json_item_add(const json_item *value, bytes *to);                // as JSON

#endif
