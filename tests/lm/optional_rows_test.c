// tests/lm/optional_rows_test.c - optional rows are dropped when there is no room, and the others have the same results as without them.
#include "tests/check.h"
#include "tests/support/arch_subjects.h"
#include "tests/support/lm_rig.h"
#include "tests/support/toy_lm.h"
#include <stdlib.h>
#include <string.h>

enum { N_VOCAB = 50, OPTIONAL = LM_WANT_LOGITS | LM_OPTIONAL };

static const struct toy_config toy = {.n_vocab = N_VOCAB,
                                      .n_ctx = 200,
                                      .n_batch = 32,
                                      .n_want = 8,
                                      .max_seqs = 4,
                                      .max_scratch = 6,
                                      .n_pages = 3,
                                      .n_groups = 1,
                                      .nan_token = -1};

static void open_toy(lm **m, const struct toy_config *c, int32_t n_seqs) {
    rn_error err = {0};
    CHECK_OK(toy_lm_create(c, m, &err), &err);
    for (int32_t s = 0, seq; s < n_seqs; s++) CHECK_INT(lm_seq_new(*m, NULL, &seq, NULL), RN_OK);
}

// Texts of sequences differ, so that they share no page.
static void append(lm *m, int32_t seq, int32_t n) {
    for (int32_t i = 0; i < n; i++)
        CHECK_INT(lm_step(m, &(struct lm_row){seq, (i + 7 * seq) % N_VOCAB, LM_APPEND, 0}, 1, NULL, NULL), RN_OK);
}

// Which rows were dropped, as digits.
static const char *dropped(const lm *m, size_t n) {
    static char text[33];
    for (size_t i = 0; i < n; i++) text[i] = lm_row_was_dropped(m, i) ? '1' : '0';
    text[n] = 0;
    return text;
}

TEST(rows_without_a_place_for_their_results_are_dropped_with_those_behind_them) {
    struct lm_row rows[12];
    lm *m;
    rn_error err = {0};
    open_toy(&m, &toy, 3);
    for (int32_t i = 0; i < 5; i++) rows[i] = (struct lm_row){0, i, i ? i - 1 : LM_ROOT, OPTIONAL};
    for (int32_t i = 0; i < 5; i++) rows[5 + i] = (struct lm_row){1, i, LM_APPEND, OPTIONAL};
    rows[10] = rows[11] = (struct lm_row){2, 3, LM_APPEND, LM_WANT_LOGITS};
    CHECK_OK(lm_step(m, rows, 12, NULL, &err), &err); // 8 places, of which the last two rows have theirs
    CHECK_STR(dropped(m, 12), "000000111100");
    CHECK_INT(lm_seq_len(m, 1), 1);
    CHECK(lm_logits(m, 4) && lm_logits(m, 5) && !lm_logits(m, 6) && lm_logits(m, 10) && lm_logits(m, 11));
    float want[N_VOCAB];
    toy_lm_expect(&toy, (const int32_t[]){3, 3}, 2, want);
    CHECK(memcmp(lm_logits(m, 11), want, sizeof want) == 0);
    lm_destroy(m);
}

