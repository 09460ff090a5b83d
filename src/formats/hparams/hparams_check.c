// formats/hparams/hparams_check.c - checks relations between hyper-parameters and derives absent
// values; see hparams.h.
#include "formats/hparams/hparams.h"
#include "formats/package_build.h"
#include <inttypes.h>
#include <math.h>

#define AT(field) offsetof(struct raw_hparams, field)

bool hparams_known_arch(const char *arch) { return arch_facts_find(arch) != NULL; }

bool hparam_is_missing(const struct raw_hparams *raw, const struct hparam_row *row) {
    if (!row->is_required || hparam_get(raw, row) != 0) return false;
    if (row->is_per_layer && raw->facts->recurrent == RECURRENT_ALL && !(raw->facts->wkv && row->at == AT(hp.n_ff)))
        return false;
    return !(row->at == AT(hp.n_ff) && raw->facts->ff_is_4x);
}

void hparams_begin(struct raw_hparams *raw) {
    const struct arch_facts *f = raw->facts = arch_facts_find(raw->hp.arch);
    raw->rope_switch = true;
    raw->is_causal = !f->is_encoder;
    raw->hp.rope_exact_ramp = f->exact_ramp;
    for (size_t i = 0; i < f->n_defaults; i++)
        if (raw->source == HPARAMS_GGUF || !f->defaults[i].not_in_config)
            hparam_set(raw, hparam_row_at(f->defaults[i].at), f->defaults[i].value);
    raw->hp.expert_weights_norm = f->weights_norm;
    raw->hp.expert_gating = f->gating ? f->gating : EXPERT_GATING_SOFTMAX;
}

static rn_status check_counts(struct raw_hparams *raw, rn_error *err) {
    struct hparams *hp = &raw->hp;
    if (hp->n_deepstack > hp->n_layer)
        return fail(err, RN_E_FORMAT, "%s: %" PRId32 " of %" PRId32 " layers",
                    hparam_name_at(raw, AT(hp.n_deepstack)).text, hp->n_deepstack, hp->n_layer);
    if (raw->facts->recurrent == RECURRENT_ALL) {
        if (raw->facts->wkv_mixes && !raw->facts->has_layer_norm) hp->ssm_n_group = hp->n_head_kv; // rwkv6qwen2
        hp->n_head = hp->n_head_kv = hp->head_dim = 0;
        if (!raw->facts->wkv) hp->n_ff = 0;
        return RN_OK;
    }
    if (hp->n_ff == 0) hp->n_ff = 4 * hp->n_embd; // required, except where this default holds
    if (raw->facts->ff_is_halved) hp->n_ff /= 2;
    if (raw->multi_query || raw->new_decoder) hp->n_head_kv = raw->new_decoder ? raw->n_head_kv_new : 1;
    if (hp->n_head_kv == 0) hp->n_head_kv = hp->n_head;
    const bool differ = raw->layers[0].n_head != HPARAMS_NOT_SAID || raw->layers[0].n_head_kv != HPARAMS_NOT_SAID;
    if (hp->n_head == 0 || hp->n_head_kv == 0 || (!differ && hp->n_head % hp->n_head_kv != 0))
        return fail(err, RN_E_FORMAT, "%s: %" PRId32 " does not divide the number of heads, %" PRId32,
                    hparam_name_at(raw, AT(hp.n_head_kv)).text, hp->n_head_kv, hp->n_head);
    if (hp->head_dim == 0) hp->head_dim = raw->head_dim_swa;
    if (hp->head_dim != 0 || raw->facts->is_mla) return RN_OK; // latent attention has widths of its own
    if (hp->n_embd % hp->n_head != 0)
        return fail(err, RN_E_FORMAT,
                    "%s: %" PRId32 " does not divide the embedding's width, %" PRId32
                    ", and no head's width is given",
                    hparam_name_at(raw, AT(hp.n_head)).text, hp->n_head, hp->n_embd);
    hp->head_dim = hp->n_embd / hp->n_head;
    return RN_OK;
}

// ---- latent attention ---------------------------------------------------------------------------

