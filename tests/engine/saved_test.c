// tests/engine/saved_test.c - sessions saved and loaded: the same text afterwards, what is left aside and why, files whole or absent.
#include "base/mem.h"
#include "saved_rig.h"
#include "tests/support/left_behind.h"
#include <signal.h>
#include <sys/resource.h>

// --- what comes back ---

// Another computer: threads, CPU set, context, batch, streams.
static rn_engine_options elsewhere(const rn_engine_options *like) {
    rn_engine_options o = *like;
    o.n_threads = 3, o.cpu = "ref", o.n_ctx = 300, o.n_batch = 32, o.n_streams = 2;
    return o;
}

static void check_goes_on(const struct arch_model *m, const rn_engine_options *o, size_t n_first) {
    struct fixture a, b;
    static struct outcome one, want, got;
    const rn_engine_options other = elsewhere(o);
    rn_saved saved;
    if (open_arch(&a, m, o) && open_arch(&b, m, &other)) {
        rn_session *s = new_session(&a), *copy = NULL;
        id_turn(&a, s, 1, n_first, &one);
        save_session(s, saved_path("talk"), "hello", true);
        copy = load_session(&b, saved_path("talk"), &saved);
        CHECK_STR(saved.reason, "");
        CHECK_INT(saved.n_tokens, n_first + 10);
        CHECK_INT(saved.n_positions, n_first + 9); // the last token made waits for the next turn
        CHECK_INT(saved.n_loaded, saved.n_tokens);
        CHECK_INT(saved.n_restored, saved.n_positions);
        if (copy && id_turn(&a, s, 2, 30, &want) && id_turn(&b, copy, 2, 30, &got)) {
            same_outcome(&got, &want);
            CHECK_INT(got.usage.cached_tokens, n_first + 9);
        }
        rn_session_close(s);
        rn_session_close(copy);
    }
    fixture_close(&a);
    fixture_close(&b);
}

TEST(a_session_goes_on_elsewhere_with_the_same_tokens_and_evaluates_only_what_is_new) {
    const rn_engine_options o = engine_options();
    for (int i = 0; i < N_SAVED_SUBJECTS; i++)
        for (size_t n = 54; n <= 120; n += 33) { // 63, 96, 129 positions
            check_note("%s, %zu ids", saved_subjects[i].why, n);
            check_goes_on(&saved_subjects[i].m, &o, n);
        }
}

TEST(with_every_type_of_keys_and_values) {
    for (rn_kv_type t = RN_KV_F16; t <= RN_KV_BF16; t++)
        for (int i = 0; i < 3; i++) {
            rn_engine_options o = engine_options();
            o.kv_type = t;
            check_note("type %d, %s", (int)t, saved_subjects[i].why);
            check_goes_on(&saved_subjects[i].m, &o, 100);
        }
}

TEST(without_keys_and_values_the_next_turn_evaluates_all_and_gives_the_same) {
    const rn_engine_options o = engine_options();
    for (int i = 0; i < N_SAVED_SUBJECTS; i++) {
        struct fixture a, b;
        static struct outcome one, want, got;
        rn_saved saved;
        check_note("%s", saved_subjects[i].why);
        if (open_arch(&a, &saved_subjects[i].m, &o) && open_arch(&b, &saved_subjects[i].m, &o)) {
            rn_session *s = new_session(&a), *copy;
            id_turn(&a, s, 1, 90, &one);
            save_session(s, saved_path("talk"), NULL, false);
            copy = load_session(&b, saved_path("talk"), &saved);
            CHECK_STR(saved.reason, "saved without keys and values");
            CHECK_INT(saved.n_loaded, 100);
            CHECK_INT(saved.n_restored, 0);
            CHECK(saved.file_bytes < 1000 + 4 * 100);
            if (copy && id_turn(&a, s, 2, 30, &want) && id_turn(&b, copy, 2, 30, &got)) {
                same_outcome(&got, &want);
                CHECK_INT(got.usage.cached_tokens, 0);
            }
            rn_session_close(s);
            rn_session_close(copy);
        }
        fixture_close(&a);
        fixture_close(&b);
    }
}

