// tests/engine/beam_test.c - beam search over the toy model: what it finds is what a plain form of the definition finds, written here from
// docs/decoding.md with lists of tokens and logits by enumeration; whatever runs beside it, is preempted or streams.
#include "kernels/kernels.h"
#include "sampling/token_mask.h"
#include "toy_rig.h"
#include <math.h>

enum { MOST_BEAMS = 6, MOST_NEW = 40, MOST_ENDS = 3, N_STREAMS = 3, MOST_FOUND = 32 };

static bool rig_open_for(struct toy_rig *g, int32_t n_ctx, int32_t n_pages, int n_streams, int32_t n_beams) {
    char path[64];
    struct tiny_model tiny = tiny_model_default();
    struct given_lm given;
    rn_engine_options o = engine_options();
    rn_error err = {0};
    snprintf(path, sizeof path, "beam_rig.%d.gguf", (int)getpid());
    tiny.n_ctx = n_ctx, tiny.n_vocab = TOY_VOCAB;
    *g = (struct toy_rig){.config = {.n_vocab = TOY_VOCAB,
                                     .n_ctx = n_ctx,
                                     .n_batch = 64,
                                     .n_want = 64,
                                     .max_seqs = n_streams * (n_beams + 1) + 2,
                                     .max_scratch = 4,
                                     .n_pages = n_pages,
                                     .n_groups = 1,
                                     .nan_token = -1}};
    if (!CHECK(tiny_model_write(&tiny, path)) || !CHECK_OK(rn_model_open(path, NULL, &g->model, &err), &err))
        return false;
    remove(path);
    if (!CHECK_OK(toy_lm_create(&g->config, &given.lm, &err), &err)) return false;
    given.kv = toy_lm_kv(given.lm), given.n_scratch = g->config.max_scratch;
    o.n_streams = n_streams, o.n_seqs = n_beams - 1;
    return CHECK_OK(engine_open_lms(&g->model, &given, 1, &o, &g->engine, &err), &err);
}

static bool rig_open(struct toy_rig *g, int32_t n_pages) {
    return rig_open_for(g, TOY_CTX, n_pages, N_STREAMS, MOST_BEAMS);
}

// ---- what is asked for ----

struct plan {
    rn_request r;
    rn_sampling sampling;
    rn_strategy_options o;
    rn_part part;
    int32_t prompt[TOY_CTX], n_prompt, ends[MOST_ENDS];
    rn_logit_bias bias[8];
    const char *stop[1];
    rn_grammar *grammar;
};

static const char *const sources[] = {"(ab|c)*d?", "[a-d]{3,9}", "(?:a(?:b|cd)*)+dd"};
enum { N_SOURCES = sizeof sources / sizeof *sources, N_WORDS = (TOY_VOCAB + 63) / 64 };

// Stages that could leave nothing of what the grammar allows are off.
static void add_grammar(const struct toy_rig *g, int32_t i, struct plan *p) {
    rn_grammar_source source;
    rn_error err = {0};
    rn_grammar_source_init(&source);
    source.kind = RN_GRAMMAR_REGEX, source.text = sources[i], source.n_text = strlen(sources[i]);
    CHECK_OK(rn_grammar_compile(g->model, &source, &p->grammar, &err), &err);
    p->r.grammar = p->grammar;
    p->sampling.min_tokens = p->sampling.no_repeat_ngram_size = 0;
}

static void make_plan(const struct toy_rig *g, struct toy_random *random, struct plan *p) {
    static const float penalties[] = {-1, 0, 0.7F, 1, 2};
    *p = (struct plan){.n_prompt = 1 + toy_below(random, 150)};
    for (int32_t i = 0; i < p->n_prompt; i++) p->prompt[i] = toy_below(random, TOY_VOCAB);
    rn_request_init(&p->r);
    rn_sampling_init(&p->sampling);
    rn_strategy_options_init(&p->o);
    p->part = (rn_part){.kind = RN_PART_IDS, .ids = p->prompt, .n_ids = (size_t)p->n_prompt};
    p->r.parts = &p->part, p->r.n_parts = 1;
    p->r.strategy = "beam", p->r.strategy_options = &p->o, p->r.sampling = &p->sampling;
    p->r.max_tokens = 1 + toy_below(random, MOST_NEW);
    p->r.has_seed = true, p->r.seed = 7;
    p->r.ignore_eos = true;
    p->r.n_stop_tokens = (size_t)toy_below(random, MOST_ENDS + 1), p->r.stop_tokens = p->ends;
    for (size_t i = 0; i < p->r.n_stop_tokens; i++) p->ends[i] = 100 + 7 * (int32_t)i;
    // End tokens, and letters, are likely enough to be met.
    for (size_t i = 0; i < p->r.n_stop_tokens; i++)
        p->bias[p->sampling.n_logit_bias++] = (rn_logit_bias){p->ends[i], 3};
    for (int32_t i = 0; i < 4; i++)
        p->bias[p->sampling.n_logit_bias++] = (rn_logit_bias){toy_token(g, &"abcd"[i], 1), 4};
    p->sampling.logit_bias = p->bias;
    p->o.num_beams = 1 + toy_below(random, MOST_BEAMS);
    p->o.num_return_sequences = 1 + toy_below(random, p->o.num_beams);
    p->o.length_penalty = penalties[toy_below(random, 5)];
    p->o.early_stopping = toy_below(random, 3);
    p->o.renormalize_logits = toy_below(random, 2);
    if (toy_below(random, 3) == 0) p->sampling.repeat_penalty = 1.3F;
    if (toy_below(random, 3) == 0) p->sampling.min_tokens = toy_below(random, 6);
    if (toy_below(random, 4) == 0) p->sampling.no_repeat_ngram_size = 2;
    if (toy_below(random, 3) == 0) p->stop[0] = "ab", p->r.stop = p->stop, p->r.n_stop = 1;
    if (toy_below(random, 3) == 0) add_grammar(g, toy_below(random, N_SOURCES), p);
    p->r.logprobs = toy_below(random, 2) ? 2 : -1;
    p->r.sampled_logprobs = p->r.logprobs >= 0 && toy_below(random, 2) ? 0 : -1;
    p->r.stream_interval = 1 + toy_below(random, 3);
    p->r.buffer_tokens = 1 + toy_below(random, 8);
}

