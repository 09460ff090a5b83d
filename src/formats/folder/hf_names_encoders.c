// formats/folder/hf_names_encoders.c - tensor names of encoders; see hf_names.h.
//
// The pooler, a matrix over the first row, is part of what makes a score; checkpoints without scores have one that nothing reads.
#include "formats/folder/hf_rows.h"

#define LAYER "encoder.layer.%d."
#define BERT                                                                                                         \
    WEIGHT("embeddings.word_embeddings", "token_embd", HF_ALWAYS),                                                   \
        WEIGHT("embeddings.token_type_embeddings", "token_types", HF_ALWAYS),                                        \
        BOTH("embeddings.LayerNorm", "token_embd_norm", HF_ALWAYS), LEFT_OUT("embeddings.position_ids"),             \
        BOTH(LAYER "attention.self.query", B "attn_q", HF_ALWAYS),                                                   \
        BOTH(LAYER "attention.self.key", B "attn_k", HF_ALWAYS),                                                     \
        BOTH(LAYER "attention.self.value", B "attn_v", HF_ALWAYS),                                                   \
        BOTH(LAYER "attention.output.dense", B "attn_output", HF_ALWAYS),                                            \
        BOTH(LAYER "attention.output.LayerNorm", B "attn_output_norm", HF_ALWAYS),                                   \
        BOTH(LAYER "intermediate.dense", B "ffn_up", HF_ALWAYS),                                                     \
        BOTH(LAYER "output.dense", B "ffn_down", HF_ALWAYS),                                                         \
        BOTH(LAYER "output.LayerNorm", B "layer_output_norm", HF_ALWAYS)
#define POSITIONS(form) WEIGHT("embeddings.position_embeddings", "position_embd", HF_ALWAYS, form)

static const struct hf_tensor_row bert[] = {BERT, POSITIONS(HF_AS_IT_IS), LEFT_OUT("pooler.*"), LEFT_OUT("cls.*")};
#define BERT_HEAD BOTH("pooler.dense", "cls", HF_ALWAYS), BOTH("classifier", "cls.output", HF_ALWAYS)
static const struct hf_tensor_row bert_scores[] = {BERT, POSITIONS(HF_AS_IT_IS), BERT_HEAD};
// RoBERTa (1907.11692): rows 0 and 1 of the positions belong to padding.
static const struct hf_tensor_row roberta[] = {BERT, POSITIONS(HF_WITHOUT_FIRST_TWO), LEFT_OUT("pooler.*"),
                                               LEFT_OUT("lm_head.*")};
#define ROBERTA_HEAD BOTH("classifier.dense", "cls", HF_ALWAYS), BOTH("classifier.out_proj", "cls.output", HF_ALWAYS)
static const struct hf_tensor_row roberta_scores[] = {BERT, POSITIONS(HF_WITHOUT_FIRST_TWO), ROBERTA_HEAD};

#undef LAYER
#define LAYER "transformer.layer.%d."
// DistilBERT (1910.01108): BERT without kinds of rows.
#define DISTILBERT                                                                                                   \
    WEIGHT("embeddings.word_embeddings", "token_embd", HF_ALWAYS), POSITIONS(HF_AS_IT_IS),                           \
        BOTH("embeddings.LayerNorm", "token_embd_norm", HF_ALWAYS),                                                  \
        BOTH(LAYER "attention.q_lin", B "attn_q", HF_ALWAYS), BOTH(LAYER "attention.k_lin", B "attn_k", HF_ALWAYS),  \
        BOTH(LAYER "attention.v_lin", B "attn_v", HF_ALWAYS),                                                        \
        BOTH(LAYER "attention.out_lin", B "attn_output", HF_ALWAYS),                                                 \
        BOTH(LAYER "sa_layer_norm", B "attn_output_norm", HF_ALWAYS), BOTH(LAYER "ffn.lin1", B "ffn_up", HF_ALWAYS), \
        BOTH(LAYER "ffn.lin2", B "ffn_down", HF_ALWAYS),                                                             \
        BOTH(LAYER "output_layer_norm", B "layer_output_norm", HF_ALWAYS)
