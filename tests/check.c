// tests/check.c - the main of every test program; see check.h.
#include "tests/check.h"
#include "base/mem.h"
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TESTS = 512, MAX_SHOWN = 20 };
static struct {
    const char *name;
    test_fn fn;
} tests[MAX_TESTS];
static int n_tests;
static int failures;       // in the running test
static char skip_why[256]; // of the running test; empty: not skipped
static char note[1024];

void test_register(const char *name, test_fn fn) {
    if (n_tests == MAX_TESTS) abort();
    tests[n_tests].name = name;
    tests[n_tests++].fn = fn;
}

void check_note(const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(note, sizeof note, fmt, ap);
    va_end(ap);
}

void test_skip(const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(skip_why, sizeof skip_why, fmt, ap);
    va_end(ap);
}

__attribute__((format(printf, 3, 4))) static bool failed(const char *file, int line, const char *fmt, ...) {
    if (failures++ >= MAX_SHOWN) return false;
    va_list ap;
    va_start(ap, fmt);
    printf("  %s:%d: ", file, line);
    vprintf(fmt, ap);
    if (note[0]) printf(" [%s]", note);
    printf("\n");
    va_end(ap);
    return false;
}

bool check_that(bool ok, const char *file, int line, const char *text) {
    return ok || failed(file, line, "%s", text);
}
bool check_str(const char *got, const char *want, const char *file, int line) {
    if (got && strcmp(got, want) == 0) return true;
    return failed(file, line, "got \"%s\", want \"%s\"", got ? got : "(null)", want);
}
bool check_has(const char *got, const char *part, const char *file, int line) {
    if (got && strstr(got, part)) return true;
    return failed(file, line, "\"%s\" lacks \"%s\"", got ? got : "(null)", part);
}
bool check_int(long long got, long long want, const char *file, int line, const char *text) {
    return got == want || failed(file, line, "%s is %lld, want %lld", text, got, want);
}
bool check_mem(const void *got, const void *want, size_t n, const char *file, int line) {
    const unsigned char *g = got, *w = want;
    for (size_t i = 0; i < n; i++)
        if (g[i] != w[i]) return failed(file, line, "byte %zu of %zu is %02x, want %02x", i, n, g[i], w[i]);
    return true;
}
bool check_status(rn_status got, rn_status want, const rn_error *err, const char *file, int line) {
    return got == want || failed(file, line, "status %d, want %d: %s", got, want, err ? err->text : "");
}

bool check_each_failed_allocation(rn_status (*body)(void *), void *user, const char *file, int line) {
    for (long nth = 1;; nth++) {
        const long live = mem_live();
        mem_fail_after(nth);
        const rn_status st = body(user);
        const bool fired = mem_fail_fired();
        mem_fail_after(0);
        if (mem_live() != live)
            return failed(file, line, "allocation %ld failed: %ld blocks leaked", nth, mem_live() - live);
        if (!fired) return st == RN_OK || failed(file, line, "without a failed allocation: status %d", st);
        if (st != RN_E_NOMEM) return failed(file, line, "allocation %ld failed: status %d", nth, st);
    }
}

static bool wanted(const char *name, int argc, char **argv) {
    for (int i = 1; i < argc; i++)
        if (strstr(name, argv[i])) return true;
    return argc < 2;
}

// Weak: programs in tests/tools have a main of their own.
__attribute__((weak)) int main(int argc, char **argv) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    int n_failed = 0;
    for (int i = 0; i < n_tests; i++) {
        if (argc == 2 && strcmp(argv[1], "--list") == 0) {
            puts(tests[i].name);
            continue;
        }
        if (!wanted(tests[i].name, argc, argv)) continue;
        failures = 0;
        skip_why[0] = note[0] = 0;
        tests[i].fn();
        if (failures)
            printf("FAIL %s (%d)\n", tests[i].name, failures);
        else if (skip_why[0])
            printf("SKIP %s: %s\n", tests[i].name, skip_why);
        else
            printf("ok %s\n", tests[i].name);
        n_failed += failures != 0;
    }
    return n_failed != 0;
}
