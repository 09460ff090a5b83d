// convert/metadata.c - see metadata.h. Keys: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
//
// The keys that are written are those that are read: the rows of the table in
// formats/hparams/hparams.h. put_scaling() writes what a row cannot express; metadata_layers.c
// writes values that differ between layers.
#include "convert/metadata.h"
#include "convert/copy_pairs.h"
#include "convert/metadata_layers.h"
#include "convert/vocab_meta.h"
#include "kernels/rowmath.h"
#include <stdio.h>
#include <string.h>

#define AT(field) offsetof(struct raw_hparams, hp.field)

static struct vocab_str str(const char *s) { return (struct vocab_str){s, (uint32_t)strlen(s)}; }

struct metadata_key metadata_key_of(const struct hparams *h, const char *name) {
    struct metadata_key k;
    snprintf(k.text, sizeof k.text, "%s.%s", h->arch, name);
    return k;
}

void metadata_own(const log_sink *log, const char *key) {
    log_to(log, LOG_WARN, "key %s: is runnel's own, since GGUF has none for it; other readers ignore it", key);
}

// ---- values in the file's units -----------------------------------------------------------------

static double grown(const struct hparams *h, double m) {
    return h->rope_factor > 1 ? 1 + 0.1 * m * log_f64((double)h->rope_factor) : 1;
}

// YaRN's factor for cosines and sines.
static double magnitude_of(const struct hparams *h) {
    const double of_mscales = grown(h, (double)h->rope_mscale) / grown(h, (double)h->rope_mscale_all);
    return (double)h->rope_attn_factor * of_mscales;
}

// A tenth of m (see hparams_rope.c), stored only with latent attention. Readers scale q . k by
// (attn_factor * g(m))^2 there, so m is chosen to cancel a magnitude other than 1, as far as a
// non-negative m can. (runnel itself uses the file's attention.scale.)
static float log_multiplier_of(const struct hparams *h, const struct arch_facts *f) {
    const double magnitude = magnitude_of(h), g = grown(h, (double)h->rope_mscale_all) / magnitude;
    if (!f->is_mla || h->rope_scaling != ROPE_SCALING_YARN || g <= 1) return 0;
    return magnitude == 1 ? h->rope_mscale_all / 10 : (float)((g - 1) / log_f64((double)h->rope_factor));
}

// Readers multiply by g(1) themselves if the file has no multiplier.
static float attn_factor_of(const struct hparams *h, float log_multiplier) {
    if (h->rope_scaling != ROPE_SCALING_YARN) return h->rope_attn_factor;
    return (float)(magnitude_of(h) / (log_multiplier > 0 ? 1 : grown(h, 1)));
}

// The values that the rows below write; 0 is left out.
static struct hparams as_in_files(const struct hparams *h, const struct arch_facts *f) {
    struct hparams w = *h;
    w.rope_mscale = 0;
    w.rope_mscale_all = log_multiplier_of(h, f);
    w.rope_attn_factor = attn_factor_of(h, w.rope_mscale_all);
    if (w.rope_attn_factor == 1) w.rope_attn_factor = 0;
    if (h->rope_scaling == ROPE_SCALING_NONE || h->rope_scaling == ROPE_SCALING_LONGROPE) w.rope_factor = 0;
    if (f->logit_divisor && h->logit_scale != 0) w.logit_scale = 1 / h->logit_scale;
    if (f->embd_by_sqrt) w.embd_scale = 0;
    if (f->attn_unscaled || f->attn_by_head) w.attn_scale = 0;
    if (f->swa_is_chunk) w.n_swa = h->n_chunk;
    if (f->short_conv) w.ssm_d_inner = 0;
    if (f->wkv) w.ssm_d_conv = w.ssm_d_inner = w.ssm_d_state = w.ssm_n_head = w.ssm_n_group = 0;
    if (f->scans) w.ssm_n_head = h->ssm_dt_rank;
    if (f->whole_kv_b) w.mla_head_dim_v = 0; // it is in value_length
    w.n_layer += h->n_layer_after;
    return w;
}

