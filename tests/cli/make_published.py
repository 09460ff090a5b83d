#!/usr/bin/env python3
"""tests/cli/make_published.py [NAME ...] - writes published.json: what transformers makes of small models whose weights a formula makes.

Wants torch and transformers, and a driver of llama.cpp in RUNNEL_PEER (peer_rule.py), which is asked about the converted files. Each row of MODELS is a class of config.json with numbers of its own; which tensors its folder has, under which
names, is what save_pretrained() writes, which is how checkpoints of it are published. Tensors of parts other than the text are left out but for
two. With NAME only those are made anew. Logits are kept of the last token of IDS and of the last greedy one."""
import copy
import json
import pathlib
import re
import sys
import tempfile

import torch
import transformers

transformers.logging.set_verbosity_error()

from formula_folder import numbers, write_formula_folder
from harness import Folder
from hf_folder import read_tensors
from plain_decoder import Plain, arctic, early, grok, grove, normed_around, omitting, parallel, plm, rwkv6, rwkv7
from published import FAR, peer_difference

IDS = [7, 31, 2, 40, 19, 5, 5, 28, 44, 11, 0, 36]
N_GREEDY = 12
TEXT = dict(vocab_size=48, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
            max_position_embeddings=64, bos_token_id=1, eos_token_id=47, pad_token_id=0)
HEADS = dict(TEXT, head_dim=12)
YARN = dict(rope_type='yarn', rope_theta=10000.0, factor=4.0, original_max_position_embeddings=8, beta_fast=32.0, beta_slow=1.0, mscale=1.0,
            mscale_all_dim=1.0, llama_4_scaling_beta=0.1)
PIXTRAL = dict(model_type='pixtral', hidden_size=16, intermediate_size=24, num_hidden_layers=1, num_attention_heads=2, image_size=28, patch_size=14, head_dim=8)
SIGLIP = dict(model_type='siglip_vision_model', hidden_size=16, intermediate_size=24, num_hidden_layers=1, num_attention_heads=2, image_size=28, patch_size=14)
CLIP = dict(SIGLIP, model_type='clip_vision_model', projection_dim=16)
QWEN_VIT = dict(depth=1, hidden_size=16, intermediate_size=24, num_heads=2, patch_size=14, out_hidden_size=32)
MROPE = dict(rope_type='default', rope_theta=10000.0, mrope_section=[2, 1, 1])
EXPERTS = dict(num_experts=4, num_experts_per_tok=2, moe_intermediate_size=16)
LLAMA4 = dict(HEADS, num_hidden_layers=4, intermediate_size_mlp=40, intermediate_size=24, num_local_experts=3, interleave_moe_layer_step=2, floor_scale=4,
              attention_chunk_size=8)
WINDOWS = dict(sliding_window=6, layer_types=['sliding_attention', 'full_attention'])
DELTA = dict(linear_num_key_heads=2, linear_num_value_heads=4, linear_key_head_dim=8, linear_value_head_dim=8, linear_conv_kernel_dim=4,
             layer_types=['linear_attention', 'full_attention'], rope_parameters=dict(MROPE, partial_rotary_factor=0.5))

MAMBA2 = dict(vocab_size=48, hidden_size=24, num_hidden_layers=2, num_heads=6, head_dim=8, state_size=10, n_groups=1, expand=2, conv_kernel=3, chunk_size=8, bos_token_id=1,
              eos_token_id=47, pad_token_id=0)
FALCON_H1 = dict(mamba_d_conv=4, mamba_d_state=10, lm_head_multiplier=0.5, embedding_multiplier=2.5, mlp_multipliers=[0.75, 1.5], key_multiplier=0.6, attention_in_multiplier=1.25,
                 attention_out_multiplier=0.8, ssm_multipliers=[0.7, 1.2, 0.9, 1.1, 0.8], ssm_in_multiplier=1.3, ssm_out_multiplier=0.9)
GRANITE_STATES = dict(layer_types=['mamba', 'attention'], mamba_n_heads=8, mamba_d_head=8, mamba_d_state=10, mamba_n_groups=1, mamba_expand=2, mamba_d_conv=3, num_local_experts=0,
                      shared_intermediate_size=40, position_embedding_type='rope')

