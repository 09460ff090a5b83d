// convert/imatrix_file.c - see imatrix_file.h.
#include "convert/imatrix_file.h"
#include "base/checked.h"
#include "base/mem.h"
#include "formats/file_kind.h"
#include "formats/limits.h"
#include "tensor/half.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char sums_end[] = ".in_sum2", counts_end[] = ".counts";

static bool ends_with(const struct gguf_record *t, const char *end) {
    const size_t n = strlen(end);
    return t->n_name > n && memcmp(t->name + t->n_name - n, end, n) == 0;
}

// Returns a record's numbers and its shape [k, n], where n is the product of all dimensions but the
// first; NULL with an error if they are not usable.
static const uint8_t *numbers_of(const struct gguf *g, const struct gguf_record *t, size_t *k, size_t *n,
                                 rn_error *err) {
    size_t n_all, n_bytes;
    *n = 1;
    bool fits = t->dims[0] <= SIZE_MAX;
    *k = (size_t)t->dims[0];
    for (uint32_t d = 1; fits && d < t->n_dims; d++) fits = size_mul(*n, t->dims[d], n);
    if (t->type != tensor_type_info(TENSOR_F32)->gguf_id) {
        fail(err, RN_E_FORMAT, "tensor %.*s: is not F32", gguf_shown(t->name, t->n_name), t->name);
    } else if (!fits || !size_mul(*k, *n, &n_all) || !size_mul(n_all, 4, &n_bytes) || n_all == 0 ||
               !size_fits(t->offset, n_bytes, g->size - g->data_start)) {
        fail(err, RN_E_FORMAT, "tensor %.*s: does not lie inside the file", gguf_shown(t->name, t->n_name), t->name);
    } else {
        return g->data + g->data_start + t->offset;
    }
    return NULL;
}

static float number_at(const uint8_t *p, size_t i) { return f32_from_bits(gguf_load_u32(p + 4 * i)); }

// The record with the counts for the sums; NULL: none.
static const struct gguf_record *counts_of(const struct gguf *g, const struct name_index *names,
                                           const struct gguf_record *sums) {
    char name[GGUF_MAX_TENSOR_NAME_BYTES + sizeof counts_end];
    const size_t n = sums->n_name - (sizeof sums_end - 1);
    memcpy(name, sums->name, n);
    memcpy(name + n, counts_end, sizeof counts_end);
    const int64_t i = name_index_find(names, name, strlen(name));
    return i < 0 ? NULL : &g->records[i];
}

// Computes means from sums and counts.
static rn_status fill_means(const uint8_t *sums, const uint8_t *counts, size_t n_counts, size_t k, size_t n,
                            float *mean, rn_error *err) {
    for (size_t j = 0; j < n; j++) {
        const float count = number_at(counts, n_counts == 1 ? 0 : j);
        if (!isfinite(count) || count < 0)
            return fail(err, RN_E_FORMAT, "count %zu is %g, must be 0 or more", j, (double)count);
        for (size_t i = 0; i < k; i++) {
            const float sum = number_at(sums, j * k + i);
            if (!isfinite(sum) || sum < 0)
                return fail(err, RN_E_FORMAT, "sum %zu is %g, must be 0 or more", j * k + i, (double)sum);
            const float m = count > 0 ? sum / count : 1;
            if (!(m <= IMATRIX_MAX_MEAN))
                return fail(err, RN_E_FORMAT, "mean %zu is %g, limit %g", j * k + i, (double)m,
                            (double)IMATRIX_MAX_MEAN);
            mean[j * k + i] = m;
        }
    }
    return RN_OK;
}

static rn_status add_entry(struct imatrix *m, const struct gguf *g, const struct name_index *names,
                           const struct gguf_record *t, rn_error *err) {
    const struct gguf_record *c = counts_of(g, names, t);
    size_t k, n, one, n_counts, n_bytes;
    if (!c)
        return fail(err, RN_E_FORMAT, "tensor %.*s: its %s is missing", gguf_shown(t->name, t->n_name), t->name,
                    counts_end + 1);
    const uint8_t *sums = numbers_of(g, t, &k, &n, err),
                  *counts = sums ? numbers_of(g, c, &one, &n_counts, err) : NULL;
    if (!counts) return RN_E_FORMAT;
    if (one != 1 || (n_counts != 1 && n_counts != n))
        return fail(err, RN_E_FORMAT, "tensor %.*s: %zu x %zu counts for %zu matrices",
                    gguf_shown(c->name, c->n_name), c->name, one, n_counts, n);
    float *mean = size_mul(k * n, sizeof *mean, &n_bytes) ? arena_alloc(&m->arena, n_bytes) : NULL;
    if (!mean) return fail(err, RN_E_NOMEM, "importance matrix: out of memory for %zu numbers", k * n);
    struct imatrix_entry *e = &m->entries[m->n_entries];
    *e = (struct imatrix_entry){t->name, t->n_name - (uint32_t)(sizeof sums_end - 1), k, n, mean};
    name_index_add(&m->names, e->name, e->n_name, (uint32_t)m->n_entries++);
    const rn_status st = fill_means(sums, counts, n_counts, k, n, mean, err);
    return st == RN_OK ? RN_OK : fail_in(err, st, "tensor %.*s", gguf_shown(t->name, t->n_name), t->name);
}

