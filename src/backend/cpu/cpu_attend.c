// backend/cpu/cpu_attend.c - attention over pages: rows of one sequence share each key block, splits of 1,024 keys merge in order.
//
// Blocks are taken by KV index, and a block that is not one page as it lies (a scratch path, with its positions in several pages) is
// assembled in position order first: a tree path and a chain see the same numbers in the same order, so they give the same bits.
#include "backend/cpu/cpu_attend.h"
#include "base/checked.h"
#include <math.h>
#include <string.h>

// Softmax states of a task's queries: o with head_dim floats each.
struct states {
    float *m, *l, *o;
};

// A thread's scratch memory, carved from one piece.
struct scratch {
    uint8_t *key_block, *value_block; // assembled, in the codec's form
    uint8_t *q;                       // queries as the codec takes them
    void *kernel;
    struct states all, split; // merged so far; the running split
    uint8_t lo[ATTEND_MAX_QUERIES], hi[ATTEND_MAX_QUERIES];
};

// One task and key head.
struct attend_work {
    const struct attend_task *t;
    const struct batch_row *rows; // of the task
    const struct batch_seq *seq;
    int32_t layer, head, heads; // heads: query heads that share the key head
    size_t n_q, head_dim, q_stride;
};

static size_t query_bytes(const struct cpu_backend *b, const struct program *p) {
    return act_bytes(b->k->kv[b->codec].act, (size_t)p->head_dim);
}

static size_t state_bytes(const struct program *p) {
    return round_up(attend_most_queries(p) * ((size_t)p->head_dim + 2) * sizeof(float), 64);
}

size_t attend_scratch_bytes(const struct cpu_backend *b, const struct program *p) {
    const struct kv_codec_ops *c = &b->k->kv[b->codec];
    const size_t head_dim = (size_t)p->head_dim;
    return round_up(sizeof(struct scratch), 64) + c->key_bytes(head_dim) + c->value_bytes(head_dim) +
           attend_most_queries(p) * query_bytes(b, p) + round_up(attend_scratch(head_dim), 64) + 2 * state_bytes(p);
}

static struct states states_at(uint8_t *at, const struct program *p) {
    float *const m = (float *)at;
    return (struct states){m, m + attend_most_queries(p), m + 2 * attend_most_queries(p)};
}

static struct scratch *scratch_of(const struct cpu_backend *b, int i_thread) {
    uint8_t *at = cpu_scratch(b, i_thread);
    struct scratch *s = (struct scratch *)at;
    at += round_up(sizeof *s, 64);
    s->key_block = at, at += b->key_bytes;
    s->value_block = at, at += b->value_bytes;
    s->q = at, at += attend_most_queries(b->p) * query_bytes(b, b->p);
    s->kernel = at, at += round_up(attend_scratch((size_t)b->p->head_dim), 64);
    s->all = states_at(at, b->p), s->split = states_at(at + state_bytes(b->p), b->p);
    return s;
}

// Blocks ------------------------------------------------------------------------------------------------------------------

struct kv_pair {
    const void *keys, *values;
};

// The block as one page holds it for all the task's rows; NULL keys: it has to be assembled for each row.
static struct kv_pair whole_page(const struct cpu_backend *b, const struct attend_work *w, int32_t block) {
    const int32_t first = block * KV_BLOCK;
    const bool appended = w->rows[0].path[0] == NULL;
    if (first >= w->seq->n_committed || (!appended && w->seq->n_committed < first + KV_BLOCK))
        return (struct kv_pair){NULL, NULL};
    const uint8_t *page = cpu_key_block(b, w->layer, w->head, w->seq->pages[b->p->layer_group[w->layer]][block]);
    return (struct kv_pair){page, page + b->key_bytes};
}

