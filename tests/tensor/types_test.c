// tests/tensor/types_test.c - the table of element types.
#include "tensor/types.h"
#include "tests/check.h"

TEST(each_type_is_found_by_number_and_by_name_in_any_case) {
    for (int t = 0; t < TENSOR_N_TYPES; t++) {
        const struct tensor_type_info *const info = tensor_type_info((enum tensor_type)t);
        check_note("type %d", t);
        CHECK_INT(info->type, t);
        CHECK(tensor_type_by_gguf_id(info->gguf_id) == info);
        CHECK(tensor_type_by_name(info->name) == info);
        CHECK_STR(tensor_gguf_id_name(info->gguf_id), info->name);
        CHECK(info->block_bytes > 0 && info->block_len > 0 && info->dequantize_row);
    }
    CHECK(tensor_type_by_name("q4_1") == tensor_type_info(TENSOR_Q4_1));
    CHECK(tensor_type_by_name("Q4_") == NULL);
    CHECK(tensor_type_by_name("") == NULL);
}

TEST(all_types_that_are_read_are_written_but_nvfp4) {
    for (int t = 0; t < TENSOR_N_TYPES; t++) {
        check_note("%s", tensor_type_info((enum tensor_type)t)->name);
        CHECK((tensor_type_info((enum tensor_type)t)->quantize_row != NULL) == (t != TENSOR_NVFP4));
    }
}

TEST(types_that_are_not_read_still_have_a_name) {
    CHECK_STR(tensor_gguf_id_name(15), "Q8_K");
    CHECK(tensor_type_by_gguf_id(15) == NULL);
    CHECK(tensor_gguf_id_name(4) == NULL);
    CHECK(tensor_gguf_id_name(43) == NULL);
    CHECK(tensor_gguf_id_name(UINT32_MAX) == NULL);
    CHECK(tensor_type_by_gguf_id(UINT32_MAX) == NULL);
}

TEST(row_bytes_are_whole_blocks_and_never_overflow) {
    static const struct {
        const char *why;
        enum tensor_type type;
        uint64_t n;
        bool ok;
        size_t bytes;
    } rows[] = {
        {"nothing", TENSOR_Q8_0, 0, true, 0},
        {"one block", TENSOR_Q8_0, 32, true, 34},
        {"one short of a block", TENSOR_Q8_0, 31, false, 0},
        {"one more than a block", TENSOR_Q8_0, 33, false, 0},
        {"two blocks", TENSOR_Q4_0, 64, true, 36},
        {"Q4_1 has two halves in front", TENSOR_Q4_1, 64, true, 40},
        {"a fifth bit for each", TENSOR_Q5_0, 64, true, 44},
        {"a byte of exponent", TENSOR_MXFP4, 64, true, 34},
        {"four scales for 64", TENSOR_NVFP4, 128, true, 72},
        {"32 is no block of 64", TENSOR_NVFP4, 32, false, 0},
        {"one short of 256", TENSOR_Q4_K, 255, false, 0},
        {"32 is no block of 256", TENSOR_Q6_K, 32, false, 0},
        {"two blocks of 256", TENSOR_Q6_K, 512, true, 420},
        {"plain", TENSOR_F32, 7, true, 28},
        {"half", TENSOR_BF16, 7, true, 14},
        {"4 * n overflows", TENSOR_F32, UINT64_MAX / 2, false, 0},
        {"34 * n / 32 overflows", TENSOR_Q8_0, UINT64_MAX - 31, false, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t bytes = 0;
        check_note("%s", rows[i].why);
        if (!CHECK(tensor_row_bytes(rows[i].type, rows[i].n, &bytes) == rows[i].ok) || !rows[i].ok) continue;
        CHECK_INT(bytes, rows[i].bytes);
    }
}
