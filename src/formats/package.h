// formats/package.h - the validated contents of a model file or folder: hyper-parameters,
// vocabulary, tensors. Higher layers trust them without further checks.
//
// Ownership: package_open() / package_close(), which frees everything that the package points to.
// Threads: immutable once open.
// Invariants: every tensor's bytes are inside a file or in memory of the package; shapes have 1..4
// dimensions, none of them 0; element counts and sizes do not overflow; rows are whole blocks;
// names are unique. Numbers are finite and within the ranges of formats/hparams/hparam_rows.c.
#ifndef RN_FORMATS_PACKAGE_H
#define RN_FORMATS_PACKAGE_H

#include "base/file_map.h"
#include "base/status.h"
#include "tensor/act_fn.h"
#include "tensor/types.h"
#include "tokenizer/vocab.h"

#define PACKAGE_MAX_DIMS 4

struct tensor_view {
    const char *name; // terminated
    enum tensor_type type;
    int n_dims;
    uint64_t ne[PACKAGE_MAX_DIMS]; // ne[0]: elements of a row (contiguous); unused dimensions are 1
    const uint8_t *data;           // may be unaligned for its type
    size_t n_bytes;
    size_t row_bytes;
};

// How rotary frequencies are scaled. Llama 3's scaling is not in this list: it is stored as a
// tensor of factors, rope_freqs.weight. Longrope (phi3) is stored as two tensors,
// rope_factors_short.weight and rope_factors_long.weight.
enum rope_scaling { ROPE_SCALING_NONE, ROPE_SCALING_LINEAR, ROPE_SCALING_YARN, ROPE_SCALING_LONGROPE };

// How a router's logits become expert weights: softmax over all experts, sigmoid of each, or
// softmax over the chosen ones.
enum expert_gating { EXPERT_GATING_SOFTMAX = 1, EXPERT_GATING_SIGMOID, EXPERT_GATING_SOFTMAX_CHOSEN };

// Which positions of a text its embedding is computed from. The values are GGUF's pooling_type plus
// 1.
enum pooling { POOLING_NOT_SAID, POOLING_NONE, POOLING_MEAN, POOLING_FIRST, POOLING_LAST, POOLING_RANK };

// Whether an embedding is divided by its length. GGUF has no key for it.
enum normalization { NORMALIZATION_NOT_SAID, NORMALIZATION_L2, NORMALIZATION_OFF };

// What an encoder's head makes its scores of: the first row, each row, whose scores' mean counts, or the mean of all rows.
enum rank_pooling { RANK_FIRST_ROW, RANK_MEAN_OF_SCORES, RANK_OF_MEAN, RANK_N_POOLINGS };

// Properties of a layer.
enum layer_flag {
    // attends over the last n_swa positions only (or within a chunk of n_chunk)
    // attends over keys and values of an earlier layer (layer_hparams.kv_layer)
    LAYER_SWA = 1,
    LAYER_RECURRENT = 2, // a recurrent state, instead of attention unless LAYER_BESIDE
    LAYER_EXPERTS = 4,   // a mixture of experts instead of (or besides) the dense feed-forward
    LAYER_NO_ROPE = 8,   // no rotary position embedding
    LAYER_SHARED_KV = 16,
    LAYER_NO_FFN = 32,   // no feed-forward part (mamba)
    LAYER_NO_MIXER = 64, // neither attention nor a state (nemotron_h)
    LAYER_BESIDE = 128,  // attention beside its recurrent state (falcon-h1)
    LAYER_FIRST = 256,   // rwkv7: later layers mix its values into theirs
    LAYER_HALVED = 512   // rwkv6: what leaves it is halved
};
struct layer_hparams {
    uint32_t flags; // enum layer_flag
    int32_t n_head, n_head_kv, head_dim, head_dim_v, n_rot, n_ff;
    // the layer whose keys and values it attends over: itself unless LAYER_SHARED_KV
    int32_t kv_layer;
    // apertus: as in files, where alpha_p and alpha_n are what softplus is taken of
    struct xielu xielu;
};
static inline bool layer_attends(uint32_t flags) {
    return !(flags & LAYER_NO_MIXER) && (!(flags & LAYER_RECURRENT) || flags & LAYER_BESIDE);
}

