// tests/lm/windows_test.c - layers that see a window of the text: the pages that fall out, what can be gone back to, and what of a cached
// text can be gone on from.
#include "tests/check.h"
#include "tests/support/arch_model.h"
#include "tests/support/lm_rig.h"
#include <stdlib.h>
#include <string.h>

enum { LONG = 1500, STEP = 64, N_VOCAB = 50, FULL_PAGES = 60 };

#define NUMBERS                                                                                                        \
    "context_length=2048 embedding_length=64 feed_forward_length=96 attention.head_count=4 attention.head_count_kv=2 " \
    "attention.layer_norm_rms_epsilon=1e-5 attention.sliding_window=100 "

static const struct subject {
    const char *why;
    struct arch_model m;
    bool all; // layers have the window
} subjects[] = {
    {"windows on all layers", {"llama", "block_count=2 " NUMBERS, N_VOCAB, TENSOR_F32, .seed = 3}, true},
    {"windows on five layers of six",
     {"gemma3", "block_count=6 attention.key_length=16 attention.value_length=16 " NUMBERS, N_VOCAB, TENSOR_F32,
      .seed = 3},
     false},
    {"chunks on three layers of four",
     {"llama4",
      "block_count=4 interleave_moe_layer_step=4 expert_count=2 expert_used_count=1 expert_feed_forward_length=32 " NUMBERS,
      N_VOCAB, TENSOR_F32, .seed = 3},
     false},
};
enum { N_SUBJECTS = sizeof subjects / sizeof *subjects };

static struct rig_options options(int32_t n_windows) {
    struct rig_options o = rig_defaults();
    o.lm.n_ctx = 2048, o.lm.n_batch = o.lm.n_want = STEP, o.lm.n_pages = FULL_PAGES, o.lm.n_windows = n_windows;
    return o;
}

static bool open_subject(struct rig *r, const struct subject *s, int32_t n_windows) {
    const struct rig_options o = options(n_windows);
    size_t n;
    uint8_t *bytes = arch_model_bytes(&s->m, &n);
    check_note("%s", s->why);
    return rig_open_bytes(r, bytes, n, &o);
}

static int32_t window_pages(const struct rig *r, int32_t n_windows) {
    const struct rig_options o = options(n_windows);
    const struct program *p = model_program(r->model);
    const struct backend_sizes sizes = lm_real_sizes(p, &o.lm);
    for (int32_t g = 0; g < p->n_groups; g++)
        if (p->groups[g].window) return sizes.n_pages[g];
    return -1;
}

static bool books_hold(const struct rig *r) {
    rn_error err = {0};
    return CHECK_OK(kv_check(lm_real_kv(r->lm), &err), &err);
}

TEST(a_long_text_needs_pages_for_a_window_and_a_step_and_gives_the_bits_of_one_that_keeps_them_all) {
    static int32_t tokens[LONG];
    static float want[LONG * N_VOCAB], got[LONG * N_VOCAB];
    random_tokens(tokens, LONG, N_VOCAB, 5);
    for (int i = 0; i < N_SUBJECTS; i++) {
        struct rig all = {0}, few = {0};
        if (open_subject(&all, &subjects[i], 0) && open_subject(&few, &subjects[i], 1)) {
            CHECK_INT(window_pages(&all, 0), FULL_PAGES);
            CHECK(window_pages(&few, 1) <= 8 && LONG > 8 * KV_PAGE);
            if (rig_append_by(&all, rig_seq(&all), tokens, LONG, STEP, want) &&
                rig_append_by(&few, rig_seq(&few), tokens, LONG, STEP, got) && books_hold(&few)) {
                check_note("%s", subjects[i].why);
                CHECK(memcmp(want, got, sizeof want) == 0);
            }
        }
        rig_close(&all);
        rig_close(&few);
    }
}

TEST(a_window_takes_no_more_pages_than_the_whole_text_would) {
    struct rig r = {0};
    if (open_subject(&r, &subjects[0], 1000)) CHECK_INT(window_pages(&r, 1000), FULL_PAGES);
    rig_close(&r);
}

// Continues from the length that truncate() could keep.
static void cut_and_go_on(struct rig *r, const int32_t *tokens, const float *want, int32_t to, int32_t least) {
    static float got[LONG * N_VOCAB];
    const int32_t seq = rig_seq(r);
    if (!rig_append_by(r, seq, tokens, LONG, STEP, NULL)) return;
    const int32_t n = lm_truncate(r->lm, seq, to);
    check_note("cut to %d: %d", to, n);
    if (CHECK(n <= to && n >= least) && rig_append_by(r, seq, tokens + n, LONG - n, STEP, got) && books_hold(r))
        CHECK(memcmp(got, want + (size_t)n * N_VOCAB, (size_t)(LONG - n) * N_VOCAB * sizeof *got) == 0);
    lm_seq_free(r->lm, seq);
}

TEST(truncate_goes_back_as_far_as_pages_of_the_window_are_left_and_says_how_far) {
    static int32_t tokens[LONG];
    static float want[LONG * N_VOCAB];
    random_tokens(tokens, LONG, N_VOCAB, 5);
    for (int i = 0; i < N_SUBJECTS; i++) {
        struct rig all = {0}, few = {0};
        if (open_subject(&all, &subjects[i], 0) && open_subject(&few, &subjects[i], 1) &&
            rig_append_by(&all, rig_seq(&all), tokens, LONG, STEP, want)) {
            cut_and_go_on(&all, tokens, want, 700, 700); // nothing was evicted
            cut_and_go_on(&few, tokens, want, LONG - 10, LONG - 10);
            cut_and_go_on(&few, tokens, want, 700, 0);
        }
        rig_close(&all);
        rig_close(&few);
    }
}

TEST(a_cached_text_is_gone_on_from_where_its_window_is_left_and_the_miss_says_so_elsewhere) {
    static int32_t tokens[LONG];
    random_tokens(tokens, LONG, N_VOCAB, 5);
    for (int i = 0; i < N_SUBJECTS; i++) {
        struct rig few = {0};
        struct lm_prefix end, middle;
        rn_error err = {0};
        if (open_subject(&few, &subjects[i], 1)) {
            const int32_t seq = rig_seq(&few);
            if (rig_append_by(&few, seq, tokens, LONG, STEP, NULL)) {
                lm_seq_free(few.lm, seq);
                CHECK_OK(lm_match_tokens(few.lm, NULL, tokens, LONG, &end, &err), &err);
                CHECK_INT(end.n, LONG);
                CHECK_INT(end.miss, LM_MISS_NONE);
                CHECK_OK(lm_match_tokens(few.lm, NULL, tokens, 700, &middle, &err), &err);
                CHECK(middle.n < 700);
                CHECK_INT(middle.miss, LM_MISS_WINDOW);
            }
        }
        rig_close(&few);
    }
}
