// tests/convert/ngram_cache_test.c - n-gram caches: what is counted, merged and written in llama.cpp's format, and files that are refused.
#include "base/mem.h"
#include "formats/limits.h"
#include "formats/ngram_file.h"
#include "tests/check.h"
#include "tests/support/left_behind.h"
#include "tests/support/tiny_model.h"
#include <runnel/tools.h>
#include <stdlib.h>
#include <string.h>

static const char *at(const char *name) {
    static char paths[8][512];
    static unsigned turn;
    char *path = paths[turn++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", temp_dir(), name);
    return path;
}

static rn_model *open_model(void) {
    const struct tiny_model tiny = tiny_model_default();
    rn_model *m = NULL;
    rn_error err = {0};
    return CHECK(tiny_model_write(&tiny, at("tiny.gguf"))) &&
                   CHECK_OK(rn_model_open(at("tiny.gguf"), NULL, &m, &err), &err)
               ? m
               : NULL;
}

// The format, as its definition has it.
struct file {
    uint8_t bytes[4096];
    size_t n;
};
static void put(struct file *f, int32_t number) {
    for (int i = 0; i < 4; i++) f->bytes[f->n++] = (uint8_t)((uint32_t)number >> 8 * i);
}
static void put_record(struct file *f, const int32_t string[4], int32_t n_pairs, const int32_t *pairs) {
    for (int i = 0; i < 4; i++) put(f, string[i]);
    put(f, n_pairs);
    for (int i = 0; i < 2 * n_pairs; i++) put(f, pairs[i]);
}
#define STRING(...) ((const int32_t[4]){__VA_ARGS__})
#define PAIRS(...)  ((const int32_t[]){__VA_ARGS__})

static bool is_file(const char *path, const struct file *want) {
    size_t n = 0;
    uint8_t *const got = read_file(path, &n);
    const bool same = CHECK(got) && CHECK_INT(n, want->n) && CHECK_MEM(got, want->bytes, n);
    free(got);
    return same;
}

TEST(texts_are_counted_and_written_in_the_format_of_llama_cpp) {
    static const int32_t text[] = {5, 6, 7, 5, 6, 8, 5, 6, 8};
    struct file want = {.n = 0}, all = {.n = 0};
    rn_ngram_cache *c;
    rn_error err = {0};
    size_t n_strings, n_pairs;
    rn_model *const m = open_model();
    if (!m || !CHECK_OK(rn_ngram_cache_new(m, &c, &err), &err)) return;
    CHECK_OK(rn_ngram_cache_add_text(c, text, 9, 2, 2, &err), &err);
    put_record(&want, STRING(5, 6, -1, -1), 2, PAIRS(8, 2, 7, 1));
    put_record(&want, STRING(6, 7, -1, -1), 1, PAIRS(5, 1));
    put_record(&want, STRING(6, 8, -1, -1), 1, PAIRS(5, 1));
    put_record(&want, STRING(7, 5, -1, -1), 1, PAIRS(6, 1));
    put_record(&want, STRING(8, 5, -1, -1), 1, PAIRS(6, 1));
    CHECK_OK(rn_ngram_cache_write(c, at("two.bin"), &err), &err);
    is_file(at("two.bin"), &want);
    rn_ngram_cache_size(c, &n_strings, &n_pairs);
    CHECK_INT(n_strings, 5);
    CHECK_INT(n_pairs, 6);
    // A file is added to itself, and a text of three more tokens.
    CHECK_OK(rn_ngram_cache_add_file(c, at("two.bin"), &err), &err);
    CHECK_OK(rn_ngram_cache_add_text(c, text, 3, 1, 2, &err), &err);
    put_record(&all, STRING(5, -1, -1, -1), 1, PAIRS(6, 1));
    put_record(&all, STRING(5, 6, -1, -1), 2, PAIRS(8, 4, 7, 3));
    put_record(&all, STRING(6, -1, -1, -1), 1, PAIRS(7, 1));
    put_record(&all, STRING(6, 7, -1, -1), 1, PAIRS(5, 2));
    put_record(&all, STRING(6, 8, -1, -1), 1, PAIRS(5, 2));
    put_record(&all, STRING(7, 5, -1, -1), 1, PAIRS(6, 2));
    put_record(&all, STRING(8, 5, -1, -1), 1, PAIRS(6, 2));
    CHECK_OK(rn_ngram_cache_write(c, at("two.bin"), &err), &err);
    is_file(at("two.bin"), &all);
    rn_ngram_cache_close(c);
    rn_model_close(m);
}

TEST(counts_of_a_file_stop_at_the_largest_number) {
    struct file f = {.n = 0}, want = {.n = 0};
    rn_ngram_cache *c;
    rn_error err = {0};
    rn_model *const m = open_model();
    if (!m || !CHECK_OK(rn_ngram_cache_new(m, &c, &err), &err)) return;
    put_record(&f, STRING(1, 2, -1, -1), 2, PAIRS(3, 2147483646, 4, 2));
    put_record(&want, STRING(1, 2, -1, -1), 2, PAIRS(3, 2147483647, 4, 4));
    CHECK(write_file(at("large.bin"), f.bytes, f.n));
    for (int i = 0; i < 2; i++) CHECK_OK(rn_ngram_cache_add_file(c, at("large.bin"), &err), &err);
    CHECK_OK(rn_ngram_cache_write(c, at("larger.bin"), &err), &err);
    is_file(at("larger.bin"), &want);
    rn_ngram_cache_close(c);
    rn_model_close(m);
}

TEST(files_that_are_none_are_refused_and_say_why) {
    static const struct {
        int32_t string[4], n_pairs, pairs[4];
        size_t cut;
        const char *why;
    } rows[] = {
        {{-1, -1, -1, -1},
         1,
         {3, 1},
         0,
         "offset 28: token -1 is outside 0..299: it is the cache of another model, or none"},
        {{1, -2, -1, -1}, 1, {3, 1}, 0, "offset 32: token -2 is outside 0..299"},
        {{1, 300, -1, -1}, 1, {3, 1}, 0, "offset 32: token 300 is outside 0..299"},
        {{1, -1, 2, -1}, 1, {3, 1}, 0, "offset 36: token 2 behind the string's end"},
        {{1, 2, 3, 4}, 0, {0}, 0, "offset 44: 0 tokens follow the string, at least 1"},
        {{1, 2, 3, 4}, -7, {0}, 0, "offset 44: -7 tokens follow the string, at least 1"},
        {{1, 2, 3, 4}, 1, {-1, 1}, 0, "offset 48: token -1 is outside 0..299"},
        {{1, 2, 3, 4}, 2, {5, 1, 300, 1}, 0, "offset 56: token 300 is outside 0..299"},
        {{1, 2, 3, 4}, 1, {5, 0}, 0, "offset 52: count 0, at least 1"},
        {{1, 2, 3, 4}, 1, {5, -3}, 0, "offset 52: count -3, at least 1"},
        {{1, 2, 3, 4}, 1, {5, 1}, 1, "offset 28: the file ends inside a record of 1 tokens"},
        {{1, 2, 3, 4}, 1, {5, 1}, 10, "offset 28: the file ends inside a record"},
        {{1, 2, 3, 4}, 1, {5, 1}, 27, "offset 28: the file ends inside a record"},
        {{9, 8, -1, -1}, 1, {5, 1}, 0, NULL}, // the string stands there twice
    };
    rn_ngram_cache *c;
    rn_error err = {0};
    rn_model *const m = open_model();
    if (!m || !CHECK_OK(rn_ngram_cache_new(m, &c, &err), &err)) return;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct file f = {.n = 0};
        put_record(&f, STRING(9, 8, -1, -1), 1, PAIRS(7, 1));
        for (int k = 0; k < 4; k++) put(&f, rows[i].string[k]);
        put(&f, rows[i].n_pairs);
        for (int k = 0; k < 2 * rows[i].n_pairs; k++) put(&f, rows[i].pairs[k]);
        CHECK(write_file(at("bad.bin"), f.bytes, f.n - rows[i].cut));
        check_note("row %zu", i);
        CHECK_FAILS(rn_model_add_ngram_cache(m, at("bad.bin"), &err), RN_E_FORMAT, &err);
        CHECK_HAS(err.text, rows[i].why ? rows[i].why : "offset 28: the same 2 tokens stand further up, too");
        CHECK_HAS(err.text, "bad.bin: ");
        if (!rows[i].why) continue;
        CHECK_FAILS(rn_ngram_cache_add_file(c, at("bad.bin"), &err), RN_E_FORMAT, &err);
        CHECK_HAS(err.text, rows[i].why);
    }
    CHECK_FAILS(rn_model_add_ngram_cache(m, at("no such"), &err), RN_E_IO, &err);
    CHECK_FAILS(rn_ngram_cache_add_file(c, at("no such"), &err), RN_E_IO, &err);
    CHECK_OK(rn_model_add_ngram_cache(m, at("two.bin"), &err), &err); // of the first test
    CHECK_FAILS(rn_model_add_ngram_cache(m, at("two.bin"), &err), RN_E_STATE, &err);
    CHECK_HAS(err.text, "the model has an n-gram cache");
    rn_ngram_cache_close(c);
    rn_model_close(m);
}

