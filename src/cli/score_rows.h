// cli/score_rows.h - from rows of logits to surprise: what `score` makes of each row as it comes.
#ifndef RN_CLI_SCORE_ROWS_H
#define RN_CLI_SCORE_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// -log p(id) under softmax(logits), in nats. Sums in double, the largest logit taken out first.
double row_nll(const float *logits, int32_t n_vocab, int32_t id);
// Index of the largest logit; of equal ones the first.
int32_t row_argmax(const float *logits, int32_t n_vocab);

#endif