// All heads share one key head: the latent vector followed by a rotated part. Its values are the
// latent vector (DeepSeek-V2, arXiv 2405.04434, section 2.1, with the matrices of a head's keys and
// values moved to the queries and the outputs).
static rn_status check_latent(struct raw_hparams *raw, rn_error *err) {
    struct hparams *hp = &raw->hp;
    if (hp->kv_lora_rank == 0)
        return fail(err, RN_E_FORMAT, "%s: missing", hparam_name_at(raw, AT(hp.kv_lora_rank)).text);
    const bool is_whole = raw->facts->whole_kv_b;
    const bool is_older =
        raw->source == HPARAMS_GGUF && (is_whole || (hp->mla_head_dim_v == 0 && raw->key_length_mla == 0));
    if (is_older) { // files before April 2025 have head sizes before the move, and one key head per head (gguf_older.c)
        raw->key_length_mla = hp->head_dim;
        hp->mla_head_dim_v = raw->value_length;
    }
    const int32_t even = hp->n_embd % hp->n_head == 0 ? hp->n_embd / hp->n_head : 0;
    if (is_whole && hp->mla_head_dim_v == 0) hp->mla_head_dim_v = even;
    if (is_whole && raw->key_length_mla == 0) raw->key_length_mla = even;
    if (hp->mla_head_dim_v == 0)
        return fail(err, RN_E_FORMAT, "%s: missing", hparam_name_at(raw, AT(hp.mla_head_dim_v)).text);
    if (raw->source == HPARAMS_CONFIG)
        hp->n_rot = raw->qk_rope_dim, raw->partial_rotary = 0; // whatever part of a head it is
    else
        hp->head_dim_nope = raw->key_length_mla - hp->n_rot;
    if (hp->n_rot == 0 || hp->head_dim_nope <= 0)
        return fail(
            err, RN_E_FORMAT, "%s: a head of %" PRId32 " unrotated and %" PRId32 " rotated elements",
            hparam_name_at(raw, raw->source == HPARAMS_CONFIG ? AT(hp.head_dim_nope) : AT(key_length_mla)).text,
            hp->head_dim_nope, hp->n_rot);
    const int32_t head_dim = hp->kv_lora_rank + hp->n_rot; // each at most 4096
    if (raw->source == HPARAMS_GGUF && !is_older &&
        (hp->head_dim != head_dim || raw->value_length != hp->kv_lora_rank))
        return fail(err, RN_E_FORMAT,
                    "%s: %" PRId32 ", and values of %" PRId32 ", where a latent of %" PRId32 " and %" PRId32
                    " rotated elements make %" PRId32,
                    hparam_name_at(raw, AT(hp.head_dim)).text, hp->head_dim, raw->value_length, hp->kv_lora_rank,
                    hp->n_rot, head_dim);
    hp->head_dim = head_dim;
    hp->head_dim_v = hp->kv_lora_rank;
    hp->n_head_kv = 1;
    return RN_OK;
}

static rn_status check_values(struct raw_hparams *raw, rn_error *err) {
    struct hparams *hp = &raw->hp;
    if (raw->facts->is_mla) return check_latent(raw, err);
    const int32_t said = raw->source == HPARAMS_CONFIG ? hp->mla_head_dim_v : raw->value_length;
    hp->q_lora_rank = hp->kv_lora_rank = hp->head_dim_nope = hp->mla_head_dim_v = 0;
    hp->head_dim_v = raw->facts->own_values && said != 0 ? said : hp->head_dim;
    if (raw->facts->own_values) return RN_OK;
    hp->value_scale = 0;
    if (raw->value_length != 0 && raw->value_length != hp->head_dim)
        return fail(err, RN_E_UNSUPPORTED, "%s: %" PRId32 ", where keys have %" PRId32 ": both must be equal",
                    hparam_name_at(raw, AT(value_length)).text, raw->value_length, hp->head_dim);
    if (raw->value_length_swa != 0 && raw->value_length_swa != raw->head_dim_swa)
        return fail(err, RN_E_UNSUPPORTED, "%s: %" PRId32 ", where keys have %" PRId32 ": both must be equal",
                    hparam_name_at(raw, AT(value_length_swa)).text, raw->value_length_swa, raw->head_dim_swa);
    return RN_OK;
}

// ---- experts ------------------------------------------------------------------------------------

static rn_status check_groups(struct raw_hparams *raw, rn_error *err) {
    struct hparams *hp = &raw->hp;
    if (hp->n_expert_group <= 1) {
        hp->n_expert_group = hp->n_expert_group_used = 0;
        return RN_OK;
    }
    if (hp->n_expert % hp->n_expert_group != 0)
        return fail(err, RN_E_FORMAT, "%s: %" PRId32 " does not divide the number of experts, %" PRId32,
                    hparam_name_at(raw, AT(hp.n_expert_group)).text, hp->n_expert_group, hp->n_expert);
    const int32_t in_groups = hp->n_expert / hp->n_expert_group * hp->n_expert_group_used;
    if (hp->n_expert_group_used < 1 || hp->n_expert_group_used > hp->n_expert_group || in_groups < hp->n_expert_used)
        return fail(err, RN_E_FORMAT, "%s: %" PRId32 " of %" PRId32 " groups, for %" PRId32 " of %" PRId32 " experts",
                    hparam_name_at(raw, AT(hp.n_expert_group_used)).text, hp->n_expert_group_used, hp->n_expert_group,
                    hp->n_expert_used, hp->n_expert);
    return RN_OK;
}

