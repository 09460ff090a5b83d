// formats/folder/hf_names_gemma4.c - tensor names of Gemma 4; see hf_names.h.
#include "formats/folder/hf_rows.h"

static const struct hf_tensor_row gemma4[] = {
    TRUNK,
    NORMS_AROUND(HF_AS_IT_IS),
    WEIGHT(L "pre_feedforward_layernorm", B "ffn_norm", HF_ALWAYS),
    ATTENTION_OF(IN_HALVES, HF_ALWAYS),
    QK_NORMS(HF_ALWAYS, HF_AS_IT_IS),
    GATED_FFN("mlp", "", HF_ALWAYS),
    {L "layer_scalar", B "layer_output_scale.weight"},
    // Per-layer embeddings.
    WEIGHT("embed_tokens_per_layer", "per_layer_token_embd", HF_LAYER_EMBEDDINGS),
    WEIGHT("per_layer_model_projection", "per_layer_model_proj", HF_LAYER_EMBEDDINGS),
    WEIGHT("per_layer_projection_norm", "per_layer_proj_norm", HF_LAYER_EMBEDDINGS),
    WEIGHT(L "per_layer_input_gate", B "inp_gate", HF_LAYER_EMBEDDINGS),
    WEIGHT(L "per_layer_projection", B "proj", HF_LAYER_EMBEDDINGS),
    WEIGHT(L "post_per_layer_input_norm", B "post_norm", HF_LAYER_EMBEDDINGS),
    // Experts in addition to the dense feed-forward part. Gate and up projection are one matrix, in
    // GGUF as well.
    WEIGHT(L "router.proj", B "ffn_gate_inp", HF_EXPERTS),
    {L "router.scale", B "ffn_gate_inp.scale", HF_EXPERTS},
    {L "router.per_expert_scale", B "ffn_down_exps.scale", HF_EXPERTS},
    {L "experts.gate_up_proj", B "ffn_gate_up_exps.weight", HF_EXPERTS},
    {L "experts.down_proj", B "ffn_down_exps.weight", HF_EXPERTS},
    WEIGHT(L "pre_feedforward_layernorm_2", B "pre_ffw_norm_2", HF_EXPERTS),
    WEIGHT(L "post_feedforward_layernorm_1", B "post_ffw_norm_1", HF_EXPERTS),
    WEIGHT(L "post_feedforward_layernorm_2", B "post_ffw_norm_2", HF_EXPERTS),
};

// The unqualified member is for layers with windows.
static const struct hf_alias aliases[] = {{AT(hp.head_dim), "global_head_dim"}, {AT(head_dim_swa), "head_dim"}};

static const struct hf_arch archs[] = {
    {"Gemma4ForCausalLM", "gemma4_text", "gemma4", "model.", GELU_TANH, TENSORS(gemma4), ALIASES(aliases)},
};
const struct hf_arch_list hf_archs_gemma4 = {archs, sizeof archs / sizeof *archs};
