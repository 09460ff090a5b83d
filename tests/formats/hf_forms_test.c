// tests/formats/hf_forms_test.c - each way of making a GGUF tensor of a folder's, number by number.
#include "formats/folder/hf_forms.h"
#include "tests/check.h"
#include <math.h>
#include <string.h>

#define N(rows) (sizeof(rows) / sizeof *(rows))
enum { MAX_NUMBERS = 64 };

static const struct safetensors_type f32 = {"F32", 32, true, TENSOR_F32}, bf16 = {"BF16", 16, true, TENSOR_BF16};

// 2 heads over 1 of 4 elements; latent heads of 1 unrotated and 2 value elements; 2 key heads of 1 under 4 value heads of 1.
static const struct hf_sizes sizes = {.n_head = 2,
                                      .n_head_kv = 1,
                                      .head_dim = 4,
                                      .nope = 1,
                                      .value = 2,
                                      .key_heads = 2,
                                      .value_heads = 4,
                                      .key_dim = 1,
                                      .value_dim = 1,
                                      .groups = 2,
                                      .n_embd = 2};

struct row {
    enum hf_form form;
    int n_dims;
    uint64_t dims[3]; // as a folder has them
    int n_out;
    uint64_t ne[3]; // as GGUF has them
    bool is_view;
    int n;
    int from[24]; // which number of the folder's tensor comes as number i
};

// Numbers of the folder's tensor count up from 0.
static void check_row(const struct row *row) {
    float src[MAX_NUMBERS], dst[MAX_NUMBERS];
    struct safetensors_record t = {.n_dims = row->n_dims, .type = &f32};
    struct hf_plan plan;
    rn_error err = {0};
    uint64_t first, n = 1;
    for (int d = 0; d < row->n_dims; d++) t.dims[d] = row->dims[d];
    for (int i = 0; i < MAX_NUMBERS; i++) src[i] = (float)i;
    check_note("form %d", row->form);
    if (!CHECK_OK(hf_plan(row->form, &sizes, &t, &plan, &err), &err)) return;
    CHECK_INT(plan.n_dims, row->n_out);
    for (int d = 0; d < row->n_out; d++) {
        CHECK_INT(plan.ne[d], row->ne[d]);
        n *= plan.ne[d];
    }
    CHECK_INT(n, row->n);
    CHECK(hf_plan_type(&plan, TENSOR_BF16) == TENSOR_BF16);
    hf_plan_run(&plan, &sizes, TENSOR_F32, (const uint8_t *)src, (uint8_t *)dst);
    for (int i = 0; i < row->n; i++) CHECK_INT((int)dst[i], row->from[i]);
    CHECK_INT(hf_plan_is_view(&plan, &first), row->is_view);
    for (int i = 0; row->is_view && i < row->n; i++) CHECK_INT(first + (uint64_t)i, row->from[i]);
}