static rn_status read_entries(struct imatrix *m, const struct gguf *g, rn_error *err) {
    struct name_index names;
    m->entries = arena_alloc(&m->arena, g->n_tensors * sizeof *m->entries); // n_tensors is at most GGUF_MAX_TENSORS
    if (!m->entries || !name_index_init(&names, g->n_tensors, &m->arena) ||
        !name_index_init(&m->names, g->n_tensors, &m->arena))
        return fail(err, RN_E_NOMEM, "importance matrix: out of memory for %zu tensors", g->n_tensors);
    for (size_t i = 0; i < g->n_tensors; i++)
        if (name_index_add(&names, g->records[i].name, g->records[i].n_name, (uint32_t)i) != i)
            return fail(err, RN_E_FORMAT, "tensor %.*s: is in the file twice",
                        gguf_shown(g->records[i].name, g->records[i].n_name), g->records[i].name);
    for (size_t i = 0; i < g->n_tensors; i++) {
        const struct gguf_record *t = &g->records[i];
        const rn_status st = ends_with(t, sums_end) ? add_entry(m, g, &names, t, err) : RN_OK;
        if (st != RN_OK) return st;
    }
    if (m->n_entries == 0)
        return fail(err, RN_E_FORMAT, "not an importance matrix: no tensor's name ends in %s", sums_end);
    return RN_OK;
}

rn_status imatrix_read(struct imatrix *m, const uint8_t *data, size_t n, rn_error *err) {
    struct gguf g = {0};
    const struct file_kind kind = file_kind_of(data, n);
    rn_status st = kind.is_gguf ? gguf_read(&g, data, n, err)
                                : fail(err, RN_E_FORMAT, "is %s, not an importance matrix in GGUF form", kind.what);
    if (st == RN_OK) st = read_entries(m, &g, err);
    gguf_free(&g);
    return st;
}

rn_status imatrix_load(struct imatrix *m, const char *path, rn_error *err) {
    rn_status st = file_map_open(path, FILE_LOAD_READ, NULL, NULL, &m->file, err);
    if (st != RN_OK) return st;
    st = imatrix_read(m, m->file.data, m->file.size, err);
    return st == RN_OK ? RN_OK : fail_in(err, st, "%s", path);
}

void imatrix_free(struct imatrix *m) {
    arena_free(&m->arena);
    file_map_close(&m->file);
}

const struct imatrix_entry *imatrix_find(const struct imatrix *m, const char *name) {
    const int64_t i = name_index_find(&m->names, name, strlen(name));
    return i < 0 ? NULL : &m->entries[i];
}

static void put_records(gguf_writer *w, const struct imatrix_sum *s) {
    char name[2 * GGUF_MAX_TENSOR_NAME_BYTES]; // the writer refuses a name that is too long
    snprintf(name, sizeof name, "%s%s", s->name, sums_end);
    gguf_put_record(w, name, TENSOR_F32, 2, (uint64_t[]){s->k, s->n});
    snprintf(name, sizeof name, "%s%s", s->name, counts_end);
    gguf_put_record(w, name, TENSOR_F32, 2, (uint64_t[]){1, s->n});
}

static rn_status write_number(gguf_writer *w, float v, rn_error *err) {
    const uint32_t u = f32_bits(v);
    return gguf_write_data(w, (uint8_t[]){(uint8_t)u, (uint8_t)(u >> 8), (uint8_t)(u >> 16), (uint8_t)(u >> 24)}, 4,
                           err);
}

static rn_status write_sums(gguf_writer *w, const struct imatrix_sum *s, rn_error *err) {
    rn_status st = RN_OK;
    for (size_t i = 0; st == RN_OK && i < s->n * s->k; i++) {
        const uint64_t n_rows = s->n_rows[i / s->k]; // 0: the sum is 0 and tells nothing
        if (s->sum2[i] > (double)IMATRIX_MAX_MEAN * (double)n_rows || !isfinite((float)s->sum2[i]))
            return fail(err, RN_E_FORMAT, "imatrix: the squared inputs of %s are %g in the mean, limit %g", s->name,
                        s->sum2[i] / (double)n_rows, (double)IMATRIX_MAX_MEAN);
        st = write_number(w, (float)s->sum2[i], err);
    }
    for (size_t i = 0; st == RN_OK && i < s->n; i++) st = write_number(w, (float)s->n_rows[i], err);
    return st;
}

rn_status imatrix_save(gguf_writer *w, const struct imatrix_sum *sums, size_t n_sums,
                       const struct imatrix_origin *from, rn_error *err) {
    gguf_put_string(w, "general.type", (struct vocab_str){"imatrix", 7});
    gguf_put_array(w, "imatrix.datasets", GGUF_STRING, from->dataset ? 1 : 0);
    if (from->dataset) gguf_put_item_string(w, (struct vocab_str){from->dataset, (uint32_t)strlen(from->dataset)});
    gguf_put_u32(w, "imatrix.chunk_count", from->n_chunks);
    gguf_put_u32(w, "imatrix.chunk_size", from->chunk_size);
    for (size_t i = 0; i < n_sums; i++)
        if (sums[i].name) put_records(w, &sums[i]);
    rn_status st = gguf_write_head(w, err);
    for (size_t i = 0; st == RN_OK && i < n_sums; i++)
        if (sums[i].name) st = write_sums(w, &sums[i], err);
    if (st == RN_OK) return gguf_writer_commit(w, err);
    gguf_writer_abandon(w);
    return st;
}
