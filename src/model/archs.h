// model/archs.h - the supported architectures, each defined in a file arch_FAMILY.c.
//
// ARCHS is the only list: general.architecture of a file, and the struct arch that runs it.
#ifndef RN_MODEL_ARCHS_H
#define RN_MODEL_ARCHS_H

#include "model/arch.h"

#define ARCHS(X)                                                                                                     \
    X("llama", llama) /* arch_llama.c */                                                                             \
    X("mistral3", llama)                                                                                             \
    X("smollm3", llama) /* every fourth layer without rotation */                                                    \
    X("granite", llama) /* four factors */                                                                           \
    X("qwen2", qwen2)                                                                                                \
    X("qwen2vl", qwen2) /* rope sections: coordinates of pictures */                                                 \
    X("qwen3", qwen3)                                                                                                \
    X("qwen3vl", qwen3)                                                                                              \
    X("phi3", phi3)                                                                                                  \
    X("glm4", glm4)                                                                                                  \
    X("granitemoe", granitemoe) /* arch_experts.c */                                                                 \
    X("qwen2moe", qwen2moe)                                                                                          \
    X("qwen3moe", qwen3moe)                                                                                          \
    X("qwen3vlmoe", qwen3moe)                                                                                        \
    X("olmoe", olmoe)                                                                                                \
    X("gpt-oss", gpt_oss)                                                                                            \
    X("glm4moe", glm4moe)                                                                                            \
    X("gemma", gemma) /* arch_gemma.c */                                                                             \
    X("gemma2", gemma2)                                                                                              \
    X("gemma3", gemma3)                                                                                              \
    X("llama4", llama4)       /* arch_llama4.c */                                                                    \
    X("deepseek2", deepseek2) /* arch_deepseek.c */                                                                  \
    X("gemma4", gemma4)       /* arch_gemma4.c */                                                                    \
    X("olmo2", olmo2)         /* arch_postnorm.c */                                                                  \
    X("exaone4", exaone4)                                                                                            \
    X("gpt2", gpt2) /* arch_layernorm.c */                                                                           \
    X("opt", opt)                                                                                                    \
    X("bloom", bloom)                                                                                                \
    X("gptneox", gptneox)                                                                                            \
    X("falcon", falcon)                                                                                              \
    X("phi2", phi2)                                                                                                  \
    X("starcoder2", starcoder2)                                                                                      \
    X("stablelm", stablelm)                                                                                          \
    X("command-r", cohere)                                                                                           \
    X("mamba2", mamba2) /* arch_states.c */                                                                          \
    X("rwkv7", rwkv7)   /* arch_rwkv.c */                                                                            \
    X("arwkv7", arwkv7)                                                                                              \
    X("rwkv6", rwkv6)                                                                                                \
    X("rwkv6qwen2", rwkv6qwen2)                                                                                      \
    X("falcon-h1", falcon_h1) /* Mamba-2 beside attention in each layer */                                           \
    X("granitehybrid", granitehybrid)                                                                                \
    X("lfm2", lfm2)                                                                                                  \
    X("lfm2moe", lfm2)                                                                                               \
    X("qwen3next", qwen3next)                                                                                        \
    X("qwen35", qwen35)                                                                                              \
    X("qwen35moe", qwen35)                                                                                           \
    X("cohere2", cohere)                                                                                             \
    X("starcoder", gpt2) /* one head of keys */                                                                      \
    X("ernie4_5", llama)                                                                                             \
    X("seed_oss", seed_oss) /* arch_kin.c */                                                                         \
    X("chatglm", chatglm)                                                                                            \
    X("arcee", arcee)                                                                                                \
    X("hunyuan-dense", hunyuan)                                                                                      \
    X("nemotron", nemotron)                                                                                          \
    X("olmo", olmo)                                                                                                  \
    X("ernie4_5-moe", ernie_moe)                                                                                     \
    X("hunyuan-moe", hunyuan_moe)                                                                                    \
    X("dots1", dots)                                                                                                 \
    X("minimax-m2", minimax_m2)                                                                                      \
    X("exaone", qwen2) /* no biases */                                                                               \
    X("internlm2", llama)                                                                                            \
    X("minicpm", llama) /* three factors */                                                                          \
    X("xverse", llama)                                                                                               \
    X("orion", orion)                                                                                                \
    X("codeshell", codeshell) /* arch_layernorm.c */                                                                 \
    X("gptj", gptj)                                                                                                  \
    X("deepseek", deepseek) /* arch_kin.c */                                                                         \
    X("mpt", mpt)           /* arch_layernorm.c */                                                                   \
    X("refact", llama)      /* slopes in place of rotation */                                                        \
    X("baichuan", llama)    /* slopes in the larger one */                                                           \
    X("qwen", qwen)         /* arch_kin.c */                                                                         \
    X("plamo", plamo)                                                                                                \
    X("bitnet", bitnet)                                                                                              \
    X("jais2", nemotron)                                                                                             \
    X("pangu-embedded", qwen2) /* biases everywhere */                                                               \
    X("dbrx", dbrx)            /* arch_mixtures.c */                                                                 \
    X("arctic", arctic)                                                                                              \
    X("bailingmoe", deepseek)                                                                                        \
    X("bailingmoe2", bailing2)                                                                                       \
    X("exaone-moe", dots)                                                                                            \
    X("afmoe", afmoe)                                                                                                \
    X("phimoe", phimoe)                                                                                              \
    X("mistral4", deepseek2) /* queries that grow sharper */                                                         \
    X("hunyuan_vl", hunyuan)                                                                                         \
    X("paddleocr", qwen2) /* no biases */                                                                            \
    X("mamba", mamba)     /* arch_mamba.c */                                                                         \
    X("jamba", jamba)                                                                                                \
    X("nemotron_h", nemotron_h) /* arch_states.c */                                                                  \
    X("nemotron_h_moe", nemotron_h)                                                                                  \
    X("maincoder", maincoder) /* arch_kin.c */                                                                       \
    X("apertus", apertus)     /* arch_apertus.c */                                                                   \
    X("jais", jais)           /* arch_varied.c */                                                                    \
    X("openelm", openelm)                                                                                            \
    X("deci", deci)                                                                                                  \
    X("smallthinker", smallthinker)                                                                                  \
    X("plamo3", plamo3)                                                                                              \
    X("cogvlm", cogvlm)                                                                                              \
    X("deepseek2-ocr", deepseek_ocr)                                                                                 \
    X("mimo2", mimo2)       /* arch_mixtures.c */                                                                    \
    X("grok", grok)         /* arch_mixtures.c */                                                                    \
    X("grovemoe", grove)    /* arch_experts.c */                                                                     \
    X("minicpm3", minicpm3) /* arch_deepseek.c */                                                                    \
    X("plm", plm)                                                                                                    \
    X("bert", bert) /* arch_encoders.c */                                                                            \
    X("mpnet", mpnet)                                                                                                \
    X("nomic-bert", nomic)                                                                                           \
    X("nomic-bert-moe", nomic_moe)                                                                                   \
    X("jina-bert-v2", jina2)                                                                                         \
    X("jina-bert-v3", jina3)                                                                                         \
    X("modern-bert", modern)                                                                                         \
    X("eurobert", euro)                                                                                              \
    X("llama-embed", llama_embed)                                                                                    \
    X("t5encoder", t5_encoder)                                                                                       \
    X("neo-bert", neo)                                                                                               \
    X("gemma-embedding", gemma_embedding) /* arch_gemma.c */

#define DECLARE(name, id) extern const struct arch arch_##id;
ARCHS(DECLARE)
#undef DECLARE

#endif
