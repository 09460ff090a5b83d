// app/models/model_ref.h - names of models that can be fetched: hf:ORG/REPO, ollama:NAME:TAG, https://HOST/FILE.gguf.
//
//   hf:ORG/REPO[@REVISION][:FILE | :QUANT]   a repository of the Hugging Face hub: one of its GGUF files, or its folder
//   ollama:[NAMESPACE/]NAME[:TAG]            a model of Ollama's registry
//   https://HOST/PATH/FILE.gguf              a file; http:// from this machine only
//
// A link to a file on huggingface.co is read as hf:. Names are checked here once: their parts become parts of paths and addresses.
//
// Threads: any.
#ifndef RN_APP_MODEL_REF_H
#define RN_APP_MODEL_REF_H

#include "app/bytes.h"
#include <stdbool.h>
#include <stddef.h>

typedef enum model_source { MODEL_FROM_HF, MODEL_FROM_OLLAMA, MODEL_FROM_URL } model_source;

enum { MODEL_REF_PART = 128, MODEL_REF_PATH = 512 };

typedef struct model_ref {
    model_source source;
    char owner
        [MODEL_REF_PART]; // the organisation, or Ollama's namespace ("library" where none is given); a URL's host
    char name[MODEL_REF_PART];     // the repository or model; empty for a URL
    char revision[MODEL_REF_PART]; // "main", or Ollama's tag "latest", where none is given; empty for a URL
    char file[MODEL_REF_PATH];  // the file in the repository; a URL's path without the first slash; empty: not given
    char quant[MODEL_REF_PART]; // "Q4_K_M"; empty: not given
    char query[MODEL_REF_PATH]; // of a URL, with its question mark; empty: none
    bool is_plain_http;         // of a URL
} model_ref;

// Does the text begin as a name of a model that can be fetched (hf:, ollama:, https://, http://)?
bool model_ref_is(const char *text);
// Reads a name. False: it is malformed, with the reason in `why` (NUMBER_WHY bytes, app/numbers.h), without the name.
bool model_ref_parse(const char *text, model_ref *ref, char *why);
// Appends the name, as shortly as it can be typed.
void model_ref_add(const model_ref *ref, bytes *to);

// May this be a file's path below a folder: parts apart by single slashes, none of which begins with a dot or is longer than a file's
// name may be, without control characters and backslashes? Lists of files that a server sends are checked by it, too.
bool model_path_is_safe(const char *path);

#endif
