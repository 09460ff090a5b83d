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
static const struct hf_tensor_row bert_scores[] = {BERT, POSITIONS(HF_AS_IT_IS),
                                                   BOTH("pooler.dense", "cls", HF_ALWAYS),
                                                   BOTH("classifier", "cls.output", HF_ALWAYS)};
// RoBERTa (1907.11692): rows 0 and 1 of the positions belong to padding.
static const struct hf_tensor_row roberta[] = {BERT, POSITIONS(HF_WITHOUT_FIRST_TWO), LEFT_OUT("pooler.*"),
                                               LEFT_OUT("lm_head.*")};
static const struct hf_tensor_row roberta_scores[] = {BERT, POSITIONS(HF_WITHOUT_FIRST_TWO),
                                                      BOTH("classifier.dense", "cls", HF_ALWAYS),
                                                      BOTH("classifier.out_proj", "cls.output", HF_ALWAYS)};

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

static const struct hf_alias distilbert_aliases[] = {
    {AT(hp.n_embd), "dim"}, {AT(hp.n_layer), "n_layers"}, {AT(hp.n_head), "n_heads"}, {AT(hp.n_ff), "hidden_dim"}};
// Of the classes in transformers.
static const struct hparam_default bert_defaults[] = {{AT(hp.norm_eps), 1e-12}, {AT(hp.n_ctx_train), 512}};

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
};
const struct hf_arch_list hf_archs_encoders = {archs, sizeof archs / sizeof *archs};
