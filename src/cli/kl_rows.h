// cli/kl_rows.h - Kullback-Leibler divergence of a model's distributions from a reference's, row by row, for `score --kl`.
//
// Ownership: `struct kl_rows` is the caller's; {0} is empty; kl_rows_free(). Threads: one at a time.
#ifndef RN_CLI_KL_ROWS_H
#define RN_CLI_KL_ROWS_H

#include <stddef.h>
#include <stdint.h>

typedef struct kl_rows {
    double *kl; // [n]
    size_t n, n_same_top;
} kl_rows;

void kl_rows_reserve(kl_rows *k, size_t n);
// KL(softmax(reference) || softmax(logits)) in nats: sum of p_ref (log p_ref - log p), in double, never below 0.
void kl_rows_add(kl_rows *k, const float *logits, const float *reference, int32_t n_vocab);
// Over the rows so far: mean; 99th percentile (nearest rank); fraction of rows whose most probable token is the reference's.
typedef struct kl_result {
    double mean, p99, top1;
} kl_result;
kl_result kl_rows_result(kl_rows *k); // sorts the rows
void kl_rows_free(kl_rows *k);

#endif
