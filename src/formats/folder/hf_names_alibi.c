// formats/folder/hf_names_alibi.c - tensor names of decoders with ALiBi (Press et al. 2021, 2108.12409) in place of rotation; see hf_names.h.
#include "formats/folder/hf_rows.h"

#define H   "h.%d."
#define BLK "blocks.%d."

// MPT (MosaicML 2023).
static const struct hf_tensor_row mpt[] = {
    WEIGHT("wte", "token_embd", HF_ALWAYS),
    HEAD,
    WEIGHT("norm_f", "output_norm", HF_ALWAYS),
    WEIGHT(BLK "norm_1", B "attn_norm", HF_ALWAYS),
    WEIGHT(BLK "norm_2", B "ffn_norm", HF_ALWAYS),
    WEIGHT(BLK "attn.Wqkv", B "attn_qkv", HF_ALWAYS),
    WEIGHT(BLK "attn.out_proj", B "attn_output", HF_ALWAYS),
    WEIGHT(BLK "ffn.up_proj", B "ffn_up", HF_ALWAYS),
    WEIGHT(BLK "ffn.down_proj", B "ffn_down", HF_ALWAYS),
};
// Refact (2023): one head of keys, Llama's feed-forward in one matrix.
static const struct hf_tensor_row refact[] = {
    WEIGHT("wte", "token_embd", HF_ALWAYS),
    HEAD,
    WEIGHT("ln_f", "output_norm", HF_ALWAYS),
    WEIGHT(H "ln_1", B "attn_norm", HF_ALWAYS),
    WEIGHT(H "ln_2", B "ffn_norm", HF_ALWAYS),
    WEIGHT(H "attn.q", B "attn_q", HF_ALWAYS),
    WEIGHT(H "attn.kv", B "attn_k", HF_ALWAYS, HF_FIRST_HALF),
    WEIGHT(H "attn.kv", B "attn_v", HF_ALWAYS, HF_SECOND_HALF),
    WEIGHT(H "attn.c_proj", B "attn_output", HF_ALWAYS),
    WEIGHT(H "mlp.gate_up_proj", B "ffn_gate", HF_ALWAYS, HF_FIRST_HALF),
    WEIGHT(H "mlp.gate_up_proj", B "ffn_up", HF_ALWAYS, HF_SECOND_HALF),
    WEIGHT(H "mlp.c_proj", B "ffn_down", HF_ALWAYS),
};
// Baichuan (2309.10305): one matrix for queries, keys and values; rotation in the smaller one.
static const struct hf_tensor_row baichuan[] = {
    EMBEDDING,
    WEIGHT("lm_head", "output", HF_UNTIED, HF_NORMED_HEAD),
    FINAL_NORM(HF_AS_IT_IS),
    NORM_BEFORE_ATTENTION(HF_AS_IT_IS),
    NORM_BEFORE_FFN(HF_AS_IT_IS),
    WEIGHT(L "self_attn.W_pack", B "attn_q", HF_ALWAYS, HF_PACKED_QUERIES),
    WEIGHT(L "self_attn.W_pack", B "attn_k", HF_ALWAYS, HF_PACKED_KEYS),
    WEIGHT(L "self_attn.W_pack", B "attn_v", HF_ALWAYS, HF_PACKED_VALUES),
    WEIGHT(L "self_attn.o_proj", B "attn_output", HF_ALWAYS),
    GATED_FFN("mlp", "", HF_ALWAYS),
    FREQUENCIES,
};

static const struct hf_alias mpt_aliases[] = {{AT(hp.n_layer), "n_layers"},
                                              {AT(hp.n_head), "n_heads"},
                                              {AT(hp.n_ctx_train), "max_seq_len"},
                                              {AT(hp.clamp_qkv), "attn_config.clip_qkv"},
                                              {AT(hp.attn_scale), "attn_config.softmax_scale"}};
static const struct hf_alias baichuan_aliases[] = {{AT(hp.n_ctx_train), "model_max_length"}};
static const struct hparam_default eps_1e5[] = {{AT(hp.norm_eps), 1e-5}};

static const struct hf_arch archs[] = {
    {"MptForCausalLM", "mpt", "mpt", "transformer.", GELU, TENSORS(mpt), ALIASES(mpt_aliases), DEFAULTS(eps_1e5)},
    {"MPTForCausalLM", NULL, "mpt", "transformer.", GELU, TENSORS(mpt), ALIASES(mpt_aliases), DEFAULTS(eps_1e5)},
    {"GPTRefactForCausalLM", "gpt_refact", "refact", "transformer.", SILU, .ff_rounding = 256, TENSORS(refact),
     DEFAULTS(eps_1e5)},
    {"BaichuanForCausalLM", "baichuan", "baichuan", "model.", SILU, HF_UNTIED, TENSORS(baichuan),
     ALIASES(baichuan_aliases)},
    {"BaiChuanForCausalLM", NULL, "baichuan", "model.", SILU, HF_UNTIED, TENSORS(baichuan)},
};
const struct hf_arch_list hf_archs_alibi = {archs, sizeof archs / sizeof *archs};
