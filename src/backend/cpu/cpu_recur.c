// backend/cpu/cpu_recur.c - recurrent ops: threads claim heads or channels and process all rows of each in order, since each row continues
// from the state of the row before it.
#include "backend/cpu/cpu_run.h"
#include "base/checked.h"
#include <math.h>
#include <string.h>

enum { CONV_CHANNELS = 256, SCAN_CHANNELS = 64 }; // channels of a piece

// Copies the row's state to the slot that the row writes: n_rows pieces of n floats, `stride` apart, from float `at` on.
static float *state_of(const struct cpu_backend *b, size_t r, size_t at, size_t n_rows, size_t stride, size_t n) {
    const struct batch_state *s = &b->batch->rows[r].state;
    float *const to = (float *)(void *)cpu_state(b, s->to) + at;
    if (s->from == s->to) return to;
    for (size_t i = 0; i < n_rows; i++)
        if (s->from < 0)
            memset(to + i * stride, 0, n * sizeof *to);
        else
            memcpy(to + i * stride, (const float *)(const void *)cpu_state(b, s->from) + at + i * stride,
                   n * sizeof *to);
    return to;
}

static size_t conv_pieces(const struct op_run *x) { return ceil_div((size_t)x->o->op.width, CONV_CHANNELS); }

static void conv_piece(const struct op_run *x, size_t i) {
    const struct op *o = &x->o->op;
    const size_t first = i * CONV_CHANNELS, stride = (size_t)o->width, d_conv = (size_t)x->b->p->recurrence.d_conv;
    const size_t n = stride - first < CONV_CHANNELS ? stride - first : CONV_CHANNELS;
    for (size_t r = 0; r < x->n_rows; r++) {
        float *const y = run_dst(x, r) + first;
        x->b->k->conv_step(run_src(x, r) + first, state_of(x->b, r, o->state.at + first, d_conv - 1, stride, n),
                           o->weights.vec + first, d_conv, stride, n, y);
        if (o->weights.vec2) x->b->k->add(y, o->weights.vec2 + first, n);
    }
}

static void shift_piece(const struct op_run *x, size_t i) {
    const struct op *o = &x->o->op;
    const size_t first = i * CONV_CHANNELS, width = (size_t)o->width;
    const size_t n = width - first < CONV_CHANNELS ? width - first : CONV_CHANNELS;
    for (size_t r = 0; r < x->n_rows; r++) {
        float *const y = run_dst(x, r) + first, *const state = state_of(x->b, r, o->state.at + first, 1, 0, n);
        const float *const row = run_src(x, r) + first;
        for (size_t c = 0; c < n; c++) {
            y[c] = state[c] - row[c];
            state[c] = row[c];
        }
    }
}

static size_t head_pieces(const struct op_run *x) { return (size_t)x->b->p->recurrence.n_head; }

static size_t pair_of(const struct recurrence *q, size_t head) {
    const size_t n_group = (size_t)q->n_group;
    return q->is_tiled ? head % n_group : head / ((size_t)q->n_head / n_group);
}

static void ssm_piece(const struct op_run *x, size_t h) {
    const struct op *o = &x->o->op;
    const struct recurrence *q = &x->b->p->recurrence;
    const size_t v_dim = (size_t)q->v_dim, key_dim = (size_t)q->key_dim, pair = pair_of(q, h);
    for (size_t r = 0; r < x->n_rows; r++) {
        const float *const row = run_src(x, r), *const b = row + (size_t)q->n_head * v_dim + pair * key_dim;
        const float dt = run_src2(x, r)[h];
        x->b->k->ssm_step(
            &(struct ssm_step){.head_dim = v_dim,
                               .d_state = key_dim,
                               .state = state_of(x->b, r, o->state.at + h * v_dim * key_dim, 1, 0, v_dim * key_dim),
                               .x = row + h * v_dim,
                               .b = b,
                               .c = b + (size_t)q->n_group * key_dim,
                               .dt = dt,
                               .decay = exp_f32(dt * o->weights.vec[h]),
                               .d = o->weights.vec2[h],
                               .y = run_dst(x, r) + h * v_dim});
    }
}

static size_t scan_pieces(const struct op_run *x) { return ceil_div((size_t)x->o->op.width, SCAN_CHANNELS); }

