// app/models/model_files.h - which files of a repository are the model that a name means. It opens nothing: names in, a choice out, for
// the hub's list as for a cache's folder.
//
// Threads: any.
#ifndef RN_APP_MODEL_FILES_H
#define RN_APP_MODEL_FILES_H

#include "app/models/model_ref.h"

#define MODEL_WHY 1024

typedef struct model_choice {
    bool is_folder; // config.json, weights as safetensors, tokenizer: the folder is opened
    size_t first;   // the file that is opened: a GGUF file, or the first part of one; config.json of a folder
    size_t n;       // chosen files
} model_choice;

// names[n]: paths below the repository, untrusted: what is not model_path_is_safe() is never chosen. chosen[n] is set for each.
// With a file, that file; with a type of weights ("Q4_K_M"), the GGUF file named after it; with neither, the only GGUF file, else
// that of the type that most people take (Q4_K_M first), else the folder. A split file is chosen with all of its parts. False:
// nothing fits, or several do, with the reason in why (MODEL_WHY bytes).
bool model_files_pick(const model_ref *ref, const char *const *names, size_t n, bool *chosen, model_choice *choice,
                      char *why);

// Is the name a GGUF file with a whole model, or the first part of one (no picture encoder, no importance matrix, no later part)?
bool model_file_is_gguf(const char *name);
// The type of weights in a GGUF file's name ("Q8_0" of "Qwen3-0.6B-Q8_0.gguf", "mxfp4"), in quant (MODEL_REF_PART bytes); false: none is
// there.
bool model_file_quant(const char *name, char *quant);

#endif
