// backend/cpu/cpu_attend.c - attention over pages: rows of one sequence share each key block, splits of 1,024 keys merge in order.
//
// Blocks are taken by KV index, and a block that is not one page as it lies (a scratch path, with its positions in several pages) is
// assembled in position order first: a tree path and a chain see the same numbers in the same order, so they give the same bits.
#include "backend/cpu/cpu_private.h"
#include "base/checked.h"
#include "base/mem.h"
#include <math.h>
#include <string.h>

// A thread's scratch memory, carved from one piece.
struct scratch {
    uint8_t *key_block, *value_block; // assembled, in the codec's form
    float *keys, *values;             // one block in float
    float *q;                         // [ATTEND_MAX_QUERIES][head_dim]
    float *o, *o_split;               // the same shape: merged so far, and the running split
    float m[ATTEND_MAX_QUERIES], l[ATTEND_MAX_QUERIES], m_split[ATTEND_MAX_QUERIES], l_split[ATTEND_MAX_QUERIES];
    uint8_t lo[ATTEND_MAX_QUERIES], hi[ATTEND_MAX_QUERIES];
};

static size_t head_floats(const struct program *p) { return round_up((size_t)p->head_dim, 16); }

size_t attend_scratch_bytes(const struct program *p) {
    const size_t block =
        2 * KV_BLOCK * head_floats(p) * sizeof(float); // no codec takes more than float and its scales
    const size_t queries = 3 * ATTEND_MAX_QUERIES * head_floats(p) * sizeof(float);
    return round_up(sizeof(struct scratch), 64) + 2 * block + 2 * block + queries;
}

static struct scratch *scratch_of(const struct cpu_backend *b, int i_thread) {
    uint8_t *at = cpu_scratch(b, i_thread);
    struct scratch *s = (struct scratch *)at;
    const size_t hd = head_floats(b->p), block = 2 * KV_BLOCK * hd * sizeof(float);
    at += round_up(sizeof *s, 64);
    s->key_block = at, s->value_block = at + block;
    s->keys = (float *)(at + 2 * block), s->values = (float *)(at + 3 * block);
    s->q = (float *)(at + 4 * block);
    s->o = s->q + ATTEND_MAX_QUERIES * hd, s->o_split = s->o + ATTEND_MAX_QUERIES * hd;
    return s;
}

// Rows of a task: appended rows of one sequence at consecutive positions, or one scratch row.
void attend_make_tasks(struct cpu_backend *b) {
    const struct batch *batch = b->batch;
    const int32_t heads = b->p->n_head / b->p->n_head_kv;
    const int32_t most = heads < ATTEND_TILE ? ATTEND_TILE / heads : 1;
    b->n_tasks = 0;
    for (int32_t r = 0; r < (int32_t)batch->n_rows; r++) {
        struct attend_task *t = b->n_tasks ? &b->tasks[b->n_tasks - 1] : NULL;
        const struct batch_row *row = &batch->rows[r];
        if (t && !row->path[0] && !row[-1].path[0] && row[-1].seq == row->seq && row[-1].pos + 1 == row->pos &&
            t->n < most)
            t->n++;
        else
            b->tasks[b->n_tasks++] = (struct attend_task){r, 1};
    }
}

// The block as codec bytes: a page, or assembled from a page's committed slots and the row's path.
static const uint8_t *find_block(struct cpu_backend *b, struct scratch *s, const struct batch_row *row, int32_t layer,
                                 int32_t head, int32_t block, const uint8_t **values) {
    const struct batch_seq *seq = &b->batch->seqs[row->seq];
    const int32_t group = b->p->layer_group[layer], first = block * KV_BLOCK, committed = seq->n_committed;
    const uint8_t *page = first < committed ? cpu_key_block(b, layer, head, seq->pages[group][block]) : NULL;
    if (page && (committed >= first + KV_BLOCK || committed > row->pos)) {
        *values = page + b->key_bytes;
        return page;
    }

    const struct kv_codec_ops *codec = &b->k->kv[b->codec];
    const size_t head_dim = (size_t)b->p->head_dim;
    for (int32_t pos = first; pos <= row->pos && pos < first + KV_BLOCK; pos++) {
        const struct kv_slot at = pos < committed ? (struct kv_slot){seq->pages[group][block], pos - first}
                                                  : row->path[group][pos - committed];
        const uint8_t *src = cpu_key_block(b, layer, head, at.page);
        codec->copy_key(s->key_block, pos - first, src, at.slot, head_dim);
        codec->copy_value(s->value_block, pos - first, src + b->key_bytes, at.slot, head_dim);
    }
    *values = s->value_block;
    return s->key_block;
}

struct attend_work {
    const struct attend_task *t;
    const struct batch_row *rows; // of the task
    int32_t layer, head, heads;   // heads: query heads that share the key head
    size_t head_dim;
};

