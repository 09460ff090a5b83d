// tests/engine/adapters_test.c - adapters in the public interface: which streams use which, in one batch; sessions; the plan.
#include "saved_rig.h"
#include "tests/support/adapter_maker.h"

enum { N_ADAPTERS = 2 };
static const struct made_adapter adapters[N_ADAPTERS] = {{.rank = 4, .alpha = 8, .seed = 1},
                                                         {.rank = 3, .alpha = 3, .only = "ffn_", .seed = 2}};

static const char *adapter_path(size_t i) {
    static const char *const names[] = {"first.gguf", "second.gguf"};
    return saved_path(names[i]);
}

static bool add_adapters(rn_model *m, size_t n) {
    rn_error err = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < n; i++)
        ok = made_adapter_write(&adapters[i], stories(), adapter_path(i)) &&
             CHECK_OK(rn_model_add_adapter(m, adapter_path(i), i ? "other" : NULL, &err), &err);
    return ok;
}

static bool open_adapted(struct fixture *f, const rn_engine_options *o) {
    rn_error err = {0};
    *f = (struct fixture){0};
    return CHECK_OK(rn_model_open(stories(), NULL, &f->model, &err), &err) && add_adapters(f->model, N_ADAPTERS) &&
           CHECK_OK(rn_engine_open(&f->model, 1, o, &f->engine, &err), &err);
}

enum { N_KINDS = 5 };
static rn_request request(size_t kind) {
    static const rn_adapter lists[N_KINDS][2] = {{{0, 0}}, {{0, 1}}, {{1, 1}}, {{1, 0.5F}, {0, 1}}, {{0, -0.5F}}};
    static const size_t n[N_KINDS] = {0, 1, 1, 2, 1};
    rn_request r = text_request("Once upon a time");
    r.adapters = lists[kind], r.n_adapters = n[kind], r.own_adapters = true;
    r.max_tokens = 24, r.has_seed = true, r.seed = 7;
    return r;
}

TEST(each_stream_of_a_batch_has_the_text_of_its_adapters) {
    static struct outcome want[N_KINDS], got[N_KINDS];
    rn_engine_options o = engine_options();
    struct fixture alone, together, plain;
    rn_error err = {0};
    rn_stream *streams[N_KINDS] = {0};
    memset(want, 0, sizeof want), memset(got, 0, sizeof got);
    bool ok = open_adapted(&alone, &o);
    o.n_streams = N_KINDS, o.n_threads = 3;
    ok = open_adapted(&together, &o) && ok;
    if (fixture_open(&plain, &o) && ok) {
        static struct outcome none;
        rn_request without = request(0);
        without.own_adapters = false, without.n_adapters = 0;
        memset(&none, 0, sizeof none);
        for (size_t i = 0; i < N_KINDS; i++) {
            const rn_request r = request(i);
            run_request(alone.engine, &r, &want[i]);
            for (size_t k = 0; k < i; k++) CHECK(strcmp(want[k].text, want[i].text) != 0);
        }
        run_request(plain.engine, &without, &none);
        CHECK_STR(none.text, want[0].text); // without an adapter: the text of the model
        for (size_t i = 0; i < N_KINDS; i++) {
            const rn_request r = request(i);
            CHECK_OK(rn_stream_begin(together.engine, &r, &streams[i], &err), &err);
        }
        for (size_t i = 0; i < N_KINDS; i++) {
            if (!streams[i]) continue;
            drain(streams[i], &got[i]);
            CHECK_STR(got[i].text, want[i].text);
            rn_stream_close(streams[i]);
        }
    }
    fixture_close(&alone);
    fixture_close(&together);
    fixture_close(&plain);
}

