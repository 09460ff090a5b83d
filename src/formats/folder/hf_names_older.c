// formats/folder/hf_names_older.c - tensor names of decoders published before Llama; see
// hf_names.h.
//
// Queries, keys and values are one matrix; in GGUF it has all queries first, then all keys, then
// all values.
#include "formats/folder/hf_rows.h"

#define H "h.%d."

static const struct hf_tensor_row gpt2[] = {
    WEIGHT("wte", "token_embd", HF_ALWAYS),
    WEIGHT("wpe", "position_embd", HF_ALWAYS),
    HEAD,
    BOTH("ln_f", "output_norm", HF_ALWAYS),
    BOTH(H "ln_1", B "attn_norm", HF_ALWAYS),
    BOTH(H "ln_2", B "ffn_norm", HF_ALWAYS),
    WEIGHT(H "attn.c_attn", B "attn_qkv", HF_ALWAYS,
           HF_TRANSPOSED), // its layers are stored as convolutions of one tap
    BIAS(H "attn.c_attn", B "attn_qkv", HF_ALWAYS),
    WEIGHT(H "attn.c_proj", B "attn_output", HF_ALWAYS, HF_TRANSPOSED),
    BIAS(H "attn.c_proj", B "attn_output", HF_ALWAYS),
    WEIGHT(H "mlp.c_fc", B "ffn_up", HF_ALWAYS, HF_TRANSPOSED),
    BIAS(H "mlp.c_fc", B "ffn_up", HF_ALWAYS),
    WEIGHT(H "mlp.c_proj", B "ffn_down", HF_ALWAYS, HF_TRANSPOSED),
    BIAS(H "mlp.c_proj", B "ffn_down", HF_ALWAYS),
    LEFT_OUT(H "attn.bias"), // attention masks
    LEFT_OUT(H "attn.masked_bias"),
};
// StarCoder (Li et al. 2023): like GPT-2, with one key head and without transposed matrices.
static const struct hf_tensor_row bigcode[] = {
    WEIGHT("wte", "token_embd", HF_ALWAYS),
    WEIGHT("wpe", "position_embd", HF_ALWAYS),
    HEAD,
    BOTH("ln_f", "output_norm", HF_ALWAYS),
    BOTH(H "ln_1", B "attn_norm", HF_ALWAYS),
    BOTH(H "ln_2", B "ffn_norm", HF_ALWAYS),
    WEIGHT(H "attn.c_attn", B "attn_qkv", HF_ALWAYS, HF_QKV_GROUPED), // of one key head, that is no other order
    BIAS(H "attn.c_attn", B "attn_qkv", HF_ALWAYS, HF_QKV_GROUPED),
    BOTH(H "attn.c_proj", B "attn_output", HF_ALWAYS),
    BOTH(H "mlp.c_fc", B "ffn_up", HF_ALWAYS),
    BOTH(H "mlp.c_proj", B "ffn_down", HF_ALWAYS),
};
static const struct hf_tensor_row gptneox[] = {
    WEIGHT("embed_in", "token_embd", HF_ALWAYS),
    WEIGHT("embed_out", "output", HF_UNTIED),
    BOTH("final_layer_norm", "output_norm", HF_ALWAYS),
    BOTH(L "input_layernorm", B "attn_norm", HF_ALWAYS),
    BOTH(L "post_attention_layernorm", B "ffn_norm", HF_ALWAYS),
    WEIGHT(L "attention.query_key_value", B "attn_qkv", HF_ALWAYS, HF_QKV_GROUPED),
    BIAS(L "attention.query_key_value", B "attn_qkv", HF_ATTENTION_BIAS, HF_QKV_GROUPED),
    WEIGHT(L "attention.dense", B "attn_output", HF_ALWAYS),
    BIAS(L "attention.dense", B "attn_output", HF_ATTENTION_BIAS),
    BOTH(L "mlp.dense_h_to_4h", B "ffn_up", HF_ALWAYS),
    BOTH(L "mlp.dense_4h_to_h", B "ffn_down", HF_ALWAYS),
    LEFT_OUT(L "attention.bias"),
    LEFT_OUT(L "attention.masked_bias"),
    LEFT_OUT(L "attention.rotary_emb.inv_freq"),
};
static const struct hf_tensor_row bloom[] = {
    WEIGHT("word_embeddings", "token_embd", HF_ALWAYS),
    BOTH("word_embeddings_layernorm", "token_embd_norm", HF_ALWAYS),
    HEAD,
    BOTH("ln_f", "output_norm", HF_ALWAYS),
    BOTH(H "input_layernorm", B "attn_norm", HF_ALWAYS),
    BOTH(H "post_attention_layernorm", B "ffn_norm", HF_ALWAYS),
    WEIGHT(H "self_attention.query_key_value", B "attn_qkv", HF_ALWAYS, HF_QKV_GROUPED),
    BIAS(H "self_attention.query_key_value", B "attn_qkv", HF_ALWAYS, HF_QKV_GROUPED),
    BOTH(H "self_attention.dense", B "attn_output", HF_ALWAYS),
    BOTH(H "mlp.dense_h_to_4h", B "ffn_up", HF_ALWAYS),
    BOTH(H "mlp.dense_4h_to_h", B "ffn_down", HF_ALWAYS),
};
static const struct hf_tensor_row falcon[] = {
    WEIGHT("word_embeddings", "token_embd", HF_ALWAYS),
    HEAD,
    BOTH("ln_f", "output_norm", HF_ALWAYS),
    BOTH(H "input_layernorm", B "attn_norm", HF_ONE_NORM),
    BOTH(H "post_attention_layernorm", B "ffn_norm", HF_IN_TURN),
    BOTH(H "ln_attn", B "attn_norm_2", HF_TWO_NORMS), // the order of the numbers in GGUF
    BOTH(H "ln_mlp", B "attn_norm", HF_TWO_NORMS),
    WEIGHT(H "self_attention.query_key_value", B "attn_qkv", HF_ALWAYS, HF_QKV_GROUPED),
    BIAS(H "self_attention.query_key_value", B "attn_qkv", HF_BIAS, HF_QKV_GROUPED),
    WEIGHT(H "self_attention.dense", B "attn_output", HF_ALWAYS),
    BIAS(H "self_attention.dense", B "attn_output", HF_BIAS),
    WEIGHT(H "mlp.dense_h_to_4h", B "ffn_up", HF_ALWAYS),
    BIAS(H "mlp.dense_h_to_4h", B "ffn_up", HF_BIAS),
    WEIGHT(H "mlp.dense_4h_to_h", B "ffn_down", HF_ALWAYS),
    BIAS(H "mlp.dense_4h_to_h", B "ffn_down", HF_BIAS),
};
static const struct hf_tensor_row opt[] = {
    EMBEDDING,
    WEIGHT("embed_positions", "position_embd", HF_ALWAYS, HF_WITHOUT_FIRST_TWO), // rows that no position uses
    HEAD,
    BOTH("final_layer_norm", "output_norm", HF_OPTIONAL), // not behind norms after blocks
    WEIGHT("project_in", "runnel.embd_in", HF_OPTIONAL),
    WEIGHT("project_out", "runnel.embd_out", HF_OPTIONAL),
    BOTH(L "self_attn_layer_norm", B "attn_norm", HF_ALWAYS),
    BOTH(L "final_layer_norm", B "ffn_norm", HF_ALWAYS),
    BOTH(L "self_attn.q_proj", B "attn_q", HF_ALWAYS),
    BOTH(L "self_attn.k_proj", B "attn_k", HF_ALWAYS),
    BOTH(L "self_attn.v_proj", B "attn_v", HF_ALWAYS),
    BOTH(L "self_attn.out_proj", B "attn_output", HF_ALWAYS),
    BOTH(L "fc1", B "ffn_up", HF_ALWAYS),
    BOTH(L "fc2", B "ffn_down", HF_ALWAYS),
};

