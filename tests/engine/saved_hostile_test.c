// tests/engine/saved_hostile_test.c - saved sessions that are damaged, cut off, or made by somebody who wants something.
#include "base/mem.h"
#include "fuzz/session_repair.h"
#include "saved_rig.h"

// A file of 100 tokens on a small model, and an engine to load it.
struct victim {
    struct fixture f;
    uint8_t *file, *bytes; // as saved; to be spoiled
    size_t n;
    struct outcome next; // what follows
};

static bool victim_open(struct victim *v, int subject, rn_kv_type type) {
    rn_engine_options o = engine_options();
    static struct outcome one;
    *v = (struct victim){0};
    o.kv_type = type;
    if (!open_arch(&v->f, &saved_subjects[subject].m, &o)) return false;
    rn_session *s = new_session(&v->f);
    const bool ok = id_turn(&v->f, s, 1, 90, &one) && save_session(s, saved_path("sound"), "{\"a\": 1}", true) &&
                    id_turn(&v->f, s, 2, 30, &v->next);
    rn_session_close(s);
    v->file = read_file(saved_path("sound"), &v->n);
    v->bytes = malloc(v->n + 100);
    if (v->file) memcpy(v->bytes, v->file, v->n);
    return ok && v->file;
}

static void victim_close(struct victim *v) {
    fixture_close(&v->f);
    free(v->file);
    free(v->bytes);
}

static rn_status load_bytes(const struct victim *v, size_t n, rn_session **s, rn_error *err) {
    rn_saved saved;
    rn_saved_init(&saved);
    CHECK(write_file(saved_path("spoiled"), v->bytes, n));
    const rn_status st = rn_session_load(v->f.engine, 0, saved_path("spoiled"), s, &saved, err);
    rn_free(saved.note);
    return st;
}

// Offsets in the file: a header of 32 bytes, then sections of 32 + record + 8.
enum {
    HEAD = 32,
    HEAD_RECORD = HEAD + 32,
    NOTE = HEAD_RECORD + 280 + 8,
    TOKENS = NOTE + 32 + 8 + 8,
    FIRST_PART = TOKENS + 32 + 400 + 8,
    TEXTS = HEAD_RECORD + 24,
    MODEL_BYTES = 128
};

// Refused, with nothing left behind.
static bool check_refused(const struct victim *v, size_t n, rn_status want, rn_error *err) {
    rn_session *s = NULL;
    const long live = mem_live();
    *err = (rn_error){0};
    const bool ok = CHECK_INT(load_bytes(v, n, &s, err), want) && CHECK(s == NULL) && CHECK_INT(mem_live(), live) &&
                    CHECK_HAS(err->text, "spoiled: ");
    rn_session_close(s);
    return ok;
}

// The intact file still loads and works.
static void check_still_sound(const struct victim *v) {
    static struct outcome got;
    rn_saved saved;
    rn_session *s = load_session(&v->f, saved_path("sound"), &saved);
    CHECK_INT(saved.n_restored, 99);
    if (s && id_turn(&v->f, s, 2, 30, &got)) same_outcome(&got, &v->next);
    rn_session_close(s);
}

TEST(a_flipped_bit_anywhere_is_damage) {
    struct victim v;
    rn_error err;
    if (victim_open(&v, 4, RN_KV_F16)) // windows, states: every kind of section
        for (size_t i = 0; i < v.n; i += i < 1200 || i > v.n - 100 ? 1 : 61) {
            check_note("byte %zu of %zu", i, v.n);
            v.bytes[i] ^= (uint8_t)(1 << i % 8);
            const rn_status want = i >= 8 && i < 12 ? RN_E_UNSUPPORTED : RN_E_FORMAT; // the version
            if (!check_refused(&v, v.n, want, &err)) break;
            v.bytes[i] = v.file[i];
        }
    check_still_sound(&v);
    victim_close(&v);
}

