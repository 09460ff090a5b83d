// tests/decoding/strategies_test.c - the table of strategies, and those that only read a prompt.
#include "decoding/strategy.h"
#include "kernels/kernels.h"
#include "tests/check.h"
#include "tests/support/toy_lm.h"
#include <math.h>
#include <string.h>

enum { N_VOCAB = 40, N_PROMPT = 9, N_HIDDEN = 2 };

static const struct toy_config config = {.n_vocab = N_VOCAB,
                                         .n_ctx = 64,
                                         .n_batch = 16,
                                         .n_want = 16,
                                         .max_seqs = 4,
                                         .max_scratch = 4,
                                         .n_pages = 8,
                                         .n_groups = 1,
                                         .nan_token = -1};
static const int32_t prompt[N_PROMPT] = {3, 1, 4, 1, 5, 9, 2, 6, 5};

static const struct rowmath *rm(void) { return &kernel_set_get(CPU_REF)->row; }

// What a strategy reported.
struct report {
    int32_t scored[N_PROMPT];
    float rows[N_PROMPT][N_VOCAB];
    int n_scored, n_emitted, n_ends;
    enum strategy_end why;
};
static bool may_emit(void *user) {
    (void)user;
    return true;
}
static enum emit_answer emit(void *user, const struct emission *e) {
    (void)e;
    ((struct report *)user)->n_emitted++;
    return EMIT_NEXT;
}
static void score_prompt(void *user, int32_t at, const float *logits) {
    struct report *r = user;
    if (!CHECK(r->n_scored < N_PROMPT)) return;
    r->scored[r->n_scored] = at;
    memcpy(r->rows[r->n_scored++], logits, sizeof r->rows[0]);
}
static void end(void *user, enum strategy_end why) {
    struct report *r = user;
    r->n_ends++;
    r->why = why;
}
static const struct emitter_ops report_ops = {
    .may_emit = may_emit, .emit = emit, .score_prompt = score_prompt, .end = end};

// The prompt in steps of n_rows, evaluated anew from row 0 when n_before rows are done, as after a preemption; n_before 0: not.
static rn_status read_prompt(strategy *s, struct report *report, int32_t n_rows, int32_t n_before, rn_error *err) {
    lm *m = NULL;
    rn_status st = toy_lm_create(&config, &m, err);
    for (int run = n_before ? 0 : 1; run < 2 && st == RN_OK; run++) {
        const int32_t n_end = run == 0 ? n_before : N_PROMPT;
        int32_t seq;
        st = lm_seq_new(m, NULL, &seq, err);
        for (int32_t at = 0; at < n_end && st == RN_OK; at += n_rows) {
            struct lm_row rows[N_PROMPT];
            const int32_t n = n_end - at < n_rows ? n_end - at : n_rows, from = s->ops->prompt_from(s);
            bool wanted = false;
            for (int32_t i = 0; i < n; i++) {
                const uint32_t want = at + i < from ? 0 : s->ops->prompt_wants(s, at + i);
                rows[i] = (struct lm_row){.seq = seq, .token = prompt[at + i], .parent = LM_APPEND, .want = want};
                wanted |= want != 0;
            }
            st = lm_step(m, rows, (size_t)n, NULL, err);
            const struct row_results r = {m, 0, (size_t)n, at};
            if (st == RN_OK && wanted && s->ops->read) s->ops->read(s, &r);
            if (st == RN_OK && wanted) st = s->ops->absorb(s, &r, &(struct emitter){&report_ops, report}, err);
        }
    }
    lm_destroy(m);
    return st;
}

static bool make(const char *name, const void *params, strategy *inner, strategy **s) {
    rn_error err = {0};
    const struct strategy_spec spec = {
        .rowmath = rm(), .n_vocab = N_VOCAB, .n_prompt = N_PROMPT, .inner = inner, .params = params};
    return CHECK_OK(strategy_create(name, &spec, s, &err), &err);
}

TEST(each_kind_is_found_by_its_name_and_an_unknown_name_gives_those_there_are) {
    rn_error err = {0};
    strategy *s;
    for (size_t i = 0; i < strategy_n_kinds; i++) CHECK(strategy_find(strategy_kinds[i].name) == &strategy_kinds[i]);
    CHECK_INT(strategy_create("beem", &(struct strategy_spec){0}, &s, &err), RN_E_ARG);
    CHECK(s == NULL);
    CHECK_HAS(err.text, "strategy: \"beem\" is unknown; known ones are sample, beam, best-of, contrastive");
}

struct scores {
    size_t n;
    size_t n_stop;
};
static bool on_row(void *user, size_t at, const float *logits, int32_t n_vocab) {
    struct scores *s = user;
    float want[N_VOCAB];
    toy_lm_expect(&config, prompt, (int32_t)at + 1, want);
    CHECK_INT(at, s->n);
    CHECK_INT(n_vocab, N_VOCAB);
    CHECK_MEM(logits, want, sizeof want);
    s->n++;
    return s->n == s->n_stop;
}

TEST(a_score_reports_each_row_once_in_order_however_the_prompt_is_cut_or_repeated) {
    for (int32_t n_rows = 1; n_rows <= N_PROMPT; n_rows++)
        for (int32_t n_before = 0; n_before < N_PROMPT; n_before++) {
            struct scores seen = {0};
            struct report report = {0};
            rn_error err = {0};
            strategy *s;
            if (!make("score", &(struct score_params){on_row, &seen}, NULL, &s)) return;
            check_note("steps of %d rows, repeated after %d", n_rows, n_before);
            CHECK_OK(read_prompt(s, &report, n_rows, n_before, &err), &err);
            CHECK_INT(seen.n, N_PROMPT);
            CHECK_INT(report.n_ends, 1);
            CHECK_INT(report.why, STRATEGY_END_LENGTH);
            strategy_destroy(s);
        }
}

