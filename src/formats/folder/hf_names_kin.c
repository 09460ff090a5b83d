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

static const struct hf_tensor_row jais2[] = {
    EMBEDDING,
    HEAD,
    BOTH("norm", "output_norm", HF_ALWAYS),
    BOTH(L "input_layernorm", B "attn_norm", HF_ALWAYS),
    BOTH(L "post_attention_layernorm", B "ffn_norm", HF_ALWAYS),
    ATTENTION_OF(IN_HALVES, HF_ALWAYS),
    ATTENTION_BIASES_OF(IN_HALVES),
    UNGATED_FFN(HF_MLP_BIAS),
};
// Qwen (2309.16609): of a gate's two matrices the second is the gate.
#define H "h.%d."
static const struct hf_tensor_row qwen[] = {
    WEIGHT("wte", "token_embd", HF_ALWAYS),
    HEAD,
    WEIGHT("ln_f", "output_norm", HF_ALWAYS),
    WEIGHT(H "ln_1", B "attn_norm", HF_ALWAYS),
    WEIGHT(H "ln_2", B "ffn_norm", HF_ALWAYS),
    BOTH(H "attn.c_attn", B "attn_qkv", HF_ALWAYS),
    WEIGHT(H "attn.c_proj", B "attn_output", HF_ALWAYS),
    WEIGHT(H "mlp.w2", B "ffn_gate", HF_ALWAYS),
    WEIGHT(H "mlp.w1", B "ffn_up", HF_ALWAYS),
    WEIGHT(H "mlp.c_proj", B "ffn_down", HF_ALWAYS),
};
// PLaMo: key heads take turns among the queries.
#define LL "layers.layers.%d."
static const struct hf_tensor_row plamo[] = {
    EMBEDDING,
    HEAD,
    FINAL_NORM(HF_AS_IT_IS),
    WEIGHT(LL "norm", B "attn_norm", HF_ALWAYS),
    WEIGHT(LL "self_attn.q_proj", B "attn_q", HF_ALWAYS, HF_SPREAD_QUERIES),
    WEIGHT(LL "self_attn.k_proj", B "attn_k", HF_ALWAYS),
    WEIGHT(LL "self_attn.v_proj", B "attn_v", HF_ALWAYS),
    WEIGHT(LL "self_attn.o_proj", B "attn_output", HF_ALWAYS, HF_SPREAD_COLUMNS),
    WEIGHT(LL "mlp.gate_proj", B "ffn_gate", HF_ALWAYS),
    WEIGHT(LL "mlp.up_proj", B "ffn_up", HF_ALWAYS),
    WEIGHT(LL "mlp.down_proj", B "ffn_down", HF_ALWAYS),
    LEFT_OUT(LL "self_attn.rotary_emb.inv_freq"),
};
static const struct hf_tensor_row bitnet[] = {
    TRUNK,
    NORM_BEFORE_FFN(HF_AS_IT_IS),
    ATTENTION_OF(IN_HALVES, HF_ALWAYS),
    ATTENTION_BIASES_OF(IN_HALVES),
    WEIGHT(L "self_attn.attn_sub_norm", B "attn_sub_norm", HF_ALWAYS),
    GATED_FFN("mlp", "", HF_ALWAYS),
    WEIGHT(L "mlp.ffn_sub_norm", B "ffn_sub_norm", HF_ALWAYS),
};
// Already interleaved in its folders.
static const struct hf_tensor_row maincoder[] = {
    TRUNK,
    NORM_BEFORE_FFN(HF_AS_IT_IS),
    ATTENTION_OF(IN_HALVES, HF_ALWAYS),
    QK_NORMS(HF_ALWAYS, HF_AS_IT_IS),
    GATED_FFN("mlp", "", HF_ALWAYS),
};
static const struct hf_tensor_row pangu[] = {
    TRUNK,
    NORM_BEFORE_FFN(HF_AS_IT_IS),
    ATTENTION_OF(IN_HALVES, HF_ALWAYS),
    ATTENTION_BIASES_OF(IN_HALVES),
    GATED_FFN("mlp", "", HF_ALWAYS),
};

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

