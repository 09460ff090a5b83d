// tests/lm/toy_lm_test.c - the operations of the waist on the toy model, every answer compared with the published function.
#include "base/hash.h"
#include "base/mem.h"
#include "base/philox.h"
#include "tests/check.h"
#include "tests/support/toy_lm.h"
#include <math.h>
#include <string.h>

enum { VOCAB = 16, CTX = 300, SEQS = 6, BATCH = 160, NODES = 80 };

static const struct toy_config plain = {
    .n_vocab = VOCAB,
    .n_ctx = CTX,
    .n_batch = BATCH,
    .n_want = BATCH,
    .max_seqs = SEQS,
    .max_scratch = NODES,
    .n_pages = 40,
    .n_groups = 1,
    .nan_token = -1,
};

static struct toy_config with_window(int32_t window) {
    struct toy_config c = plain;
    if (window) c.n_groups = 2, c.window = window;
    return c;
}

static struct toy_config recurrent(struct toy_config c, int32_t n_states) {
    c.n_states = n_states;
    return c;
}
enum { STATES = NODES + 2 * SEQS }; // room for every scratch node, and for each sequence's state and a kept one

static lm *toy_new(const struct toy_config *c) {
    lm *m = NULL;
    rn_error err = {0};
    CHECK_OK(toy_lm_create(c, &m, &err), &err);
    return m;
}

static void some_tokens(int32_t *tokens, int32_t n, uint64_t seed) {
    for (int32_t i = 0; i < n; i++) tokens[i] = (int32_t)(hash_u64((uint64_t)i, seed) % VOCAB);
}

static bool logits_are(lm *m, size_t row, const struct toy_config *c, const int32_t *tokens, int32_t n) {
    float want[VOCAB];
    const float *got = lm_logits(m, row);
    toy_lm_expect(c, tokens, n, want);
    return CHECK(got != NULL) && CHECK_MEM(got, want, sizeof want);
}

static bool books_are_right(lm *m) {
    rn_error err = {0};
    return CHECK_OK(kv_check(toy_lm_kv(m), &err), &err);
}

// Appends tokens[from..to) in one step, all rows wanted, and checks all answers.
static rn_status append_and_check(lm *m, const struct toy_config *c, int32_t seq, const int32_t *tokens, int32_t from,
                                  int32_t to) {
    struct lm_row rows[BATCH] = {0};
    for (int32_t i = from; i < to; i++) rows[i - from] = (struct lm_row){seq, tokens[i], LM_APPEND, LM_WANT_LOGITS};
    const rn_status st = lm_step(m, rows, (size_t)(to - from), NULL, NULL);
    for (int32_t i = from; st == RN_OK && i < to; i++)
        if (!logits_are(m, (size_t)(i - from), c, tokens, i + 1)) break;
    return st;
}

static int32_t new_seq(lm *m) {
    int32_t seq = -1;
    rn_error err = {0};
    CHECK_OK(lm_seq_new(m, NULL, &seq, &err), &err);
    return seq;
}

TEST(the_function_is_the_one_in_the_header) {
    const struct toy_config c = with_window(2);
    static const int32_t tokens[] = {3, 1, 2};
    float got[VOCAB];
    toy_lm_expect(&c, tokens, 3, got);
    uint32_t h = 0;
    for (uint64_t j = 0; j < 3; j++) {
        h = h * 1000003u + (uint32_t)hash_u64(((uint64_t)tokens[j] << 32) + j, 0);
        if (j >= 1) h = h * 1000003u + (uint32_t)hash_u64(((uint64_t)tokens[j] << 32) + j, 1);
    }
    for (uint64_t i = 0; i < VOCAB; i++) {
        const float want = (float)((hash_u64(h, i) >> 8) & 0xffff) / 4096 - 8;
        CHECK(got[i] == want && want >= -8 && want < 8);
    }
    lm *m = toy_new(&c);
    const int32_t seq = new_seq(m);
    struct lm_row rows[3];
    for (int32_t i = 0; i < 3; i++) rows[i] = (struct lm_row){seq, tokens[i], LM_APPEND, i == 2 ? LM_WANT_HIDDEN : 0};
    CHECK(lm_step(m, rows, 3, NULL, NULL) == RN_OK);
    CHECK_INT(m->n_embd, 2);
    CHECK(lm_hidden(m, 2)[0] == (float)(h & 0xffff) && lm_hidden(m, 2)[1] == (float)(h >> 16));
    CHECK(lm_logits(m, 1) == NULL && lm_hidden(m, 0) == NULL && lm_logits(m, 3) == NULL); // not wanted, not there
    lm_destroy(m);
}

