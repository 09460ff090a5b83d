// convert/requantize.h - rows of one tensor turned into another type, many rows at once, with the error that it makes.
//
// Bytes and error do not depend on the number of threads: a row is one thread's, and sums over rows are made in order.
// Ownership: requantizer_create() / requantizer_destroy(). Threads: one at a time; it uses the pool's.
#ifndef RN_CONVERT_REQUANTIZE_H
#define RN_CONVERT_REQUANTIZE_H

#include "base/pool.h"
#include "convert/type_plan.h"

typedef struct requantizer requantizer;
// For all tensors of a plan; threads stays the caller's. Errors: RN_E_NOMEM.
rn_status requantizer_create(const struct tensor_plan *plans, size_t n, pool *threads, requantizer **out,
                             rn_error *err);
void requantizer_destroy(requantizer *q); // NULL is fine

// Squared differences and squares, summed over the rows so far.
struct row_errors {
    double difference, square;
};

// Rows of a tensor done at once.
size_t requantizer_rows(const requantizer *q, const struct tensor_plan *plan);
// Rows [first, first + n) of the plan's tensor, n <= requantizer_rows(): their bytes in the new type, valid until the next call.
// Errors: RN_E_FORMAT (a number that is not finite, or that the type cannot hold: in which row).
rn_status requantize_rows(requantizer *q, const struct tensor_plan *plan, size_t first, size_t n,
                          struct row_errors *sums, const uint8_t **bytes, rn_error *err);

#endif
