// engine/embed.c - embeddings: a stream that reads hidden states, what is made of them, and its public side.
#include "base/checked.h"
#include "base/mem.h"
#include "engine/engine.h"
#include <math.h>
#include <string.h>

// What the file says and what a caller asks for are numbered alike.
_Static_assert((int)RN_POOLING_MODEL == (int)POOLING_NOT_SAID && (int)RN_POOLING_NONE == (int)POOLING_NONE &&
                   (int)RN_POOLING_MEAN == (int)POOLING_MEAN && (int)RN_POOLING_FIRST == (int)POOLING_FIRST &&
                   (int)RN_POOLING_LAST == (int)POOLING_LAST && (int)RN_POOLING_RANK == (int)POOLING_RANK,
               "kinds of pooling");

static const struct {
    const char *name;
    bool from_start;    // rows before the last are read: no cached prefix will do
    bool is_normalized; // unless told otherwise
} poolings[] = {
    [RN_POOLING_MODEL] = {"", false, false},   [RN_POOLING_NONE] = {"none", true, false},
    [RN_POOLING_MEAN] = {"mean", true, true},  [RN_POOLING_FIRST] = {"first", true, true},
    [RN_POOLING_LAST] = {"last", false, true}, [RN_POOLING_RANK] = {"rank", false, false},
};
enum { N_POOLINGS = sizeof poolings / sizeof *poolings };

struct embedding {
    rn_embed_shape shape;
    float *out; // [n_rows][n_row]
};

const char *rn_pooling_name(rn_pooling p) { return (unsigned)p < N_POOLINGS ? poolings[p].name : ""; }

void rn_embed_options_init(rn_embed_options *o) { *o = (rn_embed_options){.struct_size = sizeof *o}; }

// ---- what is asked for ----------------------------------------------------------------------------------------------

static rn_status check_options(const rn_embed_options *o, rn_error *err) {
    if (o->struct_size != sizeof *o)
        return fail(err, RN_E_ARG,
                    "embed_options: struct_size is %zu, this library has %zu: call rn_embed_options_init()",
                    o->struct_size, sizeof *o);
    if ((unsigned)o->pooling >= N_POOLINGS)
        return fail(err, RN_E_ARG, "pooling: %d is outside 0..%d", (int)o->pooling, N_POOLINGS - 1);
    if ((unsigned)o->normalize > RN_NORMALIZE_OFF)
        return fail(err, RN_E_ARG, "normalize: %d is outside 0..%d", (int)o->normalize, RN_NORMALIZE_OFF);
    return RN_OK;
}

static rn_status find_shape(const struct lane *l, const rn_embed_options *o, size_t n_ids, rn_embed_shape *shape,
                            rn_error *err) {
    rn_pooling p = o->pooling;
    if (p == RN_POOLING_MODEL) p = (rn_pooling)model_hparams(l->program)->pooling;
    if (p == RN_POOLING_MODEL) p = RN_POOLING_LAST;
    if (p == RN_POOLING_RANK && l->lm->n_rank == 0)
        return fail(err, RN_E_UNSUPPORTED, "pooling rank: %s has no reranker head (cls.output.weight)",
                    package_path(l->m->pkg));
    if (p == RN_POOLING_RANK && o->normalize == RN_NORMALIZE_L2)
        return fail(err, RN_E_ARG, "normalize: a reranker's scores are not divided by their length");
    const enum normalization said = model_hparams(l->program)->normalization;
    const bool is_normalized = o->normalize != RN_NORMALIZE_DEFAULT
                                   ? o->normalize == RN_NORMALIZE_L2
                                   : poolings[p].is_normalized && said != NORMALIZATION_OFF;
    *shape = (rn_embed_shape){.struct_size = sizeof *shape,
                              .pooling = p,
                              .is_normalized = is_normalized,
                              .n_rows = p == RN_POOLING_NONE ? n_ids : 1,
                              .n_row = (size_t)(p == RN_POOLING_RANK ? l->lm->n_rank : l->lm->n_embd)};
    return RN_OK;
}

