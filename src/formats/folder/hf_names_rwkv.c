// formats/folder/hf_names_rwkv.c - RWKV: names of fla-org's checkpoints of RWKV-7 and of RWKV's own of RWKV-6, of ARWKV's and of QRWKV6's.
#include "formats/folder/hf_rows.h"

// What is computed in two steps, and its bias. fla has them as linear layers, others turned. llama.cpp wants shares of the first
// layer's values in the first layer, too, where they have no use: it gets the learning rates'.
#define LOW_RANK(gguf, first, second, bias, when, form)                                                              \
    {L first, B gguf "1.weight", when, form}, {L second, B gguf "2.weight", when, form}, {                           \
        L bias, B gguf "0.weight", when, HF_AS_VECTOR                                                                \
    }
#define FLA(letter, gguf, when)                                                                                      \
    LOW_RANK(gguf, "attn." letter "_lora.lora.0.weight", "attn." letter "_lora.lora.2.weight",                       \
             "attn." letter "_lora.lora.2.bias", when, HF_AS_IT_IS)
#define A L "attn."
static const struct hf_tensor_row rwkv7[] = {
    WEIGHT("embeddings", "token_embd", HF_ALWAYS),
    HEAD,
    BOTH("norm", "output_norm", HF_ALWAYS),
    BOTH("layers.0.pre_norm", "token_embd_norm", HF_ALWAYS),
    BOTH(A "g_norm", B "time_mix_ln", HF_ALWAYS),
    BOTH(L "attn_norm", B "attn_norm", HF_ALWAYS),
    BOTH(L "ffn_norm", B "attn_norm_2", HF_ALWAYS),
    {A "x_%m", B "time_mix_lerp_fused.weight", HF_ALWAYS, HF_STACKED_MIXES},
    {A "k_k", B "time_mix_k_k.weight", HF_ALWAYS, HF_AS_VECTOR},
    {A "k_a", B "time_mix_k_a.weight", HF_ALWAYS, HF_AS_VECTOR},
    {A "r_k", B "time_mix_r_k.weight", HF_ALWAYS, HF_AS_VECTOR},
    WEIGHT(A "r_proj", B "time_mix_receptance", HF_ALWAYS),
    WEIGHT(A "k_proj", B "time_mix_key", HF_ALWAYS),
    WEIGHT(A "v_proj", B "time_mix_value", HF_ALWAYS),
    WEIGHT(A "o_proj", B "time_mix_output", HF_ALWAYS),
    FLA("w", "time_mix_w", HF_ALWAYS),
    FLA("a", "time_mix_a", HF_ALWAYS),
    LEFT_OUT("layers.0.attn.v_lora.*"),
    FLA("v", "time_mix_v", HF_LATER),
    {"layers.0.attn.a_lora.lora.0.weight", "blk.0.time_mix_v1.weight"},
    {"layers.0.attn.a_lora.lora.2.weight", "blk.0.time_mix_v2.weight"},
    {"layers.0.attn.a_lora.lora.2.bias", "blk.0.time_mix_v0.weight"},
    WEIGHT(A "g_lora.lora.0", B "time_mix_g1", HF_ALWAYS),
    WEIGHT(A "g_lora.lora.2", B "time_mix_g2", HF_ALWAYS),
    {L "ffn.x_k", B "channel_mix_lerp_k.weight", HF_ALWAYS, HF_AS_VECTOR},
    WEIGHT(L "ffn.key", B "channel_mix_key", HF_ALWAYS),
    WEIGHT(L "ffn.value", B "channel_mix_value", HF_ALWAYS),
};
#undef A

#define TURNED(letter, gguf, when)                                                                                   \
    LOW_RANK(gguf, "self_attn.time_mixer." letter "1", "self_attn.time_mixer." letter "2",                           \
             "self_attn.time_mixer." letter "0", when, HF_TRANSPOSED)
