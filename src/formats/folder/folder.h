// formats/folder/folder.h - a Hugging Face folder: config.json, weights as safetensors, and what describes its text.
//
// The folder lies on disk or, for tests and fuzzing, in the caller's memory; nothing else knows the difference.
#ifndef RN_FORMATS_FOLDER_FOLDER_H
#define RN_FORMATS_FOLDER_FOLDER_H

#include "formats/json/json_tree.h"
#include "formats/package_build.h"

struct folder {
    struct package *p;
    const char *path;
    const char *sub;                   // files lie in this folder of it; NULL: in itself
    const struct package_bytes *given; // NULL: on disk
    size_t n_given;
};

// Fills the package. o: NULL for a folder in memory.
rn_status folder_load(const struct folder *f, const struct package_options *o, rn_error *err);

// A text file of the folder, whole; *found false when there is none. Released with package_file_close().
// Errors: RN_E_LIMIT (larger than max_bytes) and those of file_map_open(); they begin with its path.
rn_status folder_open_text(const struct folder *f, const char *name, size_t max_bytes, struct package_file *out,
                           bool *found, rn_error *err);
// The same read as JSON. Released with package_file_close() and json_free().
rn_status folder_open_json(const struct folder *f, const char *name, size_t max_bytes, struct package_file *out,
                           struct json_tree *tree, bool *found, rn_error *err);

// folder_vocab.c: the vocabulary that the folder's tokenizer files describe; VOCAB_NONE where there is none.
rn_status package_folder_vocab(const struct folder *f, rn_error *err);
// folder_modules.c: how a text becomes an embedding, by the modules of sentence-transformers; nothing where there are none.
rn_status folder_read_modules(const struct folder *f, struct hparams *hp, rn_error *err);
// folder_template.c: the chat template, from chat_template.jinja or tokenizer_config.json.
rn_status folder_read_template(const struct folder *f, rn_error *err);

#endif