TEST(a_file_that_is_too_large_is_not_read) {
    struct ngram_reader r;
    rn_error err = {0};
    const uint8_t none = 0;
    CHECK_OK(ngram_reader_begin(&r, "cache", &none, NGRAM_FILE_MAX_BYTES, 10, &err), &err);
    CHECK_FAILS(ngram_reader_begin(&r, "cache", &none, (size_t)NGRAM_FILE_MAX_BYTES + 1, 10, &err), RN_E_LIMIT, &err);
    CHECK_STR(err.text, "cache: 1073741825 bytes, an n-gram cache has at most 1073741824");
}

TEST(wrong_arguments_are_refused) {
    static const int32_t text[] = {1, 2, 300}, below[] = {1, -1};
    rn_ngram_cache *c;
    rn_error err = {0};
    rn_model *const m = open_model();
    CHECK_FAILS(rn_ngram_cache_new(NULL, &c, &err), RN_E_ARG, &err);
    CHECK_FAILS(rn_ngram_cache_new(m, NULL, &err), RN_E_ARG, &err);
    if (!m || !CHECK_OK(rn_ngram_cache_new(m, &c, &err), &err)) return;
    CHECK_FAILS(rn_ngram_cache_write(c, at("empty.bin"), &err), RN_E_ARG, &err);
    CHECK_HAS(err.text, "the n-gram cache is empty");
    CHECK_FAILS(rn_ngram_cache_add_text(c, text, 3, 1, 4, &err), RN_E_ARG, &err);
    CHECK_STR(err.text, "n-gram cache: token 300 is outside 0..299");
    CHECK_FAILS(rn_ngram_cache_add_text(c, below, 2, 1, 4, &err), RN_E_ARG, &err);
    CHECK_FAILS(rn_ngram_cache_add_text(c, text, 2, 0, 4, &err), RN_E_ARG, &err);
    CHECK_FAILS(rn_ngram_cache_add_text(c, text, 2, 3, 2, &err), RN_E_ARG, &err);
    CHECK_FAILS(rn_ngram_cache_add_text(c, text, 2, 1, 5, &err), RN_E_ARG, &err);
    CHECK_FAILS(rn_ngram_cache_add_text(c, NULL, 2, 1, 4, &err), RN_E_ARG, &err);
    CHECK_FAILS(rn_ngram_cache_add_file(c, NULL, &err), RN_E_ARG, &err);
    CHECK_FAILS(rn_ngram_cache_write(c, NULL, &err), RN_E_ARG, &err);
    CHECK_FAILS(rn_model_add_ngram_cache(m, NULL, &err), RN_E_ARG, &err);
    CHECK_OK(rn_ngram_cache_add_text(c, text, 2, 4, 4, &err), &err); // too short for any
    CHECK_FAILS(rn_ngram_cache_write(c, at("empty.bin"), &err), RN_E_ARG, &err);
    rn_ngram_cache_close(c);
    rn_model_close(m);
    rn_ngram_cache_close(NULL);
}