// ---- the definition, plainly ----

struct found {
    int32_t tokens[MOST_NEW];
    int32_t n;
    double score;
    bool is_there;
};

static bool is_in(const int32_t *list, size_t n, int32_t token) {
    for (size_t i = 0; i < n; i++)
        if (list[i] == token) return true;
    return false;
}

// What the grammar lets follow a text; is it over behind the text?
static bool mask_of(const struct toy_rig *g, const struct plan *p, const struct found *t, uint64_t mask[N_WORDS]) {
    rn_matcher *at;
    bool is_taken, is_whole = false, is_over = false;
    rn_error err = {0};
    memset(mask, 0xff, N_WORDS * sizeof *mask);
    if (!p->grammar || !CHECK_OK(rn_matcher_open(p->grammar, &at, &err), &err)) return false;
    for (int32_t i = 0; i < t->n; i++) rn_matcher_take(at, t->tokens[i], &is_taken, NULL);
    CHECK_OK(rn_matcher_state(at, &is_whole, &is_over, &err), &err);
    CHECK_OK(rn_matcher_mask(at, mask, N_WORDS, &err), &err);
    for (int32_t i = 0; i < TOY_VOCAB; i++)
        if (model_is_end_token(g->model, i)) mask[i / 64] &= ~(UINT64_C(1) << (i % 64)); // ignore_eos
    for (size_t i = 0; is_whole && i < p->r.n_stop_tokens; i++)
        mask[p->ends[i] / 64] |= UINT64_C(1) << (p->ends[i] % 64);
    rn_matcher_close(at);
    return is_over;
}

// The log-probabilities behind a text, as the stages that are on leave them.
static void row_of(const struct toy_rig *g, const struct plan *p, const struct found *t, double out[TOY_VOCAB]) {
    int32_t all[TOY_CTX + MOST_NEW];
    float logits[TOY_VOCAB], row[TOY_VOCAB];
    const int32_t n = p->n_prompt + t->n;
    memcpy(all, p->prompt, (size_t)p->n_prompt * sizeof *all);
    memcpy(all + p->n_prompt, t->tokens, (size_t)t->n * sizeof *all);
    toy_lm_expect(&g->config, all, n, logits);
    const struct rowmath *const rm = &kernel_set_get(CPU_REF)->row;
    const double norm = row_log_sum_exp(rm, logits, TOY_VOCAB);
    for (int32_t i = 0; i < TOY_VOCAB; i++) row[i] = (float)((double)logits[i] - norm);
    for (size_t i = 0; i < p->sampling.n_logit_bias; i++) row[p->bias[i].token] += p->bias[i].bias;
    const float penalty = p->sampling.repeat_penalty;
    for (int32_t i = 0; i < TOY_VOCAB && penalty != 1; i++)
        if (is_in(all + (n > 64 ? n - 64 : 0), (size_t)(n > 64 ? 64 : n), i))
            row[i] = row[i] > 0 ? row[i] / penalty : row[i] * penalty;
    for (int32_t i = 0; p->sampling.no_repeat_ngram_size && i + 1 < n; i++)
        if (all[i] == all[n - 1]) row[all[i + 1]] = -INFINITY;
    for (size_t i = 0; t->n < p->sampling.min_tokens && i < p->r.n_stop_tokens; i++) row[p->ends[i]] = -INFINITY;
    uint64_t mask[N_WORDS];
    mask_of(g, p, t, mask);
    for (int32_t i = 0; i < TOY_VOCAB; i++)
        if (!token_mask_has(mask, i)) row[i] = -INFINITY;
    const double shift = p->o.renormalize_logits ? row_log_sum_exp(rm, row, TOY_VOCAB) : 0;
    for (int32_t i = 0; i < TOY_VOCAB; i++) out[i] = (double)row[i] - shift;
}