rn_status rn_embed_get_shape(rn_engine *engine, size_t model, const rn_embed_options *opt, size_t n_ids,
                             rn_embed_shape *shape, rn_error *err) {
    rn_embed_options defaults;
    if (!engine || !shape) return fail(err, RN_E_ARG, "rn_embed_get_shape: NULL argument");
    if (shape->struct_size != sizeof *shape)
        return fail(err, RN_E_ARG, "embed_shape: struct_size is %zu, this library has %zu", shape->struct_size,
                    sizeof *shape);
    if (model >= engine->n_lanes)
        return fail(err, RN_E_ARG, "model: %zu is outside 0..%zu", model, engine->n_lanes - 1);
    rn_embed_options_init(&defaults);
    const rn_embed_options *o = opt ? opt : &defaults;
    const rn_status st = check_options(o, err);
    return st == RN_OK ? find_shape(&engine->lanes[model], o, n_ids, shape, err) : st;
}

// ---- the step thread's side -----------------------------------------------------------------------------------------

bool embedding_from_start(const struct embedding *m) { return poolings[m->shape.pooling].from_start; }

bool embedding_reads(const struct embedding *m, int32_t i, int32_t n) {
    switch (m->shape.pooling) {
    case RN_POOLING_FIRST: return i == 0;
    case RN_POOLING_LAST:
    case RN_POOLING_RANK: return i == n - 1;
    default: return true;
    }
}

// Rows come in order of positions; after a preemption again from the first one.
static void take_row(struct embedding *m, int32_t i, const float *row) {
    const size_t n = m->shape.n_row;
    if (m->shape.pooling != RN_POOLING_MEAN || i == 0) {
        memcpy(m->out + (m->shape.pooling == RN_POOLING_NONE ? (size_t)i * n : 0), row, n * sizeof *row);
        return;
    }
    for (size_t k = 0; k < n; k++) m->out[k] += row[k];
}

static void softmax(const struct rowmath *rm, float *x, size_t n) {
    const float max = rm->max(x, n), sum = rm->sum_exp(x, n, max);
    rm->exp(x, n, max, x);
    for (size_t k = 0; k < n; k++) x[k] /= sum;
}

static void normalize(float *x, size_t n) {
    double sum = 0;
    for (size_t k = 0; k < n; k++) sum += (double)x[k] * (double)x[k];
    if (sum == 0) return;
    const double length = sqrt(sum);
    for (size_t k = 0; k < n; k++) x[k] = (float)((double)x[k] / length);
}

static rn_status complete(const rn_stream *s, rn_error *err) {
    const struct embedding *m = s->embed;
    const size_t n = m->shape.n_row;
    for (size_t r = 0; r < m->shape.n_rows; r++) {
        float *x = m->out + r * n;
        for (size_t k = 0; k < n; k++)
            if (!isfinite(x[k]))
                return fail(err, RN_E_FORMAT, "embedding: number %zu of row %zu is not finite", k, r);
        for (size_t k = 0; m->shape.pooling == RN_POOLING_MEAN && k < n; k++) x[k] /= (float)s->n_prompt;
        if (m->shape.pooling == RN_POOLING_RANK && model_program(s->lane->program)->rank_softmax)
            softmax(&s->engine->kernels->row, x, n);
        if (m->shape.is_normalized) normalize(x, n);
    }
    return RN_OK;
}

