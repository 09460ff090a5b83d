// backend/cpu/cpu_attend.c - attention over pages: the rows of a sequence share each block of keys; splits of 1,024 keys are merged in order.
//
// Blocks are numbered by position. A block whose positions are in several pages (a scratch path) is first assembled in the order of
// positions: a path of a tree and a chain then read the same numbers in the same order, and give the same bits.
#include "backend/cpu/cpu_attend.h"
#include "backend/cpu/cpu_profile.h"
#include "base/checked.h"
#include <math.h>
#include <string.h>

// Running softmax of a task's queries: maximum, sum and output, o with v_dim floats each.
struct states {
    float *m, *l, *o;
};

// A thread's scratch memory, divided.
struct scratch {
    uint8_t *key_block, *value_block; // an assembled block, in the codec's layout
    uint8_t *q;                       // queries in the form that the codec multiplies with
    void *kernel;
    struct states all, split; // merged so far; of the current split
    uint8_t lo[ATTEND_MAX_QUERIES], hi[ATTEND_MAX_QUERIES];
    float slope[ATTEND_MAX_QUERIES]; // ALiBi
    float bias[ATTEND_MAX_QUERIES][KV_BLOCK];
    int32_t offset[ATTEND_MAX_QUERIES]; // first position of the block minus the query's
};

// One task, for one key head.
struct attend_work {
    const struct attend_task *t;
    const struct batch_row *rows; // rows of the task
    const struct batch_seq *seq;
    const struct attend_plan *plan;
    const struct attention *of;       // the layer's
    const struct kv_codec_ops *codec; // of its pages
    int32_t layer, head, heads;       // heads: query heads that share the key head
    size_t n_q, head_dim, v_dim, q_stride, key_bytes;
};

static size_t query_bytes(const struct kv_codec_ops *c, const struct attend_kind *k) {
    return act_bytes(c->act, (size_t)k->head_dim);
}

static size_t state_bytes(const struct attend_kind *k) {
    return round_up(attend_most_queries(k) * ((size_t)k->v_dim + 2) * sizeof(float), 64);
}

static size_t kernel_bytes(const struct attend_kind *k) {
    return round_up(attend_scratch((size_t)(k->head_dim > k->v_dim ? k->head_dim : k->v_dim)), 64);
}

static size_t kind_scratch(const struct kv_codec_ops *c, const struct attend_kind *k) {
    return round_up(sizeof(struct scratch), 64) + c->key_bytes((size_t)k->head_dim) +
           c->value_bytes((size_t)k->v_dim) + attend_most_queries(k) * query_bytes(c, k) + kernel_bytes(k) +
           2 * state_bytes(k);
}

size_t attend_scratch_bytes(const struct cpu_backend *b, const struct program *p, const struct backend_sizes *s) {
    size_t most = 0;
    for (int32_t k = 0; k < p->n_kinds; k++)
        for (int32_t g = 0; g < p->n_groups; g++) {
            const size_t bytes = kind_scratch(&b->k->kv[s->codec[g]], &p->kinds[k]);
            if (bytes > most) most = bytes;
        }
    return most;
}

static struct states states_at(uint8_t *at, const struct attend_kind *k) {
    float *const m = (float *)at;
    return (struct states){m, m + attend_most_queries(k), m + 2 * attend_most_queries(k)};
}

static struct scratch *scratch_of(const struct cpu_backend *b, const struct kv_codec_ops *c,
                                  const struct attend_kind *k, int i_thread) {
    uint8_t *at = cpu_scratch(b, i_thread);
    struct scratch *s = (struct scratch *)at;
    at += round_up(sizeof *s, 64);
    s->key_block = at, at += c->key_bytes((size_t)k->head_dim);
    s->value_block = at, at += c->value_bytes((size_t)k->v_dim);
    s->q = at, at += attend_most_queries(k) * query_bytes(c, k);
    s->kernel = at, at += kernel_bytes(k);
    s->all = states_at(at, k), s->split = states_at(at + state_bytes(k), k);
    return s;
}

// Blocks ------------------------------------------------------------------------------------------------------------------

struct kv_pair {
    const void *keys, *values;
};

static int32_t group_of(const struct cpu_backend *b, const struct attend_work *w) {
    return b->p->attention[w->layer].group;
}

// The block in the page that all rows of the task share. keys NULL: it must be assembled, for each row or for several.
static struct kv_pair whole_page(const struct cpu_backend *b, const struct attend_work *w, int32_t block) {
    const int32_t first = block * KV_BLOCK;
    const bool appended = w->rows[0].path[0] == NULL;
    if (first >= w->seq->n_committed || (!appended && w->seq->n_committed < first + KV_BLOCK))
        return (struct kv_pair){NULL, NULL};
    const uint8_t *page = cpu_key_block(b, w->layer, w->head, w->seq->pages[group_of(b, w)][block]);
    return (struct kv_pair){page, page + w->key_bytes};
}