static void scan_piece(const struct op_run *x, size_t i) {
    const struct op *o = &x->o->op;
    const struct kernel_set *k = x->b->k;
    const size_t first = i * SCAN_CHANNELS, stride = (size_t)o->width, d_state = (size_t)x->b->p->recurrence.key_dim;
    const size_t n = stride - first < SCAN_CHANNELS ? stride - first : SCAN_CHANNELS;
    float *const held = cpu_scratch(x->b, x->i_thread), *const decay = held + SCAN_CHANNELS;
    for (size_t r = 0; r < x->n_rows; r++) {
        const float *const row = run_src(x, r), *const dt = run_src2(x, r) + first;
        for (size_t s = 0; s < d_state; s++)
            for (size_t c = 0; c < n; c++) decay[s * n + c] = dt[c] * o->weights.vec[s * stride + first + c];
        k->row.exp(decay, d_state * n, 0, decay);
        k->scan_step(&(struct scan_step){.n = n,
                                         .d_state = d_state,
                                         .stride = stride,
                                         .state = state_of(x->b, r, o->state.at + first, d_state, stride, n),
                                         .x = row + first,
                                         .d = o->weights.vec2 + first,
                                         .dt = dt,
                                         .decay = decay,
                                         .b = row + stride,
                                         .c = row + stride + d_state,
                                         .held = held,
                                         .y = run_dst(x, r) + first});
    }
}

// Of OP_RANK_ONE's src: what each part of it has of a head.
enum { RANK_ONE_Q, RANK_ONE_DECAY, RANK_ONE_K, RANK_ONE_E, RANK_ONE_B, RANK_ONE_V };
static const float *rank_one_part(const struct recurrence *q, const float *row, int part, size_t head) {
    const size_t n = (size_t)q->key_dim;
    return row + (size_t)part * (size_t)q->n_head * n + head * (part == RANK_ONE_V ? (size_t)q->v_dim : n);
}

static void rank_one_piece(const struct op_run *x, size_t h) {
    const struct op *o = &x->o->op;
    const struct kernel_set *k = x->b->k;
    const struct recurrence *q = &x->b->p->recurrence;
    const size_t v_dim = (size_t)q->v_dim, key_dim = (size_t)q->key_dim;
    float *const held = cpu_scratch(x->b, x->i_thread), *const decay = held + v_dim;
    for (size_t r = 0; r < x->n_rows; r++) {
        const float *const row = run_src(x, r);
        k->row.exp(rank_one_part(q, row, RANK_ONE_DECAY, h), key_dim, 0, decay);
        k->rank_one_step(&(struct rank_one_step){
            .head_dim = key_dim,
            .v_dim = v_dim,
            .decays_first = o->rank_one.decays_first,
            .state = state_of(x->b, r, o->state.at + h * v_dim * key_dim, 1, 0, v_dim * key_dim),
            .q = rank_one_part(q, row, RANK_ONE_Q, h),
            .decay = decay,
            .k = rank_one_part(q, row, RANK_ONE_K, h),
            .e = rank_one_part(q, row, RANK_ONE_E, h),
            .b = rank_one_part(q, row, RANK_ONE_B, h),
            .v = rank_one_part(q, row, RANK_ONE_V, h),
            .held = held,
            .y = run_dst(x, r) + h * v_dim});
    }
}

static void decay_piece(const struct op_run *x, size_t h) {
    const struct op *o = &x->o->op;
    const struct kernel_set *k = x->b->k;
    const struct recurrence *q = &x->b->p->recurrence;
    const size_t n = (size_t)q->key_dim, v_dim = (size_t)q->v_dim, n_q = (size_t)q->n_head * n;
    const float *const own = o->weights.vec;
    float *const decay = cpu_scratch(x->b, x->i_thread), *const moved = decay + n;
    for (size_t r = 0; r < x->n_rows; r++) {
        const float *const row = run_src(x, r), *key = row + 2 * n_q + pair_of(q, h) * n;
        k->row.exp(row + n_q + h * n, n, 0, decay);
        k->scale(decay, -1, n);
        k->row.exp(decay, n, 0, decay);
        for (size_t i = 0; i < n && !own; i++) moved[i] = fmaf(-key[i], decay[i], key[i]);
        if (!own) key = moved;
        k->decay_step(&(struct decay_step){.head_dim = n,
                                           .v_dim = v_dim,
                                           .state = state_of(x->b, r, o->state.at + h * v_dim * n, 1, 0, v_dim * n),
                                           .q = row + h * n,
                                           .decay = decay,
                                           .k = key,
                                           .own = own ? own + h * n : NULL,
                                           .v = row + 2 * n_q + (size_t)q->n_group * n + pair_of(q, h) * v_dim,
                                           .y = run_dst(x, r) + h * v_dim});
    }
}

