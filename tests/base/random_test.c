// tests/base/random_test.c - Philox against its published vectors, hashes, the clock.
#include "base/clock.h"
#include "base/hash.h"
#include "base/philox.h"
#include "tests/check.h"
#include <math.h>
#include <string.h>

TEST(philox_gives_its_authors_known_answers) { // kat_vectors of Random123, philox4x32 with 10 rounds
    static const struct {
        uint32_t counter[4], key[2], out[4];
    } rows[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint32_t out[4];
        philox4x32_10(rows[i].counter, rows[i].key, out);
        check_note("row %zu", i);
        CHECK_MEM(out, rows[i].out, sizeof out);
    }
}

TEST(philox_may_write_over_its_counter) {
    uint32_t c[4] = {0, 0, 0, 0};
    const uint32_t key[2] = {0, 0}, want[4] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
    philox4x32_10(c, key, c);
    CHECK_MEM(c, want, sizeof c);
}

TEST(uniform_is_keyed_by_each_of_its_four_arguments) {
    CHECK(philox_uniform(0, 0, 0, PHILOX_SAMPLE) == (double)(0x6627e8d5e169c58dull >> 11) / 0x1p53);
    const double base = philox_uniform(7, 1, 2, PHILOX_SAMPLE);
    CHECK(base == philox_uniform(7, 1, 2, PHILOX_SAMPLE));
    CHECK(base != philox_uniform(8, 1, 2, PHILOX_SAMPLE));
    CHECK(base != philox_uniform(7 + (1ull << 32), 1, 2, PHILOX_SAMPLE));
    CHECK(base != philox_uniform(7, 2, 2, PHILOX_SAMPLE));
    CHECK(base != philox_uniform(7, 1, 3, PHILOX_SAMPLE));
    CHECK(base != philox_uniform(7, 1, 2, PHILOX_ACCEPT));
    CHECK(philox_uniform(7, 1, 2, PHILOX_ACCEPT) != philox_uniform(7, 2, 1, PHILOX_ACCEPT));
}

TEST(uniform_stays_below_one_and_fills_the_range_evenly) {
    enum { N = 100000, BINS = 16 };
    int bins[BINS] = {0};
    for (uint32_t i = 0; i < N; i++) {
        const double u = philox_uniform(42, 0, i, PHILOX_TEST);
        if (!CHECK(u >= 0 && u < 1)) return;
        bins[(int)(u * BINS)]++;
    }
    double chi2 = 0;
    for (int i = 0; i < BINS; i++) chi2 += pow(bins[i] - (double)N / BINS, 2) / ((double)N / BINS);
    CHECK(chi2 < 37.7); // 15 degrees of freedom: exceeded once in a thousand; the draw is fixed
}

TEST(every_byte_and_the_length_change_a_hash) {
    uint8_t data[40] = {0};
    for (size_t n = 0; n <= sizeof data; n++) {
        const uint64_t h = hash_bytes(data, n, 1);
        check_note("%zu bytes", n);
        CHECK(h == hash_bytes(data, n, 1));
        CHECK(h != hash_bytes(data, n, 2));
        CHECK(n == 0 || h != hash_bytes(data, n - 1, 1));
        for (size_t i = 0; i < n; i++)
            for (int bit = 0; bit < 8; bit++) {
                data[i] = (uint8_t)(1 << bit);
                const int n_differ = __builtin_popcountll(h ^ hash_bytes(data, n, 1));
                data[i] = 0;
                CHECK(n_differ > 8 && n_differ < 56);
            }
    }
    CHECK(hash_bytes(NULL, 0, 5) == hash_bytes(data, 0, 5));
}

TEST(hashes_do_not_depend_on_alignment_or_machine) {
    uint8_t data[32];
    for (size_t off = 0; off < 8; off++) {
        memcpy(data + off, "the hash of this", 16);
        CHECK(hash_bytes(data + off, 16, 3) == hash_bytes("the hash of this", 16, 3));
    }
    // mix() is SplitMix64's: from state 0 its first output is e220a8397b1dcdaf (= mix of the golden ratio), which
    // hash_u64 takes as the mixed seed 0; x = that ^ golden ratio gives it back.
    CHECK(hash_u64(0xe220a8397b1dcdafull ^ 0x9e3779b97f4a7c15ull, 0) == 0xe220a8397b1dcdafull);
}

TEST(the_clock_never_runs_backwards) {
    int64_t last = clock_now_ns();
    for (int i = 0; i < 10000; i++) {
        const int64_t now = clock_now_ns();
        CHECK(now >= last);
        last = now;
    }
}

TEST(entropy_differs_between_calls) { CHECK(clock_entropy() != clock_entropy()); }
