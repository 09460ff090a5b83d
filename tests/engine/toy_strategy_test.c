// tests/engine/toy_strategy_test.c - a strategy with two model slots, three sequences, scratch trees and optional rows, under the real
// engine and over the toy model: its text equals enumeration, whatever is preempted, dropped, or read on which thread.
//
// The strategy drafts tokens with a helper model and verifies them in one step of the main model. Each token is the largest of
//   8 * main(prefix) + guide(marker, prefix)
// where both are the toy's logits: the guide is another sequence on the main model's slot that begins with a token of its own.
#include "base/mem.h"
#include "engine/engine.h"
#include "engine/public_structs.h"
#include "fixture.h"
#include "tests/support/tiny_model.h"
#include "tests/support/toy_lm.h"
#include <math.h>
#include <stdio.h>
#include <unistd.h>

enum { N_VOCAB = 300, N_CTX = 256, N_DRAFT = 3, MARKER = 7, N_STREAMS = 4, MAIN_SLOT = 0, HELPER_SLOT = 1 };

// ---- the strategy ---------------------------------------------------------------------------------------------------

struct guided {
    strategy base;
    int32_t n_prompt, guide, helper;
    int32_t tokens[N_CTX], n_tokens; // prompt, then what was emitted
    bool has_begun;
    int32_t draft[N_DRAFT], n_draft; // of the tokens after the last one
    bool is_drafting;
    int32_t chosen[N_DRAFT + 1], n_chosen; // found by read
    pthread_t read_on;
};
static atomic_int n_dropped, n_suspended, n_accepted;

static rn_status begin(strategy *base, rn_error *err) {
    struct guided *s = (struct guided *)base;
    const struct strategy_env *env = base->env;
    int32_t marked[N_CTX] = {MARKER};
    CHECK_INT(env->n_slots, 2);
    CHECK_INT(env->slots[HELPER_SLOT].n_vocab, N_VOCAB);
    memcpy(marked + 1, s->tokens, (size_t)s->n_prompt * sizeof *marked);
    rn_status st = env->ops->seq_open(env->user, MAIN_SLOT, marked, s->n_prompt, &s->guide, err);
    if (st == RN_OK) st = env->ops->seq_open(env->user, HELPER_SLOT, s->tokens, s->n_prompt - 1, &s->helper, err);
    return st;
}

static int32_t prompt_from(const strategy *base) {
    const struct guided *s = (const struct guided *)base;
    return s->has_begun ? s->n_prompt : s->n_prompt - 1;
}

// Nothing but that it be there: the last token is proposed again with the guide's.
static uint32_t prompt_wants(const strategy *base, int32_t at) {
    return at == ((const struct guided *)base)->n_prompt - 1 ? LM_WANT_LOGITS : 0;
}

static int32_t best(const float *main, const float *guide) {
    int32_t found = 0;
    float most = -INFINITY;
    for (int32_t i = 0; i < N_VOCAB; i++) {
        const float v = 8 * main[i] + (guide ? guide[i] : 0);
        if (v > most) most = v, found = i;
    }
    return found;
}

static int32_t next_slot(const strategy *base, int32_t n_rounds) {
    const struct guided *s = (const struct guided *)base;
    return s->has_begun && s->n_draft < N_DRAFT && n_rounds > 0 ? HELPER_SLOT : MAIN_SLOT;
}

// Rows of the helper: first what it lacks of the text, then each draft as a child of the one before it.
static void propose_draft(struct guided *s, struct row_list *rows) {
    const struct strategy_env *env = s->base.env;
    if (s->n_draft > 0) {
        rows->rows[rows->n++] = (struct lm_row){.seq = s->helper,
                                                .token = s->draft[s->n_draft - 1],
                                                .parent = s->n_draft == 1 ? LM_ROOT : s->n_draft - 2,
                                                .want = LM_WANT_LOGITS};
        return;
    }
    for (int32_t i = env->ops->seq_len(env->user, s->helper); i < s->n_tokens && rows->n < rows->cap; i++)
        rows->rows[rows->n++] = (struct lm_row){.seq = s->helper,
                                                .token = s->tokens[i],
                                                .parent = LM_APPEND,
                                                .want = i + 1 == s->n_tokens ? LM_WANT_LOGITS : 0};
}

