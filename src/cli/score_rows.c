// cli/score_rows.c - log-sum-exp and argmax of one row.
#include "cli/score_rows.h"
#include <math.h>

int32_t row_argmax(const float *logits, int32_t n_vocab) {
    int32_t best = 0;
    for (int32_t i = 1; i < n_vocab; i++)
        if (logits[i] > logits[best]) best = i;
    return best;
}

double row_log_sum(const float *logits, int32_t n_vocab) {
    const double top = (double)logits[row_argmax(logits, n_vocab)];
    double sum = 0;
    for (int32_t i = 0; i < n_vocab; i++) sum += exp((double)logits[i] - top);
    return top + log(sum);
}

double row_nll(const float *logits, int32_t n_vocab, int32_t id) {
    return row_log_sum(logits, n_vocab) - (double)logits[id];
}

double row_entropy(const float *logits, int32_t n_vocab, double log_sum) {
    double sum = 0;
    for (int32_t i = 0; i < n_vocab; i++) {
        const double logprob = (double)logits[i] - log_sum;
        if (logprob > -700) sum -= exp(logprob) * logprob; // else 0, also where the logit is minus infinity
    }
    return sum;
}
