// backend/cpu/cpu_ops.c - what each kind of op does with its share of a batch.
#include "backend/cpu/cpu_private.h"
#include "base/checked.h"
#include <string.h>

// Activations of one pass of a matrix stay below this, so that they come from the second-level cache for every panel. A way for many
// rows unpacks panels once for each pass: it takes as many rows as its figures were measured with.
#define ROWS_PASS_BYTES ((size_t)512 << 10)
#define GEMM_PASS_ROWS  512

typedef void (*op_fn)(struct cpu_backend *b, const struct cpu_op *o, size_t begin, size_t end);

static float *row(const struct cpu_backend *b, int8_t buffer, size_t r) {
    return b->buffers[buffer] + r * b->stride[buffer];
}

static void op_embed(struct cpu_backend *b, const struct cpu_op *o, size_t begin, size_t end) {
    const struct matrix *m = &b->p->matrices[o->op.matrix];
    const struct tensor_type_info *type = tensor_type_info(m->type);
    for (size_t r = begin; r < end; r++)
        type->dequantize_row(m->data + (size_t)b->batch->rows[r].token * m->row_bytes, row(b, o->op.dst, r), m->k);
}

static void op_rms_norm(struct cpu_backend *b, const struct cpu_op *o, size_t begin, size_t end) {
    for (size_t r = begin; r < end; r++)
        b->k->rms_norm(row(b, o->op.src, r), o->op.vec, b->p->width[o->op.src], b->p->norm_eps, row(b, o->op.dst, r));
}

static void op_prepare(struct cpu_backend *b, const struct cpu_op *o, size_t begin, size_t end) {
    const size_t k = b->p->matrices[o->op.matrix].k, stride = b->act_stride[o->act];
    for (size_t r = begin; r < end; r++)
        b->k->prepare_act[o->format](row(b, o->op.src, r), k, (uint8_t *)b->acts[o->act] + r * stride);
}

static void op_rope(struct cpu_backend *b, const struct cpu_op *o, size_t begin, size_t end) {
    const size_t n_rot = (size_t)b->p->n_rot;
    for (size_t r = begin; r < end; r++)
        b->k->rope(row(b, o->op.dst, r), (size_t)o->op.n_head, (size_t)b->p->head_dim, n_rot, b->cos_sin + r * n_rot);
}

static void op_store_kv(struct cpu_backend *b, const struct cpu_op *o, size_t begin, size_t end) {
    const struct kv_codec_ops *codec = &b->k->kv[b->codec];
    const size_t head_dim = (size_t)b->p->head_dim;
    const int32_t group = b->p->layer_group[o->op.layer];
    for (size_t r = begin; r < end; r++) {
        const struct kv_slot at = b->batch->rows[r].store[group];
        for (int32_t h = 0; h < b->p->n_head_kv; h++) {
            uint8_t *block = cpu_key_block(b, o->op.layer, h, at.page);
            codec->put_key(block, head_dim, at.slot, row(b, o->op.src, r) + (size_t)h * head_dim);
            codec->put_value(block + b->key_bytes, head_dim, at.slot, row(b, o->op.src2, r) + (size_t)h * head_dim);
        }
    }
}

static void op_silu_mul(struct cpu_backend *b, const struct cpu_op *o, size_t begin, size_t end) {
    for (size_t r = begin; r < end; r++)
        b->k->activate_mul[ACT_FN_SILU](row(b, o->op.src, r), row(b, o->op.src2, r), b->p->width[o->op.dst],
                                        row(b, o->op.dst, r));
}

static void op_add(struct cpu_backend *b, const struct cpu_op *o, size_t begin, size_t end) {
    for (size_t r = begin; r < end; r++)
        b->k->add(row(b, o->op.dst, r), row(b, o->op.src, r), b->p->width[o->op.dst]);
}

static void op_gather(struct cpu_backend *b, const struct cpu_op *o, size_t begin, size_t end) {
    for (size_t i = begin; i < end; i++)
        memcpy(row(b, o->op.dst, i), row(b, o->op.src, (size_t)b->batch->wanted[i]),
               b->p->width[o->op.dst] * sizeof(float));
}

// Outputs [begin, end) of the matrix, whose weights are w, for all rows, in passes of rows that fit the cache.
static void multiply(struct cpu_backend *b, const struct cpu_op *o, const uint8_t *w, size_t begin, size_t end,
                     size_t n_rows, void *scratch) {
    const struct cpu_matrix *cm = &b->matrices[o->op.matrix];
    const bool plain = o->format == ACT_F32;
    const uint8_t *x = plain ? (const uint8_t *)b->buffers[o->op.src] : b->acts[o->act];
    const size_t x_stride = plain ? b->stride[o->op.src] * sizeof(float) : b->act_stride[o->act];
    const size_t few = ROWS_PASS_BYTES / x_stride > 16 ? ROWS_PASS_BYTES / x_stride & ~(size_t)15 : 16;
    const size_t pass = matmul_by_gemm(cm->ops, n_rows) ? GEMM_PASS_ROWS : few;
    for (size_t r = 0; r < n_rows; r += pass) {
        const size_t n = n_rows - r < pass ? n_rows - r : pass;
        matmul_run(cm->ops, w, cm->m->row_bytes, end - begin, cm->m->k, x + r * x_stride, x_stride, n,
                   row(b, o->op.dst, r) + begin, b->stride[o->op.dst], scratch);
    }
    if (o->op.vec)
        for (size_t r = 0; r < n_rows; r++) b->k->add(row(b, o->op.dst, r) + begin, o->op.vec + begin, end - begin);
}

