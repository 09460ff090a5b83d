// tests/kernels/set_test.c - choosing a CPU set by name or by detection, and the sizes of prepared rows.
#include "kernels/kernels.h"
#include "tests/check.h"
#include <stdlib.h>
#include <string.h>

TEST(the_detected_set_is_the_highest_available_and_never_above_the_bound) {
    CHECK_INT(cpu_set_detect(CPU_REF), CPU_REF);
    const enum cpu_set best = cpu_set_detect(CPU_N_SETS);
    CHECK(cpu_set_available(best));
    for (enum cpu_set s = best + 1; s < CPU_N_SETS; s++) CHECK(!cpu_set_available(s));
    CHECK(cpu_set_available(CPU_REF));
    const char *const expected = getenv("RUNNEL_EXPECT_CPU"); // of an emulated processor, whose units are known
    if (expected) CHECK_STR(cpu_set_name(best), expected);
}

TEST(sets_are_chosen_by_name_and_a_wish_that_cannot_be_met_is_refused) {
    enum cpu_set got = CPU_N_SETS;
    rn_error err = {0};
    CHECK_OK(cpu_set_by_name("ref", &got, &err), &err);
    CHECK_INT(got, CPU_REF);
    static const char *const wrong[] = {"", "avx", "avx2 ", "AVX2", "avx512f"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        got = CPU_N_SETS;
        CHECK_FAILS(cpu_set_by_name(wrong[i], &got, &err), RN_E_ARG, &err);
        CHECK_HAS(err.text, wrong[i]);
        CHECK_HAS(err.text, "known ones are ref, avx2");
        CHECK_INT(got, CPU_N_SETS);
    }
    const rn_status st = cpu_set_by_name("avx2", &got, &err);
    if (cpu_set_available(CPU_AVX2)) {
        CHECK_OK(st, &err);
        CHECK_INT(got, CPU_AVX2);
    } else {
        CHECK_FAILS(st, RN_E_UNSUPPORTED, &err);
        CHECK_HAS(err.text, "CPU set avx2: this machine lacks ");
    }
}

// The best set of this kind of processor, and the one below it.
#if defined(__x86_64__)
static const enum cpu_set highest = CPU_AMX, below_it = CPU_AVX512VNNI;
#else
static const enum cpu_set highest = CPU_NEONI8MM, below_it = CPU_NEONDOT;
#endif
static const char *highest_refused(enum cpu_set s) {
    return s == highest ? "the operating system's permission" : NULL;
}
static const char *nothing_lacks(enum cpu_set s) {
    (void)s;
    return NULL;
}

TEST(the_reason_for_a_set_names_what_the_next_one_lacks) {
    static const char best[] = "the best that this build has and this machine supports";
    char text[160], want[160];
    snprintf(want, sizeof want, "%s; %s needs the operating system's permission", best, cpu_set_name(highest));
    cpu_set_reason(below_it, highest_refused, text, sizeof text);
    CHECK_STR(text, want);
    cpu_set_reason(highest, highest_refused, text, sizeof text); // what follows is of other processors
    CHECK_STR(text, best);
    cpu_set_reason(below_it, highest_refused, text, 60); // cut, with a terminator
    CHECK_INT(strlen(text), 59);
    cpu_set_reason(CPU_REF, nothing_lacks, text, sizeof text);
    CHECK_STR(text, best);
    const enum cpu_set detected = cpu_set_detect(CPU_N_SETS);
    CHECK(!cpu_set_lacks(detected));
    cpu_set_reason(detected, cpu_set_lacks, text, sizeof text);
    CHECK_HAS(text, best);
}

TEST(tables_carry_their_own_names) {
    for (enum cpu_set s = 0; s < CPU_N_SETS; s++) {
        if (!cpu_set_available(s)) continue;
        CHECK_INT(kernel_set_get(s)->id, s);
        CHECK_STR(kernel_set_get(s)->name, cpu_set_name(s));
    }
}

TEST(prepared_rows_take_whole_lines) {
    static const struct {
        enum act_format f;
        size_t k, bytes;
    } rows[] = {
        {ACT_F32, 0, 0},
        {ACT_F32, 1, 64},
        {ACT_F32, 16, 64},
        {ACT_F32, 17, 128},
        {ACT_BF16, 0, 0},
        {ACT_BF16, 1, 64},
        {ACT_BF16, 32, 64},
        {ACT_BF16, 33, 128},
        {ACT_Q8_32, 0, 0},
        {ACT_Q8_32, 1, 256},
        {ACT_Q8_32, 64, 256},
        {ACT_Q8_32, 65, 320},
        {ACT_Q8_32, 544, 544 + 32 + 3 * 128}, // 17 blocks: the scales of the 17th begin a second line
        {ACT_Q8_256, 0, 0},
        {ACT_Q8_256, 1, 256 + 4 * 64},
        {ACT_Q8_256, 256, 256 + 4 * 64},
        {ACT_Q8_256, 257, 2 * (256 + 64) + 3 * 64},
        {ACT_Q8_256, 17 * 256, 17 * (256 + 64) + 128 + 576 + 320}, // d, b16 and b32 end in a line of their own
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        check_note("format %d k %zu", rows[i].f, rows[i].k);
        CHECK_INT(act_bytes(rows[i].f, rows[i].k), rows[i].bytes);
    }
    uint8_t act[1]; // the last section ends where act_bytes says, to the line
    const struct act_q8 v = act_q8_view(act, 544);
    CHECK_INT((const uint8_t *)(v.b + 17) - act, 544 + 32 + 2 * 128 + 68);
    const struct act_q8_k w = act_q8_k_view(act, 17 * 256);
    CHECK_INT((const uint8_t *)(w.b32 + 17 * 16) - act, 17 * (256 + 64) + 128 + 576 + 272);
}
