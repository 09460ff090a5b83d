// tests/engine/ready_test.c - changing the ready callback: the former one no longer runs when the call returns.
#include "engine/outbox.h"
#include "tests/check.h"
#include <stdatomic.h>
#include <unistd.h>

struct rig {
    struct outbox out;
    atomic_int n_entered, may_leave, has_left, was_over, is_back;
};

static bool rig_init(struct rig *r) {
    rn_error err = {0};
    const struct outbox_sizes z = {.buffer_tokens = 4, .chunk_tokens = 1, .token_text = 8, .end_text = 8};
    return CHECK_OK(outbox_init(&r->out, &z, &err), &err);
}

static void stay(void *user) {
    struct rig *r = user;
    atomic_fetch_add(&r->n_entered, 1);
    while (!atomic_load(&r->may_leave)) usleep(100);
    atomic_store(&r->has_left, 1);
}

static void *write_chunk(void *user) {
    struct rig *r = user;
    outbox_close_chunk(&r->out);
    return NULL;
}

static void *turn_off(void *user) {
    struct rig *r = user;
    outbox_on_ready(&r->out, NULL, NULL);
    atomic_store(&r->was_over, atomic_load(&r->has_left));
    atomic_store(&r->is_back, 1);
    return NULL;
}

TEST(turning_the_ready_callback_off_waits_for_the_one_that_runs) {
    struct rig r = {0};
    rn_error err = {0};
    thread writer, other;
    if (!rig_init(&r)) return;
    outbox_on_ready(&r.out, stay, &r);
    if (!CHECK_OK(thread_start(&writer, write_chunk, &r, &err), &err)) return;
    while (!atomic_load(&r.n_entered)) usleep(100);
    if (CHECK_OK(thread_start(&other, turn_off, &r, &err), &err)) {
        for (int i = 0; i < 500 && !atomic_load(&r.is_back); i++) usleep(100); // long enough to return too early
        atomic_store(&r.may_leave, 1);
        thread_join(other);
        CHECK(r.was_over);
    }
    thread_join(writer);
    outbox_close_chunk(&r.out);
    CHECK_INT(r.n_entered, 1);
    outbox_free(&r.out);
}

static void turn_off_from_within(void *user) {
    struct rig *r = user;
    atomic_fetch_add(&r->n_entered, 1);
    outbox_on_ready(&r->out, NULL, NULL);
}

TEST(the_ready_callback_may_turn_itself_off) {
    struct rig r = {0};
    if (!rig_init(&r)) return;
    outbox_on_ready(&r.out, turn_off_from_within, &r);
    outbox_close_chunk(&r.out);
    outbox_close_chunk(&r.out);
    CHECK_INT(r.n_entered, 1);
    outbox_free(&r.out);
}
