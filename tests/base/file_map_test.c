// tests/base/file_map_test.c - whole files as bytes: the three ways of loading, refusals that say what and why.
#include "base/file_map.h"
#include "base/mem.h"
#include "tests/check.h"
#include <fcntl.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
    const char *name;
    enum file_load how;
} ways[] = {{"map", FILE_LOAD_MAP}, {"read", FILE_LOAD_READ}, {"lock", FILE_LOAD_LOCK}};
enum { N_WAYS = sizeof ways / sizeof *ways, MIB = 1 << 20 };

static const char *temp_path(const char *name) {
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", temp_dir(), name);
    return path;
}

// A file of n bytes, each a function of its place.
static uint8_t byte_at(size_t i) { return (uint8_t)(i * 31 + (i >> 12)); }
static const char *make_file(const char *name, size_t n) {
    const char *path = temp_path(name);
    uint8_t *data = malloc(n + 1);
    for (size_t i = 0; i < n; i++) data[i] = byte_at(i);
    CHECK(write_file(path, data, n));
    free(data);
    return path;
}

TEST(every_way_of_loading_gives_the_same_bytes) {
    static const size_t sizes[] = {0, 1, 4095, 4096, 4097, 3 * 4096 + 5};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        const size_t n = sizes[s];
        const char *path = make_file("bytes", n);
        for (size_t w = 0; w < N_WAYS; w++) {
            const long live = mem_live();
            file_map m;
            rn_error err = {0};
            check_note("%zu bytes, %s", n, ways[w].name);
            if (!CHECK_OK(file_map_open(path, ways[w].how, NULL, NULL, &m, &err), &err)) continue;
            CHECK_INT(m.size, n);
            CHECK(m.data != NULL);
            for (size_t i = 0; i < n; i++)
                if (!CHECK_INT(m.data[i], byte_at(i))) break;
            CHECK_OK(file_map_check(&m, path, &err), &err);
            CHECK_INT(file_map_resident(&m, 0, SIZE_MAX), n); // just touched
            CHECK_INT(file_map_resident(&m, n, 1), 0);
            if (n > 4096) CHECK_INT(file_map_resident(&m, 4090, 10), n - 4090 < 10 ? n - 4090 : 10);
            file_map_close(&m);
            CHECK(!m.data && m.fd == -1);
            file_map_close(&m); // closed already
            CHECK_INT(mem_live(), live);
        }
    }
}

TEST(closing_what_was_never_opened_closes_no_descriptor) {
    const bool has_input = fcntl(0, F_GETFD) != -1;
    file_map zero = {0}, closed = {.fd = -1};
    file_map_close(&zero); // its fd reads 0: somebody's standard input
    file_map_close(&closed);
    CHECK((fcntl(0, F_GETFD) != -1) == has_input);
}

