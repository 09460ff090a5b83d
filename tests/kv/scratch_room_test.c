// tests/kv/scratch_room_test.c - the reported number of scratch nodes is the number that can be added, and the
// reason is the one for which the next one fails.
#include "kv/kv.h"
#include "tests/check.h"

static rn_status no_copy(void *user, const struct kv_copy *c, rn_error *err) {
    (void)user, (void)c, (void)err;
    return RN_OK;
}

TEST(as_many_nodes_as_there_is_room_for_can_be_added) {
    static const struct {
        const char *why, *error; // part of the next node's error
        struct kv_config c;
        int32_t len, n_before; // positions; nodes that are there
        int32_t room;
    } rows[] = {
        {"nodes", "the scratch tree holds 6 nodes", {.n_pages = {4}, .max_scratch = 6}, 10, 2, 4},
        {"context", "pass the limit of 192", {.n_pages = {4}, .max_scratch = 6}, 192, 0, 0},
        {"pages", "needs 1 pages of group 0", {.n_pages = {2}, .max_scratch = 100}, 10, 3, 61},
        {"pages", "needs 1 pages of group 0", {.n_pages = {3}, .max_scratch = 200}, 65, 0, 64},
        {"pages",
         "needs 1 pages of group 1",
         {.n_groups = 2, .n_pages = {4, 2}, .window = {0, 64}, .max_scratch = 200},
         10,
         0,
         64},
        {"states", "needs a slot of state", {.n_pages = {4}, .max_scratch = 50, .n_states = 9}, 10, 3, 5},
        {"states", "needs a slot of state", {.n_pages = {4}, .max_scratch = 50, .n_states = 1}, 10, 0, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct kv_config c = rows[i].c;
        rn_error err = {0};
        const char *why = NULL;
        kv *k;
        kv_seq s;
        int32_t node;
        if (c.n_groups == 0) c.n_groups = 1;
        c.max_seqs = 2, c.n_ctx = 192;
        check_note("row %zu", i);
        if (!CHECK_OK(kv_create(&c, no_copy, NULL, &k, &err), &err)) continue;
        CHECK_OK(kv_seq_new(k, &s, &err), &err);
        for (int32_t p = 0; p < rows[i].len; p++) {
            const uint64_t key = (uint64_t)p;
            CHECK_OK(kv_append(k, s, &key, 1, &err), &err);
            kv_commit(k);
        }
        for (int32_t n = 0; n < rows[i].n_before; n++) CHECK_OK(kv_scratch_add(k, s, KV_NONE, 1, &node, &err), &err);
        const int32_t room = kv_scratch_room(k, s, &why);
        CHECK_INT(room, rows[i].room);
        CHECK_INT(kv_scratch_room(k, s, NULL), room);
        CHECK_STR(why, rows[i].why);
        for (int32_t n = 0; n < room; n++) CHECK_OK(kv_scratch_add(k, s, KV_NONE, 1, &node, &err), &err);
        CHECK_FAILS(kv_scratch_add(k, s, KV_NONE, 1, &node, &err), RN_E_LIMIT, &err);
        CHECK_HAS(err.text, rows[i].error);
        CHECK_INT(kv_scratch_room(k, s, NULL), 0);
        kv_destroy(k);
    }
}
