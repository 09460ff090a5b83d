// formats/package.h - what a model file or folder says, validated: hyper-parameters, vocabulary, tensors. Everything above
// trusts it.
//
// Ownership: package_open() makes it, package_close() releases it and everything it points to.
// Threads: immutable once open.
// Invariants: every tensor's bytes lie inside a file, or in memory of the package; shapes have 1..4 dimensions, none 0; element counts and bytes do not
// overflow; rows are whole blocks; names are unique. Numbers are finite and inside the ranges of formats/hparams/hparam_rows.c.
#ifndef RN_FORMATS_PACKAGE_H
#define RN_FORMATS_PACKAGE_H

#include "base/file_map.h"
#include "base/status.h"
#include "tensor/types.h"
#include "tokenizer/vocab.h"

#define PACKAGE_MAX_DIMS 4

struct tensor_view {
    const char *name; // terminated
    enum tensor_type type;
    int n_dims;
    uint64_t ne[PACKAGE_MAX_DIMS]; // ne[0]: elements of a row (contiguous); unused ones are 1
    const uint8_t *data;           // may be unaligned for its type in files that are
    size_t n_bytes;
    size_t row_bytes;
};

// Llama 3's scaling is none of them: it comes as a tensor of factors, rope_freqs.weight. Longrope (phi3) as two tensors of factors,
// rope_factors_short.weight and rope_factors_long.weight.
enum rope_scaling { ROPE_SCALING_NONE, ROPE_SCALING_LINEAR, ROPE_SCALING_YARN, ROPE_SCALING_LONGROPE };

// How a router's logits become weights of experts: softmax over all, sigmoid of each, softmax over the chosen ones.
enum expert_gating { EXPERT_GATING_SOFTMAX = 1, EXPERT_GATING_SIGMOID, EXPERT_GATING_SOFTMAX_CHOSEN };

// Which rows of a text make its embedding: numbered as GGUF's pooling_type, one more. First and last speak of positions.
enum pooling { POOLING_NOT_SAID, POOLING_NONE, POOLING_MEAN, POOLING_FIRST, POOLING_LAST, POOLING_RANK };

// Whether an embedding is divided by its length. GGUF files do not say.
enum normalization { NORMALIZATION_NOT_SAID, NORMALIZATION_L2, NORMALIZATION_OFF };

// What a layer is, where layers differ.
enum layer_flag {
    LAYER_SWA = 1,        // attends over the last n_swa positions only (or within a chunk of n_chunk)
    LAYER_RECURRENT = 2,  // state in place of attention
    LAYER_EXPERTS = 4,    // a mixture of experts in place of (or beside) the dense feed-forward
    LAYER_NO_ROPE = 8,    // positions are not rotated in
    LAYER_SHARED_KV = 16, // attends over keys and values of an earlier layer (layer_hparams.kv_layer)
    LAYER_NO_FFN = 32     // no feed-forward part (mamba)
};
struct layer_hparams {
    uint32_t flags; // enum layer_flag
    int32_t n_head, n_head_kv, head_dim, head_dim_v, n_rot, n_ff;
    int32_t kv_layer; // the layer whose keys and values it attends over: itself but for LAYER_SHARED_KV
};

