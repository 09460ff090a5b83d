// formats/tensors.c - believes a tensor of a file only when its shape, size and place hold; see package_build.h.
#include "base/checked.h"
#include "formats/package_build.h"
#include <inttypes.h>
#include <stdlib.h>

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
        return fail(err, RN_E_FORMAT, "a row of %" PRIu64 " elements is no multiple of %s's block of %" PRIu32,
                    t->ne[0], type->name, type->block_len);
    if (!tensor_row_bytes(claim->type, t->ne[0], &t->row_bytes) || !size_mul(t->row_bytes, n_rows, &t->n_bytes))
        return fail(err, RN_E_FORMAT, "%zu rows of %" PRIu64 " elements: the size in bytes overflows", n_rows,
                    t->ne[0]);
    return RN_OK;
}

static rn_status check_tensor(struct package *p, const struct tensor_claim *claim, struct tensor_view *t,
                              rn_error *err) {
    const rn_status st = check_shape(claim, t, err);
    if (st != RN_OK) return st;
    if (!size_fits(claim->offset, t->n_bytes, p->file.size))
        return fail(err, RN_E_FORMAT, "%zu bytes at byte %" PRIu64 " run past the end of the file (%zu bytes)",
                    t->n_bytes, claim->offset, p->file.size);
    t->data = p->file.data + claim->offset;
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

static int by_place(const void *a, const void *b) {
    const uint8_t *x = (*(const struct tensor_view *const *)a)->data;
    const uint8_t *y = (*(const struct tensor_view *const *)b)->data;
    return (x > y) - (x < y);
}

rn_status package_check_overlap(struct package *p, rn_error *err) {
    size_t in_order = 1;
    while (in_order < p->n_tensors &&
           p->tensors[in_order].data >= p->tensors[in_order - 1].data + p->tensors[in_order - 1].n_bytes)
        in_order++;
    if (in_order >= p->n_tensors) return RN_OK; // as nearly every file is written

    const struct tensor_view **placed = arena_alloc(&p->arena, p->n_tensors * sizeof(const struct tensor_view *));
    if (!placed) return fail(err, RN_E_NOMEM, "tensors: out of memory to sort %zu", p->n_tensors);
    for (size_t i = 0; i < p->n_tensors; i++) placed[i] = &p->tensors[i];
    qsort(placed, p->n_tensors, sizeof *placed, by_place);
    for (size_t i = 1; i < p->n_tensors; i++) {
        const struct tensor_view *a = placed[i - 1], *b = placed[i];
        if (b->data < a->data + a->n_bytes)
            return fail(err, RN_E_FORMAT, "tensor %s: begins at byte %zu, inside tensor %s (bytes %zu..%zu)", b->name,
                        (size_t)(b->data - p->file.data), a->name, (size_t)(a->data - p->file.data),
                        (size_t)(a->data - p->file.data) + a->n_bytes - 1);
    }
    return RN_OK;
}
