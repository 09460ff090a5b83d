// tests/decoding/lookahead_test.c - lookahead decoding over models that are functions: which rows it asks for, what it learns of them, and what that costs.
#include "base/philox.h"
#include "decoding/draft/drafts.h"
#include "kernels/kernels.h"
#include "tests/check.h"
#include <math.h>
#include <string.h>

enum { VOCAB = 61, MOST = 4000, MS = 1000000 };

// A model whose token follows from the one before it, or, where `forgets`, from the place as well.
struct world {
    lm model; // first
    bool forgets;
    int32_t text[MOST], n;
    struct lm_row rows[1 + DRAFT_MOST];
    float logits[1 + DRAFT_MOST][VOCAB];
};

static int32_t next(const struct world *w, int32_t token, int32_t place) {
    return (13 * token + 7 +
            (w->forgets ? (int32_t)(philox_uniform(5, 0, (uint32_t)place, PHILOX_TEST) * VOCAB) : 0)) %
           VOCAB;
}

static const float *logits_of(lm *m, size_t row) { return ((struct world *)m)->logits[row]; }
static const struct lm_ops ops = {.logits = logits_of};

// How many places behind the text's last token a scratch row stands; 1: directly.
static int32_t depth_of(const struct lm_row *rows, int32_t i) {
    return rows[i].parent == LM_ROOT ? 1 : 1 + depth_of(rows, 1 + rows[i].parent);
}

// Evaluates a step; row 0 is the text's last token.
static void evaluate(struct world *w, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const int32_t place = w->n - 1 + (i == 0 ? 0 : depth_of(w->rows, (int32_t)i));
        for (int32_t t = 0; t < VOCAB; t++) w->logits[i][t] = (float)-t;
        if (i == 0 || w->rows[i].want & LM_WANT_LOGITS) w->logits[i][next(w, w->rows[i].token, place)] = 5;
    }
}

struct outcome {
    int64_t n_steps, n_more, n_guesses, n_right;
    double ns;
};

// Writes n tokens with drafts; steps take 10 ms and more_ms for each further row.
static bool run(struct world *w, const struct lookahead_sizes *sizes, int32_t n, int32_t least, double more_ms,
                struct outcome *o) {
    static struct step_time time;
    const struct strategy_slot slot = {.time = &time};
    const struct strategy_env env = {.slots = &slot, .n_slots = 1};
    const struct drafter_choice choice = {.kind = drafter_find("lookahead", 9), .lookahead = *sizes};
    const struct strategy_spec spec = {.text = w->text,
                                       .n_text_most = MOST,
                                       .n_vocab = VOCAB,
                                       .rowmath = &kernel_set_get(CPU_REF)->row,
                                       .drafters = &choice,
                                       .n_drafters = 1,
                                       .draft_most = 16,
                                       .draft_least = least};
    struct drafts *d;
    rn_error err = {0};
    *o = (struct outcome){.ns = 0};
    time = (struct step_time){0};
    w->model = (lm){.ops = &ops, .n_vocab = VOCAB};
    for (w->n = 0; w->n < 8; w->n++) w->text[w->n] = w->n;
    if (!CHECK(choice.kind) || !CHECK_OK(drafts_create(&spec, &d, &err), &err)) return false;
    CHECK_OK(drafts_begin(d, &env, &err), &err);
    while (w->n < n) {
        struct row_list list = {.rows = w->rows, .cap = 64, .n_logits = 64, .n_scratch = 64, .n_tokens = 64, .n = 1};
        CHECK_OK(drafts_choose(d, w->n, &err), &err);
        w->rows[0] = (struct lm_row){.token = w->text[w->n - 1], .want = LM_WANT_LOGITS};
        drafts_add_rows(d, &list, 0);
        const struct draft *const draft = drafts_proposed(d);
        const struct draft_rows *const more = drafts_more_rows(d);
        if (!CHECK_INT(list.n, 1 + draft->n + more->n)) break;
        evaluate(w, list.n);
        if (more->n > 0) {
            const struct row_results r = {.model = &w->model, .n = list.n, .at = RESULTS_OF_PROPOSAL};
            drafts_read_more(d, &r);
        }
        const double ns = (10 + more_ms * (double)(list.n - 1)) * MS;
        step_time_learn(&time, list.n, 0, (int64_t)ns);
        o->n_steps++, o->n_more += more->n, o->n_guesses += draft->n, o->ns += ns;
        int32_t node = DRAFT_ROOT;
        do { // the tokens of the step: as many as guesses were right, and one more
            w->text[w->n] = next(w, w->text[w->n - 1], w->n - 1);
            node = draft_child(draft, node, w->text[w->n++]);
            o->n_right += node != DRAFT_NONE;
        } while (node != DRAFT_NONE && w->n < n);
    }
    drafts_destroy(d);
    return true;
}

static const struct lookahead_sizes all_sizes[] = {{0, 0, 0}, {1, 2, 1},   {5, 3, 5},
                                                   {4, 5, 2}, {32, 2, 16}, {6, 8, 1}};

TEST(what_follows_a_token_always_is_guessed_as_far_as_the_ngrams_reach) {
    static struct world w;
    for (size_t i = 0; i < sizeof all_sizes / sizeof *all_sizes; i++) {
        struct outcome o;
        const struct lookahead_sizes *const s = &all_sizes[i];
        if (!run(&w, s, 1000, 1, 0, &o)) return;
        const double length = s->length ? s->length : 3, each = (1000 - 8) / (double)o.n_steps;
        check_note("%d:%d:%d: %.2f tokens a step", s->width, s->length, s->candidates, each);
        // A step of an n-gram's length, but for those in which it is not known yet: each of the tokens has to be seen once.
        CHECK(each > (s->width == 1 ? 0.99 : 0.75 * length) && each <= length);
        CHECK(o.n_right <= o.n_guesses && o.n_more > 0);
    }
}

