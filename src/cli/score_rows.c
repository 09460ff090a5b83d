// cli/score_rows.c - log-sum-exp and argmax of one row.
#include "cli/score_rows.h"
#include <math.h>

int32_t row_argmax(const float *logits, int32_t n_vocab) {
    int32_t best = 0;
    for (int32_t i = 1; i < n_vocab; i++)
        if (logits[i] > logits[best]) best = i;
    return best;
}

double row_nll(const float *logits, int32_t n_vocab, int32_t id) {
    const double top = (double)logits[row_argmax(logits, n_vocab)];
    double sum = 0;
    for (int32_t i = 0; i < n_vocab; i++) sum += exp((double)logits[i] - top);
    return top + log(sum) - (double)logits[id];
}
