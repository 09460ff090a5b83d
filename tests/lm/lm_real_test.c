// tests/lm/lm_real_test.c - the real lm's door: steps that are refused change nothing, results belong to the rows that wanted them,
// memory is taken at create alone.
#include "base/mem.h"
#include "tests/check.h"
#include "tests/support/lm_rig.h"
#include <stdlib.h>
#include <string.h>

enum { N_VOCAB = 40, N_EMBD = 32 };

static struct tiny_model tiny(void) {
    struct tiny_model m = tiny_model_default();
    m.n_layer = 1, m.n_embd = N_EMBD, m.n_head = 2, m.n_head_kv = 1, m.n_ff = 32;
    m.n_vocab = N_VOCAB, m.vocab = TINY_NO_VOCAB;
    return m;
}

static bool open_small(struct rig *r, struct lm_config c) {
    const struct tiny_model m = tiny();
    struct rig_options o = rig_defaults();
    o.lm = c;
    return rig_open(r, &m, &o);
}

static const struct lm_config small_config = {
    .n_ctx = 200, .n_batch = 8, .n_want = 4, .max_seqs = 4, .max_scratch = 6, .n_pages = 8, .identity = 1};

// What must not change: lengths, and the next logits of sequences 0 and 1.
struct state {
    int32_t len[4];
    float next[2][N_VOCAB];
    struct kv_stats stats;
};

static void take_state(struct rig *r, struct state *s) {
    for (int32_t q = 0; q < 4; q++) s->len[q] = lm_seq_len(r->lm, q);
    kv_stats_get(lm_real_kv(r->lm), &s->stats);
    for (int32_t q = 0; q < 2; q++) { // without a scratch tree: one hangs below sequence 1
        const int32_t fork = rig_fork(r, q), token = 5;
        rig_append(r, fork, &token, 1, s->next[q]);
        lm_truncate(r->lm, fork, 0);
        lm_seq_free(r->lm, fork);
    }
}

// Sequence 0 holds 3 positions, 1 holds 5 and a scratch tree of 2; 2 and 3 are not in use.
static bool fill(struct rig *r) {
    static const int32_t text[] = {1, 2, 3, 4, 6};
    float logits[N_VOCAB];
    const int32_t a = rig_seq(r), b = rig_seq(r);
    return CHECK_INT(a, 0) && CHECK_INT(b, 1) && rig_append(r, a, text, 3, NULL) && rig_append(r, b, text, 5, NULL) &&
           rig_scratch(r, b, 7, LM_ROOT, logits) && rig_scratch(r, b, 8, 0, logits);
}

#define OK_ROW {0, 1, LM_APPEND, LM_WANT_LOGITS}

