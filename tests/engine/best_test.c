// tests/engine/best_test.c - the best of several samples over the toy model: each is what a request of its own generates, and which one is
// chosen follows from their probabilities, or from what most of them say.
#include "kernels/kernels.h"
#include "toy_rig.h"
#include "whole_answer.h"
#include <math.h>

enum { MOST = 6, N_STREAMS = 3, MOST_NEW = 40 };

static bool rig_open(struct toy_rig *g, int32_t n_pages) {
    char path[64];
    struct tiny_model tiny = tiny_model_default();
    struct given_lm given;
    rn_engine_options o = engine_options();
    rn_error err = {0};
    snprintf(path, sizeof path, "best_rig.%d.gguf", (int)getpid());
    tiny.n_ctx = TOY_CTX, tiny.n_vocab = TOY_VOCAB;
    *g = (struct toy_rig){.config = {.n_vocab = TOY_VOCAB,
                                     .n_ctx = TOY_CTX,
                                     .n_batch = 64,
                                     .n_want = 64,
                                     .max_seqs = N_STREAMS * (MOST + 1) + 2,
                                     .max_scratch = 4,
                                     .n_pages = n_pages,
                                     .n_groups = 1,
                                     .nan_token = -1}};
    if (!CHECK(tiny_model_write(&tiny, path)) || !CHECK_OK(rn_model_open(path, NULL, &g->model, &err), &err))
        return false;
    remove(path);
    if (!CHECK_OK(toy_lm_create(&g->config, &given.lm, &err), &err)) return false;
    given.kv = toy_lm_kv(given.lm), given.n_scratch = g->config.max_scratch;
    o.n_streams = N_STREAMS, o.n_seqs = MOST - 1;
    return CHECK_OK(engine_open_lms(&g->model, &given, 1, &o, &g->engine, &err), &err);
}

struct plan {
    rn_request r;
    rn_sampling sampling;
    rn_strategy_options o;
    rn_part part;
    int32_t prompt[TOY_CTX], end;
    rn_logit_bias bias[4];
};

// A few letters, line breaks and an end token are likely, so that samples meet and end.
static void make_plan(const struct toy_rig *g, struct toy_random *random, struct plan *p) {
    const int32_t n_prompt = 1 + toy_below(random, 120);
    *p = (struct plan){.end = 200};
    for (int32_t i = 0; i < n_prompt; i++) p->prompt[i] = toy_below(random, TOY_VOCAB);
    rn_request_init(&p->r);
    rn_sampling_init(&p->sampling);
    rn_strategy_options_init(&p->o);
    p->part = (rn_part){.kind = RN_PART_IDS, .ids = p->prompt, .n_ids = (size_t)n_prompt};
    p->bias[0] = (rn_logit_bias){p->end, 6};
    p->bias[1] = (rn_logit_bias){toy_token(g, "a", 1), 9};
    p->bias[2] = (rn_logit_bias){toy_token(g, "b", 1), 9};
    p->bias[3] = (rn_logit_bias){toy_token(g, "\n", 1), 7};
    p->sampling.logit_bias = p->bias, p->sampling.n_logit_bias = 4;
    p->sampling.temp = 1 + (float)toy_below(random, 3) / 4;
    p->sampling.mirostat = toy_below(random, 4) == 0 ? 2 : 0;
    p->sampling.repeat_penalty = toy_below(random, 3) == 0 ? 1.2F : 1;
    p->r.ignore_eos = true, p->r.stop_tokens = &p->end, p->r.n_stop_tokens = 1;
    p->r.max_tokens = 1 + toy_below(random, MOST_NEW);
    p->r.has_seed = true, p->r.seed = (uint64_t)toy_below(random, 1000);
    p->r.logprobs = 1;
    p->r.buffer_tokens = 1 + toy_below(random, 8);
    p->o.best_of = 1 + toy_below(random, MOST);
    p->o.num_return_sequences = p->o.best_of;
}

static void point(struct plan *p) {
    p->r.parts = &p->part, p->r.n_parts = 1;
    p->r.strategy_options = &p->o, p->r.sampling = &p->sampling;
}

struct found {
    int32_t tokens[MOST_NEW], n;
    double score, logprob;
    char text[1024];
};
struct got {
    struct found of[MOST];
    size_t n;
    struct outcome all;
};