TEST(a_recurrent_models_function_is_the_one_in_the_header) {
    const struct toy_config c = recurrent(plain, STATES);
    static const int32_t tokens[] = {3, 1, 2};
    float got[VOCAB];
    toy_lm_expect(&c, tokens, 3, got);
    uint32_t h = 0, state = 0;
    for (uint64_t j = 0; j < 3; j++) {
        h = h * 1000003u + (uint32_t)hash_u64(((uint64_t)tokens[j] << 32) + j, 0);
        state = (uint32_t)hash_u64(((uint64_t)tokens[j] << 32) + state, 2);
    }
    h = h * 1000003u + state;
    for (uint64_t i = 0; i < VOCAB; i++) CHECK(got[i] == (float)((hash_u64(h, i) >> 8) & 0xffff) / 4096 - 8);
}

static void check_every_cut(int32_t n_states) {
    for (int32_t window = 0; window <= 64; window += 32) {
        const struct toy_config c = recurrent(with_window(window), n_states);
        int32_t tokens[131];
        some_tokens(tokens, 131, 1);
        for (int32_t cut = 1; cut < 131; cut++) {
            check_note("window %d, cut %d", window, cut);
            lm *m = toy_new(&c);
            const int32_t seq = new_seq(m);
            CHECK_INT(append_and_check(m, &c, seq, tokens, 0, cut), RN_OK);
            CHECK_INT(append_and_check(m, &c, seq, tokens, cut, 131), RN_OK);
            books_are_right(m);
            lm_destroy(m);
        }
    }
}

TEST(every_cut_of_a_prompt_into_two_steps_gives_the_same_logits) {
    check_every_cut(0);
    check_every_cut(STATES);
}

TEST(one_token_at_a_time_gives_the_logits_of_one_step) {
    for (int32_t window = 0; window <= 130; window += 65) {
        const struct toy_config c = recurrent(with_window(window), window == 65 ? 1 : 0);
        int32_t tokens[CTX];
        some_tokens(tokens, CTX, 2);
        lm *m = toy_new(&c);
        const int32_t seq = new_seq(m);
        for (int32_t i = 0; i < CTX; i++) CHECK_INT(append_and_check(m, &c, seq, tokens, i, i + 1), RN_OK);
        CHECK_INT(append_and_check(m, &c, seq, tokens, 0, 1), RN_E_LIMIT);
        CHECK_INT(lm_seq_len(m, seq), CTX);
        books_are_right(m);
        lm_destroy(m);
    }
}

TEST(a_token_and_its_draft_tree_in_one_step_equal_chains) {
    for (int32_t len = 60; len <= 66; len++)
        for (int32_t window = 0; window <= 5; window += 5) {
            check_note("length %d, window %d", len, window);
            const struct toy_config c = recurrent(with_window(window), len % 2 ? STATES : 0);
            int32_t tokens[80];
            some_tokens(tokens, 80, 3);
            lm *m = toy_new(&c);
            const int32_t seq = new_seq(m);
            CHECK_INT(append_and_check(m, &c, seq, tokens, 0, len), RN_OK);
            // node:   0 (7)   1 (8)          the sampled token, then two children of it,
            //         2 (9)   3 (10) below 1, and 4 (11) below 3
            const struct lm_row rows[] = {
                {seq, 5, LM_APPEND, 1}, {seq, 7, LM_ROOT, 1}, {seq, 8, LM_ROOT, 1},
                {seq, 9, 1, 1},         {seq, 10, 1, 1},      {seq, 11, 3, 1},
            };
            static const struct {
                int32_t n, suffix[4];
            } want[] = {{1, {5}}, {2, {5, 7}}, {2, {5, 8}}, {3, {5, 8, 9}}, {3, {5, 8, 10}}, {4, {5, 8, 10, 11}}};
            CHECK(lm_step(m, rows, 6, NULL, NULL) == RN_OK);
            for (size_t i = 0; i < 6; i++) {
                memcpy(tokens + len, want[i].suffix, sizeof want[i].suffix);
                logits_are(m, i, &c, tokens, len + want[i].n);
            }
            CHECK(lm_keep(m, seq, (const int32_t[]){1, 3, 4}, 3, NULL) == RN_OK);
            CHECK_INT(lm_seq_len(m, seq), len + 4);
            CHECK_INT(append_and_check(m, &c, seq, tokens, len + 4, len + 6), RN_OK); // tokens end in 5, 8, 10, 11
            books_are_right(m);
            lm_destroy(m);
        }
}

