// runnel/model.h - a model file, opened and validated: information about it, and its tokenizer. To
// run a model, open an engine.
#ifndef RUNNEL_MODEL_H
#define RUNNEL_MODEL_H

#include <runnel/api.h>
#include <runnel/picture.h>

#ifdef __cplusplus
extern "C" {
#endif

// Immutable: any number of threads and engines may use it. Must outlive its engines.
typedef struct rn_model rn_model;

// How the file gets into memory: mapped (pages are loaded when they are touched), read into memory,
// or mapped and locked.
typedef enum rn_load { RN_LOAD_MAP = 0, RN_LOAD_READ = 1, RN_LOAD_LOCK = 2 } rn_load;

typedef struct rn_model_options {
    size_t struct_size;
    rn_load load;  // default RN_LOAD_MAP. An error if the system refuses it
    rn_log_fn log; // NULL: none
    void *log_user;
    rn_progress_fn progress; // NULL: none
    void *progress_user;
} rn_model_options;
RN_API void rn_model_options_init_sized(rn_model_options *o, size_t struct_size);
static inline void rn_model_options_init(rn_model_options *o) {
    rn_model_options_init_sized(o, sizeof *o);
}

/**
 * Opens a model file and validates everything in it.
 *
 * @param path  a GGUF file (any part of a split one), or a Hugging Face folder: config.json with
 *              model.safetensors or its shards. A file with only a vocabulary can be used for the
 *              text functions below and for rn_model_get_info(). If the tokenizer is unknown, the
 *              model works with token ids only, with a warning to the log.
 * @param opt   NULL: defaults.
 * @param model set on RN_OK, else NULL. Freed with rn_model_close().
 * @return RN_OK; RN_E_IO; RN_E_FORMAT (malformed; names file, key or tensor, value and limit);
 *         RN_E_UNSUPPORTED (unknown architecture or type; lists the supported ones); RN_E_LIMIT;
 *         RN_E_NOMEM; RN_E_CANCELLED (by progress).
 */
RN_API rn_status rn_model_open(const char *path, const rn_model_options *opt, rn_model **model,
                               rn_error *err);
RN_API void rn_model_close(rn_model *model); // NULL is fine

/**
 * Converts text to token ids.
 *
 * @param text          n_text bytes; need not be valid UTF-8.
 * @param add_special   add begin and end tokens as the model file asks for.
 * @param parse_special control tokens spelled in the text become those tokens. Do not set it for
 *                      untrusted text.
 * @param ids, n_ids    set on RN_OK; freed by the caller with rn_free(). NULL and 0 if there are
 *                      none.
 * @return RN_OK; RN_E_UNSUPPORTED (no tokenizer, or an unknown one); RN_E_LIMIT (a limit of the
 *         pre-tokenizer was reached; names the position); RN_E_NOMEM.
 */
RN_API rn_status rn_tokenize(const rn_model *model, const char *text, size_t n_text,
                             bool add_special, bool parse_special, int32_t **ids, size_t *n_ids,
                             rn_error *err);
/**
 * The same for a caller that can use at most max_ids tokens, such as the context. A text that
 * certainly has more is refused without being tokenized (by its length and the longest token) or
 * once there are four times as many. One that has more, but not so many, may be tokenized whole.
 *
 * @return as rn_tokenize(). RN_E_LIMIT with *n_ids > max_ids: the text has at least *n_ids tokens.
 */
RN_API rn_status rn_tokenize_at_most(const rn_model *model, const char *text, size_t n_text,
                                     bool add_special, bool parse_special, size_t max_ids,
                                     int32_t **ids, size_t *n_ids, rn_error *err);
/**
 * Converts text that continues other text, such as an answer: no space is put before it, as some
 * vocabularies do at the beginning of a text, and no begin or end tokens are added.
 *
 * @return as rn_tokenize().
 */
RN_API rn_status rn_tokenize_more(const rn_model *model, const char *text, size_t n_text,
                                  bool parse_special, int32_t **ids, size_t *n_ids, rn_error *err);
/**
 * Converts two texts to the ids of one, as encoders are trained to read a query and a document:
 * "[CLS] query [SEP] document [SEP]".
 *
 * @param max_ids  as in rn_tokenize_at_most(); of both texts together.
 * @param n_first  how many ids come before the second text: rn_embed_options.n_first.
 * @return as rn_tokenize_at_most(); RN_E_UNSUPPORTED also: the model's tokenizer does not say how
 *         (rn_model_info.has_pairs).
 */
RN_API rn_status rn_tokenize_pair(const rn_model *model, const char *first, size_t n_first_text,
                                  const char *second, size_t n_second_text, size_t max_ids,
                                  int32_t **ids, size_t *n_ids, size_t *n_first, rn_error *err);
/**
 * Converts token ids to text.
 *
 * @param special  include control tokens as text; else they are left out.
 * @param text     set on RN_OK: n_text bytes and a terminator, freed by the caller with rn_free().
 *                 May be invalid UTF-8, because tokens may be parts of characters.
 * @return RN_OK; RN_E_ARG (an id outside the vocabulary); RN_E_UNSUPPORTED; RN_E_NOMEM.
 */
RN_API rn_status rn_detokenize(const rn_model *model, const int32_t *ids, size_t n_ids,
                               bool special, char **text, size_t *n_text, rn_error *err);
// Frees memory that the library allocated for the caller. NULL is fine.
RN_API void rn_free(void *p);

// One element type of a model's tensors. Never grows.
typedef struct rn_tensor_type_use {
    const char *type; // "Q8_0"
    int32_t n_tensors;
    uint64_t bytes;
} rn_tensor_type_use;
// A token that ends a generation. Never grows.
typedef struct rn_end_token {
    int32_t id;
    const char *text; // its spelling, terminated; "" without a tokenizer
} rn_end_token;
// A text that embeddings are trained to begin with: sentence-transformers' prompts. Never grows.
typedef struct rn_text_prompt {
    const char *name; // "query"
    const char *text;
} rn_text_prompt;
// What is known about a model. Strings and arrays live as long as the model.
typedef struct rn_model_info {
    size_t struct_size;
    // "models/stories.gguf", "GGUF v3", "llama", "".
    const char *path, *format, *architecture, *name;
    bool has_weights, has_tokenizer;
    // "llama (SentencePiece BPE)", "gpt2 / smollm (byte-level BPE)", "gpt2 / x (not known)",
    // "none".
    const char *tokenizer;
    // Why the file's tokenizer cannot be used (has_tokenizer is false then); else NULL.
    const char *tokenizer_error;
    int32_t n_vocab, n_ctx_train, n_embd, n_layer, n_head, n_head_kv, head_dim, n_ff;
    uint64_t n_params;
    // resident_bytes: the part of the mapping that is in memory now.
    uint64_t file_bytes, mapped_bytes, resident_bytes;
    // Element types, by total size, largest first.
    const rn_tensor_type_use *types;
    int32_t n_types;
    const rn_end_token *end_tokens;
    int32_t n_end_tokens;
    // Begin token; -1: none. add_bos: prompts begin with it.
    int32_t bos;
    bool add_bos;
    // NULL: none.
    const char *chat_template;
    // 0: no layer has experts.
    int32_t n_expert, n_expert_used, n_ff_expert;
    // A reranker's prompt, with {query} and {document} as placeholders; NULL: none.
    const char *rerank_template;
    // Parts of the model that are not used: "audio part: 8 tensors, not used yet"; NULL: none.
    // A vision part is named here, too: rn_model_add_vision() uses it where its family is
    // supported.
    const char *left_out;
    // Adapters that were added.
    size_t n_adapters;
    // The family of its vision part ("LLaVA-1.5", "Qwen2-VL"), how many tokens a picture takes, and
    // the token that stands for each of them; 0: that depends on the picture. NULL, 0, -1:
    // rn_model_add_vision() was not called.
    const char *vision;
    int32_t n_picture_tokens, picture_token;
    // An encoder whose tokenizer says how two texts are joined: rn_tokenize_pair().
    bool has_pairs;
    // Texts to put before a text whose embedding is asked for, by name; default_prompt: the name of
    // the one that is used where none is named, NULL: none.
    const rn_text_prompt *prompts;
    size_t n_prompts;
    const char *default_prompt;
    // The token that stands for each row of a video; -1: it takes none, or rn_model_add_vision()
    // was not called.
    int32_t video_token;
} rn_model_info;
// Is `path`, under any name, one of the files that the model was read from? Programs should not
// overwrite such a file.
RN_API bool rn_model_reads(const rn_model *model, const char *path);
// Fills *info. RN_E_ARG: NULL, struct_size.
RN_API rn_status rn_model_get_info(const rn_model *model, rn_model_info *info, rn_error *err);

/**
 * Adds a LoRA adapter to a model, before an engine is opened with it. Requests name the adapters
 * that they use (rn_request.adapters); all of them share one batch.
 *
 * @param path  a PEFT folder (adapter_config.json and adapter_model.safetensors), the safetensors
 *              file of one, or a GGUF adapter. It stays mapped until rn_model_close().
 * @param name  by which programs refer to it; NULL: the last part of the path, without ".gguf" or
 *              ".safetensors". No two adapters of a model have the same one.
 * @return RN_OK; RN_E_ARG (a name twice); RN_E_STATE (an engine has been opened with the model);
 *         RN_E_FORMAT, RN_E_UNSUPPORTED (malformed, another model's, or with parts that are not
 *         supported: names file, tensor or member, shape and what is expected); RN_E_LIMIT (more
 *         than 64 adapters, or a rank above 4,096); RN_E_IO; RN_E_NOMEM. After an error the model
 *         is as before. Threads: one at a time, and no other call with the model meanwhile.
 */
RN_API rn_status rn_model_add_adapter(rn_model *model, const char *path, const char *name,
                                      rn_error *err);

/**
 * Opens the vision part of a model, so that its prompts may have pictures (RN_PART_PICTURE). The
 * engines that are opened with the model hold its tower and its projector. docs/vision.md has the
 * families.
 *
 * @param path  the folder with the vision part, or a mmproj file of llama.cpp's (GGUF); NULL: the
 *              model's own, or of a GGUF model the file mmproj*.gguf beside it, if there is one.
 * @return RN_OK; RN_E_STATE (an engine has been opened with the model, or it has a vision part);
 *         RN_E_UNSUPPORTED (the folder has none, or of a family that is not supported, by name);
 *         RN_E_FORMAT (malformed, or of another model: its vectors have another width);
 *         RN_E_IO; RN_E_LIMIT; RN_E_NOMEM. After an error the model is as before. Threads: one at a
 *         time, and no other call with the model meanwhile.
 */
RN_API rn_status rn_model_add_vision(rn_model *model, const char *path, rn_error *err);
// The tokens that a picture takes in a prompt with n_pictures pictures: the model's token for
// pictures in place of each vector, and what the family's processor writes around them, such as the
// marks of SmolVLM's tiles. *ids: freed by the caller with rn_free(). RN_E_UNSUPPORTED: no vision
// part was added; RN_E_FORMAT, RN_E_LIMIT, RN_E_NOMEM. Threads: any.
RN_API rn_status rn_picture_tokens(const rn_model *model, const rn_picture *picture,
                                   size_t n_pictures, int32_t **ids, size_t *n_ids, rn_error *err);
// Which frames of a video the model's processor takes: `n_frames` of it, `fps` of these in a
// second. want_fps: so many of each second in place of the processor's own; want_frames: so many of
// all; 0: neither. Never more than there are. at: [RN_VIDEO_MOST_FRAMES] receives their numbers, in
// order, *n_at how many. RN_E_UNSUPPORTED: the model takes no videos here; RN_E_ARG: no frames, no
// fps; both of want_fps and want_frames. Threads: any.
enum { RN_VIDEO_MOST_FRAMES = 768 };
RN_API rn_status rn_video_choose_frames(const rn_model *model, uint32_t n_frames, double fps,
                                        double want_fps, uint32_t want_frames, uint32_t *at,
                                        size_t *n_at, rn_error *err);

// An adapter of a model. Strings live as long as the model.
typedef struct rn_adapter_info {
    size_t struct_size;
    const char *name, *path;
    const char *format; // "PEFT", "GGUF v3"
    int32_t rank;       // the largest of its matrices
    size_t n_tensors;   // tensors of the model that it changes
    uint64_t n_params;  // numbers of its matrices
} rn_adapter_info;
// Fills *info for adapter i, in the order in which they were added. RN_E_ARG: NULL, struct_size, no
// such adapter.
RN_API rn_status rn_model_get_adapter(const rn_model *model, size_t i, rn_adapter_info *info,
                                      rn_error *err);

// Draft heads: small networks that stand on a model and guess its next tokens
// (docs/speculation.md).
typedef enum rn_draft_head {
    RN_DRAFT_HEAD_MTP,    // next-token-prediction layers that ship in the model's own file
    RN_DRAFT_HEAD_MEDUSA, // Medusa heads, FasterDecoding's files
    RN_DRAFT_HEAD_EAGLE,  // EAGLE-1, EAGLE-2 or EAGLE-3, SafeAILab's files
    // The model itself without some of its layers (LayerSkip; Draft & Verify), in the same weights.
    RN_DRAFT_HEAD_LAYERS
} rn_draft_head;
/**
 * Adds draft heads of a kind to a model, before an engine is opened with it. Requests say whether
 * they are used (rn_request.speculate). What the heads share with the model is in memory once.
 *
 * @param path  the safetensors file of the heads, the folder that holds it, or a GGUF file
 *         (rn_convert_draft_heads(), llama.cpp for EAGLE-3); it stays mapped
 * until rn_model_close(). RN_DRAFT_HEAD_MTP: NULL. RN_DRAFT_HEAD_LAYERS: "E", the first E layers
 *         draft, or "A-B,C-D,..", all but layers A to B, C to D and so on do, from 0.
 * @return RN_OK; RN_E_ARG (no path, or one too many); RN_E_STATE (the model has heads of this kind,
 *         or an engine has been opened with it); RN_E_FORMAT, RN_E_UNSUPPORTED (malformed, another
 *         model's, or with parts that are not supported: names file and tensor; a model without
 * such layers); RN_E_LIMIT (too many heads); RN_E_IO; RN_E_NOMEM. After an error the model is as
 *         before. Threads: one at a time, and no other call with the model meanwhile.
 */
RN_API rn_status rn_model_add_draft_heads(rn_model *model, rn_draft_head kind, const char *path,
                                          rn_error *err);
/**
 * Lets requests compare the model with what its head says after some of its layers (strategy
 * "dola"), before an engine is opened with it. Rows of other requests take no longer; each layer
 * has a buffer of n_embd numbers for each row of a step whose results are wanted.
 *
 * @param layers  "low", "high" or numbers separated by commas, as the option dola_layers: 0 is what
 *         the first layer reads, i what layer i wrote.
 * @return RN_OK; RN_E_ARG (not such a text); RN_E_STATE (the model has early layers, or an engine
 *         has been opened with it); RN_E_UNSUPPORTED (it has no head); RN_E_LIMIT (too many parts);
 *         RN_E_NOMEM. After an error the model is as before. Threads: as above.
 */
RN_API rn_status rn_model_add_early_layers(rn_model *model, const char *layers, rn_error *err);

/**
 * Adds an n-gram cache to a model, before an engine is opened with it: counts of what followed
 * strings of 1 to 4 tokens in other texts, which "ngram-cache" drafts from
 * (rn_request.speculate).
 *
 * @param path  a file of rn_ngram_cache_write() or of llama.cpp's lookup programs, static or
 *              dynamic, at most 1 GiB; it is read into memory.
 * @return RN_OK; RN_E_STATE (the model has one, or an engine has been opened with it); RN_E_FORMAT
 *         (malformed, or with tokens that the model does not have: names file and offset);
 *         RN_E_LIMIT; RN_E_IO; RN_E_NOMEM. After an error the model is as before. Threads: one at a
 *         time, and no other call with the model meanwhile.
 */
RN_API rn_status rn_model_add_ngram_cache(rn_model *model, const char *path, rn_error *err);

#ifdef __cplusplus
}
#endif
#endif