static void read_stream(rn_stream *s, struct got *o) {
    rn_error err = {0};
    *o = (struct got){0};
    while (o->all.finish == RN_FINISH_NONE) {
        rn_chunk c = new_chunk();
        if (!CHECK_OK(rn_stream_next(s, 60000000000, &c, &err), &err)) return;
        if (c.replace_from >= 0)
            o->all.n_tokens = (size_t)c.replace_from, o->all.n_text = (size_t)c.replace_text_from;
        outcome_add(&o->all, &c);
        for (size_t i = 0; i < c.n_sequences && i < MOST; i++) {
            struct found *const f = &o->of[o->n++];
            const rn_sequence *const q = &c.sequences[i];
            *f = (struct found){.n = (int32_t)q->n_tokens, .score = q->score, .logprob = q->logprob};
            memcpy(f->tokens, q->tokens, q->n_tokens * sizeof *f->tokens);
            memcpy(f->text, q->text, q->n_text + 1);
        }
    }
}

static void run_alone(const struct toy_rig *g, const struct plan *p, int32_t i, struct outcome *o) {
    struct plan one = *p;
    one.sampling.logit_bias = one.bias;
    one.r.stop_tokens = &one.end;
    one.r.strategy = NULL, one.r.seed += (uint64_t)i, one.r.accept_revisions = false;
    one.part.ids = one.prompt;
    point(&one);
    one.r.strategy_options = NULL;
    run_request(g->engine, &one.r, o);
}

// Each sample is among the sequences, ordered by the mean of its log-probabilities.
static void check_samples(const struct toy_rig *g, const struct plan *p, const struct got *got) {
    bool used[MOST] = {0};
    if (!CHECK_INT((int64_t)got->n, p->o.best_of)) return;
    for (int32_t i = 0; i < p->o.best_of; i++) {
        struct outcome alone;
        int32_t at = 0;
        double sum = 0;
        run_alone(g, p, i, &alone);
        for (; at < p->o.best_of; at++)
            if (!used[at] && (size_t)got->of[at].n == alone.n_tokens &&
                memcmp(got->of[at].tokens, alone.tokens, alone.n_tokens * sizeof *alone.tokens) == 0)
                break;
        check_note("sample %d of %d", i, p->o.best_of);
        if (!CHECK(at < p->o.best_of)) return;
        used[at] = true;
        for (size_t k = 0; k < alone.n_tokens; k++) sum += (double)alone.logprobs[k];
        CHECK(fabs(got->of[at].logprob - sum) < 1e-4);
        CHECK(fabs(got->of[at].score - sum / (double)alone.n_tokens) < 1e-5);
        CHECK_STR(got->of[at].text, alone.text);
    }
    for (int32_t i = 1; i < p->o.best_of; i++) CHECK(got->of[i - 1].score >= got->of[i].score);
    CHECK_INT((int64_t)got->all.n_tokens, got->of[0].n);
    CHECK_MEM(got->all.tokens, got->of[0].tokens, got->all.n_tokens * sizeof *got->all.tokens);
    CHECK_STR(got->all.text, got->of[0].text);
}

static int n_preempted;
static void run_rounds(int32_t n_pages, bool revises) {
    enum { N_ROUNDS = 25 };
    static struct plan plans[N_STREAMS];
    static struct got got[N_STREAMS];
    struct toy_rig g;
    rn_error err = {0};
    if (!rig_open(&g, n_pages)) return;
    n_preempted = 0;
    for (uint64_t seed = 1; seed <= N_ROUNDS; seed++) {
        struct toy_random random = {.seed = seed};
        rn_stream *s[N_STREAMS] = {0};
        for (int i = 0; i < N_STREAMS; i++) {
            make_plan(&g, &random, &plans[i]);
            point(&plans[i]);
            plans[i].r.strategy = "best-of", plans[i].r.accept_revisions = revises;
            CHECK_OK(rn_stream_begin(g.engine, &plans[i].r, &s[i], &err), &err);
        }
        for (int i = 0; i < N_STREAMS && s[i]; i++) {
            rn_stream_state state = {.struct_size = sizeof state};
            read_stream(s[i], &got[i]);
            CHECK_OK(rn_stream_get_state(s[i], &state, &err), &err);
            n_preempted += state.was_preempted;
            rn_stream_close(s[i]);
        }
        for (int i = 0; i < N_STREAMS; i++) check_samples(&g, &plans[i], &got[i]);
    }
    toy_rig_close(&g);
}

// What is told of each token is what a request of its own tells.
static void check_told(const struct toy_rig *g, const struct plan *p, const rn_chunk *c) {
    static struct whole_answer alone;
    bool is_found = false;
    for (int32_t i = 0; i < p->o.best_of && !is_found; i++) {
        struct plan one = *p;
        point(&one);
        one.sampling.logit_bias = one.bias, one.r.stop_tokens = &one.end, one.part.ids = one.prompt;
        one.r.strategy = NULL, one.r.strategy_options = NULL, one.r.seed += (uint64_t)i, one.r.speculate = "none";
        if (!whole_run(g->engine, &one.r, &alone)) return;
        is_found = alone.o.n_tokens == c->n_tokens &&
                   memcmp(alone.o.tokens, c->tokens, c->n_tokens * sizeof *c->tokens) == 0;
    }
    CHECK(is_found);
    for (size_t k = 0; is_found && k < c->n_tokens; k++) CHECK(hash_told(&c->token_data[k]) == alone.told[k]);
    CHECK(c->token_data[0].n_candidates > 0 && c->token_data[0].n_sampled_top > 0);
}