MODELS = {
    'ministral3': ('Ministral3ForCausalLM', dict(HEADS, rope_parameters=YARN)),
    'llama4-unnormed': ('Llama4ForCausalLM', dict(LLAMA4, use_qk_norm=False)),
    'llama4-untuned': ('Llama4ForCausalLM', dict(LLAMA4, attn_temperature_tuning=False)),
    'gemma3-vision': ('Gemma3ForConditionalGeneration', dict(text_config=dict(HEADS, **WINDOWS), vision_config=SIGLIP, mm_tokens_per_image=4)),
    'gemma4-vision': ('Gemma4ForConditionalGeneration', dict(text_config=dict(HEADS, global_head_dim=16, hidden_size_per_layer_input=0, num_kv_shared_layers=0, **WINDOWS))),
    'mistral3-vision': ('Mistral3ForConditionalGeneration', dict(text_config=dict(HEADS, model_type='mistral', sliding_window=None), vision_config=PIXTRAL)),
    'ministral3-vision': ('Mistral3ForConditionalGeneration', dict(text_config=dict(HEADS, model_type='ministral3', rope_parameters=YARN), vision_config=PIXTRAL)),
    'llama4-vision': ('Llama4ForConditionalGeneration', dict(text_config=LLAMA4, vision_config=dict(
        hidden_size=16, intermediate_size=24, num_hidden_layers=1, num_attention_heads=2, image_size=28, patch_size=14, vision_output_dim=16,
        projector_input_dim=16, projector_output_dim=16))),
    'llava-next': ('LlavaNextForConditionalGeneration', dict(text_config=dict(TEXT, model_type='mistral', sliding_window=None), vision_config=CLIP)),
    'llava-onevision': ('LlavaOnevisionForConditionalGeneration', dict(text_config=dict(TEXT, model_type='qwen2'), vision_config=SIGLIP)),
    'idefics3': ('Idefics3ForConditionalGeneration', dict(text_config=dict(TEXT, model_type='llama'), vision_config=dict(SIGLIP, model_type='idefics3_vision'), scale_factor=2, pad_token_id=0)),
    'qwen2.5-vl': ('Qwen2_5_VLForConditionalGeneration', dict(text_config=dict(TEXT, rope_parameters=MROPE), vision_config=QWEN_VIT)),
    'qwen3-vl': ('Qwen3VLForConditionalGeneration', dict(text_config=dict(TEXT, head_dim=8, rope_parameters=MROPE), vision_config=dict(QWEN_VIT, deepstack_visual_indexes=[0]))),
    'qwen3-vl-moe': ('Qwen3VLMoeForConditionalGeneration', dict(text_config=dict(TEXT, head_dim=8, rope_parameters=MROPE, **dict(EXPERTS, moe_intermediate_size=20)), vision_config=dict(QWEN_VIT, deepstack_visual_indexes=[0]))),
    'qwen3.5-vision': ('Qwen3_5ForConditionalGeneration', dict(text_config=dict(TEXT, head_dim=16, **DELTA), vision_config=dict(QWEN_VIT))),
    'qwen3.5-moe-vision': ('Qwen3_5MoeForConditionalGeneration', dict(text_config=dict(TEXT, head_dim=16, shared_expert_intermediate_size=24, **DELTA, **EXPERTS), vision_config=dict(QWEN_VIT))),
    'glm4v': ('Glm4vForConditionalGeneration', dict(text_config=dict(TEXT, partial_rotary_factor=0.5, rope_parameters=dict(MROPE, mrope_section=[1, 1, 0], partial_rotary_factor=0.5)), vision_config=dict(QWEN_VIT, out_hidden_size=32))),
    'glm4v-moe': ('Glm4vMoeForConditionalGeneration', dict(text_config=dict(
        TEXT, head_dim=8, n_routed_experts=4, num_experts_per_tok=2, moe_intermediate_size=16, n_shared_experts=1, first_k_dense_replace=1,
        rope_parameters=dict(MROPE, mrope_section=[1, 1, 0], partial_rotary_factor=0.5)), vision_config=dict(QWEN_VIT, out_hidden_size=32))),
    'internvl': ('InternVLForConditionalGeneration', dict(text_config=dict(TEXT, model_type='qwen2'), vision_config=dict(hidden_size=16, intermediate_size=24, num_hidden_layers=1, num_attention_heads=2, image_size=[28, 28], patch_size=[14, 14]))),
    'lfm2-vl': ('Lfm2VlForConditionalGeneration', dict(text_config=dict(TEXT, model_type='lfm2', block_auto_adjust_ff_dim=False, layer_types=['conv', 'full_attention']), vision_config=dict(SIGLIP, model_type='siglip2_vision_model', num_patches=4))),
    'seed-oss': ('SeedOssForCausalLM', dict(HEADS, attention_bias=True)),
    'arcee': ('ArceeForCausalLM', dict(TEXT, rope_parameters=dict(rope_type='yarn', rope_theta=10000.0, factor=4.0, original_max_position_embeddings=16))),
    'nemotron': ('NemotronForCausalLM', dict(TEXT, partial_rotary_factor=0.5)),
    'olmo': ('OlmoForCausalLM', dict(TEXT, clip_qkv=None)),
    'glm': ('GlmForCausalLM', dict(TEXT, head_dim=8, partial_rotary_factor=0.5, attention_bias=True)),
    'ernie4.5': ('Ernie4_5ForCausalLM', dict(HEADS, use_bias=False)),
    'ernie4.5-moe': ('Ernie4_5_MoeForCausalLM', dict(TEXT, num_hidden_layers=3, moe_num_experts=4, moe_k=2, moe_num_shared_experts=1, moe_intermediate_size=16,
                                                     moe_layer_start_index=1, use_bias=False)),
    'hunyuan': ('HunYuanDenseV1ForCausalLM', dict(HEADS)),
    'hunyuan-alpha': ('HunYuanDenseV1ForCausalLM', dict(HEADS, rope_parameters=dict(rope_type='dynamic', rope_theta=10000.0, alpha=50.0, factor=1.0))),
    'hunyuan-moe': ('HunYuanMoEV1ForCausalLM', dict(HEADS, num_experts=4, moe_topk=2)),
    'dots1': ('Dots1ForCausalLM', dict(HEADS, num_hidden_layers=3, num_key_value_heads=4, n_routed_experts=4, num_experts_per_tok=2, n_shared_experts=1, moe_intermediate_size=16,
                                       first_k_dense_replace=1, norm_topk_prob=True, routed_scaling_factor=1.5, n_group=1, topk_group=1)),
    'lfm2-moe': ('Lfm2MoeForCausalLM', dict(TEXT, num_hidden_layers=3, layer_types=['conv', 'full_attention', 'conv'], num_dense_layers=1, num_experts=4,
                                            num_experts_per_tok=2, moe_intermediate_size=16)),
    'minimax-m2': ('MiniMaxM2ForCausalLM', dict(HEADS, num_local_experts=4, num_experts_per_tok=2, rotary_dim=6)),
    'glm4-moe-lite': ('Glm4MoeLiteForCausalLM', dict(TEXT, num_hidden_layers=3, num_key_value_heads=4, q_lora_rank=16, kv_lora_rank=16, qk_nope_head_dim=8, qk_rope_head_dim=4, v_head_dim=8,
                                                     n_routed_experts=4, num_experts_per_tok=2, n_shared_experts=1, moe_intermediate_size=16, n_group=1, topk_group=1)),
    'granitemoe': ('GraniteMoeForCausalLM', dict(TEXT, num_local_experts=4, num_experts_per_tok=2, residual_multiplier=0.5, embedding_multiplier=2.0, logits_scaling=2.0)),
    'granitemoeshared': ('GraniteMoeSharedForCausalLM', dict(TEXT, num_local_experts=4, num_experts_per_tok=2, shared_intermediate_size=24)),
    'ernie4.5-moe-between': ('Ernie4_5_MoeForCausalLM', dict(TEXT, num_hidden_layers=5, num_attention_heads=3, num_key_value_heads=1, head_dim=12, moe_num_experts=5,
                                                             moe_k=3, moe_num_shared_experts=2, moe_intermediate_size=20, moe_layer_start_index=1, moe_layer_end_index=3,
                                                             moe_layer_interval=2, use_bias=False)),
    'gemma2-uncapped': ('Gemma2ForCausalLM', dict(HEADS, query_pre_attn_scalar=12, attn_logit_softcapping=None, final_logit_softcapping=None, sliding_window=5)),
    'smollm3-own-layers': ('SmolLM3ForCausalLM', dict(TEXT, num_hidden_layers=3, no_rope_layers=[0, 1, 0])),
    'exaone4-no-windows': ('Exaone4ForCausalLM', dict(TEXT, num_hidden_layers=3, head_dim=10, sliding_window=None, sliding_window_pattern=0,
                                                     layer_types=['full_attention'] * 3)),
    'llama-longrope': ('LlamaForCausalLM', dict(TEXT, head_dim=12, original_max_position_embeddings=8, rope_parameters=dict(
        rope_type='longrope', rope_theta=10000.0, factor=8.0, original_max_position_embeddings=8, short_factor=[1, 1.1, 1.2, 1.5, 2, 3], long_factor=[1, 2, 3, 4, 5, 6]))),
    'glm4-moe-lite-3': ('Glm4MoeLiteForCausalLM', dict(TEXT, rms_norm_eps=1e-2, num_hidden_layers=3, num_attention_heads=3, num_key_value_heads=3, q_lora_rank=20, kv_lora_rank=12,
                                                       qk_nope_head_dim=10, qk_rope_head_dim=6, v_head_dim=14, n_routed_experts=5, num_experts_per_tok=2, n_shared_experts=1,
                                                       moe_intermediate_size=20, n_group=1, topk_group=1)),
    'deepseek-v2-3': ('DeepseekV2ForCausalLM', dict(TEXT, hidden_size=48, rms_norm_eps=1e-2, num_attention_heads=3, num_key_value_heads=3, q_lora_rank=None, kv_lora_rank=12, qk_nope_head_dim=10,
                                                    qk_rope_head_dim=6, v_head_dim=14, n_routed_experts=5, num_experts_per_tok=2, n_shared_experts=2, moe_intermediate_size=20,
                                                    first_k_dense_replace=1, topk_method='greedy', n_group=1, topk_group=1)),
    'dots1-published': ('Dots1ForCausalLM', dict(HEADS, num_hidden_layers=2, num_key_value_heads=4, n_routed_experts=5, num_experts_per_tok=3, n_shared_experts=2, moe_intermediate_size=20,
                                                 first_k_dense_replace=1, norm_topk_prob=True, routed_scaling_factor=2.5, n_group=1, topk_group=1, scoring_func='noaux_tc')),
    'qwen3-moe-bias': ('Qwen3MoeForCausalLM', dict(HEADS, attention_bias=True, num_experts=5, num_experts_per_tok=3, moe_intermediate_size=20, norm_topk_prob=True)),
    'arcee-bias': ('ArceeForCausalLM', dict(HEADS, attention_bias=True, mlp_bias=True)),
    'dots1-bias': ('Dots1ForCausalLM', dict(HEADS, attention_bias=True, num_key_value_heads=4, n_routed_experts=5, num_experts_per_tok=3, n_shared_experts=1, moe_intermediate_size=20,
                                            first_k_dense_replace=1, norm_topk_prob=False, routed_scaling_factor=1.0, n_group=1, topk_group=1)),
    'llama4-bias': ('Llama4ForCausalLM', dict(LLAMA4, attention_bias=True)),
    'seed-oss-bias': ('SeedOssForCausalLM', dict(HEADS, attention_bias=False, attention_out_bias=True, mlp_bias=True)),
    'ernie4.5-bias': ('Ernie4_5ForCausalLM', dict(HEADS, use_bias=True)),
    'olmo-clipped': ('OlmoForCausalLM', dict(TEXT, attention_bias=True, clip_qkv=0.75)),
    'olmoe-clipped': ('OlmoeForCausalLM', dict(TEXT, attention_bias=True, clip_qkv=0.75, num_experts=5, num_experts_per_tok=2, intermediate_size=20)),
    'llama-relu': ('LlamaForCausalLM', dict(HEADS, hidden_act='relu')),
    'qwen2-gelu': ('Qwen2ForCausalLM', dict(TEXT, hidden_act='gelu')),
    'mixtral-gelu': ('MixtralForCausalLM', dict(TEXT, hidden_act='gelu_new', num_local_experts=5, num_experts_per_tok=2, sliding_window=None)),
    'mamba2-bias': ('Mamba2ForCausalLM', dict(MAMBA2, use_bias=True, time_step_limit=[0.25, 0.75])),
    'mamba2-plain': ('Mamba2ForCausalLM', dict(MAMBA2, use_conv_bias=False)),
    'granite-hybrid-bias': ('GraniteMoeHybridForCausalLM', dict(TEXT, **GRANITE_STATES, attention_bias=True, mamba_proj_bias=True, mamba_conv_bias=False)),
    'mamba2-groups': ('Mamba2ForCausalLM', dict(MAMBA2, n_groups=2)),
    'granite-hybrid-groups': ('GraniteMoeHybridForCausalLM', dict(TEXT, **dict(GRANITE_STATES, mamba_n_heads=9, mamba_d_head=8, mamba_n_groups=3, hidden_size=36, mamba_expand=2, num_attention_heads=3, num_key_value_heads=1))),
    'bamba': ('BambaForCausalLM', dict(TEXT, num_hidden_layers=3, attn_layer_indices=[1], mamba_n_heads=8, mamba_d_head=8, mamba_d_state=10, mamba_n_groups=2, mamba_expand=2, mamba_d_conv=3, mlp_bias=False)),
    'bamba-bias': ('BambaForCausalLM', dict(TEXT, hidden_size=36, num_attention_heads=3, num_key_value_heads=1, attn_layer_indices=[0], mamba_n_heads=9, mamba_d_head=8, mamba_d_state=6, mamba_n_groups=3, mamba_expand=2,
                                            mlp_bias=True, attention_bias=True, mamba_proj_bias=True)),
    'lfm2-bias': ('Lfm2ForCausalLM', dict(TEXT, conv_bias=True, block_auto_adjust_ff_dim=False, layer_types=['conv', 'full_attention'])),
    'gptj': ('GPTJForCausalLM', dict(vocab_size=48, n_embd=36, n_inner=None, n_head=3, n_layer=2, n_positions=64, rotary_dim=6, bos_token_id=1, eos_token_id=47)),
    'phi-normed': ('PhiForCausalLM', dict(TEXT, qk_layernorm=True, partial_rotary_factor=0.5)),
    'stablelm-parallel': ('StableLmForCausalLM', dict(TEXT, qk_layernorm=True, use_parallel_residual=True, partial_rotary_factor=0.25, use_qkv_bias=False)),
    'stablelm-normed': ('StableLmForCausalLM', dict(TEXT, hidden_size=36, num_attention_heads=6, num_key_value_heads=3, qk_layernorm=True, partial_rotary_factor=1.0, use_qkv_bias=True)),
    'bloom-normed': ('BloomForCausalLM', dict(vocab_size=48, hidden_size=30, n_layer=2, n_head=5, apply_residual_connection_post_layernorm=True, bos_token_id=1, eos_token_id=47, pad_token_id=0)),
    'falcon-in-turn': ('FalconForCausalLM', dict(vocab_size=48, hidden_size=36, num_hidden_layers=2, num_attention_heads=3, multi_query=False, parallel_attn=False, alibi=False, bias=True,
                                                 new_decoder_architecture=False, bos_token_id=1, eos_token_id=47)),
    'falcon-heads': ('FalconForCausalLM', dict(vocab_size=48, hidden_size=36, num_hidden_layers=2, num_attention_heads=3, multi_query=False, parallel_attn=True, alibi=False, bias=False,
                                               new_decoder_architecture=False, bos_token_id=1, eos_token_id=47)),
    'starcoder-heads': ('GPTBigCodeForCausalLM', dict(vocab_size=48, n_embd=30, n_inner=50, n_head=3, n_layer=2, n_positions=64, multi_query=False, bos_token_id=1, eos_token_id=47)),
    'ernie4.5-moe-bias': ('Ernie4_5_MoeForCausalLM', dict(TEXT, num_hidden_layers=3, moe_num_experts=5, moe_k=3, moe_num_shared_experts=2, moe_intermediate_size=20, moe_layer_start_index=1,
                                                          use_bias=True, tie_word_embeddings=False)),
    'deepseek-v3-halves': ('DeepseekV3ForCausalLM', dict(TEXT, num_attention_heads=3, num_key_value_heads=3, q_lora_rank=20, kv_lora_rank=12, qk_nope_head_dim=10, qk_rope_head_dim=6, v_head_dim=14,
                                                         rope_interleave=False, n_routed_experts=6, num_experts_per_tok=2, n_shared_experts=1, moe_intermediate_size=20, first_k_dense_replace=1,
                                                         n_group=1, topk_group=1)),
    'deepseek-v3-halves-plain': ('DeepseekV3ForCausalLM', dict(TEXT, num_attention_heads=3, num_key_value_heads=3, q_lora_rank=None, kv_lora_rank=12, qk_nope_head_dim=10, qk_rope_head_dim=8, v_head_dim=14,
                                                               rope_interleave=False, n_routed_experts=6, num_experts_per_tok=2, n_shared_experts=1, moe_intermediate_size=20, first_k_dense_replace=2,
                                                               n_group=1, topk_group=1)),
    'llama-dynamic': ('LlamaForCausalLM', dict(HEADS, rope_parameters=dict(rope_type='dynamic', rope_theta=10000.0, factor=4.0))),
    'falcon-alibi': ('FalconForCausalLM', dict(vocab_size=48, hidden_size=32, num_hidden_layers=2, num_attention_heads=8, multi_query=False, parallel_attn=False, alibi=True, bias=True,
                                               new_decoder_architecture=False, bos_token_id=1, eos_token_id=47)),
    'falcon-alibi-one': ('FalconForCausalLM', dict(vocab_size=48, hidden_size=40, num_hidden_layers=2, num_attention_heads=4, multi_query=True, parallel_attn=True, alibi=True, bias=False,
                                                   new_decoder_architecture=False, bos_token_id=1, eos_token_id=47)),
    'deepseek-v3-bias': ('DeepseekV3ForCausalLM', dict(TEXT, num_attention_heads=3, num_key_value_heads=3, q_lora_rank=20, kv_lora_rank=12, qk_nope_head_dim=10, qk_rope_head_dim=6, v_head_dim=14,
                                                       attention_bias=True, n_routed_experts=6, num_experts_per_tok=2, n_shared_experts=1, moe_intermediate_size=20, first_k_dense_replace=1,
                                                       n_group=1, topk_group=1)),
    'deepseek-v2-bias': ('DeepseekV2ForCausalLM', dict(TEXT, hidden_size=48, num_attention_heads=3, num_key_value_heads=3, q_lora_rank=None, kv_lora_rank=12, qk_nope_head_dim=10, qk_rope_head_dim=6, v_head_dim=14,
                                                       attention_bias=True, n_routed_experts=6, num_experts_per_tok=2, n_shared_experts=1, moe_intermediate_size=20, first_k_dense_replace=1,
                                                       n_group=1, topk_group=1)),
    'mpt': ('MptForCausalLM', dict(vocab_size=48, d_model=30, n_heads=5, n_layers=2, max_seq_len=64, attn_config=dict(clip_qkv=0.75), bos_token_id=1, eos_token_id=47)),
    'dbrx': ('DbrxForCausalLM', dict(vocab_size=48, d_model=32, n_heads=4, n_layers=2, max_seq_len=64, attn_config=dict(clip_qkv=0.75, kv_n_heads=2, rope_theta=10000.0), ffn_config=dict(
        hidden_size=32, ffn_hidden_size=20, moe_num_experts=5, moe_top_k=2), bos_token_id=1, eos_token_id=47)),
    'bitnet': ('BitNetForCausalLM', dict(TEXT, hidden_size=36, num_attention_heads=3, num_key_value_heads=1, intermediate_size=44, tie_word_embeddings=True)),
    'bitnet-silu': ('BitNetForCausalLM', dict(TEXT, hidden_act='silu', tie_word_embeddings=True)),
    'jais2': ('Jais2ForCausalLM', dict(TEXT, hidden_size=36, num_attention_heads=3, num_key_value_heads=3)),
    'exaone-moe': ('ExaoneMoeForCausalLM', dict(HEADS, num_hidden_layers=4, num_attention_heads=3, num_key_value_heads=1, sliding_window=5, num_experts=5, num_experts_per_tok=2, moe_intermediate_size=20,
                                                num_shared_experts=1, first_k_dense_replace=1)),
    'afmoe': ('AfmoeForCausalLM', dict(HEADS, num_hidden_layers=4, num_attention_heads=3, num_key_value_heads=1, sliding_window=5, num_experts=5, num_experts_per_tok=2, moe_intermediate_size=20,
                                       num_shared_experts=2, num_dense_layers=1, route_scale=1.5, mup_enabled=True)),
    'opt-narrow': ('OPTForCausalLM', dict(vocab_size=48, hidden_size=36, ffn_dim=50, num_hidden_layers=2, num_attention_heads=3, max_position_embeddings=64, word_embed_proj_dim=20, do_layer_norm_before=False,
                                         pad_token_id=0, bos_token_id=1, eos_token_id=47)),
    'opt-after': ('OPTForCausalLM', dict(vocab_size=48, hidden_size=36, ffn_dim=50, num_hidden_layers=2, num_attention_heads=3, max_position_embeddings=64, do_layer_norm_before=False,
                                        pad_token_id=0, bos_token_id=1, eos_token_id=47)),
    'phimoe': ('PhimoeForCausalLM', dict(TEXT, hidden_size=36, num_attention_heads=6, num_key_value_heads=3, num_local_experts=5, num_experts_per_tok=2, attention_bias=True, lm_head_bias=True)),
    'phimoe-plain': ('PhimoeForCausalLM', dict(TEXT, num_local_experts=5, num_experts_per_tok=2, intermediate_size=20)),
    'mistral4': ('Mistral4ForCausalLM', dict(TEXT, hidden_size=48, num_attention_heads=3, num_key_value_heads=3, q_lora_rank=20, kv_lora_rank=12, qk_nope_head_dim=10, qk_rope_head_dim=6, v_head_dim=14,
                                             n_routed_experts=6, num_experts_per_tok=2, n_shared_experts=1, moe_intermediate_size=20, first_k_dense_replace=1,
                                             rope_parameters=dict(YARN, rope_type='yarn', type='yarn', max_position_embeddings=64))),
    'hunyuan-vl': ('HunYuanVLForConditionalGeneration', dict(text_config=dict(TEXT, head_dim=8, rope_parameters=dict(rope_type='dynamic', rope_theta=10000.0, alpha=50.0, factor=1.0, mrope_section=[1, 1, 1, 1])),
                                                             vision_config=dict(hidden_size=16, intermediate_size=24, num_hidden_layers=1, num_attention_heads=2, patch_size=14))),
    'paddleocr': ('PaddleOCRVLForConditionalGeneration', dict(text_config=dict(TEXT, head_dim=8, rope_parameters=MROPE), vision_config=dict(
        hidden_size=16, intermediate_size=24, num_hidden_layers=1, num_attention_heads=2, patch_size=14, image_size=28))),
    'mamba': ('MambaForCausalLM', dict(vocab_size=48, hidden_size=24, num_hidden_layers=2, state_size=10, conv_kernel=3, time_step_rank=5, expand=2, bos_token_id=1, eos_token_id=47, pad_token_id=0)),
    'mamba-bias': ('MambaForCausalLM', dict(vocab_size=48, hidden_size=26, num_hidden_layers=2, state_size=5, conv_kernel=4, time_step_rank=3, expand=3, use_bias=True, use_conv_bias=False, bos_token_id=1,
                                            eos_token_id=47, pad_token_id=0)),
    'falcon-mamba': ('FalconMambaForCausalLM', dict(vocab_size=48, hidden_size=24, num_hidden_layers=2, state_size=10, conv_kernel=3, time_step_rank=5, expand=2, bos_token_id=1, eos_token_id=47, pad_token_id=0)),
    'jamba': ('JambaForCausalLM', dict(TEXT, num_hidden_layers=4, attn_layer_period=3, attn_layer_offset=1, expert_layer_period=2, expert_layer_offset=1, num_experts=5, mamba_dt_rank=5, mamba_d_state=6, mamba_d_conv=3)),
    'jamba-dense': ('JambaForCausalLM', dict(TEXT, num_hidden_layers=3, attn_layer_period=2, attn_layer_offset=0, expert_layer_period=2, expert_layer_offset=1, num_experts=1, num_experts_per_tok=1, mamba_dt_rank=5,
                                             mamba_d_state=6, mamba_d_conv=3, mamba_proj_bias=True)),
    'nemotron-h': ('NemotronHForCausalLM', dict(TEXT, num_hidden_layers=None, layers_block_type=['linear_attention', 'mlp', 'full_attention', 'mlp'], head_dim=12, mamba_num_heads=6, mamba_head_dim=8, n_groups=2,
                                                ssm_state_size=10, conv_kernel=3)),
    'nemotron-h-moe': ('NemotronHForCausalLM', dict(TEXT, num_hidden_layers=None, layers_block_type=['linear_attention', 'moe', 'full_attention', 'moe'], head_dim=10, mamba_num_heads=6, mamba_head_dim=8,
                                                    n_groups=3, ssm_state_size=10, conv_kernel=3, n_routed_experts=5, moe_intermediate_size=20, moe_shared_expert_intermediate_size=24, num_experts_per_tok=2,
                                                    routed_scaling_factor=2.5)),
    'falcon-h1': ('FalconH1ForCausalLM', dict(TEXT, hidden_size=36, num_attention_heads=3, num_key_value_heads=1, head_dim=10, **FALCON_H1, mamba_d_ssm=56, mamba_n_heads=7, mamba_d_head=8, mamba_n_groups=1,
                                              mamba_rms_norm=False)),
    'falcon-h1-normed': ('FalconH1ForCausalLM', dict(TEXT, **FALCON_H1, mamba_d_ssm=54, mamba_n_heads=9, mamba_d_head=6, mamba_n_groups=3, mamba_rms_norm=True, mamba_norm_before_gate=False)),
    'falcon-h1-bias': ('FalconH1ForCausalLM', dict(HEADS, **dict(FALCON_H1, mamba_d_conv=2), mamba_d_ssm=48, mamba_n_heads=6, mamba_d_head=8, mamba_n_groups=2, mamba_rms_norm=True, mamba_norm_before_gate=True,
                                                   attention_bias=True, mlp_bias=True, mamba_proj_bias=True, projectors_bias=True,
                                                   mamba_conv_bias=False, time_step_limit=[0.25, 0.75])),
    'falcon-h1-tied': ('FalconH1ForCausalLM', dict(HEADS, mamba_d_conv=3, mamba_d_state=10, mamba_d_ssm=40, mamba_n_heads=4, mamba_d_head=10, mamba_n_groups=2, tie_word_embeddings=True, lm_head_multiplier=0.75)),
    'minicpm3': ('MiniCPM3ForCausalLM', dict(TEXT, hidden_size=36, num_attention_heads=3, num_key_value_heads=3, rms_norm_eps=1e-6, q_lora_rank=20, kv_lora_rank=12, qk_nope_head_dim=10, qk_rope_head_dim=6,
                                             v_head_dim=14, rope_parameters=dict(rope_type='default', rope_theta=10000.0))),
    'minicpm3-long': ('MiniCPM3ForCausalLM', dict(TEXT, hidden_size=40, num_attention_heads=5, num_key_value_heads=5, rms_norm_eps=1e-2, q_lora_rank=None, kv_lora_rank=14, qk_nope_head_dim=6, qk_rope_head_dim=8,
                                                  attention_bias=True, scale_emb=3, scale_depth=2.5, dim_model_base=16, tie_word_embeddings=False, rope_parameters=dict(
                                                      rope_type='longrope', rope_theta=10000.0, factor=8.0, original_max_position_embeddings=8, short_factor=[1, 1.1, 1.2, 1.5], long_factor=[1, 2, 3, 4]))),
    'mimo2': ('MiMoV2FlashForCausalLM', dict(HEADS, num_hidden_layers=4, num_key_value_heads=1, v_head_dim=10, sliding_window=5, layer_types=['full_attention', 'sliding_attention', 'sliding_attention', 'full_attention'],
                                             n_routed_experts=6, num_experts_per_tok=2, moe_intermediate_size=20, n_group=1, topk_group=1, attention_value_scale=0.707)),
    'mimo2-bias': ('MiMoV2FlashForCausalLM', dict(TEXT, hidden_size=36, num_hidden_layers=3, num_attention_heads=6, num_key_value_heads=3, head_dim=20, v_head_dim=14, sliding_window=6, attention_bias=True,
                                                  layer_types=['sliding_attention', 'full_attention', 'sliding_attention'], mlp_layer_types=['sparse', 'dense', 'sparse'], n_routed_experts=6, num_experts_per_tok=3,
                                                  moe_intermediate_size=20, n_group=3, topk_group=2, attention_value_scale=None, routed_scaling_factor=2.5, norm_topk_prob=True, rope_parameters=dict(
                                                      full_attention=dict(rope_type='default', rope_theta=1000000.0, partial_rotary_factor=0.5), sliding_attention=dict(rope_type='default', rope_theta=5000.0, partial_rotary_factor=0.5)))),
    'apertus': ('ApertusForCausalLM', dict(HEADS, num_attention_heads=3, num_key_value_heads=1, rope_parameters=dict(
        rope_type='llama3', rope_theta=12000.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=16))),
    'apertus-bias': ('ApertusForCausalLM', dict(HEADS, attention_bias=True, rope_parameters=dict(rope_type='default', rope_theta=10000.0))),
    'starcoder': ('GPTBigCodeForCausalLM', dict(vocab_size=48, n_embd=32, n_inner=64, n_head=4, n_layer=2, n_positions=64, multi_query=True, bos_token_id=1, eos_token_id=47)),
}
OTHER = re.compile(r'(^|\.)(visual|vision_tower|vision_model|multi_modal_projector|connector|embed_vision|audio_tower|embed_audio|image_newline|view_separator|vit|mlp_AR|projector|sam_model|view_seperator)\b')


