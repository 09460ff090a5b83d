// app/models/cache_roots.h - the folders of other programs' caches, and how they name what is there. Only for model_cache.c and
// cached_models.c.
//
// Ownership: texts that are returned are freed with free().
// Threads:   any.
#ifndef RN_APP_CACHE_ROOTS_H
#define RN_APP_CACHE_ROOTS_H

#define OLLAMA_REGISTRY "registry.ollama.ai" // as Ollama's own manifests are kept

char *cache_root_of_hf(void);     // $HF_HUB_CACHE, $HF_HOME/hub, ~/.cache/huggingface/hub
char *cache_root_of_llama(void);  // $LLAMA_CACHE, ~/.cache/llama.cpp
char *cache_root_of_ollama(void); // $OLLAMA_MODELS, ~/.ollama/models

// The folder of a revision in a repository of Hugging Face's cache; NULL: it is not there.
char *hf_snapshot(const char *repository, const char *revision);
// The weights that a manifest of Ollama's names; NULL: there are none.
char *ollama_blob(const char *root, const char *manifest);

#endif