// Each level stands behind the one below, and the lowest one is a chain.
TEST(the_rows_are_the_window_of_the_paper) {
    static struct world w;
    struct draft_rows rows;
    drafter *d;
    rn_error err = {0};
    struct draft guesses;
    struct draft_step step = {.n_streams = 1, .n_tokens = 1, .most = DRAFT_MOST};
    const struct draft_ask ask = {.least = 1, .most = 16, .step = &step};
    const struct drafter_spec spec = {.text = w.text,
                                      .n_text_most = MOST,
                                      .n_vocab = VOCAB,
                                      .rowmath = &kernel_set_get(CPU_REF)->row,
                                      .lookahead = {4, 4, 3}};
    w.model = (lm){.ops = &ops, .n_vocab = VOCAB};
    for (w.n = 0; w.n < 8; w.n++) w.text[w.n] = w.n;
    if (!CHECK_OK(drafter_find("lookahead", 9)->create(&spec, &d, &err), &err)) return;
    int32_t before[16];
    for (int32_t step_no = 0; step_no < 6; step_no++) {
        const int32_t levels = step_no < 2 ? step_no + 1 : 3;
        d->ops->draft(d, w.n, &guesses);
        d->ops->more_rows(d, w.n, &ask, &rows);
        check_note("step %d", step_no);
        if (!CHECK_INT(rows.n, 4 * levels)) break;
        for (int32_t i = 0; i < rows.n; i++) {
            CHECK_INT(rows.parents[i], i >= 4 ? i - 4 : i > 0 ? i - 1 : DRAFT_ROOT);
            CHECK_INT(rows.has_logits[i], i >= rows.n - 4);
            // What was said behind a level is the next one; the lowest one has gone where there were three.
            if (i < rows.n - 4 && step_no > 0) CHECK_INT(rows.tokens[i], before[step_no > 2 ? i + 4 : i]);
            if (i >= rows.n - 4 && step_no > 0)
                CHECK_INT(rows.tokens[i], next(&w, before[step_no > 2 ? i : i - 4], 0));
            w.rows[1 + i] = (struct lm_row){.token = rows.tokens[i],
                                            .parent = rows.parents[i] == DRAFT_ROOT ? LM_ROOT : rows.parents[i],
                                            .want = rows.has_logits[i] ? LM_WANT_LOGITS : 0};
            before[i] = rows.tokens[i];
        }
        evaluate(&w, 1 + (size_t)rows.n);
        d->ops->read_more(d, &(struct row_results){.model = &w.model, .n = 1 + (size_t)rows.n}, 1);
        w.text[w.n] = next(&w, w.text[w.n - 1], 0), w.n++;
    }
    d->ops->destroy(d);
}

// Rows that cost something and bring nothing: they are tried, and then for a small part of the time.
TEST(a_window_that_does_not_pay_costs_next_to_nothing) {
    static struct world w = {.forgets = true};
    for (size_t i = 0; i < sizeof all_sizes / sizeof *all_sizes; i++) {
        struct outcome o;
        if (!run(&w, &all_sizes[i], MOST, 0, 1, &o)) return;
        const double plain = 10.0 * MS * (MOST - 8);
        check_note("%d:%d:%d: %.3f times as long, %d rows", all_sizes[i].width, all_sizes[i].length,
                   all_sizes[i].candidates, o.ns / plain, (int)o.n_more);
        CHECK(o.ns < 1.02 * plain && o.n_more > 0);
    }
}

TEST(a_window_that_pays_goes_on) {
    static struct world w;
    struct outcome o;
    if (!run(&w, &(struct lookahead_sizes){5, 4, 3}, 2000, 0, 0.3, &o)) return;
    const double plain = 10.0 * MS * (2000 - 8);
    check_note("%.3f of the time, %d rows, %d steps", o.ns / plain, (int)o.n_more, (int)o.n_steps);
    CHECK(o.ns < 0.6 * plain);
}

TEST(a_row_that_is_not_a_number_says_nothing) {
    static struct world w;
    struct draft_rows rows;
    struct draft guesses;
    drafter *d;
    rn_error err = {0};
    struct draft_step step = {.n_streams = 1, .n_tokens = 1, .most = DRAFT_MOST};
    const struct draft_ask ask = {.least = 1, .most = 16, .step = &step};
    const struct drafter_spec spec = {
        .text = w.text, .n_text_most = MOST, .n_vocab = VOCAB, .rowmath = &kernel_set_get(CPU_REF)->row};
    w.model = (lm){.ops = &ops, .n_vocab = VOCAB};
    for (w.n = 0; w.n < 8; w.n++) w.text[w.n] = w.n;
    if (!CHECK_OK(drafter_find("lookahead", 9)->create(&spec, &d, &err), &err)) return;
    for (int i = 0; i < 20; i++) {
        d->ops->draft(d, w.n, &guesses);
        d->ops->more_rows(d, w.n, &ask, &rows);
        CHECK_INT(rows.n, 5);
        for (int32_t k = 0; k < rows.n; k++)
            for (int32_t t = 0; t < VOCAB; t++) w.logits[1 + k][t] = k == 2 ? NAN : 0;
        d->ops->read_more(d, &(struct row_results){.model = &w.model, .n = 6}, 1);
    }
    d->ops->draft(d, 0, &guesses);
    CHECK_INT(guesses.n, 0);
    d->ops->destroy(d);
}