static const char *piece_of(const struct toy_rig *g, int32_t token, size_t *n) {
    return model_piece(g->model, token, false, n);
}

// Does its text have the stop string?
static bool has_stop(const struct toy_rig *g, const struct plan *p, const struct found *t) {
    char text[MOST_NEW * 32 + 1];
    size_t n = 0;
    if (!p->r.n_stop) return false;
    for (int32_t i = 0; i < t->n; i++) {
        size_t n_piece;
        const char *const piece = piece_of(g, t->tokens[i], &n_piece);
        memcpy(text + n, piece, n_piece);
        n += n_piece;
    }
    return memmem(text, n, p->stop[0], strlen(p->stop[0])) != NULL;
}

static bool ends_itself(const struct toy_rig *g, const struct plan *p, const struct found *t) {
    uint64_t mask[N_WORDS];
    return is_in(p->ends, p->r.n_stop_tokens, t->tokens[t->n - 1]) || has_stop(g, p, t) || mask_of(g, p, t, mask);
}
static bool ends(const struct toy_rig *g, const struct plan *p, const struct found *t) {
    return t->n >= p->r.max_tokens || ends_itself(g, p, t);
}

static double length_of(const struct plan *p, int32_t n) { return pow(n, (double)p->o.length_penalty); }

static void insert(struct found *best, int32_t *n, int32_t most, const struct found *t) {
    int32_t at = *n;
    while (at > 0 && best[at - 1].score < t->score) at--;
    if (at >= most) return;
    if (*n < most) ++*n;
    for (int32_t i = *n - 1; i > at; i--) best[i] = best[i - 1];
    best[at] = *t;
}

// The best continuation of any followed text that was not taken yet: better texts first, then lower tokens, where scores are equal.
static bool take_best(const double (*rows)[TOY_VOCAB], bool (*taken)[TOY_VOCAB], const struct found *running,
                      int32_t n, struct found *out) {
    int32_t beam = -1, token = 0;
    double most = -INFINITY;
    for (int32_t b = 0; b < n; b++)
        for (int32_t i = 0; i < TOY_VOCAB; i++) {
            const double score = rows[b][i] + running[b].score;
            if (!taken[b][i] && score > most) most = score, beam = b, token = i;
        }
    if (beam < 0) return false;
    taken[beam][token] = true;
    *out = running[beam];
    out->tokens[out->n++] = token;
    out->score = most;
    return true;
}

static int32_t search(const struct toy_rig *g, const struct plan *p, struct found *finished) {
    static double rows[MOST_BEAMS][TOY_VOCAB];
    static bool taken[MOST_BEAMS][TOY_VOCAB];
    struct found running[MOST_BEAMS] = {0}, next[MOST_BEAMS];
    const int32_t b = p->o.num_beams, n_ends = (int32_t)p->r.n_stop_tokens, k = (n_ends > 1 ? 1 + n_ends : 2) * b;
    int32_t n_running = 1, n_finished = 0;
    for (bool goes_on = true; goes_on;) {
        int32_t n_next = 0;
        memset(taken, 0, sizeof taken);
        const bool was_full = n_finished == b;
        for (int32_t i = 0; i < n_running; i++) row_of(g, p, &running[i], rows[i]);
        for (int32_t rank = 0; rank < k; rank++) {
            struct found t;
            if (!take_best(rows, taken, running, n_running, &t)) break;
            if (!ends(g, p, &t)) {
                if (n_next < b) next[n_next++] = t;
                continue;
            }
            t.score /= length_of(p, t.n);
            if (rank < b && !(p->o.early_stopping == RN_EARLY_STOPPING_TRUE && was_full))
                insert(finished, &n_finished, b, &t);
        }
        memcpy(running, next, sizeof running);
        n_running = n_next;
        goes_on = n_running > 0;
        if (goes_on && n_finished == b) {
            const bool never = p->o.early_stopping == RN_EARLY_STOPPING_NEVER && p->o.length_penalty > 0;
            goes_on = p->o.early_stopping != RN_EARLY_STOPPING_TRUE &&
                      running[0].score / length_of(p, never ? p->r.max_tokens : running[0].n) > finished[b - 1].score;
        }
    }
    return n_finished;
}

// ---- streams ----

struct got {
    struct found of[MOST_FOUND];
    size_t n;
    char text[4096];
    size_t n_text;
    struct outcome all;
    int n_early, n_revised; // chunks with tokens before the last one; revisions
};
static struct {
    int n_stopped, n_early, n_revised, n_preempted;
} tally;

static rn_strategy_options best_of_options(int32_t n) {
    rn_strategy_options o;
    rn_strategy_options_init(&o);
    o.best_of = n;
    return o;
}