def shapes_of(folder):
    shapes, kept = {}, 0
    for name, (_, shape, _) in read_tensors(folder / 'model.safetensors').items():
        kept += bool(OTHER.search(name))
        if not OTHER.search(name) or kept <= 2:
            shapes[name] = shape
    return shapes


def like_qwen2_moe(ours):
    """DeepSeek's first mixture as Qwen2's: its shared experts behind a gate that is always a half."""
    made = {}
    for name, t in ours.items():
        name = name.replace('.shared_experts.', '.shared_expert.')
        made[name] = 2 * t if name.endswith('shared_expert.down_proj.weight') else t
        if name.endswith('shared_expert.down_proj.weight'):
            made[name.replace('shared_expert.down_proj', 'shared_expert_gate')] = torch.zeros(1, t.shape[0])
    return made


def like_llama(ours):
    """InternLM 2 as Llama: rows of [key head][its queries, key, value] apart."""
    made, d, n_kv = {}, 8, 2
    for name, t in ours.items():
        for a, b in INTERNLM2:
            name = name.replace(a, b)
        if 'wqkv' not in name:
            made[name] = t
            continue
        rows = t.view(n_kv, -1, d, *t.shape[1:])
        for part, of in zip('qkv', (rows[:, :-2], rows[:, -2:-1], rows[:, -1:]), strict=True):
            made[name.replace('attention.wqkv', f'self_attn.{part}_proj')] = of.reshape(-1, *t.shape[1:])
    return made


INTERNLM2 = [('tok_embeddings', 'embed_tokens'), ('output.weight', 'lm_head.weight'), ('attention_norm', 'input_layernorm'), ('ffn_norm', 'post_attention_layernorm'),
             ('attention.wo', 'self_attn.o_proj'), ('feed_forward.w1', 'mlp.gate_proj'), ('feed_forward.w3', 'mlp.up_proj'), ('feed_forward.w2', 'mlp.down_proj')]
EXAONE = [('transformer.wte', 'model.embed_tokens'), ('transformer.ln_f', 'model.norm'), ('transformer.h.', 'model.layers.'), ('ln_1', 'input_layernorm'), ('ln_2', 'post_attention_layernorm'),
          ('attn.attention.', 'self_attn.'), ('self_attn.out_proj', 'self_attn.o_proj'), ('mlp.c_fc_0', 'mlp.gate_proj'), ('mlp.c_fc_1', 'mlp.up_proj'), ('mlp.c_proj', 'mlp.down_proj')]


def renamed(pairs):
    def run(ours):
        for a, b in pairs:
            ours = {name.replace(a, b): t for name, t in ours.items()}
        return ours
    return run


def codeshell(ours):
    made = {}
    for name, t in ours.items():
        for a, b in [('transformer.wte', 'model.embed_tokens'), ('transformer.ln_f', 'model.norm'), ('transformer.h.', 'model.layers.'), ('ln_1', 'input_layernorm'), ('ln_2', 'post_attention_layernorm'),
                     ('attn.c_proj', 'self_attn.o_proj')]:
            name = name.replace(a, b)
        if 'c_attn' not in name:
            made[name] = t
            continue
        for part, of in zip('qkv', t.split([32, 16, 16]), strict=True):
            made[name.replace('attn.c_attn', f'self_attn.{part}_proj')] = of
    return made


def layers(n, of_layer, rest):
    return {**{name.replace('%d', str(l)): shape for l in range(n) for name, shape in of_layer.items()}, **rest}


def both(name, *shape):
    return {f'{name}.weight': list(shape), f'{name}.bias': [shape[0]]}


def weights(**named):
    return {f'{name}.weight': list(shape) for name, shape in named.items()}


LLAMA_LAYER = {f'model.layers.%d.{name}.weight': shape for name, shape in {
    'input_layernorm': [32], 'post_attention_layernorm': [32], 'self_attn.q_proj': [40, 32], 'self_attn.k_proj': [20, 32], 'self_attn.v_proj': [20, 32], 'self_attn.o_proj': [32, 40],
    'mlp.gate_proj': [48, 32], 'mlp.up_proj': [48, 32], 'mlp.down_proj': [32, 48]}.items()}
LLAMA_LAYER_8 = {name: [{40: 32, 20: 16}.get(n, n) for n in shape] for name, shape in LLAMA_LAYER.items()}     # heads that divide the width, as llama.cpp wants them in some
LLAMA_REST = {'model.embed_tokens.weight': [48, 32], 'model.norm.weight': [32], 'lm_head.weight': [48, 32]}
TENS = dict(TEXT, head_dim=10, rms_norm_eps=1e-5)
EIGHTS = dict(TEXT, rms_norm_eps=1e-5)


def back(names, pairs):
    for b, a in reversed(pairs):
        names = {name.replace(a, b): shape for name, shape in names.items()}
    return names


