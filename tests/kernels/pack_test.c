// tests/kernels/pack_test.c - every set packs weights to the bytes of the plain functions.
#include "base/hash.h"
#include "kernels/panels/panel_iq.h"
#include "tests/check.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))

typedef void (*pack_fn)(const uint8_t *rows, size_t row_bytes, int n_rows, size_t k, void *panel);
static const pack_fn plain[TENSOR_N_TYPES] = {
    [TENSOR_F32] = panel_f32_pack,         [TENSOR_F16] = panel_f16_pack,       [TENSOR_BF16] = panel_bf16_pack,
    [TENSOR_Q8_0] = panel_q8_0_pack,       [TENSOR_Q4_0] = panel_q4_0_pack,     [TENSOR_Q4_1] = panel_q4_1_pack,
    [TENSOR_Q5_0] = panel_q5_0_pack,       [TENSOR_Q5_1] = panel_q5_1_pack,     [TENSOR_IQ4_NL] = panel_iq4_nl_pack,
    [TENSOR_MXFP4] = panel_mxfp4_pack,     [TENSOR_Q2_K] = panel_q2_k_pack,     [TENSOR_Q3_K] = panel_q3_k_pack,
    [TENSOR_Q4_K] = panel_q4_k_pack,       [TENSOR_Q5_K] = panel_q5_k_pack,     [TENSOR_Q6_K] = panel_q6_k_pack,
    [TENSOR_IQ4_XS] = panel_iq4_xs_pack,   [TENSOR_TQ1_0] = panel_tq1_0_pack,   [TENSOR_TQ2_0] = panel_tq2_0_pack,
    [TENSOR_IQ2_XXS] = panel_iq2_xxs_pack, [TENSOR_IQ2_XS] = panel_iq2_xs_pack, [TENSOR_IQ2_S] = panel_iq2_s_pack,
    [TENSOR_IQ3_XXS] = panel_iq3_xxs_pack, [TENSOR_IQ3_S] = panel_iq3_s_pack,   [TENSOR_IQ1_S] = panel_iq1_s_pack,
    [TENSOR_IQ1_M] = panel_iq1_m_pack,     [TENSOR_Q1_0] = panel_q1_0_pack,     [TENSOR_Q2_0] = panel_q2_0_pack,
    [TENSOR_NVFP4] = panel_nvfp4_pack,
};

// n any bytes that end where memory does; *map for bytes_free().
static uint8_t *bytes_new(size_t n, uint64_t seed, uint8_t **map) {
    const size_t page = 4096, body = (n + page - 1) / page * page;
    *map = mmap(NULL, body + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (*map == MAP_FAILED || mprotect(*map + body, page, PROT_NONE) != 0) abort();
    for (size_t i = 0; i < n; i++) (*map + body - n)[i] = (uint8_t)hash_u64(i, seed);
    return *map + body - n;
}
static void bytes_free(uint8_t *map, size_t n) { munmap(map, (n + 4095) / 4096 * 4096 + 4096); }

// A panel that is not zero before it is packed, with a line behind it that must not change.
static uint8_t *panel_new(size_t n) {
    uint8_t *const p = aligned_alloc(64, n + 64);
    if (!p) abort();
    return memset(p, 0xa5, n + 64);
}

static bool pack_case(const struct matmul_ops *ops, enum tensor_type type, size_t k, int n_rows, size_t apart) {
    size_t row_bytes = 0;
    CHECK(tensor_row_bytes(type, k, &row_bytes));
    const size_t stride = row_bytes + apart, n = stride * (size_t)(n_rows - 1) + row_bytes;
    const size_t n_panel = ops->panel_bytes(k);
    uint8_t *map, *const rows = bytes_new(n, k + (size_t)n_rows, &map);
    uint8_t *const want = panel_new(n_panel), *const got = panel_new(n_panel);
    plain[type](rows, stride, n_rows, k, want);
    ops->pack(rows, stride, n_rows, k, got);
    const bool same = CHECK_MEM(got, want, n_panel + 64);
    bytes_free(map, n);
    free(want);
    free(got);
    return same;
}

static void check_type(const struct kernel_set *set, enum tensor_type type) {
    static const size_t numbers[] = {1, 2, 3, 4, 7, 8, 9, 15, 16, 31, 32, 33, 40, 64, 95, 257},
                        blocks[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 33};
    const struct matmul_ops *const ops = &set->matmul[type];
    const struct tensor_type_info *const info = tensor_type_info(type);
    const bool is_plain = info->block_len == 1;
    if (!ops->pack) return;
    for (size_t i = 0; i < (is_plain ? COUNT(numbers) : COUNT(blocks)); i++)
        for (int n_rows = 1; n_rows <= PANEL_ROWS; n_rows += n_rows < 14 ? 7 : 1) {
            const size_t k = is_plain ? numbers[i] : blocks[i] * info->block_len;
            check_note("set %s type %s k %zu rows %d", set->name, info->name, k, n_rows);
            if (!pack_case(ops, type, k, n_rows, i % 2 ? 37 : 0)) return;
        }
}

TEST(every_set_packs_to_the_bytes_of_the_plain_functions) {
    for (enum cpu_set s = CPU_REF; s < CPU_N_SETS; s++)
        for (int t = 0; cpu_set_available(s) && t < TENSOR_N_TYPES; t++)
            check_type(kernel_set_get(s), (enum tensor_type)t);
}
