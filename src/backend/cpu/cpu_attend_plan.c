// backend/cpu/cpu_attend_plan.c - the attention of a step as units of work: which rows form a task, which tasks are divided into splits
// of 1,024 keys so that more threads can share them, and in which order units are claimed.
#include "backend/cpu/cpu_attend.h"
#include "base/checked.h"
#include "base/mem.h"

enum { UNITS_PER_THREAD = 4 }; // a task longer than a thread's share divided by this is split

int32_t attend_heads(const struct attend_kind *k) { return k->n_head / k->n_head_kv; }

// Most rows of a task: ATTEND_TILE queries, but at least the heads of one row.
static int32_t most_rows(const struct attend_kind *k) {
    return attend_heads(k) < ATTEND_TILE ? ATTEND_TILE / attend_heads(k) : 1;
}
size_t attend_most_queries(const struct attend_kind *k) { return (size_t)(most_rows(k) * attend_heads(k)); }

// Most positions that a task reads: of the longest sequence that the pages hold, or of a window and the rows of a step.
static size_t most_positions(const struct attend_kind *k, const struct backend_sizes *s) {
    const size_t all = (size_t)s->n_pages[0] * KV_BLOCK, window = (size_t)(k->chunk ? k->chunk : k->window);
    return window && window + s->n_batch < all ? window + s->n_batch : all;
}

// Most softmax states of split queries in a step: twice those of one row over all that it can attend to.
static size_t most_states(const struct attend_kind *k, const struct backend_sizes *s, int n_threads) {
    const size_t n_splits = ceil_div(most_positions(k, s), ATTEND_SPLIT) + 1; // a window can begin within a split
    return n_threads > 1 && most_positions(k, s) > ATTEND_SPLIT ? 2 * n_splits * (size_t)k->n_head : 0;
}

static uint64_t kind_bytes(const struct attend_kind *k, const struct backend_sizes *s, int n_threads) {
    const uint64_t n = most_states(k, s, n_threads);
    const uint64_t n_units = s->n_batch + n / (uint64_t)k->n_head;
    return n * ((uint64_t)k->v_dim + 2) * sizeof(float) + s->n_batch * sizeof(struct attend_task) +
           n_units * sizeof(struct attend_unit) + n / 2 * sizeof(atomic_int);
}

uint64_t attend_plan_bytes(const struct program *p, const struct backend_sizes *s, int n_threads) {
    uint64_t bytes = 0;
    for (int32_t k = 0; k < p->n_kinds; k++) bytes += kind_bytes(&p->kinds[k], s, n_threads);
    return bytes;
}

static rn_status load_kind(struct attend_plan *plan, const struct attend_kind *k, const struct backend_sizes *s,
                           int n_threads, rn_error *err) {
    const size_t n = most_states(k, s, n_threads);
    plan->kind = k;
    plan->most_states = n;
    plan->most_units = s->n_batch + n / (size_t)k->n_head;
    plan->tasks = mem_alloc(s->n_batch * sizeof *plan->tasks);
    plan->units = mem_alloc(plan->most_units * sizeof *plan->units);
    plan->m = mem_alloc(n * sizeof(float));
    plan->l = mem_alloc(n * sizeof(float));
    plan->o = mem_alloc(n * (size_t)k->v_dim * sizeof(float));
    plan->left = mem_alloc(n / 2 * sizeof *plan->left); // a divided task has at least two splits
    if (plan->tasks && plan->units && plan->m && plan->l && plan->o && plan->left) return RN_OK;
    return fail(err, RN_E_NOMEM, "attention: out of memory for %zu rows and %zu states of splits", s->n_batch, n);
}

rn_status attend_plan_load(struct cpu_backend *b, rn_error *err) {
    rn_status st = RN_OK;
    for (int32_t k = 0; st == RN_OK && k < b->p->n_kinds; k++)
        st = load_kind(&b->attend[k], &b->p->kinds[k], &b->sizes, pool_n_threads(b->threads), err);
    return st;
}

void attend_plan_free(struct cpu_backend *b) {
    for (int32_t k = 0; k < PROGRAM_MAX_KINDS; k++) {
        struct attend_plan *plan = &b->attend[k];
        mem_free(plan->tasks);
        mem_free(plan->units);
        mem_free(plan->m);
        mem_free(plan->l);
        mem_free(plan->o);
        mem_free(plan->left);
    }
}

// Does the row join the task of the row before it? Rows at consecutive positions of a sequence do, and rows of its scratch tree, which
// share its committed pages.
static bool joins(const struct batch_row *row) {
    const bool scratch = row->path[0] != NULL;
    return row[-1].seq == row->seq && (row[-1].path[0] != NULL) == scratch &&
           (scratch || row[-1].pos + 1 == row->pos);
}

