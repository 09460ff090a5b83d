// tests/engine/strategy_bits_test.c - every strategy on a model with each kind of memory: its answer depends on the model, the request and the
// type of keys and values, and on nothing else; whatever ends a stream in the middle leaves nothing behind.
#include "any_strategy.h"
#include "whole_answer.h"

enum {
    N_WAYS = N_ANY_STRATEGIES,
    N_PROMPT = 75, // more than a page, and than a window
    N_NEW = 20,
    N_CTX = 256,
    N_SEQS = 5, // reserved: up to six beams
    MOST_IDS = N_CTX
};

// A golden model, and whether it has recurrent states, whose slots are reserved for scratch rows.
static const struct subject {
    const char *why, *name;
    bool has_states, runs_short; // runs_short: of pages, where there are few
} subjects[] = {
    {"full attention", "small-llama", false, true},
    {"windows", "gemma3", false, true},
    {"states", "mamba2", true, false},
    {"a latent vector", "deepseek-v3", false, true},
    {"states, keys and values", "qwen3-next", true, false},
};
enum { N_SUBJECTS = sizeof subjects / sizeof *subjects };

static rn_engine_options options_of(const struct subject *m) {
    rn_engine_options o = engine_options();
    o.n_ctx = N_CTX, o.n_streams = N_WAYS, o.n_seqs = N_SEQS;
    o.n_scratch = m->has_states ? 64 : 0;
    o.amateur_model = 1;
    return o;
}

struct rig {
    rn_model *models[2];
    rn_engine *engine;
};

static const char *golden_path(const char *name) {
    char rel[64];
    snprintf(rel, sizeof rel, "goldens/%s", name);
    const char *const path = shared_path(rel);
    if (!path) test_skip("no shared material: set RUNNEL_SHARED");
    return path;
}

// With all layers that a model may have.
static void add_early_layers(rn_model *m) {
    static const char all[] = "0,1,2,3,4,5,6,7,8,9";
    rn_error err = {0};
    for (int n = 10; n > 0; n--) {
        char layers[sizeof all];
        snprintf(layers, sizeof layers, "%.*s", 2 * n - 1, all);
        if (rn_model_add_early_layers(m, layers, &err) == RN_OK) return;
    }
    CHECK(!"early layers");
}

static void rig_close(struct rig *g) {
    rn_engine_close(g->engine);
    for (int i = 0; i < 2; i++) rn_model_close(g->models[i]);
    *g = (struct rig){0};
}

// RN_E_UNSUPPORTED: this machine lacks the CPU set.
static rn_status rig_open(struct rig *g, const struct subject *m, const rn_engine_options *o) {
    const char *const names[] = {m->name, strcmp(m->name, "small-llama") == 0 ? "llama" : "small-llama"};
    rn_error err = {0};
    *g = (struct rig){0};
    for (int i = 0; i < 2; i++) {
        const char *const path = golden_path(names[i]);
        if (!path || !CHECK_OK(rn_model_open(path, NULL, &g->models[i], &err), &err)) return RN_E_IO;
    }
    add_early_layers(g->models[0]);
    const rn_status st = rn_engine_open(g->models, 2, o, &g->engine, &err);
    if (st != RN_E_UNSUPPORTED) CHECK_OK(st, &err);
    if (st != RN_OK) rig_close(g);
    return st;
}

// A request and what it points to.
struct asked {
    rn_request r;
    rn_sampling sampling;
    rn_strategy_options options;
    rn_part part;
    int32_t ids[MOST_IDS];
};

static void point(struct asked *a, int32_t n) {
    a->part = (rn_part){.kind = RN_PART_IDS, .ids = a->ids, .n_ids = (size_t)n};
    a->r.parts = &a->part, a->r.n_parts = 1;
    a->r.sampling = &a->sampling, a->r.strategy_options = &a->options;
}