TEST(text_and_end_of_a_real_models_story_are_the_same_in_another_engine) {
    struct fixture a, b;
    const rn_engine_options o = engine_options(), other = elsewhere(&o);
    static struct outcome one, want, got;
    rn_saved saved;
    if (fixture_open(&a, &o) && fixture_open(&b, &other)) {
        rn_session *s = new_session(&a), *copy;
        rn_request r = text_request("Once upon a time");
        r.session = s, r.max_tokens = 80;
        run_request(a.engine, &r, &one);
        save_session(s, saved_path("talk"), "{}", true);
        copy = load_session(&b, saved_path("talk"), &saved);
        r = text_request(" Then came a dog.");
        r.session = s;
        run_request(a.engine, &r, &want);
        r.session = copy;
        if (run_request(b.engine, &r, &got)) same_outcome(&got, &want);
        CHECK_STR(saved.architecture, "llama");
        CHECK_STR(saved.arithmetic, "runnel-1");
        CHECK_STR(saved.kv_type, "f16");
        rn_session_close(s);
        rn_session_close(copy);
    }
    fixture_close(&a);
    fixture_close(&b);
}

TEST(a_loaded_session_can_be_cut_and_forked_and_saved_again) {
    const rn_engine_options o = engine_options();
    for (int i = 0; i < N_SAVED_SUBJECTS; i++) {
        struct fixture f, fresh;
        static struct outcome one, want, got, first, forked;
        rn_saved saved;
        rn_error err = {0};
        check_note("%s", saved_subjects[i].why);
        if (open_arch(&f, &saved_subjects[i].m, &o) && open_arch(&fresh, &saved_subjects[i].m, &o)) {
            rn_session *s = new_session(&f), *copy, *fork = NULL;
            id_turn(&f, s, 1, 90, &one);
            save_session(s, saved_path("first"), "note", true);
            copy = load_session(&fresh, saved_path("first"), &saved);
            save_session(copy, saved_path("second"), "note", true);
            size_t n1, n2;
            uint8_t *a = read_file(saved_path("first"), &n1), *b = read_file(saved_path("second"), &n2);
            if (CHECK(a && b) && CHECK_INT(n2, n1)) CHECK(memcmp(a, b, n1) == 0);
            free(a);
            free(b);
            CHECK_OK(rn_session_fork(copy, &fork, &err), &err);
            id_turn(&fresh, copy, 2, 30, &first);
            id_turn(&fresh, fork, 2, 30, &forked);
            same_outcome(&forked, &first);
            CHECK_OK(rn_session_truncate(copy, 95, &err), &err);
            CHECK_OK(rn_session_truncate(s, 95, &err), &err);
            id_turn(&f, s, 3, 20, &want);
            if (id_turn(&fresh, copy, 3, 20, &got)) same_outcome(&got, &want);
            CHECK_INT(got.usage.cached_tokens, saved_subjects[i].has_states ? 0 : 95);
            rn_session_close(s);
            rn_session_close(copy);
            rn_session_close(fork);
        }
        fixture_close(&f);
        fixture_close(&fresh);
    }
}

TEST(what_is_loaded_serves_no_other_stream_and_an_honest_prefix_stays) {
    struct fixture f, fresh;
    const rn_engine_options o = engine_options();
    static struct outcome one, other;
    rn_saved saved;
    if (open_arch(&f, &saved_subjects[0].m, &o) && open_arch(&fresh, &saved_subjects[0].m, &o)) {
        rn_session *s = new_session(&f), *copy;
        id_turn(&f, s, 1, 90, &one);
        save_session(s, saved_path("talk"), NULL, true);
        copy = load_session(&fresh, saved_path("talk"), &saved);
        id_turn(&fresh, NULL, 1, 90, &other); // the same text, by somebody else
        CHECK_INT(other.usage.cached_tokens, 0);
        same_outcome(&other, &one);
        rn_session_close(copy);
        id_turn(&fresh, NULL, 1, 90, &other);
        CHECK_INT(other.usage.cached_tokens, 89);
        rn_session_close(s);
    }
    fixture_close(&f);
    fixture_close(&fresh);
}

TEST(a_session_whose_pages_were_given_back_is_saved_with_what_the_cache_still_has) {
    struct fixture f;
    rn_engine_options o = engine_options();
    static struct outcome out;
    rn_saved saved;
    o.n_ctx = 256, o.n_kv = 256; // six pages
    if (open_arch(&f, &saved_subjects[0].m, &o)) {
        rn_session *s = new_session(&f);
        id_turn(&f, s, 1, 150, &out);
        id_turn(&f, NULL, 2, 240, &out); // needs four
        save_session(s, saved_path("talk"), NULL, true);
        rn_saved_init(&saved);
        CHECK_INT(rn_session_peek(saved_path("talk"), &saved, NULL), RN_OK);
        CHECK_INT(saved.n_tokens, 160);
        CHECK_INT(saved.n_positions, 128);
        rn_free(saved.note);
        rn_session_close(s);
    }
    fixture_close(&f);
}