// Their width is in a folder's tensors alone (hf_tensors.c).
static rn_status check_chunks(struct raw_hparams *raw, rn_error *err) {
    struct hparams *hp = &raw->hp;
    if (!raw->facts->has_chunks || hp->n_expert == 0) {
        hp->n_expert_per_chunk = hp->n_ff_chunk = 0;
        hp->expert_chunk_scale = 0;
        return RN_OK;
    }
    if (hp->n_expert_per_chunk == 0 || hp->n_expert % hp->n_expert_per_chunk != 0)
        return fail(err, RN_E_FORMAT, "%s: %" PRId32 " does not divide the number of experts, %" PRId32,
                    hparam_name_at(raw, AT(hp.n_expert_per_chunk)).text, hp->n_expert_per_chunk, hp->n_expert);
    if (hp->n_ff_chunk == 0 && raw->source == HPARAMS_GGUF)
        return fail(err, RN_E_FORMAT, "%s: missing", hparam_name_at(raw, AT(hp.n_ff_chunk)).text);
    return RN_OK;
}

static rn_status check_experts(struct raw_hparams *raw, rn_error *err) {
    struct hparams *hp = &raw->hp;
    const rn_status of_chunks = check_chunks(raw, err);
    if (of_chunks != RN_OK) return of_chunks;
    if (raw->facts->weights_norm_always) hp->expert_weights_norm = true;
    const int32_t least = hp->n_expert > 0 ? 1 : 0;
    if (hp->n_expert_used < least || hp->n_expert_used > hp->n_expert)
        return fail(err, RN_E_FORMAT, "%s: %" PRId32 " of %" PRId32 " experts",
                    hparam_name_at(raw, AT(hp.n_expert_used)).text, hp->n_expert_used, hp->n_expert);
    if (hp->n_expert == 0) {
        hp->n_expert_shared = hp->n_ff_expert = hp->n_ff_shared = hp->n_expert_group = hp->n_expert_group_used = 0;
        hp->expert_gating = 0;
        hp->expert_weights_norm = false;
        hp->expert_weights_scale = 0;
        return RN_OK;
    }
    hp->router_margin = raw->facts->router_margin;
    if (hp->expert_gating == 0) hp->expert_gating = EXPERT_GATING_SOFTMAX; // explicitly none
    if (hp->expert_weights_scale == 0) hp->expert_weights_scale = 1;
    if (hp->n_ff_expert == 0) hp->n_ff_expert = raw->facts->ff_over_used ? hp->n_ff / hp->n_expert_used : hp->n_ff;
    if (hp->n_ff_expert == 0)
        return fail(err, RN_E_FORMAT, "%s: missing", hparam_name_at(raw, AT(hp.n_ff_expert)).text);
    if (raw->facts->dense_is_embd) hp->n_ff_shared = hp->n_embd;
    if (hp->n_ff_shared == 0 && hp->n_expert_shared > 0) {
        const int64_t n = (int64_t)hp->n_expert_shared * hp->n_ff_expert;
        const int64_t max = (int64_t)hparam_row_at(AT(hp.n_ff_shared))->max;
        if (n > max)
            return fail(err, RN_E_FORMAT, "%s: %" PRId32 " of %" PRId32 " are %" PRId64 " wide, limit %" PRId64,
                        hparam_name_at(raw, AT(hp.n_expert_shared)).text, hp->n_expert_shared, hp->n_ff_expert, n,
                        max);
        hp->n_ff_shared = (int32_t)n;
    }
    if (hp->n_ff_shared > 0 && hp->n_expert_shared == 0) hp->n_expert_shared = 1;
    return check_groups(raw, err);
}

// ---- scales -------------------------------------------------------------------------------------

static float inverse_root(double x) { return (float)(1 / sqrt(x)); }

// g(m) of YaRN: see rope_mscale in package.h. log() may differ in its last bits between C
// libraries, but it is only used when a model is opened and then rounded to float; the converter
// computes the same sum.
static double yarn_g(const struct hparams *hp, double m) {
    return hp->rope_factor > 1 ? 1 + 0.1 * m * log((double)hp->rope_factor) : 1;
}

