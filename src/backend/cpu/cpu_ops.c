// backend/cpu/cpu_ops.c - each kind of op on a thread's share of a batch, except products (cpu_linear.c) and attention (cpu_attend.c).
#include "backend/cpu/cpu_adapters.h"
#include "backend/cpu/cpu_experts.h"
#include "base/checked.h"
#include <string.h>

typedef void (*op_fn)(const struct op_run *x, size_t begin, size_t end);
typedef void (*pieces_fn)(const struct op_run *x);
typedef void (*columns_fn)(const struct op_run *x, size_t r, size_t begin, size_t end);

static void op_embed(const struct op_run *x, size_t begin, size_t end) {
    const struct matrix *m = &x->b->p->matrices[x->o->op.weights.matrix];
    const struct tensor_type_info *type = tensor_type_info(m->type);
    for (size_t r = begin; r < end; r++) {
        const struct batch_row *row = &x->b->batch->rows[r];
        const float *vector = x->o->op.embed.takes_vector ? row->vector : NULL;
        if (vector && !row->adds) {
            memcpy(run_dst(x, r), vector, m->k * sizeof *vector);
            continue;
        }
        type->dequantize_row(m->data + (size_t)row->token * m->row_bytes, run_dst(x, r), m->k);
        if (x->o->adapters) cpu_adapters_add_token(x, r, run_dst(x, r));
        if (x->o->op.embed.factor != 1) x->b->k->scale(run_dst(x, r), x->o->op.embed.factor, m->k);
        if (x->o->op.weights.vec) x->b->k->add(run_dst(x, r), x->o->op.weights.vec + (size_t)row->kind * m->k, m->k);
        if (vector) x->b->k->add(run_dst(x, r), vector, m->k);
    }
}

static void op_vector(const struct op_run *x, size_t begin, size_t end) {
    for (size_t r = begin; r < end; r++)
        memcpy(run_dst(x, r), x->b->batch->rows[r].vector, (size_t)x->o->op.width * sizeof(float));
}

static void op_add_vector(const struct op_run *x, size_t begin, size_t end) {
    for (size_t r = begin; r < end; r++) {
        const float *const vector = x->b->batch->rows[r].vector;
        if (vector) x->b->k->add(run_dst(x, r), vector + x->o->op.vector.at, (size_t)x->o->op.width);
    }
}

// Positions beyond the file's last embedding use that one; the engine warns of longer contexts.
static void op_embed_pos(const struct op_run *x, size_t begin, size_t end) {
    const struct matrix *m = &x->b->p->matrices[x->o->op.weights.matrix];
    const struct tensor_type_info *type = tensor_type_info(m->type);
    for (size_t r = begin; r < end; r++) {
        const size_t pos = (size_t)x->b->batch->rows[r].pos, at = pos < m->n_out ? pos : m->n_out - 1;
        type->dequantize_row(m->data + at * m->row_bytes, run_dst(x, r), m->k);
    }
}

// Norm weights of a head: its own, or the same for all heads.
static const float *of_head(const struct op *o, const float *vec, size_t head) {
    return vec && o->weights.vec_by_head ? vec + head * (size_t)(o->width / o->heads.n) : vec;
}

static float eps_of(const struct op_run *x) {
    const float own = x->o->op.norm.eps;
    return own > 0 ? own : x->b->p->norm_eps;
}

static void op_rms_norm(const struct op_run *x, size_t begin, size_t end) {
    const struct op *o = &x->o->op;
    const size_t n = (size_t)(o->width / o->heads.n);
    const size_t from = (size_t)o->heads.src.stride, to = (size_t)o->heads.dst.stride;
    for (size_t r = begin; r < end; r++)
        for (size_t h = 0; h < (size_t)o->heads.n; h++)
            x->b->k->rms_norm(run_src(x, r) + h * from, of_head(o, o->weights.vec, h), n, eps_of(x),
                              run_dst(x, r) + h * to);
}