def internlm2_shapes():
    made = {}
    for name, shape in layers(2, LLAMA_LAYER_8, LLAMA_REST).items():
        if 'q_proj' in name:
            made[name.replace('self_attn.q_proj', 'attention.wqkv')] = [64, 32]
        elif 'k_proj' not in name and 'v_proj' not in name:
            made.update(back({name: shape}, INTERNLM2))
    return made


def deepseek_shapes(n_kv=2):
    experts = {f'model.layers.%d.mlp.{which}.{part}_proj.weight': ([n, 32] if part != 'down' else [32, n])
               for which, n in [*((f'experts.{e}', 20) for e in range(5)), ('shared_experts', 40)] for part in ('gate', 'up', 'down')}
    dense = {name: [32, 32] if n_kv == 4 and ('k_proj' in name or 'v_proj' in name) else shape for name, shape in LLAMA_LAYER_8.items()}
    attention = {name: shape for name, shape in dense.items() if '.mlp.' not in name}
    sparse = {name.replace('%d', '1'): shape for name, shape in {**attention, **experts, 'model.layers.%d.mlp.gate.weight': [5, 32]}.items()}
    return {**{name.replace('%d', '0'): shape for name, shape in dense.items()}, **sparse, **LLAMA_REST}


def packed(names, d=8, n=4, n_kv=2):
    """All queries, all keys and all values apart; names of the rest as Llama's."""
    def run(ours):
        made = {}
        for name, t in ours.items():
            for a, b in names:
                name = name.replace(a, b)
            for packed_name in ('W_pack', 'query_key_value', 'c_attn'):
                if f'.{packed_name}.' in name:
                    for part, of in zip('qkv', t.split([n * d, n_kv * d, n_kv * d]), strict=True):
                        made[name.replace(packed_name, f'{part}_proj')] = of
                    break
            else:
                made[name] = t
        return made
    return run


def head_of_length_1(names):
    def run(ours):
        made = names(ours)
        made['lm_head.weight'] = torch.nn.functional.normalize(made['lm_head.weight'])
        return made
    return run


PLAIN_NAMES = [('model.', ''), ('embed_tokens.weight', 'embed'), ('lm_head.weight', 'head'), ('layers.layers.', ''), ('layers.', ''), ('self_attn.', ''), ('mlp.', ''), ('_proj.weight', ''), ('_proj.bias', '.bias'),
               ('input_layernorm.weight', 'attn_norm'), ('post_attention_layernorm.weight', 'ffn_norm'), ('norm.weight', 'norm')]


def plain(names, halves=(), **c):
    """A model of plain_decoder.py. names: of tensors, after what packed() or the like does."""
    def make(ours):
        made = {}
        for name, t in ours.items():
            for a, b in names:
                name = name.replace(a, b)
            for whole, first, second in halves:
                if name.endswith(whole):
                    made[name.removesuffix(whole) + first], made[name.removesuffix(whole) + second] = t.chunk(2)
                    break
            else:
                made[name] = t
        return Plain(made, **c)
    return make


def packed_shapes(at, name, packed_shape, bias=False):
    """Llama's shapes with one matrix for queries, keys and values, the layers of which are at `at`."""
    made = {}
    for x, shape in LLAMA_LAYER_8.items():
        if 'q_proj' in x:
            made[x.replace('self_attn.q_proj', f'{at}.{name}')] = packed_shape
            if bias:
                made[x.replace('self_attn.q_proj.weight', f'{at}.{name}.bias')] = packed_shape[:1]
        elif 'k_proj' not in x and 'v_proj' not in x:
            made[x.replace('self_attn.o_proj', f'{at}.dense') if at == 'attention' else x] = shape
    return made


def wider(shapes, sizes):
    return {name: [sizes.get(n, n) for n in shape] for name, shape in shapes.items()}


def without(parts):
    return lambda ours: {name: t for name, t in ours.items() if not any(part in name for part in parts)}


def chain(*steps):
    def run(x):
        for step in steps:
            x = step(x)
        return x
    return run


def bailing_experts(n=5, n_shared=40):
    return {**{f'model.layers.%d.mlp.{which}.{part}_proj.weight': [32, width] if part == 'down' else [width, 32]
               for which, width in [*((f'experts.{e}', 20) for e in range(n)), ('shared_experts', n_shared)] for part in ('gate', 'up', 'down')}, 'model.layers.%d.mlp.gate.weight': [n, 32]}


def bailing2_shapes():
    trunk = {**packed_shapes('attention', 'query_key_value', [64, 32]), 'model.layers.%d.attention.query_layernorm.weight': [8], 'model.layers.%d.attention.key_layernorm.weight': [8]}
    sparse = {**{x: shape for x, shape in trunk.items() if '.mlp.' not in x}, **bailing_experts(6, 20), 'model.layers.%d.mlp.gate.expert_bias': [6]}
    return {**{x.replace('%d', '0'): shape for x, shape in trunk.items()}, **{x.replace('%d', '1'): shape for x, shape in sparse.items()}, **LLAMA_REST}


BAILING = [('word_embeddings', 'embed_tokens'), ('attention.dense', 'self_attn.o_proj'), ('attention.query', 'self_attn.query'), ('attention.key', 'self_attn.key')]
QWEN = [('transformer.wte', 'model.embed_tokens'), ('transformer.ln_f', 'model.norm'), ('transformer.h.', 'model.layers.'), ('ln_1', 'input_layernorm'), ('ln_2', 'post_attention_layernorm'), ('.attn.c_proj', '.self_attn.o_proj'),
        ('.attn.c_attn', '.self_attn.c_attn'), ('mlp.w2', 'mlp.gate_proj'), ('mlp.w1', 'mlp.up_proj'), ('mlp.c_proj', 'mlp.down_proj')]


def jais_names(tied):
    """Its matrices lie as convolutions do; of the gate's two the second is the gate."""
    def run(ours):
        made = {}
        for name, t in ours.items():
            for a, b in [('transformer.', ''), ('h.', ''), ('wte.weight', 'embed'), ('lm_head.weight', 'head'), ('ln_f.weight', 'norm'), ('ln_f.bias', 'norm.bias'), ('ln_1.weight', 'attn_norm'), ('ln_1.bias', 'attn_norm.bias'),
                         ('ln_2.weight', 'ffn_norm'), ('ln_2.bias', 'ffn_norm.bias'), ('attn.c_proj', 'o'), ('mlp.c_proj', 'down'), ('mlp.c_fc2', 'gate'), ('mlp.c_fc', 'up'), ('attn.c_attn', 'qkv'), ('.weight', '')]:
                name = name.replace(a, b)
            t = t.T if t.dim() == 2 and name not in ('embed', 'head') else t
            if '.qkv' in name:
                made.update({name.replace('qkv', p): part for p, part in zip('qkv', t.chunk(3), strict=True)})
            else:
                made[name] = t
        return made
    return run


def jais_shapes(n, n_ff, tied):
    layer = {f'transformer.h.%d.{x}.{part}': shape for x, of in {'ln_1': [n], 'ln_2': [n], 'attn.c_attn': [n, 3 * n], 'attn.c_proj': [n, n], 'mlp.c_fc': [n, n_ff], 'mlp.c_fc2': [n, n_ff], 'mlp.c_proj': [n_ff, n]}.items()
             for part, shape in (('weight', of), ('bias', of[-1:]))}
    rest = {'transformer.wte.weight': [48, n], 'transformer.ln_f.weight': [n], 'transformer.ln_f.bias': [n], **({} if tied else {'lm_head.weight': [48, n]})}
    return layers(2, layer, rest)


JAIS = dict(model_type='jais', vocab_size=48, n_embd=30, n_head=5, n_inner=44, n_layer=2, n_positions=64, layer_norm_epsilon=1e-5, activation_function='swiglu', position_embedding_type='alibi', scale_attn_weights=True)
ELM_Q, ELM_KV, ELM_FF = [3, 6, 6], [1, 2, 3], [24, 40, 56]


def openelm_shapes(normed):
    made = {'transformer.token_embeddings.weight': [48, 32], 'transformer.norm.weight': [32]}
    for i, (q, kv, ff) in enumerate(zip(ELM_Q, ELM_KV, ELM_FF)):
        made |= {f'transformer.layers.{i}.{x}.weight': shape for x, shape in {
            'attn_norm': [32], 'ffn_norm': [32], 'attn.qkv_proj': [(q + 2 * kv) * 10, 32], 'attn.out_proj': [32, q * 10], 'ffn.proj_1': [2 * ff, 32], 'ffn.proj_2': [32, ff],
            **({'attn.q_norm': [10], 'attn.k_norm': [10]} if normed else {})}.items()}
    return made


def openelm_names(ours):
    made = {}
    for name, t in ours.items():
        for a, b in [('transformer.token_embeddings.weight', 'embed'), ('transformer.norm.weight', 'norm'), ('transformer.layers.', ''), ('attn.q_norm', 'q_norm'), ('attn.k_norm', 'k_norm'), ('attn.out_proj', 'o'),
                     ('ffn.proj_2', 'down'), ('.weight', '')]:
            name = name.replace(a, b)
        i = int(name[0]) if name[0].isdigit() else 0
        if 'qkv_proj' in name:
            made.update({f'{i}.{p}': part for p, part in zip('qkv', t.split([10 * n for n in (ELM_Q[i], ELM_KV[i], ELM_KV[i])]), strict=True)})
        elif 'proj_1' in name:
            made[f'{i}.gate'], made[f'{i}.up'] = t.chunk(2)
        else:
            made[name] = t
    return made


OPENELM = dict(model_type='openelm', vocab_size=48, model_dim=32, head_dim=10, num_transformer_layers=3, num_query_heads=ELM_Q, num_kv_heads=ELM_KV, ffn_multipliers=[0.75, 1.2, 1.73], ffn_dim_divisor=8, max_context_length=64,
               rope_freq_constant=10000, rope_max_length=128, activation_fn_name='swish', normalization_layer_name='rms_norm', ffn_with_glu=True, share_input_output_layers=True)
DECI_BLOCKS = [(2, 0.05), (None, 0.05), ('linear', 5.0), (1, None), (4, 12.0), (None, None)]     # heads in a group, factor of the feed-forward part
DECI_WHOLE = [(2, 0.05), (None, 0.05), ('linear', 5.0), (4, 12.0)]


def deci_shapes(blocks):
    made = dict(LLAMA_REST)
    for i, (group, ff) in enumerate(blocks):
        kv, n = 32 // group if isinstance(group, int) else 0, 0 if ff is None else -(-int(64 * ff / 3) // 256) * 256
        of = {'input_layernorm': [32], 'self_attn.q_proj': [32, 32], 'self_attn.k_proj': [kv, 32], 'self_attn.v_proj': [kv, 32], 'self_attn.o_proj': [32, 32]} if kv else {}
        of |= {'input_layernorm': [32], 'self_attn.linear_attn': [32, 32]} if group == 'linear' else {}
        of |= {'post_attention_layernorm': [32], 'mlp.gate_proj': [n, 32], 'mlp.up_proj': [n, 32], 'mlp.down_proj': [32, n]} if n else {}
        made |= {f'model.layers.{i}.{x}.weight': shape for x, shape in of.items()}
    return made



def deci_config(blocks):
    return dict(EIGHTS, model_type='nemotron-nas', num_key_value_heads=None, intermediate_size=None, num_hidden_layers=len(blocks), hidden_act='silu', tie_word_embeddings=False, rope_theta=10000.0, block_configs=[
        dict(attention=dict(n_heads_in_group=g if isinstance(g, int) else None, no_op=g is None, num_sink_tokens=None, replace_with_linear=g == 'linear', sparsify=None, window_length=None),
             ffn=dict(ffn_mult=f, no_op=f is None, replace_with_linear=False, sparsify=None)) for g, f in blocks])


def smallthinker(n, unwindowed, **own):
    """Its configuration with n layers, of which these have neither window nor rotation, and its reference."""
    layout = [int(i not in unwindowed) for i in range(n)]
    config = {**{k: v for k, v in TENS.items() if k != 'intermediate_size'}, 'num_hidden_layers': n, 'model_type': 'smallthinker', 'moe_num_primary_experts': 5, 'moe_num_active_primary_experts': 2, 'moe_ffn_hidden_size': 20,
              'norm_topk_prob': True, 'rope_theta': 10000.0, 'rope_layout': layout, 'sliding_window_layout': layout, 'sliding_window_size': 6, 'tie_word_embeddings': False, **own}
    layer = {x: shape for x, shape in LLAMA_LAYER.items() if 'mlp' not in x}
    layer |= {f'model.layers.%d.block_sparse_moe.experts.{e}.{p}.weight': [32, 20] if p == 'down' else [20, 32] for e in range(5) for p in ('gate', 'up', 'down')}
    layer['model.layers.%d.block_sparse_moe.primary_router.weight'] = [5, 32]
    names = [('block_sparse_moe.primary_router.weight', 'router'), ('block_sparse_moe.', ''), ('gate.weight', 'gate'), ('up.weight', 'up'), ('down.weight', 'down'), *PLAIN_NAMES]
    windowed = [i for i, x in enumerate(config['sliding_window_layout']) if x]
    return ('SmallThinkerForCausalLM', config, layers(n, layer, LLAMA_REST), None, None,
            plain(names, n_layer=n, n_head=4, n_head_kv=2, eps=1e-5, base=10000.0, act=torch.relu, n_used=2, layer=early, sigmoid=not own['moe_primary_router_apply_softmax'], windowed=windowed, window=config['sliding_window_size'],
                  unrotated=[i for i, x in enumerate(config['rope_layout']) if not x]))