static void set_scales(struct raw_hparams *raw) {
    struct hparams *hp = &raw->hp;
    const struct arch_facts *f = raw->facts;
    if (f->embd_by_sqrt) hp->embd_scale = (float)sqrt((double)hp->n_embd);
    if (hp->residual_scale == 0 && raw->depth_scale != 0) // minicpm
        hp->residual_scale = raw->depth_scale / sqrtf((float)hp->n_layer);
    if (hp->logit_scale == 0 && raw->base_width != 0) hp->logit_scale = (float)hp->n_embd / (float)raw->base_width;
    if (f->logit_divisor && hp->logit_scale != 0) hp->logit_scale = 1 / hp->logit_scale;
    if (hp->attn_scale == 0 && raw->query_scalar != 0 && raw->query_scalar != (float)hp->head_dim)
        hp->attn_scale = inverse_root((double)raw->query_scalar);
    if (hp->attn_scale == 0 && f->wide_scale_layers == hp->n_layer && raw->source == HPARAMS_GGUF)
        hp->attn_scale = inverse_root(hp->n_embd / hp->n_head);
    if (f->attn_unscaled) hp->attn_scale = 1;
    if (f->scales_output && hp->attn_scale == 0) hp->attn_scale = inverse_root(hp->head_dim);
    if (f->attn_by_head) hp->attn_scale = 1.0f / (float)hp->head_dim;
    if (f->is_mla && hp->attn_scale == 0) {
        const double g = hp->rope_scaling == ROPE_SCALING_YARN ? yarn_g(hp, (double)hp->rope_mscale_all) : 1;
        hp->attn_scale = (float)(g * g / sqrt((double)(hp->head_dim_nope + hp->n_rot)));
    }
}

// Ways to compute that only some architectures have.
static rn_status check_ways(const struct raw_hparams *raw, rn_error *err) {
    const struct hparams *hp = &raw->hp;
    if (hp->clamp_qkv != 0 && !raw->facts->clamps_qkv)
        return fail(err, RN_E_UNSUPPORTED, "%s: %g is not supported in %s, whose published models have none",
                    hparam_name_at(raw, AT(hp.clamp_qkv)).text, (double)hp->clamp_qkv, hp->arch);
    if (hp->residual_of_norm && !raw->facts->may_norm_residual)
        return fail(err, RN_E_UNSUPPORTED, "%s: true is not supported in %s",
                    hparam_name_at(raw, AT(hp.residual_of_norm)).text, hp->arch);
    if ((hp->norms_after || hp->n_embd_token != 0) && !raw->facts->may_norm_after)
        return fail(err, RN_E_UNSUPPORTED, "%s: is not supported in %s",
                    hparam_name_at(raw, hp->norms_after ? AT(hp.norms_after) : AT(hp.n_embd_token)).text, hp->arch);
    if (hp->ssm_norms && !raw->facts->scans)
        return fail(err, RN_E_UNSUPPORTED, "%s: true is not supported in %s",
                    hparam_name_at(raw, AT(hp.ssm_norms)).text, hp->arch);
    if (hp->ffn_act != 0 && (raw->facts->own_gate || raw->facts->recurrent != RECURRENT_NONE))
        return fail(err, RN_E_UNSUPPORTED, "%s: %" PRId32 " is not supported in %s",
                    hparam_name_at(raw, AT(hp.ffn_act)).text, hp->ffn_act, hp->arch);
    // Encoders see their whole text; decoders may, where neither a state nor a chunk goes in one direction.
    const bool goes_one_way = raw->facts->recurrent != RECURRENT_NONE || hp->n_chunk != 0;
    if (raw->facts->is_encoder ? raw->is_causal : !raw->is_causal && goes_one_way)
        return fail(err, RN_E_UNSUPPORTED, "%s: %s is not supported in %s%s", hparam_name_at(raw, AT(is_causal)).text,
                    raw->is_causal ? "true" : "false", hp->arch, hp->n_chunk != 0 ? " with chunks" : "");
    const int32_t exact = hp->n_rel_bucket / 4; // single distances to each side
    if (exact == 0 && hp->n_rel_bucket != 0)
        return fail(err, RN_E_FORMAT, "%s: %" PRId32 " is outside 4..%.0f",
                    hparam_name_at(raw, AT(hp.n_rel_bucket)).text, hp->n_rel_bucket,
                    hparam_row_at(AT(hp.n_rel_bucket))->max);
    if (exact > 0 && hp->rel_distance > 0 && hp->rel_distance <= exact)
        return fail(err, RN_E_FORMAT,
                    "%s: %" PRId32 ", where %" PRId32 " kinds tell distances below %" PRId32 " apart",
                    hparam_name_at(raw, AT(hp.rel_distance)).text, hp->rel_distance, hp->n_rel_bucket, exact);
    if (hp->ssm_dt_most != 0 && hp->ssm_dt_most < hp->ssm_dt_least)
        return fail(err, RN_E_FORMAT, "%s: %g is below the least, %g", hparam_name_at(raw, AT(hp.ssm_dt_most)).text,
                    (double)hp->ssm_dt_most, (double)hp->ssm_dt_least);
    return RN_OK;
}

