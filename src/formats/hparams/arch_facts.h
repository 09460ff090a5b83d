// formats/hparams/arch_facts.h - properties of an architecture that its files do not state: defaults and rules.
//
// One row per architecture, by its GGUF name. Hugging Face folders use the same rules. Sources: the model's code in transformers
// (models/NAME/modeling_NAME.py) and llama.cpp (src/models/NAME.cpp), which agree unless a row says otherwise.
#ifndef RN_FORMATS_HPARAMS_ARCH_FACTS_H
#define RN_FORMATS_HPARAMS_ARCH_FACTS_H

#include "formats/package.h"

// Which layers have a recurrent state instead of keys and values.
enum recurrent_rule {
    RECURRENT_NONE,
    RECURRENT_ALL,
    RECURRENT_WITHOUT_KV, // layers with 0 key heads
    RECURRENT_IN_TURN, // a layer is one block: attention with key heads, else a feed-forward part with a width, else a state
    RECURRENT_BESIDE, // all, and keys and values besides
    RECURRENT_BETWEEN // all except every full_attention_interval-th
};

// Which layers have a mixture of experts, in a model with experts.
enum expert_rule {
    EXPERTS_EVERYWHERE,
    EXPERTS_AFTER_DENSE, // after the first leading_dense_block_count layers
    EXPERTS_EVERY_NTH,   // every interleave_moe_layer_step-th
    EXPERTS_BY_ROUTER    // no key states it: layers with a tensor ffn_gate_inp.weight
};

// Which layers use rotary position embedding.
enum rotation_rule {
    ROTATION_EVERYWHERE,
    ROTATION_NOWHERE,
    ROTATION_IN_WINDOWS, // in models with windows, only the layers that have one
    ROTATION_NOT_FOURTH, // all except every fourth layer
    ROTATION_BY_SWITCH   // no layer if rope.scaling.finetuned is false
};

// Which queries are scaled with the position, by 1 + attn_temp_scale * ln(1 + floor(p / attn_temp_length)).
enum temperature_rule {
    TEMPERATURE_NONE,
    TEMPERATURE_UNROTATED, // in layers without rotation, p counted from 1 (llama4)
    TEMPERATURE_FAR // in all layers, p counted from 0; attn_temp_length is the original context length (ministral3)
};

// A default for a number that files may leave out, in the form in which files state it.
struct hparam_default {
    size_t at; // in struct raw_hparams
    double value;
    bool not_in_config; // does not apply to config.json
};

struct arch_facts {
    const char *name; // general.architecture
    enum recurrent_rule recurrent;
    enum expert_rule experts;
    enum rotation_rule rotation;
    enum expert_gating gating; // 0: softmax over all
    enum temperature_rule temperature;
    bool weights_norm;         // weights of the chosen experts are divided by their sum
    bool weights_norm_always;  // whatever files say
    bool scales_output;        // GGUF calls the scale of q . k attention.output_scale
    bool own_values;           // values may be narrower than keys, and scaled
    bool has_chunks;           // groups of experts share smaller ones
    int32_t swa_period;        // in a model with windows every n-th layer has none; 0: all have one
    bool swa_full_first;       // that one is the first of each n, not the last
    bool swa_is_chunk;         // the window is a chunk
    bool exact_ramp;           // YaRN: the ends of the ramp are not rounded to whole pairs
    bool swa_is_plain;         // layers with windows use the same rope base, unscaled
    bool puts_moe_step;        // converters always write that every layer after the dense ones has experts
    bool puts_swa_pattern;     // converters always write which layers have windows
    bool is_encoder;           // a row attends to all of its text where no key says otherwise
    bool has_dense;            // n_dense_2 and n_dense_3 are possible
    bool has_layer_norm;       // norm_eps is in layer_norm_epsilon
    bool puts_both_eps;        // converters write it under both names
    bool embd_by_sqrt;         // embeddings are multiplied by sqrt(n_embd)
    bool attn_unscaled;        // q . k is not scaled
    bool attn_by_head;         // q . k is scaled by 1 / head_dim
    bool omits_blocks;         // layers may lack attention or a feed-forward part: their widths are 0
    bool logit_divisor;        // logit_scale divides
    bool is_mla;               // latent attention: keys are a latent vector and a rotated part
    bool whole_kv_b;           // of which files have the matrix of keys and values in one, and the widths of heads
    bool has_layer_embd;       // embedding_length_per_layer_input is always said
    bool clamps_qkv;           // clamp_qkv is possible
    bool may_norm_residual;    // residual_of_norm is possible
    bool own_gate;             // no other activation than its own is possible
    bool has_xielu;            // its activation is xIELU, with numbers of each layer
    bool scans;                // states are Mamba's, each channel with time steps of its own
    bool wkv;                  // states are RWKV's
    bool wkv_mixes;            // of its sixth version, which computes a row's shares of the one before
    float router_margin;       // hparams.router_margin
    bool may_norm_after;       // norms_after and n_embd_token are possible
    bool short_conv;           // its recurrent layers are convolutions n_embd wide
    bool ff_is_4x;             // n_ff is 4 * n_embd where it is not said
    bool ff_is_halved;         // files give twice the n_ff (qwen)
    bool dense_is_embd;        // the dense part beside the experts is n_embd wide (arctic)
    int32_t alibi_layers;      // ALiBi in models of so many layers, where no key says it (baichuan)
    bool ff_over_used;         // n_ff_expert is n_ff / n_expert_used where it is not said; else n_ff
    int32_t wide_scale_layers; // with so many layers q . k is scaled by 1 / sqrt(n_embd / n_head)
    const struct hparam_default *defaults;
    size_t n_defaults;
};

const struct arch_facts *arch_facts_find(const char *name); // NULL: an architecture whose keys are not known

#endif
