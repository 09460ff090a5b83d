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
};