#define A "self_attn.time_mixer."
static const struct hf_tensor_row arwkv7[] = {
    TRUNK,
    NORM_BEFORE_FFN(HF_AS_IT_IS),
    WEIGHT(L A "ln_x", B "time_mix_ln", HF_OPTIONAL),
    BIAS(L A "ln_x", B "time_mix_ln", HF_OPTIONAL),
    {L A "x_%m", B "time_mix_lerp_fused.weight", HF_ALWAYS, HF_STACKED_MIXES},
    {L A "k_k", B "time_mix_k_k.weight", HF_ALWAYS, HF_AS_VECTOR},
    {L A "k_a", B "time_mix_k_a.weight", HF_ALWAYS, HF_AS_VECTOR},
    {L A "r_k", B "time_mix_r_k.weight", HF_ALWAYS, HF_AS_VECTOR},
    WEIGHT(L A "receptance", B "time_mix_receptance", HF_ALWAYS),
    WEIGHT(L A "key", B "time_mix_key", HF_ALWAYS),
    WEIGHT(L A "value", B "time_mix_value", HF_ALWAYS),
    WEIGHT(L A "output", B "time_mix_output", HF_ALWAYS),
    TURNED("w", "time_mix_w", HF_ALWAYS),
    TURNED("a", "time_mix_a", HF_ALWAYS),
    LEFT_OUT("layers.0." A "v0"),
    LEFT_OUT("layers.0." A "v1"),
    LEFT_OUT("layers.0." A "v2"),
    TURNED("v", "time_mix_v", HF_LATER),
    {"layers.0." A "a1", "blk.0.time_mix_v1.weight", HF_ALWAYS, HF_TRANSPOSED},
    {"layers.0." A "a2", "blk.0.time_mix_v2.weight", HF_ALWAYS, HF_TRANSPOSED},
    {"layers.0." A "a0", "blk.0.time_mix_v0.weight", HF_ALWAYS, HF_AS_VECTOR},
    {L A "g1", B "time_mix_g1.weight", HF_WKV_GATE, HF_TRANSPOSED},
    {L A "g2", B "time_mix_g2.weight", HF_WKV_GATE, HF_TRANSPOSED},
    GATED_FFN("mlp", "", HF_ALWAYS),
};

#undef A

#define R "blocks.%d."
#define A R "attention."
static const struct hf_tensor_row rwkv6[] = {
    WEIGHT("embeddings", "token_embd", HF_ALWAYS),
    WEIGHT("head", "output", HF_ALWAYS),
    BOTH("ln_out", "output_norm", HF_ALWAYS),
    BOTH("blocks.0.pre_ln", "token_embd_norm", HF_ALWAYS),
    BOTH(R "ln1", B "attn_norm", HF_ALWAYS),
    BOTH(R "ln2", B "attn_norm_2", HF_ALWAYS),
    BOTH(A "ln_x", B "time_mix_ln", HF_ALWAYS),
    {A "time_maa_x", B "time_mix_lerp_x.weight", HF_ALWAYS, HF_AS_VECTOR},
    {A "time_maa_%w", B "time_mix_lerp_fused.weight", HF_ALWAYS, HF_STACKED_MIXES},
    {A "time_maa_w1", B "time_mix_w1.weight", HF_ALWAYS, HF_TRANSPOSED},
    {A "time_maa_w2", B "time_mix_w2.weight", HF_ALWAYS, HF_TRANSPOSED},
    {A "time_decay", B "time_mix_decay.weight", HF_ALWAYS, HF_AS_VECTOR},
    {A "time_decay_w1", B "time_mix_decay_w1.weight", HF_ALWAYS, HF_TRANSPOSED},
    {A "time_decay_w2", B "time_mix_decay_w2.weight", HF_ALWAYS, HF_TRANSPOSED},
    {A "time_faaaa", B "time_mix_first.weight"},
    WEIGHT(A "receptance", B "time_mix_receptance", HF_ALWAYS),
    WEIGHT(A "key", B "time_mix_key", HF_ALWAYS),
    WEIGHT(A "value", B "time_mix_value", HF_ALWAYS),
    WEIGHT(A "gate", B "time_mix_gate", HF_ALWAYS),
    WEIGHT(A "output", B "time_mix_output", HF_ALWAYS, HF_TIMES_RESCALE),
    {R "feed_forward.time_maa_k", B "channel_mix_lerp_k.weight", HF_ALWAYS, HF_AS_VECTOR},
    {R "feed_forward.time_maa_r", B "channel_mix_lerp_r.weight", HF_ALWAYS, HF_AS_VECTOR},
    WEIGHT(R "feed_forward.key", B "channel_mix_key", HF_ALWAYS),
    WEIGHT(R "feed_forward.value", B "channel_mix_value", HF_ALWAYS, HF_TIMES_RESCALE),
    WEIGHT(R "feed_forward.receptance", B "channel_mix_receptance", HF_ALWAYS),
};
#undef A
#undef R