TEST(wherever_memory_runs_out_nothing_is_left_behind) {
    static const int32_t text[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    rn_model *const m = open_model();
    rn_error err = {0};
    const long live = mem_live();
    bool done = false;
    for (long n = 1; m && !done && n < 100; n++) {
        rn_ngram_cache *c = NULL;
        mem_fail_after(n);
        rn_status st = rn_ngram_cache_new(m, &c, &err);
        if (st == RN_OK) st = rn_ngram_cache_add_text(c, text, 10, 1, 4, &err);
        if (st == RN_OK) st = rn_ngram_cache_write(c, at("made.bin"), &err);
        if (st == RN_OK) st = rn_ngram_cache_add_file(c, at("made.bin"), &err);
        rn_ngram_cache_close(c);
        done = !mem_fail_fired();
        mem_fail_after(0);
        if (!CHECK_INT(st, done ? RN_OK : RN_E_NOMEM) || !CHECK_INT(mem_live(), live)) break;
    }
    CHECK(done);
    for (long n = 1; m; n++) {
        mem_fail_after(n);
        const rn_status st = rn_model_add_ngram_cache(m, at("made.bin"), &err);
        done = !mem_fail_fired();
        mem_fail_after(0);
        if (!CHECK_INT(st, done ? RN_OK : RN_E_NOMEM) || done || !CHECK_INT(mem_live(), live)) break;
    }
    rn_model_close(m);
    CHECK_INT(n_files_in(temp_dir(), "made.bin"), 1);
}