bool hparams_qk_norm_by_rule(const struct arch_facts *f, int32_t n_expert) {
    return f->swa_is_chunk && n_expert != LARGEST_LLAMA4;
}

rn_status hparams_check(struct raw_hparams *raw, rn_error *err) {
    if (raw->hp.n_embd_token == raw->hp.n_embd) raw->hp.n_embd_token = 0;
    rn_status st = check_counts(raw, err);
    if (st == RN_OK) st = check_values(raw, err);
    if (st == RN_OK) st = hparams_check_rope(raw, err);
    if (st == RN_OK) st = check_experts(raw, err);
    if (st == RN_OK) st = hparams_check_states(raw, err);
    if (st == RN_OK) st = check_ways(raw, err);
    if (st == RN_OK) set_scales(raw);
    raw->hp.sees_whole_text = !raw->is_causal;
    // A decoder whose rows see their whole text (gte-Qwen2, LLM2Vec 2404.05961): config.json has how far a row sees to each side, GGUF the width.
    if (st == RN_OK && !raw->is_causal && !raw->facts->is_encoder && raw->source == HPARAMS_CONFIG)
        raw->hp.n_swa *= 2;
    if (!raw->facts->has_dense) raw->hp.n_dense_2 = raw->hp.n_dense_3 = 0;
    const bool says_norm = raw->spelled[hparam_row_at(AT(hp.qk_norm)) - hparam_rows] != NULL;
    if (raw->source == HPARAMS_GGUF && !says_norm)
        raw->hp.qk_norm = hparams_qk_norm_by_rule(raw->facts, raw->hp.n_expert);
    return st;
}

// n_vocab is the number of rows of the embedding: GGUF files may pad it beyond the token list but
// never truncate it.
rn_status hparams_check_vocab(struct raw_hparams *raw, const struct package *p, rn_error *err) {
    static const char name[] = "token_embd.weight";
    const struct tensor_view *t = package_tensor(p, name);
    const int64_t max = 1 << 24;
    if (!t)
        return fail(err, RN_E_FORMAT, "tensor %s: missing; its rows are the vocabulary of %s", name, raw->hp.arch);
    const int32_t width = raw->hp.n_embd_token ? raw->hp.n_embd_token : raw->hp.n_embd;
    if (t->n_dims != 2 || t->ne[0] != (uint64_t)width)
        return fail(err, RN_E_FORMAT,
                    "tensor %s: %d dimensions, rows of %" PRIu64 "; must be 2 and embedding_length %" PRId32, name,
                    t->n_dims, t->ne[0], width);
    if (t->ne[1] > (uint64_t)max)
        return fail(err, RN_E_LIMIT, "tensor %s: %" PRIu64 " rows, limit %" PRId64, name, t->ne[1], max);
    raw->hp.n_vocab = (int32_t)t->ne[1];
    if (p->vocab.n_tokens > raw->hp.n_vocab)
        return fail(err, RN_E_FORMAT, "tensor %s: %" PRId32 " rows for %" PRId32 " tokens of the vocabulary", name,
                    raw->hp.n_vocab, p->vocab.n_tokens);
    const int32_t least = raw->source == HPARAMS_CONFIG ? raw->hp.n_vocab : p->vocab.n_tokens;
    if (raw->vocab_size != 0 && (raw->vocab_size > raw->hp.n_vocab || raw->vocab_size < least))
        return fail(err, RN_E_FORMAT, "%s: %" PRId32 ", with %" PRId32 " tokens and %" PRId32 " rows of %s",
                    hparam_name_at(raw, AT(vocab_size)).text, raw->vocab_size, p->vocab.n_tokens, raw->hp.n_vocab,
                    name);
    return RN_OK;
}