// most_seqs: at most so many beams or samples.
static void ask(struct asked *a, int way, uint64_t seed, int32_t most_seqs) {
    struct toy_random random = {.seed = seed * 100 + (uint64_t)way};
    const struct any_strategy *const s = &any_strategies[way];
    rn_request_init(&a->r);
    rn_sampling_init(&a->sampling);
    valid_strategy_options(s, &random, &a->options);
    rn_strategy_options *const o = &a->options;
    const bool is_beam = strcmp(s->name, "beam") == 0;
    int32_t *const n = is_beam ? &o->num_beams : &o->best_of;
    if (s->has_sequences && *n > most_seqs) *n = most_seqs;
    if (o->num_beam_groups > 1) o->num_beam_groups = 2, o->num_beams = o->num_beams > 3 ? 4 : 2;
    if (s->has_sequences && o->num_return_sequences > *n) o->num_return_sequences = *n;
    for (int32_t i = 0; i < N_PROMPT; i++) a->ids[i] = i < 64 ? (i * 7 + way) % 256 : toy_below(&random, 256);
    a->r.strategy = s->name;
    a->r.max_tokens = N_NEW, a->r.ignore_eos = true, a->r.add_special = false;
    a->r.has_seed = true, a->r.seed = seed;
    a->r.logprobs = 2;
    a->sampling.temp = 0.9F, a->sampling.repeat_penalty = toy_chance(&random, 0.5) ? 1.2F : 1;
    point(a, N_PROMPT);
}

static struct asked asked[N_WAYS];
static int32_t n_made = N_NEW; // tokens of each answer
static struct whole_answer alone[N_WAYS], got;

static bool ask_alone(const struct subject *m, const rn_engine_options *o, int32_t most_seqs) {
    struct rig g;
    if (rig_open(&g, m, o) != RN_OK) return false;
    bool ok = true;
    for (int i = 0; i < N_WAYS && ok; i++) {
        ask(&asked[i], i, 1, most_seqs);
        asked[i].r.max_tokens = n_made;
        check_note("%s, %s, alone", m->why, any_strategies[i].why);
        ok = whole_run(g.engine, &asked[i].r, &alone[i]) && CHECK_INT(alone[i].o.finish, RN_FINISH_LENGTH) &&
             CHECK_INT((int64_t)alone[i].o.n_tokens, n_made) && CHECK(alone[i].has_numbers);
    }
    rig_close(&g);
    return ok;
}

// ---- the same bits --------------------------------------------------------------------------------------------------

static void check_one_by_one(const struct rig *g, const char *what) {
    for (int i = 0; i < N_WAYS; i++) {
        check_note("%s, %s", what, any_strategies[i].why);
        if (whole_run(g->engine, &asked[i].r, &got)) whole_same(&got, &alone[i]);
    }
}

// All at once; some are paused until the others are read.
static void check_together(const struct rig *g, const char *what, bool pauses) {
    rn_stream *s[N_WAYS] = {NULL};
    rn_error err = {0};
    for (int i = 0; i < N_WAYS; i++) {
        CHECK_OK(rn_stream_begin(g->engine, &asked[i].r, &s[i], &err), &err);
        if (pauses && i % 3 == 0 && s[i]) rn_stream_pause(s[i]);
    }
    for (int k = 0; k < 2 * N_WAYS; k++) {
        const int i = k % N_WAYS;
        if (!s[i] || (pauses && (i % 3 == 0) != (k >= N_WAYS))) continue;
        check_note("%s, %s", what, any_strategies[i].why);
        rn_stream_resume(s[i]);
        whole_clear(&got);
        if (whole_read(s[i], &asked[i].r, &got)) whole_same(&got, &alone[i]);
        rn_stream_close(s[i]);
        s[i] = NULL;
    }
}

