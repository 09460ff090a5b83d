// tests/engine/any_streams_test.c - random sets of streams over the toy model with little memory: generations, several choices, sessions,
// log-probabilities of prompts, scores and embeddings, with random priorities, clients, buffers, limits, pauses, rates and cancels. What
// each gives is what it gives alone, with ample memory.
#include "base/hash.h"
#include "base/mem.h"
#include "engine/engine.h"
#include "engine/public_structs.h"
#include "fixture.h"
#include "tests/support/tiny_model.h"
#include "tests/support/toy_lm.h"
#include <unistd.h>

enum {
    N_VOCAB = 300,
    N_CTX = 256,
    NAN_TOKEN = 299,
    MAX_JOBS = 8,
    N_CHOICES = 3,
    MAX_TURNS = 2,
    MOST_PROMPT = 100,
    MOST_MADE = 60,
    MOST_WAITS = 60000 // of half a millisecond
};

static uint32_t below(uint64_t *state, uint32_t n) {
    *state = hash_u64(*state, 1);
    return (uint32_t)(*state >> 33) % n;
}

// ---- a strategy with several choices ---------------------------------------------------------------------------------

// Choice c takes the largest logit of the tokens i with i % N_CHOICES == c. Each has a sequence; rows are fewer where a step has less room.
struct several {
    strategy base;
    int32_t n_prompt;
    bool has_begun;
    struct branch {
        int32_t seq, last, n; // the last token, not evaluated yet
        bool ended;
    } of[N_CHOICES];
    int32_t proposed[N_CHOICES]; // choices of the rows
    int32_t chosen[N_CHOICES], n_chosen;
};

static int32_t prompt_from(const strategy *base) {
    const struct several *s = (const struct several *)base;
    return s->n_prompt - !s->has_begun;
}
static uint32_t prompt_wants(const strategy *base, int32_t at) {
    return at == ((const struct several *)base)->n_prompt - 1 ? LM_WANT_LOGITS : 0;
}

// Those with the fewest tokens first.
static rn_status propose(strategy *base, struct row_list *rows, rn_error *err) {
    struct several *s = (struct several *)base;
    size_t most = rows->cap < rows->n_logits ? rows->cap : rows->n_logits;
    if (most > (size_t)rows->n_tokens) most = (size_t)rows->n_tokens;
    rows->n = 0;
    for (int32_t n = 0; n <= MOST_MADE; n++)
        for (int32_t c = 0; c < N_CHOICES && rows->n < most; c++) {
            if (s->of[c].ended || s->of[c].n != n) continue;
            s->proposed[rows->n] = c;
            rows->rows[rows->n++] = (struct lm_row){
                .seq = s->of[c].seq, .token = s->of[c].last, .parent = LM_APPEND, .want = LM_WANT_LOGITS};
        }
    return rows->n ? RN_OK : fail(err, RN_E_INTERNAL, "several: nothing to propose");
}

static int32_t best_of(const float *logits, int32_t choice) {
    int32_t best = choice;
    for (int32_t i = choice; i < NAN_TOKEN; i += N_CHOICES)
        if (logits[i] > logits[best]) best = i;
    return best;
}

static void read_results(strategy *base, const struct row_results *r) {
    struct several *s = (struct several *)base;
    const bool is_prompt = r->at != RESULTS_OF_PROPOSAL;
    s->n_chosen = is_prompt ? N_CHOICES : (int32_t)r->n;
    for (int32_t i = 0; i < s->n_chosen; i++) {
        if (is_prompt) s->proposed[i] = i;
        s->chosen[i] = best_of(results_logits(r, is_prompt ? r->n - 1 : (size_t)i), s->proposed[i]);
    }
}

static rn_status absorb(strategy *base, const struct row_results *r, const struct emitter *out, rn_error *err) {
    struct several *s = (struct several *)base;
    const struct strategy_env *env = base->env;
    rn_status st = RN_OK;
    for (int32_t c = 1; !s->has_begun && c < N_CHOICES && st == RN_OK; c++)
        st = env->ops->seq_fork(env->user, STRATEGY_MAIN, &s->of[c].seq, err);
    s->has_begun = true;
    for (int32_t i = 0; i < s->n_chosen && st == RN_OK; i++) {
        struct branch *b = &s->of[s->proposed[i]];
        const size_t row = r->at != RESULTS_OF_PROPOSAL ? r->n - 1 : (size_t)i;
        const struct emission e = {.token = s->chosen[i], .logits = results_logits(r, row), .choice = s->proposed[i]};
        b->last = s->chosen[i], b->n++;
        b->ended = !out->ops->emit(out->user, &e);
        if (b->ended) env->ops->seq_free(env->user, b->seq); // not of the main one
    }
    return st;
}

