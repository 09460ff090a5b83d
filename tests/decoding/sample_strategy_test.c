// tests/decoding/sample_strategy_test.c - greedy decoding and sampling against enumeration on the toy model.
#include "base/mem.h"
#include "decoding/strategy.h"
#include "kernels/kernels.h"
#include "tests/check.h"
#include "tests/support/toy_lm.h"
#include <math.h>
#include <string.h>

enum { N_VOCAB = 40, N_CTX = 128, N_PROMPT = 5, MAX_TOKENS = 60 };

static const struct toy_config config = {.n_vocab = N_VOCAB,
                                         .n_ctx = N_CTX,
                                         .n_batch = 32,
                                         .n_want = 8,
                                         .max_seqs = 8,
                                         .max_scratch = 8,
                                         .n_pages = 32,
                                         .n_groups = 1,
                                         .window = 0,
                                         .nan_token = -1};
static const int32_t prompts[3][N_PROMPT] = {{3, 1, 4, 1, 5}, {9, 2, 6, 5, 3}, {3, 1, 4, 1, 6}};

static const struct rowmath *rm(void) { return &kernel_set_get(CPU_REF)->row; }

// The engine's side: keeps tokens, stops after n_wanted.
struct reader {
    int32_t tokens[MAX_TOKENS];
    float rows[MAX_TOKENS][N_VOCAB];
    int n, n_wanted;
    bool drafted;
};
static enum emit_answer read_token(void *user, const struct emission *e) {
    struct reader *r = user;
    r->drafted |= e->drafted;
    memcpy(r->rows[r->n], e->logits, sizeof r->rows[0]);
    r->tokens[r->n++] = e->token;
    return r->n < r->n_wanted ? EMIT_NEXT : EMIT_END;
}
static bool may_read(void *user) {
    const struct reader *r = user;
    return r->n < r->n_wanted;
}
static const struct emitter_ops reader_ops = {.may_emit = may_read, .emit = read_token};

struct stream {
    sampler *sampler;
    strategy *strategy;
    int32_t seq; // of the lm: what the strategy calls STRATEGY_MAIN
    struct reader reader;
    struct emitter out;
    rn_status status;
    rn_error err;
};

static bool begin(struct stream *s, lm *m, const struct sampling_params *p, const int32_t *prompt, int n_wanted) {
    *s = (struct stream){.reader = {.n_wanted = n_wanted}};
    s->out = (struct emitter){&reader_ops, &s->reader};
    int32_t seq = 0;
    if (!CHECK_OK(sampler_create(p, rm(), N_VOCAB, N_CTX, &s->sampler, &s->err), &s->err)) return false;
    if (!CHECK_OK(lm_seq_new(m, NULL, &seq, &s->err), &s->err)) return false;
    const struct strategy_spec spec = {.sampler = s->sampler, .n_prompt = N_PROMPT};
    if (!CHECK_OK(strategy_create("sample", &spec, &s->strategy, &s->err), &s->err)) return false;
    s->seq = seq;
    sampler_see_prompt(s->sampler, prompt, N_PROMPT);
    return true;
}

static void end(struct stream *s, lm *m) {
    if (s->strategy) {
        lm_seq_free(m, s->seq);
        s->strategy->ops->destroy(s->strategy);
    }
    sampler_destroy(s->sampler);
}

static void take(struct stream *s, lm *m, size_t first, int32_t at) {
    const struct row_results results = {m, first, 1, at};
    s->strategy->ops->read(s->strategy, &results);
    s->status = s->strategy->ops->absorb(s->strategy, &results, &s->out, &s->err);
}

static size_t ask(struct stream *s, struct lm_row *rows) {
    struct row_list asked = {.rows = rows, .cap = 1, .n_logits = 1};
    CHECK_OK(s->strategy->ops->propose(s->strategy, &asked, &s->err), &s->err);
    for (size_t i = 0; i < asked.n; i++) {
        CHECK_INT(rows[i].seq, STRATEGY_MAIN);
        rows[i].seq = s->seq;
    }
    return asked.n;
}

static bool prefill(struct stream *s, lm *m, const int32_t *prompt) {
    struct lm_row rows[N_PROMPT];
    for (int i = 0; i < N_PROMPT; i++)
        rows[i] = (struct lm_row){s->seq, prompt[i], LM_APPEND, s->strategy->ops->prompt_wants(s->strategy, i)};
    if (!CHECK_OK(lm_step(m, rows, N_PROMPT, NULL, &s->err), &s->err)) return false;
    take(s, m, N_PROMPT - 1, N_PROMPT - 1);
    return true;
}

// To its end: all streams' rows in one batch.
static void run(struct stream *streams, int n_streams, lm *m) {
    for (;;) {
        struct lm_row rows[8];
        int asker[8];
        size_t n = 0;
        rn_error err = {0};
        for (int i = 0; i < n_streams; i++) {
            if (streams[i].status || !ask(&streams[i], &rows[n])) continue;
            asker[n++] = i;
        }
        if (n == 0 || !CHECK_OK(lm_step(m, rows, n, NULL, &err), &err)) return;
        for (size_t k = 0; k < n; k++) take(&streams[asker[k]], m, k, RESULTS_OF_PROPOSAL);
    }
}