// Positions up to the row's own, from the sequence's page and from the row's path.
static struct kv_pair assemble(const struct cpu_backend *b, const struct attend_work *w, const struct batch_row *row,
                               int32_t block, struct scratch *s) {
    const struct kv_codec_ops *codec = &b->k->kv[b->codec];
    const int32_t group = b->p->layer_group[w->layer], first = block * KV_BLOCK, committed = w->seq->n_committed;
    for (int32_t pos = first; pos <= row->pos && pos < first + KV_BLOCK; pos++) {
        const struct kv_slot at = pos < committed ? (struct kv_slot){w->seq->pages[group][block], pos - first}
                                                  : row->path[group][pos - committed];
        const uint8_t *src = cpu_key_block(b, w->layer, w->head, at.page);
        codec->copy_key(s->key_block, pos - first, src, at.slot, w->head_dim);
        codec->copy_value(s->value_block, pos - first, src + b->key_bytes, at.slot, w->head_dim);
    }
    return (struct kv_pair){s->key_block, s->value_block};
}

// Rows [r, r + n) of the task, which all reach the block.
static void attend_rows(const struct cpu_backend *b, const struct attend_work *w, struct scratch *s, int32_t block,
                        int32_t r, int32_t n, struct kv_pair now, struct kv_pair next, const struct states *to) {
    const size_t q0 = (size_t)(r * w->heads), n_q = (size_t)(n * w->heads);
    for (size_t i = 0; i < n_q; i++) {
        const int32_t reach = w->rows[r + (int32_t)i / w->heads].pos - block * KV_BLOCK + 1;
        s->lo[i] = 0;
        s->hi[i] = (uint8_t)(reach < KV_BLOCK ? reach : KV_BLOCK);
    }
    b->k->kv[b->codec].attend(&(struct attend_block){.keys = now.keys,
                                                     .values = now.values,
                                                     .next_keys = next.keys,
                                                     .next_values = next.values,
                                                     .head_dim = w->head_dim,
                                                     .v_dim = w->head_dim,
                                                     .q = s->q + q0 * w->q_stride,
                                                     .q_stride = w->q_stride,
                                                     .n_q = n_q,
                                                     .lo = s->lo,
                                                     .hi = s->hi,
                                                     .scale = b->p->attn_scale,
                                                     .m = to->m + q0,
                                                     .l = to->l + q0,
                                                     .o = to->o + q0 * w->head_dim,
                                                     .scratch = s->kernel});
}

// One block against the task's rows that reach it. In a page as it lies these are the last ones: positions ascend, or all are beyond.
static void attend_one(const struct cpu_backend *b, const struct attend_work *w, struct scratch *s, int32_t block,
                       bool last, const struct states *to) {
    const int32_t first = block * KV_BLOCK;
    const struct kv_pair page = whole_page(b, w, block);
    if (page.keys) {
        const struct kv_pair following = last ? page : whole_page(b, w, block + 1);
        const int32_t r = w->rows[0].path[0] || w->rows[0].pos >= first ? 0 : first - w->rows[0].pos;
        attend_rows(b, w, s, block, r, w->t->n - r, page, following.keys ? following : page, to);
        return;
    }
    for (int32_t r = 0; r < w->t->n; r++) {
        if (w->rows[r].pos < first) continue;
        const struct kv_pair own = assemble(b, w, &w->rows[r], block, s);
        attend_rows(b, w, s, block, r, 1, own, own, to);
    }
}

// Splits ------------------------------------------------------------------------------------------------------------------

static void attend_split(const struct cpu_backend *b, const struct attend_work *w, struct scratch *s, int32_t split,
                         const struct states *to) {
    const int32_t per_split = ATTEND_SPLIT / KV_BLOCK, n_blocks = (w->t->end + KV_BLOCK - 1) / KV_BLOCK;
    const int32_t begin = split * per_split, end = begin + per_split < n_blocks ? begin + per_split : n_blocks;
    for (size_t i = 0; i < w->n_q; i++) to->m[i] = -INFINITY, to->l[i] = 0.0f;
    memset(to->o, 0, w->n_q * w->head_dim * sizeof(float));
    for (int32_t block = begin; block < end; block++) attend_one(b, w, s, block, block + 1 == n_blocks, to);
}

static void merge(const struct cpu_backend *b, const struct attend_work *w, const struct states *to,
                  const struct states *later) {
    for (size_t i = 0; i < w->n_q; i++)
        b->k->attend_merge(&to->m[i], &to->l[i], to->o + i * w->head_dim, later->m[i], later->l[i],
                           later->o + i * w->head_dim, w->head_dim);
}

