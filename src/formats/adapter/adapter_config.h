// formats/adapter/adapter_config.h - adapter_config.json of PEFT: how the matrices of an adapter are scaled, and what of PEFT is refused.
#ifndef RN_FORMATS_ADAPTER_ADAPTER_CONFIG_H
#define RN_FORMATS_ADAPTER_ADAPTER_CONFIG_H

#include "formats/json/json_tree.h"
#include "tokenizer/pattern.h"

// A member of rank_pattern or alpha_pattern.
struct adapter_pattern {
    pattern *names; // NULL: not read
    float value;
};
struct adapter_patterns {
    struct adapter_pattern *of;
    size_t n;
};
struct adapter_config {
    float rank, alpha;
    bool by_root; // use_rslora: alpha is divided by the root of the rank (Kalajdzievski 2023, 2312.03732)
    struct adapter_patterns ranks, alphas;
    pattern_match *match;
    char base_class[128]; // auto_mapping.base_model_class; "": not said
};

// c: zeroed; call adapter_config_free() also after an error. RN_E_FORMAT, RN_E_UNSUPPORTED: `member NAME: WHY`. RN_E_NOMEM.
rn_status adapter_config_read(struct adapter_config *c, const struct json_tree *text, rn_error *err);
void adapter_config_free(struct adapter_config *c);
// Rank and alpha of a module, by its name without "base_model.model.".
rn_status adapter_config_of(const struct adapter_config *c, const char *module, float *rank, float *alpha,
                            rn_error *err);

#endif
