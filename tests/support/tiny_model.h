// tests/support/tiny_model.h - small Llama-architecture models with random weights: complete GGUF files for tests.
//
// The same description gives the same bytes on every machine. Weights are drawn so that activations and logits stay of order 1.
#ifndef RN_TESTS_TINY_MODEL_H
#define RN_TESTS_TINY_MODEL_H

#include "tensor/types.h"
#include "tests/support/gguf_builder.h"

enum tiny_vocab {
    TINY_NO_VOCAB,
    TINY_BYTES, // byte-level BPE ("gpt2"): the 256 bytes, TINY_BOS.., some merges, then unused tokens. n_vocab >= 259
    TINY_SPM // SentencePiece ("llama"): <unk> <s> </s>, the 256 bytes, some pieces, then unused ones. n_vocab >= 259
};
enum { TINY_MIN_VOCAB = 259, TINY_BYTES_BOS = 256, TINY_BYTES_EOS = 257, TINY_BYTES_PAD = 258 };

// Mixtures of experts: of every layer from n_dense on. n 0: none.
struct tiny_experts {
    int n, n_used, n_ff, n_dense;
    int n_shared, n_ff_shared, n_group, n_group_used; // 0: none
    bool shared_gate, choice_bias, biases, is_sigmoid, fused;
};

struct tiny_model {
    const char *arch; // NULL: "llama". Others need the same tensor names, except as given here
    int n_layer, n_embd, n_head, n_head_kv, n_ff, n_vocab, n_ctx;
    enum tensor_type type; // of matrices; norms and biases are F32. Block types: n_embd, n_ff multiples of the block
    enum tiny_vocab vocab;
    bool rope_freqs; // a rope_freqs.weight tensor of factors 1..8
    bool biases;     // on every matrix of a layer
    struct tiny_experts experts;
    const char *ffn_norm; // NULL: "ffn_norm"
    bool sinks;           // of attention
    int n_swa;            // 0: no windows
    bool scales;          // Granite's four factors
    bool own_head;        // output.weight; else the embedding serves
    bool
        any_bytes; // matrices of a block type are made of any bytes, as those of types that are not written always are
    uint64_t seed;
};

// 2 layers of 64, 4 heads over 2, n_ff 96, 300 byte-level tokens, n_ctx 128, F32, tied, seed 1.
struct tiny_model tiny_model_default(void);
// 4 layers of 256, 4 heads over 2, n_ff 512, a head of its own: every type fits.
struct tiny_model tiny_model_four_layers(enum tensor_type type);
// Makes m one of four layers with 6 experts of which 3 are used, as the architecture has them: "llama", "granitemoe" (a shared expert,
// factors), "qwen2moe" (a dense layer, a shared expert with a gate), "gpt-oss" (biases, sinks, windows) or "glm4moe" (3 groups of which 2
// are used, a shared expert, a dense layer).
void tiny_model_add_experts(struct tiny_model *m, const char *arch);
void tiny_vocab_put(enum tiny_vocab vocab, int n_vocab, struct gguf_builder *b); // the pairs of a tokenizer
void tiny_model_build(const struct tiny_model *m, struct gguf_builder *b); // pairs and tensors into an open builder
uint8_t *tiny_model_bytes(const struct tiny_model *m, size_t *n_bytes);    // free() it
bool tiny_model_write(const struct tiny_model *m, const char *path);

#endif