// The last token in both sequences, then the drafts in both, as many as there is room for: optional rows. The guide's rows come first,
// so that a draft has them or is dropped as well.
static void propose_main(const struct guided *s, struct row_list *rows) {
    const int32_t last = s->tokens[s->n_tokens - 1], seqs[] = {s->guide, STRATEGY_MAIN};
    size_t n = rows->cap < rows->n_logits ? rows->cap : rows->n_logits;
    for (int k = 0; k < 2; k++)
        rows->rows[rows->n++] =
            (struct lm_row){.seq = seqs[k], .token = last, .parent = LM_APPEND, .want = LM_WANT_LOGITS};
    for (int32_t i = 0; i < s->n_draft && rows->n + 2 <= n && i + 1 < rows->n_tokens && i < rows->n_scratch; i++)
        for (int k = 0; k < 2; k++)
            rows->rows[rows->n++] = (struct lm_row){.seq = seqs[k],
                                                    .token = s->draft[i],
                                                    .parent = i == 0 ? LM_ROOT : i - 1,
                                                    .want = LM_WANT_LOGITS | LM_OPTIONAL};
}

static rn_status propose(strategy *base, struct row_list *rows, rn_error *err) {
    struct guided *s = (struct guided *)base;
    (void)err;
    s->is_drafting = next_slot(base, STRATEGY_HELPER_ROUNDS) == HELPER_SLOT;
    rows->n = 0;
    if (s->is_drafting)
        propose_draft(s, rows);
    else
        propose_main(s, rows);
    return rows->n ? RN_OK : fail(err, RN_E_INTERNAL, "nothing to propose");
}

// Rows 2i and 2i + 1 are the guide's and the main sequence's for the i-th token after the last one.
static void read_results(strategy *base, const struct row_results *r) {
    struct guided *s = (struct guided *)base;
    s->read_on = pthread_self();
    s->n_chosen = 0;
    if (r->at != RESULTS_OF_PROPOSAL) return;
    if (s->is_drafting) {
        const float *logits = results_logits(r, r->n - 1);
        if (logits) s->chosen[s->n_chosen++] = best(logits, NULL);
        return;
    }
    for (size_t i = 0; 2 * i + 1 < r->n; i++) {
        if (results_dropped(r, 2 * i) || results_dropped(r, 2 * i + 1)) break;
        s->chosen[s->n_chosen++] = best(results_logits(r, 2 * i + 1), results_logits(r, 2 * i));
        if (i < (size_t)s->n_draft && s->chosen[i] != s->draft[i]) break;
    }
}

static rn_status absorb(strategy *base, const struct row_results *r, const struct emitter *out, rn_error *err) {
    struct guided *s = (struct guided *)base;
    const struct strategy_env *env = base->env;
    if (r->at != RESULTS_OF_PROPOSAL) { // the prompt is there: its last row is evaluated again, in company
        s->has_begun = true;
        env->ops->seq_truncate(env->user, STRATEGY_MAIN, s->n_prompt - 1);
        return RN_OK;
    }
    if (s->is_drafting) {
        if (s->n_chosen) s->draft[s->n_draft++] = s->chosen[0];
        return RN_OK;
    }
    for (size_t i = 0; i < r->n; i++) n_dropped += results_dropped(r, i);
    int32_t n_kept = 0, path[N_DRAFT];
    bool goes_on = true;
    for (int32_t i = 0; i < s->n_chosen && goes_on; i++) {
        const struct emission e = {
            .token = s->chosen[i], .logits = results_logits(r, (size_t)(2 * i + 1)), .drafted = i > 0};
        goes_on = out->ops->emit(out->user, &e);
        s->tokens[s->n_tokens++] = s->chosen[i];
        // A draft that was emitted, and is not the last, is kept: its row is there.
        if (i + 1 < s->n_chosen && goes_on) path[n_kept] = i, n_kept++;
    }
    n_accepted += n_kept;
    rn_status st = env->ops->seq_keep(env->user, STRATEGY_MAIN, path, n_kept, err);
    if (st == RN_OK) st = env->ops->seq_keep(env->user, s->guide, path, n_kept, err);
    // The helper has rows for all drafts but the last.
    const int32_t n_helper = n_kept < s->n_draft - 1 ? n_kept : s->n_draft - 1;
    if (st == RN_OK && s->n_draft > 0) st = env->ops->seq_keep(env->user, s->helper, path, n_helper, err);
    s->n_draft = 0;
    return st;
}

static void suspend(strategy *base) {
    struct guided *s = (struct guided *)base;
    // The logits after the last token are gone: it is evaluated again.
    base->env->ops->seq_truncate(base->env->user, s->helper, s->n_tokens - 1);
    s->n_draft = 0;
    n_suspended++;
}