static void destroy(strategy *base) { mem_free(base); }
static const struct strategy_ops several_ops = {.prompt_from = prompt_from,
                                                .prompt_wants = prompt_wants,
                                                .propose = propose,
                                                .read = read_results,
                                                .absorb = absorb,
                                                .destroy = destroy};

static rn_status create(const struct strategy_spec *spec, strategy **out, rn_error *err) {
    struct several *s = mem_calloc(1, sizeof *s);
    *out = NULL;
    if (!s) return fail(err, RN_E_NOMEM, "several: out of memory");
    s->base = (strategy){.ops = &several_ops, .needs.n_seqs = N_CHOICES, .n_choices = N_CHOICES};
    s->n_prompt = spec->n_prompt;
    *out = &s->base;
    return RN_OK;
}
static const struct strategy_kind several = {"several", create};

// ---- jobs ------------------------------------------------------------------------------------------------------------

enum job_kind { JOB_SAMPLE, JOB_SEVERAL, JOB_SESSION, JOB_EMBED, JOB_SCORE, N_KINDS };

// What a stream gave: lists of numbers, so that all kinds are compared alike.
struct given {
    int32_t tokens[N_CHOICES][MOST_MADE];
    float logprobs[N_CHOICES][MOST_MADE], prompt[MOST_PROMPT + MOST_MADE], embedding[2];
    int32_t n_tokens[N_CHOICES];
    size_t n_prompt, n_embedding;
    rn_finish finish;
    char detail[256];
};

struct job {
    enum job_kind kind;
    int32_t ids[MAX_TURNS][MOST_PROMPT], n_ids[MAX_TURNS];
    struct rn_sampling sampling;
    rn_part part;
    rn_request r;
    bool cancels;
    // Of the run.
    rn_session *session;
    rn_stream *stream;
    int turn, n_turns;
    struct given given[MAX_TURNS];
    struct score_params scores;
    uint64_t score; // a hash of the rows
    size_t n_chunks;
    int32_t n_scored;
};

// Prompts share beginnings, so that the prefix index has something to find.
static void fill_prompt(int32_t *ids, int32_t n, uint64_t *state) {
    const uint32_t text = below(state, 3);
    const int32_t n_shared = (int32_t)below(state, (uint32_t)n + 1);
    for (int32_t i = 0; i < n; i++)
        ids[i] = (int32_t)(i < n_shared ? hash_u64(text, (uint64_t)i) % 250 : below(state, 250));
}

static void make_job(struct job *j, uint64_t *state) {
    *j = (struct job){.kind = (enum job_kind)below(state, N_KINDS)};
    rn_request_init(&j->r);
    rn_sampling_init(&j->sampling);
    j->n_turns = j->kind == JOB_SESSION ? MAX_TURNS : 1;
    for (int t = 0; t < j->n_turns; t++) {
        j->n_ids[t] = 1 + (int32_t)below(state, t ? 20 : j->kind == JOB_SESSION ? 60 : MOST_PROMPT);
        fill_prompt(j->ids[t], j->n_ids[t], state);
    }
    if (below(state, 12) == 0) j->ids[0][j->n_ids[0] - 1] = NAN_TOKEN;
    j->sampling.temp = below(state, 2) ? 0.9f : 0.0f;
    j->sampling.top_k = below(state, 2) ? 20 : 0;
    j->sampling.repeat_penalty = below(state, 2) ? 1.0f : 1.3f;
    j->r.has_seed = true, j->r.seed = below(state, 1000);
    j->r.max_tokens = (int32_t)below(state, MOST_MADE);
    if (j->kind == JOB_SEVERAL && j->r.max_tokens == 0) j->r.max_tokens = 1;
    j->r.ignore_eos = true, j->r.add_special = false;
    j->r.logprobs = (int32_t)below(state, 3) - 1;
    j->r.prompt_logprobs = below(state, 4) ? -1 : 1;
    j->r.priority = (int32_t)below(state, 3) - 1;
    j->r.client = below(state, 3);
    j->r.cache_salt = below(state, 4) == 0;
    j->r.buffer_tokens = below(state, 2) ? 1 + (int32_t)below(state, 12) : 1024;
    j->r.stream_interval = below(state, 2) ? 1 : 1 + (int32_t)below(state, 20);
    j->cancels = below(state, 8) == 0;
}