// --- what is left aside, and why ---

TEST(another_model_gives_the_note_and_an_empty_session_that_says_whose_it_is) {
    struct fixture a, b;
    const rn_engine_options o = engine_options();
    struct arch_model retrained = saved_subjects[0].m;
    static struct outcome out;
    rn_session *copy = NULL;
    rn_saved saved;
    rn_error err = {0};
    const int32_t *tokens;
    size_t n_tokens;
    retrained.seed = 5; // the same shapes and names
    if (open_arch(&a, &saved_subjects[0].m, &o) && open_arch(&b, &retrained, &o)) {
        rn_session *s = new_session(&a);
        id_turn(&a, s, 1, 20, &out);
        save_session(s, saved_path("talk"), "what was said", true);
        rn_saved_init(&saved);
        CHECK_OK(rn_session_load(b.engine, 0, saved_path("talk"), &copy, &saved, &err), &err);
        CHECK_STR(saved.note, "what was said");
        CHECK_STR(saved.model, "llama-3.gguf");
        CHECK_INT(saved.n_loaded, 0);
        CHECK_INT(saved.n_tokens, 30);
        CHECK_HAS(saved.reason, "saved with another model, or by another version of runnel: llama-3.gguf (llama, "
                                "fingerprint ");
        CHECK_HAS(saved.reason, "): the session is empty, give it the conversation again");
        rn_free(saved.note);
        CHECK_OK(rn_session_tokens(copy, &tokens, &n_tokens, &err), &err);
        CHECK_INT(n_tokens, 0);
        CHECK(id_turn(&b, copy, 1, 20, &out));
        rn_session_close(copy);
        rn_session_close(s);
    }
    fixture_close(&a);
    fixture_close(&b);
}

TEST(a_copy_of_the_model_under_another_name_is_the_same_model) {
    struct fixture a, b;
    const rn_engine_options o = engine_options();
    static struct outcome out;
    rn_saved saved;
    rn_error err = {0};
    size_t n;
    uint8_t *bytes = arch_model_bytes(&saved_subjects[0].m, &n);
    CHECK(write_file(saved_path("copy.gguf"), bytes, n));
    free(bytes);
    b = (struct fixture){0};
    if (open_arch(&a, &saved_subjects[0].m, &o) &&
        CHECK_OK(rn_model_open(saved_path("copy.gguf"), NULL, &b.model, &err), &err) &&
        CHECK_OK(rn_engine_open(&b.model, 1, &o, &b.engine, &err), &err)) {
        rn_session *s = new_session(&a), *copy;
        id_turn(&a, s, 1, 20, &out);
        save_session(s, saved_path("talk"), NULL, true);
        copy = load_session(&b, saved_path("talk"), &saved);
        CHECK_INT(saved.n_restored, 29);
        rn_session_close(copy);
        rn_session_close(s);
    }
    fixture_close(&a);
    fixture_close(&b);
}

TEST(what_does_not_fit_the_engine_is_named) {
    static const struct {
        const char *why;
        int32_t n_ctx;
        rn_kv_type type;
        size_t n_loaded, n_restored;
        const char *reason;
    } rows[] = {
        {"a context as long as the text", 100, RN_KV_F16, 100, 99, ""},
        {"a shorter one", 99, RN_KV_F16, 0, 0, "100 tokens do not fit the context of 99"},
        {"another type", 512, RN_KV_Q8, 100, 0, "keys and values of type f16, this engine has q8"},
    };
    struct fixture a;
    const rn_engine_options o = engine_options();
    static struct outcome out;
    if (open_arch(&a, &saved_subjects[0].m, &o)) {
        rn_session *s = new_session(&a);
        id_turn(&a, s, 1, 90, &out);
        save_session(s, saved_path("talk"), NULL, true);
        rn_session_close(s);
    }
    fixture_close(&a);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rn_engine_options other = engine_options();
        rn_saved saved;
        other.n_ctx = rows[i].n_ctx, other.kv_type = rows[i].type;
        check_note("%s", rows[i].why);
        if (open_arch(&a, &saved_subjects[0].m, &other)) {
            rn_session_close(load_session(&a, saved_path("talk"), &saved));
            CHECK_STR(saved.reason, rows[i].reason);
            CHECK_INT(saved.n_loaded, rows[i].n_loaded);
            CHECK_INT(saved.n_restored, rows[i].n_restored);
        }
        fixture_close(&a);
    }
}

