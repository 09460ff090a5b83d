// base/sized_struct.c - see sized_struct.h.
#include "base/sized_struct.h"
#include "base/status.h"
#include <string.h>

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

static size_t size_of(const void *theirs) {
    size_t n;
    memcpy(&n, theirs, sizeof n); // struct_size comes first
    return n;
}

static void copy_defaults(const struct sized_struct *t, void *to, size_t n) {
    if (t->defaults)
        memcpy(to, t->defaults, n);
    else
        memset(to, 0, n);
}

void sized_init(const struct sized_struct *t, void *theirs, size_t struct_size) {
    const size_t known = smaller(struct_size, t->size);
    if (!theirs) return;
    copy_defaults(t, theirs, known);
    memset((char *)theirs + known, 0, struct_size - known);
    if (struct_size >= sizeof struct_size) memcpy(theirs, &struct_size, sizeof struct_size);
}

static rn_status check_size(const char *name, const char *field, size_t got, size_t first, size_t size,
                            const char *hint, rn_error *err) {
    if (got > size)
        return fail(err, RN_E_ARG,
                    "%s: %s is %zu, this library (%s) knows %zu: the program was built against a newer one", name,
                    field, got, RUNNEL_VERSION, size);
    if (got < first) return fail(err, RN_E_ARG, "%s: %s is %zu, at least %zu: %s", name, field, got, first, hint);
    return RN_OK;
}

rn_status sized_check(const struct sized_struct *t, const void *theirs, rn_error *err) {
    if (!theirs) return fail(err, RN_E_ARG, "%s: NULL", t->name);
    return check_size(t->name, "struct_size", size_of(theirs), t->first, t->size, t->hint, err);
}

rn_status sized_read(const struct sized_struct *t, const void *theirs, void *ours, rn_error *err) {
    const rn_status st = theirs ? sized_check(t, theirs, err) : RN_OK;
    if (st != RN_OK) return st;
    copy_defaults(t, ours, t->size);
    if (theirs) memcpy(ours, theirs, size_of(theirs));
    memcpy(ours, &t->size, sizeof t->size);
    return RN_OK;
}

void sized_write(const struct sized_struct *t, const void *ours, void *theirs) {
    const size_t n = smaller(size_of(theirs), t->size), head = sizeof(size_t);
    memcpy((char *)theirs + head, (const char *)ours + head, n - head);
}

rn_status sized_check_stride(const struct sized_array *t, size_t stride, rn_error *err) {
    return check_size(t->name, t->field, stride, t->first, t->size, t->hint, err);
}

void sized_get_element(const struct sized_array *t, const void *array, size_t stride, size_t i, void *ours) {
    const size_t n = smaller(stride, t->size);
    memcpy(ours, (const char *)array + i * stride, n);
    memset((char *)ours + n, 0, t->size - n);
}

void sized_pack(const struct sized_array *t, void *array, size_t n, size_t stride) {
    char *const at = array;
    if (stride == t->size) return;
    for (size_t i = 1; i < n; i++) memmove(at + i * stride, at + i * t->size, stride);
}
