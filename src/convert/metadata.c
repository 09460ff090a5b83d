// convert/metadata.c - see metadata.h. Keys: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
#include "convert/metadata.h"
#include "convert/copy_pairs.h"
#include "convert/vocab_meta.h"
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

rn_status metadata_put(gguf_writer *w, const package *p, uint32_t file_type, const log_sink *log, rn_error *err) {
    const struct hparams *h = package_hparams(p);
    size_t n_template;
    const char *chat_template = package_chat_template(p, &n_template);
    gguf_put_string(w, "general.architecture", str(h->arch));
    gguf_put_string(w, "general.type", str(h->file_type));
    gguf_put_string(w, "general.name", str(h->name));
    rn_status st = put_hparams(w, h, err);
    gguf_put_u32(w, "general.file_type", file_type);
    gguf_put_u32(w, "general.quantization_version", GGUF_QUANTIZATION_VERSION);
    if (st == RN_OK) st = vocab_put(w, package_vocab(p), log, err);
    if (chat_template)
        gguf_put_string(w, "tokenizer.chat_template", (struct vocab_str){chat_template, (uint32_t)n_template});
    return st;
}