// Names: docs/style.md section 3. 0 or -1 where a comment says so.
struct hparams {
    char arch[64];      // "llama"
    char name[128];     // general.name, "" when absent
    char file_type[32]; // general.type, "model" when absent
    // True: the numbers below are filled in and checked. False: they are all 0, because the file
    // has no tensors, its file_type is not a model, or formats/hparams/arch_facts.c does not know
    // its architecture. model/ refuses such a file.
    bool is_checked;
    int32_t n_vocab; // rows of the embedding; the token list may be shorter
    int32_t n_ctx_train;
    int32_t n_embd, n_layer;
    int32_t n_embd_token; // opt: width of the embedding, which a matrix widens and another narrows again; 0: n_embd
    bool norms_after;     // opt: a block's norm is behind it
    // next-token-prediction layers after these, which are not part of the main model
    int32_t n_layer_after;
    int32_t n_deepstack; // layers behind which further input vectors of a row are added, one each
    // Of all layers; where layers differ, the largest value. layers[] has the value of each layer.
    int32_t n_head, n_head_kv, head_dim, head_dim_v, n_ff;
    // rotated dimensions of a head, even, <= head_dim; 0: no rotary position embedding
    int32_t n_rot;
    const struct layer_hparams *layers; // [n_layer], the package's
    float norm_eps;                     // of RMS norms and layer norms
    float rope_theta;
    // of LAYER_SWA layers, whose frequencies are not scaled; 0: as in all other layers
    float rope_theta_swa;
    enum rope_scaling rope_scaling;
    float rope_factor;       // of linear and yarn scaling; 1: none
    int32_t rope_n_ctx_orig; // of yarn and longrope; 0: none
    // YaRN only, else 0. The ramp from unscaled to scaled pairs lies between the pairs that make
    // beta_fast and beta_slow turns in rope_n_ctx_orig positions; its ends are rounded to whole
    // pairs unless rope_exact_ramp.
    float rope_beta_fast, rope_beta_slow;
    bool rope_exact_ramp;
    // Cosines and sines are multiplied by rope_attn_factor and, with YaRN, by g(mscale) /
    // g(mscale_all), where g(m) = 1 + 0.1 * m * ln(rope_factor), or 1 if rope_factor <= 1.
    float rope_attn_factor; // 1: none
    // of a folder with latent attention: what is rotated lies in halves there; it is read as pairs, as in GGUF files
    bool rope_in_halves;
    float rope_mscale, rope_mscale_all;
    // pairs that turn by each coordinate of a picture's rows (time, height, width, a further one);
    // 0: none
    int32_t rope_sections[4];
    int32_t n_swa;   // attention window of LAYER_SWA layers, the position itself included; 0: none
    int32_t n_chunk; // LAYER_SWA layers attend within chunks of this many positions; 0: by n_swa
    // Factors; 0 where the architecture has none of the kind, which for the scales means 1.
    float embd_scale;     // of token embeddings (gemma: sqrt(n_embd), filled in by the reader)
    float residual_scale; // of what a block adds to the residual stream
    // logits are multiplied by it (granite's files give the divisor: inverted here)
    float logit_scale;
    float attn_scale;      // of q . k; 0: 1 / sqrt(head_dim)
    float value_scale;     // of values (mimo2)
    float attn_softcap;    // cap * tanh(score / cap)
    float logit_softcap;   // the same of logits
    float clamp_qkv;       // queries, keys and values are kept within -clamp_qkv..clamp_qkv
    int32_t n_token_types; // encoders: parts of a pair of texts that have an embedding of their own; 0: none
    bool sees_whole_text;  // a row attends to all rows of its text, not only to those before it (encoders)
    int32_t n_rel_bucket;  // scores get a bias by distance, of one of so many kinds (mpnet, t5); 0: none
    int32_t rel_distance;  // of which the last is for this distance and beyond
    // sentence-transformers' Dense modules: numbers that come out of the first and the second; 0: none
    int32_t n_dense_2, n_dense_3;
    float alibi_max_bias;     // > 0: ALiBi instead of rotary embedding
    bool alibi_scaled;        // its slopes are scaled as q . k is (falcon)
    int32_t attn_temp_length; // of enum temperature_rule (formats/hparams/arch_facts.h); 0: none
    float attn_temp_scale;
    bool qk_norm;           // llama4: queries and keys that are rotated are normed
    bool parallel_residual; // attention and feed-forward read the same input (gptneox)
    bool residual_of_norm;  // bloom: what a block adds is added to its normed input
    // Mixtures of experts; all 0 without.
    int32_t n_expert, n_expert_used, n_expert_shared, n_ff_expert, n_ff_shared;
    int32_t n_expert_group, n_expert_group_used; // routing within groups; 0: none
    // grovemoe: so many consecutive experts share a smaller one, n_ff_chunk wide, whose results count by a factor; 0: none do
    int32_t n_expert_per_chunk, n_ff_chunk;
    float expert_chunk_scale;
    enum expert_gating expert_gating;
    bool expert_weights_norm;   // weights of the chosen experts are divided by their sum
    float expert_weights_scale; // and multiplied by this; 1: no scaling
    float router_softcap;       // of the router's logits; 0: none
    float
        router_margin; // phimoe: scores that fall short of the best by more than this part of it are no rivals; 0: all are
    // Latent attention (deepseek2): ranks, and the parts of a head. 0: none.
    int32_t q_lora_rank, kv_lora_rank, head_dim_nope, mla_head_dim_v;
    // Recurrent layers; 0: none.
    int32_t ssm_d_conv, ssm_d_inner, ssm_d_state, ssm_n_head, ssm_n_group;
    float ssm_dt_least, ssm_dt_most; // limits of time steps; most 0: none
    int32_t ssm_dt_rank;             // mamba: width of what time steps are computed from; 0: a step for each head
    bool ssm_norms;                  // mamba: what time steps are computed from, and the keys, are normed
    int32_t wkv_head;         // rwkv: width of a head of its states, of which there are n_embd / wkv_head; 0: not one
    int32_t n_shift;          // rwkv: blocks of a layer that read the row before, too
    int32_t wkv_mix_rank;     // rwkv6: width of what a share of the row before is computed from
    int32_t wkv_halved_every; // rwkv6: what leaves every nth layer is halved; 0: none
    // rwkv7: widths of what decays (rwkv6 too), learning rates, shares of the first layer's values and gates are computed from; gates 0: none
    int32_t wkv_decay_rank, wkv_rate_rank, wkv_value_rank, wkv_gate_rank;
    bool ssm_norm_first; // falcon-h1: a state's results are normed before their gate, not behind it
    // of the feed-forward part, 1 + enum act_fn (tensor/act_fn.h); 0: the architecture's own
    int32_t ffn_act;
    // gemma4: width of the per-layer embedding. 0: none.
    int32_t n_embd_per_layer;
    enum pooling pooling;
    enum normalization normalization;
    int32_t n_class;      // scores of a reranker's head; 0: not stated, which means 1
    int32_t rank_pooling; // enum rank_pooling
    bool rank_raw;        // a pair's only score is not put into 0..1 by a sigmoid
    // Of a vision part (formats/vision/): numbers of a row's input vector. 0: not one.
    int32_t n_patch;
};