static lm *toy(const struct toy_config *c) {
    lm *m = NULL;
    rn_error err = {0};
    CHECK_OK(toy_lm_create(c, &m, &err), &err);
    return m;
}

// What must come: the model's function of the prefix and a sampler of its own, no KV and no strategy.
static void enumerate(const struct sampling_params *p, const int32_t *prompt, int n, int32_t *tokens) {
    int32_t prefix[N_PROMPT + MAX_TOKENS];
    rn_error err = {0};
    sampler *s = NULL;
    if (!CHECK_OK(sampler_create(p, rm(), N_VOCAB, N_CTX, &s, &err), &err)) return;
    memcpy(prefix, prompt, N_PROMPT * sizeof *prompt);
    sampler_see_prompt(s, prompt, N_PROMPT);
    for (int i = 0; i < n; i++) {
        float row[N_VOCAB];
        toy_lm_expect(&config, prefix, N_PROMPT + i, row);
        CHECK_OK(sampler_draw(s, row, (uint32_t)i, &tokens[i], &err), &err);
        sampler_accept(s, tokens[i]);
        prefix[N_PROMPT + i] = tokens[i];
    }
    sampler_destroy(s);
}

static struct sampling_params params(float temp, uint64_t seed, float repeat_penalty) {
    struct sampling_params p;
    sampling_defaults(&p);
    p.temp = temp;
    p.seed = seed;
    p.repeat_penalty = repeat_penalty;
    return p;
}

TEST(text_equals_enumeration_greedy_sampled_and_penalized) {
    const struct sampling_params rows[] = {params(0, 0, 1), params(0, 0, 1.5f), params(0.8f, 1, 1),
                                           params(0.8f, 2, 1), params(3, 3, 1.5f)};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        lm *m = toy(&config);
        if (!m) return;
        struct stream s;
        int32_t want[MAX_TOKENS];
        enumerate(&rows[i], prompts[0], MAX_TOKENS, want);
        if (begin(&s, m, &rows[i], prompts[0], MAX_TOKENS) && prefill(&s, m, prompts[0])) run(&s, 1, m);
        check_note("row %zu", i);
        CHECK_INT(s.status, RN_OK);
        CHECK_INT(s.reader.n, MAX_TOKENS);
        CHECK_MEM(s.reader.tokens, want, sizeof want);
        CHECK(!s.reader.drafted);
        end(&s, m);
        lm_destroy(m);
    }
}

TEST(each_emission_carries_the_row_it_was_drawn_from) {
    const struct sampling_params p = params(0.8f, 5, 1);
    lm *m = toy(&config);
    if (!m) return;
    struct stream s;
    int32_t prefix[N_PROMPT + MAX_TOKENS];
    if (begin(&s, m, &p, prompts[1], 20) && prefill(&s, m, prompts[1])) run(&s, 1, m);
    memcpy(prefix, prompts[1], sizeof prompts[1]);
    for (int i = 0; i < s.reader.n; i++) {
        float want[N_VOCAB];
        toy_lm_expect(&config, prefix, N_PROMPT + i, want);
        CHECK_MEM(s.reader.rows[i], want, sizeof want);
        prefix[N_PROMPT + i] = s.reader.tokens[i];
    }
    end(&s, m);
    lm_destroy(m);
}

TEST(streams_of_one_batch_equal_themselves_alone) {
    static const int lengths[] = {30, 7, 18}; // they leave the batch one after another
    const struct sampling_params p = params(0.8f, 9, 1.1f);
    lm *m = toy(&config);
    if (!m) return;
    struct stream s[3];
    bool ok = true;
    for (int i = 0; i < 3 && ok; i++)
        ok = begin(&s[i], m, &p, prompts[i], lengths[i]) && prefill(&s[i], m, prompts[i]);
    if (ok) run(s, 3, m);
    for (int i = 0; i < 3; i++) {
        int32_t want[MAX_TOKENS];
        enumerate(&p, prompts[i], lengths[i], want);
        CHECK_INT(s[i].reader.n, lengths[i]);
        CHECK_MEM(s[i].reader.tokens, want, (size_t)lengths[i] * sizeof *want);
        end(&s[i], m);
    }
    lm_destroy(m);
}

TEST(a_token_that_ends_the_stream_is_not_committed_and_nothing_is_proposed_after_it) {
    for (int n_wanted = 1; n_wanted < 10; n_wanted++) {
        const struct sampling_params p = params(0, 0, 1);
        lm *m = toy(&config);
        if (!m) return;
        struct stream s;
        struct lm_row row;
        if (begin(&s, m, &p, prompts[0], n_wanted) && prefill(&s, m, prompts[0])) run(&s, 1, m);
        CHECK_INT(s.reader.n, n_wanted);
        CHECK_INT(lm_seq_len(m, s.seq), N_PROMPT + n_wanted - 1);
        CHECK_INT(ask(&s, &row), 0);
        end(&s, m);
        lm_destroy(m);
    }
}

