// backend/cpu/cpu_product.h - rows of activations times panels of a matrix: for linear ops and
// experts.
#ifndef RN_BACKEND_CPU_PRODUCT_H
#define RN_BACKEND_CPU_PRODUCT_H

#include "backend/cpu/cpu_private.h"

// A slice of a matrix and the rows it is multiplied with. Rows have a constant stride, and so do
// their results.
struct product {
    const struct cpu_matrix *cm;
    size_t slice;
    const uint8_t *acts; // prepared in the matrix's format
    size_t act_stride;
    size_t n_rows;
    float *out; // row 0, output 0; out_stride is in floats
    size_t out_stride;
    const float *bias; // [n_out], NULL: none
};

// Panels of one slice.
size_t cpu_slice_panels(const struct cpu_matrix *cm);
// First output of a panel of the slice: panels [begin, end) compute outputs
// [cpu_panel_output(begin), cpu_panel_output(end)).
size_t cpu_panel_output(const struct cpu_matrix *cm, size_t panel);
// Computes panels [begin, end) of the slice. scratch: cpu_product_scratch() bytes that belong to
// this thread.
void cpu_product_run(const struct cpu_backend *b, const struct product *p, size_t begin, size_t end,
                     uint8_t *scratch);
size_t cpu_product_scratch(const struct cpu_backend *b, const struct matrix *m);

#endif