TEST(idle_sessions_make_room_for_a_loaded_one_and_running_streams_do_not) {
    struct fixture f;
    rn_engine_options o = engine_options();
    static struct outcome out;
    static int32_t ids[200];
    rn_saved saved;
    rn_error err = {0};
    o.n_ctx = 256, o.n_kv = 256; // six pages
    if (open_arch(&f, &saved_subjects[0].m, &o)) {
        rn_session *s = new_session(&f), *copy;
        id_turn(&f, s, 1, 150, &out);
        save_session(s, saved_path("talk"), NULL, true);
        copy = load_session(&f, saved_path("talk"), &saved);
        CHECK_INT(saved.n_restored, 159);
        rn_session_close(copy);
        rn_session_close(s);

        rn_stream *stream;
        rn_chunk c = new_chunk();
        const rn_part part = {.kind = RN_PART_IDS, .ids = ids, .n_ids = 200};
        rn_request r;
        rn_request_init(&r);
        r.parts = &part, r.n_parts = 1, r.add_special = false, r.ignore_eos = true, r.buffer_tokens = 1;
        CHECK_OK(rn_stream_begin(f.engine, &r, &stream, &err), &err); // waits for its reader, and keeps its pages
        CHECK_OK(rn_stream_next(stream, -1, &c, &err), &err);
        copy = load_session(&f, saved_path("talk"), &saved);
        CHECK_HAS(saved.reason, "no room for keys and values: kv: 159 positions need 3 pages of group 0, ");
        CHECK_INT(saved.n_loaded, 160);
        CHECK_INT(saved.n_restored, 0);
        rn_stream_close(stream);
        CHECK(id_turn(&f, copy, 2, 5, &out));
        rn_session_close(copy);
    }
    fixture_close(&f);
}

// --- notes, arguments ---

TEST(a_note_comes_back_byte_for_byte_up_to_its_limit) {
    static const size_t sizes[] = {0, 1, 7, 4096, RN_SAVED_MAX_NOTE - 1, RN_SAVED_MAX_NOTE, RN_SAVED_MAX_NOTE + 1};
    struct fixture f;
    const rn_engine_options o = engine_options();
    char *note = malloc(RN_SAVED_MAX_NOTE + 1);
    for (size_t i = 0; i <= RN_SAVED_MAX_NOTE; i++) note[i] = (char)(i * 7 + (i >> 9));
    if (open_arch(&f, &saved_subjects[0].m, &o)) {
        rn_session *s = new_session(&f);
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            rn_save_options opt;
            rn_saved saved;
            rn_error err = {0};
            check_note("%zu bytes", sizes[i]);
            rn_save_options_init(&opt);
            opt.note = note, opt.n_note = sizes[i];
            const rn_status st = rn_session_save(s, saved_path("note"), &opt, &err);
            CHECK_INT(st, sizes[i] > RN_SAVED_MAX_NOTE ? RN_E_LIMIT : RN_OK);
            if (st != RN_OK) {
                CHECK_STR(err.text, "note: 16777217 bytes, limit 16777216");
                continue;
            }
            rn_saved_init(&saved);
            CHECK_OK(rn_session_peek(saved_path("note"), &saved, &err), &err);
            if (CHECK_INT(saved.n_note, sizes[i])) CHECK_MEM(saved.note, note, sizes[i]);
            CHECK(saved.note && saved.note[sizes[i]] == 0);
            CHECK_INT(saved.n_tokens + saved.n_loaded, 0);
            CHECK_STR(saved.model, "llama-3.gguf");
            rn_free(saved.note);
        }
        rn_session_close(s);
    }
    fixture_close(&f);
    free(note);
}

