// convert/merge.c - see merge.h.
#include "convert/merge.h"
#include "base/mem.h"
#include <math.h>
#include <string.h>

// The head of a model that shares its embedding has no tensor of its own to write.
static rn_status check_head(const struct adapter_file *f, const package *base, rn_error *err) {
    if (!adapter_file_find(f, "output.weight") || package_tensor(base, "output.weight")) return RN_OK;
    return fail(err, RN_E_UNSUPPORTED,
                "%s: changes the head, which the model shares with its embedding: it cannot be merged alone",
                adapter_file_path(f));
}

rn_status merges_open(struct merges *m, const rn_merge *list, size_t n, const package *base, rn_error *err) {
    if (n && !list) return fail(err, RN_E_ARG, "merges: NULL with n_merges %zu", n);
    if (n > MERGE_MAX) return fail(err, RN_E_LIMIT, "merges: %zu adapters, limit %d", n, MERGE_MAX);
    for (size_t i = 0; i < n; i++) {
        if (!list[i].path || !isfinite(list[i].scale))
            return fail(err, RN_E_ARG, "merges[%zu]: %s", i,
                        list[i].path ? "its scale is not finite" : "has no path");
        rn_status st = adapter_file_open(list[i].path, base, NULL, &m->files[i], err);
        if (st != RN_OK) return st;
        m->scales[m->n++] = list[i].scale;
        if ((st = check_head(m->files[i], base, err)) != RN_OK) return st;
    }
    return RN_OK;
}

void merges_close(struct merges *m) {
    for (size_t i = 0; i < m->n; i++) adapter_file_close(m->files[i]);
    *m = (struct merges){0};
}

bool merges_change(const struct merges *m, const char *tensor) {
    bool any = false;
    for (size_t i = 0; !any && i < m->n; i++) any = adapter_file_find(m->files[i], tensor) != NULL;
    return any;
}

static float *to_floats(const struct tensor_view *t) {
    const size_t n_rows = (size_t)(t->ne[1] * t->ne[2]), k = (size_t)t->ne[0];
    float *const x = mem_calloc(n_rows * k, sizeof *x);
    for (size_t i = 0; x && i < n_rows; i++)
        tensor_type_info(t->type)->dequantize_row(t->data + i * t->row_bytes, x + i * k, k);
    return x;
}

rn_status merge_begin(struct merge *d, const struct merges *m, const struct tensor_view *t, rn_error *err) {
    *d = (struct merge){.t = t};
    for (size_t i = 0; i < m->n; i++) {
        const struct adapter_pair *pair = adapter_file_find(m->files[i], t->name);
        if (!pair) continue;
        struct merge_part *p = &d->parts[d->n++];
        *p = (struct merge_part){pair, pair->scale * m->scales[i], to_floats(&pair->a), to_floats(&pair->b)};
        if (!p->a || !p->b)
            return fail(err, RN_E_NOMEM, "tensor %s: out of memory for an adapter of rank %zu", t->name,
                        (size_t)pair->rank);
    }
    return RN_OK;
}

void merge_end(struct merge *d) {
    for (size_t i = 0; i < d->n; i++) {
        mem_free(d->parts[i].a);
        mem_free(d->parts[i].b);
    }
    d->n = 0;
}

void merge_row(const struct merge *d, size_t row, float *x) {
    const size_t k = (size_t)d->t->ne[0], n_out = (size_t)d->t->ne[1];
    const bool is_lookup = strcmp(d->t->name, "token_embd.weight") == 0;
    for (size_t i = 0; i < d->n; i++) {
        const struct merge_part *p = &d->parts[i];
        const size_t rank = (size_t)p->pair->rank;
        // Of an embedding a row is a token's: B times its row of A. Else the row's numbers of B times A.
        const float *factors = is_lookup ? p->a + row * rank : p->b + row * rank;
        const float *slice = is_lookup ? NULL : p->a + row / n_out * rank * k;
        for (size_t j = 0; j < rank; j++) {
            const float by = p->scale * factors[j];
            for (size_t c = 0; c < k; c++) x[c] = fmaf(by, is_lookup ? p->b[c * rank + j] : slice[j * k + c], x[c]);
        }
    }
}