static void destroy(strategy *base) { mem_free(base); }

static const struct strategy_ops guided_ops = {.begin = begin,
                                               .prompt_from = prompt_from,
                                               .prompt_wants = prompt_wants,
                                               .next_slot = next_slot,
                                               .propose = propose,
                                               .suspend = suspend,
                                               .read = read_results,
                                               .absorb = absorb,
                                               .destroy = destroy};

static rn_status create(const struct strategy_spec *spec, strategy **out, rn_error *err) {
    struct guided *s = mem_calloc(1, sizeof *s);
    *out = NULL;
    if (!s) return fail(err, RN_E_NOMEM, "guided: out of memory");
    s->base = (strategy){.ops = &guided_ops, .needs.n_seqs = 3};
    s->n_prompt = s->n_tokens = spec->n_prompt;
    memcpy(s->tokens, spec->params, (size_t)spec->n_prompt * sizeof *s->tokens);
    *out = &s->base;
    return RN_OK;
}
static const struct strategy_kind guided = {"guided", create};

static rn_status create_wide(const struct strategy_spec *spec, strategy **out, rn_error *err) {
    const rn_status st = create(spec, out, err);
    if (st == RN_OK) (*out)->needs.n_seqs = 4;
    return st;
}
static const struct strategy_kind wide = {"wide", create_wide};

// ---- what must come -------------------------------------------------------------------------------------------------

static void enumerate(const struct toy_config *c, const int32_t *prompt, int32_t n_prompt, int32_t *out, int32_t n) {
    int32_t plain[N_CTX + 1], marked[N_CTX + 1] = {MARKER};
    memcpy(plain, prompt, (size_t)n_prompt * sizeof *prompt);
    memcpy(marked + 1, prompt, (size_t)n_prompt * sizeof *prompt);
    for (int32_t i = 0; i < n; i++) {
        float main[N_VOCAB], guide[N_VOCAB];
        toy_lm_expect(c, plain, n_prompt + i, main);
        toy_lm_expect(c, marked, n_prompt + i + 1, guide);
        out[i] = plain[n_prompt + i] = marked[n_prompt + i + 1] = best(main, guide);
    }
}

// ---- engines over the toy -------------------------------------------------------------------------------------------

struct rig {
    struct toy_config config[2];
    rn_model *model;
    rn_engine *engine;
    lm *lms[2];            // the engine's
    int32_t buffer_tokens; // of streams; 0: the default
};

static bool rig_open_with(struct rig *g, int32_t n_pages, int32_t n_states, int32_t max_seqs, int n_threads) {
    const char *path = "toy_strategy_test.gguf";
    struct tiny_model tiny = tiny_model_default();
    struct given_lm lms[2];
    rn_engine_options o = engine_options();
    rn_error err = {0};
    tiny.n_ctx = N_CTX;
    *g = (struct rig){0};
    if (!CHECK(tiny_model_write(&tiny, path)) || !CHECK_OK(rn_model_open(path, NULL, &g->model, &err), &err))
        return false;
    for (int i = 0; i < 2; i++) {
        // The helper is the same function, so that drafts are often right: the guide changes what the main model takes.
        g->config[i] = (struct toy_config){.n_vocab = N_VOCAB,
                                           .n_ctx = N_CTX,
                                           .n_batch = 64,
                                           .n_want = 64,
                                           .max_seqs = i == MAIN_SLOT ? max_seqs : 32,
                                           .max_scratch = 8,
                                           .n_pages = i == MAIN_SLOT ? n_pages : 64,
                                           .n_groups = 1,
                                           .nan_token = -1,
                                           .n_states = n_states};
        if (!CHECK_OK(toy_lm_create(&g->config[i], &lms[i].lm, &err), &err)) return false;
        lms[i].kv = toy_lm_kv(lms[i].lm);
        g->lms[i] = lms[i].lm;
        lms[i].n_scratch = g->config[i].max_scratch;
    }
    o.n_streams = N_STREAMS;
    o.n_threads = n_threads;
    o.n_seqs = 1; // three of a stream
    rn_model *const models[] = {g->model, g->model};
    const bool ok = CHECK_OK(engine_open_lms(models, lms, 2, &o, &g->engine, &err), &err);
    remove(path);
    return ok;
}

static bool rig_open(struct rig *g, int32_t n_pages, int32_t n_states, int n_threads) {
    return rig_open_with(g, n_pages, n_states, 32, n_threads);
}