TEST(a_stretch_overwritten_or_two_exchanged_are_damage) {
    struct victim v;
    rn_error err;
    if (victim_open(&v, 0, RN_KV_F16)) {
        for (size_t i = 0; i + 64 < v.n; i += 509) {
            check_note("from byte %zu of %zu on", i, v.n);
            memset(v.bytes + i, 0x2e, 64);
            if (!check_refused(&v, v.n, i < 8 ? RN_E_FORMAT : i < 12 ? RN_E_UNSUPPORTED : RN_E_FORMAT, &err)) break;
            memcpy(v.bytes, v.file, v.n);
        }
        const size_t page = session_u64(v.file + FIRST_PART + 16) + 8, first = FIRST_PART + 32;
        memcpy(v.bytes + first, v.file + first + page, page); // each with its checksum
        memcpy(v.bytes + first + page, v.file + first, page);
        check_note("two pages exchanged");
        CHECK(check_refused(&v, v.n, RN_E_FORMAT, &err));
    }
    check_still_sound(&v);
    victim_close(&v);
}

TEST(a_file_cut_off_anywhere_says_its_two_lengths) {
    struct victim v;
    rn_error err;
    if (victim_open(&v, 4, RN_KV_F16))
        for (size_t n = 0; n < v.n; n += n < 1200 ? 1 : 1024) {
            char want[100];
            check_note("%zu of %zu bytes", n, v.n);
            if (n < 32)
                snprintf(want, sizeof want, "spoiled: %zu bytes are too few for a saved session", n);
            else
                snprintf(want, sizeof want, "spoiled: is %zu bytes long and says it has %zu", n, v.n);
            if (!check_refused(&v, n, RN_E_FORMAT, &err) || !CHECK_HAS(err.text, want)) break;
        }
    check_still_sound(&v);
    victim_close(&v);
}

TEST(a_cut_file_that_claims_its_new_length_is_refused_too) {
    struct victim v;
    rn_error err;
    if (victim_open(&v, 4, RN_KV_F16))
        for (size_t n = 32; n < v.n; n += n < 1200 ? 1 : 1024) {
            check_note("%zu of %zu bytes", n, v.n);
            memcpy(v.bytes, v.file, v.n);
            session_set(v.bytes + 16, n, 8);
            session_repair(v.bytes, n);
            if (!check_refused(&v, n, RN_E_FORMAT, &err)) break;
        }
    check_still_sound(&v);
    victim_close(&v);
}

