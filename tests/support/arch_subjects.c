// tests/support/arch_subjects.c - see arch_subjects.h.
#include "tests/support/arch_subjects.h"
#include <stdio.h>
#include <string.h>

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
    {"queries that grow sharper with the position",
     {"mistral3", "block_count=2 " COMMON RMS "attention.head_count_kv=2 attention.temperature_scale=0.1 "
                  "rope.scaling.original_context_length=16"}},
    {"a layer without rotation", {"smollm3", "block_count=4 " COMMON RMS "attention.head_count_kv=2"}},
    {"four factors",
     {"granite",
      "block_count=2 " COMMON RMS
      "attention.head_count_kv=2 embedding_scale=12.0 residual_scale=0.22 logit_scale=8.0 attention.scale=0.125"}},
    {"biases of queries, keys and values", {"qwen2", "block_count=2 " COMMON RMS "attention.head_count_kv=2"}},
    {"the same of a model that sees", {"qwen2vl", "block_count=2 " COMMON RMS "attention.head_count_kv=2"}},
    {"queries and keys normed by head, of one that sees",
     {"qwen3vl", "block_count=2 " COMMON RMS "attention.head_count_kv=2 n_deepstack_layers=1"}},
    {"and with experts",
     {"qwen3vlmoe", "block_count=2 " COMMON RMS
                    "attention.head_count_kv=2 expert_count=6 expert_used_count=2 expert_feed_forward_length=32 "
                    "n_deepstack_layers=1"}},
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
    {"one head of keys, learned positions", {"starcoder", "block_count=2 " COMMON LAYER "attention.head_count_kv=1"}},
    {"Llama by another name", {"ernie4_5", "block_count=2 " COMMON RMS "attention.head_count_kv=2"}},
    {"Llama by names of its own", {"exaone", "block_count=2 " COMMON RMS "attention.head_count_kv=2"}},
    {"Llama with one matrix for queries, keys and values",
     {"internlm2", "block_count=2 " COMMON RMS "attention.head_count_kv=2"}},
    {"three factors",
     {"minicpm", "block_count=2 " COMMON RMS
                 "attention.head_count_kv=2 embedding_scale=12.0 residual_scale=0.5 logit_scale=4.0"}},
    {"Llama by another name yet", {"xverse", "block_count=2 " COMMON RMS}},
    {"Llama with layer norms", {"orion", "block_count=2 " COMMON LAYER "attention.head_count_kv=2"}},
    {"rotation, biases everywhere", {"codeshell", "block_count=2 " COMMON LAYER "attention.head_count_kv=2"}},
    {"part of a head rotated pair by pair", {"gptj", "block_count=2 " COMMON LAYER "rope.dimension_count=8"}},
    {"softmax routing behind a dense layer, shared experts",
     {"deepseek", "block_count=3 " COMMON RMS "attention.head_count_kv=2 expert_count=6 expert_used_count=2 "
                  "expert_feed_forward_length=32 expert_shared_count=2 leading_dense_block_count=1"}},
    {"slopes, norms without biases, queries, keys and values within bounds",
     {"mpt", "block_count=2 " COMMON LAYER "attention.clamp_kqv=0.75"}},
    {"slopes that are scaled, feed-forward after attention",
     {"falcon", "block_count=2 " COMMON LAYER "attention.max_alibi_bias=8.0 runnel.alibi_scaled=true"}},
    {"slopes in Llama's shape, one head of keys",
     {"refact", "block_count=2 " COMMON RMS "attention.head_count_kv=1"}},
    {"rotation in the smaller one", {"baichuan", "block_count=2 " COMMON RMS}},
    {"slopes in the larger one", {"baichuan", "block_count=2 " COMMON RMS "attention.max_alibi_bias=8.0"}},
    {"twice the width of the feed-forward part",
     {"qwen",
      "block_count=2 context_length=256 embedding_length=64 feed_forward_length=192 attention.head_count=4 " RMS}},
    {"both blocks from one norm", {"plamo", "block_count=2 " COMMON RMS "attention.head_count_kv=2"}},
    {"norms before the last matrices", {"bitnet", "block_count=2 " COMMON RMS "attention.head_count_kv=2"}},
    {"squared ReLU, layer norms, whole heads rotated", {"jais2", "block_count=2 " COMMON LAYER}},
    {"biases of all of attention", {"pangu-embedded", "block_count=2 " COMMON RMS "attention.head_count_kv=2"}},
    {"experts behind layer norms, queries, keys and values within bounds",
     {"dbrx", "block_count=2 " COMMON LAYER
              "attention.head_count_kv=2 attention.clamp_kqv=0.75 expert_count=6 expert_used_count=2"}},
    {"experts beside the whole layer",
     {"arctic", "block_count=2 " COMMON RMS "attention.head_count_kv=2 expert_count=6 expert_used_count=2"}},
    {"softmax routing, shared experts",
     {"bailingmoe", "block_count=2 " COMMON RMS "attention.head_count_kv=2 expert_count=6 expert_used_count=2 "
                    "expert_feed_forward_length=32 expert_shared_count=2 expert_weights_norm=true"}},
    {"sigmoid routing in groups, half a head rotated",
     {"bailingmoe2",
      "block_count=3 " COMMON RMS "attention.head_count_kv=2 expert_count=6 expert_used_count=2 "
      "expert_feed_forward_length=32 expert_shared_count=1 leading_dense_block_count=1 expert_group_count=3 "
      "expert_group_used_count=2 rope.dimension_count=8 expert_weights_scale=2.5"}},
    {"windows with rotation, sigmoid routing",
     {"exaone-moe",
      "block_count=4 " COMMON RMS "attention.head_count_kv=2 attention.sliding_window=24 expert_count=6 "
      "expert_used_count=2 expert_feed_forward_length=32 expert_shared_count=1 leading_dense_block_count=1"}},
    {"gated attention, windows with rotation, norms on both sides",
     {"afmoe",
      "block_count=4 " COMMON RMS "attention.head_count_kv=2 attention.sliding_window=24 expert_count=6 "
      "expert_used_count=2 expert_feed_forward_length=32 expert_shared_count=2 leading_dense_block_count=1"}},
    {"norms behind blocks", {"opt", "block_count=2 " COMMON LAYER "runnel.norms_after=true"}},
    {"experts whose weights are those of near rivals, biases",
     {"phimoe", "block_count=2 " COMMON RMS "attention.head_count_kv=2 expert_count=6 expert_used_count=2"}},
    {"latent attention whose queries grow sharper",
     {"mistral4",
      "block_count=2 " COMMON RMS "attention.head_count_kv=1 attention.q_lora_rank=32 attention.kv_lora_rank=32 "
      "attention.key_length=40 attention.value_length=32 attention.key_length_mla=40 attention.value_length_mla=32 "
      "rope.dimension_count=8 leading_dense_block_count=1 expert_count=6 expert_used_count=2 expert_shared_count=1 "
      "expert_feed_forward_length=32 attention.temperature_scale=0.1 rope.scaling.original_context_length=16"}},
    {"queries and keys normed behind rotation, of a model that sees",
     {"hunyuan_vl", "block_count=2 " COMMON RMS "attention.head_count_kv=2"}},
    {"coordinates of pictures", {"paddleocr", "block_count=2 " COMMON RMS "attention.head_count_kv=2"}},
    {"a state for each channel",
     {"mamba",
      "block_count=3 context_length=256 embedding_length=64 feed_forward_length=0 attention.head_count=0 " RMS
      "ssm.conv_kernel=4 ssm.inner_size=144 ssm.state_size=12 ssm.time_step_rank=5 ssm.dt_b_c_rms=true"}},
    {"such states, attention without rotation, experts on every layer",
     {"jamba", "block_count=3 " COMMON RMS "attention.head_count_kv=(0,2,0) expert_count=4 expert_used_count=2 "
               "ssm.conv_kernel=3 ssm.inner_size=128 ssm.state_size=8 ssm.time_step_rank=6"}},
    {"a decay and a learning rate of each number, rows mixed with those before",
     {"rwkv7",
      "block_count=3 context_length=256 embedding_length=64 feed_forward_length=80 attention.head_count=0 " LAYER
      "wkv.head_size=16 attention.decay_lora_rank=12 attention.iclr_lora_rank=8 "
      "attention.value_residual_mix_lora_rank=6 attention.gate_lora_rank=20"}},
    {"the same in Qwen 2's layers, without gates",
     {"arwkv7",
      "block_count=3 context_length=256 embedding_length=64 feed_forward_length=80 attention.head_count=0 " RMS
      "wkv.head_size=8 attention.decay_lora_rank=5 attention.iclr_lora_rank=8 "
      "attention.value_residual_mix_lora_rank=7 attention.gate_lora_rank=0 token_shift_count=1",
      .without = "time_mix_ln"}},
    {"a decay of each number and shares of the row before that follow from both",
     {"rwkv6",
      "block_count=3 context_length=256 embedding_length=64 feed_forward_length=80 attention.head_count=0 " LAYER
      "wkv.head_size=16 time_mix_extra_dim=6 time_decay_extra_dim=12 rescale_every_n_layers=2"}},
    {"the same in Qwen 2's layers, with heads that share keys, which come to the state as much as it decays",
     {"rwkv6qwen2",
      "block_count=3 context_length=256 embedding_length=64 feed_forward_length=80 attention.head_count=0 " RMS
      "attention.head_count_kv=2 wkv.head_size=8 time_mix_extra_dim=5 time_decay_extra_dim=12 token_shift_count=1"}},
    {"states beside attention",
     {"falcon-h1",
      "block_count=2 " COMMON RMS "attention.head_count_kv=2 ssm.conv_kernel=4 ssm.inner_size=96 ssm.state_size=12 "
      "ssm.time_step_rank=6 ssm.group_count=3"}},
    {"and without their norm, behind which the gate would come",
     {"falcon-h1",
      "block_count=2 " COMMON RMS "attention.head_count_kv=4 ssm.conv_kernel=3 ssm.inner_size=128 ssm.state_size=16 "
      "ssm.time_step_rank=8 ssm.group_count=2 runnel.ssm_norm_first=true"}},
    {"layers of one block each",
     {"nemotron_h",
      "block_count=4 context_length=256 embedding_length=64 feed_forward_length=(0,96,0,96) attention.head_count=4 " RMS
      "attention.head_count_kv=(0,0,2,0) ssm.conv_kernel=4 ssm.inner_size=128 ssm.state_size=16 "
      "ssm.time_step_rank=8 ssm.group_count=2"}},
    {"and with experts",
     {"nemotron_h_moe",
      "block_count=4 context_length=256 embedding_length=64 feed_forward_length=(0,32,0,32) attention.head_count=4 " RMS
      "attention.head_count_kv=(0,0,2,0) ssm.conv_kernel=4 ssm.inner_size=128 ssm.state_size=16 "
      "ssm.time_step_rank=8 ssm.group_count=2 expert_count=6 expert_used_count=2 expert_feed_forward_length=32 "
      "expert_shared_count=1 expert_shared_feed_forward_length=48"}},
    {"queries and keys normed behind rotation pair by pair",
     {"maincoder", "block_count=2 " COMMON RMS "attention.head_count_kv=2"}},
    {"xIELU in place of a gate",
     {"apertus", "block_count=3 " COMMON RMS "attention.head_count_kv=2 /xielu.alpha_p={0.2,-0.5,1} "
                 "/xielu.alpha_n={-1,0.25,0.5} /xielu.beta=0.5 /xielu.eps=-1e-6"}},
    {"slopes, layer norms and a gate", {"jais", "block_count=2 " COMMON LAYER}},
    {"heads and widths that grow",
     {"openelm", "block_count=3 context_length=256 embedding_length=64 feed_forward_length=(32,64,96) "
                 "attention.head_count=(3,4,6) attention.head_count_kv=(1,2,3) attention.key_length=16 " RMS}},
    {"layers without attention, with a matrix in its place, and without a feed-forward part",
     {"deci", "block_count=5 context_length=256 embedding_length=64 feed_forward_length=(96,32,64,0,0) "
              "attention.head_count=(4,0,4,4,0) attention.head_count_kv=(2,0,0,1,0) attention.key_length=16 " RMS}},
    {"experts that are chosen before attention, windows with rotation",
     {"smallthinker", "block_count=5 " COMMON RMS "attention.head_count_kv=2 attention.sliding_window=24 "
                      "expert_count=6 expert_used_count=2 expert_feed_forward_length=32 expert_gating_func=2"}},
    {"norms around blocks, windows with a base of their own",
     {"plamo3",
      "block_count=3 " COMMON RMS "attention.head_count_kv=2 attention.sliding_window=24 "
      "attention.sliding_window_pattern=2 rope.freq_base=1e6 rope.freq_base_swa=1e4",
      .without = "attn_qkv"}},
    {"latent attention with keys and values of heads in one matrix, factors of its own",
     {"minicpm3",
      "block_count=2 " COMMON RMS "attention.head_count_kv=4 attention.q_lora_rank=32 "
      "attention.kv_lora_rank=32 attention.key_length=40 attention.value_length=12 rope.dimension_count=8"}},
    {"the same with queries from the row, squared ReLU",
     {"plm", "block_count=2 " COMMON RMS "attention.head_count_kv=4 attention.kv_lora_rank=24 "
             "attention.key_length=24 rope.dimension_count=16"}},
    {"groups of experts that share smaller ones",
     {"grovemoe", "block_count=2 " COMMON RMS "attention.head_count_kv=2 expert_count=6 expert_used_count=3 "
                  "expert_feed_forward_length=32 expert_chunk_feed_forward_length=40 experts_per_group=3"}},
    {"capped scores of attention and routing, experts beside a dense part",
     {"grok",
      "block_count=2 " COMMON RMS "attention.head_count_kv=2 expert_count=6 expert_used_count=2 "
      "expert_feed_forward_length=32 embedding_scale=1.5 attention.output_scale=0.2 logit_scale=0.5 "
      "attn_logit_softcapping=5.0 router_logit_softcapping=3.0 final_logit_softcapping=12.0",
      .optional = "ffn_gate.weight ffn_up.weight ffn_down.weight"}},
    {"the same without it, of what first files say",
     {"grok", "block_count=2 " COMMON RMS "attention.head_count_kv=4 expert_count=4 expert_used_count=3",
      .optional = ""}},
    {"values narrower than keys, sinks, more heads of keys in windows",
     {"mimo2",
      "block_count=3 " COMMON RMS "attention.head_count_kv=(1,2,2) attention.key_length=20 "
      "attention.value_length=12 rope.dimension_count=8 attention.sliding_window=24 "
      "attention.sliding_window_pattern=[011] rope.freq_base=1e6 rope.freq_base_swa=1e4 "
      "attention.value_scale=0.7 expert_count=6 expert_used_count=2 expert_feed_forward_length=32",
      .without = "attn_qkv"}},
    {"matrices for rows of text", {"cogvlm", "block_count=2 " COMMON RMS}},
    {"softmax routing behind a dense layer, whole heads rotated",
     {"deepseek2-ocr", "block_count=3 " COMMON RMS "expert_count=6 expert_used_count=2 "
                       "expert_feed_forward_length=32 expert_shared_count=2 leading_dense_block_count=1"}},
    {"a norm by another name", {"seed_oss", "block_count=2 " COMMON RMS "attention.head_count_kv=2"}},
    {"gate and up in one, half a head rotated",
     {"chatglm", "block_count=2 " COMMON RMS "attention.head_count_kv=2 rope.dimension_count=8",
      .without = "attn_qkv"}},
    {"squared ReLU", {"arcee", "block_count=2 " COMMON RMS "attention.head_count_kv=2"}},
    {"queries and keys normed behind rotation",
     {"hunyuan-dense", "block_count=2 " COMMON RMS "attention.head_count_kv=2"}},
    {"squared ReLU, layer norms",
     {"nemotron", "block_count=2 " COMMON LAYER "attention.head_count_kv=2 rope.dimension_count=8"}},
    {"layer norms without weights, queries, keys and values within bounds",
     {"olmo",
      "block_count=2 " COMMON LAYER "attention.head_count_kv=2 attention.clamp_kqv=0.75 runnel.hidden_act=5"}},
    {"softmax routing by a bias behind a dense layer",
     {"ernie4_5-moe", "block_count=3 " COMMON RMS "attention.head_count_kv=2 expert_count=6 expert_used_count=2 "
                      "expert_feed_forward_length=32 expert_shared_count=1 leading_dense_block_count=1"}},
    {"experts beside a shared one, norms behind rotation",
     {"hunyuan-moe", "block_count=2 " COMMON RMS "attention.head_count_kv=2 expert_count=6 expert_used_count=2"}},
    {"sigmoid routing, norms before rotation",
     {"dots1",
      "block_count=3 " COMMON RMS "attention.head_count_kv=2 expert_count=6 expert_used_count=2 "
      "expert_feed_forward_length=32 expert_shared_count=1 leading_dense_block_count=1 expert_weights_scale=1.5"}},
    {"sigmoid routing, queries and keys normed by row",
     {"minimax-m2", "block_count=2 " COMMON RMS
                    "attention.head_count_kv=2 expert_count=6 expert_used_count=2 rope.dimension_count=8"}},
    {"windows with rotation, whole layers without",
     {"cohere2",
      "block_count=4 " COMMON LAYER "attention.head_count_kv=2 attention.sliding_window=24 logit_scale=0.4"}},
    {"states alone, two pairs of keys",
     {"mamba2",
      "runnel.time_step_least=0.25 runnel.time_step_most=0.75 block_count=3 context_length=256 embedding_length=64 feed_forward_length=0 attention.head_count=0 " RMS
      "ssm.conv_kernel=4 ssm.inner_size=128 ssm.state_size=16 ssm.time_step_rank=8 ssm.group_count=2"}},
    {"states, and attention without rotation on one layer, experts beside a shared one",
     {"granitehybrid",
      "block_count=3 " COMMON RMS "attention.head_count_kv=(0,2,0) rope.scaling.finetuned=false ssm.conv_kernel=4 "
      "ssm.inner_size=128 ssm.state_size=16 ssm.time_step_rank=8 ssm.group_count=1 expert_count=4 expert_used_count=2 "
      "expert_shared_feed_forward_length=48 embedding_scale=12.0 residual_scale=0.22 logit_scale=8.0"}},
    {"the same rotated, a dense feed-forward",
     {"granitehybrid",
      "block_count=3 " COMMON RMS "attention.head_count_kv=(2,0,2) rope.dimension_count=16 ssm.conv_kernel=2 "
      "ssm.inner_size=96 ssm.state_size=12 ssm.time_step_rank=6 ssm.group_count=3"}},
    {"convolutions of three steps",
     {"lfm2", "block_count=4 " COMMON RMS "attention.head_count_kv=(0,2,0,4) shortconv.l_cache=3"}},
    {"short convolutions, experts after a dense layer",
     {"lfm2moe",
      "block_count=4 " COMMON RMS "attention.head_count_kv=(0,2,0,2) shortconv.l_cache=3 leading_dense_block_count=1 "
      "expert_count=4 expert_used_count=2 expert_feed_forward_length=32"}},
    {"the delta rule beside gated attention, experts",
     {"qwen3next",
      "block_count=4 " COMMON RMS
      "attention.head_count_kv=2 attention.key_length=32 attention.value_length=32 rope.dimension_count=8 "
      "full_attention_interval=2 ssm.conv_kernel=4 ssm.inner_size=64 ssm.state_size=8 ssm.time_step_rank=4 "
      "ssm.group_count=2 expert_count=4 expert_used_count=2 expert_feed_forward_length=32 "
      "expert_shared_feed_forward_length=32"}},
    {"heads that take their keys in turn, layers by name",
     {"qwen35", "block_count=3 " COMMON RMS
                "attention.head_count_kv=2 attention.key_length=32 attention.value_length=32 rope.dimension_count=8 "
                "attention.recurrent_layers=[101] ssm.conv_kernel=4 ssm.inner_size=96 ssm.state_size=16 "
                "ssm.time_step_rank=6 ssm.group_count=2"}},
    {"the same with experts, attention on the last layer",
     {"qwen35moe",
      "block_count=4 " COMMON RMS
      "attention.head_count_kv=1 attention.key_length=16 attention.value_length=16 rope.dimension_count=4 ssm.conv_kernel=3 "
      "ssm.inner_size=64 ssm.state_size=32 ssm.time_step_rank=4 ssm.group_count=4 expert_count=6 expert_used_count=3 "
      "expert_feed_forward_length=32 expert_shared_feed_forward_length=64"}},
};

void arch_subject_name(size_t s, char out[ARCH_SUBJECT_NAME]) {
    const char *arch = arch_subjects[s].m.arch;
    int n_before = 0;
    for (size_t i = 0; i < s; i++) n_before += strcmp(arch_subjects[i].m.arch, arch) == 0;
    if (n_before)
        snprintf(out, ARCH_SUBJECT_NAME, "%s/%d", arch, n_before);
    else
        snprintf(out, ARCH_SUBJECT_NAME, "%s", arch);
}

size_t arch_subject_named(const char *name) {
    char own[ARCH_SUBJECT_NAME] = "";
    size_t s = 0;
    for (; s < N_ARCH_SUBJECTS; s++) {
        arch_subject_name(s, own);
        if (strcmp(own, name) == 0) break;
    }
    return s;
}