// Names: docs/style.md section 3. 0 or -1 where a comment says so.
struct hparams {
    char arch[64];      // "llama"
    char name[128];     // general.name, "" when absent
    char file_type[32]; // general.type, "model" when absent
    // The numbers below are filled and checked. false: they are all 0, because the file has no tensors, is no model by its
    // file_type, or is of an architecture whose keys formats/hparams/arch_facts.c does not know. The model room refuses such a file.
    bool is_checked;
    int32_t n_vocab; // rows of the embedding; the token list may be shorter
    int32_t n_ctx_train;
    int32_t n_embd, n_layer;
    int32_t n_layer_after; // layers that the file has behind these, which predict further tokens: left out
    // Of the layers where they do not differ, else the largest: layers[] has each one's own.
    int32_t n_head, n_head_kv, head_dim, head_dim_v, n_ff;
    int32_t n_rot; // rotated dimensions of a head, even, <= head_dim; 0: positions are not rotated
    const struct layer_hparams *layers; // [n_layer], the package's
    float norm_eps;                     // of RMS and layer norms alike
    float rope_theta;
    float rope_theta_swa; // of LAYER_SWA layers, which are not scaled; 0: as all others
    enum rope_scaling rope_scaling;
    float rope_factor;       // of linear and yarn scaling; 1: none
    int32_t rope_n_ctx_orig; // of yarn and longrope; 0: none
    // Of yarn, else 0. The ramp from unscaled to scaled pairs lies between those that turn beta_fast and beta_slow times in
    // rope_n_ctx_orig positions; its ends are whole pairs unless rope_exact_ramp.
    float rope_beta_fast, rope_beta_slow;
    bool rope_exact_ramp;
    // Cosines and sines are multiplied by rope_attn_factor and, with yarn, by g(mscale) / g(mscale_all), where
    // g(m) = 1 + 0.1 * m * ln(rope_factor), 1 for factors up to 1.
    float rope_attn_factor; // 1: none
    float rope_mscale, rope_mscale_all;
    int32_t rope_sections
        [4]; // pairs that turn by each coordinate of a picture's rows (time, height, width, a further one); 0: none
    int32_t n_swa;   // attention window of LAYER_SWA layers, the position itself included; 0: none
    int32_t n_chunk; // LAYER_SWA layers attend within chunks of this many positions; 0: by n_swa
    // Factors; 0 where the architecture has none of the kind, which for the scales means 1.
    float embd_scale;         // of embeddings as they enter (gemma: sqrt(n_embd), which is filled in)
    float residual_scale;     // of what blocks add
    float logit_scale;        // logits are multiplied by it (granite's files give the divisor: inverted here)
    float attn_scale;         // of q . k; 0: 1 / sqrt(head_dim)
    float attn_softcap;       // cap * tanh(score / cap)
    float logit_softcap;      // the same of logits
    float alibi_max_bias;     // > 0: ALiBi in place of rotation
    int32_t attn_temp_length; // of enum temperature_rule (formats/hparams/arch_facts.h); 0: none
    float attn_temp_scale;
    bool qk_norm;           // llama4: queries and keys that are rotated are normed
    bool parallel_residual; // attention and feed-forward read the same input (gptneox)
    // Mixtures of experts; all 0 without.
    int32_t n_expert, n_expert_used, n_expert_shared, n_ff_expert, n_ff_shared;
    int32_t n_expert_group, n_expert_group_used; // routing within groups; 0: none
    enum expert_gating expert_gating;
    bool expert_weights_norm;   // weights of the chosen are divided by their sum
    float expert_weights_scale; // and multiplied by this; 1: not
    // Latent attention (deepseek2): ranks, and the parts of a head. 0: none.
    int32_t q_lora_rank, kv_lora_rank, head_dim_nope, mla_head_dim_v;
    // Recurrent layers; 0: none.
    int32_t ssm_d_conv, ssm_d_inner, ssm_d_state, ssm_n_head, ssm_n_group;
    // gemma4: width of the embedding that each layer gets of its own. 0: none.
    int32_t n_embd_per_layer;
    enum pooling pooling;
    enum normalization normalization;
    int32_t n_class; // scores of a reranker's head; 0: not said, which means one
};

struct package;
typedef struct package package;

struct package_options {
    enum file_load load;
    file_progress progress; // NULL: none
    void *progress_user;
};

// A GGUF file; any part of a split one (NAME-00001-of-00003.gguf), which stands for them all; or a Hugging Face folder:
// config.json with model.safetensors or its shards. Errors: RN_E_IO, RN_E_FORMAT, RN_E_UNSUPPORTED, RN_E_LIMIT, RN_E_NOMEM, RN_E_CANCELLED; the
// sentence begins with the file and names key or tensor, value and limit.
rn_status package_open(const char *path, const struct package_options *opt, package **out, rn_error *err);
// The same for bytes that are the caller's and outlive the package. name: what errors begin with.
rn_status package_from_bytes(const char *name, const uint8_t *data, size_t n, package **out, rn_error *err);
// The same for the files of a folder.
struct package_bytes {
    const char *name; // "config.json"
    const uint8_t *data;
    size_t n;
};
rn_status package_from_folder_bytes(const char *name, const struct package_bytes *files, size_t n_files,
                                    package **out, rn_error *err);
void package_close(package *p); // NULL is fine

const char *package_path(const package *p);   // of a split file the first part's, whichever was named
const char *package_format(const package *p); // "GGUF v3", "GGUF v3 in 3 parts", "safetensors in 2 shards"
const char *package_note(const package *p);   // what was left aside and should be known; NULL: nothing
const char *package_left_out(
    const package *p); // parts that nothing here computes: "vision part: 8 tensors, not used yet"; NULL: none
// The files that tensors lie in, in order. Of caller's bytes: fd -1, data theirs.
size_t package_n_files(const package *p);
const struct file_map *package_file_at(const package *p, size_t i);
const char *package_file_path(const package *p, size_t i);
bool package_reads(const package *p,
                   const char *path); // is it, by whatever name, one of these, or another that was read?
const struct file_map *package_file_of(const package *p, const uint8_t *data); // NULL: data lies in none of them
rn_status package_check_files(const package *p, rn_error *err);                // RN_E_IO: a mapped file shrank
size_t package_made_bytes(
    const package *p); // memory of tensors put together here rather than in a file; see formats/folder/hf_tensors.h
size_t package_made_resident(const package *p); // of these, in memory now
// No tensors, only a vocabulary: then hparams has arch, name and file_type alone.
bool package_vocab_only(const package *p);
const struct hparams *package_hparams(const package *p);
const struct vocab *package_vocab(const package *p); // model VOCAB_NONE when the file has none
size_t package_n_tensors(const package *p);
const struct tensor_view *package_tensor_at(const package *p, size_t i);
const struct tensor_view *package_tensor(const package *p, const char *name); // NULL: absent
const char *package_chat_template(const package *p, size_t *n);               // NULL: none
const char *package_rerank_template(const package *p, size_t *n); // with {query} and {document}; NULL: none

#endif