// CodeShell (2403.15747): all queries, all keys, all values.
static const struct hf_tensor_row codeshell[] = {
    WEIGHT("wte", "token_embd", HF_ALWAYS),
    HEAD,
    BOTH("ln_f", "output_norm", HF_ALWAYS),
    BOTH(H "ln_1", B "attn_norm", HF_ALWAYS),
    BOTH(H "ln_2", B "ffn_norm", HF_ALWAYS),
    BOTH(H "attn.c_attn", B "attn_qkv", HF_ALWAYS),
    BOTH(H "attn.c_proj", B "attn_output", HF_ALWAYS),
    BOTH(H "mlp.c_fc", B "ffn_up", HF_ALWAYS),
    BOTH(H "mlp.c_proj", B "ffn_down", HF_ALWAYS),
    LEFT_OUT(H "attn.rotary_emb.inv_freq"),
};
static const struct hf_tensor_row gptj[] = {
    WEIGHT("wte", "token_embd", HF_ALWAYS),
    BOTH("lm_head", "output", HF_UNTIED),
    BOTH("ln_f", "output_norm", HF_ALWAYS),
    BOTH(H "ln_1", B "attn_norm", HF_ALWAYS),
    WEIGHT(H "attn.q_proj", B "attn_q", HF_ALWAYS),
    WEIGHT(H "attn.k_proj", B "attn_k", HF_ALWAYS),
    WEIGHT(H "attn.v_proj", B "attn_v", HF_ALWAYS),
    WEIGHT(H "attn.out_proj", B "attn_output", HF_ALWAYS),
    BOTH(H "mlp.fc_in", B "ffn_up", HF_ALWAYS),
    BOTH(H "mlp.fc_out", B "ffn_down", HF_ALWAYS),
    LEFT_OUT(H "attn.bias"),
    LEFT_OUT(H "attn.masked_bias"),
};
static const struct hf_alias gptj_aliases[] = {{AT(hp.n_rot), "rotary_dim"}};
static const struct hf_alias codeshell_aliases[] = {{AT(hp.n_head_kv), "num_query_groups"}};

