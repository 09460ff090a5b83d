// formats/package.h - what a model file or folder says, validated: hyper-parameters, vocabulary, tensors. Everything above
// trusts it.
//
// Ownership: package_open() makes it, package_close() releases it and everything it points to.
// Threads: immutable once open.
// Invariants: every tensor's bytes lie inside a file, or in memory of the package; shapes have 1..4 dimensions, none 0; element counts and bytes do not
// overflow; rows are whole blocks; names are unique. Numbers are finite and inside the ranges of formats/hparams.c.
#ifndef RN_FORMATS_PACKAGE_H
#define RN_FORMATS_PACKAGE_H

#include "base/file_map.h"
#include "base/status.h"
#include "tensor/types.h"
#include "text/vocab.h"

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

// Llama 3's scaling is none of them: it comes as a tensor of factors, rope_freqs.weight.
enum rope_scaling { ROPE_SCALING_NONE, ROPE_SCALING_LINEAR, ROPE_SCALING_YARN };

// Names: docs/style.md section 3. 0 or -1 where a comment says so.
struct hparams {
    char arch[64];      // "llama"
    char name[128];     // general.name, "" when absent
    char file_type[32]; // general.type, "model" when absent
    // The numbers below are filled and checked. false: they are all 0, because the file has no tensors, is no model by its
    // file_type, or is of an architecture whose keys formats/hparams.c does not know. The model room refuses such a file.
    bool is_checked;
    int32_t n_vocab; // rows of the embedding; the token list may be shorter
    int32_t n_ctx_train;
    int32_t n_embd, n_layer, n_head, n_head_kv, head_dim, n_ff;
    int32_t n_rot; // rotated dimensions of a head, even, <= head_dim
    float norm_eps;
    float rope_theta;
    enum rope_scaling rope_scaling;
    float rope_factor;       // of linear and yarn scaling; 1: none
    int32_t rope_n_ctx_orig; // of yarn; 0: none
    // Of yarn, else 0. The ramp from unscaled to scaled pairs lies between those that turn beta_fast and beta_slow times in
    // rope_n_ctx_orig positions; its ends are whole pairs unless rope_exact_ramp.
    float rope_beta_fast, rope_beta_slow;
    bool rope_exact_ramp;
    // Cosines and sines are multiplied by rope_attn_factor and, with yarn, by g(mscale) / g(mscale_all), where
    // g(m) = 1 + 0.1 * m * ln(rope_factor), 1 for factors up to 1.
    float rope_attn_factor; // 1: none
    float rope_mscale, rope_mscale_all;
    int32_t n_swa;                   // attention window; 0: none
    int32_t n_expert, n_expert_used; // 0: no experts
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
// The files that tensors lie in, in order. Of caller's bytes: fd -1, data theirs.
size_t package_n_files(const package *p);
const struct file_map *package_file_at(const package *p, size_t i);
const char *package_file_path(const package *p, size_t i);
bool package_reads(const package *p,
                   const char *path); // is it, by whatever name, one of these, or another that was read?
const struct file_map *package_file_of(const package *p, const uint8_t *data); // NULL: data lies in none of them
rn_status package_check_files(const package *p, rn_error *err);                // RN_E_IO: a mapped file shrank
size_t package_made_bytes(
    const package *p); // memory of tensors put together here rather than in a file; see formats/hf_tensors.h
size_t package_made_resident(const package *p); // of these, in memory now
// No tensors, only a vocabulary: then hparams has arch, name and file_type alone.
bool package_vocab_only(const package *p);
const struct hparams *package_hparams(const package *p);
const struct vocab *package_vocab(const package *p); // model VOCAB_NONE when the file has none
size_t package_n_tensors(const package *p);
const struct tensor_view *package_tensor_at(const package *p, size_t i);
const struct tensor_view *package_tensor(const package *p, const char *name); // NULL: absent
const char *package_chat_template(const package *p, size_t *n);               // NULL: none

#endif