TEST(a_strategy_gives_the_same_bits_on_any_threads_and_cpu_set_in_any_chunks_from_the_cache_and_beside_the_others) {
    static const struct {
        const char *why, *cpu;
        int32_t n_threads, n_batch;
    } ways[] = {{"two threads", NULL, 2, 0}, {"four threads", NULL, 4, 0},    {"ref", "ref", 1, 0},
                {"avx2", "avx2", 1, 0},      {"steps of 8 rows", NULL, 1, 8}, {"steps of 65 rows", NULL, 2, 65},
                {"the default", NULL, 1, 0}};
    for (int m = 0; m < N_SUBJECTS; m++) {
        rn_engine_options o = options_of(&subjects[m]);
        if (!ask_alone(&subjects[m], &o, N_SEQS + 1)) return;
        for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
            struct rig g;
            char what[96];
            o.n_threads = ways[k].n_threads, o.n_batch = ways[k].n_batch;
            if (ways[k].cpu) o.cpu = ways[k].cpu;
            const rn_status st = rig_open(&g, &subjects[m], &o);
            o.cpu = getenv("RUNNEL_CPU");
            if (st == RN_E_UNSUPPORTED) continue;
            if (st != RN_OK) return;
            snprintf(what, sizeof what, "%s, %s", subjects[m].why, ways[k].why);
            check_together(&g, what, k % 2 == 1);
            if (k % 2 == 0) check_one_by_one(&g, what); // their prompts are cached
            rig_close(&g);
        }
    }
}

TEST(a_strategy_gives_the_same_bits_for_each_type_of_keys_and_values) {
    static const rn_kv_type types[] = {RN_KV_F32, RN_KV_BF16, RN_KV_Q8};
    for (int m = 0; m < N_SUBJECTS; m += 3)
        for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
            struct rig g;
            char what[96];
            rn_engine_options o = options_of(&subjects[m]);
            o.kv_type = types[k];
            if (!ask_alone(&subjects[m], &o, N_SEQS + 1)) return;
            o.n_threads = 2;
            if (rig_open(&g, &subjects[m], &o) != RN_OK) return;
            snprintf(what, sizeof what, "%s, type %d", subjects[m].why, (int)types[k]);
            check_together(&g, what, true);
            rig_close(&g);
        }
}

// Pages for a few of them.
TEST(strategies_that_are_preempted_give_the_same_bits) {
    for (int m = 0; m < N_SUBJECTS; m += 2) {
        struct rig g;
        rn_engine_options o = options_of(&subjects[m]);
        o.n_seqs = 1;
        n_made = 50;
        if (!ask_alone(&subjects[m], &o, 2)) return;
        o.n_kv = o.n_ctx = 192;
        if (rig_open(&g, &subjects[m], &o) != RN_OK) return;
        rn_engine_stats stats = {.struct_size = sizeof stats};
        for (int round = 0; round < 2; round++) check_together(&g, subjects[m].why, round == 1);
        rn_engine_get_stats(g.engine, &stats, NULL);
        check_note("%s, %lld pages, %d preempted", subjects[m].why, (long long)stats.kv_pages,
                   (int)stats.n_preempted);
        CHECK(stats.n_preempted > 0 || !subjects[m].runs_short);
        rig_close(&g);
        n_made = N_NEW;
    }
}

// ---- sessions -------------------------------------------------------------------------------------------------------

static rn_session *saved_and_loaded(const struct rig *g, rn_session *session) {
    char path[512];
    rn_save_options o;
    rn_saved saved;
    rn_session *loaded = NULL;
    rn_error err = {0};
    snprintf(path, sizeof path, "%s/turn.session", temp_dir());
    rn_save_options_init(&o);
    rn_saved_init(&saved);
    o.with_kv = true;
    if (CHECK_OK(rn_session_save(session, path, &o, &err), &err))
        CHECK_OK(rn_session_load(g->engine, 0, path, &loaded, &saved, &err), &err);
    rn_free(saved.note);
    rn_session_close(session);
    return loaded;
}