TEST(nothing_is_proposed_before_the_prompts_row_has_come) {
    const struct sampling_params p = params(0, 0, 1);
    lm *m = toy(&config);
    if (!m) return;
    struct stream s;
    struct lm_row row;
    if (begin(&s, m, &p, prompts[0], 3)) CHECK_INT(ask(&s, &row), 0);
    end(&s, m);
    lm_destroy(m);
}

TEST(a_row_of_nan_ends_its_stream_with_an_error_and_its_mates_go_on) {
    const struct sampling_params greedy = params(0, 0, 1), sampled = params(0.8f, 4, 1);
    int32_t want[2][20];
    enumerate(&greedy, prompts[0], 20, want[0]);
    enumerate(&sampled, prompts[1], 20, want[1]);
    struct toy_config c = config;
    int n_good = 0; // the first token of stream 0 that neither text nor prompt has elsewhere before it
    for (; n_good < 20; n_good++) {
        bool seen = false;
        for (int i = 0; i < N_PROMPT; i++)
            seen |= prompts[0][i] == want[0][n_good] || prompts[1][i] == want[0][n_good];
        for (int i = 0; i < 20; i++)
            seen |= want[1][i] == want[0][n_good] || (i < n_good && want[0][i] == want[0][n_good]);
        if (!seen) break;
    }
    if (!CHECK(n_good < 19)) return;
    c.nan_token = want[0][n_good++]; // emitted, then evaluated: its row is NaN
    lm *m = toy(&c);
    if (!m) return;
    struct stream s[2];
    if (begin(&s[0], m, &greedy, prompts[0], 20) && prefill(&s[0], m, prompts[0]) &&
        begin(&s[1], m, &sampled, prompts[1], 20) && prefill(&s[1], m, prompts[1]))
        run(s, 2, m);
    CHECK_INT(s[0].status, RN_E_FORMAT);
    CHECK_HAS(s[0].err.text, "logits: token 0 is not a number");
    CHECK_INT(s[0].reader.n, n_good);
    CHECK_MEM(s[0].reader.tokens, want[0], (size_t)n_good * sizeof *want[0]);
    struct lm_row row;
    CHECK_INT(ask(&s[0], &row), 0);
    CHECK_INT(s[1].status, RN_OK);
    CHECK_INT(s[1].reader.n, 20);
    CHECK_MEM(s[1].reader.tokens, want[1], sizeof want[1]);
    for (int i = 0; i < 2; i++) end(&s[i], m);
    lm_destroy(m);
}

TEST(a_round_of_propose_and_absorb_allocates_nothing) {
    const struct sampling_params p = params(0.8f, 1, 1.1f);
    lm *m = toy(&config);
    if (!m) return;
    struct stream s;
    if (begin(&s, m, &p, prompts[0], MAX_TOKENS) && prefill(&s, m, prompts[0])) {
        const long before = mem_count();
        run(&s, 1, m);
        CHECK_INT(mem_count(), before);
    }
    end(&s, m);
    lm_destroy(m);
}

static rn_status create_and_destroy(void *user) {
    strategy *s = NULL;
    rn_error err = {0};
    const struct strategy_spec spec = {.sampler = user, .n_prompt = N_PROMPT};
    const rn_status st = strategy_create("sample", &spec, &s, &err);
    CHECK((s == NULL) == (st != RN_OK));
    if (s) s->ops->destroy(s);
    return st;
}
TEST(every_failed_allocation_of_a_strategy_is_reported_and_leaks_nothing) {
    const struct sampling_params p = params(0, 0, 1);
    rn_error err = {0};
    sampler *s = NULL;
    CHECK_OK(sampler_create(&p, rm(), N_VOCAB, N_CTX, &s, &err), &err);
    check_each_failed_allocation(create_and_destroy, s, __FILE__, __LINE__);
    sampler_destroy(s);
}

TEST(only_the_last_row_of_a_prompt_is_wanted_and_only_until_it_was_absorbed) {
    const struct sampling_params p = params(0, 0, 1);
    lm *m = toy(&config);
    if (!m) return;
    struct stream s;
    if (begin(&s, m, &p, prompts[0], 3)) {
        CHECK_INT(s.strategy->ops->prompt_from(s.strategy), N_PROMPT - 1);
        for (int i = 0; i < N_PROMPT; i++)
            CHECK_INT(s.strategy->ops->prompt_wants(s.strategy, i), i == N_PROMPT - 1 ? LM_WANT_LOGITS : 0);
        if (prefill(&s, m, prompts[0])) CHECK_INT(s.strategy->ops->prompt_from(s.strategy), N_PROMPT);
    }
    end(&s, m);
    lm_destroy(m);
}
