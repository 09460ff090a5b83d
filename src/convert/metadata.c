// convert/metadata.c - see metadata.h. Keys: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
#include "convert/metadata.h"
#include "convert/copy_pairs.h"
#include "kernels/rowmath.h"
#include <stdio.h>
#include <string.h>

static struct vocab_str str(const char *s) { return (struct vocab_str){s, (uint32_t)strlen(s)}; }

// {arch}.NAME
struct key {
    char text[128];
};
static struct key key_of(const struct hparams *h, const char *name) {
    struct key k;
    snprintf(k.text, sizeof k.text, "%s.%s", h->arch, name);
    return k;
}
static void put_int(gguf_writer *w, const struct hparams *h, const char *name, int32_t v) {
    gguf_put_u32(w, key_of(h, name).text, (uint32_t)v); // checked to be 0 or more when it was read
}
static void put_float(gguf_writer *w, const struct hparams *h, const char *name, float v) {
    gguf_put_f32(w, key_of(h, name).text, v);
}

// Cosines and sines are multiplied by attn_factor * (1 + 0.1 ln(factor)) where a file says no more: whatever gives
// the model its magnitude goes into the one number.
static float attn_factor_of(const struct hparams *h) {
    const double log_factor = h->rope_factor > 1 ? log_f64((double)h->rope_factor) : 0;
    const double of_mscale = 1 + 0.1 * (double)h->rope_mscale * log_factor;
    const double of_all = 1 + 0.1 * (double)h->rope_mscale_all * log_factor;
    return (float)((double)h->rope_attn_factor * of_mscale / of_all / (1 + 0.1 * log_factor));
}

static rn_status put_scaling(gguf_writer *w, const struct hparams *h, rn_error *err) {
    if (h->rope_scaling == ROPE_SCALING_NONE) return RN_OK;
    const bool is_yarn = h->rope_scaling == ROPE_SCALING_YARN;
    gguf_put_string(w, key_of(h, "rope.scaling.type").text, str(is_yarn ? "yarn" : "linear"));
    put_float(w, h, "rope.scaling.factor", h->rope_factor);
    if (!is_yarn) return RN_OK;
    if (h->rope_exact_ramp)
        return fail(err, RN_E_UNSUPPORTED, "rope_scaling.truncate: false is nothing that a GGUF file can say");
    put_int(w, h, "rope.scaling.original_context_length", h->rope_n_ctx_orig);
    put_float(w, h, "rope.scaling.yarn_beta_fast", h->rope_beta_fast);
    put_float(w, h, "rope.scaling.yarn_beta_slow", h->rope_beta_slow);
    const float attn_factor = attn_factor_of(h);
    if (attn_factor != 1) put_float(w, h, "rope.scaling.attn_factor", attn_factor);
    return RN_OK;
}

static rn_status put_hparams(gguf_writer *w, const struct hparams *h, rn_error *err) {
    put_int(w, h, "block_count", h->n_layer);
    put_int(w, h, "context_length", h->n_ctx_train);
    put_int(w, h, "embedding_length", h->n_embd);
    put_int(w, h, "feed_forward_length", h->n_ff);
    put_int(w, h, "attention.head_count", h->n_head);
    put_int(w, h, "attention.head_count_kv", h->n_head_kv);
    put_float(w, h, "rope.freq_base", h->rope_theta);
    put_float(w, h, "attention.layer_norm_rms_epsilon", h->norm_eps);
    put_int(w, h, "attention.key_length", h->head_dim);
    put_int(w, h, "attention.value_length", h->head_dim);
    if (h->n_swa) put_int(w, h, "attention.sliding_window", h->n_swa);
    if (h->n_expert) put_int(w, h, "expert_count", h->n_expert);
    if (h->n_expert) put_int(w, h, "expert_used_count", h->n_expert_used);
    put_int(w, h, "vocab_size", h->n_vocab);
    put_int(w, h, "rope.dimension_count", h->n_rot);
    return put_scaling(w, h, err);
}

