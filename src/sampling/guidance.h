// sampling/guidance.h - classifier-free guidance (Sanchez et al. 2023, 2306.17806): one row of logits from two.
//
// Threads: pure functions.
#ifndef RN_SAMPLING_GUIDANCE_H
#define RN_SAMPLING_GUIDANCE_H

#include "base/status.h"
#include "kernels/rowmath.h"
#include <stdint.h>

// out[i] = n + scale * (o - n), where o and n are the log-softmax of the own and of the negative row, as transformers'
// UnbatchedClassifierFreeGuidanceLogitsProcessor; in double, rounded to float. A token that one of the rows rules out (-inf) stays
// ruled out if it is the own one, else has o. out: [n_vocab], neither of the rows. RN_E_FORMAT: a row has no finite maximum; the
// message says which.
rn_status guidance_mix(const struct rowmath *rm, const float *own, const float *negative, int32_t n_vocab,
                       float scale, float *out, rn_error *err);

#endif
