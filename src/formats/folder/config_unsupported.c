// formats/folder/config_unsupported.c - checks members of config.json that change the arithmetic; see
// config_parts.h.
#include "formats/folder/config_parts.h"
#include "formats/folder/hf_rows.h"
#include "tensor/act_fn.h"
#include <inttypes.h>
#include <string.h>

// ---- the activation -------------------------------------------------------------------------------------------------

// Is the name in a list separated by spaces?
static bool is_listed(const struct json_node *v, const char *list) {
    while (*list) {
        const size_t n = strcspn(list, " ");
        if (n == v->n_text && memcmp(list, v->text, n) == 0) return true;
        list += n + strspn(list + n, " ");
    }
    return false;
}

// What configurations call the functions of tensor/act_fn.h; of the architecture's own names none needs a key.
static const struct {
    const char *names;
    enum act_fn fn;
} functions[] = {{SILU, ACT_FN_SILU},        {GELU_TANH, ACT_FN_GELU_TANH},
                 {GELU, ACT_FN_GELU},        {"quick_gelu", ACT_FN_GELU_QUICK},
                 {"relu", ACT_FN_RELU},      {"relu2", ACT_FN_RELU_SQUARED},
                 {"sigmoid", ACT_FN_SIGMOID}};

static bool take_activation(struct hf_config *c, const struct json_node *name) {
    if (c->raw.facts->own_gate || c->raw.facts->recurrent != RECURRENT_NONE) return false;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (is_listed(name, functions[i].names)) {
            c->raw.hp.ffn_act = 1 + (int32_t)functions[i].fn;
            return true;
        }
    return false;
}

static rn_status check_activation(struct hf_config *c, const struct json_node *root, rn_error *err) {
    static const char *const names[] = {"hidden_act", "hidden_activation", "activation_function", "activation",
                                        "mlp_hidden_act"};
    const char *list = c->arch->activations;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct json_node *v;
        const rn_status st = config_string(root, names[i], &v, err);
        if (st != RN_OK) return st;
        if (v && !is_listed(v, list) && !take_activation(c, v))
            return fail(err, RN_E_UNSUPPORTED, "member %s: \"%.*s\" is not supported; %.*s is", names[i],
                        config_shown(v), v->text, (int)strcspn(list, " "), list);
    }
    return RN_OK;
}

rn_status config_read_gated_activation(struct hf_config *c, const struct json_node *root, rn_error *err) {
    static const char member[] = "feed_forward_proj", prefix[] = "gated-";
    enum { N_PREFIX = sizeof prefix - 1 };
    const struct json_node *v;
    if (!hf_arch_is(c->arch, "t5encoder")) return RN_OK;
    const rn_status st = config_string(root, member, &v, err);
    if (st != RN_OK) return st;
    const bool is_gated = v ? v->n_text >= N_PREFIX && memcmp(v->text, prefix, N_PREFIX) == 0
                            : strcmp(c->arch->class_name, "T5EncoderModel") != 0;
    c->traits |= is_gated ? HF_FFN_GATE : HF_NO_FFN_GATE;
    if (!v || json_is(v, "gated-gelu") || json_is(v, "gated-gelu_new") || json_is(v, "relu")) return RN_OK;
    struct json_node fn = *v;
    if (is_gated) fn.text += N_PREFIX, fn.n_text -= N_PREFIX;
    if (take_activation(c, &fn)) return RN_OK;
    return fail(err, RN_E_UNSUPPORTED, "member %s: \"%.*s\" is not supported; relu and gated-gelu are", member,
                config_shown(v), v->text);
}

// ---- members with one supported value -----------------------------------------------------------

