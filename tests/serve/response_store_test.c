// tests/serve/response_store_test.c - stored answers: whose they are, how many bytes, and which go first.
#include "serve/jobs/response_store.h"
#include "tests/check.h"
#include <string.h>

static void add(struct response_store *t, const char *id, uint64_t key, size_t n_bytes) {
    stored_response r = {0};
    static char text[8192];
    memset(text, 'x', sizeof text);
    bytes_add(&r.body, text, n_bytes);
    response_store_add(t, id, key, &r);
}

static bool has(struct response_store *t, const char *id, uint64_t key) {
    stored_response r;
    const bool is_there = response_store_get(t, id, key, &r);
    stored_response_free(&r);
    return is_there;
}

TEST(what_is_stored_comes_back_whole_for_its_key_alone) {
    struct response_store *const t = response_store_open(1 << 20);
    stored_response r = {0}, copy;
    bytes_add_text(&r.input, "in");
    bytes_add_text(&r.body, "body");
    response_store_add(t, "a", 1, &r);
    CHECK(r.input.data == NULL);
    if (CHECK(response_store_get(t, "a", 1, &copy))) {
        CHECK_STR(copy.input.data, "in");
        CHECK_INT(copy.output.n, 0);
        CHECK_STR(copy.body.data, "body");
    }
    stored_response_free(&copy);
    CHECK(!has(t, "a", 2) && !has(t, "a", 0) && !has(t, "", 1) && !has(t, "aa", 1));
    CHECK(!response_store_delete(t, "a", 2));
    CHECK(response_store_delete(t, "a", 1));
    CHECK(!response_store_delete(t, "a", 1));
    CHECK(!has(t, "a", 1));
    response_store_close(t);
}

TEST(the_oldest_go_when_there_is_one_byte_too_many) {
    enum { EACH = 1024 + 512 };
    struct response_store *const t = response_store_open(3 * EACH);
    add(t, "a", 1, 1024);
    add(t, "b", 1, 1024);
    add(t, "c", 1, 1024);
    CHECK(has(t, "a", 1) && has(t, "b", 1) && has(t, "c", 1)); // full to the byte
    add(t, "d", 1, 1);
    CHECK(!has(t, "a", 1) && has(t, "b", 1) && has(t, "d", 1));
    add(t, "e", 1, 3 * EACH - 512); // as large as all may be
    CHECK(!has(t, "d", 1) && has(t, "e", 1));
    add(t, "f", 1, 3 * EACH - 511);
    CHECK(!has(t, "f", 1) && has(t, "e", 1));
    response_store_close(t);
}

TEST(deleting_the_last_one_leaves_room_for_the_next) {
    struct response_store *const t = response_store_open(1 << 20);
    add(t, "a", 1, 10);
    add(t, "b", 1, 10);
    CHECK(response_store_delete(t, "b", 1));
    add(t, "c", 1, 10);
    CHECK(response_store_delete(t, "a", 1));
    CHECK(response_store_delete(t, "c", 1));
    add(t, "d", 1, 10);
    CHECK(has(t, "d", 1));
    response_store_close(t);
}

TEST(a_store_of_no_bytes_keeps_nothing) {
    struct response_store *const t = response_store_open(0);
    CHECK(!response_store_is_open(t));
    add(t, "a", 1, 0);
    CHECK(!has(t, "a", 1));
    response_store_close(t);
}