static bool on_row(void *user, size_t at, const float *logits, int32_t n_vocab) {
    struct job *j = user;
    CHECK_INT(at, j->n_scored++);
    j->score = hash_bytes(logits, (size_t)n_vocab * sizeof *logits, j->score);
    return false;
}

static bool begin(rn_engine *e, struct job *j) {
    rn_error err = {0};
    rn_status st = RN_OK;
    struct own_request own;
    rn_embed_options embed;
    rn_embed_options_init(&embed);
    j->scores = (struct score_params){on_row, j};
    j->part = (rn_part){.kind = RN_PART_IDS, .ids = j->ids[j->turn], .n_ids = (size_t)j->n_ids[j->turn]};
    j->r.parts = &j->part, j->r.n_parts = 1, j->r.sampling = &j->sampling;
    switch (j->kind) {
    case JOB_EMBED:
        embed.pooling = RN_POOLING_MEAN;
        st = rn_embed_begin(e, 0, j->part.ids, j->part.n_ids, &embed, &j->stream, &err);
        break;
    case JOB_SCORE:
        st = stream_create_reader(e, 0, j->part.ids, j->part.n_ids, "score", &j->scores, &j->stream, &err);
        if (st == RN_OK) st = stream_submit(j->stream, &err);
        break;
    case JOB_SEVERAL:
        st = own_request_read(&j->r, &own, &err);
        if (st == RN_OK) st = stream_create(e, &own.r, &several, NULL, &j->stream, &err);
        if (st == RN_OK) st = stream_submit(j->stream, &err);
        break;
    default:
        if (j->kind == JOB_SESSION && !j->session) st = rn_session_open(e, 0, &j->session, &err);
        j->r.session = j->session;
        if (st == RN_OK) st = rn_stream_begin(e, &j->r, &j->stream, &err);
    }
    return CHECK_OK(st, &err);
}

static void note_chunk(struct given *g, const rn_chunk *c) {
    const int32_t k = c->choice;
    for (size_t i = 0; i < c->n_tokens && CHECK(g->n_tokens[k] < MOST_MADE); i++) {
        g->logprobs[k][g->n_tokens[k]] = c->token_data ? c->token_data[i].logprob : 0.0f;
        g->tokens[k][g->n_tokens[k]++] = c->tokens[i];
    }
    for (size_t i = 0; i < c->n_prompt_data; i++) g->prompt[i] = i ? c->prompt_data[i].logprob : 0.0f;
    g->n_prompt += c->n_prompt_data;
    if (c->embedding) memcpy(g->embedding, c->embedding, c->n_embedding * sizeof *c->embedding);
    g->n_embedding = c->n_embedding;
    g->finish = c->finish_reason;
    snprintf(g->detail, sizeof g->detail, "%s", c->finish_detail);
}

// Takes a chunk, if there is one. False: the job has ended.
static bool advance(rn_engine *e, struct job *j, int64_t timeout_ns) {
    rn_error err = {0};
    rn_chunk c = new_chunk();
    const rn_status st = rn_stream_next(j->stream, timeout_ns, &c, &err);
    if (st == RN_E_AGAIN) return timeout_ns == 0 || !CHECK(!"a chunk within a minute");
    if (st == RN_OK) {
        note_chunk(&j->given[j->turn], &c);
        j->n_chunks++;
        return true;
    }
    rn_stream_close(j->stream);
    j->stream = NULL;
    const rn_finish how = j->given[j->turn].finish;
    return CHECK_INT(st, RN_E_END) && how != RN_FINISH_ERROR && how != RN_FINISH_CANCELLED &&
           ++j->turn < j->n_turns && begin(e, j);
}

static void finish_job(struct job *j) {
    if (j->stream) rn_stream_close(j->stream);
    if (j->session) rn_session_close(j->session);
    j->stream = NULL, j->session = NULL;
}