static const struct {
    const char *gguf_name; // NULL: any architecture
    const char *member, *want;
    const char *also; // a string with the same meaning; NULL: none
} fixed[] = {
    {NULL, "scale_attn_by_inverse_layer_idx", "false"},
    {NULL, "scale_attn_weights", "true"},
    {NULL, "add_cross_attention", "false"},
    {NULL, "enable_bias", "true"},
    {NULL, "_remove_final_layer_norm", "false"},
    {NULL, "layer_norm_elementwise_affine", "true"},
    {NULL, "use_bidirectional_attention", "false", "vision"}, // bidirectional attention among image tokens only
    {NULL, "moe_layer_freq", "1"},
    {NULL, "swiglu_limit", "7.0"},
    {NULL, "swiglu_alpha", "1.702"},
    {"bert", "position_embedding_type", "null", "absolute"},
    {"bert", "is_decoder", "false"},
    {"mpnet", "relative_attention_num_buckets", "32"}, // transformers' class goes by 32 whatever it says
    {"mpnet", "relative_attention_max_distance", "128"},
    {"mpnet", "position_embedding_type", "null", "absolute"},
    {"jina-bert-v2", "position_embedding_type", "null", "alibi"},
    {"jina-bert-v2", "feed_forward_type", "null", "geglu"},
    {"nomic-bert", "position_embedding_type", "null", "rope"},
    {"nomic-bert", "layer_norm_type", "null", "layer_norm"},
    {"nomic-bert", "logn_attention_scale", "false"},
    {"nomic-bert", "prenorm", "false"},
    {"nomic-bert", "use_rms_norm", "false"},
    {"nomic-bert", "rotary_emb_interleaved", "false"},
    {"nomic-bert", "rotary_emb_fraction", "1"},
    {"nomic-bert", "rotary_emb_scale_base", "null"},
    {"nomic-bert", "rotary_scaling_factor", "null"},
    {"nomic-bert-moe", "prenorm", "false"},
    {"nomic-bert-moe", "use_rms_norm", "false"},
    {"nomic-bert-moe", "rotary_emb_interleaved", "false"},
    {"nomic-bert-moe", "rotary_emb_fraction", "1"},
    {"nomic-bert-moe", "rotary_scaling_factor", "null"},
    {"nomic-bert-moe", "moe_every_n_layers", "2"},
    {"nomic-bert-moe", "num_shared_experts", "0"},
    {"nomic-bert-moe", "moe_normalize_expert_weights", "false"},
    {"neo-bert", "rope", "true"},
    {"neo-bert", "rms_norm", "true"},
    {"mamba2", "rms_norm", "true"},
    {"mamba", "mixer_rms_eps", "1e-6"},
    {"nemotron_h", "residual_in_fp32", "false"},
    {"nemotron_h_moe", "moe_latent_size", "null"},
    {"phimoe", "router_jitter_noise", "0.01"},
    {"phimoe", "num_experts_per_tok", "2"},
    {"mistral4", "n_group", "1"},
    {"mpt", "attn_config.alibi", "true"},
    {"mpt", "attn_config.alibi_bias_max", "8"},
    {"mpt", "attn_config.qk_ln", "false"},
    {"mpt", "attn_config.prefix_lm", "false"},
    {"mpt", "logit_scale", "null"},
    {"dbrx", "ffn_config.moe_normalize_expert_weights", "1"},
    {"dbrx", "ffn_config.ffn_act_fn.name", "null", "silu"},
    {"refact", "multi_query", "true"},
    {"arctic", "moe_layer_frequency", "1"},
    {"arctic", "parallel_attn_mlp_res", "true"},
    {"bailingmoe", "norm_head", "false"},
    {"bailingmoe2", "norm_head", "false"},
    {"bailingmoe2", "score_function", "null", "sigmoid"},
    {"afmoe", "score_func", "null", "sigmoid"},
    {"afmoe", "mup_enabled", "true"},
    {"qwen", "no_bias", "true"},
    {"jais", "position_embedding_type", "null", "alibi"},
    {"jais", "mup_scale_qk_dot_by_d", "true"},
    {"jais", "scale_qk_dot_by_d", "true"},
    {"jais", "alibi_scaling", "null"},
    {"grok", "rope_type", "null", "original"}, // which scales nothing
    {"grok", "global_attn_every_n", "1"},
    {"grok", "rope_rotate_half_dims", "false"},
    {"smallthinker", "moe_enable_secondary_experts", "false"},
    {"smallthinker", "moe_enable_early_router", "true"},
    {"deepseek2-ocr", "use_mla", "false"},
    {"openelm", "activation_fn_name", "null", "swish"},
    {"openelm", "normalization_layer_name", "null", "rms_norm"},
    {"openelm", "ffn_with_glu", "true"},
    {"rwkv7", "norm_first", "true"},
    {"rwkv7", "norm_bias", "true"},
    {"rwkv7", "attn", "null"},
    {"rwkv6", "head_size_divisor", "8"},
    {"arwkv7", "wkv_version", "7"},
    {"arwkv7", "wkv_layers", "null", "all"},
};

// Compares with a word ("false", "null", "true"), or with a number, which may be spelled in several
// ways.
static bool has_value(const struct json_node *v, const char *want) {
    static const char *const words[] = {"null", "false", "true"};
    float x, y;
    if (v->kind <= JSON_TRUE) return strcmp(words[v->kind], want) == 0;
    if (v->kind != JSON_NUMBER) return false;
    const struct json_node wanted = {.kind = JSON_NUMBER, .text = want, .n_text = (uint32_t)strlen(want)};
    if (json_float(&wanted, -1e30, 1e30, &y, NULL) != RN_OK) return false; // `want` is a word
    return json_float(v, -1e30, 1e30, &x, NULL) == RN_OK && x == y;
}

