// formats/folder/hf_plan_run.c - runs the plans of hf_forms.c; see hf_forms.h.
#include "formats/folder/hf_forms.h"
#include <math.h>
#include <string.h>

// Address of number (i, j) within the taken part of a matrix.
static const uint8_t *number_at(const struct hf_plan *p, const uint8_t *mat, size_t n_bytes, uint64_t i, uint64_t j) {
    return mat + ((p->row_from + i * p->row_step) * p->n_cols + p->col_from + j * p->col_step) * n_bytes;
}

static uint64_t ordered(const struct hf_plan *p, const struct hf_sizes *s, bool of_columns, uint64_t i) {
    return p->row_of && !p->by_matrix && p->by_column == of_columns ? p->row_of(s, i) : i;
}

// Copies the numbers of one row of the result to out, in the folder's type.
static void take_row(const struct hf_plan *p, const struct hf_sizes *s, const uint8_t *mat, size_t n_bytes,
                     uint64_t row, uint8_t *out) {
    const uint64_t n = p->turned ? p->rows_taken : p->cols_taken;
    if (!p->turned && !p->by_column && p->col_step == 1) {
        memcpy(out, number_at(p, mat, n_bytes, ordered(p, s, false, row), 0), (size_t)n * n_bytes);
        return;
    }
    for (uint64_t k = 0; k < n; k++) {
        const uint8_t *from = p->turned
                                  ? number_at(p, mat, n_bytes, k, ordered(p, s, true, row))
                                  : number_at(p, mat, n_bytes, ordered(p, s, false, row), ordered(p, s, true, k));
        memcpy(out + k * n_bytes, from, n_bytes);
    }
}

// exp() is computed in double so that C libraries that differ in its last bits give the same float.
static float changed(enum hf_change change, double by, float x) {
    if (change == HF_ROWS_OF_LENGTH_1) return (float)((double)x / by);
    if (change == HF_ROWS_TIMES) return (float)((double)x * by);
    return change == HF_NUMBERS_PLUS ? x + (float)by : (float)-exp((double)x);
}

// Euclidean, and as in torch's normalize() not below 1e-12.
static double length_of(const struct tensor_type_info *type, const uint8_t *from, uint64_t n) {
    double sum = 0;
    for (uint64_t i = 0; i < n; i++) {
        float x;
        type->dequantize_row(from + i * type->block_bytes, &x, 1);
        sum += (double)x * (double)x;
    }
    return fmax(sqrt(sum), 1e-12);
}

// Converts a row to F32 in chunks and applies the change.
static void change_row(const struct hf_plan *p, const struct hf_sizes *s, uint64_t row,
                       const struct tensor_type_info *type, const uint8_t *from, uint64_t n, uint8_t *dst) {
    float x[256];
    const size_t n_bytes = type->block_bytes, most = sizeof x / sizeof *x;
    const double by = p->change == HF_ROWS_OF_LENGTH_1 ? length_of(type, from, n)
                      : p->change == HF_ROWS_TIMES     ? p->factor_of(s, row)
                                                       : p->plus;
    for (uint64_t at = 0, k; at < n; at += k) {
        k = n - at < most ? n - at : most;
        type->dequantize_row(from + at * n_bytes, x, (size_t)k);
        for (uint64_t i = 0; i < k; i++) x[i] = changed(p->change, by, x[i]);
        memcpy(dst + at * sizeof(float), x, (size_t)k * sizeof(float));
    }
}

void hf_plan_run(const struct hf_plan *p, const struct hf_sizes *s, enum tensor_type type, const uint8_t *src,
                 uint8_t *dst) {
    const struct tensor_type_info *info = tensor_type_info(type);
    const size_t n_bytes = info->block_bytes; // plain types: a block is one number
    const uint64_t rows = p->turned ? p->cols_taken : p->rows_taken, cols = p->turned ? p->rows_taken : p->cols_taken;
    const size_t row_bytes = (size_t)cols * (p->change == HF_NUMBERS_KEPT ? n_bytes : sizeof(float));
    for (uint64_t m = 0; m < p->n_mats; m++) {
        const uint8_t *mat = src + (p->by_matrix ? p->row_of(s, m) : m) * p->n_rows * p->n_cols * n_bytes;
        for (uint64_t r = 0; r < rows; r++, dst += row_bytes) {
            if (p->change == HF_NUMBERS_KEPT)
                take_row(p, s, mat, n_bytes, r, dst);
            else // whole rows, possibly in another order
                change_row(p, s, r, info, number_at(p, mat, n_bytes, ordered(p, s, false, r), 0), cols, dst);
        }
    }
}