static void finish(const struct cpu_backend *b, const struct cpu_op *o, const struct attend_work *w,
                   const struct states *from) {
    for (size_t i = 0; i < w->n_q; i++) {
        const size_t r = (size_t)w->t->first + i / (size_t)w->heads,
                     h = (size_t)(w->head * w->heads) + i % (size_t)w->heads;
        b->k->attend_finish(from->o + i * w->head_dim, from->l[i], w->head_dim,
                            b->buffers[o->op.dst] + r * b->stride[o->op.dst] + h * w->head_dim);
    }
}

static void run_whole(const struct cpu_backend *b, const struct cpu_op *o, const struct attend_work *w,
                      struct scratch *s) {
    attend_split(b, w, s, 0, &s->all);
    for (int32_t split = 1; split * ATTEND_SPLIT < w->t->end; split++) {
        attend_split(b, w, s, split, &s->split);
        merge(b, w, &s->all, &s->split);
    }
    finish(b, o, w, &s->all);
}

static struct states shared_states(const struct cpu_backend *b, const struct attend_work *w, int32_t split) {
    const struct attend_plan *plan = &b->attend;
    const size_t at = w->t->states + ((size_t)w->head * (size_t)w->t->n_apart + (size_t)split) * w->n_q;
    return (struct states){plan->m + at, plan->l + at, plan->o + at * w->head_dim};
}

// One split; whoever finishes the last one merges them all, in order as ever.
static void run_apart(const struct cpu_backend *b, const struct cpu_op *o, const struct attend_work *w,
                      struct scratch *s, int32_t split) {
    const struct states to = shared_states(b, w, split), first = shared_states(b, w, 0);
    atomic_int *const left = &b->attend.left[w->t->left + (size_t)w->head];
    attend_split(b, w, s, split, &to);
    // acq_rel: the last one sees the states that the others wrote before they counted.
    if (atomic_fetch_sub_explicit(left, 1, memory_order_acq_rel) > 1) return;
    atomic_store_explicit(left, w->t->n_apart,
                          memory_order_relaxed); // for the next layer, which comes after a barrier
    for (int32_t i = 1; i < w->t->n_apart; i++) {
        const struct states later = shared_states(b, w, i);
        merge(b, w, &first, &later);
    }
    finish(b, o, w, &first);
}

static void prepare_queries(const struct cpu_backend *b, const struct cpu_op *o, const struct attend_work *w,
                            struct scratch *s) {
    for (size_t i = 0; i < w->n_q; i++) {
        const size_t r = (size_t)w->t->first + i / (size_t)w->heads,
                     h = (size_t)(w->head * w->heads) + i % (size_t)w->heads;
        const float *q = b->buffers[o->op.src] + r * b->stride[o->op.src] + h * w->head_dim;
        b->k->prepare_act[b->k->kv[b->codec].act](q, w->head_dim, s->q + i * w->q_stride);
    }
}

void attend_run(struct cpu_backend *b, const struct cpu_op *o, int i_thread) {
    const size_t n_head_kv = (size_t)b->p->n_head_kv;
    struct scratch *s = scratch_of(b, i_thread);
    for (;;) {
        const size_t i = atomic_fetch_add_explicit(o->claimed, 1, memory_order_relaxed);
        if (i >= b->attend.n_units * n_head_kv) return;
        const struct attend_unit *unit = &b->attend.units[i / n_head_kv];
        const struct attend_task *t = &b->attend.tasks[unit->task];
        const struct batch_row *rows = b->batch->rows + t->first;
        const int32_t heads = attend_heads(b->p);
        const struct attend_work w = {.t = t,
                                      .rows = rows,
                                      .seq = &b->batch->seqs[rows[0].seq],
                                      .layer = o->op.layer,
                                      .head = (int32_t)(i % n_head_kv),
                                      .heads = heads,
                                      .n_q = (size_t)(t->n * heads),
                                      .head_dim = (size_t)b->p->head_dim,
                                      .q_stride = query_bytes(b, b->p)};
        prepare_queries(b, o, &w, s);
        if (t->n_apart == 1)
            run_whole(b, o, &w, s);
        else
            run_apart(b, o, &w, s, unit->split);
    }
}