TEST(numbers_that_lie_with_checksums_that_fit_are_refused_by_name) {
    static const struct {
        const char *why;
        size_t at, n_bytes;
        uint64_t value;
        rn_status st;
        const char *text;
    } rows[] = {
        {"another format", 0, 1, 'R', RN_E_FORMAT, "is not a saved session"},
        {"version 0", 8, 4, 0, RN_E_UNSUPPORTED,
         "version 0 of the saved-session format, this library reads version 1"},
        {"version 2", 8, 4, 2, RN_E_UNSUPPORTED, "version 2 of the saved-session format"},
        {"what is not used", 12, 4, 7, RN_E_FORMAT, "byte 12: 7 where 0 is expected"},
        {"a length of 2^64 - 1", 16, 8, UINT64_MAX, RN_E_FORMAT, "says it has 18446744073709551615"},
        {"another kind first", HEAD, 4, 2, RN_E_FORMAT, "kind 2.0 where 1.0 is expected"},
        {"another index", HEAD + 4, 4, 1, RN_E_FORMAT, "kind 1.1 where 1.0 is expected"},
        {"no head", HEAD + 8, 8, 0, RN_E_FORMAT, "head 0: 0 records of 280 bytes where 1 of 280 is expected"},
        {"2^63 heads", HEAD + 8, 8, UINT64_C(1) << 63, RN_E_FORMAT,
         "9223372036854775808 records of 280 bytes do not fit"},
        {"a head of 2^64 - 1 bytes", HEAD + 16, 8, UINT64_MAX, RN_E_FORMAT,
         "1 records of 18446744073709551615 bytes"},
        {"a head of 2^64 - 8 bytes", HEAD + 16, 8, UINT64_MAX - 7, RN_E_FORMAT, "do not fit the"},
        {"a head of 279 bytes", HEAD + 16, 8, 279, RN_E_FORMAT, "head 0: 1 records of 279 bytes where 1 of 280"},
        {"2^32 - 1 tokens", HEAD_RECORD + 8, 4, UINT32_MAX, RN_E_LIMIT, "4294967295 tokens, limit 1073741823"},
        {"as many tokens as can be", HEAD_RECORD + 8, 4, INT32_MAX / 2, RN_OK, ""}, // beyond the context: left aside
        {"one more", HEAD_RECORD + 8, 4, INT32_MAX / 2 + 1, RN_E_LIMIT, "1073741824 tokens, limit 1073741823"},
        {"a token more than there are", HEAD_RECORD + 8, 4, 101, RN_E_FORMAT,
         "tokens 0: 1 records of 400 bytes where 1 of 404"},
        {"fewer tokens than positions", HEAD_RECORD + 8, 4, 98, RN_E_FORMAT, "99 positions of 98 tokens"},
        {"more positions than tokens", HEAD_RECORD + 12, 4, 101, RN_E_FORMAT, "101 positions of 100 tokens"},
        {"fewer positions than pages", HEAD_RECORD + 12, 4, 64, RN_E_FORMAT, "part 0: 2 records of"},
        {"pages of nothing", HEAD_RECORD + 16, 4, 0, RN_E_FORMAT, "pages of 0 positions"},
        {"pages of 2^31", HEAD_RECORD + 16, 4, UINT64_C(1) << 31, RN_E_FORMAT, "pages of 2147483648 positions"},
        {"other pages", HEAD_RECORD + 16, 4, 32, RN_OK, ""}, // left aside
        {"a flag that nobody knows", HEAD_RECORD + 20, 4, 4, RN_E_FORMAT, "flags 0x4"},
        {"adapters that are not there", HEAD_RECORD + 20, 4, 2, RN_E_FORMAT, "kind 3.0 where 5.0 is expected"},
        {"two notes", NOTE + 8, 8, 2, RN_E_FORMAT, "2 notes where one is expected"},
        {"no note", NOTE + 8, 8, 0, RN_E_FORMAT, "0 notes where one is expected"},
        {"a note beyond the file", NOTE + 16, 8, 1 << 20, RN_E_FORMAT, "1 records of 1048576 bytes do not fit"},
        {"a token outside the vocabulary", TOKENS + 32 + 4 * 7, 4, SAVED_VOCAB, RN_E_FORMAT,
         "token 7: 60 is outside 0..59"},
        {"a negative token", TOKENS + 32 + 4 * 99, 4, UINT32_MAX, RN_E_FORMAT,
         "token 99: 4294967295 is outside 0..59"},
        {"a page less", FIRST_PART + 8, 8, 1, RN_E_FORMAT, "part 0: 1 records of"},
        {"2^60 pages", FIRST_PART + 8, 8, UINT64_C(1) << 60, RN_E_FORMAT, "do not fit the"},
        {"pages of 1 byte", FIRST_PART + 16, 8, 1, RN_E_FORMAT, "part 0: 2 records of 1 bytes where 2 of"},
    };
    struct victim v;
    rn_error err = {0};
    if (victim_open(&v, 0, RN_KV_F16)) {
        CHECK_INT(session_u64(v.file + TOKENS + 16), 400); // the places above are right
        CHECK_INT(session_u64(v.file + FIRST_PART + 8), 2);
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            rn_session *s = NULL;
            check_note("%s", rows[i].why);
            memcpy(v.bytes, v.file, v.n);
            session_set(v.bytes + rows[i].at, rows[i].value, rows[i].n_bytes);
            session_repair(v.bytes, v.n);
            if (rows[i].st == RN_OK) {
                CHECK_OK(load_bytes(&v, v.n, &s, &err), &err);
                rn_session_close(s);
            } else if (check_refused(&v, v.n, rows[i].st, &err)) {
                CHECK_HAS(err.text, rows[i].text);
            }
        }
    }
    check_still_sound(&v);
    victim_close(&v);
}

TEST(bytes_behind_the_last_section_are_refused) {
    struct victim v;
    rn_error err;
    if (victim_open(&v, 0, RN_KV_F16)) {
        memset(v.bytes + v.n, 0, 5);
        session_set(v.bytes + 16, v.n + 5, 8);
        session_repair(v.bytes, v.n);
        CHECK(check_refused(&v, v.n + 5, RN_E_FORMAT, &err));
        CHECK_HAS(err.text, "5 bytes follow the last section");
    }
    victim_close(&v);
}