struct package;
typedef struct package package;

struct package_options {
    enum file_load load;
    file_progress progress; // NULL: none
    void *progress_user;
};

// Opens a GGUF file, all parts of a split one given any part (NAME-00001-of-00003.gguf), or a
// Hugging Face folder: config.json with model.safetensors or its shards. Errors: RN_E_IO,
// RN_E_FORMAT, RN_E_UNSUPPORTED, RN_E_LIMIT, RN_E_NOMEM, RN_E_CANCELLED; the text begins with the
// file and names key or tensor, value and limit.
rn_status package_open(const char *path, const struct package_options *opt, package **out, rn_error *err);
// The same for a file in memory: the bytes are the caller's and must outlive the package. name:
// errors begin with it.
rn_status package_from_bytes(const char *name, const uint8_t *data, size_t n, package **out, rn_error *err);
// The same for the files of a folder.
struct package_bytes {
    const char *name; // "config.json"
    const uint8_t *data;
    size_t n;
};
rn_status package_from_folder_bytes(const char *name, const struct package_bytes *files, size_t n_files,
                                    package **out, rn_error *err);
// A part of a model in one safetensors file: its tensors under their own names, without vocabulary
// and hyper-parameters. For model_build_part(). Errors as of package_open(); RN_E_FORMAT: d2t or
// t2d is not what an EAGLE-3 head has.
rn_status package_open_part(const char *path, const struct package_options *opt, package **out, rn_error *err);
rn_status package_part_from_bytes(const char *name, const uint8_t *data, size_t n, package **out, rn_error *err);
// Of a part whose head has a vocabulary of its own (EAGLE-3's tensor d2t): the base model's token
// of each of its *n tokens, ascending. NULL: it has none. The package's.
const int32_t *package_token_map(const package *p, size_t *n);
// What the file of an EAGLE-3 head, or the config.json beside it, says of it.
enum { PART_TAPS = 3 };
struct part_options {
    bool has_taps;
    int32_t taps[PART_TAPS];   // the layers whose inputs it reads, ascending
    bool norm_before_residual; // what its layer adds to is the vector after its norm
    bool norm_before_fc;       // the taps have a norm, input_norm.weight
};
const struct part_options *package_part_options(const package *p);
// Of a part: rotary pairs are neighbours, as in GGUF files, and not halves of a head.
bool package_has_adjacent_rope(const package *p);
void package_close(package *p); // NULL is fine

