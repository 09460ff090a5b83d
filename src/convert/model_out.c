// convert/model_out.c - see model_out.h.
#include "convert/model_out.h"
#include "base/cpus.h"
#include "convert/requantize.h"
#include "model/model.h"
#include <math.h>

enum { COPY_BYTES = 4 << 20 }; // bytes per write of a tensor that is copied unchanged

struct model_out {
    gguf_writer *w;
    const package *p;
    const struct merges *merges;
    const rn_quantize_options *opt;
    requantizer *q;
    uint64_t done, total;
    rn_error *err;
};

static rn_status write_bytes(struct model_out *m, const uint8_t *bytes, size_t n) {
    rn_status st = package_check_files(m->p, m->err); // before a mapped file is accessed
    if (st == RN_OK) st = gguf_write_data(m->w, bytes, n, m->err);
    if (st != RN_OK) return st;
    m->done += n;
    const rn_quantize_options *o = m->opt;
    if (o->progress && o->progress(o->progress_user, RN_PHASE_WRITE, m->done, m->total))
        return fail(m->err, RN_E_CANCELLED, "writing was cancelled");
    return RN_OK;
}

static rn_status copy_tensor(struct model_out *m, const struct tensor_view *t) {
    rn_status st = RN_OK;
    for (size_t at = 0, n; st == RN_OK && at < t->n_bytes; at += n) {
        n = t->n_bytes - at < COPY_BYTES ? t->n_bytes - at : COPY_BYTES;
        st = write_bytes(m, t->data + at, n);
    }
    return st;
}

static rn_status convert_tensor(struct model_out *m, const struct tensor_plan *plan, uint64_t *n_bytes,
                                double *error) {
    const size_t n_rows = plan->t->n_bytes / plan->t->row_bytes, step = requantizer_rows(m->q, plan);
    struct row_errors sums = {0};
    for (size_t row = 0, n; row < n_rows; row += n) {
        const uint8_t *bytes;
        size_t row_bytes;
        n = n_rows - row < step ? n_rows - row : step;
        rn_status st = package_check_files(m->p, m->err);
        if (st == RN_OK) st = requantize_rows(m->q, plan, row, n, &sums, &bytes, m->err);
        if (st != RN_OK) return st;
        tensor_row_bytes(plan->type, plan->t->ne[0], &row_bytes);
        *n_bytes += n * row_bytes;
        if ((st = write_bytes(m, bytes, n * row_bytes)) != RN_OK) return st;
    }
    *error = sums.square > 0 ? sqrt(sums.difference / sums.square) : 0;
    return RN_OK;
}

static rn_status write_tensor(struct model_out *m, const struct tensor_plan *plan, size_t i, size_t n) {
    const struct tensor_view *t = plan->t;
    rn_tensor_report r = {.struct_size = sizeof r,
                          .index = i,
                          .n_tensors = n,
                          .name = t->name,
                          .type_before = tensor_type_info(t->type)->name,
                          .type_after = tensor_type_info(plan->type)->name,
                          .n_elements = t->ne[0] * t->ne[1] * t->ne[2] * t->ne[3],
                          .bytes_before = t->n_bytes,
                          .note = plan->note};
    rn_status st;
    if (plan->is_merged) {
        struct merge change;
        struct tensor_plan changed = *plan;
        changed.change = &change;
        st = merge_begin(&change, m->merges, t, m->err);
        if (st == RN_OK) st = convert_tensor(m, &changed, &r.bytes_after, &r.error);
        merge_end(&change);
    } else if (plan->type == t->type) {
        st = copy_tensor(m, t);
        r.bytes_after = t->n_bytes;
    } else {
        st = convert_tensor(m, plan, &r.bytes_after, &r.error);
    }
    if (st == RN_OK && m->opt->report) m->opt->report(m->opt->report_user, &r);
    return st;
}

static rn_status start_pool(const rn_quantize_options *opt, pool **threads, rn_error *err) {
    cpus c;
    cpus_detect("", &c);
    return pool_create(opt->n_threads ? opt->n_threads : c.n_threads, threads, err);
}

// Reads the file as a model, before it gets its name: what was converted can be run.
static rn_status check_readable(gguf_writer *w, rn_error *err) {
    const char *path;
    package *p = NULL;
    struct model *m = NULL;
    rn_status st = gguf_writer_preview(w, &path, err);
    if (st != RN_OK) return st;
    st = package_open(path, NULL, &p, err);
    if (st == RN_OK) st = model_build(p, &m, err);
    model_destroy(m);
    package_close(p);
    return st == RN_OK ? RN_OK : fail_in(err, st, "the file made of it would not be readable: nothing was written");
}

rn_status model_write(gguf_writer *w, const package *p, const struct tensor_plan *plans, size_t n,
                      const struct merges *merges, const rn_quantize_options *opt, bool is_checked, rn_error *err) {
    struct model_out m = {.w = w, .p = p, .merges = merges, .opt = opt, .err = err};
    pool *threads = NULL;
    for (size_t i = 0; i < n; i++)
        gguf_put_record(w, plans[i].t->name, plans[i].type, plans[i].t->n_dims, plans[i].t->ne);
    m.total = gguf_writer_data_bytes(w);
    rn_status st = gguf_write_head(w, err);
    if (st == RN_OK) st = start_pool(opt, &threads, err);
    if (st == RN_OK) st = requantizer_create(plans, n, threads, &m.q, err);
    for (size_t i = 0; st == RN_OK && i < n; i++) st = write_tensor(&m, &plans[i], i, n);
    requantizer_destroy(m.q);
    pool_destroy(threads);
    if (st == RN_OK && is_checked) st = check_readable(w, err);
    if (st == RN_OK) return gguf_writer_commit(w, err);
    gguf_writer_abandon(w);
    return st;
}