static void op_layer_norm(const struct op_run *x, size_t begin, size_t end) {
    const struct op *o = &x->o->op;
    const size_t n = (size_t)(o->width / o->heads.n);
    const size_t from = (size_t)o->heads.src.stride, to = (size_t)o->heads.dst.stride;
    for (size_t r = begin; r < end; r++)
        for (size_t h = 0; h < (size_t)o->heads.n; h++)
            x->b->k->layer_norm(run_src(x, r) + h * from, of_head(o, o->weights.vec, h),
                                of_head(o, o->weights.vec2, h), n, eps_of(x), run_dst(x, r) + h * to);
}

static void op_prepare(const struct op_run *x, size_t begin, size_t end) {
    const struct op *o = &x->o->op;
    const size_t k = x->b->p->matrices[o->weights.matrix].k, n = (size_t)o->heads.n;
    const size_t act_part = x->b->act_stride[x->o->act] / n;
    for (size_t r = begin; r < end; r++)
        for (size_t i = 0; i < n; i++)
            x->b->k->prepare_act[x->o->format](run_src(x, r) + i * (size_t)o->heads.src.stride + o->heads.src.at, k,
                                               run_act(x, r) + i * act_part);
}

static void op_rope(const struct op_run *x, size_t begin, size_t end) {
    const struct op *o = &x->o->op;
    const struct rope_table *t = &x->b->p->ropes[o->rope.table];
    const size_t n_rot = (size_t)t->n_rot;
    for (size_t r = begin; r < end; r++)
        (t->halves ? x->b->k->rope_halves : x->b->k->rope)(run_dst(x, r) + o->heads.dst.at, (size_t)o->heads.n,
                                                           (size_t)o->heads.dst.stride, n_rot,
                                                           x->b->cos_sin[o->rope.table] + r * n_rot);
}

void cpu_store_head(const struct op_run *x, int32_t head, size_t begin, size_t end) {
    const struct cpu_backend *b = x->b;
    const int32_t group = b->p->attention[x->o->op.layer].group;
    const struct kv_codec_ops *codec = cpu_codec(b, group);
    const size_t head_dim = (size_t)b->p->groups[group].head_dim, v_dim = (size_t)b->p->groups[group].v_dim;
    for (size_t r = begin; r < end; r++) {
        const struct kv_slot at = b->batch->rows[r].store[group];
        uint8_t *block = cpu_key_block(b, x->o->op.layer, head, at.page);
        codec->put_key(block, head_dim, at.slot, run_src(x, r) + (size_t)head * head_dim);
        codec->put_value(block + b->groups[group].key_bytes, v_dim, at.slot, run_src2(x, r) + (size_t)head * v_dim);
    }
}

static void op_store_kv(const struct op_run *x, size_t begin, size_t end) {
    const int32_t n_head_kv = x->b->p->groups[x->b->p->attention[x->o->op.layer].group].n_head_kv;
    for (int32_t h = 0; h < n_head_kv; h++) cpu_store_head(x, h, begin, end);
}

static void columns_activate(const struct op_run *x, size_t r, size_t begin, size_t end) {
    x->b->k->activate[x->o->op.activate.fn](run_src(x, r) + begin, end - begin, run_dst(x, r) + begin);
}

static void columns_gate(const struct op_run *x, size_t r, size_t begin, size_t end) {
    x->b->k->activate_mul[x->o->op.activate.fn](run_src(x, r) + begin, run_src2(x, r) + begin, end - begin,
                                                run_dst(x, r) + begin);
}

// gpt-oss (OpenAI 2025, 2508.10925); files do not contain these constants.
static void columns_gate_oai(const struct op_run *x, size_t r, size_t begin, size_t end) {
    x->b->k->swiglu_oai(run_src(x, r) + begin, run_src2(x, r) + begin, end - begin, 1.702f, 7, run_dst(x, r) + begin);
}

static void columns_xielu(const struct op_run *x, size_t r, size_t begin, size_t end) {
    x->b->k->xielu(run_src(x, r) + begin, end - begin, x->o->op.xielu, run_dst(x, r) + begin);
}

static void op_add(const struct op_run *x, size_t begin, size_t end) {
    const struct op *o = &x->o->op;
    for (size_t r = begin; r < end; r++)
        if (o->scale.factor == 1)
            x->b->k->add(run_dst(x, r), run_src(x, r), (size_t)o->width);
        else
            x->b->k->add_scaled(run_dst(x, r), run_src(x, r), o->scale.factor, (size_t)o->width);
}

