// formats/hf_names.c - the tables of architectures and tensor names; see hf_names.h.
#include "formats/hf_names.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define LAYER "model.layers.%d."

// Llama (Touvron et al. 2023) as transformers names its parts. Rotation: half-split there, interleaved in GGUF.
static const struct hf_tensor_row llama_tensors[] = {
    {"model.embed_tokens.weight", "token_embd.weight"},
    {"model.norm.weight", "output_norm.weight"},
    {"lm_head.weight", "output.weight", HF_UNTIED},
    {LAYER "input_layernorm.weight", "blk.%d.attn_norm.weight"},
    {LAYER "self_attn.q_proj.weight", "blk.%d.attn_q.weight", HF_ALWAYS, HF_ROWS_OF_QUERIES},
    {LAYER "self_attn.k_proj.weight", "blk.%d.attn_k.weight", HF_ALWAYS, HF_ROWS_OF_KEYS},
    {LAYER "self_attn.v_proj.weight", "blk.%d.attn_v.weight"},
    {LAYER "self_attn.o_proj.weight", "blk.%d.attn_output.weight"},
    {LAYER "self_attn.q_proj.bias", "blk.%d.attn_q.bias", HF_ATTENTION_BIAS, HF_ROWS_OF_QUERIES},
    {LAYER "self_attn.k_proj.bias", "blk.%d.attn_k.bias", HF_ATTENTION_BIAS, HF_ROWS_OF_KEYS},
    {LAYER "self_attn.v_proj.bias", "blk.%d.attn_v.bias", HF_ATTENTION_BIAS},
    {LAYER "self_attn.o_proj.bias", "blk.%d.attn_output.bias", HF_ATTENTION_BIAS},
    {LAYER "post_attention_layernorm.weight", "blk.%d.ffn_norm.weight"},
    {LAYER "mlp.gate_proj.weight", "blk.%d.ffn_gate.weight"},
    {LAYER "mlp.up_proj.weight", "blk.%d.ffn_up.weight"},
    {LAYER "mlp.down_proj.weight", "blk.%d.ffn_down.weight"},
    {LAYER "mlp.gate_proj.bias", "blk.%d.ffn_gate.bias", HF_MLP_BIAS},
    {LAYER "mlp.up_proj.bias", "blk.%d.ffn_up.bias", HF_MLP_BIAS},
    {LAYER "mlp.down_proj.bias", "blk.%d.ffn_down.bias", HF_MLP_BIAS},
    {LAYER "self_attn.rotary_emb.inv_freq", NULL}, // frequencies that old checkpoints wrote out
};

#define TENSORS(list) list, sizeof(list) / sizeof *(list)
static const struct hf_arch archs[] = {
    {"LlamaForCausalLM", "llama", "llama", TENSORS(llama_tensors)},
};
enum { N_ARCHS = sizeof archs / sizeof *archs };

static bool is(const char *s, const char *name, size_t n) { return strlen(s) == n && memcmp(s, name, n) == 0; }

const struct hf_arch *hf_arch_by_class(const char *name, size_t n) {
    for (int i = 0; i < N_ARCHS; i++)
        if (is(archs[i].class_name, name, n)) return &archs[i];
    return NULL;
}

const struct hf_arch *hf_arch_by_type(const char *name, size_t n) {
    for (int i = 0; i < N_ARCHS; i++)
        if (is(archs[i].model_type, name, n)) return &archs[i];
    return NULL;
}

const char *hf_arch_list(void) { return "LlamaForCausalLM"; }

// The layer's number as it is written without leading zeros. NULL: none here; else what follows it.
static const char *read_layer(const char *s, int32_t *layer) {
    *layer = 0;
    if (s[0] == '0') return s + 1;
    const char *from = s;
    for (; *s >= '0' && *s <= '9' && s - from < 6; s++) *layer = *layer * 10 + (*s - '0');
    return s == from ? NULL : s;
}

bool hf_has_layer(const struct hf_tensor_row *row) { return strstr(row->name, "%d") != NULL; }

static bool matches(const struct hf_tensor_row *row, const char *name, int32_t *layer) {
    const char *at = strstr(row->name, "%d");
    *layer = -1;
    if (!at) return strcmp(row->name, name) == 0;
    const size_t n = (size_t)(at - row->name);
    if (strncmp(name, row->name, n) != 0) return false;
    const char *rest = read_layer(name + n, layer);
    return rest && strcmp(rest, at + 2) == 0;
}

const struct hf_tensor_row *hf_find_tensor(const struct hf_arch *a, const char *name, int32_t *layer) {
    for (size_t i = 0; i < a->n_tensors; i++)
        if (matches(&a->tensors[i], name, layer)) return &a->tensors[i];
    return NULL;
}

struct hf_name hf_name_of(const char *pattern, int32_t layer) {
    const char *at = strstr(pattern, "%d");
    struct hf_name n;
    if (at)
        snprintf(n.text, sizeof n.text, "%.*s%" PRId32 "%s", (int)(at - pattern), pattern, layer, at + 2);
    else
        snprintf(n.text, sizeof n.text, "%s", pattern);
    return n;
}
