// tests/tools/wide_model.c - writes a GGUF model of any architecture with random weights, 256 wide: every type of weights fits its rows.
//
//   wide_model                      lists the models, a line each: NAME ARCHITECTURE: what is its own
//   wide_model NAME OUT.gguf TYPE   TYPE: of matrices. Q2_K, Q3_K, IQ4_XS, MXFP4 are made of any bytes
//
// The files say what llama.cpp and transformers take alike: layers in the rhythm that llama.cpp expects where it reads no key of it, attention
// scaled by the width of a head, ramps of YaRN whose ends are whole pairs. Every row goes to all experts: which ones it is sent to of
// many turns with the rounding of activations here and there.
#include "tests/check.h"
#include "tests/support/arch_model.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COMMON                                                                                                        \
    "context_length=512 embedding_length=256 feed_forward_length=512 attention.head_count=4 attention.key_length=64 " \
    "attention.value_length=64 vocab_size=320 "
#define DEEP                                                                                                          \
    "context_length=512 embedding_length=256 feed_forward_length=256 attention.head_count=4 attention.key_length=64 " \
    "attention.value_length=64 vocab_size=320 "
#define KV2          "attention.head_count_kv=2 "
#define RMS          "attention.layer_norm_rms_epsilon=1e-5 "
#define LAYER        "attention.layer_norm_epsilon=1e-5 "
#define ROTATED      "rope.dimension_count=64 rope.freq_base=1e4 "
#define KV4          "attention.head_count_kv=4 "
#define YARN         "rope.scaling.type=\"yarn\" rope.scaling.factor=4.0 rope.scaling.original_context_length=64 "
#define FACTORS      "embedding_scale=1.5 residual_scale=0.5 logit_scale=1.5 attention.scale=0.125 "
#define EXPERTS      "expert_count=4 expert_used_count=4 expert_feed_forward_length=256 "
#define WIDE_EXPERTS "expert_count=4 expert_used_count=4 expert_feed_forward_length=512 "
#define SHARED       "expert_shared_count=1 expert_shared_feed_forward_length=256 "
#define MAMBA        "ssm.conv_kernel=4 ssm.inner_size=512 ssm.state_size=32 ssm.time_step_rank=8 ssm.group_count=1 "
#define DELTA        "ssm.conv_kernel=4 ssm.inner_size=256 ssm.state_size=64 ssm.time_step_rank=4 ssm.group_count=2 "
#define LATENT                                                                                                       \
    "context_length=512 embedding_length=256 feed_forward_length=512 attention.head_count=4 vocab_size=320 "         \
    "attention.head_count_kv=1 attention.kv_lora_rank=256 attention.key_length=288 attention.value_length=256 "      \
    "attention.key_length_mla=96 attention.value_length_mla=64 rope.dimension_count=32 rope.freq_base=1e4 "
// llama.cpp norms latent vectors with the epsilon of rows.
#define WHOLE                                                                                                        \
    "context_length=512 embedding_length=256 feed_forward_length=512 attention.head_count=4 vocab_size=320 "         \
    "attention.head_count_kv=4 attention.kv_lora_rank=256 attention.key_length=96 attention.value_length=64 "        \
    "rope.dimension_count=32 rope.freq_base=1e4 attention.layer_norm_rms_epsilon=1e-6 "

