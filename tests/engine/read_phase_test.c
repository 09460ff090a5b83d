// tests/engine/read_phase_test.c - which results count when the engine decides whether strategies read on the pool.
#include "engine/engine.h"
#include "tests/check.h"

static void read_nothing(strategy *s, const struct row_results *r) { (void)s, (void)r; }

TEST(only_rows_whose_results_are_wanted_count_as_read) {
    static const struct strategy_ops reads = {.read = read_nothing}, does_not = {0};
    strategy on_pool = {.ops = &reads}, on_step_thread = {.ops = &does_not};
    rn_stream a = {.play.strategy = &on_pool}, b = {.play.strategy = &on_step_thread};
    struct lm_row rows[40] = {0};
    struct stream_rows parts[] = {
        {.s = &a, .first = 0, .n = 20, .absorbs = true}, // the end of a prompt
        {.s = &a, .first = 20, .n = 10},                 // a piece of one
        {.s = &a, .first = 30, .n = 3, .absorbs = true}, // rows that verify a draft
        {.s = &b, .first = 33, .n = 7, .absorbs = true}, // of a strategy that only absorbs
    };
    const struct model_slot l = {.rows = rows, .parts = parts, .n_rows = 40, .n_parts = 4};
    size_t n_parts;
    rows[18].want = LM_WANT_STATE;
    rows[19].want = LM_WANT_LOGITS;
    for (int i = 30; i < 40; i++) rows[i].want = i < 33 ? LM_WANT_LOGITS | LM_OPTIONAL : LM_WANT_HIDDEN;
    CHECK_INT(step_rows_read(&l, &n_parts), 1 + 3);
    CHECK_INT(n_parts, 2);
}