static void run_alone(rn_engine *e, struct job *j) {
    j->r.buffer_tokens = 1024;
    if (begin(e, j))
        while (advance(e, j, 60000000000)) continue;
    finish_job(j);
}

static bool same_given(const struct given *a, const struct given *b, bool was_cancelled) {
    for (int32_t k = 0; k < N_CHOICES; k++) {
        const size_t n = (size_t)b->n_tokens[k];
        if (!(was_cancelled ? CHECK(n <= (size_t)a->n_tokens[k]) : CHECK_INT(n, a->n_tokens[k])) ||
            !CHECK_MEM(b->tokens[k], a->tokens[k], n * sizeof *a->tokens[k]) ||
            !CHECK_MEM(b->logprobs[k], a->logprobs[k], n * sizeof *a->logprobs[k]))
            return false;
    }
    if (was_cancelled) return true;
    return CHECK_STR(b->detail, a->detail) && CHECK_INT(b->finish, a->finish) &&
           CHECK_INT(b->n_prompt, a->n_prompt) && CHECK_MEM(b->prompt, a->prompt, a->n_prompt * sizeof *a->prompt) &&
           CHECK_INT(b->n_embedding, a->n_embedding) &&
           CHECK_MEM(b->embedding, a->embedding, a->n_embedding * sizeof *a->embedding);
}

static bool same_job(const struct job *a, const struct job *b) {
    for (int t = 0; t < b->n_turns; t++) {
        const bool was_cancelled = b->given[t].finish == RN_FINISH_CANCELLED;
        check_note("turn %d, kind %d", t, b->kind);
        if (was_cancelled && !CHECK(b->cancels)) return false;
        if (!same_given(&a->given[t], &b->given[t], was_cancelled)) return false;
        if (was_cancelled) return true;
    }
    return CHECK_INT(b->n_scored, a->n_scored) && CHECK(b->score == a->score);
}

// ---- engines ---------------------------------------------------------------------------------------------------------

static rn_engine *open_engine(rn_model *m, struct toy_config c, int32_t n_streams, int n_threads) {
    rn_engine_options o = engine_options();
    struct given_lm given[2] = {{.n_scratch = c.max_scratch}, {.n_scratch = c.max_scratch}};
    rn_engine *e = NULL;
    rn_error err = {0};
    for (int i = 0; i < 2; i++) {
        if (!CHECK_OK(toy_lm_create(&c, &given[i].lm, &err), &err)) return NULL;
        given[i].kv = toy_lm_kv(given[i].lm);
    }
    rn_model *const models[] = {m, m};
    o.draft_model = 1;
    o.n_streams = n_streams, o.n_threads = n_threads;
    o.n_seqs = 1; // three of a stream
    o.output_store_bytes = 1 << 20;
    CHECK_OK(engine_open_lms(models, given, 2, &o, &e, &err), &err);
    return e;
}

static void act(rn_engine *e, struct job *j, uint64_t *state, bool *goes_on) {
    switch (below(state, 12)) {
    case 0: rn_stream_pause(j->stream); break;
    case 1: rn_stream_resume(j->stream); break;
    case 2: rn_stream_set_rate(j->stream, below(state, 2) ? 5000 : 0, NULL); break;
    case 3:
        if (j->cancels && below(state, 4) == 0) rn_stream_cancel(j->stream);
        break;
    default: *goes_on = advance(e, j, 0);
    }
}

// All jobs at once: what is done to which one is random, until few actions are left; then all are resumed and read.
static void run_together(rn_engine *e, struct job *jobs, int n, uint64_t *state) {
    bool goes_on[MAX_JOBS];
    for (int i = 0; i < n; i++) {
        any_drafts(&jobs[i].r, below(state, 1000));
        goes_on[i] = begin(e, &jobs[i]);
    }
    for (int step = 0; step < 400; step++) {
        const uint32_t i = below(state, (uint32_t)n);
        if (goes_on[i]) act(e, &jobs[i], state, &goes_on[i]);
    }
    for (int i = 0; i < n; i++)
        if (goes_on[i]) rn_stream_resume(jobs[i].stream);
    // In turns: a stream whose reader waits for another one keeps its place among those that run.
    for (int n_left = n, waits = 0; n_left > 0 && CHECK(waits < MOST_WAITS);) {
        bool any = false;
        n_left = 0;
        for (int i = 0; i < n; i++) {
            const size_t before = jobs[i].n_chunks;
            if (goes_on[i]) goes_on[i] = advance(e, &jobs[i], 0);
            any = any || jobs[i].n_chunks != before;
            n_left += goes_on[i];
        }
        waits = any ? 0 : waits + 1;
        if (!any) usleep(500);
    }
    for (int i = 0; i < n; i++) finish_job(&jobs[i]);
}

