// decoding/embed_strategy.c - a text's embedding: hidden states of its rows, pooled; or a reranker's scores.
#include "base/mem.h"
#include "decoding/strategies.h"
#include "kernels/rowmath.h"
#include <math.h>
#include <string.h>

struct embed_strategy {
    strategy base;
    struct embed_params p;
    const struct rowmath *rowmath;
    int32_t n_prompt;
    int32_t n_seen; // rows of the prompt that were taken
};

// Those that read one row read one row; the others all.
static const struct {
    bool reads_all, reads_first, is_mean;
} readings[] = {[EMBED_EACH] = {.reads_all = true},
                [EMBED_MEAN] = {.reads_all = true, .is_mean = true},
                [EMBED_FIRST] = {.reads_first = true},
                [EMBED_LAST] = {0},
                [EMBED_RANK] = {0},
                [EMBED_RANK_FIRST] = {.reads_first = true},
                [EMBED_RANK_MEAN] = {.reads_all = true, .is_mean = true}};

static bool reads(const struct embed_strategy *s, int32_t at) {
    if (readings[s->p.pooling].reads_all) return true;
    return at == (readings[s->p.pooling].reads_first ? 0 : s->n_prompt - 1);
}

static int32_t prompt_from(const strategy *base) {
    const struct embed_strategy *s = (const struct embed_strategy *)base;
    int32_t at = s->n_seen;
    while (at < s->n_prompt && !reads(s, at)) at++;
    return at;
}

static uint32_t prompt_wants(const strategy *base, int32_t at) {
    return reads((const struct embed_strategy *)base, at) ? LM_WANT_HIDDEN : 0;
}

static void take_row(struct embed_strategy *s, int32_t at, const float *row) {
    const size_t n = s->p.n_row;
    if (!readings[s->p.pooling].is_mean || at == 0) {
        memcpy(s->p.out + (s->p.pooling == EMBED_EACH ? (size_t)at * n : 0), row, n * sizeof *row);
        return;
    }
    for (size_t k = 0; k < n; k++) s->p.out[k] += row[k];
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

static rn_status complete(const struct embed_strategy *s, rn_error *err) {
    const size_t n = s->p.n_row, n_rows = s->p.pooling == EMBED_EACH ? (size_t)s->n_prompt : 1;
    for (size_t r = 0; r < n_rows; r++) {
        float *x = s->p.out + r * n;
        for (size_t k = 0; k < n; k++)
            if (!isfinite(x[k]))
                return fail(err, RN_E_FORMAT, "embedding: number %zu of row %zu is not finite", k, r);
        for (size_t k = 0; readings[s->p.pooling].is_mean && k < n; k++) x[k] /= (float)s->n_prompt;
        if (s->p.softmax) softmax(s->rowmath, x, n);
        for (size_t k = 0; s->p.sigmoid && k < n; k++) x[k] = (float)(1 / (1 + exp_f64(-(double)x[k])));
        if (s->p.normalize) normalize(x, n);
    }
    return RN_OK;
}

static rn_status absorb(strategy *base, const struct row_results *r, const struct emitter *out, rn_error *err) {
    struct embed_strategy *s = (struct embed_strategy *)base;
    const int32_t end = r->at + (int32_t)r->n;
    for (int32_t at = s->n_seen > r->at ? s->n_seen : r->at; at < end; at++) {
        const size_t row = r->first + (size_t)(at - r->at);
        if (!reads(s, at)) continue;
        take_row(s, at, s->p.pooling >= EMBED_RANK ? lm_rank(r->model, row) : lm_hidden(r->model, row));
    }
    s->n_seen = end;
    if (prompt_from(base) < s->n_prompt) return RN_OK;
    const rn_status st = complete(s, err);
    if (st == RN_OK) out->ops->end(out->user, STRATEGY_END_STOP);
    return st;
}

static void destroy(strategy *base) { mem_free(base); }

static const struct strategy_ops ops = {
    .prompt_from = prompt_from, .prompt_wants = prompt_wants, .absorb = absorb, .destroy = destroy};

rn_status embed_strategy_create(const struct strategy_spec *spec, strategy **out, rn_error *err) {
    struct embed_strategy *s = mem_alloc(sizeof *s);
    *out = NULL;
    if (!s) return fail(err, RN_E_NOMEM, "embedding: out of memory");
    *s = (struct embed_strategy){.base = {.ops = &ops},
                                 .p = *(const struct embed_params *)spec->params,
                                 .rowmath = spec->rowmath,
                                 .n_prompt = spec->n_prompt};
    *out = &s->base;
    return RN_OK;
}
