// tests/backend/attend_plan_test.c - a step's attention as units of work: what is attended to together, what is taken apart, in which order.
#include "backend/cpu/cpu_attend.h"
#include "tests/check.h"
#include <string.h>

enum { MOST_ROWS = 256, N_HEAD_KV = 2, HEADS = 4 };

static struct batch_row rows[MOST_ROWS];
static const struct kv_slot path[1];
static const struct program program = {
    .n_kinds = 1, .kinds = {{.n_head = N_HEAD_KV * HEADS, .n_head_kv = N_HEAD_KV, .head_dim = 16, .v_dim = 16}}};

// A backend that has nothing but what the plan reads. Rows come in groups: n rows of a sequence from position pos on.
struct group {
    int32_t seq, pos, n;
    bool scratch;
};
static bool plan_open(struct cpu_backend *b, struct batch *batch, int n_threads, const struct group *groups,
                      size_t n) {
    rn_error err = {0};
    *batch = (struct batch){.rows = rows};
    memset(rows, 0, sizeof rows);
    for (size_t g = 0; g < n; g++)
        for (int32_t i = 0; i < groups[g].n; i++)
            rows[batch->n_rows++] = (struct batch_row){.seq = groups[g].seq,
                                                       .pos = groups[g].scratch ? groups[g].pos : groups[g].pos + i,
                                                       .path = {groups[g].scratch ? path : NULL}};
    *b = (struct cpu_backend){.p = &program, .batch = batch, .sizes = {.n_batch = MOST_ROWS, .n_pages = {128}}};
    if (!CHECK_OK(pool_create(n_threads, &b->threads, &err), &err)) return false;
    if (!CHECK_OK(attend_plan_load(b, &err), &err)) return false;
    attend_plan_step(b);
    return true;
}
static void plan_close(struct cpu_backend *b) {
    attend_plan_free(b);
    pool_destroy(b->threads);
}

// Every row lies in one task, every task's splits are units once, and states and counters overlap nowhere and fit.
static void check_whole(const struct cpu_backend *b) {
    const struct attend_plan *plan = &b->attend[0];
    size_t n_rows = 0, n_units = 0, n_states = 0, n_left = 0;
    for (size_t i = 0; i < plan->n_tasks; i++) {
        const struct attend_task *t = &plan->tasks[i];
        CHECK_INT(t->first, n_rows);
        CHECK(t->n >= 1 && t->n * HEADS <= ATTEND_TILE);
        n_rows += (size_t)t->n;
        n_units += (size_t)t->n_apart;
        if (t->n_apart == 1) continue;
        CHECK_INT(t->n_apart, (t->end + ATTEND_SPLIT - 1) / ATTEND_SPLIT);
        CHECK_INT(t->states, n_states);
        CHECK_INT(t->left, n_left);
        n_states += (size_t)(t->n_apart * t->n) * HEADS * N_HEAD_KV;
        n_left += N_HEAD_KV;
    }
    CHECK_INT(n_rows, b->batch->n_rows);
    CHECK_INT(n_units, plan->n_units);
    CHECK(n_states <= plan->most_states && n_left <= plan->most_states / 2 && n_units <= plan->most_units);
    for (size_t i = 0; i < plan->n_units; i++) {
        const struct attend_unit u = plan->units[i];
        CHECK(u.split >= 0 && u.split < plan->tasks[u.task].n_apart);
        for (size_t j = 0; j < i; j++) CHECK(u.task != plan->units[j].task || u.split != plan->units[j].split);
    }
}

TEST(rows_are_attended_to_together_where_they_see_the_same_pages) {
    static const struct {
        const char *why;
        struct group groups[3];
        size_t n_groups, n_tasks;
    } cases[] = {
        {"one row", {{0, 5, 1}}, 1, 1},
        {"a tile of queries", {{0, 0, 16}}, 1, 1},
        {"one row more than a tile", {{0, 0, 17}}, 1, 2},
        {"two sequences", {{0, 3, 2}, {1, 5, 2}}, 2, 2},
        {"positions that do not follow on each other", {{0, 3, 2}, {0, 9, 2}}, 2, 2},
        {"a tree's rows", {{0, 7, 3, true}, {0, 8, 2, true}}, 2, 1},
        {"rows and the tree below them", {{0, 3, 2}, {0, 5, 2, true}}, 2, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cpu_backend b;
        struct batch batch;
        check_note("%s", cases[i].why);
        if (plan_open(&b, &batch, 2, cases[i].groups, cases[i].n_groups)) {
            check_whole(&b);
            CHECK_INT(b.attend[0].n_tasks, cases[i].n_tasks);
        }
        plan_close(&b);
    }
}

TEST(long_rows_are_taken_apart_where_a_thread_would_else_wait_for_another) {
    static const struct {
        const char *why;
        int n_threads;
        struct group groups[3];
        size_t n_groups;
        int32_t first_apart; // of the first task
    } cases[] = {
        {"one thread has nobody to share with", 1, {{0, 8000, 1}}, 1, 1},
        {"one split", 4, {{0, 1023, 1}}, 1, 1},
        {"two splits", 4, {{0, 1024, 1}}, 1, 2},
        {"eight splits", 2, {{0, 8191, 1}}, 1, 8},
        {"one long row among short ones", 4, {{0, 4000, 1}, {1, 60, 1}, {2, 60, 1}}, 3, 4},
        {"tiles enough for everybody", 2, {{0, 2000, 256}}, 1, 1},
        {"more states than there is room for", 8, {{0, 8000, 16}}, 1, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cpu_backend b;
        struct batch batch;
        check_note("%s", cases[i].why);
        if (plan_open(&b, &batch, cases[i].n_threads, cases[i].groups, cases[i].n_groups)) {
            check_whole(&b);
            CHECK_INT(b.attend[0].tasks[0].n_apart, cases[i].first_apart);
        }
        plan_close(&b);
    }
}

TEST(the_longest_units_are_claimed_first) {
    static const struct group groups[] = {{0, 4000, 1}, {1, 0, 200}, {2, 10, 1}};
    struct cpu_backend b;
    struct batch batch;
    if (plan_open(&b, &batch, 1, groups, 3)) {
        check_whole(&b);
        uint64_t last = UINT64_MAX;
        for (size_t i = 0; i < b.attend[0].n_units; i++) {
            const struct attend_task *t = &b.attend[0].tasks[b.attend[0].units[i].task];
            const uint64_t cost = (uint64_t)t->n * (uint64_t)t->end;
            check_note("unit %zu: %d rows up to position %d", i, t->n, t->end);
            CHECK(cost / 2 < last); // classes are powers of two
            last = cost;
        }
        CHECK_INT(b.attend[0].tasks[b.attend[0].units[b.attend[0].n_units - 1].task].first, 201);
    }
    plan_close(&b);
}