def cogvlm_shapes():
    made = {}
    for x, shape in layers(2, LLAMA_LAYER_8, LLAMA_REST).items():
        if 'q_proj' in x:
            made |= {x.replace('q_proj', f'{of}_expert_query_key_value'): [96, 32] for of in ('language', 'vision')}
        elif 'o_proj' in x:
            made |= {x.replace('o_proj', f'{of}_expert_dense'): shape for of in ('language', 'vision')}
        elif '.mlp.' in x:
            made |= {x.replace('.mlp.', f'.mlp.{of}_mlp.'): shape for of in ('language', 'vision')}
        elif 'k_proj' not in x and 'v_proj' not in x:
            made[x] = shape
    return {**made, 'model.vision.boi': [1, 1, 32]}


PLAMO3 = {'pre_mixer_norm': ('attn_norm', 1), 'post_mixer_norm': ('post_attn_norm', 1 / 5), 'pre_mlp_norm': ('ffn_norm', 1), 'post_mlp_norm': ('post_ffn_norm', 5 ** -1.5), 'mixer.q_norm': ('q_norm', 1), 'mixer.k_norm': ('k_norm', 1)}


def plamo3(n, period):
    """Its configuration with n layers, of which every period-th has no window, and its reference."""
    of = {'pre_mixer_norm': [32], 'post_mixer_norm': [32], 'pre_mlp_norm': [32], 'post_mlp_norm': [32], 'mixer.qkv_proj': [50, 32], 'mixer.o_proj': [32, 30], 'mixer.q_norm': [10], 'mixer.k_norm': [10],
          'mlp.gate_up_proj': [96, 32], 'mlp.down_proj': [32, 48]}
    shapes = layers(n, {f'model.layers.layers.%d.{x}.weight': shape for x, shape in of.items()}, {'model.embed_tokens.weight': [48, 32], 'model.norm.weight': [32]})
    config = dict(TENS, num_hidden_layers=n, num_attention_heads=3, num_key_value_heads=1, model_type='plamo3', window_size=5, sliding_window_pattern=period, rope_theta=1000000.0, rope_local_theta=10000.0, tie_word_embeddings=True)

    def names(ours):
        made = {}
        for name, t in ours.items():
            i, _, rest = name.removeprefix('model.layers.layers.').partition('.')
            rest = rest.removesuffix('.weight')
            if not name.startswith('model.layers'):
                made[{'model.embed_tokens.weight': 'embed', 'model.norm.weight': 'norm'}[name]] = t + 1 if 'norm' in name else t
            elif rest in PLAMO3:
                made[f'{i}.{PLAMO3[rest][0]}'] = t + PLAMO3[rest][1]
            elif rest == 'mixer.qkv_proj':
                made.update({f'{i}.{p}': part for p, part in zip('qkv', t.split([30, 10, 10]), strict=True)})
            elif rest == 'mlp.gate_up_proj':
                made[f'{i}.gate'], made[f'{i}.up'] = t.chunk(2)
            else:
                made[f'{i}.' + {'mixer.o_proj': 'o', 'mlp.down_proj': 'down'}[rest]] = t
        return made
    return ('Plamo3ForCausalLM', config, shapes, None, None,
            chain(names, plain([], n_layer=n, n_head=3, n_head_kv=1, eps=1e-5, base=1000000.0, base_of_windows=10000.0, windowed=[i for i in range(n) if (i + 1) % period], window=5, layer=normed_around)))


def plm_model(n_layer, n_head, rank, nope, rot, v, tied, d=32):
    config = dict(TEXT, hidden_size=d, num_hidden_layers=n_layer, num_attention_heads=n_head, num_key_value_heads=n_head, model_type='plm', hidden_act='relu2', rms_norm_eps=1e-5, q_lora_rank=None, kv_lora_rank=rank,
                  qk_nope_head_dim=nope, qk_rope_head_dim=rot, v_head_dim=v, rope_theta=100000.0, tie_word_embeddings=tied)
    of = {'input_layernorm': [d], 'self_attn.q_proj': [n_head * (nope + rot), d], 'self_attn.kv_a_proj_with_mqa': [rank + rot, d], 'self_attn.kv_a_layernorm': [rank], 'self_attn.kv_b_proj': [n_head * (nope + v), rank],
          'self_attn.o_proj': [d, n_head * v], 'post_attention_layernorm': [d], 'mlp.up_proj': [48, d], 'mlp.down_proj': [d, 48]}
    shapes = layers(n_layer, {f'model.layers.%d.{x}.weight': shape for x, shape in of.items()},
                    {'model.embed_tokens.weight': [48, d], 'model.norm.weight': [d], **({} if tied else {'lm_head.weight': [48, d]})})
    names = [('kv_a_proj_with_mqa.weight', 'kv_a'), ('kv_a_layernorm.weight', 'kv_a_norm'), *PLAIN_NAMES]
    return ('PLMForCausalLM', config, shapes, None, None,
            plain(names, n_layer=n_layer, n_head=n_head, n_head_kv=n_head, eps=1e-5, base=100000.0, pairs=True, layer=plm, rank=rank, nope=nope, n_rot=rot, dim_v=v))