static struct toy_config ample(int32_t n_groups, bool is_recurrent) {
    return (struct toy_config){.n_vocab = N_VOCAB,
                               .n_ctx = N_CTX,
                               .n_batch = 64,
                               .n_want = 64,
                               .max_seqs = 64,
                               .max_scratch = 8,
                               .n_pages = 256,
                               .n_groups = n_groups,
                               .window = 40,
                               .nan_token = NAN_TOKEN,
                               .n_states = is_recurrent ? 256 : 0,
                               .state_interval = is_recurrent ? KV_PAGE : 0};
}

struct tally {
    uint64_t n_preempted, n_evicted, n_cancelled;
};

static bool run_round(rn_model *m, uint64_t round, int32_t n_groups, bool is_recurrent, struct tally *tally) {
    static struct job alone[MAX_JOBS], together[MAX_JOBS];
    uint64_t state = hash_u64(round, 4711);
    struct toy_config c = ample(n_groups, is_recurrent);
    const int n = 2 + (int)below(&state, MAX_JOBS - 1);
    for (int i = 0; i < n; i++) {
        make_job(&alone[i], &state);
        together[i] = alone[i];
    }
    rn_engine *e = open_engine(m, c, 1, 1);
    for (int i = 0; i < n && e; i++) run_alone(e, &alone[i]);
    rn_engine_close(e);
    // Enough for the largest stream alone: its pages and a copy, three sequences, and their states.
    c.n_batch = c.n_want = 4 + (int32_t)below(&state, 60);
    c.n_pages = 10 + (int32_t)below(&state, 12);
    c.max_seqs = 3 + (int32_t)below(&state, 8);
    if (is_recurrent) c.n_states = 8 + (int32_t)below(&state, 16);
    if (!(e = open_engine(m, c, 1 + (int32_t)below(&state, MAX_JOBS), 1 + (int)below(&state, 2)))) return false;
    run_together(e, together, n, &state);
    bool same = true;
    for (int i = 0; i < n && same; i++) {
        same = same_job(&alone[i], &together[i]);
        if (!same)
            printf("  round %llu, job %d of %d: \"%s\", alone \"%s\"\n", (unsigned long long)round, i, n,
                   together[i].given[0].detail, alone[i].given[0].detail);
        tally->n_cancelled += together[i].given[0].finish == RN_FINISH_CANCELLED;
    }
    rn_engine_stats stats = {.struct_size = sizeof stats};
    rn_engine_get_stats(e, &stats, NULL);
    tally->n_preempted += stats.n_preempted, tally->n_evicted += stats.n_evicted_pages;
    CHECK_INT(stats.n_running + stats.n_queued, 0);
    rn_engine_close(e);
    return same;
}

static void run_rounds(int32_t n_groups, bool is_recurrent) {
    const uint64_t n = getenv("RUNNEL_TEST_FULL") ? 600 : 60;
    struct tiny_model tiny = tiny_model_default();
    struct tally tally = {0};
    rn_model *m;
    rn_error err = {0};
    char path[512];
    snprintf(path, sizeof path, "%s/any.gguf", temp_dir());
    tiny.n_ctx = N_CTX;
    if (!CHECK(tiny_model_write(&tiny, path)) || !CHECK_OK(rn_model_open(path, NULL, &m, &err), &err)) return;
    bool same = true;
    for (uint64_t round = 0; round < n && same; round++) same = run_round(m, round, n_groups, is_recurrent, &tally);
    CHECK(tally.n_preempted > 0);
    CHECK(tally.n_evicted > 0);
    CHECK(tally.n_cancelled > 0);
    rn_model_close(m);
}

TEST(any_streams_give_what_each_gives_alone) { run_rounds(1, false); }
TEST(any_streams_of_a_model_with_windows_give_what_each_gives_alone) { run_rounds(2, false); }
TEST(any_streams_of_a_recurrent_model_give_what_each_gives_alone) { run_rounds(1, true); }
