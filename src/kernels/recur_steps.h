// kernels/recur_steps.h - one step of each recurrence, as plain loops that vectorize over outputs:
// each set compiles them with its own flags, and the bits do not depend on the vector width.
// docs/arithmetic.md section 7.
#ifndef RN_KERNELS_RECUR_STEPS_H
#define RN_KERNELS_RECUR_STEPS_H

#include "kernels/kernels.h"
#include <math.h>

// y = taps . (state, x), oldest first; then x is shifted into the state.
static inline void conv_step(const float *restrict x, float *restrict state, const float *restrict taps,
                             size_t d_conv, size_t stride, size_t n, float *restrict y) {
    for (size_t c = 0; c < n; c++) y[c] = 0;
    for (size_t k = 0; k + 1 < d_conv; k++)
        for (size_t c = 0; c < n; c++) {
            y[c] = fmaf(taps[k * stride + c], state[k * stride + c], y[c]);
            state[k * stride + c] = k + 2 < d_conv ? state[(k + 1) * stride + c] : x[c];
        }
    for (size_t c = 0; c < n; c++) y[c] = fmaf(taps[(d_conv - 1) * stride + c], x[c], y[c]);
}

// state[n][p] = state[n][p] * decay + b[n] * (dt * x[p]); y[p] = sum over n of c[n] * state[n][p],
// plus d * x[p].
static inline void ssm_step(const struct ssm_step *s, float *restrict state, const float *restrict x,
                            float *restrict y) {
    for (size_t p = 0; p < s->head_dim; p++) y[p] = 0;
    for (size_t n = 0; n < s->d_state; n++, state += s->head_dim) {
        const float b = s->b[n], c = s->c[n];
        for (size_t p = 0; p < s->head_dim; p++) {
            state[p] = fmaf(b, s->dt * x[p], state[p] * s->decay);
            y[p] = fmaf(c, state[p], y[p]);
        }
    }
    for (size_t p = 0; p < s->head_dim; p++) y[p] = fmaf(s->d, x[p], y[p]);
}

// state[k][i] = state[k][i] * decay[k][i] + b[k] * (dt[i] * x[i]); y[i] = sum over k of c[k] * state[k][i], plus d[i] * x[i].
static inline void scan_step(const struct scan_step *s, float *restrict state, const float *restrict x,
                             float *restrict held, float *restrict y) {
    for (size_t i = 0; i < s->n; i++) {
        y[i] = 0;
        held[i] = s->dt[i] * x[i];
    }
    for (size_t k = 0; k < s->d_state; k++, state += s->stride) {
        const float b = s->b[k], c = s->c[k], *const decay = s->decay + k * s->n;
        for (size_t i = 0; i < s->n; i++) {
            state[i] = fmaf(b, held[i], state[i] * decay[i]);
            y[i] = fmaf(c, state[i], y[i]);
        }
    }
    for (size_t i = 0; i < s->n; i++) y[i] = fmaf(s->d[i], x[i], y[i]);
}

// held[i] = sum over k of e[k] * state[k][i]; state[k][i] = state[k][i] * decay[k] + k[k] * v[i] - b[k] * held[i];
// y[i] = sum over k of q[k] * state[k][i].
static inline void rank_one_step(const struct rank_one_step *s, float *restrict state, const float *restrict v,
                                 float *restrict held, float *restrict y) {
    const size_t n = s->v_dim;
    for (size_t i = 0; i < n; i++) held[i] = y[i] = 0;
    for (size_t k = 0; k < s->head_dim; k++) {
        const float first = s->decays_first ? s->decay[k] : 1, e = s->e[k];
        for (size_t i = 0; i < n; i++) {
            state[k * n + i] *= first;
            held[i] = fmaf(e, state[k * n + i], held[i]);
        }
    }
    for (size_t k = 0; k < s->head_dim; k++) {
        const float then = s->decays_first ? 1 : s->decay[k], key = s->k[k], b = -s->b[k], q = s->q[k];
        for (size_t i = 0; i < n; i++) {
            state[k * n + i] = fmaf(b, held[i], fmaf(key, v[i], state[k * n + i] * then));
            y[i] = fmaf(q, state[k * n + i], y[i]);
        }
    }
}

