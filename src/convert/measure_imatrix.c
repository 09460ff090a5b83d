// convert/measure_imatrix.c - rn_imatrix(): sums the squared inputs of every matrix over a text.
#include "base/mem.h"
#include "base/sized_struct.h"
#include "convert/imatrix_file.h"
#include "formats/limits.h"
#include <math.h>
#include <runnel/tools.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_CHUNK = 512, MIN_CHUNK = 2 };

struct measure {
    struct imatrix_sum *sums; // indexed by the matrix's number
    size_t n_sums, room;
    const char *bad; // name of a matrix whose input is not finite
    bool no_memory;
};

// The sums of a matrix, initially 0. Matrices arrive in order, but some may never be multiplied.
static struct imatrix_sum *sum_of(struct measure *m, const rn_input *in) {
    const size_t i = (size_t)in->matrix, n = (size_t)in->n_experts;
    if (i >= m->room) {
        const size_t room = 2 * (i + 1);
        struct imatrix_sum *more = mem_realloc(m->sums, room * sizeof *more);
        if (!more) return NULL;
        memset(more + m->room, 0, (room - m->room) * sizeof *more);
        m->sums = more;
        m->room = room;
    }
    struct imatrix_sum *s = &m->sums[i];
    if (s->name) return s;
    s->sum2 = mem_calloc(n * in->k, sizeof *s->sum2);
    s->n_rows = mem_calloc(n, sizeof *s->n_rows);
    if (i >= m->n_sums) m->n_sums = i + 1;
    if (!s->sum2 || !s->n_rows) return NULL;
    s->name = in->name;
    s->k = in->k;
    s->n = n;
    return s;
}

static bool take_input(void *user, const rn_input *in) {
    struct measure *m = user;
    struct imatrix_sum *s = sum_of(m, in);
    m->no_memory = !s;
    if (!s) return true;
    double *const sum2 = s->sum2 + (size_t)in->expert * in->k;
    for (size_t i = 0; i < in->k; i++) {
        if (!isfinite(in->x[i])) m->bad = in->name;
        sum2[i] += (double)in->x[i] * (double)in->x[i];
    }
    s->n_rows[in->expert]++;
    return m->bad != NULL;
}

static void measure_free(struct measure *m) {
    for (size_t i = 0; i < m->n_sums; i++) {
        mem_free(m->sums[i].sum2);
        mem_free(m->sums[i].n_rows);
    }
    mem_free(m->sums);
}

// The text in chunks of at most `size` tokens, each with the begin token in front, which is not
// repeated if the text begins with it.
struct chunks {
    const int32_t *ids;
    size_t n_ids;
    int32_t begin; // -1: none
    int32_t *chunk;
    size_t size;
};

// Fills the chunk that begins with ids[*at] and advances *at. Returns its number of tokens.
static size_t fill_chunk(const struct chunks *c, size_t *at) {
    const size_t head = c->begin >= 0 && !(*at == 0 && c->ids[0] == c->begin);
    const size_t left = c->n_ids - *at, n = left < c->size - head ? left : c->size - head;
    c->chunk[0] = c->begin;
    memcpy(c->chunk + head, c->ids + *at, n * sizeof *c->ids);
    *at += n;
    return head + n;
}

static rn_status observe_all(rn_engine *engine, size_t model, const struct chunks *c, const rn_imatrix_options *opt,
                             struct measure *m, uint32_t *n_chunks, rn_error *err) {
    for (size_t at = 0; at < c->n_ids; ++*n_chunks) {
        const size_t n = fill_chunk(c, &at);
        const rn_status st = rn_observe(engine, model, c->chunk, n, take_input, m, err);
        if (m->no_memory)
            return fail(err, RN_E_NOMEM, "imatrix: out of memory for the sums of %zu matrices", m->n_sums);
        if (m->bad) return fail(err, RN_E_FORMAT, "imatrix: an input of %s is not finite", m->bad);
        if (st != RN_OK) return st;
        if (opt->progress && opt->progress(opt->progress_user, RN_PHASE_PREFILL, at, c->n_ids))
            return fail(err, RN_E_CANCELLED, "imatrix: stopped after %zu of %zu tokens", at, c->n_ids);
    }
    return RN_OK;
}

static int by_name(const void *a, const void *b) {
    const struct imatrix_sum *x = a, *y = b;
    if (!x->name || !y->name) return !x->name - !y->name;
    return strcmp(x->name, y->name);
}

static rn_status measure_text(rn_engine *engine, size_t model, struct chunks *c, const rn_imatrix_options *opt,
                              gguf_writer *w, rn_error *err) {
    struct measure m = {0};
    struct imatrix_origin from = {.dataset = opt->dataset, .chunk_size = (uint32_t)c->size};
    c->chunk = mem_alloc(c->size * sizeof *c->chunk);
    rn_status st = c->chunk ? observe_all(engine, model, c, opt, &m, &from.n_chunks, err)
                            : fail(err, RN_E_NOMEM, "imatrix: out of memory for chunks of %zu tokens", c->size);
    if (st == RN_OK) {
        qsort(m.sums, m.n_sums, sizeof *m.sums, by_name);
        st = imatrix_save(w, m.sums, m.n_sums, &from, err);
    } else {
        gguf_writer_abandon(w);
    }
    measure_free(&m);
    mem_free(c->chunk);
    return st;
}

static const struct sized_struct imatrix_options = {
    "imatrix_options", "call rn_imatrix_options_init()", SIZED_FIRST(rn_imatrix_options, progress_user),
    sizeof(rn_imatrix_options), &(const rn_imatrix_options){.begin_token = -1}};

void rn_imatrix_options_init_sized(rn_imatrix_options *o, size_t struct_size) {
    sized_init(&imatrix_options, o, struct_size);
}

rn_status rn_imatrix(rn_engine *engine, size_t model, const int32_t *ids, size_t n_ids, const char *out,
                     const rn_imatrix_options *opt, rn_error *err) {
    rn_imatrix_options own;
    rn_engine_info info = {.struct_size = sizeof info};
    gguf_writer *w;
    if (!engine || (!ids && n_ids) || !out) return fail(err, RN_E_ARG, "rn_imatrix: NULL argument");
    rn_status st = sized_read(&imatrix_options, opt, &own, err);
    if (st != RN_OK) return st;
    opt = &own;
    if (n_ids == 0) return fail(err, RN_E_ARG, "ids: none given");
    if ((st = rn_engine_get_info(engine, model, &info, err)) != RN_OK) return st;
    const int32_t size = opt->n_chunk ? opt->n_chunk : info.n_ctx < DEFAULT_CHUNK ? info.n_ctx : DEFAULT_CHUNK;
    if (size < MIN_CHUNK || size > info.n_ctx)
        return fail(err, RN_E_ARG, "n_chunk: %d is outside %d..%d, the context", size, MIN_CHUNK, info.n_ctx);
    struct chunks c = {.ids = ids, .n_ids = n_ids, .begin = opt->begin_token, .size = (size_t)size};
    st = gguf_writer_create(out, GGUF_DEFAULT_ALIGNMENT, &w, err);
    return st == RN_OK ? measure_text(engine, model, &c, opt, w, err) : st;
}