// Every answer can be read as a chunk of its own, in any order, once the last chunk has been taken.
static void check_read_one(const struct toy_rig *g, const struct plan *p, rn_stream *s, const rn_chunk *last,
                           size_t i) {
    rn_chunk c = new_chunk();
    rn_error err = {0};
    const rn_sequence *const q = &last->sequences[i];
    if (!CHECK_OK(rn_stream_read_sequence(s, i, &c, &err), &err)) return;
    CHECK(c.n_tokens == q->n_tokens && c.n_text == q->n_text && c.n_deltas == 0 && c.replace_from == -1);
    CHECK_MEM(c.tokens, q->tokens, q->n_tokens * sizeof *q->tokens);
    CHECK_STR(c.text, q->text);
    CHECK_INT(c.finish_reason, q->finish_reason);
    CHECK_INT(c.usage->completion_tokens, (int64_t)q->n_tokens);
    CHECK_INT(c.usage->prompt_tokens, last->usage->prompt_tokens);
    double sum = 0;
    for (size_t k = 0; k < c.n_tokens; k++) sum += (double)c.token_data[k].logprob;
    CHECK(fabs(sum - q->logprob) < 1e-4 && c.token_data[0].id == q->tokens[0] && c.token_data[0].n_top == 1);
    CHECK(i > 0 || strcmp(c.finish_detail, last->finish_detail) == 0);
    check_told(g, p, &c);
}

TEST(each_answer_of_a_search_is_read_as_a_chunk_of_its_own) {
    struct toy_rig g;
    struct toy_random random = {.seed = 7};
    rn_error err = {0};
    if (!rig_open(&g, 120)) return;
    for (int round = 0; round < 20; round++) {
        struct plan p;
        rn_stream *s;
        make_plan(&g, &random, &p);
        point(&p);
        p.r.strategy = "best-of", p.r.sampled_logprobs = 1 + round % 3;
        rn_chunk c = new_chunk();
        if (!CHECK_OK(rn_stream_begin(g.engine, &p.r, &s, &err), &err)) break;
        CHECK_FAILS(rn_stream_read_sequence(s, 0, &c, &err), RN_E_ARG, &err);
        while (c.finish_reason == RN_FINISH_NONE && CHECK_OK(rn_stream_next(s, 60000000000, &c, &err), &err)) {
        }
        CHECK_INT((int64_t)c.n_sequences, p.o.num_return_sequences);
        for (size_t i = c.n_sequences; i-- > 0;) check_read_one(&g, &p, s, &c, i);
        rn_chunk wrong = new_chunk();
        CHECK_FAILS(rn_stream_read_sequence(s, c.n_sequences, &wrong, &err), RN_E_ARG, &err);
        CHECK_HAS(err.text, "rn_stream_read_sequence: answer ");
        wrong.struct_size = 1;
        CHECK_FAILS(rn_stream_read_sequence(s, 0, &wrong, &err), RN_E_ARG, &err);
        rn_stream_close(s);
    }
    CHECK_FAILS(rn_stream_read_sequence(NULL, 0, NULL, &err), RN_E_ARG, &err);
    toy_rig_close(&g);
}

TEST(samples_are_those_of_requests_of_their_own) {
    run_rounds(120, false);
    CHECK_INT(n_preempted, 0);
}
TEST(samples_that_are_revised_are_the_same) { run_rounds(120, true); }
TEST(samples_that_are_preempted_are_the_same) {
    run_rounds(12, false);
    CHECK(n_preempted > 0);
}

// ---- what most say ----

// The answer by its definition: the last line that is not blank, or the last letter a or b.
static void answer_of(const char *text, bool is_line, char out[1024]) {
    size_t end = strlen(text), from;
    if (!is_line) {
        while (end > 0 && text[end - 1] != 'a' && text[end - 1] != 'b') end--;
        snprintf(out, 1024, "%.*s", (int)(end > 0), text + end - (end > 0));
        return;
    }
    while (end > 0 && strchr(" \t\r\n", text[end - 1])) end--;
    for (from = end; from > 0 && text[from - 1] != '\n';) from--;
    while (from < end && strchr(" \t", text[from])) from++;
    snprintf(out, 1024, "%.*s", (int)(end - from), text + from);
}