static const struct row {
    const char *name, *why;
    struct arch_model m;
} rows[] = {
    {"llama", "queries share heads of keys", {"llama", "block_count=3 " COMMON RMS KV2 ROTATED, .optional = ""}},
    {"llama-yarn",
     "longer contexts by YaRN",
     {"llama", "block_count=2 " COMMON RMS KV2 ROTATED YARN, .optional = ""}},
    {"mixtral",
     "experts in Llama's shape",
     {"llama", "block_count=2 " COMMON RMS KV2 ROTATED WIDE_EXPERTS, .optional = ""}},
    {"mistral3",
     "its own name for Llama's shape",
     {"mistral3", "block_count=2 " COMMON RMS KV2 ROTATED, .optional = ""}},
    {"smollm3", "a layer without rotation", {"smollm3", "block_count=4 " COMMON RMS KV2 ROTATED, .optional = ""}},
    {"granite", "four factors", {"granite", "block_count=3 " COMMON RMS KV2 ROTATED FACTORS, .optional = ""}},
    {"granitemoe",
     "experts with factors",
     {"granitemoe", "block_count=2 " COMMON RMS KV2 ROTATED FACTORS WIDE_EXPERTS, .optional = ""}},
    {"qwen2",
     "biases of queries, keys and values",
     {"qwen2", "block_count=3 " COMMON RMS KV2 ROTATED, .optional = "attn_q.bias attn_k.bias attn_v.bias"}},
    {"qwen3", "queries and keys normed by head", {"qwen3", "block_count=3 " COMMON RMS KV2 ROTATED, .optional = ""}},
    {"phi3",
     "queries, keys and values in one matrix",
     {"phi3", "block_count=3 " COMMON RMS KV2 "rope.dimension_count=48 rope.freq_base=1e4 ", .optional = "attn_qkv"}},
    {"glm4",
     "norms after blocks, half a head rotated",
     {"glm4", "block_count=3 " COMMON RMS KV2 "rope.dimension_count=32 rope.freq_base=1e4 ", .optional = ""}},
    {"qwen2moe",
     "a shared expert with a gate",
     {"qwen2moe", "block_count=2 " COMMON RMS KV2 ROTATED EXPERTS SHARED,
      .optional = "attn_q.bias attn_k.bias attn_v.bias output.weight"}},
    {"qwen3moe",
     "experts, queries and keys normed by head",
     {"qwen3moe", "block_count=2 " COMMON RMS KV2 ROTATED EXPERTS, .optional = "output.weight"}},
    {"olmoe",
     "experts, queries and keys normed by row",
     {"olmoe", "block_count=2 " COMMON RMS KV4 ROTATED WIDE_EXPERTS, .optional = "output.weight"}},
    {"gpt-oss",
     "sinks, windows, experts with biases, YaRN",
     {"gpt-oss",
      "block_count=2 " COMMON RMS KV2 EXPERTS
      "attention.sliding_window=24 rope.dimension_count=64 rope.freq_base=103.7533 " YARN,
      .optional = "attn_q.bias attn_k.bias attn_v.bias attn_output.bias output.weight"}},
    {"glm4moe",
     "sigmoid routing behind a dense layer",
     {"glm4moe",
      "block_count=2 " COMMON RMS KV2 EXPERTS SHARED
      "expert_gating_func=2 expert_weights_norm=true leading_dense_block_count=1 rope.dimension_count=32 rope.freq_base=1e4 ",
      .optional = "exp_probs output.weight attn_q.bias attn_k.bias attn_v.bias"}},
    {"gemma",
     "scaled embeddings",
     {"gemma", "block_count=3 " COMMON RMS "attention.head_count_kv=1 " ROTATED, .optional = ""}},
    {"gemma2",
     "capped scores, windows on every other layer",
     {"gemma2",
      "block_count=4 " COMMON RMS KV2 ROTATED
      "attention.sliding_window=24 attn_logit_softcapping=5.0 final_logit_softcapping=12.0 ",
      .optional = ""}},
    {"gemma3",
     "five windows and a whole layer, two bases",
     {"gemma3",
      "block_count=6 " COMMON RMS
      "attention.head_count_kv=1 attention.sliding_window=24 rope.dimension_count=64 rope.freq_base=1e6 rope.freq_base_swa=1e4 ",
      .optional = ""}},
    {"llama4",
     "experts on every other layer, layers without rotation",
     {"llama4",
      "block_count=4 " COMMON RMS KV2 ROTATED
      "expert_count=4 expert_used_count=4 expert_feed_forward_length=256 expert_gating_func=2 interleave_moe_layer_step=2 attention.sliding_window=8192 " SHARED,
      .optional = "output.weight"}},
    {"deepseek2",
     "latent attention, sigmoid routing, YaRN",
     {"deepseek2",
      "block_count=2 " LATENT RMS YARN
      "attention.q_lora_rank=256 rope.scaling.yarn_log_multiplier=0.0707 leading_dense_block_count=1 expert_count=4 expert_used_count=4 expert_feed_forward_length=256 expert_gating_func=2 expert_weights_norm=true expert_weights_scale=2.5 " SHARED,
      .optional = "exp_probs output.weight"}},
    {"deepseek2-lite",
     "latent attention, queries from the row",
     {"deepseek2", "block_count=2 " LATENT RMS "attention.q_lora_rank=0 leading_dense_block_count=1 " EXPERTS SHARED,
      .optional = "output.weight"}},
    {"gemma4",
     "embeddings of each layer, shared keys and values, wider global heads",
     {"gemma4",
      "block_count=6 context_length=512 embedding_length=256 feed_forward_length=512 attention.head_count=4 vocab_size=320 attention.head_count_kv=2 attention.key_length=128 attention.value_length=128 attention.key_length_swa=64 attention.value_length_swa=64 rope.dimension_count=128 rope.dimension_count_swa=64 attention.sliding_window=24 attention.sliding_window_pattern=[110110] attention.shared_kv_layers=3 embedding_length_per_layer_input=256 final_logit_softcapping=12.0 rope.freq_base=1e6 rope.freq_base_swa=1e4 " RMS,
      .optional = "rope_freqs attn_v post_norm layer_output_scale"}},
    {"olmo2",
     "only norms after blocks",
     {"olmo2", "block_count=3 " COMMON RMS KV2 ROTATED, .optional = "output.weight"}},
    {"olmo3",
     "and windows on three layers of four",
     {"olmo2",
      "block_count=4 " COMMON RMS KV2 ROTATED "attention.sliding_window=24 attention.sliding_window_pattern=[1110] ",
      .optional = "output.weight"}},
    {"exaone4",
     "only norms after blocks, queries and keys normed by head",
     {"exaone4", "block_count=3 " COMMON RMS KV2 ROTATED, .optional = ""}},
    {"exaone4-64",
     "and windows, which llama.cpp gives models of 64 layers",
     {"exaone4", "block_count=64 " DEEP "rope.dimension_count=64 attention.sliding_window=24 " RMS KV2,
      .optional = ""}},
    {"gpt2",
     "learned positions",
     {"gpt2", "block_count=3 " COMMON LAYER KV4, .optional = "attn_qkv attn_output.bias ffn_up.bias ffn_down.bias"}},
    {"bloom",
     "slopes in place of rotation",
     {"bloom", "block_count=3 " COMMON LAYER KV4, .optional = "attn_qkv attn_output.bias ffn_up.bias ffn_down.bias"}},
    {"gptneox",
     "attention beside the feed-forward part",
     {"gptneox",
      "block_count=3 " COMMON LAYER KV4 "rope.dimension_count=16 rope.freq_base=1e4 use_parallel_residual=true ",
      .optional = "attn_qkv attn_output.bias ffn_up.bias ffn_down.bias output.weight"}},
    {"falcon",
     "one head of keys, both blocks from one norm",
     {"falcon", "block_count=3 " COMMON LAYER ROTATED "attention.head_count_kv=1 ", .optional = "attn_qkv.weight"}},
    {"phi2",
     "part of a head rotated, biases in the head",
     {"phi2", "block_count=3 " COMMON LAYER KV4 "rope.dimension_count=32 rope.freq_base=1e4 ",
      .optional = "attn_q.bias attn_k.bias attn_v.bias attn_output.bias ffn_up.bias ffn_down.bias output"}},
    {"starcoder2",
     "biases everywhere",
     {"starcoder2", "block_count=3 " COMMON LAYER KV2 ROTATED,
      .optional = "attn_q.bias attn_k.bias attn_v.bias attn_output.bias ffn_up.bias ffn_down.bias"}},
    {"stablelm",
     "a quarter of a head rotated",
     {"stablelm",
      "block_count=3 " COMMON LAYER KV2 "rope.dimension_count=16 rope.freq_base=1e4 use_parallel_residual=false ",
      .optional = "ffn_norm output.weight"}},
    {"command-r",
     "scaled logits, both blocks from one norm",
     {"command-r", "block_count=3 " COMMON LAYER KV2 ROTATED "logit_scale=0.5 ", .optional = ""}},
    {"cohere2",
     "windows with rotation, whole layers without",
     {"cohere2", "block_count=4 " COMMON LAYER KV2 ROTATED "attention.sliding_window=24 logit_scale=0.5 ",
      .optional = ""}},
    {"mpt",
     "slopes, queries, keys and values within bounds",
     {"mpt", "block_count=2 " COMMON LAYER KV4 "attention.clamp_kqv=0.75 attention.max_alibi_bias=8.0 ",
      .optional = "attn_qkv"}},
    {"refact",
     "slopes in Llama's shape",
     {"refact", "block_count=2 " COMMON RMS "attention.head_count_kv=1 ", .optional = ""}},
    {"qwen",
     "twice the width of the feed-forward part",
     {"qwen", "block_count=2 " COMMON RMS KV4 ROTATED, .optional = "attn_qkv output.weight"}},
    {"plamo",
     "both blocks from one norm",
     {"plamo", "block_count=2 " COMMON RMS KV2 ROTATED, .optional = "output.weight"}},
    {"bitnet", "norms before the last matrices", {"bitnet", "block_count=2 " COMMON RMS KV2 ROTATED, .optional = ""}},
    {"jais2",
     "squared ReLU, layer norms",
     {"jais2", "block_count=2 " COMMON LAYER KV4 ROTATED,
      .optional = "attn_q.bias attn_k.bias attn_v.bias attn_output.bias ffn_up.bias ffn_down.bias"}},
    {"pangu-embedded",
     "biases of all of attention",
     {"pangu-embedded", "block_count=2 " COMMON RMS KV2 ROTATED,
      .optional = "attn_q.bias attn_k.bias attn_v.bias attn_output.bias output.weight"}},
    {"arctic",
     "experts beside the whole layer",
     {"arctic", "block_count=2 " COMMON RMS KV2 ROTATED WIDE_EXPERTS, .optional = "output.weight"}},
    {"maincoder",
     "norms behind rotation pair by pair",
     {"maincoder", "block_count=2 " COMMON RMS KV2 ROTATED, .optional = ""}},
    {"mistral4",
     "latent attention, softmax routing",
     {"mistral4",
      "block_count=2 " LATENT RMS
      "attention.q_lora_rank=256 leading_dense_block_count=1 expert_count=4 expert_used_count=4 expert_feed_forward_length=256 expert_weights_norm=true " SHARED,
      .optional = "output.weight"}},
    {"mimo2",
     "values narrower than keys, sinks, more heads of keys in windows",
     {"mimo2",
      "block_count=3 context_length=512 embedding_length=256 feed_forward_length=512 attention.head_count=8 "
      "attention.head_count_kv=(2,4,4) attention.key_length=64 attention.value_length=32 vocab_size=320 "
      "rope.dimension_count=32 rope.freq_base=1e6 rope.freq_base_swa=1e4 attention.sliding_window=24 "
      "attention.sliding_window_pattern=[011] expert_gating_func=2 expert_weights_norm=true " RMS EXPERTS,
      .optional = "attn_sinks exp_probs output.weight"}},
    {"grok",
     "capped scores, norms on both sides of blocks, experts beside a dense part",
     {"grok",
      "block_count=2 " COMMON RMS KV2 ROTATED EXPERTS
      "embedding_scale=1.5 attention.output_scale=0.125 logit_scale=0.5 "
      "attn_logit_softcapping=5.0 router_logit_softcapping=1e6 final_logit_softcapping=12.0 ",
      .optional = "ffn_gate.weight ffn_up.weight ffn_down.weight output.weight"}},
    {"minicpm3",
     "latent attention with keys and values in one matrix, three factors",
     {"minicpm3", "block_count=2 " WHOLE "attention.q_lora_rank=256 ", .optional = ""}},
    {"plm", "the same, queries from the row, squared ReLU", {"plm", "block_count=2 " WHOLE, .optional = ""}},
    {"hunyuan_vl", "norms behind rotation", {"hunyuan_vl", "block_count=2 " COMMON RMS KV2 ROTATED, .optional = ""}},
    {"paddleocr",
     "coordinates of pictures",
     {"paddleocr", "block_count=2 " COMMON RMS KV2 ROTATED "rope.dimension_sections=(16,8,8,0) ", .optional = ""}},
    {"mamba",
     "a state for each channel",
     {"mamba",
      "block_count=3 context_length=512 embedding_length=256 feed_forward_length=0 attention.head_count=0 vocab_size=320 " RMS
      "ssm.conv_kernel=4 ssm.inner_size=512 ssm.state_size=16 ssm.time_step_rank=16 ",
      .optional = "ssm_conv1d.bias output.weight"}},
    {"jamba",
     "attention without rotation among them, experts in every second layer",
     {"jamba",
      "block_count=3 " COMMON RMS "attention.head_count_kv=(0,2,0) expert_count=4 expert_used_count=4 "
      "ssm.conv_kernel=4 ssm.inner_size=512 ssm.state_size=16 ssm.time_step_rank=16 ",
      .optional = "ssm_conv1d.bias output.weight"}},
    {"rwkv7",
     "rows mixed with those before",
     {"rwkv7",
      "block_count=2 context_length=512 embedding_length=256 feed_forward_length=512 attention.head_count=0 vocab_size=320 " LAYER
      "wkv.head_size=64 attention.decay_lora_rank=64 attention.iclr_lora_rank=64 "
      "attention.value_residual_mix_lora_rank=32 attention.gate_lora_rank=128 ",
      .optional = "output.weight"}},
    {"rwkv6",
     "shares of the row before that follow from both",
     {"rwkv6",
      "block_count=3 context_length=512 embedding_length=256 feed_forward_length=512 attention.head_count=0 vocab_size=320 " LAYER
      "wkv.head_size=64 time_mix_extra_dim=32 time_decay_extra_dim=64 rescale_every_n_layers=2 ",
      .optional = "output.weight time_mix_lerp_fused"}},
    {"rwkv6qwen2",
     "shares of the row before that follow from both, in Qwen 2's layers",
     {"rwkv6qwen2",
      "block_count=2 context_length=512 embedding_length=256 feed_forward_length=512 attention.head_count=0 vocab_size=320 " RMS
      "attention.head_count_kv=2 wkv.head_size=64 time_mix_extra_dim=32 time_decay_extra_dim=64 token_shift_count=1 ",
      .optional = "output.weight"}},
    {"arwkv7",
     "rows mixed with those before, in Qwen 2's layers",
     {"arwkv7",
      "block_count=2 context_length=512 embedding_length=256 feed_forward_length=512 attention.head_count=0 vocab_size=320 " RMS
      "wkv.head_size=64 attention.decay_lora_rank=64 attention.iclr_lora_rank=64 "
      "attention.value_residual_mix_lora_rank=32 attention.gate_lora_rank=128 token_shift_count=1 ",
      .optional = "output.weight"}},
    {"falcon-h1",
     "states beside attention",
     {"falcon-h1", "block_count=2 " COMMON RMS KV2 ROTATED MAMBA, .optional = "ssm_conv1d.bias output.weight"}},
    {"mamba2",
     "states alone",
     {"mamba2",
      "block_count=3 context_length=512 embedding_length=256 feed_forward_length=0 attention.head_count=0 vocab_size=320 " RMS
          MAMBA,
      .optional = "ssm_conv1d.bias output.weight"}},
    {"granitehybrid",
     "states, attention without rotation, experts",
     {"granitehybrid",
      "block_count=3 " COMMON RMS FACTORS WIDE_EXPERTS SHARED MAMBA
      "attention.head_count_kv=(0,2,0) rope.scaling.finetuned=false ",
      .optional = "ssm_conv1d.bias"}},
    {"lfm2",
     "short convolutions",
     {"lfm2", "block_count=3 " COMMON RMS ROTATED "attention.head_count_kv=(0,2,0) shortconv.l_cache=3 ",
      .optional = ""}},
    {"qwen3next",
     "the delta rule, experts",
     {"qwen3next",
      "block_count=4 " COMMON RMS KV2 DELTA EXPERTS SHARED
      "rope.dimension_count=16 rope.freq_base=1e7 full_attention_interval=4 ",
      .optional = "attn_qkv output.weight", .seed = 15}}, // with 14 llama.cpp's steps part from its own batches
    {"qwen35",
     "the delta rule",
     {"qwen35",
      "block_count=4 " COMMON RMS KV2 DELTA
      "rope.dimension_count=16 rope.freq_base=1e7 full_attention_interval=4 rope.dimension_sections=(3,3,2,0) ",
      .optional = ""}},
    {"qwen35moe",
     "the delta rule, experts",
     {"qwen35moe",
      "block_count=4 " COMMON RMS KV2 DELTA EXPERTS SHARED
      "rope.dimension_count=16 rope.freq_base=1e7 full_attention_interval=4 rope.dimension_sections=(3,3,2,0) ",
      .optional = "output.weight"}},
};
enum { N_ROWS = sizeof rows / sizeof *rows, N_VOCAB = 320 };