// Does the row's path continue the one of the row before it? Then a block that is assembled for it serves both.
static bool continues(const struct attend_work *w, int32_t r, int32_t group) {
    const struct batch_row *const row = &w->rows[r], *const before = row - 1;
    const size_t n = (size_t)(row->pos - w->seq->n_committed);
    return row->pos == before->pos + 1 &&
           memcmp(row->path[group], before->path[group], n * sizeof *row->path[group]) == 0;
}

// Assembles the positions that rows [r, r + n), each of which continues the one before it, attend to: from the sequence's page and from the
// path of the last one.
static struct kv_pair assemble(const struct cpu_backend *b, const struct attend_work *w, int32_t r, int32_t n,
                               int32_t block, struct scratch *s) {
    const struct kv_codec_ops *codec = w->codec;
    const struct batch_row *const last = &w->rows[r + n - 1];
    const int32_t group = group_of(b, w), first = block * KV_BLOCK, committed = w->seq->n_committed;
    const int32_t seen = attend_first(w->plan->kind, &w->rows[r]);
    int32_t pos = seen > first ? seen : first;
    if (pos < committed) {
        const uint8_t *page = cpu_key_block(b, w->layer, w->head, w->seq->pages[group][block]);
        memcpy(s->key_block, page, w->key_bytes);
        memcpy(s->value_block, page + w->key_bytes, codec->value_bytes(w->v_dim));
        pos = committed;
    }
    for (; pos <= last->pos && pos < first + KV_BLOCK; pos++) {
        const struct kv_slot at = last->path[group][pos - committed];
        const uint8_t *src = cpu_key_block(b, w->layer, w->head, at.page);
        codec->copy_key(s->key_block, pos - first, src, at.slot, w->head_dim);
        codec->copy_value(s->value_block, pos - first, src + w->key_bytes, at.slot, w->v_dim);
    }
    return (struct kv_pair){s->key_block, s->value_block};
}

static bool has_biases(const struct attend_work *w) {
    return w->of->distance_bias || (w->plan->kind->alibi_slopes && w->plan->kind->is_mirrored);
}

// What is added to a query's scores of a block whose first key is `at` positions behind the query.
static void fill_bias(const struct attend_work *w, int32_t head, int32_t at, float out[KV_BLOCK]) {
    const float *const slopes = w->plan->kind->alibi_slopes;
    const int32_t most = w->of->n_distance;
    for (int32_t j = 0; j < KV_BLOCK; j++) {
        const int32_t by = at + j, near = by < -most ? -most : by > most ? most : by;
        out[j] = w->of->distance_bias
                     ? w->of->distance_bias[(size_t)head * (size_t)(2 * most + 1) + (size_t)(near + most)]
                     : -slopes[head] * (float)(by < 0 ? -by : by);
    }
}

// Rows [r, r + n) of the task, each of which attends to some position of the block.
static void attend_rows(const struct attend_work *w, struct scratch *s, int32_t block, int32_t r, int32_t n,
                        struct kv_pair now, struct kv_pair next, const struct states *to) {
    const size_t q0 = (size_t)(r * w->heads), n_q = (size_t)(n * w->heads);
    const struct attend_kind *kind = w->plan->kind;
    for (size_t i = 0; i < n_q; i++) {
        const struct batch_row *row = &w->rows[r + (int32_t)i / w->heads];
        const int32_t pos = row->pos, reach = attend_last(kind, row) - block * KV_BLOCK + 1,
                      seen = attend_first(kind, row) - block * KV_BLOCK;
        s->lo[i] = (uint8_t)(seen > 0 ? seen : 0);
        s->hi[i] = (uint8_t)(reach < KV_BLOCK ? reach : KV_BLOCK);
        s->offset[i] = block * KV_BLOCK - pos;
        const int32_t head = w->head * w->heads + (int32_t)i % w->heads;
        if (has_biases(w))
            fill_bias(w, head, s->offset[i], s->bias[i]);
        else if (kind->alibi_slopes)
            s->slope[i] = kind->alibi_slopes[head];
    }
    w->codec->attend(&(struct attend_block){.keys = now.keys,
                                            .values = now.values,
                                            .next_keys = next.keys,
                                            .next_values = next.values,
                                            .head_dim = w->head_dim,
                                            .v_dim = w->v_dim,
                                            .q = s->q + q0 * w->q_stride,
                                            .q_stride = w->q_stride,
                                            .n_q = n_q,
                                            .lo = s->lo,
                                            .hi = s->hi,
                                            .scale = kind->scale,
                                            .softcap = kind->softcap,
                                            .slope = kind->alibi_slopes && !has_biases(w) ? s->slope : NULL,
                                            .offset = s->offset,
                                            .bias = has_biases(w) ? s->bias[0] : NULL,
                                            .m = to->m + q0,
                                            .l = to->l + q0,
                                            .o = to->o + q0 * w->v_dim,
                                            .scratch = s->kernel});
}