static const struct hf_tensor_row distilbert[] = {DISTILBERT, LEFT_OUT("vocab_transform.*"),
                                                  LEFT_OUT("vocab_layer_norm.*"), LEFT_OUT("vocab_projector.*")};

// MPNet (2004.09297): attention has names of its own, and a bias by distance that all layers share.
#undef LAYER
#define LAYER "encoder.layer.%d."
#define MPNET                                                                                                        \
    WEIGHT("embeddings.word_embeddings", "token_embd", HF_ALWAYS), POSITIONS(HF_WITHOUT_FIRST_TWO),                  \
        BOTH("embeddings.LayerNorm", "token_embd_norm", HF_ALWAYS), LEFT_OUT("embeddings.position_ids"),             \
        WEIGHT("encoder.relative_attention_bias", "attn_rel_b", HF_ALWAYS),                                          \
        BOTH(LAYER "attention.attn.q", B "attn_q", HF_ALWAYS),                                                       \
        BOTH(LAYER "attention.attn.k", B "attn_k", HF_ALWAYS),                                                       \
        BOTH(LAYER "attention.attn.v", B "attn_v", HF_ALWAYS),                                                       \
        BOTH(LAYER "attention.attn.o", B "attn_output", HF_ALWAYS),                                                  \
        BOTH(LAYER "attention.LayerNorm", B "attn_output_norm", HF_ALWAYS),                                          \
        BOTH(LAYER "intermediate.dense", B "ffn_up", HF_ALWAYS),                                                     \
        BOTH(LAYER "output.dense", B "ffn_down", HF_ALWAYS),                                                         \
        BOTH(LAYER "output.LayerNorm", B "layer_output_norm", HF_ALWAYS), LEFT_OUT("pooler.*")
static const struct hf_tensor_row mpnet[] = {MPNET, LEFT_OUT("lm_head.*")};
static const struct hf_tensor_row mpnet_scores[] = {MPNET, ROBERTA_HEAD};

// Jina's Embeddings 2 (2310.19923): no positions; the gate lies above what it gates.
#define JINA2                                                                                                        \
    WEIGHT("embeddings.word_embeddings", "token_embd", HF_ALWAYS),                                                   \
        WEIGHT("embeddings.token_type_embeddings", "token_types", HF_ALWAYS),                                        \
        BOTH("embeddings.LayerNorm", "token_embd_norm", HF_ALWAYS),                                                  \
        BOTH(LAYER "attention.self.query", B "attn_q", HF_ALWAYS),                                                   \
        BOTH(LAYER "attention.self.key", B "attn_k", HF_ALWAYS),                                                     \
        BOTH(LAYER "attention.self.value", B "attn_v", HF_ALWAYS),                                                   \
        BOTH(LAYER "attention.output.dense", B "attn_output", HF_ALWAYS),                                            \
        BOTH(LAYER "attention.output.LayerNorm", B "attn_output_norm", HF_ALWAYS),                                   \
        WEIGHT(LAYER "mlp.gated_layers", B "ffn_gate", HF_ALWAYS, HF_FIRST_HALF),                                    \
        WEIGHT(LAYER "mlp.gated_layers", B "ffn_up", HF_ALWAYS, HF_SECOND_HALF),                                     \
        BOTH(LAYER "mlp.wo", B "ffn_down", HF_ALWAYS), BOTH(LAYER "mlp.layernorm", B "layer_output_norm", HF_ALWAYS)
static const struct hf_tensor_row jina2[] = {JINA2, LEFT_OUT("pooler.*"), LEFT_OUT("cls.*")};
static const struct hf_tensor_row jina2_scores[] = {JINA2, BERT_HEAD};

