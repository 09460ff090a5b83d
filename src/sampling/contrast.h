// sampling/contrast.h - what one distribution says more than another: contrastive decoding (Li et al. 2022, 2210.15097) and DoLa (Chuang
// et al. 2023, 2309.03883).
//
// Threads: pure functions.
#ifndef RN_SAMPLING_CONTRAST_H
#define RN_SAMPLING_CONTRAST_H

#include "base/status.h"
#include "kernels/rowmath.h"
#include <stdint.h>

struct contrast {
    float weight;       // of the other row; 1: both papers'
    float temperature;  // of the other row, above 0; 1: both papers'
    float relative_top; // 0..1: tokens less probable than this times the most probable one are out
};
// out[i] = o - weight * a, where o and a are the log-softmax of the own row and of the other one divided by its temperature, in double,
// rounded to float; -inf where the own probability is below relative_top times the largest. A token that only the other row rules out
// (-inf) has o. out: [n_vocab], neither of the rows. RN_E_FORMAT: a row has no finite maximum; `other_name` is the other one's in the text.
rn_status contrast_mix(const struct rowmath *rm, const struct contrast *c, const float *own, const float *other,
                       const char *other_name, int32_t n_vocab, float *out, rn_error *err);
// How far two rows part: KL(m, p) + KL(m, q) in nats, where p and q are their softmaxes and m = (p + q) / 2. DoLa's authors and transformers
// choose the layer by this, which they call the Jensen-Shannon divergence; that one has the arguments of KL in the other order. The rows have
// finite maxima; sums run in double, in order. scratch: [2 * n_vocab].
double contrast_divergence(const struct rowmath *rm, const float *a, const float *b, int32_t n_vocab, float *scratch);

#endif