static bool sees(const struct attend_work *w, int32_t r, int32_t block) {
    const int32_t first = block * KV_BLOCK;
    return attend_last(w->plan->kind, &w->rows[r]) >= first &&
           attend_first(w->plan->kind, &w->rows[r]) < first + KV_BLOCK;
}

// Attends to one block, for the rows of the task that reach it. Appended rows that do are mostly consecutive, since positions ascend;
// rows of a scratch path read a committed page in place.
static void attend_one(const struct cpu_backend *b, const struct attend_work *w, struct scratch *s, int32_t block,
                       bool last, const struct states *to) {
    const struct kv_pair page = whole_page(b, w, block);
    const struct kv_pair following = page.keys && !last ? whole_page(b, w, block + 1) : page;
    for (int32_t r = 0, n; r < w->t->n; r += n) {
        for (n = 1; !sees(w, r, block) && r + n < w->t->n && !sees(w, r + n, block); n++);
        if (!sees(w, r, block)) continue;
        if (!page.keys) {
            while (r + n < w->t->n && sees(w, r + n, block) && continues(w, r + n, group_of(b, w))) n++;
            const struct kv_pair own = assemble(b, w, r, n, block, s);
            attend_rows(w, s, block, r, n, own, own, to);
            continue;
        }
        while (r + n < w->t->n && sees(w, r + n, block)) n++;
        attend_rows(w, s, block, r, n, page, following.keys ? following : page, to);
    }
}

// Splits ------------------------------------------------------------------------------------------------------------------

// split: number of the split, from the first that the task reads.
static void attend_split(const struct cpu_backend *b, const struct attend_work *w, struct scratch *s, int32_t split,
                         const struct states *to) {
    const int32_t at = (w->t->begin / ATTEND_SPLIT + split) * ATTEND_SPLIT,
                  n_blocks = (w->t->end + KV_BLOCK - 1) / KV_BLOCK;
    const int32_t begin = (at > w->t->begin ? at : w->t->begin) / KV_BLOCK, full = (at + ATTEND_SPLIT) / KV_BLOCK;
    const int32_t end = full < n_blocks ? full : n_blocks;
    for (size_t i = 0; i < w->n_q; i++) to->m[i] = -INFINITY, to->l[i] = 0.0f;
    memset(to->o, 0, w->n_q * w->v_dim * sizeof(float));
    for (int32_t block = begin; block < end; block++) attend_one(b, w, s, block, block + 1 == n_blocks, to);
}

static void merge(const struct cpu_backend *b, const struct attend_work *w, const struct states *to,
                  const struct states *later) {
    for (size_t i = 0; i < w->n_q; i++)
        b->k->attend_merge(&to->m[i], &to->l[i], to->o + i * w->v_dim, later->m[i], later->l[i],
                           later->o + i * w->v_dim, w->v_dim);
}

// A sink is a key with value 0 that every query attends to after all others.
static void add_sinks(const struct cpu_backend *b, const struct attend_work *w, const float *sinks, struct scratch *s,
                      const struct states *to) {
    float *const none = s->split.o; // no longer in use: the zero value
    memset(none, 0, w->v_dim * sizeof *none);
    for (size_t i = 0; i < w->n_q; i++) {
        const float logit = sinks[w->head * w->heads + (int32_t)i % w->heads];
        b->k->attend_merge(&to->m[i], &to->l[i], to->o + i * w->v_dim, logit, 1, none, w->v_dim);
    }
}

static void finish(const struct op_run *x, const struct attend_work *w, struct scratch *s,
                   const struct states *from) {
    const float *sinks = w->of->sinks;
    if (sinks) add_sinks(x->b, w, sinks, s, from);
    for (size_t i = 0; i < w->n_q; i++) {
        const size_t r = (size_t)w->t->first + i / (size_t)w->heads,
                     h = (size_t)(w->head * w->heads) + i % (size_t)w->heads;
        x->b->k->attend_finish(from->o + i * w->v_dim, from->l[i], w->v_dim, run_dst(x, r) + h * w->v_dim);
    }
}

