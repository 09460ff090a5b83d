// tests/support/faulty_backend.c - see faulty_backend.h.
#include "tests/support/faulty_backend.h"
#include "tests/support/test_backend.h"
#include <stdlib.h>
#include <string.h>

static const struct backend_ops *real; // of the open backend
static struct backend_ops faulty;      // the same with the calls below in front
static long calls_left;
static bool is_for_good;
static int n_failed, n_failed_of[FAULTY_N_CALLS];

void faulty_backend_plan(long nth, bool for_good) {
    calls_left = nth;
    is_for_good = for_good;
    n_failed = 0;
}
int faulty_backend_failures(void) { return n_failed; }
int faulty_backend_failures_of(enum faulty_call call) { return n_failed_of[call]; }

static bool fails_now(enum faulty_call call) {
    const bool fails = calls_left > 0 ? --calls_left == 0 : n_failed > 0 && is_for_good;
    n_failed += fails;
    n_failed_of[call] += fails;
    return fails;
}

static rn_status gone(enum faulty_call call, rn_error *err) {
    static const char *const names[FAULTY_N_CALLS] = {"open", "load",      "run",       "fetch",
                                                      "copy", "read page", "write page"};
    return fail(err, RN_E_IO, "backend faulty: %s: the device is gone", names[call]);
}

static rn_status load(backend *b, const struct program *p, const struct backend_sizes *s, backend_progress progress,
                      void *user, rn_error *err) {
    const bool fails = fails_now(FAULTY_LOAD);
    const rn_status st = real->load(b, p, s, progress, user, err);
    return st == RN_OK && fails ? gone(FAULTY_LOAD, err) : st;
}

static rn_status run(backend *b, const struct batch *batch, rn_error *err) {
    const bool fails = fails_now(FAULTY_RUN);
    const rn_status st = real->run(b, batch, err);
    return st == RN_OK && fails ? gone(FAULTY_RUN, err) : st;
}

static rn_status fetch(backend *b, int32_t buffer, size_t n, struct backend_rows *out, rn_error *err) {
    if (fails_now(FAULTY_FETCH)) return gone(FAULTY_FETCH, err);
    return real->fetch(b, buffer, n, out, err);
}

static rn_status copy(backend *b, const struct kv_copy *c, rn_error *err) {
    struct kv_copy half = *c;
    const bool fails = fails_now(FAULTY_COPY);
    if (fails) half.slot_src = c->slot_src ? c->slot_src - 1 : c->slot_src, half.n = c->n - c->n / 2;
    const rn_status st = real->copy(b, &half, err);
    return st == RN_OK && fails ? gone(FAULTY_COPY, err) : st;
}

static rn_status read_page(backend *b, int32_t group, int32_t page, int32_t n, uint8_t *out, rn_error *err) {
    if (!fails_now(FAULTY_READ_PAGE)) return real->read_page(b, group, page, n, out, err);
    memset(out, 0xa5, real->page_bytes(b, group));
    return gone(FAULTY_READ_PAGE, err);
}

static rn_status write_page(backend *b, int32_t group, int32_t page, const uint8_t *bytes, rn_error *err) {
    if (!fails_now(FAULTY_WRITE_PAGE)) return real->write_page(b, group, page, bytes, err);
    const size_t n = real->page_bytes(b, group);
    uint8_t *const half = calloc(1, n);
    if (!half) abort();
    memcpy(half, bytes, n / 2);
    const rn_status st = real->write_page(b, group, page, half, err);
    free(half);
    return st == RN_OK ? gone(FAULTY_WRITE_PAGE, err) : st;
}

rn_status faulty_backend_open(const struct backend_spec *spec, backend **out, rn_error *err) {
    *out = NULL;
    if (fails_now(FAULTY_OPEN)) return gone(FAULTY_OPEN, err);
    const rn_status st = test_backend_open(spec, out, err);
    if (st != RN_OK) return st;
    real = (*out)->ops;
    faulty = *real;
    faulty.load = load, faulty.run = run, faulty.fetch = fetch, faulty.copy = copy;
    faulty.read_page = read_page, faulty.write_page = write_page;
    (*out)->ops = &faulty;
    return RN_OK;
}
