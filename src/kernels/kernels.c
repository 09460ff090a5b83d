// kernels/kernels.c - the CPU sets of this build, which of them this machine supports, and their tables.
#include "kernels/kernels.h"
#include "base/checked.h"
#include "base/status.h"
#include "kernels/ref/ref.h"
#include <assert.h>
#include <stdio.h>
#include <string.h>
#if defined(__x86_64__)
#include "kernels/x86/sets_x86.h"
#elif defined(__aarch64__)
#include "kernels/arm/sets_arm.h"
#endif

// The name of a CPU feature that the set needs and this machine lacks; NULL: none.
static const char *ref_lacks(void) { return NULL; }
#if !defined(__x86_64__)
static const char *x86_lacks(void) { return "an x86-64 processor"; }
#endif
#if !defined(__aarch64__)
static const char *arm_lacks(void) { return "a 64-bit Arm processor"; }
#endif

// In ascending order: a later set is faster wherever it is available.
static const struct {
    const char *name;
    const char *(*lacks)(void);
    const struct kernel_set *set;
} sets[CPU_N_SETS] = {
    [CPU_REF] = {"ref", ref_lacks, &kernel_set_ref},
#if defined(__x86_64__)
    [CPU_AVX2] = {"avx2", avx2_lacks, &kernel_set_avx2},
    [CPU_AVX512] = {"avx512", avx512_lacks, &kernel_set_avx512},
    [CPU_AVX512VNNI] = {"avx512vnni", avx512vnni_lacks, &kernel_set_avx512vnni},
    [CPU_AMX] = {"amx", amx_lacks, &kernel_set_amx},
#else
    [CPU_AVX2] = {"avx2", x86_lacks, NULL},
    [CPU_AVX512] = {"avx512", x86_lacks, NULL},
    [CPU_AVX512VNNI] = {"avx512vnni", x86_lacks, NULL},
    [CPU_AMX] = {"amx", x86_lacks, NULL},
#endif
#if defined(__aarch64__)
    [CPU_NEON] = {"neon", neon_lacks, &kernel_set_neon},
    [CPU_NEONDOT] = {"neondot", neondot_lacks, &kernel_set_neondot},
    [CPU_NEONI8MM] = {"neoni8mm", neoni8mm_lacks, &kernel_set_neoni8mm},
#else
    [CPU_NEON] = {"neon", arm_lacks, NULL},
    [CPU_NEONDOT] = {"neondot", arm_lacks, NULL},
    [CPU_NEONI8MM] = {"neoni8mm", arm_lacks, NULL},
#endif
};

size_t act_bytes(enum act_format f, size_t k) {
    const size_t n_block = ceil_div(k, 32), n_k_block = ceil_div(k, 256);
    switch (f) {
    case ACT_F32: return act_q8_pad64(4 * k);
    case ACT_BF16: return act_q8_pad64(2 * 32 * n_block);
    case ACT_Q8_32: return act_q8_pad64(32 * n_block) + 3 * act_q8_pad64(4 * n_block);
    default: // ACT_Q8_256
        return (256 + 64) * n_k_block + act_q8_pad64(4 * n_k_block) + act_q8_pad64(32 * n_k_block) +
               act_q8_pad64(16 * n_k_block);
    }
}

const char *cpu_set_lacks(enum cpu_set s) { return sets[s].lacks(); }

bool cpu_set_available(enum cpu_set s) { return cpu_set_lacks(s) == NULL; }

const char *cpu_set_name(enum cpu_set s) { return sets[s].name; }

enum cpu_set cpu_set_detect(enum cpu_set highest) {
    enum cpu_set best = CPU_REF;
    for (enum cpu_set s = CPU_REF; s < CPU_N_SETS && s <= highest; s++)
        if (cpu_set_available(s)) best = s;
    return best;
}

void cpu_set_reason(enum cpu_set best, const char *(*lacks)(enum cpu_set), char *out, size_t out_bytes) {
    const int n = snprintf(out, out_bytes, "the best that this build has and this machine supports");
    enum cpu_set next = best + 1;
    while (next < CPU_N_SETS && !sets[next].set) next++; // of another kind of processor
    if (next < CPU_N_SETS && lacks(next) && n >= 0 && (size_t)n < out_bytes)
        snprintf(out + n, out_bytes - (size_t)n, "; %s needs %s", sets[next].name, lacks(next));
}

rn_status cpu_set_by_name(const char *name, enum cpu_set *out, rn_error *err) {
    for (enum cpu_set s = CPU_REF; s < CPU_N_SETS; s++) {
        if (strcmp(sets[s].name, name) != 0) continue;
        const char *const lacks = sets[s].lacks();
        if (lacks) return fail(err, RN_E_UNSUPPORTED, "CPU set %s: this machine lacks %s", name, lacks);
        *out = s;
        return RN_OK;
    }
    char list[128] = "";
    for (enum cpu_set s = CPU_REF; s < CPU_N_SETS; s++) {
        if (s != CPU_REF) strcat(list, ", ");
        strcat(list, sets[s].name);
    }
    return fail(err, RN_E_ARG, "CPU set \"%s\": unknown; known ones are %s", name, list);
}

const struct kernel_set *kernel_set_get(enum cpu_set s) {
    assert(s < CPU_N_SETS && cpu_set_available(s));
#if defined(__x86_64__)
    if (s == CPU_AVX512VNNI && x86_is_amd()) return &kernel_set_avx512vnni_amd;
#endif
    return sets[s].set;
}
