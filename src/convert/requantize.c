// convert/requantize.c - see requantize.h.
#include "convert/requantize.h"
#include "base/checked.h"
#include "base/mem.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { CHUNK_ELEMENTS = 1 << 20 }; // elements per call, or one row per thread: about 8 MiB of working memory

struct row_result {
    double difference, square;
    bool bad_source, bad_target;
};

struct requantizer {
    pool *threads;
    float *scratch;    // for each thread one row before and one row after quantizing
    size_t row_floats; // the longest row of all tensors
    uint8_t *bytes;
    struct row_result *results; // [max_rows]
    size_t max_rows;
    // The current call:
    const struct tensor_plan *plan;
    size_t first, n, row_bytes;
};

static size_t n_threads_of(const requantizer *q) { return (size_t)pool_n_threads(q->threads); }

static size_t new_row_bytes(const struct tensor_plan *plan) {
    size_t n = 0;
    tensor_row_bytes(plan->type, plan->t->ne[0], &n); // cannot fail: checked by the plan and the writer
    return n;
}

size_t requantizer_rows(const requantizer *q, const struct tensor_plan *plan) {
    const size_t n = CHUNK_ELEMENTS / plan->t->ne[0];
    return n > n_threads_of(q) ? n : n_threads_of(q);
}

static bool is_converted(const struct tensor_plan *plan) { return plan->type != plan->t->type || plan->is_merged; }

rn_status requantizer_create(const struct tensor_plan *plans, size_t n, pool *threads, requantizer **out,
                             rn_error *err) {
    size_t n_scratch = 0, n_bytes = 0;
    *out = NULL;
    requantizer *q = mem_calloc(1, sizeof *q);
    if (!q) return fail(err, RN_E_NOMEM, "quantizing: out of memory");
    q->threads = threads;
    bool fits = true;
    for (size_t i = 0; i < n; i++) {
        if (!is_converted(&plans[i])) continue;
        const size_t rows = requantizer_rows(q, &plans[i]);
        size_t bytes;
        fits = fits && size_mul(rows, new_row_bytes(&plans[i]), &bytes);
        if (fits && bytes > n_bytes) n_bytes = bytes;
        if (rows > q->max_rows) q->max_rows = rows;
        if (plans[i].t->ne[0] > q->row_floats) q->row_floats = plans[i].t->ne[0];
    }
    q->row_floats = round_up(q->row_floats, 16); // rows of different threads do not share a cache line
    fits = fits && size_mul(q->row_floats, 2 * sizeof(float) * n_threads_of(q), &n_scratch);
    q->scratch = fits ? mem_aligned(n_scratch) : NULL;
    q->bytes = fits ? mem_aligned(n_bytes) : NULL;
    q->results = mem_calloc(q->max_rows, sizeof *q->results);
    if (!q->scratch || !q->bytes || !q->results) {
        fail(err, RN_E_NOMEM, "quantizing: out of memory for rows of %zu", q->row_floats);
        requantizer_destroy(q);
        return RN_E_NOMEM;
    }
    *out = q;
    return RN_OK;
}

void requantizer_destroy(requantizer *q) {
    if (!q) return;
    mem_free(q->scratch);
    mem_free(q->bytes);
    mem_free(q->results);
    mem_free(q);
}

static bool all_finite(const float *x, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (!isfinite(x[i])) return false;
    return true;
}

// The importance of the row's matrix; each matrix of a tensor may have its own.
static const float *importance_of(const struct tensor_plan *plan, size_t row) {
    if (!plan->importance) return NULL;
    const size_t matrix = row / plan->t->ne[1];
    return plan->importance + (plan->n_importance == 1 ? 0 : matrix) * plan->t->ne[0];
}

static struct row_result do_row(const struct tensor_plan *plan, size_t row, float *before, float *after,
                                uint8_t *out) {
    const struct tensor_type_info *type = tensor_type_info(plan->type);
    const size_t k = plan->t->ne[0];
    struct row_result r = {0};
    tensor_type_info(plan->t->type)->dequantize_row(plan->t->data + row * plan->t->row_bytes, before, k);
    if (plan->change) merge_row(plan->change, row, before);
    r.bad_source = !all_finite(before, k);
    if (r.bad_source) return r;
    type->quantize_row(before, importance_of(plan, row), out, k);
    type->dequantize_row(out, after, k);
    r.bad_target = !all_finite(after, k);
    for (size_t i = 0; i < k; i++) {
        const double x = (double)before[i], d = (double)after[i] - x;
        r.difference += d * d;
        r.square += x * x;
    }
    return r;
}

static void rows_of_thread(void *ctx, int i_thread, int n_threads) {
    requantizer *q = ctx;
    float *before = q->scratch + 2 * q->row_floats * (size_t)i_thread, *after = before + q->row_floats;
    size_t begin, end;
    pool_share(q->n, 1, i_thread, n_threads, &begin, &end);
    for (size_t i = begin; i < end; i++)
        q->results[i] = do_row(q->plan, q->first + i, before, after, q->bytes + i * q->row_bytes);
}

rn_status requantize_rows(requantizer *q, const struct tensor_plan *plan, size_t first, size_t n,
                          struct row_errors *sums, const uint8_t **bytes, rn_error *err) {
    q->plan = plan;
    q->first = first;
    q->n = n;
    q->row_bytes = new_row_bytes(plan);
    pool_run(q->threads, rows_of_thread, q);
    for (size_t i = 0; i < n; i++) {
        if (q->results[i].bad_source)
            return fail(err, RN_E_FORMAT, "tensor %s: row %zu has a number that is not finite", plan->t->name,
                        first + i);
        if (q->results[i].bad_target)
            return fail(err, RN_E_FORMAT, "tensor %s: row %zu has a number too large for %s", plan->t->name,
                        first + i, tensor_type_info(plan->type)->name);
        sums->difference += q->results[i].difference;
        sums->square += q->results[i].square;
    }
    *bytes = q->bytes;
    return RN_OK;
}
