// convert/requantize.h - converts a tensor's rows to another type, many rows at once, and measures the error.
//
// Bytes and error do not depend on the number of threads: each row is done by one thread, and sums over rows are added in order.
// Ownership: requantizer_create() / requantizer_destroy(). Threads: one at a time; it uses the pool's.
#ifndef RN_CONVERT_REQUANTIZE_H
#define RN_CONVERT_REQUANTIZE_H

#include "base/pool.h"
#include "convert/type_plan.h"

typedef struct requantizer requantizer;
// One for all tensors of a plan. threads: the caller's. Errors: RN_E_NOMEM.
rn_status requantizer_create(const struct tensor_plan *plans, size_t n, pool *threads, requantizer **out,
                             rn_error *err);
void requantizer_destroy(requantizer *q); // NULL is fine

// Sums over the rows so far: of squared differences, and of squared values.
struct row_errors {
    double difference, square;
};

// The number of rows that are converted at once.
size_t requantizer_rows(const requantizer *q, const struct tensor_plan *plan);
// Converts rows [first, first + n) of the plan's tensor, n <= requantizer_rows(). *bytes: the rows in the new type, valid until the
// next call. Errors: RN_E_FORMAT (a number that is not finite or that the type cannot hold; names the row).
rn_status requantize_rows(requantizer *q, const struct tensor_plan *plan, size_t first, size_t n,
                          struct row_errors *sums, const uint8_t **bytes, rn_error *err);

#endif