TEST(rows_without_a_page_or_a_node_are_dropped_and_make_way_for_those_that_are_not_optional) {
    static const struct {
        const char *why, *dropped;
        int32_t len[3]; // of three sequences, before
        struct lm_row rows[8];
        size_t n;
    } cases[] = {
        {"a page for one of two: the one that must have it",
         "10",
         {64, 64, 0},
         {{0, 1, LM_APPEND, OPTIONAL}, {1, 1, LM_APPEND, 1}},
         2},
        {"the same the other way round", "01", {64, 64, 0}, {{0, 1, LM_APPEND, 1}, {1, 1, LM_APPEND, OPTIONAL}}, 2},
        {"the later one of two makes way",
         "010",
         {64, 30, 0},
         {{1, 1, LM_APPEND, OPTIONAL}, {0, 1, LM_APPEND, OPTIONAL}, {2, 1, LM_APPEND, 0}},
         3},
        {"seven nodes where there are six",
         "0000001",
         {4, 0, 0},
         {{0, 1, LM_ROOT, OPTIONAL},
          {0, 1, 0, OPTIONAL},
          {0, 1, 1, OPTIONAL},
          {0, 1, LM_ROOT, OPTIONAL},
          {0, 1, 3, OPTIONAL},
          {0, 1, 4, OPTIONAL},
          {0, 1, 5, OPTIONAL}},
         7},
        {"behind a dropped row nothing of its sequence stays",
         "110",
         {64, 64, 20},
         {{0, 1, LM_APPEND, OPTIONAL}, {0, 2, LM_APPEND, OPTIONAL}, {2, 1, LM_APPEND, 0}},
         3},
        {"all of them", "11", {64, 64, 64}, {{0, 1, LM_APPEND, OPTIONAL}, {1, 1, LM_ROOT, OPTIONAL}}, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lm *m;
        rn_error err = {0};
        check_note("%s", cases[i].why);
        open_toy(&m, &toy, 3);
        for (int32_t s = 0; s < 3; s++) append(m, s, cases[i].len[s]);
        CHECK_OK(lm_step(m, cases[i].rows, cases[i].n, NULL, &err), &err);
        CHECK_STR(dropped(m, cases[i].n), cases[i].dropped);
        CHECK_OK(kv_check(toy_lm_kv(m), &err), &err);
        lm_destroy(m);
    }
}

TEST(a_row_that_finds_no_room_without_optional_rows_either_fails_by_its_own_number) {
    const struct lm_row rows[] = {{1, 1, LM_APPEND, OPTIONAL}, {0, 1, LM_APPEND, 0}, {1, 1, LM_APPEND, OPTIONAL}};
    struct toy_config c = toy;
    size_t failed = 99;
    lm *m;
    rn_error err = {0};
    c.n_ctx = 20;
    open_toy(&m, &c, 2);
    append(m, 0, 20);
    append(m, 1, 3);
    CHECK_INT(lm_step(m, rows, 3, &failed, &err), RN_E_LIMIT);
    CHECK_INT(failed, 1);
    CHECK_INT(lm_seq_len(m, 1), 3);
    lm_destroy(m);
}

TEST(a_row_that_is_not_optional_behind_one_of_its_sequence_that_is_is_refused) {
    const struct lm_row rows[] = {{0, 1, LM_APPEND, OPTIONAL}, {1, 1, LM_APPEND, 0}, {0, 1, LM_APPEND, 0}};
    size_t failed = 99;
    lm *m;
    rn_error err = {0};
    open_toy(&m, &toy, 2);
    CHECK_INT(lm_step(m, rows, 3, &failed, &err), RN_E_ARG);
    CHECK_STR(err.text, "row 2: is required, but comes after optional row 0 of sequence 0");
    CHECK_INT(failed, 2);
    lm_destroy(m);
}

// Over every architecture: the rows that stay give the bits that they give alone.
TEST(rows_that_stay_give_the_same_bits_as_without_the_dropped_ones) {
    enum { N = 40, N_TREE = 12 };
    for (size_t s = 0; s < N_ARCH_SUBJECTS; s++) {
        struct arch_model a = arch_subjects[s].m;
        struct rig_options o = rig_defaults();
        struct rig r;
        char name[ARCH_SUBJECT_NAME];
        size_t n_bytes;
        int32_t tokens[N];
        struct lm_row rows[N_TREE + 1];
        float want[(N_TREE + 1) * N_VOCAB];
        rn_error err = {0};
        arch_subject_name(s, name);
        check_note("%s", name);
        a.n_vocab = N_VOCAB, a.type = TENSOR_F32, a.seed = 5;
        o.lm.max_scratch = 8,
        o.lm.n_states = 14; // 4 nodes of 12 find no room; or no slot, which a chain here needs at most 3 of
        random_tokens(tokens, N, N_VOCAB, 3);
        uint8_t *bytes = arch_model_bytes(&a, &n_bytes);
        if (rig_open_bytes(&r, bytes, n_bytes, &o)) {
            const int32_t seq = rig_seq(&r), other = rig_seq(&r);
            bool ok = rig_append(&r, seq, tokens, N, NULL) && rig_append(&r, other, tokens, 5, NULL);
            for (int32_t i = 0; i < N_TREE; i++)
                rows[i] = (struct lm_row){seq, tokens[i], i < 2 ? LM_ROOT : i / 2 - 1, OPTIONAL};
            rows[N_TREE] = (struct lm_row){other, 3, LM_ROOT, LM_WANT_LOGITS};
            for (int32_t i = 0; ok && i < 8; i++)
                ok = rig_scratch(&r, seq, tokens[i], rows[i].parent, want + (size_t)i * N_VOCAB);
            ok = ok && rig_scratch(&r, other, 3, LM_ROOT, want + N_TREE * N_VOCAB) &&
                 CHECK_OK(lm_keep(r.lm, seq, NULL, 0, &err), &err) &&
                 CHECK_OK(lm_keep(r.lm, other, NULL, 0, &err), &err) &&
                 CHECK_OK(lm_step(r.lm, rows, N_TREE + 1, NULL, &err), &err);
            for (size_t i = 0; ok && i <= N_TREE; i++) {
                CHECK(lm_row_was_dropped(r.lm, i) == (i >= 8 && i < N_TREE));
                if (!lm_row_was_dropped(r.lm, i))
                    CHECK(memcmp(lm_logits(r.lm, i), want + i * N_VOCAB, N_VOCAB * sizeof *want) == 0);
            }
        }
        rig_close(&r);
    }
}