// A turn with the last n_new of the ids, and the same as one prompt.
static bool same_turn(const struct rig *g, rn_session *session, struct asked *a, int32_t n, int32_t n_new) {
    static struct whole_answer flat;
    point(a, n);
    a->r.session = NULL;
    bool ok = whole_run(g->engine, &a->r, &flat);
    a->part.ids += n - n_new, a->part.n_ids = (size_t)n_new;
    a->r.session = session;
    ok = ok && whole_run(g->engine, &a->r, &got) && whole_same(&got, &flat);
    a->r.session = NULL;
    return ok;
}

TEST(a_turn_of_a_session_that_was_saved_or_not_is_that_of_its_whole_text_as_one_prompt) {
    enum { N_FIRST = 30, N_LATER = 20 };
    for (int m = 0; m < N_SUBJECTS; m++) {
        struct rig g;
        const rn_engine_options o = options_of(&subjects[m]);
        if (rig_open(&g, &subjects[m], &o) != RN_OK) return;
        for (int i = 0; i < N_WAYS; i++) {
            static struct asked way, plain;
            rn_session *session;
            rn_error err = {0};
            int32_t n = N_FIRST;
            bool ok = true;
            ask(&way, i, 2, N_SEQS + 1);
            ask(&plain, 0, 2, 1);
            if (!CHECK_OK(rn_session_open(g.engine, 0, &session, &err), &err)) return;
            for (int turn = 0; turn < 3 && ok; turn++) {
                struct asked *const a = turn == 1 ? &way : &plain, *const other = turn == 1 ? &plain : &way;
                check_note("%s, %s, turn %d", subjects[m].why, any_strategies[i].why, turn);
                for (int32_t k = 0; k < N_LATER && turn > 0; k++, n++) a->ids[n] = (n * 5 + turn) % 256;
                ok = same_turn(&g, session, a, n, turn ? N_LATER : N_FIRST);
                if (!ok) break;
                memcpy(a->ids + n, got.o.tokens, got.o.n_tokens * sizeof *a->ids);
                n += (int32_t)got.o.n_tokens;
                memcpy(other->ids, a->ids, (size_t)n * sizeof *a->ids);
                if (turn == 0 && i % 2) session = saved_and_loaded(&g, session);
                ok = session != NULL;
            }
            rn_session_close(session);
        }
        rig_close(&g);
    }
}

// ---- ends in the middle ---------------------------------------------------------------------------------------------

static bool holds_nothing(rn_engine *e) {
    rn_engine_stats s = {.struct_size = sizeof s};
    rn_engine_get_stats(e, &s, NULL);
    return CHECK_INT(s.kv_pages - s.kv_pages_free - s.kv_pages_cached, 0) &&
           CHECK_INT(s.states - s.states_free - s.states_cached, 0) && CHECK_INT(s.n_running + s.n_queued, 0);
}

enum end { END_CANCEL, END_CLOSE, END_PAUSED, END_TIMEOUT, END_SLOW, N_ENDS };

// What came is the beginning of the whole answer, without the sequences of a search; where whole texts are searched, the last chunk has
// the rest of the best one so far.
static void check_beginning(const struct whole_answer *a, const struct whole_answer *whole) {
    if (a->o.finish == RN_FINISH_LENGTH && a->o.n_tokens == whole->o.n_tokens) return; // it was faster
    const size_t n = a->o.n_tokens - (whole->n_sequences ? a->n_last : 0);
    CHECK_INT((int64_t)a->n_sequences, 0);
    CHECK(a->o.n_tokens <= whole->o.n_tokens && a->o.usage.completion_tokens == (int64_t)a->o.n_tokens);
    CHECK_MEM(a->o.tokens, whole->o.tokens, n * sizeof *a->o.tokens);
    CHECK_MEM(a->told, whole->told, n * sizeof *a->told);
}