// ModernBERT (2412.13663): the first layer has no norm before attention.
#define MAY_BIAS(name, gguf) BIAS(name, gguf, HF_OPTIONAL)
#define MODERN                                                                                                       \
    WEIGHT("embeddings.tok_embeddings", "token_embd", HF_ALWAYS),                                                    \
        WEIGHT("embeddings.norm", "token_embd_norm", HF_ALWAYS), MAY_BIAS("embeddings.norm", "token_embd_norm"),     \
        WEIGHT(L "attn_norm", B "attn_norm", HF_OPTIONAL), MAY_BIAS(L "attn_norm", B "attn_norm"),                   \
        WEIGHT(L "attn.Wqkv", B "attn_qkv", HF_ALWAYS), MAY_BIAS(L "attn.Wqkv", B "attn_qkv"),                       \
        WEIGHT(L "attn.Wo", B "attn_output", HF_ALWAYS), MAY_BIAS(L "attn.Wo", B "attn_output"),                     \
        WEIGHT(L "mlp_norm", B "ffn_norm", HF_ALWAYS), MAY_BIAS(L "mlp_norm", B "ffn_norm"),                         \
        WEIGHT(L "mlp.Wi", B "ffn_up", HF_ALWAYS), MAY_BIAS(L "mlp.Wi", B "ffn_up"),                                 \
        WEIGHT(L "mlp.Wo", B "ffn_down", HF_ALWAYS), MAY_BIAS(L "mlp.Wo", B "ffn_down"),                             \
        WEIGHT("final_norm", "output_norm", HF_ALWAYS), MAY_BIAS("final_norm", "output_norm")
static const struct hf_tensor_row modern[] = {MODERN, LEFT_OUT("head.*"), LEFT_OUT("decoder.*")};
static const struct hf_tensor_row modern_scores[] = {MODERN,
                                                     WEIGHT("head.dense", "cls", HF_ALWAYS),
                                                     MAY_BIAS("head.dense", "cls"),
                                                     WEIGHT("head.norm", "cls.norm", HF_ALWAYS),
                                                     MAY_BIAS("head.norm", "cls.norm"),
                                                     BOTH("classifier", "cls.output", HF_ALWAYS)};

// Nomic Embed (2402.01613): gates are the second matrix. Its second version has experts in every second layer.
#undef LAYER
#define LAYER "encoder.layers.%d."
#define NOMIC                                                                                                        \
    WEIGHT("embeddings.word_embeddings", "token_embd", HF_ALWAYS),                                                   \
        WEIGHT("embeddings.token_type_embeddings", "token_types", HF_OPTIONAL),                                      \
        BOTH("emb_ln", "token_embd_norm", HF_ALWAYS), WEIGHT(LAYER "attn.Wqkv", B "attn_qkv", HF_ALWAYS),            \
        MAY_BIAS(LAYER "attn.Wqkv", B "attn_qkv"), WEIGHT(LAYER "attn.out_proj", B "attn_output", HF_ALWAYS),        \
        MAY_BIAS(LAYER "attn.out_proj", B "attn_output"), BOTH(LAYER "norm1", B "attn_output_norm", HF_ALWAYS),      \
        BOTH(LAYER "norm2", B "layer_output_norm", HF_ALWAYS)
#define NOMIC_GATED                                                                                                  \
    NOMIC, WEIGHT(LAYER "mlp.fc12", B "ffn_gate", HF_ALWAYS), MAY_BIAS(LAYER "mlp.fc12", B "ffn_gate"),              \
        WEIGHT(LAYER "mlp.fc11", B "ffn_up", HF_ALWAYS), MAY_BIAS(LAYER "mlp.fc11", B "ffn_up"),                     \
        WEIGHT(LAYER "mlp.fc2", B "ffn_down", HF_ALWAYS), MAY_BIAS(LAYER "mlp.fc2", B "ffn_down")