static void op_mul(const struct op_run *x, size_t begin, size_t end) {
    const struct op *const o = &x->o->op;
    for (size_t r = begin; r < end; r++)
        x->b->k->mul(run_dst(x, r), o->weights.vec ? o->weights.vec : run_src(x, r), (size_t)o->width);
}

static void op_scale(const struct op_run *x, size_t begin, size_t end) {
    const struct op *o = &x->o->op;
    for (size_t r = begin; r < end; r++) x->b->k->scale(run_dst(x, r), o->scale.factor, (size_t)o->width);
}

static void op_scale_by(const struct op_run *x, size_t begin, size_t end) {
    for (size_t r = begin; r < end; r++) x->b->k->scale(run_dst(x, r), run_src(x, r)[0], (size_t)x->o->op.width);
}

static void op_softcap(const struct op_run *x, size_t begin, size_t end) {
    const struct op *o = &x->o->op;
    for (size_t r = begin; r < end; r++) x->b->k->softcap(run_dst(x, r), o->softcap.cap, (size_t)o->width);
}

// What is not a number stays so.
static void op_clamp(const struct op_run *x, size_t begin, size_t end) {
    const float least = x->o->op.clamp.least, most = x->o->op.clamp.most;
    for (size_t r = begin; r < end; r++) {
        float *row = run_dst(x, r);
        for (size_t i = 0; i < (size_t)x->o->op.width; i++)
            row[i] = row[i] < least ? least : row[i] > most ? most : row[i];
    }
}

// Llama 4 (transformers, Llama4TextAttention; Ministral3Attention): queries are scaled up at far positions.
static void op_temperature(const struct op_run *x, size_t begin, size_t end) {
    const struct op *o = &x->o->op;
    for (size_t r = begin; r < end; r++) {
        const int32_t periods = (x->b->batch->rows[r].pos + o->temperature.offset) / o->temperature.period;
        const double by = 1 + (double)o->temperature.weight * log_f64(1.0 + periods);
        x->b->k->scale(run_dst(x, r), (float)by, (size_t)o->width);
    }
}

static void op_copy(const struct op_run *x, size_t begin, size_t end) {
    const struct op *o = &x->o->op;
    const size_t n = (size_t)(o->width / o->heads.n);
    for (size_t r = begin; r < end; r++)
        for (size_t h = 0; h < (size_t)o->heads.n; h++)
            memcpy(run_dst(x, r) + h * (size_t)o->heads.dst.stride + o->heads.dst.at,
                   run_src(x, r) + h * (size_t)o->heads.src.stride + o->heads.src.at, n * sizeof(float));
}

static void op_gather(const struct op_run *x, size_t begin, size_t end) {
    for (size_t i = begin; i < end; i++)
        memcpy(run_dst(x, i), run_src(x, (size_t)x->b->batch->wanted[i]), (size_t)x->o->op.width * sizeof(float));
}

// Rows of a sequence stand one behind the other.
static void op_gather_mean(const struct op_run *x, size_t begin, size_t end) {
    const struct batch *const batch = x->b->batch;
    const size_t width = (size_t)x->o->op.width;
    for (size_t i = begin; i < end; i++) {
        const int32_t seq = batch->rows[batch->wanted[i]].seq;
        float *const mean = run_dst(x, i);
        size_t n = 0;
        for (size_t r = 0; r < batch->n_rows; r++) {
            if (batch->rows[r].seq != seq) continue;
            if (n++ == 0)
                memcpy(mean, run_src(x, r), width * sizeof *mean);
            else
                x->b->k->add(mean, run_src(x, r), width);
        }
        x->b->k->scale(mean, 1 / (float)n, width);
    }
}

