// formats/folder/shard_index.h - reads model.safetensors.index.json: which file of a folder holds which tensor.
//
//   {"metadata": {...}, "weight_map": {"lm_head.weight": "model-00002-of-00002.safetensors", ...}}
//
// The index and the files must agree: call shard_index_check() for every tensor found, then shard_index_complete(), which names a
// missing one. Ownership: lists and names are in the arena.
#ifndef RN_FORMATS_FOLDER_SHARD_INDEX_H
#define RN_FORMATS_FOLDER_SHARD_INDEX_H

#include "formats/folder/safetensors_read.h"
#include "formats/name_index.h"

struct shard_entry {
    const char *tensor; // terminated
    uint32_t shard;
    bool seen;
};
struct shard_index {
    const char **shards; // file names, terminated, in the order of their bytes
    size_t n_shards;
    struct shard_entry *entries;
    size_t n_entries;
    struct name_index names; // of tensors
};

// x: zeroed. Names of shards are not checked here: path_in_folder() does it. Errors: RN_E_FORMAT, RN_E_LIMIT, RN_E_NOMEM.
rn_status shard_index_read(struct shard_index *x, const char *text, size_t n, struct arena *mem, rn_error *err);
rn_status shard_index_check(struct shard_index *x, const struct safetensors_record *t, size_t shard, rn_error *err);
rn_status shard_index_complete(const struct shard_index *x, rn_error *err);

#endif
