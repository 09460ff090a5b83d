// tests/base/file_out_test.c - files written whole or not at all.
#include "base/file_map.h"
#include "base/mem.h"
#include "tests/check.h"
#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *out_path(const char *name) {
    static char path[1024];
    snprintf(path, sizeof path, "%s/%s", temp_dir(), name);
    return path;
}

// Temporary files left in the folder: names that begin with a dot.
static int n_left_behind(void) {
    int n = -2; // "." and ".."
    DIR *d = opendir(temp_dir());
    for (struct dirent *e; (e = readdir(d));) n += e->d_name[0] == '.';
    closedir(d);
    return n;
}

static void check_content(const char *path, const uint8_t *want, size_t n) {
    size_t n_got = 0;
    uint8_t *got = read_file(path, &n_got);
    if (!got) return;
    CHECK_INT(n_got, n);
    if (n_got == n) CHECK_MEM(got, want, n);
    free(got);
}

TEST(a_committed_file_has_every_byte_in_order) {
    static const size_t pieces[] = {0, 1, 7, 4096, (256 << 10) - 1, 256 << 10, (256 << 10) + 1, 1000000};
    const char *path = out_path("whole");
    const size_t n = 3000000;
    uint8_t *data = malloc(n);
    for (size_t i = 0; i < n; i++) data[i] = (uint8_t)(i * 7 + (i >> 10));
    for (size_t first = 0; first < sizeof pieces / sizeof *pieces; first++) {
        rn_error err = {0};
        file_out *f;
        check_note("first piece %zu bytes", pieces[first]);
        if (!CHECK_OK(file_out_begin(path, FILE_BY_UMASK, &f, &err), &err)) break;
        size_t at = 0;
        for (size_t k = first; at < n; k++) {
            const size_t piece = pieces[k % (sizeof pieces / sizeof *pieces)], take = piece < n - at ? piece : n - at;
            CHECK_OK(file_out_write(f, data + at, take, &err), &err);
            at += take;
        }
        CHECK_OK(file_out_commit(f, &err), &err);
        check_content(path, data, n);
        CHECK_INT(n_left_behind(), 0);
    }
    free(data);
}

TEST(until_commit_the_old_file_stays) {
    const char *path = out_path("replaced");
    write_file(path, "old", 3);
    file_out *f;
    CHECK_OK(file_out_begin(path, FILE_BY_UMASK, &f, NULL), NULL);
    CHECK_OK(file_out_write(f, "new", 3, NULL), NULL);
    check_content(path, (const uint8_t *)"old", 3);
    CHECK_INT(n_left_behind(), 1);
    file_out_abandon(f);
    check_content(path, (const uint8_t *)"old", 3);
    CHECK_INT(n_left_behind(), 0);
    CHECK_OK(file_out_begin(path, FILE_BY_UMASK, &f, NULL), NULL);
    CHECK_OK(file_out_write(f, "new", 3, NULL), NULL);
    CHECK_OK(file_out_commit(f, NULL), NULL);
    check_content(path, (const uint8_t *)"new", 3);
    file_out_abandon(NULL);
}

TEST(a_private_file_is_its_owners_alone_whatever_was_there) {
    const mode_t before = umask(0);
    const char *const path = out_path("private");
    file_out *f;
    struct stat st;
    write_file(path, "old", 3);
    CHECK(chmod(path, 0666) == 0);
    CHECK_OK(file_out_begin(path, FILE_PRIVATE, &f, NULL), NULL);
    CHECK_OK(file_out_commit(f, NULL), NULL);
    umask(before);
    CHECK(stat(path, &st) == 0);
    CHECK_INT(st.st_mode & 0777, 0600);
}

TEST(a_new_file_has_the_mode_that_the_umask_leaves) {
    const mode_t before = umask(027);
    file_out *f;
    struct stat st = {0};
    CHECK_OK(file_out_begin(out_path("mode"), FILE_BY_UMASK, &f, NULL), NULL);
    CHECK_OK(file_out_commit(f, NULL), NULL);
    umask(before);
    CHECK(stat(out_path("mode"), &st) == 0);
    CHECK_INT(st.st_mode & 0777, 0640);
    CHECK_INT(st.st_size, 0);
}