TEST(streams_that_name_no_adapters_use_those_of_the_engine) {
    static struct outcome want, got, scored;
    const rn_engine_options o = engine_options();
    const rn_adapter list[] = {{1, 1}};
    struct fixture f;
    rn_error err = {0};
    memset(&want, 0, sizeof want), memset(&got, 0, sizeof got), memset(&scored, 0, sizeof scored);
    if (open_adapted(&f, &o)) {
        const rn_request named = request(2);
        rn_request r = named;
        r.own_adapters = false, r.adapters = NULL, r.n_adapters = 0;
        CHECK(rn_engine_adapter_scale(f.engine, 0, 1) == 0);
        CHECK_OK(rn_engine_set_adapters(f.engine, 0, list, 1, &err), &err);
        CHECK(rn_engine_adapter_scale(f.engine, 0, 1) == 1 && rn_engine_adapter_scale(f.engine, 0, 0) == 0);
        run_request(f.engine, &named, &want);
        run_request(f.engine, &r, &got);
        CHECK_STR(got.text, want.text);
    }
    fixture_close(&f);
}

TEST(prefixes_are_cached_for_the_same_adapters_alone) {
    static struct outcome o[N_KINDS + 1];
    const rn_engine_options opt = engine_options();
    struct fixture f;
    memset(o, 0, sizeof o);
    if (open_adapted(&f, &opt))
        for (size_t i = 0; i <= N_KINDS; i++) {
            const rn_request r = request(i % N_KINDS);
            run_request(f.engine, &r, &o[i]);
            CHECK(i < N_KINDS ? o[i].usage.cached_tokens == 0 : o[i].usage.cached_tokens > 0);
        }
    fixture_close(&f);
}

static void turn(const struct fixture *f, rn_session *s, size_t kind, struct outcome *o) {
    rn_request r = request(kind);
    r.session = s, r.max_tokens = 8;
    memset(o, 0, sizeof *o);
    run_request(f->engine, &r, o);
}

TEST(a_saved_session_has_keys_and_values_for_its_adapters) {
    static struct outcome first, want, got;
    const rn_engine_options o = engine_options();
    struct fixture a, b;
    rn_error err = {0};
    rn_saved saved;
    const bool has_a = open_adapted(&a, &o), has_b = fixture_open(&b, &o);
    if (has_a && has_b) {
        for (size_t kind = 1; kind < N_KINDS; kind++) {
            rn_session *s = new_session(&a), *copy = NULL, *bare = NULL;
            turn(&a, s, kind, &first);
            save_session(s, saved_path("talk"), NULL, true);
            rn_saved_init(&saved);
            CHECK_OK(rn_session_load(a.engine, 0, saved_path("talk"), &copy, &saved, &err), &err);
            CHECK_STR(saved.reason, "");
            CHECK(saved.n_restored > 0);
            rn_free(saved.note);
            turn(&a, s, kind, &want);
            turn(&a, copy, kind, &got);
            CHECK_STR(got.text, want.text);
            CHECK_INT(got.usage.cached_tokens, want.usage.cached_tokens);
            // An engine without the adapters takes the tokens alone.
            rn_saved_init(&saved);
            CHECK_OK(rn_session_load(b.engine, 0, saved_path("talk"), &bare, &saved, &err), &err);
            CHECK_HAS(saved.reason, "keys and values made with adapter ");
            CHECK(saved.n_loaded > 0 && saved.n_restored == 0);
            rn_free(saved.note);
            rn_session_close(s);
            rn_session_close(copy);
            rn_session_close(bare);
        }
    }
    fixture_close(&a);
    fixture_close(&b);
}

static bool open_in_order(struct fixture *f, const char *const paths[2], const char *const names[2]) {
    const rn_engine_options o = engine_options();
    rn_error err = {0};
    *f = (struct fixture){0};
    return CHECK_OK(rn_model_open(stories(), NULL, &f->model, &err), &err) &&
           CHECK_OK(rn_model_add_adapter(f->model, paths[0], names[0], &err), &err) &&
           CHECK_OK(rn_model_add_adapter(f->model, paths[1], names[1], &err), &err) &&
           CHECK_OK(rn_engine_open(&f->model, 1, &o, &f->engine, &err), &err);
}