rn_status embedding_absorb(rn_stream *s, const struct stream_rows *p, rn_error *err) {
    struct embedding *m = s->embed;
    lm *l = s->lane->lm;
    const int32_t done = stream_evaluated(s), first = done - (int32_t)p->n;
    for (size_t i = 0; i < p->n; i++) {
        const int32_t at = first + (int32_t)i;
        if (!embedding_reads(m, at, s->n_prompt)) continue;
        take_row(m, at, m->shape.pooling == RN_POOLING_RANK ? lm_rank(l, p->first + i) : lm_hidden(l, p->first + i));
    }
    if (done < s->n_prompt && m->shape.pooling != RN_POOLING_FIRST) return RN_OK;
    const rn_status st = complete(s, err);
    if (st == RN_OK) s->finish = RN_FINISH_STOP;
    return st;
}

void embedding_show(const struct embedding *m, rn_chunk *last) {
    last->embedding = m->out;
    last->n_embedding = m->shape.n_rows * m->shape.n_row;
}

void embedding_destroy(struct embedding *m) {
    if (!m) return;
    mem_free(m->out);
    mem_free(m);
}

// ---- the caller's side ----------------------------------------------------------------------------------------------

static rn_status make_embedding(const rn_embed_shape *shape, struct embedding **out, rn_error *err) {
    size_t n, n_bytes;
    struct embedding *m = mem_calloc(1, sizeof *m);
    if (m && size_mul(shape->n_rows, shape->n_row, &n) && size_mul(n, sizeof *m->out, &n_bytes))
        m->out = mem_alloc(n_bytes);
    if (!m || !m->out) {
        embedding_destroy(m);
        return fail(err, RN_E_NOMEM, "embedding: out of memory for %zu rows of %zu floats", shape->n_rows,
                    shape->n_row);
    }
    m->shape = *shape;
    *out = m;
    return RN_OK;
}

static rn_status create(rn_engine *e, size_t model, const int32_t *ids, size_t n_ids, const rn_embed_options *opt,
                        rn_stream **out, rn_error *err) {
    rn_embed_shape shape = {.struct_size = sizeof shape};
    rn_status st = rn_embed_get_shape(e, model, opt, n_ids, &shape, err);
    if (st == RN_OK) st = stream_create_reader(e, model, ids, n_ids, out, err);
    if (st != RN_OK) return st;
    if (opt) (*out)->client = opt->client, (*out)->salt = opt->cache_salt;
    if ((st = make_embedding(&shape, &(*out)->embed, err)) == RN_OK) return RN_OK;
    stream_destroy(*out);
    *out = NULL;
    return st;
}

rn_status rn_embed_begin(rn_engine *engine, size_t model, const int32_t *ids, size_t n_ids,
                         const rn_embed_options *opt, rn_stream **stream, rn_error *err) {
    if (stream) *stream = NULL;
    if (!engine || !stream) return fail(err, RN_E_ARG, "rn_embed_begin: NULL argument");
    rn_stream *s;
    rn_status st = create(engine, model, ids, n_ids, opt, &s, err);
    if (st != RN_OK) return st;
    if ((st = stream_submit(s, err)) == RN_OK)
        *stream = s;
    else
        stream_destroy(s);
    return st;
}

rn_status rn_embed(rn_engine *engine, size_t model, const int32_t *ids, size_t n_ids, const rn_embed_options *opt,
                   float *out, size_t n_out, rn_error *err) {
    rn_stream *s;
    rn_chunk last = {0};
    if (!engine || !out) return fail(err, RN_E_ARG, "rn_embed: NULL argument");
    rn_status st = create(engine, model, ids, n_ids, opt, &s, err);
    if (st != RN_OK) return st;
    const size_t n = s->embed->shape.n_rows * s->embed->shape.n_row;
    if (n_out != n) {
        stream_destroy(s);
        return fail(err, RN_E_ARG, "n_out: %zu floats, the embedding has %zu", n_out, n);
    }
    if ((st = stream_submit(s, err)) != RN_OK) {
        stream_destroy(s);
        return st;
    }
    if ((st = stream_read_all(s, "embedding", &last, err)) == RN_OK) memcpy(out, last.embedding, n * sizeof *out);
    rn_stream_close(s);
    return st;
}
