// tests/serve/stream_store_test.c - streams that may be taken up again: how long, how much, by whom (field.md 5.6).
#include "app/say.h"
#include "serve/http/http.h"
#include "serve/jobs/stream_store.h"
#include "tests/check.h"
#include <stdlib.h>
#include <string.h>

#define SECOND_NS INT64_C(1000000000)

// Jobs of the test's own: nothing runs.
static int n_cancelled, n_closed;
void job_cancel(job *j) {
    (void)j;
    n_cancelled++;
}
void job_close(job *j) {
    n_closed++;
    free(j);
}

// The HTTP side is linked, and no request comes.
const http_route http_routes[] = {{0}};

static struct stream_store *open_store(size_t n_bytes) {
    n_cancelled = n_closed = 0;
    return stream_store_open(&(stream_limits){.grace_seconds = 30, .held_seconds = 300, .n_bytes = n_bytes});
}

static kept_stream *keep(struct stream_store *t, const char *id, uint64_t key) {
    job *const j = app_alloc(sizeof *j);
    *j = (job){.key = key};
    snprintf(j->id, sizeof j->id, "%s", id);
    return stream_keep(t, j);
}

static kept_stream *keep_ended(struct stream_store *t, const char *id, size_t n_bytes, int64_t at_s) {
    kept_stream *const k = keep(t, id, 1);
    char *const event = calloc(1, n_bytes);
    kept_add(t, k, event, n_bytes);
    free(event);
    kept_job(k)->has_ended = true;
    stream_detach(t, k, at_s * SECOND_NS);
    return k;
}

// The refusal, or "" when it was taken up; then it is given back at once, at the time given.
static const char *attach(struct stream_store *t, const char *id, const char *last_event, uint64_t key,
                          int64_t at_s) {
    api_error e = {0};
    kept_stream *k;
    uint64_t after;
    if (!stream_attach(t, id, last_event, key, &k, &after, &e)) return api_code_name(e.code);
    stream_detach(t, k, at_s * SECOND_NS);
    return "";
}

TEST(a_stream_without_a_reader_is_cancelled_after_the_time_of_grace_and_not_before) {
    struct stream_store *const t = open_store(64 << 20);
    kept_stream *const k = keep(t, "a", 1);
    stream_store_expire(t, 1000 * SECOND_NS); // it has a reader
    stream_detach(t, k, 1000 * SECOND_NS);
    stream_store_expire(t, 1030 * SECOND_NS - 1);
    CHECK_INT(n_cancelled, 0);
    stream_store_expire(t, 1030 * SECOND_NS);
    CHECK_INT(n_cancelled, 1);
    stream_store_expire(t, 1330 * SECOND_NS - 1);
    CHECK_INT(n_closed, 0);
    stream_store_expire(t, 1330 * SECOND_NS);
    CHECK_INT(n_closed, 1);
    CHECK_STR(attach(t, "a", NULL, 1, 0), "stream_not_found");
    stream_store_close(t);
}

TEST(a_stream_that_ended_is_held_for_its_time_and_not_longer) {
    struct stream_store *const t = open_store(64 << 20);
    keep_ended(t, "a", 10, 1000);
    stream_store_expire(t, 1300 * SECOND_NS - 1);
    CHECK_STR(attach(t, "a", "a.1", 1, 1200), ""); // who reads it again begins its time again
    stream_store_expire(t, 1500 * SECOND_NS - 1);
    CHECK_INT(n_closed, 0);
    stream_store_expire(t, 1500 * SECOND_NS);
    CHECK_INT(n_closed, 1);
    CHECK_INT(n_cancelled, 0);
    stream_store_close(t);
}