// ---- rows ---------------------------------------------------------------------------------------

// Is the row written by metadata_layers.c?
static bool is_of_layers(const struct hparam_row *row) {
    return row->is_per_layer || row->at == AT(head_dim) || row->at == AT(rope_theta_swa);
}

// Does an absent key imply a value other than 0? Then 0 must be written too.
static bool has_default(const struct arch_facts *f, const struct hparam_row *row) {
    for (size_t i = 0; i < f->n_defaults; i++)
        if (f->defaults[i].at == row->at) return true;
    return (row->at == AT(n_embd_per_layer) && f->has_layer_embd) || (row->at == AT(n_swa) && f->swa_is_chunk) ||
           (row->at == AT(q_lora_rank) && f->is_mla); // required by llama.cpp
}

// A number that is 0 where an absent key means another one, and which no key may state: put_none() names it.
static bool is_none(const struct hparams *h, const struct arch_facts *f, const struct hparam_row *row) {
    return hparam_get(h, row) == 0 && has_default(f, row) && row->kind != HPARAM_BOOL && !row->may_be_0;
}

static void put_row(gguf_writer *w, const struct hparams *h, const struct arch_facts *f,
                    const struct hparam_row *row) {
    const char *const *names = row->in[HPARAMS_GGUF].names;
    const bool second =
        (row->at == AT(norm_eps) && f->has_layer_norm) || (row->at == AT(attn_scale) && f->scales_output) ||
        (row->at == AT(wkv_decay_rank) && f->wkv_mixes) || (row->at == AT(ssm_d_conv) && f->short_conv);
    const struct metadata_key key = metadata_key_of(h, names[second ? 1 : 0]);
    const bool of_experts = row->at == AT(expert_weights_norm);
    const double v = hparam_get(h, row);
    if (v == 0 && !has_default(f, row) && !(of_experts && h->n_expert > 0)) return;
    if (is_none(h, f, row)) return;
    if (row->kind == HPARAM_BOOL)
        gguf_put_bool(w, key.text, v != 0);
    else if (row->kind == HPARAM_FLOAT)
        gguf_put_f32(w, key.text, (float)v);
    else
        gguf_put_u32(w, key.text, (uint32_t)v); // not negative: checked when it was read
}

static void put_scaling(gguf_writer *w, const struct hparams *h) {
    static const char *const names[] = {
        [ROPE_SCALING_LINEAR] = "linear", [ROPE_SCALING_YARN] = "yarn", [ROPE_SCALING_LONGROPE] = "longrope"};
    if (h->rope_scaling != ROPE_SCALING_NONE)
        gguf_put_string(w, metadata_key_of(h, "rope.scaling.type").text, str(names[h->rope_scaling]));
}

static void put_sections(gguf_writer *w, const struct hparams *h) {
    enum { N = sizeof h->rope_sections / sizeof *h->rope_sections };
    int32_t sum = 0;
    for (int i = 0; i < N; i++) sum += h->rope_sections[i];
    if (sum == 0) return;
    gguf_put_array(w, metadata_key_of(h, "rope.dimension_sections").text, GGUF_I32, N);
    for (int i = 0; i < N; i++) gguf_put_item_i32(w, h->rope_sections[i]);
}

// ---- keys of our own ------------------------------------------------------------------------------

static void put_own_bool(gguf_writer *w, const struct hparams *h, const char *name, bool v, const log_sink *log) {
    const struct metadata_key key = metadata_key_of(h, name);
    gguf_put_bool(w, key.text, v);
    metadata_own(log, key.text);
}

