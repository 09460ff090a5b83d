// tests/check.h - a small test harness: a test is a sentence that can be false.
//
//   TEST(stop_string_split_over_two_tokens_is_not_printed) { CHECK(...); CHECK_STR(got, "want"); }
//
// A program prints `ok NAME`, `FAIL NAME` or `SKIP NAME: why` for each test and ends with 0, or 1 when one failed.
// Arguments: names (or parts of names) to run; --list.
#ifndef RN_TESTS_CHECK_H
#define RN_TESTS_CHECK_H

#include <runnel/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef void (*test_fn)(void);
void test_register(const char *name, test_fn fn);
#define TEST(name)                                                                                                   \
    static void name(void);                                                                                          \
    __attribute__((constructor)) static void register_##name(void) { test_register(#name, name); }                   \
    static void name(void)

// Each returns whether it held, so that a test may stop: if (!CHECK(p)) return;
bool check_that(bool ok, const char *file, int line, const char *text);
bool check_str(const char *got, const char *want, const char *file, int line); // exact
bool check_has(const char *got, const char *part, const char *file, int line); // substring
bool check_int(long long got, long long want, const char *file, int line, const char *text);
bool check_mem(const void *got, const void *want, size_t n, const char *file, int line);
bool check_status(rn_status got, rn_status want, const rn_error *err, const char *file, int line);
__attribute__((format(printf, 1, 2))) void check_note(const char *fmt, ...); // printed with the next failure
__attribute__((format(printf, 1, 2))) void test_skip(const char *fmt,
                                                     ...); // marks the running test skipped: then return
#define CHECK(c)                     check_that((c), __FILE__, __LINE__, #c)
#define CHECK_STR(got, want)         check_str((got), (want), __FILE__, __LINE__)
#define CHECK_HAS(got, part)         check_has((got), (part), __FILE__, __LINE__)
#define CHECK_INT(got, want)         check_int((long long)(got), (long long)(want), __FILE__, __LINE__, #got)
#define CHECK_MEM(got, want, n)      check_mem((got), (want), (n), __FILE__, __LINE__)
#define CHECK_OK(call, err)          check_status((call), RN_OK, (err), __FILE__, __LINE__)
#define CHECK_FAILS(call, code, err) check_status((call), (code), (err), __FILE__, __LINE__)

// Runs body once for each n: the n-th allocation fails. Body sets `st`; ends after the first run in which none failed.
// Every failing run must give RN_E_NOMEM and leave as many live blocks as before.
bool check_each_failed_allocation(rn_status (*body)(void *), void *user, const char *file, int line);

// tests/shared.c: where the shared reference material is: $RUNNEL_SHARED, else ../shared beside the project, else NULL
// (then the test says test_skip("no shared material: set RUNNEL_SHARED")).
const char *shared_dir(void);
// A path inside it, in a static buffer of 8 rotating; NULL where the folder or the file is missing.
const char *shared_path(const char *rel);
// A path inside the project's tests folder (small goldens copied there), same rotation.
const char *tests_path(const char *rel);
// A fresh temporary folder for this test program, removed at its end.
const char *temp_dir(void);
// Whole file; free() it. NULL and a failed check when it cannot be read. A terminator follows the bytes.
uint8_t *read_file(const char *path, size_t *n);
bool write_file(const char *path, const void *data, size_t n);

#endif