static void check_majority(const struct got *got, bool is_line) {
    static char answers[MOST][1024];
    int counts[MOST] = {0}, most = 0;
    double sums[MOST] = {0}, best = 0;
    for (size_t i = 0; i < got->n; i++) answer_of(got->of[i].text, is_line, answers[i]);
    for (size_t i = 0; i < got->n; i++)
        for (size_t k = 0; k < got->n && answers[i][0]; k++)
            if (strcmp(answers[i], answers[k]) == 0) counts[i]++, sums[i] += exp(got->of[k].logprob);
    for (size_t i = 0; i < got->n; i++)
        if (counts[i] > most || (counts[i] == most && sums[i] > best)) most = counts[i], best = sums[i];
    CHECK_INT(counts[0], most);
    CHECK(fabs(sums[0] - best) <= 1e-9 * best);
    for (size_t i = 1; i < got->n; i++) // of those that say so the most probable is first
        if (strcmp(answers[i], answers[0]) == 0) CHECK(got->of[i].score <= got->of[0].score);
}

TEST(the_majority_of_a_last_line_or_of_an_expression_decides) {
    struct toy_rig g;
    struct got got;
    struct plan p;
    rn_error err = {0};
    if (!rig_open(&g, 120)) return;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct toy_random random = {.seed = seed};
        rn_stream *s = NULL;
        make_plan(&g, &random, &p);
        point(&p);
        p.r.strategy = "best-of", p.o.best_of = p.o.num_return_sequences = MOST;
        p.o.majority = seed % 2 ? "line" : "[ab]";
        p.r.max_tokens = 1 + (int32_t)seed % 6;
        if (!CHECK_OK(rn_stream_begin(g.engine, &p.r, &s, &err), &err)) break;
        read_stream(s, &got);
        rn_stream_close(s);
        CHECK_INT((int64_t)got.n, MOST);
        check_majority(&got, seed % 2);
    }
    make_plan(&g, &(struct toy_random){.seed = 1}, &p);
    point(&p);
    rn_stream *s;
    p.r.strategy = "best-of", p.o.best_of = p.o.num_return_sequences = 2, p.o.majority = "(";
    CHECK_FAILS(rn_stream_begin(g.engine, &p.r, &s, &err), RN_E_ARG, &err);
    CHECK_HAS(err.text, "majority: ");
    p.o.majority = NULL, p.o.num_return_sequences = 3;
    CHECK_FAILS(rn_stream_begin(g.engine, &p.r, &s, &err), RN_E_ARG, &err);
    CHECK_STR(err.text, "num_return_sequences: 3 is above best_of, 2");
    toy_rig_close(&g);
}

// With the pages that the plan has for one stream, however the prompt's end lies in its page.
TEST(samples_end_where_all_of_them_have_all_keys_and_values) {
    static const int32_t n_prompts[] = {1, 63, 64, 65, 130, TOY_CTX - 1}, n_samples[] = {1, 2, 3, MOST};
    enum { N_SEQS = MOST - 1, N_PAGES = (TOY_CTX + KV_PAGE - 1) / KV_PAGE + N_SEQS };
    static struct outcome o;
    struct toy_rig g;
    struct toy_random random = {7};
    if (!rig_open(&g, N_PAGES + 2)) return;
    g.engine->model_slots[0].n_kv = TOY_CTX;
    for (size_t i = 0; i < sizeof n_prompts / sizeof *n_prompts; i++)
        for (size_t k = 0; k < sizeof n_samples / sizeof *n_samples; k++) {
            struct plan p;
            char want[64];
            const int32_t n = n_prompts[i], context = TOY_CTX - n,
                          room = (N_PAGES - n / KV_PAGE) / n_samples[k] * KV_PAGE - n % KV_PAGE;
            make_plan(&g, &random, &p);
            point(&p);
            for (int32_t t = 0; t < n; t++) p.prompt[t] = toy_below(&random, TOY_VOCAB);
            p.part.n_ids = (size_t)n;
            p.sampling = (rn_sampling){0};
            rn_sampling_init(&p.sampling);
            p.sampling.temp = 5, p.sampling.top_k = 0, p.sampling.top_p = 1, p.sampling.min_p = 0;
            p.r.strategy = "best-of", p.r.max_tokens = -1, p.r.n_stop_tokens = 0, p.r.logprobs = -1;
            p.o.best_of = n_samples[k], p.o.num_return_sequences = 1;
            check_note("%d tokens, %d samples", n, n_samples[k]);
            if (!run_request(g.engine, &p.r, &o)) continue;
            CHECK_INT(o.finish, RN_FINISH_LENGTH);
            CHECK_INT(o.n_tokens, room < context ? room : context);
            snprintf(want, sizeof want, room < context ? "room beside the other texts %d" : "context %d",
                     room < context ? room : TOY_CTX);
            CHECK_STR(o.detail, want);
        }
    toy_rig_close(&g);
}
