// tests/support/arch_subjects.c - see arch_subjects.h.
#include "tests/support/arch_subjects.h"

#define COMMON "context_length=256 embedding_length=64 feed_forward_length=96 attention.head_count=4 "
#define RMS    "attention.layer_norm_rms_epsilon=1e-5 "
#define LAYER  "attention.layer_norm_epsilon=1e-5 "

const struct arch_subject arch_subjects[N_ARCH_SUBJECTS] = {
    {"latent attention, queries from a latent vector too, experts in groups",
     {"deepseek2",
      "block_count=3 " COMMON RMS "attention.head_count_kv=1 attention.q_lora_rank=32 attention.kv_lora_rank=32 "
      "attention.key_length=40 attention.value_length=32 attention.key_length_mla=40 attention.value_length_mla=32 "
      "rope.dimension_count=8 leading_dense_block_count=1 expert_count=8 expert_used_count=3 expert_shared_count=1 "
      "expert_feed_forward_length=32 expert_group_count=4 expert_group_used_count=2 expert_gating_func=2"}},
    {"latent attention, queries from the row, a head's results narrower than the latent vector",
     {"deepseek2",
      "block_count=2 " COMMON RMS "attention.head_count_kv=1 attention.kv_lora_rank=24 attention.key_length=32 "
      "attention.value_length=24 attention.key_length_mla=24 attention.value_length_mla=12 rope.dimension_count=8 "
      "leading_dense_block_count=2"}},
    {"embeddings of each layer, shared keys and values, wider global heads",
     {"gemma4",
      "block_count=6 " COMMON RMS "attention.head_count_kv=2 attention.key_length=32 attention.value_length=32 "
      "attention.key_length_swa=16 attention.value_length_swa=16 rope.dimension_count=32 rope.dimension_count_swa=16 "
      "attention.sliding_window=24 attention.sliding_window_pattern=[110110] attention.shared_kv_layers=3 "
      "embedding_length_per_layer_input=32 final_logit_softcapping=12.0 rope.freq_base=1e6"}},
    {"values taken from keys, experts beside the dense feed-forward",
     {"gemma4",
      "block_count=3 " COMMON RMS "attention.head_count_kv=1 attention.key_length=32 attention.value_length=32 "
      "attention.key_length_swa=16 attention.value_length_swa=16 rope.dimension_count=32 rope.dimension_count_swa=16 "
      "attention.sliding_window=24 attention.sliding_window_pattern=[110] expert_count=4 expert_used_count=2 "
      "expert_feed_forward_length=32",
      .without = "attn_v"}},
    {"chunks, layers without rotation whose queries grow sharper, experts on every other layer",
     {"llama4",
      "block_count=4 " COMMON RMS "attention.head_count_kv=2 attention.sliding_window=40 rope.dimension_count=16 "
      "attention.temperature_length=32 attention.temperature_scale=0.1 interleave_moe_layer_step=2 expert_count=4 "
      "expert_used_count=1 expert_feed_forward_length=32"}},
    {"factors of long texts",
     {"phi3", "block_count=2 " COMMON RMS "attention.head_count_kv=2 rope.dimension_count=16 "
              "rope.scaling.original_context_length=64"}},
    {"queries and keys normed head by head with weights of their own, one norm for both blocks",
     {"stablelm", "block_count=2 " COMMON LAYER "rope.dimension_count=4", .without = "ffn_norm"}},
    {"feed-forward after attention",
     {"gptneox", "block_count=2 " COMMON LAYER "rope.dimension_count=4", .without = "attn_qkv"}},
    {"slopes in place of rotation", {"bloom", "block_count=2 " COMMON LAYER}},
    {"capped scores, windows on every other layer",
     {"gemma2", "block_count=4 " COMMON RMS "attention.head_count_kv=2 attention.sliding_window=24 "
                "attn_logit_softcapping=5.0 final_logit_softcapping=12.0"}},
    {"experts in Llama's shape",
     {"llama", "block_count=2 " COMMON RMS "attention.head_count_kv=2 expert_count=6 expert_used_count=2"}},
    {"its own name for the same", {"mistral3", "block_count=2 " COMMON RMS "attention.head_count_kv=2"}},
    {"a layer without rotation", {"smollm3", "block_count=4 " COMMON RMS "attention.head_count_kv=2"}},
    {"four factors",
     {"granite",
      "block_count=2 " COMMON RMS
      "attention.head_count_kv=2 embedding_scale=12.0 residual_scale=0.22 logit_scale=8.0 attention.scale=0.125"}},
    {"biases of queries, keys and values", {"qwen2", "block_count=2 " COMMON RMS "attention.head_count_kv=2"}},
    {"queries and keys normed by head", {"qwen3", "block_count=2 " COMMON RMS "attention.head_count_kv=2"}},
    {"norms after blocks, half a head rotated",
     {"glm4", "block_count=2 " COMMON RMS "attention.head_count_kv=2 rope.dimension_count=8"}},
    {"experts with factors",
     {"granitemoe", "block_count=2 " COMMON RMS
                    "attention.head_count_kv=2 expert_count=6 expert_used_count=2 residual_scale=0.22"}},
    {"a shared expert with a gate",
     {"qwen2moe",
      "block_count=2 " COMMON RMS
      "attention.head_count_kv=2 expert_count=6 expert_used_count=2 expert_feed_forward_length=32 expert_shared_feed_forward_length=64"}},
    {"experts, queries and keys normed by head",
     {"qwen3moe", "block_count=2 " COMMON RMS
                  "attention.head_count_kv=2 expert_count=6 expert_used_count=2 expert_feed_forward_length=32"}},
    {"experts, queries and keys normed by row",
     {"olmoe", "block_count=2 " COMMON RMS "expert_count=6 expert_used_count=2 expert_feed_forward_length=32"}},
    {"sinks, windows, experts with biases",
     {"gpt-oss",
      "block_count=2 " COMMON RMS
      "attention.head_count_kv=2 expert_count=6 expert_used_count=2 expert_feed_forward_length=32 attention.sliding_window=24"}},
    {"sigmoid routing behind a dense layer",
     {"glm4moe",
      "block_count=2 " COMMON RMS
      "attention.head_count_kv=2 expert_count=6 expert_used_count=2 expert_feed_forward_length=32 expert_shared_count=1 leading_dense_block_count=1 rope.dimension_count=8"}},
    {"scaled embeddings", {"gemma", "block_count=2 " COMMON RMS "attention.head_count_kv=1"}},
    {"five windows and a whole layer, two bases",
     {"gemma3",
      "block_count=6 " COMMON RMS "attention.head_count_kv=1 attention.sliding_window=24 rope.freq_base=1e6"}},
    {"only norms after blocks", {"olmo2", "block_count=2 " COMMON RMS "attention.head_count_kv=2"}},
    {"windows, no rotation elsewhere",
     {"exaone4", "block_count=4 " COMMON RMS "attention.head_count_kv=2 attention.sliding_window=24"}},
    {"learned positions", {"gpt2", "block_count=2 " COMMON LAYER}},
    {"learned positions, ReLU", {"opt", "block_count=2 " COMMON LAYER}},
    {"one head of keys, both blocks from one norm",
     {"falcon", "block_count=2 " COMMON LAYER "attention.head_count_kv=1"}},
    {"part of a head rotated, biases in the head", {"phi2", "block_count=2 " COMMON LAYER "rope.dimension_count=8"}},
    {"windows, biases everywhere",
     {"starcoder2", "block_count=2 " COMMON LAYER "attention.head_count_kv=2 attention.sliding_window=48"}},
    {"scaled logits, both blocks from one norm",
     {"command-r", "block_count=2 " COMMON LAYER "attention.head_count_kv=2 logit_scale=0.5"}},
    {"windows with rotation, whole layers without",
     {"cohere2",
      "block_count=4 " COMMON LAYER "attention.head_count_kv=2 attention.sliding_window=24 logit_scale=0.4"}},
};