// Takes what the chunk has; a revision goes back first.
static void take_chunk(struct got *o, const rn_chunk *c) {
    if (c->replace_from >= 0) o->all.n_tokens = (size_t)c->replace_from, o->all.n_text = (size_t)c->replace_text_from;
    o->n_revised += c->replace_from >= 0;
    o->n_early += c->n_tokens > 0 && c->finish_reason == RN_FINISH_NONE;
    outcome_add(&o->all, c);
    if (c->finish_reason == RN_FINISH_NONE) return;
    o->n = c->n_sequences;
    for (size_t i = 0; i < c->n_sequences && i < MOST_FOUND; i++) {
        const rn_sequence *const q = &c->sequences[i];
        o->of[i].n = (int32_t)q->n_tokens, o->of[i].score = q->score;
        memcpy(o->of[i].tokens, q->tokens, q->n_tokens * sizeof *q->tokens);
        if (i > 0) continue;
        memcpy(o->text, q->text, q->n_text + 1);
        o->n_text = q->n_text;
    }
}

static void read_stream(rn_stream *s, struct got *o) {
    rn_error err = {0};
    *o = (struct got){0};
    while (o->all.finish == RN_FINISH_NONE) {
        rn_chunk c = new_chunk();
        if (!CHECK_OK(rn_stream_next(s, 60000000000, &c, &err), &err)) return;
        take_chunk(o, &c);
    }
}

// Log-probabilities of a text's tokens, in the model's own distribution.
static void logprobs_of(const struct toy_rig *g, const struct plan *p, const struct found *t, float *out) {
    int32_t all[TOY_CTX + MOST_NEW];
    float logits[TOY_VOCAB];
    memcpy(all, p->prompt, (size_t)p->n_prompt * sizeof *all);
    memcpy(all + p->n_prompt, t->tokens, (size_t)t->n * sizeof *all);
    for (int32_t i = 0; i < t->n; i++) {
        toy_lm_expect(&g->config, all, p->n_prompt + i, logits);
        const double norm = row_log_sum_exp(&kernel_set_get(CPU_REF)->row, logits, TOY_VOCAB);
        out[i] = (float)((double)logits[t->tokens[i]] - norm);
    }
}

static void check_detail(const struct toy_rig *g, const struct plan *p, const struct found *t, const char *detail) {
    char limit[32], end[32];
    snprintf(limit, sizeof limit, "max_tokens %d", p->r.max_tokens);
    snprintf(end, sizeof end, "stop token %d ", t->tokens[t->n - 1]);
    if (!ends_itself(g, p, t))
        CHECK_STR(detail, limit);
    else if (is_in(p->ends, p->r.n_stop_tokens, t->tokens[t->n - 1]))
        CHECK_HAS(detail, end);
    else
        CHECK_STR(detail, has_stop(g, p, t) ? "stop string \"ab\"" : "grammar");
}

// Each text is read as a chunk of its own, with what is told of its tokens and why it ended.
static void check_read(const struct toy_rig *g, const struct plan *p, rn_stream *s, const struct got *o) {
    float want[MOST_NEW];
    rn_error err = {0};
    for (size_t i = o->n; i-- > 0;) {
        rn_chunk c = new_chunk();
        const struct found *const t = &o->of[i];
        if (!CHECK_OK(rn_stream_read_sequence(s, i, &c, &err), &err)) return;
        CHECK_INT((int64_t)c.n_tokens, t->n);
        CHECK((c.token_data != NULL) == (p->r.logprobs >= 0));
        check_detail(g, p, t, c.finish_detail);
        if (i == 0) CHECK_STR(c.finish_detail, o->all.detail);
        if (!c.token_data) continue;
        logprobs_of(g, p, t, want);
        for (int32_t k = 0; k < t->n; k++) {
            const rn_token *const d = &c.token_data[k];
            CHECK(d->id == t->tokens[k] && d->logprob == want[k] && d->n_top == 2 && d->rank >= 1);
            CHECK(d->top[0].logprob >= d->top[1].logprob && (d->rank == 1) == (d->logprob == d->top[0].logprob));
            CHECK(isnan(d->sampled_logprob) && isnan(d->entropy) == (p->r.sampled_logprobs < 0));
        }
    }
}

static void check_text(const struct toy_rig *g, const struct plan *p, const struct got *o) {
    struct found want[MOST_BEAMS];
    const int32_t n = search(g, p, want), n_want = n < p->o.num_return_sequences ? n : p->o.num_return_sequences;
    if (!CHECK_INT((int64_t)o->n, n_want)) return;
    for (int32_t i = 0; i < n_want; i++) {
        CHECK_INT(o->of[i].n, want[i].n);
        CHECK_MEM(o->of[i].tokens, want[i].tokens, (size_t)want[i].n * sizeof *want[i].tokens);
        CHECK(fabs(o->of[i].score - want[i].score) < 1e-5 * fmax(1, fabs(want[i].score)));
    }
    // The stream itself is the best one.
    CHECK_INT((int64_t)o->all.n_tokens, want[0].n);
    CHECK_MEM(o->all.tokens, want[0].tokens, (size_t)want[0].n * sizeof *want[0].tokens);
    CHECK_STR(o->all.text, o->text);
    CHECK_INT(o->all.finish, ends_itself(g, p, &want[0]) ? RN_FINISH_STOP : RN_FINISH_LENGTH);
    tally.n_stopped += o->all.finish == RN_FINISH_STOP, tally.n_early += o->n_early, tally.n_revised += o->n_revised;
    float logprobs[MOST_NEW];
    logprobs_of(g, p, &want[0], logprobs);
    for (int32_t i = 0; i < want[0].n && p->r.logprobs >= 0; i++) CHECK(o->all.logprobs[i] == logprobs[i]);
}