static rn_status check_fixed(const struct hf_config *c, const struct json_node *root, rn_error *err) {
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) {
        const struct json_node *v = config_member(root, fixed[i].member);
        const bool is_its = fixed[i].gguf_name ? strcmp(fixed[i].gguf_name, c->arch->gguf_name) == 0
                                               : !c->arch->with || strcmp(fixed[i].member, c->arch->with) != 0;
        if (c->arch->reads && strcmp(fixed[i].member, c->arch->reads) == 0) continue;
        if (!v || !is_its || has_value(v, fixed[i].want) || (fixed[i].also && json_is(v, fixed[i].also))) continue;
        const bool is_word = v->kind <= JSON_TRUE;
        return fail(err, RN_E_UNSUPPORTED, "member %s: %.*s is not supported; %s is", fixed[i].member,
                    is_word ? 5 : config_shown(v),
                    v->kind == JSON_TRUE    ? "true"
                    : v->kind == JSON_FALSE ? "false"
                    : v->kind >= JSON_ARRAY ? "a list"
                                            : v->text,
                    fixed[i].want);
    }
    return RN_OK;
}

// ---- quantization, limits -----------------------------------------------------------------------

static const struct json_node *quant_method(const struct json_node *root) {
    return json_member(json_member(root, "quantization_config"), "quant_method");
}

bool config_says_mxfp4(const struct json_node *root) { return json_is(quant_method(root), "mxfp4"); }

static bool has_mxfp4(const struct hf_arch *a) {
    size_t i = 0;
    while (i < a->n_tensors && !(a->tensors[i].when & HF_IN_MXFP4)) i++;
    return i < a->n_tensors;
}

static rn_status check_quantization(const struct hf_config *c, const struct json_node *root, rn_error *err) {
    const struct json_node *method = quant_method(root);
    const bool named = method && method->kind == JSON_STRING, takes = has_mxfp4(c->arch);
    if (!json_member(root, "quantization_config") || (takes && config_says_mxfp4(root))) return RN_OK;
    return fail(err, RN_E_UNSUPPORTED, "member quantization_config: %.*s is not supported; %s are",
                named ? config_shown(method) : 16, named ? method->text : "its quantization",
                takes ? "mxfp4, and plain F32, F16 and BF16" : "plain F32, F16 and BF16");
}

// Python writes Infinity; transformers 5 writes {"__float__": "Infinity"}.
static bool is_infinity(const struct json_node *v) {
    static const char word[] = "Infinity";
    const bool is_number = v->kind == JSON_NUMBER && v->n_text == sizeof word - 1 && v->text[0] == word[0];
    return is_number || json_is(json_member(v, "__float__"), word);
}

// The limits on the time step of a recurrent state: mamba2's, granitehybrid's.
static rn_status read_time_steps(struct hf_config *c, const struct json_node *root, rn_error *err) {
    const struct json_node *list = json_member(root, "time_step_limit");
    struct hparams *hp = &c->raw.hp;
    if (!list) return RN_OK;
    if (list->kind != JSON_ARRAY || list->n_items != 2)
        return fail(err, RN_E_FORMAT, "member time_step_limit: is not a list of two numbers");
    const struct json_node *from = json_first(list), *to = json_next(from);
    const rn_status st = json_float(from, 0, 1e6, &hp->ssm_dt_least, err);
    if (st != RN_OK) return fail_in(err, st, "member time_step_limit: item 0");
    if (is_infinity(to)) return RN_OK;
    const rn_status of_most = json_float(to, 1e-6, 1e6, &hp->ssm_dt_most, err);
    if (of_most != RN_OK) return fail_in(err, of_most, "member time_step_limit: item 1");
    if (hp->ssm_dt_most >= hp->ssm_dt_least) return RN_OK;
    return fail(err, RN_E_FORMAT, "member time_step_limit: %g is below the least, %g", (double)hp->ssm_dt_most,
                (double)hp->ssm_dt_least);
}

rn_status config_refuse_ways(struct hf_config *c, const struct json_node *root, const struct json_node *text,
                             rn_error *err) {
    rn_status st = check_quantization(c, root, err);
    if (st == RN_OK && text != root) st = check_quantization(c, text, err);
    if (st == RN_OK) st = check_activation(c, text, err);
    if (st == RN_OK) st = check_fixed(c, text, err);
    return st == RN_OK ? read_time_steps(c, text, err) : st;
}