TEST(a_refused_step_names_its_row_and_changes_nothing) {
    static const struct {
        const char *why;
        size_t n, failed;
        rn_status status;
        const char *text;
        struct lm_row rows[8];
    } cases[] = {
        {"token below the vocabulary",
         2,
         1,
         RN_E_ARG,
         "row 1: token -1 is outside 0..39",
         {OK_ROW, {1, -1, LM_ROOT, 0}}},
        {"token past the vocabulary",
         1,
         0,
         RN_E_ARG,
         "row 0: token 40 is outside 0..39",
         {{0, N_VOCAB, LM_APPEND, 0}}},
        {"no such sequence", 2, 1, RN_E_ARG, "row 1: sequence 2 does not exist", {OK_ROW, {2, 1, LM_APPEND, 0}}},
        {"a negative sequence", 1, 0, RN_E_ARG, "row 0: sequence -1 does not exist", {{-1, 1, LM_APPEND, 0}}},
        {"a sequence beyond all", 1, 0, RN_E_ARG, "row 0: sequence 4 does not exist", {{4, 1, LM_APPEND, 0}}},
        {"a parent that is no number of a node", 1, 0, RN_E_ARG, "row 0: parent -3 does not exist", {{0, 1, -3, 0}}},
        {"a parent that is not there yet",
         2,
         1,
         RN_E_ARG,
         "row 1: kv: sequence 1: parent 3",
         {{1, 1, 1, 0}, {1, 1, 3, 0}}},
        {"another sequence's node",
         2,
         1,
         RN_E_ARG,
         "row 1: kv: sequence 0: parent 1",
         {{0, 1, LM_ROOT, 0}, {0, 1, 1, 0}}},
        {"an unknown wish", 1, 0, RN_E_ARG, "row 0: want 0x20 is unknown", {{0, 1, LM_APPEND, 32}}},
        {"an appended row below which a tree hangs",
         2,
         1,
         RN_E_STATE,
         "row 1: kv: sequence 1",
         {OK_ROW, {1, 1, LM_APPEND, 0}}},
        {"more wishes than there is room for",
         6,
         5,
         RN_E_ARG,
         "row 5: more than 4 rows want results",
         {OK_ROW, OK_ROW, {1, 2, 0, 0}, OK_ROW, OK_ROW, {1, 3, 1, LM_WANT_HIDDEN}}},
        {"more scratch nodes than a tree may have",
         6,
         5,
         RN_E_LIMIT,
         "row 5: kv: sequence 1: the scratch tree holds 6 nodes",
         {OK_ROW, {1, 1, 0, 0}, {1, 1, 0, 0}, {1, 1, 0, 0}, {1, 1, 1, 0}, {1, 1, 1, 0}}},
    };
    struct rig r;
    struct state before, after;
    if (open_small(&r, small_config) && fill(&r)) {
        take_state(&r, &before);
        take_state(&r, &before); // once more: the first look may have cached a page
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            rn_error err = {0};
            size_t failed = 99;
            check_note("%s", cases[i].why);
            CHECK_FAILS(lm_step(r.lm, cases[i].rows, cases[i].n, &failed, &err), cases[i].status, &err);
            CHECK_INT(failed, cases[i].failed);
            CHECK_HAS(err.text, cases[i].text);
            CHECK(lm_logits(r.lm, 0) == NULL && lm_hidden(r.lm, 0) == NULL);
            CHECK_OK(kv_check(lm_real_kv(r.lm), &err), &err);
            CHECK_INT(kv_scratch_len(lm_real_kv(r.lm), 1), 2);
            CHECK_FAILS(lm_step(r.lm, cases[i].rows, cases[i].n, NULL, NULL), cases[i].status, NULL);
            take_state(&r, &after);
            CHECK_MEM(after.len, before.len, sizeof before.len);
            CHECK_MEM(after.next, before.next, sizeof before.next);
            CHECK_INT(after.stats.n_free, before.stats.n_free);
            CHECK_INT(after.stats.n_used, before.stats.n_used);
        }
    }
    rig_close(&r);
}

TEST(a_step_takes_1_to_n_batch_rows) {
    struct rig r;
    if (open_small(&r, small_config)) {
        const int32_t seq = rig_seq(&r);
        struct lm_row rows[9];
        rn_error err = {0};
        for (size_t i = 0; i < 9; i++) rows[i] = (struct lm_row){seq, 1, LM_APPEND, 0};
        CHECK_FAILS(lm_step(r.lm, rows, 0, NULL, &err), RN_E_ARG, &err);
        CHECK_HAS(err.text, "0 rows, 1..8");
        CHECK_FAILS(lm_step(r.lm, rows, 9, NULL, &err), RN_E_ARG, &err);
        CHECK_HAS(err.text, "9 rows, 1..8");
        CHECK_OK(lm_step(r.lm, rows, 8, NULL, &err), &err);
        CHECK_INT(lm_seq_len(r.lm, seq), 8);
    }
    rig_close(&r);
}

TEST(a_step_that_finds_no_page_names_the_row_and_can_be_asked_again) {
    struct lm_config c = small_config;
    c.n_pages = 3;
    c.n_batch = 200;
    struct rig r, fresh;
    int32_t text[70];
    float *want = new_floats(70 * N_VOCAB);
    rn_error err = {0};
    random_tokens(text, 70, N_VOCAB, 1);
    bool ok = open_small(&r, c);
    c.n_want = 200;
    ok = open_small(&fresh, c) && ok && rig_eval_fresh(&fresh, text, 69, want);
    if (ok) {
        const int32_t a = rig_seq(&r), b = rig_seq(&r);
        struct lm_row rows[8];
        size_t failed = 99;
        CHECK(rig_append(&r, a, text, 62, NULL) && rig_append(&r, b, text, 65, NULL)); // all three pages
        // Rows in turn: a has two positions left in its page, b 63.
        for (int32_t i = 0; i < 8; i++)
            rows[i] = (struct lm_row){i % 2 ? b : a, text[(i % 2 ? 65 : 62) + i / 2], LM_APPEND, i == 7};
        CHECK_FAILS(lm_step(r.lm, rows, 8, &failed, &err), RN_E_LIMIT, &err);
        CHECK_INT(failed, 4); // position 64 of a
        CHECK_HAS(err.text, "row 4: kv: sequence 0");
        CHECK_INT(lm_seq_len(r.lm, a), 62);
        CHECK_INT(lm_seq_len(r.lm, b), 65);
        CHECK_OK(kv_check(lm_real_kv(r.lm), &err), &err);
        lm_seq_free(r.lm, a); // room for the others
        rows[0] = rows[1], rows[1] = rows[3], rows[2] = rows[5], rows[3] = rows[7];
        CHECK_OK(lm_step(r.lm, rows, 4, &failed, &err), &err);
        CHECK_MEM(lm_logits(r.lm, 3), want + 68 * N_VOCAB, N_VOCAB * sizeof *want);
    }
    rig_close(&r);
    rig_close(&fresh);
    free(want);
}