TEST(a_path_without_a_folder_is_written_here) {
    char here[1024];
    if (!CHECK(getcwd(here, sizeof here) && chdir(temp_dir()) == 0)) return;
    file_out *f;
    CHECK_OK(file_out_begin("bare", FILE_BY_UMASK, &f, NULL), NULL);
    CHECK_OK(file_out_write(f, "x", 1, NULL), NULL);
    CHECK_OK(file_out_commit(f, NULL), NULL);
    CHECK(chdir(here) == 0);
    check_content(out_path("bare"), (const uint8_t *)"x", 1);
}

TEST(the_longest_name_that_the_system_takes_can_be_written) {
    char name[256];
    memset(name, 'n', 255);
    name[255] = 0;
    file_out *f;
    rn_error err = {0};
    if (!CHECK_OK(file_out_begin(out_path(name), FILE_BY_UMASK, &f, &err), &err)) return;
    CHECK_OK(file_out_commit(f, &err), &err);
    check_content(out_path(name), (const uint8_t *)"", 0);
}

TEST(what_cannot_be_written_is_refused_at_the_beginning) {
    char long_name[257];
    memset(long_name, 'n', 256);
    long_name[256] = 0;
    const struct {
        const char *path, *text;
    } rows[] = {
        {"", "the name of the output file is empty"},
        {out_path(long_name), ": cannot be created: File name too long"},
        {"/dev/null/x", "/dev/null/x: cannot be created: Not a directory"},
        {temp_dir(), "is a directory, not a regular file"},
        {"/dev/null", "/dev/null: is a device, not a regular file"},
        {"/nowhere/out.npy", "/nowhere/out.npy: cannot be created: No such file or directory"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        file_out *f = (file_out *)&i;
        rn_error err = {0};
        CHECK_FAILS(file_out_begin(rows[i].path, FILE_BY_UMASK, &f, &err), RN_E_IO, &err);
        CHECK_HAS(err.text, rows[i].text);
        CHECK(!f);
    }
}

TEST(a_failed_write_removes_the_temporary_file_and_keeps_the_old_one) {
    enum { LIMIT = 1 << 20 };
    const char *path = out_path("full");
    write_file(path, "old", 3);
    struct rlimit before;
    getrlimit(RLIMIT_FSIZE, &before);
    void (*const handler)(int) = signal(SIGXFSZ, SIG_IGN);
    uint8_t *data = calloc(1, 2 * LIMIT);
    for (int late = 0; late < 2; late++) { // the write itself fails; the held rest fails in commit
        file_out *f;
        rn_error err = {0};
        check_note("late %d", late);
        if (!CHECK_OK(file_out_begin(path, FILE_BY_UMASK, &f, &err), &err)) break;
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){LIMIT, before.rlim_max});
        if (late) {
            CHECK_OK(file_out_write(f, data, LIMIT, &err), &err);
            CHECK_OK(file_out_write(f, data, 1, &err), &err); // held
        } else {
            // The system takes the part below the limit, then refuses: a short write, then an error.
            CHECK_FAILS(file_out_write(f, data, 2 * LIMIT, &err), RN_E_IO, &err);
            CHECK_HAS(err.text, "full: cannot be written: File too large");
            CHECK_FAILS(file_out_write(f, data, 1, &err), RN_E_IO, &err);
        }
        CHECK_INT(n_left_behind(), late);
        CHECK_FAILS(file_out_commit(f, &err), RN_E_IO, &err);
        CHECK_HAS(err.text, late ? "cannot be written: File too large" : "an earlier write failed");
        setrlimit(RLIMIT_FSIZE, &before);
        CHECK_INT(n_left_behind(), 0);
        check_content(path, (const uint8_t *)"old", 3);
    }
    free(data);
    signal(SIGXFSZ, handler);
}

static rn_status write_a_file(void *user) {
    file_out *f;
    const rn_status st = file_out_begin(user, FILE_BY_UMASK, &f, NULL);
    if (st != RN_OK) return st;
    file_out_write(f, "x", 1, NULL);
    return file_out_commit(f, NULL);
}
TEST(a_file_out_survives_each_failed_allocation) {
    char path[1024];
    snprintf(path, sizeof path, "%s", out_path("nomem"));
    CHECK(check_each_failed_allocation(write_a_file, path, __FILE__, __LINE__));
    CHECK_INT(n_left_behind(), 0);
}