static const struct hf_tensor_row nomic[] = {NOMIC_GATED, LEFT_OUT("pooler.*"), LEFT_OUT("cls.*")};
static const struct hf_tensor_row nomic_scores[] = {NOMIC_GATED, BERT_HEAD};
static const struct hf_tensor_row nomic_moe[] = {
    NOMIC,
    LEFT_OUT("pooler.*"),
    LEFT_OUT("cls.*"),
    WEIGHT(LAYER "mlp.fc1", B "ffn_up", HF_DENSE),
    BIAS(LAYER "mlp.fc1", B "ffn_up", HF_DENSE | HF_OPTIONAL),
    WEIGHT(LAYER "mlp.fc2", B "ffn_down", HF_DENSE),
    BIAS(LAYER "mlp.fc2", B "ffn_down", HF_DENSE | HF_OPTIONAL),
    WEIGHT(LAYER "mlp.router.layer", B "ffn_gate_inp", HF_EXPERTS),
    {LAYER "mlp.experts.mlp.w1", B "ffn_up_exps.weight", HF_EXPERTS, HF_SPLIT_EXPERTS},
    {LAYER "mlp.experts.mlp.w2", B "ffn_down_exps.weight", HF_EXPERTS, HF_SPLIT_EXPERTS_TURNED},
    BIAS(LAYER "mlp.experts", B "ffn_exps", HF_EXPERTS | HF_OPTIONAL)};

// Jina's Embeddings 3 (2409.10173), without its adapters.
#define JINA3                                                                                                        \
    WEIGHT("embeddings.word_embeddings", "token_embd", HF_ALWAYS),                                                   \
        WEIGHT("embeddings.token_type_embeddings", "token_types", HF_ALWAYS),                                        \
        BOTH("emb_ln", "token_embd_norm", HF_ALWAYS), BOTH(LAYER "mixer.Wqkv", B "attn_qkv", HF_ALWAYS),             \
        BOTH(LAYER "mixer.out_proj", B "attn_output", HF_ALWAYS),                                                    \
        BOTH(LAYER "norm1", B "attn_output_norm", HF_ALWAYS), BOTH(LAYER "mlp.fc1", B "ffn_up", HF_ALWAYS),          \
        BOTH(LAYER "mlp.fc2", B "ffn_down", HF_ALWAYS), BOTH(LAYER "norm2", B "layer_output_norm", HF_ALWAYS)
static const struct hf_tensor_row jina3[] = {JINA3, LEFT_OUT("pooler.*"), LEFT_OUT("lm_head.*")};
static const struct hf_tensor_row jina3_scores[] = {JINA3, ROBERTA_HEAD};

// GTE (2407.19669): gates lie below what they gate.
#undef LAYER
#define LAYER "encoder.layer.%d."
#define GTE                                                                                                          \
    WEIGHT("embeddings.word_embeddings", "token_embd", HF_ALWAYS),                                                   \
        WEIGHT("embeddings.token_type_embeddings", "token_types", HF_OPTIONAL),                                      \
        BOTH("embeddings.LayerNorm", "token_embd_norm", HF_ALWAYS), LEFT_OUT("embeddings.position_ids"),             \
        BOTH(LAYER "attention.qkv_proj", B "attn_qkv", HF_ALWAYS),                                                   \
        BOTH(LAYER "attention.o_proj", B "attn_output", HF_ALWAYS),                                                  \
        BOTH(LAYER "attn_ln", B "attn_output_norm", HF_ALWAYS),                                                      \
        WEIGHT(LAYER "mlp.up_gate_proj", B "ffn_gate", HF_ALWAYS, HF_SECOND_HALF),                                   \
        WEIGHT(LAYER "mlp.up_gate_proj", B "ffn_up", HF_ALWAYS, HF_FIRST_HALF),                                      \
        BOTH(LAYER "mlp.down_proj", B "ffn_down", HF_ALWAYS), BOTH(LAYER "mlp_ln", B "layer_output_norm", HF_ALWAYS)
static const struct hf_tensor_row gte[] = {GTE, LEFT_OUT("pooler.*"), LEFT_OUT("lm_head.*"),
                                           LEFT_OUT("classifier.*")};
static const struct hf_tensor_row gte_scores[] = {GTE, BERT_HEAD};

// EuroBERT (2503.05500).
#define LLAMA_BUT_ATTENTION                                                                                          \
    EMBEDDING, FINAL_NORM(HF_AS_IT_IS), NORM_BEFORE_ATTENTION(HF_AS_IT_IS), NORM_BEFORE_FFN(HF_AS_IT_IS),            \
        GATED_FFN("mlp", "", HF_ALWAYS), GATED_FFN_BIASES(HF_MLP_BIAS)