def grove_model(n_layer, dense, n_expert, n_used, heads, chunk, **own):
    config = dict(HEADS, num_hidden_layers=n_layer, num_attention_heads=heads[0], num_key_value_heads=heads[1], model_type='grove_moe', hidden_act='silu', rms_norm_eps=1e-6, num_experts=n_expert, num_experts_per_tok=n_used,
                  moe_intermediate_size=20, norm_topk_prob=True, decoder_sparse_step=1, mlp_only_layers=dense, use_sliding_window=False, sliding_window=None, rope_theta=10000.0, **own)
    of = {'input_layernorm': [32], 'post_attention_layernorm': [32], 'self_attn.q_proj': [12 * heads[0], 32], 'self_attn.k_proj': [12 * heads[1], 32], 'self_attn.v_proj': [12 * heads[1], 32],
          'self_attn.o_proj': [32, 12 * heads[0]], 'self_attn.q_norm': [12], 'self_attn.k_norm': [12]}
    shapes = layers(n_layer, {f'model.layers.%d.{x}.weight': shape for x, shape in of.items()}, LLAMA_REST)
    for i in range(n_layer):
        mlps = {'mlp.': 48} if i in dense else {**{f'mlp.experts.{e}.': 20 for e in range(n_expert)}, **{f'mlp.chunk_experts.{e}.': chunk for e in range(n_expert // 2)}}
        shapes |= {f'model.layers.{i}.{x}{p}_proj.weight': [32, n] if p == 'down' else [n, 32] for x, n in mlps.items() for p in ('gate', 'up', 'down')}
        if i not in dense:
            shapes |= {f'model.layers.{i}.mlp.gate.weight': [n_expert, 32], f'model.layers.{i}.mlp.expert_bias': [n_expert]}
    if own.get('attention_bias'):
        shapes |= {x.replace('weight', 'bias'): shape[:1] for x, shape in shapes.items() if 'self_attn' in x and '_proj' in x}
    names = [('mlp.gate.weight', 'router'), ('mlp.chunk_experts', 'chunks'), *PLAIN_NAMES]
    return ('GroveMoeForCausalLM', config, shapes, None, None,
            plain(names, n_layer=n_layer, n_head=heads[0], n_head_kv=heads[1], eps=1e-6, base=10000.0, layer=grove, n_used=n_used))


GROK = [('pre_attn_norm', 'attn_norm'), ('pre_moe_norm', 'ffn_norm'), ('post_moe_norm', 'post_ffn_norm'), ('.scale', ''), ('moe_block.gate.weight', 'router'), ('moe_block.', ''), ('block_sparse_moe.gate.weight', 'router'),
        ('block_sparse_moe.', ''), ('linear_v.weight', 'up'), ('linear_1.weight', 'down'), ('linear.weight', 'gate'), ('w1.weight', 'gate'), ('w2.weight', 'down'), ('w3.weight', 'up'), ('.attn.', '.'), ('attn_norm.weight', 'attn_norm'),
        ('ffn_norm.weight', 'ffn_norm'), *PLAIN_NAMES]


def grok1_model(n_layer, heads, n_expert, n_used, tied, d=30, **own):
    n, kv = heads
    config = dict(TEXT, hidden_size=d, num_hidden_layers=n_layer, num_attention_heads=n, num_key_value_heads=kv, model_type='grok-1', num_experts=n_expert, num_experts_per_tok=n_used, rms_norm_eps=1e-5,
                  attn_output_multiplier=0.3, embedding_multiplier_scale=1.75, output_multiplier_scale=0.6, max_attn_value=4.0, tie_word_embeddings=tied, **own)
    of = {**{f'{x}_norm.scale': [d] for x in ('pre_attn', 'post_attn', 'pre_moe', 'post_moe')}, 'attn.q_proj.weight': [d, d], 'attn.k_proj.weight': [d // n * kv, d], 'attn.v_proj.weight': [d // n * kv, d], 'attn.o_proj.weight': [d, d],
          'moe_block.gate.weight': [n_expert, d], **{f'moe_block.experts.{e}.{p}.weight': [d, 48] if p == 'linear_1' else [48, d] for e in range(n_expert) for p in ('linear', 'linear_v', 'linear_1')}}
    shapes = layers(n_layer, {f'model.layers.%d.{x}': shape for x, shape in of.items()}, {'model.embed_tokens.weight': [48, d], 'model.norm.scale': [d], **({} if tied else {'lm_head.weight': [48, d]})})
    return ('Grok1ModelForCausalLM', config, shapes, None, None,
            plain(GROK, n_layer=n_layer, n_head=n, n_head_kv=kv, eps=1e-5, base=10000.0, act=torch.nn.functional.gelu, embed_scale=1.75, head_scale=0.6, scale=0.3, cap=4.0, router_cap=None, n_used=n_used, layer=grok))


def grok2_model(n_layer, residual, **own):
    config = dict(TEXT, num_hidden_layers=n_layer, num_attention_heads=4, num_key_value_heads=2, head_dim=8, model_type='git', num_local_experts=5, num_experts_per_tok=2, moe_intermediate_size=20, residual_moe=residual,
                  rms_norm_eps=1e-5, embedding_multiplier_scale=2.5, output_multiplier_scale=0.5, attn_logit_softcapping=5.0, router_logit_softcapping=2.0, final_logit_softcapping=9.0, rope_theta=50000.0, attn_temperature_len=1024,
                  sliding_window_size=-1, global_attn_every_n=1, tie_word_embeddings=False, **own)
    of = {**{f'{x}_norm': [32] for x in ('pre_attn', 'post_attn', 'pre_moe', 'post_moe')}, 'self_attn.q_proj': [32, 32], 'self_attn.k_proj': [16, 32], 'self_attn.v_proj': [16, 32], 'self_attn.o_proj': [32, 32],
          'block_sparse_moe.gate': [5, 32], **{f'block_sparse_moe.experts.{e}.{p}': [32, 20] if p == 'w2' else [20, 32] for e in range(5) for p in ('w1', 'w2', 'w3')},
          **({'mlp.gate_proj': [48, 32], 'mlp.up_proj': [48, 32], 'mlp.down_proj': [32, 48]} if residual else {})}
    return ('Grok1ForCausalLM', config, layers(n_layer, {f'model.layers.%d.{x}.weight': shape for x, shape in of.items()}, LLAMA_REST), None, None,
            plain(GROK, n_layer=n_layer, n_head=4, n_head_kv=2, eps=1e-5, base=50000.0, act=lambda x: torch.nn.functional.gelu(x, approximate='tanh'), embed_scale=2.5, head_scale=0.5, last_cap=9.0, cap=5.0, router_cap=2.0,
                  n_used=2, layer=grok))


def mimo2_shapes():
    made = dict(LLAMA_REST)
    for i in range(3):
        kv = 2 if i else 1
        of = {'input_layernorm.weight': [32], 'post_attention_layernorm.weight': [32], 'self_attn.q_proj.weight': [48, 32], 'self_attn.k_proj.weight': [12 * kv, 32], 'self_attn.v_proj.weight': [8 * kv, 32],
              'self_attn.o_proj.weight': [32, 32], **({'self_attn.attention_sink_bias': [4], 'mlp.gate.weight': [5, 32], 'mlp.gate.e_score_correction_bias': [5]} if i else {})}
        of |= {f'{x}{p}_proj.weight': [32, n] if p == 'down' else [n, 32] for x, n in ({f'mlp.experts.{e}.': 20 for e in range(5)} if i else {'mlp.': 48}).items() for p in ('gate', 'up', 'down')}
        made |= {f'model.layers.{i}.{x}': shape for x, shape in of.items()}
    return made


def rwkv7_shapes(n, d, ranks, ff, d_head):
    low = {f'model.layers.%d.attn.{x}_lora.lora.{k}.weight': [r, d] if k == 0 else [d, r] for x, r in ranks.items() for k in (0, 2)}
    low.update({f'model.layers.%d.attn.{x}_lora.lora.2.bias': [d] for x in 'wav'})
    layer = {**both('model.layers.%d.attn_norm', d), **both('model.layers.%d.ffn_norm', d), **both('model.layers.%d.attn.g_norm', d), **low,
             **{f'model.layers.%d.attn.x_{x}': [1, 1, d] for x in 'rwkvag'}, 'model.layers.%d.attn.k_k': [d], 'model.layers.%d.attn.k_a': [d], 'model.layers.%d.attn.r_k': [d // d_head, d_head],
             **{f'model.layers.%d.attn.{x}_proj.weight': [d, d] for x in 'rkvo'}, 'model.layers.%d.ffn.x_k': [d], 'model.layers.%d.ffn.key.weight': [ff, d], 'model.layers.%d.ffn.value.weight': [d, ff]}
    shapes = layers(n, layer, {'model.embeddings.weight': [48, d], **both('model.norm', d), **both('model.layers.0.pre_norm', d), 'lm_head.weight': [48, d]})
    return {name: shape for name, shape in shapes.items() if 'layers.0.attn.v_lora' not in name}


def arwkv7_shapes(n, d, ranks, ff, d_head, normed):
    at = 'model.layers.%d.self_attn.time_mixer.'
    layer = {**{f'model.layers.%d.{x}.weight': shape for x, shape in {'input_layernorm': [d], 'post_attention_layernorm': [d], 'mlp.gate_proj': [ff, d], 'mlp.up_proj': [ff, d], 'mlp.down_proj': [d, ff]}.items()},
             **{f'{at}x_{x}': [1, 1, d] for x in ('rwkvag' if 'g' in ranks else 'rwkva')}, f'{at}k_k': [1, 1, d], f'{at}k_a': [1, 1, d], f'{at}r_k': [d // d_head, d_head],
             **{f'{at}{x}.weight': [d, d] for x in ('receptance', 'key', 'value', 'output')}, **{f'{at}{x}{k}': [d, r] if k == 1 else [r, d] for x, r in ranks.items() for k in (1, 2)},
             **{f'{at}{x}0': [1, 1, d] for x in 'wav'}, **(both(f'{at}ln_x', d) if normed else {})}
    return layers(n, layer, {'model.embed_tokens.weight': [48, d], 'model.norm.weight': [d], 'lm_head.weight': [48, d]})


def rwkv6_shapes(n, d, rank, rank_of_decay, ff, d_head):
    at, ffn = 'rwkv.blocks.%d.attention.', 'rwkv.blocks.%d.feed_forward.'
    layer = {**both('rwkv.blocks.%d.ln1', d), **both('rwkv.blocks.%d.ln2', d), **both(f'{at}ln_x', d), **{f'{at}time_maa_{x}': [1, 1, d] for x in 'xwkvrg'}, f'{at}time_maa_w1': [d, 5 * rank],
             f'{at}time_maa_w2': [5, rank, d], f'{at}time_decay': [1, 1, d], f'{at}time_decay_w1': [d, rank_of_decay], f'{at}time_decay_w2': [rank_of_decay, d], f'{at}time_faaaa': [d // d_head, d_head],
             **{f'{at}{x}.weight': [d, d] for x in ('receptance', 'key', 'value', 'gate', 'output')}, f'{ffn}time_maa_k': [1, 1, d], f'{ffn}time_maa_r': [1, 1, d], f'{ffn}key.weight': [ff, d],
             f'{ffn}value.weight': [d, ff], f'{ffn}receptance.weight': [d, d]}
    return layers(n, layer, {'rwkv.embeddings.weight': [48, d], **both('rwkv.ln_out', d), **both('rwkv.blocks.0.pre_ln', d), 'head.weight': [48, d]})


def rwkv6qwen2_shapes(n, d, rank, rank_of_decay, ff, keys, biased):
    at = 'model.layers.%d.self_attn.'
    layer = {**{f'model.layers.%d.{x}.weight': shape for x, shape in {'input_layernorm': [d], 'post_attention_layernorm': [d], 'mlp.gate_proj': [ff, d], 'mlp.up_proj': [ff, d], 'mlp.down_proj': [d, ff]}.items()},
             **{f'{at}time_maa_{x}': [1, 1, d] for x in 'xrwkvg'}, f'{at}time_maa_w1': [d, 5 * rank], f'{at}time_maa_w2': [5, rank, d], f'{at}time_decay': [1, 1, d], f'{at}time_decay_w1': [d, rank_of_decay],
             f'{at}time_decay_w2': [rank_of_decay, d], **{f'{at}{x}.weight': [d, d] for x in ('q_proj', 'gate', 'o_proj')}, **{f'{at}{x}.weight': [keys, d] for x in ('k_proj', 'v_proj')},
             **({f'{at}{x}_proj.bias': [w] for x, w in (('q', d), ('k', keys), ('v', keys))} if biased else {})}
    return layers(n, layer, {'model.embed_tokens.weight': [48, d], 'model.norm.weight': [d], 'lm_head.weight': [48, d]})


def turned(parts):
    return lambda ours: {name: t.t() if any(name.endswith(part) for part in parts) else t.flatten() if name.endswith('0') and t.dim() == 3 else t for name, t in ours.items()}


RWKV7 = [('model.', ''), ('layers.', ''), ('embeddings.weight', 'embed'), ('lm_head.weight', 'head'), ('_lora.lora.0.weight', '1'), ('_lora.lora.2.weight', '2'), ('_lora.lora.2.bias', '0'), ('g_norm', 'ln'), ('.weight', '')]
RWKV6 = [('rwkv.', ''), ('blocks.', ''), ('embeddings.weight', 'embed'), ('head.weight', 'head'), ('attention.', 'attn.'), ('feed_forward.', 'ffn.'), ('ln_out', 'norm'), ('pre_ln', 'pre_norm'), ('ln1', 'attn_norm'),
         ('ln2', 'ffn_norm'), ('ln_x', 'ln'), ('time_maa', 'x'), ('receptance', 'r_proj'), ('key', 'k_proj'), ('value', 'v_proj'), ('output', 'o_proj'), ('gate.weight', 'g_proj'), ('.weight', '')]
QRWKV6 = [('model.', ''), ('layers.', ''), ('embed_tokens.weight', 'embed'), ('lm_head.weight', 'head'), ('self_attn.gate', 'self_attn.g_proj'), ('self_attn.q_proj', 'self_attn.r_proj'), ('self_attn.', 'attn.'),
          ('input_layernorm', 'attn_norm'), ('post_attention_layernorm', 'ffn_norm'), ('mlp.', ''), ('gate_proj', 'gate'), ('up_proj', 'up'), ('down_proj', 'down'), ('time_maa', 'x'), ('.weight', '')]
ARWKV7 = [('model.', ''), ('layers.', ''), ('embed_tokens.weight', 'embed'), ('lm_head.weight', 'head'), ('self_attn.time_mixer.', 'attn.'), ('input_layernorm', 'attn_norm'), ('post_attention_layernorm', 'ffn_norm'),
          ('mlp.', ''), ('receptance', 'r_proj'), ('key', 'k_proj'), ('value', 'v_proj'), ('output', 'o_proj'), ('ln_x', 'ln'), ('gate_proj', 'gate'), ('up_proj', 'up'), ('down_proj', 'down'), ('.weight', '')]

# Classes that transformers has no code for: what config.json says, the shapes, and the class that computes the same with the tensors under its names.
OTHERS = {
    'exaone': ('ExaoneForCausalLM', dict(model_type='exaone', activation_function='silu', hidden_size=32, intermediate_size=48, num_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=10,
                                         layer_norm_epsilon=1e-5, max_position_embeddings=64, vocab_size=48, tie_word_embeddings=False, rope_theta=10000.0,
                                         rope_scaling=dict(rope_type='llama3', factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=16)),
               back(layers(2, LLAMA_LAYER, LLAMA_REST), EXAONE),
               'LlamaForCausalLM', dict(TENS, rope_parameters=dict(rope_type='llama3', rope_theta=10000.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=16)), renamed(EXAONE)),
    'internlm2': ('InternLM2ForCausalLM', dict(EIGHTS, model_type='internlm2', bias=False, hidden_act='silu', tie_word_embeddings=False, rope_theta=1000000.0, rope_scaling=dict(type='dynamic', factor=2.0)),
                  internlm2_shapes(), 'LlamaForCausalLM', dict(EIGHTS, rope_parameters=dict(rope_type='default', rope_theta=1000000.0)), like_llama),
    'internlm3': ('InternLM3ForCausalLM', dict(TENS, model_type='internlm3', bias=True, qkv_bias=True, hidden_act='silu', tie_word_embeddings=False, rope_theta=50000.0, rope_scaling=dict(rope_type='dynamic', factor=6.0)),
                  layers(2, {**LLAMA_LAYER, **{name.replace('weight', 'bias'): shape[:1] for name, shape in LLAMA_LAYER.items() if 'norm' not in name}}, LLAMA_REST),
                  'LlamaForCausalLM', dict(TENS, attention_bias=True, mlp_bias=True, rope_parameters=dict(rope_type='default', rope_theta=50000.0)), renamed([])),
    'minicpm': ('MiniCPMForCausalLM', dict(TENS, model_type='minicpm', hidden_act='silu', tie_word_embeddings=False, scale_emb=12, scale_depth=1.4, dim_model_base=8, rope_theta=10000.0),
                layers(2, LLAMA_LAYER, LLAMA_REST),
                'GraniteForCausalLM', dict(TENS, embedding_multiplier=12.0, residual_multiplier=1.4 / 2 ** 0.5, logits_scaling=4.0, attention_multiplier=10 ** -0.5), renamed([])),
    'xverse': ('XverseForCausalLM', dict(EIGHTS, model_type='xverse', hidden_act='silu', tie_word_embeddings=False), layers(2, LLAMA_LAYER_8, LLAMA_REST), 'LlamaForCausalLM', EIGHTS, renamed([])),
    'orion': ('OrionForCausalLM', dict(TEXT, num_key_value_heads=2, model_type='orion', rms_norm_eps=1e-5, hidden_act='silu', tie_word_embeddings=False),
              layers(2, {**LLAMA_LAYER_8, 'model.layers.%d.input_layernorm.bias': [32], 'model.layers.%d.post_attention_layernorm.bias': [32]},
                     {**LLAMA_REST, 'model.norm.bias': [32]}),
              'StableLmForCausalLM', dict(TEXT, layer_norm_eps=1e-5, partial_rotary_factor=1.0, use_qkv_bias=False, rope_parameters=dict(rope_type='default', rope_theta=10000.0, partial_rotary_factor=1.0)), renamed([])),
    'codeshell': ('CodeShellForCausalLM', dict(model_type='codeshell', vocab_size=48, n_embd=32, n_inner=56, n_head=4, num_query_groups=2, n_layer=2, n_positions=64, layer_norm_epsilon=1e-5,
                                               activation_function='gelu_pytorch_tanh', tie_word_embeddings=False),
                  layers(2, {**both('transformer.h.%d.ln_1', 32), **both('transformer.h.%d.ln_2', 32), **both('transformer.h.%d.attn.c_attn', 64, 32), **both('transformer.h.%d.attn.c_proj', 32, 32),
                             **both('transformer.h.%d.mlp.c_fc', 56, 32), **both('transformer.h.%d.mlp.c_proj', 32, 56)},
                         {'transformer.wte.weight': [48, 32], **both('transformer.ln_f', 32), 'lm_head.weight': [48, 32]}),
                  'Starcoder2ForCausalLM', dict(TEXT, intermediate_size=56, norm_epsilon=1e-5, use_bias=True, tie_word_embeddings=False, sliding_window=None), codeshell),
    'deepseek': ('DeepseekForCausalLM', dict(EIGHTS, model_type='deepseek', hidden_act='silu', tie_word_embeddings=False, n_routed_experts=5, num_experts_per_tok=2, n_shared_experts=2, moe_intermediate_size=20,
                                             first_k_dense_replace=1, moe_layer_freq=1, norm_topk_prob=False, scoring_func='softmax', rope_scaling=None),
                 deepseek_shapes(),
                 'Qwen2MoeForCausalLM', dict(EIGHTS, num_experts=5, num_experts_per_tok=2, moe_intermediate_size=20, shared_expert_intermediate_size=40, mlp_only_layers=[0], norm_topk_prob=False, qkv_bias=False), like_qwen2_moe),
    'baichuan': ('BaichuanForCausalLM', dict(EIGHTS, num_key_value_heads=4, model_type='baichuan', hidden_act='silu', tie_word_embeddings=False, model_max_length=64, z_loss_weight=0),
                 layers(2, packed_shapes('self_attn', 'W_pack', [96, 32]), LLAMA_REST), 'LlamaForCausalLM', dict(EIGHTS, num_key_value_heads=4), head_of_length_1(packed([], 8, 4, 4))),
    'baichuan-alibi': ('BaichuanForCausalLM', dict(model_type='baichuan', hidden_size=36, intermediate_size=48, num_hidden_layers=2, num_attention_heads=6, rms_norm_eps=1e-6, vocab_size=48, hidden_act='silu',
                                                   tie_word_embeddings=False, model_max_length=64, bos_token_id=1, eos_token_id=47),
                       wider(layers(2, packed_shapes('self_attn', 'W_pack', [108, 36]), LLAMA_REST), {32: 36}), None, None,
                       chain(packed([], 6, 6, 6), plain(PLAIN_NAMES, n_layer=2, n_head=6, n_head_kv=6, eps=1e-6, alibi=True))),
    'qwen': ('QWenLMHeadModel', dict(model_type='qwen', hidden_size=32, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4, kv_channels=8, seq_length=64, max_position_embeddings=64, vocab_size=48,
                                     layer_norm_epsilon=1e-6, rotary_emb_base=10000, rotary_pct=1.0, no_bias=True, use_dynamic_ntk=True, use_logn_attn=True, tie_word_embeddings=False),
             back(layers(2, packed_shapes('self_attn', 'c_attn', [96, 32], True), LLAMA_REST), QWEN),
             'Qwen2ForCausalLM', dict(EIGHTS, rms_norm_eps=1e-6, num_key_value_heads=4), packed(QWEN, 8, 4, 4)),
    'plamo': ('PlamoForCausalLM', dict(EIGHTS, model_type='plamo', hidden_act='silu', tie_word_embeddings=False),
              {x.replace('model.layers.', 'model.layers.layers.').replace('input_layernorm', 'norm'): shape for x, shape in layers(2, LLAMA_LAYER_8, LLAMA_REST).items() if 'post_attention' not in x}, None, None,
              plain([('layers.0.norm.weight', '0.attn_norm'), ('layers.1.norm.weight', '1.attn_norm'), ('layers.0.attn_norm', '0.attn_norm'), *PLAIN_NAMES, ('layers.', '')],
                    n_layer=2, n_head=4, n_head_kv=2, eps=1e-5, base=10000.0, layer=parallel, key_head=lambda h: h % 2)),
    'refact': ('GPTRefactForCausalLM', dict(model_type='gpt_refact', n_embd=30, n_head=5, n_layer=2, n_positions=64, layer_norm_epsilon=1e-5, multi_query=True, vocab_size=48, tie_word_embeddings=False),
               layers(2, {f'transformer.h.%d.{x}.weight': shape for x, shape in {'ln_1': [30], 'ln_2': [30], 'attn.q': [30, 30], 'attn.kv': [12, 30], 'attn.c_proj': [30, 30], 'mlp.gate_up_proj': [512, 30],
                                                                                 'mlp.c_proj': [30, 256]}.items()},
                      {'transformer.wte.weight': [48, 30], 'transformer.ln_f.weight': [30], 'lm_head.weight': [48, 30]}), None, None,
               plain([('transformer.', ''), ('h.', ''), ('wte.weight', 'embed'), ('lm_head.weight', 'head'), ('ln_f.weight', 'norm'), ('ln_1.weight', 'attn_norm'), ('ln_2.weight', 'ffn_norm'), ('attn.q.weight', 'q'),
                      ('attn.c_proj.weight', 'o'), ('mlp.c_proj.weight', 'down')], [('attn.kv.weight', 'k', 'v'), ('mlp.gate_up_proj.weight', 'gate', 'up')],
                     n_layer=2, n_head=5, n_head_kv=1, eps=1e-5, alibi=True)),
    'arctic': ('ArcticForCausalLM', dict(EIGHTS, model_type='arctic', hidden_act='silu', tie_word_embeddings=False, intermediate_size=20, num_local_experts=5, num_experts_per_tok=2, parallel_attn_mlp_res=True,
                                         moe_layer_frequency=1, rope_theta=10000.0),
               layers(2, {**{x: shape for x, shape in LLAMA_LAYER_8.items() if 'mlp' not in x}, 'model.layers.%d.residual_layernorm.weight': [32],
                          **{f'model.layers.%d.residual_mlp.w{k}.weight': [32, 32] for k in (1, 2, 3)}, 'model.layers.%d.block_sparse_moe.gate.weight': [5, 32],
                          **{f'model.layers.%d.block_sparse_moe.experts.{e}.w{k}.weight': [32, 20] if k == 2 else [20, 32] for e in range(5) for k in (1, 2, 3)}}, LLAMA_REST), None, None,
               plain([('post_attention_layernorm.weight', 'experts_norm'), ('residual_layernorm.weight', 'ffn_norm'), ('block_sparse_moe.gate.weight', 'router'), ('block_sparse_moe.', ''), ('residual_mlp.', ''),
                      ('w1.weight', 'gate'), ('w2.weight', 'down'), ('w3.weight', 'up'), *PLAIN_NAMES],
                     n_layer=2, n_head=4, n_head_kv=2, eps=1e-5, base=10000.0, layer=arctic, n_used=2)),
    'bailingmoe': ('BailingMoeForCausalLM', dict(EIGHTS, model_type='bailing_moe', hidden_act='silu', tie_word_embeddings=False, num_experts=5, num_experts_per_tok=2, num_shared_experts=2, moe_intermediate_size=20,
                                                 first_k_dense_replace=0, norm_topk_prob=True, norm_head=False, norm_softmax=False, use_qkv_bias=False, use_bias=False, rope_theta=600000),
                   back({x: shape for x, shape in layers(2, {**packed_shapes('attention', 'query_key_value', [64, 32]), **bailing_experts()}, LLAMA_REST).items() if '.mlp.gate_proj' not in x and '.mlp.up' not in x and '.mlp.down' not in x},
                        [('word_embeddings', 'embed_tokens')]),
                   'Qwen2MoeForCausalLM', dict(EIGHTS, num_experts=5, num_experts_per_tok=2, moe_intermediate_size=20, shared_expert_intermediate_size=40, norm_topk_prob=True, qkv_bias=False,
                                               rope_parameters=dict(rope_type='default', rope_theta=600000.0)),
                   chain(packed(BAILING), like_qwen2_moe)),
    'bailingmoe2': ('BailingMoeV2ForCausalLM', dict(EIGHTS, model_type='bailing_moe_v2', hidden_act='silu', tie_word_embeddings=False, num_experts=6, num_experts_per_tok=2, num_shared_experts=1, moe_intermediate_size=20,
                                                    first_k_dense_replace=1, norm_topk_prob=True, norm_head=False, use_qkv_bias=False, use_bias=False, use_qk_norm=True, partial_rotary_factor=0.5, rope_theta=10000.0,
                                                    score_function='sigmoid', n_group=3, topk_group=2, routed_scaling_factor=2.5, moe_router_enable_expert_bias=True),
                    back(bailing2_shapes(), [('word_embeddings', 'embed_tokens')]),
                    'Glm4MoeForCausalLM', dict(EIGHTS, head_dim=8, n_routed_experts=6, num_experts_per_tok=2, n_shared_experts=1, moe_intermediate_size=20, first_k_dense_replace=1, norm_topk_prob=True, use_qk_norm=True,
                                               partial_rotary_factor=0.5, rope_parameters=dict(rope_type='default', rope_theta=10000.0, partial_rotary_factor=0.5), n_group=3, topk_group=2, routed_scaling_factor=2.5),
                    packed([*BAILING, ('query_layernorm', 'q_norm'), ('key_layernorm', 'k_norm'), ('gate.expert_bias', 'gate.e_score_correction_bias')])),
    'rwkv7': ('RWKV7ForCausalLM', dict(model_type='rwkv7', hidden_size=36, hidden_act='sqrelu', head_dim=12, num_hidden_layers=3, intermediate_size=50, decay_low_rank_dim=7, a_low_rank_dim=5, v_low_rank_dim=6,
                                       gate_low_rank_dim=11, norm_eps=64e-5 / 12, norm_first=True, norm_bias=True, max_position_embeddings=64, vocab_size=48, tie_word_embeddings=False, bos_token_id=1, eos_token_id=47),
              rwkv7_shapes(3, 36, dict(w=7, a=5, v=6, g=11), 50, 12), None, None, plain(RWKV7, n_layer=3, n_head=3, n_head_kv=3, eps=64e-5 / 12, norm='layer', layer=rwkv7, gated=True)),
    'rwkv7-ranks': ('RWKV7ForCausalLM', dict(model_type='rwkv7', hidden_size=64, hidden_act='sqrelu', head_dim=64, num_hidden_layers=2, intermediate_size=None, decay_low_rank_dim=None, a_low_rank_dim=None,
                                             v_low_rank_dim=None, gate_low_rank_dim=None, norm_eps=1e-5, vocab_size=48, tie_word_embeddings=False, bos_token_id=1, eos_token_id=47),
                    rwkv7_shapes(2, 64, dict(w=32, a=32, v=32, g=32), 256, 64), None, None, plain(RWKV7, n_layer=2, n_head=1, n_head_kv=1, eps=1e-5, norm='layer', layer=rwkv7, gated=True)),
    'rwkv6': ('Rwkv6ForCausalLM', dict(model_type='rwkv6', hidden_size=36, attention_hidden_size=36, head_size=12, head_size_divisor=8, num_attention_heads=3, num_hidden_layers=5, intermediate_size=50,
                                       layer_norm_epsilon=1e-5, rescale_every=2, vocab_size=48, tie_word_embeddings=False, bos_token_id=1, eos_token_id=47),
              rwkv6_shapes(5, 36, 32, 64, 50, 12), None, None, plain(RWKV6, n_layer=5, n_head=3, n_head_kv=3, eps=1e-5, norm='layer', layer=rwkv6, mixes='wkvrg', in_qwen=False, halved_every=2)),
    'rwkv6-plain': ('Rwkv6ForCausalLM', dict(model_type='rwkv6', hidden_size=64, head_size=64, head_size_divisor=8, num_hidden_layers=2, intermediate_size=None, layer_norm_epsilon=1e-5, rescale_every=0,
                                             vocab_size=48, tie_word_embeddings=False, bos_token_id=1, eos_token_id=47),
                    rwkv6_shapes(2, 64, 32, 64, 224, 64), None, None, plain(RWKV6, n_layer=2, n_head=1, n_head_kv=1, eps=1e-5, norm='layer', layer=rwkv6, mixes='wkvrg', in_qwen=False, halved_every=0)),
    'rwkv6qwen2': ('RWKV6Qwen2ForCausalLM', dict(model_type='rwkv6qwen2', hidden_size=48, hidden_act='silu', num_attention_heads=6, num_key_value_heads=2, num_hidden_layers=3, intermediate_size=44,
                                                 lora_rank_tokenshift=5, lora_rank_decay=7, rms_norm_eps=1e-6, attention_bias=True, max_position_embeddings=64, vocab_size=48, tie_word_embeddings=False,
                                                 bos_token_id=1, eos_token_id=47),
                   rwkv6qwen2_shapes(3, 48, 5, 7, 44, 16, True), None, None, plain(QRWKV6, n_layer=3, n_head=6, n_head_kv=2, eps=1e-6, layer=rwkv6, mixes='rkvwg', in_qwen=True)),
    'rwkv6qwen2-plain': ('RWKV6Qwen2ForCausalLM', dict(model_type='rwkv6qwen2', hidden_size=64, hidden_act='silu', num_attention_heads=1, num_key_value_heads=1, num_hidden_layers=2, intermediate_size=52,
                                                       rms_norm_eps=1e-5, attention_bias=False, vocab_size=48, tie_word_embeddings=False, bos_token_id=1, eos_token_id=47),
                         rwkv6qwen2_shapes(2, 64, 32, 64, 52, 64, False), None, None, plain(QRWKV6, n_layer=2, n_head=1, n_head_kv=1, eps=1e-5, layer=rwkv6, mixes='rkvwg', in_qwen=True)),
    'arwkv7': ('RwkvHybridForCausalLM', dict(model_type='rwkv_hybrid', hidden_size=32, hidden_act='silu', head_size=8, num_hidden_layers=3, intermediate_size=44, lora_rank_decay=7, lora_rank_iclr=5,
                                             lora_rank_value_residual_mix=6, lora_rank_gate=9, rms_norm_eps=1e-6, wkv_version=7, wkv_has_gate=True, max_position_embeddings=64, vocab_size=48,
                                             tie_word_embeddings=False, bos_token_id=1, eos_token_id=47),
               arwkv7_shapes(3, 32, dict(w=7, a=5, v=6, g=9), 44, 8, True), None, None,
               chain(turned(['mixer.' + x + k for x in 'wavg' for k in '12']), plain(ARWKV7, n_layer=3, n_head=4, n_head_kv=4, eps=1e-6, layer=rwkv7, gated=True))),
    'arwkv7-plain': ('RwkvHybridForCausalLM', dict(model_type='rwkv_hybrid', hidden_size=64, hidden_act='silu', head_size=64, num_hidden_layers=2, intermediate_size=44, rms_norm_eps=1e-6, wkv_version=7,
                                                   wkv_has_gate=False, vocab_size=48, tie_word_embeddings=False, bos_token_id=1, eos_token_id=47),
                     arwkv7_shapes(2, 64, dict(w=64, a=64, v=32), 44, 64, False), None, None,
                     chain(turned(['mixer.' + x + k for x in 'wavg' for k in '12']), plain(ARWKV7, n_layer=2, n_head=1, n_head_kv=1, eps=1e-6, layer=rwkv7, gated=False))),
    'pangu-embedded': ('PanguEmbeddedForCausalLM', dict(TENS, model_type='PanguEmbedded', hidden_act='silu', bias=True, tie_word_embeddings=False, rope_theta=10000.0),
                       layers(2, {**LLAMA_LAYER, **{name.replace('weight', 'bias'): shape[:1] for name, shape in LLAMA_LAYER.items() if 'self_attn' in name}}, LLAMA_REST),
                       'LlamaForCausalLM', dict(TENS, attention_bias=True), renamed([])),
    'jais': ('JAISLMHeadModel', dict(JAIS, mup_scale_qk_dot_by_d=True, mup_embeddings_scale=14.6, mup_output_alpha=2.22, mup_width_scale=0.125, tie_word_embeddings=True), jais_shapes(30, 44, True), None, None,
             chain(jais_names(True), plain([], n_layer=2, n_head=5, n_head_kv=5, eps=1e-5, norm='layer', alibi=True, scale=1 / 6, embed_scale=14.6, head_scale=2.22 * 0.125))),
    'jais-untied': ('JAISLMHeadModel', dict(JAIS, n_embd=32, n_head=4, scale_qk_dot_by_d=True, embeddings_scale=2.5, width_scale=0.75, tie_word_embeddings=False), jais_shapes(32, 44, False), None, None,
                    chain(jais_names(False), plain([], n_layer=2, n_head=4, n_head_kv=4, eps=1e-5, norm='layer', alibi=True, scale=1 / 8, embed_scale=2.5, head_scale=0.75))),
    'openelm': ('OpenELMForCausalLM', dict(OPENELM, normalize_qk_projections=True), openelm_shapes(True), None, None,
                chain(openelm_names, plain([], n_layer=3, n_head=ELM_Q, n_head_kv=ELM_KV, eps=1e-6, base=10000.0))),
    'openelm-plain': ('OpenELMForCausalLM', dict(OPENELM, normalize_qk_projections=False), openelm_shapes(False), None, None,
                      chain(openelm_names, plain([], n_layer=3, n_head=ELM_Q, n_head_kv=ELM_KV, eps=1e-6, base=10000.0))),
    'deci': ('DeciLMForCausalLM', deci_config(DECI_BLOCKS), deci_shapes(DECI_BLOCKS), None, None,
             plain([('self_attn.linear_attn.weight', 'o'), *PLAIN_NAMES], n_layer=6, n_head=4, n_head_kv=[2, 0, 0, 4, 1, 0], eps=1e-5, base=10000.0, layer=omitting)),
    'deci-51b': ('DeciLMForCausalLM', deci_config(DECI_WHOLE), deci_shapes(DECI_WHOLE), None, None,
                 plain([('self_attn.linear_attn.weight', 'o'), *PLAIN_NAMES], n_layer=4, n_head=4, n_head_kv=[2, 0, 0, 1], eps=1e-5, base=10000.0, layer=omitting)),
    'deci-7b': ('DeciLMForCausalLM', dict(TENS, model_type='deci', num_key_value_heads=None, num_key_value_heads_per_layer=[2, 2], hidden_act='silu', tie_word_embeddings=False, rope_theta=10000.0,
                                          rope_scaling=dict(type='dynamic', factor=2.0)), layers(2, LLAMA_LAYER, LLAMA_REST), 'LlamaForCausalLM', TENS, renamed([])),
    'smallthinker': smallthinker(5, (0, 4), moe_primary_router_apply_softmax=False),
    'smallthinker-4096': smallthinker(5, (0, 4), moe_primary_router_apply_softmax=False, sliding_window_size=4096),
    'smallthinker-whole': smallthinker(2, (), moe_primary_router_apply_softmax=True, sliding_window_layout=[0, 0], tie_word_embeddings=False),
    'plamo3': plamo3(4, 2),
    'plamo3-8': plamo3(9, 8),
    'mimo2-published': ('MiMoV2FlashForCausalLM', dict(HEADS, model_type='mimo_v2_flash', num_hidden_layers=3, num_key_value_heads=1, swa_num_key_value_heads=2, swa_num_attention_heads=4, swa_head_dim=12, swa_v_head_dim=8, v_head_dim=8,
                                                       hidden_act='silu', layernorm_epsilon=1e-5, sliding_window=4, sliding_window_size=4, hybrid_layer_pattern=[0, 1, 1], moe_layer_freq=[0, 1, 1], n_routed_experts=5, num_experts_per_tok=2,
                                                       moe_intermediate_size=20, n_shared_experts=None, n_group=1, topk_group=1, topk_method='noaux_tc', scoring_func='sigmoid', norm_topk_prob=True, routed_scaling_factor=None,
                                                       attention_bias=False, attention_value_scale=0.707, add_swa_attention_sink_bias=True, add_full_attention_sink_bias=False, partial_rotary_factor=0.334, rope_theta=5000000,
                                                       swa_rope_theta=10000, tie_word_embeddings=False),
                        mimo2_shapes(), 'MiMoV2FlashForCausalLM', dict(HEADS, num_hidden_layers=3, num_key_value_heads=1, v_head_dim=8, rms_norm_eps=1e-5, sliding_window_size=4, layer_types=['full_attention', 'sliding_attention', 'sliding_attention'],
                                                                       n_routed_experts=5, num_experts_per_tok=2, moe_intermediate_size=20, n_group=1, topk_group=1, attention_value_scale=0.707),
                        renamed([('attention_sink_bias', 'sinks')])),
    'grok1': grok1_model(2, (5, 1), 5, 2, True),
    'grok1-untied': grok1_model(3, (3, 3), 4, 3, False, 36),
    'grok2': grok2_model(2, True),
    'grok2-plain': grok2_model(2, False),
    'grovemoe': grove_model(2, [], 6, 3, (3, 1), 12, tie_word_embeddings=False),
    'grovemoe-dense': grove_model(3, [1], 4, 2, (4, 2), 36, tie_word_embeddings=False, attention_bias=True),
    'plm': plm_model(2, 3, 12, 10, 6, 14, True),
    'plm-untied': plm_model(3, 5, 20, 6, 8, 10, False, 44),
    'cogvlm': ('CogVLMForCausalLM', dict(EIGHTS, num_key_value_heads=4, hidden_act='silu', tie_word_embeddings=False, vision_config=dict(hidden_size=16)), cogvlm_shapes(), 'LlamaForCausalLM', dict(EIGHTS, num_key_value_heads=4),
               chain(without(['vision']), packed([('language_expert_', ''), ('language_mlp.', ''), ('self_attn.dense', 'self_attn.o_proj')], 8, 4, 4))),
    'deepseek-ocr': ('DeepseekOCRForCausalLM', dict(EIGHTS, num_key_value_heads=4, model_type='deepseek_vl_v2', hidden_act='silu', tie_word_embeddings=False, n_routed_experts=5, num_experts_per_tok=2, n_shared_experts=2,
                                                    moe_intermediate_size=20, first_k_dense_replace=1, topk_method='greedy', n_group=1, topk_group=1, use_mla=False, kv_lora_rank=None, q_lora_rank=None, qk_nope_head_dim=0,
                                                    qk_rope_head_dim=0, v_head_dim=0),
                     {**deepseek_shapes(4), 'model.image_newline': [32], 'model.view_seperator': [32]}, 'Qwen2MoeForCausalLM',
                     dict(EIGHTS, num_key_value_heads=4, num_experts=5, num_experts_per_tok=2, moe_intermediate_size=20, shared_expert_intermediate_size=40, mlp_only_layers=[0], norm_topk_prob=False, qkv_bias=False),
                     chain(without(['image_newline', 'view_seperator']), like_qwen2_moe)),
    'maincoder': ('MaincoderForCausalLM', dict(TENS, model_type='maincoder', hidden_act='silu', tie_word_embeddings=False, rope_theta=10000.0),
                  layers(2, {**LLAMA_LAYER, 'model.layers.%d.self_attn.q_norm.weight': [10], 'model.layers.%d.self_attn.k_norm.weight': [10]}, LLAMA_REST), None, None,
                  plain([('self_attn.q_norm.weight', 'q_norm'), ('self_attn.k_norm.weight', 'k_norm'), *PLAIN_NAMES], n_layer=2, n_head=4, n_head_kv=2, eps=1e-5, base=10000.0, pairs=True, norms_behind=True)),
}


def make_other(class_name, config, shapes, like, like_args, names):
    """The same for a class of OTHERS."""
    if like is None:
        ours = {name: torch.frombuffer(bytearray(numbers(name, shape)), dtype=torch.float32).view(shape) for name, shape in shapes.items()}
        return measured(names(ours), class_name, {'architectures': [class_name], **config}, shapes)
    torch.manual_seed(0)
    model = getattr(transformers, like)(getattr(transformers, like).config_class(**copy.deepcopy(like_args), attn_implementation='eager', experts_implementation='eager')).eval()
    ours = {name: torch.frombuffer(bytearray(numbers(name, shape)), dtype=torch.float32).view(shape) for name, shape in shapes.items()}
    theirs = names(ours)
    state = model.state_dict()
    for name in [x for x in state if x.endswith('experts.gate_up_proj')]:
        front = name.removesuffix('gate_up_proj')
        part = lambda e, p: theirs.pop(f'{front}{e}.{p}_proj.weight')
        n = state[name].shape[0]
        theirs[name] = torch.stack([torch.cat([part(e, 'gate'), part(e, 'up')]) for e in range(n)])
        theirs[front + 'down_proj'] = torch.stack([part(e, 'down') for e in range(n)])
    model.load_state_dict(theirs, strict=True)
    return measured(model, class_name, {'architectures': [class_name], **config}, shapes)


def make(class_name, config_args):
    cls = getattr(transformers, class_name)
    config = cls.config_class(**copy.deepcopy(config_args))
    torch.manual_seed(0)
    with Folder() as folder:
        cls(config).save_pretrained(folder / 'saved')
        shapes = shapes_of(folder / 'saved')
        saved = json.loads((folder / 'saved/config.json').read_text())
        write_formula_folder(folder / 'made', saved, shapes)
        attention = 'sdpa' if config_args.get('alibi') else 'eager'     # Falcon's eager attention adds the slopes twice
        model, info = cls.from_pretrained(folder / 'made', dtype=torch.float32, attn_implementation=attention, experts_implementation='eager',
                                          output_loading_info=True)
        missing = [name for name in info['missing_keys'] if not OTHER.search(name) and not name.startswith('lm_head')]
        assert not missing and not info['unexpected_keys'], (missing, info['unexpected_keys'])
        return measured(model.eval(), class_name, saved, shapes)


def measured(model, class_name, saved, shapes):
    ids = list(IDS)
    with torch.no_grad():
        for _ in range(N_GREEDY):
            logits = model(input_ids=torch.tensor([ids]), use_cache=False).logits[0]
            best = torch.topk(logits[-1], 2)
            assert best.values[0] - best.values[1] > 1e-3, 'a near tie: take other ids'
            ids.append(int(best.indices[0]))
        logits = model(input_ids=torch.tensor([ids]), use_cache=False).logits[0]
        exact = model.double()(input_ids=torch.tensor([ids]), use_cache=False).logits[0]
    noise = float((logits.double() - exact).abs().max())
    rows = [[float(f'{x:.6g}') for x in logits[i].tolist()] for i in (len(IDS) - 1, len(ids) - 1)]
    return {'class': class_name, 'config': saved, 'shapes': shapes, 'ids': ids, 'tolerance': max(2e-4, float(f'{10 * noise:.3g}')), 'logits': rows}


def ask_peer(row):
    """By how much llama.cpp's logits of the converted file differ from ours at most; a word where it parts, or has none."""
    with Folder() as folder:
        try:
            worst = peer_difference(row, folder)
            return float(f'{worst:.2g}') if worst < FAR else 'parts'
        except AssertionError as e:
            print(str(e)[:200])
            return 'none'


def main():
    path = pathlib.Path(__file__).parent / 'published.json'
    have = json.loads(path.read_text())['models'] if path.exists() else {}
    wanted = sys.argv[1:] or [*MODELS, *OTHERS]
    for name in wanted:
        try:
            have[name] = make(*MODELS[name]) if name in MODELS else make_other(*OTHERS[name])
            row = have[name]
            row['llama.cpp'] = ask_peer(row)
            deviation = torch.tensor(row['logits']).std()
            print(f'{name}: {len(row["shapes"])} tensors, logits deviate by {deviation:.2f}, tolerance {row["tolerance"]:.3g}; llama.cpp: {row["llama.cpp"]}', flush=True)
        except Exception as e:      # the next one may do
            print(f'{name}: {type(e).__name__}: {str(e)[:300]}', flush=True)
    text = ',\n'.join(f' {json.dumps(name)}: {json.dumps(have[name], separators=(",", ":"))}' for name in [*MODELS, *OTHERS] if name in have)
    path.write_text(f'{{"made_by": "transformers {transformers.__version__}, torch {torch.__version__}; tests/cli/make_published.py",\n"n_prompt": {len(IDS)},\n"models": {{\n{text}\n}}}}\n')


main()