static void run_whole(const struct op_run *x, const struct attend_work *w, struct scratch *s) {
    attend_split(x->b, w, s, 0, &s->all);
    for (int32_t split = 1; split < attend_n_splits(w->t); split++) {
        attend_split(x->b, w, s, split, &s->split);
        merge(x->b, w, &s->all, &s->split);
    }
    finish(x, w, s, &s->all);
}

static struct states shared_states(const struct attend_work *w, int32_t split) {
    const struct attend_plan *plan = w->plan;
    const size_t at = w->t->states + ((size_t)w->head * (size_t)w->t->n_apart + (size_t)split) * w->n_q;
    return (struct states){plan->m + at, plan->l + at, plan->o + at * w->v_dim};
}

// One split. The thread that finishes the last one merges all of them, in ascending order.
static void run_apart(const struct op_run *x, const struct attend_work *w, struct scratch *s, int32_t split) {
    const struct cpu_backend *b = x->b;
    const struct states to = shared_states(w, split), first = shared_states(w, 0);
    atomic_int *const left = &w->plan->left[w->t->left + (size_t)w->head];
    attend_split(b, w, s, split, &to);
    // acq_rel: the thread that counts last must see what the others wrote.
    if (atomic_fetch_sub_explicit(left, 1, memory_order_acq_rel) > 1) return;
    atomic_store_explicit(left, w->t->n_apart,
                          memory_order_relaxed); // for the next layer, after a barrier
    for (int32_t i = 1; i < w->t->n_apart; i++) {
        const struct states later = shared_states(w, i);
        merge(b, w, &first, &later);
    }
    finish(x, w, s, &first);
}

static void prepare_queries(const struct op_run *x, const struct attend_work *w, struct scratch *s) {
    const struct kernel_set *k = x->b->k;
    for (size_t i = 0; i < w->n_q; i++) {
        const size_t r = (size_t)w->t->first + i / (size_t)w->heads,
                     h = (size_t)(w->head * w->heads) + i % (size_t)w->heads;
        k->prepare_act[w->codec->act](run_src(x, r) + h * w->head_dim, w->head_dim, s->q + i * w->q_stride);
    }
}

static struct attend_work work_of(const struct op_run *x, const struct attend_plan *plan, const struct attend_task *t,
                                  int32_t head) {
    const struct cpu_backend *b = x->b;
    const struct batch_row *rows = b->batch->rows + t->first;
    const struct attend_kind *kind = plan->kind;
    const int32_t heads = attend_heads(kind), group = b->p->attention[x->o->op.layer].group;
    return (struct attend_work){.t = t,
                                .rows = rows,
                                .seq = &b->batch->seqs[rows[0].seq],
                                .plan = plan,
                                .of = &b->p->attention[x->o->op.layer],
                                .codec = cpu_codec(b, group),
                                .layer = x->o->op.layer,
                                .head = head,
                                .heads = heads,
                                .n_q = (size_t)(t->n * heads),
                                .head_dim = (size_t)kind->head_dim,
                                .v_dim = (size_t)kind->v_dim,
                                .q_stride = query_bytes(cpu_codec(b, group), kind),
                                .key_bytes = b->groups[group].key_bytes};
}

void attend_run(const struct op_run *x) {
    const struct attend_plan *plan = &x->b->attend[x->b->p->attention[x->o->op.layer].kind];
    const size_t n_head_kv = (size_t)plan->kind->n_head_kv, n_together = run_schedule(x)->n_together;
    const struct op_run attend = run_member(x, n_together - 1);
    struct scratch *s =
        scratch_of(x->b, cpu_codec(x->b, x->b->p->attention[x->o->op.layer].group), plan->kind, x->i_thread);
    for (;;) {
        const size_t i = atomic_fetch_add_explicit(x->o->claimed, 1, memory_order_relaxed);
        if (i >= plan->n_units * n_head_kv) return;
        const struct attend_unit *unit = &plan->units[i / n_head_kv];
        const struct attend_task *t = &plan->tasks[unit->task];
        const struct attend_work w = work_of(&attend, plan, t, (int32_t)(i % n_head_kv));
        if (n_together == 2 && unit->split == t->n_apart - 1) {
            cpu_store_head(x, w.head, (size_t)t->first, (size_t)(t->first + t->n));
            cpu_profile_part(x, 0);
        }
        prepare_queries(&attend, &w, s);
        if (t->n_apart == 1)
            run_whole(&attend, &w, s);
        else
            run_apart(&attend, &w, s, unit->split);
        cpu_profile_part(x, n_together - 1);
    }
}