TEST(what_is_no_regular_file_is_named) {
    rn_error err;
    file_map m;
    char path[512];
    snprintf(path, sizeof path, "%s", temp_path("pipe"));
    CHECK(mkfifo(path, 0600) == 0);
    const struct {
        const char *path, *text;
    } rows[] = {
        {temp_dir(), "is a directory, not a regular file"},
        {path, "is a named pipe, not a regular file"}, // opened without waiting for a writer
        {"/dev/zero", "is a device, not a regular file"},
        {"/nowhere/model.gguf", "/nowhere/model.gguf: cannot be opened: No such file or directory"},
        {"", "cannot be opened: No such file or directory"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t w = 0; w < N_WAYS; w++) {
            check_note("%s, %s", rows[i].path, ways[w].name);
            CHECK_FAILS(file_map_open(rows[i].path, ways[w].how, NULL, NULL, &m, &err), RN_E_IO, &err);
            CHECK_HAS(err.text, rows[i].text);
            CHECK(!m.data && m.fd == -1);
        }
}

TEST(a_file_that_shrinks_after_opening_is_noticed) {
    for (size_t w = 0; w < N_WAYS; w++) {
        const char *path = make_file("shrinks", 10000);
        file_map m;
        rn_error err = {0};
        check_note("%s", ways[w].name);
        if (!CHECK_OK(file_map_open(path, ways[w].how, NULL, NULL, &m, &err), &err)) continue;
        CHECK(truncate(path, 20000) == 0); // growing is harmless
        CHECK_OK(file_map_check(&m, path, &err), &err);
        CHECK(truncate(path, 9999) == 0);
        if (ways[w].how == FILE_LOAD_READ)
            CHECK_OK(file_map_check(&m, path, &err), &err); // has its own copy
        else if (CHECK_FAILS(file_map_check(&m, path, &err), RN_E_IO, &err))
            CHECK_HAS(err.text, "shrinks: shrank from 10000 to 9999 bytes while in use");
        file_map_close(&m);
    }
}

struct watcher {
    int n_calls, stop_at; // stop_at 0: never
    uint64_t last, total;
    const char *truncate_path;
};
static bool watch(void *user, uint64_t done, uint64_t total) {
    struct watcher *w = user;
    w->n_calls++;
    if (done <= w->last && done != total) w->total = UINT64_MAX; // must rise
    w->last = done;
    w->total = total;
    if (w->truncate_path && truncate(w->truncate_path, 9 * MIB) != 0) return true;
    return w->n_calls == w->stop_at;
}

// A sparse file: the system gives zeros for what was never written.
static const char *make_sparse(const char *name, off_t n) {
    const char *path = make_file(name, 1);
    CHECK(truncate(path, n) == 0);
    return path;
}

TEST(progress_rises_to_the_size_and_is_called_in_slices_when_read) {
    const char *path = make_sparse("slices", 20 * MIB);
    static const int n_calls[N_WAYS] = {1, 3, 1};
    for (size_t w = 0; w < 2; w++) { // locking 20 MiB is more than many limits allow
        struct watcher seen = {0};
        file_map m;
        rn_error err = {0};
        check_note("%s", ways[w].name);
        if (!CHECK_OK(file_map_open(path, ways[w].how, watch, &seen, &m, &err), &err)) continue;
        CHECK_INT(seen.n_calls, n_calls[w]);
        CHECK_INT(seen.last, 20 * MIB);
        CHECK_INT(seen.total, 20 * MIB);
        file_map_close(&m);
    }
    struct watcher seen = {0};
    file_map m;
    CHECK_OK(file_map_open(make_file("empty", 0), FILE_LOAD_READ, watch, &seen, &m, NULL), NULL);
    CHECK_INT(seen.n_calls, 1);
    file_map_close(&m);
}

TEST(loading_can_be_cancelled_at_every_call) {
    const char *path = make_sparse("cancelled", 20 * MIB);
    const long live = mem_live();
    for (size_t w = 0; w < 2; w++)
        for (int at = 1; at <= (w ? 3 : 1); at++) {
            struct watcher seen = {.stop_at = at};
            file_map m;
            rn_error err = {0};
            check_note("%s, call %d", ways[w].name, at);
            CHECK_FAILS(file_map_open(path, ways[w].how, watch, &seen, &m, &err), RN_E_CANCELLED, &err);
            CHECK(!m.data && m.fd == -1 && seen.n_calls == at);
            CHECK_INT(mem_live(), live);
        }
}

TEST(a_file_that_ends_early_while_it_is_read_is_refused) {
    const char *path = make_sparse("ends", 20 * MIB);
    struct watcher seen = {.truncate_path = path};
    file_map m;
    rn_error err = {0};
    CHECK_FAILS(file_map_open(path, FILE_LOAD_READ, watch, &seen, &m, &err), RN_E_IO, &err);
    CHECK_HAS(err.text, "truncated at byte 9437184 of 20971520 while it was being read");
    CHECK(!m.data);
}

// The right to lock without limit (root has it), taken away or given back for this thread.
static bool set_lock_right(bool on) {
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct caps[2];
    if (syscall(SYS_capget, &head, caps) != 0) return false;
    const uint32_t bit = 1u << CAP_IPC_LOCK;
    caps[0].effective = on ? caps[0].effective | (caps[0].permitted & bit) : caps[0].effective & ~bit;
    return syscall(SYS_capset, &head, caps) == 0;
}

TEST(field_2_14_a_lock_that_cannot_be_honoured_is_an_error_with_the_limit) {
    const char *path = make_file("lock", 65536);
    struct rlimit before;
    getrlimit(RLIMIT_MEMLOCK, &before);
    const struct rlimit small = {.rlim_cur = 8192, .rlim_max = before.rlim_max};
    static uint8_t probe[65536];
    const bool lowered = set_lock_right(false) && setrlimit(RLIMIT_MEMLOCK, &small) == 0;
    if (!lowered || mlock(probe, sizeof probe) == 0) { // sanitizers make mlock() do nothing
        setrlimit(RLIMIT_MEMLOCK, &before);
        set_lock_right(true);
        test_skip("locking cannot be limited here");
        return;
    }
    file_map m;
    rn_error err = {0};
    CHECK_FAILS(file_map_open(path, FILE_LOAD_LOCK, NULL, NULL, &m, &err), RN_E_IO, &err);
    CHECK_HAS(err.text, "lock: 65536 bytes cannot be locked in memory: RLIMIT_MEMLOCK is 8192 bytes (ulimit -l)");
    CHECK(!m.data && m.fd == -1);
    setrlimit(RLIMIT_MEMLOCK, &before);
    set_lock_right(true);
}

static rn_status open_and_close(void *user) {
    file_map m;
    const rn_status st = file_map_open(temp_path("bytes"), *(enum file_load *)user, NULL, NULL, &m, NULL);
    if (st == RN_OK) file_map_close(&m);
    return st;
}
TEST(a_refused_mapping_or_buffer_is_reported) {
    make_file("bytes", 5000);
    for (size_t w = 0; w < N_WAYS; w++) {
        enum file_load how = ways[w].how;
        check_note("%s", ways[w].name);
        CHECK(check_each_failed_allocation(open_and_close, &how, __FILE__, __LINE__));
    }
}
