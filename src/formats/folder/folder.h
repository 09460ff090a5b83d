// formats/folder/folder.h - reads a Hugging Face folder: config.json, safetensors weights, tokenizer and chat template.
//
// The folder is on disk or, for tests and fuzzing, in the caller's memory; only this file knows the difference.
#ifndef RN_FORMATS_FOLDER_FOLDER_H
#define RN_FORMATS_FOLDER_FOLDER_H

#include "formats/folder/safetensors_read.h"
#include "formats/json/json_tree.h"
#include "formats/package_build.h"

struct folder {
    struct package *p;
    const char *path;
    const char *sub;                   // subfolder that holds the files; NULL: the folder itself
    const struct package_bytes *given; // NULL: on disk
    size_t n_given;
};

// Fills the package. o: NULL for a folder in memory.
rn_status folder_load(const struct folder *f, const struct package_options *o, rn_error *err);

// Opens a whole text file of the folder; *found false: there is none. Close it with package_file_close().
// Errors: RN_E_LIMIT (larger than max_bytes) and those of file_map_open(); they begin with the path.
rn_status folder_open_text(const struct folder *f, const char *name, size_t max_bytes, struct package_file *out,
                           bool *found, rn_error *err);
// The same, parsed as JSON. Release with package_file_close() and json_free().
rn_status folder_open_json(const struct folder *f, const char *name, size_t max_bytes, struct package_file *out,
                           struct json_tree *tree, bool *found, rn_error *err);

// Opens the folder's weight files as the package's files, and reads their headers: *shards has one for each file.
rn_status folder_open_weights(const struct folder *f, const struct package_options *o, struct safetensors **shards,
                              rn_error *err);

// folder_vocab.c: reads the vocabulary from the folder's tokenizer files; VOCAB_NONE if there are none.
rn_status package_folder_vocab(const struct folder *f, rn_error *err);
// folder_modules.c: reads pooling and normalization of embeddings from sentence-transformers' modules.json, if present.
rn_status folder_read_modules(const struct folder *f, struct hparams *hp, rn_error *err);
// folder_template.c: reads the chat template from chat_template.jinja or tokenizer_config.json.
rn_status folder_read_template(const struct folder *f, rn_error *err);

#endif