TEST(an_empty_session_and_a_null_for_options_are_saved_and_loaded_too) {
    struct fixture f;
    const rn_engine_options o = engine_options();
    static struct outcome out;
    rn_saved saved;
    rn_error err = {0};
    if (open_arch(&f, &saved_subjects[4].m, &o)) {
        rn_session *s = new_session(&f);
        save_session(s, saved_path("empty"), NULL, true);
        CHECK_OK(rn_session_save(s, saved_path("empty"), NULL, &err), &err);
        rn_session *copy = load_session(&f, saved_path("empty"), &saved);
        CHECK_STR(saved.reason, "");
        CHECK(id_turn(&f, copy, 1, 20, &out));
        rn_session_close(copy);
        rn_session_close(s);
    }
    fixture_close(&f);
}

TEST(wrong_arguments_and_a_running_stream_are_refused) {
    struct fixture f;
    const rn_engine_options o = engine_options();
    rn_save_options opt;
    rn_saved saved;
    rn_session *copy = NULL;
    rn_stream *stream;
    rn_error err = {0};
    rn_save_options_init(&opt);
    rn_saved_init(&saved);
    if (!open_arch(&f, &saved_subjects[0].m, &o)) return;
    rn_session *s = new_session(&f);
    CHECK_FAILS(rn_session_save(NULL, "x", &opt, &err), RN_E_ARG, &err);
    CHECK_FAILS(rn_session_save(s, NULL, &opt, &err), RN_E_ARG, &err);
    CHECK_FAILS(rn_session_load(f.engine, 0, saved_path("none"), NULL, &saved, &err), RN_E_ARG, &err);
    CHECK_FAILS(rn_session_load(f.engine, 0, saved_path("none"), &copy, NULL, &err), RN_E_ARG, &err);
    CHECK_FAILS(rn_session_load(f.engine, 0, saved_path("none"), &copy, &saved, &err), RN_E_IO, &err);
    CHECK_HAS(err.text, "none: cannot be opened: No such file");
    CHECK_FAILS(rn_session_peek(temp_dir(), &saved, &err), RN_E_IO, &err);
    CHECK_HAS(err.text, "is a directory");
    CHECK_FAILS(rn_session_save(s, saved_path("llama-3.gguf"), &opt, &err), RN_E_ARG, &err);
    CHECK_HAS(err.text, "llama-3.gguf: is a file of the model");
    opt.n_note = 3;
    CHECK_FAILS(rn_session_save(s, saved_path("talk"), &opt, &err), RN_E_ARG, &err);
    CHECK_STR(err.text, "note: NULL with n_note 3");
    opt.n_note = 0;
    opt.struct_size = 8;
    CHECK_FAILS(rn_session_save(s, saved_path("talk"), &opt, &err), RN_E_ARG, &err);
    saved.struct_size++;
    CHECK_FAILS(rn_session_peek(saved_path("talk"), &saved, &err), RN_E_ARG, &err);
    rn_saved_init(&saved);
    save_session(s, saved_path("talk"), NULL, false);
    CHECK_FAILS(rn_session_load(f.engine, 1, saved_path("talk"), &copy, &saved, &err), RN_E_ARG, &err);

    const rn_part part = {.kind = RN_PART_IDS, .ids = (const int32_t[]){1, 2, 3}, .n_ids = 3};
    rn_request r;
    rn_request_init(&r);
    r.parts = &part, r.n_parts = 1, r.session = s, r.add_special = false, r.ignore_eos = true, r.buffer_tokens = 1;
    CHECK_OK(rn_stream_begin(f.engine, &r, &stream, &err), &err);
    CHECK_FAILS(rn_session_save(s, saved_path("talk"), NULL, &err), RN_E_STATE, &err);
    rn_stream_close(stream);
    save_session(s, saved_path("talk"), NULL, true);
    rn_session_close(s);
    fixture_close(&f);
}

// --- faults ---

struct faulty {
    struct fixture f;
    rn_session *session;
};

static rn_status save_once(void *user) {
    const struct faulty *x = user;
    rn_save_options o;
    rn_save_options_init(&o);
    o.note = "note", o.n_note = 4, o.with_kv = true;
    const rn_status st = rn_session_save(x->session, saved_path("faulty"), &o, NULL);
    CHECK_INT(n_files_in(temp_dir(), "faulty"), 1); // the old one or the new one, and nothing beside it
    return st;
}

static rn_status load_once(void *user) {
    const struct faulty *x = user;
    rn_session *s = NULL;
    rn_saved saved;
    rn_saved_init(&saved);
    const rn_status st = rn_session_load(x->f.engine, 0, saved_path("faulty"), &s, &saved, NULL);
    CHECK((s != NULL) == (st == RN_OK) && (saved.note != NULL) == (st == RN_OK));
    if (st == RN_OK) CHECK_INT(saved.n_restored, 99);
    rn_session_close(s);
    rn_free(saved.note);
    return st;
}