static void put_own_number(gguf_writer *w, const struct hparams *h, const char *name, size_t at,
                           const log_sink *log) {
    const struct metadata_key key = metadata_key_of(h, name);
    const struct hparam_row *row = hparam_row_at(at);
    if (row->kind == HPARAM_FLOAT)
        gguf_put_f32(w, key.text, (float)hparam_get(h, row));
    else
        gguf_put_u32(w, key.text, (uint32_t)hparam_get(h, row));
    metadata_own(log, key.text);
}

enum { GGUF_REL_DISTANCE = 128 }; // which no key says

static void put_own(gguf_writer *w, const struct hparams *h, const struct arch_facts *f, const log_sink *log) {
    if (h->rope_scaling == ROPE_SCALING_YARN && h->rope_exact_ramp != f->exact_ramp)
        put_own_bool(w, h, "runnel.yarn_exact_ramp", h->rope_exact_ramp, log);
    if (h->residual_of_norm) put_own_bool(w, h, "runnel.residual_of_norm", true, log);
    if (h->ffn_act != 0) put_own_number(w, h, "runnel.hidden_act", AT(ffn_act), log);
    if (h->n_rel_bucket != 0 && h->rel_distance != GGUF_REL_DISTANCE)
        put_own_number(w, h, "runnel.relative_distance", AT(rel_distance), log);
    if (h->n_embd_token != 0) put_own_number(w, h, "runnel.token_embedding_length", AT(n_embd_token), log);
    if (h->norms_after) put_own_bool(w, h, "runnel.norms_after", true, log);
    if (h->alibi_scaled) put_own_bool(w, h, "runnel.alibi_scaled", true, log);
    if (h->ssm_norm_first) put_own_bool(w, h, "runnel.ssm_norm_first", true, log);
    if (h->ssm_dt_least != 0) put_own_number(w, h, "runnel.time_step_least", AT(ssm_dt_least), log);
    if (h->ssm_dt_most != 0) put_own_number(w, h, "runnel.time_step_most", AT(ssm_dt_most), log);
    if (h->qk_norm != hparams_qk_norm_by_rule(f, h->n_expert)) put_own_bool(w, h, "runnel.qk_norm", h->qk_norm, log);
}

// The names of keys whose absence would mean a number, where the model has none.
static void put_none(gguf_writer *w, const struct hparams *h, const struct arch_facts *f,
                     const struct hparam_row *const *rows, size_t n, const log_sink *log) {
    const struct metadata_key key = metadata_key_of(h, "runnel.none");
    uint64_t n_none = 0;
    for (size_t i = 0; i < n; i++) n_none += is_none(h, f, rows[i]);
    if (n_none == 0) return;
    gguf_put_array(w, key.text, GGUF_STRING, n_none);
    for (size_t i = 0; i < n; i++)
        if (is_none(h, f, rows[i])) gguf_put_item_string(w, str(rows[i]->in[HPARAMS_GGUF].names[0]));
    metadata_own(log, key.text);
}

// ---- all ----------------------------------------------------------------------------------------------

// How a text becomes an embedding or scores. Encoders: what is not said, as it is done here (engine/embed.c).
static void put_embedding(gguf_writer *w, const struct hparams *h, const log_sink *log) {
    const enum pooling said = h->pooling, own = h->n_class > 0 ? POOLING_RANK : POOLING_MEAN,
                       pooling = said == POOLING_NOT_SAID && h->sees_whole_text ? own : said;
    if (pooling != POOLING_NOT_SAID) gguf_put_u32(w, metadata_key_of(h, "pooling_type").text, (uint32_t)pooling - 1);
    if (h->normalization == NORMALIZATION_OFF) put_own_bool(w, h, "runnel.normalize", false, log);
    if (h->rank_raw) put_own_bool(w, h, "runnel.rank_raw", true, log);
    if (h->rank_pooling) put_own_number(w, h, "runnel.rank_pooling", AT(rank_pooling), log);
    if (h->n_class > 0) {
        gguf_put_array(w, metadata_key_of(h, "classifier.output_labels").text, GGUF_STRING, (uint64_t)h->n_class);
        for (int32_t i = 0; i < h->n_class; i++) {
            char label[32];
            snprintf(label, sizeof label, "LABEL_%d", i);
            gguf_put_item_string(w, str(label));
        }
    }
    if (h->n_dense_2) gguf_put_u32(w, metadata_key_of(h, "dense_2_feat_in").text, (uint32_t)h->n_embd);
    if (h->n_dense_3) gguf_put_u32(w, metadata_key_of(h, "dense_3_feat_in").text, (uint32_t)h->n_dense_2);
    if (!h->sees_whole_text) return;
    gguf_put_bool(w, metadata_key_of(h, "attention.causal").text, false);
    gguf_put_u32(w, "tokenizer.ggml.token_type_count", h->n_token_types > 0 ? (uint32_t)h->n_token_types : 1);
}

