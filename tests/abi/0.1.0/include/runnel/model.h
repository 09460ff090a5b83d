// runnel/model.h - a model file, opened and validated: its text functions and what can be said about it. Running it takes an engine.
#ifndef RUNNEL_MODEL_H
#define RUNNEL_MODEL_H

#include <runnel/api.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rn_model rn_model; // immutable: any number of threads and engines; must outlive its engines

// How the file's bytes get into memory: mapped (pages come as they are touched), read into memory, or mapped and locked there.
typedef enum rn_load { RN_LOAD_MAP = 0, RN_LOAD_READ = 1, RN_LOAD_LOCK = 2 } rn_load;

typedef struct rn_model_options {
    size_t struct_size;
    rn_load load;  // default RN_LOAD_MAP. What cannot be honoured is an error
    rn_log_fn log; // NULL: none
    void *log_user;
    rn_progress_fn progress; // NULL: none
    void *progress_user;
} rn_model_options;
RN_API void rn_model_options_init_sized(rn_model_options *o, size_t struct_size);
static inline void rn_model_options_init(rn_model_options *o) { rn_model_options_init_sized(o, sizeof *o); }

/**
 * Open a model file and check everything in it.
 *
 * @param path  a GGUF file (of a split one any part), or a Hugging Face folder: config.json with model.safetensors or its shards.
 *              A file with only a vocabulary serves the text functions below and rn_model_info; one whose tokenizer is not known
 *              serves token ids, with a warning to the log.
 * @param opt   NULL: defaults.
 * @param model filled on RN_OK, else NULL. Freed with rn_model_close().
 * @return RN_OK; RN_E_IO, RN_E_FORMAT (malformed: file, key or tensor, value and limit), RN_E_UNSUPPORTED (architecture or type
 *         unknown: what is supported), RN_E_LIMIT, RN_E_NOMEM, RN_E_CANCELLED (by progress).
 */
RN_API rn_status rn_model_open(const char *path, const rn_model_options *opt, rn_model **model, rn_error *err);
RN_API void rn_model_close(rn_model *model); // NULL is fine

/**
 * Text to token ids.
 *
 * @param text          n_text bytes; need not be valid UTF-8.
 * @param add_special   begin and end tokens as the model file says.
 * @param parse_special spellings of control tokens in the text become those tokens. Never set it for text of strangers.
 * @param ids, n_ids    on RN_OK an array of the caller's, freed with rn_free(); NULL and 0 when there are none.
 * @return RN_OK; RN_E_UNSUPPORTED (the file has no tokenizer, or one that is not known), RN_E_LIMIT (a pattern limit was hit: where), RN_E_NOMEM.
 */
RN_API rn_status rn_tokenize(const rn_model *model, const char *text, size_t n_text, bool add_special,
                             bool parse_special, int32_t **ids, size_t *n_ids, rn_error *err);
/**
 * Token ids to bytes.
 *
 * @param special  control tokens appear with their spelling; else they are left out.
 * @param text     on RN_OK n_text bytes and a terminator, freed with rn_free(). May be invalid UTF-8 where the ids say so.
 * @return RN_OK; RN_E_ARG (an id outside the vocabulary), RN_E_UNSUPPORTED, RN_E_NOMEM.
 */
RN_API rn_status rn_detokenize(const rn_model *model, const int32_t *ids, size_t n_ids, bool special, char **text,
                               size_t *n_text, rn_error *err);
RN_API void rn_free(void *p);

// Strings live as long as the model. The elements of lists, rn_tensor_type_use and rn_end_token, never grow.
typedef struct rn_tensor_type_use {
    const char *type; // "Q8_0"
    int32_t n_tensors;
    uint64_t bytes;
} rn_tensor_type_use;
typedef struct rn_end_token {
    int32_t id;
    const char *text; // its spelling, terminated; "" where there is no tokenizer
} rn_end_token;
typedef struct rn_model_info {
    size_t struct_size;                              // in: sizeof(rn_model_info)
    const char *path, *format, *architecture, *name; // "models/stories.gguf", "GGUF v3", "llama", ""
    bool has_weights, has_tokenizer;
    const char
        *tokenizer; // "llama (SentencePiece BPE)", "gpt2 / smollm (byte-level BPE)", "gpt2 / x (not known)", "none"
    const char *tokenizer_error; // why the file's tokenizer cannot be used, so that has_tokenizer is false; else NULL
    int32_t n_vocab, n_ctx_train, n_embd, n_layer, n_head, n_head_kv, head_dim, n_ff;
    uint64_t n_params;
    uint64_t file_bytes, mapped_bytes, resident_bytes; // resident: of the mapping, now
    const rn_tensor_type_use *types;                   // by bytes, largest first
    int32_t n_types;
    const rn_end_token *end_tokens;
    int32_t n_end_tokens;
    int32_t bos; // -1: none
    bool add_bos;
    const char *chat_template;                    // NULL: none
    int32_t n_expert, n_expert_used, n_ff_expert; // 0: no layer has experts
    const char *rerank_template; // what a reranker is asked, with {query} and {document} for the texts; NULL: none
    const char *left_out; // parts of a folder that are not used: "vision part: 8 tensors, not used yet"; NULL: none
} rn_model_info;
// Is `path`, by whatever name, one of the files that the model was read from? What a program writes had better be none of them.
RN_API bool rn_model_reads(const rn_model *model, const char *path);
RN_API rn_status rn_model_get_info(const rn_model *model, rn_model_info *info, rn_error *err);

#ifdef __cplusplus
}
#endif
#endif
