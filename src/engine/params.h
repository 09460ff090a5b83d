// engine/params.h - between the public sampling struct and the sampler's.
#ifndef RN_ENGINE_PARAMS_H
#define RN_ENGINE_PARAMS_H

#include "decoding/strategy_options.h"
#include "sampling/sampler.h"
#include <runnel/runnel.h>

// A caller's watermark, whose keys stay the caller's; own: its fields in today's layout. RN_E_ARG:
// struct_size, or a number is out of range.
rn_status watermark_from_public(const rn_watermark *theirs, rn_watermark *own, struct watermark_params *out,
                                rn_error *err);

// Everything but the lists (engine/sampler_lists.h) and the sequence of samplers.
void sampling_from_public(const rn_sampling *s, struct sampling_params *p);
// Texts stay the caller's. from: NULL: the defaults.
void strategy_options_from_public(const rn_strategy_options *from, struct strategy_options *to);
struct strategy_kind;
// RN_E_UNSUPPORTED: the request has an option that its strategy excludes.
rn_status strategy_check_excluded(const struct strategy_kind *kind, const rn_request *r, rn_error *err);

#endif