// What a session saved by an engine becomes in another one, and whether its next turn is that of the first engine.
static void carry_over(const struct fixture *from, const struct fixture *to, size_t kind, const char *reason) {
    static struct outcome first, want, got;
    rn_error err = {0};
    rn_saved saved;
    rn_session *s = new_session(from), *copy = NULL;
    turn(from, s, kind, &first);
    save_session(s, saved_path("talk"), NULL, true);
    turn(from, s, kind, &want);
    rn_saved_init(&saved);
    if (CHECK_OK(rn_session_load(to->engine, 0, saved_path("talk"), &copy, &saved, &err), &err)) {
        CHECK(*reason ? strstr(saved.reason, reason) != NULL : !*saved.reason);
        CHECK((saved.n_restored > 0) == !*reason);
        turn(to, copy, kind, &got);
        if (!*reason) CHECK_STR(got.text, want.text);
        if (!*reason) CHECK_INT(got.usage.cached_tokens, want.usage.cached_tokens);
        rn_free(saved.note);
    }
    rn_session_close(s);
    rn_session_close(copy);
}

TEST(a_saved_session_finds_an_adapter_that_is_loaded_under_two_names) {
    const char *const one = adapter_path(0), *const two = adapter_path(1);
    struct fixture twice, renamed, first, other;
    if (!made_adapter_write(&adapters[0], stories(), one) || !made_adapter_write(&adapters[1], stories(), two))
        return;
    const bool ok = open_in_order(&twice, (const char *const[]){one, one}, (const char *const[]){"a", "b"}),
               has_renamed =
                   open_in_order(&renamed, (const char *const[]){one, one}, (const char *const[]){"c", "d"}),
               has_first = open_in_order(&first, (const char *const[]){one, two}, (const char *const[]){"a", "b"}),
               has_other = open_in_order(&other, (const char *const[]){two, one}, (const char *const[]){"b", "a"});
    if (ok && has_renamed && has_first && has_other)
        for (size_t kind = 1; kind < N_KINDS; kind++) {
            check_note("adapters %zu", kind);
            carry_over(&twice, &twice, kind, "");
            if (kind != 2)
                carry_over(&twice, &renamed, kind, ""); // 2 names the second one, which is called otherwise there
        }
    if (has_first && has_other)
        carry_over(&first, &other, 3, "adapter a before b, which are loaded the other way round");
    fixture_close(&twice);
    fixture_close(&renamed);
    fixture_close(&first);
    fixture_close(&other);
}

TEST(a_turn_with_other_adapters_evaluates_all_anew) {
    static struct outcome one, two, want;
    const rn_engine_options o = engine_options();
    struct fixture f;
    if (open_adapted(&f, &o)) {
        rn_session *s = new_session(&f), *fresh = new_session(&f);
        turn(&f, s, 1, &one);
        turn(&f, s, 2, &two);
        CHECK_INT(two.usage.cached_tokens, 0);
        turn(&f, fresh, 1, &one);
        turn(&f, fresh, 2, &want);
        CHECK_STR(two.text, want.text);
        rn_session_close(s);
        rn_session_close(fresh);
    }
    fixture_close(&f);
}

TEST(what_adapters_are_and_take_is_told) {
    const rn_engine_options o = engine_options();
    struct fixture f;
    rn_adapter_info info = {sizeof info};
    rn_model_info model = {sizeof model};
    rn_engine_info engine = {sizeof engine};
    rn_memory memory = {sizeof memory};
    if (open_adapted(&f, &o)) {
        CHECK_OK(rn_model_get_info(f.model, &model, NULL), NULL);
        CHECK_INT(model.n_adapters, N_ADAPTERS);
        CHECK_OK(rn_model_get_adapter(f.model, 0, &info, NULL), NULL);
        CHECK_STR(info.name, "first");
        CHECK_STR(info.format, "GGUF v3");
        CHECK(info.rank == 4 && info.n_tensors > 0 && info.n_params > info.n_tensors);
        CHECK_OK(rn_model_get_adapter(f.model, 1, &info, NULL), NULL);
        CHECK_STR(info.name, "other");
        CHECK_OK(rn_engine_get_info(f.engine, 0, &engine, NULL), NULL);
        CHECK(engine.adapter_bytes >= info.n_params * sizeof(float));
        CHECK_HAS(engine.plan, "adapters ");
        CHECK_OK(rn_engine_get_memory(f.engine, &memory, NULL), NULL);
        CHECK_INT(memory.part[RN_MEMORY_ADAPTERS].planned, engine.adapter_bytes);
        CHECK(memory.part[RN_MEMORY_ADAPTERS].resident >= engine.adapter_bytes);
    }
    fixture_close(&f);
}