static void run_round(const struct toy_rig *g, uint64_t seed, bool revises) {
    static struct plan plans[N_STREAMS];
    static struct got got[N_STREAMS];
    rn_stream *s[N_STREAMS] = {0};
    rn_error err = {0};
    struct toy_random random = {.seed = seed};
    for (int i = 0; i < N_STREAMS; i++) {
        make_plan(g, &random, &plans[i]);
        plans[i].r.accept_revisions = revises;
        CHECK_OK(rn_stream_begin(g->engine, &plans[i].r, &s[i], &err), &err);
    }
    for (int i = 0; i < N_STREAMS && s[i]; i++) {
        rn_stream_state state = {.struct_size = sizeof state};
        read_stream(s[i], &got[i]);
        CHECK_OK(rn_stream_get_state(s[i], &state, &err), &err);
        tally.n_preempted += state.was_preempted;
        check_note("seed %llu, stream %d: %d beams, penalty %g, early %d", (unsigned long long)seed, i,
                   plans[i].o.num_beams, (double)plans[i].o.length_penalty, plans[i].o.early_stopping);
        check_read(g, &plans[i], s[i], &got[i]);
        rn_stream_close(s[i]);
        check_text(g, &plans[i], &got[i]);
        rn_grammar_close(plans[i].grammar);
    }
}

enum { N_ROUNDS = 40, MANY_PAGES = 120, FEW_PAGES = 14 };

static void run_rounds(int32_t n_pages, bool revises) {
    struct toy_rig g;
    memset(&tally, 0, sizeof tally);
    if (!rig_open(&g, n_pages)) return;
    for (uint64_t seed = 1; seed <= N_ROUNDS; seed++) run_round(&g, seed, revises);
    toy_rig_close(&g);
    CHECK(tally.n_stopped > N_ROUNDS / 2);
    CHECK(tally.n_early > N_ROUNDS);
}

TEST(beams_are_those_of_the_definition_by_enumeration) {
    run_rounds(MANY_PAGES, false);
    CHECK_INT(tally.n_preempted, 0);
    CHECK_INT(tally.n_revised, 0);
}

TEST(readers_that_accept_revisions_end_with_the_same_text) {
    run_rounds(MANY_PAGES, true);
    CHECK(tally.n_revised > N_ROUNDS);
}

TEST(beams_that_are_preempted_find_the_same) {
    run_rounds(FEW_PAGES, false);
    CHECK(tally.n_preempted > 0);
}

// ---- cut short ----

// Cancels the stream, once it is known, from the step in which the caller's stage is asked the n-th time.
struct cut {
    _Atomic(rn_stream *) stream;
    int n_left;
};
static bool cancel_later(void *user, float *logits, int32_t n_vocab, const int32_t *tokens, size_t n_tokens) {
    struct cut *const c = user;
    (void)logits, (void)n_vocab, (void)tokens, (void)n_tokens;
    if (--c->n_left != 0) return true;
    while (!atomic_load(&c->stream)) {
    }
    rn_stream_cancel(atomic_load(&c->stream));
    return true;
}

// Reads the stream to its end; n_early: tokens before its last chunk.
static void run_cut(const struct toy_rig *g, struct plan *p, int n_asked, bool revises, struct got *o,
                    size_t *n_early) {
    struct cut cut = {.n_left = n_asked};
    rn_stream *s;
    rn_error err = {0};
    *o = (struct got){0}, *n_early = 0;
    p->sampling.stage = cancel_later, p->sampling.stage_user = &cut;
    p->r.accept_revisions = revises;
    if (!CHECK_OK(rn_stream_begin(g->engine, &p->r, &s, &err), &err)) return;
    atomic_store(&cut.stream, s);
    while (o->all.finish == RN_FINISH_NONE) {
        rn_chunk c = new_chunk();
        if (!CHECK_OK(rn_stream_next(s, 60000000000, &c, &err), &err)) break;
        CHECK(!c.n_tokens || !c.token_data || c.token_data[c.n_tokens - 1].id == c.tokens[c.n_tokens - 1]);
        if (c.finish_reason == RN_FINISH_NONE) *n_early += c.n_tokens;
        take_chunk(o, &c);
    }
    rn_stream_close(s);
}