#define EURO LLAMA_BUT_ATTENTION, ATTENTION_OF(IN_HALVES, HF_ALWAYS), ATTENTION_BIASES_OF(IN_HALVES)
static const struct hf_tensor_row euro[] = {EURO, LEFT_OUT("lm_head.*")};
static const struct hf_tensor_row euro_scores[] = {EURO, BOTH("dense", "cls", HF_ALWAYS),
                                                   BOTH("classifier", "cls.output", HF_ALWAYS)};
static const struct hf_tensor_row llama_embed[] = {LLAMA_BUT_ATTENTION, ATTENTION_OF(INTERLEAVED, HF_ALWAYS),
                                                   ATTENTION_BIASES_OF(INTERLEAVED)};

// T5 (1910.10683): its encoder by itself, of a checkpoint that may hold more.
#undef LAYER
#define LAYER "encoder.block.%d.layer."
static const struct hf_tensor_row t5_encoder[] = {
    WEIGHT("shared", "token_embd", HF_ALWAYS, HF_AS_IT_IS, "encoder.embed_tokens.weight"),
    WEIGHT(LAYER "0.layer_norm", E "attn_norm", HF_ALWAYS),
    WEIGHT(LAYER "0.SelfAttention.q", E "attn_q", HF_ALWAYS),
    WEIGHT(LAYER "0.SelfAttention.k", E "attn_k", HF_ALWAYS),
    WEIGHT(LAYER "0.SelfAttention.v", E "attn_v", HF_ALWAYS),
    WEIGHT(LAYER "0.SelfAttention.o", E "attn_o", HF_ALWAYS),
    WEIGHT(LAYER "0.SelfAttention.relative_attention_bias", E "attn_rel_b", HF_OPTIONAL),
    WEIGHT(LAYER "1.layer_norm", E "ffn_norm", HF_ALWAYS),
    WEIGHT(LAYER "1.DenseReluDense.wi_0", E "ffn_gate", HF_FFN_GATE),
    WEIGHT(LAYER "1.DenseReluDense.wi_1", E "ffn_up", HF_FFN_GATE),
    WEIGHT(LAYER "1.DenseReluDense.wi", E "ffn_up", HF_NO_FFN_GATE),
    WEIGHT(LAYER "1.DenseReluDense.wo", E "ffn_down", HF_ALWAYS),
    WEIGHT("encoder.final_layer_norm", "enc.output_norm", HF_ALWAYS),
    LEFT_OUT("encoder.embed_tokens.weight"),
    LEFT_OUT("decoder.*"),
    LEFT_OUT("lm_head.*"),
};

// NeoBERT (2502.19587): rows of a head's query, key and value lie together.
#undef LAYER
#define LAYER "transformer_encoder.%d."
static const struct hf_tensor_row neo[] = {
    WEIGHT("encoder", "token_embd", HF_ALWAYS),
    WEIGHT(LAYER "attention_norm", B "attn_norm", HF_ALWAYS),
    WEIGHT(LAYER "qkv", B "attn_qkv", HF_ALWAYS, HF_QKV_GROUPED),
    WEIGHT(LAYER "wo", B "attn_output", HF_ALWAYS),
    WEIGHT(LAYER "ffn_norm", B "ffn_norm", HF_ALWAYS),
    WEIGHT(LAYER "ffn.w12", B "ffn_up", HF_ALWAYS),
    WEIGHT(LAYER "ffn.w3", B "ffn_down", HF_ALWAYS),
    WEIGHT("layer_norm", "enc.output_norm", HF_ALWAYS),
    LEFT_OUT("freqs_cis"),
    LEFT_OUT("decoder.*"),
};

static const struct hf_alias distilbert_aliases[] = {
    {AT(hp.n_embd), "dim"}, {AT(hp.n_layer), "n_layers"}, {AT(hp.n_head), "n_heads"}, {AT(hp.n_ff), "hidden_dim"}};
// Of the classes in transformers.
static const struct hparam_default bert_defaults[] = {{AT(hp.norm_eps), 1e-12}, {AT(hp.n_ctx_train), 512}};