static void find_tasks(struct attend_plan *plan, const struct batch *batch) {
    plan->n_tasks = 0;
    for (int32_t r = 0; r < (int32_t)batch->n_rows; r++) {
        const struct batch_row *row = &batch->rows[r];
        const int32_t begin = attend_first(plan->kind, row);
        struct attend_task *t = plan->n_tasks ? &plan->tasks[plan->n_tasks - 1] : NULL;
        if (!t || t->n == most_rows(plan->kind) || !joins(row)) {
            t = &plan->tasks[plan->n_tasks++];
            *t = (struct attend_task){.first = r, .begin = begin, .n_apart = 1};
        }
        t->n++;
        if (begin < t->begin) t->begin = begin;
        const int32_t last = attend_last(plan->kind, row);
        if (last >= t->end) t->end = last + 1;
    }
}

static uint64_t cost(const struct attend_task *t) { return (uint64_t)t->n * (uint64_t)(t->end - t->begin); }

// Divides the long tasks into splits, as long as there is room for their states.
static void take_apart(struct attend_plan *plan, size_t n_threads) {
    const size_t n_head_kv = (size_t)plan->kind->n_head_kv, heads = (size_t)attend_heads(plan->kind);
    size_t n_states = 0, n_left = 0;
    uint64_t total = 0;
    for (size_t i = 0; i < plan->n_tasks; i++) total += cost(&plan->tasks[i]) * n_head_kv;
    for (size_t i = 0; i < plan->n_tasks; i++) {
        struct attend_task *t = &plan->tasks[i];
        const size_t n_splits = (size_t)attend_n_splits(t), states = n_splits * (size_t)t->n * heads * n_head_kv;
        if (n_splits < 2 || cost(t) * n_threads * UNITS_PER_THREAD <= total || n_states + states > plan->most_states)
            continue;
        t->n_apart = (int32_t)n_splits;
        t->states = n_states, t->left = n_left;
        n_states += states;
        for (size_t h = 0; h < n_head_kv; h++)
            atomic_store_explicit(&plan->left[n_left++], t->n_apart, memory_order_relaxed);
    }
}

// Descending by the number of bits of their cost; among equals the later one first, whose positions are higher.
static int cost_class(const struct attend_task *t) {
    return 63 - __builtin_clzll((cost(t) + (uint64_t)t->n_apart - 1) / (uint64_t)t->n_apart);
}

static void order_units(struct attend_plan *plan) {
    size_t at[65] = {0}; // at[c]: number of units above class c, then the index of the next unit of class c
    for (size_t i = 0; i < plan->n_tasks; i++)
        for (int c = cost_class(&plan->tasks[i]); c > 0; c--) at[c - 1] += (size_t)plan->tasks[i].n_apart;
    plan->n_units = 0;
    for (size_t i = plan->n_tasks; i-- > 0;) {
        const struct attend_task *t = &plan->tasks[i];
        for (int32_t s = 0; s < t->n_apart; s++, plan->n_units++)
            plan->units[at[cost_class(t)]++] = (struct attend_unit){(int32_t)i, s};
    }
}

// The first position whose keys and values the step writes, or may have to read from its scratch rows.
static int32_t first_new(const struct cpu_backend *b, const struct attend_task *t) {
    const struct batch_row *row = &b->batch->rows[t->first];
    return row->path[0] ? b->batch->seqs[row->seq].n_committed : row->pos;
}

// Are the new keys and values of each sequence read by one task only, and there by one split only?
static bool one_stores(const struct cpu_backend *b, const struct attend_plan *plan) {
    for (size_t i = 0; i < plan->n_tasks; i++) {
        const struct attend_task *t = &plan->tasks[i];
        const int32_t last = t->begin / ATTEND_SPLIT + t->n_apart - 1;
        if (t->n_apart > 1 && first_new(b, t) < last * ATTEND_SPLIT) return false;
        for (size_t j = 0; j < i; j++)
            if (b->batch->rows[plan->tasks[j].first].seq == b->batch->rows[t->first].seq) return false;
    }
    return true;
}

void attend_plan_step(struct cpu_backend *b) {
    b->one_stores = b->batch->n_rows <= b->copies.n_rows; // otherwise it is not used
    for (int32_t k = 0; k < b->p->n_kinds; k++) {
        find_tasks(&b->attend[k], b->batch);
        take_apart(&b->attend[k], (size_t)pool_n_threads(b->threads));
        order_units(&b->attend[k]);
        b->one_stores = b->one_stores && one_stores(b, &b->attend[k]);
    }
}
