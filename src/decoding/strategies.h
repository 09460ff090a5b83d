// decoding/strategies.h - the create functions that the table of strategies names.
#ifndef RN_DECODING_STRATEGIES_H
#define RN_DECODING_STRATEGIES_H

#include "decoding/strategy.h"

rn_status sample_strategy_create(const struct strategy_spec *spec, strategy **out, rn_error *err);
rn_status beam_strategy_create(const struct strategy_spec *spec, strategy **out, rn_error *err);
rn_status best_strategy_create(const struct strategy_spec *spec, strategy **out, rn_error *err);
rn_status beam_set_sampling(const struct strategy_options *o, struct sampling_params *p, rn_error *err);
rn_status contrastive_strategy_create(const struct strategy_spec *spec, strategy **out, rn_error *err);
rn_status contrastive_set_sampling(const struct strategy_options *o, struct sampling_params *p, rn_error *err);
rn_status contrastive_decoding_strategy_create(const struct strategy_spec *spec, strategy **out, rn_error *err);
rn_status dola_strategy_create(const struct strategy_spec *spec, strategy **out, rn_error *err);
rn_status tree_strategy_create(const struct strategy_spec *spec, strategy **out, rn_error *err);
rn_status tree_set_sampling(const struct strategy_options *o, struct sampling_params *p, rn_error *err);
int32_t contrastive_decoding_helper_model(const struct strategy_options *o);
int32_t tree_helper_model(const struct strategy_options *o);
rn_status score_strategy_create(const struct strategy_spec *spec, strategy **out, rn_error *err);
rn_status embed_strategy_create(const struct strategy_spec *spec, strategy **out, rn_error *err);
rn_status prompt_scores_strategy_create(const struct strategy_spec *spec, strategy **out, rn_error *err);

#endif
