// cli/score_rows.h - negative log-likelihood and argmax of a row of logits, for `score`.
#ifndef RN_CLI_SCORE_ROWS_H
#define RN_CLI_SCORE_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// -log p(id) under softmax(logits), in nats. Sums in double, after subtracting the largest logit.
double row_nll(const float *logits, int32_t n_vocab, int32_t id);
// log(sum of exp(logits)), and the entropy of softmax(logits) in nats, given that.
double row_log_sum(const float *logits, int32_t n_vocab);
double row_entropy(const float *logits, int32_t n_vocab, double log_sum);
// Index of the largest logit; the first of equal ones.
int32_t row_argmax(const float *logits, int32_t n_vocab);

#endif
