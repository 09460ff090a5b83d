// formats/folder/hf_names_kin.c - tensor names of architectures related to Llama, see
// model/arch_kin.c and hf_names.h.
#include "formats/folder/hf_rows.h"

static const struct hf_tensor_row seed_oss[] = {
    TRUNK,
    WEIGHT(L "post_attention_layernorm", B "post_attention_norm", HF_ALWAYS),
    ATTENTION_OF(IN_HALVES, HF_ALWAYS),
    QKV_BIASES_OF(IN_HALVES, HF_ATTENTION_BIAS),
    OUTPUT_BIAS(HF_OUTPUT_BIAS),
    GATED_FFN("mlp", "", HF_ALWAYS),
    GATED_FFN_BIASES(HF_MLP_BIAS),
};
// Rotation is already interleaved in transformers.
static const struct hf_tensor_row glm[] = {
    TRUNK,
    NORM_BEFORE_FFN(HF_AS_IT_IS),
    ATTENTION_OF(IN_HALVES, HF_ALWAYS),
    QKV_BIASES_OF(IN_HALVES, HF_ATTENTION_BIAS),
    WEIGHT(L "mlp.gate_up_proj", B "ffn_up", HF_ALWAYS),
    WEIGHT(L "mlp.down_proj", B "ffn_down", HF_ALWAYS),
};
static const struct hf_tensor_row ernie[] = {
    TRUNK,
    NORM_BEFORE_FFN(HF_AS_IT_IS),
    ATTENTION_OF(IN_HALVES, HF_ALWAYS), // already interleaved in transformers
    QKV_BIASES_OF(IN_HALVES, HF_BIAS),
    OUTPUT_BIAS(HF_BIAS),
    GATED_FFN("mlp", "", HF_ALWAYS),
    GATED_FFN_BIASES(HF_BIAS),
};
#define UNGATED_FFN(when)                                                                                            \
    WEIGHT(L "mlp.up_proj", B "ffn_up", HF_ALWAYS), WEIGHT(L "mlp.down_proj", B "ffn_down", HF_ALWAYS),              \
        BIAS(L "mlp.up_proj", B "ffn_up", when), BIAS(L "mlp.down_proj", B "ffn_down", when)
static const struct hf_tensor_row arcee[] = {TRUNK, NORM_BEFORE_FFN(HF_AS_IT_IS),
                                             ATTENTION_OF(INTERLEAVED, HF_ALWAYS), ATTENTION_BIASES_OF(INTERLEAVED),
                                             UNGATED_FFN(HF_MLP_BIAS)};
#define NORM_AND_BIAS(name, gguf) WEIGHT(name, gguf, HF_ALWAYS, HF_PLUS_ONE), BIAS(name, gguf, HF_ALWAYS)
static const struct hf_tensor_row nemotron[] = {
    EMBEDDING,
    HEAD,
    NORM_AND_BIAS("norm", "output_norm"),
    NORM_AND_BIAS(L "input_layernorm", B "attn_norm"),
    NORM_AND_BIAS(L "post_attention_layernorm", B "ffn_norm"),
    ATTENTION_OF(IN_HALVES, HF_ALWAYS),
    QKV_BIASES_OF(IN_HALVES, HF_ATTENTION_BIAS),
    OUTPUT_BIAS(HF_ATTENTION_BIAS),
    UNGATED_FFN(HF_MLP_BIAS),
};
static const struct hf_tensor_row olmo[] = {
    EMBEDDING,
    HEAD,
    ATTENTION_OF(INTERLEAVED, HF_ALWAYS),
    ATTENTION_BIASES_OF(INTERLEAVED),
    GATED_FFN("mlp", "", HF_ALWAYS),
};
#define HUNYUAN                                                                                                      \
    TRUNK, NORM_BEFORE_FFN(HF_AS_IT_IS), ATTENTION_OF(IN_HALVES, HF_ALWAYS),                                         \
        QKV_BIASES_OF(IN_HALVES, HF_ATTENTION_BIAS), OUTPUT_BIAS(HF_ATTENTION_BIAS),                                 \
        WEIGHT(L "self_attn.query_layernorm", B "attn_q_norm", HF_ALWAYS),                                           \
        WEIGHT(L "self_attn.key_layernorm", B "attn_k_norm", HF_ALWAYS)
static const struct hf_tensor_row hunyuan[] = {HUNYUAN, GATED_FFN("mlp", "", HF_ALWAYS)};

// ---- experts ------------------------------------------------------------------------------------

static const struct hf_tensor_row hunyuan_moe[] = {
    HUNYUAN,
    ROUTER("mlp.gate.wg"),
    EXPERTS("mlp", "gate_proj", "up_proj", "down_proj"),
    GATED_FFN("mlp.shared_mlp", "_shexp", HF_EXPERTS),
};
#define BEHIND_DENSE                                                                                                 \
    GATED_FFN("mlp", "", HF_DENSE), ROUTER("mlp.gate"), EXPERTS("mlp", "gate_proj", "up_proj", "down_proj"),         \
        GATED_FFN("mlp.shared_experts", "_shexp", HF_EXPERTS | HF_SHARED_EXPERTS)