TEST(names_are_made_fit_for_a_terminal_and_must_end) {
    struct victim v;
    rn_error err;
    rn_saved saved;
    if (victim_open(&v, 0, RN_KV_F16)) {
        memcpy(v.bytes + TEXTS, "\x1b[2J\ngreen\xff", 12);
        session_repair(v.bytes, v.n);
        CHECK(write_file(saved_path("names"), v.bytes, v.n));
        rn_saved_init(&saved);
        CHECK_OK(rn_session_peek(saved_path("names"), &saved, &err), &err);
        CHECK_STR(saved.model, "?[2J?green?");
        rn_free(saved.note);
        memset(v.bytes + TEXTS, 'x', MODEL_BYTES);
        session_repair(v.bytes, v.n);
        CHECK(check_refused(&v, v.n, RN_E_FORMAT, &err));
        CHECK_HAS(err.text, "the name of its model is not terminated");
    }
    victim_close(&v);
}

TEST(other_arithmetics_keys_are_left_aside) {
    struct victim v;
    rn_session *s;
    rn_saved saved;
    if (victim_open(&v, 0, RN_KV_F16)) {
        memcpy(v.bytes + TEXTS + MODEL_BYTES + 64, "runnel-2", 8);
        session_repair(v.bytes, v.n);
        CHECK(write_file(saved_path("other"), v.bytes, v.n));
        s = load_session(&v.f, saved_path("other"), &saved);
        CHECK_STR(saved.reason, "keys and values of arithmetic runnel-2, this engine has runnel-1");
        CHECK_INT(saved.n_loaded, 100);
        CHECK_INT(saved.n_restored, 0);
        rn_session_close(s);
    }
    victim_close(&v);
}

TEST(the_note_is_still_told_when_what_stands_behind_it_is_damaged) {
    struct victim v;
    rn_saved saved;
    rn_error err = {0};
    if (victim_open(&v, 0, RN_KV_F16)) {
        v.bytes[v.n - 20] ^= 1;
        CHECK(write_file(saved_path("half"), v.bytes, v.n));
        rn_saved_init(&saved);
        CHECK_OK(rn_session_peek(saved_path("half"), &saved, &err), &err);
        CHECK_STR(saved.note, "{\"a\": 1}");
        rn_free(saved.note);
    }
    victim_close(&v);
}

// Every number of keys, values and states is 0xff..: NaN in floats, a NaN scale in Q8.
static void forge(struct victim *v) {
    size_t at = FIRST_PART;
    while (at + 32 < v->n) {
        const uint64_t n = session_u64(v->file + at + 8), bytes = session_u64(v->file + at + 16);
        at += 32;
        for (uint64_t i = 0; i < n; i++, at += bytes + 8) memset(v->bytes + at, 0xff, bytes);
    }
    session_repair(v->bytes, v->n);
}

TEST(keys_that_no_model_made_end_their_own_turn_and_touch_no_other) {
    static const rn_kv_type types[] = {RN_KV_F16, RN_KV_F32, RN_KV_Q8, RN_KV_BF16};
    for (int i = 0; i < N_SAVED_SUBJECTS; i++) {
        struct victim v;
        static struct outcome before, got;
        rn_error err = {0};
        check_note("%s", saved_subjects[i].why);
        if (victim_open(&v, i, types[i % 4]) && id_turn(&v.f, NULL, 5, 100, &before)) {
            rn_session *s = NULL;
            forge(&v);
            if (!CHECK_OK(load_bytes(&v, v.n, &s, &err), &err)) break;
            id_turn(&v.f, s, 2, 30, &got);
            CHECK_INT(got.finish, RN_FINISH_ERROR);
            CHECK_HAS(got.detail, "is not a number");
            CHECK_INT(got.n_tokens, 0);
            // The session is as before; a state, which cannot go back, was given up and is evaluated again.
            id_turn(&v.f, s, 2, 30, &got);
            CHECK_INT(got.finish, saved_subjects[i].has_states ? RN_FINISH_LENGTH : RN_FINISH_ERROR);
            id_turn(&v.f, NULL, 1, 90, &got); // its text, by somebody else
            CHECK_INT(got.finish, RN_FINISH_LENGTH);
            CHECK_OK(rn_session_truncate(s, 0, &err), &err);
            CHECK(id_turn(&v.f, s, 5, 100, &got) && same_outcome(&got, &before));
            rn_session_close(s);
            for (int k = 0; k < 4; k++) // the streams that get the pages next
                CHECK(id_turn(&v.f, NULL, 5, 100, &got) && same_outcome(&got, &before));
            check_still_sound(&v);
        }
        victim_close(&v);
    }
}