static void put_hparams(gguf_writer *w, const struct hparams *h, const log_sink *log) {
    const struct arch_facts *f = arch_facts_find(h->arch); // not NULL: checked before
    const struct hparams said = as_in_files(h, f);
    const struct hparam_row *rows[HPARAM_MAX_ROWS];
    size_t n = 0;
    for (size_t i = 0; i < hparam_n_rows; i++) {
        const struct hparam_row *row = &hparam_rows[i];
        const char *name = row->in[HPARAMS_GGUF].names[0];
        if (row->at < sizeof *h && name && !is_of_layers(row) && strncmp(name, "runnel.", 7) != 0) rows[n++] = row;
    }
    for (size_t i = 0; i < n; i++) put_row(w, &said, f, rows[i]);
    put_none(w, &said, f, rows, n, log);
    put_own(w, h, f, log);
    gguf_put_u32(w, metadata_key_of(h, "vocab_size").text, (uint32_t)h->n_vocab);
    if (h->head_dim_nope && !f->whole_kv_b)
        gguf_put_u32(w, metadata_key_of(h, "attention.key_length_mla").text, (uint32_t)(h->head_dim_nope + h->n_rot));
    if (f->puts_both_eps) gguf_put_f32(w, metadata_key_of(h, "attention.layer_norm_epsilon").text, h->norm_eps);
    put_scaling(w, h);
    put_sections(w, h);
    put_embedding(w, h, log);
    metadata_put_layers(w, h, f, log);
}

static void put_prompts(gguf_writer *w, const package *p, const log_sink *log) {
    static const char key[] = "general.runnel.prompts", of_default[] = "general.runnel.default_prompt";
    size_t n;
    const struct package_prompt *const prompts = package_prompts(p, &n);
    if (n == 0) return;
    gguf_put_array(w, key, GGUF_STRING, 2 * n);
    for (size_t i = 0; i < n; i++)
        gguf_put_item_string(w, str(prompts[i].name)), gguf_put_item_string(w, str(prompts[i].text));
    metadata_own(log, key);
    if (!package_default_prompt(p)) return;
    gguf_put_string(w, of_default, str(package_default_prompt(p)));
    metadata_own(log, of_default);
}

rn_status metadata_put(gguf_writer *w, const package *p, uint32_t file_type, const log_sink *log, rn_error *err) {
    const struct hparams *h = package_hparams(p);
    size_t n_template;
    const char *chat_template = package_chat_template(p, &n_template);
    gguf_put_string(w, "general.architecture", str(h->arch));
    gguf_put_string(w, "general.type", str(h->file_type));
    gguf_put_string(w, "general.name", str(h->name));
    put_hparams(w, h, log);
    gguf_put_u32(w, "general.file_type", file_type);
    gguf_put_u32(w, "general.quantization_version", GGUF_QUANTIZATION_VERSION);
    const rn_status st = vocab_put(w, package_vocab(p), h->n_vocab, log, err);
    put_prompts(w, p, log);
    if (chat_template)
        gguf_put_string(w, "tokenizer.chat_template", (struct vocab_str){chat_template, (uint32_t)n_template});
    return st;
}