TEST(each_form_takes_the_numbers_that_its_name_says) {
    static const struct row rows[] = {
        {HF_AS_IT_IS, 2, {2, 3}, 2, {3, 2}, true, 6, {0, 1, 2, 3, 4, 5}},
        {HF_AS_IT_IS, 1, {3}, 1, {3}, true, 3, {0, 1, 2}},
        {HF_QUERIES_INTERLEAVED, 2, {8, 1}, 2, {1, 8}, false, 8, {0, 2, 1, 3, 4, 6, 5, 7}},
        {HF_QUERIES_INTERLEAVED, 1, {8}, 1, {8}, false, 8, {0, 2, 1, 3, 4, 6, 5, 7}},
        {HF_KEYS_INTERLEAVED, 2, {4, 2}, 2, {2, 4}, false, 8, {0, 1, 4, 5, 2, 3, 6, 7}},
        {HF_TRANSPOSED, 2, {2, 3}, 2, {2, 3}, false, 6, {0, 3, 1, 4, 2, 5}},
        {HF_TRANSPOSED, 3, {2, 1, 2}, 3, {1, 2, 2}, false, 4, {0, 1, 2, 3}},
        {HF_QKV_GROUPED,
         1,
         {16},
         1,
         {16},
         false,
         16,
         {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}}, // one group: as it was
        {HF_FIRST_HALF, 2, {4, 2}, 2, {2, 2}, true, 4, {0, 1, 2, 3}},
        {HF_SECOND_HALF, 2, {4, 2}, 2, {2, 2}, true, 4, {4, 5, 6, 7}},
        {HF_FIRST_HALF, 3, {2, 2, 2}, 3, {2, 1, 2}, false, 4, {0, 1, 4, 5}},
        {HF_SECOND_HALF, 3, {2, 2, 2}, 3, {2, 1, 2}, false, 4, {2, 3, 6, 7}},
        {HF_EVEN, 2, {2, 4}, 2, {2, 2}, false, 4, {0, 2, 4, 6}},
        {HF_ODD, 2, {2, 4}, 2, {2, 2}, false, 4, {1, 3, 5, 7}},
        {HF_TRANSPOSED_FIRST_HALF, 3, {1, 2, 4}, 3, {2, 2, 1}, false, 4, {0, 4, 1, 5}},
        {HF_TRANSPOSED_SECOND_HALF, 3, {1, 2, 4}, 3, {2, 2, 1}, false, 4, {2, 6, 3, 7}},
        {HF_TRANSPOSED_EVEN, 3, {1, 2, 4}, 3, {2, 2, 1}, false, 4, {0, 4, 2, 6}},
        {HF_TRANSPOSED_ODD, 3, {1, 2, 4}, 3, {2, 2, 1}, false, 4, {1, 5, 3, 7}},
        {HF_WITHOUT_FIRST_TWO, 2, {4, 2}, 2, {2, 2}, true, 4, {4, 5, 6, 7}},
        {HF_SQUEEZED, 3, {2, 1, 3}, 2, {3, 2}, true, 6, {0, 1, 2, 3, 4, 5}},
        {HF_COLUMN, 1, {3}, 2, {1, 3}, true, 3, {0, 1, 2}},
        {HF_BY_GROUP, 1, {4}, 2, {2, 2}, true, 4, {0, 1, 2, 3}},
        // [head][nope, value, value] over a latent of 2: keys turned, values not
        {HF_KEYS_OF_LATENT, 2, {6, 2}, 3, {1, 2, 2}, false, 4, {0, 1, 6, 7}},
        {HF_VALUES_OF_LATENT, 2, {6, 2}, 3, {2, 2, 2}, false, 8, {2, 3, 4, 5, 8, 9, 10, 11}},
        // [key head][q, k, v, v, z, z] of 2 key heads
        {HF_QKV_OF_QKVZ, 2, {12, 1}, 2, {1, 8}, false, 8, {0, 6, 1, 7, 2, 3, 8, 9}},
        {HF_Z_OF_QKVZ, 2, {12, 1}, 2, {1, 4}, false, 4, {4, 5, 10, 11}},
        // value heads [key head][v] -> [v][key head]
        {HF_TILED_QKV, 2, {8, 1}, 2, {1, 8}, false, 8, {0, 1, 2, 3, 4, 6, 5, 7}},
        {HF_TILED_ROWS, 2, {4, 2}, 2, {2, 4}, false, 8, {0, 1, 4, 5, 2, 3, 6, 7}},
        {HF_TILED_HEADS, 1, {4}, 1, {4}, false, 4, {0, 2, 1, 3}},
        {HF_TILED_COLUMNS, 2, {2, 4}, 2, {4, 2}, false, 8, {0, 2, 1, 3, 4, 6, 5, 7}},
        {HF_HALVES_SWAPPED, 2, {2, 4}, 2, {4, 2}, false, 8, {2, 3, 0, 1, 6, 7, 4, 5}},
        {HF_TILED_CONV, 3, {8, 1, 2}, 2, {2, 8}, false, 16, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15}},
    };
    for (size_t i = 0; i < N(rows); i++) check_row(&rows[i]);
}

// 3 queries, a key and a value for each of two groups, of heads of one element.
TEST(queries_keys_and_values_of_groups_come_apart) {
    static const struct hf_sizes of_groups = {.n_head = 6, .n_head_kv = 2, .head_dim = 1};
    static const int want[] = {0, 1, 2, 5, 6, 7, 3, 8, 4, 9};
    const struct safetensors_record t = {.n_dims = 2, .dims = {10, 1}, .type = &f32};
    float src[10], dst[10];
    struct hf_plan plan;
    for (int i = 0; i < 10; i++) src[i] = (float)i;
    if (!CHECK(hf_plan(HF_QKV_GROUPED, &of_groups, &t, &plan, NULL) == RN_OK)) return;
    hf_plan_run(&plan, &of_groups, TENSOR_F32, (const uint8_t *)src, (uint8_t *)dst);
    for (int i = 0; i < 10; i++) CHECK_INT((int)dst[i], want[i]);
}