static void rig_close(struct rig *g) {
    rn_engine_close(g->engine);
    rn_model_close(g->model);
}

static rn_stream *submit_kind(struct rig *g, const struct strategy_kind *kind, const int32_t *prompt, size_t n_prompt,
                              int32_t n, rn_error *err) {
    const rn_part part = {.kind = RN_PART_IDS, .ids = prompt, .n_ids = n_prompt};
    rn_request r = text_request("");
    struct own_request own;
    rn_stream *s;
    r.parts = &part;
    r.max_tokens = n;
    r.ignore_eos = true;
    if (g->buffer_tokens) r.buffer_tokens = g->buffer_tokens;
    rn_status st = own_request_read(&r, &own, err);
    if (st == RN_OK) st = stream_create(g->engine, &own.r, kind, prompt, &s, err);
    if (st != RN_OK) return NULL;
    if (stream_submit(s, err) == RN_OK) return s;
    stream_destroy(s);
    return NULL;
}

static rn_stream *submit(struct rig *g, const int32_t *prompt, size_t n_prompt, int32_t n) {
    rn_error err = {0};
    rn_stream *s = submit_kind(g, &guided, prompt, n_prompt, n, &err);
    CHECK_OK(s ? RN_OK : err.code, &err);
    return s;
}

// All streams at once, each against enumeration. Those that a failed step ended had the first of their tokens; their number.
static int run_all(struct rig *g, int32_t n_prompt, int32_t n) {
    static struct outcome o[N_STREAMS];
    static int32_t prompts[N_STREAMS][N_CTX];
    rn_stream *s[N_STREAMS] = {NULL};
    int n_failed = 0;
    for (int i = 0; i < N_STREAMS; i++) {
        o[i] = (struct outcome){0};
        for (int32_t k = 0; k < n_prompt; k++) prompts[i][k] = (k * 31 + i * 17 + 5) % 256;
        s[i] = submit(g, prompts[i], (size_t)n_prompt, n);
    }
    for (int i = 0; i < N_STREAMS; i++) {
        int32_t want[N_CTX];
        if (!s[i] || !drain(s[i], &o[i])) continue;
        enumerate(&g->config[MAIN_SLOT], prompts[i], n_prompt, want, n);
        check_note("stream %d", i);
        if (o[i].finish == RN_FINISH_ERROR) {
            n_failed++;
            CHECK_STR(o[i].detail, TOY_FAILURE);
            CHECK_MEM(o[i].tokens, want, o[i].n_tokens * sizeof *want);
        } else {
            CHECK_STR(o[i].detail, n == 60 ? "max_tokens 60" : "max_tokens 20");
            if (CHECK_INT(o[i].n_tokens, n)) CHECK_MEM(o[i].tokens, want, (size_t)n * sizeof *want);
        }
        rn_stream_close(s[i]);
    }
    return n_failed;
}

static uint64_t preemptions(const struct rig *g) {
    rn_engine_stats stats = {.struct_size = sizeof stats};
    rn_engine_get_stats(g->engine, &stats, NULL);
    return stats.n_preempted;
}

TEST(a_strategy_on_two_models_gives_its_enumerated_answer) {
    for (int n_threads = 1; n_threads <= 2; n_threads++) {
        struct rig g;
        n_accepted = 0;
        if (!rig_open(&g, 128, 0, n_threads)) return;
        CHECK_INT(run_all(&g, 70, 60), 0);
        CHECK_INT(preemptions(&g), 0);
        CHECK(n_accepted > 0);
        rig_close(&g);
    }
}

TEST(preemptions_and_dropped_rows_do_not_change_the_answer) {
    int n_preempted = 0, n_rows = 0;
    for (int32_t n_pages = 8; n_pages <= 24; n_pages += 2)
        for (int n_threads = 1; n_threads <= 2; n_threads++) {
            struct rig g;
            n_dropped = n_suspended = 0;
            if (!rig_open(&g, n_pages, 0, n_threads)) return;
            check_note("%d pages, %d threads", n_pages, n_threads);
            CHECK_INT(run_all(&g, 70, 60), 0);
            n_preempted += (int)preemptions(&g);
            n_rows += n_dropped;
            CHECK(n_suspended >= (int)preemptions(&g));
            rig_close(&g);
        }
    CHECK(n_preempted > 0);
    CHECK(n_rows > 0);
}