TEST(a_step_beyond_the_context_is_refused_at_its_row) {
    struct lm_config c = small_config;
    c.n_ctx = 10;
    struct rig r;
    rn_error err = {0};
    if (open_small(&r, c)) {
        const int32_t seq = rig_seq(&r), text[8] = {1, 2, 3, 4, 5, 6, 7, 8};
        struct lm_row rows[4];
        size_t failed = 99;
        CHECK(rig_append(&r, seq, text, 8, NULL));
        for (int32_t i = 0; i < 4; i++) rows[i] = (struct lm_row){seq, i, LM_APPEND, 0};
        CHECK_FAILS(lm_step(r.lm, rows, 4, &failed, &err), RN_E_LIMIT, &err);
        CHECK_INT(failed, 2);
        for (int32_t i = 0; i < 4; i++) rows[i].parent = i - 1;
        CHECK_FAILS(lm_step(r.lm, rows, 4, &failed, &err), RN_E_LIMIT, &err);
        CHECK_INT(failed, 2);
        CHECK_INT(lm_seq_len(r.lm, seq), 8);
        CHECK_INT(kv_scratch_len(lm_real_kv(r.lm), seq), 0);
        CHECK_OK(lm_step(r.lm, rows, 2, &failed, &err), &err);
    }
    rig_close(&r);
}

TEST(rows_that_want_nothing_have_no_results) {
    struct rig r;
    if (open_small(&r, small_config)) {
        const int32_t seq = rig_seq(&r);
        rn_error err = {0};
        const struct lm_row rows[] = {{seq, 1, LM_APPEND, 0},
                                      {seq, 2, LM_APPEND, LM_WANT_LOGITS},
                                      {seq, 3, LM_APPEND, 0},
                                      {seq, 4, LM_APPEND, LM_WANT_HIDDEN},
                                      {seq, 5, LM_APPEND, LM_WANT_LOGITS | LM_WANT_HIDDEN}};
        CHECK_OK(lm_step(r.lm, rows, 5, NULL, &err), &err);
        for (size_t i = 0; i < 5; i++) {
            check_note("row %zu", i);
            CHECK((lm_logits(r.lm, i) != NULL) == ((rows[i].want & LM_WANT_LOGITS) != 0));
            CHECK((lm_hidden(r.lm, i) != NULL) == (rows[i].want != 0));
        }
        check_note("a row past the step's");
        CHECK(lm_logits(r.lm, 5) == NULL);
        check_note("rows of an earlier step");
        CHECK_OK(lm_step(r.lm, &rows[0], 1, NULL, &err), &err);
        CHECK(lm_logits(r.lm, 0) == NULL && lm_logits(r.lm, 1) == NULL && lm_hidden(r.lm, 3) == NULL);
        CHECK_INT(r.lm->n_vocab, N_VOCAB);
        CHECK_INT(r.lm->n_embd, N_EMBD);
    }
    rig_close(&r);
}