TEST(numbers_that_change_become_f32) {
    static const struct {
        enum hf_form form;
        double (*want)(double x);
        int order[4];
    } rows[] = {{HF_PLUS_ONE, NULL, {0, 1, 2, 3}},
                {HF_MINUS_EXP, exp, {0, 1, 2, 3}},
                {HF_MINUS_EXP_COLUMN, exp, {0, 1, 2, 3}},
                {HF_TILED_MINUS_EXP, exp, {0, 2, 1, 3}}};
    static const uint16_t src[] = {0x3f80, 0x4000, 0xbf80, 0x3c00}; // 1, 2, -1, 2^-7
    static const double numbers[] = {1, 2, -1, 0.0078125};
    const struct safetensors_record t = {.n_dims = 1, .dims = {4}, .type = &bf16};
    for (size_t i = 0; i < N(rows); i++) {
        struct hf_plan plan;
        float dst[4];
        uint64_t first;
        if (!CHECK(hf_plan(rows[i].form, &sizes, &t, &plan, NULL) == RN_OK)) continue;
        CHECK(!hf_plan_is_view(&plan, &first) && hf_plan_type(&plan, TENSOR_BF16) == TENSOR_F32);
        hf_plan_run(&plan, &sizes, TENSOR_BF16, (const uint8_t *)src, (uint8_t *)dst);
        for (int k = 0; k < 4; k++) {
            const double x = numbers[rows[i].order[k]];
            CHECK(dst[k] == (float)(rows[i].want ? -rows[i].want(x) : x + 1));
        }
    }
}

TEST(long_rows_change_as_short_ones_do) {
    enum { N_LONG = 1000 };
    static float src[N_LONG], dst[N_LONG];
    const struct safetensors_record t = {.n_dims = 1, .dims = {N_LONG}, .type = &f32};
    struct hf_plan plan;
    for (int i = 0; i < N_LONG; i++) src[i] = (float)i;
    if (!CHECK(hf_plan(HF_PLUS_ONE, &sizes, &t, &plan, NULL) == RN_OK)) return;
    hf_plan_run(&plan, &sizes, TENSOR_F32, (const uint8_t *)src, (uint8_t *)dst);
    for (int i = 0; i < N_LONG; i++) CHECK(dst[i] == (float)(i + 1));
}

TEST(shapes_that_a_form_does_not_fit_are_refused) {
    static const struct {
        enum hf_form form;
        int n_dims;
        uint64_t dims[3];
        const char *want;
    } rows[] = {
        {HF_AS_IT_IS, 0, {0}, "is a single number without a shape"},
        {HF_QUERIES_INTERLEAVED, 2, {7, 2}, "7 rows, where 8 are expected"},
        {HF_KEYS_INTERLEAVED, 2, {8, 2}, "8 rows, where 4 are expected"},
        {HF_QUERIES_INTERLEAVED, 3, {2, 8, 2}, "3 dimensions, where at most 2 are expected"},
        {HF_QKV_GROUPED, 2, {15, 2}, "15 rows, where 16 are expected"},
        {HF_FIRST_HALF, 2, {3, 2}, "3 rows, where two halves are expected"},
        {HF_ODD, 2, {2, 3}, "3 columns, where two halves are expected"},
        {HF_WITHOUT_FIRST_TWO, 2, {2, 2}, "2 rows, where more than 2 are expected"},
        {HF_SQUEEZED, 3, {2, 2, 2}, "is not [channels, 1, taps], the shape of a convolution"},
        {HF_SQUEEZED, 2, {2, 2}, "is not [channels, 1, taps]"},
        {HF_COLUMN, 2, {2, 2}, "2 dimensions, where one is expected"},
        {HF_BY_GROUP, 1, {3}, "3 numbers for 2 groups"},
        {HF_KEYS_OF_LATENT, 2, {5, 2}, "5 rows, where 6 are expected"},
        {HF_VALUES_OF_LATENT, 3, {2, 6, 2}, "3 dimensions, where at most 2"},
        {HF_Z_OF_QKVZ, 2, {11, 1}, "11 rows, where 12 are expected"},
        {HF_TILED_QKV, 2, {9, 1}, "9 rows, where 8 are expected"},
        {HF_TILED_COLUMNS, 2, {2, 5}, "5 columns, where config.json says 4 heads of 1"},
        {HF_HALVES_SWAPPED, 2, {2, 6}, "6 columns, where config.json says twice 2"},
        {HF_TILED_CONV, 3, {8, 2, 2}, "is not [channels, 1, taps]"},
        {HF_TILED_CONV, 2, {8, 2}, "is not [channels, 1, taps]"},
        {HF_TILED_HEADS, 1, {5}, "5 rows, where 4 are expected"},
    };
    for (size_t i = 0; i < N(rows); i++) {
        struct safetensors_record t = {.n_dims = rows[i].n_dims, .type = &f32};
        struct hf_plan plan;
        rn_error err = {0};
        for (int d = 0; d < rows[i].n_dims; d++) t.dims[d] = rows[i].dims[d];
        check_note("form %d", rows[i].form);
        CHECK_FAILS(hf_plan(rows[i].form, &sizes, &t, &plan, &err), RN_E_FORMAT, &err);
        CHECK_HAS(err.text, rows[i].want);
    }
}