#define A L "self_attn."
static const struct hf_tensor_row rwkv6qwen2[] = {
    TRUNK,
    NORM_BEFORE_FFN(HF_AS_IT_IS),
    {A "time_maa_x", B "time_mix_lerp_x.weight", HF_ALWAYS, HF_AS_VECTOR},
    {A "time_maa_%w", B "time_mix_lerp_fused.weight", HF_ALWAYS, HF_STACKED_MIXES},
    {A "time_maa_w1", B "time_mix_w1.weight", HF_ALWAYS, HF_TRANSPOSED_MIXES},
    {A "time_maa_w2", B "time_mix_w2.weight", HF_ALWAYS, HF_MIXES_TRANSPOSED},
    {A "time_decay", B "time_mix_decay.weight", HF_ALWAYS, HF_AS_VECTOR},
    {A "time_decay_w1", B "time_mix_decay_w1.weight", HF_ALWAYS, HF_TRANSPOSED},
    {A "time_decay_w2", B "time_mix_decay_w2.weight", HF_ALWAYS, HF_TRANSPOSED},
    WEIGHT(A "q_proj", B "time_mix_receptance", HF_ALWAYS),
    WEIGHT(A "k_proj", B "time_mix_key", HF_ALWAYS),
    WEIGHT(A "v_proj", B "time_mix_value", HF_ALWAYS),
    BIAS(A "q_proj", B "time_mix_receptance", HF_OPTIONAL),
    BIAS(A "k_proj", B "time_mix_key", HF_OPTIONAL),
    BIAS(A "v_proj", B "time_mix_value", HF_OPTIONAL),
    WEIGHT(A "gate", B "time_mix_gate", HF_ALWAYS),
    WEIGHT(A "o_proj", B "time_mix_output", HF_ALWAYS),
    GATED_FFN("mlp", "", HF_ALWAYS),
};
#undef A

static const struct hf_alias rwkv7_aliases[] = {{AT(hp.wkv_head), "head_dim"}};

static const struct hf_arch archs[] = {
    {"RWKV7ForCausalLM", "rwkv7", "rwkv7", "model.", "sqrelu relu2", HF_UNTIED | HF_WKV_GATE, TENSORS(rwkv7),
     ALIASES(rwkv7_aliases)},
    {"Rwkv6ForCausalLM", "rwkv6", "rwkv6", "rwkv.", "sqrelu relu2", HF_UNTIED, TENSORS(rwkv6)},
    {"RWKV6Qwen2ForCausalLM", "rwkv6qwen2", "rwkv6qwen2", "model.", SILU, HF_UNTIED, TENSORS(rwkv6qwen2)},
    {"RwkvHybridForCausalLM", "rwkv_hybrid", "arwkv7", "model.", SILU, HF_UNTIED | HF_WKV_GATE, TENSORS(arwkv7)},
};
const struct hf_arch_list hf_archs_rwkv = {archs, sizeof archs / sizeof *archs};
