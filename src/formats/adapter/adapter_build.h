// formats/adapter/adapter_build.h - an adapter under construction: what its readers share.
#ifndef RN_FORMATS_ADAPTER_ADAPTER_BUILD_H
#define RN_FORMATS_ADAPTER_ADAPTER_BUILD_H

#include "base/arena.h"
#include "formats/adapter/adapter_file.h"
#include "formats/json/json_tree.h"

struct adapter_file {
    struct arena arena;
    package *pkg; // the file with the tensors
    const package *base;
    const char *path, *format;
    struct adapter_pair *pairs; // by name
    size_t n_pairs, max_pairs;
};

rn_status adapter_no_memory(const struct adapter_file *f, rn_error *err);
rn_status adapter_reserve(struct adapter_file *f, size_t n_pairs, rn_error *err);
// Adds a pair after checking it against the base model's tensor. a and b carry the names that errors use.
rn_status adapter_add(struct adapter_file *f, const char *tensor, const struct tensor_view *a,
                      const struct tensor_view *b, float scale, rn_error *err);
// The base model's tensor; that of the head may be the embedding. NULL: there is none.
const struct tensor_view *adapter_target(const struct adapter_file *f, const char *tensor);
// Memory for a matrix of these dimensions, in the arena, as a view of it. false: no memory.
bool adapter_make(struct adapter_file *f, const char *name, enum tensor_type type, int n_dims, const uint64_t *ne,
                  struct tensor_view *out);

// Each fills f, whose pkg is open.
rn_status adapter_read_gguf(struct adapter_file *f, rn_error *err);
rn_status adapter_read_peft(struct adapter_file *f, const struct json_tree *config, rn_error *err);

#endif
