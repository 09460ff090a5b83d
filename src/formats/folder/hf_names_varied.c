// formats/folder/hf_names_varied.c - tensor names of decoders whose layers differ from each other or have numbers of their own; see hf_names.h.
#include "formats/folder/hf_rows.h"

static const struct hf_tensor_row apertus[] = {
    EMBEDDING,
    HEAD,
    FINAL_NORM(HF_AS_IT_IS),
    WEIGHT(L "attention_layernorm", B "attn_norm", HF_ALWAYS),
    WEIGHT(L "feedforward_layernorm", B "ffn_norm", HF_ALWAYS),
    ATTENTION_OF(IN_HALVES, HF_ALWAYS),
    ATTENTION_BIASES_OF(IN_HALVES),
    QK_NORMS(HF_ALWAYS, HF_AS_IT_IS),
    WEIGHT(L "mlp.up_proj", B "ffn_up", HF_ALWAYS),
    WEIGHT(L "mlp.down_proj", B "ffn_down", HF_ALWAYS),
};

static const struct hf_arch archs[] = {
    {"ApertusForCausalLM", "apertus", "apertus", "model.", "xielu", HF_UNTIED, TENSORS(apertus)},
};
const struct hf_arch_list hf_archs_varied = {archs, sizeof archs / sizeof *archs};