// The same where the set wants panels and none are kept: a few are made, multiplied with, and overwritten by the next.
static void multiply_rows(struct cpu_backend *b, const struct cpu_op *o, size_t begin, size_t end, size_t n_rows,
                          uint8_t *scratch) {
    const struct cpu_matrix *cm = &b->matrices[o->op.matrix];
    const size_t at_once = cpu_panels_at_once(cm->ops, cm->m->k);
    for (size_t from = begin, to; from < end; from = to) {
        to = end - from < at_once * PANEL_ROWS ? end : from + at_once * PANEL_ROWS;
        for (size_t row = from; row < to; row += PANEL_ROWS)
            cm->ops->pack(cm->m->data + row * cm->m->row_bytes, cm->m->row_bytes,
                          to - row < PANEL_ROWS ? (int)(to - row) : PANEL_ROWS, cm->m->k,
                          scratch + (row - from) / PANEL_ROWS * cm->panel_bytes);
        multiply(b, o, scratch, from, to, n_rows, scratch + at_once * cm->panel_bytes);
    }
}

static void linear_part(struct cpu_backend *b, const struct cpu_op *o, size_t begin, size_t end, size_t n_rows,
                        void *scratch) {
    const struct cpu_matrix *cm = &b->matrices[o->op.matrix];
    if (cm->panels)
        multiply(b, o, cm->panels + begin / PANEL_ROWS * cm->panel_bytes, begin, end, n_rows, scratch);
    else if (cm->panel_bytes)
        multiply_rows(b, o, begin, end, n_rows, scratch);
    else
        multiply(b, o, cm->m->data + begin * cm->m->row_bytes, begin, end, n_rows, scratch);
}

// Panels are claimed a few at a time: a thread that the machine delays does not hold up the others. A way for many rows makes something
// of the rows for each piece, and takes panels in pairs: fewer and even pieces.
static size_t panels_of_piece(size_t n_panels, bool by_gemm, int n_threads) {
    if (n_threads == 1) return n_panels;
    const size_t n = ceil_div(n_panels, (size_t)n_threads * (by_gemm ? 4 : 8));
    return by_gemm ? round_up(n, 2) : n;
}

static void linear_run(struct cpu_backend *b, const struct cpu_op *o, size_t n_rows, int i_thread, int n_threads) {
    const struct cpu_matrix *const cm = &b->matrices[o->op.matrix];
    const size_t n_out = cm->m->n_out, n_panels = ceil_div(n_out, PANEL_ROWS);
    const size_t piece = panels_of_piece(n_panels, matmul_by_gemm(cm->ops, n_rows), n_threads);
    for (;;) {
        const size_t i = atomic_fetch_add_explicit(o->claimed, piece, memory_order_relaxed);
        if (i >= n_panels) return;
        const size_t end = (i + piece) * PANEL_ROWS;
        linear_part(b, o, i * PANEL_ROWS, end < n_out ? end : n_out, n_rows, cpu_scratch(b, i_thread));
    }
}

static size_t n_rows_of(const struct cpu_backend *b, const struct cpu_op *o) {
    return o->op.wanted_rows ? b->batch->n_wanted : b->batch->n_rows;
}

void cpu_op_collect(const struct cpu_backend *b, const struct cpu_op *o) {
    const size_t n_rows = n_rows_of(b, o), k = b->p->matrices[o->op.matrix].k;
    for (size_t r = 0; r < n_rows; r++) b->collect(b->collect_user, o->op.matrix, row(b, o->op.src, r), k);
}

void cpu_op_run(struct cpu_backend *b, const struct cpu_op *o, int i_thread, int n_threads) {
    static const op_fn by_rows[OP_N_KINDS + 1] = {
        [OP_EMBED] = op_embed,       [OP_RMS_NORM] = op_rms_norm, [OP_ROPE] = op_rope,
        [OP_STORE_KV] = op_store_kv, [OP_SILU_MUL] = op_silu_mul, [OP_ADD] = op_add,
        [OP_GATHER] = op_gather,     [OP_N_KINDS] = op_prepare,
    };
    const size_t n_rows = n_rows_of(b, o);
    if (o->op.kind == OP_LINEAR) {
        linear_run(b, o, n_rows, i_thread, n_threads);
    } else if (o->op.kind == OP_ATTEND) {
        attend_run(b, o, i_thread);
    } else {
        size_t begin, end;
        pool_share(n_rows, 1, i_thread, n_threads, &begin, &end);
        by_rows[o->op.kind](b, o, begin, end);
    }
}
