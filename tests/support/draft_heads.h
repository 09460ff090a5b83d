// tests/support/draft_heads.h - files of draft heads with random weights, which fit the model of a package.
#ifndef RN_TESTS_DRAFT_HEADS_H
#define RN_TESTS_DRAFT_HEADS_H

#include "formats/package.h"
#include <stdbool.h>
#include <stdint.h>

struct gguf_builder;

enum { MADE_LIKELY = 12 }; // Medusa heads hold the first so many tokens likely, or unlikely, and others neither

// Each writes the bytes of a safetensors file; free() them. Weights are the same for the same seed.
uint8_t *made_medusa(const package *model, int n_heads, uint64_t seed, size_t *n_bytes);
// head_dim wide heads over half as many; own: with embeddings of its own.
uint8_t *made_eagle(const package *model, bool own, uint64_t seed, size_t *n_bytes);
uint8_t *made_eagle3(const package *model, uint64_t seed, size_t *n_bytes);

// The tensors that a layer has beside those of any layer if it is a next-token-prediction layer, for models of this width.
enum { MADE_NEXTN_EMBD = 64 };
void made_nextn(struct gguf_builder *b, int layer);

#endif
