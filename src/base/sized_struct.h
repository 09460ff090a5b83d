// base/sized_struct.h - structs of the public interface that grow: a caller's may be shorter than the library's, never longer.
//
// Such a struct begins with `size_t struct_size`, the caller's sizeof. Fields are only appended, so an older caller's struct is a
// prefix of the library's (docs/abi.md).
// Threads: no state; a table entry is constant.
#ifndef RN_BASE_SIZED_STRUCT_H
#define RN_BASE_SIZED_STRUCT_H

#include <runnel/status.h>
#include <stddef.h>

// Size of a struct whose last field is `last`. SIZED_FIRST(type, last field of the first release) stays the same when the struct grows.
#define SIZED_FIRST(type, last)                                                                                      \
    ((offsetof(type, last) + sizeof(((type *)NULL)->last) + _Alignof(type) - 1) / _Alignof(type) * _Alignof(type))

struct sized_struct {
    const char *name;     // for messages: "request"
    const char *hint;     // what sets struct_size: "call rn_request_init()"
    size_t first, size;   // bytes in the first release and today
    const void *defaults; // a whole struct of today with the default of each field; NULL: all 0
};

/**
 * Give a caller's struct its defaults.
 *
 * @param theirs       struct_size bytes, all written: what today's library does not know becomes 0.
 * @param struct_size  the caller's sizeof, any number: what cannot be used is refused by the call that takes the struct.
 */
void sized_init(const struct sized_struct *t, void *theirs, size_t struct_size);
// RN_E_ARG: theirs is NULL, or its struct_size is outside `first`..`size`; the message has both and the hint.
rn_status sized_check(const struct sized_struct *t, const void *theirs, rn_error *err);
/**
 * Read a caller's struct.
 *
 * @param theirs  NULL: the defaults.
 * @param ours    t->size bytes: the caller's fields, then the defaults of those that it does not know.
 * @return as sized_check(); ours is then untouched.
 */
rn_status sized_read(const struct sized_struct *t, const void *theirs, void *ours, rn_error *err);
// Fill a caller's struct that sized_check() accepted: no further than its struct_size, which stays.
void sized_write(const struct sized_struct *t, const void *ours, void *theirs);

// Arrays whose elements have the caller's size, the stride between them.
struct sized_array {
    const char *name, *field, *hint; // for messages: "request", "part_stride", "call rn_request_init()"
    size_t first, size;              // bytes of an element in the first release and today
};
rn_status sized_check_stride(const struct sized_array *t, size_t stride, rn_error *err); // RN_E_ARG: as sized_check()
// Copies element i of a caller's array; fields that the caller does not know are 0.
void sized_get_element(const struct sized_array *t, const void *array, size_t stride, size_t i, void *ours);
// Moves n elements to the caller's stride in place; each keeps the fields that the caller knows.
void sized_pack(const struct sized_array *t, void *array, size_t n, size_t stride);

#endif