static const struct hf_tensor_row deepseek[] = {
    TRUNK,
    NORM_BEFORE_FFN(HF_AS_IT_IS),
    ATTENTION_OF(INTERLEAVED, HF_ALWAYS),
    ATTENTION_BIASES_OF(INTERLEAVED),
    BEHIND_DENSE,
    FREQUENCIES,
};
static const struct hf_tensor_row ernie_moe[] = {
    TRUNK,
    BIAS("lm_head", "output", HF_BIAS | HF_UNTIED),
    NORM_BEFORE_FFN(HF_AS_IT_IS),
    ATTENTION_OF(IN_HALVES, HF_ALWAYS),
    QKV_BIASES_OF(IN_HALVES, HF_BIAS),
    OUTPUT_BIAS(HF_BIAS),
    GATED_FFN_BIASES(HF_BIAS | HF_DENSE),
    GATED_FFN_BIASES_OF("mlp.shared_experts", "_shexp", HF_BIAS | HF_EXPERTS | HF_SHARED_EXPERTS),
    BEHIND_DENSE,
    {L "mlp.moe_statics.e_score_correction_bias", B "exp_probs_b.bias", HF_EXPERTS, HF_FLAT},
    // Next-token prediction without a final norm, which the GGUF form of such layers cannot express.
    NEXTN_LEFT_OUT("mtp_*"),
};
static const struct hf_tensor_row dots[] = {
    TRUNK,
    NORM_BEFORE_FFN(HF_AS_IT_IS),
    ATTENTION_OF(IN_HALVES, HF_ALWAYS),
    ATTENTION_BIASES_OF(IN_HALVES),
    QK_NORMS(HF_ALWAYS, HF_AS_IT_IS),
    BEHIND_DENSE,
    {L "mlp.gate.e_score_correction_bias", B "exp_probs_b.bias", HF_EXPERTS},
};
static const struct hf_tensor_row minimax_m2[] = {
    TRUNK,
    NORM_BEFORE_FFN(HF_AS_IT_IS),
    ATTENTION_OF(IN_HALVES, HF_ALWAYS),
    QK_NORMS(HF_ALWAYS, HF_AS_IT_IS),
    ROUTER("block_sparse_moe.gate"),
    {L "block_sparse_moe.e_score_correction_bias", B "exp_probs_b.bias", HF_EXPERTS},
    EXPERTS("block_sparse_moe", "w1", "w3", "w2"),
};

static const struct hf_alias minimax_aliases[] = {{AT(hp.n_rot), "rotary_dim"}};

static const struct hf_arch archs[] = {
    {"SeedOssForCausalLM", "seed_oss", "seed_oss", "model.", SILU, HF_UNTIED | HF_ATTENTION_BIAS, TENSORS(seed_oss)},
    {"GlmForCausalLM", "glm", "chatglm", "model.", SILU, HF_UNTIED, TENSORS(glm)},
    {"Ernie4_5ForCausalLM", "ernie4_5", "ernie4_5", "model.", SILU, TENSORS(ernie)},
    {"ArceeForCausalLM", "arcee", "arcee", "model.", "relu2", HF_UNTIED, TENSORS(arcee)},
    {"NemotronForCausalLM", "nemotron", "nemotron", "model.", "relu2", HF_UNTIED, TENSORS(nemotron)},
    {"OlmoForCausalLM", "olmo", "olmo", "model.", SILU, HF_UNTIED, TENSORS(olmo)},
    {"HunYuanDenseV1ForCausalLM", "hunyuan_v1_dense", "hunyuan-dense", "model.", SILU, HF_UNTIED, TENSORS(hunyuan)},
    {"HunYuanMoEV1ForCausalLM", "hunyuan_v1_moe", "hunyuan-moe", "model.", SILU, HF_UNTIED, .repeats_numbers = true,
     TENSORS(hunyuan_moe)},
    {"Ernie4_5_MoeForCausalLM", "ernie4_5_moe", "ernie4_5-moe", "model.", SILU, TENSORS(ernie_moe)},
    {"DeepseekForCausalLM", "deepseek", "deepseek", "model.", SILU, HF_UNTIED, TENSORS(deepseek)},
    {"Dots1ForCausalLM", "dots1", "dots1", "model.", SILU, HF_UNTIED, .gating_ignored = true, TENSORS(dots)},
    {"MiniMaxM2ForCausalLM", "minimax_m2", "minimax-m2", "model.", SILU, HF_UNTIED, TENSORS(minimax_m2),
     ALIASES(minimax_aliases)},
};
const struct hf_arch_list hf_archs_kin = {archs, sizeof archs / sizeof *archs};