// Each stream has two sequences on the main model's slot.
TEST(streams_take_turns_where_there_are_fewer_sequences_than_they_want) {
    for (int32_t max_seqs = 2; max_seqs <= 7; max_seqs++) {
        struct rig g;
        if (!rig_open_with(&g, 128, 0, max_seqs, 1)) return;
        check_note("%d sequences", max_seqs);
        g.buffer_tokens = 8; // no stream ends before all have begun
        CHECK_INT(run_all(&g, 70, 60), 0);
        CHECK(preemptions(&g) > 0);
        rig_close(&g);
    }
}

TEST(a_strategy_that_wants_more_sequences_than_there_are_fails_alone) {
    struct rig g;
    if (!rig_open_with(&g, 128, 0, 1, 1)) return;
    const int32_t prompt[N_CTX] = {1, 2, 3};
    for (int i = 0; i < 2; i++) {
        struct outcome o = {0};
        rn_stream *s = submit(&g, prompt, 3, 20);
        if (!s || !drain(s, &o)) break;
        CHECK_INT(o.finish, RN_FINISH_ERROR);
        CHECK_HAS(o.detail, "sequences are in use");
        rn_stream_close(s);
    }
    rig_close(&g);
}

static rn_stream_state state_of(rn_stream *s) {
    rn_stream_state state = {.struct_size = sizeof state};
    CHECK_OK(rn_stream_get_state(s, &state, NULL), NULL);
    return state;
}

TEST(an_idle_stream_gives_its_sequences_to_one_that_begins) {
    struct rig g;
    struct outcome o[2] = {{.n_tokens = 0}, {.n_tokens = 0}};
    const int32_t prompt[N_CTX] = {1, 2, 3};
    int32_t want[N_CTX];
    if (!rig_open_with(&g, 128, 0, 2, 1)) return;
    g.buffer_tokens = 8;
    rn_stream *const unread = submit(&g, prompt, 3, 60);
    while (unread && !state_of(unread).is_parked) usleep(1000);
    rn_stream *const next = submit(&g, prompt, 3, 60);
    if (unread && next && drain(next, &o[1])) {
        CHECK(state_of(unread).was_preempted);
        CHECK(!state_of(next).was_preempted);
        drain(unread, &o[0]);
        enumerate(&g.config[MAIN_SLOT], prompt, 3, want, 60);
        for (int i = 0; i < 2; i++)
            if (CHECK_INT(o[i].n_tokens, 60)) CHECK_MEM(o[i].tokens, want, 60 * sizeof *want);
    }
    rn_stream_close(unread);
    rn_stream_close(next);
    rig_close(&g);
}

TEST(what_a_strategy_says_when_it_is_made_is_checked_against_the_plan) {
    struct rig g;
    rn_error err = {0};
    const int32_t prompt[N_CTX] = {1, 2, 3};
    if (!rig_open(&g, 128, 0, 1)) return;
    CHECK(!submit_kind(&g, &wide, prompt, 3, 20, &err));
    CHECK_INT(err.code, RN_E_LIMIT);
    CHECK_HAS(err.text, "strategy wide: needs 4 sequences for a stream, 3 are planned for ");
    rig_close(&g);
}

TEST(a_recurrent_model_gives_the_enumerated_answer_too) {
    for (int32_t n_states = 24; n_states <= 64; n_states += 20) {
        struct rig g;
        if (!rig_open(&g, 20, n_states, 2)) return;
        check_note("%d states", n_states);
        CHECK_INT(run_all(&g, 40, 20), 0);
        rig_close(&g);
    }
}

// A step of either model fails: its streams end with what they had, others continue, and later ones are not affected.
TEST(streams_of_a_failed_step_end_and_nothing_of_it_is_left) {
    int n_failed = 0, n_others = 0;
    for (int32_t n_states = 0; n_states <= 48; n_states += 48)
        for (int slot = 0; slot < 2; slot++)
            for (int at = 1; at <= 40; at += 3) {
                struct rig g;
                if (!rig_open(&g, 24, n_states, 2)) return;
                check_note("%d states, step %d of model %d", n_states, at, slot);
                g.buffer_tokens = 8;
                toy_lm_fail_at(g.lms[slot], at);
                const int n = run_all(&g, 40, 20);
                n_failed += n, n_others += N_STREAMS - n;
                toy_lm_fail_at(g.lms[slot], 0);
                CHECK_INT(run_all(&g, 40, 20), 0);
                rig_close(&g);
            }
    CHECK(n_failed > 0);
    CHECK(n_others > 0);
}