// What a search has when it is cancelled is the best text so far, also for readers that accept revisions.
TEST(a_search_that_is_cancelled_ends_with_the_best_text_so_far) {
    struct toy_rig g;
    int n_cut = 0, n_more = 0, n_revised = 0;
    if (!rig_open(&g, MANY_PAGES)) return;
    for (uint64_t seed = 1; seed <= 3 * N_ROUNDS; seed++) {
        static struct plan p;
        static struct got plain, revised;
        struct toy_random random = {.seed = seed};
        size_t n_early, n_early_revised;
        make_plan(&g, &random, &p);
        const int n_asked = 1 + toy_below(&random, 25);
        if (seed % 3 == 0) p.r.strategy = "best-of", p.o = best_of_options(p.o.num_beams);
        run_cut(&g, &p, n_asked, true, &revised, &n_early_revised);
        run_cut(&g, &p, n_asked, false, &plain, &n_early);
        check_note("seed %llu, %s", (unsigned long long)seed, p.r.strategy);
        // One of them may have been about to emit what was chosen.
        CHECK(plain.all.finish == revised.all.finish || plain.all.finish == RN_FINISH_CANCELLED ||
              revised.all.finish == RN_FINISH_CANCELLED);
        CHECK((plain.n > 0) == (plain.all.finish != RN_FINISH_CANCELLED));
        CHECK_INT(plain.all.usage.completion_tokens, (int64_t)plain.all.n_tokens);
        const size_t n = plain.all.n_tokens;
        n_cut += plain.all.finish == RN_FINISH_CANCELLED, n_more += plain.all.n_tokens > n_early;
        n_revised += n_early_revised > 0;
        if (!CHECK_INT((int64_t)revised.all.n_tokens, (int64_t)n)) break;
        CHECK_MEM(plain.all.tokens, revised.all.tokens, n * sizeof *plain.all.tokens);
        CHECK_STR(plain.all.text, revised.all.text);
        if (p.r.logprobs >= 0) CHECK_MEM(plain.all.logprobs, revised.all.logprobs, n * sizeof *plain.all.logprobs);
        rn_grammar_close(p.grammar);
    }
    toy_rig_close(&g);
    CHECK(n_cut > N_ROUNDS);
    CHECK(n_more > N_ROUNDS);
    CHECK(n_revised > N_ROUNDS);
}

// ---- other properties ----

static struct plan simple_plan(int32_t n_prompt, int32_t num_beams, int32_t max_tokens) {
    struct plan p = {.n_prompt = n_prompt};
    for (int32_t i = 0; i < n_prompt; i++) p.prompt[i] = (i * 37 + 11) % TOY_VOCAB;
    rn_request_init(&p.r);
    rn_sampling_init(&p.sampling);
    rn_strategy_options_init(&p.o);
    p.r.strategy = "beam", p.r.max_tokens = max_tokens, p.r.ignore_eos = true, p.r.has_seed = true;
    p.o.num_beams = num_beams;
    return p;
}

static rn_status begin_plan(rn_engine *e, struct plan *p, rn_stream **s, rn_error *err) {
    p->part = (rn_part){.kind = RN_PART_IDS, .ids = p->prompt, .n_ids = (size_t)p->n_prompt};
    p->r.parts = &p->part, p->r.n_parts = 1;
    p->r.strategy_options = &p->o, p->r.sampling = &p->sampling;
    return rn_stream_begin(e, &p->r, s, err);
}

static void run_plan(rn_engine *e, struct plan *p, struct got *o) {
    rn_stream *s;
    rn_error err = {0};
    *o = (struct got){0};
    if (!CHECK_OK(begin_plan(e, p, &s, &err), &err)) return;
    read_stream(s, o);
    rn_stream_close(s);
}

// A session keeps what its reader had, and goes on from there.
TEST(a_session_keeps_the_best_text_of_a_search_that_was_cancelled) {
    struct toy_rig g;
    rn_session *session;
    rn_error err = {0};
    struct got first, next, flat;
    size_t n_early, n_kept;
    const int32_t *kept;
    if (!rig_open(&g, MANY_PAGES)) return;
    if (!CHECK_OK(rn_session_open(g.engine, 0, &session, &err), &err)) return;
    struct plan p = simple_plan(20, 4, 60);
    p.part = (rn_part){.kind = RN_PART_IDS, .ids = p.prompt, .n_ids = 20};
    p.r.parts = &p.part, p.r.n_parts = 1, p.r.strategy_options = &p.o, p.r.sampling = &p.sampling;
    p.r.session = session;
    run_cut(&g, &p, 70, false, &first, &n_early);
    CHECK_INT(first.all.finish, RN_FINISH_CANCELLED);
    CHECK(first.all.n_tokens > n_early);
    if (CHECK_OK(rn_session_tokens(session, &kept, &n_kept, &err), &err) &&
        CHECK_INT(n_kept, 20 + first.all.n_tokens))
        CHECK_MEM(kept + 20, first.all.tokens, first.all.n_tokens * sizeof *kept);
    struct plan q = simple_plan(3, 4, 10); // a turn behind it, and the whole as one prompt
    q.r.strategy = NULL, q.sampling.temp = 0, q.r.session = session;
    rn_strategy_options_init(&q.o);
    run_plan(g.engine, &q, &next);
    struct plan whole = q;
    memcpy(whole.prompt, p.prompt, 20 * sizeof *whole.prompt);
    memcpy(whole.prompt + 20, first.all.tokens, first.all.n_tokens * sizeof *whole.prompt);
    memcpy(whole.prompt + 20 + first.all.n_tokens, q.prompt, 3 * sizeof *whole.prompt);
    whole.n_prompt = 23 + (int32_t)first.all.n_tokens, whole.r.session = NULL;
    run_plan(g.engine, &whole, &flat);
    CHECK_INT((int64_t)next.all.n_tokens, 10);
    CHECK_MEM(next.all.tokens, flat.all.tokens, 10 * sizeof *next.all.tokens);
    rn_session_close(session);
    toy_rig_close(&g);
}