static void end_stream(rn_engine *e, const struct asked *asked_for, enum end how, int n_chunks,
                       const struct whole_answer *whole) {
    rn_request r = asked_for->r;
    rn_stream *s;
    rn_error err = {0};
    rn_chunk c = new_chunk();
    if (how == END_TIMEOUT) r.timeout_ms = 1 + n_chunks;
    if (how == END_SLOW) r.overflow = RN_OVERFLOW_CANCEL, r.buffer_tokens = 2;
    whole_clear(&got);
    if (!CHECK_OK(rn_stream_begin(e, &r, &s, &err), &err)) return;
    for (int i = 0; i < n_chunks && got.o.finish == RN_FINISH_NONE; i++)
        if (CHECK_OK(rn_stream_next(s, 60000000000, &c, &err), &err)) whole_add(&got, &c, &r);
    if (how == END_PAUSED) rn_stream_pause(s);
    if (how == END_CANCEL || how == END_PAUSED) rn_stream_cancel(s);
    if (how != END_CLOSE && whole_read(s, &r, &got)) check_beginning(&got, whole);
    rn_stream_close(s);
}

TEST(a_strategy_that_is_ended_in_the_middle_leaves_nothing_behind_and_others_go_on) {
    static const int n_chunks[] = {0, 1, 4};
    for (int m = 0; m < N_SUBJECTS; m += 2) {
        struct rig g;
        rn_engine_options o = options_of(&subjects[m]);
        if (!ask_alone(&subjects[m], &o, N_SEQS + 1) || rig_open(&g, &subjects[m], &o) != RN_OK) return;
        for (int k = 0; k < N_WAYS * N_ENDS; k++) {
            const int i = k % N_WAYS, beside = (i + 1 + k / N_WAYS) % N_WAYS;
            rn_stream *other = NULL;
            rn_error err = {0};
            CHECK_OK(rn_stream_begin(g.engine, &asked[beside].r, &other, &err), &err);
            for (size_t n = 0; n < 3; n++) {
                check_note("%s, %s, end %d after %d chunks", subjects[m].why, any_strategies[i].why, k / N_WAYS,
                           n_chunks[n]);
                end_stream(g.engine, &asked[i], (enum end)(k / N_WAYS), n_chunks[n], &alone[i]);
            }
            check_note("%s, %s beside %s", subjects[m].why, any_strategies[beside].why, any_strategies[i].why);
            whole_clear(&got);
            if (other && whole_read(other, &asked[beside].r, &got)) whole_same(&got, &alone[beside]);
            rn_stream_close(other);
            if (!holds_nothing(g.engine)) break;
        }
        rig_close(&g);
    }
}

// ---- what a kind of memory has no room for --------------------------------------------------------------------------

TEST(a_strategy_without_slots_for_its_states_is_refused_by_name_before_anything_is_queued) {
    static const struct {
        const char *why, *says;
        int way;
    } rows[] = {{"beams", "strategy beam: needs ", 1},
                {"samples", "strategy best-of: needs ", 4},
                {"candidates", "strategy contrastive: needs ", 6},
                {"nodes", "strategy tree: needs ", 9}};
    for (int m = 0; m < N_SUBJECTS; m++) {
        struct rig g;
        rn_engine_options o = options_of(&subjects[m]);
        o.n_seqs = o.n_scratch = 0;
        if (rig_open(&g, &subjects[m], &o) != RN_OK) return;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            static struct asked a;
            rn_stream *s = NULL;
            rn_error err = {0};
            ask(&a, rows[i].way, 3, N_SEQS + 1);
            rn_strategy_options_init(&a.options);
            check_note("%s, %s", subjects[m].why, rows[i].why);
            const rn_status st = rn_stream_begin(g.engine, &a.r, &s, &err);
            // Scratch rows are planned for every stream, slots of their states are not.
            const bool fits = i >= 2 && !subjects[m].has_states;
            CHECK_INT(st, fits ? RN_OK : RN_E_LIMIT);
            if (!fits) CHECK(strncmp(err.text, rows[i].says, strlen(rows[i].says)) == 0);
            rn_stream_close(s);
            holds_nothing(g.engine);
        }
        rig_close(&g);
    }
}