// What each row gives is what it gives in a step where every row wants all.
TEST(rows_that_want_logits_and_rows_that_want_hidden_states_share_a_step_and_keep_their_bits) {
    static const uint32_t wants[][4] = {
        {LM_WANT_HIDDEN, LM_WANT_LOGITS, LM_WANT_HIDDEN, LM_WANT_LOGITS | LM_WANT_HIDDEN},
        {LM_WANT_LOGITS, 0, LM_WANT_HIDDEN, LM_WANT_LOGITS},
        {LM_WANT_HIDDEN, LM_WANT_HIDDEN, 0, LM_WANT_HIDDEN}};
    for (int n_threads = 1; n_threads <= 3; n_threads++) {
        struct rig r;
        const struct tiny_model m = tiny();
        struct rig_options o = rig_defaults();
        float logits[4][N_VOCAB], hidden[4][N_EMBD];
        rn_error err = {0};
        o.n_threads = n_threads;
        if (rig_open(&r, &m, &o))
            for (size_t k = 0; k < 4; k++) { // 0: all rows want all
                struct lm_row rows[4];
                const int32_t seq = rig_seq(&r);
                for (int32_t i = 0; i < 4; i++)
                    rows[i] =
                        (struct lm_row){seq, 3 + i, LM_APPEND, k ? wants[k - 1][i] : LM_WANT_LOGITS | LM_WANT_HIDDEN};
                if (!CHECK_OK(lm_step(r.lm, rows, 4, NULL, &err), &err)) break;
                for (size_t i = 0; i < 4; i++) {
                    const float *l = lm_logits(r.lm, i), *h = lm_hidden(r.lm, i);
                    check_note("%d threads, step %zu, row %zu", n_threads, k, i);
                    if (k == 0 && l && h)
                        memcpy(logits[i], l, sizeof logits[i]), memcpy(hidden[i], h, sizeof hidden[i]);
                    CHECK((l != NULL) == ((rows[i].want & LM_WANT_LOGITS) != 0));
                    CHECK((h != NULL) == (rows[i].want != 0));
                    if (l) CHECK_MEM(l, logits[i], sizeof logits[i]);
                    if (h) CHECK_MEM(h, hidden[i], sizeof hidden[i]);
                }
                lm_seq_free(r.lm, seq);
            }
        rig_close(&r);
    }
}

TEST(a_step_and_all_that_surrounds_it_allocate_nothing) {
    struct rig r;
    const struct tiny_model m = tiny();
    struct rig_options o = rig_defaults();
    int32_t text[100];
    random_tokens(text, 100, N_VOCAB, 1);
    o.n_threads = 2;
    if (rig_open(&r, &m, &o)) {
        const long before = mem_count();
        struct lm_prefix found;
        rn_error err = {0};
        float logits[N_VOCAB];
        const int32_t seq = rig_seq(&r), path[] = {0, 1};
        CHECK(rig_append(&r, seq, text, 100, NULL));
        const int32_t fork = rig_fork(&r, seq);
        CHECK(rig_append(&r, fork, text, 1, logits) && rig_scratch(&r, seq, 1, LM_ROOT, logits) &&
              rig_scratch(&r, seq, 2, 0, logits));
        CHECK_OK(lm_keep(r.lm, seq, path, 2, &err), &err);
        lm_truncate(r.lm, seq, 70);
        lm_seq_free(r.lm, seq);
        CHECK_OK(lm_match_tokens(r.lm, NULL, text, 90, &found, &err), &err);
        CHECK(rig_append(&r, found.seq, text, 3, NULL));
        CHECK_INT(mem_count(), before);
    }
    rig_close(&r);
}

TEST(numbers_that_make_no_lm_are_refused) {
    static const struct {
        const char *why, *text;
        struct lm_config c;
    } rows[] = {
        {"no rows", "n_batch 0", {200, 0, 4, 4, 6, 8, 1}},
        {"fewer than no results", "n_want -1", {200, 8, -1, 4, 6, 8, 1}},
        {"no context", "n_ctx: 0", {0, 8, 4, 4, 6, 8, 1}},
        {"a context that cannot be counted in pages", "n_ctx: 2147483647", {INT32_MAX, 8, 4, 4, 6, 8, 1}},
        {"more logits than results", "n_logits 5 is outside 0..4", {200, 8, 4, 4, 6, 8, 1, .n_logits = 5}},
        {"no sequences", "max_seqs: 0", {200, 8, 4, 0, 6, 8, 1}},
        {"no pages", "n_pages: 0", {200, 8, 4, 4, 6, 0, 1}},
    };
    struct rig r;
    if (open_small(&r, small_config))
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            rn_error err = {0};
            lm *m = r.lm;
            check_note("%s", rows[i].why);
            CHECK_FAILS(lm_real_create(model_program(r.model), r.backend, &rows[i].c, &m, &err), RN_E_ARG, &err);
            CHECK_HAS(err.text, rows[i].text);
            CHECK(m == NULL);
        }
    rig_close(&r);
}

static rn_status create_lm(void *user) {
    const struct rig *r = user;
    lm *m = NULL;
    const rn_status st = lm_real_create(model_program(r->model), r->backend, &small_config, &m, NULL);
    CHECK((st == RN_OK) == (m != NULL));
    lm_destroy(m);
    return st;
}

TEST(every_failed_allocation_of_an_lm_is_reported_and_leaks_nothing) {
    struct rig r;
    if (open_small(&r, small_config)) CHECK(check_each_failed_allocation(create_lm, &r, __FILE__, __LINE__));
    rig_close(&r);
}