TEST(one_beam_is_greedy) {
    struct toy_rig g;
    struct got beam, greedy;
    if (!rig_open(&g, MANY_PAGES)) return;
    struct plan p = simple_plan(20, 1, 30);
    p.o.length_penalty = 2, p.sampling.repeat_penalty = 1.2F;
    run_plan(g.engine, &p, &beam);
    p = simple_plan(20, 4, 30); // the option is the default
    p.r.strategy = NULL, p.sampling.temp = 0, p.sampling.repeat_penalty = 1;
    run_plan(g.engine, &p, &greedy);
    p = simple_plan(20, 1, 30);
    run_plan(g.engine, &p, &beam);
    CHECK_INT((int64_t)beam.all.n_tokens, 30);
    CHECK_MEM(beam.all.tokens, greedy.all.tokens, 30 * sizeof *greedy.all.tokens);
    toy_rig_close(&g);
}

// Of one beam and one token the first continuation that is drawn is the text: its law is the chain's.
TEST(beams_that_are_drawn_have_the_law_of_the_sampling_stages) {
    enum { N_DRAWS = 3000, K = 4 };
    struct toy_rig g;
    struct got got;
    float logits[TOY_VOCAB], weights[K], total = 0;
    int32_t best[K], scratch[2 * TOY_VOCAB], counts[K] = {0};
    if (!rig_open(&g, MANY_PAGES)) return;
    struct plan p = simple_plan(9, 1, 1);
    p.o.do_sample = 1;
    p.sampling.temp = 1.7F, p.sampling.top_k = K, p.sampling.top_p = 1, p.sampling.min_p = 0;
    toy_lm_expect(&g.config, p.prompt, p.n_prompt, logits);
    row_top_k(&kernel_set_get(CPU_REF)->row, logits, TOY_VOCAB, K, best, scratch);
    for (int i = 0; i < K; i++) total += weights[i] = expf((logits[best[i]] - logits[best[0]]) / p.sampling.temp);
    for (uint64_t seed = 0; seed < N_DRAWS; seed++) {
        p.r.seed = seed;
        run_plan(g.engine, &p, &got);
        for (int i = 0; i < K; i++) counts[i] += got.all.tokens[0] == best[i];
    }
    double chi = 0;
    int32_t n = 0;
    for (int i = 0; i < K; i++) {
        const double expected = N_DRAWS * (double)(weights[i] / total);
        chi += (counts[i] - expected) * (counts[i] - expected) / expected;
        n += counts[i];
    }
    CHECK_INT(n, N_DRAWS); // no other token
    CHECK(chi < 16.27);    // 3 degrees of freedom, one in a thousand
    toy_rig_close(&g);
}

TEST(drawn_beams_are_the_same_for_a_seed_and_others_for_another) {
    struct toy_rig g;
    struct got a, b, c;
    if (!rig_open(&g, MANY_PAGES)) return;
    struct plan p = simple_plan(30, 4, 20);
    p.o.do_sample = 1, p.sampling.temp = 1.5F, p.r.seed = 5;
    run_plan(g.engine, &p, &a);
    run_plan(g.engine, &p, &b);
    p.r.seed = 6;
    run_plan(g.engine, &p, &c);
    CHECK_INT((int64_t)a.all.n_tokens, 20);
    CHECK_MEM(a.all.tokens, b.all.tokens, sizeof a.all.tokens);
    CHECK(memcmp(a.all.tokens, c.all.tokens, 20 * sizeof *a.all.tokens) != 0);
    toy_rig_close(&g);
}

TEST(what_beams_cannot_do_is_refused_by_name) {
    static const char *const banned[] = {"x"};
    struct toy_rig g;
    rn_error err = {0};
    rn_stream *s;
    if (!rig_open(&g, MANY_PAGES)) return;
#define REFUSED(says, ...)                                                                                           \
    do {                                                                                                             \
        struct plan p = simple_plan(5, 4, 5);                                                                        \
        __VA_ARGS__;                                                                                                 \
        CHECK(begin_plan(g.engine, &p, &s, &err) != RN_OK);                                                          \
        CHECK_HAS(err.text, says);                                                                                   \
    } while (0)
    REFUSED("num_beam_groups: 3 does not divide num_beams, 4", p.o.num_beam_groups = 3, p.o.diversity_penalty = 1);
    REFUSED("diversity_penalty: must be above 0 with num_beam_groups 2", p.o.num_beam_groups = 2);
    REFUSED("diversity_penalty: must be 0 with num_beam_groups 1", p.o.diversity_penalty = 1);
    REFUSED("num_return_sequences: 5 is above num_beams, 4", p.o.num_return_sequences = 5);
    REFUSED("num_beams: 33 is outside 1..32", p.o.num_beams = 33);
    REFUSED("length_penalty: nan is outside -100..100", p.o.length_penalty = NAN);
    REFUSED("num_beams: is an option of the strategy beam, not of sample", p.r.strategy = "sample",
            p.o.num_beams = 2);
    REFUSED("mirostat: not with the strategy beam", p.sampling.mirostat = 2);
    REFUSED("adaptive_target: not with the strategy beam", p.sampling.adaptive_target = 0.5F);
    REFUSED("do_sample: needs a temp above 0", p.o.do_sample = 1, p.sampling.temp = 0);
    REFUSED("banned_strings: not with the strategy beam", p.r.banned_strings = banned, p.r.n_banned_strings = 1);
    REFUSED("guidance_scale: not with the strategy beam", p.r.guidance_scale = 2);
    REFUSED("speculate: not with the strategy beam", p.r.speculate = "ngram");
    REFUSED("strategy beam: needs 9 sequences for a stream, 7 are planned", p.o.num_beams = 8);
    toy_rig_close(&g);
}