const char *package_path(const package *p); // of a split file the path of the first part
// "GGUF v3", "GGUF v3 in 3 parts", "safetensors in 2 shards"
const char *package_format(const package *p);
// a warning for the user about parts that were ignored; NULL: none
const char *package_note(const package *p);
// Parts of the model that are not used: "vision part: 8 tensors, not used yet"; NULL: none.
const char *package_left_out(const package *p);
// Why next-token-prediction layers of the model are among them; NULL: none are.
const char *package_nextn_left_out(const package *p);
// The files that hold tensors, in order. For a package in memory: fd -1, data the caller's.
size_t package_n_files(const package *p);
const struct file_map *package_file_at(const package *p, size_t i);
// Is path, under any name, a file that the package was read from?
bool package_reads(const package *p, const char *path);
// NULL: data is in none of the files
const struct file_map *package_file_of(const package *p, const uint8_t *data);
// Do both hold the same model? One package, or two of the same mapped files that need no other
// file.
bool package_is_same(const package *a, const package *b);
rn_status package_check_files(const package *p, rn_error *err); // RN_E_IO: a mapped file has shrunk
// Bytes of tensors that were built in memory instead of being used from a file; see
// formats/folder/hf_tensors.h.
size_t package_made_bytes(const package *p);
size_t package_made_resident(const package *p); // those of them that are resident now
// Does it hold a vocabulary and no tensors? Then hparams has only arch, name and file_type.
bool package_vocab_only(const package *p);
const struct hparams *package_hparams(const package *p);
const struct vocab *package_vocab(const package *p); // model VOCAB_NONE when the file has none
size_t package_n_tensors(const package *p);
const struct tensor_view *package_tensor_at(const package *p, size_t i);
const struct tensor_view *package_tensor(const package *p, const char *name); // NULL: absent
const char *package_chat_template(const package *p, size_t *n);               // NULL: none
// with {query} and {document}; NULL: none
const char *package_rerank_template(const package *p, size_t *n);
// Texts that embeddings are trained to begin with, by name ("query"): sentence-transformers' prompts. Terminated.
struct package_prompt {
    const char *name, *text;
};
enum { PACKAGE_MAX_PROMPTS = 256 };
const struct package_prompt *package_prompts(const package *p, size_t *n);
const char *package_default_prompt(
    const package *p); // the name of the one that is used where none is named; NULL: none

#endif
