// engine/params.h - between the public sampling struct and the sampler's.
#ifndef RN_ENGINE_PARAMS_H
#define RN_ENGINE_PARAMS_H

#include "sampling/sampler.h"
#include <runnel/runnel.h>

// Everything but the lists (engine/sampler_lists.h) and the sequence of samplers.
void sampling_from_public(const rn_sampling *s, struct sampling_params *p);

#endif