static void load_queries(struct cpu_backend *b, const struct cpu_op *o, const struct attend_work *w,
                         struct scratch *s) {
    for (int32_t r = 0; r < w->t->n; r++) {
        const float *q = b->buffers[o->op.src] + (size_t)(w->t->first + r) * b->stride[o->op.src];
        memcpy(s->q + (size_t)(r * w->heads) * w->head_dim, q + (size_t)(w->head * w->heads) * w->head_dim,
               (size_t)w->heads * w->head_dim * sizeof(float));
    }
}

static void reset(float *m, float *l, float *o, size_t n, size_t head_dim) {
    for (size_t i = 0; i < n; i++) m[i] = -INFINITY, l[i] = 0.0f;
    memset(o, 0, n * head_dim * sizeof(float));
}

// One block against the task's queries that reach it: they are the last ones, since positions ascend.
static void attend_one_block(struct cpu_backend *b, const struct attend_work *w, struct scratch *s, int32_t block) {
    const struct kv_codec_ops *codec = &b->k->kv[b->codec];
    const int32_t first = block * KV_BLOCK, last_pos = w->rows[w->t->n - 1].pos;
    const int32_t r0 = w->rows[0].pos >= first ? 0 : first - w->rows[0].pos;
    const int n_slots = last_pos - first + 1 < KV_BLOCK ? last_pos - first + 1 : KV_BLOCK;
    const uint8_t *values;
    const uint8_t *keys = find_block(b, s, &w->rows[w->t->n - 1], w->layer, w->head, block, &values);
    codec->get_keys(keys, w->head_dim, n_slots, s->keys);
    codec->get_values(values, w->head_dim, n_slots, s->values);
    const size_t q0 = (size_t)(r0 * w->heads), n_q = (size_t)((w->t->n - r0) * w->heads);
    for (size_t i = q0; i < q0 + n_q; i++) {
        const int32_t reach = w->rows[i / (size_t)w->heads].pos - first + 1;
        s->lo[i] = 0;
        s->hi[i] = (uint8_t)(reach < KV_BLOCK ? reach : KV_BLOCK);
    }
    b->k->attend_block(s->keys, s->values, w->head_dim, s->q + q0 * w->head_dim, w->head_dim, n_q, s->lo + q0,
                       s->hi + q0, b->p->attn_scale, s->m_split + q0, s->l_split + q0, s->o_split + q0 * w->head_dim);
}

static void merge_split(struct cpu_backend *b, const struct attend_work *w, struct scratch *s, int32_t split_first) {
    for (size_t i = 0; i < (size_t)(w->t->n * w->heads); i++) {
        if (w->rows[i / (size_t)w->heads].pos < split_first) continue;
        float *o = s->o + i * w->head_dim, *o2 = s->o_split + i * w->head_dim;
        if (split_first == 0) {
            s->m[i] = s->m_split[i], s->l[i] = s->l_split[i];
            memcpy(o, o2, w->head_dim * sizeof(float));
        } else {
            b->k->attend_merge(&s->m[i], &s->l[i], o, s->m_split[i], s->l_split[i], o2, w->head_dim);
        }
    }
}

static void attend_task_run(struct cpu_backend *b, const struct cpu_op *o, const struct attend_work *w,
                            struct scratch *s) {
    const size_t n_q = (size_t)(w->t->n * w->heads);
    const int32_t last_pos = w->rows[w->t->n - 1].pos;
    load_queries(b, o, w, s);
    for (int32_t split = 0; split <= last_pos; split += ATTEND_SPLIT) {
        reset(s->m_split, s->l_split, s->o_split, n_q, w->head_dim);
        for (int32_t pos = split; pos <= last_pos && pos < split + ATTEND_SPLIT; pos += KV_BLOCK)
            attend_one_block(b, w, s, pos / KV_BLOCK);
        merge_split(b, w, s, split);
    }
    for (size_t i = 0; i < n_q; i++) {
        const size_t r = (size_t)w->t->first + i / (size_t)w->heads,
                     h = (size_t)(w->head * w->heads) + i % (size_t)w->heads;
        b->k->attend_finish(s->o + i * w->head_dim, s->l[i], w->head_dim,
                            b->buffers[o->op.dst] + r * b->stride[o->op.dst] + h * w->head_dim);
    }
}

void attend_run(struct cpu_backend *b, const struct cpu_op *o, int i_thread) {
    const size_t n_head_kv = (size_t)b->p->n_head_kv;
    struct scratch *s = scratch_of(b, i_thread);
    for (;;) {
        const size_t i = atomic_fetch_add_explicit(o->claimed, 1, memory_order_relaxed);
        if (i >= b->n_tasks * n_head_kv) return;
        const struct attend_task *t = &b->tasks[b->n_tasks - 1 - i / n_head_kv]; // the longest rows of a prompt first
        const struct attend_work w = {t,
                                      b->batch->rows + t->first,
                                      o->op.layer,
                                      (int32_t)(i % n_head_kv),
                                      b->p->n_head / b->p->n_head_kv,
                                      (size_t)b->p->head_dim};
        attend_task_run(b, o, &w, s);
    }
}
