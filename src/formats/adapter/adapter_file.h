// formats/adapter/adapter_file.h - the validated contents of an adapter (LoRA, Hu et al. 2021, 2106.09685): a PEFT folder or file, or a
// GGUF file as llama.cpp's converter writes it.
//
// An adapter changes matrices W of a base model to W + scale * B A. Whatever the file, its matrices are named and laid out as the base
// model's are in GGUF (rows of queries and keys in the same order, experts stacked).
// Ownership: adapter_file_open() / adapter_file_close(); the base package must outlive the adapter. Threads: immutable once open.
#ifndef RN_FORMATS_ADAPTER_ADAPTER_FILE_H
#define RN_FORMATS_ADAPTER_ADAPTER_FILE_H

#include "formats/package.h"

// The change of one tensor of the base model.
struct adapter_pair {
    const char *tensor; // "blk.0.attn_q.weight"; "output.weight" is the head, also where the base has none of its own
    // a: ne = [k, rank, n_slices], b: ne = [rank, n_out, n_slices], where the tensor has ne = [k, n_out, n_slices].
    // Of "token_embd.weight" a is [rank, n_vocab]: a row for each token.
    struct tensor_view a, b;
    uint64_t rank;
    float scale;
};

struct adapter_file;
// Opens an adapter of the base model. path: a GGUF file, a folder with adapter_config.json and adapter_model.safetensors, or the latter
// file. Errors: as package_open(). RN_E_FORMAT, RN_E_UNSUPPORTED: the text names file, tensor or member, shape and what is expected.
rn_status adapter_file_open(const char *path, const package *base, const struct package_options *opt,
                            struct adapter_file **out, rn_error *err);
// The same of files in memory, which must outlive it: one GGUF file, or adapter_config.json and adapter_model.safetensors.
rn_status adapter_file_from_bytes(const char *name, const struct package_bytes *files, size_t n_files,
                                  const package *base, struct adapter_file **out, rn_error *err);
void adapter_file_close(struct adapter_file *f); // NULL is fine

const char *adapter_file_path(const struct adapter_file *f);
const char *adapter_file_format(const struct adapter_file *f); // "PEFT", "GGUF v3"
size_t adapter_file_n_pairs(const struct adapter_file *f);
const struct adapter_pair *adapter_file_pair(const struct adapter_file *f, size_t i);
const struct adapter_pair *adapter_file_find(const struct adapter_file *f,
                                             const char *tensor);  // NULL: it does not change the tensor
uint64_t adapter_file_rank(const struct adapter_file *f);          // the largest
uint64_t adapter_file_n_params(const struct adapter_file *f);      // numbers of all matrices
const package *adapter_file_package(const struct adapter_file *f); // the file's own tensors

#endif
