// formats/folder/hf_names.c - looks up architectures and tensors by name; see hf_names.h.
#include "formats/folder/hf_names.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct hf_arch_list *const lists[] = {
    &hf_archs_dense,    &hf_archs_older, &hf_archs_experts, &hf_archs_states, &hf_archs_gemma4,  &hf_archs_kin,
    &hf_archs_mixtures, &hf_archs_alibi, &hf_archs_varied,  &hf_archs_rwkv,   &hf_archs_encoders};

const struct hf_arch *hf_arch_at(size_t i) {
    for (size_t k = 0; k < sizeof lists / sizeof *lists; k++) {
        if (i < lists[k]->n) return &lists[k]->archs[i];
        i -= lists[k]->n;
    }
    return NULL;
}

static bool is(const char *s, const char *name, size_t n) { return strlen(s) == n && memcmp(s, name, n) == 0; }

const struct hf_arch *hf_arch_by_class(const char *name, size_t n) {
    const struct hf_arch *a;
    size_t i = 0;
    while ((a = hf_arch_at(i++)) && !is(a->class_name, name, n)) continue;
    return a;
}

const struct hf_arch *hf_arch_by_trunk(const char *name, size_t n) {
    static const char trunk[] = "Model", whole[] = "ForCausalLM";
    const size_t n_trunk = sizeof trunk - 1, n_family = n > n_trunk ? n - n_trunk : 0;
    const struct hf_arch *a = NULL;
    size_t i = 0;
    if (n_family == 0 || memcmp(name + n_family, trunk, n_trunk) != 0) return NULL;
    while ((a = hf_arch_at(i++)))
        if (strncmp(a->class_name, name, n_family) == 0 && strcmp(a->class_name + n_family, whole) == 0) break;
    return a;
}

const struct hf_arch *hf_arch_by_type(const char *name, size_t n) {
    const struct hf_arch *a;
    size_t i = 0;
    while ((a = hf_arch_at(i++)) && !(a->model_type && is(a->model_type, name, n))) continue;
    return a;
}

const struct hf_trait hf_traits[] = {
    {"tie_word_embeddings", NULL, HF_UNTIED, true},
    {"use_qkv_bias", "stablelm", HF_ATTENTION_BIAS},
    {"attention_bias", NULL, HF_ATTENTION_BIAS},
    {"qkv_bias", NULL, HF_ATTENTION_BIAS},
    {"bias", "internlm2", HF_BIAS},
    {"bias", "llama", HF_BIAS}, // internlm3, whose other spelling is mlp_bias
    {"mlp_bias", "llama", HF_BIAS},
    {"mlp_bias", NULL, HF_MLP_BIAS},
    {"bias", "falcon", HF_BIAS},
    {"use_bias", NULL, HF_BIAS},
    {"mamba_proj_bias", NULL, HF_BIAS},
    {"attention_out_bias", "seed_oss", HF_OUTPUT_BIAS},
    {"projectors_bias", "falcon-h1", HF_OUTPUT_BIAS}, // of states
    {"mamba_rms_norm", "falcon-h1", HF_STATE_NORM},
    {"wkv_has_gate", "arwkv7", HF_WKV_GATE},
    {"use_conv_bias", NULL, HF_CONV_BIAS},
    {"mamba_conv_bias", NULL, HF_CONV_BIAS},
    {"conv_bias", NULL, HF_CONV_BIAS},
    {"qk_layernorm", NULL, HF_QK_NORM},
    {"parallel_attn", "falcon", HF_IN_TURN, true},
    {"use_parallel_residual", "stablelm", HF_IN_TURN, true},
    {"rope_interleave", NULL, HF_ROPE_PAIRS},
    {"rope_interleave", NULL, HF_ROPE_HALVES, true},
    {"use_qk_norm", NULL, HF_QK_NORM},
    {"lm_head_bias", "phimoe", HF_BIAS},
    {"attention_k_eq_v", NULL, HF_KEYS_ARE_VALUES},
    {"bias", "pangu-embedded", HF_ATTENTION_BIAS},
    {"use_qkv_bias", "bailingmoe2", HF_ATTENTION_BIAS},
    {"share_input_output_layers", "openelm", HF_UNTIED, true},
    {"normalize_qk_projections", "openelm", HF_QK_NORM},
};
const size_t hf_n_traits = sizeof hf_traits / sizeof *hf_traits;

// Parses a decimal number without leading zeros. Returns what follows it, or NULL if there is no
// number.
static const char *read_number(const char *s, int32_t *n) {
    *n = 0;
    if (s[0] == '0') return s + 1;
    const char *from = s;
    for (; *s >= '0' && *s <= '9' && s - from < 6; s++) *n = *n * 10 + (*s - '0');
    return s == from ? NULL : s;
}

bool hf_has_layer(const struct hf_tensor_row *row) { return strstr(row->gguf ? row->gguf : row->name, "%d") != NULL; }

static const char *letters_of(char c) { return c == 'm' ? HF_MIXES : c == 'w' ? HF_MIXES_6 : NULL; }

// A pattern that ends in "*" matches every name with that prefix.
static bool matches(const char *pattern, const char *name, int32_t *layer, int32_t *expert) {
    *layer = *expert = -1;
    while (*pattern) {
        int32_t n;
        if (*pattern == '*') return true;
        if (*pattern != '%') {
            if (*pattern++ != *name++) return false;
            continue;
        }
        if (letters_of(pattern[1])) {
            const char *const letter = *name ? strchr(letters_of(pattern[1]), *name++) : NULL;
            if (!letter) return false;
            n = (int32_t)(letter - letters_of(pattern[1]));
        } else if (!(name = read_number(name, &n))) {
            return false;
        }
        *(pattern[1] == 'd' ? layer : expert) = n;
        pattern += 2;
    }
    return *name == 0;
}

bool hf_row_matches(const struct hf_tensor_row *row, const char *name, int32_t *layer, int32_t *expert) {
    return matches(row->name, name, layer, expert);
}

const struct hf_tensor_row *hf_find_tensor(const struct hf_arch *a, const char *name, int32_t *layer) {
    int32_t expert;
    for (size_t i = 0; i < a->n_tensors; i++)
        if (matches(a->tensors[i].name, name, layer, &expert)) return &a->tensors[i];
    return NULL;
}

struct hf_name hf_name_of(const char *pattern, int32_t layer, int32_t expert) {
    struct hf_name n;
    size_t at = 0;
    for (; *pattern && at + 1 < sizeof n.text; pattern++) {
        if (*pattern != '%') {
            n.text[at++] = *pattern;
            continue;
        }
        pattern++;
        if (letters_of(*pattern)) {
            n.text[at++] = letters_of(*pattern)[expert];
            continue;
        }
        const int written = snprintf(n.text + at, sizeof n.text - at, "%" PRId32, *pattern == 'd' ? layer : expert);
        at += (size_t)written < sizeof n.text - at ? (size_t)written : sizeof n.text - at - 1;
    }
    n.text[at] = 0;
    return n;
}