static const struct hparam_default modern_defaults[] = {{AT(hp.norm_eps), 1e-5}, {AT(hp.n_ctx_train), 8192}};
static const struct hparam_default nomic_defaults[] = {{AT(hp.norm_eps), 1e-12}, {AT(hp.n_ctx_train), 2048}};
static const struct hparam_default eps_1e5[] = {{AT(hp.norm_eps), 1e-5}};
static const struct hf_alias modern_aliases[] = {{AT(hp.n_swa), "local_attention"},
                                                 {AT(hp.rope_theta), "global_rope_theta"},
                                                 {AT(hp.rope_theta_swa), "local_rope_theta"}};
static const struct hf_alias moe_aliases[] = {{AT(hp.n_expert_used), "moe_top_k"},
                                              {AT(moe_step), "moe_every_n_layers"}};
static const struct hf_alias t5_aliases[] = {
    {AT(hp.n_head), "num_heads"}, {AT(hp.head_dim), "d_kv"}, {AT(hp.n_ff), "d_ff"}};
static const struct hf_alias neo_aliases[] = {{AT(hp.n_ctx_train), "max_length"}};

#define NOMIC_ACTS SILU " swiglu"
static const struct hf_arch archs[] = {
    {"BertModel", "bert", "bert", "bert.", GELU, TENSORS(bert), DEFAULTS(bert_defaults)},
    {"BertForMaskedLM", NULL, "bert", "bert.", GELU, TENSORS(bert), DEFAULTS(bert_defaults)},
    {"BertForSequenceClassification", NULL, "bert", "bert.", GELU, TENSORS(bert_scores), DEFAULTS(bert_defaults)},
    {"RobertaModel", "roberta", "bert", "roberta.", GELU, TENSORS(roberta), DEFAULTS(bert_defaults), .n_skipped = 2},
    {"RobertaForMaskedLM", NULL, "bert", "roberta.", GELU, TENSORS(roberta), DEFAULTS(bert_defaults), .n_skipped = 2},
    {"RobertaForSequenceClassification", NULL, "bert", "roberta.", GELU, TENSORS(roberta_scores),
     DEFAULTS(bert_defaults), .n_skipped = 2},
    {"XLMRobertaModel", "xlm-roberta", "bert", "roberta.", GELU, TENSORS(roberta), DEFAULTS(bert_defaults),
     .n_skipped = 2},
    {"XLMRobertaForMaskedLM", NULL, "bert", "roberta.", GELU, TENSORS(roberta), DEFAULTS(bert_defaults),
     .n_skipped = 2},
    {"XLMRobertaForSequenceClassification", NULL, "bert", "roberta.", GELU, TENSORS(roberta_scores),
     DEFAULTS(bert_defaults), .n_skipped = 2},
    {"DistilBertModel", "distilbert", "bert", "distilbert.", GELU, TENSORS(distilbert), ALIASES(distilbert_aliases),
     DEFAULTS(bert_defaults)},
    {"DistilBertForMaskedLM", NULL, "bert", "distilbert.", GELU, TENSORS(distilbert), ALIASES(distilbert_aliases),
     DEFAULTS(bert_defaults)},
    {"MPNetModel", "mpnet", "mpnet", "mpnet.", GELU, TENSORS(mpnet), DEFAULTS(bert_defaults), .n_skipped = 2},
    {"MPNetForMaskedLM", NULL, "mpnet", "mpnet.", GELU, TENSORS(mpnet), DEFAULTS(bert_defaults), .n_skipped = 2},
    {"MPNetForSequenceClassification", NULL, "mpnet", "mpnet.", GELU, TENSORS(mpnet_scores), DEFAULTS(bert_defaults),
     .n_skipped = 2},
    {"JinaBertModel", NULL, "jina-bert-v2", "bert.", GELU, TENSORS(jina2), DEFAULTS(bert_defaults)},
    {"JinaBertForMaskedLM", NULL, "jina-bert-v2", "bert.", GELU, TENSORS(jina2), DEFAULTS(bert_defaults)},
    {"JinaBertForSequenceClassification", NULL, "jina-bert-v2", "bert.", GELU, TENSORS(jina2_scores),
     DEFAULTS(bert_defaults)},
    {"JinaEmbeddingsV3Model", "jina_embeddings_v3", "jina-bert-v3", "roberta.", GELU, TENSORS(jina3),
     DEFAULTS(bert_defaults)},
    {"JinaEmbeddingsV3ForMaskedLM", NULL, "jina-bert-v3", "roberta.", GELU, TENSORS(jina3), DEFAULTS(bert_defaults)},
    {"JinaEmbeddingsV3ForSequenceClassification", NULL, "jina-bert-v3", "roberta.", GELU, TENSORS(jina3_scores),
     DEFAULTS(bert_defaults)},
    {"NomicBertModel", "nomic_bert", "nomic-bert-moe", "bert.", GELU, TENSORS(nomic_moe), ALIASES(moe_aliases),
     DEFAULTS(nomic_defaults), .with = "num_experts"},
    {"NomicBertModel", NULL, "nomic-bert", "bert.", NOMIC_ACTS, TENSORS(nomic), DEFAULTS(nomic_defaults)},
    {"NomicBertForMaskedLM", NULL, "nomic-bert", "bert.", NOMIC_ACTS, TENSORS(nomic), DEFAULTS(nomic_defaults)},
    {"NomicBertForSequenceClassification", NULL, "nomic-bert", "nomic_bert.", NOMIC_ACTS, TENSORS(nomic_scores),
     DEFAULTS(nomic_defaults)},
    {"NewModel", "new", "nomic-bert", "new.", SILU, TENSORS(gte), DEFAULTS(bert_defaults)},
    {"GteModel", "gte", "nomic-bert", "new.", SILU, TENSORS(gte), DEFAULTS(bert_defaults)},
    {"NewForSequenceClassification", NULL, "nomic-bert", "new.", SILU, TENSORS(gte_scores), DEFAULTS(bert_defaults)},
    {"GteForSequenceClassification", NULL, "nomic-bert", "gte.", SILU, TENSORS(gte_scores), DEFAULTS(bert_defaults)},
    {"ModernBertModel", "modernbert", "modern-bert", "model.", GELU, TENSORS(modern), ALIASES(modern_aliases),
     DEFAULTS(modern_defaults)},
    {"ModernBertForMaskedLM", NULL, "modern-bert", "model.", GELU, TENSORS(modern), ALIASES(modern_aliases),
     DEFAULTS(modern_defaults)},
    {"ModernBertForSequenceClassification", NULL, "modern-bert", "model.", GELU, TENSORS(modern_scores),
     ALIASES(modern_aliases), DEFAULTS(modern_defaults)},
    {"EuroBertModel", "eurobert", "eurobert", "model.", SILU, TENSORS(euro), DEFAULTS(eps_1e5)},
    {"EuroBertForMaskedLM", NULL, "eurobert", "model.", SILU, TENSORS(euro), DEFAULTS(eps_1e5)},
    {"EuroBertForSequenceClassification", NULL, "eurobert", "model.", SILU, TENSORS(euro_scores), DEFAULTS(eps_1e5)},
    {"LlamaBidirectionalModel", "llama_bidirec", "llama-embed", "model.", SILU, TENSORS(llama_embed)},
    {"T5EncoderModel", NULL, "t5encoder", "", GELU, TENSORS(t5_encoder), ALIASES(t5_aliases)},
    {"MT5EncoderModel", NULL, "t5encoder", "", GELU, TENSORS(t5_encoder), ALIASES(t5_aliases)},
    {"UMT5EncoderModel", NULL, "t5encoder", "", GELU, TENSORS(t5_encoder), ALIASES(t5_aliases)},
    {"NeoBERT", "neobert", "neo-bert", "model.", "SwiGLU " SILU, TENSORS(neo), ALIASES(neo_aliases),
     DEFAULTS(eps_1e5)},
    {"NeoBERTLMHead", NULL, "neo-bert", "model.", "SwiGLU " SILU, TENSORS(neo), ALIASES(neo_aliases),
     DEFAULTS(eps_1e5)},
};
const struct hf_arch_list hf_archs_encoders = {archs, sizeof archs / sizeof *archs};
