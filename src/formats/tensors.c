// formats/tensors.c - adds a tensor of a file after checking its shape, size and position; see
// package_build.h.
#include "base/checked.h"
#include "base/mem.h"
#include "formats/package_build.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MADE_ALIGNMENT = 64 };

rn_status package_reserve_tensors(struct package *p, size_t n, rn_error *err) {
    size_t n_bytes = 0;
    if (size_mul(n, sizeof *p->tensors, &n_bytes)) p->tensors = arena_alloc(&p->arena, n_bytes);
    if (!p->tensors || !name_index_init(&p->tensor_names, n, &p->arena))
        return fail(err, RN_E_NOMEM, "tensors: out of memory for %zu", n);
    p->max_tensors = n;
    return RN_OK;
}

// Fills ne, row_bytes and n_bytes of t from the claimed dimensions.
static rn_status check_shape(const struct tensor_claim *claim, struct tensor_view *t, rn_error *err) {
    const struct tensor_type_info *type = tensor_type_info(claim->type);
    size_t n_rows = 1, n_elements;
    for (int d = 0; d < PACKAGE_MAX_DIMS; d++) t->ne[d] = d < claim->n_dims ? claim->dims[d] : 1;
    for (int d = 0; d < claim->n_dims; d++) {
        if (t->ne[d] == 0) return fail(err, RN_E_FORMAT, "dimension %d is 0", d);
        if (t->ne[d] > INT64_MAX)
            return fail(err, RN_E_FORMAT, "dimension %d is %" PRIu64 ": negative as a signed number", d, t->ne[d]);
        if (d > 0 && !size_mul(n_rows, t->ne[d], &n_rows))
            return fail(err, RN_E_FORMAT, "dimension %d of %" PRIu64 ": the number of rows overflows", d, t->ne[d]);
    }
    if (!size_mul(n_rows, t->ne[0], &n_elements))
        return fail(err, RN_E_FORMAT, "%zu rows of %" PRIu64 ": the number of elements overflows", n_rows, t->ne[0]);
    if (t->ne[0] % type->block_len != 0)
        return fail(err, RN_E_FORMAT, "a row of %" PRIu64 " elements is not a multiple of %s's block of %" PRIu32,
                    t->ne[0], type->name, type->block_len);
    if (!tensor_row_bytes(claim->type, t->ne[0], &t->row_bytes) || !size_mul(t->row_bytes, n_rows, &t->n_bytes))
        return fail(err, RN_E_FORMAT, "%zu rows of %" PRIu64 " elements: the size in bytes overflows", n_rows,
                    t->ne[0]);
    return RN_OK;
}

bool package_made_size(uint64_t n_bytes, size_t *out) { return size_round_up((size_t)n_bytes, MADE_ALIGNMENT, out); }

rn_status package_reserve_made(struct package *p, size_t n_bytes, rn_error *err) {
    if (n_bytes == 0) return RN_OK;
    p->made = mem_pages(n_bytes);
    if (!p->made) return fail(err, RN_E_NOMEM, "tensors: out of memory for %zu bytes in another order", n_bytes);
    p->max_made = n_bytes;
    return RN_OK;
}

// Places the tensor after those already in memory. The bound is checked because the size comes from
// the file's shapes.
static rn_status place_made(struct package *p, struct tensor_view *t, rn_error *err) {
    size_t n;
    if (!package_made_size(t->n_bytes, &n) || n > p->max_made - p->n_made)
        return fail(err, RN_E_FORMAT, "%zu bytes, %zu are left in memory", t->n_bytes, p->max_made - p->n_made);
    t->data = p->made + p->n_made;
    p->n_made += n;
    return RN_OK;
}

uint8_t *package_made_data(struct package *p) { return p->made + (p->tensors[p->n_tensors - 1].data - p->made); }

static rn_status check_tensor(struct package *p, const struct tensor_claim *claim, struct tensor_view *t,
                              rn_error *err) {
    const rn_status st = check_shape(claim, t, err);
    if (st != RN_OK) return st;
    if (!claim->file) return place_made(p, t, err);
    if (!size_fits(claim->offset, t->n_bytes, claim->file->size))
        return fail(err, RN_E_FORMAT, "%zu bytes at byte %" PRIu64 " run past the end of the file (%zu bytes)",
                    t->n_bytes, claim->offset, claim->file->size);
    t->data = claim->file->data + claim->offset;
    return RN_OK;
}

rn_status package_add_tensor(struct package *p, const struct tensor_claim *claim, rn_error *err) {
    struct tensor_view *t = &p->tensors[p->n_tensors];
    *t = (struct tensor_view){.type = claim->type, .n_dims = claim->n_dims};
    t->name = arena_strndup(&p->arena, claim->name, claim->n_name);
    if (!t->name)
        return fail(err, RN_E_NOMEM, "tensors: out of memory for a name of %" PRIu32 " bytes", claim->n_name);
    const uint32_t i = (uint32_t)p->n_tensors;
    const uint32_t first = name_index_add(&p->tensor_names, t->name, claim->n_name, i);
    const rn_status st = first != i
                             ? fail(err, RN_E_FORMAT, "named twice (tensors %" PRIu32 " and %" PRIu32 ")", first, i)
                             : check_tensor(p, claim, t, err);
    if (st != RN_OK) return fail_in(err, st, "tensor %s", t->name);
    p->n_tensors++;
    return RN_OK;
}

rn_status package_begin_anew(struct package *p, size_t n, rn_error *err) {
    p->n_tensors = 0;
    return package_reserve_tensors(p, n, err);
}

void package_keep_tensor(struct package *p, const struct tensor_view *t) {
    name_index_add(&p->tensor_names, t->name, (uint32_t)strlen(t->name), (uint32_t)p->n_tensors);
    p->tensors[p->n_tensors++] = *t;
}

static int by_place(const void *a, const void *b) {
    const uint8_t *x = (*(const struct tensor_view *const *)a)->data;
    const uint8_t *y = (*(const struct tensor_view *const *)b)->data;
    return (x > y) - (x < y);
}

rn_status package_check_overlap(struct package *p, size_t first, const struct file_map *file, rn_error *err) {
    const struct tensor_view *t = p->tensors + first;
    const size_t n = p->n_tensors - first;
    size_t in_order = 1;
    while (in_order < n && t[in_order].data >= t[in_order - 1].data + t[in_order - 1].n_bytes) in_order++;
    if (in_order >= n) return RN_OK; // already sorted, as in nearly every file

    const struct tensor_view **placed = arena_alloc(&p->arena, n * sizeof(const struct tensor_view *));
    if (!placed) return fail(err, RN_E_NOMEM, "tensors: out of memory to sort %zu", n);
    for (size_t i = 0; i < n; i++) placed[i] = &t[i];
    qsort(placed, n, sizeof *placed, by_place);
    for (size_t i = 1; i < n; i++) {
        const struct tensor_view *a = placed[i - 1], *b = placed[i];
        const size_t at = (size_t)(a->data - file->data);
        if (b->data < a->data + a->n_bytes)
            return fail(err, RN_E_FORMAT, "tensor %s: begins at byte %zu, inside tensor %s (bytes %zu..%zu)", b->name,
                        (size_t)(b->data - file->data), a->name, at, at + a->n_bytes - 1);
    }
    return RN_OK;
}