void recur_bonus(const struct op_run *x, size_t begin, size_t end) {
    const struct recurrence *q = &x->b->p->recurrence;
    const size_t key_dim = (size_t)q->key_dim, v_dim = (size_t)q->v_dim;
    for (size_t r = begin; r < end; r++)
        for (size_t h = 0; h < (size_t)q->n_head; h++) {
            const float *const row = run_src(x, r), *const query = rank_one_part(q, row, RANK_ONE_Q, h);
            const float *const key = rank_one_part(q, row, RANK_ONE_K, h), *const u = x->o->op.weights.vec;
            const float *const v = rank_one_part(q, row, RANK_ONE_V, h);
            float *const y = run_dst(x, r) + h * v_dim, sum = 0;
            for (size_t k = 0; k < key_dim; k++) sum = fmaf(query[k] * key[k], u[h * key_dim + k], sum);
            for (size_t i = 0; i < v_dim; i++) y[i] = fmaf(sum, v[i], y[i]);
        }
}

// x divided by its length: transformers' l2norm.
static void to_unit(const struct kernel_set *k, const float *x, size_t n, float factor, float *y) {
    memcpy(y, x, n * sizeof *y);
    k->scale(y, factor / sqrtf(k->row.sum_squares(x, n) + 1e-6f), n);
}

static void delta_piece(const struct op_run *x, size_t h) {
    const struct op *o = &x->o->op;
    const struct kernel_set *k = x->b->k;
    const struct recurrence *p = &x->b->p->recurrence;
    const size_t v_dim = (size_t)p->v_dim, key_dim = (size_t)p->key_dim, n_keys = (size_t)p->n_group * key_dim;
    float *const query = cpu_scratch(x->b, x->i_thread), *const key = query + key_dim, *const held = key + key_dim;
    for (size_t r = 0; r < x->n_rows; r++) {
        const float *const row = run_src(x, r), *const gates = run_src2(x, r);
        float beta, dt = gates[(size_t)p->n_head + h] + o->weights.vec2[h];
        k->activate[ACT_FN_SIGMOID](gates + h, 1, &beta);
        k->activate[ACT_FN_SOFTPLUS](&dt, 1, &dt);
        to_unit(k, row + pair_of(p, h) * key_dim, key_dim, 1 / sqrtf((float)p->key_dim), query);
        to_unit(k, row + n_keys + pair_of(p, h) * key_dim, key_dim, 1, key);
        k->delta_step(
            &(struct delta_step){.head_dim = key_dim,
                                 .v_dim = v_dim,
                                 .state = state_of(x->b, r, o->state.at + h * v_dim * key_dim, 1, 0, v_dim * key_dim),
                                 .q = query,
                                 .k = key,
                                 .v = row + 2 * n_keys + h * v_dim,
                                 .decay = exp_f32(o->weights.vec[h] * dt),
                                 .beta = beta,
                                 .held = held,
                                 .y = run_dst(x, r) + h * v_dim});
    }
}

size_t recur_scratch_bytes(const struct program *p) {
    const size_t delta = 2 * (size_t)p->recurrence.key_dim + (size_t)p->recurrence.v_dim,
                 scan = (1 + (size_t)p->recurrence.key_dim) * SCAN_CHANNELS;
    return (delta > scan ? delta : scan) * sizeof(float);
}

void recur_run(const struct op_run *x) {
    static const struct {
        size_t (*n_pieces)(const struct op_run *x);
        void (*piece)(const struct op_run *x, size_t i);
    } kinds[OP_N_KINDS] = {[OP_CONV] = {conv_pieces, conv_piece},         [OP_SSM] = {head_pieces, ssm_piece},
                           [OP_SCAN] = {scan_pieces, scan_piece},         [OP_SHIFT] = {conv_pieces, shift_piece},
                           [OP_RANK_ONE] = {head_pieces, rank_one_piece}, [OP_DECAY] = {head_pieces, decay_piece},
                           [OP_DELTA] = {head_pieces, delta_piece}};
    const enum op_kind kind = x->o->op.kind;
    const size_t n = kinds[kind].n_pieces(x);
    for (size_t i; (i = atomic_fetch_add_explicit(x->o->claimed, 1, memory_order_relaxed)) < n;)
        kinds[kind].piece(x, i);
}