static void put_tokens(gguf_writer *w, const struct vocab *v) {
    const uint64_t n = (uint64_t)v->n_tokens;
    gguf_put_array(w, "tokenizer.ggml.tokens", GGUF_STRING, n);
    for (int32_t i = 0; i < v->n_tokens; i++) gguf_put_item_string(w, v->tokens[i].text);
    if (v->model != VOCAB_BPE) {
        gguf_put_array(w, "tokenizer.ggml.scores", GGUF_F32, n);
        for (int32_t i = 0; i < v->n_tokens; i++) gguf_put_item_f32(w, v->tokens[i].score);
    }
    gguf_put_array(w, "tokenizer.ggml.token_type", GGUF_I32, n);
    for (int32_t i = 0; i < v->n_tokens; i++) gguf_put_item_i32(w, (int32_t)v->tokens[i].kind);
    if (v->n_merges == 0) return;
    gguf_put_array(w, "tokenizer.ggml.merges", GGUF_STRING, (uint64_t)v->n_merges);
    for (int32_t i = 0; i < v->n_merges; i++) gguf_put_item_string(w, v->merges[i]);
}

static void put_special_ids(gguf_writer *w, const struct vocab *v) {
    const struct {
        const char *key;
        int32_t id;
    } ids[] = {
        {"tokenizer.ggml.bos_token_id", v->bos},     {"tokenizer.ggml.eos_token_id", v->eos},
        {"tokenizer.ggml.eot_token_id", v->eot},     {"tokenizer.ggml.eom_token_id", v->eom},
        {"tokenizer.ggml.unknown_token_id", v->unk}, {"tokenizer.ggml.padding_token_id", v->pad},
    };
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        if (ids[i].id >= 0) gguf_put_u32(w, ids[i].key, (uint32_t)ids[i].id);
}

// The vocabulary's kind as GGUF names it: a kind or a way to split text that GGUF has no name for is refused, not bent.
static rn_status gguf_kind(const struct vocab *v, const char **kind, rn_error *err) {
    static const char gemma[] = "gemma4";
    const bool is_gemma =
        v->model_name.n == sizeof gemma - 1 && memcmp(v->model_name.s, gemma, sizeof gemma - 1) == 0;
    *kind = v->model == VOCAB_SPM ? "llama" : v->model == VOCAB_BPE && v->pre.n ? "gpt2" : is_gemma ? gemma : NULL;
    if (*kind) return RN_OK;
    return fail(err, RN_E_UNSUPPORTED, "tokenizer: GGUF has no name for this %s: %s",
                v->model == VOCAB_BPE ? "way to split text" : "kind",
                v->model == VOCAB_CHAR_BPE ? "give tokenizer.model beside tokenizer.json, it has the scores"
                                           : "the folder itself runs");
}

static rn_status put_vocab(gguf_writer *w, const struct vocab *v, rn_error *err) {
    const char *kind;
    if (v->n_tokens == 0) return RN_OK;
    const rn_status st = gguf_kind(v, &kind, err);
    if (st != RN_OK) return st;
    gguf_put_string(w, "tokenizer.ggml.model", str(kind));
    if (v->pre.n) gguf_put_string(w, "tokenizer.ggml.pre", v->pre);
    put_tokens(w, v);
    put_special_ids(w, v);
    gguf_put_bool(w, "tokenizer.ggml.add_bos_token", v->add_bos);
    gguf_put_bool(w, "tokenizer.ggml.add_eos_token", v->add_eos);
    if (v->model != VOCAB_BPE) gguf_put_bool(w, "tokenizer.ggml.add_space_prefix", v->add_space_prefix);
    return RN_OK;
}

rn_status metadata_put(gguf_writer *w, const package *p, uint32_t file_type, rn_error *err) {
    const struct hparams *h = package_hparams(p);
    size_t n_template;
    const char *chat_template = package_chat_template(p, &n_template);
    gguf_put_string(w, "general.architecture", str(h->arch));
    gguf_put_string(w, "general.type", str(h->file_type));
    gguf_put_string(w, "general.name", str(h->name));
    rn_status st = put_hparams(w, h, err);
    gguf_put_u32(w, "general.file_type", file_type);
    gguf_put_u32(w, "general.quantization_version", GGUF_QUANTIZATION_VERSION);
    if (st == RN_OK) st = put_vocab(w, package_vocab(p), err);
    if (chat_template)
        gguf_put_string(w, "tokenizer.chat_template", (struct vocab_str){chat_template, (uint32_t)n_template});
    return st;
}
