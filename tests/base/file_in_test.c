// tests/base/file_in_test.c - files read piece by piece: every cut gives the same bytes, and the end is an error with its place.
#include "base/file_in.h"
#include "base/mem.h"
#include "tests/check.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { N = 10000 };

static const char *make_file(uint8_t *data) {
    static char path[512];
    for (size_t i = 0; i < N; i++) data[i] = (uint8_t)(i * 31 + (i >> 8));
    snprintf(path, sizeof path, "%s/file", temp_dir());
    CHECK(write_file(path, data, N));
    return path;
}

static void check_pieces(file_in *f, const uint8_t *data, size_t piece) {
    uint8_t got[N];
    rn_error err = {0};
    CHECK_INT(file_in_size(f), N);
    for (size_t at = 0; at < N; at += piece) {
        const size_t n = piece < N - at ? piece : N - at;
        CHECK_INT(file_in_pos(f), at);
        if (!CHECK_OK(file_in_read(f, got + at, n, &err), &err)) return;
    }
    CHECK_MEM(got, data, N);
    CHECK_OK(file_in_read(f, got, 0, &err), &err);
    CHECK_FAILS(file_in_read(f, got, 1, &err), RN_E_IO, &err);
    CHECK_HAS(err.text, ": ended at byte 10000 with 1 more to read");
}

TEST(pieces_of_any_size_are_the_whole) {
    static const size_t pieces[] = {1, 7, 4096, N - 1, N};
    uint8_t data[N];
    const char *path = make_file(data);
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        const long live = mem_live();
        rn_error err = {0};
        file_in *f = NULL;
        check_note("pieces of %zu", pieces[i]);
        if (CHECK_OK(file_in_open(path, &f, &err), &err)) check_pieces(f, data, pieces[i]);
        CHECK_STR(file_in_name(f), path);
        file_in_close(f);
        if (CHECK_OK(file_in_of_bytes("bytes", data, N, &f, &err), &err)) check_pieces(f, data, pieces[i]);
        file_in_close(f);
        CHECK_INT(mem_live(), live);
    }
}

TEST(a_file_cut_off_while_it_is_read_is_an_error_with_its_place) {
    uint8_t data[N], got[N];
    const char *path = make_file(data);
    rn_error err = {0};
    file_in *f = NULL;
    if (CHECK_OK(file_in_open(path, &f, &err), &err)) {
        CHECK_OK(file_in_read(f, got, 100, &err), &err);
        CHECK(truncate(path, 150) == 0);
        CHECK_FAILS(file_in_read(f, got, N - 100, &err), RN_E_IO, &err);
        CHECK_HAS(err.text, "ended at byte 150 with 9850 more to read");
    }
    file_in_close(f);
}

TEST(what_is_no_file_is_refused_without_waiting) {
    char path[512];
    rn_error err = {0};
    file_in *f = NULL;
    CHECK_FAILS(file_in_open(temp_dir(), &f, &err), RN_E_IO, &err);
    CHECK_HAS(err.text, "is a directory, not a regular file");
    snprintf(path, sizeof path, "%s/pipe", temp_dir());
    CHECK(mkfifo(path, 0600) == 0);
    CHECK_FAILS(file_in_open(path, &f, &err), RN_E_IO, &err);
    CHECK_HAS(err.text, "is a named pipe, not a regular file");
    CHECK(f == NULL);
}