static rn_status peek_once(void *user) {
    (void)user;
    rn_saved saved;
    rn_saved_init(&saved);
    const rn_status st = rn_session_peek(saved_path("faulty"), &saved, NULL);
    rn_free(saved.note);
    return st;
}

TEST(every_failed_allocation_is_reported_leaks_nothing_and_leaves_the_file_as_it_was) {
    struct faulty x = {0};
    const rn_engine_options o = engine_options();
    static struct outcome out;
    if (open_arch(&x.f, &saved_subjects[4].m, &o)) {
        x.session = new_session(&x.f);
        id_turn(&x.f, x.session, 1, 90, &out);
        save_session(x.session, saved_path("faulty"), "note", true);
        check_each_failed_allocation(save_once, &x, __FILE__, __LINE__);
        check_each_failed_allocation(load_once, &x, __FILE__, __LINE__);
        check_each_failed_allocation(peek_once, &x, __FILE__, __LINE__);
        CHECK(id_turn(&x.f, x.session, 2, 20, &out));
        rn_session_close(x.session);
    }
    fixture_close(&x.f);
}

TEST(a_full_disk_keeps_the_old_file_and_leaves_nothing_else) {
    struct fixture f;
    struct rlimit before;
    const rn_engine_options o = engine_options();
    static struct outcome out;
    rn_saved saved;
    getrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, SIG_IGN);
    if (open_arch(&f, &saved_subjects[0].m, &o)) {
        rn_session *s = new_session(&f);
        id_turn(&f, s, 1, 90, &out);
        save_session(s, saved_path("full"), "old", true);
        rn_saved_init(&saved);
        CHECK_INT(rn_session_peek(saved_path("full"), &saved, NULL), RN_OK);
        rn_free(saved.note);
        for (rlim_t room = 0; room < saved.file_bytes; room += saved.file_bytes / 7 + 1) {
            rn_save_options opt;
            rn_error err = {0};
            rn_save_options_init(&opt);
            opt.note = "new", opt.n_note = 3, opt.with_kv = true;
            setrlimit(RLIMIT_FSIZE, &(struct rlimit){room, before.rlim_max});
            const rn_status st = rn_session_save(s, saved_path("full"), &opt, &err);
            setrlimit(RLIMIT_FSIZE, &before);
            CHECK_INT(st, RN_E_IO);
            CHECK_HAS(err.text, "full: cannot be written: File too large");
            CHECK_INT(n_files_in(temp_dir(), "full"), 1);
            rn_saved_init(&saved);
            if (CHECK_INT(rn_session_peek(saved_path("full"), &saved, NULL), RN_OK)) CHECK_STR(saved.note, "old");
            rn_free(saved.note);
        }
        rn_session_close(s);
    }
    fixture_close(&f);
}

TEST(a_session_is_saved_while_other_streams_run) {
    struct fixture f;
    rn_engine_options o = engine_options();
    static struct outcome out, alone, beside;
    static int32_t ids[40];
    rn_saved saved;
    rn_error err = {0};
    o.n_streams = 2;
    if (open_arch(&f, &saved_subjects[1].m, &o)) {
        rn_session *s = new_session(&f), *copy;
        rn_stream *stream;
        const rn_part part = {.kind = RN_PART_IDS, .ids = ids, .n_ids = 40};
        rn_request r;
        rn_request_init(&r);
        r.parts = &part, r.n_parts = 1, r.add_special = false, r.ignore_eos = true;
        r.max_tokens = 300, r.has_seed = true, r.logprobs = 0;
        run_request(f.engine, &r, &alone);
        id_turn(&f, s, 1, 90, &out);
        CHECK_OK(rn_stream_begin(f.engine, &r, &stream, &err), &err);
        for (int i = 0; i < 3; i++) {
            save_session(s, saved_path("beside"), NULL, true);
            copy = load_session(&f, saved_path("beside"), &saved);
            CHECK_INT(saved.n_restored, 99);
            rn_session_close(copy);
        }
        beside = (struct outcome){0};
        drain(stream, &beside);
        same_outcome(&beside, &alone);
        rn_stream_close(stream);
        rn_session_close(s);
    }
    fixture_close(&f);
}
