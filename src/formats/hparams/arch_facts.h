// formats/hparams/arch_facts.h - what files of an architecture take for granted: numbers and rules that no key of theirs says.
//
// One row for each architecture as GGUF names it. A Hugging Face folder is read into the same numbers by the same rules. Where a fact is
// from: the model's own code (transformers, models/NAME/modeling_NAME.py) and llama.cpp (src/models/NAME.cpp), which agree but where
// a row says otherwise.
#ifndef RN_FORMATS_HPARAMS_ARCH_FACTS_H
#define RN_FORMATS_HPARAMS_ARCH_FACTS_H

#include "formats/package.h"

// Which layers hold a state in place of keys and values.
enum recurrent_rule {
    RECURRENT_NONE,
    RECURRENT_ALL,
    RECURRENT_WITHOUT_KV, // those with 0 key heads
    RECURRENT_BETWEEN     // all but every full_attention_interval-th
};

// Which layers have a mixture of experts, where a model has experts.
enum expert_rule {
    EXPERTS_EVERYWHERE,
    EXPERTS_AFTER_DENSE, // behind leading_dense_block_count dense ones
    EXPERTS_EVERY_NTH,   // every interleave_moe_layer_step-th
    EXPERTS_BY_ROUTER    // no key says it: those with a tensor ffn_gate_inp.weight
};

// Which layers rotate positions in.
enum rotation_rule {
    ROTATION_EVERYWHERE,
    ROTATION_NOWHERE,
    ROTATION_IN_WINDOWS, // in models with windows only the layers that have one
    ROTATION_NOT_FOURTH, // not every fourth layer
    ROTATION_BY_SWITCH   // nowhere where rope.scaling.finetuned is false
};

// Which queries grow with the position: times 1 + attn_temp_scale * ln(1 + floor(p / attn_temp_length)).
enum temperature_rule {
    TEMPERATURE_NONE,
    TEMPERATURE_UNROTATED, // those of layers without rotation, p counted from 1 (llama4)
    TEMPERATURE_FAR        // all, p counted from 0; a step is the context before it was made longer (ministral3)
};

// A number that files leave out, as they say it where they differ.
struct hparam_default {
    size_t at; // in struct raw_hparams
    double value;
    bool not_in_config; // config.json means what it does not say otherwise
};

struct arch_facts {
    const char *name; // general.architecture
    enum recurrent_rule recurrent;
    enum expert_rule experts;
    enum rotation_rule rotation;
    enum expert_gating gating; // 0: softmax over all
    enum temperature_rule temperature;
    bool weights_norm;         // weights of the chosen experts are divided by their sum
    int32_t swa_period;        // of a model with windows every n-th layer has none; 0: each has one
    bool swa_is_chunk;         // the window is a chunk
    bool exact_ramp;           // of yarn: its files mean ramps whose ends are no whole pairs
    bool swa_is_plain;         // layers with windows rotate by the same base, unscaled
    bool puts_moe_step;        // its files always say that every layer behind the dense ones has experts
    bool puts_swa_pattern;     // its files always say which layers have windows
    bool has_layer_norm;       // key of norm_eps: layer_norm_epsilon
    bool embd_by_sqrt;         // embeddings enter times sqrt(n_embd)
    bool attn_unscaled;        // q . k as it is
    bool logit_divisor;        // logit_scale divides
    bool is_mla;               // latent attention: keys are a latent vector and a rotated part
    bool has_layer_embd;       // embedding_length_per_layer_input is always said
    bool short_conv;           // its recurrent layers are convolutions n_embd wide
    bool ff_is_4x;             // n_ff is 4 * n_embd where it is not said
    bool ff_over_used;         // n_ff_expert is n_ff / n_expert_used where it is not said; else n_ff
    int32_t wide_scale_layers; // with so many layers q . k is scaled by 1 / sqrt(n_embd / n_head)
    const struct hparam_default *defaults;
    size_t n_defaults;
};

const struct arch_facts *arch_facts_find(const char *name); // NULL: an architecture whose keys are not known

#endif
