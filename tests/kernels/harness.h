// tests/kernels/harness.h - what the kernel checks share: seeded data that kernels tend to get wrong, buffers that notice a byte
// too far, faults turned into failures, and a comparison by bits.
//
// Environment: RUNNEL_CHECK_SEED=n repeats a run; RUNNEL_CHECK_OP=text runs only operations whose name contains the text;
// RUNNEL_CHECK_PLAIN=1 is for processors emulated by qemu 7.2, which flushes denormal halves where x86 keeps them, and reads lanes that a
// mask leaves out: no number is near zero then, and inputs end a line before the page without access.
#ifndef RN_TESTS_KERNELS_HARNESS_H
#define RN_TESTS_KERNELS_HARNESS_H

#include "base/hash.h"
#include "base/pool.h"
#include "kernels/kernels.h"
#include "tensor/half.h"
#include "tests/check.h"
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))

// Random numbers ---------------------------------------------------------------------------------------------------------

static uint64_t rng_seed, rng_count;

static uint64_t seed_of_run(void) {
    const char *const text = getenv("RUNNEL_CHECK_SEED");
    return text ? strtoull(text, NULL, 10) : 1;
}
// Starts the sequence of one case, so that a case's data does not depend on those before it.
static void rng_start(const char *op, uint64_t i_case) {
    rng_seed = hash_bytes(op, strlen(op), hash_u64(i_case, seed_of_run()));
    rng_count = 0;
}
static uint64_t rng(void) { return hash_u64(rng_count++, rng_seed); }
static size_t below(size_t n) { return (size_t)(rng() % n); }
static float uniform(void) { return (float)(rng() >> 40) * 0x1p-23f - 1; } // [-1, 1)

// Data -------------------------------------------------------------------------------------------------------------------

enum data { DATA_NOISE, DATA_EXTREMES, DATA_TINY, DATA_N };
static const char *const data_names[DATA_N] = {"noise", "extremes", "tiny"};

// Called for each number: the environment is read once.
static bool is_plain(void) {
    static int answer = -1;
    if (answer < 0) answer = getenv("RUNNEL_CHECK_PLAIN") != NULL;
    return answer;
}

static float any_float(enum data kind) {
    static const float extremes[] = {127,    -127, 128,   1e10f, -1e10f, 1e-10f, 65504,
                                     -65520, 3,    -0.5f, 88.8f, -87.4f, 0,      -0.0f};
    static const uint32_t tiny[] = {0,          0x80000000, 1,          0x807fffff, 0x007fffff, 0x00800000,
                                    0x80800001, 0x0d000000, 0x33000000, 0xb3000001}; // denormals, 2^-100, 2^-25
    if (is_plain()) return (below(2) ? 1.0f : -1.0f) * (3 + 2 * uniform());
    if (kind == DATA_NOISE) return uniform() * 4;
    if (kind == DATA_EXTREMES) return below(2) ? extremes[below(COUNT(extremes))] : uniform() * 200;
    return f32_from_bits(tiny[below(COUNT(tiny))]);
}

static void fill_floats(float *x, size_t n, enum data kind) {
    for (size_t i = 0; i < n; i++) x[i] = any_float(kind);
}
// Now and then one number that is none, or infinite.
static void maybe_poison(float *x, size_t n) {
    static const float poison[] = {NAN, INFINITY, -INFINITY};
    if (n && below(8) == 0) x[below(n)] = poison[below(COUNT(poison))];
}

// An F16 scale: any finite bits, or of the size that models have, or zero and denormal.
static uint16_t any_half(enum data kind) {
    if (is_plain()) return f16_from_f32(any_float(kind) * 0.01f);
    if (kind == DATA_NOISE) return f16_from_f32(uniform() * 0.05f);
    const uint16_t sign = (uint16_t)(below(2) << 15);
    return sign | (uint16_t)(kind == DATA_EXTREMES ? below(0x7c00) : below(0x401));
}

// Buffers ----------------------------------------------------------------------------------------------------------------

// n bytes, `pad` (0..63) bytes before a page that faults, and a line more of plain data.
struct guarded {
    uint8_t *map, *data;
    size_t map_bytes, n;
};
static struct guarded guarded_new(size_t n, size_t pad) {
    if (is_plain()) pad += 64;
    const size_t page = 4096, body = (n + pad + page - 1) / page * page;
    uint8_t *const map = mmap(NULL, body + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED || mprotect(map + body, page, PROT_NONE) != 0) abort();
    return (struct guarded){map, map + body - pad - n, body + page, n};
}
static void guarded_free(struct guarded *g) { munmap(g->map, g->map_bytes); }

// An output: n bytes between two guards of 64, all filled with a pattern; the whole is compared.
enum { GUARD = 64, PATTERN = 0xa5 };
struct output {
    uint8_t *all, *data;
    size_t n;
};
static struct output output_new(size_t n) {
    uint8_t *const all = aligned_alloc(64, (n + 2 * GUARD + 63) / 64 * 64);
    if (!all) abort();
    memset(all, PATTERN, n + 2 * GUARD);
    return (struct output){all, all + GUARD, n};
}
static void output_free(struct output *o) { free(o->all); }

// Comparison -------------------------------------------------------------------------------------------------------------

static bool same_word(const uint8_t *a, const uint8_t *b) {
    float x, y;
    memcpy(&x, a, 4);
    memcpy(&y, b, 4);
    return memcmp(a, b, 4) == 0 || (x != x && y != y);
}
// Both outputs with their guards, as floats: equal bits, any NaN being equal to any other.
static bool same_floats(const struct output *got, const struct output *want) {
    for (size_t i = 0; i < got->n + 2 * GUARD; i += 4) {
        if (same_word(got->all + i, want->all + i)) continue;
        printf("  element %ld of %zu: %08x, want %08x\n", ((long)i - GUARD) / 4, got->n / 4,
               (unsigned)*(uint32_t *)(void *)(got->all + i), (unsigned)*(uint32_t *)(void *)(want->all + i));
        return false;
    }
    return true;
}
static bool same_bytes(const struct output *got, const struct output *want) {
    for (size_t i = 0; i < got->n + 2 * GUARD; i++) {
        if (got->all[i] == want->all[i]) continue;
        printf("  byte %ld of %zu: %02x, want %02x\n", (long)i - GUARD, got->n, got->all[i], want->all[i]);
        return false;
    }
    return true;
}

// Faults -----------------------------------------------------------------------------------------------------------------

static sigjmp_buf fault_return;
static void on_fault(int signal_number) { siglongjmp(fault_return, signal_number); }

// Runs body in the kernels' floating-point mode; a fault in it fails the test instead of ending the program.
static void run_guarded(void (*body)(const struct kernel_set *), const struct kernel_set *set) {
    static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE};
    struct sigaction old[COUNT(signals)];
    const struct sigaction action = {.sa_handler = on_fault};
    const fp_mode mode = fp_mode_enter();
    for (size_t i = 0; i < COUNT(signals); i++) sigaction(signals[i], &action, &old[i]);
    const int fault = sigsetjmp(fault_return, 1);
    if (fault == 0)
        body(set);
    else
        check_that(false, __FILE__, __LINE__, "a fault inside the kernel");
    for (size_t i = 0; i < COUNT(signals); i++) sigaction(signals[i], &old[i], NULL);
    fp_mode_leave(mode);
}

#endif