TEST(wrong_adapters_are_refused_by_name) {
    const rn_engine_options o = engine_options();
    struct fixture f;
    rn_error err = {0};
    rn_stream *s;
    rn_adapter_info info = {sizeof info};
    if (open_adapted(&f, &o)) {
        static const struct {
            rn_adapter list[2];
            size_t n;
            const char *text;
        } rows[] = {
            {{{2, 1}}, 1, "adapters[0]: adapter 2, the model has 2"},
            {{{0, 1001}}, 1, "adapters[0]: scale 1001 is outside -1000..1000"},
            {{{0, 1}, {0, 1}}, 2, "adapter 0: named twice"},
        };
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            rn_request r = request(0);
            r.adapters = rows[i].list, r.n_adapters = rows[i].n;
            CHECK_FAILS(rn_stream_begin(f.engine, &r, &s, &err), RN_E_ARG, &err);
            CHECK_STR(err.text, rows[i].text);
            CHECK_FAILS(rn_engine_set_adapters(f.engine, 0, rows[i].list, rows[i].n, &err), RN_E_ARG, &err);
        }
        CHECK_FAILS(rn_engine_set_adapters(f.engine, 1, NULL, 0, &err), RN_E_ARG, &err);
        CHECK_FAILS(rn_model_get_adapter(f.model, 2, &info, &err), RN_E_ARG, &err);
        CHECK_FAILS(rn_model_add_adapter(f.model, adapter_path(0), NULL, &err), RN_E_STATE, &err);
    }
    fixture_close(&f);
    rn_model *m;
    if (CHECK_OK(rn_model_open(stories(), NULL, &m, &err), &err) && add_adapters(m, 1)) {
        CHECK_FAILS(rn_model_add_adapter(m, adapter_path(0), NULL, &err), RN_E_ARG, &err);
        CHECK_HAS(err.text, "adapter first: the model has one of this name");
        CHECK_FAILS(rn_model_add_adapter(m, stories(), "x", &err), RN_E_FORMAT, &err);
        CHECK_HAS(err.text, "key general.type: 'model', expected 'adapter'");
    }
    rn_model_close(m);
}

static rn_status open_and_close(void *user) {
    const char *const *paths = user;
    rn_model *m = NULL;
    rn_engine *e = NULL;
    rn_engine_options o = engine_options();
    o.n_threads = 2;
    rn_status st = rn_model_open(stories(), NULL, &m, NULL);
    if (st == RN_OK) st = rn_model_add_adapter(m, paths[0], NULL, NULL);
    if (st == RN_OK) st = rn_model_add_adapter(m, paths[1], NULL, NULL);
    if (st == RN_OK) st = rn_engine_open(&m, 1, &o, &e, NULL);
    rn_engine_close(e);
    rn_model_close(m);
    return st;
}

TEST(any_failed_allocation_is_reported_and_leaks_nothing) {
    const char *paths[] = {adapter_path(0), adapter_path(1)};
    if (made_adapter_write(&adapters[0], stories(), paths[0]) &&
        made_adapter_write(&adapters[1], stories(), paths[1]))
        check_each_failed_allocation(open_and_close, paths, __FILE__, __LINE__);
}