static const struct hparam_default qwen_defaults[] = {{AT(hp.norm_eps), 1e-6}};
static const struct hf_alias minimax_aliases[] = {{AT(hp.n_rot), "rotary_dim"}};

static const struct hf_arch archs[] = {
    {"SeedOssForCausalLM", "seed_oss", "seed_oss", "model.", SILU, HF_UNTIED | HF_ATTENTION_BIAS, TENSORS(seed_oss)},
    {"GlmForCausalLM", "glm", "chatglm", "model.", SILU, HF_UNTIED, TENSORS(glm)},
    {"Ernie4_5ForCausalLM", "ernie4_5", "ernie4_5", "model.", SILU, TENSORS(ernie)},
    {"ArceeForCausalLM", "arcee", "arcee", "model.", "relu2", HF_UNTIED, TENSORS(arcee)},
    {"NemotronForCausalLM", "nemotron", "nemotron", "model.", "relu2", HF_UNTIED, TENSORS(nemotron)},
    {"OlmoForCausalLM", "olmo", "olmo", "model.", SILU, HF_UNTIED, TENSORS(olmo)},
    {"Jais2ForCausalLM", "jais2", "jais2", "model.", "relu2", HF_UNTIED | HF_ATTENTION_BIAS | HF_MLP_BIAS,
     TENSORS(jais2)},
    {"QWenLMHeadModel", "qwen", "qwen", "transformer.", SILU, HF_UNTIED, TENSORS(qwen), DEFAULTS(qwen_defaults)},
    {"PlamoForCausalLM", "plamo", "plamo", "model.", SILU, HF_UNTIED, TENSORS(plamo)},
    {"BitNetForCausalLM", "bitnet", "bitnet", "model.", SILU, TENSORS(bitnet)},
    {"PanguEmbeddedForCausalLM", "PanguEmbedded", "pangu-embedded", "model.", SILU, HF_UNTIED | HF_ATTENTION_BIAS,
     TENSORS(pangu)},
    {"HunYuanDenseV1ForCausalLM", "hunyuan_v1_dense", "hunyuan-dense", "model.", SILU, HF_UNTIED, TENSORS(hunyuan)},
    {"HunYuanVLForConditionalGeneration", "hunyuan_vl_text", "hunyuan_vl", "model.", SILU, TENSORS(hunyuan)},
    {"PaddleOCRVLForConditionalGeneration", "paddleocr_vl_text", "paddleocr", "model.", SILU, TENSORS(ernie)},
    {"HunYuanMoEV1ForCausalLM", "hunyuan_v1_moe", "hunyuan-moe", "model.", SILU, HF_UNTIED, .repeats_numbers = true,
     TENSORS(hunyuan_moe)},
    {"Ernie4_5_MoeForCausalLM", "ernie4_5_moe", "ernie4_5-moe", "model.", SILU, TENSORS(ernie_moe)},
    {"MaincoderForCausalLM", "maincoder", "maincoder", "model.", SILU, HF_UNTIED, TENSORS(maincoder)},
    {"DeepseekForCausalLM", "deepseek", "deepseek", "model.", SILU, HF_UNTIED, TENSORS(deepseek)},
    {"Dots1ForCausalLM", "dots1", "dots1", "model.", SILU, HF_UNTIED, .gating_ignored = true, TENSORS(dots)},
    {"MiniMaxM2ForCausalLM", "minimax_m2", "minimax-m2", "model.", SILU, HF_UNTIED, TENSORS(minimax_m2),
     ALIASES(minimax_aliases)},
};
const struct hf_arch_list hf_archs_kin = {archs, sizeof archs / sizeof *archs};