static const struct hparam_default eps_1e5[] = {{AT(hp.norm_eps), 1e-5}}; // of the classes in transformers

static const struct hf_arch archs[] = {
    {"GPT2LMHeadModel", "gpt2", "gpt2", "transformer.", GELU_TANH, TENSORS(gpt2), DEFAULTS(eps_1e5)},
    {"GPTBigCodeForCausalLM", "gpt_bigcode", "starcoder", "transformer.", GELU_TANH, TENSORS(bigcode),
     DEFAULTS(eps_1e5)},
    {"CodeShellForCausalLM", "codeshell", "codeshell", "transformer.", GELU_TANH, HF_UNTIED, TENSORS(codeshell),
     ALIASES(codeshell_aliases), DEFAULTS(eps_1e5)},
    {"GPTJForCausalLM", "gptj", "gptj", "transformer.", GELU_TANH, HF_UNTIED, TENSORS(gptj), ALIASES(gptj_aliases),
     DEFAULTS(eps_1e5)},
    {"GPTNeoXForCausalLM", "gpt_neox", "gptneox", "gpt_neox.", GELU, HF_UNTIED | HF_ATTENTION_BIAS, TENSORS(gptneox),
     DEFAULTS(eps_1e5)},
    {"BloomForCausalLM", "bloom", "bloom", "transformer.", GELU_TANH, TENSORS(bloom), DEFAULTS(eps_1e5)},
    {"FalconForCausalLM", "falcon", "falcon", "transformer.", GELU, .may_scale_alibi = true, TENSORS(falcon),
     DEFAULTS(eps_1e5)},
    {"OPTForCausalLM", "opt", "opt", "model.decoder.", "relu", TENSORS(opt)},
};
const struct hf_arch_list hf_archs_older = {archs, sizeof archs / sizeof *archs};
