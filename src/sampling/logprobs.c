// sampling/logprobs.c - log-probabilities of the model's own distribution: the log-softmax of the row before any stage.
#include "sampling/sampler.h"
#include <assert.h>

float token_logprobs(const struct rowmath *rm, const float *logits, int32_t n_vocab, int32_t token, int n_top,
                     struct token_logprob *top, int32_t *scratch) {
    assert(token >= 0 && token < n_vocab && n_top >= 0 && n_top <= LOGPROBS_MAX_TOP);
    const double norm = row_log_sum_exp(rm, logits, (size_t)n_vocab);
    if (n_top > 0) {
        int32_t idx[LOGPROBS_MAX_TOP];
        const size_t n = row_top_k(rm, logits, (size_t)n_vocab, (size_t)n_top, idx, scratch);
        for (size_t i = 0; i < n; i++)
            top[i] = (struct token_logprob){idx[i], (float)((double)logits[idx[i]] - norm)};
    }
    return (float)((double)logits[token] - norm);
}

// With e = exp(x - max) and Z = sum of e: the sum of e / Z * (log Z - (x - max)).
double token_entropy(const struct rowmath *rm, const float *logits, int32_t n_vocab, float *scratch) {
    const size_t n = (size_t)n_vocab;
    const float max = rm->max(logits, n);
    double total = 0, sum = 0;
    rm->exp(logits, n, max, scratch);
    for (size_t i = 0; i < n; i++) {
        if (scratch[i] == 0) continue; // -inf among them
        total += (double)scratch[i];
        sum += (double)scratch[i] * ((double)logits[i] - (double)max);
    }
    return log_f64(total) - sum / total;
}

int32_t token_rank(const float *logits, int32_t n_vocab, int32_t token) {
    const float own = logits[token];
    int32_t n = 1;
    for (int32_t i = 0; i < n_vocab; i++) n += logits[i] > own;
    return n;
}