// Eight beams over 4,096 tokens take no more than 5 % more pages than one sequence, besides one each for their own tokens.
TEST(beams_share_the_pages_of_their_prompt) {
    enum { N_PROMPT = 4096, N_BEAMS = 8, N_OWN = 60, N_PAGES = N_PROMPT / KV_PAGE + N_BEAMS };
    static int32_t prompt[N_PROMPT];
    struct toy_rig g;
    struct got got;
    rn_stream *s;
    rn_error err = {0};
    rn_stream_state state = {.struct_size = sizeof state};
    if (!rig_open_for(&g, N_PROMPT + 64, N_PAGES + N_PROMPT / KV_PAGE / 20, 1, N_BEAMS)) return;
    for (int32_t i = 0; i < N_PROMPT; i++) prompt[i] = (i * 37 + 11) % TOY_VOCAB;
    struct plan p = simple_plan(1, N_BEAMS, N_OWN);
    p.o.num_return_sequences = N_BEAMS;
    p.part = (rn_part){.kind = RN_PART_IDS, .ids = prompt, .n_ids = N_PROMPT};
    p.r.parts = &p.part, p.r.n_parts = 1, p.r.strategy_options = &p.o, p.r.sampling = &p.sampling;
    if (CHECK_OK(rn_stream_begin(g.engine, &p.r, &s, &err), &err)) {
        read_stream(s, &got);
        CHECK_OK(rn_stream_get_state(s, &state, &err), &err);
        CHECK(!state.was_preempted);
        CHECK_INT((int64_t)got.n, N_BEAMS);
        CHECK_INT((int64_t)got.all.n_tokens, N_OWN);
        rn_stream_close(s);
    }
    toy_rig_close(&g);
}

// A text that loses leaves nothing in the cache but the prompt's last page.
TEST(beams_that_lose_leave_no_pages_behind) {
    enum { N_BEAMS = 6, N_OWN = 50 };
    struct toy_rig g;
    struct got got;
    rn_error err = {0};
    if (!rig_open_for(&g, 256, 80, 1, N_BEAMS)) return;
    for (int32_t n_prompt = 1; n_prompt <= 65; n_prompt += 32) {
        rn_engine_stats stats = {.struct_size = sizeof stats};
        struct plan p = simple_plan(n_prompt, N_BEAMS, N_OWN);
        run_plan(g.engine, &p, &got);
        CHECK_INT((int64_t)got.all.n_tokens, N_OWN);
        CHECK_OK(rn_engine_get_stats(g.engine, &stats, &err), &err);
        CHECK_INT(stats.kv_pages, stats.kv_pages_free + stats.kv_pages_cached);
        // Pages of this prompt and those before it, and of the texts that were followed to the end.
        check_note("%d tokens: %d pages cached", (int)n_prompt, (int)stats.kv_pages_cached);
        CHECK(stats.kv_pages_cached <= (n_prompt / 32 + 1) * (2 + 2 * N_BEAMS));
    }
    toy_rig_close(&g);
}

static rn_status run_once(void *user) {
    struct toy_rig *const g = user;
    struct plan p = simple_plan(20, 3, 12);
    rn_stream *s = NULL;
    rn_error err = {0};
    rn_chunk c = new_chunk();
    const char *const stop[] = {"ab"};
    p.o.num_return_sequences = 2, p.r.logprobs = 1;
    p.r.stop = stop, p.r.n_stop = 1;
    rn_status st = begin_plan(g->engine, &p, &s, &err);
    while (st == RN_OK && c.finish_reason == RN_FINISH_NONE) st = rn_stream_next(s, 60000000000, &c, &err);
    if (st == RN_OK && c.finish_reason == RN_FINISH_ERROR) st = c.error;
    rn_stream_close(s);
    return st;
}

TEST(a_failed_allocation_ends_the_stream_alone) {
    struct toy_rig g;
    if (!rig_open(&g, MANY_PAGES)) return;
    CHECK(check_each_failed_allocation(run_once, &g, __FILE__, __LINE__));
    toy_rig_close(&g);
}
