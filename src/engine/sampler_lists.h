// engine/sampler_lists.h - the lists that a sampler is made with, from a request: biases, tokens that end the text, DRY's breakers.
//
// Ownership: sampler_lists_make() / sampler_lists_free(); a sampler copies what it is given. Threads: any.
#ifndef RN_ENGINE_SAMPLER_LISTS_H
#define RN_ENGINE_SAMPLER_LISTS_H

#include "sampling/sampler.h"
#include <runnel/runnel.h>

enum { DRY_MAX_BREAKERS = 32, DRY_MAX_BREAKER_BYTES = 40 };

struct sampler_lists {
    struct logit_bias *bias;
    struct sequence_bias *sequences;
    int32_t *ends;
    struct dry_breaker *breakers;
    size_t n_breakers, cap_breakers;
    rn_watermark watermark;
    int32_t *tails[DRY_MAX_BREAKERS][DRY_MAX_BREAKER_BYTES]; // of a breaker's bytes from the k-th on
    size_t n_tails[DRY_MAX_BREAKERS][DRY_MAX_BREAKER_BYTES];
};

// Points p's lists to memory of l or of the request. RN_E_ARG: a list is too long, or NULL; RN_E_UNSUPPORTED: breakers were
// named, but the model has no vocabulary; RN_E_NOMEM. l is to be freed in any case.
rn_status sampler_lists_make(struct sampler_lists *l, const rn_model *m, const rn_request *r, int32_t n_vocab,
                             struct sampling_params *p, rn_error *err);
// The lists of p end with it.
void sampler_lists_free(struct sampler_lists *l, struct sampling_params *p);

#endif