TEST(a_tree_grows_over_several_steps_and_is_dropped_whole) {
    const struct toy_config c = recurrent(with_window(40), STATES);
    int32_t tokens[160];
    some_tokens(tokens, 160, 4);
    lm *m = toy_new(&c);
    const int32_t seq = new_seq(m);
    CHECK_INT(append_and_check(m, &c, seq, tokens, 0, 70), RN_OK);
    for (int32_t i = 0; i < NODES; i++) {
        CHECK(lm_step(m, &(struct lm_row){seq, tokens[70 + i], i - 1, 1}, 1, NULL, NULL) == RN_OK);
        logits_are(m, 0, &c, tokens, 71 + i);
    }
    CHECK_FAILS(lm_step(m, &(struct lm_row){seq, 0, LM_APPEND, 1}, 1, NULL, NULL), RN_E_STATE, NULL);
    CHECK(lm_keep(m, seq, NULL, 0, NULL) == RN_OK);
    CHECK_INT(lm_seq_len(m, seq), 70);
    CHECK_INT(append_and_check(m, &c, seq, tokens, 70, 75), RN_OK);
    books_are_right(m);
    lm_destroy(m);
}

TEST(forks_go_their_own_ways_and_truncated_ones_start_again) {
    for (int32_t window = 0; window <= 70; window += 70)
        for (int32_t len = 62; len <= 130; len += 17) {
            check_note("window %d, length %d", window, len);
            const struct toy_config c = recurrent(with_window(window), len % 2 ? STATES : 0);
            int32_t a[CTX], b[CTX];
            some_tokens(a, CTX, 5);
            some_tokens(b, CTX, 6);
            memcpy(b, a, (size_t)len * sizeof *a);
            lm *m = toy_new(&c);
            const int32_t s = new_seq(m);
            CHECK_INT(append_and_check(m, &c, s, a, 0, len), RN_OK);
            int32_t f;
            CHECK(lm_seq_fork(m, s, &f, NULL) == RN_OK);
            CHECK_INT(append_and_check(m, &c, f, b, len, len + 70), RN_OK);
            CHECK_INT(append_and_check(m, &c, s, a, len, len + 70), RN_OK);
            const int32_t kept = lm_truncate(m, s, len - 5);
            CHECK(kept <= len - 5 && lm_seq_len(m, s) == kept);
            memcpy(a + kept, b + len, 20 * sizeof *a);
            CHECK_INT(append_and_check(m, &c, s, a, kept, kept + 20), RN_OK);
            CHECK_INT(append_and_check(m, &c, f, b, len + 70, len + 80), RN_OK);
            books_are_right(m);
            lm_destroy(m);
        }
}