TEST(a_score_whose_caller_stops_fails_with_the_position) {
    struct scores seen = {.n_stop = 4};
    struct report report = {0};
    rn_error err = {0};
    strategy *s;
    if (!make("score", &(struct score_params){on_row, &seen}, NULL, &s)) return;
    CHECK_INT(read_prompt(s, &report, 3, 0, &err), RN_E_CANCELLED);
    CHECK_HAS(err.text, "stopped by the caller at position 3");
    CHECK_INT(seen.n, 4);
    CHECK_INT(report.n_ends, 0);
    strategy_destroy(s);
}

TEST(prompt_scores_hand_out_each_row_once_and_the_inner_strategy_goes_on_from_the_last) {
    for (int32_t n_rows = 1; n_rows <= N_PROMPT; n_rows++)
        for (int32_t n_before = 0; n_before < N_PROMPT; n_before += 3) {
            struct report report = {0};
            rn_error err = {0};
            sampler *draws;
            strategy *inner, *s;
            struct sampling_params p;
            sampling_defaults(&p);
            if (!CHECK_OK(sampler_create(&p, rm(), N_VOCAB, config.n_ctx, &draws, &err), &err)) return;
            const struct strategy_spec spec = {.sampler = draws, .n_prompt = N_PROMPT};
            if (!CHECK_OK(strategy_create("sample", &spec, &inner, &err), &err)) return;
            if (!make("prompt_scores", NULL, inner, &s)) return;
            check_note("steps of %d rows, repeated after %d", n_rows, n_before);
            CHECK_OK(read_prompt(s, &report, n_rows, n_before, &err), &err);
            CHECK_INT(report.n_scored, N_PROMPT);
            for (int32_t i = 0; i < report.n_scored; i++) {
                float want[N_VOCAB];
                toy_lm_expect(&config, prompt, i + 1, want);
                CHECK_INT(report.scored[i], i);
                CHECK_MEM(report.rows[i], want, sizeof want);
            }
            CHECK_INT(report.n_emitted, 1);
            CHECK_INT(s->ops->prompt_from(s), N_PROMPT);
            strategy_destroy(s);
            sampler_destroy(draws);
        }
}

// Hidden states are {h mod 2^16, h / 2^16} of a hash: exact in float, and their sums are too.
TEST(an_embedding_pools_the_rows_it_says_it_reads) {
    static const struct {
        enum embed_pooling pooling;
        int32_t from;
        size_t n_rows;
    } rows[] = {{EMBED_EACH, 0, N_PROMPT}, {EMBED_MEAN, 0, 1}, {EMBED_FIRST, 0, 1}, {EMBED_LAST, N_PROMPT - 1, 1}};
    float each[N_PROMPT][N_HIDDEN];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int32_t n_rows = 1; n_rows <= N_PROMPT; n_rows++)
            for (int32_t n_before = 0; n_before < N_PROMPT; n_before += 4) {
                if (rows[i].pooling == EMBED_FIRST && n_before) continue; // it has ended by then
                float out[N_PROMPT][N_HIDDEN] = {{0}}, want[N_HIDDEN] = {0};
                const struct embed_params params = {.pooling = rows[i].pooling, .n_row = N_HIDDEN, .out = out[0]};
                struct report report = {0};
                rn_error err = {0};
                strategy *s;
                if (!make("embed", &params, NULL, &s)) return;
                CHECK_INT(s->ops->prompt_from(s), rows[i].from);
                check_note("pooling %d, steps of %d rows, repeated after %d", (int)rows[i].pooling, n_rows, n_before);
                CHECK_OK(read_prompt(s, &report, n_rows, n_before, &err), &err);
                CHECK_INT(report.n_ends, 1);
                CHECK_INT(report.why, STRATEGY_END_STOP);
                if (i == 0 && n_rows == 1 && n_before == 0) memcpy(each, out, sizeof each);
                for (size_t k = 0; k < N_HIDDEN; k++) {
                    for (size_t r = 0; r < N_PROMPT; r++) want[k] += each[r][k];
                    want[k] = rows[i].pooling == EMBED_MEAN    ? want[k] / N_PROMPT
                              : rows[i].pooling == EMBED_FIRST ? each[0][k]
                                                               : each[N_PROMPT - 1][k];
                }
                if (rows[i].pooling == EMBED_EACH)
                    CHECK_MEM(out, each, sizeof each);
                else
                    CHECK_MEM(out[0], want, sizeof want);
                strategy_destroy(s);
            }
}

static rn_status create_each(void *user) {
    rn_error err = {0};
    rn_status first = RN_OK;
    const struct score_params score = {on_row, NULL};
    const struct embed_params embed = {.pooling = EMBED_LAST};
    const struct {
        const char *name;
        const void *params;
    } kinds[] = {{"score", &score}, {"embed", &embed}};
    (void)user;
    for (size_t i = 0; i < 2 && first == RN_OK; i++) {
        strategy *s;
        const struct strategy_spec spec = {.rowmath = rm(), .n_prompt = 1, .params = kinds[i].params};
        first = strategy_create(kinds[i].name, &spec, &s, &err);
        CHECK((s == NULL) == (first != RN_OK));
        strategy_destroy(s);
    }
    return first;
}
TEST(every_failed_allocation_of_a_reading_strategy_is_reported_and_leaks_nothing) {
    check_each_failed_allocation(create_each, NULL, __FILE__, __LINE__);
}