static int list(void) {
    for (size_t i = 0; i < N_ROWS; i++) printf("%s %s: %s\n", rows[i].name, rows[i].m.arch, rows[i].why);
    return 0;
}

static const struct row *row_of(const char *name) {
    for (size_t i = 0; i < N_ROWS; i++)
        if (strcmp(rows[i].name, name) == 0) return &rows[i];
    return NULL;
}

static int type_of(const char *name) {
    for (int t = 0; t < TENSOR_N_TYPES; t++)
        if (strcmp(tensor_type_info((enum tensor_type)t)->name, name) == 0) return t;
    return -1;
}

static int write_model(const struct row *row, const char *path, enum tensor_type type) {
    struct arch_model m = row->m;
    size_t n;
    m.n_vocab = N_VOCAB;
    m.type = type;
    m.has_vocab = true;
    if (m.seed == 0) m.seed = 14;
    uint8_t *const bytes = arch_model_bytes(&m, &n);
    const bool ok = write_file(path, bytes, n);
    free(bytes);
    return ok ? 0 : 1;
}

int main(int argc, char **argv) {
    if (argc == 1) return list();
    const struct row *row = argc == 4 ? row_of(argv[1]) : NULL;
    const int type = argc == 4 ? type_of(argv[3]) : -1;
    if (!row || type < 0) {
        fprintf(stderr, "usage: wide_model [NAME OUT.gguf TYPE]; without NAME: which there are\n");
        return 2;
    }
    return write_model(row, argv[2], (enum tensor_type)type);
}