// y[i] = sum over k of q[k] * state[k][i], of the state before plus own[k] * k[k] * v[i], or behind;
// state[k][i] = state[k][i] * decay[k] + k[k] * v[i].
static inline void decay_step(const struct decay_step *s, float *restrict state, const float *restrict v,
                              float *restrict y) {
    const size_t n = s->v_dim;
    for (size_t i = 0; i < n; i++) y[i] = 0;
    for (size_t k = 0; k < s->head_dim; k++, state += n) {
        const float decay = s->decay[k], key = s->k[k], q = s->q[k], before = s->own ? key * s->own[k] : 0;
        if (s->own)
            for (size_t i = 0; i < n; i++) y[i] = fmaf(q, fmaf(before, v[i], state[i]), y[i]);
        for (size_t i = 0; i < n; i++) state[i] = fmaf(key, v[i], state[i] * decay);
        if (!s->own)
            for (size_t i = 0; i < n; i++) y[i] = fmaf(q, state[i], y[i]);
    }
}

// The state decays; its value for the key k moves towards v by the share beta; y is its value for
// the query q.
static inline void delta_step(const struct delta_step *s, float *restrict state, const float *restrict v,
                              float *restrict held, float *restrict y) {
    const size_t n = s->v_dim;
    for (size_t i = 0; i < n; i++) held[i] = y[i] = 0;
    for (size_t k = 0; k < s->head_dim; k++)
        for (size_t i = 0; i < n; i++) {
            state[k * n + i] *= s->decay;
            held[i] = fmaf(s->k[k], state[k * n + i], held[i]);
        }
    for (size_t i = 0; i < n; i++) held[i] = (v[i] - held[i]) * s->beta;
    for (size_t k = 0; k < s->head_dim; k++)
        for (size_t i = 0; i < n; i++) {
            state[k * n + i] = fmaf(s->k[k], held[i], state[k * n + i]);
            y[i] = fmaf(s->q[k], state[k * n + i], y[i]);
        }
}

// Declares and defines a set's functions, and fills its slots.
#define RECUR_DECLARE(set)                                                                                           \
    void set##_conv_step(const float *x, float *state, const float *taps, size_t d_conv, size_t stride, size_t n,    \
                         float *y);                                                                                  \
    void set##_ssm_step(const struct ssm_step *s);                                                                   \
    void set##_scan_step(const struct scan_step *s);                                                                 \
    void set##_rank_one_step(const struct rank_one_step *s);                                                         \
    void set##_decay_step(const struct decay_step *s);                                                               \
    void set##_delta_step(const struct delta_step *s)
#define RECUR_DEFINE(set)                                                                                            \
    void set##_conv_step(const float *x, float *state, const float *taps, size_t d_conv, size_t stride, size_t n,    \
                         float *y) {                                                                                 \
        conv_step(x, state, taps, d_conv, stride, n, y);                                                             \
    }                                                                                                                \
    void set##_ssm_step(const struct ssm_step *s) { ssm_step(s, s->state, s->x, s->y); }                             \
    void set##_scan_step(const struct scan_step *s) { scan_step(s, s->state, s->x, s->held, s->y); }                 \
    void set##_rank_one_step(const struct rank_one_step *s) { rank_one_step(s, s->state, s->v, s->held, s->y); }     \
    void set##_decay_step(const struct decay_step *s) { decay_step(s, s->state, s->v, s->y); }                       \
    void set##_delta_step(const struct delta_step *s) { delta_step(s, s->state, s->v, s->held, s->y); }              \
    _Static_assert(1, "")
#define RECUR(set)                                                                                                   \
    .conv_step = set##_conv_step, .ssm_step = set##_ssm_step, .scan_step = set##_scan_step,                          \
    .rank_one_step = set##_rank_one_step, .decay_step = set##_decay_step, .delta_step = set##_delta_step

#endif