TEST(all_streams_together_hold_as_much_as_they_may_and_ended_ones_go_first) {
    enum { EACH = 1000, ROOM = 3 * (EACH + KEPT_BYTES) };
    struct stream_store *const t = open_store(ROOM);
    keep_ended(t, "later", EACH, 20);
    keep_ended(t, "sooner", EACH, 10);
    kept_stream *const running = keep(t, "running", 1);
    char event[EACH] = {0};
    kept_add(t, running, event, EACH);
    CHECK_INT(n_closed, 0); // full to the byte
    kept_add(t, running, event, 1);
    CHECK_INT(n_closed, 1);
    CHECK_STR(attach(t, "sooner", NULL, 1, 10), "stream_not_found");
    CHECK_STR(attach(t, "later", NULL, 1, 20), "");
    stream_store_close(t);
}

TEST(who_says_more_than_all_may_hold_loses_its_own_oldest_events) {
    enum { ROOM = 2 * KEPT_BYTES + 1000 };
    struct stream_store *const t = open_store(ROOM);
    kept_stream *const a = keep(t, "a", 1), *const b = keep(t, "b", 1);
    char event[600] = {0};
    kept_add(t, a, event, 600);
    kept_add(t, b, event, 400);
    CHECK_INT(kept_events(a)->n_dropped + kept_events(b)->n_dropped, 0);
    kept_add(t, b, event, 1);
    CHECK_INT(kept_events(a)->n_dropped, 0);
    CHECK_INT(kept_events(b)->n_dropped, 1);
    stream_detach(t, b, 0);
    CHECK_STR(attach(t, "b", NULL, 1, 0), "stream_expired");
    CHECK_STR(attach(t, "b", "b.1", 1, 0), "");
    stream_store_close(t);
}

TEST(streams_that_say_nothing_are_bounded_too) {
    struct stream_store *const t = open_store(8 * KEPT_BYTES);
    for (int i = 0; i < 100; i++) {
        char id[16];
        snprintf(id, sizeof id, "s%d", i);
        kept_stream *const k = keep(t, id, 1);
        kept_job(k)->has_ended = true;
        stream_detach(t, k, i * SECOND_NS);
    }
    CHECK_INT(n_closed, 92);
    CHECK_STR(attach(t, "s91", NULL, 1, 0), "stream_not_found");
    CHECK_STR(attach(t, "s92", NULL, 1, 92), "");
    stream_store_close(t);
    CHECK_INT(n_closed, 100);
}

TEST(field_3_16_a_stream_is_taken_up_by_its_key_by_one_reader_and_from_what_was_said) {
    static const struct {
        const char *why, *id, *last_event;
        uint64_t key;
        const char *code;
    } rows[] = {
        {"its own", "a", "a.1", 1, ""},
        {"from the first", "a", NULL, 1, ""},
        {"an empty header", "a", "", 1, ""},
        {"another's key", "a", "a.1", 2, "stream_not_found"},
        {"no key", "a", "a.1", 0, "stream_not_found"},
        {"a part of its id", "", ".1", 1, "stream_not_found"},
        {"an id that goes on", "ab", "ab.1", 1, "stream_not_found"},
        {"another stream's event", "a", "b.1", 1, "invalid_value"},
        {"no number", "a", "a.", 1, "invalid_value"},
        {"a sign", "a", "a.-1", 1, "invalid_value"},
        {"a blank", "a", "a. 1", 1, "invalid_value"},
        {"beyond 64 bits", "a", "a.18446744073709551616", 1, "invalid_value"},
        {"not said yet", "a", "a.3", 1, "invalid_value"},
        {"the last", "a", "a.2", 1, ""},
        {"one that is read", "b", NULL, 1, "stream_busy"},
    };
    struct stream_store *const t = open_store(64 << 20);
    kept_stream *const a = keep(t, "a", 1);
    keep(t, "b", 1);
    kept_add(t, a, "x", 1);
    kept_add(t, a, "y", 1);
    stream_detach(t, a, 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        check_note("%s", rows[i].why);
        CHECK_STR(attach(t, rows[i].id, rows[i].last_event, rows[i].key, 0), rows[i].code);
    }
    CHECK(!stream_store_cancel(t, "a", 2));
    CHECK_INT(n_cancelled, 0);
    CHECK(stream_store_cancel(t, "a", 1));
    CHECK_INT(n_cancelled, 1);
    stream_store_close(t);
}
