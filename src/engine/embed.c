// engine/embed.c - the public API of embeddings; decoding/embed_strategy.c computes them.
#include "base/checked.h"
#include "base/mem.h"
#include "engine/engine.h"
#include "engine/public_structs.h"
#include <string.h>

// The file's and the API's kinds of pooling have the same numbers.
_Static_assert((int)RN_POOLING_MODEL == (int)POOLING_NOT_SAID && (int)RN_POOLING_NONE == (int)POOLING_NONE &&
                   (int)RN_POOLING_MEAN == (int)POOLING_MEAN && (int)RN_POOLING_FIRST == (int)POOLING_FIRST &&
                   (int)RN_POOLING_LAST == (int)POOLING_LAST && (int)RN_POOLING_RANK == (int)POOLING_RANK,
               "kinds of pooling");

static const struct {
    const char *name;
    enum embed_pooling pooling;
    bool is_normalized; // by default
} poolings[] = {
    [RN_POOLING_MODEL] = {"", EMBED_LAST, false},   [RN_POOLING_NONE] = {"none", EMBED_EACH, false},
    [RN_POOLING_MEAN] = {"mean", EMBED_MEAN, true}, [RN_POOLING_FIRST] = {"first", EMBED_FIRST, true},
    [RN_POOLING_LAST] = {"last", EMBED_LAST, true}, [RN_POOLING_RANK] = {"rank", EMBED_RANK, false},
};
enum { N_POOLINGS = sizeof poolings / sizeof *poolings };

struct embedding {
    rn_embed_shape shape;
    float *out; // [n_rows][n_row]
};

const char *rn_pooling_name(rn_pooling p) { return (unsigned)p < N_POOLINGS ? poolings[p].name : ""; }

// ---- the request ----------------------------------------------------------------------------------------------------

static rn_status read_options(const rn_embed_options *theirs, rn_embed_options *o, rn_error *err) {
    const rn_status st = sized_read(&public_embed_options, theirs, o, err);
    if (st != RN_OK) return st;
    if ((unsigned)o->pooling >= N_POOLINGS)
        return fail(err, RN_E_ARG, "pooling: %d is outside 0..%d", (int)o->pooling, N_POOLINGS - 1);
    if ((unsigned)o->normalize > RN_NORMALIZE_OFF)
        return fail(err, RN_E_ARG, "normalize: %d is outside 0..%d", (int)o->normalize, RN_NORMALIZE_OFF);
    return RN_OK;
}

static rn_status find_shape(const struct model_slot *l, const rn_embed_options *o, size_t n_ids,
                            rn_embed_shape *shape, rn_error *err) {
    rn_pooling p = o->pooling;
    if (p == RN_POOLING_MODEL) p = (rn_pooling)model_hparams(l->program)->pooling;
    if (p == RN_POOLING_MODEL)
        p = !model_slot_sees_whole_text(l) ? RN_POOLING_LAST : l->lm->n_rank > 0 ? RN_POOLING_RANK : RN_POOLING_MEAN;
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
    rn_embed_options o;
    rn_embed_shape own;
    if (!engine) return fail(err, RN_E_ARG, "rn_embed_get_shape: NULL argument");
    rn_status st = sized_check(&public_embed_shape, shape, err);
    if (st != RN_OK) return st;
    if (model >= engine->n_models)
        return fail(err, RN_E_ARG, "model: %zu is outside 0..%zu", model, engine->n_models - 1);
    if ((st = read_options(opt, &o, err)) != RN_OK) return st;
    if ((st = find_shape(&engine->model_slots[model], &o, n_ids, &own, err)) == RN_OK)
        sized_write(&public_embed_shape, &own, shape);
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
    rn_embed_options o;
    rn_embed_shape shape = {.struct_size = sizeof shape};
    struct embedding *m = NULL;
    rn_status st = read_options(opt, &o, err);
    if (st == RN_OK && o.n_first > n_ids)
        st = fail(err, RN_E_ARG, "n_first: %zu, of a pair of %zu tokens", o.n_first, n_ids);
    if (st == RN_OK) st = rn_embed_get_shape(e, model, &o, n_ids, &shape, err);
    struct lm_adapters adapters = {0};
    if (st == RN_OK && o.own_adapters)
        st = model_slot_read_adapters(&e->model_slots[model], o.adapters, o.n_adapters, &adapters, err);
    if (st == RN_OK) st = make_embedding(&shape, &m, err);
    if (st != RN_OK) return st;
    const struct model_slot *const l = &e->model_slots[model];
    const bool is_encoder_rank = shape.pooling == RN_POOLING_RANK && model_slot_sees_whole_text(l);
    const struct embed_params params = {
        .pooling = !is_encoder_rank                                                 ? poolings[shape.pooling].pooling
                   : model_hparams(l->program)->rank_pooling == RANK_MEAN_OF_SCORES ? EMBED_RANK_MEAN
                                                                                    : EMBED_RANK_FIRST,
        .softmax = shape.pooling == RN_POOLING_RANK && model_program(e->model_slots[model].program)->rank_softmax,
        .sigmoid = is_encoder_rank && o.n_first > 0 && shape.n_row == 1 && !model_hparams(l->program)->rank_raw,
        .normalize = shape.is_normalized,
        .n_row = shape.n_row,
        .out = m->out,
    };
    if ((st = stream_create_reader(e, model, ids, n_ids, "embed", &params, out, err)) != RN_OK) {
        embedding_destroy(m);
        return st;
    }
    (*out)->embed = m;
    if (l->lm->n_row_kinds > 1 && package_vocab(l->m->pkg)->pair.has_second_kind)
        (*out)->n_first_kind = (int32_t)o.n_first;
    if (o.own_adapters) (*out)->prefix.adapters = adapters;
    (*out)->turn.client = o.client, (*out)->prefix.salt = o.cache_salt;
    (*out)->prefix.whole_pages = o.cache_whole_pages;
    return RN_OK;
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
    rn_chunk last;
    rn_chunk_init(&last);
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