TEST(a_cached_prefix_gives_the_logits_of_an_evaluated_one) {
    static const struct {
        const char *why;
        int32_t n_cached, differs, n, found;
        enum lm_miss miss;
    } rows[] = {
        {"nothing there", 0, -1, 150, 0, LM_MISS_EMPTY},
        {"whole", 150, -1, 150, 150, LM_MISS_NONE},
        {"all of a shorter one", 100, -1, 150, 100, LM_MISS_END},
        {"up to another token", 150, 90, 150, 90, LM_MISS_DIFFERS},
        {"less than there is", 150, -1, 149, 149, LM_MISS_NONE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int32_t window = 0; window <= 30; window += 30) {
            check_note("%s, window %d", rows[i].why, window);
            const struct toy_config c = with_window(window);
            int32_t tokens[200];
            some_tokens(tokens, 200, 7);
            lm *m = toy_new(&c);
            const int32_t s = new_seq(m);
            if (rows[i].n_cached) CHECK_INT(append_and_check(m, &c, s, tokens, 0, rows[i].n_cached), RN_OK);
            lm_seq_free(m, s);
            if (rows[i].differs >= 0) tokens[rows[i].differs] = (tokens[rows[i].differs] + 1) % VOCAB;
            struct lm_prefix p;
            CHECK(lm_match_tokens(m, NULL, tokens, rows[i].n, &p, NULL) == RN_OK);
            CHECK_INT(p.n, rows[i].found);
            CHECK_INT(p.miss, rows[i].miss);
            CHECK_INT(append_and_check(m, &c, p.seq, tokens, p.n, 155), RN_OK);
            books_are_right(m);
            lm_destroy(m);
        }
}

TEST(a_recurrent_model_finds_a_prefix_where_its_state_was_kept) {
    static const struct {
        const char *why;
        int32_t interval, kept_at, n, found;
        enum lm_miss miss;
    } rows[] = {
        {"at the end alone", 0, 0, 149, 0, LM_MISS_STATE},        {"at the end", 0, 0, 150, 150, LM_MISS_NONE},
        {"where it was wanted", 0, 90, 149, 90, LM_MISS_STATE},   {"at an interval", 64, 0, 149, 128, LM_MISS_STATE},
        {"the later of both", 128, 130, 149, 130, LM_MISS_STATE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        check_note("%s", rows[i].why);
        struct toy_config c = recurrent(plain, STATES);
        int32_t tokens[200];
        struct lm_row step[150] = {0};
        struct lm_prefix p;
        c.state_interval = rows[i].interval;
        some_tokens(tokens, 200, 7);
        lm *m = toy_new(&c);
        const int32_t s = new_seq(m);
        for (int32_t j = 0; j < 150; j++)
            step[j] = (struct lm_row){s, tokens[j], LM_APPEND, j + 1 == rows[i].kept_at ? LM_WANT_STATE : 0};
        CHECK(lm_step(m, step, 150, NULL, NULL) == RN_OK);
        lm_seq_free(m, s);
        CHECK(lm_match_tokens(m, NULL, tokens, rows[i].n, &p, NULL) == RN_OK);
        CHECK_INT(p.n, rows[i].found);
        CHECK_INT(p.miss, rows[i].miss);
        CHECK_INT(append_and_check(m, &c, p.seq, tokens, p.n, 155), RN_OK);
        books_are_right(m);
        lm_destroy(m);
    }
}

TEST(a_step_that_finds_no_state_slot_changes_nothing_and_names_its_row) {
    const struct toy_config c = recurrent(plain, 2);
    lm *m = toy_new(&c);
    int32_t tokens[20];
    some_tokens(tokens, 20, 11);
    const int32_t a = new_seq(m), b = new_seq(m);
    CHECK_INT(append_and_check(m, &c, a, tokens, 0, 5), RN_OK);
    const struct lm_row rows[] = {{a, tokens[5], LM_APPEND, 1}, {b, 1, LM_APPEND, 1}, {b, 2, LM_ROOT, 1}};
    size_t failed = 99;
    rn_error err = {0};
    CHECK_FAILS(lm_step(m, rows, 3, &failed, &err), RN_E_LIMIT, &err);
    CHECK_INT(failed, 2);
    CHECK_HAS(err.text, "slot");
    CHECK_INT(lm_seq_len(m, a), 5);
    CHECK_INT(lm_seq_len(m, b), 0);
    books_are_right(m);
    CHECK_INT(append_and_check(m, &c, a, tokens, 5, 10), RN_OK);
    CHECK_INT(append_and_check(m, &c, b, tokens, 0, 5), RN_OK);
    lm_destroy(m);
}

TEST(a_prefix_longer_than_the_context_is_matched_up_to_its_end) {
    lm *m = toy_new(&plain);
    int32_t tokens[CTX + 10];
    some_tokens(tokens, CTX + 10, 8);
    const int32_t s = new_seq(m);
    for (int32_t i = 0; i < CTX; i += 100) CHECK_INT(append_and_check(m, &plain, s, tokens, i, i + 100), RN_OK);
    lm_seq_free(m, s);
    struct lm_prefix p;
    CHECK(lm_match_tokens(m, NULL, tokens, CTX + 10, &p, NULL) == RN_OK);
    CHECK_INT(p.n, CTX);
    CHECK_INT(p.miss, LM_MISS_END);
    lm_destroy(m);
}

TEST(a_step_that_runs_out_of_pages_changes_no_sequence_and_names_its_row) {
    for (int32_t window = 0; window <= 200; window += 200) {
        struct toy_config c = with_window(window);
        c.n_pages = 4;
        lm *m = toy_new(&c);
        int32_t tokens[200];
        some_tokens(tokens, 200, 9);
        const int32_t a = new_seq(m), b = new_seq(m), d = new_seq(m);
        CHECK_INT(append_and_check(m, &c, a, tokens, 0, 60), RN_OK);
        CHECK_INT(append_and_check(m, &c, b, tokens, 0, 64), RN_OK);
        CHECK(lm_step(m, (const struct lm_row[]){{d, 1, LM_ROOT, 1}, {d, 2, 0, 1}}, 2, NULL, NULL) == RN_OK);
        struct lm_row rows[12]; // a grows over a page, d's tree grows, b has no page left
        size_t n = 0, failed = 99;
        for (int32_t i = 60; i < 66; i++) rows[n++] = (struct lm_row){a, tokens[i], LM_APPEND, LM_WANT_LOGITS};
        rows[n++] = (struct lm_row){d, 3, 1, LM_WANT_LOGITS};
        rows[n++] = (struct lm_row){b, tokens[64], LM_APPEND, LM_WANT_LOGITS};
        rows[n++] = (struct lm_row){a, tokens[66], LM_APPEND, LM_WANT_LOGITS};
        rn_error err = {0};
        CHECK_FAILS(lm_step(m, rows, n, &failed, &err), RN_E_LIMIT, &err);
        CHECK_INT(failed, 7);
        CHECK_HAS(err.text, "toy model: row 7: kv: sequence 1: 1 more positions need 1 pages of group 0, 0 of 4");
        CHECK(lm_logits(m, 0) == NULL);
        CHECK_INT(lm_seq_len(m, a), 60);
        CHECK_INT(lm_seq_len(m, b), 64);
        CHECK_INT(kv_scratch_len(toy_lm_kv(m), d), 2);
        books_are_right(m);
        lm_seq_free(m, d); // its page comes back
        CHECK_INT(append_and_check(m, &c, a, tokens, 60, 70), RN_OK);
        CHECK_INT(append_and_check(m, &c, b, tokens, 64, 70), RN_OK);
        struct lm_prefix p;
        CHECK(lm_match_tokens(m, NULL, tokens, 64, &p, NULL) ==
              RN_OK); // what was taken back is in no cache, what stayed is
        CHECK_INT(p.n, 64);
        books_are_right(m);
        lm_destroy(m);
    }
}

TEST(a_wrong_row_is_refused_with_its_number_and_changes_nothing) {
    static const struct {
        const char *why;
        struct lm_row row;
        rn_status code;
        const char *text;
    } bad[] = {
        {"no such sequence", {1, 0, LM_APPEND, 0}, RN_E_ARG, "sequence 1 does not exist"},
        {"negative sequence", {-1, 0, LM_APPEND, 0}, RN_E_ARG, "sequence -1 does not exist"},
        {"sequence past the end", {SEQS, 0, LM_APPEND, 0}, RN_E_ARG, "sequence 6 does not exist"},
        {"negative token", {0, -1, LM_APPEND, 0}, RN_E_ARG, "token -1 is outside 0..15"},
        {"token past the end", {0, VOCAB, LM_APPEND, 0}, RN_E_ARG, "token 16 is outside 0..15"},
        {"parent below LM_APPEND", {0, 0, -3, 0}, RN_E_ARG, "parent -3 does not exist"},
        {"a node that is not there", {0, 0, 2, 0}, RN_E_ARG, "parent 2 is no scratch node, there are 2"},
        {"append under a tree", {0, 0, LM_APPEND, 0}, RN_E_STATE, "has a scratch tree of 2 nodes"},
        {"unknown want", {0, 0, LM_ROOT, 32}, RN_E_ARG, "want 0x20 is unknown"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        check_note("%s", bad[i].why);
        lm *m = toy_new(&plain);
        const int32_t s = new_seq(m);
        const struct lm_row rows[] = {{s, 1, LM_APPEND, 1}, {s, 2, LM_ROOT, 1}, {s, 3, 0, 1}, bad[i].row};
        size_t failed = 99;
        rn_error err = {0};
        CHECK_FAILS(lm_step(m, rows, 4, &failed, &err), bad[i].code, &err);
        CHECK_HAS(err.text, bad[i].text);
        CHECK_INT(failed, 3);
        CHECK_INT(lm_seq_len(m, s), 0);
        books_are_right(m);
        CHECK(lm_step(m, rows, 3, NULL, NULL) == RN_OK); // without the bad one it goes
        lm_destroy(m);
    }
}

TEST(too_many_rows_or_results_are_refused) {
    struct toy_config c = plain;
    c.n_batch = 3, c.n_want = 2;
    lm *m = toy_new(&c);
    const int32_t s = new_seq(m);
    const struct lm_row rows[] = {
        {s, 1, LM_APPEND, 1}, {s, 1, LM_APPEND, 2}, {s, 1, LM_APPEND, 3}, {s, 1, LM_APPEND, 0}};
    rn_error err = {0};
    size_t failed = 99;
    CHECK_FAILS(lm_step(m, rows, 0, NULL, &err), RN_E_ARG, &err);
    CHECK_FAILS(lm_step(m, rows, 4, NULL, &err), RN_E_ARG, &err);
    CHECK_STR(err.text, "toy model: 4 rows, 1..3 are possible");
    CHECK_FAILS(lm_step(m, rows, 3, &failed, &err), RN_E_ARG, &err);
    CHECK_STR(err.text, "toy model: row 2: more than 2 rows want results");
    CHECK_INT(failed, 2);
    CHECK_INT(lm_seq_len(m, s), 0);
    CHECK(lm_step(m, rows + 1, 2, NULL, NULL) == RN_OK);
    lm_destroy(m);
}

TEST(a_nan_token_spoils_its_own_row_alone) {
    struct toy_config c = plain;
    c.nan_token = 9;
    lm *m = toy_new(&c);
    const int32_t a = new_seq(m), b = new_seq(m);
    const struct lm_row rows[] = {{a, 9, LM_APPEND, 1}, {b, 4, LM_APPEND, 1}, {a, 5, LM_APPEND, 1}};
    CHECK(lm_step(m, rows, 3, NULL, NULL) == RN_OK);
    for (int i = 0; i < VOCAB; i++) CHECK(isnan(lm_logits(m, 0)[i]));
    logits_are(m, 1, &c, (const int32_t[]){4}, 1);
    logits_are(m, 2, &c, (const int32_t[]){9, 5}, 2);
    float want[VOCAB];
    toy_lm_expect(&c, (const int32_t[]){4, 9}, 2, want);
    CHECK(isnan(want[0]) && isnan(want[VOCAB - 1]));
    lm_destroy(m);
}

TEST(a_bad_configuration_is_refused) {
    struct {
        const char *text;
        struct toy_config c;
    } rows[] = {
        {"n_vocab 0", plain},       {"n_batch -1", plain},
        {"n_groups: 3 is", plain},  {"window: 0 is less than 1", plain},
        {"n_pages: 0 is", plain},   {"max_seqs: 0 is", plain},
        {"n_states: -1 is", plain}, {"state_interval: 63 is", plain},
    };
    rows[0].c.n_vocab = 0, rows[1].c.n_batch = -1, rows[2].c.n_groups = 3, rows[3].c.n_groups = 2;
    rows[4].c.n_pages = 0, rows[5].c.max_seqs = 0, rows[6].c.n_states = -1;
    rows[7].c.n_states = 1, rows[7].c.state_interval = 63;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        lm *m = NULL;
        rn_error err = {0};
        CHECK_FAILS(toy_lm_create(&rows[i].c, &m, &err), RN_E_ARG, &err);
        CHECK_HAS(err.text, rows[i].text);
        CHECK(m == NULL);
    }
}

static rn_status create_once(void *user) {
    lm *m = NULL;
    const rn_status st = toy_lm_create(user, &m, NULL);
    CHECK((m != NULL) == (st == RN_OK));
    lm_destroy(m);
    return st;
}

TEST(every_failed_allocation_of_create_is_reported_and_leaks_nothing) {
    struct toy_config c = recurrent(with_window(8), 3);
    check_each_failed_allocation(create_once, &c, __FILE__, __LINE__);
}

TEST(a_step_makes_no_heap_allocation) {
    const struct toy_config c = recurrent(with_window(20), STATES);
    lm *m = toy_new(&c);
    int32_t tokens[200];
    some_tokens(tokens, 200, 10);
    const int32_t s = new_seq(m);
    const long before = mem_count();
    append_and_check(m, &c, s, tokens, 0, 100);
    for (int32_t i = 100; i < 200; i++) append_and_check(m, &c, s, tokens, i, i + 1);
    CHECK_INT(mem_count(), before);
    lm_destroy(m);
}

// Random histories: every row's answer against the function of the tokens it should have seen.

struct history {
    lm *m;
    struct toy_config c;
    uint32_t key[2], counter;
    struct {
        bool used;
        int32_t len, n_nodes, tokens[CTX], node_tokens[NODES], parents[NODES];
    } seqs[SEQS];
};

static int32_t roll(struct history *h, int32_t n) {
    uint32_t out[4];
    philox4x32_10((const uint32_t[4]){h->counter++, 0, 0, 0}, h->key, out);
    return (int32_t)(out[0] % (uint32_t)n);
}

// The tokens a scratch node (or KV_NONE: the last position) sees; returns how many.
static int32_t prefix_of(const struct history *h, int32_t s, int32_t node, int32_t *tokens) {
    if (node < 0) {
        memcpy(tokens, h->seqs[s].tokens, (size_t)h->seqs[s].len * sizeof *tokens);
        return h->seqs[s].len;
    }
    const int32_t n = prefix_of(h, s, h->seqs[s].parents[node], tokens);
    tokens[n] = h->seqs[s].node_tokens[node];
    return n + 1;
}

static void step_some(struct history *h) {
    struct lm_row rows[BATCH];
    static int32_t want[BATCH][CTX + NODES];
    int32_t want_n[BATCH];
    struct history before = *h;
    size_t n = 0;
    for (int32_t s = 0; s < SEQS; s++) {
        if (!h->seqs[s].used || roll(h, 3) == 0) continue;
        const bool tree = h->seqs[s].n_nodes > 0 || roll(h, 4) == 0;
        for (int32_t k = roll(h, 3) ? 1 + roll(h, 3) : roll(h, tree ? 26 : 100); k > 0 && n < BATCH; k--, n++) {
            const int32_t token = roll(h, 2), parent = tree ? roll(h, h->seqs[s].n_nodes + 1) - 1 : LM_APPEND;
            rows[n] = (struct lm_row){s, token, parent, LM_WANT_LOGITS | (roll(h, 30) ? 0 : LM_WANT_STATE)};
            if (!tree && h->seqs[s].len < CTX) {
                h->seqs[s].tokens[h->seqs[s].len++] = token;
                want_n[n] = prefix_of(h, s, KV_NONE, want[n]);
            } else if (tree && h->seqs[s].n_nodes < NODES) {
                const int32_t node = h->seqs[s].n_nodes++;
                h->seqs[s].node_tokens[node] = token;
                h->seqs[s].parents[node] = parent;
                want_n[n] = prefix_of(h, s, node, want[n]);
            } else {
                want_n[n] = CTX + 1; // must be refused
            }
        }
    }
    if (n == 0) return;
    const rn_status st = lm_step(h->m, rows, n, NULL, NULL);
    for (size_t i = 0; st == RN_OK && i < n; i++)
        if (!CHECK(want_n[i] <= CTX) || !logits_are(h->m, i, &h->c, want[i], want_n[i])) return;
    if (st == RN_OK) return;
    CHECK_INT(st, RN_E_LIMIT);
    before.counter = h->counter;
    *h = before;
}

static void keep_some(struct history *h, int32_t s) {
    int32_t path[NODES] = {0}, n = 0;
    for (int32_t node = roll(h, h->seqs[s].n_nodes + 1) - 1; node >= 0; node = h->seqs[s].parents[node])
        path[n++] = node;
    for (int32_t i = 0; i < n / 2; i++) {
        const int32_t node = path[i];
        path[i] = path[n - 1 - i];
        path[n - 1 - i] = node;
    }
    if (lm_keep(h->m, s, path, n, NULL) != RN_OK) return;
    for (int32_t i = 0; i < n; i++) h->seqs[s].tokens[h->seqs[s].len++] = h->seqs[s].node_tokens[path[i]];
    h->seqs[s].n_nodes = 0;
}

static void start_some(struct history *h) {
    int32_t tokens[CTX], n = roll(h, CTX);
    const int32_t like = roll(h, SEQS);
    struct lm_prefix p;
    memcpy(tokens, h->seqs[like].tokens, sizeof tokens); // what another sequence once held, to find it cached
    if (roll(h, 2)) n = 0;
    for (int32_t i = 0; i < CTX; i++)
        if (tokens[i] < 0 || tokens[i] >= VOCAB) tokens[i] = 0;
    if (lm_match_tokens(h->m, NULL, tokens, n, &p, NULL) != RN_OK) return;
    h->seqs[p.seq].used = true;
    h->seqs[p.seq].len = p.n;
    h->seqs[p.seq].n_nodes = 0;
    memcpy(h->seqs[p.seq].tokens, tokens, (size_t)p.n * sizeof *tokens);
}

static void operate(struct history *h) {
    const int32_t s = roll(h, SEQS), op = roll(h, 12);
    int32_t out;
    if (op < 5) {
        step_some(h);
    } else if (op < 7 || !h->seqs[s].used) {
        start_some(h);
    } else if (op < 9) {
        keep_some(h, s);
    } else if (op < 10) {
        h->seqs[s].len = lm_truncate(h->m, s, roll(h, h->seqs[s].len + 1));
        h->seqs[s].n_nodes = 0;
    } else if (op < 11) {
        if (lm_seq_fork(h->m, s, &out, NULL) != RN_OK) return;
        h->seqs[out] = h->seqs[s];
        h->seqs[out].n_nodes = 0;
    } else {
        lm_seq_free(h->m, s);
        h->seqs[s].used = false;
    }
}

TEST(random_histories_give_the_published_logits_whatever_is_evicted) {
    static const struct {
        const char *why;
        int32_t n_pages, window, n_states, interval;
    } rows[] = {
        {"room for all", 40, 0, 0, 0},
        {"evictions", 9, 0, 0, 0},
        {"few pages", 3, 0, 0, 0},
        {"window", 30, 70, 0, 0},
        {"short window", 9, 3, 0, 0},
        {"window of a page", 8, 64, 0, 0},
        {"window of one", 6, 1, 0, 0},
        {"recurrent, room for all", 40, 0, SEQS * (NODES + 2), 64},
        {"recurrent, few slots", 30, 0, 9, 64},
        {"recurrent, states kept on request only", 30, 0, 40, 0},
        {"recurrent, few pages, window", 9, 3, 40, 64},
        {"recurrent, one slot", 30, 0, 1, 128},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (uint32_t seed = 0; seed < 8; seed++) {
            struct history h = {.c = with_window(rows[r].window), .key = {seed, (uint32_t)r}};
            h.c.n_pages = rows[r].n_pages, h.c.n_states = rows[r].n_states, h.c.state_interval = rows[r].interval;
            h.m = toy_new(&h.c);
            for (int i = 0; i < 200; i++) {
                check_note("%s, seed %u, operation %d", rows[r].why, seed, i);
                operate(&h);
                if (!books_are_right(h.m)) break;
            }
            lm_destroy(h.m);
        }
}
