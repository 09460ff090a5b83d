// tests/tensor/rows_test.c - rows against values computed by the gguf package (make_quant_rows.py), in any floating-point mode.
#include "base/pool.h"
#include "tensor/types.h"
#include "tests/check.h"
#include <stdlib.h>
#include <string.h>

static uint32_t take_u32(const uint8_t **p) {
    uint32_t v;
    memcpy(&v, *p, 4);
    *p += 4;
    return v;
}

// One record of quant_rows.bin; n = 0: only dequantized.
static void check_record(const struct tensor_type_info *t, const uint8_t **p) {
    const uint32_t n = take_u32(p);
    size_t n_bytes = 0;
    if (n) {
        CHECK(tensor_row_bytes(t->type, n, &n_bytes));
        float *const x = malloc(4 * n);
        uint8_t *const packed = malloc(n_bytes + 1);
        memcpy(x, *p, 4 * n);
        t->quantize_row(x, NULL, packed, n);
        CHECK_MEM(packed, *p + 4 * n, n_bytes);
        t->quantize_row(x, NULL, packed + 1, n); // at an odd address
        CHECK_MEM(packed + 1, *p + 4 * n, n_bytes);
        *p += 4 * n + n_bytes;
        free(x);
        free(packed);
    }
    const uint32_t n_raw = take_u32(p), n_back = n_raw / t->block_bytes * t->block_len;
    float *const back = malloc(4 * n_back);
    t->dequantize_row(*p, back, n_back);
    CHECK_MEM(back, *p + n_raw, 4 * n_back);
    *p += n_raw + 4 * n_back;
    free(back);
}

static void check_golden(void) {
    size_t size;
    uint8_t *const data = read_file(tests_path("tensor/quant_rows.bin"), &size);
    if (!data) return;
    int n_records = 0;
    for (const uint8_t *p = data; p < data + size; n_records++) {
        const struct tensor_type_info *const t = tensor_type_by_gguf_id(take_u32(&p));
        if (!CHECK(t)) break;
        check_note("%s", t->name);
        check_record(t, &p);
    }
    CHECK_INT(n_records, TENSOR_N_TYPES - 1); // all but F32
    free(data);
}

TEST(rows_convert_as_the_reference_package_converts_them) { check_golden(); }

TEST(rows_convert_the_same_with_denormals_flushed) {
    const fp_mode mode = fp_mode_enter();
    check_golden();
    fp_mode_leave(mode);
}

TEST(a_block_too_small_to_invert_its_scale_becomes_zeros) {
    for (int t = TENSOR_Q8_0; t < TENSOR_N_TYPES; t++) {
        const struct tensor_type_info *const info = tensor_type_info((enum tensor_type)t);
        float x[256] = {0}, back[256];
        uint8_t block[300];
        x[3] = 1e-40f;
        x[4] = -2e-40f;
        if (!info->quantize_row) continue;
        check_note("%s", info->name);
        info->quantize_row(x, NULL, block, info->block_len);
        info->dequantize_row(block, back, info->block_len);
        for (uint32_t i = 0; i < info->block_len; i++) CHECK(back[i] == 0);
    }
}

TEST(an_empty_row_reads_and_writes_nothing) {
    for (int t = 0; t < TENSOR_N_TYPES; t++) {
        const struct tensor_type_info *const info = tensor_type_info((enum tensor_type)t);
        if (info->quantize_row) info->quantize_row(NULL, NULL, NULL, 0);
        info->dequantize_row(NULL, NULL, 0);
    }
}
