// app/models/catalogue.c - the list: small ones first. Models that docs/models.md has as running, from their makers or from ggml-org.
#include "app/models/catalogue.h"
#include <string.h>

const catalogue_row catalogue[] = {
    {"qwen3-0.6b", "hf:Qwen/Qwen3-0.6B-GGUF:Q8_0", 640, "Apache-2.0", "chat with reasoning, for a first try"},
    {"gemma3-1b", "hf:ggml-org/gemma-3-1b-it-GGUF:Q4_K_M", 810, "Gemma terms of use", "chat, many languages"},
    {"qwen3-1.7b", "hf:Qwen/Qwen3-1.7B-GGUF:Q8_0", 1830, "Apache-2.0", "chat with reasoning, tool calls"},
    {"smollm3-3b", "hf:ggml-org/SmolLM3-3B-GGUF:Q4_K_M", 1920, "Apache-2.0", "chat with reasoning, long texts"},
    {"gemma3-4b", "hf:ggml-org/gemma-3-4b-it-GGUF:Q4_K_M", 2490, "Gemma terms of use", "chat, many languages"},
    {"qwen3-4b", "hf:Qwen/Qwen3-4B-GGUF:Q4_K_M", 2500, "Apache-2.0", "chat with reasoning, tool calls"},
    {"qwen3-8b", "hf:Qwen/Qwen3-8B-GGUF:Q4_K_M", 5030, "Apache-2.0", "chat with reasoning, tool calls"},
    {"gpt-oss-20b", "hf:ggml-org/gpt-oss-20b-GGUF", 12110, "Apache-2.0",
     "chat with reasoning, tool calls; 3.6B parameters a token"},
    {"qwen3-embedding-0.6b", "hf:Qwen/Qwen3-Embedding-0.6B-GGUF:Q8_0", 640, "Apache-2.0", "vectors of texts (embed)"},
};
const size_t n_catalogue = sizeof catalogue / sizeof *catalogue;

const catalogue_row *catalogue_find(const char *name) {
    for (size_t i = 0; i < n_catalogue; i++)
        if (strcmp(catalogue[i].name, name) == 0) return &catalogue[i];
    return NULL;
}

uint64_t catalogue_memory(const catalogue_row *row) {
    return ((uint64_t)row->megabytes + row->megabytes / 4 + 300) * 1000000;
}
