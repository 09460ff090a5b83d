// app/models/model_cache.h - where fetched models are: runnel's own cache, and those of Hugging Face's tools, llama.cpp and Ollama, which
// are only read.
//
//   CACHE/models/NAME.gguf                     put there by hand or by `./dev model`; -m NAME finds it
//   CACHE/hf/ORG/REPO/REVISION/...             files as in the repository; a slash in REVISION is %2F
//   CACHE/ollama/NAMESPACE/NAME/TAG/model.gguf
//   CACHE/https/HOST/PATH, CACHE/http/HOST/PATH
//
// CACHE is $RUNNEL_CACHE, else $XDG_CACHE_HOME/runnel, else ~/.cache/runnel; CACHE/models may be another folder, $RUNNEL_MODELS. What is
// there under its name is complete: files are fetched under names that end in .part. A folder of weights is complete once it has
// config.json, which comes last.
//
// Ownership: texts that are returned are freed with free().
// Threads:   any.
#ifndef RN_APP_MODEL_CACHE_H
#define RN_APP_MODEL_CACHE_H

#include "app/models/model_files.h"
#include <stdint.h>

char *model_cache_root(void);         // CACHE
char *model_cache_named_folder(void); // CACHE/models

// Where the files of the model belong in runnel's own cache.
char *model_cache_place(const model_ref *ref);
// The path to open, in whichever cache has the model; NULL: none has it, or not clearly, with the reason in why (MODEL_WHY bytes).
char *model_cache_find(const model_ref *ref, char *why);

typedef struct cached_model {
    char *name;        // what -m takes
    char *path;        // what is opened
    const char *where; // "runnel", "Hugging Face", "llama.cpp", "Ollama"
    uint64_t n_bytes;  // of all its files
    size_t n_files;
    bool is_own;  // in runnel's own cache: `rm` may delete it
    char **files; // [n_files], the paths of all its files
} cached_model;

typedef struct cached_models {
    cached_model *items; // by name
    size_t n;
} cached_models;

void cached_models_read(cached_models *list);
void cached_models_free(cached_models *list);
// The model of that name: as -m takes it, or the name of its file or folder without .gguf, in upper or lower case. NULL: there is none, or
// there are several, of which why (MODEL_WHY bytes) has the names; else why is empty.
const cached_model *cached_models_find(const cached_models *list, const char *name, char *why);

#endif