static const op_fn by_rows[OP_N_KINDS + 1] = {
    [OP_EMBED] = op_embed,
    [OP_VECTOR] = op_vector,
    [OP_EMBED_POS] = op_embed_pos,
    [OP_ADD_VECTOR] = op_add_vector,
    [OP_RMS_NORM] = op_rms_norm,
    [OP_LAYER_NORM] = op_layer_norm,
    [OP_ROPE] = op_rope,
    [OP_STORE_KV] = op_store_kv,
    [OP_ADD] = op_add,
    [OP_SCALE] = op_scale,
    [OP_SOFTCAP] = op_softcap,
    [OP_CLAMP] = op_clamp,
    [OP_TEMPERATURE] = op_temperature,
    [OP_COPY] = op_copy,
    [OP_GATHER] = op_gather,
    [OP_GATHER_MEAN] = op_gather_mean,
    [OP_ROUTE] = cpu_op_route,
    [OP_SPREAD] = cpu_op_spread,
    [OP_EXPERTS_SUM] = cpu_op_experts_sum,
    [OP_SCALE_BY] = op_scale_by,
    [OP_MUL] = op_mul,
    [OP_BONUS] = recur_bonus,
    [OP_N_KINDS] = op_prepare,
};
// Runs a claimed op, alone or as the first of joined ops.
static const pieces_fn by_pieces[OP_N_KINDS + 1] = {
    [OP_LINEAR] = linear_run, [OP_EXPERTS] = experts_run, [OP_STORE_KV] = attend_run, [OP_ATTEND] = attend_run,
    [OP_CONV] = recur_run,    [OP_SSM] = recur_run,       [OP_DELTA] = recur_run,     [OP_SCAN] = recur_run,
    [OP_SHIFT] = recur_run,   [OP_RANK_ONE] = recur_run,  [OP_DECAY] = recur_run,
};
static const columns_fn by_columns[OP_N_KINDS + 1] = {[OP_ACTIVATE] = columns_activate,
                                                      [OP_GATE] = columns_gate,
                                                      [OP_GATE_OAI] = columns_gate_oai,
                                                      [OP_XIELU] = columns_xielu};

static void run_rows(const struct op_run *x, size_t begin, size_t end) {
    if (by_rows[x->o->op.kind]) {
        by_rows[x->o->op.kind](x, begin, end);
        return;
    }
    const size_t width = (size_t)x->o->op.width;
    for (size_t r = begin; r < end; r++) by_columns[x->o->op.kind](x, r, 0, width);
}

void cpu_op_columns_of_row(const struct op_run *x, size_t r, size_t begin, size_t end) {
    by_columns[x->o->op.kind](x, r, begin, end);
}

void cpu_op_columns(const struct op_run *x, size_t begin, size_t end) {
    for (size_t r = 0; r < x->n_rows; r++) cpu_op_columns_of_row(x, r, begin, end);
}

// Copies the shared rows to this thread's private copy.
static void fill_copy(const struct op_run *x) {
    const int8_t dst = x->o->op.dst;
    for (size_t r = 0; r < x->n_rows; r++)
        memcpy(run_dst(x, r), run_row(x, dst, 0, r), x->b->p->width[dst] * sizeof(float));
}

size_t cpu_op_rows(const struct cpu_backend *b, const struct cpu_op *o) {
    const struct batch *rows = b->batch;
    const size_t n[] = {[ROWS_ALL] = rows->n_rows, [ROWS_WANTED] = rows->n_wanted, [ROWS_LOGITS] = rows->n_logits};
    return n[o->op.rows];
}

void cpu_op_collect(const struct op_run *x) {
    const struct cpu_backend *b = x->b;
    const int32_t matrix = x->o->op.weights.matrix;
    if (x->o->op.kind == OP_EXPERTS)
        cpu_experts_collect(x);
    else
        for (size_t r = 0; r < x->n_rows; r++)
            for (size_t i = 0; i < b->p->matrices[matrix].n_slices; i++)
                b->collect(b->collect_user, matrix, (int32_t)i,
                           run_src(x, r) + i * (size_t)x->o->op.heads.src.stride + x->o->op.heads.src.at,
                           b->p->matrices[matrix].k);
}

void cpu_op_run(const struct op_run *x) {
    size_t begin, end;
    switch (run_schedule(x)->split) {
    case SPLIT_CLAIM: by_pieces[x->o->op.kind](x); break;
    case SPLIT_EACH:
        if (run_schedule(x)->fills_dst) fill_copy(x);
        run_rows(x, 0, x->n_rows);
        break;
    case SPLIT_ROWS:
        pool_share(x->n_rows, 1, x->i_thread, x->n_threads, &begin, &end);
        run_rows(x, begin, end);
        break;
    }
}
